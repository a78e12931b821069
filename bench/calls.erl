-module(calls).
-export([main/1, main/0]).
-behaviour(gen_server).
-export([init/1, handle_call/3, handle_cast/2]).

%% Synchronous exchanges: so many clients, each of which calls a server of its own again and again, both with some state that they read and
%% change. Prints `value N`, nanoseconds a call. `-run calls main CLIENTS WORDS CALLS`.

main() -> main(["1000", "500", "200"]).

main(Args) ->
    [Clients, Words, Calls] = [list_to_integer(Arg) || Arg <- Args],
    Self = self(),
    Workers = [spawn_link(fun() -> client(Self, Words, Calls) end) || _ <- lists:seq(1, Clients)],
    [receive {ready, W} -> ok end || W <- Workers],
    Start = erlang:monotonic_time(nanosecond),
    [W ! go || W <- Workers],
    [receive {done, W} -> ok end || W <- Workers],
    Time = erlang:monotonic_time(nanosecond) - Start,
    io:format("value ~p~n", [Time div (Clients * Calls)]),
    halt(0).

client(Parent, Words, Calls) ->
    {ok, Server} = gen_server:start_link(?MODULE, Words, []),
    Own = lists:seq(1, Words),
    Parent ! {ready, self()},
    receive go -> ok end,
    calls(Server, Own, Calls),
    Parent ! {done, self()}.

calls(_, _, 0) -> ok;
calls(Server, Own, N) ->
    Sum = lists:sum(Own),
    _ = gen_server:call(Server, {add, Sum band 7}, infinity),
    calls(Server, Own, N - 1).

init(Words) -> {ok, lists:seq(1, Words)}.
handle_call({add, N}, _From, State) -> {reply, lists:sum(State) + N, State}.
handle_cast(_, State) -> {noreply, State}.
