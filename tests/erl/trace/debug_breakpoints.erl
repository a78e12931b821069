%% erts_debug:breakpoint/2: a call of a function with a breakpoint becomes one of `breakpoint/3` of the process's error handler.
-module(debug_breakpoints).
-export([main/0, foo/1, baz/2, collect/1, undefined_function/3, undefined_lambda/3, breakpoint/3]).

foo(X) -> {foo, X}.
baz(A, B) -> A + B.
calls_local(X) -> local(X).
local(X) -> {local, X}.
tail(X) -> foo(X).

undefined_function(M, F, A) -> error_handler:undefined_function(M, F, A).
undefined_lambda(M, F, A) -> error_handler:undefined_lambda(M, F, A).
breakpoint(M, F, A) -> {breakpoint, M, F, A}.

main() ->
    process_flag(error_handler, ?MODULE),
    t:each(on, [{?MODULE, local, 1}, {?MODULE, foo, '_'}, {?MODULE, baz, 2}, {?MODULE, baz, 3}, {no_module, x, 1}, {?MODULE, foo, -1}],
           fun(MFA) -> erts_debug:breakpoint(MFA, true) end),
    t:c(local, fun() -> calls_local(t:id(1)) end),
    t:c(calls, fun() ->
        F = fun foo/1,
        G = fun ?MODULE:foo/1,
        [foo(t:id(1)), tail(2), ?MODULE:foo(3), apply(?MODULE, foo, [4]), apply(?MODULE, t:id(foo), [5]), F(6), G(7),
         baz(t:id(1), 2), lists:map(F, [a, b])]
    end),
    t:c(many, fun() -> [Same] = lists:usort(collect(1000)), Same end),
    t:c(another_process, fun() ->
        {_, Ref} = spawn_monitor(fun() -> process_flag(error_handler, ?MODULE), exit(foo(t:id(1))) end),
        receive {'DOWN', Ref, process, _, Reason} -> Reason end
    end),
    t:c(traced, fun traced/0),
    t:c(global_trace_ends_it, fun() ->
        erts_debug:breakpoint({?MODULE, foo, 1}, true),
        erlang:trace_pattern({?MODULE, foo, 1}, true, [global]),
        During = [foo(t:id(1)), ?MODULE:foo(2)],
        erlang:trace_pattern({?MODULE, foo, 1}, false, [global]),
        {During, [foo(t:id(1)), ?MODULE:foo(2)]}
    end),
    t:each(off, [{?MODULE, foo, 1}, {?MODULE, local, 1}, {?MODULE, baz, 2}], fun(MFA) -> erts_debug:breakpoint(MFA, false) end),
    t:c(no_more, fun() -> [foo(t:id(1)), calls_local(t:id(2)), baz(t:id(1), 2)] end),
    t:each(built_in, [{erlang, length, 1}, {lists, reverse, 2}, {erlang, integer_to_list, 1}], fun(MFA) ->
        On = erts_debug:breakpoint(MFA, true),
        Called = [length(t:id([1])), apply(erlang, t:id(length), [[1]]), lists:reverse(t:id([1, 2]), []),
                  apply(erlang, t:id(integer_to_list), [7])],
        {On, Called, erts_debug:breakpoint(MFA, false)}
    end),
    t:each(bad, [{'_', foo, 1}, {?MODULE, '_', 1}, {?MODULE, foo, x}, {?MODULE, foo, 1.0}, {?MODULE, foo, 1 bsl 70}, {1, foo, 1},
                 foo, {a, b}, [], {?MODULE, foo, 1, x}],
           fun(What) -> erts_debug:breakpoint(What, true) end),
    t:each(bad_switch, [x, 1, []], fun(Switch) -> erts_debug:breakpoint({?MODULE, foo, 1}, Switch) end).

collect(0) -> [];
collect(N) -> [foo({N rem 1, lists:seq(1, 10)}) | collect(N - 1)].

traced() ->
    Self = self(),
    erts_debug:breakpoint({?MODULE, foo, 1}, true),
    Tracer = spawn(fun() -> collect_trace([]) end),
    erlang:trace(Self, true, [call, {tracer, Tracer}]),
    erlang:trace_pattern({?MODULE, foo, 1}, [{'_', [], [{return_trace}]}], [local]),
    Values = [foo(t:id(1)), ?MODULE:foo(2)],
    erlang:trace(Self, false, [call]),
    Info = erlang:trace_info({?MODULE, foo, 1}, all),
    erlang:trace_pattern({?MODULE, foo, 1}, false, [local]),
    Ref = erlang:trace_delivered(Self),
    receive {trace_delivered, Self, Ref} -> ok end,
    Tracer ! {get, Self},
    receive {trace, Trace} -> {Values, Info, Trace, foo(t:id(3))} end.

collect_trace(All) ->
    receive
        {get, From} -> From ! {trace, lists:reverse(All)};
        Event -> collect_trace([Event | All])
    end.
