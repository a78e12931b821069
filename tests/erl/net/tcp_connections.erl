%% Connecting, listening and accepting: who gets what, how long one waits, what is refused.
-module(tcp_connections).
-export([main/0]).

main() ->
    t:each(refused, [[{{127, 0, 0, 1}, 1}, 1000], [{{127, 0, 0, 1}, 1}, infinity], [{{10, 255, 255, 1}, 1}, 50]], fun([{Ip, P}, T]) -> gen_tcp:connect(Ip, P, [], T) end),
    t:each(twice, [listen, connect, accept, bind], fun twice/1),
    t:each(accept_times, [0, 1, 50], fun accept_time/1),
    t:c(queue, fun queue/0),
    t:c(dead_acceptor, fun dead_acceptor/0),
    t:c(closed_listener, fun closed_listener/0),
    t:c(killed_owner, fun killed_owner/0),
    t:c(backlog, fun backlog/0),
    t:c(inherited, fun inherited/0),
    t:c(many, fun many/0),
    t:c(six, fun six/0),
    t:each(states, [closed, open, bound, listening, accepting, connected], fun state/1),
    t:each(order, [closed, open, bound, listening, connected], fun requests/1),
    t:each(control, [[], [0], [1], [1, 1], [255, 1], {255, 40}, {1, 70000}, {1, 300}], fun control/1),
    t:c(receive_times, fun receive_times/0),
    t:c(given, fun given/0),
    t:c(statistics, fun statistics/0).

listen() -> gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}]).

twice(listen) -> {ok, L} = listen(), {ok, P} = inet:port(L), R = gen_tcp:listen(P, [{ip, {127, 0, 0, 1}}]), gen_tcp:close(L), R;
twice(connect) -> {C, S} = net:pair(), {ok, {A, P}} = inet:peername(C), R = prim_inet:connect(C, A, P, 100), net:close([C, S]), R;
twice(accept) -> {C, S} = net:pair(), R = gen_tcp:accept(C, 10), net:close([C, S]), R;
twice(bind) -> {ok, L} = listen(), R = prim_inet:bind(L, {127, 0, 0, 1}, 0), gen_tcp:close(L), R.

accept_time(Time) -> {ok, L} = listen(), R = {gen_tcp:accept(L, Time), gen_tcp:accept(L, Time)}, gen_tcp:close(L), R.

%% Who has come first gets the first connection.
queue() ->
    {ok, L} = listen(),
    {ok, Port} = inet:port(L),
    Self = self(),
    Pids = [begin
                Pid = spawn_link(fun() -> {ok, S} = gen_tcp:accept(L), Self ! {accepted, N, erlang:port_info(S, connected) =:= {connected, self()}}, receive stop -> ok end end),
                timer:sleep(20),
                Pid
            end || N <- [1, 2, 3, 4]],
    Status = prim_inet:getstatus(L),
    Got = [begin {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, []), {M} = {net:got(1, 1000)}, gen_tcp:close(C), M end || _ <- Pids],
    [Pid ! stop || Pid <- Pids],
    gen_tcp:close(L),
    {Status, Got}.

dead_acceptor() ->
    {ok, L} = listen(),
    {ok, Port} = inet:port(L),
    Self = self(),
    Dead = spawn(fun() -> gen_tcp:accept(L) end),
    timer:sleep(30),
    spawn_link(fun() -> {ok, S} = gen_tcp:accept(L), Self ! {living, gen_tcp:recv(S, 0, 1000)} end),
    timer:sleep(30),
    exit(Dead, kill),
    timer:sleep(30),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
    ok = gen_tcp:send(C, "hello"),
    Got = net:got(1, 1000),
    net:close([C, L]),
    Got.

closed_listener() ->
    {ok, L} = listen(),
    Self = self(),
    [spawn_link(fun() -> Self ! {N, gen_tcp:accept(L)} end) || N <- [1, 2, 3]],
    timer:sleep(50),
    ok = gen_tcp:close(L),
    lists:sort(net:got(3, 1000)).

