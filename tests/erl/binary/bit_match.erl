%% Matching bit strings: every segment type, size, sign, endianness, offset; what does not match.
-module(bit_match).
-export([main/0]).

main() ->
    B = t:id(<<16#81, 16#02, 16#F3, 16#74, 16#85, 16#96, 16#A7, 16#B8, 16#C9, 16#DA>>),
    [t:c(io_lib:format("size ~w", [S]), fun() ->
         <<A1:S, _/bits>> = B, <<A2:S/little, _/bits>> = B, <<A3:S/signed, _/bits>> = B, <<A4:S/signed-little, _/bits>> = B,
         <<_:3, A5:S, _/bits>> = B, <<_:3, A6:S/little-signed, _/bits>> = B,
         {A1, A2, A3, A4, A5, A6} end) || S <- [0, 1, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 59, 60, 61, 63, 64, 65, 70]],
    t:c(fixed, fun() -> <<A, C:16, D:24/little, E:32/signed, _/binary>> = B, {A, C, D, E} end),
    t:c(sixtyfour, fun() -> <<A:64, _/binary>> = B, <<C:64/signed-little, _/binary>> = B, {A, C} end),
    t:c(binary, fun() -> Two = t:id(2), <<A:3/binary, C/binary>> = B, <<D:Two/binary, _:5, E/bits>> = B, {A, C, D, E} end),
    t:c(unit, fun() -> <<A:2/binary-unit:4, C:3/unit:7, _/bits>> = B, {A, C} end),
    t:c(tail_unit, fun() -> <<_:8, R/binary-unit:24>> = B, R end),
    t:c(tail_unit_no, fun() -> <<_:16, R/binary-unit:24>> = B, R end),
    t:c(unaligned_tail, fun() -> <<_:4, R/binary>> = B, R end),
    t:c(bits_tail, fun() -> <<_:4, R/bits>> = B, {bit_size(R), R} end),
    t:c(size_from_match, fun() -> <<N, R:N/binary, _/binary>> = t:id(<<3, "abcdef">>), R end),
    t:c(size_expression, fun() -> N = t:id(2), <<X:(N * 8), R:(N + 1)/binary, _/binary>> = B, {X, R} end),
    t:c(size_negative, fun() -> N = t:id(-1), case B of <<_:N, _/bits>> -> yes; _ -> no end end),
    t:c(size_atom, fun() -> N = t:id(a), case B of <<_:N, _/bits>> -> yes; _ -> no end end),
    t:c(size_huge, fun() -> N = t:id(1 bsl 70), case B of <<_:N, _/bits>> -> yes; _ -> no end end),
    F = t:id(<<1.5/float, -2.5:32/float, 3.5/float-little, 1.0:16/float>>),
    t:c(float, fun() -> <<A/float, C:32/float, D/float-little, E:16/float>> = F, {A, C, D, E} end),
    t:c(float_offset, fun() -> <<_:5, A/float, _/bits>> = t:id(<<0:5, 7.25/float, 0:3>>), A end),
    t:c(float_nan, fun() -> case t:id(<<-1:64>>) of <<A/float>> -> A; _ -> no end end),
    t:c(float_inf, fun() -> case t:id(<<16#7FF0000000000000:64>>) of <<A/float>> -> A; _ -> no end end),
    t:c(float_size, fun() -> N = t:id(32), <<_:64, A:N/float, _/bits>> = F, A end),
    t:c(literal, fun() -> case B of <<16#81, 2, R/binary>> -> R; _ -> no end end),
    t:c(string, fun() -> [case X of <<"GET ", R/binary>> -> {get, R}; <<"PUT ", R/binary>> -> {put, R}; <<>> -> empty; _ -> other end
                          || X <- [<<"GET /">>, <<"PUT x">>, <<>>, <<"GE">>, a, <<1:3>>]] end),
    t:c(literal_size, fun() -> case t:id(<<5:3, 1:13>>) of <<5:3, X:13>> -> X; _ -> no end end),
    t:c(too_short, fun() -> <<A:128>> = B, A end),
    t:c(not_binary, fun() -> <<A>> = t:id(a), A end),
    t:c(empty, fun() -> [case X of <<>> -> empty; <<_>> -> one; <<_, _/bits>> -> more; _ -> no end || X <- [<<>>, <<1>>, <<1, 2>>, <<1:1>>, a]] end),
    U = t:id(<<"aåт𐍈"/utf8>>),
    t:c(utf8, fun() -> <<A/utf8, C/utf8, D/utf8, E/utf8, R/binary>> = U, {A, C, D, E, R} end),
    t:c(utf8_list, fun() -> [C || <<C/utf8>> <= U] end),
    t:c(utf16, fun() -> [C || <<C/utf16>> <= t:id(<<"aåт𐍈"/utf16>>)] end),
    t:c(utf16_little, fun() -> [C || <<C/utf16-little>> <= t:id(<<"aåт𐍈"/utf16-little>>)] end),
    t:c(utf32, fun() -> [C || <<C/utf32>> <= t:id(<<"aåт𐍈"/utf32>>)] end),
    t:c(utf_skip, fun() -> <<_/utf8, _/utf8, R/binary>> = U, R end),
    t:each(utf8_bad, [<<128>>, <<192, 128>>, <<195>>, <<237, 160, 128>>, <<244, 144, 128, 128>>, <<255>>, <<224, 128, 128>>, <<>>],
           fun(X) -> case X of <<C/utf8, R/binary>> -> {C, R}; _ -> no end end),
    t:each(utf16_bad, [<<216, 0>>, <<220, 0, 0, 0>>, <<216, 0, 0, 65>>, <<1>>], fun(X) -> case X of <<C/utf16, R/binary>> -> {C, R}; _ -> no end end),
    t:each(utf32_bad, [<<0, 0, 216, 0>>, <<0, 17, 0, 0>>, <<255, 255, 255, 255>>, <<0, 0, 1>>], fun(X) -> case X of <<C/utf32>> -> C; _ -> no end end),
    t:c(utf8_offset, fun() -> <<_:3, C/utf8, D/utf16, _/bits>> = t:id(<<1:3, 1090/utf8, 66376/utf16, 0:5>>), {C, D} end),
    t:c(loop, fun() -> sum(binary:copy(<<1, 2, 3>>, 1000), 0) end),
    t:c(count_bits, fun() -> count(t:id(<<16#F0F1:16, 7:3>>), 0) end),
    t:c(backtrack, fun() -> [parse(X) || X <- [<<1, 2, 3>>, <<1, 5>>, <<2, 3:16>>, <<9>>, <<>>]] end),
    t:c(rle, fun() -> rle(t:id(<<"aaabccdddd">>), []) end),
    t:c(fun_arg, fun() -> (fun(<<A, R/binary>>) -> {A, R} end)(B) end),
    t:c(fun_arg_bad, fun() -> (fun(<<A, R/binary>>) -> {A, R} end)(t:id(<<>>)) end),
    t:c(guard_after, fun() -> case B of <<A, _/binary>> when A > 200 -> big; <<A:4, _/bits>> when A > 7 -> {nibble, A}; _ -> none end end),
    t:c(sub_of_sub, fun() -> <<_, A/binary>> = B, <<_:2, C/bits>> = A, <<_:6, D/binary>> = C, {D, C =:= D, byte_size(D)} end),
    t:c(same_var, fun() -> X = t:id(16#81), case B of <<X, _/binary>> -> same; _ -> differs end end),
    t:c(big_size, fun() -> <<X:200>> = binary:copy(<<255>>, 25), X end),
    t:c(comprehension_stops, fun() -> {[X || <<1:1, X:7>> <= <<129, 1, 130>>], [X || <<X:12>> <= <<1, 2, 3, 4>>]} end),
    t:c(ip, fun() -> <<V:4, L:4, T, Len:16, _:16, Fl:3, Off:13, _/binary>> = t:id(<<16#45, 0, 0, 84, 1, 2, 16#40, 0, 64, 1>>), {V, L, T, Len, Fl, Off} end).

sum(<<X, R/binary>>, S) -> sum(R, S + X);
sum(<<>>, S) -> S.

count(<<1:1, R/bits>>, N) -> count(R, N + 1);
count(<<0:1, R/bits>>, N) -> count(R, N);
count(<<>>, N) -> N.

parse(<<1, X:16>>) -> {one, X};
parse(<<1, X, _/binary>>) -> {one_short, X};
parse(<<2, N:16, R:N/binary>>) -> {two, R};
parse(<<2, N:16, _/binary>>) -> {two_wants, N};
parse(<<>>) -> empty;
parse(X) -> {unknown, X}.

rle(<<C, C, C, R/binary>>, A) -> rle(R, [{3, C} | A]);
rle(<<C, C, R/binary>>, A) -> rle(R, [{2, C} | A]);
rle(<<C, R/binary>>, A) -> rle(R, [C | A]);
rle(<<>>, A) -> lists:reverse(A).
