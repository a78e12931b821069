%% What is traced of ports: what they receive, what they send, when they run, how they end.
-module(ports).
-export([main/0]).

main() ->
    t:mute(),
    process_flag(trap_exit, true),
    t:c(control, fun() -> of_port(udp_inet, fun(P) -> port_control(P, 9999, [1, <<2>>, [3]]), catch port_control(P, 1, foo) end) end),
    t:c(no_control, fun() -> of_port(ram_file_drv, fun(P) -> catch port_control(P, 1, <<1>>), catch erlang:port_call(P, 1, a) end) end),
    t:c(command, fun() -> of_port(ram_file_drv, fun(P) -> port_command(P, [1, <<0, 0, 0, 1>>, "abc"]), P ! {self(), {command, <<2, 0, 0, 0, 2>>}} end) end),
    t:c(error_answer, fun() -> of_port(udp_inet, fun(P) -> port_command(P, <<1, 2>>) end) end),
    t:c(connect, fun() -> of_port(ram_file_drv, fun connect/1) end),
    t:c(connect_by_message, fun() -> of_port(ram_file_drv, fun connect_by_message/1) end),
    t:c(links, fun() -> of_port(ram_file_drv, fun(P) -> unlink(P), link(P), demonitor(monitor(port, P)), erlang:port_info(P, name) end) end),
    t:c(bad_messages, fun() -> of_port(ram_file_drv, fun(P) -> P ! foo, P ! {self(), foo}, P ! {other(), close}, P ! {self(), {connect, foo}} end) end),
    t:each(exit, [normal, kill, reason], fun(R) -> of_port(ram_file_drv, fun(P) -> register(a_port, P), exit(P, R) end) end),
    t:c(close, fun() -> of_port(ram_file_drv, fun(P) -> register(a_port, P), unregister(a_port), register(a_port, P), port_close(P) end) end),
    t:c(close_by_message, fun() -> of_port(ram_file_drv, fun(P) -> P ! {self(), close} end) end),
    t:c(owner_ends, fun owner_ends/0),
    t:c(pieces, fun pieces/0),
    t:c(timer, fun timer/0),
    t:c(one_piece, fun() -> of_program("cat >/dev/null", fun(P) -> port_command(P, [<<"a">>, binary:copy(<<"b">>, 300), "c"]), P ! {self(), {command, "d"}} end) end),
    t:c(standing_aside, fun standing_aside/0).

%% Opens a port, has something done with it, and gives what is traced and what comes.
of_port(Driver, Do) ->
    {T, Tracing} = tracing([send, 'receive', ports, running_ports]),
    P = open_port({spawn, Driver}, [binary]),
    catch Do(P),
    timer:sleep(30),
    catch port_close(P),
    told(T, Tracing, P).

of_program(Program, Do) ->
    {T, Tracing} = tracing([send, 'receive', ports]),
    P = open_port({spawn, Program}, [binary, out]),
    Do(P),
    timer:sleep(30),
    port_close(P),
    told(T, Tracing, P).

tracing(Flags) ->
    T = tracer(),
    erlang:trace(new_ports, true, [{tracer, T} | Flags]),
    {T, Flags}.

tracer() ->
    Self = self(),
    spawn_link(fun F() -> receive {stop, Self} -> unlink(Self), Self ! stopped; M -> Self ! {told, M}, F() end end).

told(T, Flags, P) ->
    timer:sleep(30),
    erlang:trace(new_ports, false, Flags),
    T ! {stop, self()},
    receive stopped -> ok end,
    Told = (fun F() -> receive {told, M} -> [names(M, P) | F()] after 0 -> [] end end)(),
    {Told, (fun F() -> receive M -> [names(M, P) | F()] after 0 -> [] end end)()}.

names(P, P) -> port;
names(X, _) when X =:= self() -> self;
names(X, _) when is_pid(X) -> pid;
names(X, _) when is_port(X) -> other_port;
names(T, P) when is_tuple(T) -> list_to_tuple(names(tuple_to_list(T), P));
names([H | T], P) -> [names(H, P) | names(T, P)];
names(B, _) when byte_size(B) > 64 -> {bytes, byte_size(B)};
names(X, _) -> X.

other() -> spawn(fun() -> receive after 100 -> ok end end).

connect(P) ->
    Q = other(),
    port_connect(P, Q),
    port_connect(P, Q),
    port_connect(P, self()).

connect_by_message(P) ->
    S = self(),
    Q = other(),
    P ! {S, {connect, Q}},
    receive {P, connected} -> ok end,
    {links, L} = erlang:port_info(P, links),
    P ! {Q, {connect, S}},
    S ! {links, L =:= [S]}.

owner_ends() ->
    {T, Tracing} = tracing([send, 'receive', ports, running_ports]),
    S = self(),
    {_, R} = spawn_monitor(fun() -> P = open_port({spawn, ram_file_drv}, []), register(a_port, P), S ! {port, P} end),
    receive {port, P} -> receive {'DOWN', R, _, _, _} -> told(T, Tracing, P) end end.

%% What drivers take in pieces is told in pieces, as large binaries have stood in the list.
pieces() ->
    {ok, L} = gen_tcp:listen(0, [{active, false}]),
    {ok, N} = inet:port(L),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, N, [{active, false}]),
    T = tracer(),
    B = fun(Size) -> binary:copy(<<"b">>, Size) end,
    <<_, Part:80/binary, _/binary>> = B(500),
    erlang:trace(C, true, ['receive', {tracer, T}]),
    [gen_tcp:send(C, D) || D <- ["abc", [B(64), "a"], [B(65), "a", <<"b">>], B(65), ["x", B(300), [], "y" | B(70)], [[[Part]], "z"], [B(80), B(81)]]],
    {Told, []} = told(T, [], C),
    Told.

timer() ->
    {ok, U} = gen_udp:open(0, [{active, false}]),
    T = tracer(),
    erlang:trace(U, true, [send, 'receive', running_ports, {tracer, T}]),
    R = gen_udp:recv(U, 0, 20),
    {R, told(T, [], U)}.

%% With `running_procs` a process that has a port do something is told as standing still meanwhile.
standing_aside() ->
    Self = self(),
    T = tracer(),
    Q = spawn(fun() ->
        P = open_port({spawn, ram_file_drv}, [binary]),
        Self ! {port, P},
        receive go -> ok end,
        port_command(P, <<2, 0, 0, 0, 2>>),
        P ! {self(), {command, <<2, 0, 0, 0, 2>>}},
        erlang:port_info(P, name),
        Self ! done,
        receive stop -> ok end end),
    P = receive {port, X} -> X end,
    erlang:trace(P, true, [running_ports, {tracer, T}]),
    erlang:trace(Q, true, [running_procs, {tracer, T}]),
    Q ! go,
    receive done -> ok end,
    {Told, _} = told(T, [], P),
    exit(Q, kill),
    %% Where it stands is another question.
    Tags = [{element(2, M), element(3, M)} || M <- Told],
    lists:sublist(lists:dropwhile(fun(M) -> M =/= {port, in} end, Tags), 11).
