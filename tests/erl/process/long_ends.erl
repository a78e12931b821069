%% Processes that own much: their end takes several slices, and leaves nothing behind.
-module(long_ends).
-export([main/0]).

main() ->
    t:c(few_things, fun() -> ends(fun() -> ets:new(t, []) end) end),
    t:c(many_tables, fun() -> ends(fun() -> [ets:new(t, []) || _ <- lists:seq(1, 2000)] end) end),
    t:c(large_table, fun() -> ends(fun() -> rows(ets:new(long_ends_table, [named_table]), 200000) end) end),
    t:c(name_is_free, fun() -> ets:info(long_ends_table) end),
    t:c(name_goes_after_tables, fun name_goes_after_tables/0),
    t:c(many_messages, fun() -> ends(fun() -> [self() ! {I} || I <- lists:seq(1, 100000)] end), done end),
    t:c(many_links, fun links/0),
    t:c(many_monitors, fun monitors/0),
    t:c(asked_while_it_ends, fun asked/0).

rows(T, N) -> ets:insert(T, [{I, I} || I <- lists:seq(1, N)]), ok.

%% Does the end of a process take more than one slice?
ends(Own) ->
    Me = self(),
    P = spawn(fun() -> Own(), Me ! owns, receive stop -> ok end end),
    receive owns -> ok end,
    erlang:trace(P, true, [exiting]),
    M = monitor(process, P),
    exit(P, kill),
    receive {'DOWN', M, _, _, Why} -> ok end,
    receive {trace, P, out_exited, 0} -> ok after 5000 -> nothing end,
    Out = [x || {trace, Q, out_exiting, 0} <- t:flush(), Q =:= P],
    {Why, length(Out) > 1, erlang:process_info(P), is_process_alive(P)}.

%% Who finds the name free finds the tables gone: those that are still there.
name_goes_after_tables() ->
    Me = self(),
    Own = fun() -> register(long_ends_name, self()), Me ! {owns, [ets:new(t, []) || _ <- lists:seq(1, 2000)]}, receive stop -> ok end end,
    P = spawn(Own),
    Tables = receive {owns, All} -> All end,
    P ! stop,
    until_free(long_ends_name),
    [T || T <- Tables, ets:info(T) =/= undefined].

until_free(Name) -> whereis(Name) =:= undefined orelse begin erlang:yield(), until_free(Name) end.

links() ->
    process_flag(trap_exit, true),
    Me = self(),
    Hub = spawn_link(fun() ->
        process_flag(trap_exit, true),
        Ps = [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 20000)],
        Me ! {linked, Ps},
        receive stop -> exit(end_of_hub) end
    end),
    Ps = receive {linked, L} -> L end,
    Ms = [monitor(process, P) || P <- Ps],
    Hub ! stop,
    receive {'EXIT', Hub, Why} -> ok end,
    {Why, lists:usort([receive {'DOWN', M, _, _, R} -> R end || M <- Ms])}.

monitors() ->
    Me = self(),
    Hub = spawn(fun() -> Me ! ready, receive stop -> exit(end_of_hub) end end),
    receive ready -> ok end,
    Ms = [monitor(process, Hub) || _ <- lists:seq(1, 20000)],
    Watched = spawn(fun() -> receive stop -> ok end end),
    Watcher = spawn(fun() -> [monitor(process, Watched) || _ <- lists:seq(1, 20000)], Me ! ready, receive stop -> ok end end),
    receive ready -> ok end,
    M = monitor(process, Watcher),
    exit(Watcher, kill),
    receive {'DOWN', M, _, _, killed} -> ok end,
    {monitored_by, By} = process_info(Watched, monitored_by),
    Hub ! stop,
    {lists:usort([receive {'DOWN', R, _, _, W} -> W end || R <- Ms]), length(By)}.

%% Who asks while it ends learns that it has.
asked() ->
    Me = self(),
    P = spawn(fun() ->
        register(long_ends_name, self()),
        [ets:new(t, []) || _ <- lists:seq(1, 5000)],
        Me ! ready,
        receive stop -> ok end
    end),
    receive ready -> ok end,
    P ! stop,
    timer:sleep(1),
    M = monitor(process, P),
    Down = receive {'DOWN', M, _, _, Why} -> Why =:= noproc orelse Why =:= normal end,
    {Down, whereis(long_ends_name), process_info(P, links), is_process_alive(P), catch erlang:suspend_process(P)}.
