%% `myriad topology -- FILE.erl ARG...`: runs a program as `myriad run` does, and says how many cores it could have used: how many of its
%% processes ran or could have run at each moment (Hedqvist 2002, 1.1: the length of the run queue, potential parallelism).
%%
%% A process of the highest priority looks each millisecond. It does not count itself, but the process in whose place it runs waits in a queue
%% then. A program that halts the node ends without a report.
-module(myriad_load).
-export([main/0]).

main() ->
    {Pid, Monitor} = myriad_run:start(),
    Began = erlang:monotonic_time(),
    Self = self(),
    Watcher = spawn_opt(fun() -> watch(Self, #{}, #{}) end, [link, {priority, max}]),
    receive
        {'DOWN', Monitor, process, Pid, Reason} ->
            Ns = erlang:convert_time_unit(erlang:monotonic_time() - Began, native, nanosecond),
            Watcher ! enough,
            receive
                {Watcher, Queue, Active} -> report(Ns / 1.0e9, Queue, Active)
            end,
            myriad_run:finish(Reason)
    end.

%% How often each length of the run queues, and each number of processes that ran or waited in one, was seen.
watch(Parent, Queue, Active) ->
    receive
        enough -> Parent ! {self(), Queue, Active}
    after 1 ->
            watch(Parent, count(erlang:statistics(total_run_queue_lengths), Queue),
                  count(max(0, erlang:statistics(total_active_tasks) - 1), Active))
    end.

count(N, Seen) ->
    maps:update_with(N, fun(Times) -> Times + 1 end, 1, Seen).

report(_, Queue, _) when map_size(Queue) =:= 0 ->
    io:format(standard_error, "it ran for too short a time to be watched~n", []);
report(Seconds, Queue, Active) ->
    Schedulers = erlang:system_info(schedulers_online),
    io:format(standard_error, "ran for ~.3f s on ~b schedulers~n", [Seconds, Schedulers]),
    io:format(standard_error, "run queues: ~.1f on average, ~b at most~n", [average(Queue), most(Queue)]),
    io:format(standard_error, "cores that it could have used: ~.1f on average, ~b at most~n", [average(Active), most(Active)]),
    [io:format(standard_error, "  ~b or more: ~.1f % of the time~n", [N, 100 * at_least(N, Active)])
     || N <- [1 bsl I || I <- lists:seq(0, 20)], N =< most(Active)].

average(Seen) ->
    lists:sum([N * Times || {N, Times} <- maps:to_list(Seen)]) / all(Seen).

most(Seen) ->
    lists:max(maps:keys(Seen)).

at_least(Least, Seen) ->
    lists:sum([Times || {N, Times} <- maps:to_list(Seen), N >= Least]) / all(Seen).

all(Seen) ->
    lists:sum(maps:values(Seen)).
