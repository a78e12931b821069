%% What kind of answer each question about the system, its processes and its memory has: the shape of the value, or the error.
-module(kinds_of_answers).
-export([main/0]).

main() ->
    P = spawn(fun() -> receive stop -> ok end end),
    receive after 10 -> ok end,
    ask(system_info, fun erlang:system_info/1, system_items()),
    t:c(c_compiler_used, fun() -> {Name, _} = erlang:system_info(c_compiler_used), is_atom(Name) end),
    t:c(lists, fun() -> [is_list(erlang:system_info(Item)) || Item <- [allocated_areas, check_io, compile_info, ethread_info, reader_groups_map, snifs, taints]] end),
    ask(statistics, fun erlang:statistics/1, statistics_items()),
    ask(process_info, fun(Item) -> process_info(P, Item) end, process_items()),
    ask(own_info, fun(Item) -> process_info(self(), Item) end, process_items() -- [binary, status, current_stacktrace, backtrace, dictionary, current_function, current_location]),
    t:p(all_of_process_info, shape(process_info(P), 0)),
    ask(memory, fun erlang:memory/1, memory_items()),
    t:p(memory, shape(erlang:memory(), 0)).

ask(What, Ask, Items) ->
    [t:p(io_lib:format("~w ~0p", [What, Item]), try shape(Ask(Item), 0) catch Class:Reason -> {Class, Reason} end) || Item <- Items].

shape(A, _) when is_atom(A) -> A;
shape(I, _) when is_integer(I) -> integer;
shape(F, _) when is_float(F) -> float;
shape(B, _) when is_binary(B) -> binary;
shape([], _) -> [];
shape(_, Depth) when Depth > 5 -> deep;
shape(L, Depth) when is_list(L) ->
    case io_lib:printable_list(L) of
        true -> string;
        false -> {list, lists:usort([shape(X, Depth + 1) || X <- L])}
    end;
shape(T, Depth) when is_tuple(T) -> list_to_tuple([shape(X, Depth + 1) || X <- tuple_to_list(T)]);
shape(M, Depth) when is_map(M) -> maps:map(fun(_, V) -> shape(V, Depth + 1) end, M);
shape(Other, _) -> t:norm(Other).

system_items() ->
    [os_type, {allocator, foo}, {allocator, 1}, {allocator_sizes, foo}, alloc_util_allocators, atom_count, atom_limit, build_type, build_flavor,
     compat_rel, {cpu_topology, defined}, {cpu_topology, x}, creation, debug_compiled, delayed_node_table_gc, dirty_cpu_schedulers,
     dirty_cpu_schedulers_online, dirty_io_schedulers, dist, dist_buf_busy_limit, dist_ctrl, driver_version, dynamic_trace, dynamic_trace_probes,
     end_time, elib_malloc, eager_check_io, emu_type, ets_count, ets_limit, fullsweep_after, garbage_collection, garbage_collection_defaults,
     heap_sizes, heap_type, hybrid, info, kernel_poll, loaded, lock_checking, lock_counting, logical_processors, logical_processors_available,
     logical_processors_online, long_schedulers, machine, max_heap_size, message_queue_data, min_bin_vheap_size, min_heap_size,
     modified_timing_level, multi_scheduling, multi_scheduling_blockers, nif_version, normal_multi_scheduling_blockers, otp_release,
     os_monotonic_time_source, os_system_time_source, outstanding_system_requests_limit, port_count, port_limit, port_parallelism,
     print_ethread_info, process_count, process_limit, procs, running, scheduler_bind_type, scheduler_bindings, scheduler_id, schedulers,
     schedulers_active, schedulers_online, schedulers_state, schedulers_total, all_schedulers_state, smp_support, start_time,
     stop_memory_trace, system_logger, system_version, threads, thread_pool_size, time_correction, time_offset, time_warp_mode, tolerant_timeofday,
     trace_control_word, update_cpu_info, version, wordsize, {wordsize, external}, {wordsize, internal}, {wordsize, x}, private, process, async_dist,
     async_threads, beam_jump_table, beamlib, {memory_checker, x}, memory, ets_realloc_moves, constant_pool_support, build, break_ignored, purify,
     sequential_tracer, global_heaps_size, context_reductions, halt_flush_timeout, {module_md5, x}, current_time, delayed_free,
     internal_cpu_topology, scheduler_wall_time, prepared_code, debug, undefined, foo, {foo, bar}, 1, [], "version", {}, {a,b,c}, allocators,
     scheduling_statistics, total_scheduling_statistics, system_limit, literal_areas, memory_types, mtrace_node, ets_max_tables, emulator,
     instruction_counts, opcodes, nodes, time, otp_correction_package, {error_checker, memory}, {error_checker, x}, {memory_checker},
     {purify, memory}, {procs}, tz, environ, {port_parallelism}, alloc_util, sbmbc, lc_memory, ethread_used_tse, internal, emu, persistent_term,
     {driver_version}, check_process_code, dist_buf, system_task_queue, magic_ref, nif, cpu_quota].

statistics_items() ->
    [active_tasks, active_tasks_all, context_switches, exact_reductions, garbage_collection, io, reductions, run_queue, run_queue_lengths,
     run_queue_lengths_all, runtime, scheduler_wall_time, scheduler_wall_time_all, total_active_tasks, total_active_tasks_all,
     total_run_queue_lengths, total_run_queue_lengths_all, wall_clock, run_queues, foo, 1, {a}, {scheduler_wall_time, 1}, msacc, total_reductions,
     online, memory, []].

process_items() ->
    [async_dist, backtrace, binary, catchlevel, current_function, current_location, current_stacktrace, dictionary, error_handler,
     garbage_collection, garbage_collection_info, group_leader, heap_size, initial_call, links, last_calls, memory, message_queue_len, messages,
     min_heap_size, min_bin_vheap_size, monitored_by, monitors, message_queue_data, parent, priority, reductions, registered_name,
     sequential_trace_token, stack_size, status, suspending, total_heap_size, trace, trap_exit, magic_ref, fullsweep_after, bin_vheap_size,
     max_heap_size, total_heap, saved_calls, label, dist, {dictionary, x}, foo, 1, [foo], [], [status, status], system_task_queue, cpu_set,
     scheduler, internal_status, current_stack, reds, group, exception, flags, mailbox].

memory_items() ->
    [total, processes, processes_used, system, atom, atom_used, binary, code, ets, low, maximum, foo, [], [total, total], [total, foo], [foo], 1,
     [atom, binary, ets], {total}, persistent_term, [low], [maximum], instrument].
