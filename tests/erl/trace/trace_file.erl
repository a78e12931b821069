%% The driver that writes trace messages to files: dbg's trace ports, its readers, fprof above it.
-module(trace_file).
-export([main/0, f/1, g/1, work/1]).

f(0) -> done;
f(N) -> g(N), f(N - 1).
g(N) -> N * 2.
work(N) -> lists:sum([X rem 7 || X <- lists:seq(1, N)]) + length(lists:reverse(lists:seq(1, N))).

main() ->
    Dir = os:getenv("TEST_TMP"),
    File = filename:join(Dir, "one.log"),
    process_flag(trap_exit, true),
    t:c(raw, fun() ->
            P = (dbg:trace_port(file, File))(),
            Info = [erlang:port_info(P, I) || I <- [output, links, os_pid]],
            port_command(P, <<"raw">>), P ! {self(), {command, [1, [2], <<3>>]}},
            Before = file:read_file(File),
            Flushed = port_control(P, $f, ""), Now = file:read_file(File),
            port_command(P, ""), true = port_close(P),
            {length(Info), Before, Flushed, Now, file:read_file(File)} end),
    t:c(control, fun() ->
            P = (dbg:trace_port(file, File))(),
            R = [try port_control(P, Op, D) catch error:E -> E end || {Op, D} <- [{$p, ""}, {$x, "abc"}, {$f, "more"}, {0, ""}]],
            port_close(P), R end),
    [t:c("open" ++ C, fun() ->
            try open_port({spawn, "trace_file_drv" ++ C}, [eof]) of P -> port_close(P), opened catch error:E -> E end
     end) || C <- ["", " n", " n ", " n /nonexist/dir/x", " x " ++ "/dev/null", " w 1 2 3 n /dev/null", " w 1 2 3 99 n /dev/null",
                   " w 100 3 0 6 n /nonexist/w.wrap", " w a 3 0 6 n /nonexist/w", "  n /dev/null", " n  /dev/null"]],
    t:c(full, fun() ->
            P = (dbg:trace_port(file, "/dev/full"))(), port_command(P, "abc"),
            C = port_control(P, $f, ""), {C, receive {'EXIT', P, R} -> R after 1000 -> none end, erlang:port_info(P)} end),
    Sizes = fun(Name) -> [{filename:basename(F), filelib:file_size(F)} || F <- lists:sort(filelib:wildcard(filename:join(Dir, Name ++ "*")))] end,
    t:c(wrap, fun() ->
            W = (dbg:trace_port(file, {filename:join(Dir, "wr"), wrap, ".log", 70, 3}))(),
            R = [begin port_command(W, binary:copy(<<"a">>, N)), port_control(W, $f, ""), Sizes("wr") end
                    || N <- [30, 30, 30, 30, 250, 0, 30, 30, 70, 65, 64, 66, 1, 1000, 2, 3]],
            port_close(W), R end),
    t:c(wrap_one, fun() ->
            W = (dbg:trace_port(file, {filename:join(Dir, "o"), wrap, ".x", 10, 1}))(),
            R = [begin port_command(W, "0123456789"), port_control(W, $f, ""), Sizes("o") end || _ <- lists:seq(1, 5)],
            port_close(W), R end),
    t:c(calls, fun() ->
            {ok, _} = dbg:tracer(port, dbg:trace_port(file, File)),
            S = self(), P = spawn_link(fun() -> receive go -> f(3), S ! done, receive stop -> ok end end end),
            {ok, _} = dbg:p(P, [c, m]), {ok, _} = dbg:tpl(?MODULE, x),
            P ! go, receive done -> ok end,
            ok = dbg:flush_trace_port(), {ok, T} = dbg:get_tracer(), dbg:stop_clear(),
            Seen = read(File, P), {is_port(T), Seen} end),
    t:c(by_hand, fun() ->
            Port = (dbg:trace_port(file, {filename:join(Dir, "h"), wrap, ".t", 300, 4}))(),
            P = spawn_link(fun() -> receive go -> f(6) end end),
            1 = erlang:trace(P, true, [call, arity, {tracer, Port}]), erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
            P ! go, receive {'EXIT', P, normal} -> ok end,
            R = erlang:trace_delivered(P), receive {trace_delivered, P, R} -> ok end,
            port_control(Port, $f, ""), port_close(Port), erlang:trace_pattern({?MODULE, f, 1}, false, [local]),
            Self = self(),
            C = dbg:trace_client(file, {filename:join(Dir, "h"), wrap, ".t", 300, 4}, {fun(M, N) -> Self ! {seen, clean(M, P)}, N + 1 end, 0}),
            M = erlang:monitor(process, C), receive {'DOWN', M, _, _, _} -> ok end, seen() end),
    t:c(ports, fun() ->
            Port = (dbg:trace_port(file, File))(),
            Other = (dbg:trace_port(file, filename:join(Dir, "other.log")))(),
            1 = erlang:trace(Other, true, [send, 'receive', ports, {tracer, Port}]),
            port_command(Other, "abc"), port_close(Other), receive {'EXIT', Other, normal} -> ok end,
            receive after 100 -> ok end, port_close(Port),
            [data(setelement(2, M, port)) || M <- read(File, Other), is_tuple(M)] end),
    t:c(sequential, fun() ->
            Port = (dbg:trace_port(file, File))(),
            seq_trace:set_system_tracer(Port), seq_trace:set_token(label, 17), seq_trace:set_token(print, true),
            seq_trace:print(17, hello), seq_trace:set_token([]), seq_trace:set_system_tracer(false), port_close(Port),
            read(File, self()) end),
    t:c(fprof, fun() ->
            Trace = filename:join(Dir, "fprof.trace"), Out = filename:join(Dir, "fprof.out"),
            1000 = fprof:apply(fun() -> work(1000), 1000 end, [], [{file, Trace}]),
            ok = fprof:profile(file, Trace), ok = fprof:analyse([{dest, Out}, {totals, true}]), fprof:stop(),
            {ok, Terms} = file:consult(Out),
            Counts = [{F, N} || {_, {F, N, _, _}, _} <- lists:flatten(Terms), N > 900],
            Own = [{F, N} || {_, {{trace_file, _, _} = F, N, _, _}, _} <- lists:flatten(Terms)],
            {length(Terms) > 2, lists:usort(Counts), lists:usort(Own)} end).

read(File, P) ->
    Self = self(),
    C = dbg:trace_client(file, File, {fun(M, N) -> Self ! {seen, clean(M, P)}, N + 1 end, 0}),
    M = erlang:monitor(process, C),
    receive {'DOWN', M, _, _, R} when R =/= noproc -> ok; {'DOWN', M, _, _, _} -> ok end,
    seen().

%% A list of binaries or one binary: OTP has either.
data({trace, P, 'receive', {S, {command, D}}}) -> {trace, P, 'receive', {S, {command, iolist_to_binary(D)}}};
data(M) -> M.

seen() -> receive {seen, M} -> [M | seen()] after 0 -> [] end.

clean(P, P) -> tracee;
clean(X, _) when is_pid(X) -> pid;
clean(X, _) when is_port(X) -> port;
clean(T, P) when is_tuple(T) -> list_to_tuple([clean(X, P) || X <- tuple_to_list(T)]);
clean(L, P) when is_list(L) -> [clean(X, P) || X <- L];
clean(X, _) -> X.
