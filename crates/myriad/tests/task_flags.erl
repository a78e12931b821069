%% Priorities and flags of task types (Hedqvist 1998, 5.2.3): the types are those of `tasks.rs` beside this file.
-module(task_flags).
-export([main/0, moving/0, without_threads/0]).

main() ->
    priorities(),
    threads(),
    limits(),
    halt(0).

%% A task begins with its type's priority, whatever its starter has and asks for, and changes it to any other.
priorities() ->
    Begins = [{plain, normal}, {level_0, 0}, {level_10, 10}, {level_31, 31}],
    [begin
         {priority, Priority} = process_info(P, priority),
         exit(P, kill)
     end || Own <- [high, normal], {Type, Priority} <- Begins, Options <- [[], [{priority, low}]],
            begin process_flag(priority, Own), P = myriad:spawn_task(Type, [], Options), true end],
    Names = #{5 => max, 15 => high, 20 => normal, 30 => low},
    P = myriad:spawn_task(plain, []),
    [begin
         ok = gen_server:call(P, {priority, Level}),
         {priority, Now} = process_info(P, priority),
         Now = maps:get(Level, Names, Level)
     end || Level <- lists:seq(0, 31) ++ lists:seq(31, 0, -1)],
    error = gen_server:call(P, {priority, 32}).

%% Threads that types begin with, and may leave or not.
threads() ->
    [begin
         P = myriad:spawn_task(Type, []),
         {thread, Begins} = process_info(P, thread),
         Left = gen_server:call(P, {thread, worker}),
         Then = thread_of(P),
         ok = gen_server:call(P, {thread, private}),
         private = thread_of(P),
         exit(P, kill)
     end || {Type, Begins, Left, Then} <- [{plain, worker, ok, worker}, {start_thread, private, ok, worker},
                                           {cannot_schedule, private, refused, private}]],
    %% Its own program, started as any other: it has its thread before it is made.
    P = spawn(myriad, run_task, [cannot_schedule, []]),
    ok = gen_server:call(P, {priority, 20}),
    private = thread_of(P),
    exit(P, kill),
    %% While multi-scheduling is blocked it is called all the same, and has its thread afterwards.
    Q = myriad:spawn_task(cannot_schedule, []),
    blocked = erlang:system_flag(multi_scheduling, block),
    ok = gen_server:call(Q, {priority, 15}),
    enabled = erlang:system_flag(multi_scheduling, unblock),
    ok = gen_server:call(Q, {priority, 20}),
    private = thread_of(Q),
    exit(Q, kill),
    {'EXIT', {badarg, _}} = (catch myriad_tasks:place(cannot_schedule)).

thread_of(P) -> element(2, process_info(P, thread)).

%% What a type does not let a task do changes nothing; to keep a priority is neither.
limits() ->
    [begin
         P = myriad:spawn_task(Type, []),
         ok = gen_server:call(P, {priority, 20}),
         Lowered = gen_server:call(P, {priority, 21}),
         {priority, AfterLowering} = process_info(P, priority),
         ok = gen_server:call(P, {priority, level(AfterLowering)}),
         Raised = gen_server:call(P, {priority, 19}),
         {priority, AfterRaising} = process_info(P, priority),
         exit(P, kill)
     end || {Type, Lowered, AfterLowering, Raised, AfterRaising} <-
                [{plain, ok, 21, ok, 19}, {cannot_lower, refused, normal, ok, 19}, {cannot_raise, ok, 21, refused, 21}]].

level(normal) -> 20;
level(Level) -> Level.

%% All processes move to private threads and back as a seed draws.
moving() ->
    P = myriad:spawn_task(cannot_schedule, []),
    Other = myriad:spawn_task(plain, []),
    Seen = [begin
                ok = gen_server:call(P, {priority, 20}),
                ok = gen_server:call(Other, {priority, 20}),
                {thread_of(P), thread_of(Other)}
            end || _ <- lists:seq(1, 500)],
    {Places, OtherPlaces} = lists:unzip(Seen),
    [private] = lists:usort(Places),
    [private, worker] = lists:usort(OtherPlaces),
    %% At its very beginning, too.
    [begin
         Q = spawn(myriad, run_task, [cannot_schedule, []]),
         ok = gen_server:call(Q, {priority, 20}),
         private = thread_of(Q),
         exit(Q, kill)
     end || _ <- lists:seq(1, 50)],
    halt(0).

without_threads() ->
    {'EXIT', {notsup, _}} = (catch myriad:spawn_task(cannot_schedule, [])),
    {P, Ref} = spawn_monitor(myriad, run_task, [cannot_schedule, []]),
    receive {'DOWN', Ref, process, P, {notsup, _}} -> ok end,
    Q = myriad:spawn_task(start_thread, []),
    worker = thread_of(Q),
    refused = gen_server:call(Q, {thread, private}),
    ok = gen_server:call(Q, {thread, worker}),
    worker = thread_of(Q),
    halt(0).
