%% The episodes of the soak test. Each checks what it does and leaves nothing: no process, port, table, timer, name or file.
-module(soak_episodes).
-export([prepare/1, quiet/0, pick/0, traced/2]).

-define(assert(Condition), assert(Condition, ?LINE)).
-define(expect(Pattern, Ms), receive Pattern -> ok after Ms -> error({missing, ?LINE, ??Pattern, process_info(self(), messages)}) end).
-define(LONG, 60_000).
-define(MODULES, [soak_code_a, soak_code_b, soak_code_c]).

assert(true, _) -> ok;
assert(_, Line) -> error({assertion, Line}).

n(N) -> rand:uniform(N).

%% One of them, or of those whose names SOAK_ONLY has.
pick() ->
    All = persistent_term:get(soak_all),
    element(n(tuple_size(All)), All).

all() ->
    [{ring, fun ring/0}, {links, fun links/0}, {monitors, fun monitors/0}, {selective, fun selective/0}, {large, fun large/0},
           {timers, fun timers/0}, {counters, fun counters/0}, {tables, fun tables/0}, {shared_table, fun shared_table/0}, {shared_table, fun shared_table/0}, {fixed, fun fixed/0}, {owners, fun owners/0},
           {code, fun code/0}, {code, fun code/0}, {port, fun port/0}, {killed_port, fun killed_port/0}, {dirty, fun dirty/0}, {files, fun files/0}, {trace, fun trace/0},
           {looks, fun looks/0}, {names, fun names/0}, {stacks, fun stacks/0}, {limits, fun limits/0}, {persistent, fun persistent/0},
           {aliases, fun aliases/0}, {sleepers, fun sleepers/0}, {bundles, fun bundles/0}, {maps, fun map_churn/0}, {binaries, fun binaries/0}].

%% Versions of modules with literals, as object code.
prepare(Dir) ->
    persistent_term:put(soak_dir, Dir),
    Only = string:lexemes(os:getenv("SOAK_ONLY", ""), ","),
    All = [E || E <- all() ++ soak_sockets:episodes() ++ soak_libraries:episodes() ++ soak_parallel:episodes(), Only =:= [] orelse lists:member(atom_to_list(element(1, E)), Only)],
    persistent_term:put(soak_all, list_to_tuple(All)),
    soak_libraries:prepare(Dir),
    [persistent_term:put({soak_code, Module, Version}, compiled(Module, Version)) || Module <- ?MODULES, Version <- [1, 2, 3]],
    Locks = ets:new(soak_locks, [public, named_table]),
    ets:insert(Locks, [{Module, free} || Module <- ?MODULES]),
    ok.

compiled(Module, Version) ->
    Literal = literal(Module, Version),
    Text = [io_lib:format("-module(~w).", [Module]), "-export([literal/0, part/1, wait/1, call/2, fun_of/1, version/0]).",
            io_lib:format("literal() -> ~w.", [Literal]), io_lib:format("part(N) -> element(N, ~w).", [Literal]),
            "wait(X) -> receive {F, X} -> F(X); stop -> X end.", "call(F, X) -> {F(X), literal()}.", "fun_of(Y) -> fun(Z) -> {Y, Z, part(1)} end.",
            io_lib:format("version() -> ~w.", [Version])],
    Forms = [begin {ok, Tokens, _} = erl_scan:string(lists:flatten(T)), {ok, Form} = erl_parse:parse_form(Tokens), Form end || T <- Text],
    {ok, Module, Code} = compile:forms(Forms, []),
    Code.

literal(Module, Version) ->
    {[{Module, Version, I, integer_to_binary(I * Version), I * 1.5e300} || I <- lists:seq(1, 40)], #{Module => Version, list => "literal", bin => binary:copy(<<Version>>, 200)},
     lists:seq(Version, 300)}.

%% All that stays between phases is put back as it was.
quiet() ->
    [begin code:purge(M), code:delete(M), code:purge(M) end || M <- ?MODULES],
    soak_libraries:quiet().

term() -> term(4).
term(0) -> case n(5) of 1 -> n(1000); 2 -> n(1 bsl 80); 3 -> n(1000) / 7; 4 -> an_atom; 5 -> rand:bytes(n(100)) end;
term(D) ->
    case n(6) of
        1 -> [term(D - 1) || _ <- lists:seq(1, n(6))];
        2 -> list_to_tuple([term(D - 1) || _ <- lists:seq(1, n(5))]);
        3 -> maps:from_list([{n(60), term(D - 2 + n(1))} || _ <- lists:seq(1, n(50))]);
        4 -> X = term(D - 1), {X, [X | X]};
        5 -> <<_:3, Part/bits>> = rand:bytes(n(300)), Part;
        6 -> term(0)
    end.

digest(T) -> erlang:phash2(T, 1 bsl 32).

