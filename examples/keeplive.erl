%% Keeplive: as garbage, but each process keeps all that it received, so the live data grow.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (keeplive). Old messages
%% stay reachable from a list; a copying collector moves them again and again.
%%
%% Arguments: PROCESSES (100), SIZE (200), SENDS (400): how often each process sends.
%% Result:    messages received and a sum over them.
-module(keeplive).
-export([main/1, run/1]).

main(Args) ->
    N = arg(1, Args, 100),
    Size = arg(2, Args, 200),
    Sends = arg(3, Args, 400),
    Start = erlang:monotonic_time(millisecond),
    Results = ring(N, Size, Sends),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("keeplive: processes ~w, size ~w, messages ~w, checksum ~w~n",
              [N, Size, lists:sum([C || {C, _} <- Results]), lists:sum([S || {_, S} <- Results])]),
    io:format("time ~w ms~n", [Time]).

%% The same for `bench/heaps`: how many processes and messages there were, and the sum. Beside what the ring sends each process tells its
%% result, and the first one is told who is next.
run([N, Size, Sends]) ->
    Results = ring(N, Size, Sends),
    {N, lists:sum([C || {C, _} <- Results]) + N + 1, lists:sum([S || {_, S} <- Results])}.

ring(N, Size, Sends) ->
    Parent = self(),
    First = spawn_link(fun() ->
                               receive {next, Next} -> begin_with(Parent, 1, Size, Sends, Next) end
                       end),
    Last = lists:foldl(fun(Id, Next) ->
                               spawn_link(fun() -> begin_with(Parent, Id, Size, Sends, Next) end)
                       end, First, lists:seq(N, 2, -1)),
    First ! {next, Last},
    [receive {result, Count, Sum} -> {Count, Sum} end || _ <- lists:seq(1, N)].

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

begin_with(Parent, Id, Size, Sends, Next) ->
    Next ! {message, message(Id, Size)},
    loop(Parent, Next, Size, Sends, 0, []).

message(From, Size) ->
    lists:seq(From, From + Size - 1).

loop(Parent, _, _, Sends, Sends, Kept) ->
    Parent ! {result, length(Kept), lists:sum([lists:last(M) || M <- Kept])};
loop(Parent, Next, Size, Sends, Count, Kept) ->
    receive
        {message, [First | _] = Message} ->
            Count + 1 < Sends andalso (Next ! {message, message(First + 1, Size)}),
            loop(Parent, Next, Size, Sends, Count + 1, [Message | Kept])
    end.
