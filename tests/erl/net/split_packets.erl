%% However bytes are split on their way, the same packets come: each kind of packet, split at each byte and at places that are drawn; messages and answers.
-module(split_packets).
-export([main/0]).

main() ->
    rand:seed(exsss, 20),
    t:each(each_place, [{K, A} || {K, _} <- kinds(), A <- [false, true]], fun({K, A}) -> each_place(K, A, proplists:get_value(K, kinds())) end),
    t:each(drawn, [{K, A} || {K, _} <- kinds(), A <- [once, 2, true]], fun({K, A}) -> drawn(K, A, proplists:get_value(K, kinds())) end),
    t:each(asked_for, [[1], [2, 5], [7, 1, 3]], fun asked_for/1),
    t:each(ends_within, [K || {K, _} <- kinds()], fun(K) -> ends_within(K, proplists:get_value(K, kinds())) end).

kinds() ->
    [{1, [0, 3 | "abc"] ++ [1, 255]}, {2, [0, 3 | "abc"] ++ [0, 0, 0, 1, 9]}, {4, [0, 0, 0, 3 | "abc"] ++ [0, 0, 0, 0, 0, 0, 0, 1, 8]}, {line, "l1\nl2\r\n\n\r\nl3\n"},
     {asn1, [48, 3, 1, 2, 3, 48, 129, 2, 5, 6, 31, 129, 1, 1, 7]}, {sunrm, [128, 0, 0, 2, 1, 2, 0, 0, 0, 1, 3]}, {cdr, "GIOP" ++ [1, 0, 1, 0, 2, 0, 0, 0, 7, 8] ++ "GIOP" ++ [1, 0, 0, 0, 0, 0, 0, 1, 9]},
     {fcgi, [1, 1, 0, 1, 0, 2, 3, 0, 9, 9, 0, 0, 0, 1, 2, 0, 1, 0, 0, 0, 0]}, {tpkt, [3, 0, 0, 6, 1, 2, 3, 0, 0, 4]}, {ssl_tls, [22, 3, 1, 0, 2, 5, 6, 23, 3, 3, 0, 1, 7]},
     {http, "GET /x?a=b HTTP/1.1\r\nHost: a\r\nX-y:  z\r\n c\r\n\r\nPOST * HTTP/1.0\r\nA: b\r\n\r\n"}, {http_bin, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"},
     {httph_bin, "Host: x\r\nConnection: close\r\n\r\n"}].

%% The packets of these bytes that come in such pieces.
packets(Kind, Active, Sizes, Data) ->
    {C, S, Relay} = relay:pair([{pieces, Sizes}], [], [{nodelay, true}]),
    ok = inet:setopts(S, [{packet, Kind}]),
    ok = gen_tcp:send(C, Data),
    ok = gen_tcp:shutdown(C, write),
    Packets = case Active of
        false -> answers(S);
        _ -> ok = inet:setopts(S, [{active, Active}]), messages(S, Active)
    end,
    unlink(Relay),
    exit(Relay, kill),
    net:close([C, S]),
    Packets.

answers(S) ->
    case gen_tcp:recv(S, 0, 5000) of
        {ok, Tls} when element(1, Tls) =:= ssl_tls -> [setelement(2, Tls, s) | answers(S)];
        {ok, Packet} -> [Packet | answers(S)];
        {error, Reason} -> [Reason]
    end.

messages(S, Active) ->
    receive
        {tcp_closed, S} -> [closed];
        {tcp_passive, S} -> ok = inet:setopts(S, [{active, Active}]), messages(S, Active);
        Message ->
            Active =:= once andalso inet:setopts(S, [{active, once}]),
            [setelement(2, Message, s) | messages(S, Active)]
    after 5000 -> [late]
    end.

each_place(Kind, Active, Data) ->
    Whole = packets(Kind, Active, [], Data),
    Others = [{N, Got} || N <- lists:seq(1, length(Data) - 1), Got <- [packets(Kind, Active, [N], Data)], Got =/= Whole],
    {Whole, Others}.

drawn(Kind, Active, Data) ->
    Whole = packets(Kind, Active, [], Data),
    Others = [{Sizes, Got} || Sizes <- [lists:duplicate(length(Data), 1) | [sizes(length(Data)) || _ <- lists:seq(1, 8)]], Got <- [packets(Kind, Active, Sizes, Data)], Got =/= Whole],
    {length(Whole), Others}.

sizes(0) -> [];
sizes(Left) -> Size = min(Left, rand:uniform(4)), [Size | sizes(Left - Size)].

%% Raw bytes, asked for by number.
asked_for(Lengths) ->
    Data = "0123456789abcdef",
    lists:usort([begin
        {C, S, Relay} = relay:pair([{pieces, Sizes}], []),
        ok = gen_tcp:send(C, Data),
        Got = [gen_tcp:recv(S, N, 5000) || N <- Lengths],
        unlink(Relay),
        exit(Relay, kill),
        net:close([C, S]),
        Got
    end || Sizes <- [[] | [sizes(length(Data)) || _ <- lists:seq(1, 8)]]]).

%% The connection ends after each byte: how many packets came before, and what then.
ends_within(Kind, Data) ->
    [begin
        {C, S, Relay} = relay:pair([{pass, N}, fin], []),
        ok = inet:setopts(S, [{packet, Kind}]),
        ok = gen_tcp:send(C, Data),
        Got = answers(S),
        unlink(Relay),
        exit(Relay, kill),
        net:close([C, S]),
        {N, length(Got), lists:last(Got)}
    end || N <- lists:seq(1, length(Data) - 1, 3)].