%% A term goes round a ring of processes and comes back as it was.
ring() ->
    Self = self(),
    Count = n(60),
    First = lists:foldl(fun(_, Next) -> spawn_link(fun() -> pass(Next) end) end, Self, lists:seq(1, Count)),
    Term = term(),
    [begin First ! {token, I, Term}, receive {token, I, Back} -> ?assert(Back =:= Term) after ?LONG -> error(lost_token) end end || I <- lists:seq(1, n(30))],
    First ! {stop},
    ?expect({stop}, ?LONG).

pass(Next) ->
    receive
        {token, I, T} ->
            case n(20) of 1 -> erlang:garbage_collect(); 2 -> erlang:yield(); _ -> ok end,
            Next ! {token, I, T},
            pass(Next);
        {stop} -> Next ! {stop}
    end.

%% Every link tells of its end, with its reason.
links() ->
    process_flag(trap_exit, true),
    Pids = [{spawn_link(fun() -> receive {die, How} -> die(How) end end), I} || I <- lists:seq(1, n(80))],
    Sorted = [{P, case n(5) of 1 -> kill; 2 -> normal; 3 -> {shutdown, I}; 4 -> {error, I}; 5 -> unlink end} || {P, I} <- Pids],
    [case How of
        kill -> exit(P, kill);
        unlink -> unlink(P), exit(P, kill);
        _ -> P ! {die, How}
    end || {P, How} <- Sorted],
    [receive
        {'EXIT', P, Reason} ->
            case {How, Reason} of
                {kill, killed} -> ok; {normal, normal} -> ok; {{shutdown, _} = S, S} -> ok;
                {{error, I}, {{error, I}, [_ | _]}} -> ok;
                Wrong -> error({wrong_reason, Wrong})
            end
    after ?LONG -> error({no_exit, How}) end || {P, How} <- Sorted, How =/= unlink],
    receive {'EXIT', _, _} = Extra -> error({extra, Extra}) after 0 -> ok end.

die({error, _} = E) -> error(E);
die(normal) -> ok;
die(Reason) -> exit(Reason).

%% One message for each monitor that was not taken back.
monitors() ->
    Pids = [spawn(fun() -> receive go -> ok after n(30) -> exit(I) end end) || I <- lists:seq(1, n(100))],
    Refs = [{P, monitor(process, P)} || P <- Pids, _ <- lists:seq(1, n(3))],
    {Gone, Kept} = lists:partition(fun(_) -> n(3) =:= 1 end, Refs),
    [P ! go || P <- Pids, n(3) =:= 1],
    [?assert(demonitor(R, [flush])) || {_, R} <- Gone],
    [receive {'DOWN', R, process, P, _} -> ok after ?LONG -> error(no_down) end || {P, R} <- Kept],
    receive {'DOWN', _, _, _, _} = Extra -> error({extra, Extra}) after 0 -> ok end,
    Late = monitor(process, hd(Pids)),
    receive {'DOWN', Late, process, _, _} -> ok after ?LONG -> error(no_noproc) end.

%% Messages of many senders, taken selectively, those of one in order.
selective() ->
    Self = self(),
    Senders = n(8),
    Each = n(300),
    [spawn_link(fun() -> [begin Self ! {S, I, pad()}, case n(50) of 1 -> erlang:yield(); _ -> ok end end || I <- lists:seq(1, Each)] end) || S <- lists:seq(1, Senders)],
    take(maps:from_list([{S, 1} || S <- lists:seq(1, Senders)]), Each),
    receive Extra -> error({extra, Extra}) after 0 -> ok end.

pad() -> case n(10) of 1 -> rand:bytes(n(200)); 2 -> lists:seq(1, n(50)); _ -> ok end.

