#!/usr/bin/env escript
%% Makes packet.etf beside it: calls of erlang:decode_packet/3 with what OTP gives for them, in the form
%% {Type, Bytes, Options, Split, Results}. With Split, Results are those of every start of the bytes, the empty one first;
%% without, there is one for all the bytes.

-mode(compile).

main(_) ->
    Dir = filename:dirname(escript:script_name()),
    rand:seed(exsss, 42),
    Cases = lists:usort(framed() ++ lines() ++ http() ++ misuse()),
    ok = file:write_file(filename:join(Dir, "packet.etf"), term_to_binary([record(C) || C <- Cases], [compressed])).

record({Type, Bytes, Options}) when is_binary(Bytes), byte_size(Bytes) < 48 ->
    Results = [call(Type, binary:part(Bytes, 0, N), Options) || N <- lists:seq(0, byte_size(Bytes))],
    {Type, Bytes, Options, true, Results};
record({Type, Bytes, Options}) ->
    {Type, Bytes, Options, false, [call(Type, Bytes, Options)]}.

call(Type, Bytes, Options) ->
    try {ok, erlang:decode_packet(Type, Bytes, Options)} catch error:R -> {error, R} end.

pick(L) -> lists:nth(rand:uniform(length(L)), L).

bytes(Most) -> rand:bytes(rand:uniform(Most + 1) - 1).

size_option() ->
    case rand:uniform(4) of
        1 -> [{packet_size, pick([0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 20])}];
        _ -> []
    end.

