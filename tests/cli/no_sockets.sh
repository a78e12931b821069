# No descriptors, or no ports, left for sockets: what is told, that nobody spins meanwhile, and that all goes on afterwards.
cat >no_sockets.erl <<'X'
-module(no_sockets).
-export([descriptors/0, ports/0]).

tell(Name, Told) -> put(told, [{Name, norm(Told)} | case get(told) of undefined -> []; All -> All end]).
told() -> [io:format("=> ~w ~0p~n", [N, T]) || {N, T} <- lists:reverse(get(told))].
norm(P) when is_port(P) -> port;
norm(T) when is_tuple(T) -> list_to_tuple([norm(E) || E <- tuple_to_list(T)]);
norm([H | T]) -> [norm(H) | norm(T)];
norm(T) -> T.

start() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    [code:ensure_loaded(M) || M <- [io, io_lib, io_lib_pretty, io_lib_format, lists, gen_tcp, inet_tcp, inet, gen_udp, inet_udp, local_tcp, local_udp, socket, prim_socket, inet_db, erl_posix_msg, string, unicode_util, inet6_tcp, erl_erts_errors, timer]].

-define(LOOPBACK, {127, 0, 0, 1}).

%% Opens until it is refused.
all(Open, L) -> case catch Open() of {ok, S} -> all(Open, [S | L]); Refused -> {Refused, L} end.

udp() -> gen_udp:open(0, [{ip, ?LOOPBACK}]).

descriptors() ->
    start(),
    {ok, L} = gen_tcp:listen(0, [binary, {ip, ?LOOPBACK}, {active, false}, {backlog, 100}]),
    {ok, Port} = inet:port(L),
    {ok, M} = socket:open(inet, stream, tcp),
    ok = socket:bind(M, #{family => inet, addr => ?LOOPBACK, port => 0}),
    ok = socket:listen(M),
    {ok, Address} = socket:sockname(M),
    Connect = fun() -> gen_tcp:connect(?LOOPBACK, Port, [binary, {active, false}], 1000) end,
    %% Connections that wait to be taken, then none left.
    Clients = [C || _ <- lists:seq(1, 8), {ok, C} <- [Connect()]],
    {ok, N} = socket:open(inet, stream, tcp),
    ok = socket:connect(N, Address),
    {Refused, Udp} = all(fun udp/0, []),
    tell(udp, Refused),
    tell(tcp, [Connect(), gen_tcp:listen(0, []), gen_tcp:listen(0, [{ip, {local, "sock"}}]), gen_udp:open(0, [{ip, {local, "sock"}}])]),
    tell(socket, [socket:open(D, T) || {D, T} <- [{inet, stream}, {inet, dgram}, {local, stream}]]),
    tell(accept, [gen_tcp:accept(L, T) || T <- [0, 100, infinity]]),
    tell(accept_socket, [socket:accept(M, T) || T <- [0, 100, infinity]]),
    %% Several wait to take connections while there are such, and nothing happens.
    Self = self(),
    Waiting = [spawn_link(fun() -> receive go -> Self ! {self(), tries(fun() -> gen_tcp:accept(L) end, 20)} end end) || _ <- [1, 2]],
    {_, _} = statistics(runtime),
    [P ! go || P <- Waiting],
    [receive {P, T} -> tell(waited, T) after 10000 -> tell(waited, late) end || P <- Waiting],
    {_, Before} = statistics(runtime),
    timer:sleep(500),
    {_, Used} = statistics(runtime),
    tell(spins, [Before < 5000, Used > 250]),
    %% Data still flows, and what was open is closed.
    [gen_udp:close(S) || S <- Udp],
    tell(again, [begin {ok, S} = gen_tcp:accept(L, 1000), ok = gen_tcp:send(S, "x"), gen_tcp:close(S) end || _ <- Clients]),
    tell(again_socket, element(1, socket:accept(M, 1000))),
    tell(received, lists:usort([gen_tcp:recv(C, 0, 1000) || C <- Clients])),
    told().

%% How it goes on, so many times, with a little time between.
tries(F, N) -> lists:usort([begin timer:sleep(5), norm(F()) end || _ <- lists:seq(1, N)]).

%% As many ports as there may be.
ports() ->
    start(),
    {ok, L} = gen_tcp:listen(0, [binary, {ip, ?LOOPBACK}, {active, false}, {backlog, 100}]),
    {ok, Port} = inet:port(L),
    Connect = fun() -> gen_tcp:connect(?LOOPBACK, Port, [binary, {active, false}], 1000) end,
    Clients = [C || _ <- [1, 2, 3], {ok, C} <- [Connect()]],
    {Refused, Udp} = all(fun udp/0, []),
    tell(limit, [erlang:system_info(port_limit), erlang:system_info(port_count) =:= erlang:system_info(port_limit)]),
    tell(udp, Refused),
    tell(tcp, [catch Connect(), catch gen_tcp:listen(0, [])]),
    tell(socket, element(1, socket:open(inet, stream, tcp))),
    tell(accept, [gen_tcp:accept(L, 100) || _ <- [1, 2]]),
    [gen_udp:close(S) || S <- Udp],
    tell(again, [element(1, gen_tcp:accept(L, 1000)), element(1, Connect()), length(Clients)]),
    told().
X
"$(dirname "$ERL")/erlc" -W0 no_sockets.erl
run() { timeout 60 "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null >out 2>err; echo "status $?"; grep -a '^=>' out; }
(ulimit -n 100; run -s no_sockets descriptors -s init stop)
run +Q 1024 -s no_sockets ports -s init stop
