%% lists:flatten/1, which has a quick body for lists that are not long.
-module(flattening).
-export([main/0]).

main() ->
    t:each(flatten, [[], [[]], [[[], []], []], [1, [2, [3, [4 | []]], 5], "six"], [a | b], [[a | b]], [[1], [2] | 3], a, <<"x">>, {1},
                     [[[[[[[x]]]]]]], [{[1]}, #{a => [b]}, <<"b">>]], fun(L) -> lists:flatten(t:id(L)) end),
    t:c(long, fun() -> [length(lists:flatten(lists:duplicate(N, [a, [b, []], "cd"]))) || N <- [1, 100, 400, 500, 600, 10000]] end),
    t:c(deep, fun() -> length(lists:flatten(lists:foldl(fun(X, L) -> [L, X] end, [], lists:seq(1, 100000)))) end),
    t:c(borders, fun() -> [length(lists:flatten(lists:seq(1, N))) || N <- lists:seq(4090, 4100)] end),
    t:c(improper_long, fun() -> lists:flatten(lists:duplicate(30, x) ++ t:id(y)) end),
    t:c(tail, fun() -> lists:flatten([[1], [2]], t:id([[3]])) end).