small() -> pick([0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).

large(Bits) ->
    Top = (1 bsl Bits) - 1,
    pick([Top, Top - 3, Top - 4, Top - 5, Top - 8, Top - 12, 1 bsl (Bits - 1), (1 bsl (Bits - 1)) - 1, (1 bsl (Bits - 1)) - 4,
          (1 bsl (Bits - 1)) - 5, (1 bsl (Bits - 1)) - 6, (1 bsl (Bits - 1)) - 9, (1 bsl (Bits - 1)) - 12, (1 bsl (Bits - 1)) - 13,
          1 bsl (Bits div 2), 65536 rem (1 bsl Bits)]).

len(Bits) -> case rand:uniform(6) of 1 -> large(Bits); _ -> small() end.

asn1() ->
    Tag = pick([<<48>>, <<2>>, <<31,1>>, <<31,129,1>>, <<63,255,128,0>>, <<31,128,128,128,128,1>>]),
    Len = case rand:uniform(5) of
              1 -> <<(len(7))>>;
              2 -> <<129, (len(8))>>;
              3 -> <<130, (len(16)):16>>;
              4 -> <<132, (len(32)):32>>;
              5 -> pick([<<128>>, <<131,0,0,3>>, <<133,0,0,0,0,2>>, <<133,1,0,0,0,2>>, <<136,0,0,0,0,0,0,0,1>>, <<255,1>>,
                         <<133,0>>, <<136,1,0,0,0,0,0,0,1>>])
          end,
    <<Tag/binary, Len/binary>>.

framed() ->
    Make = [{1, fun() -> <<(len(8))>> end}, {2, fun() -> <<(len(16)):16>> end}, {4, fun() -> <<(len(32)):32>> end},
            {raw, fun() -> <<>> end}, {0, fun() -> <<>> end}, {asn1, fun asn1/0},
            {cdr, fun() -> E = pick([0, 1, 2, 3]), L = len(32), Magic = pick([<<"GIOP">>, <<"GIOP">>, <<"GIOP">>, <<"GIOp">>]),
                           case E band 1 of 0 -> <<Magic/binary, 1, 0, E, 0, L:32>>; 1 -> <<Magic/binary, 1, 0, E, 0, L:32/little>> end end},
            {sunrm, fun() -> <<(len(32)):32>> end},
            {fcgi, fun() -> <<(pick([1, 1, 1, 0, 2])), 2, 0, 1, (len(16)):16, (small()), 0>> end},
            {tpkt, fun() -> <<(pick([3, 3, 3, 2, 4])), 0, (len(16)):16>> end},
            {ssl_tls, fun() -> pick([<<22, 3, 1, (len(16)):16>>, <<(rand:uniform(256) - 1), 3, (small()), (len(16)):16>>,
                                     <<1:1, (len(15)):15, 1, 3, 0>>, <<1:1, (small()):15, 1>>, <<1:1, (len(15)):15, 2, 0, 4>>]) end}],
    [{T, <<(F())/binary, (bytes(10))/binary>>, size_option()} || {T, F} <- Make, _ <- lists:seq(1, 150)]
    ++ [{T, bytes(16), size_option()} || {T, _} <- Make, _ <- lists:seq(1, 10)].

lines() ->
    [{line, << <<(pick("ab\n\r;"))>> || _ <- lists:seq(1, rand:uniform(12))>>,
      [pick([{packet_size, rand:uniform(10)}, {line_length, rand:uniform(10) - 1}, {line_delimiter, $;}]) || _ <- lists:seq(1, rand:uniform(3) - 1)]}
     || _ <- lists:seq(1, 500)].

digits() -> pick(["0", "1", "1", "01", "22", "200", "65536", "4294967295", "4294967296", "3000000000", "2147483648", "99999999999999999999", "", "x", "1x"]).

blank() -> pick([" ", " ", " ", " ", "  ", "\t", ""]).

eol() -> pick(["\n", "\r\n", "\r\n", "\r\r\n", "\r\n ", "\n\t", "\n\n", "\r\n\r\n", "\r\nx", "\r", ""]).

name() ->
    pick(["host", "Host", "CONTENT-length", "x-forwarded-FOR", "set-cookie2", "etag", "te", "", "a", "-", "a-", "-a--b", "a_b-c", "a b",
          "a1-2b", "www-authenticate", "Content-MD5", "aVeryLongNameOfAHeaderField-withMoreThan50Characters-inItself-and-then-some",
          "access-control-allow-origin", [rand:uniform(255)], [$a, rand:uniform(255), $b]]).

uri() ->
    pick(["/", "*", "*x", "/a/b?c=d", "/a:b", "a", "a:b", ":", "a:", ":b", "a:b:c", "", [rand:uniform(255)],
          ["/", rand:uniform(255)],
          [pick(["http://", "https://", "HTTP://", "hTTps://", "http:/", "http:", "ftp://", "https:/", "http"]),
           pick(["", "h", "h.i", "u@h", "[::1]", "h?x", "h:"]), pick(["", "", ":", [":", digits()]]), pick(["", "/", "/p", "/p/q:1", "?x"])]]).

version() -> pick(["HTTP/1.1", "HTTP/1.1", ["HTTP/", digits(), ".", digits()], "", "http/1.1", "HTTP/1", "HTTP/1.1.1", "HTTP /1.1", "HTTP"]).

first() ->
    pick([fun() -> [pick(["GET", "GET", "OPTIONS", "TRACE", "CONNECT", "get", "", "G(T", "HTTP", "P"]), blank(), uri(), blank(), version(), pick(["", "", " ", "x"])] end,
          fun() -> [pick([version(), "HTTP/1.1"]), blank(), pick(["200", "404", digits()]), blank(), pick(["", "OK", "Not found", "a  b "])] end,
          fun() -> << <<(pick("GET /HTP1.:\r\n\t"))>> || _ <- lists:seq(1, rand:uniform(12))>> end]).

http() ->
    [{pick([http, http_bin]), iolist_to_binary([(first())(), eol(), eol()]), line_options()} || _ <- lists:seq(1, 1500)]
    ++ [{pick([httph, httph_bin]), iolist_to_binary([name(), pick(["", "", "", " "]), pick([":", ":", ":", ""]), blank(), pick(["", "v", "v w ", "a:b"]),
                                                     eol(), pick(["", "v"]), eol(), eol()]), line_options()} || _ <- lists:seq(1, 1000)]
    ++ [{pick([httph, httph_bin]), << <<(pick("a: \r\n\n\t"))>> || _ <- lists:seq(1, rand:uniform(10))>>, line_options()} || _ <- lists:seq(1, 500)]
    ++ [{T, <<"\r\n">>, []} || T <- [http, http_bin, httph, httph_bin]].

line_options() ->
    case rand:uniform(8) of
        1 -> [{packet_size, rand:uniform(20) - 1}];
        2 -> [{line_length, rand:uniform(20) - 1}];
        3 -> [{line_delimiter, pick("/ :")}];
        _ -> []
    end.

misuse() ->
    [{T, B, O} || T <- [a, 3, 1.0, <<1>>, line, 1, http_bin, ssl_tls], B <- [a, [], <<1:3>>, <<1, 2, 1:3>>, <<"a\nb", 1:3>>, <<"a b\nb", 1:3>>],
                  O <- [[], a, [a], [{packet_size, a}], [{packet_size, -1}], [{packet_size, 1 bsl 32}], [{packet_size, 1 bsl 70}],
                        [{line_length, 1 bsl 32}], [{line_length, (1 bsl 32) - 1}], [{line_delimiter, 256}], [{line_delimiter, 255}], [{a, 1}],
                        [{packet_size, 1, 2}]]].
