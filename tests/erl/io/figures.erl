%% Figures of ports, tables and their bytes.
-module(figures).
-export([main/0]).

main() ->
    t:c(port_count, fun() -> erlang:system_info(port_count) =:= length(erlang:ports()) end),
    t:c(port_counted, fun() -> A = erlang:system_info(port_count), P = open_port({spawn, "cat"}, []), B = erlang:system_info(port_count), port_close(P), B - A end),
    t:c(ets_count, fun() -> A = erlang:system_info(ets_count), T = ets:new(a, []), B = erlang:system_info(ets_count), ets:delete(T), {B - A, erlang:system_info(ets_count) - A} end),
    t:c(ets_memory, fun() -> A = erlang:memory(ets), T = ets:new(a, []), [ets:insert(T, {I, I}) || I <- lists:seq(1, 5000)], erlang:memory(ets) - A > 5000 * 5 * 8 end),
    t:c(io, fun() ->
        {{input, I}, {output, O}} = statistics(io),
        P = open_port({spawn, "cat"}, [binary]),
        port_command(P, <<0:8000>>),
        receive {P, {data, D}} -> ok end,
        {{input, I1}, {output, O1}} = statistics(io),
        port_close(P),
        {byte_size(D), I1 - I, O1 - O}
    end).
