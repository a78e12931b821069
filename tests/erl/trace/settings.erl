%% What tracing is set to, after calls that are right, odd or wrong.
-module(settings).
-export([main/0, f/1]).

f(X) -> X.

main() ->
    t:mute(),
    on_load(), restarted(), guards(), asked(), tracers(), monitors().

%% What new code gets adds up.
on_load() ->
    Runs = [[{true, [local]}, {false, [meta]}, {false, []}, {false, [local]}],
            [{true, [meta]}, {false, [local]}, {false, [meta]}],
            [{true, [call_count]}, {true, [local]}, {false, [call_count]}],
            [{true, []}, {false, [local]}, {true, [meta]}, {true, []}, {true, [local]}, {false, [local]}],
            [{true, [local]}, {[{'_', [], [true]}], [meta]}, {true, [call_time]}, {false, [local]}],
            [{restart, [local]}, {pause, [call_count]}, {restart, [meta]}, {pause, []}]],
    [begin
         [erlang:trace_pattern(on_load, false, Flags) || Flags <- [[], [local, meta, call_count, call_time]]],
         [t:c(io_lib:format("on_load ~0p", [Set]),
              fun() -> erlang:trace_pattern(on_load, How, Flags), erlang:trace_info(on_load, all) end) || {How, Flags} = Set <- Run]
     end || Run <- Runs],
    erlang:trace_pattern(on_load, false, [local, meta, call_count, call_time]).

restarted() ->
    [begin
         clear(),
         t:c(io_lib:format("~0p ~0p, ~0p ~0p", [First, Flags, Then, Others]),
             fun() ->
                     erlang:trace_pattern({?MODULE, f, 1}, First, Flags),
                     {erlang:trace_pattern({?MODULE, f, 1}, Then, Others), erlang:trace_info({?MODULE, f, 1}, all)}
             end)
     end || First <- [true, false], Flags <- [[local], [call_count], []], Then <- [restart, pause],
            Others <- [[local], [], [local, call_count], [call_count], [meta], [call_time, local]]],
    clear().

clear() -> [erlang:trace_pattern({?MODULE, '_', '_'}, false, Flags) || Flags <- [[], [local, meta, call_count, call_time]]].

guards() ->
    t:each("guard", [{get_seq_token}, {'==', {get_tcw}, 0}, {set_tcw, 1}, {set_tcw_fake, 1}, {is_seq_trace}, {caller}],
           fun(Guard) -> erlang:match_spec_test([1], [{'_', [Guard], []}], trace) end).

asked() ->
    Dead = spawn(fun() -> ok end),
    Ref = monitor(process, Dead),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    t:each("trace_info", [{Of, Key} || Of <- [{?MODULE, f, 1}, {?MODULE, none, 1}, {?MODULE, f, 256}, {?MODULE, f, -1}, {?MODULE, f, 1 bsl 70}, Dead, self(), on_load, new],
                                       Key <- [flags, tracer, traced, 1, x]],
           fun({Of, Key}) -> erlang:trace_info(Of, Key) end).

%% A process may be its own tracer; another's is ended by nobody who names one.
tracers() ->
    Worker = spawn(fun() -> receive stop -> ok end end),
    Tracer = spawn(fun() -> receive stop -> ok end end),
    Steps = [{true, [call, {tracer, Worker}]}, {false, [call, {tracer, Worker}]}, {true, [call]}, {false, [call, {tracer, Tracer}]},
             {true, [call, {tracer, Tracer}]}, {false, [call]}, {true, [call, {tracer, Tracer}]}, {false, [send]}],
    [t:c(io_lib:format("trace ~0p", [{How, t:norm(Flags)}]), fun() -> {erlang:trace(Worker, How, Flags), erlang:trace_info(Worker, flags)} end) || {How, Flags} <- Steps].

monitors() ->
    t:each("system_monitor", [[x, []], [{x, []}], [1, []], [x, [busy_port]], [self(), [{large_heap, 1 bsl 62}]], [], [self(), [{large_heap, 1 bsl 64}]], [undefined]],
           fun(Args) -> apply(erlang, system_monitor, Args) end).
