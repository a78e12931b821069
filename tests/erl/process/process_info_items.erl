%% process_info, process_flag, suspend and resume, hibernate, priorities, garbage collection.
-module(process_info_items).
-export([main/0, awake/2]).

awake(P, X) -> P ! {awake, X, process_info(self(), current_function)}.

main() ->
    t:mute(),
    S = self(),
    P = spawn(fun() -> put(k, v), receive stop -> ok end end),
    receive after 50 -> ok end,
    P ! one, P ! {two, 2},
    t:each(item, [registered_name, current_function, messages, message_queue_len, links, monitors, monitored_by, dictionary, trap_exit, error_handler, priority, status, initial_call, min_heap_size, suspending, catchlevel, trace, fullsweep_generations, sequential_trace_token, message_queue_data, max_heap_size, binary],
           fun(I) -> case process_info(P, I) of {I, V} when I =:= initial_call -> element(1, V); X -> X end end),
    t:each(item_type, [memory, heap_size, stack_size, total_heap_size, reductions, group_leader, min_bin_vheap_size],
           fun(I) -> {I, V} = process_info(P, I), is_integer(V) orelse is_pid(V) end),
    t:c(keys, fun() -> [K || {K, _} <- process_info(P)] end),
    t:c(several, fun() -> process_info(P, [message_queue_len, status, message_queue_len, registered_name]) end),
    t:c(none, fun() -> process_info(P, []) end),
    t:c(bad_item, fun() -> process_info(P, nope) end),
    t:c(bad_items, fun() -> process_info(P, [status, nope]) end),
    t:c(self_info, fun() -> {element(2, process_info(S, status)), element(2, process_info(S, message_queue_len))} end),
    t:c(current_stacktrace, fun() -> {_, St} = process_info(P, current_stacktrace), t:frames(St) end),
    t:c(current_location, fun() -> {_, {M, _, A, _}} = process_info(P, current_location), {M, A} end),
    t:c(gc_info, fun() -> {_, L} = process_info(P, garbage_collection), lists:sort([K || {K, _} <- L]) end),
    t:c(gc_info_values, fun() -> {_, L} = process_info(P, garbage_collection), [lists:keyfind(K, 1, L) || K <- [min_heap_size, fullsweep_after, max_heap_size]] end),
    t:c(dead, fun() -> D = spawn(fun() -> ok end), receive after 50 -> ok end, {process_info(D), process_info(D, status), process_info(D, [status])} end),
    t:c(monitors, fun() -> M = monitor(process, P), R = {process_info(S, monitors), process_info(P, monitored_by)}, demonitor(M), R end),
    t:c(flags, fun() -> Old = [process_flag(trap_exit, true), process_flag(priority, high), process_flag(min_heap_size, 500), process_flag(message_queue_data, off_heap), process_flag(save_calls, 0), process_flag(fullsweep_after, 10), process_flag(sensitive, false), process_flag(error_handler, error_handler)],
                        New = [process_flag(trap_exit, false), process_flag(priority, normal), process_flag(min_heap_size, 233), process_flag(message_queue_data, on_heap), process_flag(fullsweep_after, 65535)], {Old, New} end),
    t:each(flag_bad, [{trap_exit, 1}, {priority, x}, {min_heap_size, -1}, {nope, 1}, {message_queue_data, x}, {max_heap_size, -1}], fun({F, V}) -> process_flag(F, V) end),
    t:c(suspend, fun() ->
            C = spawn(fun() -> counter(S, 0) end), erlang:suspend_process(C), C ! tell, A = t:flush(50), St = process_info(C, status),
            erlang:resume_process(C), B = length(t:flush(100)), exit(C, kill), {A, St, B} end),
    t:c(suspend_twice, fun() -> true = erlang:suspend_process(P), true = erlang:suspend_process(P), X = process_info(S, suspending), erlang:resume_process(P), Y = process_info(P, status), erlang:resume_process(P), {X, Y, catch erlang:resume_process(P), process_info(P, status)} end),
    t:c(suspend_unless, fun() -> A = erlang:suspend_process(P, [unless_suspending]), B = erlang:suspend_process(P, [unless_suspending]), erlang:resume_process(P), {A, B} end),
    t:c(suspend_self, fun() -> erlang:suspend_process(S) end),
    t:c(hibernate, fun() -> H = spawn(fun() -> erlang:hibernate(?MODULE, awake, [S, x]) end), receive after 50 -> ok end, I = process_info(H, current_function), H ! wake, {I, t:flush(100)} end),
    t:c(hibernate_clears_catch, fun() -> {_, M} = spawn_monitor(fun() -> catch erlang:hibernate(?MODULE, no_such, []) , S ! still_here end), M2 = t:flush(50), {M2, is_reference(M)} end),
    t:c(garbage_collect, fun() -> {erlang:garbage_collect(), erlang:garbage_collect(P), erlang:garbage_collect(P, [{type, minor}])} end),
    t:c(garbage_collect_async, fun() -> R = erlang:garbage_collect(P, [{async, id}]), {R, t:flush(100)} end),
    t:c(check_process_code, fun() -> {erlang:check_process_code(P, lists), erlang:check_process_code(S, ?MODULE)} end),
    t:c(yield, fun() -> {erlang:yield(), erlang:bump_reductions(1000)} end),
    %% No more than the slice has left is counted.
    t:c(bump_at_most, fun() -> {_, A} = process_info(self(), reductions), [erlang:bump_reductions(1 bsl 40) || _ <- [1, 2, 3]], {_, B} = process_info(self(), reductions), B - A < 20000 end),
    t:c(max_heap, fun() -> {_, M} = spawn_opt(fun() -> blow([]) end, [monitor, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]), receive {'DOWN', M, _, _, R} -> R end end),
    t:c(group_leader, fun() -> G = group_leader(), C = spawn(fun() -> S ! {gl, group_leader()} end), is_pid(C), receive {gl, X} -> X =:= G end end),
    t:c(group_leader_set, fun() -> group_leader(S, P), receive after 20 -> ok end, process_info(P, group_leader) =:= {group_leader, S} end),
    t:c(processes, fun() -> {lists:member(S, processes()), lists:member(P, processes()), erlang:system_info(process_count) =:= length(processes())} end),
    t:c(pid_text, fun() -> S =:= list_to_pid(pid_to_list(S)) end),
    t:c(pid_text_bad, fun() -> list_to_pid("<0.") end),
    t:c(process_display, fun() -> erlang:process_display(t:id(x), backtrace) end),
    t:c(reductions, fun() -> {_, A} = process_info(S, reductions), [X || X <- lists:seq(1, 10000)], {_, B} = process_info(S, reductions), B > A end),
    exit(P, kill).

counter(S, N) -> receive tell -> S ! {count, N} end, counter(S, N + 1).
blow(L) -> blow([L, lists:seq(1, 100) | L]).
