# No room on the disk (the limit of a file's size stands for it, and /dev/full): what each writer is told, and what is in the files.
cat >full_disk.erl <<'E'
-module(full_disk).
-export([main/0]).

say(Name, Fun) ->
    file:write_file("out", io_lib:format("~s ~0p~n", [Name, norm(try Fun() catch C:R -> {C, R} end)]), [append]).

norm(T) when is_pid(T); is_reference(T); is_function(T); is_port(T) -> opaque;
norm(T) when is_tuple(T) -> list_to_tuple([norm(X) || X <- tuple_to_list(T)]);
norm([H | T]) -> [norm(H) | norm(T)];
norm(T) -> T.

fsize(F) -> filelib:file_size(F).

main() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    K = binary:copy(<<"0123456789abcdef">>, 64),
    [say([Name, " ", io_lib:format("~0p", [Modes])], fun() ->
        {ok, D} = file:open("f", [write | Modes]),
        Rs = [file:write(D, K) || _ <- lists:seq(1, 110)],
        Acknowledged = length(lists:takewhile(fun(R) -> R =:= ok end, Rs)),
        C = file:close(D),
        {Acknowledged >= 100, lists:usort(Rs), C, fsize("f")}
     end) || {Name, Modes} <- [{"write", [raw]}, {"write", [raw, append]}, {"write", []}, {"write", [{encoding, utf8}]}, {"write", [delayed_write]}, {"write", [raw, {delayed_write, 5000, 5000}]}, {"write", [raw, delayed_write]}]],
    say("one large", fun() -> {ok, D} = file:open("g", [write, raw]), R = file:write(D, binary:copy(K, 300)), {R, file:write(D, "x"), file:position(D, cur), file:close(D), fsize("g")} end),
    say("pwrite", fun() -> {ok, D} = file:open("g", [write, raw]), R = [file:pwrite(D, N, K) || N <- [0, 101376, 101400, 102399, 102400, 1 bsl 40]], {R, file:pwrite(D, [{0, "a"}, {200000, "b"}, {1, "c"}]), file:close(D), fsize("g")} end),
    say("truncate", fun() -> {ok, D} = file:open("g", [write, raw]), R = [begin file:position(D, N), file:truncate(D) end || N <- [1000, 102400, 102401, 1 bsl 40]], {R, file:close(D), fsize("g")} end),
    say("allocate", fun() -> {ok, D} = file:open("g", [write, raw]), R = [file:allocate(D, 0, N) || N <- [1000, 200000]], {R, file:close(D), fsize("g")} end),
    say("write_file", fun() -> {file:write_file("h", binary:copy(K, 101)), fsize("h")} end),
    say("copy", fun() -> os:cmd("true"), {file:copy("/dev/zero", "i", 200000), fsize("i")} end),
    say("compressed", fun() -> {ok, D} = file:open("z", [write, compressed]), R = [file:write(D, rand:bytes(1000)) || _ <- lists:seq(1, 200)], {hd(R), [X || X <- lists:usort(R), X =/= ok] =/= [], file:close(D), fsize("z") =< 102400} end),
    say("disk_log", fun() -> {ok, L} = disk_log:open([{name, l}, {file, "l"}]), R = [disk_log:log(L, K) || _ <- lists:seq(1, 120)], S = disk_log:sync(L), C = disk_log:close(L), {ok, _} = file:read_file_info("l"), {length([x || ok <- R]), lists:usort(R), S, C} end),
    say("disk_log again", fun() -> case disk_log:open([{name, l}, {file, "l"}, {mode, read_only}]) of {ok, L} -> {_, T} = disk_log:chunk(L, start, infinity), {length(T), disk_log:close(L)}; R -> R end end),
    say("disk_log wrap", fun() -> {ok, L} = disk_log:open([{name, w}, {file, "w"}, {type, wrap}, {size, {200000, 2}}]), R = [disk_log:log(L, K) || _ <- lists:seq(1, 120)], {length([x || ok <- R]), lists:usort(R), disk_log:close(L)} end),
    say("dets", fun() -> {ok, T} = dets:open_file(t, [{file, "d"}]), R = [dets:insert(T, {I, K}) || I <- lists:seq(1, 300)], S = dets:sync(T), C = dets:close(T), {length([x || ok <- R]) > 0, [X || X <- lists:usort([S, C | R])]} end),
    say("dets again", fun() -> element(1, dets:open_file(t, [{file, "d"}, {repair, false}])) end),
    say("tab2file", fun() -> T = ets:new(t, []), ets:insert(T, [{I, K} || I <- lists:seq(1, 200)]), [ets:tab2file(T, "e"), ets:tab2file(T, "e", [{sync, true}, {extended_info, [md5sum]}])] end),
    say("tar", fun() -> file:write_file("big", binary:copy(K, 90)), [erl_tar:create("t.tar", [{"a", "big"}, {"b", "big"}]), erl_tar:create("t.gz", [{"a", rand:bytes(150000)}], [compressed]), fsize("t.tar")] end),
    say("zip", fun() -> element(1, zip:create("x.zip", [{"a", rand:bytes(150000)}])) end),
    say("program", fun() -> os:cmd("head -c 200000 /dev/zero >p 2>/dev/null; wc -c <p") end),
    say("port", fun() -> P = open_port("q", [out]), [catch port_command(P, K) || _ <- lists:seq(1, 120)], receive {'EXIT', P, R} -> {R, fsize("q")} after 2000 -> {nothing, fsize("q")} end end),
    say("ram_file", fun() -> {ok, D} = file:open(binary:copy(K, 300), [ram, read, write, binary]), {file:write(D, "x"), file:close(D)} end),
    say("logger", fun() -> logger:set_primary_config(level, notice), ok = logger:add_handler(h, logger_std_h, #{config => #{file => "log"}}), [logger:error("~s", [K]) || _ <- lists:seq(1, 300)], logger_std_h:filesync(h), R = is_list(logger:get_handler_ids()), logger:remove_handler(h), logger:set_primary_config(level, none), {R, fsize("log") =< 102400} end),
    say("compile", fun() -> file:write_file("m.erl", "-module(m).\n-export([f/0]).\nf() -> ok.\n"), compile:file("m", [{outdir, "/dev/full"}, return]) end),
    say("again", fun() -> {file:write_file("j", "small"), file:read_file("j")} end).
E
"$(dirname "$ERL")/erlc" -W0 full_disk.erl
# 100 kB; the signal that goes with the limit is ignored.
(trap '' XFSZ; ulimit -f 100; timeout 60 "$ERL" -noshell -boot no_dot_erlang -s full_disk main -s init stop </dev/null >log.out 2>&1; echo "status $?")
cat out
# Without that: the signal.
(ulimit -f 1; ulimit -c 0; timeout 30 "$ERL" -noshell -boot no_dot_erlang -eval 'io:format("~0p~n", [catch file:write_file("f2", lists:duplicate(3000, $x))]), halt(3).' </dev/null 2>/dev/null; echo "status $?") 2>&1 | sed -n 's/^status/status/p'
# The compiler's output, and a crash dump.
printf -- '-module(m2).\n-export([f/0]).\nf() -> ok.\n' >m2.erl
ln -sf /dev/full m2.beam; "$(dirname "$ERL")/erlc" m2.erl 2>&1 | sed "s:$PWD:TMP:"; echo "status ${PIPESTATUS[0]}"; ls -l m2.beam 2>/dev/null | grep -c full
ERL_CRASH_DUMP=/dev/full "$ERL" -noshell -boot no_dot_erlang -eval 'erlang:halt("slogan").' </dev/null 2>&1 | head -n 2; echo "status ${PIPESTATUS[0]}"
