%% Maps, flat and large: syntax, BIFs, the maps module, errors.
-module(maps_bifs).
-export([main/0]).

main() ->
    M = t:id(#{a => 1, b => 2, "c" => 3, 4 => four, 4.0 => float, {} => tuple}),
    Big = maps:from_list([{I, I * I} || I <- lists:seq(1, 200)]),
    both(get, M, Big, fun(X, K) -> maps:get(K, X) end, [a, 4, 4.0, 7, nope]),
    both(find, M, Big, fun(X, K) -> maps:find(K, X) end, [a, 4, 7, nope]),
    both(is_key, M, Big, fun(X, K) -> {maps:is_key(K, X), is_map_key(K, X)} end, [a, 200, nope]),
    both(map_get, M, Big, fun(X, K) -> map_get(K, X) end, [a, 200, nope]),
    both(get_default, M, Big, fun(X, K) -> maps:get(K, X, default) end, [a, 200, nope]),
    both(take, M, Big, fun(X, K) -> case maps:take(K, X) of {V, R} -> {V, maps:size(R)}; E -> E end end, [a, 3, nope]),
    both(remove, M, Big, fun(X, K) -> R = maps:remove(K, X), {map_size(R), maps:is_key(K, R)} end, [a, 3, nope]),
    both(update, M, Big, fun(X, K) -> map_size(maps:update(K, new, X)) end, [a, 3, nope]),
    both(put, M, Big, fun(X, K) -> Y = maps:put(K, new, X), {map_size(Y), maps:get(K, Y)} end, [a, 3, nope]),
    both(assoc, M, Big, fun(X, K) -> Y = X#{K => new, z => 1}, {map_size(Y), maps:get(K, Y)} end, [a, 3, nope]),
    both(exact, M, Big, fun(X, K) -> Y = X#{K := new}, {map_size(Y), maps:get(K, Y)} end, [a, 3, nope]),
    t:c(match, fun() -> #{a := A, "c" := C} = M, {A, C} end),
    t:c(match_fail, fun() -> #{zzz := A} = M, A end),
    t:c(match_key_var, fun() -> K = t:id(b), #{K := V} = M, V end),
    t:c(case_match, fun() -> [case X of #{a := 1, b := _} -> both; #{a := V} -> {a, V}; #{} -> none; _ -> not_map end
                              || X <- [M, #{a => 2}, #{}, [], Big]] end),
    [t:c(F, fun() -> maps:F(t:id(not_a_map)) end) || F <- [keys, values, to_list, size, iterator]],
    t:c(badmap_get, fun() -> maps:get(a, t:id([])) end),
    t:c(badmap_update, fun() -> (t:id([]))#{a => 1} end),
    t:c(badmap_exact, fun() -> (t:id(x))#{a := 1} end),
    t:c(map_size_bad, fun() -> map_size(t:id(x)) end),
    t:c(keys, fun() -> {maps:keys(M), maps:values(M), maps:to_list(M)} end),
    t:c(big_keys, fun() -> {lists:sort(maps:keys(Big)) =:= lists:seq(1, 200), lists:sum(maps:values(Big))} end),
    t:c(big_order, fun() -> maps:keys(maps:from_list([{I, I} || I <- lists:seq(1, 40)])) end),
    %% Their order is another from VM to VM (docs/differences.md).
    t:c(big_order_atoms, fun() -> Large = maps:from_list([{list_to_atom("k" ++ integer_to_list(I)), I} || I <- lists:seq(1, 40)]), K = maps:keys(Large), {lists:sort(K), K =:= [A || {A, _} <- maps:to_list(Large)], maps:values(Large) =:= [maps:get(A, Large) || A <- K]} end),
    t:c(merge, fun() -> {maps:merge(#{a => 1, b => 2}, #{b => 3, c => 4}), map_size(maps:merge(Big, #{0 => 0, 1 => x})), maps:get(1, maps:merge(Big, #{1 => x})), maps:get(1, maps:merge(#{1 => x}, Big))} end),
    t:c(merge_bad, fun() -> maps:merge(#{}, t:id(a)) end),
    t:c(merge_with, fun() -> maps:merge_with(fun(_, A, B) -> A + B end, #{a => 1, b => 2}, #{b => 3, c => 4}) end),
    t:c(intersect, fun() -> {maps:intersect(#{a => 1, b => 2}, #{b => 3}), maps:intersect_with(fun(K, A, B) -> {K, A, B} end, #{a => 1, b => 2}, #{b => 3})} end),
    t:c(from_list, fun() -> {maps:from_list([{a, 1}, {a, 2}, {b, 3}]), maps:from_list([])} end),
    t:c(from_list_bad, fun() -> maps:from_list(t:id([a])) end),
    t:c(from_list_improper, fun() -> maps:from_list(t:id([{a, 1} | b])) end),
    t:c(from_keys, fun() -> {maps:from_keys([a, b], 0), map_size(maps:from_keys(lists:seq(1, 50), x))} end),
    t:c(fold, fun() -> {maps:fold(fun(K, V, A) -> [{K, V} | A] end, [], #{a => 1, b => 2}), maps:fold(fun(_, V, A) -> V + A end, 0, Big)} end),
    t:c(map, fun() -> {maps:map(fun(_, V) -> {V} end, #{a => 1, b => 2}), maps:filter(fun(_, V) -> V > 1 end, #{a => 1, b => 2}), maps:filtermap(fun(_, 1) -> false; (_, V) -> {true, -V} end, #{a => 1, b => 2})} end),
    t:c(foreach, fun() -> maps:foreach(fun(K, V) -> self() ! {K, V} end, #{a => 1, b => 2}), t:flush() end),
    t:c(with, fun() -> {maps:with([a, zz], M), maps:without([a, b], #{a => 1, b => 2, c => 3})} end),
    t:c(groups, fun() -> maps:groups_from_list(fun(X) -> X rem 3 end, lists:seq(1, 9)) end),
    t:c(update_with, fun() -> {maps:update_with(a, fun(V) -> V + 1 end, #{a => 1}), maps:update_with(b, fun(V) -> V end, 0, #{a => 1})} end),
    t:c(update_with_bad, fun() -> maps:update_with(zz, fun(V) -> V end, #{a => 1}) end),
    t:c(iterator, fun() -> iterate(maps:next(maps:iterator(#{a => 1, b => 2, c => 3}))) end),
    t:c(iterator_big, fun() -> lists:sum([V || {_, V} <- iterate(maps:next(maps:iterator(Big)))]) end),
    t:c(grow_shrink, fun() ->
            Up = lists:foldl(fun(I, A) -> A#{I => I} end, #{}, lists:seq(1, 1000)),
            Down = lists:foldl(fun(I, A) -> maps:remove(I, A) end, Up, lists:seq(6, 1000)),
            {map_size(Up), Down, Down =:= #{1 => 1, 2 => 2, 3 => 3, 4 => 4, 5 => 5}} end),
    t:c(around_32, fun() -> [begin X = maps:from_list([{I, x} || I <- lists:seq(1, N)]), {N, map_size(X), maps:get(N, X), map_size(maps:remove(1, X))} end || N <- [31, 32, 33, 34]] end),
    t:c(float_keys, fun() -> {map_size(#{1 => a, 1.0 => b}), maps:get(1.0, #{1 => a, 1.0 => b}), map_size(#{t:id(0.0) => a, t:id(-0.0) => b})} end),
    t:c(collisions, fun() -> X = maps:from_list([{{I, J}, I} || I <- lists:seq(1, 100), J <- lists:seq(1, 20)]), {map_size(X), maps:get({50, 7}, X), maps:is_key({50, 21}, X)} end),
    t:c(literal, fun() -> #{1 => #{a => [x]}, <<"k">> => 2} end),
    t:c(nested_update, fun() -> X = #{o => #{i => 1}}, X#{o := (maps:get(o, X))#{i := 2, n => 3}} end),
    t:c(duplicate_keys, fun() -> K = t:id(k), #{K => 1, k => 2} end).

both(Name, M, Big, F, Keys) ->
    [t:c(io_lib:format("~w ~0tp", [Name, K]),
         fun() -> {attempt(fun() -> F(M, K) end), attempt(fun() -> F(Big, K) end)} end) || K <- Keys].

attempt(F) -> try F() catch C:R -> {C, R} end.

iterate(none) -> [];
iterate({K, V, I}) -> [{K, V} | iterate(maps:next(I))].
