%% Arithmetic, floats.
-module(numbers).
-export([sum/3, halves/1, bits/2, scale/2, mean/2, distance/1]).

sum(A, B, C) -> A + B * C - 1.

halves(N) -> {N div 2, N rem 2}.

bits(A, B) -> (A band 255) bor (B bsl 8) bxor (A bsr 3).

scale(X, By) -> X / By.

mean(X, Y) when is_float(X), is_float(Y) -> (X + Y) * 0.5.

distance(X) -> abs(X) + length([X]).
