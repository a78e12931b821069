%% What a process answers, and how it ends, while a built-in that it has called runs on a dirty scheduler.
-module(dirty_calls).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    t:c(looked_at, fun looked_at/0),
    t:c(killed, fun killed/0),
    t:c(linked_and_trapping, fun linked_and_trapping/0),
    t:c(queued_and_killed, fun queued_and_killed/0),
    t:c(suspended, fun suspended/0),
    t:c(old_code, fun old_code/0),
    t:c(results, fun results/0),
    t:c(errors, fun failing/0),
    t:c(group_leader, fun leader/0).

%% A process in a call that lasts.
busy(Time) ->
    Me = self(),
    P = spawn_link(fun() ->
        put(key, {value, lists:seq(1, 5)}),
        Me ! {ready, self()},
        R = erts_debug:dirty_io(wait, Time),
        Me ! {result, self(), R},
        receive {last, X} -> exit({last, X}) end
    end),
    receive {ready, P} -> ok end,
    await(P),
    P.

await(P) ->
    case process_info(P, [current_function, status]) of
        [{_, {erts_debug, dirty_io, 2}}, {_, running}] -> ok;
        _ -> timer:sleep(1), await(P)
    end.

quick(Fun) ->
    Begin = erlang:monotonic_time(millisecond),
    R = Fun(),
    {R, erlang:monotonic_time(millisecond) - Begin < 2000}.

looked_at() ->
    P = busy(5000),
    P ! one, P ! {two, "2"},
    R = quick(fun() -> {process_info(P, [dictionary, messages, message_queue_len, trap_exit, priority]), is_process_alive(P)} end),
    exit(P, kill),
    receive {'EXIT', P, Why} -> {R, Why} end.

killed() ->
    P = busy(5000),
    true = register(dirty_calls_name, P),
    T = ets:new(t, [public]),
    true = ets:give_away(T, P, gift),
    M = monitor(process, P),
    R = quick(fun() ->
        exit(P, kill),
        receive {'DOWN', M, _, _, W1} -> ok end,
        receive {'EXIT', P, W2} -> ok end,
        {W1, W2, whereis(dirty_calls_name), ets:info(T), is_process_alive(P), process_info(P), lists:member(P, processes())}
    end),
    {R, receive {result, P, _} -> result after 0 -> none end}.

linked_and_trapping() ->
    Me = self(),
    P = spawn(fun() ->
        process_flag(trap_exit, true),
        Me ! {ready, self()},
        R = erts_debug:dirty_cpu(wait, 200),
        receive M -> Me ! {R, element(1, M), element(3, M)} end
    end),
    receive {ready, P} -> ok end,
    exit(P, reason),
    receive {_, _, _} = R -> R end.

%% More calls than there are threads for them: some have not begun.
queued_and_killed() ->
    N = erlang:system_info(dirty_io_schedulers) + 20,
    Ps = [spawn_link(fun() -> erts_debug:dirty_io(wait, 1000) end) || _ <- lists:seq(1, N)],
    timer:sleep(20),
    R = quick(fun() ->
        [exit(P, kill) || P <- Ps],
        lists:usort([receive {'EXIT', P, Why} -> Why end || P <- Ps])
    end),
    {R, erts_debug:dirty_io(scheduler, type)}.

suspended() ->
    P = busy(100),
    erlang:suspend_process(P, [asynchronous]),
    R1 = receive {result, P, X1} -> X1 after 400 -> none end,
    S = process_info(P, status),
    erlang:resume_process(P),
    R2 = receive {result, P, X2} -> X2 after 2000 -> none end,
    P ! {last, word},
    receive {'EXIT', P, Why} -> {R1, S, R2, Why} end.

old_code() ->
    Forms = [{attribute, 1, module, dirty_calls_m}, {attribute, 1, export, [{f, 1}]},
             {function, 1, f, 1, [{clause, 1, [{var, 1, 'F'}], [], [{tuple, 1, [{call, 1, {var, 1, 'F'}, []}]}]}]}],
    {ok, M, Code} = compile:forms(Forms, []),
    {module, M} = code:load_binary(M, "m", Code),
    P = spawn_link(fun() -> M:f(fun() -> erts_debug:dirty_io(wait, 5000) end) end),
    await(P),
    {module, M} = code:load_binary(M, "m", Code),
    quick(fun() ->
        Checks = {erlang:check_process_code(P, M), code:soft_purge(M), code:purge(M)},
        receive {'EXIT', P, Why} -> {Checks, Why} end
    end).

results() ->
    Big = {big, lists:seq(1, 10), <<0:1000>>, make_ref()},
    L = erts_debug:dirty_cpu(copy, Big),
    erlang:garbage_collect(),
    All = lists:all(fun(X) -> X =:= Big end, L),
    {length(L), All, erts_debug:dirty_cpu(reschedule, 100), erts_debug:dirty(normal, reschedule, 100)}.

failing() ->
    [try erts_debug:F(error, Why) catch C:R:St -> {M, N, A, _} = hd(St), {C, R, {M, N, A}} end
     || F <- [dirty_cpu, dirty_io], Why <- [badarith, undef, {other, "heap"}]].

leader() ->
    P = busy(5000),
    Other = spawn_link(fun() -> receive stop -> ok end end),
    R = quick(fun() -> {group_leader(Other, P), process_info(P, group_leader) =:= {group_leader, Other}} end),
    exit(P, bang),
    R2 = try group_leader(Other, P) catch error:badarg -> badarg end,
    receive {'EXIT', P, Why} -> {R, R2, Why} end.
