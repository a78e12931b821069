%% Sockets, for cargo xtask bench: what a server costs.
%%
%% Started as `erl -noshell -run net_ops main CASE`; CASE `names` prints them all. This VM serves, and OTP's own `erl`, started from here,
%% is the client of both VMs that are compared. Each case does a fixed amount of work and prints `value CPU WALL P99`: the processor time of
%% the server (user and system), the time that passed, and the 99th percentile of the answers' times, in microseconds; the best of three
%% passes each.
-module(net_ops).
-export([main/1, client/1]).

-define(MESSAGE, 64).
-define(MEGABYTE, 1048576).
-define(TCP, [binary, {reuseaddr, true}, {nodelay, true}, {backlog, 1024}, {ip, {127, 0, 0, 1}}]).

main(["names"]) ->
    [io:format("~s~n", [Name]) || {Name, _, _} <- cases()],
    halt(0);
main([Name]) ->
    {_, Serve, _} = lists:keyfind(list_to_atom(Name), 1, cases()),
    Port = Serve(),
    Passes = [pass(Name, Port) || _ <- [1, 2, 3]],
    [Cpu, Wall, P99] = [lists:min([element(N, Pass) || Pass <- Passes]) || N <- [1, 2, 3]],
    io:format("value ~w ~w ~w~n", [Cpu, Wall, P99]),
    halt(0).

%% The client's connections stand when it says `ready`, and it works when it is told to.
pass(Name, Port) ->
    Erl = filename:join([code:root_dir(), "bin", "erl"]),
    Flags = ["+sbwt", "none", "+sbwtdcpu", "none", "+sbwtdio", "none", "-noshell", "-boot", "no_dot_erlang",
             "-pa", filename:dirname(code:which(?MODULE)), "-run", "net_ops", "client", Name, integer_to_list(Port)],
    Client = open_port({spawn_executable, Erl}, [{args, Flags}, {line, 1000}, exit_status, use_stdio]),
    "ready" = line(Client),
    Cpu = cpu(),
    Wall = erlang:monotonic_time(microsecond),
    port_command(Client, "go\n"),
    P99 = list_to_integer(line(Client)),
    Took = {cpu() - Cpu, erlang:monotonic_time(microsecond) - Wall, P99},
    port_command(Client, "end\n"),
    receive {Client, {exit_status, 0}} -> ok end,
    Took.

line(Client) -> receive {Client, {data, {eol, Line}}} -> Line end.

%% In steps of 10 ms.
cpu() ->
    {ok, Text} = file:read_file("/proc/self/stat"),
    [_, Rest] = string:split(Text, ") ", trailing),
    [User, System] = lists:sublist(string:lexemes(Rest, " "), 12, 2),
    10000 * (binary_to_integer(User) + binary_to_integer(System)).

%% {Name, fun() -> the port that is served, {how many clients, how often each, fun(Port) -> fun() -> one exchange}}
cases() ->
    [{echo_once_32, fun() -> tcp([{active, once}], fun echo_once/1) end, {32, 2000, fun exchange/1}},
     {echo_true_32, fun() -> tcp([{active, true}], fun echo_true/1) end, {32, 2000, fun exchange/1}},
     {echo_false_32, fun() -> tcp([{active, false}], fun echo_false/1) end, {32, 2000, fun exchange/1}},
     {echo_once_1024, fun() -> tcp([{active, once}], fun echo_once/1) end, {1024, 60, fun exchange/1}},
     {http_64, fun() -> tcp([{packet, http_bin}, {active, false}], fun http/1) end, {64, 600, fun request/1}},
     {http_1024, fun() -> tcp([{packet, http_bin}, {active, false}], fun http/1) end, {1024, 40, fun request/1}},
     {connects, fun() -> tcp([{active, false}], fun echo_false/1) end, {16, 250, fun connects/1}},
     {megabyte_in, fun() -> tcp([{packet, 4}, {active, once}], fun swallow/1) end, {2, 1500, fun megabyte/1}},
     {megabyte_out, fun() -> tcp([{packet, 4}, {active, once}], fun pour/1) end, {2, 1500, fun fetch/1}},
     {udp_32, fun udp/0, {32, 1500, fun datagram/1}}].

%% The server.

tcp(Options, Serve) ->
    {ok, Listen} = gen_tcp:listen(0, ?TCP ++ Options),
    [spawn(fun() -> accept(Listen, Serve) end) || _ <- lists:seq(1, 8)],
    {ok, Port} = inet:port(Listen),
    Port.

