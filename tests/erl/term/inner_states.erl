%% What erts_debug tells of the inside, where OTP's own tests look at it; options that only those use.
-module(inner_states).
-export([main/0]).

main() ->
    %% OTP warns that the inside is open.
    logger:set_primary_config(level, none),
    erts_debug:set_internal_state(available_internal_state, true),
    t:each(binary_info, [0, 3, 100, 3000], fun(N) ->
        [binary_info(B) || B <- [binary:copy(<<1>>, N), appended(N)]]
    end),
    t:each(no_binary, [a, 12], fun binary_info/1),
    t:each(atom_of_number, [0, 100, -1, a], fun(N) -> is_atom(erts_debug:get_internal_state({atom, N})) end),
    t:each(unicode_loop_limit, [10, -1, a, default], fun(L) -> erts_debug:set_internal_state(unicode_loop_limit, L) end),
    t:each(ets_locks, [{debug_hash_fixed_number_of_locks, N} || N <- [0, 1, 63, 64, 65, 128, 1000, 32768, 32769, -1, a]], fun(W) ->
        T = ets:new(t, [{write_concurrency, W}]),
        ets:insert(T, [{I, I} || I <- lists:seq(1, 100)]),
        {ets:info(T, write_concurrency), length(ets:tab2list(T))}
    end),
    t:c(ets_locks_ordered, fun() -> ets:new(t, [ordered_set, {write_concurrency, {debug_hash_fixed_number_of_locks, 64}}]) end),
    X = {a, lists:seq(1, 3)},
    T = {X, X, [X]},
    t:each(copy_shared, [true, false, [], x], fun(Literals) ->
        C = erts_debug:copy_shared(T, Literals),
        {C =:= T, erts_debug:size(C), erts_debug:flat_size(C), erts_debug:size_shared(C), erts_debug:same(C, T), erts_debug:same(element(1, C), element(2, C))}
    end),
    L = {literal, [a, b]},
    t:c(literals, fun() -> {[erts_debug:same(L, erts_debug:copy_shared(L, Copy)) || Copy <- [true, false]], erts_debug:size_shared(L), erts_debug:flat_size(L)} end),
    t:each(heir_again, [set, ordered_set], fun(Type) -> heir_again(Type, 100) end),
    t:c(memory, fun() -> [Key || {Key, Bytes} <- erts_debug:get_internal_state(memory), Bytes > 0] end),
    t:c(memory_of_tables, fun() -> [proplists:get_value(K, erts_debug:get_internal_state(memory)) =:= erlang:memory(K) || K <- [atom, ets, code]] end),
    t:c(stack_check, fun() -> erts_debug:get_internal_state(stack_check) > 10000 end),
    t:c(fill_heap, fun() -> {[erts_debug:set_internal_state(fill_heap, true) || _ <- [1, 2, 3]], lists:sum(lists:seq(1, 1000))} end),
    t:c(inconsistent_heap, fun() ->
        Broken = erts_debug:set_internal_state(inconsistent_heap, start),
        Mended = erts_debug:set_internal_state(inconsistent_heap, Broken),
        {is_tuple(Broken), Mended, element(1, t:id(Broken)), garbage_collect()}
    end),
    t:each(long_gc_sleep, [-1, a, 0], fun(Ms) -> erts_debug:set_internal_state(test_long_gc_sleep, Ms) end),
    t:c(force_heap_frags, fun() -> erts_debug:get_internal_state(force_heap_frags) end),
    t:c(next_pid, fun() -> [try erts_debug:set_internal_state(next_pid, X) catch error:E -> E end || X <- [a, -1, 1.0]] end),
    t:c(next_port, fun() ->
        Before = erts_debug:get_internal_state(next_port),
        Set = erts_debug:set_internal_state(next_port, 1 bsl 20),
        {is_integer(Before), is_integer(Set), Set =:= erts_debug:get_internal_state(next_port)}
    end),
    t:c(ports_come_again, fun() ->
        erts_debug:set_internal_state(next_port, 1 bsl 28 - 3),
        Said = [os:cmd("echo " ++ integer_to_list(N)) || N <- lists:seq(1, 8)],
        {Said, erts_debug:get_internal_state(next_port) < 1 bsl 20}
    end),
    t:each(next_port, [a, 1.0, []], fun(N) -> erts_debug:set_internal_state(next_port, N) end),
    t:c(nbalance, fun() -> N = erts_debug:get_internal_state(nbalance), {is_integer(N), N >= 0} end),
    t:each(unique_integer, [{0, 0}, {0, 1}, {1, 1}, {1, 1 bsl 64 - 1}, {0, 1 bsl 64}, {-1, 1}, {100000, 1}, {0, -1}, {a, 1}], fun({Thread, N}) ->
        Least = erts_debug:get_internal_state(min_unique_integer),
        %% The number of a scheduler takes as many bits as theirs does.
        Schedulers = lists:sum([erlang:system_info(K) || K <- [schedulers, dirty_cpu_schedulers, dirty_io_schedulers]]),
        Bits = length(integer_to_list(Schedulers, 2)),
        erts_debug:get_internal_state({make_unique_integer, Thread, N}) - Least =:= (N bsl Bits) bor Thread
    end),
    erts_debug:set_internal_state(available_internal_state, false).

binary_info(B) ->
    case erts_debug:get_internal_state({binary_info, B}) of
        {refc_binary, Size, {binary, Allocated}, Flags} when Size > 64 -> {Size, Allocated, Flags};
        %% OTP makes large binaries of small appended ones, too.
        _ when byte_size(B) =< 64 -> small
    end.

appended(N) ->
    lists:foldl(fun(_, B) -> <<B/binary, 1>> end, <<>>, lists:seq(1, N)).

%% A process that gets the pid of an heir is none.
heir_again(_, 0) -> never;
heir_again(Type, Tries) ->
    Self = self(),
    Next = erts_debug:get_internal_state(next_pid),
    Wait = fun() -> receive stop -> ok end end,
    {Owner, Gone} = spawn_monitor(fun() ->
        receive {heir, H} -> Self ! {table, ets:new(t, [Type, {heir, H, data}])} end,
        Wait()
    end),
    {Heir, Dead} = spawn_monitor(Wait),
    Owner ! {heir, Heir},
    T = receive {table, Table} -> Table end,
    true = ets:info(T, heir) =:= Heir,
    Heir ! stop,
    receive {'DOWN', Dead, process, Heir, normal} -> ok end,
    erts_debug:set_internal_state(next_pid, Next),
    Again = spawn(Wait),
    Seen = ets:info(T, owner) =:= Owner,
    Owner ! stop,
    receive {'DOWN', Gone, process, Owner, normal} -> ok end,
    After = ets:info(T),
    Again ! stop,
    case Again of Heir -> {Seen, After}; _ -> heir_again(Type, Tries - 1) end.
