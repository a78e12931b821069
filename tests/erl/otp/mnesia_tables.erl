%% Mnesia on one node: tables in memory, on disc and on disc only, through restarts, transactions, indices, dirty access, events.
-module(mnesia_tables).
-export([main/0]).

-record(item, {key, value, group}).

main() ->
    t:mute(),
    application:set_env(mnesia, dir, "mnesia.db"),
    t:c(schema, fun() -> mnesia:delete_schema([node()]), mnesia:create_schema([node()]) end),
    t:c(start, fun() -> {mnesia:start(), mnesia:system_info(is_running), mnesia:system_info(use_dir)} end),
    t:each(create, [{in_memory, ram_copies, set}, {on_disc, disc_copies, ordered_set}, {only_on_disc, disc_only_copies, bag}],
           fun({Name, Where, Type}) ->
               mnesia:create_table(Name, [{Where, [node()]}, {type, Type}, {record_name, item}, {index, [group]}, {attributes, record_info(fields, item)}])
           end),
    Tables = [in_memory, on_disc, only_on_disc],
    t:c(wait, fun() -> mnesia:wait_for_tables(Tables, 10000) end),
    t:each(fill, Tables, fun(T) -> mnesia:transaction(fun() -> [mnesia:write(T, item(N), write) || N <- lists:seq(1, 50)], ok end) end),
    t:each(read, Tables, fun(T) -> mnesia:transaction(fun() -> {mnesia:read(T, 7), lists:sort(mnesia:index_read(T, g3, #item.group))} end) end),
    t:each(select, Tables, fun(T) -> {atomic, L} = mnesia:transaction(fun() -> mnesia:select(T, [{#item{key = '$1', value = '$2', group = g1}, [{'>', '$1', 20}], [{{'$1', '$2'}}]}]) end), lists:sort(L) end),
    t:each(aborted, Tables, fun(T) -> {mnesia:transaction(fun() -> mnesia:delete(T, 7, write), mnesia:write(T, item(700), write), mnesia:abort(changed_my_mind) end), length(mnesia:dirty_read(T, 7)), mnesia:dirty_read(T, 700)} end),
    t:each(nested, Tables, fun(T) -> mnesia:transaction(fun() -> mnesia:write(T, item(60), write), {aborted, no} = mnesia:transaction(fun() -> mnesia:delete(T, 60, write), mnesia:abort(no) end), mnesia:read(T, 60) end) end),
    t:each(dirty, Tables, fun(T) -> {mnesia:dirty_write(T, item(61)), mnesia:dirty_delete(T, 1), mnesia:table_info(T, size), mnesia:dirty_first(T) =/= '$end_of_table'} end),
    t:each(fold, Tables, fun(T) -> mnesia:transaction(fun() -> mnesia:foldl(fun(#item{key = K}, S) -> K + S end, 0, T) end) end),
    t:c(subscribe, fun() -> {ok, _} = mnesia:subscribe({table, in_memory, simple}), mnesia:dirty_write(in_memory, item(62)), receive {mnesia_table_event, E} -> setelement(3, E, there) after 5000 -> none end end),
    t:c(concurrent, fun concurrent/0),
    t:c(dump, fun() -> mnesia:dump_log() end),
    t:c(stop, fun() -> mnesia:stop() end),
    t:c(again, fun() -> {mnesia:start(), mnesia:wait_for_tables(Tables, 10000)} end),
    t:each(after_restart, Tables, fun(T) -> {mnesia:table_info(T, size), mnesia:table_info(T, storage_type), mnesia:dirty_read(T, 60), length(mnesia:dirty_index_read(T, g2, #item.group))} end),
    t:c(change, fun() -> {mnesia:change_table_copy_type(in_memory, node(), disc_copies), mnesia:add_table_index(on_disc, value), mnesia:dirty_index_read(on_disc, {v, 8}, #item.value)} end),
    t:c(transform, fun() -> {mnesia:transform_table(on_disc, fun({item, K, V, G}) -> {item, K, V, G, K rem 2} end, [key, value, group, odd]), mnesia:dirty_read(on_disc, 9)} end),
    t:c(backup, fun() -> ok = mnesia:backup("backup"), {atomic, ok} = mnesia:clear_table(on_disc), {atomic, Done} = mnesia:restore("backup", [{default_op, recreate_tables}]), {lists:sort(Done), mnesia:table_info(on_disc, size)} end),
    t:c(delete, fun() -> [mnesia:delete_table(T) || T <- Tables] end),
    t:c(finish, fun() -> {mnesia:stop(), mnesia:delete_schema([node()])} end).

item(N) -> #item{key = N, value = {v, N}, group = element(1 + N rem 4, {g0, g1, g2, g3})}.

%% Four processes count in transactions that conflict.
concurrent() ->
    {atomic, ok} = mnesia:create_table(counter, [{disc_copies, [node()]}]),
    ok = mnesia:dirty_write({counter, n, 0}),
    Count = fun() -> [{counter, n, V}] = mnesia:wread({counter, n}), mnesia:write({counter, n, V + 1}) end,
    Pids = [spawn_monitor(fun() -> [{atomic, ok} = mnesia:transaction(Count) || _ <- lists:seq(1, 50)] end) || _ <- lists:seq(1, 4)],
    Ends = [receive {'DOWN', M, _, P, R} -> R end || {P, M} <- Pids],
    {Ends, mnesia:dirty_read(counter, n), mnesia:dirty_update_counter(counter, n, 5)}.
