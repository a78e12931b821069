%% The hierarchy of processors, as programs define it and as it is shown then, and how schedulers are bound. What the machine itself
%% has is looked at only as far as it is the same everywhere.
-module(cpu_topology).
-export([main/0]).

main() ->
    logger:set_primary_config(level, none),
    detected(),
    [define(T) || T <- topologies()],
    [refuse(T) || T <- nonsense()],
    erlang:system_flag(cpu_topology, undefined),
    [bind(Type) || Type <- types() ++ [ns, db, none, 1, "spread", {spread}]],
    unbound_again(),
    [io:format("~0p ~0p~n", [Item, catch_class(fun() -> erlang:system_info(Item) end)])
     || Item <- [{cpu_topology, foo}, {cpu_topology, 1}, {cpu_topology, used, x}, {scheduler_bindings, 1}]].

detected() ->
    io:format("~0p~n", [erlang:system_info({cpu_topology, defined})]),
    Detected = erlang:system_info({cpu_topology, detected}),
    Used = [erlang:system_info({cpu_topology, used}), erlang:system_info(cpu_topology)],
    io:format("~0p~n", [{is_list(Detected), [Detected =:= U || U <- Used]}]),
    [P, O, A] = [erlang:system_info(I) || I <- [logical_processors, logical_processors_online, logical_processors_available]],
    io:format("~0p~n", [{P >= O, O >= A, A >= 1}]).

define(Topology) ->
    Before = erlang:system_info({cpu_topology, used}),
    Said = catch_class(fun() -> erlang:system_flag(cpu_topology, Topology) =:= Before end),
    io:format("~0p: ~0p~n  ~0p~n", [Topology, Said, erlang:system_info({cpu_topology, defined})]).

refuse(Topology) ->
    Before = erlang:system_info({cpu_topology, defined}),
    Said = catch_class(fun() -> erlang:system_flag(cpu_topology, Topology) end),
    io:format("~0P: ~0p ~0p~n", [Topology, 30, Said, erlang:system_info({cpu_topology, defined}) =:= Before]).

l(N) -> {logical, N}.

topologies() ->
    [undefined,
     [{core, l(0)}, {core, l(1)}],
     [{processor, [{core, l(1)}, {core, l(0)}]}],
     [{node, [{processor, l(1)}, {processor, l(0)}]}],
     [{node, l(0)}, {node, l(1)}],
     [{node, [{core, l(0)}]}, {node, [{thread, l(1)}]}],
     [{thread, l(1)}, {thread, l(0)}],
     [{processor, [{node, l(0)}, {node, l(1)}]}],
     [{processor, [{node, [{core, l(0)}]}]}, {node, [{processor, l(1)}]}],
     [{node, [{processor, [{node, l(0)}]}]}],
     [{node, l(0)}, {processor, [{node, l(1)}]}],
     [{node, [{processor, l(7)}]}, {node, l(6)}, {processor, [{node, l(1)}]}],
     [{core, [], l(0)}],
     [{core, [], [{thread, l(0)}]}],
     [{core, l(65535)}],
     [{core, l(5)}, {core, l(7)}],
     [{processor, [{core, [{thread, l(0)}, {thread, l(8)}]}, {core, [{thread, l(1)}, {thread, l(9)}]}]},
      {processor, [{core, l(2)}, {core, l(3)}]}],
     [{node, [{processor, [{core, [{thread, l(0)}, {thread, l(1)}]}, {core, l(2)}]}, {processor, l(3)}]}, {node, [{processor, l(4)}]}]].

nonsense() ->
    [foo, [], [{core, []}], [{core, l(0)}, {core, l(0)}], [{core, l(0)}, {thread, l(1)}], [{core, l(-1)}], [{core, l(65536)}],
     [{core, l(1 bsl 80)}], [l(0)], {core, l(0)}, [{core, [{core, l(0)}]}], [{thread, [{core, l(0)}]}], [{core, [foo], l(0)}],
     [{core, l(0)} | x], [{core, l(1.0)}], [{core, {logical}}], [{core, {local, 1}}], [{processor, [{core, l(0)}]}, {core, l(1)}],
     [{processor, l(1)}, {core, l(0)}], [{socket, l(0)}], [{core}], [core],
     lists:foldl(fun(_, Inner) -> [{processor, Inner}] end, l(0), lists:seq(1, 1000))].

types() ->
    [no_spread, thread_spread, processor_spread, spread, no_node_thread_spread, no_node_processor_spread,
     thread_no_node_processor_spread, default_bind, unbound].

bind(Type) ->
    Said = catch_class(fun() -> erlang:system_flag(scheduler_bind_type, Type) end),
    io:format("~0p: ~0p ~0p~n", [Type, Said, erlang:system_info(scheduler_bind_type)]).

%% OTP's schedulers bind themselves a little later.
unbound_again() ->
    Bound = fun() -> lists:usort(tuple_to_list(erlang:system_info(scheduler_bindings))) -- [unbound] end,
    erlang:system_flag(scheduler_bind_type, no_spread),
    io:format("~0p~n", [until(fun() -> Bound() =/= [] end)]),
    erlang:system_flag(scheduler_bind_type, unbound),
    io:format("~0p~n", [until(fun() -> Bound() =:= [] end)]),
    io:format("~0p~n", [tuple_size(erlang:system_info(scheduler_bindings)) =:= erlang:system_info(schedulers)]).

until(Holds) -> until(Holds, 500).
until(Holds, Times) ->
    case Holds() of
        false when Times > 0 -> timer:sleep(10), until(Holds, Times - 1);
        Result -> Result
    end.

catch_class(F) ->
    try F() catch Class:Reason -> {Class, Reason} end.
