%% The shares of processes of low priority, and of those that stand behind one of high priority that never waits.
-module(low_priority).
-export([main/0]).

main() ->
    t:each(share, [{100, 100}, {200, 4}, {4, 200}], fun({Normal, Low}) -> tries(3, fun() ->
        {N, L} = counts([{normal, Normal}, {low, Low}], 1200),
        %% An eighth each, however many there are; machines that run tests are busy.
        Ratio = (lists:sum(L) / Low) / (lists:sum(N) / Normal),
        Ratio > 0.02 andalso Ratio < 0.6 andalso lists:min(N) > 0
    end) end),
    t:c(behind_a_high_one, fun() ->
        case erlang:system_info(schedulers_online) of
            1 -> true;
            _ -> tries(3, fun() ->
                High = spawn_opt(fun spin/0, [{priority, high}]),
                {N, _} = counts([{normal, 100}, {low, 0}], 1500),
                exit(High, kill),
                lists:min(N) > 0
            end)
        end
    end).

%% Whether it is true once in so many times.
tries(0, _) -> false;
tries(N, F) -> F() orelse tries(N - 1, F).

spin() -> spin().

%% How many rounds each of so many processes has made after some time.
counts([{_, Normal}, {_, Low}], Ms) ->
    process_flag(priority, max),
    Counters = counters:new(Normal + Low, []),
    Ps = [spawn_opt(fun() -> receive go -> count(Counters, I) end end, [{priority, if I =< Normal -> normal; true -> low end}])
          || I <- lists:seq(1, Normal + Low)],
    [P ! go || P <- Ps],
    timer:sleep(Ms),
    All = [counters:get(Counters, I) || I <- lists:seq(1, Normal + Low)],
    [exit(P, kill) || P <- Ps],
    process_flag(priority, normal),
    lists:split(Normal, All).

count(Counters, I) ->
    counters:add(Counters, I, 1),
    work(1000),
    count(Counters, I).

work(0) -> ok;
work(N) -> work(N - 1).
