%% lists:sort/1, usort/1, keysort/2, ukeysort/2: results, stability, errors; long lists, and what others do meanwhile.
-module(sorting).
-export([main/0]).

main() ->
    t:each("sort", lists_(), fun(L) -> lists:sort(L) end),
    t:each("usort", lists_(), fun(L) -> lists:usort(L) end),
    t:each("keysort 1", tuples(), fun(L) -> lists:keysort(1, L) end),
    t:each("keysort 2", tuples(), fun(L) -> lists:keysort(2, L) end),
    t:each("ukeysort 1", tuples(), fun(L) -> lists:ukeysort(1, L) end),
    t:each("ukeysort 2", tuples(), fun(L) -> lists:ukeysort(2, L) end),
    t:each("keysort by", [0, -1, 3, 1.0, a, 1 bsl 70], fun(N) -> lists:keysort(N, [{b, 2}, {a, 1}]) end),
    t:each("keysort of none by", [0, a, 1], fun(N) -> lists:keysort(N, []) end),
    t:c("by apply", fun() -> apply(lists, sort, [[c, b, a]]) end),
    t:c("by fun", fun() -> lists:map(fun lists:sort/1, [[2, 1], [], [b, a]]) end),
    [t:c(io_lib:format("~w of ~w keys", [Len, Keys]), fun() -> random(Len, Keys) end)
     || Len <- [10, 17, 100, 1000, 20000], Keys <- [1, 3, 50, 1000000]],
    t:c("orders", fun() -> [orders(L) || L <- [lists:seq(1, 5000), lists:seq(5000, 1, -1), saw(5000)]] end),
    t:c("no built-in", fun() -> [erlang:is_builtin(lists, sort, 1), erlang:is_builtin(lists, keysort, 2)] end),
    t:c("deep", fun() -> lists:sort([deep(1000, b), deep(1000, a)]) =:= [deep(1000, a), deep(1000, b)] end),
    t:c("traced", fun traced/0),
    t:c("others run", fun others_run/0).

lists_() ->
    [[], [a], [b, a], [a, b], [1, 1.0], [1.0, 1], [2, 1.0, 1, 2.0], [c, b, a], [a, b, c, b, a], [x, 1, "s", <<"b">>, {}, [], #{}, 1.5],
     [0.0, -0.0, 0], [1 bsl 70, 1.0e30, -1 bsl 70, 1], [{1, b}, {1.0, a}, {1, a}], [[], [[]], [[], []]], not_a_list, [a | b],
     [b, a | c], [b, a, c, d | e], {}, [1, 2, 3, 2 | 1], lists:seq(1, 12) ++ [0], lists:seq(12, 1, -1) ++ [20, 5, 5]].

tuples() ->
    [[], [{b, 1}, {a, 2}], [{a, 2}, {a, 1}], [{1, x}, {1.0, y}, {1, z}], [{1.0, x}, {1, y}], [{a}, {b, c}], [{b, c}, {a}], [x], [x, y],
     [{c, 1}, {b, 2}, x], [{a, 1} | b], [{b, 1}, {a, 1} | c], not_a_list, [{}], [{}, {}], [{b, 2}, {a, 2, extra}, {c, 1}]].

random(Len, Keys) ->
    S = rand:seed_s(exsss, {Len, Keys, 1}),
    {L, _} = lists:mapfoldl(fun(I, S0) -> {K, S1} = rand:uniform_s(Keys, S0), {{of_kind(K), I}, S1} end, S, lists:seq(1, Len)),
    Sorted = [K || {K, _} <- L],
    [erlang:phash2(F, 1 bsl 32) || F <- [lists:sort(L), lists:keysort(1, L), lists:ukeysort(1, L), lists:sort(Sorted), lists:usort(Sorted)]].

%% Keys of several types, some equal in number only.
of_kind(K) when K rem 7 =:= 0 -> float(K);
of_kind(K) when K rem 7 =:= 1 -> K - 1;
of_kind(K) when K rem 7 =:= 2 -> integer_to_binary(K);
of_kind(K) when K rem 7 =:= 3 -> {k, K};
of_kind(K) -> K.

orders(L) -> erlang:phash2({lists:sort(L), lists:usort(L ++ L)}).

saw(N) -> [X rem 100 || X <- lists:seq(1, N)].

deep(0, X) -> X;
deep(N, X) -> [deep(N - 1, X)].

traced() ->
    Self = self(),
    Tracer = spawn_link(fun() -> receive M -> Self ! {traced, M} end end),
    erlang:trace_pattern({lists, sort, 1}, true, [global]),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    Sorted = lists:sort([2, 1]),
    erlang:trace(self(), false, [call]),
    erlang:trace_pattern({lists, sort, 1}, false, [global]),
    receive {traced, {trace, Self, call, Call}} -> {Sorted, Call} after 5000 -> {Sorted, no_call} end.

others_run() ->
    L = [erlang:phash2(X) || X <- lists:seq(1, 300000)],
    {Pid, Ref} = spawn_monitor(fun() -> true = is_list(lists:sort(L)) end),
    N = count(Pid, 0),
    receive {'DOWN', Ref, _, _, R} -> {R, N > 2} end.

%% How often this process ran while that one sorted.
count(Pid, N) ->
    case is_process_alive(Pid) of
        true -> erlang:yield(), count(Pid, N + 1);
        false -> N
    end.
