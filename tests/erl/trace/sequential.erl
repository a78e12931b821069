%% Sequential tracing: tokens and the messages to the system tracer; the system monitor.
-module(sequential).
-export([main/0, echo/0, sums/2]).

main() ->
    Me = self(),
    Tracer = spawn(fun() -> tracer(Me, []) end),
    t:c("no tracer", fun() -> seq_trace:get_system_tracer() end),
    t:each("set tracer", [Tracer, foo, list_to_pid("<0.9999.0>"), false, Tracer], fun(T) -> seq_trace:set_system_tracer(T) end),
    t:c("it is set", fun() -> seq_trace:get_system_tracer() =:= Tracer end),
    t:each("no token", [send, 'receive', print, timestamp, monotonic_timestamp, strict_monotonic_timestamp, label, serial, foo],
           fun(K) -> seq_trace:get_token(K) end),
    t:c("no token", fun() -> {seq_trace:get_token(), process_info(self(), sequential_trace_token), erlang:seq_trace_print(x), erlang:seq_trace_print(1, x)} end),
    alone("new token", fun() -> [seq_trace:set_token(label, 17), seq_trace:get_token(), seq_trace:get_token(label), seq_trace:get_token(serial)] end),
    alone(flags, fun() -> [{F, seq_trace:set_token(F, true), seq_trace:set_token(F, true), element(1, seq_trace:get_token())}
                           || F <- [send, 'receive', print, timestamp, strict_monotonic_timestamp, monotonic_timestamp]] end),
    alone("flags off", fun() -> seq_trace:set_token(send, true), [seq_trace:set_token(send, false), seq_trace:get_token()] end),
    alone(serial, fun() -> [seq_trace:set_token(serial, {10, 20}), seq_trace:get_token(), seq_trace:get_token(serial), seq_trace:set_token(serial, {1, 2})] end),
    alone(whole, fun() -> [seq_trace:set_token({1, {a, label}, 5, self(), 3}), seq_trace:get_token(), seq_trace:set_token([]), seq_trace:get_token(), seq_trace:set_token([])] end),
    t:each(bad, [{send, foo}, {foo, foo}, {serial, foo}, {serial, {a, 1}}, {sequential_trace_token, {1, 2, 3, 4}}, {1, 2}],
           fun({K, V}) -> erlang:seq_trace(K, V) end),
    traced(print, Tracer, fun() ->
        [seq_trace:set_token(label, 17), seq_trace:set_token(print, true), seq_trace:print(hello),
         erlang:seq_trace_print(17, yes), erlang:seq_trace_print(18, no), seq_trace:get_token()] end),
    E = spawn(fun echo/0),
    traced("send and receive", Tracer, fun() ->
        seq_trace:set_token(label, a), seq_trace:set_token(send, true), seq_trace:set_token('receive', true),
        E ! {self(), hello},
        receive {echo, T} -> {T, seq_trace:get_token()} end end),
    traced("a longer way", Tracer, fun() ->
        seq_trace:set_token(label, a), seq_trace:set_token(send, true),
        [begin E ! {self(), N}, receive {echo, T} -> T end end || N <- [1, 2, 3]] end),
    traced("only received", Tracer, fun() ->
        seq_trace:set_token(label, b), seq_trace:set_token('receive', true),
        E ! {self(), hello}, receive {echo, T} -> T end end),
    traced("by name and alias", Tracer, fun() ->
        register(sequential_e, E), A = alias(),
        seq_trace:set_token(label, c), seq_trace:set_token(send, true),
        sequential_e ! {A, hello}, receive {echo, T} -> unregister(sequential_e), T end end),
    traced("a message without a token", Tracer, fun() ->
        seq_trace:set_token(label, d), S = self(), P = spawn(fun() -> receive go -> seq_trace:set_token([]), S ! x end end),
        P ! go, receive x -> seq_trace:get_token() end end),
    traced("timers leave it", Tracer, fun() ->
        seq_trace:set_token(label, e), erlang:send_after(1, self(), tick), receive tick -> seq_trace:get_token(label) end end),
    traced(spawn, Tracer, fun() ->
        seq_trace:set_token(label, f), seq_trace:set_token(send, true), seq_trace:set_token('receive', true),
        S = self(), spawn(fun() -> S ! seq_trace:get_token() end),
        receive T -> {T, seq_trace:get_token()} end end),
    traced("exit signals", Tracer, fun() ->
        process_flag(trap_exit, true),
        seq_trace:set_token(label, g), seq_trace:set_token(send, true), seq_trace:set_token('receive', true),
        P = spawn_link(fun() -> exit(foo) end),
        receive {'EXIT', P, foo} -> seq_trace:get_token() end end),
    traced("monitors leave it", Tracer, fun() ->
        seq_trace:set_token(label, h),
        {P, R} = spawn_monitor(fun() -> seq_trace:set_token([]) end),
        receive {'DOWN', R, _, P, _} -> seq_trace:get_token(label) end end),
    traced(times, Tracer, fun() ->
        seq_trace:set_token(label, i), seq_trace:set_token(send, true),
        [begin seq_trace:set_token(F, true), self() ! x, receive x -> seq_trace:set_token(F, false) end end
         || F <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]] end),
    alone(reset, fun() -> seq_trace:set_token(label, 1), self() ! x, [seq_trace:reset_trace(), seq_trace:get_token(), receive x -> seq_trace:get_token() end] end),
    seq_trace:set_system_tracer(false),
    alone("counted without a tracer too", fun() -> seq_trace:set_token(label, 1), self() ! x, receive x -> seq_trace:get_token() end end),
    monitor_system().

