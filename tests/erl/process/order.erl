%% On one scheduler, who runs before whom: what programs count on without having asked for it.
-module(order).
-export([main/0]).

main() ->
    Online = erlang:system_flag(schedulers_online, 1),
    t:c(worker_before_reply, fun() -> noted(fun worker_before_reply/1) end),
    t:c(woken_before_reply, fun() -> noted(fun woken_before_reply/1) end),
    t:c(one_way, fun() -> noted(fun one_way/1) end),
    t:c(nested, fun() -> noted(fun nested/1) end),
    t:c(many_callers, fun() -> noted(fun many_callers/1) end),
    erlang:system_flag(schedulers_online, Online).

%% What the processes that `Start` makes have noted, in turn.
noted(Start) ->
    Self = self(),
    Start(fun(What) -> Self ! {noted, What} end),
    collect().

collect() -> receive {noted, What} -> [What | collect()] after 300 -> [] end.

call(Server, Request) ->
    Ref = make_ref(),
    Server ! {call, self(), Ref, Request},
    receive {Ref, Reply} -> Reply end.

server(Handle) ->
    receive {call, From, Ref, Request} -> From ! {Ref, Handle(Request)}, server(Handle) end.

%% The server starts a worker and answers: the worker runs before the client goes on.
worker_before_reply(Note) ->
    Server = spawn(fun() -> server(fun(N) -> spawn(fun() -> Note({worker, N}) end) end) end),
    spawn(fun() -> [begin call(Server, N), Note({client, N}) end || N <- [1, 2, 3]] end).

%% The server tells another process and answers.
woken_before_reply(Note) ->
    Other = spawn(fun() -> other(Note) end),
    Server = spawn(fun() -> server(fun(N) -> Other ! N end) end),
    spawn(fun() -> [begin call(Server, N), Note({client, N}) end || N <- [1, 2, 3]] end).

other(Note) -> receive N -> Note({other, N}), other(Note) end.

%% Messages that nobody answers are handled in the order in which their receivers became runnable.
one_way(Note) ->
    Last = spawn(fun() -> other(fun({_, N}) -> Note({last, N}) end) end),
    [A, B, C] = [spawn(fun() -> relay(Note, Name, Last) end) || Name <- [a, b, c]],
    spawn(fun() -> [begin A ! N, B ! N, C ! N end || N <- [1, 2]] end).

relay(Note, Name, Next) -> receive N -> Note({Name, N}), Next ! N, relay(Note, Name, Next) end.

%% A server that asks another one before it answers.
nested(Note) ->
    Inner = spawn(fun() -> server(fun(N) -> Note({inner, N}), N end) end),
    Outer = spawn(fun() -> server(fun(N) -> call(Inner, N), Note({outer, N}) end) end),
    spawn(fun() -> [begin call(Outer, N), Note({client, N}) end || N <- [1, 2, 3]] end).

%% A server's callers are answered in the order of their requests.
many_callers(Note) ->
    Server = spawn(fun() -> server(fun(N) -> Note({served, N}) end) end),
    [spawn(fun() -> call(Server, N) end) || N <- [1, 2, 3, 4, 5]].
