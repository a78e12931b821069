%% How many schedulers run, and who runs where: started by cli/schedulers.sh with two schedulers of each kind.
-module(two_schedulers).
-export([main/0, info/0]).

main() ->
    t:p(at_start, info()),
    blocking(),
    blockers_that_end(),
    online(),
    binding(),
    priorities(),
    reductions(),
    figures().

%% The numbers of active ones follow a little later on OTP.
info() ->
    timer:sleep(100),
    [erlang:system_info(I) || I <- [multi_scheduling, schedulers_online, schedulers_active, schedulers_state,
                                    dirty_cpu_schedulers_online, all_schedulers_state]].

flag(Flag, Value) -> t:c([atom_to_list(Flag), " ", io_lib:format("~0p", [Value])],
                         fun() -> erlang:system_flag(Flag, Value) end).

blockers() ->
    [[P =:= self() || P <- erlang:system_info(I)] || I <- [multi_scheduling_blockers, normal_multi_scheduling_blockers]].

blocking() ->
    Steps = [block, block, block_normal, unblock, unblock, unblock, unblock_normal, unblock_normal, foo, 1, {block, 1}],
    [begin
         flag(multi_scheduling, Step),
         t:p(blockers, blockers()),
         t:p(info, info())
     end || Step <- Steps],
    %% While it is blocked, all run on the first scheduler.
    erlang:system_flag(multi_scheduling, block),
    Self = self(),
    [spawn(fun() -> work(1000), Self ! {ran_on, erlang:system_info(scheduler_id)} end) || _ <- lists:seq(1, 20)],
    t:p(ran_on, lists:usort([receive {ran_on, I} -> I end || _ <- lists:seq(1, 20)])),
    flag(schedulers_online, 1),
    t:p(info, info()),
    flag(schedulers_online, 2),
    t:p(info, info()),
    erlang:system_flag(multi_scheduling, unblock),
    t:p(info, info()).

blockers_that_end() ->
    {_, Ref} = spawn_monitor(fun() -> erlang:system_flag(multi_scheduling, block) end),
    receive {'DOWN', Ref, _, _, Reason} -> t:p(blocker_ended, Reason) end,
    until_enabled(),
    Self = self(),
    P = spawn(fun() ->
        erlang:system_flag(multi_scheduling, block_normal),
        Self ! blocks,
        receive stop -> ok end
    end),
    receive blocks -> ok end,
    t:p(info, info()),
    t:p(others, [[B =:= P || B <- erlang:system_info(I)]
                 || I <- [multi_scheduling_blockers, normal_multi_scheduling_blockers]]),
    flag(multi_scheduling, unblock_normal),
    exit(P, kill),
    until_enabled(),
    t:p(info, info()).

until_enabled() ->
    case erlang:system_info(multi_scheduling) of
        enabled -> ok;
        _ -> timer:sleep(5), until_enabled()
    end.

online() ->
    [begin flag(F, N), t:p(info, info()) end
     || {F, N} <- [{schedulers_online, 1}, {dirty_cpu_schedulers_online, 2}, {dirty_cpu_schedulers_online, 1},
                   {schedulers_online, 2}, {dirty_cpu_schedulers_online, 1}, {dirty_cpu_schedulers_online, 2}]],
    [flag(F, N) || F <- [schedulers_online, dirty_cpu_schedulers_online], N <- [0, 3, -1, a, 1.0, 1 bsl 70]],
    t:p(info, info()).

