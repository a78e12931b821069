# Nodes with names: `-sname` and `-name` register at a port mapper, which the first of them starts, and are forgotten when they end.
export HOME=$PWD
ERL_EPMD_PORT=$("$ERL" -noshell -eval '{ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}]), {ok, P} = inet:port(L), io:format("~p", [P]), halt().')
export ERL_EPMD_PORT ERL_EPMD_ADDRESS=127.0.0.1
node() { "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null; echo "status $?"; }
says='{ok, Names} = erl_epmd:names("localhost"), io:format("~p~n", [{node(), is_alive(), erlang:system_info(creation) > 3, [N || {N, _} <- Names], erlang:get_cookie()}])'
node -sname one@localhost -setcookie one -eval "$says, halt()."
node -name two@127.0.0.1 -setcookie two -eval "$says, halt()."
# A name is one node's. Who is there is not reached, nor harmed.
node -sname one@localhost -setcookie one -eval '
    Other = open_port({spawn_executable, os:getenv("ERL")}, [exit_status, stderr_to_stdout, {args, ["-sname", "one@localhost", "-noinput", "-eval", "halt()."]}]),
    F = fun F(L) -> receive {Other, {data, D}} -> F(L ++ D); {Other, {exit_status, S}} -> {S, string:find(L, "in use") =/= nomatch} end end,
    io:format("~p~n", [F("")]),
    halt().'
# A node that gets its name while it runs, and gives it back.
node -eval '
    State = fun() -> {node(), is_alive(), net_kernel:get_state()} end,
    io:format("~p~n", [[State(), element(1, net_kernel:start(late@localhost, #{name_domain => shortnames})), State(), net_adm:ping(node()), net_kernel:stop(), State()]]),
    {ok, Names} = erl_epmd:names("localhost"), io:format("~p~n", [Names]),
    halt().'
# Nobody else is there.
node -sname alone@localhost -eval '
    Other = nobody@localhost,
    M = monitor(process, {x, Other}),
    Down = receive {_, M, process, Who, Why} -> {Who, Why} end,
    Sent = [{x, Other} ! hello, {x, node()} ! hello],
    Watched = [monitor_node(Other, true), receive {nodedown, N} -> N end, monitor_node(node(), true), monitor_node(Other, false)],
    io:format("~p~n", [{net_adm:ping(Other), rpc:call(Other, erlang, node, []), Down, Sent, Watched, nodes(), nodes(this), nodes(visible)}]),
    halt().'
node -sname 'a b@localhost' -eval 'halt().' 2>&1 | grep '^status'
epmd=$("$ERL" -noshell -eval 'io:format("~ts", [filename:join([code:root_dir(), "erts-" ++ erlang:system_info(version), "bin", "epmd"])]), halt().')
"$epmd" -names | grep -c '^name'
"$epmd" -kill
