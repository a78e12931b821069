%% Call tracing: breakpoints of all kinds, specifications with actions, returns and exceptions.
-module(calls).
-export([main/0, f/1, g/1, h/1, y/1, deep/1, spec/1, loop/0, tail/1, reverse/2, thrown/1]).

main() ->
    t:mute(),
    P = spawn(fun loop/0),
    patterns(P),
    returns(P),
    bifs(P),
    actions(P),
    t:c(dumped, fun dumped/0),
    meta(P),
    counts(P),
    whose(P),
    inside(P),
    new_code(P).

%% What the functions of a library call among themselves is seen, however the VM runs them when nobody looks.
inside(P) ->
    Inner = [{lists, split_1, 5}, {lists, rmergel, 2}, {lists, keysplit_1, 8}],
    t:c(inside, fun() -> [erlang:trace_pattern(F, true, [local, call_count]) || F <- Inner] end),
    in("sorted as its own code does", P, fun() -> lists:sort([3, 1, 4, 1, 5, 9, 2, 6]), lists:keysort(1, [{3}, {1}, {2}, {1}]) end),
    t:c(counts, fun() -> [erlang:trace_info(F, call_count) || F <- Inner] end),
    t:c(inside, fun() -> [erlang:trace_pattern(F, false, [local, call_count, call_time]) || F <- Inner] end).

%% Runs a fun in the traced process and shows what the tracer gets.
in(Name, P, Fun) ->
    P ! {call, self(), Fun},
    receive done -> ok end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    t:p(Name, [untimed(M) || M <- t:flush()]).

untimed(M) when element(1, M) =:= trace_ts -> setelement(tuple_size(M), M, time);
untimed(M) -> M.

tp(What, How) -> erlang:trace_pattern(What, How, [local]).

patterns(P) ->
    1 = erlang:trace(P, true, [call]),
    t:c(local, fun() -> tp({calls, f, 1}, true) end),
    in("a local and an external call", P, fun() -> f(1), calls:f(2) end),
    t:c(spec, fun() -> tp({calls, g, '_'}, [{[1], [], []}, {['$1'], [{is_atom, '$1'}], [{message, {{'$1', x}}}]}]) end),
    in(spec, P, fun() -> [g(X) || X <- [1, 2, a]] end),
    t:c(global, fun() -> erlang:trace_pattern({calls, f, 1}, true, [global]) end),
    in("global: the external one", P, fun() -> f(1), calls:f(2), apply(calls, f, [3]), F = fun calls:f/1, F(4) end),
    t:each(info, [traced, match_spec, all, flags], fun(K) -> erlang:trace_info({calls, f, 1}, K) end),
    t:each(info, [traced, match_spec, meta, call_count, call_time, all], fun(K) -> erlang:trace_info({calls, g, 1}, K) end),
    t:c(off, fun() -> erlang:trace_pattern({calls, '_', '_'}, false, []) end),
    t:c("still local", fun() -> erlang:trace_info({calls, g, 1}, traced) end),
    t:c(off, fun() -> tp({calls, g, 1}, false) end),
    in(off, P, fun() -> f(1), calls:f(2), g(1) end),
    t:each("not there", [{calls, nothing, 1}, {no_module, f, 1}, {calls, f, 256}, {calls, f, -1}], fun(W) -> {tp(W, true), erlang:trace_pattern(W, true, [])} end),
    t:each("not there", [{calls, nothing, 1}, {no_module, f, 1}, {erlang, abs, 1}], fun(W) -> erlang:trace_info(W, all) end),
    t:each(bad, [foo, {calls, '_', 1}, {'_', f, 1}, {calls, f}, {calls, f, a}, {1, f, 1}], fun(W) -> tp(W, true) end),
    t:each("bad how", [foo, {}, [foo], [{'_', [], [{foo}]}], 1], fun(H) -> tp({calls, f, 1}, H) end),
    t:each("bad options", [[foo], [local, global], [global, meta], foo, [{meta, foo}], [local | x]],
           fun(O) -> erlang:trace_pattern({calls, f, 1}, true, O) end).

returns(P) ->
    Return = [{'_', [], [{return_trace}]}],
    Exception = [{'_', [], [{exception_trace}]}],
    erlang:trace(P, true, [return_to]),
    [tp({calls, N, 1}, Return) || N <- [f, g, h]],
    in(return_trace, P, fun() -> f(1) end),
    in("an exception", P, fun() -> catch f(crash) end),
    [tp({calls, N, 1}, Exception) || N <- [f, g, thrown]],
    in(exception_trace, P, fun() -> f(1) end),
    in(error, P, fun() -> catch f(crash) end),
    in(throw, P, fun() -> catch thrown(1) end),
    in(caught, P, fun() -> try f(crash) catch _:_ -> h(3) end end),
    tp({calls, deep, 1}, Exception),
    in(deep, P, fun() -> catch deep(3) end),
    tp({calls, deep, 1}, true),
    tp({calls, tail, 1}, true),
    in("tail calls return once", P, fun() -> X = tail(3), X end),
    tp({calls, '_', '_'}, false),
    tp({lists, reverse, 2}, true),
    in("a built-in", P, fun() -> reverse([a], [b]) end),
    tp({lists, reverse, 2}, false),
    erlang:trace(P, false, [return_to]).

