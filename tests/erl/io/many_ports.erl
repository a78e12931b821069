%% Many ports at a time, found by their identities while others come and go, and listed as they are at one moment.
-module(many_ports).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    t:c(identities, fun identities/0),
    t:c(listed, fun listed/0),
    t:c(gone, fun gone/0),
    t:c(churn, fun churn/0),
    t:c(rest, fun() -> length([P || P <- erlang:ports(), erlang:port_info(P, name) =:= {name, "ram_file_drv"}]) end).

open() -> open_port({spawn_driver, "ram_file_drv"}, [binary]).

%% Of ports that one process opens one after the other the numbers rise by one.
identities() ->
    Ports = [open() || _ <- lists:seq(1, 3000)],
    Numbers = [begin "#Port<0." ++ Rest = port_to_list(P), list_to_integer(lists:droplast(Rest)) end || P <- Ports],
    Ids = [element(2, erlang:port_info(P, id)) || P <- Ports],
    Rises = fun(L) -> lists:zipwith(fun(A, B) -> B - A end, lists:droplast(L), tl(L)) end,
    Answers = [begin true = port_command(P, <<1, 0, 0, 0, 3, "abc">>), receive {P, {data, D}} -> D end end || P <- Ports],
    [port_close(P) || P <- Ports],
    {lists:usort(Rises(Numbers)), length(lists:usort(Rises(Ids))), lists:usort(Answers)}.

listed() ->
    Ports = [open() || _ <- lists:seq(1, 2000)],
    Listed = erlang:ports(),
    {Closed, Kept} = lists:split(1000, Ports),
    [port_close(P) || P <- Closed],
    Later = erlang:ports(),
    [port_close(P) || P <- Kept],
    {Ports -- Listed, length(Listed) =:= length(lists:usort(Listed)), [P || P <- Later, lists:member(P, Closed)], Kept -- Later}.

%% What is said to ports that are gone.
gone() ->
    Ports = [open() || _ <- lists:seq(1, 100)],
    [port_close(P) || P <- Ports],
    t:flush(),
    lists:usort([[erlang:port_info(P), catch_(fun() -> port_command(P, "x") end), catch_(fun() -> port_close(P) end), P ! {self(), close} =:= {self(), close}, down(P)] || P <- Ports]).

down(Port) ->
    Monitor = monitor(port, Port),
    receive {'DOWN', Monitor, port, Port, Why} -> Why end.

%% Ports end in three ways, while others list all and look at each.
churn() ->
    Keep = [open() || _ <- lists:seq(1, 50)],
    Lookers = [spawn_link(fun() -> look(Keep) end) || _ <- [1, 2]],
    Workers = [spawn_link(fun() -> work(300) end) || _ <- lists:seq(1, 6)],
    Ends = [receive {'EXIT', W, Why} -> Why end || W <- Workers],
    Looked = [begin L ! stop, receive {'EXIT', L, Why} -> Why end end || L <- Lookers],
    [port_close(P) || P <- Keep],
    {Ends, Looked}.

work(0) -> ok;
work(N) ->
    process_flag(trap_exit, true),
    P = open(),
    true = port_command(P, <<1, 0, 0, 0, 3, "abc">>),
    receive {P, {data, _}} -> ok end,
    true = lists:member(P, erlang:ports()),
    case N rem 3 of
        0 -> port_close(P);
        1 -> P ! {self(), close}, receive {P, closed} -> ok end;
        2 -> unlink(P), M = monitor(port, P), exit(P, kill), receive {'DOWN', M, _, _, killed} -> ok end
    end,
    t:flush(),
    undefined = erlang:port_info(P),
    work(N - 1).

look(Keep) ->
    receive
        stop -> ok
    after 0 ->
        [] = Keep -- erlang:ports(),
        [erlang:port_info(P) || P <- erlang:ports()],
        look(Keep)
    end.

catch_(F) -> try F() catch C:E -> {C, E} end.
