%% Many XMPP sessions over TCP without TLS, in pairs that send each other messages: the load of a server, from an `erl` of its own.
%%
%%   erl -noshell -run xmpp_load main API PORT USAGE SESSIONS ROUNDS
%%
%% API is the port of the server's HTTP interface, by which the users are made before anything is measured; USAGE a command that prints
%% the milliseconds of processor time that the server has used, and its kilobytes. Then SESSIONS are opened, some at a time, and when all
%% are there, one of each pair sends a message, which the other answers, ROUNDS times. Prints `value OPENED USED RATE P99 USED RESIDENT`: the
%% milliseconds to open the sessions, and of processor time for that; messages a second, the 99th percentile of the time until an answer
%% in microseconds, the microseconds of processor time a message; the kilobytes at the end.
-module(xmpp_load).
-export([main/1]).

%% So many sessions are opened, and users made, at a time.
-define(AT_A_TIME, 32).
-define(PATIENCE, 60000).

main(Words) ->
    {Pid, Monitor} = spawn_monitor(fun() -> load(Words) end),
    receive {'DOWN', Monitor, process, Pid, Why} -> halt(case Why of normal -> 0; _ -> 1 end) end.

load([Api, Port, Usage, Sessions0, Rounds0]) ->
    [Sessions, Rounds] = [list_to_integer(N) || N <- [Sessions0, Rounds0]],
    Numbers = lists:seq(0, Sessions - 1),
    {ok, _} = application:ensure_all_started(inets),
    {ok, _} = application:ensure_all_started(ssl),
    side_by_side(fun(Number) -> register_user(Api, Number) end, Numbers),
    Self = self(),
    {Idle, _} = used(Usage),
    Began = now_us(),
    Open = fun(Number) ->
        Opener = self(),
        Pid = spawn_link(fun() -> session(Opener, Self, list_to_integer(Port), Number, Rounds) end),
        receive {open, Pid} -> Pid end
    end,
    Pids = side_by_side(Open, Numbers),
    Opened = now_us() - Began,
    {Ready, _} = used(Usage),
    Started = now_us(),
    [Pid ! go || Pid <- Pids],
    Times = lists:append([receive {done, Pid, Took} -> Took end || Pid <- Pids]),
    Exchanged = now_us() - Started,
    {Done, Resident} = used(Usage),
    Messages = 2 * length(Times),
    io:format("value ~w ~w ~w ~w ~w ~w~n",
              [Opened div 1000, Ready - Idle, Messages * 1000000 div Exchanged, percentile_99(Times), (Done - Ready) * 1000 div Messages, Resident]).

now_us() -> erlang:monotonic_time(microsecond).

percentile_99(Times) -> lists:nth(max(1, length(Times) * 99 div 100), lists:sort(Times)).

used(Usage) ->
    [Milliseconds, Kilobytes] = string:lexemes(os:cmd(Usage), " \n"),
    {list_to_integer(Milliseconds), list_to_integer(Kilobytes)}.

%% What a function makes of all, in their order; so many work at a time, each at its share.
side_by_side(Fun, All) ->
    Self = self(),
    Shares = [[N || N <- All, N rem ?AT_A_TIME =:= Share] || Share <- lists:seq(0, ?AT_A_TIME - 1)],
    Workers = [spawn_link(fun() -> Self ! {self(), [{N, Fun(N)} || N <- Share]} end) || Share <- Shares],
    Made = lists:append([receive {Worker, Results} -> Results end || Worker <- Workers]),
    [Result || {_, Result} <- lists:sort(Made)].

register_user(Api, Number) ->
    Url = "https://127.0.0.1:" ++ Api ++ "/api/register",
    Body = io_lib:format("{\"user\":\"~s\",\"host\":\"localhost\",\"password\":\"secret\"}", [user(Number)]),
    Request = {Url, [], "application/json", iolist_to_binary(Body)},
    {ok, {{_, 200, _}, _, _}} = httpc:request(post, Request, [{ssl, [{verify, verify_none}]}], []).

user(Number) -> "user" ++ integer_to_list(Number).

%% A session, from its connection to the last message; it tells the process that opens it that it is open, and the main one how long each
%% answer took. Of a pair, the even one begins.
session(Opener, Main, Port, Number, Rounds) ->
    link(Main),
    {ok, Socket} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {nodelay, true}]),
    Rest = begin_session(Socket, Number),
    Opener ! {open, self()},
    receive go -> ok end,
    case Number band 1 of
        0 ->
            Message = message(Number + 1),
            Main ! {done, self(), asks(Socket, Message, Rounds, Rest)};
        1 ->
            Message = message(Number - 1),
            answers(Socket, Message, Rounds, Rest),
            Main ! {done, self(), []}
    end,
    %% The connection stays until all are through.
    receive never -> ok end.

begin_session(Socket, Number) ->
    Stream = ["<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client'",
              " xmlns:stream='http://etherx.jabber.org/streams'>"],
    Secret = base64:encode(iolist_to_binary([0, user(Number), 0, "secret"])),
    Steps = [{Stream, <<"</stream:features>">>},
             {["<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>", Secret, "</auth>"], <<"<success ">>},
             {Stream, <<"</stream:features>">>},
             {"<iq type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>load</resource></bind></iq>", <<"</iq>">>},
             {"<presence/>", <<"<presence ">>}],
    lists:foldl(fun({Says, Awaits}, Rest) -> send(Socket, Says), await(Socket, Awaits, Rest) end, <<>>, Steps).

message(To) ->
    iolist_to_binary(["<message type='chat' to='", user(To), "@localhost/load'><body>", lists:duplicate(64, $x), "</body></message>"]).

asks(_, _, 0, _) -> [];
asks(Socket, Message, Rounds, Rest) ->
    Began = now_us(),
    send(Socket, Message),
    More = await(Socket, <<"</body>">>, Rest),
    Took = now_us() - Began,
    [Took | asks(Socket, Message, Rounds - 1, More)].

answers(_, _, 0, _) -> ok;
answers(Socket, Message, Rounds, Rest) ->
    More = await(Socket, <<"</body>">>, Rest),
    send(Socket, Message),
    answers(Socket, Message, Rounds - 1, More).

send(Socket, Data) -> ok = gen_tcp:send(Socket, Data).

%% Receives until something has come; what follows it.
await(Socket, What, Got) ->
    case binary:split(Got, What) of
        [_, Rest] -> Rest;
        [_] ->
            case gen_tcp:recv(Socket, 0, ?PATIENCE) of
                {ok, Data} -> await(Socket, What, <<Got/binary, Data/binary>>);
                {error, Why} -> exit({Why, awaiting, What, got, Got})
            end
    end.
