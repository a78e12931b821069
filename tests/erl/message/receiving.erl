%% Selective receive, time-outs, order of messages, receive markers, large and shared messages.
-module(receiving).
-export([main/0]).

main() ->
    S = self(),
    t:c(order, fun() -> [S ! I || I <- lists:seq(1, 5)], t:flush() end),
    t:c(selective, fun() -> [S ! M || M <- [a, b, c, d]], X = receive c -> c end, [X | t:flush()] end),
    t:c(selective_guard, fun() -> [S ! I || I <- lists:seq(1, 6)], X = [receive I when I rem 2 =:= 0 -> I end || _ <- [1, 2, 3]], {X, t:flush()} end),
    t:c(priority, fun() -> S ! low, S ! high, X = receive high -> h after 0 -> receive low -> l end end, {X, t:flush()} end),
    t:c(timeout_zero, fun() -> receive x -> x after 0 -> none end end),
    t:c(timeout_zero_match, fun() -> S ! x, receive x -> x after 0 -> none end end),
    t:c(timeout, fun() -> T = erlang:monotonic_time(millisecond), R = receive never -> x after 60 -> timeout end, D = erlang:monotonic_time(millisecond) - T, {R, D >= 60, D < 2000} end),
    t:c(timeout_variable, fun() -> receive x -> x after t:id(10) -> timeout end end),
    t:c(timeout_infinity, fun() -> S ! y, receive y -> y after t:id(infinity) -> never end end),
    t:each(timeout_bad, [-1, a, 1.5, 1 bsl 64, 16#100000000], fun(T) -> receive x -> x after T -> t end end),
    t:c(timeout_bad_then, fun() -> S ! first, R = [catch (receive x -> x after T -> t end) || T <- [a, t:id(b)]], {[element(1, X) || X <- R], receive first -> ok after 0 -> lost end} end),
    t:c(timeout_bad_marker, fun() -> S ! first, catch (receive x -> x after t:id(b) -> t end), Ref = make_ref(), S ! Ref, {receive first -> ok after 0 -> lost end, receive Ref -> ok after 0 -> lost end} end),
    t:c(timeout_largest, fun() -> S ! x, receive x -> ok after 16#FFFFFFFF -> no end end),
    t:c(timeout_restart, fun() -> spawn(fun() -> [begin receive after 10 -> ok end, S ! noise end || _ <- [1, 2, 3]] end), R = receive signal -> s after 100 -> timeout end, {R, length(t:flush(50))} end),
    t:c(nested, fun() -> S ! a, S ! b, receive b -> receive a -> ab end end end),
    t:c(receive_in_try, fun() -> S ! {err, x}, try receive {err, E} -> throw(E) end catch throw:T -> {T, t:flush()} end end),
    t:c(after_only, fun() -> receive after 5 -> done end end),
    t:c(marker, fun() -> [S ! {noise, I} || I <- lists:seq(1, 1000)], R = make_ref(), S ! {R, answer}, X = receive {R, A} -> A end, {X, length(t:flush())} end),
    t:c(marker_monitor, fun() -> [S ! {noise, I} || I <- lists:seq(1, 100)], {P, M} = spawn_monitor(fun() -> ok end), X = receive {'DOWN', M, process, P, W} -> W end, {X, length(t:flush())} end),
    t:c(marker_loop, fun() -> Srv = spawn(fun() -> echo() end), [S ! junk || _ <- lists:seq(1, 50)], X = [call(Srv, I) || I <- lists:seq(1, 20)], Srv ! stop, {X, length(t:flush())} end),
    t:c(order_two_senders, fun() -> [spawn(fun() -> [S ! {N, I} || I <- lists:seq(1, 100)] end) || N <- [a, b]], L = [receive M -> M end || _ <- lists:seq(1, 200)], {[I || {a, I} <- L] =:= lists:seq(1, 100), [I || {b, I} <- L] =:= lists:seq(1, 100)} end),
    t:c(order_signals, fun() -> P = spawn(fun() -> process_flag(trap_exit, true), receive go -> ok end, S ! {seen, t:flush(100)} end), receive after 20 -> ok end, P ! one, exit(P, two), P ! three, P ! go, receive {seen, L} -> L end end),
    t:c(large, fun() -> L = lists:seq(1, 200000), spawn(fun() -> S ! {big, L} end), receive {big, X} -> X =:= L end end),
    t:c(deep, fun() -> D = lists:foldl(fun(_, A) -> {A} end, end_, lists:seq(1, 200000)), spawn(fun() -> S ! D end), receive X -> X =:= D end end),
    t:c(shared, fun() -> A = lists:seq(1, 10), B = {A, A, [A | A]}, spawn(fun() -> S ! B end), receive X -> X =:= B end end),
    t:c(every_kind, fun() -> M = [1, 1.5, 1 bsl 100, a, "s", <<"b">>, binary:copy(<<"x">>, 200), <<1:3>>, {t}, #{k => v}, maps:from_list([{I, I} || I <- lists:seq(1, 50)]), self(), make_ref(), fun lists:map/2, [], {}, <<>>], spawn(fun() -> S ! M end), receive X -> X =:= M end end),
    t:c(self_send_large, fun() -> S ! lists:seq(1, 10000), receive L -> lists:sum(L) end end),
    t:c(many, fun() -> [S ! I || I <- lists:seq(1, 20000)], drain(0) end),
    t:c(queue_length, fun() -> [S ! x || _ <- lists:seq(1, 7)], X = process_info(S, message_queue_len), t:flush(), {X, process_info(S, message_queue_len)} end),
    t:c(ping_pong, fun() -> P = spawn(fun() -> echo() end), X = lists:foldl(fun(_, N) -> call(P, N + 1) end, 0, lists:seq(1, 2000)), P ! stop, X end),
    t:c(wait_for_two, fun() -> spawn(fun() -> receive after 20 -> S ! b end end), spawn(fun() -> receive after 40 -> S ! a end end), {receive a -> 1 end, receive b -> 2 end} end),
    t:c(binary_match, fun() -> S ! <<"xyz">>, S ! <<"abc">>, receive <<"a", R/binary>> -> {R, t:flush()} end end),
    t:c(map_match, fun() -> S ! #{k => 2}, S ! #{k => 1}, K = t:id(1), receive #{k := K} = M -> {M, t:flush()} end end),
    t:c(off_heap, fun() -> process_flag(message_queue_data, off_heap), [S ! {I} || I <- lists:seq(1, 100)], process_flag(message_queue_data, on_heap), length(t:flush()) end).

echo() -> receive {From, R, X} -> From ! {R, X}, echo(); stop -> ok end.
call(P, X) -> R = make_ref(), P ! {self(), R, X}, receive {R, Y} -> Y end.
drain(N) -> receive _ -> drain(N + 1) after 0 -> N end.
