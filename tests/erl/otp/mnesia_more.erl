%% Mnesia on one node, further: kinds of activity, locks that wait and deadlock, fragments, checkpoints, text files, qlc, a crash
%% in the middle of work and what is there afterwards, foreign ways to look at tables.
-module(mnesia_more).
-export([main/0, start_and_crash/1]).
-include_lib("stdlib/include/qlc.hrl").

main() ->
    t:mute(),
    Dir = t:tmp("mnesia_more"),
    application:set_env(mnesia, dir, filename:join(Dir, "db")),
    t:c(ram_only, fun() -> ok = mnesia:start(), R = {mnesia:create_table(r, [{ram_copies, [node()]}]), mnesia:table_info(schema, storage_type), mnesia:dirty_write({r, 1, 2}), mnesia:dirty_all_keys(r)}, stopped = mnesia:stop(), R end),
    ok = mnesia:create_schema([node()]),
    ok = mnesia:start(),
    t:c(create, fun() -> [mnesia:create_table(T, [{W, [node()]}, {type, Y}]) || {T, W, Y} <- [{a, disc_copies, set}, {b, ram_copies, ordered_set}, {c, disc_only_copies, set}, {d, disc_copies, bag}]] end),
    t:each(create_bad, [{a, []}, {e, [{type, heap}]}, {e, [{attributes, [one]}]}, {e, [{disc_only_copies, [node()]}, {type, ordered_set}]}, {e, [{foo, bar}]}, {e, [{index, [9]}]}, {"e", []}], fun({T, O}) -> mnesia:create_table(T, O) end),
    Tables = [a, b, c, d],
    t:each(activity, [transaction, sync_transaction, async_dirty, sync_dirty], fun(K) -> [mnesia:activity(K, fun() -> mnesia:write({T, K, {K, T}}), mnesia:write({T, 1, one}), {mnesia:read(T, K), length(mnesia:all_keys(T))} end) || T <- Tables] end),
    t:c(ets_activity, fun() -> {mnesia:ets(fun() -> mnesia:read({b, 1}) end), catch mnesia:ets(fun() -> mnesia:read({c, 1}) end)} end),
    t:each(walk, Tables, fun(T) -> mnesia:transaction(fun() -> {length(walk(T, mnesia:first(T))), mnesia:foldr(fun(_, N) -> N + 1 end, 0, T), mnesia:is_transaction()} end) end),
    t:each(match, Tables, fun(T) -> {atomic, L} = mnesia:transaction(fun() -> mnesia:match_object({T, '_', one}) end), {lists:sort(L), lists:sort(mnesia:dirty_match_object({T, 1, '_'})), lists:sort(mnesia:dirty_select(T, [{{T, '$1', one}, [], ['$1']}]))} end),
    t:each(qlc, Tables, fun(T) -> {atomic, L} = mnesia:transaction(fun() -> qlc:e(qlc:q([K || {_, K, V} <- mnesia:table(T), V =:= one])) end), L end),
    t:c(select_chunks, fun() -> [mnesia:dirty_write({b, {n, I}, I}) || I <- lists:seq(1, 100)], mnesia:transaction(fun() -> chunks(mnesia:select(b, [{{b, {n, '$1'}, '_'}, [{'>', '$1', 10}], ['$1']}], 20, read), 0) end) end),
    t:each(aborted, [fun() -> mnesia:abort(why) end, fun() -> exit(why) end, fun() -> throw(why) end, fun() -> error(why) end, fun() -> mnesia:read(nowhere, 1) end, fun() -> mnesia:write({a, 1}) end, fun() -> mnesia:write(a, {z, 1, 2}, write) end], fun(F) -> {aborted, R} = mnesia:transaction(F), case R of {X, S} when is_list(S) -> X; {throw, X} -> {throw, X}; X -> X end end),
    t:c(outside, fun() -> {'EXIT', R} = (catch mnesia:read(a, 1)), R end),
    t:c(restarts, fun deadlock/0),
    t:c(locked_out, fun locked_out/0),
    t:c(table_locks, fun() -> mnesia:transaction(fun() -> {mnesia:read_lock_table(a), mnesia:write_lock_table(b), mnesia:lock({global, x, [node()]}, write), mnesia:lock({record, a, 1}, write)} end) end),
    t:c(killed, fun() -> P = spawn(fun() -> mnesia:transaction(fun() -> mnesia:write({a, killed, 1}), timer:sleep(infinity) end) end), timer:sleep(50), exit(P, kill), {mnesia:transaction(fun() -> mnesia:read(a, killed, write) end), mnesia:system_info(held_locks)} end),
    t:c(counters, fun() -> [mnesia:dirty_update_counter(b, n, N) || N <- [5, -2, -10]] end),
    t:c(properties, fun() -> [mnesia:write_table_property(a, {p, 1}), mnesia:read_table_property(a, p), mnesia:delete_table_property(a, p), mnesia:change_table_access_mode(b, read_only), element(1, mnesia:transaction(fun() -> mnesia:write({b, 1, 1}) end)), mnesia:change_table_access_mode(b, read_write), mnesia:change_table_load_order(a, 7), mnesia:table_info(a, load_order)] end),
    t:each(info, [active_replicas, all, arity, attributes, disc_copies, index, local_content, majority, ram_copies, record_name, size, storage_type, type, user_properties, wild_pattern, where_to_read, zzz], fun(I) -> case mnesia:table_info(a, I) of L when I =:= all -> lists:sort([K || {K, _} <- L]); V -> V end end),
    t:c(index, fun() -> {atomic, ok} = mnesia:add_table_index(a, val), mnesia:dirty_write({a, x1, v}), mnesia:dirty_write({a, x2, v}), R = [lists:sort(mnesia:dirty_index_read(a, v, 3)), lists:sort(mnesia:dirty_index_match_object({a, '_', v}, 3)), mnesia:table_info(a, index)], {R, mnesia:del_table_index(a, val), mnesia:add_table_index(a, nothing)} end),
    t:c(events, fun events/0),
    t:c(checkpoint, fun() -> {ok, n, _} = mnesia:activate_checkpoint([{name, n}, {max, [a, d]}, {ram_overrides_dump, true}]), mnesia:dirty_write({a, after_checkpoint, 1}), ok = mnesia:backup_checkpoint(n, filename:join(Dir, "backup")), ok = mnesia:deactivate_checkpoint(n), Seen = mnesia:traverse_backup(filename:join(Dir, "backup"), mnesia_backup, none, read_only, fun(R, N) -> {[R], N + case element(1, R) of a -> 1; d -> 1; _ -> 0 end} end, 0), {Seen, mnesia:table_info(a, size) + mnesia:table_info(d, size)} end),
    t:c(text, fun() -> F = filename:join(Dir, "text"), ok = mnesia:dump_to_textfile(F), {ok, Terms} = file:consult(F), {element(1, hd(Terms)), lists:member({a, 1, one}, Terms), length([x || {a, _, _} <- Terms]) =:= mnesia:table_info(a, size)} end),
    t:c(fragments, fun fragments/0),
    t:c(clear, fun() -> {mnesia:clear_table(d), mnesia:table_info(d, size), mnesia:dirty_read(d, 1), mnesia:clear_table(nowhere)} end),
    t:c(move, fun() -> [mnesia:change_table_copy_type(c, node(), disc_copies), mnesia:change_table_copy_type(c, node(), ram_copies), mnesia:dump_tables([c]), length(mnesia:dirty_all_keys(c)), mnesia:change_table_copy_type(c, node(), disc_only_copies)] end),
    t:c(restart, fun() -> stopped = mnesia:stop(), ok = mnesia:start(), {mnesia:wait_for_tables(Tables, 20000), [{T, mnesia:table_info(T, size)} || T <- Tables]} end),
    t:c(stop, fun() -> {mnesia:stop(), mnesia:system_info(is_running), catch mnesia:dirty_read(a, 1)} end),
    t:c(crash, fun() -> crashed(Dir) end).

