%% What differs from driver to driver: names, forced output, operations.
-module(drivers).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    t:each(names, ["ram_file_drv", "udp_inet", "ram_file_drv x y", "ram_file_drvx", "forker", "fd", "vanilla", "spawn", "no_such_drv"], fun named/1),
    t:each(options, [[nosuspend], [force], [force, nosuspend], [nosuspend, force]], fun(O) -> [{D, command(D, O)} || D <- [program, file, memory, socket]] end),
    t:each(controls, [0, 1, 16#3f1a300 + 15, 1 bsl 32, -1, a], fun(O) -> [{D, control(D, O)} || D <- [program, file, memory]] end),
    t:each(calls, [{0, a}, {-1, a}, {1 bsl 32, a}, {a, a}], fun(O) -> [{D, call(D, O)} || D <- [program, memory, socket, gone, foo]] end),
    t:c(system, fun() -> [catch_(fun() -> F(hd(erlang:ports())) end) || F <- [fun erlang:port_close/1, fun(P) -> port_connect(P, self()) end, fun(P) -> port_control(P, 1, []) end, fun(P) -> exit(P, kill), erlang:port_info(P, name) end, fun(P) -> P ! {self(), close}, erlang:port_info(P, connected) =:= undefined end]] end).

named(Name) ->
    case catch_(fun() -> open_port({spawn_driver, Name}, []) end) of
        Port when is_port(Port) -> Info = erlang:port_info(Port, name), port_close(Port), Info;
        Other -> Other
    end.

with(What, Do) ->
    Port = port(What),
    Result = catch_(fun() -> Do(Port) end),
    catch port_close(Port),
    t:flush(),
    Result.

command(What, Options) -> with(What, fun(P) -> erlang:port_command(P, <<>>, Options) end).

control(What, Operation) -> with(What, fun(P) -> port_control(P, Operation, <<0>>) end).

call(What, {Operation, Data}) -> with(What, fun(P) -> erlang:port_call(P, Operation, Data) end).

port(program) -> open_port({spawn, "cat"}, []);
port(file) -> open_port("/dev/null", [out]);
port(memory) -> open_port({spawn_driver, "ram_file_drv"}, []);
port(socket) -> open_port({spawn_driver, "udp_inet"}, []);
port(gone) -> P = port(memory), port_close(P), P;
port(Name) -> Name.

catch_(F) -> try F() catch C:E -> {C, E} end.
