%% Timers: send_after, start_timer, cancel, read, absolute times, the timer module, clocks.
-module(timers).
-export([main/0]).

main() ->
    S = self(),
    t:c(send_after, fun() -> R = erlang:send_after(10, S, hello), {is_reference(R), t:flush(200)} end),
    t:c(start_timer, fun() -> R = erlang:start_timer(10, S, hello), receive {timeout, R, M} -> M after 1000 -> none end end),
    t:c(zero, fun() -> erlang:send_after(0, S, now_), t:flush(100) end),
    t:c(order, fun() -> [erlang:send_after(T, S, T) || T <- [90, 30, 60]], [receive M -> M end || _ <- [1, 2, 3]] end),
    t:c(cancel, fun() -> R = erlang:send_after(100000, S, x), L = erlang:cancel_timer(R), {L > 90000, L =< 100000, erlang:cancel_timer(R), t:flush(10)} end),
    t:c(cancel_fired, fun() -> R = erlang:send_after(5, S, x), receive x -> ok end, erlang:cancel_timer(R) end),
    t:c(cancel_info_false, fun() -> R = erlang:send_after(100000, S, x), {erlang:cancel_timer(R, [{info, false}]), t:flush(10)} end),
    t:c(cancel_async, fun() -> R = erlang:send_after(100000, S, x), X = erlang:cancel_timer(R, [{async, true}]), receive {cancel_timer, R, L} -> {X, L > 90000} after 1000 -> {X, none} end end),
    t:c(cancel_bad, fun() -> erlang:cancel_timer(t:id(x)) end),
    t:c(cancel_other_ref, fun() -> erlang:cancel_timer(make_ref()) end),
    t:c(read, fun() -> R = erlang:send_after(100000, S, x), L = erlang:read_timer(R), erlang:cancel_timer(R), {L > 90000, erlang:read_timer(R)} end),
    t:c(read_async, fun() -> R = erlang:send_after(100000, S, x), ok = erlang:read_timer(R, [{async, true}]), receive {read_timer, R, L} -> L > 90000 after 1000 -> none end end),
    t:c(absolute, fun() -> T = erlang:monotonic_time(millisecond) + 20, erlang:send_after(T, S, abs, [{abs, true}]), X = t:flush(300), {X, erlang:monotonic_time(millisecond) >= T} end),
    t:c(past, fun() -> erlang:send_after(erlang:monotonic_time(millisecond) - 1000, S, past, [{abs, true}]), t:flush(100) end),
    t:each(bad_time, [-1, a, 1.0, 1 bsl 70], fun(T) -> erlang:send_after(T, S, x) end),
    limits(S),
    t:c(bad_dest, fun() -> erlang:send_after(10, t:id("x"), y) end),
    t:c(bad_option, fun() -> erlang:send_after(10, S, x, [{abs, maybe_}]) end),
    t:c(to_name, fun() -> register(tm, S), erlang:send_after(10, tm, named), X = t:flush(200), unregister(tm), X end),
    t:c(to_missing_name, fun() -> is_reference(erlang:send_after(1, nobody_at_all, x)) end),
    t:c(to_dead, fun() -> P = spawn(fun() -> ok end), R = erlang:send_after(50, P, x), receive after 80 -> ok end, erlang:read_timer(R) end),
    t:c(dies_with_receiver, fun() -> {P, M} = spawn_monitor(fun() -> receive stop -> ok end end), R = erlang:start_timer(100000, P, x), P ! stop, receive {'DOWN', M, _, _, _} -> ok end, receive after 50 -> ok end, erlang:read_timer(R) end),
    t:c(far, fun() -> R = erlang:send_after(16#FFFFFFFF * 1000, S, x), is_integer(erlang:cancel_timer(R)) end),
    t:c(many, fun() -> [erlang:send_after(I rem 50, S, I) || I <- lists:seq(1, 2000)], lists:sum([receive I -> I end || _ <- lists:seq(1, 2000)]) end),
    t:c(many_cancelled, fun() -> Rs = [erlang:start_timer(60000, S, I) || I <- lists:seq(1, 2000)], length([x || R <- Rs, is_integer(erlang:cancel_timer(R))]) end),
    t:c(module_apply, fun() -> {ok, _} = timer:apply_after(10, erlang, send, [S, applied]), t:flush(300) end),
    t:c(module_send, fun() -> {ok, _} = timer:send_after(10, sent), t:flush(300) end),
    t:c(module_interval, fun() -> {ok, T} = timer:send_interval(10, tick), [receive tick -> tick end || _ <- [1, 2, 3]], {timer:cancel(T), timer:sleep(1)} end),
    t:flush(50),
    t:c(module_units, fun() -> {timer:seconds(2), timer:minutes(1), timer:hours(1), timer:hms(1, 2, 3)} end),
    t:c(tc, fun() -> {T, V} = timer:tc(fun() -> x end), {is_integer(T), V} end),
    t:c(monotonic, fun() -> A = erlang:monotonic_time(), B = erlang:monotonic_time(), B >= A end),
    t:c(units, fun() -> [erlang:convert_time_unit(1500, A, B) || {A, B} <- [{millisecond, second}, {second, millisecond}, {nanosecond, microsecond}, {native, nanosecond}, {1000, 10}, {perf_counter, native}]] end),
    t:c(negative_units, fun() -> erlang:convert_time_unit(-1, millisecond, second) end),
    t:c(system_time, fun() -> abs(erlang:system_time(second) - os:system_time(second)) < 2 end),
    t:c(offset, fun() -> abs(erlang:monotonic_time(second) + erlang:time_offset(second) - erlang:system_time(second)) < 2 end),
    t:c(unique, fun() -> A = erlang:unique_integer(), B = erlang:unique_integer([positive]), C = erlang:unique_integer([monotonic]), D = erlang:unique_integer([monotonic]), {A =/= B, B > 0, D > C} end),
    t:c(timestamp, fun() -> {M, Sec, U} = os:timestamp(), {M > 1000, Sec < 1000000, U < 1000000} end),
    t:c(now_order, fun() -> A = erlang:now(), B = erlang:now(), B > A end),
    t:c(timeofday_types, fun() -> {{Y, _, _}, {_, _, _}} = calendar:universal_time(), {Y > 2000, tuple_size(date()), tuple_size(time())} end),
    t:c(calendar, fun() -> {calendar:day_of_the_week(2024, 2, 29), calendar:datetime_to_gregorian_seconds({{1970, 1, 1}, {0, 0, 0}}), calendar:gregorian_seconds_to_datetime(63876543210), calendar:iso_week_number({2021, 1, 3}), calendar:is_leap_year(1900), calendar:last_day_of_the_month(2023, 2), calendar:seconds_to_daystime(100000), calendar:time_difference({{2000, 1, 1}, {0, 0, 0}}, {{2000, 1, 2}, {1, 0, 0}})} end),
    t:c(rfc3339, fun() -> {calendar:system_time_to_rfc3339(1700000000, [{offset, "Z"}]), calendar:rfc3339_to_system_time("2018-02-01T16:17:58.123+01:00", [{unit, millisecond}])} end),
    t:c(posix, fun() -> {erlang:posixtime_to_universaltime(1234567890), erlang:universaltime_to_posixtime({{2009, 2, 13}, {23, 31, 30}}), erlang:universaltime_to_localtime({{2020, 6, 1}, {12, 0, 0}}), erlang:localtime_to_universaltime({{2020, 6, 1}, {12, 0, 0}})} end),
    t:c(posix_bad, fun() -> erlang:universaltime_to_posixtime(t:id({{2009, 13, 13}, {23, 31, 30}})) end).

%% The first and the last time, and times beside them.
limits(S) ->
    [Start, End] = [erlang:convert_time_unit(erlang:system_info(I), native, millisecond) || I <- [start_time, end_time]],
    Ends = [{start, Start}, {'end', End}, {zero, 0}, {word, 1 bsl 32}, {small, 1 bsl 59}, {'64 bits', 1 bsl 64}, {minus, -1000000000000}, {'minus 64 bits', -(1 bsl 64)}],
    %% One that is due may have gone off before it is cancelled, on another thread; then its message is there.
    Gone = fun() -> receive limit -> true; {timeout, _, limit} -> true after 5000 -> false end end,
    Try = fun(F) -> try erlang:cancel_timer(F()) of Left -> is_integer(Left) orelse Gone() catch error:Reason -> Reason end end,
    [t:c(io_lib:format("absolute ~s ~w", [Name, By]), fun() ->
        [Try(fun() -> erlang:Set(Time + By, S, limit, [{abs, true}]) end) || Set <- [send_after, start_timer]] ++ [length(t:flush(20))]
     end) || {Name, Time} <- Ends, By <- [-1000, -1, 0, 1, 100000]],
    Now = erlang:monotonic_time(millisecond),
    [t:c(io_lib:format("relative ~s ~w", [Name, By]), fun() ->
        [Try(fun() -> erlang:Set(Time - Now + By, S, limit) end) || Set <- [send_after, start_timer]]
     end) || {Name, Time} <- [{'end', End}, {'64 bits', 1 bsl 64}], By <- [-1000000, 1000000]],
    t:each('after', [(1 bsl 32) - 1, 1 bsl 32, 1 bsl 59, 1 bsl 64, -1, -(1 bsl 64), 1.0, a, infinity, []], fun(T) ->
        {P, M} = spawn_monitor(fun() -> try receive after T -> over end of R -> exit(R) catch error:Reason -> exit(Reason) end end),
        receive {'DOWN', M, _, _, Reason} -> Reason after 30 -> exit(P, kill), waits end
    end).