walk(_, '$end_of_table') -> [];
walk(T, K) -> [K | walk(T, mnesia:next(T, K))].

chunks('$end_of_table', N) -> N;
chunks({L, C}, N) -> chunks(mnesia:select(C), N + length(L)).

%% Two transactions that lock two records the other way round: one of them is restarted, both end.
deadlock() ->
    [mnesia:dirty_write({b, K, 0}) || K <- [left, right]],
    Add = fun(One, Other) -> fun() ->
        [{b, One, X}] = mnesia:wread({b, One}),
        timer:sleep(20),
        [{b, Other, Y}] = mnesia:wread({b, Other}),
        mnesia:write({b, One, X + 1}),
        mnesia:write({b, Other, Y + 1})
    end end,
    Run = fun(F) -> spawn_monitor(fun() -> exit([mnesia:transaction(F) || _ <- lists:seq(1, 5)]) end) end,
    Runs = [Run(Add(left, right)), Run(Add(right, left))],
    {[receive {'DOWN', M, _, _, R} -> R end || {_, M} <- Runs], mnesia:dirty_read(b, left), mnesia:dirty_read(b, right)}.

%% With no retries left a transaction gives up on a lock that another holds... or waits, being older.
locked_out() ->
    Self = self(),
    P = spawn(fun() -> mnesia:transaction(fun() -> mnesia:write({a, held, 1}), Self ! held, receive go -> ok end end), Self ! done end),
    receive held -> ok end,
    Waiter = spawn(fun() -> Self ! {read, mnesia:transaction(fun() -> mnesia:read(a, held) end)} end),
    None = receive {read, _} -> early after 50 -> waits end,
    P ! go,
    receive done -> ok end,
    R = receive {read, X} -> X after 5000 -> never end,
    _ = Waiter,
    {None, R}.