take(Next, _) when map_size(Next) =:= 0 -> ok;
take(Next, Each) ->
    S = lists:nth(n(map_size(Next)), maps:keys(Next)),
    #{S := I} = Next,
    receive {S, I, _} -> ok after ?LONG -> error({lost, S, I}) end,
    receive {S, J, _} when J < I -> error({again, S, J}) after 0 -> ok end,
    take(if I =:= Each -> maps:remove(S, Next); true -> Next#{S := I + 1} end, Each).

%% Large messages through processes that collect, hibernate and shrink in between.
large() ->
    Self = self(),
    Term = {lists:seq(1, n(50_000)), rand:bytes(n(200_000)), term(6)},
    Sum = digest(Term),
    Stages = n(5),
    Last = lists:foldl(fun(_, Next) ->
        spawn_opt(fun() -> stage(Next) end, [link, {min_heap_size, n(1000)}, {fullsweep_after, n(5) - 1}, {message_queue_data, case n(2) of 1 -> on_heap; 2 -> off_heap end}])
    end, Self, lists:seq(1, Stages)),
    [Last ! {data, Term} || _ <- [1, 2, 3]],
    [receive {data, Back} -> ?assert(digest(Back) =:= Sum) after ?LONG -> error(lost_data) end || _ <- [1, 2, 3]],
    Last ! done,
    ?expect(done, ?LONG).

stage(Next) ->
    receive
        {data, T} ->
            case n(3) of 1 -> erlang:garbage_collect(); _ -> ok end,
            Next ! {data, T},
            case n(3) of 1 -> erlang:hibernate(erlang, apply, [fun() -> stage(Next) end, []]); _ -> stage(Next) end;
        done -> Next ! done
    end.

%% Timers that are not cancelled fire once, others not at all.
timers() ->
    Timers = [{erlang:start_timer(n(60), self(), I), I} || I <- lists:seq(1, n(300))],
    Others = [{erlang:send_after(100_000 + n(1 bsl 25), self(), never), I} || I <- lists:seq(1, n(50))],
    {Cancelled, Waited} = lists:partition(fun(_) -> n(3) =:= 1 end, Timers),
    Fired = [R || {R, _} <- Cancelled, erlang:cancel_timer(R) =:= false],
    [receive {timeout, R, I} -> ok after ?LONG -> error(no_timeout) end || {R, I} <- Waited],
    [receive {timeout, R, _} -> ok after ?LONG -> error(no_fired) end || R <- Fired],
    [?assert(is_integer(erlang:cancel_timer(R))) || {R, _} <- Others],
    %% Timers of a process that dies go with it.
    {P, M} = spawn_monitor(fun() -> [erlang:start_timer(n(100_000), self(), x) || _ <- lists:seq(1, n(100))], ok end),
    receive {'DOWN', M, process, P, normal} -> ok after ?LONG -> error(no_down) end,
    receive Extra -> error({extra, Extra}) after 5 -> ok end.

%% Counters of tables, atomics and counters add up.
counters() ->
    T = ets:new(c, [public, lists:nth(n(3), [set, ordered_set, set]), {write_concurrency, n(2) =:= 1}, {read_concurrency, n(2) =:= 1}]),
    A = atomics:new(3, []),
    C = counters:new(3, [write_concurrency]),
    Each = n(300),
    workers(n(6), fun(_) -> [begin K = n(10), ets:update_counter(T, K, 1, {K, 0}), atomics:add(A, 1 + K rem 3, 1), counters:add(C, 1 + K rem 3, 1) end || _ <- lists:seq(1, Each)], Each end,
            fun(Total) ->
                ?assert(lists:sum([V || {_, V} <- ets:tab2list(T)]) =:= Total),
                ?assert(lists:sum([atomics:get(A, I) || I <- [1, 2, 3]]) =:= Total),
                ?assert(lists:sum([counters:get(C, I) || I <- [1, 2, 3]]) =:= Total)
            end),
    ets:delete(T).

workers(Count, Fun, Check) ->
    All = [spawn_monitor(fun() -> exit({ok, Fun(I)}) end) || I <- lists:seq(1, Count)],
    Check(lists:sum([receive {'DOWN', R, process, P, {ok, N}} -> N; {'DOWN', R, process, P, Why} -> error({worker, Why}) after ?LONG -> error(late_worker) end || {P, R} <- All])).

%% A table as a map remembers it.
tables() ->
    Type = lists:nth(n(2), [set, ordered_set]),
    T = ets:new(t, [Type, lists:nth(n(2), [protected, public])] ++ [compressed || n(4) =:= 1]),
    Model = lists:foldl(fun(_, M) ->
        K = n(150),
        case n(9) of
            N when N =< 4 -> V = term(2), ets:insert(T, {K, V, K rem 3}), M#{K => V};
            5 -> ets:delete(T, K), maps:remove(K, M);
            6 -> ?assert(ets:lookup(T, K) =:= [{K, V, K rem 3} || {ok, V} <- [maps:find(K, M)]]), M;
            7 -> R = n(3) - 1, ?assert(lists:sort(ets:select(T, [{{'$1', '_', R}, [], ['$1']}])) =:= lists:sort([X || X <- maps:keys(M), X rem 3 =:= R])), M;
            8 -> R = n(3) - 1, ets:match_delete(T, {'_', '_', R}), maps:filter(fun(X, _) -> X rem 3 =/= R end, M);
            9 -> V = term(1), case ets:update_element(T, K, {2, V}) of true -> M#{K := V}; false -> ?assert(not is_map_key(K, M)), M end
        end
    end, #{}, lists:seq(1, n(400))),
    ?assert(lists:sort([{K, V} || {K, V, _} <- ets:tab2list(T)]) =:= lists:sort(maps:to_list(Model))),
    ?assert(ets:info(T, size) =:= map_size(Model)),
    case n(2) of 1 -> ets:delete(T); 2 -> ets:delete_all_objects(T) end.

%% Several processes at one table: whoever looks sees objects whole, whatever the others do to them, to the end of the table.
shared_table() ->
    Type = lists:nth(n(5), [set, set, ordered_set, bag, duplicate_bag]),
    T = ets:new(t, [public, Type, {write_concurrency, lists:nth(n(3), [false, true, auto])}] ++ [compressed || n(3) =:= 1]),
    Ends = n(5) =:= 1,
    Users = [spawn_monitor(fun() -> try use(T, Type, n(800)) catch error:badarg when Ends -> ?assert(ets:info(T, size) =:= undefined) end end) || _ <- lists:seq(1, 1 + n(4))],
    case Ends of true -> timer:sleep(n(10)), ets:delete(T); false -> ok end,
    [receive {'DOWN', R, process, P, normal} -> ok; {'DOWN', R, process, P, Reason} -> error(Reason) after ?LONG -> error(late) end || {P, R} <- Users],
    case Ends of
        true -> ok;
        false ->
            All = ets:tab2list(T),
            lists:foreach(fun whole/1, All),
            ?assert(length(All) =:= ets:info(T, size)),
            case n(2) of 1 -> ets:delete(T); 2 -> ets:delete_all_objects(T) end
    end.

%% All parts of an object say the same.
object(K) -> object(K, n(1000)).
object(K, V) -> {K, V, {V, binary:copy(<<V:16>>, 50)}, lists:nth(1 + V rem 4, [V, [V, x], {V, binary:copy(<<V:16>>, 3)}, [V | 1.0e300]])}.

whole({K, V, _, _} = O) -> ?assert(O =:= object(K, V)).

use(_, _, 0) -> ok;
use(T, Type, Left) ->
    K = lists:nth(n(3), [n(40), {k, n(20)}, <<(n(20)):400>>]),
    Set = Type =:= set orelse Type =:= ordered_set,
    case n(18) of
        1 -> ets:insert(T, [object(n(40)) || _ <- lists:seq(1, n(20))]);
        2 -> ets:insert_new(T, object(K));
        3 -> ets:delete(T, K);
        4 -> lists:foreach(fun whole/1, ets:take(T, K));
        5 when Set -> {_, V, W, X} = object(K), ets:update_element(T, K, [{2, V}, {3, W}, {4, X}]);
        6 -> [] = ets:select(T, [{{'_', '$1', {'$2', '_'}, '_'}, [{'=/=', '$1', '$2'}], ['$_']}]);
        7 -> V = n(1000), lists:foreach(fun whole/1, ets:match_object(T, {'_', V, '_', '_'}));
        8 -> ets:match_delete(T, {'_', n(1000), '_', '_'});
        9 when Type =/= bag -> V = n(500), ets:select_replace(T, [{{'$1', '$2', '$3', '$4'}, [{'<', '$2', V}], [{{'$1', '$2', '$3', '$4'}}]}]);
        10 -> ets:safe_fixtable(T, true), steps(T, ets:first(T), n(20)), ets:safe_fixtable(T, false);
        11 -> ets:safe_fixtable(T, true), some(ets:select(T, [{'$1', [], ['$1']}], n(20)), n(3)), ets:safe_fixtable(T, false);
        12 when Set -> try ets:lookup_element(T, K, 3) of {V, B} -> ?assert({V, B} =:= element(3, object(K, V))) catch error:badarg -> ok end;
        13 -> case ets:lookup(T, K) of [O | _] -> ets:delete_object(T, O); [] -> ok end;
        14 when Left rem 8 =:= 0 -> ets:delete_all_objects(T);
        N when N rem 2 =:= 0 -> ets:insert(T, object(K));
        _ -> lists:foreach(fun whole/1, ets:lookup(T, K))
    end,
    use(T, Type, Left - 1).

steps(_, '$end_of_table', _) -> ok;
steps(_, _, 0) -> ok;
steps(T, K, N) -> steps(T, ets:next(T, K), N - 1).

some('$end_of_table', _) -> ok;
some({Some, _}, 0) -> lists:foreach(fun whole/1, Some);
some({Some, Rest}, N) -> lists:foreach(fun whole/1, Some), some(ets:select(Rest), N - 1).

%% A fixed table is walked while others insert and delete: what stays all the time is seen exactly once.
fixed() ->
    T = ets:new(f, [public, lists:nth(n(2), [set, ordered_set])]),
    [ets:insert(T, {{stay, I}, rand:bytes(n(80))}) || I <- lists:seq(1, 200)],
    {P, R} = spawn_monitor(fun() -> [begin K = {pass, n(200)}, case n(2) of 1 -> ets:insert(T, {K, I}); 2 -> ets:delete(T, K) end end || I <- lists:seq(1, 2000)], ok end),
    [begin
        ets:safe_fixtable(T, true),
        Seen = walk(T, ets:first(T), []),
        Chunks = chunks(ets:select(T, [{{{stay, '$1'}, '_'}, [], ['$1']}], n(50)), []),
        ets:safe_fixtable(T, false),
        ?assert(lists:sort([I || {stay, I} <- Seen]) =:= lists:seq(1, 200)),
        ?assert(lists:sort(Chunks) =:= lists:seq(1, 200))
    end || _ <- lists:seq(1, n(4))],
    receive {'DOWN', R, process, P, normal} -> ok after ?LONG -> error(late) end,
    ets:delete(T).

walk(_, '$end_of_table', Seen) -> Seen;
walk(T, Key, Seen) -> walk(T, ets:next(T, Key), [Key | Seen]).

chunks('$end_of_table', All) -> All;
chunks({Some, Rest}, All) -> chunks(ets:select(Rest), Some ++ All).

%% Tables go with their owners, or to their heirs.
owners() ->
    Self = self(),
    Pids = [spawn_monitor(fun() ->
        T = ets:new(o, [{heir, Self, I}]),
        ets:insert(T, {key, I, rand:bytes(n(1000))}),
        U = ets:new(o, [public]),
        ets:insert(U, {key, lists:seq(1, n(500))}),
        Self ! {unowned, U},
        case n(2) of 1 -> exit(done); 2 -> ets:give_away(T, Self, I), exit(done) end
    end) || I <- lists:seq(1, n(20))],
    [receive {'DOWN', R, process, P, done} -> ok after ?LONG -> error(late) end || {P, R} <- Pids],
    [receive {'ETS-TRANSFER', T, P, I} -> ?assert(element(2, hd(ets:lookup(T, key))) =:= I), ets:delete(T) after ?LONG -> error(no_transfer) end || {P, _} <- Pids, I <- [any_of(P)], I =/= none],
    [receive {unowned, U} -> ?assert(ets:info(U) =:= undefined) after ?LONG -> error(none) end || _ <- Pids].

%% The number that came with the table of this process.
any_of(P) -> receive {'ETS-TRANSFER', T, P, I} -> self() ! {'ETS-TRANSFER', T, P, I}, I after ?LONG -> error(no_transfer) end.

%% Modules come and go while processes hold their literals, funs and frames.
code() ->
    case [M || M <- ?MODULES, ets:select_replace(soak_locks, [{{M, free}, [], [{{M, self()}}]}]) =:= 1] of
        [] -> timer:sleep(n(5));
        [Module | Others] ->
            [ets:insert(soak_locks, {M, free}) || M <- Others],
            try [code_round(Module) || _ <- lists:seq(1, n(5))] after
                ets:insert(soak_locks, {Module, free})
            end
    end.

code_round(Module) ->
    Self = self(),
    Version = n(3),
    code:purge(Module),
    {module, Module} = code:load_binary(Module, "soak", persistent_term:get({soak_code, Module, Version})),
    Expected = literal(Module, Version),
    ?assert(Module:version() =:= Version),
    %% One holds the literal, and sends it on while the module goes.
    Holders = [spawn_link(fun() -> Literal = Module:literal(), Self ! {ready, self()}, holder(Literal, Self) end) || _ <- lists:seq(1, n(6))],
    [receive {ready, H} -> ok after ?LONG -> error(no_holder) end || H <- Holders],
    %% One has the module on its stack: a purge kills it.
    {Inside, Ref} = spawn_monitor(fun() -> Module:wait(x) end),
    within(Inside, Module),
    %% A fun of the module.
    Fun = Module:fun_of(1),
    ?assert(Fun(2) =:= {1, 2, element(1, Expected)}),
    [H ! {send, Self, I} || H <- Holders, I <- [1, 2]],
    Table = ets:new(l, []),
    ets:insert(Table, {literal, Module:literal()}),
    Mine = Module:literal(),
    Part = Module:part(2),
    %% What was current before this round.
    code:purge(Module),
    case n(3) of
        1 -> true = code:delete(Module), code:purge(Module), receive {'DOWN', Ref, process, Inside, killed} -> ok after ?LONG -> error(not_killed) end;
        2 -> Other = 1 + Version rem 3, {module, Module} = code:load_binary(Module, "soak", persistent_term:get({soak_code, Module, Other})),
             ?assert(not code:soft_purge(Module)), Inside ! stop, receive {'DOWN', Ref, process, Inside, normal} -> ok after ?LONG -> error(not_ended) end,
             ?assert(Module:version() =:= Other), code:purge(Module);
        3 -> Inside ! stop, receive {'DOWN', Ref, process, Inside, normal} -> ok after ?LONG -> error(not_ended) end
    end,
    ?assert(Mine =:= Expected),
    ?assert(Part =:= element(2, Expected)),
    ?assert(ets:lookup(Table, literal) =:= [{literal, Expected}]),
    ets:delete(Table),
    [H ! {send, Self, 3} || H <- Holders],
    [receive {held, H, I, Literal} -> ?assert(Literal =:= Expected) after ?LONG -> error(lost_literal) end || H <- Holders, I <- [1, 2, 3]],
    [begin unlink(H), M = monitor(process, H), exit(H, kill), receive {'DOWN', M, process, H, _} -> ok end end || H <- Holders].

within(Pid, Module) ->
    case process_info(Pid, current_function) of
        {current_function, {Module, wait, 1}} -> ok;
        {current_function, _} -> erlang:yield(), within(Pid, Module)
    end.

holder(Literal, Parent) ->
    receive
        {send, To, I} ->
            To ! {held, self(), I, Literal},
            case n(3) of 1 -> erlang:garbage_collect(); 2 -> put(kept, {Literal, Literal}); 3 -> ok end,
            holder(Literal, Parent)
    end.

%% A program that gives back what it gets.
port() ->
    Port = open_port({spawn_executable, "/bin/cat"}, [{packet, 4}, binary, exit_status, use_stdio]),
    Data = [rand:bytes(n(lists:nth(n(3), [10, 3000, 200_000]))) || _ <- lists:seq(1, n(8))],
    {_, R} = spawn_monitor(fun() -> [port_command(Port, D) || D <- Data], ok end),
    [receive {Port, {data, D}} -> ok after ?LONG -> error({lost_data, byte_size(D)}) end || D <- Data],
    receive {'DOWN', R, process, _, normal} -> ok after ?LONG -> error(late) end,
    M = monitor(port, Port),
    true = port_close(Port),
    receive {'DOWN', M, port, Port, normal} -> ok after ?LONG -> error(no_down) end,
    receive {Port, Extra} -> error({extra, Extra}) after 0 -> ok end.

%% Ports end with their owners, owners hear of their ports' ends.
killed_port() ->
    Self = self(),
    {Owner, R} = spawn_monitor(fun() ->
        Port = open_port({spawn_executable, "/bin/cat"}, [stream, binary]),
        Self ! {port, Port},
        receive stop -> ok end
    end),
    Port = receive {port, P} -> P after ?LONG -> error(no_port) end,
    M = monitor(port, Port),
    case n(2) of 1 -> exit(Owner, kill); 2 -> Owner ! stop end,
    receive {'DOWN', R, process, Owner, _} -> ok after ?LONG -> error(no_down) end,
    receive {'DOWN', M, port, Port, _} -> ok after ?LONG -> error(no_port_down) end,
    Short = open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "exit 7"]}, exit_status]),
    receive {Short, {exit_status, 7}} -> ok; {Short, Odd} -> error(Odd) after ?LONG -> error(no_status) end,
    receive {'EXIT', Short, _} -> ok after 0 -> ok end.

