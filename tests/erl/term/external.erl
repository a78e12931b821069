%% External term format: what is written, what is read, options, damaged input; hashes.
-module(external).
-export([main/0]).

terms() ->
    [0, 255, 256, -1, 1 bsl 31, -(1 bsl 31), (1 bsl 31) - 1, 1 bsl 59, 1 bsl 64, -(1 bsl 64), 1 bsl 2100, 0.0, 1.5, -1.0e300, ok, '', 'å', 'т', true,
     [], "abc", [1, 2, 300], [a | b], [[], [[]]], lists:seq(1, 20), {}, {a, 1}, {a, {b, {c}}}, list_to_tuple(lists:seq(1, 300)), <<>>, <<"hello">>, <<5:3>>, <<1, 2, 3:7>>,
     #{}, #{a => 1}, #{1 => 2, 3 => 4}, maps:from_list([{I, I} || I <- lists:seq(1, 40)]), fun erlang:abs/1, [$a, 1114111], lists:duplicate(70000, 1), -1 bsl 70].

main() ->
    t:each(round_trip, [T || T <- terms()], fun(T) -> binary_to_term(term_to_binary(T)) =:= T end),
    t:each(hex, [T || T <- terms(), erlang:external_size(T) < 400], fun(T) -> binary:encode_hex(term_to_binary(T)) end),
    t:each(size, [T || T <- terms(), erlang:external_size(T) < 400], fun(T) -> {erlang:external_size(T), byte_size(term_to_binary(T))} end),
    t:c(md5_all, fun() -> [erlang:phash2(erlang:md5(term_to_binary(T))) || T <- terms()] end),
    t:c(phash2, fun() -> [erlang:phash2(T) || T <- terms()] end),
    t:c(phash2_range, fun() -> [erlang:phash2(T, R) || T <- [a, 1, {x}], R <- [1, 2, 1000, 1 bsl 27, 1 bsl 32]] end),
    t:each(phash2_bad, [0, -1, a, (1 bsl 32) + 1], fun(R) -> erlang:phash2(a, R) end),
    t:c(phash, fun() -> [erlang:phash(T, 1000000) || T <- terms(), not is_map(T)] end),
    t:c(minor0, fun() -> [binary:encode_hex(term_to_binary(T, [{minor_version, 0}])) || T <- [1.5, abc, 'å', <<1:3>>]] end),
    t:c(minor2, fun() -> [binary:encode_hex(term_to_binary(T, [{minor_version, 2}])) || T <- [1.5, abc, 'å']] end),
    t:c(compressed, fun() -> L = lists:duplicate(5000, a), B = term_to_binary(L, [compressed]), {byte_size(B) < 500, binary_to_term(B) =:= L, binary:part(B, 0, 2)} end),
    t:c(compressed_levels, fun() -> [binary_to_term(term_to_binary(lists:seq(1, 500), [{compressed, N}])) =:= lists:seq(1, 500) || N <- [0, 1, 6, 9]] end),
    t:c(compressed_small, fun() -> term_to_binary(a, [compressed]) end),
    t:each(option_bad, [x, [x], [{minor_version, 9}], [{compressed, 10}]], fun(O) -> term_to_binary(a, O) end),
    t:c(iovec, fun() -> B = binary:copy(<<1>>, 100000), V = term_to_iovec({a, B}), {iolist_to_binary(V) =:= term_to_binary({a, B}), is_list(V)} end),
    t:c(deterministic_pid, fun() -> P = self(), binary_to_term(term_to_binary({P, [P]})) =:= {P, [P]} end),
    t:c(ref, fun() -> R = make_ref(), binary_to_term(term_to_binary(R)) =:= R end),
    t:c(closure, fun() -> N = t:id(3), F = fun(X) -> X + N end, G = binary_to_term(term_to_binary(F)), {G(4), G =:= F} end),
    t:c(deep, fun() -> D = lists:foldl(fun(_, A) -> [A] end, [], lists:seq(1, 200000)), binary_to_term(term_to_binary(D)) =:= D end),
    t:c(deep_tuple, fun() -> D = lists:foldl(fun(_, A) -> {x, A} end, [], lists:seq(1, 100000)), binary_to_term(term_to_binary(D)) =:= D end),
    t:c(used, fun() -> B = <<(term_to_binary({a, 1}))/binary, 9, 9>>, {binary_to_term(B, [used]), catch binary_to_term(t:id(<<131, 97>>), [used])} end),
    t:c(trailing, fun() -> binary_to_term(<<131, 97, 1, 2>>) end),
    t:c(safe_ok, fun() -> binary_to_term(term_to_binary({ok, [error]}), [safe]) end),
    t:c(safe_new_atom, fun() -> binary_to_term(<<131, 100, 0, 15, "never_seen_atom">>, [safe]) end),
    t:c(safe_fun, fun() -> F = binary_to_term(term_to_binary(fun lists:map/2), [safe]), F(fun(X) -> X end, [1]) end),
    t:each(read, [<<131, 99, "1.50000000000000000000e+00", 0, 0, 0, 0, 0>>, <<131, 115, 2, "ab">>, <<131, 119, 2, 195, 165>>, <<131, 118, 0, 1, "x">>, <<131, 100, 0, 1, 229>>,
                  <<131, 98, 255, 255, 255, 255>>, <<131, 110, 1, 0, 5>>, <<131, 110, 1, 1, 0>>, <<131, 110, 9, 0, 0:64, 1>>, <<131, 111, 0, 0, 0, 2, 1, 1, 1>>, <<131, 110, 0, 0>>,
                  <<131, 107, 0, 0>>, <<131, 107, 0, 2, "ab">>, <<131, 108, 0, 0, 0, 0, 106>>, <<131, 108, 0, 0, 0, 1, 97, 1, 97, 2>>, <<131, 105, 0, 0, 0, 1, 97, 1>>,
                  <<131, 77, 0, 0, 0, 1, 8, 7>>, <<131, 77, 0, 0, 0, 1, 3, 255>>, <<131, 77, 0, 0, 0, 0, 0>>, <<131, 116, 0, 0, 0, 1, 97, 1, 97, 2>>, <<131, 113, 100, 0, 1, "m", 100, 0, 1, "f", 97, 1>>],
           fun(B) -> binary_to_term(B) end),
    t:each(damaged, [<<>>, <<131>>, <<130, 97, 1>>, <<131, 97>>, <<131, 98, 1, 2>>, <<131, 1>>, <<131, 255>>, <<131, 70, 1>>, <<131, 70, 127, 240, 0, 0, 0, 0, 0, 0>>, <<131, 99, "abc">>,
                     <<131, 100, 0, 5, "ab">>, <<131, 100, 1, 0, 0:2048>>, <<131, 119, 1, 255>>, <<131, 104, 5, 97, 1>>, <<131, 105, 255, 255, 255, 255>>, <<131, 107, 255, 255, 1>>, <<131, 108, 255, 255, 255, 255, 97, 1>>,
                     <<131, 108, 0, 0, 0, 1, 97, 1>>, <<131, 109, 255, 255, 255, 255, 1>>, <<131, 77, 0, 0, 0, 1, 9, 1>>, <<131, 77, 0, 0, 0, 1, 0, 1>>, <<131, 77, 0, 0, 0, 0, 5>>, <<131, 116, 0, 0, 0, 2, 97, 1, 97, 2, 97, 1, 97, 3>>,
                     <<131, 116, 255, 255, 255, 255>>, <<131, 110, 5, 0, 1>>, <<131, 111, 255, 255, 255, 255, 0, 1>>, <<131, 80, 0, 0, 0, 5, 1, 2, 3>>, <<131, 80, 255, 255, 255, 255>>, <<131, 112, 0, 0, 0, 1>>, <<131, 113, 97, 1, 97, 1, 97, 1>>,
                     <<131, 103, 100, 0, 1, "x">>, <<131, 88, 97, 1>>, <<131, 90, 0, 6, 100, 0, 1, "x">>, <<131, 82, 0>>, <<131, 68, 0>>, <<131, 121>>, <<1:3>>],
           fun(B) -> binary_to_term(B) end),
    t:c(not_binary, fun() -> binary_to_term(t:id("abc")) end).
