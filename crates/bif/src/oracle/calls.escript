#!/usr/bin/env escript
%% Calls functions on OTP and writes what they gave. Arguments: module function arity, again and again. Written for each call:
%% four bytes of length, then the external form of {Module, Function, Arguments, {ok, Value} | {Class, Reason}}.
%% Arguments are drawn from a fixed list of values, so that each run makes the same calls, and from special ones below.

main(Functions) ->
    ok = io:setopts(standard_io, [binary, {encoding, latin1}]),
    each(Functions).

each([M, F, A | Rest]) ->
    {Mod, Fun, Arity} = {list_to_atom(M), list_to_atom(F), list_to_integer(A)},
    [call(Mod, Fun, Args) || Args <- lists:usort(drawn(Fun, Arity) ++ special(Mod, Fun, Arity))],
    each(Rest);
each([]) ->
    ok.

call(M, F, Args) ->
    Result = try {ok, apply(M, F, Args)} catch C:R -> {C, R} end,
    Record = term_to_binary({M, F, Args, Result}),
    ok = file:write(standard_io, [<<(byte_size(Record)):32>>, Record]).

values() ->
    [0, 1, -1, 2, 3, 7, 64, 255, 256, 1 bsl 31, (1 bsl 59) - 1, 1 bsl 59, (1 bsl 60) - 1, 1 bsl 60, -(1 bsl 60), -(1 bsl 60) - 1,
     1 bsl 63, -(1 bsl 63), 1 bsl 64, -(1 bsl 200) + 5, (1 bsl 130) + 17, 0.0, 1.0, 1.5, -2.5, 0.5, 1.0e300, -1.0e-300, 1.0e22,
     9007199254740993.0, a, b, true, false, undefined, 'å', '', {}, {a}, {a, b}, {1, 2.0, "x"}, {a, {b, c}}, [], [1, 2, 3], "abc",
     [a | b], [3, 1, 2, 1, 3, 1.0], [{a, 1}, {b, 2}, c, {a, 3}], [[1], <<"bin">>, "x"], #{}, #{a => 1}, #{a => 1, b => 2, 1 => x},
     #{1.0 => a, 1 => b}, maps:from_list([{I, I} || I <- lists:seq(1, 40)]), <<>>, <<1, 2, 3>>, <<5:3>>, <<"12">>,
     binary:copy(<<7>>, 100), list_to_pid("<0.0.0>"), list_to_ref("#Ref<0.1.2.3>"), list_to_port("#Port<0.7>"),
     fun lists:map/2, fun erlang:abs/1].

%% At most so many calls of a function with drawn arguments.
limit() -> 300.

drawn(get, 0) ->
    %% persistent_term:get/0: each has its own.
    [];
drawn(F, _) when F =:= atomics_new; F =:= counters_new ->
    %% A size too large for the memory ends OTP.
    [];
drawn(_, 0) ->
    [[]];
drawn(F, 1) when F =:= term_type; F =:= flat_size ->
    %% The interpreter of scripts makes binaries of its own forms.
    [[binary_to_term(term_to_binary(V))] || V <- values()];
drawn(_, 1) ->
    [[V] || V <- values()];
drawn(F, Arity) ->
    Values = list_to_tuple(values()),
    Size = tuple_size(Values),
    Pick = fun(I, K) -> element(1 + erlang:phash2({F, I, K}, Size), Values) end,
    [[Pick(I, K) || K <- lists:seq(1, Arity)] || I <- lists:seq(1, limit())].

texts() ->
    ["1", "+1", "-1", "1a", "", "-", "+", "zZ", "00012", "-0", "123456789012345678901234567890", "-1152921504606846977",
     "1152921504606846976", [1000], [$1 | a], [$1, a], "1.0", "1,0", "1.", "1.e5", "1.0e5", "1.0E-5", "+1.0", " 1.0", "1.0 ", "1.0e400",
     "1.0e-400", ".5", "-0.0", "nan", "1.0e", "1.0e+", "1.0ex", "1.0.0", "12.5abc", "1.5e3.2", [$1, $., $5 | z], "12a", "-3x", "x",
     "4.9e-324", "1.7976931348623157e308", "0.1", "123456.789e-3"].

