%% Peers that announce much and send little, or send very much of what is small: OTP's errors, and no memory before bytes come.
-module(hostile_lengths).
-export([main/0]).

main() ->
    t:each(announced, [{K, N, A} || {K, _} <- kinds(), N <- [65535, 16#3ffffff, 16#4000000, 16#7fffffff, 16#ffffffff], A <- [false, true]], fun({K, N, A}) -> announced(K, proplists:get_value(K, kinds()), N, A) end),
    t:each(limited, [{K, N} || {K, _} <- kinds(), N <- [100, 101, 16#ffffffff]], fun({K, N}) -> limited(K, proplists:get_value(K, kinds()), N) end),
    t:each(many, [4, sunrm, asn1, cdr], fun(K) -> many(K, proplists:get_value(K, kinds())) end),
    t:each(asked_for, [16#3ffffff, 16#4000000, 16#4000001, 16#7fffffff, 16#80000000, 16#ffffffff, 16#100000003], fun asked_for/1),
    t:each(pipelined, [passive, once, 1000, true], fun pipelined/1),
    t:each(endless, [line, http, httph], fun endless/1),
    t:c(empty_packets, fun empty_packets/0).

%% The beginning of a packet with so many bytes in it, as far as its length has room for that.
kinds() ->
    [{2, fun(N) -> <<N:16>> end}, {4, fun(N) -> <<N:32>> end}, {asn1, fun(N) -> <<48, 132, N:32>> end}, {sunrm, fun(N) -> <<1:1, N:31>> end},
     {cdr, fun(N) -> <<"GIOP", 1, 0, 0, 0, N:32>> end}, {fcgi, fun(N) -> <<1, 1, 0, 1, N:16, 255, 0>> end}, {tpkt, fun(N) -> <<3, 0, N:16>> end}, {ssl_tls, fun(N) -> <<22, 3, 1, N:16>> end}].

%% The memory that somebody who does this takes; what it says.
taken(F) ->
    erlang:garbage_collect(),
    Before = resident(),
    R = F(),
    {R, resident() - Before}.

resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

announced(Kind, Head, N, Active) ->
    {C, S} = net:pair([{show_econnreset, true}]),
    ok = inet:setopts(S, [{packet, Kind}]),
    ok = gen_tcp:send(C, [Head(N), "some"]),
    {R, Taken} = taken(fun() ->
        case Active of
            false -> [gen_tcp:recv(S, 0, 40), gen_tcp:recv(S, 0, 0)];
            true -> [inet:setopts(S, [{active, true}]), net:got(25)]
        end
    end),
    ok = gen_tcp:close(C),
    Then = case {R, Active} of {[{error, timeout} | _], _} -> gen_tcp:recv(S, 0, 1000); _ -> no end,
    net:close([S]),
    {R, Then, {much_memory, Taken > 10_000_000}, net:got(1)}.

limited(Kind, Head, N) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, Kind}, {packet_size, 100}]),
    ok = gen_tcp:send(C, [Head(N), "some"]),
    R = gen_tcp:recv(S, 0, 40),
    net:close([C, S]),
    R.

%% A hundred of them, of 60 megabytes each.
many(Kind, Head) ->
    Pairs = [net:pair() || _ <- lists:seq(1, 100)],
    {R, Taken} = taken(fun() ->
        lists:usort([begin
            ok = inet:setopts(S, [{packet, Kind}]),
            ok = gen_tcp:send(C, [Head(60_000_000), binary:copy(<<"x">>, 2000)]),
            gen_tcp:recv(S, 0, 5)
        end || {C, S} <- Pairs])
    end),
    Less = Taken < 30_000_000,
    [net:close([C, S]) || {C, S} <- Pairs],
    {R, Less}.

asked_for(N) ->
    {C, S} = net:pair(),
    ok = gen_tcp:send(C, "some"),
    {R, Taken} = taken(fun() -> (catch gen_tcp:recv(S, N, 40)) end),
    Then = gen_tcp:recv(S, 0, 40),
    net:close([C, S]),
    {R, Then, {much_memory, Taken > 10_000_000}}.

%% A million lines of HTTP without a stop: requests of two lines and an empty one.
pipelined(How) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, http_bin}]),
    Requests = binary:copy(<<"GET / HTTP/1.1\r\nA: b\r\n\r\n">>, 1000),
    spawn_link(fun() -> [ok = gen_tcp:send(C, Requests) || _ <- lists:seq(1, 333)], ok = gen_tcp:send(C, "GET /last HTTP/1.1\r\n\r\n"), gen_tcp:shutdown(C, write) end),
    How =:= passive orelse (ok = inet:setopts(S, [{active, How}])),
    {R, Taken} = taken(fun() -> lines(S, How, #{}) end),
    net:close([C, S]),
    {lists:sort(maps:to_list(R)), {much_memory, How =/= true andalso Taken > 100_000_000}}.

lines(S, passive, Seen) ->
    case gen_tcp:recv(S, 0, 10000) of
        {ok, Line} -> lines(S, passive, seen(Line, Seen));
        {error, Reason} -> Seen#{ended => Reason}
    end;
lines(S, How, Seen) ->
    receive
        {http, S, Line} ->
            How =:= once andalso inet:setopts(S, [{active, once}]),
            lines(S, How, seen(Line, Seen));
        {tcp_passive, S} -> ok = inet:setopts(S, [{active, How}]), lines(S, How, Seen);
        {tcp_closed, S} -> Seen#{ended => closed}
    after 10000 -> Seen#{ended => late}
    end.

seen({http_request, 'GET', {abs_path, Path}, _}, Seen) -> count(Path, Seen);
seen({http_header, _, Name, _, _}, Seen) -> count(Name, Seen);
seen(http_eoh, Seen) -> count(eoh, Seen);
seen(Other, Seen) -> count(Other, Seen).

count(What, Seen) -> maps:update_with(What, fun(N) -> N + 1 end, 1, Seen).

%% Lines that never end: what is longer than the limit comes in parts, or is refused.
endless(Kind) ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, Kind}, {packet_size, 1000}]),
    Pid = spawn_link(fun() -> sends(C, binary:copy(<<"x">>, 100000), 50) end),
    {R, Taken} = taken(fun() -> [case gen_tcp:recv(S, 0, 1000) of {ok, L} when is_binary(L) -> L =:= binary:copy(<<"x">>, byte_size(L)); Other -> Other end || _ <- [1, 2, 3]] end),
    net:close([S, C]),
    unlink(Pid),
    exit(Pid, kill),
    {R, {much_memory, Taken > 20_000_000}}.

sends(_, _, 0) -> ok;
sends(C, Data, N) -> case gen_tcp:send(C, Data) of ok -> sends(C, Data, N - 1); _ -> ok end.

%% Packets with nothing in them, very many.
empty_packets() ->
    {C, S} = net:pair(),
    ok = inet:setopts(S, [{packet, 1}]),
    Zeros = binary:copy(<<0>>, 100000),
    spawn_link(fun() -> [ok = gen_tcp:send(C, Zeros) || _ <- [1, 2]], gen_tcp:close(C) end),
    {N, Taken} = taken(fun() -> empty(S, 0) end),
    net:close([S]),
    {N, {much_memory, Taken > 30_000_000}}.

empty(S, N) -> case gen_tcp:recv(S, 0, 5000) of {ok, <<>>} -> empty(S, N + 1); Other -> {N, Other} end.