events() ->
    {ok, _} = mnesia:subscribe({table, a, detailed}),
    {ok, _} = mnesia:subscribe(activity),
    {atomic, ok} = mnesia:transaction(fun() -> mnesia:write({a, seen, 1}), mnesia:delete({a, seen}) end),
    mnesia:dirty_delete_object({a, x1, v}),
    Got = [receive {mnesia_table_event, {Op, T, What, Old, _}} -> {Op, T, What, Old} after 5000 -> none end || _ <- [1, 2]],
    Activity = receive {mnesia_activity_event, {complete, _}} -> complete after 5000 -> none end,
    {ok, _} = mnesia:unsubscribe({table, a, detailed}),
    {ok, _} = mnesia:unsubscribe(activity),
    {Got, Activity, mnesia:subscribe({table, nowhere, simple})}.

fragments() ->
    {atomic, ok} = mnesia:create_table(f, [{frag_properties, [{n_fragments, 4}, {node_pool, [node()]}, {n_disc_copies, 1}]}]),
    Run = fun(F) -> mnesia:activity(transaction, F, [], mnesia_frag) end,
    [Run(fun() -> mnesia:write({f, I, I}) end) || I <- lists:seq(1, 200)],
    Sizes = Run(fun() -> mnesia:table_info(f, frag_size) end),
    {atomic, ok} = mnesia:change_table_frag(f, {add_frag, [node()]}),
    More = Run(fun() -> mnesia:table_info(f, frag_size) end),
    Read = Run(fun() -> [mnesia:read(f, I) || I <- [1, 100, 200]] end),
    {atomic, ok} = mnesia:change_table_frag(f, del_frag),
    Sum = Run(fun() -> mnesia:foldl(fun({f, _, V}, S) -> V + S end, 0, f) end),
    {Sizes, More, Read, Sum, mnesia:delete_table(f)}.

%% Another VM fills a table and dies at once, its log not yet dumped: all that was committed is there.
crashed(Dir) ->
    Other = filename:join(Dir, "crashed"),
    Command = lists:concat([os:getenv("ERL", "erl"), " -noshell -pa ", filename:dirname(code:which(?MODULE)), " -s ", ?MODULE, " start_and_crash ", Other]),
    Out = os:cmd(Command),
    application:set_env(mnesia, dir, Other),
    ok = mnesia:start(),
    ok = mnesia:wait_for_tables([k, l], 20000),
    R = {string:find(Out, "ready") =/= nomatch, mnesia:table_info(k, size), mnesia:dirty_read(k, 100), mnesia:dirty_read(k, 101), mnesia:table_info(l, size)},
    stopped = mnesia:stop(),
    R.

start_and_crash([Dir]) ->
    application:set_env(mnesia, dir, atom_to_list(Dir)),
    ok = mnesia:create_schema([node()]),
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(k, [{disc_copies, [node()]}]),
    {atomic, ok} = mnesia:create_table(l, [{disc_only_copies, [node()]}]),
    [{atomic, ok} = mnesia:sync_transaction(fun() -> mnesia:write({k, I, I}), mnesia:write({l, I, I}) end) || I <- lists:seq(1, 100)],
    %% What others log for a transaction may come to the log after its end.
    settled(filename:join(atom_to_list(Dir), "LATEST.LOG"), 0, 0),
    io:format("ready~n"),
    spawn(fun() -> mnesia:transaction(fun() -> mnesia:write({k, 101, 101}), halt(1, [{flush, false}]) end) end),
    timer:sleep(infinity).

settled(_, _, 5) -> ok;
settled(Log, Size, Times) ->
    ok = mnesia:sync_log(),
    timer:sleep(100),
    case filelib:file_size(Log) of
        Size -> settled(Log, Size, Times + 1);
        Other -> settled(Log, Other, 0)
    end.
