# No descriptors left: what is told, and that all goes on afterwards.
cat >exhausted.erl <<'X'
-module(exhausted).
-export([descriptors/0]).

descriptors() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    ok = file:write_file("file", "text"),
    [code:ensure_loaded(M) || M <- [io, io_lib, io_lib_pretty, io_lib_format, file, filelib, lists, os, filename, raw_file_io, raw_file_io_raw, file_io_server, erl_posix_msg, string, unicode]],
    Open = fun F(L) -> case file:open("file", [read, raw]) of {ok, D} -> F([D | L]); E -> {L, E} end end,
    {All, E} = Open([]),
    tell([length(All) > 50, E]),
    tell([file:open("file", [read]), file:open("new", [write, raw]), file:read_file("file"), file:list_dir("."), file:write_file("file", "x"), file:copy("file", "copy")]),
    tell([element(1, catch file:read_file_info("file")), file:rename("file", "other"), file:rename("other", "file"), file:delete("no")]),
    tell([catch_(fun() -> open_port({spawn, "true"}, []) end), catch_(fun() -> open_port({spawn_executable, "/bin/true"}, []) end)]),
    [D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11, D12 | Rest] = All,
    [ok = file:close(D) || D <- [D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11, D12]],
    tell([file:read_file("file"), os:cmd("echo again"), element(1, file:list_dir("."))]),
    [ok = file:close(D) || D <- Rest],
    %% Once the programs have been reaped, which may take a while on a busy machine. (More than before, if something else had a file
    %% open then.)
    None_lost = fun() -> {Again, _} = Open([]), [ok = file:close(D) || D <- Again], length(Again) >= length(All) end,
    tell([lists:any(fun(_) -> timer:sleep(100), None_lost() end, lists:seq(1, 100))]),
    [io:format("=> ~0p~n", [L]) || L <- lists:reverse(get(told))].

%% Told in the end: to print, code has to be loaded.
tell(L) -> put(told, [L | case get(told) of undefined -> []; Told -> Told end]).
catch_(F) -> try F() of P when is_port(P) -> port; V -> V catch C:E -> {C, E} end.
X
"$(dirname "$ERL")/erlc" -W0 exhausted.erl
run() { "$ERL" -noshell "$@" </dev/null 2>err | grep -a '^=>'; }
(ulimit -n 100; run -s exhausted descriptors -s init stop)