%% Work long enough for a dirty scheduler, on what others look at meanwhile.
dirty() ->
    Self = self(),
    {Pid, R} = spawn_monitor(fun() ->
        Pairs = [{I, I * 2} || I <- lists:seq(1, 20_000 + n(15_000))],
        Map = maps:from_list(Pairs),
        Binary = term_to_binary(Map, [compressed]),
        Back = binary_to_term(Binary),
        ?assert(Back =:= Map),
        {match, _} = re:run(binary:copy(<<"ab1 ">>, 5000), "(\\d\\s)+$"),
        nomatch = re:run(binary:copy(<<"a">>, 3000), "a+b"),
        Sorted = lists:sort(fun({A, _}, {B, _}) -> A >= B end, Pairs),
        ?assert(length(Sorted) =:= map_size(Map)),
        Big = (1 bsl 30_000) + n(1000),
        ?assert((Big * Big) div Big =:= Big),
        Self ! {result, digest(Map)}
    end),
    [begin erlang:process_info(Pid, [status, memory, current_function]), case n(4) of 1 -> erlang:garbage_collect(Pid); _ -> erlang:yield() end end || _ <- lists:seq(1, n(50))],
    case n(4) of
        1 -> exit(Pid, kill), receive {'DOWN', R, process, Pid, _} -> ok after ?LONG -> error(no_down) end;
        _ -> receive {'DOWN', R, process, Pid, normal} -> ok; {'DOWN', R, process, Pid, Why} -> error(Why) after ?LONG -> error(no_down) end, ?expect({result, _}, 1000)
    end,
    receive {result, _} -> ok after 0 -> ok end.

