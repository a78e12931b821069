# How many schedulers there are and how many run: flags, the program two_schedulers, rest and halting.
state() { "$ERL" -noshell -boot no_dot_erlang "$@" -eval 'io:format("~0p~n", [erlang:system_info(all_schedulers_state)]), halt().' </dev/null 2>&1 | sed -n 1p; }
for flags in "+S 4:2 +SDcpu 4" "+S 4:4 +SDcpu 3:2" "+S 3:3 +SDcpu 2:2" "+S 2:2 +SDcpu 4:4" "+SDcpu 4:3 +S 4:2" "+S 1:1 +SDcpu 1:1 +SDio 3" "+S 1:2" "+S 2:2 +SDcpu 1:2" "+S 2:2 +sbwt none +sbwtdcpu short +sbwtdio very_long"; do
    # shellcheck disable=SC2086
    state $flags | sed "s/^/$flags: /"
done
"$ERL" +S 2:2 +SDcpu 2:2 -noshell -boot no_dot_erlang -pa "$TEST_EBIN" -s t main two_schedulers </dev/null
echo "status $?"
"$ERL" +S 1:1 -noshell -boot no_dot_erlang -eval '
    io:format("~0p~n", [[erlang:system_info(multi_scheduling), erlang:system_flag(multi_scheduling, block), erlang:system_info(multi_scheduling_blockers),
        erlang:system_flag(multi_scheduling, block_normal), erlang:system_info(normal_multi_scheduling_blockers),
        erlang:system_flag(multi_scheduling, unblock), erlang:system_flag(multi_scheduling, unblock_normal)]]), halt().' </dev/null
# One processor: as many schedulers as the machine has, one of them online.
one() { taskset -c 0 "$ERL" -noshell -boot no_dot_erlang -eval 'io:format("~0p~n", [[erlang:system_info(I) || I <- [schedulers_online, dirty_cpu_schedulers_online, logical_processors_available]]]), halt().' </dev/null; }
one
# At rest, with a timer each 10 ms: less than a tenth of a processor in two seconds.
"$ERL" +S 2:2 -noshell -boot no_dot_erlang -eval '
    {ok, _} = timer:send_interval(10, x),
    timer:sleep(300), statistics(runtime), timer:sleep(2000), {_, Ms} = statistics(runtime),
    io:format("~p~n", [Ms < 200]), halt().' </dev/null
# Halting while many processes spawn, send and wait.
for i in 1 2 3 4 5; do
    "$ERL" +S 2:2 -noshell -boot no_dot_erlang -eval "
        F = fun F(0) -> ok; F(N) -> P = spawn(fun() -> receive {S, X} -> S ! X end end), P ! {self(), N}, receive N -> F(N - 1) end end,
        [spawn(fun() -> F(10000000) end) || _ <- lists:seq(1, 50)],
        timer:sleep($i * 7), halt($i)." </dev/null
    echo "status $?"
done
