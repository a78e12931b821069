%% Floats: arithmetic, text in every form, conversions and what cannot be converted.
-module(floats).
-export([main/0]).

values() ->
    [0.0, 1.0, -1.0, 0.1, -0.1, 0.5, 1.5, 2.5, 3.14159, 1.0e10, 1.0e15, 123456789.123, 1.0e16, 1.0e22, 1.0e23, 5.0e-324,
     1.7976931348623157e308, 2.2250738585072014e-308, 1.2345678901234568e17, 9007199254740993.0, 1.0e-5, 1.0e-10,
     0.30000000000000004, 100.0, 1.0e100].

main() ->
    t:each(print, values(), fun(V) -> {V, -V} end),
    t:each(to_list, values(), fun(V) -> {float_to_list(V), float_to_list(V, [short])} end),
    t:each(to_binary, values(), fun(V) -> {float_to_binary(V), float_to_binary(V, [short])} end),
    t:each(decimals, [0.1, -2.5, 1.005, 123456.789, 0.0, 1.0e20, 9.995],
           fun(V) -> [float_to_list(V, [{decimals, D}]) || D <- [0, 1, 2, 4, 10]] end),
    t:each(compact, [0.1, -2.5, 123456.0, 0.0], fun(V) -> [float_to_list(V, [{decimals, D}, compact]) || D <- [0, 1, 4, 10]] end),
    t:each(scientific, [0.1, -2.5, 123456.789, 1.0e-200], fun(V) -> [float_to_list(V, [{scientific, D}]) || D <- [0, 1, 4, 20]] end),
    t:each(options, [[{decimals, 254}], [{decimals, -1}], [{scientific, 300}], [x], x], fun(O) -> float_to_list(1.0, O) end),
    t:each(from_list, ["1.0", "-1.5e3", "1e5", "1.", ".5", "1", "", "1.0e", "1.0E5", "+2.5", " 1.0", "1.0 ", "1.0e400", "1.0e-400", "0.1e+2", a],
           fun(S) -> list_to_float(S) end),
    t:each(from_binary, [<<"1.0">>, <<"-0.25e-3">>, <<"1">>, <<>>, <<"x">>], fun(S) -> binary_to_float(S) end),
    t:each(string_to_float, ["1.5 rest", "-2.0e2x", "7", "x"], fun(S) -> string:to_float(S) end),
    t:each(trunc, [0.5, -0.5, 1.5, 2.5, -2.5, 1.0e20, -1.0e30, 4503599627370497.5],
           fun(V) -> {trunc(V), round(V), floor(V), ceil(V)} end),
    t:each(int_trunc, [5, -5, 1 bsl 100], fun(V) -> {trunc(V), round(V), floor(V), ceil(V)} end),
    t:each(float_of, [1, -1, 1 bsl 53, (1 bsl 53) + 1, (1 bsl 64) + 1, 1 bsl 1023], fun(V) -> float(V) end),
    t:c(float_too_big, fun() -> float(t:id(1 bsl 1024)) end),
    t:c(float_atom, fun() -> float(t:id(a)) end),
    t:c(trunc_atom, fun() -> trunc(t:id(a)) end),
    Ops = [{'+', fun(A, B) -> A + B end}, {'-', fun(A, B) -> A - B end}, {'*', fun(A, B) -> A * B end},
           {'/', fun(A, B) -> A / B end}],
    Mixed = [0.0, 1.5, -2.25, 1.0e308, 1, -3, 1 bsl 70],
    [t:c(io_lib:format("~w ~w", [A, Op]), fun() -> [try F(A, t:id(B)) catch error:E -> E end || B <- Mixed] end)
     || {Op, F} <- Ops, A <- Mixed],
    t:c(overflow, fun() -> t:id(1.0e308) * 10.0 end),
    t:c(chain, fun() -> X = t:id(1.5), Y = t:id(2.5), (X + Y) * X - Y / X + X * X * X end),
    t:c(chain_error, fun() -> X = t:id(1.5), Y = t:id(0.0), (X + Y) * X / Y end),
    t:c(zeros, fun() -> {t:id(0.0) =:= t:id(-0.0), t:id(0.0) == t:id(-0.0), t:id(0.0) == 0, <<(t:id(-0.0))/float>>} end),
    t:c(sum, fun() -> lists:foldl(fun(I, S) -> S + 1 / I end, 0.0, lists:seq(1, 1000)) end),
    t:c(newton, fun() -> newton(2.0, 1.0, 20) end),
    t:c(neg_zero_print, fun() -> [-0.0, t:id(0.0) * -1, float_to_list(t:id(-0.0))] end).

newton(_, X, 0) -> X;
newton(N, X, I) -> newton(N, (X + N / X) / 2, I - 1).
