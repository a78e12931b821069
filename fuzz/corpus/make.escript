#!/usr/bin/env escript
%% Makes the seeds of the fuzz targets, with the OTP that is installed: files of records, each of four bytes of length and
%% the bytes. crates/fuzz/src/targets says what a target takes.

-mode(compile).

main(_) ->
    Dir = filename:dirname(escript:script_name()),
    rand:seed(exsss, 7),
    write(Dir, "term_decode/terms", [term_to_binary(T, O) || T <- terms(), O <- [[], [{minor_version, 2}], [compressed]]] ++ old()),
    write(Dir, "match_spec/specs", [term_to_binary(S) || S <- specs()]),
    write(Dir, "bif_call/calls", [term_to_binary(C) || C <- calls() ++ recorded(Dir)]),
    write(Dir, "inflate/streams", streams()),
    write(Dir, "inet/requests", [requests(R) || R <- inet()]),
    write(Dir, "socket_call/calls", [term_to_binary(C) || C <- socket_calls()]),
    [beam(Dir, N, S, O) || {N, S, O} <- modules()].

write(Dir, Name, Records) ->
    ok = file:write_file(filename:join(Dir, Name), [[<<(byte_size(R)):32>>, R] || R <- lists:usort(Records)]).

terms() ->
    [0, 255, 256, -1, 1 bsl 27, 1 bsl 59, -(1 bsl 60), 1 bsl 63, 1 bsl 64, -(1 bsl 200), 1 bsl 2100, 0.0, -0.0, 1.5, 1.0e300,
     a, '', 'å', 'λ', true, [], "abc", lists:seq(250, 260), [a | b], [[], [[]], [1, [2, [3 | 4]]]], {}, {a, 1, 2.0}, {{}, {{}}},
     list_to_tuple(lists:seq(1, 300)), #{}, #{a => 1, 1 => a}, #{1.0 => x, 1 => y, [k] => #{}},
     maps:from_list([{I, I} || I <- lists:seq(1, 40)]), maps:from_list([{{I}, <<I>>} || I <- lists:seq(1, 100)]),
     <<>>, <<1, 2, 3>>, <<5:3>>, <<1, 2, 7:5>>, binary:copy(<<7>>, 100), self(), make_ref(), hd(erlang:ports()),
     fun lists:map/2, fun erlang:abs/1, fun(X) -> X end, (fun(Y) -> fun(X) -> X + Y end end)({free, "variable"}),
     lists:duplicate(300, a), lists:duplicate(70, {k, <<"v">>}), [#{a => I} || I <- lists:seq(1, 20)]].

%% Requests to two ports (crates/fuzz/src/targets/requests.rs): of which kinds they are, then what is done. The second one's have 128 more.
requests({Kinds, Actions}) -> iolist_to_binary([Kinds | [[What, iolist_size(Data), Data] || {What, Data} <- Actions]]).

inet() ->
    Forever = <<-1:32>>,
    Listen = [{1, [5, 1]}, {6, [5, 5, 0, "name"]}, {27, <<5:16>>}],
    Connect = [{129, [5, 1]}, {131, [Forever, 5, 5, 0, "name"]}],
    Opts = fun(L) -> {7, [<<K, V:32>> || {K, V} <- L]} end,
    Settle = {120, ""},
    %% Streams that are connected with a peer: each kind of packet, passive and active.
    [{0, [Opts([{23, P}, {24, B}]), {122, D}, {42, [Forever, <<0:32>>]}, Settle, {122, D}, Opts([{22, A}]), Settle, {127, ""}, {125, ""}, Settle]} ||
        {P, D} <- [{0, "raw"}, {1, [3, "abc"]}, {2, [0, 3, "abc", 0, 1]}, {3, [0, 0, 0, 2, "ab"]}, {3, [255, 255, 255, 255, 1]}, {4, [48, 3, 1, 2, 3]}, {5, [128, 0, 0, 2, 1, 2]},
                   {6, ["GIOP", 1, 0, 0, 0, 0, 0, 0, 2, 7, 8]}, {7, [1, 1, 0, 1, 0, 2, 3, 0, 9, 9, 0, 0, 0]}, {8, "l1\nl2\r\n"}, {9, [3, 0, 0, 6, 1, 2]},
                   {10, "GET / HTTP/1.1\r\nHost: a\r\nX:  z\r\n c\r\n\r\n"}, {11, "Host: x\r\n\r\n"}, {12, [22, 3, 1, 0, 2, 5, 6]}, {13, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"}],
        {A, B} <- [{1, 1}, {2, 0}]]
    ++ [{0, [Opts([{27, 100}, {28, 10}, {30, 5}, {35, 1}])] ++ lists:duplicate(3, {121, lists:duplicate(200, $x)}) ++ [{24, [1]}, Settle, {124, ""}, Settle, {44, [1]}, {8, [0, 3, 22, 27, 28, 30]}, {11, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}]},
        {0, [Opts([{31, 1}]), {121, "later"}, Settle, {124, ""}, {45, [<<3:32/native>>, <<0:64>>, <<10:64>>]}, Settle]},
        {0, [{43, "back"}, {42, [<<0:32>>, <<2:32>>]}, {42, [<<0:32>>, <<2:32>>]}, {42, [<<10:32>>, <<100:32>>]}, {123, "much "}, Settle, {42, [Forever, <<9000:32>>]}, Settle, {126, ""}]},
        {0, [{7, <<22, 3:32, 4:16>>}, {122, "a"}, Settle, {7, <<22, 3:32, -4:16>>}, {7, [<<3, 1:32, 7:32>>]}, {2, ""}, {16, ""}, {121, "x"}]},
        {0, [{7, <<34, 1:32, 9:32, 4:32, 1:32>>}, {8, <<34, 1:32, 9:32, 0, 4:32, 34, 1:32, 9:32, 1, 4:32, 0:32>>}, {7, [<<42, 2:32>>, "lo"]}, {7, [<<38, 6:32>>, "/none/"]}]},
        {16#22, Listen ++ [{26, Forever}] ++ Connect ++ [Settle, {249, "sent"}, Settle, {127, ""}, {255, ""}, {254, ""}]},
        {16#22, Listen ++ [{26, <<5:32>>}, {26, Forever}, {16, ""}, {2, ""}] ++ Connect},
        {16#22, [{1, [1, 1]}, {6, [1, 0, 0, 127, 0, 0, 1]}, {5, ""}, {27, <<5:16>>}, {26, <<1:32>>}, {129, [2, 1]}, {134, [4, 0, 0]}, {131, <<100:32, 2, 0, 1, 0:120, 1, 0:64>>}, Settle]},
        {16#22, [{1, [1, 1]}, {3, [<<0:32>>, 1, 0, 1, 127, 0, 0, 1]}, {3, [Forever, 4, 0, 1]}, Settle, {4, ""}, {19, [1, 0, 80, 1, 2, 3, 4]}, {20, [1, 0, 80, 1, 2, 3, 4]}, {4, ""}, {29, ""}, {30, ""}]},
        {16#11, [Opts([{22, 1}, {43, 1}, {47, 1}]), {122, "datagram"}, Settle, {121, [0, "out"]}, {124, ""}, {60, Forever}, {60, <<1:32>>}]},
        {16#33, [{1, [1, 2]}, {6, [1, 0, 0, 127, 0, 0, 1]}, {60, [Forever, <<0:32>>]}, {129, [1, 2]}, {249, [4, 200, 1, "x"]}, {131, [Forever, 4, 200, 1]}, {7, <<14, 1:32, 0:32, 224, 0, 0, 1, 0, 0, 0, 0>>}, {7, <<11, 2130706433:32>>}, {8, [11, 45]}]},
        {16#33, [{1, [5, 2]}, {6, [5, 2, 0, "u"]}, Opts([{22, 2}, {33, 3}]), {129, [5, 2]}, {249, [5, 2, 0, "u", "data"]}, Settle, {249, [5, 2, 0, "u"]}, {60, Forever}, Settle]},
        {16#22, [{1, [1, 1]}, {25, ""}, {21, ""}, {22, [2, "lo", 1, 2, 4, 6, 11, 13, 14]}, {12, ""}, {17, [4, "http", 3, "tcp"]}, {18, [0, 80, 3, "tcp"]}, {14, ""}, {15, ""}, {28, [1]}, {10, ""}, {23, [2, "lo", 1, 127, 0, 0, 1]}]}].

%% Calls of `prim_socket` (crates/fuzz/src/targets/socket_calls.rs).
socket_calls() ->
    In = fun(Port) -> #{family => inet, addr => {127, 0, 0, 1}, port => Port} end,
    Open = fun(D, T) -> {nif_open, [D, T, 0, #{}]} end,
    [[{nif_send, [s0, <<"hello">>, 0, ref]}, {nif_recv, [s1, 3, 0, ref]}, {nif_recv, [s1, 0, 0, ref]}, {nif_recv, [s1, 0, 0, ref]}, {nif_cancel, [s1, recv, ref]}, {nif_recv, [s1, 0, 0, zero]}],
     [{nif_sendmsg, [s0, #{iov => [<<"a">>, <<"bc">>], ctrl => [#{level => socket, type => rights, data => <<1, 0, 0, 0>>}]}, 0, ref, [<<"a">>, <<"bc">>]]}, {nif_recvmsg, [s1, 0, 0, 0, ref]}, {nif_recvmsg, [s1, 10, 100, 2, ref]}],
     [{nif_recvfrom, [s1, 10, 0, ref]}, {nif_shutdown, [s0, write]}, {nif_recvfrom, [s1, 0, 0, ref]}, {nif_shutdown, [s0, read_write]}, {nif_close, [s0]}, {nif_finalize_close, [s0]}, {nif_send, [s1, <<"x">>, 0, ref]}],
     [Open(inet, stream), {nif_bind, [s2, In(0)]}, {nif_listen, [s2, 5]}, {nif_sockname, [s2]}, {nif_accept, [s2, ref]}, {nif_accept, [s2, ref]}, {nif_info, [s2]}, {nif_close, [s2]}],
     [Open(local, stream), {nif_bind, [s2, #{family => local, path => <<0, "l">>}]}, {nif_listen, [s2, 1]}, Open(local, stream), {nif_connect, [s3, ref, #{family => local, path => <<0, "l">>}]}, {nif_connect, [s3]}, {nif_accept, [s2, ref]}, {nif_peername, [s3]}, {nif_send, [s4, <<"x">>, 0, ref]}],
     [Open(inet, dgram), {nif_bind, [s2, In(0)]}, {nif_sendto, [s2, <<"d">>, In(9), 0, ref]}, {nif_recvfrom, [s2, 0, 0, ref]}, {nif_connect, [s2, ref, In(9)]}, {nif_setopt, [s2, 0, 8, true, 0]}, {nif_getopt, [s2, 0, 8]}],
     [Open(inet6, stream), {nif_bind, [s2, #{family => inet6, addr => loopback, port => 0, flowinfo => 0, scope_id => 0}]}, {nif_connect, [s2, ref, #{family => inet6, addr => any, port => 1}]}, {nif_ioctl, [s2, gifconf]}, {nif_ioctl, [s2, gifaddr, "lo"]}, {nif_ioctl, [s2, gifflags, "lo"]}, {nif_ioctl, [s2, sifflags, "none", #{up => true}]}],
     [{nif_setopt, [s0, -1, O, V, 0]} || {O, V} <- [{1, true}, {2, true}, {3, 100}, {3, {4, 1000}}, {4, 64}, {5, 64}, {6, self}, {7, true}, {8, 5}]] ++ [{nif_getopt, [s0, -1, O]} || O <- lists:seq(0, 9)],
     [{nif_setopt, [s0, 1, O, V, 0]} || {O, V} <- [{2, true}, {7, 1000}, {8, 1000}, {9, 1}, {13, #{onoff => true, linger => 3}}, {20, #{sec => 1, usec => 2}}, {25, "lo"}]] ++ [{nif_setopt, [s0, 1, 7, <<0, 0, 0, 1>>, 1]}, {nif_getopt, [s0, 1, 7, {integer, 4}]}, {nif_getopt, [s0, 1, 17, <<0:96>>]}, {nif_getopt, [s0, 1, 3, 4]}] ++ [{nif_getopt, [s0, 1, O]} || O <- [2, 3, 4, 7, 13, 20, 30, 38, 39, 49]],
     [Open(inet, dgram), {nif_setopt, [s2, 0, 35, #{multiaddr => {224, 0, 0, 1}, interface => any}, 0]}, {nif_setopt, [s2, 0, 39, #{multiaddr => {224, 0, 0, 1}, interface => any, sourceaddr => {127, 0, 0, 1}}, 0]}, {nif_setopt, [s2, 0, 1, lowdelay, 0]}, {nif_setopt, [s2, 0, 10, probe, 0]}, {nif_getopt, [s2, 0, 10]}, {nif_getopt, [s2, 0, 1]}],
     [{nif_open, [packet, raw, 0, #{}]}, Open(1000, 1000), {nif_open, [inet, raw, 1, #{debug => true, netns => <<"/none">>}]}, {nif_supports, []}, {nif_supports, [options]}, {nif_info, []}, {nif_command, [#{command => debug, data => false}]}, {nif_sendfile, [s0, ref, 0, 10]}, {nif_sendfile, [s0]}],
     [{nif_info, [s0]}, {nif_getopt, [s0, -1, 1001]}, {nif_sendmsg, [s0, #{iov => [], addr => In(1)}, 0, ref, []]}, {nif_recv, [s1, 1 bsl 20, 0, ref]}, {nif_recv, [s0, 0, 16#40, zero]}, {nif_recvmsg, [s0, 1 bsl 17, 1 bsl 16, 0, zero]}, {nif_sendto, [s0, <<0:80000>>, #{family => unspec, addr => <<>>}, 0, ref]}]].

%% Forms that are read but no longer written.
old() ->
    [<<131, 99, "1.50000000000000000000e+00", 0:40>>, <<131, 100, 0, 2, "ok">>, <<131, 115, 2, "ok">>,
     <<131, 101, 100, 0, 13, "nonode@nohost", 1:32, 0>>, <<131, 102, 100, 0, 13, "nonode@nohost", 1:32, 0>>,
     <<131, 103, 100, 0, 13, "nonode@nohost", 1:32, 2:32, 0>>, <<131, 114, 0, 3, 100, 0, 13, "nonode@nohost", 0, 1:32, 2:32, 3:32>>,
     <<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>, <<131, 89, 119, 3, "a@b", 1:32, 3:32>>, <<131, 120, 119, 3, "a@b", 1:64, 3:32>>,
     <<131, 90, 0, 5, 119, 3, "a@b", 4:32, 1:32, 2:32, 3:32, 4:32, 5:32>>].

specs() ->
    Row = {key, 1, 2.5, [a, b], #{k => v}, <<"bin">>},
    Guards = [[], [{'==', '$1', 1}], [{is_integer, '$1'}, {'>', '$1', 0}], [{'andalso', {is_list, '$2'}, {'=:=', {hd, '$2'}, a}}],
              [{'orelse', false, {'not', {is_map, '$3'}}}], [{'=:=', {map_get, k, '$3'}, v}], [{'<', {size, '$1'}, 3}],
              [{'and', true, {'xor', false, true}}], [{is_record, '$_', key, 6}], [{'==', {'+', '$1', {const, 1}}, {'band', 3, 2}}],
              [{is_function, '$1', 2}], [{member, a, '$2'}], [true, false], [{'=/=', {element, 7, '$_'}, 1}]],
    Bodies = [['$_'], ['$$'], [{{'$1', '$2'}}], [{element, 2, '$_'}], ['$1', '$2'], [#{a => '$1', '$2' => b}], [{const, {a, '$1'}}],
              [['$1' | '$2']], [{'div', '$1', 0}], [{self}], [{binary_part, <<"abc">>, 1, 1}], [{length, '$2'}], [{{}}],
              [{return_trace}, {message, '$1'}], [{set_seq_token, label, 1}], [{enable_trace, call}], [{caller}], [{get_tcw}]],
    Heads = [{key, '$1', '_', '$2', '$3', '_'}, '_', '$1', {'$1', '$2', '_', '_', '$3', '$1'}, {key, 1, 2.5, [a | '$1'], '$2', '$3'},
             {'_', '$1', '_', ['$2', '_'], #{k => '$3'}, <<"bin">>}, ['$1', '$2'], {key, '$100', '$1', '$2', '$3', '$0'}],
    [{[{H, G, B}], Row} || H <- Heads, G <- [lists:nth(rand:uniform(length(Guards)), Guards)], B <- Bodies]
    ++ [{[{H, G, ['$_']}, {'_', [], [x]}], Row} || G <- Guards, H <- [hd(Heads)]]
    ++ [{[{{'$1', '$2'}, [], ['$$']}], {1, 2}}, {[], {}}, {[{'_', [], [{bad, 1}]}], {}}].

calls() ->
    [{erlang, F, A} || {F, A} <-
        [{binary_to_integer, [<<"123456789012345678901234567890">>]}, {binary_to_integer, [<<"-zz">>, 36]}, {list_to_integer, ["+77", 8]},
         {list_to_float, ["1.5e-300"]}, {binary_to_float, [<<"-0.0">>]}, {binary_to_float, [<<"1.7976931348623157e308">>]},
         {float_to_binary, [1.0e22, [short]]}, {float_to_list, [1.23, [{decimals, 200}, compact]]}, {float_to_binary, [0.1, [{scientific, 20}]]},
         {integer_to_binary, [1 bsl 500, 7]}, {integer_to_list, [-5, 2]}, {list_to_pid, ["<0.1.0>"]}, {list_to_ref, ["#Ref<0.1.2.3>"]},
         {term_to_binary, [{a, [1.5]}, [compressed, {minor_version, 1}]]}, {binary_to_term, [<<131, 104, 1, 97, 1, 0>>, [safe, used]]},
         {crc32, [7, [<<"abc">>, 1]]}, {adler32_combine, [1, 2, 100]}, {md5, ["abc"]}, {phash2, [{a, 1}, 1000]}, {split_binary, [<<1, 2, 3>>, 2]},
         {binary_part, [<<1, 2, 3>>, 3, -2]}, {list_to_tuple, [[1, 2]]}, {setelement, [1, {a}, b]}, {round, [1.0e300]}, {'bsl', [1, 100]},
         {'rem', [-7, 3]}, {'div', [1 bsl 200, 1 bsl 70]}, {'band', [-(1 bsl 130), 1 bsl 64]}, {'*', [1 bsl 100, -(1 bsl 100)]},
         {universaltime_to_posixtime, [{{2020, 1, 1}, {0, 0, 0}}]}, {posixtime_to_universaltime, [1 bsl 40]},
         {decode_packet, [http, <<"GET http://host:80/path HTTP/1.1\r\n">>, []]}, {decode_packet, [httph_bin, <<"Content-Length: 7\r\nx">>, []]},
         {decode_packet, [line, <<"one\ntwo">>, [{line_length, 2}]]}, {decode_packet, [asn1, <<48, 130, 1, 0, 1>>, []]},
         {decode_packet, [tpkt, <<3, 0, 0, 5, 1, 2>>, []]}, {decode_packet, [ssl_tls, <<22, 3, 1, 0, 2, 1, 2>>, [{packet_size, 3}]]},
         {decode_packet, [cdr, <<"GIOP", 1, 0, 1, 0, 4, 0, 0, 0, 1, 2, 3, 4>>, []]}, {decode_packet, [fcgi, <<1, 1, 0, 1, 0, 2, 1, 0, 5, 6, 7>>, []]},
         {decode_packet, [sunrm, <<128, 0, 0, 1, 5>>, []]}, {decode_packet, [4, <<0, 0, 0, 1, 5, 6>>, []]}]]
    ++ [{re, run, [S, P, O]} || {S, P, O} <-
        [{<<"abcabc">>, <<"(a|b)(?<n>c)?">>, [global, {capture, all, binary}]}, {"λx", "\\p{L}+", [unicode, ucp, {capture, all, index}]},
         {<<"aaaaaaaaaaaaaaaaaaaaaaaa!">>, <<"(a+)+$">>, [{match_limit, 1000}]}, {<<"x\r\ny">>, "^y$", [multiline, {newline, crlf}]},
         {<<"foobar">>, <<"(?<=foo)bar">>, [{offset, 3}, notempty]}, {<<"a">>, "(?R)?a", [dotall, caseless]}]]
    ++ [{re, compile, [P, O]} || P <- ["a{2,5}?", "[[:alpha:]-z]", "(?i:x)(?#c)\\Qa.b\\E", "(?(1)a|b)", "((((((((", "\\x{110000}", [255, 1000]],
                                 O <- [[], [unicode], [extended, anchored]]]
    ++ [{re, F, A} || {F, A} <- [{inspect, [<<"x">>, namelist]}, {version, []}]]
    ++ [{binary, F, A} || {F, A} <-
        [{matches, [<<"abcabc">>, [<<"b">>, <<"ca">>]]}, {match, [<<"abc">>, <<"c">>, [{scope, {1, 2}}]]}, {split, [<<"a,b">>, <<",">>, [global]]},
         {replace, [<<"abc">>, <<"b">>, <<"xx">>]}, {decode_unsigned, [<<1, 2, 3>>, little]}, {encode_unsigned, [1 bsl 100]}, {at, [<<1, 2>>, 1]},
         {longest_common_prefix, [[<<"ab">>, <<"ac">>]]}, {bin_to_list, [<<1, 2, 3>>, {1, 2}]}, {part, [<<1, 2, 3>>, {3, -1}]}, {first, [<<1>>]}]]
    ++ [{unicode, F, [[$a, <<206, 187>>, [[955]], <<206>>], E]} || F <- [characters_to_binary, characters_to_list], E <- [unicode, latin1, utf8]]
    ++ [{lists, F, A} || {F, A} <- [{keyfind, [1, 2, [{a, 1}, {b, 2}]]}, {member, [1.0, [1, 1.0]]}, {reverse, [[1, 2], t]}, {keysearch, [a, 1, [{a}]]}]]
    ++ [{maps, F, A} || {F, A} <- [{from_list, [[{a, 1}, {1.0, 2}]]}, {merge, [#{a => 1}, #{b => 2}]}, {from_keys, [[a, b, a], 0]}, {take, [a, #{a => 1}]}]]
    ++ [{math, pow, [2, 1.5]}, {math, fmod, [7, 0.0]}, {string, to_integer, ["12x"]}, {string, to_float, ["1.5x"]}, {io, printable_range, []}].

%% Some of what the tests of built-ins have recorded.
recorded(Dir) ->
    Files = filelib:wildcard(filename:join([Dir, "..", "..", "crates", "bif", "vectors", "*.etf"])),
    Calls = [{M, F, A} || File <- Files, {ok, B} <- [file:read_file(File)], {M, F, A, _} <- binary_to_term(B)],
    [C || C <- Calls, rand:uniform(length(Calls)) =< 250].

streams() ->
    Data = [<<>>, <<"hello, hello, hello">>, binary:copy(<<"ab">>, 500), rand:bytes(300), <<0:8000>>],
    [iolist_to_binary([How, deflated(D, Bits, Level)]) || D <- Data, {How, Bits} <- [{0, 15}, {1, -15}, {2, 31}, {9, 15}, {200, 47}], Level <- [0, 9]].

deflated(D, Bits, Level) ->
    Z = zlib:open(),
    zlib:deflateInit(Z, Level, deflated, case Bits of 47 -> 31; _ -> Bits end, 8, default),
    Out = iolist_to_binary(zlib:deflate(Z, D, finish)),
    zlib:close(Z),
    Out.

modules() ->
    [{"data", "-module(data).\n-export([f/1,g/2,h/1]).\n"
      "f({a,X}) when is_integer(X), X > 3 -> X + 1;\nf([H|T]) -> [f(H)|f(T)];\nf(#{k:=V}=M) -> M#{k:=V*2, 7=>x};\nf(X) -> X.\n"
      "g(<<A:16/little,B/float,C:3,R/bitstring>>,F) -> {A,B,C,F(R)};\ng(<<X/utf8,_/binary>>,_) -> <<X/utf16,1:7,\"lit\">>;\n"
      "g(B,_) -> << <<(X+1):5>> || <<X:5>> <= B >>.\nh(L) -> {[X || {a,X} <- L], {literal,[1,2.5,<<\"b\">>,#{m=>[]}], 1 bsl 100}}.\n", []},
     {"control", "-module(control).\n-export([l/1,t/1,s/1,r/0]).\n"
      "l(P) -> receive {P,M} -> M; stop -> exit(stop) after 10 -> l(P) end.\n"
      "t(F) -> try F() of ok -> 1; X -> X catch error:badarg -> 2; throw:{x,Y} -> Y; C:R:St -> {C,R,St} after erlang:garbage_collect() end.\n"
      "s(X) -> case X of 1 -> a; 2 -> b; 3 -> c; x -> d; y -> e; \"abc\" -> g; 1.5 -> h; _ when X /= z; is_atom(X) -> catch element(2,X) end.\n"
      "r() -> Y = self(), R = make_ref(), Y ! {R, fun(A) -> fun(B) -> A + B + length([R]) end end}, receive {R, F} -> (F(1))(2) end.\n",
      [debug_info]}].

beam(Dir, Name, Source, Options) ->
    Tokens = fun Next(S, L) ->
        case erl_scan:tokens([], S, L) of {done, {ok, T, E}, Rest} -> [element(2, erl_parse:parse_form(T)) | Next(Rest, E)]; _ -> [] end end,
    {ok, _, Beam} = compile:forms(Tokens(Source, 1), [deterministic | Options]),
    ok = file:write_file(filename:join([Dir, "beam_load", Name ++ ".beam"]), Beam).