killed_owner() ->
    Self = self(),
    Pid = spawn(fun() -> {ok, L} = listen(), Self ! {l, L}, receive never -> ok end end),
    L = receive {l, S} -> S end,
    spawn_link(fun() -> Self ! gen_tcp:accept(L) end),
    timer:sleep(50),
    exit(Pid, kill),
    net:got(1, 1000).

%% Connections are there before they are accepted, with what was sent over them.
backlog() ->
    {ok, L} = listen(),
    {ok, Port} = inet:port(L),
    Cs = [begin {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [{active, false}]), ok = gen_tcp:send(C, [N]), C end || N <- [1, 2, 3]],
    gen_tcp:close(lists:last(Cs)),
    Got = [begin {ok, S} = gen_tcp:accept(L, 1000), R = {gen_tcp:recv(S, 0, 1000), gen_tcp:recv(S, 0, 20)}, gen_tcp:close(S), R end || _ <- Cs],
    net:close([L | Cs]),
    {Got, gen_tcp:accept(L, 10)}.

inherited() ->
    Options = [{packet, 2}, {header, 1}, {packet_size, 99}, {send_timeout, 77}, {send_timeout_close, true}, {exit_on_close, false}, {show_econnreset, true}, {high_watermark, 9999}, {low_watermark, 99}, {delay_send, true}, {nodelay, true}, {keepalive, true}, {buffer, 3000}, {active, false}, list],
    {ok, L} = gen_tcp:listen(0, [{ip, {127, 0, 0, 1}} | Options]),
    {ok, Port} = inet:port(L),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
    {ok, S} = gen_tcp:accept(L, 1000),
    Names = [mode | [N || {N, _} <- Options]],
    Got = inet:getopts(S, Names),
    net:close([C, S, L]),
    Got.

%% Some hundred connections at a time, each echoes.
many() ->
    {ok, L} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}, {backlog, 512}]),
    {ok, Port} = inet:port(L),
    spawn_link(fun() -> acceptor(L) end),
    Self = self(),
    [spawn_link(fun() -> Self ! {N, client(Port, N)} end) || N <- lists:seq(1, 300)],
    Got = [receive {N, R} -> R after 20000 -> nothing end || N <- lists:seq(1, 300)],
    gen_tcp:close(L),
    lists:usort(Got).

acceptor(L) ->
    case gen_tcp:accept(L) of
        {ok, S} -> Pid = spawn(fun() -> receive go -> inet:setopts(S, [{active, once}]), echo(S) end end), gen_tcp:controlling_process(S, Pid), Pid ! go, acceptor(L);
        {error, closed} -> ok
    end.

echo(S) ->
    receive
        {tcp, S, Data} -> ok = gen_tcp:send(S, Data), inet:setopts(S, [{active, once}]), echo(S);
        {tcp_closed, S} -> ok
    end.

client(Port, N) ->
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    R = [begin D = binary:copy(<<N:16>>, K * 100), ok = gen_tcp:send(C, D), gen_tcp:recv(C, byte_size(D), 10000) =:= {ok, D} end || K <- lists:seq(1, 20)],
    gen_tcp:close(C),
    lists:usort(R).

six() ->
    {ok, L} = gen_tcp:listen(0, [inet6, {ip, {0, 0, 0, 0, 0, 0, 0, 1}}, {active, false}]),
    {ok, {A, Port}} = inet:sockname(L),
    {ok, C} = gen_tcp:connect({0, 0, 0, 0, 0, 0, 0, 1}, Port, [inet6, {active, false}]),
    {ok, S} = gen_tcp:accept(L, 1000),
    {ok, {B, _}} = inet:peername(S),
    ok = gen_tcp:send(S, "six"),
    R = {A, B, gen_tcp:recv(C, 3, 1000), prim_inet:gettype(C), inet:getopts(C, [tclass, ipv6_v6only])},
    net:close([C, S, L]),
    R.

