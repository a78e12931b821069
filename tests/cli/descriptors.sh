# Few descriptors from the start, none left later: each that wants one is told what OTP tells; all goes on when there are some again.
cat >few.erl <<'E'
-module(few).
-export([main/0, code/0, late/0]).

say(Name, Fun) -> put(said, [{Name, norm(try Fun() catch C:R -> {C, R} end)} | case get(said) of undefined -> []; L -> L end]).

norm(T) when is_pid(T); is_reference(T); is_function(T); is_port(T) -> opaque;
norm(T) when is_tuple(T) -> list_to_tuple([norm(X) || X <- tuple_to_list(T)]);
norm([H | T]) -> [norm(H) | norm(T)];
norm(T) -> T.

told() -> [io:format("=> ~w ~0p~n", [N, V]) || {N, V} <- lists:reverse(get(said))].

load(Modules) -> [code:ensure_loaded(M) || M <- Modules].

eat(L) -> case file:open("file", [read, raw]) of {ok, D} -> eat([D | L]); {error, emfile} -> L end.

main() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    ok = file:write_file("file", "text"),
    load([io, io_lib, io_lib_format, io_lib_pretty, lists, file, filelib, filename, os, dets, dets_v9, dets_server, dets_sup, dets_utils, disk_log, disk_log_1, disk_log_server, disk_log_sup, zip, erl_tar, beam_lib, raw_file_io, raw_file_io_raw, raw_file_io_deflate, raw_file_io_inflate, erl_erts_errors, queue, raw_file_io_delayed, raw_file_io_compressed, raw_file_io_list, file_io_server, erl_posix_msg, string, unicode, unicode_util, ets, erl_scan, erl_parse, epp, ram_file, zlib, prim_zip, binary, re, timer, erl_eval]),
    {ok, T} = dets:open_file(t, [{file, "t"}]), ok = dets:insert(T, {1, 2}),
    {ok, L} = disk_log:open([{name, l}, {file, "l"}]),
    All = eat([]),
    say(open, fun() -> [file:open("file", M) || M <- [[read], [read, raw], [write], [append, raw], [read, compressed], [raw, read, delayed_write], [raw, read, read_ahead], [directory]]] end),
    say(ram, fun() -> {ok, D} = file:open("text", [ram, read]), R = file:read(D, 4), file:close(D), R end),
    say(whole, fun() -> [file:read_file("file"), file:write_file("new", "x"), file:copy("file", "new"), file:consult("file"), file:script("file"), file:eval("file"), file:path_open(["."], "file", [read])] end),
    say(places, fun() -> [file:list_dir("."), filelib:wildcard("*"), filelib:is_file("file"), filelib:is_dir("."), element(1, file:get_cwd()), file:make_dir("dir"), file:del_dir("dir"), file:del_dir_r("none"), file:make_symlink("file", "link"), file:read_link("link"), file:delete("link")] end),
    say(archives, fun() -> [zip:unzip("file"), zip:create("x.zip", [{"a", <<"b">>}]), erl_tar:extract("file"), erl_tar:create("x.tar", ["file"]), element(1, zip:create("x.zip", [{"a", <<"b">>}], [memory]))] end),
    say(beam, fun() -> [beam_lib:info(code:which(few)), code:load_file(m0), code:load_abs("few2"), code:ensure_loaded(m0), code:which(m0), (catch m0:f()), erl_prim_loader:get_file("file"), erl_prim_loader:list_dir("."), element(1, erl_prim_loader:read_file_info("file"))] end),
    say(tables, fun() -> [dets:insert(T, {2, 3}), dets:lookup(T, 1), dets:open_file(u, [{file, "u"}]), disk_log:log(L, x), disk_log:open([{name, k}, {file, "k"}]), ets:tab2file(ets:new(t, []), "e"), ets:file2tab("e")] end),
    say(ports, fun() -> [catch open_port(N, []) || N <- [{spawn, "true"}, {spawn_executable, "/bin/true"}, "file", {fd, 0, 1}]] end),
    say(cmd, fun() -> os:cmd("echo hi") end),
    say(find, fun() -> os:find_executable("sh") =/= false end),
    say(processes, fun() -> [spawn_monitor(fun() -> exit(file:read_file("file")) end), receive {'DOWN', _, _, _, W} -> W after 2000 -> stuck end] end),
    [A, B, C, D, E, F, G, H | Rest] = All,
    [ok = file:close(X) || X <- [A, B, C, D, E, F, G, H]],
    say(again, fun() -> [file:read_file("file"), os:cmd("echo hi"), element(1, file:list_dir(".")), disk_log:log(L, y), disk_log:sync(L), dets:sync(T), dets:lookup(T, 2)] end),
    say(owner_dies, fun() -> Me = self(), P = spawn(fun() -> eat([]), Me ! full, receive never -> ok end end), receive full -> ok after 5000 -> ok end, R1 = file:read_file("file"), exit(P, kill), {R1, until_read()} end),
    say(collected, fun() -> {_, M} = spawn_monitor(fun() -> eat([]) end), receive {'DOWN', M, _, _, _} -> ok after 5000 -> ok end, until_read() end),
    [ok = file:close(X) || X <- Rest],
    say(closed, fun() -> [disk_log:close(L), dets:close(T)] end),
    told().

%% What a file says once it can be opened again, or the last refusal after five seconds.
until_read(0) -> file:read_file("file");
until_read(N) -> case file:read_file("file") of {ok, _} = Read -> Read; _ -> timer:sleep(20), until_read(N - 1) end.
until_read() -> until_read(250).

%% Code that is wanted while there are no descriptors.
code() ->
    ok = file:write_file("file", "text"),
    load([io, io_lib, io_lib_format, io_lib_pretty, lists, file, raw_file_io, raw_file_io_raw, string, unicode_util]),
    All = eat([]),
    say(loads, fun() -> [catch queue:new(), catch gb_trees:empty(), code:ensure_loaded(sofs), code:load_file(sofs), code:is_loaded(queue)] end),
    [file:close(D) || D <- All],
    say(loads, fun() -> [catch queue:new(), catch gb_trees:empty(), code:ensure_loaded(sofs)] end),
    told().

late() -> io:format("=> ~w~n", [os:cmd("echo ok")]).
E
"$(dirname "$ERL")/erlc" -W0 few.erl
run() { timeout 60 "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null >out 2>err; echo "status $?"; grep -a '^=>' out; }
(ulimit -n 60; run -s few main -s init stop)
(ulimit -n 60; run -s few code -s init stop)
(ulimit -n 40; run -s few late -s init stop)
