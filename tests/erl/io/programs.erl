%% Ports to programs: options, messages, links, monitors, ends, busy ports.
-module(programs).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    t:each(spawn, ["echo hello", "sh -c 'printf \"a b\"; exit 3'", "sh -c 'kill -9 $$'", "no_such_program_x 2>/dev/null", "exit 300 2>/dev/null", ": 2>/dev/null"], fun(C) -> run({spawn, C}, [exit_status, stderr_to_stdout]) end),
    t:each(forms, [[], [binary], [eof], [exit_status, eof], [eof, binary], [stream], [in], [{line, 4}], [{line, 4}, binary], [in, exit_status], [hide], [{parallelism, true}], [overlapped_io], [line], [stream, line], [{line, 3}, stream], [{packet, 1}, stream]], fun(O) -> run({spawn, "printf 'ab\\ncdefgh\\r\\nxyz'"}, O) end),
    t:each(executable, [{"/bin/echo", ["a", "b c", <<"d">>]}, {"/bin/sh", ["-c", "echo $0 $1", "zero", "one"]}, {"/no/such", []}, {"/etc/passwd", []}, {"/", []}, {"", []}, {foo, []}, {<<"/bin/echo">>, ["å"]}], fun({F, A}) -> run({spawn_executable, F}, [{args, A}, exit_status]) end),
    t:c(arg0, fun() -> run({spawn_executable, "/bin/sh"}, [{arg0, "-other"}, {args, ["-c", "ps -o args= -p $$ | cut -c1-6"]}, exit_status]) end),
    t:c(no_args, fun() -> run({spawn_executable, "/bin/true"}, [exit_status]) end),
    t:each(env, [[{"XA", "1"}], [{"XA", false}], [{"HOME", false}, {"XA", ""}], [{"XA", "å"}], [{<<"XA">>, <<"b">>}], [{"XA", "1"}, {"XA", "2"}]], fun(E) -> run({spawn, "echo ${XA-unset} ${HOME+home}"}, [{env, E}, exit_status]) end),
    t:each(env_bad, [foo, [foo], [{"A"}], [{"A", 1}], [{1, "A"}], [{"A=B", "x"}], [{"", "x"}], [{"A", "x"} | y], [{"A", true}], [{"A", <<"x">>}], [{"A", [300]}], [{"A", [-1]}], [{"A", ["b" | "c"]}], [{["a" | $b], "c"}], [{"A", "x\0"}], [{"=", "x"}]], fun(E) -> open({spawn, "true"}, [{env, E}]) end),
    t:each(cd, ["/", "/tmp/..", <<"/usr">>], fun(D) -> run({spawn, "pwd"}, [{cd, D}, exit_status]) end),
    t:each(bad_options, [[foo], foo, [in | out], [{packet, 3}], [{packet, 0}], [{line, 0}], [packet], [line, {packet, 2}], [{line, -1}], [{line, foo}], [{packet, 2}, {line, 10}], [{args, ["a"]}], [{arg0, "a"}], [{cd, 1}], [{cd, "a\0b"}], [{parallelism, 1}], [{busy_limits_port, {1}}], [{busy_limits_port, {5, 1}}], [{busy_limits_msgq, foo}], [{foo, bar}], [use_stdio, nouse_stdio], [1], [{exit_status, true}]], fun(O) -> open({spawn, "true"}, O) end),
    t:each(bad_names, [{spawn, ""}, {spawn, 1}, {spawn, [1000000000]}, {spawn, "a\0b"}, {spawn_executable, ""}, {spawn_executable, "/bin/true\0"}, {spawn_driver, "no_such_drv"}, {foo, "x"}, foo, 1, {fd, -1, 0}, {fd, 0, -1}, {fd, a, b}, {}, {spawn}, {spawn, "a", "b"}], fun(N) -> open(N, []) end),
    t:each(stdio, [{"cat <&3 >&4", [nouse_stdio]}, {"cat", [use_stdio]}, {"cat >&2", [stderr_to_stdout]}, {"cat >/dev/null", [out]}, {"sleep 0.3", [in]}], fun({C, O}) -> P = open_port({spawn, C}, [exit_status | O]), R = (catch port_command(P, "text")), Got = receive {P, M} -> M after 300 -> none end, catch port_close(P), t:flush(), {norm(R), Got} end),
    t:each(packets, [{N, S} || N <- [1, 2, 4], S <- [0, 1, 255, 256, 65535, 65536, 100000]], fun({N, S}) -> P = open_port({spawn, "cat"}, [{packet, N}, binary]), R = try port_command(P, binary:copy(<<"x">>, S)) catch C:E -> {C, E} end, Got = receive {P, {data, D}} -> byte_size(D); {'EXIT', P, X} -> X after 3000 -> none end, catch port_close(P), t:flush(), {R, Got} end),
    t:c(packets_together, fun() -> P = open_port({spawn, "cat"}, [{packet, 2}]), [port_command(P, [X, Y]) || X <- "ab", Y <- "xyz"], R = [receive {P, M} -> M after 1000 -> none end || _ <- lists:seq(1, 6)], port_close(P), R end),
    t:c(large, fun() -> P = open_port({spawn, "cat"}, [binary]), port_command(P, binary:copy(<<"0123456789">>, 100000)), R = collect(P, 1000000, []), port_close(P), {byte_size(R), erlang:md5(R) =:= erlang:md5(binary:copy(<<"0123456789">>, 100000))} end),
    t:c(deep_output, fun() -> P = cat(), port_command(P, ["a", [<<"b">>, [[["c"]]], $d]]), R = got(P), port_close(P), R end),
    t:each(bad_output, [foo, 1, [foo], [256], [-1], ["a" | $b], {a}], fun(D) -> P = cat(), R = try port_command(P, D) catch C:E -> {C, E} end, port_close(P), R end),
    messages(),
    links(),
    monitors(),
    info(),
    ends(),
    busy(),
    t:c(data, fun() -> P = cat(), R = [catch_(fun() -> erlang:port_get_data(P) end), erlang:port_set_data(P, {a, "b"}), erlang:port_get_data(P), erlang:port_set_data(P, 1), erlang:port_get_data(P)], port_close(P), R ++ [catch_(fun() -> erlang:port_get_data(P) end), catch_(fun() -> erlang:port_set_data(P, 1) end)] end),
    t:c(control, fun() -> P = cat(), R = [catch_(F) || F <- [fun() -> port_control(P, 1, "a") end, fun() -> port_control(P, -1, "a") end, fun() -> port_control(P, foo, "a") end, fun() -> erlang:port_call(P, 1, a) end, fun() -> port_control(foo, 1, "a") end, fun() -> erlang:port_call(foo, 1, a) end]], port_close(P), R end),
    t:c(texts, fun() -> P = cat(), L = erlang:port_to_list(P), R = {list_to_port(L) =:= P, is_port(P), lists:member(P, erlang:ports()), port_close(P), lists:member(P, erlang:ports()), list_to_port(L) =:= P}, R end),
    t:each(cmd, ["echo a; echo b >&2", "printf ''", "exit 2", "cat", "echo $((1+2))", 'echo atom', ["echo ", ["deep", $\s], "list"], "printf 'å'", "sleep 0.1; echo late"], fun os:cmd/1),
    t:c(cmd_limit, fun() -> {os:cmd("printf abcdefgh", #{max_size => 3}), catch_(fun() -> os:cmd("a\0b") end), catch_(fun() -> os:cmd(1) end), os:cmd("no_such_program_y 2>/dev/null; echo $?")} end),
    t:c(find, fun() -> {os:find_executable("sh") =/= false, os:find_executable("no_such_x"), os:find_executable("sh", "/no:/bin"), filename:basename(os:find_executable("/bin/sh"))} end).

messages() ->
    t:c(command, fun() -> P = cat(), P ! {self(), {command, "abc"}}, R = got(P), port_close(P), R end),
    t:c(close, fun() -> P = cat(), P ! {self(), close}, [got(P), exit_of(P)] end),
    t:c(connect, fun() -> P = cat(), S = self(), Q = spawn(fun() -> receive go -> ok end, port_command(P, "mine"), receive {P, M} -> S ! {it, M} end, port_close(P) end), P ! {self(), {connect, Q}}, A = got(P), {connected, O} = erlang:port_info(P, connected), unlink(P), Q ! go, [A, O =:= Q, receive {it, M} -> M end] end),
    t:each(bad_message, [foo, {self(), foo}, {foo, close}, {self(), {command, foo}}, {self(), {connect, foo}}, {self(), {connect, self()}}, {self(), {command, [1, 2 | 3]}}, {c:pid(0, 0, 0), close}, {1, 2, 3}], fun(M) -> P = cat(), P ! M, R = receive {'EXIT', P, X} -> {exit, X}; {P, Y} -> Y after 200 -> none end, catch port_close(P), t:flush(), R end),
    t:c(to_closed, fun() -> P = cat(), port_close(P), t:flush(), [P ! {self(), close}, P ! {self(), {command, "a"}}, catch_(fun() -> port_command(P, "a") end), catch_(fun() -> port_close(P) end), catch_(fun() -> erlang:port_connect(P, self()) end), t:flush()] end),
    t:c(port_connect, fun() -> P = cat(), S = self(), Q = spawn(fun() -> receive stop -> ok end, S ! done end), R = [erlang:port_connect(P, Q), erlang:port_info(P, connected) =:= {connected, Q}, catch_(fun() -> erlang:port_connect(P, foo) end), catch_(fun() -> erlang:port_connect(foo, S) end)], unlink(P), Q ! stop, receive done -> ok end, timer:sleep(50), R ++ [erlang:port_info(P)] end),
    t:c(not_owner, fun() -> P = cat(), S = self(), spawn(fun() -> S ! {sent, catch_(fun() -> port_command(P, "by other") end)} end), A = receive {sent, R} -> R end, B = got(P), spawn(fun() -> process_flag(trap_exit, true), P ! {self(), {command, "a"}}, receive M -> S ! {other, M} after 200 -> S ! {other, none} end end), C = receive {other, {'EXIT', P, X}} -> X; {other, Y} -> Y end, port_close(P), [A, B, C] end),
    t:c(registered, fun() -> P = cat(), register(a_port, P), R = [whereis(a_port) =:= P, port_command(a_port, "named"), got(P), a_port ! {self(), {command, "sent"}}, got(P), erlang:port_info(a_port, registered_name), erlang:port_info(P, registered_name), element(1, hd(erlang:port_info(P))), catch_(fun() -> register(a_port, P) end), port_close(a_port), whereis(a_port), catch_(fun() -> port_command(a_port, "x") end), erlang:port_info(P, registered_name)], [clean(X) || X <- R] end),
    t:c(send_nosuspend, fun() -> P = cat(), R = [erlang:send(P, {self(), {command, "a"}}, [nosuspend]), got(P), erlang:send_nosuspend(P, {self(), {command, "b"}}), got(P), erlang:send(P, {self(), close}, [noconnect]), got(P)], [clean(X) || X <- R] end).

links() ->
    t:c(link_info, fun() -> P = cat(), A = lists:member(P, element(2, process_info(self(), links))), unlink(P), B = lists:member(P, element(2, process_info(self(), links))), C = erlang:port_info(P, links), link(P), D = lists:member(P, element(2, process_info(self(), links))), port_close(P), {A, B, C, D, exit_of(P)} end),
    t:c(unlinked_close, fun() -> P = cat(), unlink(P), port_close(P), exit_of(P) end),
    t:c(link_closed, fun() -> P = cat(), port_close(P), exit_of(P), R = catch_(fun() -> link(P) end), {R, exit_of(P)} end),
    t:c(owner_dies, fun() -> S = self(), spawn(fun() -> P = open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "cat; echo ended >" ++ t:tmp("ended") ++ "/f"]}]), S ! {port, P}, exit(bye) end), P = receive {port, X} -> X end, timer:sleep(200), {erlang:port_info(P), file:read_file(t:tmp("ended") ++ "/f")} end),
    t:c(linked_dies, fun() -> P = cat(), Q = spawn(fun() -> link(P), exit(crash) end), R = exit_of(P), {R, erlang:port_info(P), is_process_alive(Q)} end),
    t:c(linked_normal, fun() -> P = cat(), spawn(fun() -> link(P) end), timer:sleep(50), R = element(1, erlang:port_info(P, name)), port_close(P), {R, exit_of(P)} end),
    t:each(exit_port, [normal, kill, foo, {a, b}], fun(Reason) -> P = cat(), A = exit(P, Reason), R = exit_of(P), catch port_close(P), {A, R} end),
    t:c(exit_by_other, fun() -> P = cat(), spawn(fun() -> exit(P, normal) end), A = exit_of(P), spawn(fun() -> exit(P, bang) end), {A, exit_of(P)} end).

