%% Drivers in C: what the functions of their interface do, seen from the process that has the port.
-module(c_driver).
-export([main/0, compile/2]).

main() ->
    ok = file:set_cwd(t:tmp("c_driver")),
    compile("driver", ""),
    t:c(load, fun() -> erl_ddll:load_driver(".", driver) end),
    all("driver"),
    compile("driver_level", "-DLOCKING=0 '-DNAME=\"driver_level\"'"),
    t:c(load_driver_level, fun() -> erl_ddll:load_driver(".", driver_level) end),
    all("driver_level").

%% Compiles the driver in the directory of this file.
compile(Name, Flags) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "driver.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 ", Flags, " -I", code:root_dir(), "/usr/include -o driver.new ", Source, " && mv driver.new ", Name, ".so"]).

all(D) ->
    t:each(open, [[D, A] || A <- ["", " einval", " badarg", " eacces"]], fun opened/1),
    t:c(started, fun() -> with([D, " with words"], [], fun(_) -> flushed() end) end),
    t:c(spawn_driver, fun() -> P = open_port({spawn_driver, D}, []), port_close(P) end),
    t:c(info, fun() -> with(D, [], fun(P) -> [erlang:port_info(P, I) || I <- [name, input, output, os_pid, queue_size, locking]] end) end),
    [t:c(["output ", io_lib:format("~0p", [O])], fun() -> with(D, O, fun sent/1) end) || O <- [[], [binary], [{line, 4}], [{line, 4}, binary], [{packet, 2}]]],
    t:c(control, fun() -> with(D, [], fun(P) -> [port_control(P, 1, X) || X <- ["", "abc", [<<"d">>, $e]]] end) end),
    t:c(control_long, fun() -> with(D, [], fun(P) -> L = lists:seq(1, 255) ++ lists:seq(1, 255), port_control(P, 1, L) =:= L end) end),
    t:c(control_binary, fun() -> with(D, [], fun(P) -> [port_control(P, O, X) || {O, X} <- [{2, "abc"}, {1, "kept"}, {3, ""}, {2, binary:copy(<<"x">>, 70)}, {4, ""}, {1, "list"}]] end) end),
    t:c(control_refused, fun() -> with(D, [], fun(P) -> port_control(P, 99, "") end) end),
    t:each(call, [a, {1, [2]}, lists:seq(1000, 1100)], fun(X) -> with(D, [], fun(P) -> erlang:port_call(P, 1, X) end) end),
    t:c(call_refused, fun() -> with(D, [], fun(P) -> erlang:port_call(P, 0, x) end) end),
    t:c(binaries, fun() -> with(D, [binary], fun(P) -> port_control(P, 5, ""), flushed() end) end),
    t:c(binaries_as_lists, fun() -> with(D, [], fun(P) -> port_control(P, 5, ""), flushed() end) end),
    t:c(queue, fun() -> with(D, [], fun(P) -> port_control(P, 6, ""), flushed() end) end),
    t:c(terms, fun() -> with(D, [], fun(P) -> port_control(P, 7, ""), flushed() end) end),
    t:c(timer, fun() -> with(D, [], fun(P) -> port_control(P, 8, [5]), next() end) end),
    t:c(timer_taken_back, fun() -> with(D, [], fun(P) -> port_control(P, 8, [20]), port_control(P, 9, ""), timer:sleep(50), flushed() end) end),
    t:c(timer_set_again, fun() -> with(D, [], fun(P) -> port_control(P, 8, [100]), port_control(P, 8, [1]), {next(), flushed()} end) end),
    t:c(select, fun() -> with(D, [], fun(P) -> port_control(P, 10, ""), A = [next(), next()], port_control(P, 11, ""), {A, [next(), next()]} end) end),
    t:c(select_nothing, fun() -> with(D, [], fun(P) -> port_control(P, 12, ""), next() end) end),
    t:c(async, fun() -> with(D, [], fun(P) -> [port_control(P, 13, [N]) || N <- [1, 2, 3]], lists:sort([next() || _ <- "123456"]) end) end),
    t:c(monitor, fun() -> with(D, [], fun monitored/1) end),
    t:c(demonitor, fun() -> with(D, [], fun(P) -> port_control(P, 14, ""), [port_control(P, O, "") || O <- [15, 15, 30]], flushed() end) end),
    t:c(busy, fun() -> with(D, [], fun busy/1) end),
    t:c(flush, fun() -> P = open_port({spawn, D}, []), port_control(P, 17, ""), port_command(P, "kept back"), A = erlang:port_info(P, queue_size), port_close(P), {A, next(), gone(P)} end),
    t:c(thread, fun() -> with(D, [], fun(P) -> port_control(P, 18, ""), flushed() end) end),
    t:c(system_info, fun() -> with(D, [binary], fun(P) -> port_control(P, 19, ""), {flushed(), os:getenv("C_DRIVER_VARIABLE")} end) end),
    [t:c(io_lib:format("failure ~p ~0p", [N, O]), fun() -> failure(D, N, O) end) || N <- lists:seq(21, 25), O <- [[], [eof]]],
    t:c(os_pid, fun() -> with(D, [], fun(P) -> port_control(P, 27, [77]), erlang:port_info(P, os_pid) end) end),
    t:c(exit_of_owner, fun() -> {Pid, M} = spawn_monitor(fun() -> exit({it_is, open_port({spawn, D}, [])}) end), receive {'DOWN', M, _, Pid, {it_is, P}} -> gone(P) end end).

opened(Name) ->
    P = open_port({spawn, lists:flatten(Name)}, []),
    receive X -> {X, port_close(P)} after 0 -> port_close(P) end.

with(Name, Options, Fun) ->
    P = open_port({spawn, lists:flatten(Name)}, Options),
    try Fun(P) after catch port_close(P), flushed() end.

sent(P) ->
    port_command(P, "one\ntwo and more"),
    P ! {self(), {command, [<<"a">>, $b | <<"c">>]}},
    [X || {_, X} <- flushed()].

monitored(P) ->
    Me = self(),
    {_, M} = spawn_monitor(fun() -> port_control(P, 14, ""), Me ! done, receive after 10 -> ok end end),
    receive {'DOWN', M, _, _, normal} -> ok end,
    receive done -> ok end,
    A = [next(), next(), next()],
    port_control(P, 30, ""),
    {A, next()}.

busy(P) ->
    port_control(P, 16, [1]),
    A = [port_command(P, "x", [nosuspend]), catch_reason(fun() -> port_command(P, "x", [force]) end)],
    Me = self(),
    spawn(fun() -> Me ! {suspended, port_command(P, "later")} end),
    nothing = receive X -> {too_early, X} after 20 -> nothing end,
    port_control(P, 16, [0]),
    {A, lists:sort([next(), next()]), port_command(P, "y"), next()}.

catch_reason(F) -> try F() catch C:R -> {C, R} end.

failure(D, N, Options) ->
    process_flag(trap_exit, true),
    P = open_port({spawn, D}, Options),
    R = catch_reason(fun() -> port_control(P, N, "") end),
    A = {R, next(), erlang:port_info(P, name)},
    catch port_close(P),
    process_flag(trap_exit, false),
    flushed(),
    A.

gone(P) -> gone(P, 200).
gone(P, Tries) ->
    case erlang:port_info(P, name) of
        undefined -> gone;
        _ when Tries > 0 -> timer:sleep(5), gone(P, Tries - 1);
        Info -> Info
    end.

next() -> receive X -> X after 1000 -> nothing end.

flushed() -> receive X -> [X | flushed()] after 0 -> [] end.
