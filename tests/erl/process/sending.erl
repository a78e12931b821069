%% send/2,3 and `!` to all that can be sent to, aliases, suspending and resuming.
-module(sending).
-export([main/0]).

main() ->
    t:mute(),
    S = self(),
    Dead = spawn(fun() -> ok end),
    receive after 20 -> ok end,
    register(sending_here, S),
    R = make_ref(),
    To = [{self, S}, {name, sending_here}, {pair, {sending_here, node()}}, {other_node, {sending_here, 'a@b'}}, {dead, Dead}, {no_name, sending_no_such},
          {no_name_pair, {sending_no_such, node()}}, {ref, R}, {alias, alias()}, {number, 1}, {list, []}, {badpair, {a, 1}}, {triple, {a, b, c}}, {binary, <<>>}],
    [t:c(line(send, N, none), fun() -> {erlang:send(X, m), t:flush()} end) || {N, X} <- To],
    [t:c(line(bang, N, none), fun() -> {X ! m, t:flush()} end) || {N, X} <- To],
    [t:c(line(send3, N, O), fun() -> {erlang:send(X, m, O), t:flush()} end) || {N, X} <- To, O <- [[], [nosuspend], [noconnect], [noconnect, nosuspend]]],
    t:each(send3_bad, [x, [x], [nosuspend | x], [{noconnect, true}]], fun(O) -> erlang:send(S, m, O) end),
    t:c(send_nosuspend, fun() -> {erlang:send_nosuspend(S, m), erlang:send_nosuspend(S, m, [noconnect]), t:flush()} end),
    unregister(sending_here),

    t:c(alias_explicit, fun() -> A = alias(), A ! one, A ! two, U = unalias(A), A ! three, {U, unalias(A), t:flush(20)} end),
    t:c(alias_reply, fun() -> A = alias([reply]), A ! one, A ! two, {t:flush(20), unalias(A)} end),
    t:each(alias_options, [[], [explicit_unalias], [reply], [explicit_unalias, reply], [reply, explicit_unalias], [x], x, [reply | x]], fun(O) -> A = alias(O), A ! 1, A ! 2, M = t:flush(20), {is_reference(A), M, unalias(A)} end),
    t:each(unalias_bad, [x, 1, S], fun(X) -> unalias(X) end),
    t:c(unalias_other, fun() -> unalias(make_ref()) end),
    t:c(alias_from_other, fun() -> A = alias(), spawn(fun() -> A ! from_other, S ! unalias(A) end), L = t:flush(50), {L, unalias(A)} end),
    t:c(alias_of_dead, fun() -> spawn(fun() -> S ! {a, alias()} end), A = receive {a, X} -> X end, receive after 20 -> ok end, {A ! x, t:flush(20)} end),
    t:each(monitor_alias, [explicit_unalias, demonitor, reply_demonitor], fun(Mode) ->
            P = spawn(fun() -> receive stop -> ok end end),
            M = monitor(process, P, [{alias, Mode}]),
            M ! first, One = t:flush(20), M ! second, Two = t:flush(20),
            D = demonitor(M, [info]), M ! third, Three = t:flush(20), U = unalias(M), exit(P, kill),
            {One, Two, D, Three, U} end),
    t:each(monitor_alias_down, [explicit_unalias, demonitor, reply_demonitor], fun(Mode) ->
            P = spawn(fun() -> receive stop -> ok end end),
            M = monitor(process, P, [{alias, Mode}, {tag, gone}]),
            P ! stop, W = receive {gone, M, process, P, X} -> X end,
            M ! after_down, L = t:flush(20), {W, L, unalias(M)} end),
    t:each(monitor_options, [[], [{tag, x}], [{alias, demonitor}], [{alias, x}], [x], x, [{tag, a}, {tag, b}], [{tag, x} | y], [{alias, demonitor}, {alias, explicit_unalias}]],
           fun(O) -> M = monitor(process, Dead, O), case t:flush(30) of [{Tag, M, process, Dead, W}] -> {Tag, W} end end),
    t:each(monitor_kinds, [{process, 1}, {process, {a, 1}}, {port, S}, {port, x_port}, {x, S}, {time_offset, x}, {process, [a]}, {process, sending_no_such}, {process, {sending_no_such, node()}}, {port, sending_no_such}],
           fun({K, X}) -> M = monitor(K, X), case t:flush(30) of [{Tag, M, K1, W, Why}] -> {Tag, K1, t:norm(W), Why} end end),
    t:c(monitor_self, fun() -> M = monitor(process, S), {process_info(S, monitors), demonitor(M, [info]), demonitor(M, [info, flush])} end),
    t:each(demonitor_bad, [{x, []}, {make_ref(), [x]}, {make_ref(), x}, {make_ref(), [flush | info]}], fun({M, O}) -> demonitor(M, O) end),
    t:c(demonitor_other, fun() -> spawn(fun() -> S ! {m, monitor(process, S)}, receive stop -> ok end end), M = receive {m, X} -> X end, demonitor(M, [info]) end),

    P = spawn(fun() -> receive stop -> ok end end),
    t:each(suspend_options, [[], [unless_suspending], [asynchronous], [{asynchronous, tag}], [unless_suspending, asynchronous], [x], x, [asynchronous | x], [{asynchronous, {a, b}}, unless_suspending]],
           fun(O) -> A = erlang:suspend_process(P, O), L = t:flush(30), I = process_info(P, status), Mine = [N || {_, N, 0} <- element(2, process_info(S, suspending))], B = erlang:resume_process(P), {A, L, I, Mine, B} end),
    t:each(suspend_bad, [S, x, Dead, {P, x}], fun(X) -> erlang:suspend_process(X) end),
    t:each(suspend_dead, [[], [asynchronous], [{asynchronous, tag}], [unless_suspending]], fun(O) -> {erlang:suspend_process(Dead, O), t:flush(30)} end),
    t:each(resume_bad, [P, S, x, Dead], fun(X) -> erlang:resume_process(X) end),
    t:c(resume_of_ended, fun() ->
            Q = spawn(fun() -> receive stop -> ok end end), true = erlang:suspend_process(Q), exit(Q, kill), receive after 30 -> ok end,
            {is_process_alive(Q), process_info(S, suspending), (catch element(1, element(2, catch erlang:resume_process(Q))))} end),
    t:c(killed_while_suspended, fun() -> {Q, M} = spawn_monitor(fun() -> receive stop -> ok end end), erlang:suspend_process(Q), exit(Q, bye), receive {'DOWN', M, _, _, W} -> W after 300 -> alive end end),
    t:c(suspended_by_ended, fun() ->
            Q = spawn(fun() -> receive stop -> S ! went_on end end),
            spawn(fun() -> erlang:suspend_process(Q), erlang:suspend_process(Q) end), receive after 50 -> ok end, Q ! stop, t:flush(100) end),
    t:c(suspended_twice, fun() ->
            Q = spawn(fun() -> receive stop -> S ! went_on end end),
            [true = erlang:suspend_process(Q) || _ <- [1, 2, 3]], Q ! stop, A = t:flush(30),
            [true = erlang:resume_process(Q) || _ <- [1, 2]], B = t:flush(30), erlang:resume_process(Q), {A, B, t:flush(100)} end),
    t:c(suspended_by_two, fun() ->
            Q = spawn(fun() -> receive stop -> S ! went_on end end),
            H = spawn(fun() -> erlang:suspend_process(Q), S ! held, receive stop -> erlang:resume_process(Q), receive x -> x end end end),
            receive held -> ok end, erlang:suspend_process(Q), Q ! stop, erlang:resume_process(Q), A = t:flush(30), H ! stop, B = t:flush(100), exit(H, kill), {A, B} end),
    t:c(suspended_runner, fun() ->
            Q = spawn(fun() -> spin(0) end), receive after 10 -> ok end, erlang:suspend_process(Q),
            {reductions, R1} = process_info(Q, reductions), receive after 50 -> ok end, {reductions, R2} = process_info(Q, reductions), St = process_info(Q, status),
            erlang:resume_process(Q), receive after 20 -> ok end, {reductions, R3} = process_info(Q, reductions), exit(Q, kill), {R2 - R1 < 100, St, R3 > R2} end),
    t:c(info_of_suspended, fun() -> erlang:suspend_process(P), X = process_info(P, [status, current_function, message_queue_len]), erlang:resume_process(P), X end),
    exit(P, kill).

line(What, N, O) -> io_lib:format("~w ~w ~w", [What, N, O]).

spin(N) -> spin(N + 1).
