%% How drivers are loaded, unloaded and loaded again, who waits for it, and what they are told.
-module(driver_loading).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("loading")),
    t:each(unknown, [["nosuch"], [nosuch], [""], ['']], fun([N]) -> [erl_ddll:try_load(".", N, []), erl_ddll:try_unload(N, [])] end),
    t:each(badarg, [{1, a, []}, {".", 1, []}, {".", a, [x]}, {".", a, [{reload, x}]}, {".", a, [{driver_options, [x]}]}, {".", a, x}, {".", a, [{monitor, pending} | x]}],
           fun({P, N, O}) -> erl_ddll:try_load(P, N, O) end),
    t:each(linked_in, [tcp_inet, "ram_file_drv"], fun(N) -> {erl_ddll:try_load(".", N, []), erl_ddll:try_unload(N, []), erl_ddll:info(N), waited(N, loaded), waited(N, unloaded)} end),
    refused(),
    c_driver:compile("driver", "-DVERSION=1"),
    loaded(),
    reloaded(),
    ports(),
    t:c(format_error, fun() -> [erl_ddll:format_error(E) || E <- [inconsistent, linked_in_driver, permanent, not_loaded, not_loaded_by_this_process, not_pending, already_loaded, pending_reload, pending_process, no_error, {open_error, -99}, {open_error, -4}]] end),
    t:c(permanent, fun permanent/0).

refused() ->
    Make = fun(Name, Source) ->
        ok = file:write_file(Name ++ ".c", ["#include <erl_driver.h>\n", Source]),
        "" = os:cmd(["cc -shared -fPIC -I", code:root_dir(), "/usr/include -o ", Name, ".so ", Name, ".c"])
    end,
    Entry = fun(Name, Major, Minor) ->
        ["static ErlDrvEntry e = {", "INIT", ".driver_name = \"", Name, "\", .extended_marker = ERL_DRV_EXTENDED_MARKER, .major_version = ",
         integer_to_list(Major), ", .minor_version = ", integer_to_list(Minor), "};\nDRIVER_INIT(x) { return &e; }\n"]
    end,
    No = fun(Text) -> string:replace(Text, "INIT", "") end,
    Make("no_init", "int x;\n"),
    Make("null", "DRIVER_INIT(x) { return 0; }\n"),
    Make("fails", ["static int init(void) { return 1; }\n", string:replace(Entry("fails", 3, 3), "INIT", ".init = init, ")]),
    Make("newer", No(Entry("newer", 3, 99))),
    Make("older", No(Entry("older", 1, 0))),
    Make("named", No(Entry("otherwise", 3, 3))),
    ok = file:write_file("text.so", "no library"),
    t:each(refused, ["no_init", "null", "fails", "newer", "older", "named", "text", "absent"],
           fun(N) -> {error, E} = erl_ddll:try_load(".", N, []), [E, erl_ddll:format_error(E)] end).

loaded() ->
    t:c(load, fun() -> erl_ddll:try_load(".", driver, []) end),
    t:c(loaded_drivers, fun() -> {ok, L} = erl_ddll:loaded_drivers(), [lists:member(N, L) || N <- ["driver", "tcp_inet", "nosuch"]] end),
    t:c(info, fun info/0),
    t:c(load_again, fun() -> [erl_ddll:try_load(D, N, O) || {D, N, O} <- [{".", "driver", []}, {"./", <<"driver">>, [{monitor, pending}]}, {"/tmp", driver, []}, {".", driver, [{driver_options, [kill_ports]}]}]] end),
    t:c(other_process, fun() -> other(fun() -> [erl_ddll:try_unload(driver, []), erl_ddll:try_load(".", driver, []), info(), erl_ddll:try_unload(driver, [{monitor, pending}])] end) end),
    t:c(counts, fun info/0),
    t:c(unload, fun() -> [{erl_ddll:try_unload(driver, []), erl_ddll:info(driver, processes)} || _ <- "12"] end),
    t:c(unload_last, fun() -> {ok, pending_driver, R} = erl_ddll:try_unload(driver, [{monitor, pending_driver}]), down(R) end),
    t:c(gone, fun() -> {erl_ddll:try_unload(driver, []), (catch element(1, element(2, catch erl_ddll:info(driver)))), waited(driver, unloaded), waited(driver, loaded)} end),
    t:c(of_one_that_ends, fun() -> other(fun() -> erl_ddll:try_load(".", driver, []) end), wait_gone(100) end).

