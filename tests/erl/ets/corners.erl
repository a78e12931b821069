%% Corners of ETS that OTP's own suite looks into: order in bags, hidden objects, continuations by identity, heirs, long lists.
-module(corners).
-export([main/0]).

main() ->
    O = ets:new(o, [ordered_set]),
    ets:insert(O, [{a, 1}, {1, 2}, {<<"b">>, 3}]),
    t:each(no_key, [next, prev], fun(F) -> ets:F(O, '$end_of_table') end),
    t:each(beside, ['$aa', 0.5, 1.0, z], fun(K) -> {ets:next(O, K), ets:prev(O, K)} end),
    t:c(walk, fun walk/0),
    T = ets:new(t, []),
    t:each(keeps_key, [{'$_', '$_'}, {'$$', '$$'}, {'$1', '$1'}, {'$1', {const, '$1'}}, {{1}, {const, {1}}}],
           fun({A, B}) -> ets:select_replace(T, [{{A, '$2', '$3'}, [], [{{B, '$3', '$2'}}]}]) end),
    t:each(whole, [{{k, 1}, 3}, {{k, 1}}, {{k, 2}, 3}],
           fun(New) -> ets:insert(T, {{k, 1}, 2}), {ets:select_replace(T, [{{{k, 1}, 2}, [], [{const, New}]}]), ets:tab2list(T), ets:delete_all_objects(T)} end),
    B = ets:new(b, [bag]),
    ets:safe_fixtable(B, true),
    t:c(revived, fun() -> [ets:insert(B, {k, V}) || V <- [1, 2, 3]], ets:delete_object(B, {k, 1}), ets:insert(B, {k, 1}), {ets:lookup(B, k), ets:info(B, size)} end),
    t:c(hidden_binary, fun() -> X = binary:copy(<<1>>, 100), S = ets:new(s, []), ets:insert(S, {x, X}), ets:safe_fixtable(S, true), ets:delete(S, x), R = [Size || {_, Size, _} <- ets:info(S, binary)], {R, size(X)} end),
    t:c(recreated, fun() -> named(), {_, C} = more(), ets:delete(named), named(), ets:select(C) end),
    t:c(renamed, fun() -> ets:delete(named), named(), {[X], C} = more(), ets:rename(named, other), {L, _} = ets:select(C), lists:sort([X | L]) end),
    t:c(heir, fun heir/0),
    t:c(long_list, fun() -> L = [{N, N} || N <- lists:seq(1, 20000)], {ets:insert(T, L), ets:insert_new(T, L), try ets:insert(T, L ++ [x]) catch error:R -> R end} end),
    t:c(long_list_after, fun() -> ets:info(T, size) end),
    t:each(private, [true, auto], fun(C) -> P = ets:new(p, [private, {write_concurrency, C}]), {ets:info(P, write_concurrency), ets:info(P, decentralized_counters)} end),
    t:each(in_place, [{1, 2}, {1, "text"}, {1.0, x}, {1, 5}], fun(X) -> {ets:insert(O, X), ets:lookup(O, 1), ets:first(O)} end).

named() -> ets:new(named, [named_table]), ets:insert(named, [{1, 2}, {2, 2}]).
more() -> ets:select(named, [{{'$1', 2}, [], ['$1']}], 1).

%% Steps through an ordered set while others come and go before and behind them.
walk() ->
    T = ets:new(w, [ordered_set]),
    [ets:insert(T, {N * 10}) || N <- lists:seq(1, 300)],
    Up = walk(T, ets:first(T)),
    Down = down(T, ets:last(T)),
    {length(Up), lists:sum(Up), length(Down), hd(Down), ets:info(T, size)}.
walk(_, '$end_of_table') -> [];
walk(T, K) when K rem 100 =:= 0 -> ets:insert(T, {K + 5}), ets:delete(T, K + 10), ets:delete(T, K - 10), [K | walk(T, ets:next(T, K))];
walk(T, K) -> [K | walk(T, ets:next(T, K))].
down(_, '$end_of_table') -> [];
down(T, K) -> [K | down(T, ets:prev(T, K))].

heir() ->
    S = self(),
    P = spawn(fun() -> S ! {table, ets:new(h, [{heir, S, "gift"}])} end),
    receive {table, H} -> receive {'ETS-TRANSFER', H, P, Gift} -> {Gift, ets:info(H, heir) =:= S, ets:info(H, owner) =:= S} end end.
