%% Episodes of the soak with sockets: of ports and of the module `socket`, over TCP, UDP and local names. As those of soak_episodes.
-module(soak_sockets).
-export([episodes/0]).

-define(assert(Condition), assert(Condition, ?LINE)).
-define(LONG, 60_000).

episodes() ->
    [{tcp, fun tcp/0}, {tcp, fun tcp/0}, {acceptors, fun acceptors/0}, {datagrams, fun datagrams/0}, {module_sockets, fun module_sockets/0},
     {module_datagrams, fun module_datagrams/0}, {same_numbers, fun same_numbers/0}, {slow_reader, fun slow_reader/0}, {hostile_requests, fun hostile_requests/0},
     {sent_file, fun sent_file/0}].

assert(true, _) -> ok;
assert(_, Line) -> error({assertion, Line}).

n(N) -> rand:uniform(N).
one_of(List) -> lists:nth(n(length(List)), List).

%% An abstract name of its own, or the loopback interface.
place() ->
    case n(2) of
        1 -> {local, <<0, (integer_to_binary(erlang:unique_integer([positive])))/binary>>};
        2 -> {127, 0, 0, 1}
    end.

listen(Options) ->
    Place = place(),
    {ok, L} = gen_tcp:listen(0, [binary, {ip, Place}, {active, false} | Options]),
    {ok, Port} = case Place of {local, _} -> {ok, 0}; _ -> inet:port(L) end,
    {L, {Place, Port}}.

%% Reset at the end, so that no port of the machine stays behind.
reset(S) -> inet:setopts(S, [{linger, {true, 0}}]), gen_tcp:close(S).

pair(Options) ->
    {L, {Place, Port}} = listen(Options),
    {ok, C} = gen_tcp:connect(Place, Port, [binary, {active, false} | Options], ?LONG),
    {ok, S} = gen_tcp:accept(L, ?LONG),
    gen_tcp:close(L),
    {C, S}.

%% Packets go there and back, in each mode of delivery, and the connection ends in some way.
tcp() ->
    process_flag(trap_exit, true),
    Options = [one_of([{packet, 4}, {packet, 2}]), {high_watermark, n(20_000)}, {low_watermark, n(5_000)}, {nodelay, n(2) =:= 1}, {delay_send, n(4) =:= 1}, {buffer, 100 + n(5_000)}],
    {C, S} = pair(Options),
    Self = self(),
    Echo = spawn_link(fun() -> receive go -> echo(S, one_of([passive, once, true, n(5)])) end end),
    ok = gen_tcp:controlling_process(S, Echo),
    Echo ! go,
    Packets = [rand:bytes(n(one_of([10, 3000, 50_000]))) || _ <- lists:seq(1, n(10))],
    Sender = spawn_link(fun() -> [ok = gen_tcp:send(C, P) || P <- Packets], Self ! sent end),
    [?assert({I, gen_tcp:recv(C, 0, ?LONG)} =:= {I, {ok, P}}) || {I, P} <- lists:zip(lists:seq(1, length(Packets)), Packets)],
    receive sent -> ok after ?LONG -> error(not_sent) end,
    receive {'EXIT', Sender, normal} -> ok after ?LONG -> error(sender) end,
    case n(4) of
        1 -> exit(Echo, kill), {error, closed} = gen_tcp:recv(C, 0, ?LONG), reset(C);
        2 -> ok = gen_tcp:shutdown(C, write), {error, closed} = gen_tcp:recv(C, 0, ?LONG), reset(C);
        3 -> reset(C);
        4 -> {P, M} = spawn_monitor(fun() -> receive go -> ok end end), ok = gen_tcp:controlling_process(C, P), P ! go, receive {'DOWN', M, _, _, normal} -> ok end
    end,
    receive {'EXIT', Echo, _} -> ok after ?LONG -> error({echo, process_info(Echo)}) end,
    ?assert(erlang:port_info(C, name) =:= undefined),
    ?assert(erlang:port_info(S, name) =:= undefined),
    receive Extra -> error({extra, Extra}) after 0 -> ok end.

echo(S, passive) ->
    case gen_tcp:recv(S, 0, ?LONG) of
        {ok, Data} -> sends(S, Data), echo(S, passive);
        {error, _} -> reset(S)
    end;
echo(S, Active) ->
    inet:setopts(S, [{active, Active}]),
    messages(S, Active).

