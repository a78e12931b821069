%% Counters with a cell for each scheduler: sums, stores, wrapping, wrong arguments, and what they say of themselves.
-module(counters_shared).
-export([main/0]).

main() ->
    [io:format("~p: ~p~n", [Kind, one(Kind)]) || Kind <- [atomics, write_concurrency]],
    ok.

one(Kind) ->
    C = counters:new(10, [Kind]),
    Self = self(),
    Pids = [spawn_monitor(fun() -> [counters:add(C, 1 + I rem 10, I) || I <- lists:seq(1, 1000)], Self ! {N, done} end) || N <- lists:seq(1, 8)],
    [receive {'DOWN', Ref, process, Pid, Why} -> normal = Why end || {Pid, Ref} <- Pids],
    Sums = [counters:get(C, I) || I <- lists:seq(1, 10)],
    ok = counters:put(C, 3, -5),
    ok = counters:sub(C, 3, 1 bsl 40),
    ok = counters:put(C, 4, (1 bsl 63) - 1),
    ok = counters:add(C, 4, 2),
    ok = counters:add(C, 5, -(1 bsl 63)),
    #{size := Size, memory := Memory} = counters:info(C),
    Words = case Kind of atomics -> 1; _ -> erlang:system_info(schedulers) + 1 end,
    Bad = [{F, A, try apply(counters, F, [C | A]) catch K:R -> {K, R} end}
           || {F, A} <- [{get, [0]}, {get, [11]}, {get, [a]}, {add, [1, 1.0]}, {add, [1, 1 bsl 64]}, {add, [11, 1]},
                         {put, [1, 1 bsl 63]}, {put, [1, -(1 bsl 63) - 1]}, {put, [1, x]}, {sub, [0, 1]}]],
    {Sums, [counters:get(C, I) || I <- [3, 4, 5]], Size, Memory > Words * 80, Memory < Words * 17 * 8 + 100, Bad}.