echo() -> receive {From, _} -> From ! {echo, seq_trace:get_token()}, echo() end.

%% In a process of its own, whose numbers begin at 0; its answer is given without a token.
alone(Name, Fun) ->
    {P, R} = spawn_monitor(fun() -> V = Fun(), seq_trace:set_token([]), exit({value, V}) end),
    receive {'DOWN', R, process, P, {value, V}} -> t:p(Name, V); {'DOWN', R, process, P, Why} -> t:p(Name, {crashed, Why}) end.

traced(Name, Tracer, Fun) ->
    alone(Name, Fun),
    timer:sleep(20),
    Tracer ! {tell, self()},
    receive {told, L} -> [t:p(Name, untimed(M)) || M <- L] end.

untimed({seq_trace, L, I, {_, _, _}}) -> {seq_trace, L, I, triple};
untimed({seq_trace, L, I, {_, _}}) -> {seq_trace, L, I, pair};
untimed({seq_trace, L, I, N}) when is_integer(N) -> {seq_trace, L, I, number};
untimed(M) -> M.

tracer(To, L) ->
    receive
        {tell, From} -> From ! {told, lists:reverse(L)}, tracer(To, []);
        M -> tracer(To, [M | L])
    end.

monitor_system() ->
    erlang:system_monitor(self(), [{large_heap, 20000}]),
    P = spawn(fun() -> sums(lists:seq(1, 300000), 0) end),
    t:c(large_heap, fun() -> receive {monitor, P, large_heap, I} -> [K || {K, V} <- I, is_integer(V)] after 5000 -> none end end),
    erlang:system_monitor(self(), [{long_schedule, 1}]),
    Q = spawn(fun() -> compared(lists:seq(1, 300000), lists:seq(1, 300000), 100) end),
    t:c(long_schedule, fun() -> receive {monitor, Q, long_schedule, J} -> [K || {K, _} <- J] after 5000 -> none end end),
    erlang:system_monitor(undefined),
    t:flush().

%% A comparison is not interrupted, and counts as little as any: a slice of tens of milliseconds.
compared(_, _, 0) -> ok;
compared(L, M, N) -> true = L =:= M, compared(L, M, N - 1).

sums([], N) -> N;
sums([H | T], N) -> sums(T, H + N).
