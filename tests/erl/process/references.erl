%% Who refers to a fun (`erlang:fun_info(F, refc)`) and to other nodes (`nodes(known)`, and what OTP's own suites ask for),
%% wherever it is held, and while all schedulers are at work.
-module(references).
-export([main/0]).

main() ->
    t:mute(),
    erts_debug:set_internal_state(available_internal_state, true),
    t:each("fun in", holders(), fun(H) -> alone(fun() -> held(H, fun_of(H), fun count/1) end) end),
    t:each("node in", holders() -- [heir], fun(H) -> alone(fun() -> held(H, pid_of(list_to_atom(atom_to_list(H) ++ "@a")), fun referrers/1) end) end),
    t:c(kinds, fun() -> alone(fun kinds/0) end),
    t:c(known, fun() -> alone(fun known/0) end),
    t:c(of_no_code, fun() -> alone(fun of_no_code/0) end),
    t:c(external, fun() -> erlang:fun_info(fun lists:map/2, refc) end),
    t:c(bad_kind, fun() -> nodes([known | this]) end),
    t:c(bad_option, fun() -> nodes(known, #{node_type => 1}) end),
    t:c(busy, fun busy/0).

holders() ->
    [set, ordered_set, bag, duplicate_bag, compressed, hidden, heir, message, timer, timer_of_name, persistent_term, dictionary,
     specification, continuation, port].

%% A process that holds nothing else.
alone(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({it, Fun()}) end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> ok end,
    wait_until(fun() -> erts_debug:get_internal_state({process_status, Pid}) =:= undefined end),
    case Reason of
        {it, Result} -> Result;
        Other -> Other
    end.

wait_until(Done) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(1), wait_until(Done)
    end.

%% What is counted before, while it is held in another place as well, and afterwards.
held(Holder, Term, Count) ->
    garbage_collect(),
    Before = Count(Term),
    Held = hold(Holder, Term),
    garbage_collect(),
    During = Count(Term),
    release(Holder, Held),
    garbage_collect(),
    {Before, During, Count(Term)}.

count(Fun) -> element(2, erlang:fun_info(Fun, refc)).

fun_of(X) -> fun() -> X end.

%% An identifier of another node.
pid_of(Node) ->
    Name = atom_to_binary(Node),
    binary_to_term(<<131, $X, $w, (byte_size(Name)), Name/binary, 4711:32, 3:32, 4:32>>).

%% How often which kind of holder refers to the node, and in which way.
referrers(Pid) ->
    {{node_references, Nodes}, {dist_references, Names}} = erts_debug:get_internal_state(node_and_dist_references),
    {_, Count, Referrers} = lists:keyfind({node(Pid), 4}, 1, Nodes),
    {_, 1, [{{node, {_, 4}}, [{node, 1}]}]} = lists:keyfind(node(Pid), 1, Names),
    Count = lists:sum([N || {_, Counts} <- Referrers, {_, N} <- Counts]),
    lists:sort([{Kind, lists:sort(Counts)} || {{Kind, _}, Counts} <- Referrers]).

hold(hidden, Term) ->
    Table = ets:new(t, []),
    ets:insert(Table, {key, Term}),
    ets:safe_fixtable(Table, true),
    ets:delete(Table, key),
    Table;
hold(heir, Term) ->
    Heir = spawn(fun() -> receive after infinity -> ok end end),
    {Heir, ets:new(t, [{heir, Heir, Term}])};
hold(message, Term) ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    Pid ! {it, Term},
    Pid;
hold(timer, Term) -> erlang:send_after(1000000, self(), Term);
hold(timer_of_name, Term) -> erlang:start_timer(1000000, nobody_has_this_name, Term);
hold(persistent_term, Term) -> persistent_term:put(?MODULE, {Term, [Term]});
hold(dictionary, Term) -> put(copy, binary_to_term(term_to_binary(Term)));
hold(specification, Term) -> ets:match_spec_compile([{{'$1', '$2'}, [{'=:=', '$1', {const, Term}}], ['$2']}]);
hold(continuation, Term) ->
    Table = ets:new(t, []),
    ets:insert(Table, [{N, x} || N <- lists:seq(1, 10)]),
    {_, Continuation} = ets:select(Table, [{{'$1', Term}, [], ['$1']}, {{'$1', x}, [], ['$1']}], 1),
    {Table, Continuation};
hold(port, Term) ->
    Port = open_port({spawn, "cat"}, []),
    true = erlang:port_set_data(Port, {Term}),
    Port;
hold(compressed, Term) ->
    Table = hold_in([compressed], Term),
    true = ets:insert(Table, {[Term], [Term]}),
    Table;
hold(Type, Term) -> hold_in([Type, named_table], Term).

hold_in(Options, Term) ->
    Table = ets:new(?MODULE, Options),
    true = ets:insert(Table, [{1, Term}, {2, [Term, Term]}]),
    Table.

release(heir, {Heir, Table}) -> ets:delete(Table), exit(Heir, kill);
release(message, Pid) ->
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, _, _} -> ok end,
    wait_until(fun() -> erts_debug:get_internal_state({process_status, Pid}) =:= undefined end);
release(Timer, Reference) when Timer =:= timer; Timer =:= timer_of_name ->
    erlang:cancel_timer(Reference),
    erts_debug:set_internal_state(wait, timer_cancellations),
    erts_debug:set_internal_state(wait, deallocations);
release(persistent_term, _) ->
    persistent_term:erase(?MODULE),
    timer:sleep(100);
release(dictionary, _) -> erase(copy);
release(specification, _) -> ok;
release(continuation, {Table, _}) -> ets:delete(Table);
release(port, Port) ->
    erlang:port_close(Port),
    erts_debug:set_internal_state(wait, deallocations);
release(_, Table) -> ets:delete(Table).

%% Pids, ports and references.
kinds() ->
    Name = <<"c@d">>,
    Terms = [binary_to_term(<<131, B/binary>>) || B <- [<<$X, $w, 3, Name/binary, 4711:32, 3:32, 4:32>>,
                                                         <<$Y, $w, 3, Name/binary, 4711:32, 4:32>>,
                                                         <<$Z, 3:16, $w, 3, Name/binary, 4:32, 1:32, 2:32, 3:32>>,
                                                         <<$Z, 5:16, $w, 3, Name/binary, 4:32, 1:32, 2:32, 3:32, 4:32, 5:32>>]],
    garbage_collect(),
    {referrers(hd(Terms)), length(Terms)}.

%% Known as long as something refers to it.
known() ->
    garbage_collect(),
    erts_debug:set_internal_state(node_tab_delayed_delete, 0),
    Before = nodes(known),
    Pid = pid_of(e@f),
    Of = fun(Nodes) -> [Node || Node <- Nodes, lists:member(Node, [e@f, node()])] end,
    During = {Of(lists:sort(nodes(known))), nodes(), nodes(this), nodes(hidden), Of(lists:sort(nodes([this, known]))),
              [Entry || {e@f, _} = Entry <- nodes(known, #{node_type => true, connection_id => true})], is_pid(t:id(Pid))},
    garbage_collect(),
    erts_debug:set_internal_state(wait, thread_progress),
    After = [lists:member(e@f, nodes(known)) || _ <- [1]],
    erts_debug:set_internal_state(node_tab_delayed_delete, -1),
    {lists:member(e@f, Before), During, After}.

%% Funs outlive their code.
of_no_code() ->
    Forms = [{attribute, 1, module, of_no_code}, {attribute, 1, export, [{f, 1}]},
             {function, 1, f, 1, [{clause, 1, [{var, 1, 'X'}], [], [{'fun', 1, {clauses, [{clause, 1, [], [], [{var, 1, 'X'}]}]}}]}]}],
    {ok, Module, Binary} = compile:forms(Forms, [binary]),
    Load = fun() -> {module, Module} = code:load_binary(Module, "none", Binary) end,
    Load(),
    F = Module:f(1),
    Loaded = count(F),
    Load(),
    Twice = count(F),
    code:purge(Module),
    Once = count(F),
    code:delete(Module),
    Old = count(F),
    code:purge(Module),
    {Loaded, Twice, Once, Old, count(F)}.

%% Counts are exact while other processes are made, end, send, write to tables and collect their heaps.
busy() ->
    Tables = [ets:new(t, [public | Options]) || Options <- [[], [ordered_set], [{write_concurrency, true}, compressed]]],
    Workers = [spawn(fun() -> work(Table, N) end) || Table <- Tables, N <- [0, 1000000]],
    Me = self(),
    F = fun_of(busy),
    Counters = [spawn_link(fun() -> G = other_fun(N), Me ! ready, count_all(G, F, Me) end) || N <- [1, 2, 3]],
    [receive ready -> ok end || _ <- Counters],
    [P ! go || P <- Counters],
    timer:sleep(1500),
    [P ! stop || P <- Counters],
    Counted = [receive {P, Counts} -> Counts end || P <- Counters],
    [exit(P, kill) || P <- Workers],
    Counted.

other_fun(X) -> fun() -> {X} end.

count_all(F, Shared, To) ->
    receive go -> ok end,
    Counts = count_until_stopped(F, Shared, []),
    Keep = {F, Shared},
    To ! {self(), Counts},
    receive never -> Keep end.

count_until_stopped(F, Shared, Counts) ->
    New = lists:usort([{count(F), is_function(Shared)} | Counts]),
    receive stop -> New after 0 -> count_until_stopped(F, Shared, New) end.

work(Table, N) ->
    spawn(fun() -> ets:insert(Table, {N, lists:seq(1, 50)}), self() ! N, receive _ -> ok end, lists:seq(1, 3000) end),
    erlang:send_after(1, self(), {timer, fun() -> {N, Table} end}),
    receive {timer, _} -> ok after 3 -> ok end,
    N rem 50 =:= 0 andalso begin put(large, lists:duplicate(300000, {N})), garbage_collect(), erase(large) end,
    ets:delete(Table, N - 10),
    work(Table, N + 1).
