%% Big Bang with pongs in order: everybody pings everybody, and looks through its mailbox for the pong of one after the other.
%%
%% Source: Zhang 2011, sections 4.1.4 and 4.2.2, by which pongs are matched one by one in the order of spawning, so that the time goes into
%% traversing mailboxes in which they came in another order. In examples/bigbang.erl any pong will do.
%%
%% Arguments: PROCESSES (300).
%% Result:    messages sent in all, N*(N-1) pings and as many pongs.
-module(pongs).
-export([main/1]).

main(Args) ->
    N = arg(1, Args, 300),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> wait_for_start(Parent) end) || _ <- lists:seq(1, N)],
    [P ! {go, Pids} || P <- Pids],
    [receive {finished, P} -> ok end || P <- Pids],
    [P ! stop || P <- Pids],
    Answered = lists:sum([receive {answered, P, A} -> A end || P <- Pids]),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("pongs: processes ~w, pings ~w, checksum ~w~n", [N, N * (N - 1), 2 * Answered]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

wait_for_start(Parent) ->
    receive
        {go, Pids} ->
            Self = self(),
            ping(Parent, Self, [P || P <- Pids, P =/= Self], [], 0)
    end.

%% Between two pings of its own it answers those that have come, and passes over pongs.
ping(Parent, Self, [], Waiting, Answered) ->
    answer(Parent, Self, Waiting, Answered);
ping(Parent, Self, [To | Later] = All, Waiting, Answered) ->
    receive
        {ping, From} ->
            From ! {pong, Self},
            ping(Parent, Self, All, Waiting, Answered + 1)
    after 0 ->
        To ! {ping, Self},
        ping(Parent, Self, Later, [To | Waiting], Answered)
    end.

%% Pongs of these are still to come and are taken in this order, the last pinged first; Answered: pings answered so far.
answer(Parent, Self, [], Answered) ->
    Parent ! {finished, Self},
    serve(Parent, Self, Answered);
answer(Parent, Self, [Next | Later] = Waiting, Answered) ->
    receive
        {ping, From} ->
            From ! {pong, Self},
            answer(Parent, Self, Waiting, Answered + 1);
        {pong, Next} ->
            answer(Parent, Self, Later, Answered)
    end.

serve(Parent, Self, Answered) ->
    receive
        {ping, From} ->
            From ! {pong, Self},
            serve(Parent, Self, Answered + 1);
        stop ->
            Parent ! {answered, Self, Answered}
    end.
