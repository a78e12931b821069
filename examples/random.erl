%% Random: big private heaps. Each process makes a long list of random integers, sorts and halves it.
%%
%% Source: Zhang 2011, section 4.1.4 (Random). The first element of the upper half, a middle value
%% of the list, goes back to the main process. Each process has a seed of its own, so the result
%% is the same whatever the scheduling.
%%
%% Arguments: PROCESSES (40), LENGTH (100000).
%% Result:    sum of the middle values.
-module(random).
-export([main/1]).

main(Args) ->
    N = arg(1, Args, 40),
    Length = arg(2, Args, 100000),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> Parent ! {middle, self(), middle(Seed, Length)} end)
            || Seed <- lists:seq(1, N)],
    Sum = lists:sum([receive {middle, P, M} -> M end || P <- Pids]),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("random: processes ~w, length ~w, checksum ~w~n", [N, Length, Sum]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

middle(Seed, Length) ->
    Sorted = lists:sort(integers(Length, scramble(Seed), [])),
    {_Lower, [Middle | _]} = lists:split(Length div 2, Sorted),
    Middle.

integers(0, _, List) -> List;
integers(N, State, List) ->
    Next = scramble(State),
    integers(N - 1, Next, [Next bsr 11 | List]).

%% A 48-bit linear congruential step (the multiplier and increment of POSIX drand48).
scramble(State) ->
    (State * 25214903917 + 11) band 16#FFFFFFFFFFFF.
