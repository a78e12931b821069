%% Sends whose answer comes to the call: nothing else is seen of it.
-module(direct_sends).
-export([main/0]).

main() ->
    t:mute(),
    t:c(mailbox, fun mailbox/0),
    t:c(command, fun command/0),
    t:each(not_connected, [open, listening, closed, peer_closed], fun not_connected/1),
    t:each(data, ["list", <<"binary">>, ["deep", [<<"list">> | <<"!">>]], <<1:3>>, [a], x], fun data/1),
    t:c(by_another, fun by_another/0),
    t:c(traced, fun traced/0),
    t:c(traced_port, fun traced_port/0),
    t:c(counted, fun counted/0),
    t:each(datagrams, [{{127, 0, 0, 1}, 0}, {{127, 0, 0, 256}, 9}, {{127, 0, 0, 1}, 70000}, {{127, 0, 0, 1}, -1}, {{0, 0, 0, 0, 0, 0, 0, 1}, 9}, {local, "x"}], fun datagrams/1),
    t:c(datagram, fun datagram/0),
    t:c(large_datagram, fun large_datagram/0).

mailbox() ->
    {C, S} = net:pair([], []),
    self() ! first,
    R = [gen_tcp:send(C, "one"), gen_tcp:send(C, <<"two">>), gen_tcp:recv(S, 6, 1000)],
    net:close([C, S]),
    {R, process_info(self(), messages), receive first -> ok end}.

command() ->
    {C, S} = net:pair([], []),
    R = [port_command(C, "data"), receive {inet_reply, C, A} -> A end, gen_tcp:send(C, "more"), port_command(C, "last"), receive {inet_reply, C, B} -> B end,
         gen_tcp:recv(S, 12, 1000)],
    net:close([C, S]),
    R.

not_connected(open) ->
    {ok, P} = prim_inet:open(tcp, inet, stream),
    R = prim_inet:send(P, "x"),
    prim_inet:close(P),
    R;
not_connected(listening) ->
    {ok, L} = gen_tcp:listen(0, []),
    R = gen_tcp:send(L, "x"),
    gen_tcp:close(L),
    R;
not_connected(closed) ->
    {C, S} = net:pair([], []),
    net:close([C, S]),
    {gen_tcp:send(C, "x"), prim_inet:send(C, "x"), prim_inet:send(C, "x", [])};
not_connected(peer_closed) ->
    {C, S} = net:pair([{active, false}], []),
    gen_tcp:close(S),
    R = [net:then({error, closed}, fun() -> gen_tcp:send(C, "x") end), gen_tcp:send(C, "x")],
    gen_tcp:close(C),
    R.

data(Data) ->
    {C, S} = net:pair([], []),
    R = {gen_tcp:send(C, Data), gen_tcp:close(C), gen_tcp:recv(S, 0, 1000)},
    gen_tcp:close(S),
    R.

by_another() ->
    {C, S} = net:pair([], []),
    {Pid, M} = spawn_monitor(fun() -> exit({gen_tcp:send(C, "other"), process_info(self(), messages)}) end),
    R = {receive {'DOWN', M, process, Pid, Why} -> Why end, gen_tcp:recv(S, 5, 1000)},
    net:close([C, S]),
    R.

%% A process that is traced as it receives gets the message.
traced() ->
    {C, S} = net:pair([], []),
    Self = self(),
    Pid = spawn_link(fun() -> receive go -> ok = gen_tcp:send(C, "x") end, Self ! sent, receive stop -> ok end end),
    erlang:trace(Pid, true, ['receive']),
    Pid ! go,
    receive sent -> ok end,
    R = [receive {trace, Pid, 'receive', M} -> M after 1000 -> none end || _ <- [1, 2]],
    erlang:trace(Pid, false, [all]),
    Pid ! stop,
    net:close([C, S]),
    R.

traced_port() ->
    {C, S} = net:pair([], []),
    Self = self(),
    erlang:trace(C, true, [send, 'receive']),
    ok = gen_tcp:send(C, "x"),
    R = [receive {trace, C, What, M} -> {What, element(1, M) =:= Self, [{command, iolist_to_binary(D)} || {_, {command, D}} <- [M]]}; {trace, C, What, M, To} -> {What, M, To =:= Self} after 100 -> none end || _ <- [1, 2]],
    erlang:trace(C, false, [all]),
    net:close([C, S]),
    R.

counted() ->
    {C, S} = net:pair([{packet, 2}], [{packet, 2}]),
    ok = gen_tcp:send(C, "four"),
    R = {inet:getstat(C, [send_cnt, send_oct, send_max]), erlang:port_info(C, output), gen_tcp:recv(S, 0, 1000)},
    net:close([C, S]),
    R.

datagrams({Address, Port}) ->
    {ok, U} = gen_udp:open(0, []),
    R = gen_udp:send(U, Address, Port, "x"),
    gen_udp:close(U),
    {R, process_info(self(), messages)}.

datagram() ->
    {ok, A} = gen_udp:open(0, [{active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, B} = gen_udp:open(0, [{active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, P} = inet:port(B),
    self() ! first,
    R = [gen_udp:send(A, {127, 0, 0, 1}, P, ["da", <<"ta">>]), gen_udp:send(A, {{127, 0, 0, 1}, P}, "more"), element(3, element(2, gen_udp:recv(B, 0, 1000))),
         element(3, element(2, gen_udp:recv(B, 0, 1000))), inet:getstat(A, [send_cnt, send_oct])],
    ok = gen_udp:connect(A, {127, 0, 0, 1}, P),
    R2 = [gen_udp:send(A, "connected"), element(3, element(2, gen_udp:recv(B, 0, 1000)))],
    gen_udp:close(A),
    {R, R2, gen_udp:send(A, {127, 0, 0, 1}, P, "x"), gen_udp:close(B), receive first -> ok end}.

large_datagram() ->
    {ok, A} = gen_udp:open(0, []),
    R = gen_udp:send(A, {127, 0, 0, 1}, 9, binary:copy(<<"x">>, 100000)),
    gen_udp:close(A),
    R.
