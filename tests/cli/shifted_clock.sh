# A clock that a preloaded library shifts, as libfaketime does: who sleeps wakes by the time that really passes.
cat >shift.c <<'X'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Monotonic time is AHEAD seconds ahead and goes TIMES times as fast; the date is moved by DATE seconds. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static long first, ahead, times, date;
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result != 0)
        return result;
    if (!times) {
        ahead = atol(getenv("AHEAD")), date = atol(getenv("DATE"));
        times = atol(getenv("TIMES"));
    }
    if (clock == CLOCK_MONOTONIC) {
        long long now = time->tv_sec * 1000000000LL + time->tv_nsec;
        if (!first)
            first = now;
        now = first + (now - first) * times;
        time->tv_sec = now / 1000000000 + ahead;
        time->tv_nsec = now % 1000000000;
    } else if (clock == CLOCK_REALTIME) {
        time->tv_sec += date;
    }
    return result;
}
X
gcc -shared -fPIC -O -o shift.so shift.c
sleeps='timer:sleep(100), receive after 100 -> ok end,
receive done -> ok after 10 -> ok end,
{ok, _} = timer:send_after(50, timed), receive timed -> ok end,
erlang:start_timer(50, self(), timed), receive {timeout, _, timed} -> ok end,
P = open_port({spawn, "echo from a program && sleep 0.1"}, [exit_status]),
(fun F() -> receive {P, {data, D}} -> io:format("~s", [D]), F(); {P, {exit_status, S}} -> io:format("status ~p~n", [S]) end end)(),
halt().'
for shift in '0 1 0' '100000 1 0' '0 30 0' '4000000000 3 0' '0 1 -1000000000' '0 1 4200000000'; do
    read -r AHEAD TIMES DATE <<<"$shift"
    echo "monotonic time $AHEAD s ahead, $TIMES times as fast, the date moved by $DATE s"
    AHEAD=$AHEAD TIMES=$TIMES DATE=$DATE LD_PRELOAD=$PWD/shift.so timeout -s KILL 20 "$ERL" -noshell -boot no_dot_erlang -eval "$sleeps" </dev/null 2>&1
    echo "exit status $?"
done
