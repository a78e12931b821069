%% What all cores touch, for cargo xtask bench: operations a second of so many processes together.
%%
%% Started as `erl +S P:P -noshell -run shared main CASE PROCESSES`; CASE `names` prints them all. Each process does the same on data of
%% its own, so whatever slows one down by another is shared inside the VM: names, persistent terms, the process table, timers. Prints
%% `value OPERATIONS`, the best of three passes in the same VM.
-module(shared).
-export([main/1]).

main(["names"]) ->
    [io:format("~s~n", [Name]) || {Name, _, _} <- cases()],
    halt(0);
main([Name, Processes]) ->
    {_, Times, Case} = lists:keyfind(list_to_atom(Name), 1, cases()),
    Count = list_to_integer(Processes),
    Best = lists:min([pass(Case, Times div Count, Count) || _ <- [1, 2, 3]]),
    io:format("value ~w~n", [Times div Count * Count * 1000000 div max(1, Best)]),
    halt(0).

%% Microseconds from when all processes may begin until the last one is done; each has prepared before.
pass(Case, Times, Count) ->
    Self = self(),
    Workers = [spawn_monitor(fun() -> work(Self, Case(I), Times) end) || I <- lists:seq(1, Count)],
    [receive {'DOWN', Ref, _, _, _} = Died -> exit(Died); {ready, Pid} -> ok end || {Pid, Ref} <- Workers],
    Start = erlang:monotonic_time(microsecond),
    [Pid ! go || {Pid, _} <- Workers],
    [receive {'DOWN', Ref, _, _, normal} -> ok end || {_, Ref} <- Workers],
    erlang:monotonic_time(microsecond) - Start.

work(Parent, Loop, Times) ->
    Parent ! {ready, self()},
    receive go -> Loop(Times) end.

%% {Name, operations of all processes together, fun(I) -> the loop of process I}
cases() ->
    [{named_send, 2000000, fun(I) -> Name = named(I), fun(N) -> named_send(Name, N) end end},
     {whereis, 10000000, fun(I) -> Name = named(I), fun(N) -> whereis_(Name, N) end end},
     {persistent_get, 10000000, fun(I) -> persistent_term:put({?MODULE, I}, {I}), fun(N) -> persistent({?MODULE, I}, N) end end},
     {spawn_exit, 400000, fun(_) -> fun spawn_exit/1 end},
     {timer, 2000000, fun(_) -> fun timer/1 end}].

%% The calling process, by a name of its own.
named(I) ->
    Name = list_to_atom("shared_" ++ integer_to_list(I)),
    true = register(Name, self()),
    Name.

named_send(_, 0) -> ok;
named_send(Name, N) -> Name ! N, receive N -> named_send(Name, N - 1) end.

whereis_(_, 0) -> ok;
whereis_(Name, N) -> true = is_pid(whereis(Name)), whereis_(Name, N - 1).

persistent(_, 0) -> ok;
persistent(Key, N) -> {_} = persistent_term:get(Key), persistent(Key, N - 1).

spawn_exit(0) -> ok;
spawn_exit(N) ->
    {_, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> spawn_exit(N - 1) end.

timer(0) -> ok;
timer(N) -> erlang:cancel_timer(erlang:start_timer(100000, self(), N)), timer(N - 1).