files() ->
    Name = filename:join(persistent_term:get(soak_dir), "f" ++ integer_to_list(erlang:unique_integer([positive]))),
    Data = [rand:bytes(n(30_000)) || _ <- lists:seq(1, n(5))],
    ok = file:write_file(Name, Data),
    {ok, Back} = file:read_file(Name),
    ?assert(Back =:= iolist_to_binary(Data)),
    {ok, Device} = file:open(Name, [read, raw, binary]),
    {ok, <<_/binary>>} = file:pread(Device, 0, 1),
    case n(2) of 1 -> ok = file:close(Device); 2 -> {P, R} = spawn_monitor(fun() -> {ok, _} = file:open(Name, [read, write]), ok end), receive {'DOWN', R, process, P, _} -> ok after ?LONG -> error(late) end, ok = file:close(Device) end,
    ok = file:delete(Name).

%% Tracing goes on and off under processes that run, send and die.
trace() ->
    case ets:insert_new(soak_locks, {trace, self()}) of
        false -> timer:sleep(n(5));
        true ->
            try trace_round() after ets:delete(soak_locks, trace) end
    end.

trace_round() ->
    {Tracer, TR} = spawn_monitor(fun() -> count(0) end),
    Workers = [spawn_monitor(fun() -> traced(n(2000), 0) end) || _ <- lists:seq(1, n(6))],
    Flags = [F || F <- [call, procs, send, 'receive', running, garbage_collection, return_to, timestamp, set_on_spawn, arity], n(2) =:= 1],
    [begin
        [try erlang:trace(P, true, [{tracer, Tracer} | Flags]) catch error:badarg -> gone end || {P, _} <- Workers],
        erlang:trace_pattern({?MODULE, traced, '_'}, lists:nth(n(4), [true, [{'_', [], [{return_trace}]}], [{['$1', '_'], [{'>', '$1', 500}], [{exception_trace}]}], false]), [local]),
        erlang:trace_pattern({?MODULE, traced, '_'}, lists:nth(n(2), [true, false]), [call_count]),
        erlang:yield(),
        [try erlang:trace(P, false, [all]) catch error:badarg -> gone end || {P, _} <- Workers, n(2) =:= 1]
    end || _ <- lists:seq(1, n(6))],
    [exit(P, kill) || {P, _} <- Workers, n(4) =:= 1],
    [receive {'DOWN', R, process, P, _} -> ok after ?LONG -> error(late_worker) end || {P, R} <- Workers],
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [call_count]),
    case n(2) of 1 -> exit(Tracer, kill); 2 -> Tracer ! stop end,
    receive {'DOWN', TR, process, Tracer, _} -> ok after ?LONG -> error(late_tracer) end.

