%% A relay between two ends of a TCP connection, which makes the network bad: bytes come in pieces, late, not at all, or a reset in their place.
%%
%% A plan is a list of steps for one direction, done in turn; what comes after the last one passes as it is.
%%   {pieces, [Size]}  passes bytes on in writes of these sizes, so that each arrives by itself
%%   {delay, Ms}       waits
%%   {pass, N}         passes so many bytes
%%   {drop, N}         takes so many bytes and passes none
%%   stall             takes no more bytes until `relay:go/1`
%%   drip              passes one byte at a time, each a little later than the one before
%%   fin | reset       ends the connection, to this direction's receiver or both ways, and takes no more
-module(relay).
-export([pair/2, pair/3, pair/4, go/1]).

%% Two ends of a connection through a relay, passive, and the relay: its plan for what the first one sends, and for what the second one does.
pair(Up, Down) -> pair(Up, Down, []).
pair(Up, Down, Options) -> pair(Up, Down, Options, Options).
pair(Up, Down, Client, Server) ->
    Loopback = {127, 0, 0, 1},
    {ok, L} = gen_tcp:listen(0, [binary, {ip, Loopback}, {active, false} | Server]),
    {ok, Target} = inet:port(L),
    Self = self(),
    Relay = spawn_link(fun() ->
        {ok, R} = gen_tcp:listen(0, [binary, {ip, Loopback}, {active, false}, {recbuf, 4096}, {sndbuf, 4096}]),
        Self ! {self(), inet:port(R)},
        {ok, A} = gen_tcp:accept(R, 5000),
        {ok, B} = gen_tcp:connect(Loopback, Target, [binary, {active, false}, {nodelay, true}, {sndbuf, 4096}, {recbuf, 4096}, {show_econnreset, true}]),
        ok = inet:setopts(A, [{nodelay, true}, {show_econnreset, true}]),
        gen_tcp:close(R),
        Relay = self(),
        Ways = [spawn_link(fun() -> receive go -> way(Plan, From, To, Relay) end end) || {Plan, From, To} <- [{Up, A, B}, {Down, B, A}]],
        [Way ! go || Way <- Ways],
        holds(Ways)
    end),
    {ok, Port} = receive {Relay, P} -> P end,
    {ok, C} = gen_tcp:connect(Loopback, Port, [binary, {active, false} | Client]),
    {ok, S} = gen_tcp:accept(L, 5000),
    gen_tcp:close(L),
    {C, S, Relay}.

%% Goes on after a stall.
go(Relay) -> Relay ! resume, ok.

%% The relay's own process has both sockets.
holds(Ways) ->
    receive
        resume -> [Way ! resume || Way <- Ways], holds(Ways);
        {ends, Sockets, How} -> [ended(S, How) || S <- Sockets], holds(Ways)
    end.

ended(S, reset) -> inet:setopts(S, [{linger, {true, 0}}]), gen_tcp:close(S);
ended(S, fin) -> gen_tcp:shutdown(S, write).

way([], From, To, Relay) -> passes(infinity, From, To, Relay), receive never -> ok end;
way([Step | Rest], From, To, Relay) ->
    case Step of
        {pieces, Sizes} -> [begin passes(Size, From, To, Relay), settle() end || Size <- Sizes];
        {delay, Ms} -> timer:sleep(Ms);
        {pass, N} -> passes(N, From, To, Relay);
        {drop, N} -> {ok, _} = gen_tcp:recv(From, N);
        stall -> receive resume -> ok end;
        drip -> drips(From, To, Relay);
        fin -> Relay ! {ends, [To], fin}, receive never -> ok end;
        reset -> Relay ! {ends, [From, To], reset}, receive never -> ok end
    end,
    way(Rest, From, To, Relay).

%% What is passed on is read by the other side before more comes.
settle() -> erlang:yield(), timer:sleep(1).

passes(0, _, _, _) -> ok;
passes(N, From, To, Relay) ->
    case gen_tcp:recv(From, if N =:= infinity -> 0; true -> N end) of
        {ok, Data} when N =:= infinity -> sends(Data, From, To, Relay), passes(N, From, To, Relay);
        {ok, Data} -> sends(Data, From, To, Relay);
        {error, Reason} -> lost(Reason, To, Relay)
    end.

drips(From, To, Relay) ->
    case gen_tcp:recv(From, 1) of
        {ok, Data} -> sends(Data, From, To, Relay), settle(), drips(From, To, Relay);
        {error, Reason} -> lost(Reason, To, Relay)
    end.

sends(Data, From, To, Relay) ->
    case gen_tcp:send(To, Data) of
        ok -> ok;
        {error, _} -> Relay ! {ends, [From], reset}, receive never -> ok end
    end.

%% The sender has ended: so the receiver is told.
lost(closed, To, Relay) -> Relay ! {ends, [To], fin}, receive never -> ok end;
lost(_, To, Relay) -> Relay ! {ends, [To], reset}, receive never -> ok end.
