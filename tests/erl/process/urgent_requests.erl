%% Who asks a process for something does not wait behind processes of a priority below its own.
-module(urgent_requests).
-export([main/0, loop/0]).

main() ->
    process_flag(priority, max),
    t:c(collected, fun() -> behind(high, low, fun(P) -> erlang:garbage_collect(P) end) end),
    t:c(code_checked, fun() -> behind(high, low, fun(P) -> erlang:check_process_code(P, nonexisting_module) end) end),
    t:c(own_priority_again, fun() -> behind(high, low, fun(P) -> erlang:garbage_collect(P), process_info(P, priority) end) end),
    t:c(elsewhere, fun() -> no_such_node() end).

%% Every scheduler has something of this priority to run, without end.
behind(Priority, Below, F) ->
    Busy = [spawn_opt(?MODULE, loop, [], [{priority, Priority}, {scheduler, S}, link]) ||
               S <- lists:seq(1, erlang:system_info(schedulers_online))],
    P = spawn_opt(?MODULE, loop, [], [{priority, Below}, link]),
    receive after 20 -> ok end,
    Result = F(P),
    [begin unlink(B), exit(B, kill) end || B <- [P | Busy]],
    Result.

loop() -> loop().

%% Without distribution there is nothing to be watched on another node by name; a pid of one can be had.
no_such_node() ->
    [try erlang:monitor(Kind, {name, other@nowhere}) of R -> is_reference(R) catch error:E -> E end || Kind <- [process, port]].
