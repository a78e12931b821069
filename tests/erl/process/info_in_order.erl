%% process_info/2 of another process tells of it as it is after all signals that the caller has sent it before, whether it waits, is
%% runnable, runs or is suspended; and what has happened there before a message of it arrived is seen.
-module(info_in_order).
-export([main/0]).

-define(ROUNDS, 3000).

main() ->
    t:mute(),
    Kinds = [{waiting, fun wait/0}, {computing, fun() -> compute(0) end}, {giving_way, fun give_way/0}],
    [begin
         t:c(label(Kind, messages_sent), fun() -> messages_sent(Run) end),
         t:c(label(Kind, many_sent), fun() -> many_sent(Run, [1, 60, 64, 65, 70, 500, 20000]) end),
         t:c(label(Kind, killed), fun() -> killed(Run) end),
         t:c(label(Kind, leader), fun() -> leader(Run) end),
         t:c(label(Kind, suspended), fun() -> suspended(Run) end),
         t:c(label(Kind, traps_exits), fun() -> traps_exits(Run) end)
     end || {Kind, Run} <- Kinds],
    t:c(taken, fun taken/0),
    t:c(flags, fun flags/0),
    t:c(reductions, fun reductions/0),
    t:c(grown, fun grown/0),
    t:c(several_ask, fun several_ask/0),
    t:c(each_other, fun each_other/0),
    t:c(ended, fun ended/0).

label(Kind, What) -> list_to_atom(lists:concat([Kind, '_', What])).

wait() -> receive never -> ok end.
compute(N) -> compute(N + 1).
give_way() -> erlang:yield(), give_way().

with(Run, Fun) ->
    P = spawn(Run),
    Result = Fun(P),
    exit(P, kill),
    Result.

length_of(P) -> element(2, process_info(P, message_queue_len)).

%% Each message counts as soon as it is sent.
messages_sent(Run) ->
    with(Run, fun(P) ->
        lists:all(fun(N) -> P ! {message, N}, length_of(P) =:= N end, lists:seq(1, ?ROUNDS)) end).

many_sent(Run, Counts) ->
    [with(Run, fun(P) ->
         [P ! {message, N} || N <- lists:seq(1, Count)],
         [{memory, Memory}, {message_queue_len, Length}] = process_info(P, [memory, message_queue_len]),
         {Length, Memory > 40 * Count} end) || Count <- Counts].

killed(Run) ->
    lists:usort([begin
         P = spawn(Run),
         exit(P, kill),
         process_info(P, Item)
     end || _ <- lists:seq(1, ?ROUNDS div 10), Item <- [status, message_queue_len, reductions, [memory, status], dictionary]]).

leader(Run) ->
    with(Run, fun(P) ->
        Leaders = [self(), whereis(init)],
        lists:all(fun(N) -> L = lists:nth(1 + N rem 2, Leaders), group_leader(L, P), process_info(P, group_leader) =:= {group_leader, L} end,
                  lists:seq(1, 200)) end).

suspended(Run) ->
    with(Run, fun(P) ->
        lists:usort([begin
             erlang:suspend_process(P),
             {status, S} = process_info(P, status),
             P ! {message, N},
             M = length_of(P),
             erlang:resume_process(P),
             {status, After} = process_info(P, status),
             {S, M - N, After =/= suspended}
         end || N <- lists:seq(1, 200)]) end).

%% A signal that becomes a message.
traps_exits(Run) ->
    Self = self(),
    with(fun() -> process_flag(trap_exit, true), Self ! {self(), ready}, Run() end, fun(P) ->
        receive {P, ready} -> ok end,
        lists:all(fun(N) -> exit(P, reason), length_of(P) =:= N end, lists:seq(1, 500)) end).

%% What a process has received is gone when its answer has come.
taken() ->
    P = spawn(fun Echo() -> receive {From, X} -> From ! {self(), X}, Echo() end end),
    R = lists:all(fun(N) -> P ! {self(), N}, receive {P, N} -> length_of(P) =:= 0 end end, lists:seq(1, ?ROUNDS)),
    exit(P, kill),
    R.

flags() ->
    P = spawn(fun Flags() -> receive {From, Flag, Value} -> process_flag(Flag, Value), From ! {self(), set}, Flags() end end),
    Set = fun(Flag, Value) -> P ! {self(), Flag, Value}, receive {P, set} -> process_info(P, Flag) end end,
    R = [Set(Flag, Value) || _ <- lists:seq(1, 100), {Flag, Value} <- [{trap_exit, true}, {trap_exit, false}, {priority, high},
            {priority, low}, {priority, normal}, {message_queue_data, off_heap}, {message_queue_data, on_heap}, {min_heap_size, 500},
            {min_heap_size, 233}, {fullsweep_after, 3}, {error_handler, t}]],
    exit(P, kill),
    lists:usort(R).

%% They only grow, and do so while it runs.
reductions() ->
    P = spawn(fun() -> compute(0) end),
    Of = fun() -> element(2, process_info(P, reductions)) end,
    Seen = [begin erlang:yield(), Of() end || _ <- lists:seq(1, ?ROUNDS)],
    receive after 50 -> ok end,
    Last = Of(),
    exit(P, kill),
    {Seen =:= lists:sort(Seen), Last > hd(Seen) + 10000}.

grown() ->
    P = spawn(fun Grow() -> receive {From, N} -> put(kept, lists:seq(1, N)), From ! {self(), grown}, Grow() end end),
    Sizes = [begin P ! {self(), N}, receive {P, grown} -> ok end, element(2, process_info(P, total_heap_size)) > 2 * N end
             || N <- [10, 1000, 100000, 10]],
    exit(P, kill),
    Sizes.

%% Several ask one that is sent messages by all of them, and receives some.
several_ask() ->
    P = spawn(fun Some() -> receive {take, _} -> Some() end end),
    Asking = [spawn_monitor(fun() -> [begin P ! {take, N}, P ! {keep, N}, true = length_of(P) >= N end || N <- lists:seq(1, 2000)] end)
              || _ <- lists:seq(1, 4)],
    Ends = [receive {'DOWN', M, process, _, Why} -> Why end || {_, M} <- Asking],
    R = {Ends, length_of(P) >= 8000},
    exit(P, kill),
    R.

each_other() ->
    Self = self(),
    Asking = [spawn_link(fun Ask() -> process_info(Self, message_queue_len), process_info(Self, dictionary), Ask() end) || _ <- [1, 2, 3]],
    R = lists:usort([element(1, process_info(P, Item)) || _ <- lists:seq(1, ?ROUNDS), P <- Asking, Item <- [status, memory]]),
    [begin unlink(P), exit(P, kill) end || P <- Asking],
    R.

%% Who ends is told of as long as it is there, and no longer.
ended() ->
    lists:usort([begin
        {P, M} = spawn_monitor(fun() -> ok end),
        Known = case process_info(P, status) of undefined -> true; {status, S} -> lists:member(S, [running, runnable, exiting, waiting]) end,
        receive {'DOWN', M, _, _, _} -> {Known, process_info(P, status), process_info(P, registered_name)} end
     end || _ <- lists:seq(1, ?ROUNDS)]).