floats() ->
    [0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 1/3, 123456789.0, 1.0e15, 1.0e16, 9007199254740991.0, 9007199254740992.0, 1.0e21, 1.0e22, 1.0e23,
     5.0e-324, 1.7976931348623157e308, 0.001, 1.0e-4, 1.0e-5, 1.23e-7, 0.045, 0.125, 99.995, 1.0e100, -1.0e-100].

dates() ->
    [{{Y, 1, 1}, {1, 2, 3}} || Y <- [-1, 0, 1, 1599, 1600, 1899, 1900, 1901, 1902, 1950, 1969, 1970, 2000, 2020, 2038, 9999, 10000,
                                     99999, 2147483646, 2147483647, 1 bsl 40, 1 bsl 70]] ++
    [{{2020, 2, 29}, {0, 0, 0}}, {{2021, 2, 29}, {0, 0, 0}}, {{1900, 2, 29}, {0, 0, 0}}, {{2020, 13, 1}, {0, 0, 0}},
     {{2020, 4, 31}, {0, 0, 0}}, {{2020, 0, 1}, {0, 0, 0}}, {{2020, 1, 0}, {0, 0, 0}}, {{2020, 1, 1}, {24, 0, 0}},
     {{2020, 1, 1}, {0, 60, 0}}, {{2020, 1, 1}, {0, 0, 60}}, {{2020, 1, 1}, {0, 0, -1}}, {{2020, 7, 1}, {12, 30, 15}},
     {{2020, 3, 29}, {2, 30, 0}}, {{2020, 10, 25}, {2, 30, 0}}, {{1970, 1, 1}, {0, 59, 59}}, {{1969, 12, 31}, {23, 59, 59}}, {a, b},
     {{2020, 1}, {0, 0, 0}}, {{2020, 1, a}, {0, 0, 0}}, {{2020.0, 1, 1}, {0, 0, 0}}].

iodata() ->
    ["", "abc", <<"abc">>, [<<"ab">>, $c], [["a" | <<"b">>], "c" | <<"d">>], [1, [2, [3, [4 | <<5>>]]], []], [a], [256], [-1], [1 | 2],
     <<1:1>>, [<<1:1>>], lists:seq(0, 255), lists:duplicate(1000, 255), binary:copy(<<255, 1>>, 10000), [<<>> | <<>>], [[] | []], x,
     [[[[[]]]]], lists:duplicate(300, <<"ab">>), [<<"x">> | "abc"]].

special(_, F, 1) when F =:= list_to_integer; F =:= list_to_float ->
    [[T] || T <- texts()];
special(_, list_to_integer, 2) ->
    [[T, B] || T <- texts() ++ ["ff", "FF", "-zz", "102"], B <- [1, 2, 3, 10, 16, 36, 37, a, 1 bsl 70]];
special(_, F, 1) when F =:= binary_to_integer; F =:= binary_to_float ->
    [[B] || T <- texts(), (B = catch list_to_binary(T)) =/= {}, is_binary(B)] ++ [[<<0:1, "12":16, 0:7>>]];
special(_, F, 2) when F =:= integer_to_list; F =:= integer_to_binary ->
    [[I, B] || I <- values(), B <- [1, 2, 3, 10, 16, 36, 37, a]];
special(_, F, 1) when F =:= float_to_list; F =:= float_to_binary ->
    [[V] || V <- floats()];