binding() ->
    Self = self(),
    Where = fun(I) ->
        spawn_opt(fun() ->
            L = [begin work(200), erlang:yield(), erlang:system_info(scheduler_id) end || _ <- lists:seq(1, 50)],
            Self ! {I, lists:usort(L)}
        end, [{scheduler, I}])
    end,
    [Where(I) || I <- [1, 2, 1, 2, 2, 1]],
    t:p(bound, lists:sort([receive {_, _} = M -> M end || _ <- lists:seq(1, 6)])),
    [t:c(["spawn_opt ", io_lib:format("~0p", [I])], fun() -> is_pid(spawn_opt(fun() -> ok end, [{scheduler, I}])) end)
     || I <- [0, 1, 2, 3, 1000, -1, a, 1.0]],
    [t:c(["process_flag ", io_lib:format("~0p", [I])],
         fun() -> Old = process_flag(scheduler, I), {Old, I =:= 0 orelse erlang:system_info(scheduler_id)} end)
     || I <- [1, 2, 1, 2, 0, 3, -1, a]].

priorities() ->
    [t:c(["priority ", io_lib:format("~0p", [V])], fun() -> process_flag(priority, V) end)
     || V <- [max, high, low, normal, x, 32]],
    %% One scheduler, four processes ready before any of them runs: in order of priority, and a low one is not starved.
    erlang:system_flag(schedulers_online, 1),
    Self = self(),
    process_flag(priority, max),
    [spawn_opt(fun() -> Self ! {ran, P} end, [{priority, P}]) || P <- [low, normal, high, max]],
    t:p(order, [receive {ran, P} -> P end || _ <- [1, 2, 3, 4]]),
    Busy = [spawn(fun() -> busy() end) || _ <- [1, 2]],
    Low = spawn_opt(fun() -> Self ! low_ran end, [{priority, low}]),
    process_flag(priority, normal),
    t:p(low, receive low_ran -> ran after 10000 -> starved end),
    [exit(B, kill) || B <- [Low | Busy]],
    erlang:system_flag(schedulers_online, 2).

busy() -> busy().

reductions() ->
    [t:c(["bump_reductions ", io_lib:format("~0p", [V])], fun() -> erlang:bump_reductions(V) end)
     || V <- [0, 1, 4000, 1 bsl 58, (1 bsl 59) - 1, 1 bsl 59, 1 bsl 70, -1, -(1 bsl 70), a, 1.0]],
    t:p(yield, erlang:yield()).

figures() ->
    Normal = fun(L) -> lists:usort([is_integer(N) andalso N >= 0 || N <- L]) end,
    t:p(off, [statistics(scheduler_wall_time), statistics(scheduler_wall_time_all)]),
    t:p(on, erlang:system_flag(scheduler_wall_time, true)),
    t:p(again, erlang:system_flag(scheduler_wall_time, true)),
    work(2000000),
    [begin
         Times = lists:sort(statistics(Which)),
         t:p(Which, {[I || {I, _, _} <- Times],
                     lists:usort([A >= 0 andalso A =< T || {_, A, T} <- Times]),
                     lists:sum([A || {I, A, _} <- Times, I =< 2]) > 0})
     end || Which <- [scheduler_wall_time, scheduler_wall_time_all]],
    [t:c(["scheduler_wall_time ", io_lib:format("~0p", [V])], fun() -> erlang:system_flag(scheduler_wall_time, V) end)
     || V <- [1, foo]],
    [begin V = statistics(I), t:p(I, {length(V), Normal(V)}) end
     || I <- [run_queue_lengths, run_queue_lengths_all, active_tasks, active_tasks_all]],
    [t:p(I, Normal([statistics(I)]))
     || I <- [run_queue, total_run_queue_lengths, total_run_queue_lengths_all, total_active_tasks, total_active_tasks_all]],
    t:p(run_queues, tuple_size(statistics(run_queues))),
    t:p(at_least_the_caller, statistics(total_active_tasks) >= 1),
    {Before, 0} = statistics(context_switches),
    [erlang:yield() || _ <- lists:seq(1, 100)],
    {After, 0} = statistics(context_switches),
    t:p(switched, After >= Before + 100),
    {R1, _} = statistics(exact_reductions),
    work(100000),
    {R2, Since} = statistics(exact_reductions),
    t:p(exact_reductions, {R2 - R1 >= 100000, R2 - R1 =:= Since}).

work(0) -> ok;
work(N) -> work(N - 1).
