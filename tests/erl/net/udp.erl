%% Datagrams: modes, sizes, ancillary data, connected sockets, errors.
-module(udp).
-export([main/0]).

main() ->
    t:each(modes, [{M, H, A} || M <- [list, binary], H <- [0, 2], A <- [true, false, once, 3]], fun({M, H, A}) -> modes(M, H, A) end),
    t:each(sizes, [0, 1, 8192, 8193, 65507, 65508, 70000], fun sizes/1),
    t:each(buffers, [1, 10, 100000], fun buffers/1),
    t:c(connected, fun connected/0),
    t:c(refused, fun refused/0),
    t:c(ancillary, fun ancillary/0),
    t:each(bad, [{{1, 2, 3, 4, 5, 6, 7, 8}, 9}, {{127, 0, 0, 1}, 0}, {{local, "nothing"}, 0}, {{255, 255, 255, 255}, 9}], fun({A, P}) -> {ok, U} = gen_udp:open(0), R = gen_udp:send(U, A, P, "x"), gen_udp:close(U), R end),
    t:c(times, fun times/0),
    t:c(burst, fun burst/0),
    t:c(many, fun many/0),
    t:c(six, fun six/0),
    t:c(statistics, fun statistics/0),
    t:c(closed, fun closed/0).

pair(Options) ->
    {ok, U} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}, {active, false} | Options]),
    {ok, V} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    {ok, P} = inet:port(U),
    {U, V, P}.

modes(Mode, Header, Active) ->
    {U, V, P} = pair([Mode, {header, Header}]),
    ok = inet:setopts(U, [{active, Active}]),
    [ok = gen_udp:send(V, {127, 0, 0, 1}, P, D) || D <- ["", "a", "ab", "abc"]],
    Got = case Active of
        false -> [begin {ok, {A, _, D}} = gen_udp:recv(U, 0, 1000), {A, D} end || _ <- [1, 2, 3, 4]];
        _ -> [case M of {udp, _, A, _, D} -> {A, D}; {T, _} -> T end || M <- net:got(40)]
    end,
    net:close([U, V]),
    {Got, inet:getopts(U, [active])}.

sizes(N) ->
    {U, V, P} = pair([binary, {recbuf, 200000}]),
    Sent = gen_udp:send(V, {127, 0, 0, 1}, P, binary:copy(<<"a">>, N)),
    Got = case gen_udp:recv(U, 0, 50) of {ok, {_, _, D}} -> byte_size(D); Other -> Other end,
    net:close([U, V]),
    {Sent, Got}.

buffers(N) ->
    {U, V, P} = pair([binary, {buffer, N}]),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, binary:copy(<<"a">>, 20)),
    {ok, {_, _, D}} = gen_udp:recv(U, 0, 1000),
    R = {inet:getopts(U, [buffer]), byte_size(D)},
    net:close([U, V]),
    R.

connected() ->
    {U, V, P} = pair([]),
    {W, _, PW} = pair([]),
    ok = gen_udp:connect(V, {127, 0, 0, 1}, P),
    R = [gen_udp:send(V, "plain"), gen_udp:send(V, {127, 0, 0, 1}, PW, "elsewhere"), element(1, element(2, inet:peername(V))), prim_inet:getstatus(V)],
    Got = [case gen_udp:recv(S, 0, 50) of {ok, {_, _, D}} -> D; Other -> Other end || S <- [U, U, W]],
    net:close([U, V, W]),
    {R, Got}.

refused() ->
    {ok, Q} = gen_udp:open(0, [{active, true}]),
    ok = gen_udp:connect(Q, {127, 0, 0, 1}, 1),
    A = gen_udp:send(Q, "x"),
    timer:sleep(30),
    B = gen_udp:send(Q, "x"),
    Got = net:got(30),
    ok = inet:setopts(Q, [{active, false}]),
    R = {A, B, lists:usort(Got), gen_udp:recv(Q, 0, 20)},
    gen_udp:close(Q),
    R.

