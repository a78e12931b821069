%% Options of sockets: what is shown at first, what is taken, what is shown then.
-module(socket_options).
-export([main/0]).

main() ->
    t:each(first, [{K, N} || K <- [tcp, tcp6, udp, local], N <- names()], fun({K, N}) -> on(K, fun(S) -> shown(N, inet:getopts(S, [N])) end) end),
    t:each(set, [{K, O} || K <- [tcp, udp], O <- values()], fun({K, O}) -> on(K, fun(S) -> {inet:setopts(S, [O]), again(S, O)} end) end),
    t:each(set, [{tcp6, O} || O <- [{tclass, 32}, {ipv6_v6only, true}, {recvtclass, true}]], fun({K, O}) -> on(K, fun(S) -> {inet:setopts(S, [O]), again(S, O)} end) end),
    t:each(raw, [{raw, 6, 1, 4}, {raw, 6, 1, <<0:64>>}, {raw, 6, 1, 100000}, {raw, 9999, 1, 4}, {raw, 1, 9999, 4}, {raw, 1, 9, 0}, {raw, -1, -1, 4}, {raw, 1, 9, -1}], fun(O) -> on(tcp, fun(S) -> inet:getopts(S, [O]) end) end),
    t:each(some, [[nodelay, active], [active, nosuch], [{raw, 6, 1, 4}, nodelay, mode], []], fun(Os) -> on(tcp, fun(S) -> inet:getopts(S, Os) end) end),
    t:c(priority, fun() -> on(tcp, fun(S) -> ok = inet:setopts(S, [{priority, 3}]), ok = inet:setopts(S, [{tos, 8}]), inet:getopts(S, [priority, tos]) end) end),
    t:c(buffer, fun() -> on(tcp, fun(S) -> ok = inet:setopts(S, [{recbuf, 5000}]), A = inet:getopts(S, [buffer]), ok = inet:setopts(S, [{buffer, 10}]), {A, inet:getopts(S, [buffer])} end) end),
    t:each(active, [[1, 2], [5, -2], [5, -5], [5, -6], [32767, 1], [-1], [-32768], [once, 3], [3, true, 3], [3, false, 3], [0], [3, 0]], fun(As) -> on(tcp, fun(S) -> {[inet:setopts(S, [{active, A}]) || A <- As], inet:getopts(S, [active]), t:flush()} end) end),
    t:each(at_open, [[{active, 3}], [{packet, 2}, list], [{nosuch, 1}], [{tos, 300}], [{backlog, 2}, {ip, {1, 2, 3, 4}}], [{ifaddr, {127, 0, 0, 1}}, {reuseaddr, true}], [{ttl, 0}], [{netns, "/nosuch"}]], fun opened/1).

names() ->
    [active, mode, packet, packet_size, header, buffer, nodelay, keepalive, delay_send, priority, tos, ttl, deliver, high_watermark, low_watermark, high_msgq_watermark, low_msgq_watermark, send_timeout, send_timeout_close, exit_on_close, show_econnreset, line_delimiter, linger, read_packets, reuseaddr, nopush, recvtos, recvtclass, recvttl, pktoptions, dontroute, broadcast, multicast_ttl, multicast_loop, ipv6_v6only, tclass, bind_to_device, netns, add_membership, sndbuf, recbuf].

values() ->
    [{priority, 4}, {tos, 16}, {ttl, 0}, {ttl, 9}, {sndbuf, 5000}, {sndbuf, -1}, {recbuf, 5000}, {buffer, 0}, {buffer, -1}, {buffer, 20}, {header, 4}, {header, -1}, {packet, http}, {packet, 3}, {packet_size, 77}, {packet_size, -1}, {high_watermark, 7}, {high_watermark, -1}, {low_watermark, 5}, {high_msgq_watermark, 100}, {low_msgq_watermark, 50}, {broadcast, true}, {multicast_ttl, 3}, {multicast_loop, false}, {ipv6_v6only, true}, {tclass, 3}, {dontroute, true}, {bind_to_device, <<"nosuchdev">>}, {raw, 9999, 1, <<1:32>>}, {raw, 1, 9, <<1:32/native>>}, {raw, 1, 9, <<>>}, {linger, {true, 7}}, {linger, {false, 3}}, {linger, true}, {read_packets, 3}, {line_delimiter, 300}, {active, false}, {active, sometimes}, {recvtos, true}, {nopush, true}, {nodelay, true}, {reuseaddr, true}, {keepalive, true}, {delay_send, true}, {send_timeout, 9}, {send_timeout, infinity}, {send_timeout_close, true}, {exit_on_close, false}, {show_econnreset, true}, {deliver, port}, {mode, list}, list, binary, nosuch, {nosuch, 1}, {pktoptions, []}, {netns, "x"}, {recvttl, true}].

on(Kind, F) ->
    S = case Kind of
        tcp -> {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}}, {active, false}]), L;
        tcp6 -> {ok, L} = gen_tcp:listen(0, [inet6, {ip, {0, 0, 0, 0, 0, 0, 0, 1}}, {active, false}]), L;
        udp -> {ok, L} = gen_udp:open(0, [{active, false}]), L;
        local -> {ok, L} = gen_tcp:listen(0, [local, {ifaddr, {local, <<>>}}, {active, false}]), L
    end,
    R = F(S),
    catch port_close(S),
    R.

%% The sizes of the system's buffers differ from machine to machine.
shown(N, {ok, [{N, V}]}) when N =:= sndbuf; N =:= recbuf -> V > 0;
shown(_, R) -> R.

again(S, {raw, A, B, V}) -> inet:getopts(S, [{raw, A, B, byte_size(V)}]);
again(S, {N, _}) -> shown(N, inet:getopts(S, [N]));
again(_, _) -> none.

opened(Options) ->
    try gen_tcp:listen(0, Options) of
        {ok, L} -> R = inet:getopts(L, [active, mode, packet]), gen_tcp:close(L), R;
        Other -> Other
    catch exit:Reason -> {exit, Reason}
    end.
