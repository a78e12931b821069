# What flags do to ports: the default of `parallelism`, how many there may be.
run() { "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null; echo "status $?"; }
for flag in "" "+spp true" "+spp false"; do
    run $flag -eval 'Of = fun(O) -> P = open_port({spawn, "cat"}, O), {parallelism, X} = erlang:port_info(P, parallelism), port_close(P), X end, {ok, U} = gen_udp:open(0), io:format("~p~n", [{erlang:system_info(port_parallelism), [Of(O) || O <- [[], [{parallelism, true}], [{parallelism, false}]]], erlang:port_info(U, parallelism)}]), halt().'
done
run +spp maybe -eval 'halt().' 2>&1 | grep -o 'bad port parallelism[a-z ]*\|status [01]'
# All but those that the VM has itself can be opened; each that is closed makes room for one.
run +Q 1500 -eval '
    Open = fun() -> catch open_port({spawn_driver, "ram_file_drv"}, []) end,
    F = fun F(L) -> case Open() of P when is_port(P) -> F([P | L]); {_, {E, _}} -> {L, E} end end,
    {L, E} = F([]),
    Limit = erlang:system_info(port_limit),
    io:format("~p~n", [{Limit, E, erlang:system_info(port_count), length(erlang:ports()), Limit - length(L) < 10}]),
    {Some, _} = lists:split(500, L),
    [port_close(P) || P <- Some],
    {Again, E} = F([]),
    io:format("~p~n", [{length(Again), length(lists:usort(erlang:ports())), Again -- erlang:ports(), [P || P <- Again, lists:member(P, L)]}]),
    halt().'