bifs(P) ->
    t:c(bif, fun() -> erlang:trace_pattern({erlang, atom_to_list, 1}, [{'_', [], [{return_trace}, {message, {caller}}]}], []) end),
    Foo = t:id(foo),
    in("a built-in, global", P, fun() -> X = atom_to_list(Foo), [X] end),
    in("in tail position", P, fun() -> atom_to_list(Foo) end),
    in(applied, P, fun() -> apply(t:id(erlang), atom_to_list, [Foo]) end),
    erlang:trace_pattern({erlang, atom_to_list, 1}, false, []),
    tp({erlang, atom_to_list, 1}, [{'_', [], [{exception_trace}]}]),
    in("that fails", P, fun() -> catch atom_to_list(t:id(1)) end),
    tp({erlang, atom_to_list, 1}, false),
    tp({erlang, send, 2}, true),
    S = self(),
    in("send is not !", P, fun() -> S ! a, erlang:send(S, b) end),
    tp({erlang, send, 2}, false),
    tp({erlang, abs, 1}, true),
    in("not where it is an instruction", P, fun() -> abs(t:id(-1)), F = fun erlang:abs/1, F(-1) end),
    tp({erlang, abs, 1}, false),
    tp({erlang, process_info, 2}, true),
    in("where it is", P, fun() -> S ! process_info(self(), current_function) end),
    tp({erlang, process_info, 2}, false).

actions(P) ->
    Message = fun(M) -> tp({calls, spec, 1}, [{['$1'], [], [{message, M}]}]) end,
    t:each(action,
           ['$1', true, false, {caller}, {{a, '$_', '$$'}}, {get_tcw}, {is_seq_trace}, {get_seq_token}, {self},
            {const, {x}}, process_dump, {set_tcw, 3}, {get_tcw}, {set_tcw, 0}, {enable_trace, foo},
            {trace, [], [foo]}, {{{silent, foo}, {disable_trace, arity}}}],
           fun(M) -> Message(M), in(M, P, fun() -> spec(1), ok end) end),
    tp({calls, spec, 1}, [{['$1'], [], [{silent, '$1'}, {return_trace}]}]),
    erlang:trace(P, true, [silent]),
    in(silent, P, fun() -> spec(true), spec(false), spec(false), spec(true) end),
    erlang:trace(P, false, [silent]),
    tp({calls, spec, 1}, [{['$1'], [], [{enable_trace, arity}, {disable_trace, call}]}]),
    in(flags, P, fun() -> spec(1), spec(1) end),
    t:c(flags, fun() -> erlang:trace_info(P, flags) end),
    erlang:trace(P, false, [all]),
    erlang:trace(P, true, [call]),
    tp({calls, spec, 1}, [{['$1'], [], [{trace, [call], [procs, 'receive']}]}]),
    in(trace, P, fun() -> spec(1), spec(1) end),
    t:c(flags, fun() -> erlang:trace_info(P, flags) end),
    erlang:trace(P, false, [all]),
    erlang:trace(P, true, [call]),
    tp({calls, spec, 1}, false).

%% A traced process may have stopped last with another stack than it has now.
dumped() ->
    Self = self(),
    tp({calls, spec, 1}, [{'_', [], [{message, {process_dump}}]}]),
    P = spawn(fun() -> holds_much(Self, [1, {2}, <<3>>, [4], 5, 6, 7, 8]) end),
    erlang:trace(P, true, [call]),
    {status, waiting} = waiting(P),
    P ! go,
    Told = receive {trace, P, call, {calls, spec, [_]}, Text} -> Text after 5000 -> <<>> end,
    Is = receive {is, Much} -> Much after 5000 -> none end,
    tp({calls, spec, 1}, false),
    {Is, [binary:match(Told, Part) =/= nomatch || Part <- [<<"Spawned as: ">>, <<"calls:holds_much/2">>]]}.

waiting(P) -> case process_info(P, status) of {status, waiting} = S -> S; _ -> timer:sleep(1), waiting(P) end.

holds_much(To, L) ->
    [A, B, C, D, E, F, G, H] = [t:id(X) || X <- L],
    receive go -> ok end,
    spec(1),
    To ! {is, [A, B, C, D, E, F, G, H]}.

meta(P) ->
    erlang:trace_pattern({calls, g, 1}, true, [meta]),
    in(meta, P, fun() -> g(1) end),
    t:c(info, fun() -> {meta, M} = erlang:trace_info({calls, g, 1}, meta), M =:= self() end),
    erlang:trace_pattern({calls, g, 1}, [{'_', [], [{return_trace}, {message, {caller}}]}], [meta]),
    tp({calls, g, 1}, [{'_', [], [{return_trace}]}]),
    in("meta and local", P, fun() -> g(1), ok end),
    erlang:trace_pattern({calls, g, 1}, false, [meta, local]),
    t:c(off, fun() -> erlang:trace_info({calls, g, 1}, all) end).

