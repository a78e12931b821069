%% Procs, with the messages of the paper's table 1: (N + 1)(N + 24) / 2 for N processes.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (procs) and table 1 (6,262 and 512,512 messages). The text says what a
%% message is: each process makes one of SIZE integers when it is spawned and sends it to its child, and all are sent 10 times. What
%% else there is to the count it does not say. Here the caller is in the ring, too; each of the N + 1 is told to begin and tells the caller's
%% neighbour that it is through: that is 12 messages for each; and the result of a process goes home through all before it, which is
%% N(N + 1) / 2 more.
%%
%% `examples/procs.erl` is the same without what is not said.
-module(heaps_procs).
-export([run/1]).

-define(SENDS, 10).

run([N, Size]) ->
    Self = self(),
    First = spawn_link(fun() -> member(Self, Self, 1, N, Size) end),
    First ! {start, self()},
    self() ! {start, self()},
    receive {start, _} -> ok end,
    First ! {message, ?SENDS, lists:seq(0, Size - 1)},
    {Count, Sum} = loop(First, ?SENDS, {0, 0}),
    First ! through,
    Results = [receive {result, C, S} -> {C, S} end || _ <- lists:seq(1, N)],
    receive through -> ok end,
    Received = Count + lists:sum([C || {C, _} <- Results]),
    {N, Received + 2 * (N + 1) + N * (N + 1) div 2, Sum + lists:sum([S || {_, S} <- Results])}.

%% Home is the process before it, which made it.
member(Caller, Home, Id, N, Size) ->
    receive {start, _} -> ok end,
    Next = if
               Id < N -> Self = self(), spawn_link(fun() -> member(Caller, Self, Id + 1, N, Size) end);
               true -> Caller
           end,
    Id < N andalso (Next ! {start, self()}),
    Next ! {message, ?SENDS, lists:seq(Id, Id + Size - 1)},
    {Count, Sum} = loop(Next, ?SENDS, {0, 0}),
    receive through -> ok end,
    Next ! through,
    Home ! {result, Count, Sum},
    relay(Home, N - Id).

%% In a ring every process gets just ?SENDS messages: those that were made in the ?SENDS before it.
loop(_, 0, Result) -> Result;
loop(Next, Left, {Count, Sum}) ->
    receive
        {message, Counter, List} ->
            Counter > 1 andalso (Next ! {message, Counter - 1, List}),
            loop(Next, Left - 1, {Count + 1, Sum + hd(List)})
    end.

relay(_, 0) -> ok;
relay(Home, Left) ->
    receive {result, _, _} = Result -> Home ! Result end,
    relay(Home, Left - 1).
