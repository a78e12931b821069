%% Bit syntax at its limits: integers too large to be one, tails beyond any binary, empty appends, reductions.
-module(long_bits).
-export([main/0, tail64/1, tail31/1, tail33/1]).

main() ->
    t:each(largest, [33554304, 33554367, 33554368, 33554369, 33554432], fun(N) -> match(<<1:1, 0:(N - 1)>>, N) end),
    t:each(leading_zeros, [33554369, 48000000], fun(N) -> match(<<0:(N - 1), 1:1>>, N) end),
    t:c(little, fun() -> case t:id(<<0:33554432, 1>>) of <<X:33554440/little>> -> X > 0; _ -> no_match end end),
    t:each(tails, [0, 8, 100], fun(N) -> [catch_clause(F, <<7:8, 0:N>>) || F <- [tail64, tail33, tail31]] end),
    t:c(empty_append, fun() -> [begin R = <<B/binary, (t:id(<<>>))/binary>>, erts_debug:same(B, R) end || B <- [<<"123">>, t:id(<<1, 2>>), <<(t:id(<<>>))/binary, 1, 2, 3>>, binary:copy(<<1>>, 100)]] end),
    t:c(empty_bits, fun() -> B = t:id(<<1:3>>), R = <<B/bits, (t:id(<<>>))/bits, 0:(t:id(0))>>, {R, erts_debug:same(B, R)} end),
    Two = <<0:(2000 * 1024)/unit:8>>,
    t:c(reductions, fun() -> [at_least(N, F) || {N, F} <- [{2000, fun() -> <<0:8, Two/binary>> end}, {2500, fun() -> <<Two/binary, Two:(2000 * 1024)/binary>> end}]] end),
    t:c(many_appends_cost_little, fun() -> not at_least(100000, fun() -> lists:foldl(fun(I, B) -> <<B/binary, I:32>> end, <<>>, lists:seq(1, 20000)) end) end),
    t:c(decode_packet, fun() ->
        Packet = list_to_binary(["Link: /", lists:duplicate(8192, $X), "\r\nContent-Length: 0\r\n\r\n"]),
        [case erlang:decode_packet(httph, P, O) of {ok, {_, _, K, _, V}, R} -> {K, length(V), byte_size(R)}; Other -> Other end
         || P <- [Packet, binary:part(Packet, 0, 5000)], O <- [[], [{packet_size, 16384}, {line_length, 3000}], [{line_length, 3000}], [{packet_size, 3000}], [{packet_size, 3000}, {line_length, 16384}]]]
    end).

match(B, N) ->
    case B of
        <<X:N>> -> X band 16#ffff;
        _ -> no_match
    end.

catch_clause(F, B) ->
    try ?MODULE:F(B) catch error:Reason -> Reason end.

tail64(<<B:8, _:16#1_0000_0000_0000_0000>>) -> B.
tail33(<<B:8, _:16#2_0000_0000>>) -> B.
tail31(<<B:8, _:16#8000_0000>>) -> B.

%% A fresh slice first: what goes beyond the slice is not counted whole.
at_least(N, F) ->
    receive after 1 -> ok end,
    {reductions, Before} = process_info(self(), reductions),
    _ = F(),
    {reductions, After} = process_info(self(), reductions),
    After - Before >= N.
