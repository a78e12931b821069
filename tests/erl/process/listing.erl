%% `processes/0` gives those of one moment, though it gives way on the way: to be seen by who ends it, collects it or spawns meanwhile.
-module(listing).
-export([main/0]).

main() ->
    t:mute(),
    erts_debug:set_internal_state(available_internal_state, true),
    t:c(info, fun() ->
        Info = erts_debug:get_internal_state(processes_bif_info),
        {element(1, Info), tuple_size(Info), element(10, Info), element(3, Info) * element(4, Info) >= erlang:system_info(process_limit)}
    end),
    t:c(the_same, fun the_same/0),
    t:c(one_moment, fun one_moment/0),
    t:c(several, fun several/0),
    t:c(killed, fun killed/0),
    t:c(busy, fun busy/0).

%% Both ways of listing agree. A helper of the logger, which answered before it ended, may still end meanwhile; nothing spawns.
the_same() ->
    [Before, Listed, After] = [F() || F <- [fun all/0, fun processes/0, fun all/0]],
    {After -- Listed, Listed -- Before}.

all() -> erts_debug:get_internal_state(processes).

%% Lists all processes, and is suspended while it does.
suspended() ->
    Me = self(),
    %% Only one scheduler: the process stops inside.
    erlang:system_flag(multi_scheduling, block_normal),
    Pid = spawn_link(fun() ->
        Me ! {suspend_me, self()},
        erts_debug:set_internal_state(reds_left, element(2, erts_debug:get_internal_state(processes_bif_info)) + 10),
        Listed = processes(),
        Me ! {listed, self(), Listed},
        receive after infinity -> ok end
    end),
    receive {suspend_me, Pid} -> ok end,
    erlang:suspend_process(Pid),
    erlang:system_flag(multi_scheduling, unblock_normal),
    Pid.

listed(Pid) ->
    erlang:resume_process(Pid),
    receive {listed, Pid, Listed} -> stop(Pid), Listed end.

stop(Pid) ->
    unlink(Pid),
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, _} -> ok end.

idle() -> spawn_link(fun() -> receive after infinity -> ok end end).

count(Pid, Pids) -> length([P || P <- Pids, P =:= Pid]).

one_moment() ->
    [Stays, Ends] = [idle(), idle()],
    Pid = suspended(),
    Info = process_info(Pid, [status, current_function]),
    stop(Ends),
    New = idle(),
    Collected = [garbage_collect(Pid), garbage_collect(Pid)],
    Now = processes(),
    Listed = listed(Pid),
    stop(Stays),
    stop(New),
    {Info, Collected, [[count(P, All) || P <- [self(), Pid, Stays, Ends, New]] || All <- [Now, Listed]]}.

%% Listings that overlap, and end in another order.
several() ->
    [A, B, C] = [idle(), idle(), idle()],
    First = suspended(),
    stop(A),
    Second = suspended(),
    stop(B),
    Third = suspended(),
    stop(C),
    All = [listed(P) || P <- [Second, First, Third]],
    [[count(P, Listed) || P <- [A, B, C]] || Listed <- All].

killed() ->
    Pids = [suspended() || _ <- [1, 2, 3]],
    lists:foreach(fun stop/1, Pids),
    [lists:member(P, processes()) || P <- Pids].

%% Those that stay are listed, once each, whatever others do.
busy() ->
    Idle = lists:sort([idle() || _ <- lists:seq(1, 200)]),
    Workers = [spawn_link(fun Work() -> spawn(fun() -> lists:seq(1, 100) end), Work() end) || _ <- [1, 2]],
    Least = element(2, erts_debug:get_internal_state(processes_bif_info)) + 10,
    Seen = [begin
        erts_debug:set_internal_state(reds_left, Least),
        Listed = processes(),
        {length(Listed) =:= length(lists:usort(Listed)), Idle -- Listed}
    end || _ <- lists:seq(1, 50)],
    lists:foreach(fun stop/1, Workers ++ Idle),
    lists:usort(Seen).
