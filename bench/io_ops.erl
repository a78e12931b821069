%% Ports and files, for cargo xtask bench: what one case costs.
%%
%% Started as `erl -noshell -run io_ops main CASE`; CASE `names` prints them all. Each case does a fixed amount of work and prints
%% `value CPU WALL`: the processor time of the VM (that of its programs aside) and the time that passed, in microseconds; the best
%% of three passes in the same VM, each in a process of its own. Files are made in a directory of the case's own below `TMPDIR`.
-module(io_ops).
-export([main/1]).

-define(PACKET, 64).

main(["names"]) ->
    [io:format("~s~n", [Name]) || {Name, _} <- cases()],
    halt(0);
main([Name]) ->
    {_, Prepare} = lists:keyfind(list_to_atom(Name), 1, cases()),
    Dir = filename:join(os:getenv("TMPDIR", "/tmp"), "io_ops." ++ os:getpid()),
    ok = file:make_dir(Dir),
    File = filename:join(Dir, "file"),
    Case = Prepare(File),
    Passes = [pass(Case) || _ <- [1, 2, 3]],
    ok = file:del_dir_r(Dir),
    io:format("value ~w ~w~n", [lists:min([C || {C, _} <- Passes]), lists:min([W || {_, W} <- Passes])]),
    halt(0).

pass(Case) ->
    {_, Ref} = spawn_monitor(fun() ->
        Cpu = cpu(),
        Wall = erlang:monotonic_time(microsecond),
        Case(),
        exit({cpu() - Cpu, erlang:monotonic_time(microsecond) - Wall})
    end),
    receive {'DOWN', Ref, _, _, {_, _} = Took} -> Took end.

%% Processor time of all threads of this VM, user and system, in steps of 10 ms. `statistics(runtime)` has only the user part.
cpu() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    [_, Rest] = string:split(Text, ") ", trailing),
    [User, System] = lists:sublist(string:lexemes(Rest, " "), 12, 2),
    10000 * (binary_to_integer(User) + binary_to_integer(System)).

%% {Name, fun(File) -> what one pass does}
cases() ->
    [{packets_in_turn, fun(_) -> fun() -> in_turn(20000) end end},
     {packets_ahead, fun(_) -> fun() -> ahead(50000, 100) end end},
     {packets_flood, fun(_) -> fun() -> flood(50000) end end},
     {lines_in, fun(_) -> fun() -> lines_in(100000) end end},
     {stream_in, fun(_) -> fun() -> stream_in(256 bsl 20) end end},
     {stream_through, fun(_) -> fun() -> through(128, 1 bsl 20) end end},
     {os_cmd, fun(_) -> fun() -> repeat(200, fun() -> [] = os:cmd("true") end) end end},
     {open_close, fun(_) -> fun() -> repeat(200, fun open_close/0) end end},
     {write_raw, fun(F) -> writes(F, [raw, binary], 50000) end},
     {write_delayed, fun(F) -> writes(F, [raw, binary, delayed_write], 300000) end},
     {write_server, fun(F) -> writes(F, [binary], 30000) end},
     {read_lines_ahead, fun(F) -> read_lines(F, [raw, binary, read_ahead], 100000) end},
     {read_lines_server, fun(F) -> read_lines(F, [binary], 20000) end},
     {pread_small, fun(F) -> preads(F, 100000) end},
     {pwrite_small, fun(F) -> pwrites(F, 50000) end},
     {read_file_info, fun(F) -> ok = file:write_file(F, "x"), fun() -> repeat(50000, fun() -> {ok, _} = file:read_file_info(F) end) end end},
     {list_dir, fun(F) ->
         Dir = filename:dirname(F),
         [ok = file:write_file(filename:join(Dir, "entry" ++ integer_to_list(N)), "") || N <- lists:seq(1, 100)],
         fun() -> repeat(3000, fun() -> {ok, [_ | _]} = file:list_dir(Dir) end) end
     end},
     {make_and_delete, fun(F) -> fun() -> repeat(5000, fun() -> ok = file:write_file(F, "text"), ok = file:delete(F) end) end end},
     {copy_large, fun(F) -> large(F), fun() -> {ok, _} = file:copy(F, F ++ ".copy") end end},
     {write_64k, fun(F) -> write_large(F, 64 bsl 10) end},
     {write_1m, fun(F) -> write_large(F, 1 bsl 20) end},
     {read_64k, fun(F) -> read_large(F, 64 bsl 10) end},
     {read_1m, fun(F) -> read_large(F, 1 bsl 20) end},
     {read_file, fun(F) -> large(F), fun() -> repeat(4, fun() -> {ok, _} = file:read_file(F), garbage_collect() end) end end}].

