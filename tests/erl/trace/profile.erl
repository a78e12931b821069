%% system_profile/2: processes that become runnable and cease to be, ports, schedulers, times, options.
-module(profile).
-export([main/0, loop/1]).

collect(L) ->
    receive
        {get, P} -> P ! {events, lists:reverse(L)};
        M -> collect([M | L])
    end.

loop(P) -> receive {go, N} -> P ! N, loop(P); stop -> ok end.

events(Options, F) ->
    C = spawn(fun() -> collect([]) end),
    erlang:system_profile(C, Options),
    R = F(),
    timer:sleep(200),
    erlang:system_profile(undefined, []),
    C ! {get, self()},
    receive {events, L} -> {R, L} end.

a_process() ->
    Me = self(),
    {P, Ref} = spawn_monitor(?MODULE, loop, [Me]),
    asleep(P),
    P ! {go, 1},
    receive 1 -> ok end,
    asleep(P),
    P ! stop,
    receive {'DOWN', Ref, process, P, normal} -> P end.

%% To ask wakes it, too.
asleep(P) ->
    case process_info(P, status) of
        {status, waiting} -> timer:sleep(20);
        _ -> asleep(P)
    end.

a_port() ->
    Port = open_port({spawn, "cat"}, [binary]),
    timer:sleep(50),
    port_command(Port, "x"),
    receive {Port, {data, _}} -> ok end,
    timer:sleep(20),
    Port ! {self(), close},
    receive {Port, closed} -> ok end,
    Port.

about(Who, Events) -> [{State, Where} || {profile, W, State, Where, _} <- Events, W =:= Who].
times(Who, Events) -> lists:usort([kind(T) || {profile, W, _, _, T} <- Events, W =:= Who]).
kind({_, _, _}) -> triple;
kind({_, _}) -> pair;
kind(T) when is_integer(T) -> number.

turns([{S, _}, {S, W} | _]) -> {twice, S, W};
turns([_ | T]) -> turns(T);
turns([]) -> in_turn.

main() ->
    P = spawn(?MODULE, loop, [self()]),
    [t:c(io_lib:format("options ~0p", [O]), fun() ->
        Old = erlang:system_profile(P, O),
        {Old, erlang:system_profile(), erlang:system_profile(undefined, [])}
     end) || O <- [[], [timestamp], [runnable_procs], [runnable_ports, timestamp], [scheduler, exclusive, strict_monotonic_timestamp],
                   [runnable_procs, runnable_ports, scheduler, exclusive], [x], x, [scheduler | x]]],
    t:c(nobody, fun() -> erlang:system_profile(undefined, x) end),
    t:c(no_process, fun() -> erlang:system_profile(a, [scheduler]) end),
    [t:c(io_lib:format("process ~0p", [O]), fun() ->
        {Q, L} = events([runnable_procs | O], fun a_process/0),
        Of = about(Q, L),
        {hd(Of), lists:last(Of), turns(Of), lists:usort(Of), length(Of) >= 6, times(Q, L)}
     end) || O <- [[], [timestamp], [monotonic_timestamp], [strict_monotonic_timestamp]]],
    t:c(port, fun() ->
        {Port, L} = events([runnable_ports], fun a_port/0),
        Of = about(Port, L),
        {length(Of) >= 4, hd(Of), lists:last(Of), turns(Of)}
    end),
    t:c(exclusive, fun() ->
        {_, L} = events([runnable_procs, exclusive], fun a_port/0),
        [E || {_, {erlang, open_port, 2}} = E <- about(self(), L)]
    end),
    t:c(scheduler, fun() ->
        {_, L} = events([scheduler], fun() -> timer:sleep(100), lists:seq(1, 1000), timer:sleep(100) end),
        {[E || E <- L, element(2, E) =/= scheduler, element(2, E) =/= self()], lists:usort([S || {profile, scheduler, _, S, N, {_, _, _}} <- L, is_integer(N)])}
    end),
    t:c(not_the_profiler, fun() ->
        C = spawn(fun() -> collect([]) end),
        erlang:system_profile(C, [runnable_procs]),
        [begin C ! x, timer:sleep(5) end || _ <- [1, 2, 3]],
        erlang:system_profile(undefined, []),
        C ! {get, self()},
        receive {events, L} -> {length([x || x <- L]), about(C, L)} end
    end).
