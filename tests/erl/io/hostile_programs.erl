%% Programs behind ports that break every rule: what is told, in which order, and that the VM keeps its memory and its descriptors.
-module(hostile_programs).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    t:mute(),
    os:cmd("true"),
    Before = descriptors(),
    lengths(),
    lines(),
    children(),
    stops(),
    starts(),
    t:c(descriptors_left, fun() -> wait(fun() -> descriptors() =< Before end, 50) end),
    t:c(programs_left, fun() -> wait(fun() -> zombies() =:= 0 end, 50) end),
    ok.

%% Headers that promise what does not come.
lengths() ->
    t:each(promise, [{N, H} || {N, Hs} <- [{1, ["\\377", "\\000"]}, {2, ["\\377\\377", "\\377"]}, {4, ["\\177\\377\\377\\377", "\\100\\0\\0\\0", "\\0\\377\\377\\377", "\\0"]}], H <- Hs],
           fun({N, H}) -> M = erlang:memory(total), P = sh("printf '" ++ H ++ "abc'", [{packet, N}, exit_status, binary]), R = all(P), {R, erlang:memory(total) - M < 50_000_000} end),
    t:c(promise_and_wait, fun() -> P = sh("printf '\\177\\377\\377\\377abc'; exec sleep 30", [{packet, 4}, exit_status]), timer:sleep(100), kill(P), all(P) end),
    t:c(promise_kept, fun() -> P = sh("printf '\\0\\100\\0\\0'; head -c 4194304 /dev/zero; printf '\\0\\0\\0\\1x'", [{packet, 4}, binary, exit_status]), [size_of(M) || M <- all(P)] end),
    t:c(byte_by_byte, fun() -> P = sh("for c in '\\0' '\\0' '\\0' '\\3' a b c '\\0' '\\0' '\\0' '\\0'; do printf \"$c\"; sleep 0.01; done", [{packet, 4}, exit_status]), all(P) end),
    t:c(many_empty, fun() -> P = sh("head -c 400000 /dev/zero", [{packet, 4}, binary, exit_status]), L = all(P), {length(L), lists:usort(L)} end),
    t:c(garbage, fun() -> P = sh("i=0; while [ $i -lt 200 ]; do printf '\\0\\5abcd\\n\\0\\2xy'; i=$((i+1)); done", [{packet, 2}, exit_status]), L = all(P), {length(L), lists:usort(L)} end),
    t:c(too_long_to_send, fun() -> P = sh("exec cat 2>/dev/null", [{packet, 1}]), R = [catch_(fun() -> port_command(P, binary:copy(<<"x">>, N)) end) || N <- [255, 256, 100000]], P ! {self(), {command, binary:copy(<<"x">>, 300)}}, {R, all(P, 300)} end).

lines() ->
    t:c(endless_line, fun() -> P = sh("head -c 3000000 /dev/zero", [{line, 1000000}, binary, exit_status]), [size_of(M) || M <- all(P)] end),
    t:c(large_limit, fun() -> P = sh("printf 'a\\nb'", [{line, 1 bsl 30}, exit_status]), all(P) end),
    t:c(limit_of_one, fun() -> P = sh("printf 'ab\\n\\r\\nc'", [{line, 1}, exit_status]), all(P) end).

%% Children that keep the pipes open.
children() ->
    t:c(child_keeps_output, fun() -> P = sh("sleep 0.4 & echo parent; exit 3", [exit_status]), A = all(P), {A, catch_(fun() -> port_close(P) end)} end),
    t:c(child_keeps_output_eof, fun() -> P = sh("sleep 0.4 & echo parent; exit 3", [exit_status, eof]), A = all(P, 1500), {A, catch_(fun() -> port_close(P) end)} end),
    t:c(child_writes_later, fun() -> P = sh("(sleep 0.4; echo child) & echo parent; exit 3", [exit_status]), all(P, 1500) end),
    t:c(child_without_status, fun() -> P = sh("(sleep 0.4; echo child) & echo parent; exit 3", []), all(P, 1500) end),
    t:c(output_closed_first, fun() -> P = sh("exec >&-; sleep 0.4; exit 5", [exit_status]), all(P, 1500) end),
    t:c(output_closed_first_eof, fun() -> P = sh("exec >&-; sleep 0.4; exit 5", [exit_status, eof]), all(P, 1500) end),
    t:c(output_closed_no_status, fun() -> P = sh("exec >&-; sleep 0.4; exit 5", []), all(P, 1500) end),
    t:c(many_children, fun() -> P = sh("i=0; while [ $i -lt 20 ]; do (echo $i) & i=$((i+1)); done; wait; exit 2", [exit_status, {line, 10}]), lists:sort(all(P)) =:= lists:sort([{data, {eol, integer_to_list(I)}} || I <- lists:seq(0, 19)] ++ [{exit_status, 2}, {exit, normal}]) end),
    t:c(closed_while_it_runs, fun() -> P = sh("trap '' HUP TERM PIPE; sleep 0.3; exit 1", [exit_status]), port_close(P), [erlang:port_info(P), all(P, 600)] end).

