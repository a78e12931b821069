-module(large_state).
-export([main/0]).

% Processes with some megabytes of state, of which parts are replaced, while others refer to parts of it and binaries in it die.

main() ->
    t:c(map, fun() -> in_process(fun() -> churn(150000, 200000) end) end),
    t:c(collected, fun() -> in_process(fun() -> S = filled(100000), S1 = update(S, 100000, 50000), erlang:garbage_collect(), S2 = update(S1, 100000, 50000), check(S2) end) end),
    t:c(binaries, fun() -> in_process(fun binaries/0) end),
    t:c(deep, fun() -> in_process(fun deep/0) end),
    t:c(ends, fun() -> [ended(N) || N <- lists:seq(1, 8)] end),
    t:c(hibernated, fun hibernated/0).

in_process(F) ->
    {P, M} = spawn_monitor(fun() -> exit({result, F()}) end),
    receive {'DOWN', M, process, P, R} -> R end.

filled(N) -> maps:from_list([{I, {I, I, [I]}} || I <- lists:seq(1, N)]).

% Replaces values, in an order that looks random and is the same each time.
update(S, _, 0) -> S;
update(S, N, R) ->
    K = R * 7919 rem N + 1,
    update(S#{K := {K, R, [K]}}, N, R - 1).

check(S) -> {maps:size(S), maps:fold(fun(K, {K, _, [K]}, A) -> A + 1 end, 0, S), erlang:phash2(lists:sort(maps:to_list(S)))}.

churn(N, R) -> check(update(filled(N), N, R)).

% Binaries of 100 bytes that only the state refers to: those that are replaced go, all in time.
binaries() ->
    N = 50000,
    S = maps:from_list([{I, binary:copy(<<I:32>>, 25)} || I <- lists:seq(1, N)]),
    S1 = lists:foldl(fun(R, A) -> A#{R * 7919 rem N + 1 := binary:copy(<<R:32>>, 25)} end, S, lists:seq(1, 200000)),
    Sum = maps:fold(fun(_, <<X:32, X:32, _/binary>>, A) -> (A + X) rem 1000003 end, 0, S1),
    erlang:garbage_collect(),
    {binary, Bs} = process_info(self(), binary),
    {Sum, maps:size(S1), length(Bs) =:= N}.

% Lists in heads of lists, and tuples that refer to each other.
deep() ->
    L = lists:foldl(fun(I, A) -> [[A, I], {A, I}] end, [], lists:seq(1, 200000)),
    W = list_to_tuple(lists:duplicate(100000, L)),
    S = update(filled(100000), 100000, 100000),
    {depth(L, 0), element(1, W) =:= element(100000, W), check(S)}.

depth([], N) -> N;
depth([[A, _], {A, _}], N) -> depth(A, N + 1).

% A process ends while its state may be looked at.
ended(N) ->
    in_process(fun() -> S = update(filled(40000), 40000, 10000 * N), maps:size(S) end).

hibernated() ->
    Self = self(),
    P = spawn(fun() -> S = update(filled(80000), 80000, 80000), proc_lib:hibernate(erlang, apply, [fun() -> receive go -> Self ! {self(), check(S)} end end, []]) end),
    P ! go,
    receive {P, R} -> R end.
