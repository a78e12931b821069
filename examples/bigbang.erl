%% Big Bang: everybody pings everybody. Many senders, many short messages, crowded mailboxes.
%%
%% Source: Zhang 2011, section 4.1.4 (Big Bang). Each of N processes sends {ping, Self} to every
%% other, answers each ping with {pong, Self}, and is finished when all its own pings are answered;
%% until everybody is finished it keeps answering.
%%
%% Arguments: PROCESSES (700).
%% Result:    messages sent in all, N*(N-1) pings and as many pongs.
-module(bigbang).
-export([main/1]).

main(Args) ->
    N = arg(1, Args, 700),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> wait_for_start(Parent) end) || _ <- lists:seq(1, N)],
    [P ! {go, Pids} || P <- Pids],
    [receive {finished, P} -> ok end || P <- Pids],
    [P ! stop || P <- Pids],
    Answered = lists:sum([receive {answered, P, A} -> A end || P <- Pids]),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("bigbang: processes ~w, pings ~w, checksum ~w~n", [N, N * (N - 1), 2 * Answered]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

wait_for_start(Parent) ->
    receive
        {go, Pids} ->
            Self = self(),
            [P ! {ping, Self} || P <- Pids, P =/= Self],
            answer(Parent, Self, length(Pids) - 1, 0)
    end.

%% Waiting: pongs still to come; Answered: pings answered so far.
answer(Parent, Self, 0, Answered) ->
    Parent ! {finished, Self},
    serve(Parent, Self, Answered);
answer(Parent, Self, Waiting, Answered) ->
    receive
        {ping, From} ->
            From ! {pong, Self},
            answer(Parent, Self, Waiting, Answered + 1);
        {pong, _} ->
            answer(Parent, Self, Waiting - 1, Answered)
    end.

serve(Parent, Self, Answered) ->
    receive
        {ping, From} ->
            From ! {pong, Self},
            serve(Parent, Self, Answered + 1);
        stop ->
            Parent ! {answered, Self, Answered}
    end.
