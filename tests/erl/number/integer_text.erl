%% Integers to and from text and binary, every base.
-module(integer_text).
-export([main/0]).

main() ->
    Values = [0, 1, -1, 10, 35, 36, 255, (1 bsl 60), -(1 bsl 64) + 5, 1 bsl 130],
    [t:c(io_lib:format("base ~w", [B]),
         fun() -> [{integer_to_list(V, B), integer_to_binary(V, B)} || V <- Values] end)
     || B <- [2, 3, 8, 10, 16, 35, 36]],
    t:each(base, [0, 1, 37, a, -2], fun(B) -> integer_to_list(10, B) end),
    t:each(to_list, [a, 1.0, "1"], fun(V) -> integer_to_list(V) end),
    t:each(from_list, ["0", "+7", "-7", "007", "", "+", "-", "1 ", " 1", "1.0", "12a", "1_000",
                       "123456789012345678901234567890", "-576460752303423489", a, [49 | 50], [$1, a], [300]],
           fun(S) -> list_to_integer(S) end),
    t:each(from_list_16, ["ff", "FF", "-fF", "g", "+0f", ""], fun(S) -> list_to_integer(S, 16) end),
    t:each(from_binary, [<<"0">>, <<"-12">>, <<"+3">>, <<>>, <<"x">>, <<"99999999999999999999">>, <<5:3>>, "1"],
           fun(B) -> binary_to_integer(B) end),
    t:each(from_binary_36, [<<"zz">>, <<"-ZZ9">>, <<"!">>], fun(B) -> binary_to_integer(B, 36) end),
    t:each(string_to_integer, ["12 and more", "-3", "x", "", "+", "4.5"], fun(S) -> string:to_integer(S) end),
    t:each(list_to_integer_prefix, ["12 and more", "-3", "x", ""], fun(S) -> string:list_to_integer(S) end),
    t:c(long, fun() -> N = list_to_integer(lists:duplicate(3000, $7)), {N rem 1000003, length(integer_to_list(N))} end),
    t:c(encode_unsigned, fun() -> [binary:encode_unsigned(V) || V <- [0, 255, 256, 1 bsl 64]] end),
    t:c(encode_little, fun() -> [binary:encode_unsigned(V, little) || V <- [0, 255, 256, 1 bsl 64]] end),
    t:c(decode_unsigned, fun() -> [{binary:decode_unsigned(B), binary:decode_unsigned(B, little)}
                                   || B <- [<<>>, <<1>>, <<1, 2>>, <<1:64, 2:64>>]] end),
    t:c(encode_negative, fun() -> binary:encode_unsigned(-1) end),
    t:c(integer_digits, fun() -> [length(integer_to_list(1 bsl B)) || B <- [10, 64, 100, 1000, 10000]] end).
