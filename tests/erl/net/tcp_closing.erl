%% The end of a connection as each side sees it: closed, shut down, reset, by whom and while who did what.
-module(tcp_closing).
-export([main/0]).

main() ->
    t:each(passive, [{E, R, O} || E <- [close, shutdown, reset], R <- [false, true], O <- orders()], fun({E, R, O}) -> passive(E, R, O) end),
    t:each(active, [{E, R, X} || E <- [close, shutdown, reset], R <- [false, true], X <- [true, false]], fun({E, R, X}) -> active(E, R, X) end),
    t:each(half, [true, false], fun half/1),
    t:each(late, [true, once, 3], fun late/1),
    t:each(waits, [close, reset, shutdown, own], fun waits/1),
    t:each(shutdowns, [[read], [write], [read_write], [write, write], [read, write]], fun shutdowns/1),
    t:each(lingers, [{true, 0}, {true, 2}, {false, 0}], fun linger/1),
    t:c(other_link, fun other_link/0),
    t:c(owner_ends, fun owner_ends/0),
    t:c(after_close, fun after_close/0),
    t:c(exit_signal, fun exit_signal/0),
    t:c(all_sent, fun all_sent/0).

orders() -> [[r, r, s, s], [s, s, s, r, r], [r, s, r], [r, name, peer, status, active, {active, true}]].

ended(close, C) -> gen_tcp:close(C);
ended(shutdown, C) -> gen_tcp:shutdown(C, write);
ended(reset, C) -> ok = inet:setopts(C, [{linger, {true, 0}}]), gen_tcp:close(C).

does(r, S) -> gen_tcp:recv(S, 0, 1000);
does(s, S) -> R = gen_tcp:send(S, "x"), timer:sleep(30), R;
does(name, S) -> element(1, inet:sockname(S));
does(peer, S) -> element(1, inet:peername(S));
does(status, S) -> prim_inet:getstatus(S);
does(active, S) -> inet:getopts(S, [active]);
does({active, A}, S) -> {inet:setopts(S, [{active, A}]), net:got(30), erlang:port_info(S, name)}.

%% What a passive socket answers after the other end is gone.
passive(End, ShowReset, Order) ->
    {C, S} = net:pair([{show_econnreset, ShowReset}]),
    ended(End, C),
    timer:sleep(20),
    Got = [does(What, S) || What <- Order],
    net:close([C, S]),
    {Got, net:got(10)}.

active(End, ShowReset, ExitOnClose) ->
    process_flag(trap_exit, true),
    {C, S} = net:pair([{show_econnreset, ShowReset}, {exit_on_close, ExitOnClose}]),
    ok = inet:setopts(S, [{active, true}]),
    ended(End, C),
    Got = net:got(40),
    Then = [does(s, S), does(s, S), inet:setopts(S, [{active, once}]), net:got(30), erlang:port_info(S, name)],
    net:close([C, S]),
    process_flag(trap_exit, false),
    {Got, Then, net:got(10)}.

%% One end has said all, and gets the answer.
half(ExitOnClose) ->
    {C, S} = net:pair([{exit_on_close, ExitOnClose}]),
    ok = gen_tcp:send(C, "question"),
    ok = gen_tcp:shutdown(C, write),
    Got = [gen_tcp:recv(S, 8, 1000), gen_tcp:recv(S, 0, 1000), gen_tcp:send(S, "answer"), gen_tcp:recv(C, 0, 1000), gen_tcp:send(C, "x")],
    net:close([C, S]),
    Got.

%% Made active only when the other end is gone, with data left.
late(Active) ->
    {C, S} = net:pair(),
    ok = gen_tcp:send(C, "left"),
    ok = gen_tcp:close(C),
    timer:sleep(20),
    ok = inet:setopts(S, [{active, Active}]),
    Got = net:got(40),
    Again = inet:setopts(S, [{active, Active}]),
    {Got, Again, net:got(30)}.

%% Somebody waits for data when the end comes.
waits(End) ->
    {C, S} = net:pair([], [{show_econnreset, true}]),
    Self = self(),
    Pid = spawn(fun() -> receive go -> Self ! {got, gen_tcp:recv(S, 0)} end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    timer:sleep(40),
    case End of
        own -> exit(Pid, kill), timer:sleep(20), {net:got(30), gen_tcp:recv(C, 0, 1000)};
        _ -> ended(End, C), net:got(50)
    end.

shutdowns(Hows) ->
    {C, S} = net:pair(),
    Got = [gen_tcp:shutdown(C, How) || How <- Hows],
    Then = [gen_tcp:send(C, "x"), gen_tcp:recv(C, 0, 30), gen_tcp:send(S, "y"), gen_tcp:recv(S, 0, 30)],
    net:close([C, S]),
    {Got, Then}.

linger(Linger) ->
    {C, S} = net:pair([{show_econnreset, true}]),
    ok = inet:setopts(C, [{linger, Linger}]),
    ok = gen_tcp:send(C, "data"),
    Got = {inet:getopts(C, [linger]), gen_tcp:recv(S, 4, 1000), gen_tcp:close(C), gen_tcp:recv(S, 0, 1000)},
    gen_tcp:close(S),
    Got.

%% The owner gets a message, others that are linked the exit signal.
other_link() ->
    {C, S} = net:pair(),
    Self = self(),
    Other = spawn(fun() -> process_flag(trap_exit, true), link(S), monitor(port, S), Self ! ready, receive M -> receive N -> Self ! {other, M, N} end end end),
    receive ready -> ok end,
    ok = inet:setopts(S, [{active, true}]),
    ok = gen_tcp:close(C),
    Got = net:got(60),
    exit(Other, kill),
    Got.

owner_ends() ->
    {C, S} = net:pair(),
    Pid = spawn(fun() -> receive die -> ok end end),
    ok = gen_tcp:controlling_process(S, Pid),
    ok = inet:setopts(C, [{active, true}]),
    Pid ! die,
    {net:got(60), gen_tcp:send(S, "x"), gen_tcp:controlling_process(S, self())}.

after_close() ->
    {C, S} = net:pair(),
    ok = gen_tcp:close(S),
    Got = [gen_tcp:close(S), gen_tcp:send(S, "x"), gen_tcp:recv(S, 0), gen_tcp:shutdown(S, write), inet:sockname(S), inet:peername(S), inet:setopts(S, [{active, true}]), inet:getopts(S, [active]), inet:getstat(S), inet:port(S), gen_tcp:controlling_process(S, self()), gen_tcp:accept(S, 10), catch port_close(S)],
    gen_tcp:close(C),
    Got.

exit_signal() ->
    {C, S} = net:pair(),
    ok = inet:setopts(C, [{active, true}]),
    process_flag(trap_exit, true),
    exit(S, reason),
    Got = net:got(60),
    process_flag(trap_exit, false),
    Got.

%% What was sent before the socket was closed arrives.
all_sent() ->
    {C, S} = net:pair([{sndbuf, 8192}, {recbuf, 8192}, {high_watermark, 1 bsl 24}]),
    Data = binary:copy(<<"0123456789">>, 200000),
    ok = gen_tcp:send(C, Data),
    Self = self(),
    spawn_link(fun() -> timer:sleep(50), Self ! {read, all(S, 0)} end),
    Closed = gen_tcp:close(C),
    {Closed, net:got(1, 10000)}.

all(S, N) ->
    case gen_tcp:recv(S, 0, 5000) of
        {ok, Data} -> all(S, N + byte_size(Data));
        {error, Reason} -> {N, Reason}
    end.
