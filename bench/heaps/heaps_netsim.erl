%% A stand-in for NETSim, a simulator of networks: nodes send bursts of alarms through the network to a server that keeps them.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 and table 1: 20 nodes send 100 bursts each; three of its programs are
%% measured, of so many processes and messages: the TMOS server 4,066 and 58,853, the coordinator 591 and 202,730, the alarm server 12,353
%% and 288,675. The program itself (630,000 lines) was never to be had. What the paper tells of it is that it makes processes to be rid
%% of their heaps without a collection, and that most processes hardly collect.
%%
%% Arguments: PROCESSES, MESSAGES, NODES, BURSTS of each node. A node makes a burst and sends it to the next one, which has it handled, by
%% processes that live for that only, or, where these are fewer than bursts, by itself. Whoever handles it asks the databases, of which
%% there are 8, as often as the number of messages wants. A database keeps the last alarm of each kind, and answers with the one before.
-module(heaps_netsim).
-export([run/1]).

-define(DATABASES, 8).
%% Alarms of a burst.
-define(ALARMS, 5).

run([Processes, Messages, Nodes, Bursts]) ->
    All = Nodes * Bursts,
    Handlers = Processes - Nodes - ?DATABASES,
    %% Each burst, each handler's end, two at the begin and one at the end of each node, two at the end of each database.
    Asked = Messages - All - Handlers - 3 * Nodes - 2 * ?DATABASES,
    Odd = Asked rem 2,
    true = Handlers >= 0 andalso Asked >= 0,
    Caller = self(),
    Databases = list_to_tuple([spawn_link(fun() -> database(Caller, #{}, 0) end) || _ <- lists:seq(1, ?DATABASES)]),
    Work = {All, Handlers, Asked div 2, Databases},
    Pids = [spawn_link(fun() -> node(Caller, I, Bursts, Work) end) || I <- lists:seq(0, Nodes - 1)],
    [Pid ! {next, Next} || {Pid, Next} <- lists:zip(Pids, tl(Pids) ++ [hd(Pids)])],
    [Pid ! go || Pid <- Pids],
    %% A message that nobody answers, for an odd number.
    [element(1, Databases) ! {note, odd} || _ <- lists:seq(1, Odd)],
    {Sent, Sum} = ends(Nodes + Handlers, 0, 0),
    [Database ! stop || Database <- tuple_to_list(Databases)],
    Kept = lists:sum([receive {kept, S} -> S end || _ <- lists:seq(1, ?DATABASES)]),
    {Processes, Sent + Kept + 2 * Nodes + Odd + ?DATABASES, Sum}.

ends(0, Sent, Sum) -> {Sent, Sum};
ends(Left, Sent, Sum) ->
    receive {done, S, Acknowledged} -> ends(Left - 1, Sent + S, Sum + Acknowledged) end.

%% It sends its bursts at once and has those of the node before it handled; tells how many messages it has sent.
node(Caller, I, Bursts, Work) ->
    receive {next, Next} -> ok end,
    receive go -> ok end,
    [Next ! {burst, I * Bursts + B, burst(I, B)} || B <- lists:seq(1, Bursts)],
    {Sent, Sum} = handle_bursts(Caller, Work, Bursts, 0, 0),
    Caller ! {done, Sent + Bursts + 1, Sum}.

handle_bursts(_, _, 0, Sent, Sum) -> {Sent, Sum};
handle_bursts(Caller, {All, Handlers, Asked, Databases} = Work, Left, Sent, Sum) ->
    receive
        {burst, Number, Alarms} ->
            Questions = share(Asked, All, Number),
            case share(Handlers, All, Number) of
                0 ->
                    {S, A} = ask(Databases, Alarms, Questions, 0, 0),
                    handle_bursts(Caller, Work, Left - 1, Sent + S, Sum + A);
                Several ->
                    [spawn_link(fun() -> handler(Caller, Databases, Alarms, share(Questions, Several, H)) end)
                     || H <- lists:seq(1, Several)],
                    handle_bursts(Caller, Work, Left - 1, Sent, Sum)
            end
    end.

%% What falls to the I-th of Parts of Whole.
share(Whole, Parts, I) -> Whole * I div Parts - Whole * (I - 1) div Parts.

handler(Caller, Databases, Alarms, Questions) ->
    {Sent, Sum} = ask(Databases, Alarms, Questions, 0, 0),
    Caller ! {done, Sent + 1, Sum}.

ask(_, _, 0, Sent, Sum) -> {Sent, Sum};
ask(Databases, [Alarm | Alarms], Left, Sent, Sum) ->
    Ref = make_ref(),
    element(Left rem ?DATABASES + 1, Databases) ! {keep, self(), Ref, Alarm},
    receive {Ref, acknowledged, _Before, Number} -> ask(Databases, Alarms ++ [Alarm], Left - 1, Sent + 1, Sum + Number) end.

database(Caller, Alarms, Sent) ->
    receive
        {keep, From, Ref, {alarm, Number, Node, Severity, _, _} = Alarm} ->
            From ! {Ref, acknowledged, maps:get({Node, Severity}, Alarms, none), Number},
            database(Caller, Alarms#{{Node, Severity} => Alarm}, Sent + 1);
        {note, _} -> database(Caller, Alarms, Sent);
        stop -> Caller ! {kept, Sent + 1}
    end.

burst(Node, B) ->
    [{alarm, B * ?ALARMS + A, Node, element(A, {critical, major, minor, warning, cleared}), {2002, 6, 20, B, A},
      [{text, "link " ++ integer_to_list(A) ++ " of node " ++ integer_to_list(Node) ++ " is down"}, {board, {Node, A}},
       {counters, lists:seq(B, B + 9)}]}
     || A <- lists:seq(1, ?ALARMS)].
