%% Processes that sleep, and were sent large terms that they refer to no longer: where these are shared, their memory comes home, though nobody sends them anything.
-module(sleeping_holders).
-export([main/0]).

-define(PROCESSES, 100).
-define(WORDS, 131_072).

main() ->
    t:c(dropped_at_once, fun() -> dropped(fun(Pid, L) -> Pid ! {data, L}, receive {Pid, N} -> N end end, fun once/1) end),
    t:c(dropped_later, fun() -> dropped(fun(Pid, L) -> Pid ! {data, L}, receive {Pid, N} -> N end end, fun later/1) end),
    t:c(kept, fun kept/0).

%% Is what they were sent gone some seconds later?
dropped(Give, Sleeper) ->
    Me = self(),
    Before = erlang:memory(processes),
    Pids = [spawn_link(fun() -> Sleeper(Me) end) || _ <- lists:seq(1, ?PROCESSES)],
    Lengths = lists:usort([Give(Pid, lists:seq(1, ?WORDS div 2)) || Pid <- Pids]),
    [Pid ! drop || Pid <- Pids],
    [receive {Pid, dropped} -> ok end || Pid <- Pids],
    %% What this process itself has left of the lists is not what it is about.
    garbage_collect(),
    R = {Lengths, comes_home(Before + 25 * ?WORDS * 8, 300)},
    [begin unlink(Pid), exit(Pid, kill) end || Pid <- Pids],
    R.

once(Me) ->
    receive {data, L} -> Me ! {self(), length(L)} end,
    receive drop -> Me ! {self(), dropped} end,
    receive never -> ok end.

%% It has become old before.
later(Me) ->
    receive {data, L} -> grows_old(Me, L) end,
    Me ! {self(), dropped},
    receive never -> ok end.

grows_old(Me, L) ->
    [garbage_collect(self(), [{type, minor}]) || _ <- lists:seq(1, 3)],
    Me ! {self(), length(L)},
    receive drop -> hd(L) end.

%% With private heaps each process keeps the message in its own heap, until it collects: there is nothing to see here.
%% With one heap it comes home by the clock of its markings (`heap/tests/shared.rs`), which takes long where everything is checked.
comes_home(Most, Times) ->
    erlang:system_info(heap_type) =/= hybrid orelse below(Most, Times).

below(_, 0) -> erlang:memory(processes);
below(Most, Times) ->
    case erlang:memory(processes) < Most of
        true -> true;
        false -> timer:sleep(50), below(Most, Times - 1)
    end.

%% What they refer to stays as it is, however often they are asked.
kept() ->
    Me = self(),
    Pids = [spawn_link(fun() -> receive {data, L} -> Me ! {self(), has_it}, receive sum -> Me ! {self(), lists:sum(L)} end end end) || _ <- lists:seq(1, 30)],
    [begin Pid ! {data, lists:seq(1, ?WORDS div 2)}, receive {Pid, has_it} -> ok end end || Pid <- Pids],
    timer:sleep(2500),
    [Pid ! sum || Pid <- Pids],
    lists:usort([receive {Pid, Sum} -> Sum end || Pid <- Pids]).
