%% What a scheduler owes on a real machine, for `cargo xtask bench scheduling`: one figure of one VM, as a line `value N...`.
%%
%% Started as `erl -noshell -run scheduling main WHAT ARGUMENTS...`. Times are in microseconds.
-module(scheduling).
-export([main/1]).

%% `jobs N MODULE ARGUMENTS...`: N runs of a program of `examples/` at once, until the last of them is through.
main(["jobs", Count, Module | Args]) ->
    Job = fun() -> (list_to_atom(Module)):main(Args) end,
    value([wall(fun() -> at_once(list_to_integer(Count), Job) end)]);

%% `ticker BUSY TICKS`: a process that wakes each millisecond beside so many that always compute. How late half of the ticks are at most,
%% and 99 of 100. All timers are set before, so a late tick does not put off the next one, and one turn takes all ticks that have come.
main(["ticker", Busy, Ticks]) ->
    [spawn(fun() -> compute(shuffled()) end) || _ <- lists:seq(1, list_to_integer(Busy))],
    timer:sleep(200),
    First = erlang:monotonic_time(millisecond) + 50,
    Due = lists:seq(First, First + list_to_integer(Ticks) - 1),
    [erlang:send_after(Time, self(), {tick, Time}, [{abs, true}]) || Time <- Due],
    Late = [receive {tick, Time} -> erlang:monotonic_time(microsecond) - 1000 * Time end || Time <- Due],
    value(percentiles([0.5, 0.99], Late));

%% `burst BURSTS PROCESSES`: the other schedulers sleep, and a process makes so many others runnable one after the other. The time from before the first
%% until a scheduler other than its own has run one of them: how long it is at most in half, nine in ten and 99 in 100 of the bursts, and
%% the share of bursts in percent in which it is at most 100 us. Where no other has run one, the time of the whole burst counts.
main(["burst", Bursts, Processes]) ->
    First = atomics:new(erlang:system_info(schedulers), []),
    Left = atomics:new(1, []),
    Parent = self(),
    Pids = [spawn_link(fun() -> woken(First, Left, Parent) end) || _ <- lists:seq(1, list_to_integer(Processes))],
    Times = [burst(First, Left, Pids) || _ <- lists:seq(1, list_to_integer(Bursts))],
    value(percentiles([0.5, 0.9, 0.99], Times) ++ [100 * length([T || T <- Times, T =< 100]) / length(Times)]);

%% `together ROUNDS TASKS MICROSECONDS`: after a lull with little to do so many processes, of which each would compute for so long alone, begin together. The time
%% until all are through over that which they would take one after the other: the median of the rounds.
main(["together", Rounds, Tasks, Microseconds]) ->
    [Times, Count, Alone] = [list_to_integer(Word) || Word <- [Rounds, Tasks, Microseconds]],
    Steps = lists:max([Alone * 100000 div wall(fun() -> count(100000) end) || _ <- lists:seq(1, 20)]),
    Took = [begin lull(10), wall(fun() -> at_once(Count, fun() -> count(Steps) end) end) end || _ <- lists:seq(1, Times)],
    value(percentiles([0.5], [Time / (Count * Alone) || Time <- Took]));

%% `idle SECONDS`: the processor time that all threads of a node that waits take, in percent of a core.
main(["idle", Seconds]) ->
    timer:sleep(2000),
    Before = processor_time(),
    Took = wall(fun() -> timer:sleep(1000 * list_to_integer(Seconds)) end),
    value([(processor_time() - Before) / 10 / Took]);

%% `profile SWITCH ROUNDS MODULE ARGUMENTS...`: in each round a program without, twice with and again without the lock profile, so that what
%% comes later has no share in the difference. The processor time that the profile adds, in percent: the median of the rounds. Where SWITCH
%% is `off` instead of `on`, it is never on: what is found then is noise. Only Myriad has it.
main(["profile", With, Rounds, Module | Args]) ->
    On = list_to_existing_atom(With),
    Run = fun(Switch) ->
        ok = myriad:locks(Switch),
        Before = processor_time(),
        at_once(1, fun() -> (list_to_atom(Module)):main(Args) end),
        processor_time() - Before
    end,
    Run(off),
    Added = [begin
        [First, Second, Third, Last] = [Run(Switch) || Switch <- [off, On, On, off]],
        100 * (Second + Third - First - Last) / (First + Last)
    end || _ <- lists:seq(1, list_to_integer(Rounds))],
    value(percentiles([0.5], Added)).

value(Numbers) ->
    io:format("value~s~n", [[[$\s, number(N)] || N <- Numbers]]),
    halt(0).

number(N) when is_integer(N) -> integer_to_list(N);
number(N) -> float_to_list(N, [{decimals, 3}]).

%% Of each part of the numbers the largest.
percentiles(Parts, Numbers) ->
    Sorted = lists:sort(Numbers),
    [lists:nth(max(1, ceil(Part * length(Sorted))), Sorted) || Part <- Parts].

at_once(Count, Job) ->
    Jobs = [spawn_monitor(Job) || _ <- lists:seq(1, Count)],
    [receive {'DOWN', Ref, process, Pid, Reason} -> normal = Reason end || {Pid, Ref} <- Jobs].

wall(Fun) ->
    Start = erlang:monotonic_time(microsecond),
    Fun(),
    erlang:monotonic_time(microsecond) - Start.

shuffled() -> [erlang:phash2(N) || N <- lists:seq(1, 1000)].

compute(List) ->
    _ = lists:sort(List),
    compute(List).

count(0) -> ok;
count(N) -> count(N - 1).

%% A request now and then.
lull(0) -> ok;
lull(N) ->
    at_once(1, fun() -> count(100) end),
    timer:sleep(5),
    lull(N - 1).

burst(First, Left, Pids) ->
    timer:sleep(20),
    [atomics:put(First, Id, 0) || Id <- lists:seq(1, erlang:system_info(schedulers))],
    atomics:put(Left, 1, length(Pids)),
    Own = erlang:system_info(scheduler_id),
    Start = erlang:monotonic_time(microsecond),
    [Pid ! run || Pid <- Pids],
    receive burst_is_through -> ok end,
    End = erlang:monotonic_time(microsecond),
    Ran = [atomics:get(First, Id) || Id <- lists:seq(1, erlang:system_info(schedulers)), Id =/= Own],
    lists:min([End | [Time || Time <- Ran, Time =/= 0]]) - Start.

%% Notes when its scheduler has run the first process of a burst.
woken(First, Left, Parent) ->
    receive run -> ok end,
    Id = erlang:system_info(scheduler_id),
    case atomics:get(First, Id) of
        0 -> atomics:compare_exchange(First, Id, 0, erlang:monotonic_time(microsecond));
        _ -> noted
    end,
    case atomics:sub_get(Left, 1, 1) of
        0 -> Parent ! burst_is_through;
        _ -> ok
    end,
    woken(First, Left, Parent).

%% Nanoseconds that the threads of this VM have had processors for.
processor_time() ->
    {ok, Tasks} = file:list_dir("/proc/self/task"),
    lists:sum([time_of("/proc/self/task/" ++ Task ++ "/schedstat") || Task <- Tasks]).

%% A thread may have ended meanwhile.
time_of(File) ->
    case file:read_file(File) of
        {ok, Said} -> binary_to_integer(hd(binary:split(Said, <<" ">>)));
        {error, _} -> 0
    end.