traced(0, Sum) -> Sum;
traced(N, Sum) ->
    case N rem 50 of 0 -> self() ! N, receive N -> ok end; 7 -> spawn(fun() -> ok end); 9 -> erlang:yield(); _ -> ok end,
    X = ?MODULE:traced(0, Sum + N),
    traced(N - 1, X rem 1000).

count(N) -> receive stop -> N; _ -> count(N + 1) end.

%% Processes are looked at, stopped, resumed and collected from outside.
looks() ->
    Pids = [spawn_link(fun() -> busy(term(), n(200)) end) || _ <- lists:seq(1, n(10))],
    [begin
        P = lists:nth(n(length(Pids)), Pids),
        case n(7) of
            1 -> erlang:process_info(P);
            2 -> erlang:process_info(P, [messages, links, monitors, dictionary, current_stacktrace, memory, garbage_collection_info, binary]);
            3 -> try erlang:suspend_process(P), erlang:yield(), erlang:resume_process(P) catch error:badarg -> gone end;
            4 -> erlang:garbage_collect(P);
            5 -> erlang:is_process_alive(P);
            6 -> P ! term(2);
            7 -> process_flag(priority, lists:nth(n(3), [low, normal, high]))
        end
    end || _ <- lists:seq(1, n(200))],
    [begin unlink(P), R = monitor(process, P), exit(P, kill), receive {'DOWN', R, process, P, _} -> ok after ?LONG -> error(not_killed) end end || P <- Pids],
    process_flag(priority, normal),
    erlang:system_info(allocated_areas), erlang:memory(), erlang:statistics(run_queue_lengths), _ = processes(), _ = erlang:ports(), ok.

