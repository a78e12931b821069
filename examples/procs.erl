%% Procs: each process of a ring makes a message when it is born; every message is sent 10 times.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (procs). A message is a list of SIZE
%% integers with a counter; who receives it passes the same list on until the counter is used up.
%%
%% Arguments: PROCESSES (5000), SIZE (1000).
%% Result:    messages received and the sum of what they held.
-module(procs).
-export([main/1]).

-define(SENDS, 10).

main(Args) ->
    N = arg(1, Args, 5000),
    Size = arg(2, Args, 1000),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    First = spawn_link(fun() ->
                               receive {next, Next} -> begin_with(Parent, 1, Size, Next) end
                       end),
    %% Each process is the child of the one before it; the last one's next is the first.
    Last = lists:foldl(fun(Id, Next) ->
                               spawn_link(fun() -> begin_with(Parent, Id, Size, Next) end)
                       end, First, lists:seq(N, 2, -1)),
    First ! {next, Last},
    {Count, Sum} = results(N, 0, 0),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("procs: processes ~w, size ~w, messages ~w, checksum ~w~n", [N, Size, Count, Sum]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

results(0, Count, Sum) -> {Count, Sum};
results(N, Count, Sum) ->
    receive {result, C, S} -> results(N - 1, Count + C, Sum + S) end.

begin_with(Parent, Id, Size, Next) ->
    Next ! {message, ?SENDS, lists:seq(Id, Id + Size - 1)},
    loop(Parent, Next, ?SENDS, 0, 0).

%% In a ring every process sees exactly SENDS messages: those born in the SENDS before it.
loop(Parent, _, 0, Count, Sum) ->
    Parent ! {result, Count, Sum};
loop(Parent, Next, Left, Count, Sum) ->
    receive
        {message, Counter, List} ->
            Counter > 1 andalso (Next ! {message, Counter - 1, List}),
            loop(Parent, Next, Left - 1, Count + 1, Sum + hd(List))
    end.
