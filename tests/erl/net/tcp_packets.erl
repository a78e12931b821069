%% Packets of each kind, passive and active, whole and in parts.
-module(tcp_packets).
-export([main/0]).

main() ->
    t:each(packets, [{K, M} || {K, _} <- kinds(), M <- [binary, list]], fun({K, M}) -> both(K, M, proplists:get_value(K, kinds())) end),
    t:each(parts, [K || {K, _} <- kinds(), K =/= raw], fun(K) -> in_parts(K, proplists:get_value(K, kinds())) end),
    t:each(invalid, [{4, [255, 255, 255, 255, 1]}, {4, [127, 255, 255, 255, 1]}, {asn1, [48, 255, 1]}, {cdr, "XIOP00000000000000"}, {fcgi, "99999999999"}, {tpkt, [3, 0, 0, 1]}, {tpkt, "xxxx"}, {http, "GET\r\nno line at all\r\n"}, {httph, "no colon\r\n\r\n"}], fun({K, D}) -> invalid(K, D) end),
    t:each(size, [{K, D, A} || {K, D} <- [{2, "0123456789abc"}, {line, "0123456789abc\n"}, {line, "0123456789abc"}, {http, "GET /0123456789 HTTP/1.1\r\n"}, {raw, "0123456789abc"}], A <- [false, true]], fun({K, D, A}) -> sized(K, D, A) end),
    t:each(lines, [{B, D} || B <- [1, 8, 100], D <- ["ab\n0123456789abc\nx\n", "012345678", "0123456\n", "01234567\n"]], fun({B, D}) -> lines(B, D) end),
    t:each(delimiters, [$;, 0, 255], fun delimiter/1),
    t:each(headers, [{N, D} || N <- [0, 1, 2, 5], D <- ["h", "hi", "hello"]], fun({N, D}) -> header(N, D) end),
    t:each(lengths, [{1, 255}, {1, 256}, {2, 65535}, {2, 65536}, {4, 100000}], fun({H, N}) -> sent(H, N) end),
    t:c(large, fun large/0),
    t:c(change, fun change/0),
    t:c(long_http, fun long_http/0),
    t:each(unread, [{"abc", "def", 6}, {"", "def", 3}, {"abc", "", 3}, {"abcdef", "g", 2}], fun({B, D, N}) -> unread(B, D, N) end).

kinds() ->
    [{raw, "raw"}, {1, [3 | "abc"]}, {2, [0, 3 | "abc"]}, {4, [0, 0, 0, 3 | "abc"]}, {line, "l1\nl2\r\n\nl3\n"},
     {asn1, [48, 3, 1, 2, 3]}, {sunrm, [128, 0, 0, 2, 1, 2]}, {cdr, "GIOP" ++ [1, 0, 0, 0, 0, 0, 0, 2, 7, 8]},
     {fcgi, [1, 1, 0, 1, 0, 2, 3, 0, 9, 9, 0, 0, 0]}, {tpkt, [3, 0, 0, 6, 1, 2]}, {ssl_tls, [22, 3, 1, 0, 2, 5, 6]},
     {http, "GET /x HTTP/1.1\r\nHost: a\r\nX-y:  z\r\n c\r\n\r\nPOST * HTTP/1.0\r\n\r\n"},
     {http_bin, "HTTP/1.1 200 OK\r\nA: b\r\n\r\nbad\r\n"}, {httph, "Host: x\r\n\r\n"}, {httph_bin, "host: x\r\nbad\r\n\r\n"}].

%% What one end gets of what the other sends: as it asks, and then as messages.
both(Kind, Mode, Data) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, Kind}, Mode]),
    ok = gen_tcp:send(C, Data),
    Passive = passive(S),
    ok = inet:setopts(S, [{active, true}]),
    ok = gen_tcp:send(C, Data),
    ok = gen_tcp:close(C),
    {Passive, until_closed(S)}.

%% What an active socket has sent when it is closed.
until_closed(S) ->
    receive
        {tcp_closed, S} = M -> [M];
        M -> [M | until_closed(S)]
    after 5000 -> [open]
    end.

passive(S) ->
    case gen_tcp:recv(S, 0, 60) of
        {ok, Packet} -> [Packet | passive(S)];
        Other -> [Other]
    end.

%% Each byte for itself.
in_parts(Kind, Data) ->
    {C, S} = net:pair([{nodelay, true}]),
    ok = inet:setopts(S, [{packet, Kind}, {active, true}]),
    [begin ok = gen_tcp:send(C, [Byte]), erlang:yield() end || Byte <- Data],
    Got = net:got(150),
    net:close([C, S]),
    Got.