stops() ->
    t:each(signals, [1, 2, 3, 6, 9, 11, 13, 15], fun(S) -> P = sh("ulimit -c 0; kill -" ++ integer_to_list(S) ++ " $$", [exit_status]), all(P) end),
    t:c(stopped_and_continued, fun() -> P = sh("kill -STOP $$; exit 3", [exit_status]), timer:sleep(200), A = erlang:port_info(P, connected) =:= {connected, self()}, os:cmd("kill -CONT " ++ integer_to_list(pid(P))), {A, all(P)} end),
    t:c(never_reads, fun() ->
        P = sh("exec sleep 30", [exit_status]),
        S = self(),
        Data = binary:copy(<<"x">>, 100_000),
        {Q, R} = spawn_monitor(fun() -> unlink(P), [port_command(P, Data) || _ <- lists:seq(1, 1000)], exit(done) end),
        timer:sleep(300),
        {queue_size, N} = erlang:port_info(P, queue_size),
        A = [N > 0 andalso N < 1_000_000, S =:= element(2, erlang:port_info(P, connected))],
        kill(P),
        B = all(P),
        receive {'DOWN', R, _, _, Why} -> {A, B, element(1, element(1, {Why}))} after 5000 -> {A, B, stuck} end
    end),
    t:c(never_reads_and_many_wait, fun() ->
        P = sh("exec sleep 30", []),
        Data = binary:copy(<<"x">>, 500_000),
        Rs = [element(2, spawn_monitor(fun() -> port_command(P, Data), exit(catch_(fun() -> port_command(P, Data) end)) end)) || _ <- lists:seq(1, 20)],
        timer:sleep(300),
        port_close(P),
        Ends = [receive {'DOWN', R, _, _, Why} -> Why after 5000 -> stuck end || R <- Rs],
        [{W, length([x || E <- Ends, E =:= W])} || W <- lists:usort(Ends)]
    end),
    t:c(reads_slowly, fun() -> P = sh("sleep 0.3; exec wc -c", [exit_status, out, in]), [port_command(P, binary:copy(<<"x">>, 50_000)) || _ <- lists:seq(1, 10)], os:cmd("sleep 0.1"), R = erlang:port_info(P, output), kill_when_read(P), {R, all(P)} end),
    t:c(killed_with_output_left, fun() -> P = sh("head -c 50000 /dev/zero; kill -9 $$", [exit_status, binary]), L = all(P), {lists:sum([byte_size(D) || {data, D} <- L]), [M || M <- L, element(1, M) =/= data]} end),
    t:c(answers_then_dies, fun() -> [begin P = sh("head -c 3 >/dev/null; printf answer; exit 2", [exit_status]), port_command(P, "abc"), all(P) end || _ <- [1, 2, 3]] end).

