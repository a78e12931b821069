%% trace_delivered/1: its message comes by itself, also when nobody has anything else to do.
-module(delivered).
-export([main/0]).

lap(P) ->
    P ! {self(), go},
    receive gone -> ok end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end.

loop() -> receive {From, go} -> From ! gone, loop() end.

main() ->
    P = spawn(fun loop/0),
    erlang:trace(P, true, ['receive']),
    {Micros, _} = timer:tc(fun() -> [lap(P) || _ <- lists:seq(1, 500)] end),
    t:p(messages, length([x || {trace, _, 'receive', {_, go}} <- t:flush()])),
    t:p(soon, Micros < 20 * 1000 * 1000),
    {All, _} = timer:tc(fun() ->
        [begin R = erlang:trace_delivered(all), receive {trace_delivered, all, R} -> ok end end || _ <- lists:seq(1, 500)]
    end),
    t:p(soon, All < 20 * 1000 * 1000).