monitors() ->
    t:c(monitor, fun() -> P = cat(), M = monitor(port, P), I = erlang:port_info(P, monitored_by) =:= {monitored_by, [self()]}, N = process_info(self(), monitors) =:= {monitors, [{port, P}]}, port_close(P), {I, N, down(M), exit_of(P)} end),
    t:c(monitor_killed, fun() -> P = cat(), M = monitor(port, P), exit(P, because), {down(M), exit_of(P)} end),
    t:c(monitor_name, fun() -> P = cat(), register(b_port, P), M = monitor(port, b_port), N = process_info(self(), monitors) , port_close(P), {clean(N), down(M)} end),
    t:c(monitor_none, fun() -> P = cat(), port_close(P), M = monitor(port, P), N = monitor(port, no_such_name), {down(M), down(N)} end),
    t:c(demonitor, fun() -> P = cat(), M = monitor(port, P), R = {demonitor(M, [info]), demonitor(M, [info, flush]), erlang:port_info(P, monitored_by)}, port_close(P), {R, down(M)} end),
    t:each(monitor_bad, [self(), 1, "a", {a, b}, {no_such, node()}], fun(X) -> M = monitor(port, X), down(M) end).

info() ->
    P = open_port({spawn, "cat"}, [{parallelism, true}]),
    Items = [name, links, connected, input, output, parallelism, locking, monitors, monitored_by, queue_size, registered_name, foo, 1],
    t:each(info, Items, fun(I) -> catch_(fun() -> clean(erlang:port_info(P, I)) end) end),
    t:c(info_kinds, fun() -> {is_integer(element(2, erlang:port_info(P, id))), is_integer(element(2, erlang:port_info(P, os_pid))), is_integer(element(2, erlang:port_info(P, memory)))} end),
    t:c(info_all, fun() -> [element(1, X) || X <- erlang:port_info(P)] end),
    t:c(counts, fun() -> port_command(P, "12345"), got(P), [erlang:port_info(P, input), erlang:port_info(P, output)] end),
    t:c(counts_packet, fun() -> Q = open_port({spawn, "cat"}, [{packet, 2}]), port_command(Q, "12345"), got(Q), R = [erlang:port_info(Q, input), erlang:port_info(Q, output)], port_close(Q), R end),
    t:c(counts_line, fun() -> Q = open_port({spawn, "cat"}, [{line, 100}]), port_command(Q, "12345\n"), got(Q), R = [erlang:port_info(Q, input), erlang:port_info(Q, output)], port_close(Q), R end),
    port_close(P),
    t:c(info_closed, fun() -> [erlang:port_info(P), erlang:port_info(P, name), erlang:port_info(P, foo) ] end),
    t:c(info_bad, fun() -> [catch_(fun() -> erlang:port_info(X) end) || X <- [foo, 1, self()]] end).