special(_, F, 2) when F =:= float_to_list; F =:= float_to_binary ->
    [[V, O] || V <- floats() ++ [1], O <- [[], [short], [compact], [{decimals, 0}], [{decimals, 1}], [{decimals, 2}], [{decimals, 3}, compact],
        [{decimals, 17}], [{decimals, 18}], [{decimals, 19}], [{decimals, 25}], [{decimals, 253}], [{decimals, 254}], [{decimals, -1}],
        [{scientific, 0}], [{scientific, 3}], [{scientific, 249}], [{scientific, 250}], [{scientific, -1}], [{scientific, 1 bsl 70}],
        [{decimals, 4}, short], [short, {decimals, 4}], [foo], [short | x], x, [{decimals, a}], [{scientific, 3}, compact]]];
special(erlang, F, 1) when F =:= universaltime_to_localtime; F =:= universaltime_to_posixtime ->
    [[D] || D <- dates()];
special(erlang, localtime_to_universaltime, 2) ->
    [[D, B] || D <- dates(), B <- [true, false, undefined, foo]];
special(erlang, posixtime_to_universaltime, 1) ->
    [[S * X] || S <- [1, -1], X <- [86399, 86400, 1 bsl 31, 1 bsl 40, 62167219200, 62167219201, 253402300799, 253402300800, 1 bsl 59,
        1 bsl 62, (1 bsl 63) - 1, 1 bsl 63, (1 bsl 63) + 1]];
special(erlang, F, 1) when F =:= md5; F =:= crc32; F =:= adler32 ->
    [[D] || D <- iodata()];
