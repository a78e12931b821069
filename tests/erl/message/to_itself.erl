%% What a process sends to itself: not copied, in order with all else, seen by collections, tracing and process_info.
-module(to_itself).
-export([main/0]).

main() ->
    S = self(),
    Big = lists:seq(1, 1000),
    Bin = binary:copy(<<"part">>, 50),
    %% (A message that comes behind a signal may be copied.)
    t:c(same, fun() -> T = t:id({Big, Big}), often(fun() -> S ! T, receive {A, B} = M -> {erts_debug:same(M, T), erts_debug:same(A, B)} end end) end),
    t:c(built, fun() -> T = t:id(Big), often(fun() -> S ! {x, T, [T]}, receive {x, A, [B]} -> {erts_debug:same(A, T), erts_debug:same(A, B)} end end) end),
    t:each(terms, [x, 1 bsl 100, 1.5, Bin, binary:part(Bin, 3, 90), <<1:7>>, fun() -> Big end, #{a => Big, Bin => b}, make_ref(), {}, "", <<>>],
        fun(P) -> S ! P, S ! {P, [P]}, receive A -> receive {B, [C]} -> {A =:= P, B =:= P, C =:= P} end end end),
    t:c(order, fun() ->
        register(itself, S),
        Alias = alias(),
        S ! 1, itself ! Big, Alias ! 3, S ! {4, Big}, {itself, node()} ! 5, erlang:send(S, 6), erlang:send(S, 7, [noconnect, nosuspend]), Alias ! 8, S ! 9,
        unregister(itself),
        Got = [short(M) || M <- t:flush()],
        unalias(Alias),
        Got
    end),
    t:c(many, fun() -> [S ! {N, Big} || N <- lists:seq(1, 100)], [N || {N, B} <- t:flush(), B =:= Big] =:= lists:seq(1, 100) end),
    t:c(selective, fun() ->
        [S ! {N, lists:seq(1, N)} || N <- lists:seq(1, 40)],
        Odd = [receive {N, L} -> length(L) end || N <- lists:seq(39, 1, -2)],
        {Odd, [N || {N, _} <- t:flush()]}
    end),
    t:c(collected, fun() ->
        [S ! {N, lists:seq(N, N + 50), Bin, <<Bin/binary, N>>} || N <- lists:seq(1, 10)],
        garbage_collect(),
        lists:foreach(fun(N) -> lists:seq(1, 1000 * N) end, lists:seq(1, 50)),
        receive {5, L5, B, C5} -> {hd(L5), length(L5), byte_size(B), binary:last(C5)} end
    end),
    t:c(left, fun() -> [{N, hd(L), length(L), byte_size(B), binary:last(C)} || {N, L, B, C} <- t:flush()] end),
    t:c(behind_another, fun() ->
        Other = spawn(fun() -> receive go -> S ! {other, Big} end end),
        Monitor = monitor(process, Other),
        Other ! go,
        receive {'DOWN', Monitor, _, _, R} -> S ! {own, Big, R} end,
        [element(1, M) || M <- t:flush()]
    end),
    t:c(timeout, fun() -> S ! Big, receive x -> x after 0 -> none end, receive [H | _] -> H after 0 -> late end end),
    t:c(information, fun() ->
        S ! {1, Bin}, S ! [two],
        I = [process_info(S, Item) || Item <- [message_queue_len, messages]],
        {I, t:flush() =:= [{1, Bin}, [two]]}
    end),
    t:c(asked_by_another, fun() ->
        S ! {1, Big}, S ! [two],
        spawn(fun() -> S ! {info, process_info(S, message_queue_len), [short(M) || M <- element(2, process_info(S, messages))]} end),
        receive {info, Len, Messages} -> {Len, Messages, length(t:flush())} end
    end),
    t:c(off_heap, fun() -> process_flag(message_queue_data, off_heap), S ! {Big}, process_flag(message_queue_data, on_heap), S ! [x], [short(M) || M <- t:flush()] end),
    t:c(traced, fun() ->
        Tracer = spawn(fun() -> tracer([]) end),
        erlang:trace(S, true, [send, 'receive', {tracer, Tracer}]),
        S ! {a, 1}, S ! b,
        receive b -> ok end,
        erlang:trace(S, false, [send, 'receive']),
        t:flush(),
        Tracer ! {give, S},
        receive {traced, Events} -> [case E of {trace, S, send, M, S} -> {send, M}; {trace, S, 'receive', M} -> {got, M} end || E <- Events] end
    end),
    t:c(token, fun() ->
        seq_trace:set_token(label, 17), S ! {t, Big}, seq_trace:set_token([]), S ! u,
        A = receive {t, _} -> seq_trace:get_token(label) end,
        seq_trace:set_token([]),
        B = receive u -> seq_trace:get_token(label) end,
        {A, B}
    end),
    t:c(limit, fun() ->
        {P, M} = spawn_opt(fun() -> keep(0) end, [monitor, {max_heap_size, #{size => 20000, kill => true, error_logger => false}}]),
        receive {'DOWN', M, process, P, Reason} -> Reason end
    end),
    t:c(hibernated, fun() ->
        {P, M} = spawn_monitor(fun() -> self() ! {a, Big}, self() ! Bin, erlang:hibernate(erlang, apply, [fun() -> exit([short(X) || X <- t:flush()]) end, []]) end),
        receive {'DOWN', M, process, P, Reason} -> Reason end
    end).

%% Has it been so in one of many turns?
often(F) -> lists:member({true, true}, [F() || _ <- lists:seq(1, 100)]).

keep(N) -> self() ! lists:seq(N, N + 100), keep(N + 1).

short(L) when is_list(L) -> {list, length(L)};
short(B) when is_binary(B) -> {binary, byte_size(B)};
short(T) when is_tuple(T) -> element(1, T);
short(T) -> T.

tracer(Events) ->
    receive
        {give, To} -> To ! {traced, lists:reverse(Events)};
        Event -> tracer([Event | Events])
    end.
