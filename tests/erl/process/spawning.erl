%% Spawn in all forms, exit reasons, links, monitors, exit signals, trap_exit.
-module(spawning).
-export([main/0, entry/2, wait/0]).

entry(P, X) -> P ! {entered, X}.
wait() -> receive stop -> ok end.

main() ->
    t:mute(),
    S = self(),
    t:c(spawn1, fun() -> spawn(fun() -> S ! hi end), t:flush(500) end),
    t:c(spawn3, fun() -> spawn(?MODULE, entry, [S, 1]), receive M -> M end end),
    t:c(spawn_node, fun() -> spawn(node(), fun() -> S ! hi end), receive M -> M end end),
    t:c(spawn_link, fun() -> process_flag(trap_exit, true), P = spawn_link(fun() -> exit(bye) end), receive {'EXIT', P, R} -> R end end),
    t:c(spawn_monitor, fun() -> {P, M} = spawn_monitor(fun() -> exit(bye) end), receive {'DOWN', M, process, P, R} -> R end end),
    t:c(spawn_opt, fun() -> {P, M} = spawn_opt(fun() -> S ! {opts, process_info(self(), priority), element(2, process_info(self(), message_queue_data))} end, [monitor, {priority, high}, {message_queue_data, off_heap}, {min_heap_size, 1000}, {fullsweep_after, 5}]), receive {opts, A, B} -> receive {'DOWN', M, _, P, R} -> {A, B, R} end end end),
    t:c(spawn_request, fun() -> R = spawn_request(fun() -> ok end, [{reply_tag, tag}]), receive {tag, R, ok, P} -> is_pid(P) end end),
    t:each(spawn_opt_bad, [[x], [{priority, x}], x, [{min_heap_size, -1}], [{monitor, y}]], fun(O) -> spawn_opt(fun() -> ok end, O) end),
    t:c(spawn_undef, fun() -> {_, M} = spawn_monitor(nomod, nofun, [1, 2]), receive {'DOWN', M, _, _, {R, St}} -> {R, t:frames(St)} end end),
    t:c(spawn_bad_fun, fun() -> spawn(t:id(x)) end),
    t:c(spawn_bad_arity, fun() -> {_, M} = spawn_monitor(fun(_) -> x end), receive {'DOWN', M, _, _, R} -> element(1, element(1, R)) end end),
    t:c(spawn_improper, fun() -> spawn(?MODULE, entry, t:id([1 | 2])) end),
    Reasons = [normal, kill, killed, shutdown, other, {a, 1}],
    t:c(exit_to_plain, fun() -> [begin {P, M} = spawn_monitor(?MODULE, wait, []), exit(P, R), receive {'DOWN', M, _, _, Why} -> {R, Why} after 100 -> P ! stop, receive {'DOWN', M, _, _, Why} -> {R, survived, Why} end end end || R <- Reasons] end),
    t:c(exit_to_trapping, fun() -> [begin {P, M} = spawn_monitor(fun() -> process_flag(trap_exit, true), S ! ready, receive {'EXIT', F, Why} -> exit({trapped, F =:= S, Why}) end end), receive ready -> ok end, exit(P, R), receive {'DOWN', M, _, _, Why} -> {R, Why} end end || R <- Reasons] end),
    t:c(linked_exit, fun() -> process_flag(trap_exit, true), [begin P = spawn_link(fun() -> exit(R) end), receive {'EXIT', P, Why} -> {R, Why} end end || R <- Reasons] end),
    t:c(link_spreads, fun() -> [begin {_, M} = spawn_monitor(fun() -> spawn_link(fun() -> exit(R) end), receive after 100 -> outlived end end), receive {'DOWN', M, _, _, Why} -> {R, Why} end end || R <- Reasons] end),
    t:c(self_exit, fun() -> [begin {_, M} = spawn_monitor(fun() -> exit(self(), R), receive after 50 -> after_it end end), receive {'DOWN', M, _, _, Why} -> {R, Why} end end || R <- Reasons] end),
    t:c(self_exit_trapping, fun() -> [begin {_, M} = spawn_monitor(fun() -> process_flag(trap_exit, true), exit(self(), R), receive X -> exit({got, X}) after 50 -> nothing end end), receive {'DOWN', M, _, _, Why} -> {R, Why} end end || R <- Reasons] end),
    t:c(link_dead, fun() -> process_flag(trap_exit, true), P = dead(), link(P), receive {'EXIT', P, R} -> R after 500 -> none end end),
    t:c(link_dead_untrapped, fun() -> {_, M} = spawn_monitor(fun() -> P = dead(), try link(P) catch error:E -> exit({caught, E}) end end), receive {'DOWN', M, _, _, R} -> R end end),
    t:c(link_self, fun() -> link(self()) end),
    t:c(unlink, fun() -> process_flag(trap_exit, true), P = spawn_link(?MODULE, wait, []), unlink(P), exit(P, boom), t:flush(50) end),
    t:c(links_info, fun() -> P = spawn_link(?MODULE, wait, []), {links, L} = process_info(P, links), X = L =:= [self()], unlink(P), {links, L2} = process_info(P, links), exit(P, kill), {X, L2} end),
    t:c(monitor_dead, fun() -> M = monitor(process, dead()), receive {'DOWN', M, process, _, R} -> R end end),
    t:c(monitor_name, fun() -> M = monitor(process, no_such), receive {'DOWN', M, process, {N, Node}, R} -> {N, Node =:= node(), R} end end),
    t:c(monitor_twice, fun() -> P = spawn(?MODULE, wait, []), A = monitor(process, P), B = monitor(process, P), P ! stop, [receive {'DOWN', R, _, _, W} -> W end || R <- [A, B]] end),
    t:c(monitor_self, fun() -> {is_reference(monitor(process, self())), t:flush(20)} end),
    t:c(demonitor, fun() -> P = spawn(?MODULE, wait, []), M = monitor(process, P), R = demonitor(M), P ! stop, {R, t:flush(50)} end),
    t:c(demonitor_flush, fun() -> M = monitor(process, dead()), receive after 20 -> ok end, {demonitor(M, [flush]), t:flush(20), demonitor(M, [info]), demonitor(M, [flush, info])} end),
    t:c(demonitor_info, fun() -> P = spawn(?MODULE, wait, []), M = monitor(process, P), A = demonitor(M, [info]), B = demonitor(M, [info]), exit(P, kill), {A, B} end),
    t:c(monitor_tag, fun() -> M = monitor(process, dead(), [{tag, {my, tag}}]), receive {{my, tag}, M, process, _, R} -> R end end),
    t:c(monitor_alias, fun() -> {P, M} = spawn_monitor_alias(), P ! {request, M}, receive {M, reply} -> receive {'DOWN', M, process, P, R} -> {got, R} end end end),
    t:c(alias, fun() -> A = alias(), spawn(fun() -> A ! via_alias end), X = t:flush(200), U = unalias(A), A ! gone, {X, U, t:flush(50), unalias(A)} end),
    t:c(alias_reply, fun() -> A = alias([reply]), A ! one, A ! two, t:flush(50) end),
    t:c(alias_demonitor, fun() -> P = spawn(?MODULE, wait, []), M = monitor(process, P, [{alias, demonitor}]), M ! a, A = t:flush(50), demonitor(M), M ! b, exit(P, kill), {A, t:flush(50)} end),
    t:c(alias_in_flight, fun() -> lists:any(fun(_) -> dropped_in_flight() end, lists:seq(1, 50)) end),
    t:c(alias_reply_demonitor, fun() -> P = spawn(?MODULE, wait, []), M = monitor(process, P, [{alias, reply_demonitor}]), M ! a, M ! b, exit(P, kill), t:flush(50) end),
    t:c(register, fun() -> P = spawn(?MODULE, wait, []), true = register(some_name, P), A = {whereis(some_name) =:= P, lists:member(some_name, registered()), process_info(P, registered_name)}, some_name ! stop, receive after 50 -> ok end, {A, whereis(some_name)} end),
    t:c(register_twice, fun() -> register(name_a, self()), try register(name_b, self()) after unregister(name_a) end end),
    t:c(register_taken, fun() -> register(init, self()) end),
    t:c(register_dead, fun() -> register(name_c, dead()) end),
    t:c(send_unregistered, fun() -> nobody_here ! x end),
    t:c(send_name_node, fun() -> register(me, self()), {me, node()} ! hello, X = t:flush(50), unregister(me), {X, {nobody, node()} ! y} end),
    t:c(send_dead, fun() -> dead() ! x end),
    t:c(send_bad, fun() -> t:id("not a pid") ! x end),
    t:c(send_bif, fun() -> {erlang:send(S, a), erlang:send(S, b, []), erlang:send(S, c, [nosuspend, noconnect]), erlang:send_nosuspend(S, d), t:flush(20)} end),
    t:c(is_alive, fun() -> {is_process_alive(S), is_process_alive(dead()), catch is_process_alive(x)} end),
    t:c(exit_bad, fun() -> exit(t:id(x), y) end),
    t:c(dictionary, fun() -> erase(), R = [put(a, 1), put(a, 2), get(a), get(b), put({k}, v), lists:sort(get()), lists:sort(get_keys()), get_keys(2), erase(a), erase(zz), get()], erase(), R end),
    t:c(dictionary_big, fun() -> [put(I, I * 2) || I <- lists:seq(1, 1000)], X = lists:sum([get(I) || I <- lists:seq(1, 1000)]), {X, length(erase()), get()} end),
    t:c(chain, fun() -> P = lists:foldl(fun(_, Next) -> spawn(fun() -> receive N -> Next ! N + 1 end end) end, S, lists:seq(1, 2000)), P ! 0, receive N -> N end end),
    t:c(fan, fun() -> Ps = [spawn(fun() -> receive {go, N} -> S ! {I, N * I} end end) || I <- lists:seq(1, 500)], [P ! {go, 2} || P <- Ps], lists:sum([receive {I, V} -> V end || I <- lists:seq(1, 500)]) end),
    t:c(down_order, fun() -> {P, M} = spawn_monitor(fun() -> S ! last_words end), receive {'DOWN', M, _, P, normal} -> t:flush() end end).

dead() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> P end.

% Whether a message to an alias of one's own is dropped that has not been taken from the queue when the alias ends. A slice that ends between
% the send and the end of the alias takes it, so one of several attempts is to see it.
dropped_in_flight() ->
    P = spawn(?MODULE, wait, []),
    M = monitor(process, P, [{alias, demonitor}]),
    M ! a,
    demonitor(M),
    exit(P, kill),
    t:flush(0) =:= [].

spawn_monitor_alias() ->
    P = spawn(fun() -> receive {request, M} -> M ! {M, reply} end end),
    {P, monitor(process, P, [{alias, explicit_unalias}])}.