special(erlang, F, 2) when F =:= crc32; F =:= adler32 ->
    [[S, D] || D <- iodata(), S <- [0, 1, 16#ffffffff, 16#fff0fff0, 1 bsl 32, -1, a]];
special(erlang, F, 3) when F =:= crc32_combine; F =:= adler32_combine ->
    [[A, B, N] || A <- [0, 1, 16#12345678, 16#ffffffff, 1 bsl 32], B <- [0, 1, 16#9abcdef0, 16#ffffffff, -1],
        N <- [0, 1, 2, 3, 1000, 65520, 65521, 65522, 1 bsl 31, (1 bsl 32) - 1, 1 bsl 32, a]];
special(erlang, F, 2) when F =:= phash; F =:= phash2 ->
    [[V, R] || V <- values(), R <- [0, 1, 2, 1000, (1 bsl 27) - 1, 1 bsl 27, 1 bsl 32, (1 bsl 32) + 1, -1, 1 bsl 70, a]];
%% Numbers of identifiers: only those that are none on either. (OTP's limits are narrower.)
special(erlang, list_to_pid, 1) ->
    [[T] || T <- ["<0.1.2>", "<0.1.2", "<0.1.2>x", "<99.1.2>", "<0.1>", "<0.a.2>", "", "<0.1.2|", [$<, a]]];
special(erlang, list_to_port, 1) ->
    [[T] || T <- ["#Port<0.1>", "#Port<0.1", "#Port<99.1>", "#Port<0.a>", "#Port<0.268435455>", "#Port"]];
special(erlang, list_to_ref, 1) ->
    [[T] || T <- ["#Ref<0.1.2.3>", "#Ref<0.1.2>", "#Ref<0.1.2.3.4>", "#Ref<0.1.2.262144>",
        "#Ref<99.1.2.3>", "#Ref<0.1.2.3", "x"]];
special(erlang, binary_to_term, 1) ->
    [[T] || V <- values(), T <- [term_to_binary(V), term_to_binary(V, [{minor_version, 0}])]] ++
    [[term_to_binary(lists:seq(1, 5000), [compressed])], [<<131>>], [<<131, 97>>], [<<131, 97, 1, 2>>], [<<131, 97, 1:8, 0:1>>],
     [<<0:1, 131, 97, 7, 0:7>>], [<<130, 97, 1>>], [<<131, 108, 255, 255, 255, 255>>], [<<131, 80, 0, 0, 0, 9, 1, 2, 3>>], [<<131, 104, 200>>]];
special(erlang, binary_to_term, 2) ->
    [[B, O] || B <- [<<131, 97, 1, 5>>, term_to_binary([a, b, <<"x">>]), <<131, 100, 0, 12, "no_such_atom">>, <<131>>, a],
        O <- [[], [safe], [used], [used, safe], [x], [safe | x], x]] -- [[<<131, 100, 0, 12, "no_such_atom">>, O] || O <- [[], [used]]];
special(erlang, F, 2) when F =:= term_to_binary; F =:= term_to_iovec; F =:= external_size ->
    [[V, O] || V <- values() ++ [binary:copy(<<3>>, 300), {a, binary:copy(<<3>>, 300), <<5:3>>, b}], O <- [[], [{minor_version, 0}],
        [{minor_version, 1}], [{minor_version, 2}], [{minor_version, 3}], [deterministic], [{compressed, 0}], [{compressed, 10}], [local],
        foo, [foo]]];
special(erlang, F, 1) when F =:= term_to_binary; F =:= external_size ->
    [[V] || V <- floats() ++ texts()];
special(erlang, F, _) when F =:= list_to_atom; F =:= list_to_existing_atom ->
    [[T] || T <- ["", "abc", [1000, 200], [a], lists:duplicate(255, $a), lists:duplicate(256, $a), [16#d800], [16#110000], [$a | b]]];
special(erlang, F, 2) when F =:= binary_to_atom; F =:= binary_to_existing_atom ->
    [[B, E] || B <- [<<>>, <<"abc">>, <<"\x{e5}">>, <<"\x{3b1}"/utf8>>, <<255, 255>>, binary:copy(<<"a">>, 256), <<1:1>>, a],
        E <- [latin1, utf8, unicode, foo]];
special(erlang, atom_to_binary, 2) ->
    [[A, E] || A <- [a, '', 'å', list_to_atom([945]), 1], E <- [latin1, utf8, unicode, foo]];
special(erlang, make_tuple, 2) ->
    [[N, a] || N <- [0, 1, 3, 16777215, 16777216, -1, a]];
special(erlang, make_tuple, 3) ->
    [[3, d, L] || L <- [[], [{1, x}], [{3, y}, {3, z}], [{4, x}], [{0, x}], [{1, x} | a], [a]]];
special(erlang, F, 3) when F =:= setelement; F =:= insert_element ->
    [[I, T, new] || I <- [0, 1, 2, 3, 4, -1, a, 1 bsl 70], T <- [{}, {a}, {a, b}, a]];
special(erlang, F, 2) when F =:= element; F =:= delete_element ->
    [[I, T] || I <- [0, 1, 2, 3, -1, a, 1.0, 1 bsl 70], T <- [{}, {a}, {a, b}, a]];
special(erlang, is_record, 3) ->
    [[T, a, N] || T <- [{}, {a}, {a, b}, {b, a}, a], N <- [0, 1, 2, -1, a, 1 bsl 70, -(1 bsl 70)]];
special(erlang, F, 2) when F =:= 'bsl'; F =:= 'bsr' ->
    [[V, N] || V <- [0, 1, -1, 5, -5, 1 bsl 59, -(1 bsl 60), 1 bsl 70, -(1 bsl 130)],
        N <- [0, 1, -1, 59, 60, 61, 63, 64, 65, 128, -60, -61, -64, -200, 1 bsl 70, -(1 bsl 70), 1 bsl 40]];
special(erlang, F, 2) when F =:= '--'; F =:= '++'; F =:= append; F =:= subtract ->
    Lists = [[], [a], [1, 2, 3, 1, 2, 3], [1.0, 1, 1], [1, 1], lists:seq(1, 200), lists:seq(200, 1, -2) ++ [{x}, "a", #{}], [{x}, {x}, "a"], [a | b]],
    [[A, B] || A <- Lists, B <- Lists];
special(lists, F, 2) when F =:= member; F =:= reverse ->
    [[A, B] || A <- values(), B <- [[], [a], [1, 2.0, {}], values(), [1 | 2]]];
special(lists, F, 3) when F =:= keyfind; F =:= keymember; F =:= keysearch ->
    Tuples = [{a, 1}, {1.0, 2}, {1, 3}, c, {b}, {1, a}],
    [[K, N, L] || K <- [a, 1, 1.0, b, c], N <- [0, 1, 2, 3, a, 1 bsl 70], L <- [[], Tuples, Tuples ++ x, a]];
special(maps, F, A) when F =/= from_keys, F =/= from_list ->
    Big = maps:from_list([{I, I} || I <- lists:seq(1, 40)]),
    Maps = [#{}, #{a => 1}, Big, Big#{1.0 => x, "k" => y}, not_a_map],
    Keys = [a, 1, 1.0, 40, 41, "k"],
    case A of
        1 -> [[M] || M <- Maps];
        2 when F =:= merge -> [[M, N] || M <- Maps, N <- Maps];
        2 -> [[K, M] || K <- Keys, M <- Maps];
        3 -> [[K, new, M] || K <- Keys, M <- Maps]
    end;
special(maps, from_list, 1) ->
    [[[]], [[{a, 1}, {a, 2}]], [[{I rem 50, I} || I <- lists:seq(1, 100)]], [[{a, 1} | x]], [[a]], [[{a}]]];
special(maps, from_keys, 2) ->
    [[L, v] || L <- [[], [a, b, a], lists:seq(1, 60), [a | b], a]];
special(erts_internal, cmp_term, 2) ->
    [[A, B] || A <- [1, 1.0, 0, -1, 1 bsl 64, 1.0e30], B <- [1, 1.0, 0, -1, 1 bsl 64, 1.0e30]];
special(erts_debug, map_info, 1) ->
    [[maps:from_list([{I, I} || I <- lists:seq(1, N)])] || N <- [33, 100, 1000, 5000]];
special(erlang, error, 3) ->
    [[r, A, O] || A <- [none, [], [1], [1 | 2], a], O <- [[], [{error_info, #{}}], [{error_info, #{cause => x}}], [{error_info, a}], [a], a,
        [{error_info, #{}} | x]]];
special(erlang, raise, 3) ->
    [[C, r, S] || C <- [error, exit, throw, a, 1], S <- [[], a, [a], [{m, f, 1}], [{m, f, [1]}], [{m, f, a}], [{m, f, 256}], [{m, f, -1}],
        [{m, f, 1, []}], [{m, f, 1, [{file, "x"}]}], [{m, f, 1, a}], [{fun lists:map/2, []}], [{fun lists:map/2, [], []}], [{a, b}],
        [{m, f, 1} | x], [{1, f, 1}], [{m, f, [1 | 2]}], [{m, f, 1, [a | b]}], [{m, f, 1, [a]}], [{m, f, 1.5}], [{fun lists:map/2, a}], [{fun lists:map/2, 2}], [{fun lists:map/2, [1 | 2]}], [{fun lists:map/2, [], a}],
        [{fun lists:map/2, 2, []}], [{m, f, 1, [{a, b}]}]]];
special(_, F, 1) when F =:= monotonic_time; F =:= system_time; F =:= time_offset ->
    [[U] || U <- [second, millisecond, microsecond, nanosecond, native, perf_counter, seconds, milli_seconds, micro_seconds,
        nano_seconds, minute, 1, 1000, 1 bsl 70, 0, -1]];
special(erlang, unique_integer, 1) ->
    [[O] || O <- [[], [positive], [monotonic], [monotonic, positive], [positive, positive], [a], [positive | a], positive]];
special(os, F, 1) when F =:= getenv; F =:= unsetenv ->
    [[T] || T <- ["PATH", "", "NOSUCH", [0], "a=b", [1000], [16#d800], <<"PATH">>, path, [$a | b]]];
special(os, putenv, 2) ->
    [[T, V] || T <- ["MYRIAD_X", "", [0], "a=b", "=x", a], V <- ["1", "", [0], [1000], <<"b">>, a, [$a | b]]];
special(erts_internal, atomics_new, 2) ->
    [[N, O] || N <- [0, 1, -1, a, 1 bsl 70], O <- [0, 1, a]];
special(_, _, _) ->
    [].