ancillary() ->
    {U, V, P} = pair([binary, {recvtos, true}, {recvttl, true}]),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, [{tos, 16}, {ttl, 9}], "one"),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, "two"),
    Got = [begin {ok, {_, _, A, D}} = gen_udp:recv(U, 0, 1000), {A, D} end || _ <- [1, 2]],
    ok = inet:setopts(U, [{active, true}]),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, [{tos, 8}], "three"),
    [{udp, _, _, _, A3, D3}] = net:got(1, 1000),
    R = {Got, A3, D3, inet:getopts(U, [recvtos, recvttl])},
    net:close([U, V]),
    R.

times() ->
    {U, V, P} = pair([]),
    Self = self(),
    spawn_link(fun() -> timer:sleep(30), Self ! {second, gen_udp:recv(U, 0, 10)} end),
    A = gen_udp:recv(U, 0, 100),
    B = gen_udp:recv(U, 0, 0),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, "x"),
    {ok, {_, _, D}} = gen_udp:recv(U, 0),
    net:close([U, V]),
    {A, B, D, net:got(1, 100)}.

%% More datagrams than are taken in one go.
burst() ->
    {U, V, P} = pair([binary, {recbuf, 1 bsl 20}]),
    [ok = gen_udp:send(V, {127, 0, 0, 1}, P, <<N:16>>) || N <- lists:seq(1, 100)],
    ok = inet:setopts(U, [{active, true}]),
    Got = [N || {udp, _, _, _, <<N:16>>} <- net:got(100, 1000)],
    net:close([U, V]),
    Got =:= lists:seq(1, 100).

many() ->
    {U, V, P} = pair([binary, {active, true}]),
    {ok, PV} = inet:port(V),
    ok = inet:setopts(V, [{active, true}, binary]),
    ok = gen_udp:send(V, {127, 0, 0, 1}, P, <<0:32>>),
    R = echo(U, V, P, PV),
    net:close([U, V]),
    R.

echo(U, V, P, PV) ->
    receive
        {udp, _, _, _, <<2000:32>>} -> done;
        {udp, U, _, _, <<N:32>>} -> ok = gen_udp:send(U, {127, 0, 0, 1}, PV, <<(N + 1):32>>), echo(U, V, P, PV);
        {udp, V, _, _, <<N:32>>} -> ok = gen_udp:send(V, {127, 0, 0, 1}, P, <<(N + 1):32>>), echo(U, V, P, PV)
    after 5000 -> lost
    end.

six() ->
    t:flush(),
    One = {0, 0, 0, 0, 0, 0, 0, 1},
    {ok, U} = gen_udp:open(0, [inet6, {ip, One}, {active, true}]),
    {ok, {A, P}} = inet:sockname(U),
    ok = gen_udp:send(U, One, P, "six"),
    [{udp, _, B, P, D}] = net:got(1, 1000),
    R = {A, B, D, prim_inet:gettype(U), inet:getopts(U, [multicast_ttl, multicast_loop, tclass])},
    gen_udp:close(U),
    R.

statistics() ->
    {U, V, P} = pair([]),
    [ok = gen_udp:send(V, {127, 0, 0, 1}, P, lists:duplicate(N, $a)) || N <- [10, 20, 60]],
    gen_udp:send(V, {127, 0, 0, 1}, P, lists:duplicate(70000, $a)),
    [{ok, _} = gen_udp:recv(U, 0, 1000) || _ <- [1, 2, 3]],
    R = {inet:getstat(U), inet:getstat(V), erlang:port_info(U, input)},
    net:close([U, V]),
    R.

closed() ->
    {U, V, _} = pair([]),
    ok = gen_udp:close(U),
    R = [gen_udp:send(U, {127, 0, 0, 1}, 9, "x"), gen_udp:recv(U, 0, 10), inet:sockname(U), inet:setopts(U, [{active, true}]), gen_udp:close(U)],
    gen_udp:close(V),
    R.
