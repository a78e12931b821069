# Time warp modes: what the VM says of them, what finalizing the offset does, and who is told.
run() { "$ERL" "$@" -noshell -boot no_dot_erlang -pa "$TEST_EBIN" </dev/null 2>&1 | grep -a . | cut -c1-150 | head -n 12; }
say='P = fun(What, X) -> io:format("~0p ~0p~n", [What, X]) end, I = fun(What) -> P(What, erlang:system_info(What)) end, '
asks='[I(What) || What <- [time_warp_mode, time_offset, tolerant_timeofday, start_time]],
[begin {F, L} = {What, erlang:system_info(What)}, P(F, [{K, V} || {K, V} <- L, K =/= time]) end || What <- [os_monotonic_time_source, os_system_time_source]],
halt().'
finalize='M1 = monitor(time_offset, clock_service),
M2 = monitor(time_offset, clock_service, [{tag, {my, "tag"}}]),
M3 = monitor(time_offset, clock_service),
demonitor(M3),
P(monitors, process_info(self(), monitors)),
P(before, erlang:system_flag(time_offset, finalize)),
T = fun() -> receive {How, M, Kind, Who, O} -> {How, M =:= M1 orelse M =:= M2, Kind, Who, is_integer(O) andalso O =:= erlang:time_offset()} after 100 -> nothing end end,
P(told, [T(), T(), T()]),
P(again, erlang:system_flag(time_offset, finalize)),
P(told, T()),
I(time_offset), I(tolerant_timeofday),
P(close, abs(erlang:system_time(millisecond) - os:system_time(millisecond)) < 1000),
P(over, {demonitor(M1, [info]), demonitor(M2, [info]), demonitor(M3, [info]), process_info(self(), monitors)}),
halt().'
for mode in no_time_warp single_time_warp multi_time_warp; do
    run +C "$mode" -eval "$say$asks"
    run +C "$mode" -eval "$say$finalize"
done
run +C often -eval 'halt().' | head -n 1
run +C no_time_warp +C single_time_warp -eval "$say I(time_warp_mode), halt()."
run +c false -eval "$say I(time_correction), I(tolerant_timeofday), halt()."
run -eval "$say P(bad, catch erlang:system_flag(time_offset, never)), halt()." | sed 's/,\[{.*//' | tail -n 1
