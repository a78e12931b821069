%% What a bad network does to connections, by a relay: peers that say nothing, take nothing, are reset or cut off in each state.
-module(bad_networks).
-export([main/0]).

main() ->
    t:each(silent, [passive, active, once], fun silent/1),
    t:each(cut, [{End, What, Show} || End <- [fin, reset], What <- [receives, asks, active, sends, queued, both], Show <- [false, true]], fun({E, W, S}) -> cut(E, W, S) end),
    t:each(packet_cut, [{End, Kind} || End <- [fin, reset], Kind <- [2, line, http]], fun({E, K}) -> packet_cut(E, K) end),
    t:each(stalls, [{Timeout, Close} || Timeout <- [30, 300], Close <- [false, true]], fun({T, C}) -> stalls(T, C) end),
    t:each(many_senders, [{send, D} || D <- [false, true]] ++ [{command, false}, {nosuspend, false}], fun({H, D}) -> many_senders(H, D) end),
    t:c(resumes, fun resumes/0),
    t:c(late_answer, fun late_answer/0),
    t:each(slow_reader, [raw, 2], fun slow_reader/1),
    t:c(slow_writer, fun slow_writer/0),
    t:each(closing, [{End, Linger} || End <- [stall, reset, slow], Linger <- [none, {true, 0}, {true, 1}]], fun({E, L}) -> closing(E, L) end),
    t:each(connecting, [refused, reset, closed, full], fun connecting/1),
    t:each(accepting, [reset, closed], fun accepting/1),
    t:c(dropped, fun dropped/0).

done(Relay, Sockets) ->
    unlink(Relay),
    exit(Relay, kill),
    net:close(Sockets),
    ok.

%% A peer that is there and says nothing.
silent(How) ->
    {C, S, Relay} = relay:pair([stall], [stall]),
    ok = gen_tcp:send(C, "never comes"),
    R = case How of
        passive -> [gen_tcp:recv(S, 0, 30), gen_tcp:recv(S, 5, 0), gen_tcp:recv(S, 0, 30)];
        active -> [inet:setopts(S, [{active, true}]), net:got(30)];
        once -> [inet:setopts(S, [{active, once}]), net:got(30), inet:getopts(S, [active])]
    end,
    done(Relay, [C, S]),
    {R, net:got(10)}.

%% The connection ends after some bytes, while the one who receives them does this.
cut(End, What, Show) ->
    process_flag(trap_exit, true),
    {C, S, Relay} = relay:pair([{pass, 5}, {delay, 60}, End], [stall], [{show_econnreset, Show}, {sndbuf, 4096}, {recbuf, 4096}, {high_watermark, 20000}, {low_watermark, 1000}]),
    Self = self(),
    ok = gen_tcp:send(C, "hello"),
    {ok, "hello"} = case gen_tcp:recv(S, 5, 2000) of {ok, B} -> {ok, binary_to_list(B)}; E -> E end,
    R = case What of
        receives -> [gen_tcp:recv(S, 0, 2000), gen_tcp:recv(S, 0, 50)];
        asks -> [gen_tcp:recv(S, 10, 2000), gen_tcp:recv(S, 10, 50)];
        active -> [inet:setopts(S, [{active, true}]), net:got(1, 2000)];
        sends when End =:= reset -> [gen_tcp:recv(S, 0, 2000), [element(1, gen_tcp:send(S, "x")) || _ <- [1, 2]]];
        sends -> [gen_tcp:recv(S, 0, 2000), gen_tcp:send(S, "x"), gen_tcp:send(S, "x")];
        queued ->
            Pid = spawn_link(fun() -> receive go -> Self ! {sent, fill(S)} end end),
            Pid ! go,
            case End of
                reset -> [net:got(1, 3000), gen_tcp:recv(S, 0, 100)];
                fin -> [gen_tcp:recv(S, 0, 3000), net:got(1, 3000)]
            end;
        both ->
            spawn_link(fun() -> Self ! {sent, fill(S)} end),
            [gen_tcp:recv(S, 0, 3000) | net:got(1, 3000)]
    end,
    done(Relay, [C, S]),
    flush(),
    process_flag(trap_exit, false),
    R.

flush() -> receive {'EXIT', _, _} -> flush(); {sent, _} -> flush() after 30 -> ok end.

