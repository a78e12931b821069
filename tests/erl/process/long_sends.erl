%% Messages that take long to copy: to every kind of address, among short ones, from processes that are traced, killed or suspended meanwhile.
-module(long_sends).
-export([main/0]).

-define(LONG, 300000).

main() ->
    L = lists:seq(1, ?LONG),
    t:c(in_order, fun() -> in_order(L) end),
    t:c(to_itself, fun() -> self() ! {to_itself, L}, receive {to_itself, M} -> same(M, L) end end),
    t:c(the_result_is_the_message, fun() -> M = {L, self()}, same(self() ! M, M) andalso (receive M -> true end) end),
    t:c(to_a_name, fun() -> named(fun(Name) -> Name ! L end, L) end),
    t:c(to_a_name_at_this_node, fun() -> named(fun(Name) -> {Name, node()} ! L end, L) end),
    t:c(by_calls, fun() -> named(fun(Name) -> [erlang:send(Name, L), erlang:send(whereis(Name), L, [nosuspend, noconnect])] end, L) end),
    t:c(to_no_name, fun() -> where(fun() -> nobody_has_this_name ! L end, L) end),
    t:c(to_what_is_no_address, fun() -> where(fun() -> element(1, {7, L}) ! L end, L) end),
    t:c(to_the_dead, fun() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> same(P ! L, L) end end),
    t:c(to_an_alias, fun() -> A = alias(), A ! {A, L}, receive {A, M} -> same(M, L) end end),
    t:c(to_an_alias_that_was, fun() -> A = alias(), unalias(A), A ! {A, L}, receive {A, _} -> it after 50 -> none end end),
    t:c(traced, fun() -> traced(L) end),
    t:c(with_a_token, fun() -> with_a_token(L) end),
    t:c(killed_meanwhile, fun() -> killed(L) end),
    t:c(to_one_who_is_suspended, fun() -> suspended(L) end),
    t:c(parts_that_are_shared, fun() -> T = doubled(18), self() ! {doubled, T}, receive {doubled, M} -> same(M, T) end end),
    t:c(of_binaries, fun() -> B = [{N, <<N:32>>, binary:copy(<<N>>, 100)} || N <- lists:seq(1, 60000)], self() ! {binaries, B}, receive {binaries, M} -> same(M, B) end end),
    t:c(collected_around_it, fun() -> collected(L) end).

same(M, M) -> true;
same(_, _) -> false.

doubled(0) -> {a, [b]};
doubled(N) -> T = doubled(N - 1), [T | T].

receiver(N) ->
    Me = self(),
    spawn_link(fun() -> Me ! {self(), [receive M -> M end || _ <- lists:seq(1, N)]} end).

in_order(L) ->
    P = receiver(7),
    P ! 1, P ! L, P ! 2, P ! {L, 3}, P ! 4, erlang:send(P, [5 | L]), P ! 6,
    receive {P, Ms} -> same(Ms, [1, L, 2, {L, 3}, 4, [5 | L], 6]) end.

named(Send, L) ->
    register(long_sends, self()),
    try
        Result = Send(long_sends),
        [receive M when is_list(M) -> same(M, L) end || _ <- lists:seq(1, case Result of [_, ok] -> 2; _ -> 1 end)]
    after
        unregister(long_sends)
    end.

%% The exception, with the message in its place.
where(F, L) ->
    try F() catch error:badarg:Stack -> [{M, N, [To, Message], _} | _] = Stack, {M, N, To, same(Message, L)} end.

traced(L) ->
    Me = self(),
    P = spawn_link(fun() -> receive {go, To} -> To ! L, To ! done end end),
    erlang:trace(P, true, [send]),
    P ! {go, Me},
    Seen = [receive {trace, P, send, M, Me} -> same(M, L) end || _ <- [1, 2]],
    {Seen, receive L -> yes end, receive done -> yes end, receive {trace, P, send, _, _} -> more after 50 -> nothing_more end}.

with_a_token(L) ->
    P = receiver(1),
    seq_trace:set_token(label, 17),
    P ! L,
    seq_trace:set_token([]),
    receive {P, Ms} -> same(Ms, [L]) end.

%% Who is killed inside of such a send has sent the message or not, and leaves nothing behind.
killed(L) ->
    Sink = spawn_link(fun() -> sink(0) end),
    Ends = [begin
        {P, M} = spawn_monitor(fun() -> forever(Sink, L) end),
        receive after N -> exit(P, kill) end,
        receive {'DOWN', M, _, _, Reason} -> Reason end
    end || N <- [0, 1, 2, 3, 5, 8]],
    Sink ! {self(), how_many},
    {Ends, receive {Sink, N} -> N > 0 end}.

forever(To, L) -> To ! L, forever(To, L).

sink(N) ->
    receive
        {P, how_many} -> P ! {self(), N};
        L -> sink(N + length(L) div ?LONG)
    end.

suspended(L) ->
    P = receiver(2),
    erlang:suspend_process(P),
    P ! L, P ! after_it,
    Before = process_info(P, message_queue_len),
    erlang:resume_process(P),
    {Before, receive {P, Ms} -> same(Ms, [L, after_it]) end}.

collected(L) ->
    P = receiver(20),
    [begin P ! {N, L}, erlang:garbage_collect() end || N <- lists:seq(1, 20)],
    receive {P, Ms} -> same(Ms, [{N, L} || N <- lists:seq(1, 20)]) end.
