%% Many signals, many timers, large messages: whoever runs on the same scheduler has its turn meanwhile. Nothing of it is lost.
-module(gives_way).
-export([main/0]).

-define(MANY, 200000).
%% Of those, in one turn of the process that has them.
-define(AT_ONCE, 20000).

main() ->
    [t:c([atom_to_list(What), "_take_many_turns"], fun() -> turns(What) > ?MANY div ?AT_ONCE end) ||
        What <- [exits, trapped_exits, messages, dead_aliases, monitors, links]],
    t:c(timers_fire_in_many_turns, fun timers/0),
    t:c(large_messages_take_many_turns, fun() -> turns(large_messages) > 4 end),
    t:c(in_order, fun in_order/0),
    t:c(counted, fun counted/0),
    t:c(own_messages_are_there, fun() -> after_many(fun own_messages/1) end),
    t:c(no_time_out_before_what_has_come, fun() -> after_many(fun no_time_out/1) end),
    t:c(own_exit_at_once, fun() -> after_many(fun(_) -> exit(self(), kill), late end) end),
    t:c(own_exit_that_is_caught, fun() -> after_many(fun(_) -> process_flag(trap_exit, true), caught(exit(self(), why)) end) end),
    t:c(unlinked, fun() -> after_many(fun unlinked/1) end),
    t:c(killed_behind_many, fun killed/0),
    t:c(suspended, fun suspended/0),
    t:c(in_a_dirty_call, fun in_a_dirty_call/0),
    t:c(ends_with_many_timers, fun timers_of_the_dead/0).

%% How many turns another process has on the same scheduler while one does what it is given.
turns(What) ->
    on_the_first(fun() ->
        process_flag(priority, max),
        Me = self(),
        P = here(fun() -> Me ! {self(), prepare(What)}, receive stop -> ok end, work(What) end),
        Prepared = receive {P, X} -> X end,
        M = monitor(process, P),
        %% Nobody else runs until this waits.
        fill(What, P, Prepared),
        P ! stop,
        Counter = here(fun() -> count(0) end),
        receive {'DOWN', M, _, _, normal} -> ok end,
        Counter ! {how_many, self()},
        receive {Counter, N} -> N end
    end).

on_the_first(F) ->
    {_, M} = spawn_opt(fun() -> exit({value, F()}) end, [monitor, {scheduler, 1}]),
    receive {'DOWN', M, _, _, {value, V}} -> V; {'DOWN', M, _, _, Other} -> Other end.

here(F) -> spawn_opt(F, [{scheduler, 1}]).

count(N) ->
    receive {how_many, P} -> P ! {self(), N} after 0 -> erlang:yield(), count(N + 1) end.

repeat(0, _) -> ok;
repeat(N, F) -> F(), repeat(N - 1, F).

prepare(dead_aliases) -> A = alias(), unalias(A), A;
prepare(trapped_exits) -> process_flag(trap_exit, true);
prepare(_) -> ok.

fill(exits, P, _) -> repeat(?MANY, fun() -> exit(P, normal) end);
fill(trapped_exits, P, _) -> repeat(?MANY, fun() -> exit(P, why) end);
fill(messages, P, _) -> repeat(?MANY, fun() -> P ! x end);
fill(dead_aliases, _, A) -> repeat(?MANY, fun() -> A ! x end);
%% The heap is kept small: the collection of a large one goes to a dirty scheduler, and others run on this one meanwhile.
fill(monitors, P, _) ->
    repeat(?MANY div 2000, fun() -> repeat(1000, fun() -> demonitor(monitor(process, P)) end), garbage_collect() end);
fill(links, P, _) -> repeat(?MANY div 2, fun() -> link(P), unlink(P) end);
fill(large_messages, _, _) -> ok.

work(large_messages) ->
    Sink = spawn(fun sink/0),
    L = lists:seq(1, 10000),
    repeat(500, fun() -> Sink ! L end);
work(_) -> ok.

sink() -> receive _ -> sink() end.

%% Do no more timers than that fire between two turns? Some of them tell.
timers() ->
    on_the_first(fun() ->
        process_flag(priority, max),
        At = erlang:monotonic_time(millisecond) + 1000,
        Some = lists:append([begin
            repeat(?AT_ONCE - 1, fun() -> erlang:send_after(At, no_such_name, x, [{abs, true}]) end),
            [erlang:send_after(At, no_such_name, x, [{abs, true}])]
        end || _ <- lists:seq(1, ?MANY div ?AT_ONCE)]),
        process_flag(priority, normal),
        most_at_once(Some, length(Some), 0) =< 2
    end).

