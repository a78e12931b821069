%% Native tasks are processes to all others. The types `counter` and `private_counter` are those of `examples/embed`.
-module(tasks).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    register(undertaker, self()),
    [counts(Type, Mode) || {Type, Mode} <- [{counter, worker}, {private_counter, private}]],
    {'EXIT', {badarg, _}} = (catch myriad:spawn_task(no_such_type, 1)),
    {'EXIT', {badarg, _}} = (catch myriad_tasks:event(1)),
    {'EXIT', {badarg, _}} = (catch myriad_tasks:start(counter, 1)),
    %% Its beginning fails.
    {Bad, BadRef} = myriad:spawn_task(counter, none, [monitor]),
    receive {'DOWN', BadRef, process, Bad, no_number} -> ok end,
    receive {buried, 0, no_number} -> ok end,
    many(),
    halt(0).

counts(Type, Mode) ->
    P = myriad:spawn_task(Type, 10, [link]),
    {thread, Mode} = process_info(P, thread),
    {initial_call, {myriad, run_task, 2}} = process_info(P, initial_call),
    true = lists:member(P, element(2, process_info(self(), links))),
    11 = gen_server:call(P, next),
    12 = gen_server:call(P, next, 5000),
    7 = gen_server:call(P, {add, -5}),
    error = gen_server:call(P, {add, none}),
    error = gen_server:call(P, strange),
    {Type, <<"counts 7">>} = myriad:task_info(P),
    %% An event comes before the time-out, which comes once.
    7 = gen_server:call(P, {tick, 20}),
    7 = gen_server:call(P, read),
    timer:sleep(60),
    8 = gen_server:call(P, read),
    timer:sleep(60),
    8 = gen_server:call(P, read),
    %% Batch work, and calls meanwhile.
    8 = gen_server:call(P, {sum, 100000}),
    {Type, _} = myriad:task_info(P),
    Sum = 8 + 100000 * 100001 div 2,
    until(fun() -> gen_server:call(P, read) =:= Sum end),
    %% It is traced, suspended and collected as others are.
    1 = erlang:trace(P, true, ['receive']),
    Sum = gen_server:call(P, read),
    receive {trace, P, 'receive', {'$gen_call', _, read}} -> ok end,
    1 = erlang:trace(P, false, [all]),
    true = erlang:suspend_process(P),
    P ! {'$gen_call', {self(), mark}, read},
    receive {mark, _} -> error(early) after 20 -> ok end,
    true = erlang:resume_process(P),
    receive {mark, Sum} -> ok end,
    true = garbage_collect(P),
    %% The end, by itself and by an exit signal.
    Sum = gen_server:call(P, stop),
    receive {'EXIT', P, normal} -> ok end,
    receive {buried, Sum, normal} -> ok end,
    {Q, Ref} = myriad:spawn_task(Type, 3, [monitor]),
    4 = gen_server:call(Q, next),
    exit(Q, enough),
    receive {'DOWN', Ref, process, Q, enough} -> ok end,
    receive {buried, 4, enough} -> ok end,
    {'EXIT', {noproc, _}} = (catch gen_server:call(Q, next)).

%% Many clients of one, and one task each.
many() ->
    P = myriad:spawn_task(counter, 0),
    Clients = [spawn_monitor(fun() -> [gen_server:call(P, next) || _ <- lists:seq(1, 200)], own() end) || _ <- lists:seq(1, 20)],
    [receive {'DOWN', Ref, process, Pid, normal} -> ok end || {Pid, Ref} <- Clients],
    4000 = gen_server:call(P, read),
    4000 = gen_server:call(P, stop),
    [receive {buried, 50, normal} -> ok end || _ <- Clients].

own() ->
    Own = myriad:spawn_task(counter, 0),
    [N = gen_server:call(Own, next) || N <- lists:seq(1, 50)],
    50 = gen_server:call(Own, stop).

until(Holds) -> Holds() orelse begin timer:sleep(1), until(Holds) end.
