%% What goes to standard output and how: put_chars, display, the I/O protocol, ports and os:cmd.
-module(output).
-export([main/0]).

main() ->
    io:put_chars("plain\n"),
    io:put_chars(user, [<<"iolist ">>, ["of ", "parts"], $\n]),
    io:format("~ts ~w~n", ["юникод", [1, 2]]),
    io:fwrite("~p~n", [{a, "s", 1.0}]),
    io:nl(),
    io:write({written, "s"}), io:nl(),
    %% display writes past the I/O server, so let that one finish first.
    receive after 200 -> ok end,
    erlang:display({displayed, 1, "abc", [a, b], <<"x">>, 1.5, #{k => v}}),
    erlang:display([]), erlang:display("str"), erlang:display(lists:seq(1, 5)), erlang:display('quoted atom'), erlang:display(1 bsl 70), erlang:display({[], {}, [a | b]}),
    receive after 100 -> ok end,
    t:c(columns, fun() -> {io:columns(), io:rows()} end),
    t:c(getopts, fun() -> lists:sort([O || {K, _} = O <- io:getopts(), K =/= expand_fun]) end),
    t:c(get_line_eof, fun() -> {io:get_line("prompt> "), io:read("> "), io:get_chars("", 3), io:fread("", "~d")} end),
    t:c(bad_device, fun() -> io:format(no_such_device, "x", []) end),
    t:c(dead_device, fun() -> P = spawn(fun() -> ok end), receive after 20 -> ok end, io:format(P, "x", []) end),
    t:c(bad_format, fun() -> io:format("~p~p", [a]) end),
    t:c(io_request, fun() -> R = make_ref(), group_leader() ! {io_request, self(), R, {put_chars, unicode, "by hand\n"}}, receive {io_reply, R, X} -> X end end),
    t:c(io_request_bad, fun() -> R = make_ref(), group_leader() ! {io_request, self(), R, nonsense}, receive {io_reply, R, X} -> X end end),
    t:c(own_leader, fun() -> capture(fun() -> io:format("captured ~w~n", [x]), io:put_chars("more") end) end),
    t:c(cmd, fun() -> {os:cmd("echo hello; echo err >&2"), os:cmd("printf 'a\\nb'"), os:cmd("exit 3")} end),
    t:c(port, fun() -> P = open_port({spawn, "echo from port"}, [exit_status, binary]), collect(P, []) end),
    t:c(port_executable, fun() -> P = open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "read x; echo got $x; exit 7"]}, exit_status, {line, 100}]), port_command(P, "input\n"), collect(P, []) end),
    t:c(port_packet, fun() -> P = open_port({spawn, "cat"}, [{packet, 2}, binary]), P ! {self(), {command, <<"one">>}}, P ! {self(), {command, ["t", <<"wo">>]}}, R = [receive {P, {data, D}} -> D after 2000 -> none end || _ <- [1, 2]], P ! {self(), close}, receive {P, closed} -> {R, closed} after 1000 -> R end end),
    t:c(port_env, fun() -> P = open_port({spawn, "sh -c 'echo $VAR_X; pwd'"}, [{env, [{"VAR_X", "value"}]}, {cd, "/"}, exit_status]), collect(P, []) end),
    t:c(port_missing, fun() -> open_port({spawn_executable, "/no/such/file"}, []) end),
    t:c(port_bad, fun() -> open_port({spawn, "cat"}, [{packet, 3}]) end),
    t:c(port_info, fun() -> P = open_port({spawn, "cat"}, []), R = [erlang:port_info(P, I) || I <- [name, input, output, registered_name]], C = erlang:port_info(P, connected) =:= {connected, self()}, port_close(P), {R, C, erlang:port_info(P), catch port_close(P)} end),
    t:c(port_exit, fun() -> process_flag(trap_exit, true), P = open_port({spawn, "true"}, []), receive {'EXIT', P, R} -> R after 2000 -> none end end),
    t:c(env, fun() -> os:putenv("SOME_VAR", "some"), A = os:getenv("SOME_VAR"), os:unsetenv("SOME_VAR"), {A, os:getenv("SOME_VAR"), os:getenv("SOME_VAR", "dflt"), os:type(), is_list(os:getenv())} end),
    t:c(find_executable, fun() -> {os:find_executable("no_such_program_here"), is_list(os:find_executable("sh"))} end),
    io:put_chars("end without newline").

collect(P, A) ->
    receive {P, {exit_status, S}} -> {A, S}; {P, {data, {eol, D}}} -> collect(P, A ++ [D]); {P, {data, D}} when is_list(D) -> collect(P, A ++ D); {P, {data, D}} -> collect(P, A ++ [D]) after 3000 -> {A, timeout} end.

capture(F) ->
    S = self(),
    Old = group_leader(),
    G = spawn(fun() -> leader(S, []) end),
    group_leader(G, S),
    F(),
    group_leader(Old, S),
    G ! {stop, S},
    receive {captured, T} -> unicode:characters_to_list(T) end.

leader(S, Acc) ->
    receive
        {io_request, From, R, {put_chars, _, Chars}} -> From ! {io_reply, R, ok}, leader(S, [Acc, Chars]);
        {io_request, From, R, {put_chars, _, M, F, A}} -> From ! {io_reply, R, ok}, leader(S, [Acc, apply(M, F, A)]);
        {stop, P} -> P ! {captured, Acc}
    end.
