%% Fibonacci numbers by the definition, in parts: pure calls, and hardly anything shared.
%%
%% Source: Kourai and Nakata, "Analysis of the Impact of CPU Virtualization on Parallel Applications in Xen" (with Yasugi 2015), who ran
%% Tascell's fib with 1 to 16 threads. Here the recursion is unfolded DEPTH times; each worker takes the next of the 2^DEPTH parts.
%%
%% Arguments: N (30, twice DEPTH at least), WORKERS (four for each scheduler), DEPTH (10).
%% Result:    fib(N).
-module(fib).
-export([main/1]).

main(Args) ->
    N = arg(1, Args, 30),
    Workers = arg(2, Args, 4 * erlang:system_info(schedulers_online)),
    Depth = arg(3, Args, 10),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Next = atomics:new(1, []),
    Pids = [spawn_link(fun() -> Parent ! {sum, self(), work(Next, N, Depth, 0)} end) || _ <- lists:seq(1, Workers)],
    Sum = lists:sum([receive {sum, P, S} -> S end || P <- Pids]),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("fib: n ~w, workers ~w, checksum ~w~n", [N, Workers, Sum]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

work(Next, N, Depth, Sum) ->
    Part = atomics:add_get(Next, 1, 1) - 1,
    if
        Part bsr Depth > 0 -> Sum;
        true -> work(Next, N, Depth, Sum + fib(argument(Part, N - Depth)))
    end.

%% A part is a way down the recursion: each bit says whether fib(N - 2) was taken instead of fib(N - 1).
argument(0, N) -> N;
argument(Part, N) -> argument(Part bsr 1, N - Part band 1).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
