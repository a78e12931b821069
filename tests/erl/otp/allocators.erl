%% What tools for memory read: the figures of allocators have the shape of OTP's, and follow what a program holds.
-module(allocators).
-export([main/0]).

main() ->
    t:each("all", erlang:system_info(alloc_util_allocators), fun all/1),
    t:each("sizes", erlang:system_info(alloc_util_allocators), fun sizes/1),
    t:each("none", [foo, literal_mmap, sys_aligned_alloc, 1, "eheap_alloc"],
           fun(A) -> erlang:system_info({allocator, A}) end),
    t:c("fixed", fun fixed/0),
    t:each("segments", [allocator, allocator_sizes], fun segments/1),
    t:c(mappings, fun() -> [{Range, [{Kind, is_list(proplists:get_value(sizes, Of))} || {Kind, Of} <- Figures, Kind =/= options]} ||
                               {Range, Figures} <- erlang:system_info({allocator, erts_mmap})] end),
    t:c(heaps, fun heaps/0),
    t:c(binaries, fun binaries/0),
    t:c(tables, fun tables/0),
    t:c(instances, fun instances/0),
    t:c(carriers, fun carriers/0),
    t:c(allocations, fun allocations/0),
    t:c(peaks, fun peaks/0).

%% The keys of the first instance, sorted, and whether all are formed as they should be.
all(Allocator) ->
    [{instance, 0, Figures} | _] = erlang:system_info({allocator, Allocator}),
    Told = [Figure || Key <- [mbcs, sbcs, calls], {K, _} = Figure <- Figures, K =:= Key],
    {proplists:get_value(e, proplists:get_value(options, Figures)), [told(F) || F <- Told]}.

told({calls, Calls}) -> {calls, lists:all(fun({Name, G, N}) -> is_atom(Name) andalso G >= 0 andalso N >= 0 end, Calls)};
told({Kind, Figures}) ->
    {Kind, [element(1, F) || F <- Figures], [B || {blocks, Blocks} <- Figures, B <- Blocks, not is_well(B)]}.

is_well({Allocator, [{count, C, _, M}, {size, S, _, X}]}) -> is_atom(Allocator) andalso C =< M andalso S =< X andalso S >= C;
is_well(_) -> false.

sizes(Allocator) ->
    [{instance, 0, Figures} | _] = erlang:system_info({allocator_sizes, Allocator}),
    [{Kind, [element(1, F) || F <- Of]} || {Kind, Of} <- Figures, Kind =/= fix_types].

%% Each scheduler tells of its own; those of the others come with the first.
fixed() ->
    Ref = make_ref(),
    erlang:system_info({memory_internal, Ref, [fix_alloc]}),
    Told = [receive {Ref, _, Allocators} -> Allocators end || _ <- lists:seq(2, erts_internal:no_aux_work_threads())],
    lists:usort([{min(Instance, 1), tuple_size(Types), lists:keymember(bif_timer, 1, element(tuple_size(Types), Types))}
                 || {fix_alloc, Instance, Figures} <- lists:append(Told), Types <- Figures, element(1, Types) =:= fix_types]).

segments(allocator) ->
    [{instance, 0, Figures} | _] = erlang:system_info({allocator, mseg_alloc}),
    Kind = proplists:get_value(memkind, Figures),
    {proplists:get_value(name, Kind), [element(1, S) || S <- proplists:get_value(status, Kind)],
     is_tuple(lists:keyfind(mseg_alloc, 1, proplists:get_value(calls, Kind)))};
segments(allocator_sizes) ->
    [{instance, 0, Figures} | _] = erlang:system_info({allocator_sizes, mseg_alloc}),
    [element(1, F) || F <- Figures].

%% Blocks and bytes of all instances.
held(Allocator) ->
    Blocks = [Props || {instance, _, Figures} <- erlang:system_info({allocator, Allocator}), Kind <- [mbcs, mbcs_pool, sbcs],
                       {K, Of} <- Figures, K =:= Kind, {blocks, Blocks} <- Of, {A, Props} <- Blocks, A =:= Allocator],
    {lists:sum([element(2, lists:keyfind(count, 1, P)) || P <- Blocks]),
     lists:sum([element(2, lists:keyfind(size, 1, P)) || P <- Blocks])}.

%% Does what `Make` makes, until `Free` frees it, show up as so many blocks and bytes more?
grows(Allocator, Blocks, Bytes, Make, Free) ->
    {B0, S0} = held(Allocator),
    Made = Make(),
    {B1, S1} = held(Allocator),
    Free(Made),
    {B1 - B0 >= Blocks, S1 - S0 >= Bytes}.

%% (Some more than asked for: what other processes hold may be collected meanwhile.)
heaps() ->
    grows(eheap_alloc, 1000, 1000 * 233 * 8,
          fun() -> [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 1200)] end,
          fun(Pids) -> [P ! stop || P <- Pids] end).

