%% The parts of Hedqvist 1998, section 6 (figures 3 and 4): what the threaded VM costs where one processor does all the work.
%%
%% Started as `erl -noshell -run hedqvist main WHAT N`: prints one number on a line of its own, N operations' rate a second, or for
%% `compute` milliseconds. A third argument, `worker` or `private`, says what all its processes run on; only Myriad takes `private`.
-module(hedqvist).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2, handle_info/2]).

main([What, Count]) -> main([What, Count, "worker"]);
main([What, Count, Mode]) ->
    put(mode, list_to_atom(Mode)),
    get(mode) =:= worker orelse process_flag(thread, get(mode)),
    Value = measure(list_to_atom(What), list_to_integer(Count)),
    io:format("value ~w~n", [Value]),
    halt(0).

%% Figure 3. Messages there and back between two processes: one small integer, a mix of types, half a kilobyte.
measure(small, N) ->
    per_second(N, fun() -> bounce(1, N) end);
measure(medium, N) ->
    per_second(N, fun() -> bounce({medium, self(), [1, 2.5, an_atom], <<"twelve bytes">>, #{key => "text"}}, N) end);
measure(large, N) ->
    per_second(N, fun() -> bounce(lists:seq(1, 32), N) end);
%% Calls of a server that asks for a time limit after each, which the next call cuts short.
measure(gs_timeout, N) ->
    {ok, Server} = gen_server:start_link(?MODULE, [], [{spawn_opt, mode()}]),
    per_second(N, fun() -> calls(Server, N) end);
%% Waits with a time limit that a message cuts short.
measure(timeout, N) ->
    Pid = spawn_opt(fun waits/0, [link | mode()]),
    per_second(N, fun() -> wakes(Pid, N) end);
%% Figure 4. So many equal processes that compute.
measure(compute, N) ->
    Start = erlang:monotonic_time(millisecond),
    Pids = [spawn_opt(fun() -> 832040 = fib(30) end, [monitor | mode()]) || _ <- lists:seq(1, N)],
    [receive {'DOWN', Ref, process, Pid, Reason} -> normal = Reason end || {Pid, Ref} <- Pids],
    erlang:monotonic_time(millisecond) - Start.

%% The options that say what a process runs on.
mode() -> [{thread, private} || get(mode) =:= private].

per_second(N, Fun) ->
    Start = erlang:monotonic_time(microsecond),
    Fun(),
    N * 1000000 div max(1, erlang:monotonic_time(microsecond) - Start).

bounce(Message, N) ->
    Pid = spawn_opt(fun echo/0, [link | mode()]),
    bounce(Pid, Message, N).
bounce(_, _, 0) -> ok;
bounce(Pid, Message, N) -> Pid ! {self(), Message}, receive {Pid, _} -> bounce(Pid, Message, N - 1) end.
echo() -> receive {From, Message} -> From ! {self(), Message}, echo() end.

calls(_, 0) -> ok;
calls(Server, N) -> ok = gen_server:call(Server, ask), calls(Server, N - 1).

waits() -> receive {From, X} -> From ! X, waits() after 60000 -> exit(late) end.
wakes(_, 0) -> ok;
wakes(Pid, N) -> Pid ! {self(), N}, receive N -> wakes(Pid, N - 1) after 60000 -> exit(late) end.

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

init([]) -> {ok, none}.
handle_call(ask, _, State) -> {reply, ok, State, 60000}.
handle_cast(_, State) -> {noreply, State}.
handle_info(timeout, State) -> {stop, late, State}.