busy(_, 0) -> receive never -> ok end;
busy(T, N) ->
    receive X -> busy(X, N - 1) after 0 -> put(N rem 7, T), busy([T, N | case T of [_ | Rest] -> Rest; _ -> [] end], N - 1) end.

names() ->
    Name = lists:nth(n(3), [soak_name_a, soak_name_b, soak_name_c]),
    P = spawn(fun() -> receive stop -> ok after 20 -> ok end end),
    try register(Name, P) of
        true ->
            case whereis(Name) of P -> ok; undefined -> ok; Other -> error({wrong, Other}) end,
            catch (Name ! stop),
            case n(2) of 1 -> catch unregister(Name); 2 -> ok end
    catch error:badarg -> ok end,
    exit(P, kill),
    R = monitor(process, P),
    receive {'DOWN', R, process, P, _} -> ok after ?LONG -> error(no_down) end,
    ?assert(whereis(Name) =/= P).

%% Deep stacks, with handlers in them.
stacks() ->
    Depth = n(100_000),
    ?assert(deep(Depth) =:= Depth),
    ?assert(caught(n(3000)) =:= thrown),
    try_deep(n(2000)).

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).
caught(N) -> try throw_at(N) catch throw:T -> T end.
throw_at(0) -> throw(thrown);
throw_at(N) -> {N, throw_at(N - 1)}.
try_deep(0) -> ok;
try_deep(N) -> try try_deep(N - 1) after erlang:put(depth, N) end.