fill(C) ->
    case gen_tcp:send(C, binary:copy(<<"x">>, 10000)) of
        ok -> fill(C);
        Other -> Other
    end.

%% In the middle of a packet.
packet_cut(End, Kind) ->
    {C, S, Relay} = relay:pair([{pass, 5}, {delay, 30}, End], [], [{show_econnreset, true}]),
    ok = inet:setopts(S, [{packet, Kind}]),
    ok = gen_tcp:send(C, case Kind of 2 -> <<100:16, "not so many">>; _ -> "GET / HTTP/1.0\r\n" end),
    R = gen_tcp:recv(S, 0, 2000),
    Then = gen_tcp:recv(S, 0, 50),
    done(Relay, [C, S]),
    {R, Then}.

%% Nobody reads what is sent.
stalls(Timeout, Close) ->
    {C, S, Relay} = relay:pair([stall], [], [{send_timeout, Timeout}, {send_timeout_close, Close}, {sndbuf, 4096}, {high_watermark, 20000}, {low_watermark, 1000}]),
    A = fill(C),
    B = gen_tcp:send(C, binary:copy(<<"y">>, 50000)),
    {ok, Status} = prim_inet:getstatus(C),
    {ok, [{send_pend, Queued}]} = inet:getstat(C, [send_pend]),
    done(Relay, [S, C]),
    {A, B, Status, Queued < 200000}.

%% However many want to send to a peer that takes nothing, the port keeps little more than its watermark says.
many_senders(How, Delay) ->
    {C, S, Relay} = relay:pair([stall], [], [{sndbuf, 4096}, {high_watermark, 30000}, {low_watermark, 1000}, {delay_send, Delay}]),
    Data = binary:copy(<<"x">>, 5000),
    Pids = [spawn_monitor(fun() -> send_often(How, C, Data, 100) end) || _ <- lists:seq(1, 100)],
    timer:sleep(200),
    {ok, [{send_pend, Queued}]} = inet:getstat(C, [send_pend]),
    {queue_size, Size} = erlang:port_info(C, queue_size),
    [begin exit(P, kill), receive {'DOWN', M, _, _, _} -> ok end end || {P, M} <- Pids],
    done(Relay, [S, C]),
    {Queued > 20000, Queued < 60000, Queued =:= Size}.

send_often(_, _, _, 0) -> receive never -> ok end;
send_often(send, C, Data, N) -> gen_tcp:send(C, Data), send_often(send, C, Data, N - 1);
send_often(command, C, Data, N) -> erlang:port_command(C, Data), send_often(command, C, Data, N - 1);
send_often(nosuspend, C, Data, N) -> erlang:port_command(C, Data, [nosuspend]), send_often(nosuspend, C, Data, N - 1).

%% All arrives when the reader goes on.
resumes() ->
    {C, S, Relay} = relay:pair([{pass, 1000}, stall], [], [{sndbuf, 4096}, {high_watermark, 10000}, {low_watermark, 1000}]),
    Data = << <<N:32>> || N <- lists:seq(1, 50000) >>,
    Self = self(),
    spawn_link(fun() -> Self ! {sent, [gen_tcp:send(C, Part) || Part <- [binary:part(Data, N * 50000, 50000) || N <- [0, 1, 2, 3]]]} end),
    {ok, First} = gen_tcp:recv(S, 1000, 5000),
    Waits = net:got(40),
    relay:go(Relay),
    {ok, Rest} = gen_tcp:recv(S, byte_size(Data) - 1000, 10000),
    R = {Waits, <<First/binary, Rest/binary>> =:= Data, net:got(1, 5000)},
    done(Relay, [C, S]),
    R.

%% A request whose time is over, and then the answer: for who asks next.
late_answer() ->
    {C, S, Relay} = relay:pair([], [{delay, 100}]),
    ok = gen_tcp:send(S, "answer"),
    A = gen_tcp:recv(C, 0, 10),
    B = gen_tcp:recv(C, 0, 5000),
    done(Relay, [C, S]),
    {A, B}.

slow_reader(Packet) ->
    {C, S, Relay} = relay:pair([drip], [], [{packet, Packet}, {high_watermark, 500}, {low_watermark, 100}, {delay_send, true}]),
    R = [gen_tcp:send(C, lists:duplicate(N, $a + N)) || N <- lists:seq(1, 12)],
    Closed = gen_tcp:close(C),
    ok = inet:setopts(S, [{packet, raw}]),
    Got = gen_tcp:recv(S, 78 + case Packet of 2 -> 24; raw -> 0 end, 10000),
    After = gen_tcp:recv(S, 0, 5000),
    done(Relay, [S]),
    {lists:usort(R), Closed, Got, After}.