%% Programs that cannot be started.
starts() ->
    Dir = t:tmp("starts"),
    File = fun(Name, Text, Mode) -> F = filename:join(Dir, Name), ok = file:write_file(F, Text), ok = file:change_mode(F, Mode), F end,
    Targets = [File("no_shebang", "echo hi\n", 8#755), File("bad_shebang", "#!/no/such/interpreter\n", 8#755), File("empty", "", 8#755), File("not_executable", "#!/bin/sh\necho hi\n", 8#644), File("garbage", <<0, 1, 2, 3, 255>>, 8#755), File("half_elf", <<127, "ELF", 2, 1, 1, 0>>, 8#755), File("ok", "#!/bin/sh\necho $0 | tail -c 3; exit 4\n", 8#755), Dir, filename:join(Dir, "none"), filename:join([Dir, "ok", "x"]), filename:join(Dir, lists:duplicate(300, $n)), lists:duplicate(5000, $/) ++ "bin/true"],
    t:each(executable, lists:zip(lists:seq(1, length(Targets)), Targets), fun({_, T}) -> run({spawn_executable, T}, [exit_status]) end),
    t:each(spawned, lists:zip(lists:seq(1, length(Targets)), Targets), fun({_, T}) -> run({spawn, T ++ " 2>/dev/null"}, [exit_status]) end),
    t:each(cd, ["none", "ok", "ok/x", "", lists:duplicate(300, $n), lists:duplicate(5000, $n)], fun(D) -> timer:sleep(100), run({spawn_executable, "/bin/pwd"}, [{cd, filename:join(Dir, D)}, exit_status, stderr_to_stdout]) end),
    t:each(cd_spawn, ["none", "ok"], fun(D) -> timer:sleep(100), run({spawn, "pwd"}, [{cd, filename:join(Dir, D)}, exit_status, stderr_to_stdout]) end),
    t:each(long_argument, [1000, 100_000, 131_071, 131_072, 3_000_000], fun(N) -> short(run({spawn_executable, "/bin/echo"}, [{args, [lists:duplicate(N, $x)]}, exit_status, {line, 10_000_000}])) end),
    t:each(many_arguments, [10, 1000, 100_000], fun(N) -> short(run({spawn_executable, "/bin/sh"}, [{args, ["-c", "echo $#" | lists:duplicate(N, "x")]}, exit_status])) end),
    t:each(long_command, [1000, 100_000, 131_060, 131_072, 3_000_000], fun(N) -> short(run({spawn, "echo " ++ lists:duplicate(N, $x)}, [exit_status, stderr_to_stdout, {line, 10_000_000}])) end),
    t:each(long_environment, [1000, 131_069, 131_072, 3_000_000], fun(N) -> short(run({spawn_executable, "/bin/sh"}, [{args, ["-c", "echo ${#X}"]}, {env, [{"X", lists:duplicate(N, $x)}]}, exit_status, stderr_to_stdout])) end),
    t:each(many_variables, [1000, 10_000], fun(N) -> short(run({spawn_executable, "/bin/sh"}, [{args, ["-c", "env | grep -c ^X"]}, {env, [{"X" ++ integer_to_list(I), "value"} || I <- lists:seq(1, N)]}, exit_status, stderr_to_stdout])) end),
    t:each(bad_environment, [[{"A\0B", "x"}], [{"A", "x\0y"}], [{"A", "x"}, {"A", false}], [{"", false}], [{"=A", "x"}], [{"PATH", false}], [{"PATH", ""}]], fun(E) -> run({spawn_executable, "/bin/sh"}, [{args, ["-c", "echo ${A-unset}"]}, {env, E}, exit_status, stderr_to_stdout]) end),
    t:c(many_at_once, fun() -> Ps = [open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "exit " ++ integer_to_list(I)]}, exit_status]) || I <- lists:seq(1, 100)], [X || P <- Ps, X <- all(P), X =/= {exit, normal}] =:= [{exit_status, I} || I <- lists:seq(1, 100)] end),
    t:c(at_once_closed, fun() -> [begin P = open_port({spawn_executable, "/bin/cat"}, []), port_close(P) end || _ <- lists:seq(1, 100)], t:flush(100) =/= foo end).

sh(Text, Options) -> open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", Text]} | Options]).

pid(P) -> {os_pid, Pid} = erlang:port_info(P, os_pid), Pid.

kill(P) -> os:cmd("kill -9 " ++ integer_to_list(pid(P))).

%% It reads to the end of its input, which stays open as long as the port: another way to end it.
kill_when_read(P) -> timer:sleep(500), kill(P).

run(N, O) -> try open_port(N, O) of P -> all(P) catch C:R -> {C, R} end.

all(P) -> all(P, 5000).

all(P, Time) ->
    receive
        {P, M} -> [M | all(P, Time)];
        {'EXIT', P, X} -> [{exit, X}]
    after Time -> [nothing]
    end.

size_of({data, {K, D}}) -> {data, K, byte_size(D)};
size_of({data, D}) -> {data, byte_size(D)};
size_of(M) -> M.

short([{data, {K, D}} | L]) when length(D) > 200 -> [{data, K, length(D)} | L];
short(L) -> L.

descriptors() -> {ok, L} = file:list_dir("/proc/self/fd"), length(L).

zombies() ->
    length([P || "/proc/" ++ P <- filelib:wildcard("/proc/[0-9]*"), {ok, B} <- [file:read_file("/proc/" ++ P ++ "/stat")], [_, Rest] <- [string:split(B, ") ", trailing)], [<<"Z">>, Parent | _] <- [string:lexemes(Rest, " ")], binary_to_list(Parent) =:= os:getpid()]).

wait(_, 0) -> false;
wait(F, N) -> case F() of true -> true; false -> timer:sleep(100), wait(F, N - 1) end.

catch_(F) -> try F() catch C:R -> {C, R} end.
