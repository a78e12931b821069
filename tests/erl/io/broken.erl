%% Programs that are killed or stop listening, and disks that are full: what is told, and that nothing acknowledged is lost.
-module(broken).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    programs(),
    full(),
    ok.

programs() ->
    t:each(killed, [[exit_status], [eof, exit_status], []], fun(Options) ->
        P = open_port({spawn, "sleep 20"}, Options),
        {os_pid, Pid} = erlang:port_info(P, os_pid),
        os:cmd("kill -9 " ++ integer_to_list(Pid)),
        all(P)
    end),
    t:each(stops_listening, [1, 100, 300000], fun(Size) ->
        Data = binary:copy(<<"a">>, Size),
        P = script("exec <&-; echo closed; exec sleep 20", [exit_status]),
        {os_pid, Pid} = erlang:port_info(P, os_pid),
        receive {P, {data, "closed\n"}} -> ok end,
        R = {catch port_command(P, Data), all(P)},
        os:cmd("kill " ++ integer_to_list(Pid)),
        R
    end),
    t:c(stops_listening_to_packets, fun() ->
        P = script("exec <&-; printf '\\0\\1x'; exec sleep 20", [{packet, 2}]),
        {os_pid, Pid} = erlang:port_info(P, os_pid),
        receive {P, {data, "x"}} -> ok end,
        P ! {self(), {command, "text"}},
        R = all(P),
        os:cmd("kill " ++ integer_to_list(Pid)),
        R
    end),
    t:c(stops_listening_when_full, fun() ->
        P = script("echo ready; sleep 0.3; exec <&-; exec sleep 20", []),
        {os_pid, Pid} = erlang:port_info(P, os_pid),
        receive {P, {data, "ready\n"}} -> ok end,
        true = port_command(P, binary:copy(<<"a">>, 1 bsl 20)),
        R = [nosuspend =:= catch_nosuspend(P) | all(P)],
        os:cmd("kill " ++ integer_to_list(Pid)),
        R
    end),
    t:c(ends_after_an_answer, fun() ->
        P = script("head -c 5; exit 4", [exit_status, stream]),
        port_command(P, "12345"),
        all(P)
    end),
    t:c(part_of_a_packet, fun() -> P = script("printf '\\0\\5abc'", [{packet, 2}, exit_status]), all(P) end),
    t:c(huge_packet, fun() -> P = script("printf '\\177\\377\\377\\377abc'", [{packet, 4}, exit_status]), all(P) end),
    t:c(end_with_much_unread, fun() ->
        P = open_port({spawn, "head -c 300000 /dev/zero"}, [binary, exit_status]),
        lists:foldl(fun({data, D}, {N, Rest}) -> {N + byte_size(D), Rest}; (M, {N, Rest}) -> {N, [M | Rest]} end, {0, []}, all(P))
    end).

catch_nosuspend(P) ->
    case erlang:port_command(P, "more", [nosuspend]) of false -> nosuspend; true -> sent end.

script(Text, Options) -> open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", Text]} | Options]).

all(P) ->
    receive
        {P, M} -> [M | all(P)];
        {'EXIT', P, X} -> [{exit, X}]
    after 1000 -> [nothing]
    end.

%% `/dev/full` takes no byte.
full() ->
    F = "/dev/full",
    t:c(write_file, fun() -> {file:write_file(F, "x"), file:write_file(F, ""), file:write_file(F, "x", [raw])} end),
    t:each(write, [[raw], [raw, binary], [], [binary], [{encoding, utf8}], [raw, {delayed_write, 1000, 50}], [{delayed_write, 1000, 50}], [raw, append]], fun(Modes) ->
        {ok, D} = file:open(F, [write | Modes]),
        A = file:write(D, "some text"),
        timer:sleep(150),
        B = file:write(D, "more"),
        timer:sleep(150),
        {A, B, file:pwrite(D, 10, "x"), file:close(D)}
    end),
    t:c(pwrite, fun() -> {ok, D} = file:open(F, [write, read, raw]), R = [file:pwrite(D, 0, "x"), file:pwrite(D, [{0, "a"}, {5, "b"}]), file:sync(D), file:datasync(D), file:truncate(D), file:read(D, 3), file:close(D)], R end),
    t:c(copy, fun() -> S = t:tmp("broken") ++ "/source", ok = file:write_file(S, "text"), {file:copy(S, F), file:copy(S, {F, [append]}), file:copy(S, S ++ "/no"), file:consult(S)} end),
    t:c(io, fun() -> {ok, D} = file:open(F, [write]), R = [catch_(fun() -> io:put_chars(D, "abc") end), catch_(fun() -> io:format(D, "~p", [x]) end), catch_(fun() -> io:nl(D) end)], [catch file:close(D) | R] end),
    t:c(port, fun() -> P = script("cat >/dev/full 2>/dev/null", [exit_status]), port_command(P, "abc"), timer:sleep(100), all(P) end),
    t:c(zlib, fun() -> {ok, D} = file:open(F, [write, compressed]), A = file:write(D, lists:duplicate(1000, $a)), {A, file:close(D)} end),
    t:c(terms, fun() -> T = ets:new(t, []), catch_(fun() -> ets:tab2file(T, "/dev/full/x") end) end).

catch_(F) -> try F() catch C:E -> {C, E} end.
