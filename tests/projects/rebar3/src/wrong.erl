%% What Dialyzer is to find, and what it is not.
-module(wrong).
-export([f/1, g/0, h/1, i/0, j/1, fine/1]).

-spec f(integer()) -> atom().
f(N) when N > 0 -> N + 1;
f(_) -> ok.

g() -> lists:map(fun(X) -> X + 1 end, not_a_list).

h(X) when is_atom(X) ->
    case atom_to_list(X) of
        [] -> empty;
        {never, _} -> tuple;
        [_ | _] -> more
    end.

i() -> stack:pop({stack, [], 0}).

j(X) -> file:open(X, [read], extra).

-spec fine([number()]) -> number().
fine(L) -> lists:sum(L) / max(1, length(L)).
