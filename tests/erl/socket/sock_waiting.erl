%% Waiting for sockets: who is told what, in which order, and what ends a wait; the registry and its monitors.
-module(sock_waiting).
-export([main/0]).

main() ->
    t:c(accepting, fun accepting/0),
    t:c(connecting, fun connecting/0),
    t:c(receiving, fun receiving/0),
    t:c(sending, fun sending/0),
    t:c(acceptors, fun acceptors/0),
    t:c(readers, fun readers/0),
    t:c(writers, fun writers/0),
    t:c(zero, fun zero/0),
    t:c(queued_twice, fun queued_twice/0),
    t:c(cancel, fun cancel/0),
    t:c(cancel_others, fun cancel_others/0),
    t:c(closing, fun closing/0),
    t:c(told_and_closed, fun told_and_closed/0),
    t:c(reader_ends, fun reader_ends/0),
    t:c(owner_ends, fun owner_ends/0),
    t:c(given_away, fun given_away/0),
    t:c(given_to_the_dead, fun given_to_the_dead/0),
    t:c(failure, fun failure/0),
    t:c(registry, fun registry/0),
    t:c(monitors, fun monitors/0),
    t:c(counters, fun counters/0),
    t:c(wrong, fun wrong/0).

listener() ->
    {ok, L} = socket:open(inet, stream, tcp),
    ok = socket:bind(L, #{family => inet, addr => loopback}),
    ok = socket:listen(L),
    {ok, A} = socket:sockname(L),
    {L, A}.

pair() ->
    {L, A} = listener(),
    {ok, C} = socket:open(inet, stream, tcp),
    ok = socket:connect(C, A),
    {ok, S} = socket:accept(L),
    ok = socket:close(L),
    {C, S}.

%% What this process gets; sockets and references by name.
got(Names) -> got(Names, 100).

got(Names, Time) ->
    receive M -> [named(M, Names) | got(Names, 50)]
    after Time -> []
    end.

named(T, Names) ->
    case lists:keyfind(T, 1, Names) of
        {_, Name} -> Name;
        false when is_tuple(T) -> list_to_tuple([named(E, Names) || E <- tuple_to_list(T)]);
        false -> T
    end.

%% A process that does something and tells its result, then stays.
other(Tag, Fun) ->
    Self = self(),
    Pid = spawn(fun() -> Self ! {Tag, Fun()}, receive stop -> ok end end),
    timer:sleep(30),
    Pid.

waiting({'$socket', Ref}) ->
    #{num_readers := R, num_writers := W, num_acceptors := A} = prim_socket:info(Ref),
    {R, W, A}.

accepting() ->
    {L, A} = listener(),
    {select, {select_info, accept, H}} = socket:accept(L, nowait),
    {ok, C} = socket:open(inet, stream, tcp),
    ok = socket:connect(C, A),
    Got = got([{L, listener}, {H, handle}]),
    {ok, S} = socket:accept(L, nowait),
    {Got, socket:accept(L, 20), socket:send(C, "a"), socket:recv(S, 1, 1000)}.

connecting() ->
    {L, A} = listener(),
    {ok, C} = socket:open(inet, stream, tcp),
    {select, {select_info, connect, H}} = socket:connect(C, A, nowait),
    Got = got([{C, socket}, {H, handle}]),
    R = {socket:connect(C), (catch socket:connect(C)), socket:connect(C, A)},
    {Got, R, socket:close(L)}.

receiving() ->
    {C, S} = pair(),
    {select, {select_info, recv, H}} = socket:recv(S, 5, nowait),
    Handle = make_ref(),
    ok = socket:send(C, "abc"),
    Got = got([{S, socket}, {H, handle}]),
    {select, {{select_info, recv, Handle}, Part}} = socket:recv(S, 5, Handle),
    ok = socket:send(C, "def"),
    {Got, Part, got([{S, socket}, {Handle, handle}]), socket:recv(S, 2, nowait), socket:recv(S, 0, nowait) , t:norm(element(1, socket:recv(S, 0, nowait)))}.

sending() ->
    {C, S} = pair(),
    Data = binary:copy(<<"x">>, 20000000),
    {select, {{select_info, {send, _}, H} = Info, Rest}} = socket:send(C, Data, nowait),
    Before = got([]),
    {ok, _} = socket:recv(S, byte_size(Data) - byte_size(Rest), 5000),
    Told = got([{C, socket}, {H, handle}]),
    Self = self(),
    spawn_link(fun() -> Self ! {all, byte_size(element(2, socket:recv(S, byte_size(Rest), 5000))) =:= byte_size(Rest)} end),
    {Before, Told, socket:send(C, Rest, Info), receive {all, All} -> All end}.

acceptors() ->
    {L, A} = listener(),
    Pids = [other(N, fun() -> element(1, socket:accept(L)) end) || N <- [1, 2, 3]],
    W = waiting(L),
    Cs = [begin {ok, C} = socket:open(inet, stream, tcp), ok = socket:connect(C, A), C end || _ <- [1, 2, 3]],
    Got = got([], 500),
    [P ! stop || P <- Pids],
    {W, lists:sort(Got), waiting(L), length(Cs)}.

readers() ->
    {C, S} = pair(),
    Pids = [other(N, fun() -> socket:recv(S, 2) end) || N <- [1, 2, 3]],
    W = waiting(S),
    ok = socket:send(C, "abcd"),
    First = got([]),
    ok = socket:send(C, "ef"),
    Second = got([]),
    [P ! stop || P <- Pids],
    {W, First, Second, waiting(S)}.

writers() ->
    {C, S} = pair(),
    Data = binary:copy(<<"x">>, 10000000),
    Pids = [other(N, fun() -> socket:send(C, Data) end) || N <- [1, 2, 3]],
    W = waiting(C),
    R = [element(1, socket:recv(S, byte_size(Data), 5000)) || _ <- Pids],
    {W, R, lists:sort(got([], 500)), waiting(C)}.

zero() ->
    {C, S} = pair(),
    P = other(one, fun() -> socket:recv(S, 2) end),
    R = socket:recv(S, 0, 0),
    ok = socket:send(C, "ab"),
    Got = got([]),
    P ! stop,
    {R, Got, socket:recv(S, 0, 0)}.

queued_twice() ->
    {_, S} = pair(),
    P = other(one, fun() -> socket:recv(S, 2) end),
    {select, _} = socket:recv(S, 1, nowait),
    R = try socket:recv(S, 1, nowait) catch Class:Reason -> {Class, Reason} end,
    P ! stop,
    {R, waiting(S)}.

cancel() ->
    {C, S} = pair(),
    {select, I} = socket:recv(S, 0, nowait),
    A = {element(1, element(2, socket:cancel(S, setelement(3, I, make_ref())))), element(1, element(2, socket:cancel(S, setelement(2, I, accept)))),
         element(1, element(2, socket:cancel(S, setelement(2, I, send)))), (catch element(1, element(1, element(2, catch socket:cancel(S, setelement(2, I, foo))))))},
    B = {waiting(S), socket:cancel(S, I), waiting(S), element(1, socket:cancel(S, I))},
    {select, J} = socket:recv(S, 0, nowait),
    ok = socket:send(C, "abc"),
    timer:sleep(50),
    {A, B, socket:cancel(S, J), got([]), socket:recv(S, 0, 0)}.

cancel_others() ->
    {C, S} = pair(),
    {select, I} = socket:recv(S, 0, nowait),
    P = other(one, fun() -> element(1, socket:cancel(S, I)) end),
    Q = other(two, fun() -> socket:recv(S, 3) end),
    R = socket:cancel(S, I),
    ok = socket:send(C, "abc"),
    Got = got([]),
    P ! stop, Q ! stop,
    {R, Got}.

closing() ->
    {C, S} = pair(),
    {select, {_, _, H}} = socket:recv(S, 0, nowait),
    P = other(one, fun() -> socket:recv(S, 2) end),
    R = socket:close(S),
    Got = got([{S, socket}, {H, handle}]),
    P ! stop,
    {R, lists:sort(Got), socket:recv(C, 0, 1000), socket:recv(S), socket:close(S), socket:cancel(S, {select_info, recv, H})}.

%% Who has been told that it may try learns of the end by trying.
told_and_closed() ->
    {C, S} = pair(),
    {select, {select_info, _, Reference}} = socket:recv(S, 0, nowait),
    ok = socket:send(C, "abc"),
    receive {'$socket', S, select, Reference} -> ok end,
    ok = socket:close(S),
    {receive {'$socket', S, What, _} -> What after 300 -> nothing end, socket:recv(S, 0, nowait)}.

%% The first reader ends: the next one's turn.
reader_ends() ->
    {C, S} = pair(),
    P = other(one, fun() -> socket:recv(S, 2) end),
    Q = other(two, fun() -> socket:recv(S, 2) end),
    W = waiting(S),
    exit(P, kill),
    timer:sleep(30),
    V = waiting(S),
    ok = socket:send(C, "ab"),
    Got = got([]),
    Q ! stop,
    {W, V, Got}.

owner_ends() ->
    Self = self(),
    P = spawn(fun() -> {C, S} = pair(), Self ! {pair, C, S}, receive stop -> ok end end),
    receive {pair, C, S} -> ok end,
    Q = other(reader, fun() -> socket:recv(S) end),
    P ! stop,
    Got = got([]),
    Q ! stop,
    {Got, socket:recv(S), socket:send(C, "a")}.

given_away() ->
    {C, S} = pair(),
    Self = self(),
    P = spawn(fun() -> receive go -> Self ! {other, socket:setopt(S, {otp, controlling_process}, Self), socket:getopt(S, {otp, controlling_process}) =:= {ok, Self}}, receive stop -> ok end end end),
    A = {socket:setopt(S, {otp, controlling_process}, P), socket:setopt(S, {otp, controlling_process}, P), socket:setopt(S, {otp, controlling_process}, foo)},
    P ! go,
    B = got([]),
    exit(P, kill),
    timer:sleep(30),
    {A, B, socket:send(C, "a"), socket:recv(S, 1, 100)}.

given_to_the_dead() ->
    {C, S} = pair(),
    {P, M} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', M, _, _, _} -> ok end,
    R = socket:setopt(S, {otp, controlling_process}, P),
    {R, socket:close(C)}.

%% A reset while several read.
failure() ->
    {C, S} = pair(),
    Pids = [other(N, fun() -> socket:recv(S, 2) end) || N <- [1, 2]],
    ok = socket:setopt(C, {socket, linger}, abort),
    ok = socket:close(C),
    Got = got([], 500),
    [P ! stop || P <- Pids],
    {lists:sort(Got), waiting(S)}.

registry() ->
    Before = length(socket:which_sockets()),
    {C, S} = pair(),
    {ok, U} = socket:open(inet, dgram, udp, #{use_registry => false}),
    Now = socket:which_sockets(),
    R = {length(Now) - Before, lists:member(C, Now), lists:member(S, Now), lists:member(U, Now), length(socket:which_sockets(dgram)), length(socket:which_sockets(fun(#{type := T}) -> T =:= stream end)) >= 2},
    [ok = socket:close(X) || X <- [C, S, U]],
    timer:sleep(20),
    {R, length(socket:which_sockets()) - Before, socket:number_of() =:= Before}.

monitors() ->
    {C, S} = pair(),
    M = socket:monitor(S),
    N = socket:monitor(C),
    P = other(one, fun() -> socket:monitor(S), receive X -> element(1, X) end end),
    R = {length(socket:monitored_by(S)), socket:cancel_monitor(N), socket:cancel_monitor(N)},
    ok = socket:close(S),
    Got = got([{S, socket}, {M, monitor}]),
    P ! stop,
    {R, lists:sort(Got)}.

counters() ->
    {C, S} = pair(),
    [ok = socket:send(C, D) || D <- ["a", "bcd", "ef"]],
    {ok, _} = socket:recv(S, 2),
    {ok, _} = socket:recv(S, 4),
    {error, timeout} = socket:recv(S, 0, 0),
    [maps:remove(owner, socket:info(X)) || X <- [C, S]].

wrong() ->
    {_, {_, R} = S} = pair(),
    [t:norm(try F() catch Class:Reason -> {Class, Reason} end)
     || F <- [fun() -> prim_socket:recv(R, 0, [], foo) end, fun() -> prim_socket:recv(R, -1, [], make_ref()) end, fun() -> prim_socket:recv(make_ref(), 0, [], make_ref()) end,
              fun() -> prim_socket:recv(foo, 0, [], make_ref()) end, fun() -> prim_socket:send(R, foo, [], make_ref()) end, fun() -> prim_socket:listen(R, foo) end,
              fun() -> prim_socket:shutdown(R, foo) end, fun() -> prim_socket:cancel(R, foo, make_ref()) end, fun() -> socket:recv(S, 0, [foo]) end,
              fun() -> prim_socket:close(foo) end, fun() -> prim_socket:info(foo) end, fun() -> prim_socket:connect(R) end]].
