%% Who waits until a busy port can take more is suspended, by its status.
-module(busy_ports).
-export([main/0]).

main() ->
    t:each(status, [command, message, nothing], fun status/1).

%% The program reads nothing. The status of who has filled its pipe, and who wants to be told when it can go on.
status(How) ->
    Port = open_port({spawn, "sleep 60"}, [binary]),
    Writer = spawn(fun() -> process_flag(trap_exit, true), receive go -> ok end, [write(How, Port) || _ <- lists:seq(1, 100)], receive never -> ok end end),
    true = port_connect(Port, Writer),
    unlink(Port),
    Writer ! go,
    Status = settled(Writer, undefined, 0),
    {status, Seen} = process_info(Writer, status),
    {os_pid, Program} = erlang:port_info(Port, os_pid),
    os:cmd("kill " ++ integer_to_list(Program)),
    {Status, Seen}.

write(command, Port) -> catch port_command(Port, binary:copy(<<"x">>, 10000));
write(message, Port) -> Port ! {self(), {command, binary:copy(<<"x">>, 10000)}};
write(nothing, _) -> ok.

%% The status that stays for some time.
settled(_, Status, 10) -> Status;
settled(Pid, Last, Times) ->
    timer:sleep(15),
    case process_info(Pid, status) of
        {status, Last} -> settled(Pid, Last, Times + 1);
        {status, Other} -> settled(Pid, Other, 0)
    end.
