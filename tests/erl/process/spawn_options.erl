%% Options of spawn_opt and spawn_request, right and wrong, and what they do; abandoning a request.
-module(spawn_options).
-export([main/0, told/1, blow/1]).

main() ->
    t:mute(),
    S = self(),
    Opts = [[], [link], [monitor], [{monitor, []}], [{monitor, [{tag, x}]}], [{monitor, [{alias, demonitor}]}],
            [{monitor, [{alias, bad}]}], [{monitor, x}], [{monitor, [x]}], [monitor, monitor], [link, link],
            [{priority, low}], [{priority, max}], [{priority, bad}], [{fullsweep_after, 0}], [{fullsweep_after, -1}],
            [{fullsweep_after, 1 bsl 70}], [{min_heap_size, 0}], [{min_heap_size, 300}], [{min_heap_size, -1}], [{min_heap_size, a}],
            [{min_bin_vheap_size, 0}], [{min_bin_vheap_size, 100000}], [{min_bin_vheap_size, -1}],
            [{max_heap_size, 0}], [{max_heap_size, 100000}], [{max_heap_size, 100}], [{max_heap_size, #{size => 100000}}],
            [{max_heap_size, #{size => 100000, kill => false, error_logger => true}}], [{max_heap_size, #{kill => true}}],
            [{max_heap_size, #{size => x}}], [{max_heap_size, #{size => 0, kill => x}}], [{max_heap_size, #{size => 5000, other => 1}}],
            [{message_queue_data, on_heap}], [{message_queue_data, off_heap}], [{message_queue_data, x}],
            [{scheduler, 0}], [{scheduler, 1}], [{scheduler, 100000}], [{scheduler, -1}], [{scheduler, a}],
            [{async_dist, true}], [{reply, yes}], [{reply_tag, x}], [x], [{x, y}], [{link}], [{link, true}], x, [link | x], [{priority, low} | monitor]],
    t:each(spawn_opt, Opts, fun(O) -> done(spawn_opt(?MODULE, told, [S], O)) end),
    t:each(spawn_opt_fun, [[], [link, monitor], x, [x]], fun(O) -> done(spawn_opt(fun() -> told(S) end, O)) end),
    t:each(request, Opts ++ [[{reply, X}] || X <- [no, error_only, success_only, x]] ++ [[{reply_tag, {a, "b"}}, {reply, success_only}], [{reply, no}, monitor]],
           fun(O) -> R = spawn_request(?MODULE, told, [S], O), {R =/= S, answers(R)} end),
    t:each(request_forms, [fun() -> spawn_request(fun() -> told(S) end) end, fun() -> spawn_request(fun() -> told(S) end, [link]) end,
                           fun() -> spawn_request(node(), fun() -> told(S) end) end, fun() -> spawn_request(node(), fun() -> told(S) end, [{reply_tag, q}]) end,
                           fun() -> spawn_request(?MODULE, told, [S]) end, fun() -> spawn_request(node(), ?MODULE, told, [S]) end,
                           fun() -> spawn_request(node(), ?MODULE, told, [S], []) end, fun() -> spawn_request(?MODULE, told, S) end,
                           fun() -> spawn_request(?MODULE, told, [S | x]) end, fun() -> spawn_request(x) end, fun() -> spawn_request(?MODULE, "told", [S]) end,
                           fun() -> spawn_request(?MODULE, told, lists:seq(1, 300)) end],
           fun(F) -> answers(F()) end),
    t:c(abandon, fun() -> R = spawn_request(?MODULE, told, [S]), {spawn_request_abandon(R), spawn_request_abandon(R), answers(R)} end),
    t:c(abandon_unknown, fun() -> spawn_request_abandon(make_ref()) end),
    t:c(abandon_bad, fun() -> spawn_request_abandon(x) end),
    t:c(settings, fun() ->
            P = spawn_opt(fun() -> receive stop -> ok end end, [{min_heap_size, 1000}, {min_bin_vheap_size, 50000}, {fullsweep_after, 7}, {priority, high}, {message_queue_data, off_heap}, {max_heap_size, #{size => 1000000, kill => false}}]),
            L = process_info(P, [min_heap_size, min_bin_vheap_size, fullsweep_after, priority, message_queue_data, max_heap_size]),
            P ! stop, L end),
    t:c(max_heap_kill, fun() -> {_, M} = spawn_opt(?MODULE, blow, [[]], [monitor, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]), receive {'DOWN', M, _, _, R} -> R end end),
    t:c(max_heap_lives, fun() -> {_, M} = spawn_opt(fun() -> L = lists:seq(1, 50000), exit(length(L)) end, [monitor, {max_heap_size, #{size => 20000, kill => false, error_logger => false}}]), receive {'DOWN', M, _, _, R} -> R end end),
    t:c(max_heap_messages, fun() ->
            {P, M} = spawn_opt(fun() -> idle() end, [monitor, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]),
            [P ! lists:seq(1, 1000) || _ <- lists:seq(1, 100)], P ! collect, receive {'DOWN', M, _, _, R} -> R after 3000 -> lives end end),
    t:c(linked_and_monitored, fun() ->
            process_flag(trap_exit, true),
            {P, M} = spawn_opt(fun() -> exit(over) end, [link, monitor]),
            R = [receive {'EXIT', P, X} -> {exit, X} end, receive {'DOWN', M, process, P, Y} -> {down, Y} end],
            process_flag(trap_exit, false), R end),
    t:c(alias_monitor, fun() ->
            {P, A} = spawn_opt(fun() -> receive {From, X} -> From ! {reply, X} end, receive stop -> ok end end, [{monitor, [{alias, reply_demonitor}]}]),
            P ! {A, 1}, One = receive {reply, N} -> N end, A ! late, P ! stop, {One, t:flush(50)} end),
    t:c(tag_monitor, fun() -> {_, M} = spawn_opt(fun() -> exit(x) end, [{monitor, [{tag, {my, [tag]}}]}]), receive {{my, [tag]}, M, process, _, W} -> W end end).

told(S) -> S ! told.

idle() -> receive collect -> erlang:garbage_collect(), idle(); X when is_atom(X) -> X end.

blow(L) -> blow([lists:seq(1, 100) | L]).

%% What spawn_opt gave, once the process has run.
done(Given) ->
    receive told -> ok end,
    t:flush(2),
    case Given of
        P when is_pid(P) -> pid;
        {P, M} when is_pid(P), is_reference(M) -> {pid, ref}
    end.

%% The messages about a request, and whether the process ran; without those whose order is open.
answers(R) ->
    Got = t:flush(20),
    {lists:sort([case X of {Tag, R, ok, P} when is_pid(P) -> {Tag, ok}; {Tag, R, error, W} -> {Tag, error, W}; _ -> t:norm(X) end || X <- Got])}.
