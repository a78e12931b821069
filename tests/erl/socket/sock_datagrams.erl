%% Datagrams of the module socket: addresses, lengths, ancillary data; gen_udp over it.
-module(sock_datagrams).
-export([main/0]).

main() ->
    put(directory, t:tmp(sock_datagrams)),
    t:each(echo, [inet, inet6, local], fun echo/1),
    t:each(length, [0, 2, 5, 9], fun length_of/1),
    t:c(empty, fun empty/0),
    t:c(connected, fun connected/0),
    t:each(control, [[], [recvtos], [recvttl], [recvtos, recvttl, pktinfo]], fun control/1),
    t:c(timestamp, fun timestamp/0),
    t:each(errors, [{inet, ip}, {inet6, ipv6}], fun errors/1),
    t:each(sent_control, [#{level => ip, type => tos, value => mincost}, #{level => ip, type => tos, data => <<4:32/native>>}, #{level => ip, type => ttl, value => 9},
                          #{level => ip, type => foo, value => 1}, #{level => foo, type => ttl, value => 1}, #{level => ip, type => ttl}, #{type => ttl, value => 1}], fun sent_control/1),
    t:each(addresses, [#{addr => {1, 2, 3}}, #{addr => {1, 2, 3, 256}}, #{port => a}, #{port => 65536}, #{family => foo}, #{family => inet6}, #{foo => 1}, #{addr => any}, #{addr => broadcast}], fun address/1),
    t:each(paths, [lists:duplicate(108, $x), lists:duplicate(300, $x), a], fun path/1),
    t:c(backend, fun backend/0).

bound(local = Family, Name) ->
    {ok, S} = socket:open(Family, dgram),
    ok = socket:bind(S, #{family => local, path => filename:join(get(directory), Name)}),
    {ok, A} = socket:sockname(S),
    {S, A};
bound(Family, _) ->
    {ok, S} = socket:open(Family, dgram, udp),
    ok = socket:bind(S, loopback),
    {ok, A} = socket:sockname(S),
    {S, A}.

echo(Family) ->
    {A, ToA} = bound(Family, "a"),
    {B, ToB} = bound(Family, "b"),
    ok = socket:sendto(A, "hello", ToB),
    {ok, {From, Data}} = socket:recvfrom(B, 0, 1000),
    ok = socket:sendto(B, [Data, " again"], From),
    {From =:= ToA, socket:recv(A, 0, 1000), socket:recv(A, 0, 0), socket:close(A), socket:close(B)}.

length_of(N) ->
    {S, To} = bound(inet, s),
    [ok = socket:sendto(S, "hello", To) || _ <- [1, 2, 3]],
    {ok, {_, Data}} = socket:recvfrom(S, N, 1000),
    {ok, Message} = socket:recvmsg(S, N, 0, 1000),
    {Data, maps:remove(addr, Message), socket:recv(S, N, 1000)}.

empty() ->
    {S, To} = bound(inet, s),
    [ok = socket:sendto(S, "", To) || _ <- [1, 2, 3]],
    {ok, {_, Data}} = socket:recvfrom(S, 0, 1000),
    {ok, Message} = socket:recvmsg(S, 1000),
    {Data, maps:remove(addr, Message), socket:recv(S, 0, 1000)}.

connected() ->
    {A, ToA} = bound(inet, a),
    {B, ToB} = bound(inet, b),
    R = {socket:send(A, "x"), socket:connect(A, ToB), socket:send(A, "y"), socket:recv(B, 0, 1000), socket:peername(A) =:= {ok, ToB}},
    ok = socket:sendmsg(B, #{addr => ToA, iov => [<<"z">>]}),
    {R, socket:recv(A, 0, 1000), socket:connect(A, #{family => unspec}), socket:peername(A)}.

control(Options) ->
    {S, To} = bound(inet, s),
    ok = socket:setopt(S, {ip, tos}, 8),
    [ok = socket:setopt(S, {ip, O}, true) || O <- Options],
    ok = socket:sendto(S, "hello", To),
    {ok, Message} = socket:recvmsg(S, 1000),
    maps:remove(addr, Message).

timestamp() ->
    {S, To} = bound(inet, s),
    ok = socket:setopt(S, {socket, timestamp}, true),
    ok = socket:sendto(S, "hello", To),
    {ok, #{ctrl := [#{value := #{sec := Seconds}} = C]}} = socket:recvmsg(S, 1000),
    ok = socket:sendto(S, "hello", To),
    {ok, #{ctrl := Cut, flags := Flags}} = socket:recvmsg(S, 0, 20, 1000),
    {abs(Seconds - erlang:system_time(second)) < 3, maps:without([data, value], C), [maps:remove(data, One) || One <- Cut], Flags}.

%% Nobody takes it: who has told so.
errors({Family, Level}) ->
    {ok, S} = socket:open(Family, dgram, udp),
    ok = socket:setopt(S, {Level, recverr}, true),
    {T, To} = bound(Family, t),
    ok = socket:close(T),
    ok = socket:sendto(S, "x", To),
    timer:sleep(50),
    {ok, Message} = socket:recvmsg(S, [errqueue], 1000),
    maps:remove(addr, Message).

sent_control(Control) ->
    {S, To} = bound(inet, s),
    ok = socket:setopt(S, {ip, recvtos}, true),
    ok = socket:setopt(S, {ip, recvttl}, true),
    case socket:sendmsg(S, #{addr => To, iov => [<<"a">>], ctrl => [Control]}) of
        ok ->
            {ok, Message} = socket:recvmsg(S, 1000),
            maps:remove(addr, Message);
        {error, {invalid, {msg, ctrl, _}}} -> invalid;
        Other -> Other
    end.

address(Change) ->
    {S, To} = bound(inet, s),
    Changed = maps:merge(To#{port := 9}, Change),
    {socket:sendto(S, "a", Changed), socket:bind(S, Changed), socket:connect(S, Changed)}.

path(Path) ->
    {ok, S} = socket:open(local, dgram),
    {socket:bind(S, #{family => local, path => Path}), socket:sockname(S)}.

backend() ->
    {ok, A} = gen_udp:open(0, [{inet_backend, socket}, binary, {ip, {127, 0, 0, 1}}]),
    {ok, B} = gen_udp:open(0, [{inet_backend, socket}, binary, {active, false}, {ip, {127, 0, 0, 1}}]),
    {ok, PortA} = inet:port(A),
    {ok, PortB} = inet:port(B),
    ok = gen_udp:send(A, {127, 0, 0, 1}, PortB, "hello"),
    {ok, {_, PortA, Data}} = gen_udp:recv(B, 0, 1000),
    ok = gen_udp:send(B, {127, 0, 0, 1}, PortA, "world"),
    Got = receive {udp, A, _, PortB, More} -> More after 1000 -> none end,
    {Data, Got, gen_udp:close(A), gen_udp:close(B)}.
