%% Tests of types, comparisons, truth values.
-module(tests).
-export([kind/1, order/2, equal/2, truth/2, logic/2, pick/1]).

kind(X) when is_integer(X) -> integer;
kind(X) when is_float(X) -> float;
kind(X) when is_atom(X) -> atom;
kind(X) when is_binary(X) -> binary;
kind(X) when is_pid(X) -> pid;
kind(X) when is_function(X, 2) -> function;
kind(_) -> other.

order(A, B) when A < B -> less;
order(A, B) when A > B -> greater;
order(_, _) -> equal.

equal(A, A) -> same;
equal(A, B) when A == B -> equal;
equal(_, _) -> different.

truth(A, B) -> {A =:= B, A < B, is_list(A)}.

logic(A, B) when A and not B -> yes;
logic(_, _) -> no.

pick(a) -> 1;
pick(b) -> 2;
pick(1) -> 3;
pick(2) -> 4;
pick(3) -> 5;
pick(_) -> 6.
