%% Sockets with names in the file system, with abstract names and with none.
-module(local_sockets).
-export([main/0]).

main() ->
    Dir = t:tmp("local_sockets"),
    t:each(streams, [path, abstract, unnamed], fun(K) -> hide(Dir, stream(address(K, Dir))) end),
    t:each(datagrams, [path, abstract, unnamed], fun(K) -> hide(Dir, datagrams(address(K, Dir), Dir)) end),
    t:each(connect, [{local, "/nosuch/socket"}, {local, <<0, "nosuch">>}, {local, <<>>}, {local, "/etc/passwd"}, {local, lists:duplicate(107, $x)}, {local, lists:duplicate(200, $x)}], fun(A) -> catch gen_tcp:connect(A, 0, [local], 1000) end),
    t:each(listen, [{local, "/nosuch/socket"}, {local, "/etc/passwd"}, {local, lists:duplicate(109, $x)}], fun(A) -> catch gen_tcp:listen(0, [local, {ifaddr, A}]) end),
    t:c(twice, fun() -> {ok, L} = listen({local, filename:join(Dir, "twice")}), R = listen({local, filename:join(Dir, "twice")}), gen_tcp:close(L), {R, listen({local, filename:join(Dir, "twice")})} end),
    t:c(families, fun() -> {gen_tcp:connect({local, "x"}, 0, [inet]), gen_tcp:listen(0, [local, {ip, {127, 0, 0, 1}}])} end).

hide(Dir, {local, Name}) when is_binary(Name) -> {local, iolist_to_binary(string:replace(Name, Dir, "DIR"))};
hide(Dir, T) when is_tuple(T) -> list_to_tuple(hide(Dir, tuple_to_list(T)));
hide(Dir, [H | T]) -> [hide(Dir, H) | hide(Dir, T)];
hide(_, T) -> T.

address(path, Dir) -> {local, filename:join(Dir, "socket")};
address(abstract, _) -> {local, <<0, "myriad test ", (list_to_binary(os:getpid()))/binary>>};
address(unnamed, _) -> {local, <<>>}.

listen(Address) -> gen_tcp:listen(0, [local, {ifaddr, Address}, binary, {active, false}]).

stream(Address) ->
    {ok, L} = listen(Address),
    {ok, Name} = inet:sockname(L),
    {ok, C} = gen_tcp:connect(Name, 0, [local, binary, {active, false}, {packet, 4}]),
    {ok, S} = gen_tcp:accept(L, 1000),
    ok = inet:setopts(S, [{packet, 4}]),
    ok = gen_tcp:send(C, "question"),
    A = gen_tcp:recv(S, 0, 1000),
    Big = binary:copy(<<"0123456789">>, 100000),
    spawn_link(fun() -> ok = gen_tcp:send(S, Big) end),
    B = gen_tcp:recv(C, 0, 10000) =:= {ok, Big},
    R = {named(Address, Name), named(Address, inet:peername(C)), inet:sockname(C), inet:peername(S), A, B, named(Address, inet:port(L)), prim_inet:gettype(C)},
    gen_tcp:close(C),
    End = gen_tcp:recv(S, 0, 1000),
    net:close([S, L]),
    {R, End}.

%% A name that the system has chosen, or that holds a number, is not shown.
named({local, <<0, _/binary>>}, Name) -> is_tuple(Name);
named({local, <<>>}, Name) -> is_tuple(Name);
named(_, Name) -> Name.

datagrams(Address, Dir) ->
    t:flush(),
    file:delete(filename:join(Dir, "socket")),
    {ok, U} = gen_udp:open(0, [local, {ifaddr, Address}, binary, {active, true}]),
    {ok, Name} = inet:sockname(U),
    file:delete(filename:join(Dir, "other")),
    {ok, V} = gen_udp:open(0, [{ifaddr, {local, filename:join(Dir, "other")}}, binary, {active, false}]),
    {ok, W} = gen_udp:open(0, [local, binary]),
    R = [gen_udp:send(V, Name, 0, "from a name"), gen_udp:send(W, Name, 0, "from nowhere")],
    Got = net:got(2, 1000),
    Back = gen_udp:send(U, {local, filename:join(Dir, "other")}, 0, "back"),
    ok = inet:setopts(V, [{active, once}]),
    {From, D} = receive {udp, V, A, 0, B} -> {A, B} after 1000 -> nothing end,
    net:close([U, V, W]),
    {R, Got, Back, named(Address, From), D}.