%% A process that outgrows its limit is killed, and only it.
limits() ->
    {P, R} = spawn_opt(fun() -> grow([]) end, [monitor, {max_heap_size, #{size => 20_000 + n(100_000), kill => true, error_logger => false}}]),
    receive {'DOWN', R, process, P, killed} -> ok; {'DOWN', R, process, P, Other} -> error(Other) after ?LONG -> error(not_killed) end.

grow(List) -> grow([{length(lists:sublist(List, 3)), List} | List]).

%% Persistent terms are put and erased under those who hold them.
persistent() ->
    Key = {soak_key, n(4)},
    persistent_term:put(Key, {Key, term(3)}),
    workers(n(4), fun(_) ->
        [case persistent_term:get(Key, none) of {Key, _} = T -> put(held, T); none -> ok end || _ <- lists:seq(1, n(100))],
        case get(held) of {Key, T} -> digest(T), 1; undefined -> 1 end
    end, fun(_) -> ok end),
    persistent_term:erase(Key).

%% Aliases take messages until they are deactivated.
aliases() ->
    P = spawn_link(fun Echo() -> receive {To, X} -> To ! {To, X}, Echo() end end),
    [begin
        A = monitor(process, P, [{alias, reply_demonitor}]),
        P ! {A, I},
        receive {A, I} -> ok after ?LONG -> error(no_reply) end,
        P ! {A, again}
    end || I <- lists:seq(1, n(50))],
    B = alias(), unalias(B), B ! lost,
    receive Extra -> error({extra, Extra}) after 1 -> ok end,
    unlink(P), exit(P, kill).

sleepers() ->
    Pids = [spawn_monitor(fun() -> erlang:hibernate(timer, sleep, [n(20)]) end) || _ <- lists:seq(1, n(200))],
    [P ! wake || {P, _} <- Pids],
    [receive {'DOWN', R, process, P, normal} -> ok after ?LONG -> error(late) end || {P, R} <- Pids].

%% One term to many, each of whom changes its own.
bundles() ->
    Self = self(),
    Term = term(5),
    Pids = [spawn_link(fun() -> receive {T, I} -> Self ! {self(), digest({T, I}), T} end end) || _ <- lists:seq(1, n(50))],
    [P ! {Term, I} || {P, I} <- lists:zip(Pids, lists:seq(1, length(Pids)))],
    [receive {P, D, T} -> ?assert(D =:= digest({Term, I})), ?assert(T =:= Term) after ?LONG -> error(lost) end || {P, I} <- lists:zip(Pids, lists:seq(1, length(Pids)))].

map_churn() ->
    {Map, List} = lists:foldl(fun(_, {M, L}) ->
        K = n(200),
        case n(3) of 1 -> {maps:remove(K, M), lists:keydelete(K, 1, L)}; _ -> V = n(1 bsl 70), {M#{K => V}, lists:keystore(K, 1, L, {K, V})} end
    end, {#{}, []}, lists:seq(1, n(2000))),
    ?assert(lists:sort(maps:to_list(Map)) =:= lists:sort(List)).

%% Binaries that grow at their ends, shared and cut.
binaries() ->
    Parts = [rand:bytes(n(300)) || _ <- lists:seq(1, n(200))],
    Whole = lists:foldl(fun(P, Acc) -> <<Acc/binary, P/binary>> end, <<>>, Parts),
    ?assert(Whole =:= list_to_binary(Parts)),
    Self = self(),
    Bits = lists:foldl(fun(P, Acc) -> <<Acc/bits, 1:3, P/binary>> end, <<>>, Parts),
    spawn_link(fun() -> <<_:3, Rest/bits>> = Bits, Self ! {rest, Rest} end),
    receive {rest, Rest} -> ?assert(<<1:3, Rest/bits>> =:= Bits) after ?LONG -> error(lost) end,
    ?assert(erlang:md5(Whole) =:= erlang:md5(Parts)).
