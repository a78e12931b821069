%% Events of processes: messages, links, names, spawning, running, ending.
-module(events).
-export([main/0, f/1, loop/0]).

main() ->
    P = spawn(fun loop/0),
    erlang:trace(P, true, [procs, send, 'receive', set_on_spawn]),
    Me = self(),
    in(spawn, P, fun() -> spawn(events, f, [1]) end),
    in(spawn_link, P, fun() -> process_flag(trap_exit, true), spawn_link(events, f, [1]) end),
    in(spawn_fun, P, fun() -> spawn(fun() -> ok end) end),
    in(spawn_monitor, P, fun() -> spawn_monitor(fun() -> exit(foo) end) end),
    in(link, P, fun() -> link(Me) end),
    in("link again", P, fun() -> link(Me) end),
    in(unlink, P, fun() -> unlink(Me) end),
    in("link to nobody", P, fun() -> link(list_to_pid("<0.9999.0>")) end),
    in(register, P, fun() -> register(events_p, self()), unregister(events_p) end),
    in("send by name", P, fun() -> register(events_p, self()), events_p ! hello, catch nobody ! hello,
                                   {events_p, node()} ! x, {nobody, node()} ! x end),
    in("send to nobody", P, fun() -> list_to_pid("<0.9999.0>") ! x end),
    in("send to oneself", P, fun() -> self() ! a, receive a -> ok end end),
    link(P), unlink(P),
    in("linked by another", P, fun() -> ok end),
    in(monitor, P, fun() -> erlang:demonitor(erlang:monitor(process, Me)) end),
    in(alias, P, fun() -> A = alias(), A ! hello, receive hello -> ok end, unalias(A), A ! hello end),
    in(timer, P, fun() -> erlang:send_after(1, self(), tick), receive tick -> ok end end),
    in(timeout, P, fun() -> receive nothing -> ok after 1 -> ok end, receive nothing -> ok after 0 -> ok end end),
    in(info, P, fun() -> erlang:process_info(Me, dictionary), erlang:process_flag(priority, high) end),
    filters(P),
    inheritance(),
    running(P),
    ends().

%% What happens in the process while it runs a fun, then what happens in its children: processes run side by side.
in(Name, P, Fun) ->
    P ! {call, self(), Fun},
    receive done -> ok end,
    timer:sleep(30),
    sync(P),
    t:p(Name, lists:keysort(2, t:flush())).

sync(P) ->
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end.

filters(P) ->
    erlang:trace(P, false, [all]),
    erlang:trace(P, true, [send, 'receive']),
    t:each(send, [[{['_', {x, '_'}], [], []}], [{[self(), '$1'], [], [{message, {{y, '$1'}}}]}], false, true],
           fun(S) -> erlang:trace_pattern(send, S, []) end),
    Me = self(),
    erlang:trace_pattern(send, [{['_', {x, '_'}], [], []}], []),
    t:c(send, fun() -> erlang:trace_info(send, match_spec) end),
    in(send, P, fun() -> Me ! {x, 1}, Me ! {y, 1} end),
    erlang:trace_pattern(send, false, []),
    in(none, P, fun() -> Me ! {x, 1} end),
    erlang:trace_pattern(send, true, []),
    erlang:trace_pattern('receive', [{['_', Me, '_'], [], []}], []),
    in("from the tracer", P, fun() -> self() ! me, receive me -> ok end end),
    erlang:trace_pattern('receive', [{[node(), '$1', '$2'], [{'=/=', '$1', undefined}], []}], []),
    in("from somebody", P, fun() -> self() ! me, receive me -> ok end end),
    erlang:trace_pattern('receive', [{['_', undefined, '_'], [], []}], []),
    erlang:trace_pattern('receive', true, []),
    t:each(bad, [foo, [foo], pause, restart], fun(S) -> erlang:trace_pattern('receive', S, []) end),
    t:c(bad, fun() -> erlang:trace_pattern(send, true, [local]) end),
    t:each(bad, [traced, all, flags], fun(K) -> erlang:trace_info(send, K) end),
    erlang:trace(P, false, [all]).

%% Each flag of inheritance: flags of the child, and of the parent after.
inheritance() ->
    t:each(inherit, [set_on_spawn, set_on_first_spawn, set_on_link, set_on_first_link],
           fun(Flag) ->
               P = spawn(fun loop/0),
               erlang:trace(P, true, [Flag, call]),
               Me = self(),
               P ! {call, self(), fun() -> Me ! {child, spawn(fun loop/0)}, Me ! {linked, spawn_link(fun loop/0)} end},
               C = receive {child, C0} -> C0 end,
               L = receive {linked, L0} -> L0 end,
               receive done -> ok end,
               R = [erlang:trace_info(X, flags) || X <- [P, C, L]],
               [begin unlink(X), exit(X, kill) end || X <- [C, L, P]],
               t:flush(),
               R
           end).

running(P) ->
    erlang:trace(P, true, [running]),
    in(running, P, fun() -> ok end),
    erlang:trace(P, false, [all]),
    erlang:trace(P, true, [running_procs, 'receive']),
    in(running_procs, P, fun() -> ok end),
    erlang:trace(P, false, [all]),
    erlang:trace(P, true, [garbage_collection]),
    P ! {call, self(), fun() -> erlang:garbage_collect() end},
    receive done -> ok end,
    sync(P),
    [t:p(gc, {element(3, M), [K || {K, _} <- element(4, M)]}) || M <- t:flush(), element(3, M) =:= gc_major_start orelse element(3, M) =:= gc_major_end],
    erlang:trace(P, false, [all]),
    t:each(times, [[timestamp], [monotonic_timestamp], [strict_monotonic_timestamp], [monotonic_timestamp, strict_monotonic_timestamp], [timestamp, monotonic_timestamp]],
           fun(F) ->
               erlang:trace(P, true, ['receive' | F]),
               P ! {call, self(), fun() -> ok end},
               receive done -> ok end,
               sync(P),
               [M] = t:flush(),
               erlang:trace(P, false, [all]),
               case element(5, M) of
                   {A, B, C} when is_integer(A), is_integer(B), is_integer(C) -> {element(1, M), triple};
                   {A, B} when is_integer(A), is_integer(B) -> {element(1, M), pair};
                   A when is_integer(A) -> {element(1, M), number}
               end
           end).

ends() ->
    t:each(ends, [[procs], [exiting], [running, procs], [running, exiting, procs]],
           fun(F) ->
               P = spawn(fun() -> receive go -> ok end end),
               timer:sleep(20),
               erlang:trace(P, true, F),
               P ! go,
               timer:sleep(30),
               t:flush()
           end),
    t:c("with a name", fun() ->
        P = spawn(fun() -> register(events_q, self()), receive go -> exit(why) end end),
        timer:sleep(20),
        erlang:trace(P, true, [procs]),
        P ! go,
        timer:sleep(30),
        t:flush()
    end).

f(X) -> X.

loop() ->
    receive
        {call, From, F} ->
            catch F(),
            From ! done,
            events:loop()
    end.