ends() ->
    t:c(eof_then_close, fun() -> P = open_port({spawn, "true"}, [eof]), A = got(P), B = port_close(P), {A, B, exit_of(P)} end),
    t:c(status_after_data, fun() -> run({spawn, "sh -c 'printf ab; exit 7'"}, [exit_status, binary]) end),
    t:c(background, fun() -> P = open_port({spawn, "sh -c 'sleep 0.2 & echo x; exit 4'"}, [exit_status]), [got(P), got(P), exit_of(P)] end),
    t:c(write_to_ended, fun() -> P = open_port({spawn_executable, "/bin/sh"}, [out, {args, ["-c", "exec <&-; sleep 1"]}]), timer:sleep(100), catch port_command(P, binary:copy(<<"x">>, 100000)), R = exit_of(P), R end),
    t:c(many, fun() -> Ps = [open_port({spawn, "echo " ++ integer_to_list(N)}, [binary, exit_status]) || N <- lists:seq(1, 20)], lists:sort([{binary_to_integer(string:trim(D)), S} || P <- Ps, {D, S} <- [{receive {P, {data, X}} -> X end, receive {P, {exit_status, Y}} -> Y end}]]) =:= [{N, 0} || N <- lists:seq(1, 20)] end).

busy() ->
    Open = fun(O) -> open_port({spawn_executable, "/bin/sh"}, [out, {args, ["-c", "sleep 0.6; exec cat >/dev/null"]} | O]) end,
    Big = binary:copy(<<"x">>, 200000),
    t:c(busy, fun() -> P = Open([]), R = [port_command(P, Big), port_command(P, "y", [nosuspend]), catch_(fun() -> port_command(P, "y", [force]) end), catch_(fun() -> port_command(P, "y", [foo]) end), erlang:send(P, {self(), {command, "z"}}, [nosuspend]), erlang:send_nosuspend(P, {self(), {command, "z"}}), element(2, erlang:port_info(P, queue_size)) > 0], {Time, S} = timer:tc(fun() -> port_command(P, "w") end), port_close(P), {R, S, Time > 200000} end),
    t:c(busy_message, fun() -> P = Open([]), P ! {self(), {command, Big}}, {Time, _} = timer:tc(fun() -> P ! {self(), {command, "a"}}, erlang:yield() end), port_close(P), Time > 200000 end),
    t:c(limits, fun() -> P = Open([{busy_limits_port, {1000000, 2000000}}]), R = [port_command(P, Big), port_command(P, "y", [nosuspend])], unlink(P), exit(P, kill), R end),
    t:c(disabled, fun() -> P = Open([{busy_limits_port, disabled}]), R = [port_command(P, Big), port_command(P, "y", [nosuspend])], unlink(P), exit(P, kill), R end),
    t:c(waiting_when_closed, fun() -> P = Open([]), S = self(), port_command(P, Big), spawn(fun() -> S ! {other, catch_(fun() -> port_command(P, "y") end)} end), timer:sleep(50), unlink(P), exit(P, kill), receive {other, R} -> R after 3000 -> none end end).