binaries() ->
    grows(binary_alloc, 1000, 1000 * 1000,
          fun() -> [binary:copy(<<I>>, 1000) || I <- lists:seq(1, 1000)] end, fun(Made) -> length(Made) end).

tables() ->
    grows(ets_alloc, 1000, 1000 * 6 * 8,
          fun() -> T = ets:new(rows, []), [ets:insert(T, {I, I, I}) || I <- lists:seq(1, 1000)], T end, fun ets:delete/1).

%% One for each scheduler, and one for all other threads.
instances() ->
    Schedulers = erlang:system_info(schedulers),
    [{A, case [I || {instance, I, _} <- erlang:system_info({allocator_sizes, A})] of
             [0] -> one;
             Instances -> Instances =:= lists:seq(0, Schedulers)
         end} || A <- erlang:system_info(alloc_util_allocators)].

carriers() ->
    {ok, {512, Carriers}} = instrument:carriers(),
    {ok, {100, Few}} = instrument:carriers(#{histogram_start => 100, histogram_width => 3, allocator_types => [eheap_alloc]}),
    {[C || C <- Carriers, not is_carrier(C, 14)], [C || C <- Few, not is_carrier(C, 3)], lists:usort([element(1, C) || C <- Few]),
     [catch element(1, element(2, catch instrument:carriers(#{Key => Bad})))
      || {Key, Bad} <- [{histogram_start, 0}, {histogram_width, 33}, {scheduler_ids, [-1]}, {scheduler_ids, [10000]}, {allocator_types, [foo]}]],
     erts_internal:gather_carrier_info({literal_alloc, 1, 3, 100, make_ref()})}.

is_carrier({Allocator, InPool, Size, Unscanned, Classes, Free}, Width) ->
    is_atom(Allocator) andalso is_boolean(InPool) andalso Size >= Unscanned andalso tuple_size(Free) =:= Width
        andalso lists:sum([Bytes || {Class, Blocks, Bytes} <- Classes, is_atom(Class), Blocks > 0]) =< Size.

%% By classes and sizes: a hundred binaries of 3,000 bytes more, and they are gone again.
allocations() ->
    {ok, {128, Unscanned, All}} = instrument:allocations(),
    Before = of_binaries(),
    {Pid, M} = spawn_monitor(fun() -> hold([binary:copy(<<N>>, 3000) || N <- lists:seq(1, 100)]) end),
    Pid ! {self(), are_you_there},
    receive {Pid, yes} -> ok end,
    Then = of_binaries(),
    exit(Pid, kill),
    receive {'DOWN', M, process, _, _} -> ok end,
    {is_integer(Unscanned), [tuple_size(H) || #{binary := H} <- maps:values(All)],
     [element(N, Then) - element(N, Before) >= 90 || N <- [1, 2, 3, 4]],
     are_gone(element(2, Then), 100),
     [catch element(1, element(2, catch instrument:allocations(#{Key => Bad})))
      || {Key, Bad} <- [{histogram_start, 0}, {histogram_width, 33}, {scheduler_ids, [-1]}, {scheduler_ids, [10000]}, {allocator_types, [foo]}]],
     erts_internal:gather_alloc_histograms({literal_alloc, 1, 3, 100, make_ref()})}.

%% What a process held goes some time after it.
are_gone(Then, Times) ->
    case Then - element(2, of_binaries()) >= 90 of
        false when Times > 0 -> timer:sleep(50), erlang:garbage_collect(), are_gone(Then, Times - 1);
        Gone -> Gone
    end.

hold(What) -> receive {From, are_you_there} -> From ! {self(), yes}, hold(What) end.

of_binaries() ->
    {ok, {1024, _, #{system := #{binary := Histogram}}}} =
        instrument:allocations(#{histogram_start => 1024, histogram_width => 4, allocator_types => [binary_alloc]}),
    Histogram.

%% A heap that is there no longer was there since the last question, and then it was not; the highest figures since the start keep it.
peaks() ->
    highest(),
    {_, M} = spawn_monitor(fun() -> lists:sum(lists:seq(1, 1000000)) end),
    receive {'DOWN', M, process, _, _} -> ok end,
    {Recent, Ever} = highest(),
    {Later, _} = highest(),
    {Recent >= 8000000, Ever >= Recent, Later < Recent}.

%% The highest bytes of heaps since the last question and since the start, of all instances.
highest() ->
    Sizes = [Size || {instance, _, Figures} <- erlang:system_info({allocator, eheap_alloc}), {Kind, Of} <- Figures,
                     Kind =:= mbcs orelse Kind =:= sbcs, {blocks, [{_, Blocks}]} <- Of, {size, _, _, _} = Size <- Blocks],
    {lists:sum([element(3, S) || S <- Sizes]), lists:sum([element(4, S) || S <- Sizes])}.
