%% Files in memory: file:open/2 with `ram`, and the module ram_file.
-module(ram_files).
-export([main/0]).

main() ->
    Modes = [[ram], [ram, binary], [ram, read], [ram, write], [ram, read, write, binary], [ram, write, binary], [ram, append], [ram, foo]],
    t:each(open, Modes, fun(M) -> {ok, F} = file:open("hello", M), file:close(F) end),
    t:each(open_bad, [foo, 1, [foo], [1000], {a}], fun(D) -> file:open(D, [ram]) end),
    [session(M) || M <- [[ram, read], [ram, read, binary], [ram, write], [ram, read, write], [ram, read, write, binary]]],
    t:c(closed, fun() -> {ok, F} = file:open("x", [ram, read]), [file:close(F), file:read(F, 1), file:close(F)] end),
    t:c(two, fun() -> {ok, F} = file:open(<<"abcdef">>, [ram, read, binary]), {ok, G} = file:open("", [ram, read, write, binary]), [file:copy(F, G), file:pread(G, 0, 100), ram_file:get_file(G), ram_file:get_size(G)] end),
    t:c(grow, fun() -> {ok, F} = file:open("", [ram, read, write, binary]), [file:write(F, lists:duplicate(1000, $x)) || _ <- lists:seq(1, 100)], [file:position(F, cur), ram_file:get_size(F), file:pwrite(F, 200000, "end"), ram_file:get_size(F), file:pread(F, 199999, 10), file:pread(F, 100000, 2)] end),
    t:c(large, fun() -> {ok, F} = file:open(binary:copy(<<"0123456789">>, 100000), [ram, read, binary]), {ok, D} = file:read(F, 2000000), {ok, E} = file:pread(F, 999990, 100), {byte_size(D), E, file:read(F, 1)} end),
    t:c(port, fun() -> P = open_port({spawn, "ram_file_drv"}, []), R = [erlang:port_info(P, name), erlang:port_info(P, os_pid)], port_command(P, [1, 0, 0, 0, 1 | "abc"]), A = receive {P, M} -> M end, port_command(P, [2, 0, 0, 0, 2]), B = receive {P, N} -> N end, port_command(P, [99]), C = receive {P, O} -> O after 100 -> none end, {R, A, B, C, port_close(P)} end),
    t:c(unopened, fun() -> P = open_port({spawn, "ram_file_drv"}, []), [begin port_command(P, C), receive {P, M} -> M after 100 -> none end end || C <- [[2, 0, 0, 0, 2], [4 | "abc"], [3, 0, 0, 0, 0, 0, 0, 0, 0], [14], [30], [37], [38, 0, 0], [39], [17, 0, 0, 0, 0, 0, 0, 0, 1], [18, 0, 0, 0, 0, $a], [9], [19], []]] end),
    t:c(short, fun() -> {ok, {file_descriptor, _, P}} = file:open("abc", [ram, read, write]), [begin port_command(P, C), receive {P, M} -> M after 100 -> none end end || C <- [[3, 0], [18, 0], [38, 0, 0], [39], [99], [30]]] end).

session(Modes) ->
    {ok, F} = file:open("hello world", Modes),
    Ops = [{read, [5]}, {position, [cur]}, {pread, [6, 3]}, {pread, [[{0, 2}, {100, 1}, {3, 0}]]}, {position, [{eof, -2}]}, {read, [10]}, {read, [10]}, {read, [0]}, {position, [{bof, -1}]}, {position, [{cur, -3}]}, {read, [1]},
           {position, [bof]}, {write, ["HE"]}, {write, [<<"L">>]}, {pwrite, [20, "end"]}, {pwrite, [[{0, "h"}, {1, <<"e">>}]]}, {pread, [0, 100]}, {position, [eof]}, {position, [15]}, {truncate, []}, {position, [eof]}, {position, [{eof, 5}]}, {truncate, []}, {pread, [0, 100]},
           {datasync, []}, {sync, []}, {advise, [0, 0, normal]}, {advise, [0, 0, foo]}, {allocate, [0, 100]}, {read_line, []}, {read, [-1]}, {pread, [-1, 1]}, {pread, [0, 1 bsl 40]}, {pwrite, [-1, "x"]}, {position, [1 bsl 31]}, {position, [foo]}, {pwrite, [foo, "x"]}, {write, [foo]}, {write, [[1000]]}, {ipread_s32bu_p32bu, [0, 10]}],
    [t:c(op(Modes, Op), fun() -> apply(file, Op, [F | As]) end) || {Op, As} <- Ops],
    t:c(op(Modes, get_file), fun() -> ram_file:get_file(F) end),
    t:c(op(Modes, get_size), fun() -> ram_file:get_size(F) end),
    t:c(op(Modes, close), fun() -> file:close(F) end).

op(Modes, Op) -> lists:flatten(io_lib:format("~w ~w", [Modes, Op])).
