%% What `process_info/2` of another process takes, in nanoseconds.
%%
%% erl -noshell -run process_info main [ITERATIONS]
%%
%% For each item: of a process that waits, of one that computes, and of one that computes with messages before it. Then a turn of three
%% processes that ask each other: two keep asking the third, which asks them.
-module(process_info).
-export([main/0, main/1]).

-define(ITEMS, [status, priority, registered_name, reductions, memory, total_heap_size, heap_size, stack_size, message_queue_len,
                trap_exit, current_function, messages, dictionary]).

main() -> main(["100000"]).
main([Argument]) ->
    N = list_to_integer(Argument),
    Waiting = spawn_link(fun wait/0),
    Computing = spawn_link(fun() -> compute(0) end),
    Behind = spawn_link(fun() -> compute(0) end),
    [Behind ! {message, I} || I <- lists:seq(1, 1000)],
    timer:sleep(20),
    io:format("~-20s ~9s ~9s ~9s~n", ["item", "waiting", "computing", "behind"]),
    [io:format("~-20s ~9w ~9w ~9w~n", [Item | [least(fun() -> ask(P, Item, N) end, N) || P <- [Waiting, Computing, Behind]]])
     || Item <- ?ITEMS],
    [exit(P, kill) || P <- [Computing, Behind], unlink(P)],
    io:format("~-20s ~9w~n", ["each other", least(fun() -> each_other(N div 10) end, N div 10)]),
    halt().

%% The least of five times, for one of N.
least(Fun, N) ->
    lists:min([begin {Time, _} = timer:tc(Fun), Time * 1000 div N end || _ <- lists:seq(1, 5)]).

ask(_, _, 0) -> ok;
ask(Pid, Item, N) -> process_info(Pid, Item), ask(Pid, Item, N - 1).

wait() -> receive stop -> ok end.

compute(N) -> compute(N + 1).

each_other(N) ->
    Self = self(),
    Asking = [spawn_link(fun() -> keep_asking(Self) end) || _ <- [1, 2]],
    turns(Asking, N),
    [begin unlink(P), exit(P, kill) end || P <- Asking].

keep_asking(Pid) -> process_info(Pid, message_queue_len), keep_asking(Pid).

turns(_, 0) -> ok;
turns(Asking, N) -> [process_info(P, message_queue_len) || P <- Asking], turns(Asking, N - 1).
