%% Processes that have threads of their own, and move to them and back, do what other processes do. For a VM with eight private threads.
-module(private_threads).
-export([main/1, stay/0]).

-define(LIMIT, 8).

%% Slices are `whole`, or of `drawn` lengths.
main(Slices) ->
    persistent_term:put(slices, Slices),
    Tests = [fun modes/0, fun limit/0, fun order/0, fun ends/0, fun suspended/0, fun purged/0, fun unique/0, fun blocked/0, fun traced/0,
             fun timers/0, fun dirty/0, fun stopped_world/0, fun ring/0],
    [begin
         {P, Ref} = spawn_monitor(Test),
         receive {'DOWN', Ref, process, P, normal} -> ok; {'DOWN', Ref, process, P, Reason} -> error(Reason) end,
         [] = [Q || Q <- processes(), process_info(Q, thread) =:= {thread, private}]
     end || Test <- Tests],
    halt(0).

%% The flag and the option, and what is wrong with them.
modes() ->
    S = self(),
    [{thread, worker} = process_info(S, thread) || _ <- [1, 2]],
    worker = process_flag(thread, private),
    private = process_flag(thread, private),
    {thread, private} = process_info(S, thread),
    Scheduler = erlang:system_info(scheduler_id),
    true = Scheduler =< erlang:system_info(schedulers),
    private = process_flag(thread, worker),
    worker = process_flag(thread, worker),
    [{'EXIT', {badarg, _}} = (catch process_flag(thread, Bad)) || Bad <- [own, 1, [], true]],
    [{'EXIT', {badarg, _}} = (catch spawn_opt(fun() -> ok end, [{thread, Bad}])) || Bad <- [own, 1, []]],
    P = start(fun stay/0),
    {thread, private} = process_info(P, thread),
    wait(fun() -> [{status, waiting}, {priority, normal}] =:= process_info(P, [status, priority]) end),
    stop(P),
    {Q, Ref} = spawn_opt(?MODULE, stay, [], [{thread, worker}, monitor]),
    {thread, worker} = process_info(Q, thread),
    Q ! stop,
    receive {'DOWN', Ref, process, Q, normal} -> ok end,
    Request = spawn_request(fun() -> exit(process_info(self(), thread)) end, [{thread, private}, monitor]),
    receive {spawn_reply, Request, ok, _} -> ok end,
    receive {'DOWN', Request, process, _, {thread, private}} -> ok end,
    BadRequest = spawn_request(fun() -> ok end, [{thread, own}]),
    receive {spawn_reply, BadRequest, error, badopt} -> ok end.

%% There are no more private threads than may be, and threads that were given back serve again.
limit() ->
    [begin
         All = [start(fun stay/0) || _ <- lists:seq(1, ?LIMIT)],
         {'EXIT', {system_limit, _}} = (catch spawn_opt(fun stay/0, [{thread, private}])),
         {'EXIT', {system_limit, _}} = (catch process_flag(thread, private)),
         Request = spawn_request(fun stay/0, [{thread, private}]),
         receive {spawn_reply, Request, error, system_limit} -> ok end,
         ok = call(hd(All), fun() -> private = process_flag(thread, worker), ok end),
         Next = start(fun stay/0),
         {'EXIT', {system_limit, _}} = (catch process_flag(thread, private)),
         lists:foreach(fun stop/1, [Next | All])
     end || _ <- lists:seq(1, 5)].

