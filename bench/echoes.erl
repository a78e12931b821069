%% A server of small requests, in the simulator: each connection's process receives 64 bytes, works a little, and sends them back.
%%
%% `myriad sim --clients CONNECTIONS [--think NS] --cores N bench/echoes.erl REQUESTS [WORK]` serves so many requests after as many more for each connection as a
%% process needs to come to rest, and prints `echoes REQUESTS-A-MILLISECOND REQUESTS`. WORK is the length of a list that each request sorts (20).
-module(echoes).
-export([main/1]).

main([Requests]) -> main([Requests, "20"]);
main([Requests, Work]) ->
    Descriptors = myriad_sim_out:clients(),
    Each = list_to_integer(Requests) div length(Descriptors),
    List = [erlang:phash2(I) || I <- lists:seq(1, list_to_integer(Work))],
    Self = self(),
    Servers = [spawn_link(fun() -> serve(Self, Descriptor, List, Each) end) || Descriptor <- Descriptors],
    [receive {ready, Server} -> ok end || Server <- Servers],
    Begin = erlang:monotonic_time(nanosecond),
    [Server ! go || Server <- Servers],
    [receive {done, Server} -> ok end || Server <- Servers],
    Took = erlang:monotonic_time(nanosecond) - Begin,
    Served = Each * length(Servers),
    io:format("echoes ~w ~w~n", [round(Served * 1.0e6 / Took), Served]),
    halt(0).

serve(Main, Descriptor, List, Each) ->
    {ok, Socket} = prim_inet:fdopen(tcp, local, stream, Descriptor, true),
    ok = prim_inet:setopts(Socket, [{mode, binary}, {active, true}]),
    echo(Socket, List, 1),
    Main ! {ready, self()},
    receive go -> ok end,
    echo(Socket, List, Each),
    Main ! {done, self()},
    receive stop -> ok end.

echo(_, _, 0) -> ok;
echo(Socket, List, Left) ->
    receive
        {tcp, Socket, Data} ->
            lists:sort(List),
            ok = prim_inet:send(Socket, Data),
            echo(Socket, List, Left - 1)
    end.
