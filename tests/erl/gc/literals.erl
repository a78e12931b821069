%% Literals of purged modules, and persistent terms that were replaced: whoever holds one keeps its value, and the memory goes.
-module(literals).
-export([main/0]).

%% A module with a large literal tuple, a literal list, a large literal binary.
code(Version) ->
    Tuple = list_to_tuple([{Version, I, "text"} || I <- lists:seq(1, 3000)]),
    Bin = binary:copy(<<Version>>, 1000),
    F = fun(Name, T) -> {function, 1, Name, 0, [{clause, 1, [], [], [erl_parse:abstract(T)]}]} end,
    {ok, lits, Code} = compile:forms(
        [{attribute, 1, module, lits}, {attribute, 1, export, [{tuple, 0}, {list, 0}, {bin, 0}, {all, 0}]},
         F(tuple, Tuple), F(list, [Version, {nested, [Version, "abc"]}]), F(bin, Bin),
         F(all, [Tuple, Bin, #{Version => Bin}])], []),
    Code.

load(Code) ->
    code:purge(lits),
    {module, lits} = code:load_binary(lits, "lits.beam", Code).

%% Until nothing is left to be collected.
%% Memory is freed when all schedulers have gone on, which takes a moment after the collector has done its part.
goes_back(Before) -> goes_back(Before, 500).
goes_back(Before, N) ->
    case erlang:memory(total) - Before < 15000000 of
        false when N > 0 -> receive after 10 -> goes_back(Before, N - 1) end;
        Done -> Done
    end.

settle() ->
    [C] = [P || P <- processes(), process_info(P, initial_call) =:= {initial_call, {erts_literal_area_collector, start, 0}}],
    settle(C).
settle(C) ->
    R = make_ref(),
    C ! {get_status, R, self()},
    receive
        {R, idle} -> ok;
        {R, working} -> receive after 5 -> settle(C) end
    end.

%% Replaces the module's code and waits until the literals of the first version are gone.
replace(Next) ->
    load(Next),
    code:purge(lits),
    load(Next),
    code:purge(lits),
    receive after 20 -> ok end,
    settle().

hold(S, X) -> receive get -> S ! {held, X}, hold(S, X); hibernate -> erlang:hibernate(erlang, apply, [fun hold/2, [S, X]]) end.
ask(P) -> P ! get, receive {held, X} -> X after 1000 -> timeout end.

main() ->
    process_flag(trap_exit, true),
    [C1, C2] = [code(V) || V <- [1, 2]],
    S = self(),
    load(C1),
    Hash = fun(T) -> erlang:phash2(T) end,
    Want = Hash(lits:all()),
    %% Everywhere a term can be.
    InHeap = spawn_link(fun() -> hold(S, {in, lits:all()}) end),
    InFun = spawn_link(fun() -> A = lits:all(), hold(S, fun() -> A end) end),
    Hibernating = spawn_link(fun() -> hold(S, lits:all()) end), Hibernating ! hibernate,
    InQueue = spawn_link(fun() -> receive go -> receive {m, X} -> S ! {held, X} end, receive X2 -> S ! {held, X2} end end end),
    InQueue ! {m, lits:all()}, InQueue ! lits:all(),
    InDictionary = spawn_link(fun() -> put(key, lits:all()), put(lits:list(), 1), receive get -> S ! {held, {get(key), get()}} end end),
    OnStack = spawn_link(fun() -> A = lits:all(), receive get -> ok end, S ! {held, A} end),
    Old = spawn_link(fun() -> A = [{x, lits:all()}], garbage_collect(), garbage_collect(), hold(S, A) end),
    Matching = spawn_link(fun() -> <<_:4, Rest/bits>> = lits:bin(), hold(S, Rest) end),
    T = ets:new(t, []), ets:insert(T, {1, lits:all()}),
    Timer = erlang:send_after(60000, InHeap, {lits:all()}),
    Fires = erlang:send_after(300, S, {fired, lits:all()}),
    persistent_term:put({?MODULE, lits:list()}, lits:all()),
    Exits = spawn_link(fun() -> A = lits:all(), receive stop -> exit({reason, A}) end end),
    E = spawn_link(fun() -> try error(lits:all()) catch error:R -> hold(S, R) end end),
    receive after 50 -> ok end,
    replace(C2),
    t:c(changed, fun() -> {lits:list(), Hash(lits:all()) =/= Want} end),
    t:c(in_heap, fun() -> {in, X} = ask(InHeap), Hash(X) =:= Want end),
    t:c(in_fun, fun() -> F = ask(InFun), Hash(F()) =:= Want end),
    t:c(hibernating, fun() -> Hash(ask(Hibernating)) =:= Want end),
    t:c(in_queue, fun() -> InQueue ! go, [receive {held, X} -> Hash(X) =:= Want end || _ <- [1, 2]] end),
    t:c(in_dictionary, fun() -> {X, D} = ask(InDictionary), {Hash(X) =:= Want, proplists:get_value([1, {nested, [1, "abc"]}], D)} end),
    t:c(on_stack, fun() -> Hash(ask(OnStack)) =:= Want end),
    t:c(old, fun() -> [{x, X}] = ask(Old), Hash(X) =:= Want end),
    t:c(part_of_binary, fun() -> X = ask(Matching), {bit_size(X), Hash(X)} end),
    t:c(in_table, fun() -> [{1, X}] = ets:lookup(T, 1), Hash(X) =:= Want end),
    t:c(in_timer, fun() -> is_integer(erlang:cancel_timer(Timer)) end),
    t:c(fired, fun() -> is_integer(erlang:read_timer(Fires)) orelse false, receive {fired, X} -> Hash(X) =:= Want end end),
    t:c(persistent, fun() -> Hash(persistent_term:get({?MODULE, [1, {nested, [1, "abc"]}]})) =:= Want end),
    t:c(exit_reason, fun() -> Exits ! stop, receive {'EXIT', Exits, {reason, X}} -> Hash(X) =:= Want end end),
    t:c(error_reason, fun() -> Hash(ask(E)) =:= Want end),
    t:c(memory_flat, fun() ->
            settle(), M0 = erlang:memory(total),
            [load(lists:nth(1 + N rem 2, [C1, C2])) || N <- lists:seq(1, 300)],
            code:purge(lits), receive after 50 -> ok end, settle(),
            goes_back(M0) end),
    t:c(persistent_replaced, fun() ->
            V = lists:seq(1, 2000),
            persistent_term:put(k, {0, V}),
            P = spawn_link(fun() -> hold(S, persistent_term:get(k)) end), {0, V} = ask(P),
            M0 = erlang:memory(total),
            [persistent_term:put(k, {I, V}) || I <- lists:seq(1, 2000)],
            settle(),
            {ask(P) =:= {0, V}, persistent_term:get(k) =:= {2000, V}, goes_back(M0)} end),
    t:c(persistent_erased, fun() ->
            V = lists:seq(1, 2000), persistent_term:put(k2, V), X = persistent_term:get(k2),
            true = persistent_term:erase(k2), settle(),
            garbage_collect(), {X =:= V, persistent_term:get(k2, none), persistent_term:erase(k2)} end),
    t:c(while_others_send, fun() ->
            %% Literals are sent round and round while they are purged.
            load(C1), W = Hash(lits:list()),
            Ring = ring(8, S), [hd(Ring) ! {20000, lits:list()} || _ <- lists:seq(1, 5)],
            [load(C2) || _ <- lists:seq(1, 20)], settle(),
            [receive {done, X} -> Hash(X) =:= W end || _ <- lists:seq(1, 5)] end).

ring(N, S) ->
    Ps = [spawn_link(fun() -> receive {next, P} -> forward(P, S) end end) || _ <- lists:seq(1, N)],
    [P ! {next, Q} || {P, Q} <- lists:zip(Ps, tl(Ps) ++ [hd(Ps)])],
    Ps.
forward(Next, S) ->
    receive {0, X} -> S ! {done, X}; {N, X} -> Next ! {N - 1, X} end,
    forward(Next, S).
