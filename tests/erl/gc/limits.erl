%% Heap settings and limits: sizes as programs see them, processes killed or reported at their limit, hibernation, memory/0.
-module(limits).
-export([main/0, log/2, awake/1]).

log(#{level := Level, msg := {Format, [P, Max, Total, Kill, Log, Queue, Info]}, meta := Meta}, #{config := S}) when is_list(Format) ->
    S ! {log, {Level, Format, is_pid(P), Max, Total > Max, Kill, Log, Queue, [K || {K, V} <- Info, is_integer(V)], lists:sort(maps:keys(Meta)), maps:get(error_logger, Meta)}};
log(_, _) -> ok.

awake(S) -> S ! {awake, process_info(self(), garbage_collection)}.

opt(Options) -> opt(Options, fun() -> ok end).
opt(Options, F) ->
    S = self(),
    {_, M} = spawn_opt(fun() -> F(), S ! {opt, infos([min_heap_size, heap_size, total_heap_size, min_bin_vheap_size, fullsweep_after, message_queue_data, max_heap_size])} end, [monitor | Options]),
    receive {opt, X} -> erlang:demonitor(M, [flush]), X; {'DOWN', M, _, _, R} -> {down, R} end.
infos(Items) -> [info(I) || I <- Items].
info(I) when I =:= heap_size; I =:= total_heap_size -> process_info(self(), I);
info(message_queue_data) -> process_info(self(), message_queue_data);
info(I) -> {_, L} = process_info(self(), garbage_collection), lists:keyfind(I, 1, L).

blow(L) -> blow([L, lists:seq(1, 100) | L]).
limited(Max, F) ->
    {_, M} = spawn_opt(F, [monitor, {max_heap_size, Max}]),
    receive {'DOWN', M, _, _, R} -> R end.

main() ->
    S = self(),
    t:mute(),
    [logger:remove_handler(H) || H <- logger:get_handler_ids()], logger:set_primary_config(level, all),
    t:each(min_heap, [0, 1, 12, 13, 233, 234, 376, 377, 1000, 10000, 50000, 1000000], fun(N) -> opt([{min_heap_size, N}]) end),
    t:each(min_bin_vheap, [0, 1, 1000, 46422, 50000, 1000000], fun(N) -> opt([{min_bin_vheap_size, N}, {fullsweep_after, 3}]) end),
    t:each(fullsweep, [0, 1, 10, 65535], fun(N) -> opt([{fullsweep_after, N}]) end),
    t:each(queue_data, [off_heap, on_heap], fun(N) -> opt([{message_queue_data, N}]) end),
    t:each(max_heap, [0, 1000, 233, 232, #{}, #{size => 1000}, #{size => 1000, kill => false}, #{size => 1000, kill => true, error_logger => false},
                      #{size => 1000, include_shared_binaries => true}, #{size => 1000, other => true}, #{kill => true}, #{size => -1}, #{size => a}, #{size => 1000, kill => 1}, #{size => 1 bsl 70}],
           fun(N) -> opt([{max_heap_size, N}]) end),
    t:each(bad, [{min_heap_size, -1}, {min_heap_size, a}, {fullsweep_after, -1}, {fullsweep_after, 1 bsl 70}, {min_bin_vheap_size, -1}, {message_queue_data, a}, {max_heap_size, -1}],
           fun(O) -> spawn_opt(fun() -> ok end, [O]) end),
    t:each(flag, [{min_heap_size, 1000}, {min_heap_size, 233}, {min_bin_vheap_size, 100}, {min_bin_vheap_size, 46422}, {fullsweep_after, 3}, {fullsweep_after, 65535},
                  {max_heap_size, 100000000}, {max_heap_size, #{size => 0}}, {message_queue_data, off_heap}, {message_queue_data, on_heap}],
           fun({F, V}) -> process_flag(F, V) end),
    t:each(system, [min_heap_size, min_bin_vheap_size, max_heap_size, fullsweep_after, message_queue_data, garbage_collection, heap_sizes],
           fun(heap_sizes) -> length(erlang:system_info(heap_sizes)) > 20;
              (I) -> erlang:system_info(I) end),
    ok = logger:add_handler(h, ?MODULE, #{config => S, level => all}),
    t:c(killed, fun() -> limited(#{size => 20000, kill => true, error_logger => false}, fun() -> blow([]) end) end),
    t:c(no_report, fun() -> receive {log, X} -> X after 100 -> none end end),
    t:c(killed_and_reported, fun() -> limited(#{size => 20000, kill => true, error_logger => true}, fun() -> blow([]) end) end),
    t:c(report, fun() -> receive {log, X} -> X after 1000 -> none end end),
    t:c(only_reported, fun() -> limited(#{size => 20000, kill => false, error_logger => true}, fun() -> X = lists:seq(1, 30000), garbage_collect(), exit(length(X)) end) end),
    t:c(report_of_that, fun() -> receive {log, X} -> X after 1000 -> none end end),
    t:c(neither, fun() -> limited(#{size => 20000, kill => false, error_logger => false}, fun() -> X = lists:seq(1, 30000), garbage_collect(), exit(length(X)) end) end),
    (fun F() -> receive {log, _} -> F() after 50 -> ok end end)(),
    t:c(killed_by_messages, fun() ->
            {P, M} = spawn_opt(fun() -> receive go -> ok end, L = [receive X -> X end || _ <- lists:seq(1, 100)], exit(length(L)) end, [monitor, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]),
            [P ! lists:seq(1, 1000) || _ <- lists:seq(1, 100)], P ! go,
            receive {'DOWN', M, _, _, R} -> R end end),
    t:c(killed_by_collection, fun() ->
            {P, M} = spawn_opt(fun() -> X = lists:seq(1, 15000), process_flag(max_heap_size, #{size => 1000, kill => true, error_logger => false}), receive go -> length(X) end end, [monitor]),
            receive after 50 -> ok end, R0 = erlang:garbage_collect(P), receive {'DOWN', M, _, _, R} -> {R0, R} after 1000 -> {R0, alive} end end),
    t:c(links_told, fun() ->
            process_flag(trap_exit, true),
            P = spawn_opt(fun() -> blow([]) end, [link, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]),
            receive {'EXIT', P, R} -> R end end),
    t:c(hibernating, fun() ->
            H = spawn(fun() -> X = lists:seq(1, 10000), put(k, 1), erlang:hibernate(?MODULE, awake, [{S, length(X)}]) end),
            receive after 50 -> ok end,
            {_, T} = process_info(H, total_heap_size), {_, Hs} = process_info(H, heap_size), {T < 100, Hs < 100, process_info(H, [stack_size, dictionary, current_function, status])} end),
    t:c(hibernate_wakes, fun() -> H = spawn(fun() -> erlang:hibernate(?MODULE, awake, [S]) end), receive after 20 -> ok end, H ! x, receive {awake, {_, G}} -> proplists:get_value(fullsweep_after, G) end end),
    t:c(shrinks, fun() ->
            {P, M} = spawn_monitor(fun() -> X = lists:seq(1, 1000000), S ! {big, process_info(self(), total_heap_size), length(X)}, receive go -> ok end, garbage_collect(), S ! {small, process_info(self(), total_heap_size)}, receive go -> ok end end),
            {_, A} = receive {big, A0, _} -> A0 end, P ! go, {_, B} = receive {small, B0} -> B0 end, P ! go, receive {'DOWN', M, _, _, R} -> {A > 1000000, B < 30000, R} end end),
    t:c(collected_at_once, fun() ->
            {P, M} = spawn_monitor(fun() -> X = lists:seq(1, 100000), receive go -> ok end, receive stop -> ok end, exit(length([X || false])) end),
            receive after 50 -> ok end, {_, A} = process_info(P, total_heap_size), P ! go, receive after 20 -> ok end, true = garbage_collect(P), {_, B} = process_info(P, total_heap_size), P ! stop,
            receive {'DOWN', M, _, _, R} -> {A > B, B < 10000, R} end end),
    t:c(suspended_collects, fun() ->
            P = spawn(fun() -> receive stop -> ok end end), erlang:suspend_process(P), R = garbage_collect(P), erlang:resume_process(P), exit(P, kill), R end),
    t:c(binaries_go, fun() -> B0 = erlang:memory(binary), [binary:copy(<<I:32>>, 250000) || I <- lists:seq(1, 500), I < 0 orelse byte_size(binary:copy(<<I:32>>, 250000)) =:= 0], garbage_collect(), erlang:memory(binary) - B0 < 20000000 end),
    t:c(binary_counts, fun() -> B0 = erlang:memory(binary), X = binary:copy(<<1>>, 3000000), D = erlang:memory(binary) - B0, {D >= 3000000, byte_size(t:id(X))} end),
    t:each(messages_count, [on_heap, off_heap], fun(D) ->
            P = spawn_opt(fun() -> receive stop -> ok end end, [{message_queue_data, D}]), receive after 10 -> ok end,
            Get = fun() -> [V || {_, V} <- process_info(P, [memory, total_heap_size, heap_size, message_queue_len])] end,
            [M0, T0, H0, 0] = Get(), [P ! lists:seq(1, 1000) || _ <- lists:seq(1, 100)], receive after 20 -> ok end, [M1, T1, H1, L] = Get(), exit(P, kill),
            {M1 - M0 >= 1600000, T1 - T0, H1 - H0, L} end),
    t:c(memory_items, fun() -> [K || {K, V} <- erlang:memory(), is_integer(V), V > 0] end),
    t:c(memory_adds_up, fun() -> M = erlang:memory(), G = fun(K) -> proplists:get_value(K, M) end,
            {G(total) =:= G(processes) + G(system), G(processes) >= G(processes_used), G(atom) >= G(atom_used), G(system) > G(binary) + G(code) + G(ets) + G(atom)} end),
    t:c(memory_of, fun() -> {is_integer(erlang:memory(code)), [K || {K, _} <- erlang:memory([ets, binary, ets])], erlang:memory([])} end),
    t:c(memory_grows, fun() -> P0 = erlang:memory(processes), X = lists:seq(1, 1000000), D = erlang:memory(processes) - P0, {D > 8000000, length(t:id(X))} end),
    t:c(code_grows, fun() ->
            Fs = [{function, 1, list_to_atom("f" ++ integer_to_list(I)), 1, [{clause, 1, [{var, 1, 'X'}], [], [{op, 1, '+', {var, 1, 'X'}, {integer, 1, I}}]}]} || I <- lists:seq(1, 2000)],
            {ok, many, B} = compile:forms([{attribute, 1, module, many}, {attribute, 1, compile, export_all} | Fs], []),
            C0 = erlang:memory(code), {module, many} = code:load_binary(many, "many.beam", B), C1 = erlang:memory(code), code:delete(many), code:purge(many), receive after 50 -> ok end,
            C2 = erlang:memory(code), {C1 - C0 > 40000, C2 < C1} end),
    t:each(memory_bad, [nope, [nope], 1], fun(A) -> erlang:memory(A) end),
    t:c(areas, fun() -> L = erlang:system_info(allocated_areas), [lists:keymember(K, 1, L) || K <- [atom_space, atom_table, loaded_code, process_table, external_alloc]] end),
    t:c(allocator, fun() -> {A, V, F, _} = erlang:system_info(allocator), {is_atom(A), is_list(V), is_list(F)} end),
    t:c(allocator_sizes, fun() -> [{instance, 0, L} | _] = erlang:system_info({allocator_sizes, binary_alloc}), lists:sort([K || {K, _} <- L]) end),
    t:each(alloc_bad, [{allocator, nope}, {allocator_sizes, 1}], fun(A) -> [erlang:system_info(A)] end).
