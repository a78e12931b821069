%% Small measurements for cargo xtask bench: each prints one number on a line of its own.
%%
%% Started as `erl -noshell -run micro main WHAT ARG...`.
-module(micro).
-export([main/1]).

main([What | Args]) ->
    Value = measure(list_to_atom(What), [list_to_integer(A) || A <- Args]),
    io:format("value ~w~n", [Value]),
    halt(0).

%% Processes spawned, run and reported back a second, one scheduler's worth at a time.
measure(spawn, [N]) ->
    per_second(N, fun() -> spawns(N) end);
%% Round trips a second between two processes.
measure(ping_pong, [N]) ->
    Pid = spawn_link(fun echo/0),
    per_second(N, fun() -> ping(Pid, N) end);
%% Messages a second from eight senders to one receiver.
measure(fan_in, [N]) ->
    Self = self(),
    per_second(8 * N, fun() ->
        [spawn_link(fun() -> stream(Self, N) end) || _ <- lists:seq(1, 8)],
        drain(8 * N)
    end);
%% Inserts and lookups a second in a public set.
measure(ets, [N]) ->
    T = ets:new(t, [set, public]),
    per_second(2 * N, fun() -> ets_loop(T, N) end);
%% Timers started and cancelled a second.
measure(timers, [N]) ->
    per_second(N, fun() -> timers(N) end);
%% Bytes of resident memory for each idle process.
measure(idle, [N]) ->
    erlang:garbage_collect(),
    Before = resident(),
    Pids = idle(N, []),
    receive after 500 -> ok end,
    After = resident(),
    N = length(Pids),
    (After - Before) div N.

per_second(N, Fun) ->
    Start = erlang:monotonic_time(microsecond),
    Fun(),
    N * 1000000 div max(1, erlang:monotonic_time(microsecond) - Start).

spawns(0) -> ok;
spawns(N) ->
    Self = self(),
    Batch = min(N, 100),
    [spawn(fun() -> Self ! done end) || _ <- lists:seq(1, Batch)],
    [receive done -> ok end || _ <- lists:seq(1, Batch)],
    spawns(N - Batch).

echo() -> receive {From, X} -> From ! X, echo() end.
ping(_, 0) -> ok;
ping(Pid, N) -> Pid ! {self(), N}, receive N -> ping(Pid, N - 1) end.

stream(_, 0) -> ok;
stream(To, N) -> To ! {value, N}, stream(To, N - 1).
drain(0) -> ok;
drain(N) -> receive {value, _} -> drain(N - 1) end.

ets_loop(_, 0) -> ok;
ets_loop(T, N) ->
    ets:insert(T, {N rem 10007, N}),
    [{_, _}] = ets:lookup(T, N rem 10007),
    ets_loop(T, N - 1).

timers(0) -> ok;
timers(N) ->
    Ref = erlang:send_after(60000 + N rem 1000, self(), x),
    erlang:cancel_timer(Ref),
    timers(N - 1).

idle(0, Pids) -> Pids;
idle(N, Pids) -> idle(N - 1, [spawn(fun() -> receive stop -> ok end end) | Pids]).

%% Bytes: the second field of statm is in pages of 4096 bytes.
resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(binary_to_list(Text), " "),
    list_to_integer(Pages) * 4096.