cat() -> open_port({spawn, "cat"}, []).

got(P) -> receive {P, M} -> M after 2000 -> none end.

exit_of(P) -> receive {'EXIT', P, R} -> R after 150 -> none end.

down(M) -> receive {'DOWN', M, K, O, R} -> {K, clean(O), R} after 150 -> none end.

open(N, O) -> try open_port(N, O) of P -> catch port_close(P), t:flush(), opened catch C:R -> {C, R} end.

run(N, O) -> try open_port(N, O) of P -> all(P, []) catch C:R -> {C, R} end.

all(P, L) ->
    receive
        {P, eof} -> catch port_close(P), lists:reverse([eof | L]);
        {P, {data, D}} when is_list(D); is_binary(D) -> all(P, [D | L]);
        {P, M} -> all(P, [M | L]);
        {'EXIT', P, R} -> lists:reverse([R | L])
    after 3000 -> lists:reverse([timeout | L])
    end.

collect(_, 0, L) -> iolist_to_binary(lists:reverse(L));
collect(P, N, L) -> receive {P, {data, D}} -> collect(P, N - byte_size(D), [D | L]) after 3000 -> iolist_to_binary(lists:reverse(L)) end.

catch_(F) -> try F() catch C:R -> {C, R} end.

norm({'EXIT', {R, _}}) -> R;
norm(X) -> X.

clean(X) when is_port(X) -> port;
clean(X) when is_pid(X) -> pid;
clean(X) when is_tuple(X) -> list_to_tuple([clean(Y) || Y <- tuple_to_list(X)]);
clean([H | T]) -> [clean(H) | clean(T)];
clean(X) when X =:= node() -> node;
clean(X) -> X.
