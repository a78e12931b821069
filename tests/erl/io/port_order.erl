%% What one process asks of one port is done in that order, by whatever means, while other processes ask too; with and without `parallelism`.
-module(port_order).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    t:each(commands, [false, true], fun commands/1),
    t:each(mixed, [false, true], fun mixed/1),
    t:each(counted, [false, true], fun counted/1),
    t:each(ended, [false, true], fun ended/1),
    t:each(flooded, [false, true], fun flooded/1),
    t:each(asked_at_the_end, [false, true], fun asked_at_the_end/1).

file(Parallelism) ->
    Port = open_port({spawn_driver, "ram_file_drv"}, [binary, {parallelism, Parallelism}]),
    true = port_command(Port, <<1, 0, 0, 0, 3>>),
    receive {Port, {data, _}} -> Port end.

cat(Parallelism) -> open_port({spawn, "cat 2>/dev/null"}, [binary, {packet, 2}, {parallelism, Parallelism}]).

port_of(Parallelism, N, Work) ->
    Port = cat(Parallelism),
    Me = self(),
    Pids = [spawn_link(fun() -> Work(Port, Me, I), Me ! {done, self()} end) || I <- lists:seq(1, N)],
    {Port, Pids}.

%% Each of several processes sends numbered packets by turns in three ways; what comes back of each is in order.
commands(Parallelism) ->
    {Port, Pids} = port_of(Parallelism, 4, fun(Port, Owner, I) ->
        [case N rem 3 of
             0 -> true = port_command(Port, <<I, N:16>>);
             1 -> Port ! {Owner, {command, <<I, N:16>>}};
             2 -> true = port_command(Port, <<I, N:16>>, [])
         end || N <- lists:seq(1, 600)]
    end),
    Got = [receive {Port, {data, <<I, N:16>>}} -> {I, N} end || _ <- lists:seq(1, 4 * 600)],
    [receive {done, P} -> ok end || P <- Pids],
    port_close(Port),
    t:flush(),
    [[N || {I, N} <- Got, I =:= J] =:= lists:seq(1, 600) || J <- lists:seq(1, 4)].

%% Commands, monitors, links and connects: a question after them finds them done.
mixed(Parallelism) ->
    Port = file(Parallelism),
    Busy = [spawn_link(fun() -> noise(Port) end) || _ <- [1, 2, 3]],
    Me = self(),
    Results = [begin
        {output, Before} = erlang:port_info(Port, output),
        Port ! {Me, {command, <<3:32, 0:8, N:8>>}},
        {output, After} = erlang:port_info(Port, output),
        Monitor = monitor(port, Port),
        {monitored_by, By} = erlang:port_info(Port, monitored_by),
        demonitor(Monitor),
        {monitored_by, Not} = erlang:port_info(Port, monitored_by),
        unlink(Port),
        {links, Unlinked} = erlang:port_info(Port, links),
        link(Port),
        {links, Linked} = erlang:port_info(Port, links),
        {After >= Before + 6, lists:member(Me, By), lists:member(Me, Not), lists:member(Me, Unlinked), lists:member(Me, Linked)}
    end || N <- lists:seq(1, 200)],
    [exit(P, kill) || P <- Busy],
    [receive {'EXIT', P, killed} -> ok end || P <- Busy],
    port_close(Port),
    t:flush(),
    lists:usort(Results).

noise(Port) ->
    erlang:port_info(Port, name),
    catch port_control(Port, 1, <<>>),
    noise(Port).

%% Nothing is lost and nothing comes twice.
counted(Parallelism) ->
    Port = file(Parallelism),
    {output, Before} = erlang:port_info(Port, output),
    Pids = [spawn_link(fun() -> [case N rem 2 of 0 -> true = port_command(Port, <<37>>); 1 -> erlang:send(Port, {group_leader(), none}, []), true = port_command(Port, <<37>>) end || N <- lists:seq(0, 500, 2)] end) || _ <- lists:seq(1, 5)],
    [receive {'EXIT', P, normal} -> ok end || P <- Pids],
    {output, After} = erlang:port_info(Port, output),
    Answers = [receive {Port, {data, _}} -> ok end || _ <- lists:seq(1, 5 * 251)],
    More = receive {Port, _} -> more after 50 -> none end,
    port_close(Port),
    t:flush(),
    {After - Before, length(Answers), More}.

%% A port is closed while others use it: each finds it gone, at once or by an answer.
ended(Parallelism) ->
    lists:usort([begin
        Port = file(Parallelism),
        unlink(Port),
        Pids = [spawn_monitor(fun() -> use(Port, 0) end) || _ <- [1, 2, 3]],
        erlang:yield(),
        Closed = case N rem 3 of
            0 -> port_close(Port);
            1 -> Port ! {self(), close}, receive {Port, closed} -> true after 5000 -> no_answer end;
            2 -> exit(Port, die)
        end,
        Ends = [receive {'DOWN', M, _, _, Why} -> Why after 5000 -> {stuck, process_info(P, current_function)} end || {P, M} <- Pids],
        t:flush(),
        {Closed, lists:usort(Ends), erlang:port_info(Port)}
    end || N <- lists:seq(1, 60)]).

use(Port, N) ->
    Monitor = monitor(port, Port),
    case catch {erlang:port_info(Port, name), port_command(Port, <<37>>)} of
        {{name, _}, true} -> demonitor(Monitor, [flush]), use(Port, N + 1);
        _ -> {'EXIT', {badarg, _}} = (catch port_close(Port)), receive {'DOWN', Monitor, port, Port, _} -> ok end
    end.

%% Others go on beside a port that is asked for more than it can do.
flooded(Parallelism) ->
    Port = file(Parallelism),
    Busy = [spawn_link(fun() -> noise(Port) end) || _ <- [1, 2, 3, 4]],
    Counts = [begin receive after 1 -> ok end, lists:sum(lists:seq(1, 1000)) end || _ <- lists:seq(1, 20)],
    [exit(P, kill) || P <- Busy],
    [receive {'EXIT', P, killed} -> ok end || P <- Busy],
    port_close(Port),
    t:flush(),
    lists:usort(Counts).

%% The close is behind what was asked before.
asked_at_the_end(Parallelism) ->
    lists:usort([begin
        Port = cat(Parallelism),
        [port_command(Port, <<N>>) || N <- lists:seq(1, 20)],
        Port ! {self(), close},
        Info = erlang:port_info(Port),
        Closed = receive {Port, closed} -> closed after 5000 -> none end,
        t:flush(),
        {Info, Closed}
    end || _ <- lists:seq(1, 20)]).