slow_writer() ->
    {C, S, Relay} = relay:pair([drip], [], [{packet, line}]),
    ok = gen_tcp:send(C, "one\ntwo\nthree\n"),
    R = [gen_tcp:recv(S, 0, 5000) || _ <- [1, 2, 3]],
    done(Relay, [C, S]),
    R.

%% A socket is closed with data that the other end does not take.
closing(End, Linger) ->
    {C, S, Relay} = relay:pair(case End of slow -> [{pass, 100}, {delay, 100}]; stall -> [{pass, 100}, stall]; reset -> [{pass, 100}, {delay, 100}, reset] end, [], [{sndbuf, 4096}, {high_watermark, 1 bsl 20}]),
    Linger =:= none orelse (ok = inet:setopts(C, [{linger, Linger}])),
    ok = gen_tcp:send(C, binary:copy(<<"0123456789">>, 20000)),
    Self = self(),
    {Pid, M} = spawn_monitor(fun() -> receive go -> Self ! {closed, gen_tcp:close(C)} end end),
    ok = gen_tcp:controlling_process(C, Pid),
    Pid ! go,
    Got = case gen_tcp:recv(S, 100, 5000) of {ok, <<"0123456789", _:90/binary>>} -> ok; Other -> Other end,
    All = case {End, Linger} of {slow, {true, 0}} -> cut_short; {slow, _} -> bytes(S, 0); _ -> not_all end,
    Closed = net:got(1, case End of stall when Linger =:= none -> 200; _ -> 8000 end),
    exit(Pid, kill),
    receive {'DOWN', M, _, _, _} -> ok end,
    done(Relay, [S]),
    flush(),
    {Got, [tag(T) || T <- Closed], All, erlang:port_info(C, name)}.

tag({closed, R}) -> R;
tag(Other) -> Other.

bytes(S, N) ->
    case gen_tcp:recv(S, 0, 5000) of
        {ok, Data} -> bytes(S, N + byte_size(Data));
        {error, Reason} -> {N, Reason}
    end.

%% A listener that is not there, resets, closes, or takes no more.
connecting(How) ->
    {ok, L} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}, {backlog, 0}]),
    {ok, Port} = inet:port(L),
    Connect = fun(Time) -> gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {show_econnreset, true}], Time) end,
    R = case How of
        refused -> gen_tcp:close(L), Connect(1000);
        full -> lists:member({error, timeout}, [Connect(50) || _ <- lists:seq(1, 5)]);
        _ ->
            Self = self(),
            Pid = spawn_link(fun() -> {ok, S} = gen_tcp:accept(L), receive go -> ok end, How =:= reset andalso inet:setopts(S, [{linger, {true, 0}}]), gen_tcp:close(S), Self ! gone end),
            {ok, C} = Connect(1000),
            Pid ! go,
            receive gone -> ok end,
            [gen_tcp:recv(C, 0, 1000), gen_tcp:recv(C, 0, 50), gen_tcp:close(C)]
    end,
    gen_tcp:close(L),
    R.

%% Who has connected is gone before the connection is taken.
accepting(How) ->
    {ok, L} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}, {show_econnreset, true}]),
    {ok, Port} = inet:port(L),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [{linger, {true, 0}} || How =:= reset]),
    ok = gen_tcp:send(C, "data"),
    ok = gen_tcp:close(C),
    timer:sleep(30),
    {ok, S} = gen_tcp:accept(L, 1000),
    R = [gen_tcp:recv(S, 0, 1000), gen_tcp:recv(S, 0, 100), gen_tcp:accept(L, 20)],
    net:close([S, L]),
    case How of closed -> R; reset -> lists:nthtail(1, R) end.

%% Bytes that are lost on the way are not the VM's, but what is behind them is.
dropped() ->
    {C, S, Relay} = relay:pair([{pass, 4}, {drop, 6}], [], [{packet, line}]),
    ok = gen_tcp:send(C, "one\ntwo\nthree\n"),
    R = [gen_tcp:recv(S, 0, 5000) || _ <- [1, 2]],
    done(Relay, [C, S]),
    R.