messages(S, Active) ->
    receive
        {tcp, S, Data} -> sends(S, Data), Active =:= once andalso inet:setopts(S, [{active, once}]), messages(S, Active);
        {tcp_passive, S} -> echo(S, Active);
        {tcp_error, S, _} -> messages(S, Active);
        {tcp_closed, S} -> gen_tcp:close(S)
    after ?LONG -> error(late)
    end.

sends(S, Data) -> case gen_tcp:send(S, Data) of ok -> ok; {error, _} -> ok end.

%% Many wait for connections; some of them are killed, some get none. One that has found its socket open and asks it after that was closed is told `einval`.
acceptors() ->
    {L, {Place, Port}} = listen([]),
    Self = self(),
    Acceptors = [spawn_monitor(fun() -> case gen_tcp:accept(L, one_of([n(30), ?LONG])) of {ok, S} -> Self ! taken, gen_tcp:recv(S, 0, ?LONG), reset(S); {error, timeout} -> ok; {error, closed} -> ok; {error, einval} -> ok end end) || _ <- lists:seq(1, n(8))],
    Clients = [gen_tcp:connect(Place, Port, [{active, false}], 1000) || _ <- lists:seq(1, n(6))],
    [exit(P, kill) || {P, _} <- Acceptors, n(4) =:= 1],
    timer:sleep(n(10)),
    gen_tcp:close(L),
    [reset(C) || {ok, C} <- Clients],
    [receive {'DOWN', M, _, _, R} when R =:= normal; R =:= killed -> ok; {'DOWN', M, _, _, R} -> error(R) after ?LONG -> error({acceptor, process_info(P)}) end || {P, M} <- Acceptors],
    taken().

taken() -> receive taken -> taken(); Extra -> error({extra, Extra}) after 0 -> ok end.

datagrams() ->
    Open = fun(Active) ->
        {ok, S} = gen_udp:open(0, [binary, {ip, {127, 0, 0, 1}}, {active, Active}, {recbuf, 300_000}]),
        {ok, Port} = inet:port(S),
        {S, Port}
    end,
    {A, To} = Open(false),
    {B, From} = Open(one_of([true, 100, false])),
    Data = [rand:bytes(n(1000)) || _ <- lists:seq(1, n(20))],
    [ok = gen_udp:send(A, {127, 0, 0, 1}, From, D) || D <- Data],
    [case inet:getopts(B, [active]) of
        {ok, [{active, false}]} -> {ok, {_, _, Got}} = gen_udp:recv(B, 0, ?LONG), ?assert(Got =:= D);
        _ -> receive {udp, B, _, _, Got} -> ?assert(Got =:= D) after ?LONG -> error(lost) end
    end || D <- Data],
    ok = gen_udp:send(B, {127, 0, 0, 1}, To, "back"),
    {ok, {_, _, <<"back">>}} = gen_udp:recv(A, 0, ?LONG),
    {error, timeout} = gen_udp:recv(A, 0, n(3)),
    gen_udp:close(A),
    case n(2) of
        1 -> gen_udp:close(B);
        2 -> {P, M} = spawn_monitor(fun() -> receive go -> ok end end), ok = gen_udp:controlling_process(B, P), P ! go, receive {'DOWN', M, _, _, normal} -> ok end
    end,
    receive {udp_passive, B} -> ok after 0 -> ok end,
    receive Extra -> error({extra, Extra}) after 0 -> ok end.

sockaddr() ->
    case place() of
        {local, Name} -> #{family => local, path => Name};
        Ip -> #{family => inet, addr => Ip, port => 0}
    end.