most_at_once(_, 0, Most) -> Most;
most_at_once(Timers, Left, Most) ->
    erlang:yield(),
    Now = length([T || T <- Timers, erlang:read_timer(T) =/= false]),
    most_at_once(Timers, Now, max(Most, Left - Now)).

flood(P) -> repeat(?MANY, fun() -> exit(P, normal) end).

%% The messages of each sender stay in order among other signals.
in_order() ->
    Me = self(),
    P = spawn(fun() -> receive go -> Me ! {in_order, next(60000, #{a => 1, b => 1})} end end),
    [spawn(fun() -> [begin exit(P, normal), P ! {S, N} end || N <- lists:seq(1, 30000)] end) || S <- [a, b]],
    P ! go,
    receive {in_order, Last} -> Last end.

next(0, Expected) -> Expected;
next(Left, Expected) ->
    receive {S, N} -> N = map_get(S, Expected), next(Left - 1, Expected#{S := N + 1}) end.

%% Who has sent a message before it asks is told of it.
counted() ->
    P = spawn(fun() -> receive stop -> ok end end),
    Counts = [begin flood(P), P ! x, process_info(P, message_queue_len) end || _ <- lists:seq(1, 3)],
    P ! stop,
    Counts.

%% What a process with many signals before it does then: why it ended.
after_many(F) ->
    on_the_first(fun() ->
        process_flag(priority, max),
        {P, M} = spawn_opt(fun() -> receive go -> ok end, exit({value, F(go)}) end, [monitor, {scheduler, 1}]),
        P ! go,
        flood(P),
        P ! behind,
        receive {'DOWN', M, _, _, Why} -> Why end
    end).

own_messages(_) ->
    [self() ! N || N <- [1, 2, 3]],
    {messages, Ms} = process_info(self(), messages),
    {Ms, process_info(self(), message_queue_len)}.

no_time_out(_) -> receive behind -> there after 0 -> too_early end.

caught(true) -> receive {'EXIT', P, Why} when P =:= self() -> {caught, Why} after 0 -> lost end.

unlinked(_) ->
    process_flag(trap_exit, true),
    P = spawn_link(fun() -> receive stop -> ok end end),
    unlink(P),
    M = monitor(process, P),
    P ! stop,
    receive {'DOWN', M, _, _, normal} -> ok end,
    receive {'EXIT', P, _} -> still_linked after 0 -> ok end.

killed() ->
    P = spawn(fun() -> receive stop -> ok end end),
    M = monitor(process, P),
    flood(P),
    Ms = [monitor(process, P) || _ <- lists:seq(1, 1000)],
    exit(P, kill),
    Late = [begin exit(P, normal), monitor(process, P) end || _ <- lists:seq(1, 1000)],
    Whys = [receive {'DOWN', R, _, _, Why} -> Why end || R <- [M | Ms ++ Late]],
    {lists:usort([Why || Why <- Whys, Why =/= noproc]), lists:nthtail(1001, Whys) -- [killed || _ <- Late] =:= lists:duplicate(length([x || noproc <- Whys]), noproc), is_process_alive(P)}.

suspended() ->
    Me = self(),
    P = spawn(fun() -> receive stop -> Me ! {self(), process_info(self(), message_queue_len)} end end),
    erlang:suspend_process(P),
    flood(P),
    [P ! x || _ <- lists:seq(1, 1000)],
    Info = process_info(P, [message_queue_len, status]),
    P ! stop,
    erlang:resume_process(P),
    {Info, receive {P, Left} -> Left end}.

in_a_dirty_call() ->
    P = spawn(fun() -> erts_debug:dirty_io(wait, 2000) end),
    timer:sleep(50),
    M = monitor(process, P),
    T = erlang:monotonic_time(millisecond),
    flood(P),
    exit(P, kill),
    receive {'DOWN', M, _, _, Why} -> {Why, erlang:monotonic_time(millisecond) - T < 1500} end.

%% None of the timers of a process that has ended is left.
timers_of_the_dead() ->
    P = spawn(fun() -> receive stop -> ok end end),
    Timers = [erlang:send_after(3600000, P, x) || _ <- lists:seq(1, 50000)],
    M = monitor(process, P),
    P ! stop,
    receive {'DOWN', M, _, _, Why} -> {Why, lists:usort([erlang:read_timer(T) || T <- Timers])} end.
