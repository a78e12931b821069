%% ETS operations of one process: NAME and nanoseconds of processor time for each operation (or row visited), a line each.
%%
%% `erl -noshell +S 1 +sbwt none -pa DIR -run ets_ops main [-extra NAME...]`, on each VM in turn: processor time, since the
%% machine is seldom quiet. The loop around an operation counts as part of it.
-module(ets_ops).
-export([main/0]).
main() ->
    Args = init:get_plain_arguments(),
    All = [insert_small, insert_set, insert_tuple, lookup, lookup_big, member, lookup_element, update_counter, update_counter_op, update_element,
           insert_delete, ord_insert, ord_insert_rand, ord_lookup, ord_next, ord_prev, first_next, sel_key, sel_key_ord, ord_prefix,
           match_object, match_all, select_guard, select_count, foldl, tab2list, bag_insert, dbag_insert, sel_delete, sel_chunk, named_lookup, bin_lookup, insert_list, take, insert_new, ord_counter, tuple_key],
    Todo = case Args of [] -> All; _ -> [list_to_atom(A) || A <- Args] end,
    lists:foreach(fun(W) ->
        {N, F} = prepare(W),
        Self = self(),
        {P, M} = spawn_monitor(fun() ->
            erlang:garbage_collect(), {T0,_} = statistics(runtime), C = many(F, T0, 0), {T1,_} = statistics(runtime),
            Self ! {t, (T1 - T0) * 1000000 / (C * N)} end),
        receive {'DOWN', M, _, P, _} -> ok end,
        receive {t, T} -> io:format("~s ~.1f~n", [W, T]) after 0 -> io:format("~s failed~n", [W]) end
    end, Todo), halt(0).

many(F, T0, C) -> F(), case statistics(runtime) of {T, _} when T - T0 < 150, C < 20 -> many(F, T0, C + 1); _ -> C + 1 end.
fill(Opts, N) -> fill(Opts, N, fun(I) -> {I, I * 2, foo, {a, I}} end).
fill(Opts, N, F) -> T = ets:new(t, [public | Opts]), [ets:insert(T, F(I)) || I <- lists:seq(1, N)], T.
rep(0, _) -> ok;
rep(N, F) -> F(N), rep(N - 1, F).