counts(P) ->
    Count = fun(How) -> erlang:trace_pattern({calls, f, 1}, How, [call_count]), erlang:trace_info({calls, f, 1}, call_count) end,
    Run = fun() -> P ! {call, self(), fun() -> [f(X) || X <- [1, 2, 3]] end}, receive done -> ok end end,
    t:each(call_count, [true, pause, true, restart, false], fun(How) -> R = Count(How), Run(), {R, erlang:trace_info({calls, f, 1}, call_count)} end),
    Time = fun(How) -> erlang:trace_pattern({calls, f, 1}, How, [call_time]) end,
    Spent = fun() -> {call_time, L} = erlang:trace_info({calls, f, 1}, call_time), is_list(L) andalso [C || {_, C, S, M} <- L, is_integer(S), is_integer(M)] end,
    t:each(call_time, [true, pause, true, restart, false], fun(How) -> R = Time(How), Run(), {R, Spent()} end),
    t:flush().

whose(P) ->
    t:each("bad flags", [[foo], [call | x], foo, [{tracer, foo}], [{tracer}]], fun(F) -> erlang:trace(P, true, F) end),
    t:each("bad whom", [foo, 1, list_to_pid("<0.9999.0>"), "x"], fun(W) -> erlang:trace(W, true, [call]) end),
    t:c("bad how", fun() -> erlang:trace(P, maybe, [call]) end),
    t:c("its own tracer", fun() -> erlang:trace(P, true, [call, {tracer, P}]) end),
    T = spawn(fun() -> receive stop -> ok end end),
    t:c("another tracer", fun() -> erlang:trace(P, true, [call, {tracer, T}]) end),
    erlang:trace(P, false, [all]),
    t:c("another tracer", fun() -> erlang:trace(P, true, [call, {tracer, T}]) end),
    t:c(flags, fun() -> erlang:trace_info(P, flags) end),
    M = monitor(process, T),
    T ! stop,
    receive {'DOWN', M, _, _, _} -> ok end,
    t:c("it has ended", fun() -> {erlang:trace_info(P, flags), erlang:trace_info(P, tracer)} end),
    t:c("a dead tracer", fun() -> {erlang:trace(P, true, [call, {tracer, T}]), erlang:trace_info(P, flags)} end),
    t:c(all, fun() -> 1 = erlang:trace(P, true, [all]), erlang:trace_info(P, flags) end),
    erlang:trace(P, false, [all]),
    t:flush(),
    t:c(off, fun() -> {erlang:trace_info(P, flags), erlang:trace_info(P, tracer)} end),
    t:c(new, fun() -> {erlang:trace(new, true, [call, arity]), erlang:trace_info(new, flags), erlang:trace_info(new_ports, flags)} end),
    t:c(inherited, fun() -> Q = spawn(fun loop/0), F = erlang:trace_info(Q, flags), exit(Q, kill), F end),
    t:c(new, fun() -> {erlang:trace(new, false, [all]), erlang:trace_info(new, flags)} end),
    t:each(info, [{foo, flags}, {P, foo}, {P, 1}, {1, flags}, {{a, b}, traced}, {{a, b, c}, traced}, {on_load, all}], fun({A, B}) -> erlang:trace_info(A, B) end).

%% New code has no breakpoints, unless they are for all new code.
new_code(P) ->
    erlang:trace(P, true, [call]),
    Form = fun(V) ->
        {ok, M, B} = compile:forms([{attribute, 1, module, new_code}, {attribute, 2, export, [{v, 0}]},
                                    {function, 3, v, 0, [{clause, 3, [], [], [{integer, 3, V}]}]}]),
        code:purge(M), {module, M} = code:load_binary(M, "new_code", B), ok end,
    Form(1),
    t:c(set, fun() -> tp({new_code, v, 0}, true) end),
    in(first, P, fun() -> new_code:v() end),
    Form(2),
    t:c(gone, fun() -> erlang:trace_info({new_code, v, 0}, traced) end),
    in(second, P, fun() -> new_code:v() end),
    erlang:trace_pattern({new_code, v, 0}, true, []),
    in(global, P, fun() -> new_code:v() end),
    Form(3),
    in(third, P, fun() -> new_code:v() end),
    t:c(on_load, fun() -> {tp(on_load, true), erlang:trace_info(on_load, traced), erlang:trace_info(on_load, all)} end),
    Form(4),
    in(fourth, P, fun() -> new_code:v() end),
    t:c(on_load, fun() -> {tp(on_load, false), erlang:trace_info(on_load, all)} end),
    erlang:trace(P, false, [all]).

f(X) -> y(X), g(X) + 1.
y(X) -> X.
g(crash) -> error(boo);
g(X) -> h(X).
h(X) when is_integer(X) -> X * 2;
h(X) -> {X}.
thrown(X) -> throw(X), ok.
deep(0) -> exit(bottom);
deep(N) -> [deep(N - 1)].
tail(0) -> done;
tail(N) -> tail(N - 1).
spec(X) -> X.
reverse(A, B) -> R = lists:reverse(A, B), t:id(R).

loop() ->
    receive
        {call, From, F} ->
            catch F(),
            From ! done,
            calls:loop()
    end.
