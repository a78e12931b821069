%% Processes that are asked where they are while they run: their answers come from the middle of a slice.
-module(asked_while_running).
-export([main/0]).

main() ->
    t:c(stack_at_a_receive, fun() -> ask(spawn_link(fun() -> deep_then_receive(0) end), 4000, []) end),
    t:c(stack_in_a_built_in, fun() -> ask(spawn_link(fun() -> deep_then_built_in(0) end), 4000, []) end),
    t:c(old_code_at_a_receive, fun() -> old_code() end),
    Idle = fun() -> receive stop -> ok end end,
    t:c(room_of_waiting, fun() -> room(spawn(Idle)) end),
    t:c(room_of_hibernating, fun() -> room(spawn(erlang, hibernate, [?MODULE, main, []])) end),
    t:c(size_of_waiting, fun() -> size_stays(spawn(Idle)) end),
    t:c(room_of_suspended, fun() -> P = spawn(Idle), erlang:suspend_process(P), room(P) end).

%% What a process that does nothing answers does not pile up on its heap.
room(P) ->
    put(room, lists:seq(1, 100)),
    [_ = process_info(P, [status, current_stacktrace, garbage_collection, links, monitors]) || _ <- lists:seq(1, 20000)],
    {total_heap_size, Words} = process_info(P, total_heap_size),
    exit(P, kill),
    Words < 400000.

%% Who is asked does not grow by a word.
size_stays(P) ->
    erlang:yield(),
    {total_heap_size, Before} = process_info(P, total_heap_size),
    Items = [status, current_stacktrace, garbage_collection, current_location, initial_call, memory],
    [_ = process_info(P, Items) || _ <- lists:seq(1, 100)],
    {total_heap_size, After} = process_info(P, total_heap_size),
    exit(P, kill),
    Before =:= After.

ask(P, 0, Functions) ->
    unlink(P),
    exit(P, kill),
    %% Every frame is one of this module's functions: more than one, whose names differ from run to run.
    lists:usort([M || {M, _, _} <- Functions]);
ask(P, N, Functions) ->
    {current_stacktrace, Stack} = process_info(P, current_stacktrace),
    ask(P, N - 1, lists:usort([{M, F, A} || {M, F, A, _} <- Stack, M =/= erlang] ++ Functions)).

%% Gives way far down in the stack, where a frame has many words, and receives further up.
deep_then_receive(N) ->
    down(1, 2, 3, 4, 5, N band 31),
    receive after 0 -> ok end,
    receive {never, N} -> N after 0 -> deep_then_receive(N + 1) end.

deep_then_built_in(N) ->
    down(1, 2, 3, 4, 5, N band 31),
    _ = process_info(self(), message_queue_len),
    deep_then_built_in(N + 1).

down(A, B, C, D, E, 0) ->
    erlang:yield(),
    {A, B, C, D, E};
down(A, B, C, D, E, N) ->
    {A, B, C, D, E} = down(A, B, C, D, E, N - 1),
    {A, B, C, D, E}.

%% A process that looks for messages in an old version still runs in it.
old_code() ->
    Code = fun(Version) ->
        Forms = [{attribute, 1, module, asked_old}, {attribute, 2, export, [{loop, 0}, {version, 0}]},
                 {function, 3, version, 0, [{clause, 3, [], [], [{integer, 3, Version}]}]},
                 {function, 4, loop, 0,
                  [{clause, 4, [], [],
                    [{'receive', 5, [{clause, 5, [{atom, 5, stop}], [], [{atom, 5, stopped}]}],
                      {integer, 6, 0}, [{call, 7, {atom, 7, loop}, []}]}]}]}],
        {ok, asked_old, Binary} = compile:forms(Forms),
        Binary
    end,
    {module, asked_old} = code:load_binary(asked_old, "asked_old.erl", Code(1)),
    {P, M} = spawn_monitor(asked_old, loop, []),
    {module, asked_old} = code:load_binary(asked_old, "asked_old.erl", Code(2)),
    Checks = [erlang:check_process_code(P, asked_old) || _ <- lists:seq(1, 2000)],
    Kept = code:soft_purge(asked_old),
    P ! stop,
    receive {'DOWN', M, process, P, Reason} -> ok end,
    Old = code:soft_purge(asked_old),
    code:delete(asked_old),
    code:purge(asked_old),
    {lists:usort(Checks), Kept, Reason, Old}.