-define(LOOP(N, X), {N, fun() -> rep(N, fun(I) -> _ = I, X end) end}).
prepare(insert_small) -> T = fill([set], 0), ?LOOP(300000, ets:insert(T, {I rem 10007, I}));
prepare(insert_set) -> T = fill([set], 0), ?LOOP(200000, ets:insert(T, {I, I}));
prepare(insert_tuple) -> T = fill([set], 0), ?LOOP(200000, ets:insert(T, {I rem 10007, {a, I}, [1,2,3], foo}));
prepare(lookup) -> T = fill([set], 10007, fun(I) -> {I, I} end), ?LOOP(500000, ets:lookup(T, I rem 10007));
prepare(lookup_big) -> T = fill([set], 10007, fun(I) -> {I, lists:seq(1, 10), {x, [a, b], "hej"}, #{a => 1}} end), ?LOOP(200000, ets:lookup(T, I rem 10007));
prepare(named_lookup) -> nt = ets:new(nt, [named_table, public]), ets:insert(nt, {a, 1}), ?LOOP(500000, ets:lookup(nt, a));
prepare(bin_lookup) -> T = fill([set], 10007, fun(I) -> {integer_to_binary(I), I} end), B = <<"5000">>, ?LOOP(500000, ets:lookup(T, B));
prepare(tuple_key) -> T = fill([set], 10007, fun(I) -> {{k, I}, I} end), ?LOOP(300000, ets:lookup(T, {k, I rem 10007}));
prepare(member) -> T = fill([set], 10007), ?LOOP(500000, ets:member(T, I rem 10007));
prepare(lookup_element) -> T = fill([set], 10007), ?LOOP(500000, ets:lookup_element(T, 1 + I rem 10000, 2));
prepare(update_counter) -> T = fill([set], 10007, fun(I) -> {I, I} end), ?LOOP(500000, ets:update_counter(T, 1 + I rem 10000, 1));
prepare(ord_counter) -> T = fill([ordered_set], 10007, fun(I) -> {I, I} end), ?LOOP(300000, ets:update_counter(T, 1 + I rem 10000, 1));
prepare(update_counter_op) -> T = fill([set], 10007), ?LOOP(300000, ets:update_counter(T, 1 + I rem 10000, {2, 1}, {0, 0}));
prepare(update_element) -> T = fill([set], 10007), ?LOOP(300000, ets:update_element(T, 1 + I rem 10000, {2, I}));
prepare(insert_delete) -> T = fill([set], 10007), ?LOOP(200000, begin ets:delete(T, I rem 10007), ets:insert(T, {I rem 10007, I}) end);
prepare(insert_new) -> T = fill([set], 1000), ?LOOP(200000, ets:insert_new(T, {I rem 20007, I}));
prepare(take) -> T = fill([set], 0), ?LOOP(200000, begin ets:insert(T, {I, x}), ets:take(T, I) end);
prepare(insert_list) -> T = fill([set], 0), L = [{I, I} || I <- lists:seq(1, 1000)], {200000, fun() -> rep(200, fun(_) -> ets:insert(T, L) end) end};
prepare(ord_insert) -> T = fill([ordered_set], 0), ?LOOP(200000, ets:insert(T, {I, I}));
prepare(ord_insert_rand) -> T = fill([ordered_set], 0), ?LOOP(200000, ets:insert(T, {(I * 7919) rem 100003, I}));
prepare(ord_lookup) -> T = fill([ordered_set], 100000), ?LOOP(300000, ets:lookup(T, (I * 7919) rem 100003));
prepare(ord_next) -> T = fill([ordered_set], 100000), {200000, fun() -> walk(T, ets:first(T)), walk(T, ets:first(T)) end};
prepare(ord_prev) -> T = fill([ordered_set], 100000), {100000, fun() -> walkp(T, ets:last(T)) end};
prepare(first_next) -> T = fill([set], 100000), {200000, fun() -> walk(T, ets:first(T)), walk(T, ets:first(T)) end};
prepare(sel_key) -> T = fill([set], 10007), ?LOOP(100000, ets:select(T, [{{I rem 10007, '$1', '_', '_'}, [], ['$1']}]));
prepare(sel_key_ord) -> T = fill([ordered_set], 10007), ?LOOP(100000, ets:select(T, [{{I rem 10007, '$1', '_', '_'}, [], ['$1']}]));
prepare(ord_prefix) -> T = fill([ordered_set], 10000, fun(I) -> {{I div 10, I rem 10}, I} end), ?LOOP(50000, ets:select(T, [{{{I rem 1000, '_'}, '$1'}, [], ['$1']}]));
prepare(match_object) -> T = fill([set], 100000), {300000, fun() -> rep(3, fun(_) -> [_] = ets:match_object(T, {'_', 5000, '_', '_'}) end) end};
prepare(match_all) -> T = fill([set], 100000), {200000, fun() -> rep(2, fun(_) -> ets:match_object(T, {'_', '_', foo, '_'}) end) end};
prepare(select_guard) -> T = fill([set], 100000), {300000, fun() -> rep(3, fun(_) -> ets:select(T, [{{'$1', '$2', '_', '_'}, [{'>', '$2', 100000}, {'<', '$1', 60000}], [{{'$1', '$2'}}]}]) end) end};
prepare(select_count) -> T = fill([set], 100000), {500000, fun() -> rep(5, fun(_) -> ets:select_count(T, [{{'$1', '$2', '_', '_'}, [{'>', '$2', 100000}], [true]}]) end) end};
prepare(foldl) -> T = fill([set], 100000), {100000, fun() -> ets:foldl(fun(_, A) -> A + 1 end, 0, T) end};
prepare(tab2list) -> T = fill([set], 100000), {200000, fun() -> ets:tab2list(T), ets:tab2list(T) end};
prepare(bag_insert) -> T = fill([bag], 0), ?LOOP(200000, ets:insert(T, {I rem 20011, I}));
prepare(dbag_insert) -> T = fill([duplicate_bag], 0), ?LOOP(200000, ets:insert(T, {I rem 20011, I}));
prepare(sel_delete) -> {100000, fun() -> T = fill([set], 100000), ets:select_delete(T, [{{'$1', '_', '_', '_'}, [{'>', '$1', 50000}], [true]}]) end};
prepare(sel_chunk) -> T = fill([set], 100000), {100000, fun() -> chunks(ets:select(T, [{'$1', [], ['$1']}], 100)) end}.
chunks('$end_of_table') -> ok;
chunks({_, C}) -> chunks(ets:select(C)).
walk(_, '$end_of_table') -> ok;
walk(T, K) -> walk(T, ets:next(T, K)).
walkp(_, '$end_of_table') -> ok;
walkp(T, K) -> walkp(T, ets:prev(T, K)).
