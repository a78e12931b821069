%% Sendsame: one single message travels round a ring. The extreme case for sharing: a heap
%% architecture that copies does nothing else here.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (sendsame).
%%
%% Arguments: PROCESSES (100), SIZE (1000), ROUNDS (600): how often each process sends it on.
%% Result:    sends, and a sum over what each receiver saw.
-module(sendsame).
-export([main/1, run/1]).

main(Args) ->
    N = arg(1, Args, 100),
    Size = arg(2, Args, 1000),
    Rounds = arg(3, Args, 600),
    Start = erlang:monotonic_time(millisecond),
    Sums = ring(N, Size, Rounds),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("sendsame: processes ~w, size ~w, sends ~w, checksum ~w~n",
              [N, Size, N * Rounds, lists:sum(Sums)]),
    io:format("time ~w ms~n", [Time]).

%% The same for `bench/heaps`: how many processes and messages there were, and the sum. Beside the sends the first one is told who is next,
%% the end is told, and the sums go round.
run([N, Size, Rounds]) ->
    Sums = ring(N, Size, Rounds),
    {N, N * Rounds + N + 3, lists:sum(Sums)}.

ring(N, Size, Rounds) ->
    Parent = self(),
    First = spawn_link(fun() -> receive {next, Next} -> loop(Parent, Next, 0) end end),
    Last = lists:foldl(fun(_, Next) -> spawn_link(fun() -> loop(Parent, Next, 0) end) end,
                       First, lists:seq(2, N)),
    First ! {next, Last},
    First ! {message, N * Rounds, lists:seq(1, Size)},
    receive ended -> ok end,
    First ! {stop, N, []},
    receive {sums, Sums} -> Sums end.

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

loop(Parent, Next, Sum) ->
    receive
        {message, 1, _} ->
            Parent ! ended,
            loop(Parent, Next, Sum);
        {message, Left, [First, Second | _] = Message} ->
            Next ! {message, Left - 1, Message},
            loop(Parent, Next, Sum + First + Second);
        {stop, 1, Sums} ->
            Parent ! {sums, [Sum | Sums]};
        {stop, Left, Sums} ->
            Next ! {stop, Left - 1, [Sum | Sums]}
    end.
