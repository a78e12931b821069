%% ETS: each table type with each function, ordering, counters, traversal, ownership, errors.
-module(tables).
-export([main/0]).

main() ->
    [type(T) || T <- [set, ordered_set, bag, duplicate_bag]],
    t:c(new_named, fun() -> N = ets:new(my_table, [named_table]), R = {N, ets:whereis(my_table) =/= undefined, ets:insert(my_table, {a}), ets:tab2list(my_table)}, ets:delete(my_table), {R, ets:whereis(my_table), ets:info(my_table)} end),
    t:c(new_taken, fun() -> ets:new(dup, [named_table]), ets:new(dup, [named_table]) end),
    t:each(new_bad, [[x], [{keypos, 0}], [set, {read_concurrency, 1}], x, [{heir, x}]], fun(O) -> ets:new(t, O) end),
    t:c(info, fun() -> T = ets:new(inf, [ordered_set, public, {keypos, 2}, {read_concurrency, true}]), ets:insert(T, {a, 1}), R = [{I, ets:info(T, I)} || I <- [name, type, size, keypos, protection, named_table, compressed, read_concurrency, write_concurrency, decentralized_counters, heir, owner, node, binary, fixed, safe_fixed, stats]], ets:delete(T), [X || {I, _} = X <- R, I =/= stats, I =/= node] end),
    t:c(info_keys, fun() -> T = ets:new(inf, []), R = lists:sort([K || {K, _} <- ets:info(T)]), ets:delete(T), R end),
    t:c(keypos, fun() -> T = ets:new(k, [{keypos, 2}]), ets:insert(T, [{1, a}, {2, b}]), R = {ets:lookup(T, b), catch ets:insert(T, {x})}, ets:delete(T), R end),
    t:c(number_keys, fun() -> [begin T = ets:new(n, [Ty]), ets:insert(T, [{1, i}, {1.0, f}, {2, x}]), R = {lists:sort(ets:tab2list(T)), ets:lookup(T, 1), ets:lookup(T, 1.0)}, ets:delete(T), R end || Ty <- [set, ordered_set, bag]] end),
    t:c(counter, fun() -> T = ets:new(c, []), ets:insert(T, {k, 1, 2, x}), R = [ets:update_counter(T, k, 5), ets:update_counter(T, k, {3, -1}), ets:update_counter(T, k, [{2, 1}, {3, 1}]), ets:update_counter(T, k, {2, 10, 12, 0}), ets:update_counter(T, k, {2, -10, -5, 7}), ets:update_counter(T, new, 3, {new, 10}), ets:update_counter(T, k, []), catch ets:update_counter(T, k, {4, 1}), catch ets:update_counter(T, zz, 1), ets:tab2list(T)], ets:delete(T), R end),
    t:c(counter_big, fun() -> T = ets:new(c, []), ets:insert(T, {k, (1 bsl 59) - 1}), R = [ets:update_counter(T, k, 1), ets:update_counter(T, k, 1 bsl 70), ets:update_counter(T, k, -(1 bsl 70))], ets:delete(T), R end),
    t:c(update_element, fun() -> T = ets:new(u, []), ets:insert(T, {k, 1, 2}), R = [ets:update_element(T, k, {2, a}), ets:update_element(T, k, [{2, b}, {3, c}]), ets:update_element(T, zz, {2, a}), catch ets:update_element(T, k, {1, a}), catch ets:update_element(T, k, {9, a}), ets:lookup(T, k)], ets:delete(T), R end),
    t:c(ordered_walk, fun() -> T = ets:new(o, [ordered_set]), ets:insert(T, [{K} || K <- [5, 1, 3, a, {}, "s", 2.5]]), R = {walk(ets:first(T), T), ets:last(T), ets:prev(T, 3), ets:next(T, 4), ets:next(T, <<>>), ets:prev(T, 0)}, ets:delete(T), R end),
    t:c(set_walk, fun() -> T = ets:new(s, []), [ets:insert(T, {I}) || I <- lists:seq(1, 100)], R = {lists:sort(walk(ets:first(T), T)) =:= lists:seq(1, 100), catch ets:next(T, nope)}, ets:delete(T), R end),
    t:c(delete_in_fixed, fun() -> T = ets:new(s, []), [ets:insert(T, {I}) || I <- lists:seq(1, 200)], ets:safe_fixtable(T, true), N = deleting(ets:first(T), T, 0), ets:safe_fixtable(T, false), R = {N, ets:info(T, size)}, ets:delete(T), R end),
    t:c(slot, fun() -> T = ets:new(s, [ordered_set]), ets:insert(T, [{a}, {b}]), R = {ets:slot(T, 0), ets:slot(T, 1), ets:slot(T, 2)}, ets:delete(T), R end),
    t:c(large, fun() -> [begin T = ets:new(l, [Ty]), [ets:insert(T, {I, I * I}) || I <- lists:seq(1, 20000)], R = {ets:info(T, size), ets:lookup_element(T, 777, 2), ets:select_delete(T, [{{'$1', '_'}, [{'>', '$1', 100}], [true]}]), ets:info(T, size)}, ets:delete(T), R end || Ty <- [set, ordered_set, bag]] end),
    t:c(protection, fun() -> T = ets:new(p, [private]), U = ets:new(p, [protected]), V = ets:new(p, [public]), R = other(fun() -> [try ets:insert(X, {a}) catch error:E -> E end || X <- [T, U, V]] ++ [try ets:lookup(X, a) catch error:E -> E end || X <- [T, U, V]] end), [ets:delete(X) || X <- [T, U, V]], R end),
    t:c(owner_dies, fun() -> T = other(fun() -> ets:new(o, [public, named_table]) end), {T, ets:info(T)} end),
    t:c(heir, fun() -> S = self(), other(fun() -> X = ets:new(h, [{heir, S, data}]), ets:insert(X, {a, 1}), ok end), receive {'ETS-TRANSFER', X, _, D} -> R = {D, ets:tab2list(X)}, ets:delete(X), R after 500 -> none end end),
    t:c(give_away, fun() -> S = self(), T = ets:new(g, []), P = spawn(fun() -> receive {'ETS-TRANSFER', X, S, D} -> S ! {got, D, ets:info(X, owner) =:= self()} end end), ets:give_away(T, P, gift), receive {got, D, O} -> {D, O} end end),
    t:c(rename, fun() -> ets:new(old_n, [named_table]), R = {ets:rename(old_n, new_n), ets:info(old_n), ets:info(new_n, name)}, ets:delete(new_n), R end),
    t:c(gone, fun() -> T = ets:new(x, []), ets:delete(T), ets:lookup(T, a) end),
    t:c(not_a_table, fun() -> ets:insert(t:id(no_table), {a}) end),
    t:c(insert_bad, fun() -> T = ets:new(x, []), ets:insert(T, t:id([{a}, b])) end),
    t:c(insert_atomic, fun() -> T = ets:new(x, []), catch ets:insert(T, t:id([{a}, b])), ets:tab2list(T) end),
    t:c(all, fun() -> T = ets:new(x, []), R = lists:member(T, ets:all()), ets:delete(T), {R, lists:member(T, ets:all())} end),
    t:c(tabfile, fun() -> D = t:tmp("ets"), T = ets:new(f, [ordered_set]), ets:insert(T, [{I, I} || I <- lists:seq(1, 10)]), F = filename:join(D, "tab"), ok = ets:tab2file(T, F), {ok, U} = ets:file2tab(F), ets:tab2list(U) =:= ets:tab2list(T) end),
    t:c(to_dets, fun() -> T = ets:new(f, [ordered_set]), ets:from_dets(T, x) end),
    t:c(foldl, fun() -> T = ets:new(f, [ordered_set]), ets:insert(T, [{I, I} || I <- lists:seq(1, 10)]), {ets:foldl(fun({K, _}, A) -> [K | A] end, [], T), ets:foldr(fun({K, _}, A) -> [K | A] end, [], T)} end),
    t:c(compressed, fun() -> T = ets:new(z, [compressed]), ets:insert(T, [{I, lists:duplicate(50, I)} || I <- lists:seq(1, 50)]), {length(ets:lookup_element(T, 7, 2)), ets:info(T, compressed)} end),
    t:c(concurrent, fun() -> T = ets:new(c, [public, {write_concurrency, true}]), ets:insert(T, {n, 0}), S = self(), [spawn(fun() -> [ets:update_counter(T, n, 1) || _ <- lists:seq(1, 1000)], S ! done end) || _ <- lists:seq(1, 8)], [receive done -> ok end || _ <- lists:seq(1, 8)], ets:lookup(T, n) end),
    t:c(big_values, fun() -> T = ets:new(b, []), B = binary:copy(<<1>>, 100000), ets:insert(T, {b, B, 1 bsl 500, 1.5, #{a => B}, fun lists:map/2}), [{b, C, _, _, #{a := D}, F}] = ets:lookup(T, b), {C =:= B, D =:= B, F} end).

type(Ty) ->
    N = fun(X) -> io_lib:format("~w ~w", [Ty, X]) end,
    T = ets:new(t, [Ty]),
    Sort = fun(L) -> lists:sort(L) end,
    t:c(N(insert), fun() -> {ets:insert(T, {a, 1}), ets:insert(T, [{b, 2}, {a, 2}, {a, 1}, {c, 3}]), Sort(ets:tab2list(T)), ets:info(T, size)} end),
    t:c(N(insert_new), fun() -> {ets:insert_new(T, {a, 9}), ets:insert_new(T, {d, 9}), ets:insert_new(T, [{e, 1}, {a, 1}]), ets:member(T, e)} end),
    t:c(N(lookup), fun() -> {ets:lookup(T, a), ets:lookup(T, zz), ets:member(T, b), ets:lookup_element(T, b, 2), ets:lookup_element(T, a, 2)} end),
    t:c(N(lookup_element_bad), fun() -> ets:lookup_element(T, zz, 2) end),
    t:c(N(lookup_element_pos), fun() -> ets:lookup_element(T, b, 3) end),
    t:c(N(match), fun() -> {Sort(ets:match(T, {'$1', 2})), Sort(ets:match_object(T, {'_', 2})), Sort(ets:match(T, {a, '$1'})), ets:match(T, '$1') =/= []} end),
    t:c(N(select), fun() -> Sort(ets:select(T, [{{'$1', '$2'}, [{'>', '$2', 1}], [{{'$2', '$1'}}]}])) end),
    t:c(N(select_count), fun() -> ets:select_count(T, [{{'_', '$1'}, [{'<', '$1', 3}], [true]}]) end),
    t:c(N(select_limit), fun() -> {L, C} = ets:select(T, [{'$1', [], ['$1']}], 2), Sort(L ++ rest(C)) end),
    t:c(N(match_limit), fun() -> {L, C} = ets:match_object(T, '_', 1), Sort(L ++ rest_match(C)) end),
    t:c(N(select_replace), fun() -> try ets:select_replace(T, [{{'$1', 9}, [], [{{'$1', 10}}]}]) catch error:E -> E end end),
    t:c(N(select_reverse), fun() -> Sort(ets:select_reverse(T, [{{'$1', '_'}, [], ['$1']}])) end),
    t:c(N(take), fun() -> {Sort(ets:take(T, a)), ets:member(T, a)} end),
    t:c(N(delete_object), fun() -> ets:insert(T, [{x, 1}, {x, 2}, {x, 2}]), {ets:delete_object(T, {x, 2}), ets:lookup(T, x)} end),
    t:c(N(match_delete), fun() -> ets:insert(T, [{y, 1}, {z, 1}]), {ets:match_delete(T, {'_', 1}), Sort(ets:tab2list(T))} end),
    t:c(N(delete), fun() -> {ets:delete(T, b), ets:delete(T, nope), Sort(ets:tab2list(T))} end),
    t:c(N(delete_all), fun() -> {ets:delete_all_objects(T), ets:tab2list(T), ets:first(T), ets:last(T)} end),
    ets:delete(T).

walk('$end_of_table', _) -> [];
walk(K, T) -> [K | walk(ets:next(T, K), T)].
deleting('$end_of_table', _, N) -> N;
deleting(K, T, N) -> ets:delete(T, K), deleting(ets:next(T, K), T, N + 1).
rest('$end_of_table') -> [];
rest(C) -> case ets:select(C) of {L, D} -> L ++ rest(D); X -> rest(X) end.
rest_match('$end_of_table') -> [];
rest_match(C) -> case ets:match_object(C) of {L, D} -> L ++ rest_match(D); X -> rest_match(X) end.
other(F) -> S = self(), {_, M} = spawn_monitor(fun() -> S ! {other, F()} end), R = receive {other, X} -> X end, receive {'DOWN', M, _, _, _} -> R end.
