%% Stack traces of built-ins that go on in Erlang code: called last, in a body, through an entry.
-module(traps).
-export([main/0]).

a(X) -> unicode:characters_to_list(X, nope).
b(X) -> unicode:characters_to_binary(X, unicode, nope).
c(X) -> re:run(X, "a", [{offset, x}]).
d(X) -> re:compile(X, [nope]).
e(X) -> re:run(X, "(", [unicode, global]).
f(X) -> erlang:memory(X).
g(X) -> unicode:characters_to_nfc_list(X).
h(X) -> erlang:system_flag(X, true).
i(X) -> re:run([X], "a", [unicode]).
j(X) -> erlang:process_info(X, foo).
k(X) -> Y = re:run([X], "a", [unicode, {capture, [nope]}]), [Y].
l(X) -> re:compile([X], [unicode]).
m(X) -> {y, re:run([X], "a", [unicode])}.
n(X) -> P = self(), Y = i(X), {P, Y}.
o(X) -> try i(X) catch throw:_ -> ok end.
p(X) -> apply(re, run, [[X], "a", [unicode]]).
q(X) -> F = fun re:run/3, F([X], "a", [unicode]).
%% Called last again and again, through what goes on elsewhere: the stack does not grow.
loop(0) -> process_info(self(), stack_size);
loop(N) -> {match, _} = re:run([N], "", [unicode]), loop(N - 1).

main() ->
    [t:c([Name, $ | lists:flatten(io_lib:format("~0w", [X]))], fun() -> case F(X) of {ok, P} when is_tuple(P) -> element(1, P); R -> R end end)
     || {Name, F} <- [{$a, fun a/1}, {$b, fun b/1}, {$c, fun c/1}, {$d, fun d/1}, {$e, fun e/1}, {$f, fun f/1}, {$g, fun g/1}, {$h, fun h/1},
                      {$i, fun i/1}, {$j, fun j/1}, {$k, fun k/1}, {$l, fun l/1}, {$m, fun m/1}, {$n, fun n/1}, {$o, fun o/1}, {$p, fun p/1}, {$q, fun q/1}],
        X <- [nope, <<255>>, [300, $a], 1 bsl 80, [1 bsl 40]]],
    t:c(loop, fun() -> {stack_size, Few} = loop(10), {stack_size, Many} = loop(1000), Few =:= Many end).
