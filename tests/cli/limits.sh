# Limits of the VM, and files that are not what they should be: what is said, the status, the dump.
run() { "$ERL" -noshell "$@" </dev/null >out 2>err; echo "status $?"; }
said() { cat out err | tr -d '\r' | sed "s:$PWD:TMP:g" | grep -a . | cut -c1-"${1:-120}" | sort -u; }
dump() { grep -a -m 1 '^Slogan' erl_crash.dump | sed "s:$PWD:TMP:g" | cut -c1-"${1:-60}"; rm -f erl_crash.dump; }
cat >full.erl <<'X'
-module(full).
-export([atoms/0, text_atoms/0, decoded/0, processes/0, ports/0, heap/0]).

atoms() -> atoms(1).
atoms(N) -> list_to_atom("full_" ++ integer_to_list(N)), atoms(N + 1).

text_atoms() -> text_atoms(1).
text_atoms(N) -> binary_to_atom(<<"full_", (integer_to_binary(N))/binary>>), text_atoms(N + 1).

decoded() -> decoded(1).
decoded(N) -> T = <<"full_", (integer_to_binary(N))/binary>>, binary_to_term(<<131, 119, (byte_size(T)), T/binary>>), decoded(N + 1).

processes() ->
    timer:sleep(200), % the last processes of the boot end
    F = fun F(N) -> case catch spawn(fun() -> receive stop -> ok end end) of P when is_pid(P) -> F(N + 1); E -> {N, E} end end,
    {N, E} = F(0),
    Limit = erlang:system_info(process_limit),
    io:format("=> ~p ~p ~p~n", [Limit, N > Limit - 100, element(1, element(2, E))]),
    io:format("=> ~p~n", [element(1, element(2, catch spawn_monitor(fun() -> ok end)))]),
    io:format("=> ~p~n", [erlang:system_info(process_count) =:= Limit]).

ports() ->
    F = fun F(N) -> case catch open_port({spawn, "sleep 5"}, []) of P when is_port(P) -> F(N + 1); E -> {N, E} end end,
    {N, E} = F(0),
    io:format("=> ~p ~p ~p~n", [erlang:system_info(port_limit), N > 900, element(1, element(2, E))]).

heap() ->
    Grow = fun F(L) -> F([{L, L} | L]) end,
    [begin
         {P, R} = spawn_opt(fun() -> Grow([]) end, [monitor, {max_heap_size, #{size => S, kill => true, error_logger => false}}]),
         receive {'DOWN', R, process, P, Why} -> io:format("=> ~p ~p~n", [S, Why]) end
     end || S <- [1000, 100000, 1000000]],
    io:format("=> ~p~n", [element(1, element(2, catch spawn_opt(fun() -> ok end, [{max_heap_size, 10}])))]).
X
"$(dirname "$ERL")/erlc" -W0 full.erl
cat >files.erl <<'X'
-module(files).
-export([main/0]).

%% All descriptors are in use: what each function says, and that two given back are enough to go on.
main() ->
    process_flag(trap_exit, true),
    [code:ensure_loaded(M) || M <- [io, io_lib, io_lib_format, io_lib_pretty, string, unicode_util, filename, lists, filelib, os, gen_udp, inet_udp, inet_db, inet_config, file_io_server]],
    {ok, Cwd} = file:get_cwd(),
    io:format("=> begin ~w ~0p~n", [filelib:is_dir(Cwd), {"text", [1, {a, 2.0}]}]),
    Files = open([]),
    Say = fun(Name, Fun) -> io:format("=> ~w ~0p~n", [Name, try Fun() catch C:R -> {C, R} end]) end,
    Say(open, fun() -> hd(Files) end),
    Say(server, fun() -> file:open("/etc/passwd", [read]) end),
    Say(write, fun() -> file:open("fdx", [write]) end),
    Say(read_file, fun() -> file:read_file("/etc/passwd") end),
    Say(write_file, fun() -> file:write_file("fdx", "a") end),
    Say(copy, fun() -> file:copy("/etc/passwd", "fdx") end),
    Say(list_dir, fun() -> file:list_dir("/etc") end),
    Say(spawn, fun() -> open_port({spawn, "cat"}, []) end),
    Say(executable, fun() -> open_port({spawn_executable, "/bin/cat"}, []) end),
    Say(cmd, fun() -> os:cmd("echo hi") end),
    Say(udp, fun() -> gen_udp:open(0) end),
    Say(name, fun() -> open_port("/etc/passwd", [in]) end),
    Say(info, fun() -> element(1, file:read_file_info("/etc/passwd")) end),
    Say(make_dir, fun() -> {file:make_dir("fddir"), file:del_dir("fddir")} end),
    [ok = file:close(F) || F <- lists:sublist(Files, 2, 8)],
    Say(again, fun() -> {ok, B} = file:read_file("/etc/passwd"), byte_size(B) > 0 end),
    Say(again, fun() -> os:cmd("echo hi") end).

open(Files) ->
    case file:open("/etc/passwd", [read, raw]) of
        {ok, File} -> open([File | Files]);
        Error -> [Error | Files]
    end.
X
"$(dirname "$ERL")/erlc" -W0 files.erl
full() { run +t 9000 +P 1024 +Q 1024 -boot no_dot_erlang -s full "$@" -s init stop; }
for f in atoms text_atoms decoded; do full $f; grep -aho 'no more .*)' out err; dump; done
full processes; grep -a '^=>' out
full heap; grep -a '^=>' out
(
    ulimit -n 100
    run -boot no_dot_erlang -s files main -s init stop
    said | grep '^=>\|^status'
)
# Code that is none, code of another name, half a file.
echo rubbish >nocode.beam
head -c 300 full.beam >half.beam
cp full.beam other.beam
for m in nocode half other; do
    run -boot no_dot_erlang -eval "io:format(\"=> ~0p~n\", [[code:load_file($m), code:load_binary($m, \"x\", element(2, file:read_file(\"$m.beam\"))), element(1, element(2, catch $m:f())), erlang:prepare_loading($m, element(2, file:read_file(\"$m.beam\")))]]), halt()."
    grep -a '^=>' out | cut -c1-200
    run -boot no_dot_erlang -s $m f
    dump 80
done
# Boot files.
boot=$("$ERL" -noshell -eval 'io:put_chars(code:root_dir()), halt().')/bin/no_dot_erlang.boot
head -c 500 "$boot" >cut.boot
echo rubbish >rubbish.boot
for b in cut rubbish missing; do run -boot "$PWD/$b"; dump 65; done
run -args_file nothere -boot no_dot_erlang -eval 'halt().'; said 60
run -boot no_dot_erlang -config nothere -eval 'halt(3).'; rm -f erl_crash.dump
printf 'not a term' >bad.config
run -boot no_dot_erlang -config bad -eval 'halt(3).'; grep -aom1 'error in config file' err out; rm -f erl_crash.dump
