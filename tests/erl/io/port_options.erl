%% What ports take and refuse: environment, directory, arguments, limits; how input is cut, and in which order a port
%% tells of its end; what a full device answers.
-module(port_options).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    [p({env, E}, opened([{env, E}])) || E <- variables()],
    [p({os, E}, set(E)) || [E] <- [V || [{_, _}] = V <- variables()]],
    [p(O, opened([O])) || O <- options()],
    [p({T, S}, told(T, [exit_status | S])) || {T, S} <- programs()],
    [p({C, S}, told({spawn, C}, S)) || {C, S} <- input()],
    [p({C, S, byte_size(D)}, sent(C, S, D)) || {C, S, D} <- output()],
    [p({M, byte_size(D)}, full(M, D)) || M <- modes(), D <- [<<"a">>, binary:copy(<<"x">>, 100000)]],
    p(write_file, file:write_file("/dev/full", "a")),
    p(copy, file:copy("/etc/passwd", "/dev/full")).

p(Name, Value) -> t:p(io_lib:format("~0tp", [Name]), Value).

variables() ->
    [[{"k", [a]}], [{"k", ["a", ["b"]]}], [{"k", <<"b">>}], [{["k"], "v"}], [{"k", []}], [{"k", ["a" | "b"]}], [{"k", [0]}],
     [{"k", [16#110000]}], [{"k", [-1]}], [{[k], "v"}], [{"k=", "v"}], [{"k", "=v"}], [{k, "v"}], [{"k", true}],
     [{"k", false}, {"k", "b"}], [{"k", "v", 1}], [k | v], {k, v}, 42].

options() ->
    [{cd, [a]}, {cd, <<"/tmp">>}, {cd, '/tmp'}, {cd, ["/tm", [$p]]}, {cd, ""}, {cd, 1}, {line, 1.0}, {args, []},
     {arg0, "x"}, hide, overlapped_io, {parallelism, x}, foo]
        ++ [{K, {A, B}} || K <- [busy_limits_port, busy_limits_msgq], A <- [0, 1, 5, -1, x], B <- [0, 1, 10]]
        ++ [{busy_limits_port, {N, N}} || N <- [1 bsl 60, 1 bsl 63, (1 bsl 64) - 2, (1 bsl 64) - 1, 1 bsl 64]]
        ++ [{busy_limits_port, disabled}].

programs() ->
    Echo = {spawn_executable, "/bin/echo"},
    [{Echo, [{args, [a]}]}, {Echo, [{args, [<<"a">>, "b", ["c", $d]]}]}, {Echo, [{args, ["a" | "b"]}]},
     {Echo, [{args, [[a]]}]}, {{spawn_executable, "/bin/sh"}, [{args, ["-c", "echo $0"]}, {arg0, "x"}]},
     {{spawn_executable, "/bin"}, []}, {{spawn_executable, "/etc/passwd"}, []}, {{spawn_executable, "/nonex"}, []},
     {{spawn_executable, ""}, []}, {{spawn, ""}, []}, {{spawn, "echo " ++ [a]}, []}, {{spawn, <<"echo b">>}, []},
     {{spawn_driver, "nodrv"}, []}, {{fd, 0, a}, []}, {{fd, -1, -1}, []}, {{spawn, "a", b}, []}, {spawn, []}, {"", []}].

input() ->
    [{"printf 'abcdefghijk\\r\\r\\n'", [{line, 4}, exit_status]},
     {"printf 'abcd\\r\\r\\r\\nxx\\r'", [{line, 4}, exit_status]},
     {"printf '\\n\\r\\n\\n'", [{line, 4}, exit_status]},
     {"printf 'abcd'", [{line, 4}, exit_status, binary]},
     {"printf 'abcde'", [{line, 4}, exit_status, eof]},
     {"printf '\\001\\002'", [{packet, 1}, exit_status]},
     {"printf '\\003ab'", [{packet, 1}, exit_status]},
     {"printf '\\177\\377\\377\\377abc'", [{packet, 4}, exit_status]},
     {"printf '\\0\\0\\0\\0\\0\\0\\0\\001a'", [{packet, 4}, exit_status]},
     {"sh -c 'kill -9 $$'", [exit_status]}, {"sh -c 'exit 300'", [exit_status, in]}, {"true", []}, {"false", []}].

output() ->
    Large = binary:copy(<<"x">>, 1000000),
    [{"head -c 3", [{packet, 1}, exit_status], binary:copy(<<"x">>, 256)},
     {"head -c 3", [{packet, 2}, exit_status], binary:copy(<<"x">>, 65536)},
     {"sleep 0.3; exit 0", [out], Large},
     {"sh -c 'exec 0<&-; sleep 1'", [out], Large},
     {"sh -c 'exec 0<&-; sleep 1'", [exit_status], Large},
     {"head -c 2", [in, exit_status], <<"ab">>}].

modes() ->
    [[write], [write, raw], [write, delayed_write], [write, raw, delayed_write], [write, raw, {delayed_write, 10, 1}],
     [append], [append, raw], [read, write], [write, {encoding, utf8}]].

%% A program with these options: what comes from it.
opened(Options) -> told({spawn, "echo x"}, [exit_status | Options]).

told(Target, Options) ->
    try open_port(Target, Options) of Port -> rest(Port, []) catch Class:Reason -> {Class, Reason} end.

sent(Command, Options, Data) ->
    Port = open_port({spawn, Command}, Options),
    Answer = try port_command(Port, Data) catch Class:Reason -> {Class, Reason} end,
    [Answer | rest(Port, [])].

rest(Port, Seen) ->
    receive
        {'EXIT', Port, Reason} -> [text(lists:reverse(Seen)), {exit, Reason}];
        {Port, eof} -> port_close(Port), rest(Port, [eof | Seen]);
        {Port, Message} -> rest(Port, [Message | Seen])
    after 10000 -> timeout
    end.

%% A program's output comes in pieces of any size.
text([{data, A}, {data, B} | Rest]) when is_list(A), is_list(B), A =/= [], B =/= [] -> text([{data, A ++ B} | Rest]);
text([First | Rest]) -> [First | text(Rest)];
text([]) -> [].

set({Name, Value}) ->
    try {os:putenv(Name, Value), os:getenv(Name), os:unsetenv(Name), os:getenv(Name)} catch C:R -> {C, R} end.

full(Modes, Data) ->
    {ok, File} = file:open("/dev/full", Modes),
    [file:write(File, Data), file:write(File, Data), file:sync(File), file:pwrite(File, 0, Data), file:close(File)].