invalid(Kind, Data) ->
    [begin
         {C, S} = net:pair([{show_econnreset, true}]),
         ok = inet:setopts(S, [{packet, Kind}]),
         ok = gen_tcp:send(C, Data),
         Got = case Active of
             true -> ok = inet:setopts(S, [{active, true}]), net:got(150);
             false -> [gen_tcp:recv(S, 0, 60) || _ <- [1, 2, 3]]
         end,
         net:close([C, S]),
         Got
     end || Active <- [false, true]].

sized(Kind, Data, Active) ->
    {C, S} = net:pair(),
    ok = inet:setopts(C, [{packet, case Kind of 2 -> 2; _ -> raw end}]),
    ok = inet:setopts(S, [{packet, Kind}, {packet_size, 10}]),
    ok = gen_tcp:send(C, Data),
    Got = case Active of
        true -> ok = inet:setopts(S, [{active, true}]), net:got(150);
        false -> [gen_tcp:recv(S, 0, 60) || _ <- [1, 2]]
    end,
    net:close([C, S]),
    Got.

lines(Buffer, Data) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, line}, {buffer, Buffer}]),
    ok = gen_tcp:send(C, Data),
    Got = passive(S),
    net:close([C, S]),
    Got.

delimiter(Byte) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, line}, {line_delimiter, Byte}]),
    ok = gen_tcp:send(C, ["ab", Byte, "cd\n", Byte, "ef"]),
    Got = passive(S),
    net:close([C, S]),
    Got.

header(N, Data) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{header, N}]),
    ok = gen_tcp:send(C, Data),
    Passive = gen_tcp:recv(S, 0, 1000),
    ok = inet:setopts(S, [{active, once}]),
    ok = gen_tcp:send(C, Data),
    Active = net:got(1, 1000),
    net:close([C, S]),
    {Passive, Active}.

%% The length that is sent before so many bytes, and how many come.
sent(Header, Length) ->
    {C, S} = net:pair(),
    ok = inet:setopts(C, [{packet, Header}]),
    ok = gen_tcp:send(C, binary:copy(<<"a">>, Length)),
    Got = {gen_tcp:recv(S, Header, 1000), byte_size(element(2, gen_tcp:recv(S, Length, 1000)))},
    net:close([C, S]),
    Got.

large() ->
    {C, S} = net:pair([{packet, 4}]),
    Data = << <<N:32>> || N <- lists:seq(1, 1 bsl 20) >>,
    Self = self(),
    spawn_link(fun() -> Self ! {sent, gen_tcp:send(C, Data), gen_tcp:send(C, "end")} end),
    Result = {gen_tcp:recv(S, 0, 20000) =:= {ok, Data}, gen_tcp:recv(S, 0, 1000), net:got(1, 1000)},
    net:close([C, S]),
    Result.

%% What has come already is cut anew.
change() ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, line}]),
    ok = gen_tcp:send(C, ["line\n", <<3:16>>, "abc", "GET / HTTP/1.0\r\na: b\r\n\r\nbody"]),
    A = gen_tcp:recv(S, 0, 1000),
    ok = inet:setopts(S, [{packet, 2}]),
    B = gen_tcp:recv(S, 0, 1000),
    ok = inet:setopts(S, [{packet, http_bin}]),
    D = [gen_tcp:recv(S, 0, 1000) || _ <- [1, 2, 3]],
    ok = inet:setopts(S, [{packet, raw}]),
    E = [gen_tcp:recv(S, N, 100) || N <- [2, 0]],
    net:close([C, S]),
    {A, B, D, E}.

long_http() ->
    [begin
         {C, S} = net:pair(),
         ok = inet:setopts(S, [{packet, Kind}, {buffer, 100}]),
         ok = gen_tcp:send(C, ["GET /", lists:duplicate(200, $a), " HTTP/1.1\r\n"]),
         Got = [gen_tcp:recv(S, 0, 100) || _ <- [1, 2]],
         net:close([C, S]),
         Got
     end || Kind <- [http, httph]].

unread(Back, Data, N) ->
    {C, S} = net:pair(),
    ok = prim_inet:unrecv(S, Back),
    ok = gen_tcp:send(C, Data),
    Got = gen_tcp:recv(S, N, 1000),
    Rest = case length(Back) + length(Data) - N of 0 -> none; Left -> gen_tcp:recv(S, Left, 1000) end,
    net:close([C, S]),
    {Got, Rest}.
