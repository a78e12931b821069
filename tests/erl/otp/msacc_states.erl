%% Microstate accounting: the shapes of what is counted, and that time goes where it is spent. Shares are compared, with
%% wide bounds: machines that run tests are busy. What threads there are beside schedulers is each VM's own.
-module(msacc_states).
-export([main/0]).

main() ->
    t:c(shape, fun shape/0),
    t:c(never_on, fun() -> lists:usort(lists:append([maps:values(C) || #{counters := C} <- data()])) end),
    t:c(flags, fun() ->
        [catch erlang:system_flag(microstate_accounting, X)
         || X <- [reset, true, true, reset, true, false, false, reset]]
    end),
    t:each(bad, [on, 1, [], "true"], fun(X) -> erlang:system_flag(microstate_accounting, X) end),
    t:c(unit, fun() -> erlang:convert_time_unit(1, second, perf_counter) end),
    t:c(idle, fun() -> in_state(sleep, fun() -> timer:sleep(300) end) > 0.5 end),
    t:c(whole, fun whole/0),
    t:c(emulator, fun() -> at_work(emulator, fun() -> for(400, fun() -> count(1000) end) end) > 0.5 end),
    t:c(gc, fun() ->
        Live = lists:seq(1, 20000),
        Share = at_work(gc, fun() -> for(400, fun() -> erlang:garbage_collect() end) end),
        20000 = length(Live),
        Share > 0.3
    end),
    t:c(gc_of_large_heaps, fun() ->
        Live = lists:seq(1, 500000),
        Share = at_work(gc, fun() -> for(400, fun() -> erlang:garbage_collect() end) end),
        500000 = length(Live),
        Share > 0.3
    end),
    t:c(port, fun() ->
        Port = open_port({spawn, "cat >/dev/null"}, [binary, out]),
        Data = binary:copy(<<"x">>, 30000),
        Share = at_work(port, fun() -> for(400, fun() -> port_command(Port, Data) end) end),
        port_close(Port),
        Share > 0.1
    end),
    t:c(no_port, fun() -> at_work(port, fun() -> for(200, fun() -> count(1000) end) end) < 0.2 end),
    t:c(check_io, fun() ->
        measure(fun() -> [os:cmd("true") || _ <- lists:seq(1, 10)] end),
        sum(check_io, data()) > 0
    end),
    t:c(dirty, fun() ->
        measure(fun() -> erts_debug:dirty_cpu(wait, 200), erts_debug:dirty_io(wait, 200) end),
        [sum(emulator, [T || #{type := Type} = T <- data(), Type =:= Kind]) >= ns(190)
         || Kind <- [dirty_cpu_scheduler, dirty_io_scheduler]]
    end),
    t:c(stands_still, fun() ->
        measure(fun() -> timer:sleep(50) end),
        Before = lists:sort(data()),
        count(100000),
        timer:sleep(50),
        Before =:= lists:sort(data())
    end),
    t:c(on_and_off, fun() ->
        erlang:system_flag(microstate_accounting, reset),
        Since = erlang:monotonic_time(),
        for(400, fun() ->
            erlang:system_flag(microstate_accounting, true),
            timer:sleep(5),
            erlang:system_flag(microstate_accounting, false),
            timer:sleep(20)
        end),
        All = erlang:monotonic_time() - Since,
        Slept = sum(sleep, [hd([T || #{type := dirty_io_scheduler} = T <- data()])]),
        [Slept >= ns(50), Slept < erlang:convert_time_unit(All, native, perf_counter) * 3 div 4]
    end),
    t:c(reset, fun() ->
        erlang:system_flag(microstate_accounting, reset),
        sum(data())
    end),
    t:c(api, fun api/0).

data() -> erlang:statistics(microstate_accounting).

ns(Ms) -> erlang:convert_time_unit(Ms, millisecond, perf_counter).

shape() ->
    All = data(),
    Ids = fun(Type) -> lists:sort([I || #{type := T, id := I} <- All, T =:= Type]) end,
    [
        lists:usort([maps:keys(T) || T <- All]),
        lists:usort([maps:keys(C) || #{counters := C} <- All]),
        [Ids(Type) =:= lists:seq(1, erlang:system_info(Count))
         || {Type, Count} <- [{scheduler, schedulers}, {dirty_cpu_scheduler, dirty_cpu_schedulers},
                              {dirty_io_scheduler, dirty_io_schedulers}]],
        Ids(poll),
        lists:usort([T || #{type := T} <- All])
            -- [scheduler, dirty_cpu_scheduler, dirty_io_scheduler, poll, async, aux]
    ].

%% Runs F while time is counted, and nothing else.
measure(F) ->
    erlang:system_flag(microstate_accounting, reset),
    erlang:system_flag(microstate_accounting, true),
    F(),
    erlang:system_flag(microstate_accounting, false).

sum(State, All) -> lists:sum([maps:get(State, C) || #{counters := C} <- All]).

sum(All) -> lists:sum([lists:sum(maps:values(C)) || #{counters := C} <- All]).

%% The share of a state in all time.
in_state(State, F) ->
    measure(F),
    All = data(),
    sum(State, All) / sum(All).

%% The share of a state in the time that was not slept.
at_work(State, F) ->
    measure(F),
    All = data(),
    sum(State, All) / (sum(All) - sum(sleep, All)).

%% What a thread has counted is the time that has passed.
whole() ->
    Since = erlang:monotonic_time(),
    erlang:system_flag(microstate_accounting, reset),
    erlang:system_flag(microstate_accounting, true),
    From = erlang:monotonic_time(),
    for(200, fun() -> count(1000) end),
    To = erlang:monotonic_time(),
    erlang:system_flag(microstate_accounting, false),
    Until = erlang:monotonic_time(),
    Unit = fun(T) -> erlang:convert_time_unit(T, native, perf_counter) end,
    Slack = ns(5),
    lists:usort([
        {Sum >= Unit(To - From) - Slack, Sum =< Unit(Until - Since) + Slack}
     || #{type := Type} = T <- data(), Type =/= async, Type =/= aux, Sum <- [sum([T])]
    ]).

%% F again and again for so many milliseconds.
for(Ms, F) -> until(erlang:monotonic_time(millisecond) + Ms, F).

until(End, F) ->
    F(),
    case erlang:monotonic_time(millisecond) < End of
        true -> until(End, F);
        false -> ok
    end.

count(0) -> ok;
count(N) -> count(N - 1).

api() ->
    false = msacc:start(),
    timer:sleep(20),
    true = msacc:stop(),
    true = msacc:start(20),
    Stats = msacc:stats(),
    File = filename:join(t:tmp("msacc"), "stats"),
    Kinds = fun(All) -> lists:usort([{maps:get('$type', T), maps:keys(T)} || T <- All]) end,
    About100 = fun(Of) -> abs(lists:sum([S || #{system := S} <- Of]) - 100) < 0.01 end,
    [
        msacc:available(),
        msacc:to_file(File),
        msacc:from_file(File) =:= Stats,
        Kinds(Stats),
        Kinds(msacc:stats(realtime, Stats)),
        Kinds(msacc:stats(type, Stats)),
        About100(msacc:stats(realtime, Stats)),
        About100(msacc:stats(runtime, Stats)),
        msacc:stats(system_runtime, Stats) < msacc:stats(system_realtime, Stats),
        msacc:print(File, Stats, #{}),
        lists:member(<<"Stats per thread:">>, lines(File)),
        msacc:print(File, msacc:stats(type, msacc:stats(runtime, Stats)), #{system => true}),
        lists:member(<<"Stats per type:">>, lines(File)),
        msacc:reset()
    ].

lines(File) ->
    {ok, Text} = file:read_file(File),
    binary:split(Text, <<"\n">>, [global]).
