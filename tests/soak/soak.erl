%% Drivers of the soak test: random episodes side by side, then a look at what is left.
%%
%% Two phases of the same kind. After each all episodes have ended, every process is collected, and what the VM still holds is
%% measured; the second phase must leave no more than the first. An episode (soak_episodes) checks what it does by itself: it ends
%% normally or with the reason of its failure, and leaves nothing behind. One seed gives one sequence of episodes for each driver;
%% how they meet in time is up to the schedulers.
-module(soak).
-export([main/1, show/1]).

-define(DRIVERS, 6).

%% Arguments: seed, seconds, directory for files.
main([SeedText, SecondsText, Dir]) ->
    Seed = list_to_integer(SeedText),
    Seconds = list_to_integer(SecondsText),
    process_flag(trap_exit, true),
    %% Processes are meant to fail.
    logger:set_primary_config(level, none),
    soak_episodes:prepare(Dir),
    {Counts1, Faults1} = phase(Seed, 1, Seconds * 400),
    First = measure(),
    {Counts2, Faults2} = phase(Seed, 2, Seconds * 600),
    Second = measure(),
    Counts = maps:merge_with(fun(_, A, B) -> A + B end, Counts1, Counts2),
    io:format("soak: ~w episodes: ~0tp~n", [lists:sum(maps:values(Counts)), maps:to_list(Counts)]),
    io:format("soak: after the first phase  ~0tp~nsoak: after the second phase ~0tp~n", [First, Second]),
    Faults = Faults1 ++ Faults2 ++ left(First, Second),
    [report(Fault) || Fault <- lists:sublist(Faults, 20)],
    halt(case Faults of [] -> 0; _ -> 1 end).

report(Fault) ->
    io:format("soak: FAILED ~0tP~n", [Fault, 150]),
    case Fault of
        {_, {Seed, Phase, Driver}, I, _} ->
            Only = case os:getenv("SOAK_ONLY", "") of "" -> ""; Names -> " --only " ++ Names end,
            io:format("   it alone: cargo xtask soak~ts --seed ~w --show ~w:~w:~w~n", [Only, Seed, Phase, Driver, I]);
        _ -> ok
    end.

%% One episode alone. Arguments: seed, phase, driver, the episode's number, directory for files.
show([SeedText, PhaseText, DriverText, NumberText, Dir]) ->
    [Seed, Phase, Driver, Number] = [list_to_integer(Text) || Text <- [SeedText, PhaseText, DriverText, NumberText]],
    logger:set_primary_config(level, none),
    soak_episodes:prepare(Dir),
    rand:seed(exsss, {Seed, Phase, Driver}),
    [draw(I) || I <- lists:seq(1, Number - 1)],
    {Name, Fun, Seeds} = draw(Number),
    io:format("soak: 1 episodes: ~w of seed ~w~n", [Name, Seed]),
    Faults = run(Name, Fun, Seeds, {Seed, Phase, Driver}, Number),
    [io:format("soak: FAILED ~0tp~n", [Fault]) || Fault <- Faults],
    halt(case Faults of [] -> 0; _ -> 1 end).

phase(Seed, Phase, Ms) ->
    Until = erlang:monotonic_time(millisecond) + Ms,
    Drivers = [spawn_monitor(fun() ->
        rand:seed(exsss, {Seed, Phase, N}),
        exit({done, drive(Until, {Seed, Phase, N}, 1, #{}, [])})
    end) || N <- lists:seq(1, ?DRIVERS)],
    lists:foldl(fun({Pid, Ref}, {Counts, Faults}) ->
        receive
            {'DOWN', Ref, process, Pid, {done, {C, F}}} -> {maps:merge_with(fun(_, A, B) -> A + B end, Counts, C), F ++ Faults};
            {'DOWN', Ref, process, Pid, Reason} -> {Counts, [{driver, Reason} | Faults]}
        end
    end, {#{}, []}, Drivers).

drive(Until, Id, I, Counts, Faults) ->
    case erlang:monotonic_time(millisecond) >= Until orelse length(Faults) > 5 of
        true -> {Counts, Faults};
        false ->
            {Name, Fun, Seeds} = draw(I),
            More = run(Name, Fun, Seeds, Id, I),
            drive(Until, Id, I + 1, maps:update_with(Name, fun(N) -> N + 1 end, 1, Counts), More ++ Faults)
    end.

%% The driver's next episode, and the seeds of its own draws. All that a driver draws is drawn here.
draw(I) ->
    {Name, Fun} = soak_episodes:pick(),
    {Name, Fun, {rand:uniform(1 bsl 30), rand:uniform(1 bsl 30), I}}.

%% Runs an episode: what is wrong with it.
run(Name, Fun, Seeds, Id, I) ->
    {Pid, Ref} = spawn_monitor(fun() -> rand:seed(exsss, Seeds), Fun() end),
    receive
        {'DOWN', Ref, process, Pid, normal} -> [];
        {'DOWN', Ref, process, Pid, Reason} -> [{Name, Id, I, Reason}]
    after patience_ms() ->
        Where = erlang:process_info(Pid, [current_stacktrace, message_queue_len, messages, status]),
        exit(Pid, kill),
        [{Name, Id, I, {late, Where}}]
    end.

%% How long an episode may take: two minutes, or what SOAK_PATIENCE says in seconds.
patience_ms() ->
    1000 * list_to_integer(os:getenv("SOAK_PATIENCE", "120")).

%% What the VM holds when nothing runs. What is freed by other threads may take a moment: the least of some looks counts.
measure() ->
    soak_episodes:quiet(),
    %% Threads give free memory back when they have been idle for a while.
    timer:sleep(2000),
    Looks = [begin timer:sleep(300), look() end || _ <- lists:seq(1, 5)],
    maps:map(fun(Key, _) -> lists:min([maps:get(Key, Look) || Look <- Looks]) end, hd(Looks)).

look() ->
    [erlang:garbage_collect(P) || P <- processes()],
    Memory = erlang:memory(),
    #{processes => erlang:system_info(process_count), ports => erlang:system_info(port_count), tables => length(ets:all()),
      atoms => erlang:system_info(atom_count), total => proplists:get_value(total, Memory), binary => proplists:get_value(binary, Memory),
      ets => proplists:get_value(ets, Memory), process_memory => proplists:get_value(processes, Memory), rss => resident(),
      terms => maps:get(count, persistent_term:info()), files => open_files(), sockets => socket:number_of()}.

%% Read in pieces: a file of /proc has no size.
resident() ->
    {ok, Device} = file:open("/proc/self/statm", [read, raw, binary]),
    {ok, Text} = file:read(Device, 200),
    ok = file:close(Device),
    [_, Pages | _] = binary:split(Text, <<" ">>, [global]),
    binary_to_integer(Pages) * 4096.

open_files() ->
    {ok, Names} = file:list_dir("/proc/self/fd"),
    length(Names).

left(First, Second) ->
    Exact = [processes, ports, tables, terms, files, sockets],
    [{left, Key, maps:get(Key, First), maps:get(Key, Second)} || Key <- Exact, maps:get(Key, Second) > maps:get(Key, First)] ++
    [{grown, Key, maps:get(Key, First), maps:get(Key, Second)} ||
        {Key, Slack} <- [{total, 6 bsl 20}, {binary, 1 bsl 20}, {ets, 1 bsl 20}, {process_memory, 4 bsl 20}, {rss, 64 bsl 20}, {atoms, 50}],
        maps:get(Key, Second) > maps:get(Key, First) * 11 div 10 + Slack].
