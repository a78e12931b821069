%% The math module, domain errors among it.
-module(maths).
-export([main/0]).

main() ->
    One = [sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp, log, log2, log10, sqrt, erf, erfc, ceil, floor],
    [t:c(F, fun() -> [try round9(math:F(X)) catch error:E -> E end || X <- [0, 1, -1, 0.5, 2, 10, -3.5, 1000, 1 bsl 70]] end) || F <- One],
    [t:c(F, fun() -> [try round9(math:F(X, Y)) catch error:E -> E end || X <- [0, 1, -2, 2.5, 10], Y <- [0, 1, -1, 0.5, 3, 1000]] end)
     || F <- [atan2, pow, fmod]],
    t:c(pi, fun() -> math:pi() end),
    t:c(sqrt_neg, fun() -> math:sqrt(t:id(-1)) end),
    t:c(log_zero, fun() -> math:log(t:id(0)) end),
    t:c(sin_atom, fun() -> math:sin(t:id(a)) end),
    t:c(exp_big, fun() -> math:exp(t:id(1000)) end),
    t:c(pow_atom, fun() -> math:pow(t:id(2), t:id(a)) end),
    t:c(log2_big, fun() -> math:log2(t:id(1 bsl 900)) end).

%% Different C libraries may differ in the last digit, so nine significant ones are compared.
round9(F) -> io_lib:format("~.9g", [float(F)]) ++ "".