%% The same with sockets that belong to no port: waiting, taking back, and ends in some way.
module_sockets() ->
    #{family := Family} = Address = sockaddr(),
    {ok, L} = socket:open(Family, stream),
    ok = socket:bind(L, Address),
    ok = socket:listen(L),
    {ok, To} = socket:sockname(L),
    {ok, C} = socket:open(Family, stream),
    {select, Waits} = socket:accept(L, nowait),
    ok = socket:connect(C, To, ?LONG),
    S = case n(2) of
        1 -> socket:cancel(L, Waits), {ok, A} = socket:accept(L, ?LONG), A;
        2 -> receive {'$socket', L, select, _} -> {ok, A} = socket:accept(L, ?LONG), A after ?LONG -> error(no_select) end
    end,
    Self = self(),
    {Reader, M} = spawn_monitor(fun() -> Self ! {read, read(S, 0, erlang:md5_init())} end),
    Data = [rand:bytes(n(one_of([10, 20_000, 300_000]))) || _ <- lists:seq(1, n(5))],
    [ok = case n(2) of 1 -> socket:send(C, D, ?LONG); 2 -> socket:sendmsg(C, #{iov => [D]}, ?LONG) end || D <- Data],
    Ends = n(4),
    case Ends of
        1 -> ok = socket:close(C);
        2 -> ok = socket:shutdown(C, write);
        3 -> exit(Reader, kill);
        4 -> P = spawn(fun() -> receive go -> ok end end), ok = socket:setopt(C, {otp, controlling_process}, P), P ! go
    end,
    receive {'DOWN', M, _, _, R} when R =:= normal; R =:= killed -> ok; {'DOWN', M, _, _, R} -> error(R) after ?LONG -> error({reader, process_info(Reader, messages)}) end,
    Ends =/= 3 andalso receive {read, Read} -> ?assert(Read =:= {iolist_size(Data), erlang:md5(Data)}) after ?LONG -> error(not_read) end,
    [socket:close(X) || X <- [C, S, L]],
    receive {read, _} -> ok after 0 -> ok end,
    receive {'$socket', _, _, _} -> ok after 0 -> ok end,
    receive Extra -> error({extra, Extra}) after 0 -> ok end.

read(S, N, Context) ->
    case socket:recv(S, 0, one_of([1, 100, ?LONG])) of
        {ok, Data} -> read(S, N + byte_size(Data), erlang:md5_update(Context, Data));
        {error, {timeout, Data}} -> read(S, N + byte_size(Data), erlang:md5_update(Context, Data));
        {error, timeout} -> read(S, N, Context);
        {error, {closed, Data}} -> read(S, N + byte_size(Data), erlang:md5_update(Context, Data));
        {error, _} -> {N, erlang:md5_final(Context)}
    end.

module_datagrams() ->
    #{family := Family} = Address = sockaddr(),
    {ok, A} = socket:open(Family, dgram),
    {ok, B} = socket:open(Family, dgram),
    ok = socket:bind(A, Address),
    {ok, To} = socket:sockname(A),
    Data = [rand:bytes(n(1000)) || _ <- lists:seq(1, n(10))],
    [ok = socket:sendto(B, D, To) || D <- Data],
    [begin {ok, {_, Got}} = socket:recvfrom(A, 2000, ?LONG), ?assert(Got =:= D) end || D <- Data],
    {select, {select_info, _, _}} = socket:recvfrom(A, 0, nowait),
    case n(3) of 1 -> socket:close(A); 2 -> leave; 3 -> P = spawn(fun() -> ok end), socket:setopt(A, {otp, controlling_process}, P) end,
    socket:close(B),
    socket:close(A),
    receive {'$socket', _, _, _} -> ok after 0 -> ok end.

%% Descriptors are closed and their numbers used anew at once, by many, while they are busy: what comes is for who has it.
same_numbers() ->
    Workers = [spawn_monitor(fun() -> rand:seed(exsss, {N, erlang:unique_integer(), 1}), [own() || _ <- lists:seq(1, 20)] end) || N <- lists:seq(1, 4)],
    [receive {'DOWN', M, _, _, normal} -> ok; {'DOWN', M, _, _, R} -> error(R) after ?LONG -> error(late) end || {_, M} <- Workers].

own() ->
    Mine = rand:bytes(8),
    case n(3) of
        1 ->
            {C, S} = pair([{packet, 1}]),
            ok = inet:setopts(S, [{active, one_of([true, once])}]),
            ok = gen_tcp:send(C, Mine),
            receive {tcp, S, Got} -> ?assert(Got =:= Mine); {tcp_closed, S} -> error(closed_by_nobody) after ?LONG -> error(lost) end,
            [reset(X) || X <- case n(2) of 1 -> [C, S]; 2 -> [S, C] end];
        2 ->
            {ok, A} = gen_udp:open(0, [binary, {ip, {127, 0, 0, 1}}, {active, true}]),
            {ok, Port} = inet:port(A),
            ok = gen_udp:send(A, {127, 0, 0, 1}, Port, Mine),
            receive {udp, A, _, Port, Got} -> ?assert(Got =:= Mine) after ?LONG -> error(lost) end,
            gen_udp:close(A);
        3 ->
            Port = open_port({spawn_executable, "/bin/cat"}, [binary, stream]),
            true = port_command(Port, Mine),
            receive {Port, {data, Got}} -> ?assert(Got =:= Mine) after ?LONG -> error(lost) end,
            port_close(Port)
    end,
    receive
        {tcp_closed, _} -> ok;
        {tcp_error, _, _} -> ok
    after 0 -> ok
    end,
    receive {_, _, _} = Extra -> error({extra, Extra}) after 0 -> ok end.

%% A reader that takes little: senders wait, and are let go.
slow_reader() ->
    process_flag(trap_exit, true),
    {C, S} = pair([{sndbuf, 4096}, {recbuf, 4096}, {high_watermark, 5000}, {low_watermark, 1000}, {send_timeout, one_of([infinity, 20])}, {send_timeout_close, n(2) =:= 1}]),
    Senders = [spawn_link(fun() -> gen_tcp:send(C, binary:copy(<<"x">>, 100_000)), gen_tcp:send(C, "more") end) || _ <- lists:seq(1, n(4))],
    timer:sleep(n(20)),
    case n(4) of
        1 -> gen_tcp:recv(S, n(50_000), 20), reset(S);
        2 -> [exit(P, kill) || P <- Senders], reset(S);
        3 -> reset(C), reset(S);
        4 -> inet:setopts(C, [{linger, {true, 0}}]), gen_tcp:close(S)
    end,
    [receive {'EXIT', P, _} -> ok after ?LONG -> error({sender, process_info(P)}) end || P <- Senders],
    reset(C),
    receive {'EXIT', S, _} -> ok after 0 -> ok end.

%% Control bytes that nobody would send.
hostile_requests() ->
    process_flag(trap_exit, true),
    {C, S} = pair([]),
    {ok, U} = gen_udp:open(0, [{ip, {127, 0, 0, 1}}, {active, false}]),
    Ports = [C, S, U, open_port({spawn_driver, "tcp_inet"}, []), open_port({spawn_driver, "udp_inet"}, [])],
    [begin
        Port = one_of(Ports),
        %% Neither descriptors of others (13), nor addresses (3, 6) or files (45) that are made up.
        Request = one_of([1, 2, 4, 5, 7, 7, 7, 8, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30, 42, 42, 43, 44, 60, 99]),
        case catch erlang:port_control(Port, 16#03f1a300 + Request, hostile(Request)) of
            [First | _] -> ?assert(First =< 2);
            {'EXIT', {badarg, _}} -> refused
        end,
        n(3) =:= 1 andalso (catch erlang:port_command(Port, rand:bytes(n(20)), [nosuspend]))
    end || _ <- lists:seq(1, n(60))],
    [begin catch erlang:port_control(P, 16#03f1a307, <<3, 1:32, 0:32>>), catch port_close(P) end || P <- Ports],
    [?assert(erlang:port_info(P, name) =:= undefined) || P <- Ports],
    flush().

flush() -> receive _ -> flush() after 0 -> ok end.

hostile(7) -> [<<(n(50) - 1), (one_of([0, 1, 2, 3, 255, 1 bsl 16, 1 bsl 31, 1 bsl 32 - 1])):32, (rand:bytes(n(8) - 1))/binary>> || _ <- lists:seq(1, n(3))];
hostile(42) -> <<(one_of([0, 1, 1 bsl 32 - 1])):32, (one_of([0, 1, 1 bsl 16, 1 bsl 32 - 1])):32>>;
hostile(_) -> rand:bytes(n(12) - 1).

sent_file() ->
    Name = filename:join(persistent_term:get(soak_dir), "s" ++ integer_to_list(erlang:unique_integer([positive]))),
    Data = rand:bytes(n(400_000)),
    ok = file:write_file(Name, Data),
    {C, S} = pair([]),
    Self = self(),
    spawn_link(fun() -> Self ! {got, gen_tcp:recv(S, byte_size(Data), ?LONG)} end),
    {ok, Sent} = file:sendfile(Name, C),
    ?assert(Sent =:= byte_size(Data)),
    receive {got, Got} -> ?assert(Got =:= {ok, Data}) after ?LONG -> error(lost) end,
    [reset(X) || X <- [C, S]],
    ok = file:delete(Name).