reloaded() ->
    t:c(reload_absent, fun() -> erl_ddll:try_load(".", driver, [{reload, pending}]) end),
    t:c(first, fun() -> {erl_ddll:try_load(".", driver, []), version()} end),
    c_driver:compile("driver", "-DVERSION=2"),
    t:c(reload_of_others, fun() -> other(fun() -> erl_ddll:try_load(".", driver, [{reload, pending}]) end) end),
    t:c(reload_kill_ports, fun() -> erl_ddll:try_load(".", driver, [{reload, pending}, {driver_options, [kill_ports]}]) end),
    t:c(reload, fun() -> {ok, pending_driver, R} = erl_ddll:try_load(".", driver, [{reload, pending_driver}, {monitor, pending_driver}]), {down(R), version()} end),
    t:c(shared, fun() ->
        {Pid, M} = loader(),
        A = erl_ddll:try_load(".", driver, [{reload, pending_driver}]),
        Port = open_port({spawn, driver}, []),
        {ok, pending_process, R} = erl_ddll:try_load(".", driver, [{reload, pending}, {monitor, pending}]),
        B = [erl_ddll:try_load(".", driver, [{reload, pending}]), erl_ddll:info(driver, awaiting_load) =:= [{self(), 1}], erl_ddll:try_load("/tmp", driver, [])],
        {ok, pending_driver, R2} = erl_ddll:try_load(".", driver, [{monitor, pending}]),
        nothing = receive {_, R, _, _, _} -> too_early after 20 -> nothing end,
        port_close(Port),
        C = [down(R), down(R2), length(erl_ddll:info(driver, processes))],
        stop(Pid, M),
        {A, B, C}
    end),
    t:c(reload_fails, fun() ->
        ok = file:rename("driver.so", "hidden.so"),
        erl_ddll:try_unload(driver, []),
        {ok, pending_driver, R} = erl_ddll:try_load(".", driver, [{reload, pending_driver}, {monitor, pending_driver}]),
        A = down(R),
        ok = file:rename("hidden.so", "driver.so"),
        {A, wait_gone(100)}
    end).

ports() ->
    t:c(port_keeps_it, fun() ->
        ok = erl_ddll:load_driver(".", driver),
        P = open_port({spawn, driver}, []),
        A = erl_ddll:info(driver, port_count),
        erl_ddll:unload_driver(driver),
        ended(P)
        , A
    end),
    t:c(without_kill, fun() ->
        {ok, loaded} = erl_ddll:try_load(".", driver, []),
        P = open_port({spawn, driver}, []),
        {ok, pending_driver, R} = erl_ddll:try_unload(driver, [{monitor, pending}]),
        Q = open_port({spawn, driver}, []),
        W = erl_ddll:monitor(driver, {driver, unloaded_only}),
        A = [erl_ddll:info(driver, awaiting_unload) =:= [{self(), 2}], erl_ddll:info(driver, port_count), waited(driver, loaded)],
        B = [erl_ddll:try_load(".", driver, []), down(R)],
        {ok, pending_driver} = erl_ddll:try_unload(driver, []),
        port_close(P),
        nothing = receive {_, W, _, _, _} -> too_early after 20 -> nothing end,
        port_close(Q),
        {A, B, down(W), wait_gone(100)}
    end),
    t:c(killed, fun() ->
        {ok, loaded} = erl_ddll:try_load(".", driver, []),
        process_flag(trap_exit, true),
        P = open_port({spawn, driver}, []),
        {ok, pending_driver, R} = erl_ddll:try_unload(driver, [kill_ports, {monitor, pending}]),
        A = ended(P),
        process_flag(trap_exit, false),
        {A, down(R)}
    end),
    t:c(demonitor, fun() ->
        {ok, loaded} = erl_ddll:try_load(".", driver, []),
        R = erl_ddll:monitor(driver, {driver, unloaded}),
        A = [erl_ddll:demonitor(R), erl_ddll:info(driver, awaiting_unload)],
        erl_ddll:try_unload(driver, []),
        wait_gone(100),
        {A, receive {_, R, _, _, _} -> told after 0 -> nothing end}
    end).

permanent() ->
    {ok, loaded} = erl_ddll:try_load(".", driver, []),
    P = open_port({spawn, driver}, []),
    R = erl_ddll:monitor(driver, {driver, unloaded}),
    port_control(P, 26, ""),
    {down(R), info(), erl_ddll:try_unload(driver, []), erl_ddll:try_load(".", driver, []), waited(driver, loaded), port_close(P)}.

info() -> [{I, case V of [{_, _} | _] -> lists:sort([C || {_, C} <- V]); _ -> V end} || {I, V} <- erl_ddll:info(driver)].

%% What a monitor tells, at once or soon.
waited(Name, When) -> down(erl_ddll:monitor(driver, {Name, When})).

down(R) -> receive {Tag, R, driver, Name, State} -> {Tag, Name, State} after 2000 -> nothing end.

ended(P) -> receive {'EXIT', P, Reason} -> Reason after 2000 -> nothing end.

version() ->
    P = open_port({spawn, driver}, []),
    port_control(P, 28, ""),
    V = receive {version, N} -> N after 1000 -> nothing end,
    port_close(P),
    flushed(),
    V.

flushed() -> receive X -> [X | flushed()] after 0 -> [] end.

other(Fun) ->
    Me = self(),
    {Pid, M} = spawn_monitor(fun() -> Me ! {self(), Fun()} end),
    Result = receive {Pid, R} -> R end,
    receive {'DOWN', M, _, _, _} -> ok end,
    Result.

%% A process that has loaded it.
loader() ->
    Me = self(),
    {Pid, M} = spawn_monitor(fun() -> {ok, _} = erl_ddll:try_load(".", driver, []), Me ! {self(), loaded}, receive stop -> ok end end),
    receive {Pid, loaded} -> {Pid, M} end.

stop(Pid, M) -> Pid ! stop, receive {'DOWN', M, _, _, _} -> ok end.

wait_gone(Tries) ->
    {ok, L} = erl_ddll:loaded_drivers(),
    case lists:member("driver", L) of
        true when Tries > 0 -> timer:sleep(5), wait_gone(Tries - 1);
        true -> stays;
        false -> gone
    end.
