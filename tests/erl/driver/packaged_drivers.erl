%% Drivers as they are packaged: those of tracing, the scanner of megaco, sqlite3.
-module(packaged_drivers).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("packaged_drivers")),
    t:c(trace_file, fun trace_file/0),
    t:c(trace_ip, fun trace_ip/0),
    t:c(scanner, fun() -> scanned(megaco_flex_scanner:start()) end),
    t:c(scanner_many, fun() -> scanned(megaco_flex_scanner:start(true)) end),
    t:c(sqlite3, fun sqlite3/0).

traced(Tell) ->
    {ok, _} = dbg:p(self(), [c]),
    {ok, _} = dbg:tp(lists, seq, 2, []),
    [lists:seq(1, N) || N <- [2, 3]],
    Tell().

trace_file() ->
    File = "trace.log",
    {ok, _} = dbg:tracer(port, dbg:trace_port(file, File)),
    traced(fun() -> stopped(dbg:stop()) end),
    Me = self(),
    dbg:trace_client(file, File, {fun(X, ok) -> Me ! X, ok end, ok}),
    [next(), next(), next()].

%% Waits for the end of the tracer, and so of its port.
stopped(ok) -> timer:sleep(100).

trace_ip() ->
    {ok, _} = dbg:tracer(port, dbg:trace_port(ip, 0)),
    {ok, Port} = dbg:trace_port_control(get_listen_port),
    Me = self(),
    dbg:trace_client(ip, Port, {fun(X, ok) -> Me ! X, ok end, ok}),
    timer:sleep(200),
    A = traced(fun() -> [next(), next()] end),
    stopped(dbg:stop()),
    flushed(),
    {is_integer(Port), A}.

next() -> receive X -> X after 5000 -> nothing end.
flushed() -> receive X -> [X | flushed()] after 0 -> [] end.

scanned({ok, What}) ->
    Message = <<"MEGACO/1 [124.124.124.222]:55555 Transaction = 9998 { Context = - { ServiceChange = ROOT { Services { Method = Restart, Reason = 901 } } } }">>,
    Ports = case What of {flex, P} -> P; P -> P end,
    Scanned = megaco_flex_scanner:scan(Message, Ports),
    Bad = megaco_flex_scanner:scan(<<"MEGACO/1 \0 \1">>, Ports),
    {megaco_flex_scanner:is_enabled(), Scanned, Bad, megaco_flex_scanner:scan(Message, Ports) =:= Scanned, megaco_flex_scanner:stop(Ports)};
scanned(Other) ->
    Other.

sqlite3() ->
    {ok, _} = sqlite3:open(db, [in_memory]),
    A = [sqlite3:sql_exec(db, Q) || Q <- [
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, size REAL, data BLOB);",
        "INSERT INTO t (name, size) VALUES ('one', 1.5);",
        "INSERT INTO t (name, size) VALUES ('two', NULL);",
        "SELECT * FROM t ORDER BY id;", "SELECT nothing FROM t;", "SELECT count(*), sum(size) FROM t;"]],
    B = [sqlite3:sql_exec(db, "INSERT INTO t (name, data) VALUES (?, ?);", [N, {blob, D}]) || {N, D} <- [{"three", <<1, 2, 3>>}, {"four", binary:copy(<<"x">>, 300)}]],
    C = sqlite3:sql_exec(db, "SELECT name, data FROM t WHERE data IS NOT NULL;"),
    Many = [sqlite3:sql_exec(db, "INSERT INTO t (name) VALUES (?);", [integer_to_list(N)]) || N <- lists:seq(1, 50)],
    {A, B, C, length(Many), sqlite3:list_tables(db), sqlite3:read(db, t, {name, "two"}), sqlite3:close(db)}.
