%% Messages that are built right before they are sent: shapes, parts of each kind, addresses, errors, tracing, results that are used.
-module(built).
-export([main/0, loop/3]).

main() ->
    S = self(),
    %% Else what a process sends to itself would not be made a message of its own.
    on_heap = process_flag(message_queue_data, off_heap),
    Big = t:id(1 bsl 100),
    Bin = binary:copy(<<"part">>, 50),
    Sub = binary:part(Bin, 3, 90),
    Few = binary:part(Bin, 3, 9),
    Heap = t:id(<<"short">>),
    Float = t:id(1.0e300),
    Fun = fun(X) -> {X, Big} end,
    List = lists:seq(1, 5),
    Map = maps:from_list([{I, {I}} || I <- lists:seq(1, 40)]),
    Ref = make_ref(),
    t:c(flat, fun() -> S ! {a, 1, []}, A = t:id(x), S ! {A, A, A}, S ! [A], S ! [A | A], t:flush() end),
    t:c(nested, fun() -> A = t:id(1), S ! {A, {A, {A, [A, {A} | A]}}, [[A], [[A]]]}, t:flush() end),
    t:c(strings, fun() -> A = t:id($a), S ! [A, $b, A, [A | "tail"]], S ! {"literal", [{A, <<"literal">>}], #{k => [1.5]}}, t:flush() end),
    t:c(repeated, fun() -> A = {t:id(1)}, B = {A, A}, S ! {A, [A, A | B], B}, [M] = t:flush(), {M, erts_debug:flat_size(M)} end),
    t:each(parts, [Big, -Big, Bin, Sub, Few, Heap, <<1:7>>, Float, 0.0, Fun, fun lists:map/2, List, Map, #{a => Big}, S, {}, "", <<>>], fun(P) -> S ! {part, P}, S ! [P, {P, [P | P]}], same(P, t:flush()) end),
    t:c(references, fun() -> S ! {Ref, [Ref]}, t:flush() =:= [{Ref, [Ref]}] end),
    t:c(counts, fun() -> G = binary:copy(<<"counted">>, 30), S ! {G, [G, {G}]}, [{X, [Y, {Z}]}] = t:flush(), {X =:= Y, Y =:= Z, binary:referenced_byte_size(X)} end),
    t:c(appended, fun() -> A = <<(t:id(Bin))/binary, 1>>, S ! {A, x}, B = <<A/binary, 2>>, C = <<A/binary, 3>>, S ! {B, C}, [{A1, x}, {B1, C1}] = t:flush(), {A1 =:= A, binary:last(B1), binary:last(C1)} end),
    t:c(matched, fun() -> <<_:24, Rest/binary>> = t:id(Bin), S ! {Rest, t:id(1)}, <<"ba", More/binary>> = t:id(<<"bab">>), S ! {More, Rest}, length(t:flush()) end),
    t:c(fun_inside, fun() -> A = t:id(7), S ! {A, fun() -> {A, Bin} end, [A]}, [{7, F, [7]}] = t:flush(), F() =:= {7, Bin} end),
    t:c(map_inside, fun() -> A = t:id(7), S ! {A, #{a => {A}, A => [A]}, [A]}, S ! {A, Map#{a => {A}}}, [M, {7, N}] = t:flush(), {M, map_size(N)} end),
    t:c(computed, fun() -> A = t:id(1 bsl 59), S ! {A + A, [A * A], {A - 1.5, element(1, {A})}}, t:flush() end),
    t:c(between, fun() -> {A, B} = t:id({S, [1, 2]}), M = {x, B}, N = {M, hd(B)}, A ! {tl(B), N}, t:flush() end),
    t:c(of_many_words, fun() -> A = t:id(a), B = {A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A,A}, S ! {b, [A, {A, B}, A | B], B}, t:flush() end),
    t:c(large_parts, fun() -> L = lists:seq(1, 1000), S ! {a, L, {L, Map}}, S ! {a, t:id(1), L}, [{a, A, {B, C}}, {a, 1, D}] = t:flush(), {A =:= L, B =:= L, C =:= Map, D =:= L} end),
    t:c(sent_on, fun() -> L = lists:seq(1, 1000), S ! {first, L}, receive {first, L1} -> S ! {second, [L1]} end, receive {second, [L2]} -> S ! {third, L2, {L2}} end, [{third, A, {A}}] = t:flush(), A =:= L end),
    t:c(result, fun() -> A = t:id(1), M = (S ! {A, [A]}), N = [S ! {M, A}], {M, N, t:flush()} end),
    t:c(result_returned, fun() -> A = t:id(1), {returned(S, A), t:flush()} end),
    t:c(kept, fun() -> A = t:id(1), M = {A, [A]}, S ! {kept, M}, S ! M, {M, t:flush()} end),
    t:c(taken_apart, fun() -> A = {t:id(1), [2]}, S ! {A, x}, {B, C} = A, S ! {C, [B]}, t:flush() end),
    t:c(send_2, fun() -> A = t:id(1), {erlang:send(S, {A, [A]}), erlang:'!'(S, {A}), t:flush()} end),
    t:c(send_2_alone, fun() -> A = t:id(1), erlang:send(S, {A, [A]}), erlang:'!'(S, {A, A}), t:flush() end),
    t:each(send_3, [[], [noconnect], [nosuspend], [nosuspend, noconnect], [other], [noconnect | noconnect], x, [[]]], fun(O) -> try erlang:send(S, {O, [x]}, O) of R -> {R, t:flush()} catch C:E:T -> {C, E, arguments(T), t:flush()} end end),
    t:c(send_3_last, fun() -> {sent_with_options(S, t:id(1)), t:flush()} end),
    t:c(dead, fun() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> ok end, A = t:id(1), P ! {A, [A], Bin}, {P ! {A, [A]}, t:flush()} end),
    t:c(named, fun() -> register(built, S), A = t:id(1), built ! {A, [A]}, {built, node()} ! {A, {A}}, unregister(built), t:flush() end),
    t:c(alias, fun() -> A = alias(), B = t:id(1), A ! {B, [B]}, M = receive Any -> Any end, unalias(A), A ! {B, lost}, {M, t:flush()} end),
    t:c(port, fun() -> P = open_port({spawn, "cat"}, [binary]), B = t:id(<<"to a port">>), P ! {self(), {command, [B, "!"]}}, R = receive {P, {data, D}} -> D end, P ! {self(), close}, receive {P, closed} -> R end end),
    t:each(bad, [none, 5, {none}, "x", Float, <<>>], fun(To) -> try To ! {sent, [To]} of X -> {sent, X} catch C:E:T -> {C, E, arguments(T), t:flush()} end end),
    t:each(bad_send, [none, 5, {none}], fun(To) -> try erlang:send(To, {sent, [To]}) of X -> {sent, X} catch C:E:T -> {C, E, arguments(T)} end end),
    t:c(bad_caught, fun() -> A = t:id(1), {'EXIT', {badarg, T}} = (catch t:id(none) ! {A, [A]}), S ! {A, after_it}, {arguments(T), t:flush()} end),
    t:c(exiting, fun() -> P = spawn(fun() -> receive x -> ok end end), exit(P, kill), A = t:id(1), P ! {A, [A]}, P ! {A, Bin}, t:flush() end),
    t:c(traced, fun() -> traced(S) end),
    t:c(traced_receiver, fun() -> traced_receiver(S) end),
    t:c(saved_calls, fun() -> process_flag(save_calls, 5), A = t:id(1), S ! {A, [A]}, {last_calls, L} = process_info(S, last_calls), process_flag(save_calls, 0), {lists:member(send, L), t:flush()} end),
    t:c(token, fun() -> seq_trace:set_token(label, 5), A = t:id(1), S ! {A, [A]}, R = receive {1, _} = M -> {M, seq_trace:get_token(label)} end, seq_trace:set_token([]), R end),
    t:c(small_heap, fun() -> on_small_heaps() end),
    t:c(off_heap, fun() -> process_flag(message_queue_data, off_heap), A = t:id(1), [S ! {I, [A, I], Bin} || I <- lists:seq(1, 100)], process_flag(message_queue_data, on_heap), length(t:flush()) end),
    t:c(ping_pong, fun() -> P = spawn(fun() -> echo() end), X = lists:foldl(fun(_, N) -> call(P, N + 1) end, 0, lists:seq(1, 2000)), P ! stop, X end).

same(P, [{part, P}, [P, {P, [P | P]}]]) -> if is_function(P) -> is_function(P); true -> P end;
same(_, Other) -> {different, Other}.

arguments([{M, F, A, _} | _]) -> {M, F, A}.

returned(S, A) -> S ! {A, [A], returned}.

sent_with_options(S, A) -> erlang:send(S, {A, [A]}, [noconnect]).

traced(S) ->
    P = spawn(fun() -> receive go -> A = t:id(1), S ! {A, [A], sent} end end),
    erlang:trace(P, true, [send]),
    P ! go,
    R = receive {1, _, _} = M -> M end,
    receive {trace, P, send, X, S} -> {R, X} after 5000 -> {R, untraced} end.

traced_receiver(S) ->
    P = spawn(fun() -> receive {_, L, _} -> S ! {got, L} end end),
    erlang:trace(P, true, ['receive']),
    A = t:id(1),
    P ! {A, [A], sent},
    receive {got, _} -> ok end,
    receive {trace, P, 'receive', X} -> X after 5000 -> untraced end.

%% Messages at each distance from a collection: what was built is gone with its message, and all else is there.
on_small_heaps() ->
    S = self(),
    Sizes = lists:seq(1, 300),
    [spawn_opt(?MODULE, loop, [S, N, lists:seq(1, N)], [{min_heap_size, 50}]) || N <- Sizes],
    lists:sum([receive {done, N, Left, {N, [N | Left], Text}} when length(Left) =:= N, Text =:= "text" -> length(Left) end || N <- Sizes]).

loop(S, N, L) -> loop(S, N, L, 200, {N, [N | L], t:id("text")}).

loop(S, N, L, 0, Kept) -> S ! {done, N, L, Kept};
loop(S, N, L, Turns, Kept) ->
    self() ! {turn, [Turns, {N}], Turns},
    Garbage = {Turns, [N]},
    receive {turn, [T, {N}], Turns} when element(1, Garbage) =:= T -> loop(S, N, L, Turns - 1, Kept) end.

echo() -> receive {From, R, X} -> From ! {R, X}, echo(); stop -> ok end.
call(P, X) -> R = make_ref(), P ! {self(), R, X}, receive {R, Y} -> Y end.
