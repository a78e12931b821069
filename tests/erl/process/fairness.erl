%% Processes that compute get about as many turns, also those that come while all schedulers are busy; asynchronous suspension.
-module(fairness).
-export([main/0]).

loop(N) -> loop(N + 1).

share(Early, Late) ->
    A = [spawn(fun() -> loop(0) end) || _ <- lists:seq(1, Early)],
    timer:sleep(100),
    B = [spawn(fun() -> loop(0) end) || _ <- lists:seq(1, Late)],
    timer:sleep(1500),
    Turns = [begin {reductions, N} = process_info(P, reductions), N end || P <- B],
    [exit(P, kill) || P <- A ++ B],
    lists:min(Turns) / lists:max(Turns).

main() ->
    process_flag(priority, high),
    t:c(fair, fun() -> lists:max([share(K, 9) || K <- [1, 2]]) > 0.25 end),
    t:c(suspending, fun() ->
        P = spawn(fun() -> loop(0) end),
        timer:sleep(10),
        erlang:suspend_process(P, [asynchronous]),
        timer:sleep(100),
        {suspending, S} = process_info(self(), suspending),
        erlang:suspend_process(P),
        {suspending, T} = process_info(self(), suspending),
        erlang:resume_process(P),
        erlang:resume_process(P),
        {suspending, U} = process_info(self(), suspending),
        exit(P, kill),
        {S, T, U}
    end),
    t:c(run_queues, fun() -> erlang:system_info(run_queues) =:= erlang:system_info(schedulers) end),
    t:c(cpu_info, fun() -> erlang:system_info(update_cpu_info) end).
