%% Calls, loops, funs, frames.
-module(calls).
-export([fib/1, loop/2, far/2, apply_fun/2, make/1]).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

loop(0, Sum) -> Sum;
loop(N, Sum) -> loop(N - 1, Sum + N).

far(Key, List) -> [lists:keyfind(Key, 1, List) | erlang:self()].

apply_fun(F, X) -> F(F(X)).

make(X) -> fun(Y) -> {X, Y} end.
