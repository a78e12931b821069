%% What the programs of tests/erl/net share.
-module(net).
-export([pair/0, pair/1, pair/2, close/1, got/1, got/2, then/2]).

%% Two ends of a connection over the loopback interface: who connects, who accepts. Both are passive at first.
pair() -> pair([]).
pair(Options) -> pair(Options, Options).
pair(Client, Server) ->
    {ok, L} = gen_tcp:listen(0, [binary, {ip, {127, 0, 0, 1}}, {active, false} | Server]),
    {ok, Port} = inet:port(L),
    {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false} | Client]),
    {ok, S} = gen_tcp:accept(L, 5000),
    gen_tcp:close(L),
    {C, S}.

close(Sockets) -> [gen_tcp:close(S) || S <- Sockets].

%% The messages that come, until nothing comes for a while.
got(Time) -> t:flush(Time).

%% So many messages.
got(0, _) -> [];
got(N, Time) -> receive M -> [M | got(N - 1, Time)] after Time -> [nothing] end.

%% Waits until a fun gives this, for some seconds.
then(Value, F) -> then(Value, F, 500).
then(Value, F, N) ->
    case F() of
        Value -> Value;
        Other when N =:= 0 -> {still, Other};
        _ -> timer:sleep(10), then(Value, F, N - 1)
    end.
