%% Options of the module socket: what each is at first, what it takes, and what it is then; what is supported; interfaces; names.
-module(sock_options).
-export([main/0]).

main() ->
    [t:each(option, Values, fun(V) -> option(Type, V) end) || {Type, Values} <- values()],
    t:c(native, fun native/0),
    t:each(own, own(), fun own/1),
    t:each(supports, [protocols, options, msg_flags, ioctl_requests, ioctl_flags, foo], fun supports/1),
    t:c(supported, fun() -> [{K, socket:is_supported(K)} || K <- [ipv6, local, sctp, netns, sendfile, foo]] end),
    t:c(loopback, fun loopback/0),
    t:each(requests, [gifname, gifindex, gifaddr, gifnetmask, gifmtu, gifflags, gifhwaddr, foo], fun request/1),
    t:each(lookups, [{"127.0.0.1", "80"}, {"127.0.0.1", undefined}, {"::1", "http"}, {"127.0.0.1", "nosuchservice"}], fun({H, S}) -> prim_net:getaddrinfo(H, S) end),
    t:each(names, [[numerichost, numericserv], [numerichost, numericserv, dgram], [foo]], fun name/1),
    t:c(command, fun command/0).

values() ->
    [{dgram, [{{ip, tos}, lowdelay}, {{ip, tos}, 7}, {{ip, tos}, foo}, {{ip, mtu_discover}, do}, {{ip, mtu_discover}, 1}, {{ip, mtu_discover}, foo}, {{ip, multicast_if}, any},
              {{ip, multicast_if}, {127, 0, 0, 1}}, {{ip, multicast_if}, foo}, {{ip, ttl}, 0}, {{ip, ttl}, 10}, {{ip, ttl}, a}, {{ip, multicast_ttl}, 5}, {{ip, multicast_loop}, false},
              {{ip, add_membership}, #{multiaddr => {224, 0, 0, 251}, interface => {127, 0, 0, 1}}}, {{ip, add_membership}, foo}, {{ip, drop_membership}, #{multiaddr => {224, 0, 0, 251}, interface => any}},
              {{ip, block_source}, foo}, {{ip, pktoptions}, foo}, {{ip, mtu}, foo}, {{ip, recvtos}, true}, {{ip, minttl}, 3}, {{ip, multicast_all}, false}, {{ip, msfilter}, foo},
              {{socket, linger}, #{onoff => true, linger => 5}}, {{socket, linger}, abort}, {{socket, linger}, foo}, {{socket, rcvbuf}, 4096}, {{socket, rcvbuf}, foo}, {{socket, reuseaddr}, true},
              {{socket, reuseaddr}, 1}, {{socket, acceptconn}, true}, {{socket, type}, stream}, {{socket, domain}, inet}, {{socket, protocol}, udp}, {{socket, priority}, 3},
              {{socket, broadcast}, true}, {{socket, timestamp}, true}, {{socket, rcvlowat}, 2}, {{socket, bindtodevice}, foo}, {{socket, sndtimeo}, 1}, {{udp, cork}, true}, {{tcp, nodelay}, true},
              {{foo, bar}, 1}, {{socket, foo}, 1}, {foo, 1}]},
     {stream, [{{tcp, nodelay}, true}, {{tcp, cork}, true}, {{tcp, maxseg}, 1000}, {{tcp, congestion}, foo}, {{socket, keepalive}, true}, {{ipv6, v6only}, true}, {{ipv6, addrform}, foo}]},
     {dgram6, [{{ipv6, v6only}, true}, {{ipv6, mtu_discover}, dont}, {{ipv6, multicast_if}, 1}, {{ipv6, multicast_hops}, default}, {{ipv6, multicast_hops}, 3}, {{ipv6, unicast_hops}, foo},
               {{ipv6, tclass}, 3}, {{ipv6, add_membership}, #{multiaddr => {16#ff02, 0, 0, 0, 0, 0, 0, 16#fb}, interface => 1}}, {{ipv6, recvpktinfo}, true}, {{ipv6, join_group}, 1}]}].

open(dgram) -> socket:open(inet, dgram, udp);
open(stream) -> socket:open(inet, stream, tcp);
open(dgram6) -> socket:open(inet6, dgram, udp).

option(Type, {Option, Value}) ->
    {ok, S} = open(Type),
    R = {catching(fun() -> socket:setopt(S, Option, Value) end), catching(fun() -> socket:getopt(S, Option) end)},
    ok = socket:close(S),
    R.

catching(F) -> try F() catch Class:Reason -> {Class, Reason} end.

native() ->
    {ok, S} = open(dgram),
    R = [catching(F) || F <- [fun() -> socket:setopt_native(S, {0, 2}, 20) end, fun() -> socket:getopt_native(S, {0, 2}, integer) end, fun() -> socket:getopt_native(S, {ip, 2}, boolean) end,
                              fun() -> socket:getopt_native(S, {ip, ttl}, 4) end, fun() -> socket:getopt_native(S, {0, 2}, <<0, 0>>) end, fun() -> socket:getopt_native(S, {0, 2}, foo) end,
                              fun() -> socket:setopt_native(S, {socket, 2}, true) end, fun() -> socket:setopt_native(S, {socket, 2}, <<1:32/native>>) end,
                              fun() -> socket:setopt_native(S, {socket, 2}, foo) end, fun() -> socket:getopt_native(S, {ip, 999}, 2) end, fun() -> socket:getopt_native(S, {foo, 1}, 2) end]],
    ok = socket:close(S),
    R.

own() ->
    [{debug, foo}, {iow, true}, {iow, foo}, {rcvbuf, 5}, {rcvbuf, {2, 5}}, {rcvbuf, 0}, {rcvbuf, {0, 5}}, {rcvbuf, foo}, {rcvbuf, default}, {rcvctrlbuf, 17}, {rcvctrlbuf, 0},
     {rcvctrlbuf, default}, {sndctrlbuf, 17}, {sndctrlbuf, foo}, {meta, {a, [b], <<"c">>}}, {domain, inet}, {use_registry, false}, {foo, 1}].

own({Option, Value}) -> option(stream, {{otp, Option}, Value}).

%% Protocols beside those that every machine knows are not compared.
supports(protocols) ->
    P = socket:supports(protocols),
    [lists:keyfind(N, 1, P) || N <- [ip, 'IP', icmp, tcp, 'TCP', udp, 'UDP', ipv6, foo]];
supports(options) ->
    lists:sort([O || {{L, _}, _} = O <- socket:supports(options), lists:member(L, [socket, ip, ipv6, tcp, udp, sctp])]);
supports(Key) -> lists:sort(socket:supports(Key)).

loopback() ->
    {ok, [{1, Name} | _]} = prim_net:if_names(),
    {ok, Every} = prim_net:getifaddrs(#{}),
    {[I || #{name := "lo", addr := #{family := inet}} = I <- Every], Name, prim_net:if_name2index("lo"), prim_net:if_index2name(1), prim_net:if_name2index("nosuch"), prim_net:if_index2name(12345),
     [maps:with([family, hatype, ifindex, pkttype], A) || #{name := "lo", addr := #{family := packet} = A} <- Every]}.

request(gifhwaddr = R) ->
    {ok, S} = open(dgram),
    {ok, #{family := F, addr := A}} = socket:ioctl(S, R, "lo"),
    {F, byte_size(A)};
request(R) ->
    {ok, S} = open(dgram),
    {catching(fun() -> socket:ioctl(S, R, if R =:= gifname -> 1; true -> "lo" end) end), catching(fun() -> socket:ioctl(S, R, if R =:= gifname -> 12345; true -> "nosuch" end) end)}.

name(Flags) -> catching(fun() -> prim_net:getnameinfo(#{family => inet, addr => loopback, port => 80}, Flags) end).

command() ->
    [catching(F) || F <- [fun() -> socket:use_registry(true) end, fun() -> prim_socket:use_registry(foo) end, fun() -> prim_net:command(#{command => debug, data => true}) end, fun() -> prim_net:info() end,
                          fun() -> maps:remove(counters, socket:info()) end]].