%% Messages of each sender come in order, to one that moves, from some that do.
order() ->
    S = self(),
    Receiver = start(fun() -> receive_all(4, #{}), S ! received end),
    [spawn_link(fun() -> send_all(Receiver, Id, 1) end) || Id <- lists:seq(1, 4)],
    receive received -> ok end,
    ended(Receiver).

send_all(To, Id, N) when N > 5000 -> To ! {Id, done};
send_all(To, Id, N) ->
    N rem 500 =:= Id andalso move(),
    To ! {Id, N},
    N rem 100 =:= 0 andalso erlang:yield(),
    send_all(To, Id, N + 1).

receive_all(0, _) -> ok;
receive_all(Senders, Last) ->
    receive
        {_, done} -> receive_all(Senders - 1, Last);
        {Id, N} ->
            Before = maps:get(Id, Last, 0),
            N = Before + 1,
            N rem 700 =:= 0 andalso move(),
            receive_all(Senders, Last#{Id => N})
    end.

%% Links and monitors tell of ends, of whatever kind and wherever; each is told of once.
ends() ->
    process_flag(trap_exit, true),
    Spin = fun Spin() -> Spin() end,
    Flip = fun Flip() -> move(), Flip() end,
    [begin
         {P, Ref} = spawn_opt(Code, [{thread, private}, link, monitor]),
         erlang:yield(),
         How =:= self orelse exit(P, How),
         Reason = receive {'EXIT', P, R} -> R end,
         receive {'DOWN', Ref, process, P, Reason} -> ok end,
         Reason = if How =:= kill -> killed; How =:= self -> mine; true -> How end
     end || _ <- lists:seq(1, 20), {Code, How} <- [{fun stay/0, kill}, {fun stay/0, why}, {Spin, kill}, {Spin, why}, {Flip, kill},
                                                  {fun() -> exit(mine) end, self}, {fun() -> move(), exit(mine) end, self}]],
    receive Other -> error(Other) after 0 -> ok end.

suspended() ->
    Counter = counters:new(1, []),
    P = start(fun() -> count(Counter) end),
    wait(fun() -> counters:get(Counter, 1) > 0 end),
    [begin
         true = erlang:suspend_process(P),
         N = counters:get(Counter, 1),
         {status, suspended} = process_info(P, status),
         timer:sleep(10),
         N = counters:get(Counter, 1),
         true = erlang:resume_process(P),
         wait(fun() -> counters:get(Counter, 1) > N end)
     end || _ <- lists:seq(1, 10)],
    exit(P, kill),
    ended(P).

count(Counter) -> counters:add(Counter, 1, 1), count(Counter).

%% Code that a private process runs is old; a purge ends the process.
purged() ->
    {ok, old_code, Code} = compile:forms([{attribute, 1, module, old_code}, {attribute, 2, export, [{stay, 0}]},
        {function, 3, stay, 0, [{clause, 3, [], [], [{'receive', 3, [{clause, 3, [{atom, 3, go}], [], [{call, 3, {atom, 3, stay}, []}]}]}]}]}]),
    Load = fun() -> {module, old_code} = code:load_binary(old_code, "old_code", Code) end,
    Load(),
    P = start(fun() -> old_code:stay() end),
    Q = start(fun stay/0),
    wait(fun() -> process_info(P, current_function) =:= {current_function, {old_code, stay, 0}} end),
    Load(),
    true = erlang:check_process_code(P, old_code),
    false = erlang:check_process_code(Q, old_code),
    true = code:purge(old_code),
    ended(P),
    stop(Q),
    code:delete(old_code), code:purge(old_code).

%% References and unique integers that private threads make at the same time are different.
unique() ->
    Make = fun(N) -> [{make_ref(), erlang:unique_integer()} || _ <- lists:seq(1, N)] end,
    Pids = [start(fun stay/0) || _ <- lists:seq(1, 4)],
    All = lists:append([Make(3000) | [call(P, fun() -> Make(3000) end) || P <- Pids]]),
    {Refs, Integers} = lists:unzip(All),
    15000 = length(lists:usort(Refs)),
    15000 = length(lists:usort(Integers)),
    lists:foreach(fun stop/1, Pids).

%% While multi-scheduling is blocked nothing else runs, but who blocks it may wait for a process with a private thread.
blocked() ->
    Counter = counters:new(1, []),
    Busy = [start(fun() -> count(Counter) end) || _ <- [1, 2]],
    P = start(fun stay/0),
    [begin
         blocked = erlang:system_flag(multi_scheduling, block),
         stands_still(Counter),
         pong = call(P, fun() -> pong end),
         enabled = erlang:system_flag(multi_scheduling, unblock),
         N = counters:get(Counter, 1),
         wait(fun() -> counters:get(Counter, 1) > N end),
         pong = call(P, fun() -> pong end)
     end || _ <- lists:seq(1, 10)],
    %% A process with a private thread blocks, too, and has it still afterwards.
    private = call(P, fun() ->
        blocked = erlang:system_flag(multi_scheduling, block),
        stands_still(Counter),
        enabled = erlang:system_flag(multi_scheduling, unblock),
        process_flag(thread, private)
    end),
    2 = call(P, fun() -> erlang:system_flag(schedulers_online, 1) end),
    1 = call(P, fun() -> erlang:system_flag(schedulers_online, 2) end),
    [exit(B, kill) || B <- Busy],
    lists:foreach(fun ended/1, Busy),
    stop(P).

%% In one slice: the others run in turn with this process.
stands_still(Counter) ->
    erlang:yield(),
    N = counters:get(Counter, 1),
    [N = counters:get(Counter, 1) || persistent_term:get(slices) =:= whole, _ <- lists:seq(1, 500)],
    ok.

traced() ->
    P = start(fun stay/0),
    1 = erlang:trace(P, true, ['receive', send, running]),
    pong = call(P, fun() -> pong end),
    1 = erlang:trace(P, false, [all]),
    S = self(),
    receive {trace, P, in, _} -> ok end,
    receive {trace, P, 'receive', {call, S, _, _}} -> ok end,
    receive {trace, P, send, {answer, _, pong}, S} -> ok end,
    receive {trace, P, out, _} -> ok end,
    stop(P),
    flush().

timers() ->
    P = start(fun stay/0),
    S = self(),
    late = call(P, fun() -> receive never -> ok after 20 -> late end end),
    call(P, fun() -> erlang:send_after(10, S, {later, 1}), erlang:start_timer(10, self(), stay), ok end),
    receive {later, 1} -> ok end,
    P ! {after_timer, S},
    pong = call(P, fun() -> pong end),
    stop(P).

%% Calls on dirty schedulers, and collections of large heaps there.
dirty() ->
    P = start(fun stay/0),
    File = code:which(lists),
    {ok, Binary} = call(P, fun() -> file:read_file(File) end),
    {ok, Binary} = file:read_file(File),
    500000 = call(P, fun() -> L = lists:seq(1, 500000), garbage_collect(), length(L) end),
    true = garbage_collect(P),
    stop(P).

%% The world is stopped by a private thread, and by a scheduler while others run on private threads.
stopped_world() ->
    Counter = counters:new(1, []),
    Busy = [start(fun() -> count(Counter) end) || _ <- [1, 2]],
    P = start(fun stay/0),
    F = fun() -> Counter end,
    [begin
         {refc, N} = erlang:fun_info(F, refc),
         true = N > 0,
         {refc, M} = call(P, fun() -> erlang:fun_info(F, refc) end),
         true = M > 0
     end || _ <- lists:seq(1, 5)],
    [exit(B, kill) || B <- Busy],
    lists:foreach(fun ended/1, Busy),
    stop(P).

%% A message goes round, while all who pass it on move.
ring() ->
    S = self(),
    First = lists:foldl(fun(_, Next) -> spawn_link(fun() -> pass(Next) end) end, S, lists:seq(1, 20)),
    [begin First ! N, receive N -> ok end end || N <- lists:seq(1, 300)],
    First ! stop,
    receive stop -> ok end.

pass(Next) ->
    receive
        stop -> Next ! stop;
        N -> N rem 7 =:= erlang:phash2(self(), 7) andalso move(), Next ! N, pass(Next)
    end.

%% To a private thread if there is one left, or back.
move() ->
    case process_info(self(), thread) of
        {thread, worker} -> catch process_flag(thread, private);
        {thread, private} -> process_flag(thread, worker)
    end.

start(Code) -> spawn_opt(Code, [{thread, private}]).

stay() ->
    receive
        stop -> ok;
        {call, From, Ref, Code} -> From ! {answer, Ref, Code()}, stay();
        _ -> stay()
    end.

call(P, Code) ->
    Ref = monitor(process, P),
    P ! {call, self(), Ref, Code},
    receive
        {answer, Ref, Value} -> demonitor(Ref, [flush]), Value;
        {'DOWN', Ref, process, P, Reason} -> error(Reason)
    end.

stop(P) -> P ! stop, ended(P).

ended(P) ->
    Ref = monitor(process, P),
    receive {'DOWN', Ref, process, P, _} -> ok end.

wait(Holds) -> Holds() orelse begin timer:sleep(1), wait(Holds) end.

flush() -> receive _ -> flush() after 0 -> ok end.
