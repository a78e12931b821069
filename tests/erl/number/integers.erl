%% Integer arithmetic over small, boundary and big values: every operator on every pair.
-module(integers).
-export([main/0]).

values() ->
    [0, 1, -1, 2, -2, 7, -7, 255, 256, 65535, 1 bsl 31, -(1 bsl 31), (1 bsl 59) - 1, -(1 bsl 59),
     1 bsl 59, -(1 bsl 59) - 1, (1 bsl 60) - 1, -(1 bsl 60), 1 bsl 60, -(1 bsl 60) - 1,
     (1 bsl 63) - 1, -(1 bsl 63), 1 bsl 63, (1 bsl 64) - 1, 1 bsl 64, -(1 bsl 64),
     123456789012345678901234567890, -123456789012345678901234567890, 1 bsl 200, -(1 bsl 127) + 3].

main() ->
    Ops = [{'+', fun(A, B) -> A + B end}, {'-', fun(A, B) -> A - B end},
           {'*', fun(A, B) -> A * B end}, {'div', fun(A, B) -> A div B end},
           {'rem', fun(A, B) -> A rem B end}, {'band', fun(A, B) -> A band B end},
           {'bor', fun(A, B) -> A bor B end}, {'bxor', fun(A, B) -> A bxor B end},
           {'<', fun(A, B) -> A < B end}, {'=:=', fun(A, B) -> A =:= B end},
           {'min', fun(A, B) -> min(A, B) end}],
    [t:c(io_lib:format("~w ~w", [A, Op]), fun() -> [attempt(F, A, t:id(B)) || B <- values()] end)
     || {Op, F} <- Ops, A <- values()],
    [t:c(io_lib:format("shift ~w", [A]),
         fun() -> [{A bsl t:id(S), A bsr t:id(S)} || S <- [0, 1, -1, 3, 59, 60, 61, 63, 64, -64, 100, -100]] end)
     || A <- values()],
    [t:c(io_lib:format("unary ~w", [A]), fun() -> {-A, +A, bnot A, abs(A)} end) || A <- values()],
    t:c(bsl_limit, fun() -> 1 bsl t:id(1 bsl 40) end),
    t:c(bsl_limit_big, fun() -> 1 bsl t:id(1 bsl 70) end),
    t:c(bsr_far, fun() -> {1 bsr t:id(1 bsl 40), -1 bsr t:id(1 bsl 70), 0 bsl t:id(1 bsl 70)} end),
    t:c(limit, fun() -> X = t:id(1) bsl t:id(33554367), X bsr 33554367 end),
    t:c(beyond_limit, fun() -> t:id(1) bsl t:id(33554368) end),
    t:c(fac_200, fun() -> fac(200) end),
    t:c(pow_3_1000, fun() -> pow(3, 1000) end),
    t:c(fib_1000, fun() -> fib(1000, 0, 1) end),
    t:c(gcd, fun() -> gcd(fac(60), pow(6, 100)) end),
    t:c(div_exact, fun() -> fac(120) div fac(118) end),
    t:c(rem_sign, fun() -> [{A div B, A rem B} || A <- [7, -7], B <- [2, -2]] end),
    t:c(atom_plus, fun() -> t:id(a) + 1 end),
    t:c(plus_list, fun() -> 1 + t:id([]) end),
    t:c(neg_atom, fun() -> -t:id(a) end),
    t:c(bnot_float, fun() -> bnot t:id(1.0) end),
    t:c(band_float, fun() -> t:id(1) band t:id(1.5) end),
    t:c(div_float, fun() -> t:id(4.0) div t:id(2) end),
    t:c(rem_zero, fun() -> t:id(4) rem t:id(0) end),
    t:c(slash, fun() -> {t:id(4) / 2, t:id(1) / 3, t:id(1 bsl 70) / t:id(1 bsl 69)} end),
    t:c(slash_zero, fun() -> t:id(4) / t:id(0) end),
    t:c(slash_too_big, fun() -> t:id(1 bsl 2000) / 2 end),
    t:c(isqrt, fun() -> isqrt(pow(10, 101)) end),
    %% What does not add up with a small constant is not told, unless it is a constant itself.
    A = t:id(a),
    t:c(unfit, fun() -> [try F() catch error:R:S -> {R, [{N, X} || {erlang, N, X, _} <- [hd(S)]]} end || F <- [
        fun() -> A + 1 end, fun() -> 1 + A end, fun() -> A - 1 end, fun() -> A - -1 end, fun() -> A - -70000 end, fun() -> A + -1 end, fun() -> A - 0 end, fun() -> 1 - A end,
        fun() -> A + (1 bsl 59 - 1) end, fun() -> A + (1 bsl 59) end, fun() -> A - (-1 bsl 58) end, fun() -> x + 1 end, fun() -> 1 + x end, fun() -> x - 1 end, fun() -> +x end]] end).

attempt(F, A, B) ->
    try F(A, B) catch error:E -> E end.

fac(0) -> 1;
fac(N) -> N * fac(N - 1).

pow(_, 0) -> 1;
pow(B, N) when N rem 2 =:= 0 -> pow(B * B, N div 2);
pow(B, N) -> B * pow(B, N - 1).

fib(0, A, _) -> A;
fib(N, A, B) -> fib(N - 1, B, A + B).

gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

isqrt(N) -> isqrt(N, N).
isqrt(N, X) ->
    case (X + N div X) div 2 of
        Y when Y >= X -> X;
        Y -> isqrt(N, Y)
    end.
