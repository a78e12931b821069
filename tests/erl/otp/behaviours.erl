%% gen_server, gen_statem, gen_event, supervisor, proc_lib, sys, application, logger, from the user's side.
-module(behaviours).
-export([main/0]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2, code_change/3, handle_event/2, start/2, stop/1, log/2, proc_init/1]).

init({sup, Strategy, Kids}) -> {ok, {#{strategy => Strategy, intensity => 3, period => 5}, Kids}};
init(stop) -> {stop, refused};
init(ignore) -> ignore;
init(crash) -> error(crashed_in_init);
init(S) -> {ok, S}.
handle_call(get, _, S) -> {reply, S, S};
handle_call({set, V}, _, S) -> {reply, {was, S}, V};
handle_call(later, From, S) -> self() ! {answer, From}, {noreply, S};
handle_call(crash, _, _) -> error(crashed);
handle_call(exit, _, _) -> exit(left);
handle_call(stop, _, S) -> {stop, normal, stopping, S};
handle_call(timeout, _, S) -> {reply, ok, S, 10};
handle_call(never, _, S) -> {noreply, S};
handle_call(continue, _, S) -> {reply, ok, S};
handle_call(bad, _, _) -> nonsense.
handle_cast({add, N}, S) -> {noreply, S + N};
handle_cast(stop, S) -> {stop, shutdown, S}.
handle_info({answer, From}, S) -> gen_server:reply(From, {late, S}), {noreply, S};
handle_info(timeout, _) -> {noreply, timed_out};
handle_info(M, _) -> {noreply, {info, M}}.
terminate(R, {tell, P}) -> P ! {terminated, R};
terminate(_, _) -> ok.
code_change(_, S, _) -> {ok, S}.
handle_event({tell, P}, S) -> P ! {event, S}, {ok, S + 1};
handle_event(remove, _) -> remove_handler.
start(_, Args) -> P = spawn_link(fun() -> receive Args -> ok end end), register(app_proc, P), {ok, P}.
stop(_) -> ok.
log(#{level := L, msg := M}, #{config := P}) -> P ! {logged, L, case M of {report, R} when is_map(R) -> maps:keys(R); {F, A} when is_list(F) -> lists:flatten(io_lib:format(F, A)); _ -> M end}.
proc_init(P) -> proc_lib:init_ack(P, {ok, self(), hello}), receive stop -> ok end.

main() ->
    t:mute(),
    process_flag(trap_exit, true),
    S = self(),
    Start = fun(A) -> {ok, P} = gen_server:start_link(?MODULE, A, []), P end,
    t:c(call, fun() -> P = Start(1), R = [gen_server:call(P, get), gen_server:call(P, {set, 2}), gen_server:cast(P, {add, 5}), gen_server:call(P, get), gen_server:call(P, later)], gen_server:stop(P), {R, t:flush(50)} end),
    t:c(call_crash, fun() -> P = Start(1), try gen_server:call(P, crash) catch exit:{{R, _}, {M, F, [_ | A]}} -> {R, M, F, A} end end),
    t:flush(20),
    t:c(call_exit, fun() -> P = Start(1), try gen_server:call(P, exit) catch exit:{R, _} -> {R, t:flush(50)} end end),
    t:c(call_stop, fun() -> P = Start({tell, S}), {gen_server:call(P, stop), t:flush(50)} end),
    t:c(call_timeout, fun() -> P = Start(1), try gen_server:call(P, never, 30) catch exit:{R, {_, _, [_ | A]}} -> gen_server:stop(P), {R, A, t:flush(50)} end end),
    t:c(call_bad_return, fun() -> P = Start(1), try gen_server:call(P, bad) catch exit:{R, _} -> {R, length(t:flush(50))} end end),
    t:c(call_noproc, fun() -> gen_server:call(nobody_there, x) end),
    t:c(call_self, fun() -> gen_server:call(self(), x) end),
    t:c(server_timeout, fun() -> P = Start(1), gen_server:call(P, timeout), receive after 60 -> ok end, R = gen_server:call(P, get), gen_server:stop(P), R end),
    t:c(info, fun() -> P = Start(1), P ! hello, R = gen_server:call(P, get), gen_server:stop(P), t:flush(20), R end),
    t:c(init_stop, fun() -> {gen_server:start_link(?MODULE, stop, []), gen_server:start_link(?MODULE, ignore, []), t:flush(50)} end),
    t:c(init_crash, fun() -> {error, {R, St}} = gen_server:start(?MODULE, crash, []), {R, hd(t:frames(St))} end),
    t:c(named, fun() -> {ok, P} = gen_server:start({local, gs_name}, ?MODULE, 7, []), R = {gen_server:call(gs_name, get), gen_server:start({local, gs_name}, ?MODULE, 7, []) =:= {error, {already_started, P}}}, gen_server:stop(gs_name), {R, whereis(gs_name)} end),
    t:c(multi, fun() -> Ps = [Start(I) || I <- [1, 2]], R = [gen_server:wait_response(gen_server:send_request(P, get), 1000) || P <- Ps], [gen_server:stop(P) || P <- Ps], t:flush(20), R end),
    t:c(sys, fun() -> P = Start(3), R = [sys:get_state(P), sys:replace_state(P, fun(X) -> X * 2 end), sys:get_state(P), sys:suspend(P), sys:resume(P), element(1, sys:get_status(P))], gen_server:stop(P), t:flush(20), R end),
    t:c(sys_log, fun() -> P = Start(3), sys:log(P, true), gen_server:call(P, get), {ok, L} = sys:log(P, get), gen_server:stop(P), t:flush(20), length(L) end),
    t:c(gen_event, fun() -> {ok, P} = gen_event:start_link(), R = [gen_event:add_handler(P, ?MODULE, 1), gen_event:which_handlers(P), gen_event:sync_notify(P, {tell, S}), gen_event:notify(P, {tell, S}), gen_event:sync_notify(P, remove), gen_event:which_handlers(P)], gen_event:stop(P), {R, t:flush(50)} end),
    t:c(statem, fun() -> statem() end),
    Kid = fun(Id, Restart) -> #{id => Id, start => {gen_server, start_link, [{local, Id}, ?MODULE, Id, []]}, restart => Restart, shutdown => 1000} end,
    Sup = fun(Strategy, Kids) -> {ok, P} = supervisor:start_link(?MODULE, {sup, Strategy, Kids}), P end,
    Stop = fun(P) -> unlink(P), M = monitor(process, P), exit(P, shutdown), receive {'DOWN', M, _, _, R} -> R end end,
    t:c(supervisor, fun() -> P = Sup(one_for_one, [Kid(k1, permanent), Kid(k2, temporary)]), A = whereis(k1), exit(A, kill), exit(whereis(k2), kill), receive after 100 -> ok end, R = {A =/= whereis(k1), whereis(k2), lists:sort([{I, Ty} || {I, _, Ty, _} <- supervisor:which_children(P)]), supervisor:count_children(P)}, {R, Stop(P), whereis(k1)} end),
    t:c(one_for_all, fun() -> P = Sup(one_for_all, [Kid(k1, permanent), Kid(k2, permanent)]), A = {whereis(k1), whereis(k2)}, exit(whereis(k1), kill), receive after 100 -> ok end, B = {whereis(k1), whereis(k2)}, Stop(P), {element(1, A) =/= element(1, B), element(2, A) =/= element(2, B)} end),
    t:c(rest_for_one, fun() -> P = Sup(rest_for_one, [Kid(k1, permanent), Kid(k2, permanent), Kid(k3, permanent)]), A = [whereis(K) || K <- [k1, k2, k3]], exit(whereis(k2), kill), receive after 100 -> ok end, B = [whereis(K) || K <- [k1, k2, k3]], Stop(P), [X =:= Y || {X, Y} <- lists:zip(A, B)] end),
    t:c(intensity, fun() -> P = Sup(one_for_one, [Kid(k1, permanent)]), hammer(P, 10), receive {'EXIT', P, R} -> {R, whereis(k1)} after 1000 -> none end end),
    t:c(sup_api, fun() -> P = Sup(one_for_one, []), R = [element(1, supervisor:start_child(P, Kid(k9, transient))), element(1, supervisor:start_child(P, Kid(k9, transient))), supervisor:terminate_child(P, k9), supervisor:delete_child(P, k9), supervisor:terminate_child(P, zz)], Stop(P), R end),
    t:c(simple, fun() -> {ok, P} = supervisor:start_link(?MODULE, {sup, simple_one_for_one, [#{id => x, start => {gen_server, start_link, [?MODULE]}, restart => temporary}]}), Ps = [element(2, supervisor:start_child(P, [I, []])) || I <- [a, b]], R = [gen_server:call(X, get) || X <- Ps], {R, supervisor:count_children(P), Stop(P)} end),
    t:c(bad_spec, fun() -> supervisor:start_link(?MODULE, {sup, one_for_one, [#{id => x}]}) end),
    t:flush(20),
    t:c(proc_lib, fun() -> {ok, P, M} = proc_lib:start_link(?MODULE, proc_init, [S]), R = {M, proc_lib:translate_initial_call(P), proc_lib:initial_call(P)}, P ! stop, R end),
    t:c(proc_lib_crash, fun() -> proc_lib:spawn_link(fun() -> error(boom) end), receive {'EXIT', _, {boom, St}} -> element(1, hd(t:frames(St))) end end),
    t:c(hibernate, fun() -> P = proc_lib:spawn(fun() -> proc_lib:hibernate(erlang, send, [S, woke]) end), receive after 30 -> ok end, P ! x, t:flush(100) end),
    t:flush(20),
    t:c(application, fun() ->
            ok = application:load({application, test_app, [{vsn, "1.0"}, {modules, []}, {registered, []}, {applications, [kernel, stdlib]}, {env, [{k, v}]}, {mod, {?MODULE, quit}}]}),
            R = [application:get_env(test_app, k), application:set_env(test_app, k2, 2), lists:sort(application:get_all_env(test_app)), application:start(test_app), is_pid(whereis(app_proc)), lists:keyfind(test_app, 1, application:which_applications()), application:get_key(test_app, vsn), application:stop(test_app), application:unload(test_app), application:start(test_app)], R end),
    t:c(ensure_all, fun() -> application:ensure_all_started(no_such_application) end),
    t:c(applications, fun() -> {lists:sort([A || {A, _, _} <- application:which_applications()]), application:get_application(lists), application:get_env(kernel, no, dflt)} end),
    t:c(logger_level, fun() -> logger:set_primary_config(level, info), {logger:get_primary_config(), logger:allow(debug, ?MODULE), logger:allow(error, ?MODULE)} end),
    t:c(logger_handler, fun() -> logger:remove_handler(default), ok = logger:add_handler(mine, ?MODULE, #{config => S}), logger:info("text ~p", [1]), logger:error(#{a => 1, b => 2}), logger:debug("not seen"), logger:warning("w", [], #{domain => [x]}), error_logger:error_msg("old ~w~n", [way]), R = t:flush(100), logger:remove_handler(mine), R end),
    t:c(logger_format, fun() -> [lists:flatten(logger_formatter:format(#{level => L, msg => M, meta => #{time => 1600000000000000, pid => x, gl => y}}, #{single_line => SL, template => [level, ": ", msg, "\n"]})) || {L, M} <- [{error, {"~p ~s", [{a}, "b"]}}, {info, {report, #{k => v}}}, {notice, {string, "plain"}}, {debug, {report, [{a, 1}, b]}}], SL <- [true, false]] end),
    t:c(rpc, fun() -> {rpc:call(node(), erlang, abs, [-1]), rpc:call(node(), erlang, error, [x]) =/= x, erpc:call(node(), fun() -> 5 end), rpc:multicall([node()], erlang, '+', [1, 2]), rpc:yield(rpc:async_call(node(), lists, sum, [[1, 2]]))} end),
    t:c(pg, fun() -> {ok, P} = pg:start_link(), pg:join(grp, S), R = {pg:get_members(grp) =:= [S], pg:which_groups(), pg:leave(grp, S), pg:get_members(grp)}, unlink(P), exit(P, kill), R end),
    t:c(global, fun() -> {global:register_name(gn, S), global:whereis_name(gn) =:= S, global:send(gn, via) =:= S, t:flush(50), global:unregister_name(gn), global:whereis_name(gn)} end).

hammer(_, 0) -> ok;
hammer(P, N) -> case whereis(k1) of undefined -> receive after 5 -> ok end; K -> exit(K, kill) end, receive after 5 -> ok end, hammer(P, N - 1).

statem() ->
    {ok, P} = gen_statem:start_link(door, [], []),
    R = [gen_statem:call(P, state), gen_statem:call(P, open), gen_statem:cast(P, close), gen_statem:call(P, state), gen_statem:call(P, lock_soon), begin receive after 60 -> ok end, gen_statem:call(P, state) end, gen_statem:call(P, postponed)],
    gen_statem:stop(P), R.
