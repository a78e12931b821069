%% Every item of process_info and every flag of process_flag, of oneself and of others, right and wrong.
-module(items_and_flags).
-export([main/0, wait/1]).

items() ->
    [async_dist, backtrace, binary, catchlevel, current_function, current_location, current_stacktrace, dictionary, error_handler,
     fullsweep_after, garbage_collection, garbage_collection_info, group_leader, heap_size, initial_call, label, last_calls, links,
     magic_ref, max_heap_size, memory, message_queue_data, message_queue_len, messages, min_bin_vheap_size, min_heap_size,
     monitored_by, monitors, parent, priority, reductions, registered_name, sequential_trace_token, stack_size, status,
     suspending, total_heap_size, trace, trap_exit, {dictionary, k}, {dictionary, none}, 'no such item', 1].

main() ->
    t:mute(),
    S = self(),
    P = spawn(?MODULE, wait, [S]),
    register(items_waiting, P),
    receive ready -> ok end,
    P ! {two, "messages"}, P ! second,
    receive after 20 -> ok end,
    put(k, [v]),
    [t:c(io_lib:format("waiting ~0p", [I]), fun() -> shape(process_info(P, I)) end) || I <- items()],
    [t:c(io_lib:format("own ~0p", [I]), fun() -> shape(process_info(S, I)) end) || I <- items(), I =/= links, I =/= current_stacktrace, I =/= dictionary, I =/= initial_call],
    t:c(own_dictionary, fun() -> lists:member({k, [v]}, element(2, process_info(S, dictionary))) end),
    t:c(default_items, fun() -> [K || {K, _} <- process_info(P)] end),
    t:c(default_own, fun() -> [K || {K, _} <- process_info(S)] end),
    t:each(lists, [[], [status], [status, status], [registered_name, links], [status | x], [status, nope], nope, {status}, "status"], fun(L) -> t:norm(process_info(P, L)) end),
    t:each(unregistered, [registered_name, [registered_name], [status, registered_name]], fun(I) -> t:norm(process_info(S, I)) end),
    t:each(not_a_process, [x, 1, {a, b}, make_ref()], fun(X) -> process_info(X, status) end),
    t:each(gc_items, [garbage_collection, garbage_collection_info], fun(I) -> {I, L} = process_info(P, I), [K || {K, V} <- L, is_integer(V) orelse is_map(V)] end),
    t:c(monitors_kinds, fun() ->
            Port = open_port({spawn, "cat"}, []),
            Ms = [monitor(process, P), monitor(process, items_waiting), monitor(port, Port), monitor(time_offset, clock_service), monitor(process, {items_waiting, node()})],
            {monitors, L} = process_info(S, monitors), {links, Ls} = process_info(S, links), {monitored_by, B} = process_info(P, monitored_by),
            R = {lists:sort(t:norm(L)), lists:member(Port, Ls), B =:= [S, S, S]},
            [demonitor(M, [flush]) || M <- Ms], port_close(Port), {R, process_info(S, monitors), process_info(P, monitored_by)} end),
    t:c(links, fun() -> link(P), A = {process_info(S, links) =:= {links, [P]} orelse lists:member(P, element(2, process_info(S, links))), process_info(P, links) =:= {links, [S]}}, unlink(P), {A, process_info(P, links)} end),
    t:c(messages_len, fun() -> {process_info(P, message_queue_len), process_info(P, messages)} end),
    t:c(binaries, fun() -> B = binary:copy(<<"x">>, 1000), Q = spawn(fun() -> receive B2 -> S ! ok, receive stop -> B2 end end end), Q ! B, receive ok -> ok end,
            {binary, L} = process_info(Q, binary), Q ! stop, [{is_integer(A), Size, N >= 1} || {A, Size, N} <- L] end),
    t:c(catchlevel, fun() -> catch try element(2, process_info(S, catchlevel)) after ok end end),
    t:c(parent, fun() -> {Q, M} = spawn_monitor(fun() -> exit(process_info(self(), parent)) end), receive {'DOWN', M, _, Q, W} -> W =:= {parent, S} end end),
    t:c(parent_init, fun() -> process_info(whereis(init), parent) end),
    t:c(initial_calls, fun() -> F = fun() -> receive stop -> ok end end, [begin I = process_info(Q, initial_call), exit(Q, kill), setelement(2, I, element(2, I)) end || Q <- [spawn(?MODULE, wait, [S]), spawn(erlang, apply, [F, []]), spawn(lists, map, [fun(_) -> F() end, [1]])]] end),
    t:flush(10),

    Flags = [{trap_exit, [true, false, x, 1]}, {priority, [low, normal, high, max, x, 32]}, {error_handler, [error_handler, other, 1]},
             {min_heap_size, [0, 233, 234, 1000, 100000, -1, a, 1 bsl 62, 1 bsl 70]}, {min_bin_vheap_size, [0, 46422, 50000, -1, a, 1 bsl 70]},
             {fullsweep_after, [0, 5, 65535, 100000, -1, a]}, {message_queue_data, [on_heap, off_heap, x]}, {sensitive, [true, false, x]},
             {save_calls, [0, 10, 10000, 10001, -1, a]}, {scheduler, [0, 1, 100000, -1, a]}, {async_dist, [true, false]}, {monitor_nodes, [true, true, false, false, x]},
             {{monitor_nodes, []}, [true, false]}, {{monitor_nodes, [{node_type, all}]}, [true, false]}, {{monitor_nodes, [x]}, [true]}, {{monitor_nodes, #{node_type => all}}, [true, false]}, {{monitor_nodes, #{node_type => x}}, [true]}, {{monitor_nodes, #{connection_id => true, nodedown_reason => true}}, [true]}, {{monitor_nodes, #{x => 1}}, [true]},
             {max_heap_size, [0, 233, 232, 100000000, -1, a, #{size => 0}, #{size => 100000000, kill => false}, #{size => 100000000, error_logger => false}, #{kill => true}, #{size => 100}, #{size => a}, #{size => 0, x => y}, #{}]},
             {label, [x]}, {no_such, [1]}, {1, [1]}],
    [t:c(io_lib:format("flag ~0p ~0p", [F, V]), fun() -> in_new(fun() -> Old = process_flag(F, V), {Old, process_flag(F, undo(F))} end) end) || {F, Vs} <- Flags, V <- Vs],
    [t:c(io_lib:format("flag then item ~0p ~0p", [F, V]), fun() -> in_new(fun() -> process_flag(F, V), process_info(self(), F) end) end)
     || {F, V} <- [{trap_exit, true}, {priority, high}, {error_handler, other}, {min_heap_size, 1000}, {min_bin_vheap_size, 50000}, {fullsweep_after, 5}, {message_queue_data, off_heap}, {max_heap_size, 1000000}]],
    [t:c(io_lib:format("flag of another ~0p", [{F, V}]), fun() -> process_flag(P, F, V) end) || {F, V} <- [{save_calls, 0}, {save_calls, 10}, {save_calls, -1}, {save_calls, a}, {trap_exit, true}, {no_such, 1}]],
    t:c(node_monitors, fun() -> in_new(fun() -> [process_flag(F, V) || {F, V} <- [{monitor_nodes, true}, {{monitor_nodes, #{}}, true}, {{monitor_nodes, #{node_type => hidden}}, true}, {monitor_nodes, true}, {monitor_nodes, false}, {monitor_nodes, false}, {{monitor_nodes, #{node_type => hidden}}, false}]] end) end),
    t:c(node_monitors_told_as_lists, fun() -> in_new(fun() -> [process_flag(F, V) || {F, V} <- [{{monitor_nodes, #{list => true}}, true}, {monitor_nodes, true}, {{monitor_nodes, []}, true}, {{monitor_nodes, #{}}, true}, {{monitor_nodes, #{list => true, node_type => all}}, true}, {{monitor_nodes, #{node_type => all}}, true}, {{monitor_nodes, #{list => true, node_type => all}}, false}, {{monitor_nodes, #{list => true}}, false}]] end) end),
    t:each(node_monitors_as_list, [false, x, 1], fun(X) -> process_flag({monitor_nodes, #{list => X}}, true) end),
    t:each(net_kernel_monitor_nodes, [[], [nodedown_reason], [connection_id], [{node_type, all}, nodedown_reason], [{node_type, all}, {node_type, hidden}], [{node_type, x}], [x], #{}, #{nodedown_reason => true}, #{list => true}, x],
           fun(O) -> [net_kernel:monitor_nodes(V, O) || V <- [true, false]] end),
    t:c(flag_of_self, fun() -> process_flag(S, save_calls, 0) end),
    t:each(flag_of_nobody, [x, spawn(fun() -> ok end)], fun(X) -> receive after 20 -> ok end, process_flag(X, save_calls, 0) end),
    exit(P, kill).

wait(S) ->
    put(k, v),
    process_flag(trap_exit, true),
    S ! ready,
    receive stop -> ok end.

undo(trap_exit) -> false;
undo(priority) -> normal;
undo(error_handler) -> error_handler;
undo(message_queue_data) -> on_heap;
undo(F) when F =:= sensitive; F =:= async_dist; F =:= monitor_nodes; is_tuple(F) -> false;
undo(_) -> 0.

%% In a new process, so that flags do no harm; raises what the fun raises.
in_new(F) ->
    {_, M} = spawn_monitor(fun() -> exit(try {value, F()} catch C:R:St -> {C, R, [{Mo, Fn} || {Mo, Fn, _, _} <- lists:sublist(St, 1)]} end) end),
    receive {'DOWN', M, _, _, R} -> R end.

%% Figures and texts that differ from run to run by their kind.
shape({I, V}) when I =:= memory; I =:= heap_size; I =:= stack_size; I =:= total_heap_size; I =:= reductions -> {I, is_integer(V) andalso V > 0};
shape({backtrace, V}) -> {backtrace, is_binary(V)};
shape({garbage_collection, L}) -> {garbage_collection, [case E of {minor_gcs, N} -> {minor_gcs, is_integer(N)}; _ -> E end || E <- L]};
shape({garbage_collection_info, L}) -> {garbage_collection_info, [K || {K, _} <- L]};
shape({current_stacktrace, L}) -> {current_stacktrace, t:frames(L)};
shape({current_location, {M, F, A, L}}) -> {current_location, {M, F, A, proplists:get_value(line, L)}};
shape({binary, L}) -> {binary, is_list(L)};
shape(X) -> t:norm(X).