repeat(0, _) -> ok;
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).

%% Ports.

cat() -> open_port({spawn_executable, "/bin/cat"}, [{packet, 4}, binary]).

packet() -> binary:copy(<<"x">>, ?PACKET).

in_turn(N) ->
    Port = cat(),
    Packet = packet(),
    repeat(N, fun() -> true = port_command(Port, Packet), receive {Port, {data, Packet}} -> ok end end),
    port_close(Port).

%% So many under way all the time.
ahead(N, Window) ->
    Port = cat(),
    Packet = packet(),
    repeat(Window, fun() -> true = port_command(Port, Packet) end),
    repeat(N, fun() -> receive {Port, {data, _}} -> true = port_command(Port, Packet) end end),
    repeat(Window, fun() -> receive {Port, {data, _}} -> ok end end),
    port_close(Port).

%% One process sends as fast as it can, another receives.
flood(N) ->
    Port = cat(),
    Packet = packet(),
    spawn_link(fun() -> repeat(N, fun() -> true = port_command(Port, Packet) end) end),
    repeat(N, fun() -> receive {Port, {data, _}} -> ok end end),
    port_close(Port).

lines_in(N) ->
    Port = open_port({spawn, "seq " ++ integer_to_list(N)}, [{line, 100}, binary, eof]),
    repeat(N, fun() -> receive {Port, {data, {eol, _}}} -> ok end end),
    port_close(Port).

stream_in(Bytes) ->
    Port = open_port({spawn, "head -c " ++ integer_to_list(Bytes) ++ " /dev/zero"}, [stream, binary, eof]),
    Bytes = sink(Port, 0),
    port_close(Port).

sink(Port, N) ->
    receive
        {Port, {data, D}} -> sink(Port, N + byte_size(D));
        {Port, eof} -> N
    end.

%% Large packets there and back.
through(N, Size) ->
    Port = cat(),
    Data = binary:copy(<<"x">>, Size),
    repeat(N, fun() -> true = port_command(Port, Data), receive {Port, {data, Data}} -> ok end end),
    port_close(Port).

open_close() ->
    Port = open_port({spawn_executable, "/bin/cat"}, []),
    port_close(Port).

%% Files.

record() -> <<(binary:copy(<<"x">>, 99))/binary, $\n>>.

writes(File, Modes, N) ->
    fun() ->
        {ok, D} = file:open(File, [write | Modes]),
        Record = record(),
        repeat(N, fun() -> ok = file:write(D, Record) end),
        ok = file:close(D)
    end.

read_lines(File, Modes, N) ->
    ok = file:write_file(File, binary:copy(record(), N)),
    fun() ->
        {ok, D} = file:open(File, [read | Modes]),
        repeat(N, fun() -> {ok, _} = file:read_line(D) end),
        ok = file:close(D)
    end.

preads(File, N) ->
    ok = file:write_file(File, binary:copy(record(), 10000)),
    fun() ->
        {ok, D} = file:open(File, [read, raw, binary]),
        repeat(N, fun() -> {ok, <<_:100/binary>>} = file:pread(D, 31700, 100) end),
        ok = file:close(D)
    end.

pwrites(File, N) ->
    ok = file:write_file(File, binary:copy(record(), 10000)),
    fun() ->
        {ok, D} = file:open(File, [read, write, raw, binary]),
        Record = record(),
        repeat(N, fun() -> ok = file:pwrite(D, 31700, Record) end),
        ok = file:close(D)
    end.

-define(LARGE, (256 bsl 20)).

large(File) ->
    Chunk = binary:copy(<<"x">>, 1 bsl 20),
    {ok, D} = file:open(File, [write, raw]),
    repeat(?LARGE bsr 20, fun() -> ok = file:write(D, Chunk) end),
    ok = file:close(D).

%% Four times over the same quarter of a gigabyte: the page cache, not the disk, is what is measured.
write_large(File, Size) ->
    Chunk = binary:copy(<<"x">>, Size),
    large(File),
    fun() ->
        {ok, D} = file:open(File, [read, write, raw]),
        repeat(4, fun() ->
            {ok, 0} = file:position(D, 0),
            repeat(?LARGE div Size, fun() -> ok = file:write(D, Chunk) end)
        end),
        ok = file:close(D)
    end.

read_large(File, Size) ->
    large(File),
    fun() ->
        {ok, D} = file:open(File, [read, raw, binary]),
        repeat(4, fun() ->
            {ok, 0} = file:position(D, 0),
            repeat(?LARGE div Size, fun() -> {ok, <<_:Size/binary>>} = file:read(D, Size) end)
        end),
        ok = file:close(D)
    end.