in(closed) -> {ok, S} = prim_inet:open(tcp, inet, stream), port_control(S, 16#3f1a300 + 2, []), S;
in(open) -> {ok, S} = prim_inet:open(tcp, inet, stream), S;
in(bound) -> S = in(open), {ok, _} = prim_inet:bind(S, {127, 0, 0, 1}, 0), S;
in(listening) -> S = in(bound), ok = prim_inet:listen(S, 5), S;
in(accepting) -> S = in(listening), {ok, _} = prim_inet:async_accept(S, 2000), S;
in(connected) -> {_, S} = net:pair(), S.

state(closed) -> skipped;
state(State) -> S = in(State), R = prim_inet:getstatus(S), port_close(S), t:flush(), R.

%% What each request is answered in a state.
requests(closed) -> skipped;
requests(State) ->
    S = in(State),
    Requests = [{4, []}, {11, [1]}, {11, [77]}, {13, []}, {15, []}, {24, [1]}, {24, [9]}, {26, [0, 0, 0, 0]}, {26, [1]}, {27, [0, 5]}, {27, []}, {42, [0, 0, 0, 0, 0, 0, 0, 0]}, {42, []}, {43, "x"}, {44, [7]}, {45, []}, {8, [20]}, {8, [34]}, {7, [20]}, {7, [200, 0, 0, 0, 0]}, {3, []}, {3, [0, 0, 0, 0, 9, 9]}, {6, [9]}, {19, [9]}, {20, [9]}, {17, []}, {18, []}, {99, []}, {0, []}],
    R = [{N, control(S, N, D)} || {N, D} <- Requests],
    catch port_close(S),
    t:flush(),
    R.

control(S, N, Data) ->
    case catch port_control(S, 16#3f1a300 + N, Data) of
        [0 | Text] when N =/= 1 -> Text;
        [1 | _] -> ok;
        Other when is_list(Other) -> list;
        {'EXIT', {Reason, _}} -> Reason
    end.

%% Whatever the bytes are, there is an answer.
control({Byte, Times}) -> control(binary:copy(<<Byte>>, Times));
control(Data) ->
    [begin
         S = in(State),
         R = [case catch port_control(S, 16#3f1a300 + N, Data) of L when is_list(L) -> answer; {'EXIT', {badarg, _}} -> badarg end || N <- lists:seq(0, 70), N =/= 42, N =/= 26, N =/= 2, N =/= 3],
         catch port_close(S),
         t:flush(),
         lists:usort(R)
     end || State <- [open, listening, connected]].

receive_times() ->
    {C, S} = net:pair(),
    ok = gen_tcp:send(C, "abcdef"),
    timer:sleep(30),
    R = [gen_tcp:recv(S, N, T) || {N, T} <- [{2, 0}, {2, 10}, {10, 20}, {0, 0}, {0, 0}, {1, 20}, {16#4000001, 10}]],
    Self = self(),
    spawn_link(fun() -> timer:sleep(50), Self ! {second, gen_tcp:recv(S, 0, 10)} end),
    First = gen_tcp:recv(S, 0, 150),
    net:close([C, S]),
    {R, First, net:got(1, 100)}.

%% A socket on the descriptor of another one.
given() ->
    {ok, L} = listen(),
    {ok, Port} = inet:port(L),
    {ok, Fd} = inet:getfd(L),
    {ok, G} = gen_tcp:listen(0, [{fd, Fd}, binary, {active, false}]),
    {ok, Port} = inet:port(G),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, []),
    {ok, S} = gen_tcp:accept(G, 1000),
    ok = gen_tcp:send(C, "given"),
    R = gen_tcp:recv(S, 5, 1000),
    net:close([C, S, G]),
    [R, gen_tcp:listen(0, [{fd, 9999}])].

statistics() ->
    {C, S} = net:pair([{packet, 2}]),
    [ok = gen_tcp:send(C, lists:duplicate(N, $a)) || N <- [10, 20, 60]],
    [{ok, _} = gen_tcp:recv(S, 0, 1000) || _ <- [1, 2, 3]],
    R = {inet:getstat(C), inet:getstat(S), erlang:port_info(C, output), erlang:port_info(S, input)},
    net:close([C, S]),
    R.