accept(Listen, Serve) ->
    {ok, Socket} = gen_tcp:accept(Listen),
    Pid = spawn(fun() -> receive begin_now -> Serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! begin_now,
    accept(Listen, Serve).

echo_once(Socket) ->
    receive
        {tcp, Socket, Data} ->
            ok = gen_tcp:send(Socket, Data),
            ok = inet:setopts(Socket, [{active, once}]),
            echo_once(Socket);
        {tcp_closed, Socket} -> ok
    end.

echo_true(Socket) ->
    receive
        {tcp, Socket, Data} -> ok = gen_tcp:send(Socket, Data), echo_true(Socket);
        {tcp_closed, Socket} -> ok
    end.

echo_false(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, Data} -> ok = gen_tcp:send(Socket, Data), echo_false(Socket);
        {error, closed} -> gen_tcp:close(Socket)
    end.

http(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            ok = gen_tcp:send(Socket, [<<"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n">>, <<"content-type: text/plain\r\n\r\n">>, <<"hello">>]),
            http(Socket);
        {ok, {http_request, 'GET', {abs_path, <<"/">>}, {1, 1}}} -> http(Socket);
        {ok, {http_header, _, _, _, _}} -> http(Socket);
        {error, closed} -> ok
    end.

swallow(Socket) ->
    receive
        {tcp, Socket, Data} ->
            ok = gen_tcp:send(Socket, <<(byte_size(Data)):32>>),
            ok = inet:setopts(Socket, [{active, once}]),
            swallow(Socket);
        {tcp_closed, Socket} -> ok
    end.

pour(Socket) -> pour(Socket, binary:copy(<<"x">>, ?MEGABYTE)).

pour(Socket, Data) ->
    receive
        {tcp, Socket, <<"more">>} ->
            ok = gen_tcp:send(Socket, Data),
            ok = inet:setopts(Socket, [{active, once}]),
            pour(Socket, Data);
        {tcp_closed, Socket} -> ok
    end.

udp() ->
    Self = self(),
    spawn(fun() ->
        {ok, Socket} = gen_udp:open(0, [binary, {ip, {127, 0, 0, 1}}, {active, true}, {recbuf, 1 bsl 20}]),
        Self ! {port, element(2, inet:port(Socket))},
        echo_datagrams(Socket)
    end),
    receive {port, Port} -> Port end.

echo_datagrams(Socket) ->
    receive {udp, Socket, Address, Port, Data} -> ok = gen_udp:send(Socket, Address, Port, Data), echo_datagrams(Socket) end.

%% The client.

client([Name, Port]) ->
    {_, _, {Clients, Times, Prepare}} = lists:keyfind(list_to_atom(Name), 1, cases()),
    Self = self(),
    Pids = [spawn_link(fun() ->
        Exchange = Prepare(list_to_integer(Port)),
        Exchange(),
        Self ! {ready, self()},
        receive go -> Self ! {took, self(), [timed(Exchange) || _ <- lists:seq(1, Times)]} end
    end) || _ <- lists:seq(1, Clients)],
    [receive {ready, Pid} -> ok end || Pid <- Pids],
    io:put_chars("ready\n"),
    "go\n" = io:get_line(""),
    [Pid ! go || Pid <- Pids],
    Took = lists:sort(lists:append([receive {took, Pid, Times1} -> Times1 end || Pid <- Pids])),
    io:format("~w~n", [lists:nth(length(Took) * 99 div 100, Took)]),
    "end\n" = io:get_line(""),
    halt(0).

timed(Exchange) ->
    Begin = erlang:monotonic_time(microsecond),
    Exchange(),
    erlang:monotonic_time(microsecond) - Begin.

connected(Port, Options) ->
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {nodelay, true} | Options]),
    Socket.

exchange(Port) ->
    Socket = connected(Port, []),
    Data = binary:copy(<<"x">>, ?MESSAGE),
    fun() -> ok = gen_tcp:send(Socket, Data), {ok, Data} = gen_tcp:recv(Socket, ?MESSAGE) end.

request(Port) ->
    Socket = connected(Port, [{packet, raw}]),
    Request = <<"GET / HTTP/1.1\r\nhost: localhost\r\nuser-agent: bench\r\naccept: */*\r\n\r\n">>,
    fun() ->
        ok = gen_tcp:send(Socket, Request),
        {ok, <<"HTTP/1.1 200", _/binary>>} = gen_tcp:recv(Socket, 69)
    end.

connects(Port) ->
    fun() ->
        Socket = connected(Port, []),
        ok = gen_tcp:send(Socket, <<"x">>),
        {ok, <<"x">>} = gen_tcp:recv(Socket, 1),
        ok = gen_tcp:close(Socket)
    end.

megabyte(Port) ->
    Socket = connected(Port, [{packet, 4}]),
    Data = binary:copy(<<"x">>, ?MEGABYTE),
    fun() -> ok = gen_tcp:send(Socket, Data), {ok, <<?MEGABYTE:32>>} = gen_tcp:recv(Socket, 0) end.

fetch(Port) ->
    Socket = connected(Port, [{packet, 4}]),
    fun() -> ok = gen_tcp:send(Socket, <<"more">>), {ok, <<_:?MEGABYTE/binary>>} = gen_tcp:recv(Socket, 0) end.

%% One that is lost is sent again.
datagram(Port) ->
    {ok, Socket} = gen_udp:open(0, [binary, {ip, {127, 0, 0, 1}}, {active, false}]),
    Data = binary:copy(<<"x">>, ?MESSAGE),
    Turn = fun Turn() ->
        ok = gen_udp:send(Socket, {127, 0, 0, 1}, Port, Data),
        case gen_udp:recv(Socket, 0, 500) of
            {ok, {_, _, Data}} -> ok;
            {error, timeout} -> Turn()
        end
    end,
    Turn.
