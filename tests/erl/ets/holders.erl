%% Tables pass from one process that is alone in using them to another, and to several at once: what each does is seen whole, and
%% nothing is lost. A process uses a table several hundred times before others come, as a VM may leave it alone with it until then.
-module(holders).
-export([main/0, main/1]).

-define(ENDLESS, 1_000_000_000).

main() -> main(1).

%% More rounds for a longer look: `erl -noshell -pa EBIN -eval 'holders:main(1000), halt().'`.
main(Rounds) ->
    rand:seed(exsss, {1, 2, 3}),
    Types = [set, ordered_set, bag, duplicate_bag],
    t:each(passed_on, Types, fun(Type) -> rounds(Rounds, fun() -> passed_on(Type) end) end),
    t:each(counted_together, [set, ordered_set], fun(Type) -> rounds(Rounds, fun() -> counted_together(Type) end) end),
    t:each(inherited, Types, fun(Type) -> rounds(Rounds, fun() -> inherited(Type) end) end),
    t:each(deleted_while_used, Types, fun(Type) -> rounds(Rounds * 3, fun() -> deleted_while_used(Type) end) end),
    t:each(owner_ends_while_used, Types, fun(Type) -> rounds(Rounds * 3, fun() -> owner_ends(Type) end) end),
    t:each(fixed_while_used, Types, fun(Type) -> rounds(Rounds, fun() -> fixed_while_used(Type) end) end),
    t:each(two_at_once, [set, ordered_set], fun(Type) -> rounds(Rounds, fun() -> two_at_once(Type) end) end),
    t:each(renamed_while_used, [set, ordered_set], fun(Type) -> rounds(Rounds, fun() -> renamed(Type) end) end).

%% The one answer that all rounds gave.
rounds(N, Fun) ->
    case lists:usort([Fun() || _ <- lists:seq(1, N)]) of
        [Answer] -> Answer;
        Several -> {differ, Several}
    end.

%% Runs in processes of their own, all at the same time; their answers.
together(Funs) ->
    Me = self(),
    Pids = [spawn_link(fun() -> receive go -> ok end, Me ! {self(), F()} end) || F <- Funs],
    [P ! go || P <- Pids],
    [receive {P, Answer} -> Answer end || P <- Pids].

%% Alone with it for so long that it may be left alone.
settle(_, 0) -> ok;
settle(T, Uses) ->
    K = {settled, self()},
    ets:insert(T, object(K, Uses rem 1000)),
    1 = whole(ets:lookup(T, K)),
    ets:delete(T, K),
    settle(T, Uses - 1).

%% All parts of an object say the same.
object(K, V) -> {K, V, {V, binary:copy(<<V:16>>, 50)}, [V | 1.0e300]}.

whole(Objects) ->
    [true = O =:= object(K, V) || {K, V, _, _} = O <- Objects],
    length(Objects).

%% A table goes round among processes by give_away; each adds to it, and sees what came before.
passed_on(Type) ->
    Me = self(),
    T = ets:new(t, [Type, private]),
    Members = [spawn_link(fun() -> member(Me, N) end) || N <- lists:seq(1, 12)],
    [P ! {next, Next} || {P, Next} <- lists:zip(Members, tl(Members) ++ [Me])],
    settle(T, 600),
    ets:give_away(T, hd(Members), 0),
    receive {'ETS-TRANSFER', T, _, Sum} -> {Sum, whole(ets:tab2list(T)), ets:info(T, size), ets:delete(T)} end.

member(Me, N) ->
    Next = receive {next, P} -> P end,
    receive
        {'ETS-TRANSFER', T, From, Sum} ->
            true = is_pid(From),
            settle(T, N * 100),
            ets:insert(T, object(N, N)),
            N = whole(lists:append([ets:lookup(T, K) || K <- lists:seq(1, N)])),
            ets:give_away(T, Next, Sum + N)
    end,
    unlink(Me).

%% One is at home in the table when others come: no count gets lost, whoever makes it.
counted_together(Type) ->
    T = ets:new(t, [Type, public]),
    ets:insert(T, {n, 0}),
    Count = fun(Times) -> fun() -> [ets:update_counter(T, n, 1) || _ <- lists:seq(1, Times)], ok end end,
    (Count(700))(),
    Answers = together([Count(3000), Count(2000), fun() -> erlang:yield(), (Count(1000))() end]),
    (Count(1500))(),
    together([Count(500), fun() -> fill(T, 1, 400) end]),
    [{n, Sum}] = ets:take(T, n),
    R = {lists:usort(Answers), Sum, whole(ets:tab2list(T))},
    ets:delete(T),
    R.

fill(T, From, To) -> [ets:insert(T, object(K, K)) || K <- lists:seq(From, To)], ok.

%% The owner ends in the middle of what it does with the table, by itself or killed; the heir finds all of it, others are using it.
inherited(Type) ->
    Me = self(),
    {P, R} = spawn_monitor(fun() ->
        T = ets:new(t, [Type, public, {heir, Me, gift}]),
        Me ! {table, T},
        settle(T, 600),
        fill(T, 1, 300),
        Me ! filled,
        settle(T, ?ENDLESS)
    end),
    T = receive {table, Tab} -> Tab end,
    receive filled -> ok end,
    {Q, M} = spawn_monitor(fun() -> settle(T, ?ENDLESS) end),
    wait(rand:uniform(20)),
    exit(P, kill),
    receive {'DOWN', R, process, P, killed} -> ok end,
    receive {'ETS-TRANSFER', T, P, gift} -> ok end,
    exit(Q, kill),
    receive {'DOWN', M, process, Q, killed} -> ok end,
    [ets:delete(T, {settled, X}) || X <- [P, Q]],
    settle(T, 600),
    Answer = {whole(ets:tab2list(T)), ets:info(T, size), ets:info(T, owner) =:= Me, ets:info(T, heir) =:= Me},
    ets:delete(T),
    Answer.

until(Done) -> Done() orelse begin erlang:yield(), until(Done) end.

wait(0) -> ok;
wait(N) -> erlang:yield(), wait(N - 1).

%% Deleted by one while others read, write and walk: they go on until they are told that it is gone, and then it is gone to all.
deleted_while_used(Type) ->
    T = ets:new(t, [Type, public]),
    settle(T, 600),
    fill(T, 1, 200),
    Users = users(T),
    wait(rand:uniform(20)),
    ets:delete(T),
    [gone = receive {P, Answer} -> Answer end || P <- Users],
    {ets:info(T), ended(fun() -> ets:lookup(T, 1) end)}.

%% The same, but its owner ends.
owner_ends(Type) ->
    Me = self(),
    {Owner, R} = spawn_monitor(fun() ->
        T = ets:new(t, [Type, public]),
        settle(T, 600),
        fill(T, 1, 200),
        Me ! {table, T},
        settle(T, ?ENDLESS)
    end),
    T = receive {table, Tab} -> Tab end,
    Users = users(T),
    wait(rand:uniform(20)),
    exit(Owner, kill),
    receive {'DOWN', R, process, Owner, killed} -> ok end,
    [gone = receive {P, Answer} -> Answer end || P <- Users],
    {ets:info(T), ended(fun() -> ets:lookup(T, 1) end)}.

users(T) ->
    Me = self(),
    Uses = [fun(N) -> whole(ets:lookup(T, N rem 200 + 1)) end,
            fun(N) -> K = {mine, N rem 50}, ets:insert(T, object(K, N rem 1000)), ets:delete(T, K) end,
            fun(_) -> ets:safe_fixtable(T, true), walked(T, ets:first(T), 20), ets:safe_fixtable(T, false) end,
            fun(N) -> whole(ets:select(T, [{{N rem 200 + 1, '_', '_', '_'}, [], ['$_']}])) end],
    [spawn_link(fun() -> Me ! {self(), ended(fun() -> again(Use, 0) end)} end) || Use <- Uses].

again(Use, N) -> Use(N), again(Use, N + 1).

walked(_, '$end_of_table', _) -> ok;
walked(_, _, 0) -> ok;
walked(T, K, N) -> walked(T, ets:next(T, K), N - 1).

ended(Fun) -> try Fun() catch error:badarg -> gone end.

%% Who has been alone with a table walks it, fixed, while others insert and delete: what stays is seen once.
fixed_while_used(Type) ->
    T = ets:new(t, [Type, public]),
    settle(T, 600),
    fill(T, 1, 300),
    ets:safe_fixtable(T, true),
    Answers = together([
        fun() -> [K || K <- all(T, ets:first(T), 3000), is_integer(K)] end,
        fun() -> [begin K = {comes, N rem 90}, ets:insert(T, object(K, N)), ets:delete(T, K) end || N <- lists:seq(1, 1500)], [] end,
        fun() -> in_parts(ets:select(T, [{{'$1', '_', '_', '_'}, [{is_integer, '$1'}], ['$1']}], 7)) end,
        fun() -> settle(T, 800), [] end]),
    ets:safe_fixtable(T, false),
    settle(T, 1200),
    R = {[{length(A), lists:sum(A)} || A <- Answers], whole(ets:tab2list(T)), ets:info(T, fixed)},
    ets:delete(T),
    R.

%% Others may leave more in the way than they have put there by the end, but not for ever.
all(_, '$end_of_table', _) -> [];
all(_, _, 0) -> [endless];
all(T, K, N) -> [K | all(T, ets:next(T, K), N - 1)].

in_parts('$end_of_table') -> [];
in_parts({Some, Rest}) -> Some ++ in_parts(ets:select(Rest)).

%% Two processes at home in a table each, which they then use both, and copy from one to the other.
two_at_once(Type) ->
    Tables = [A, B] = [ets:new(t, [Type, public]) || _ <- [a, b]],
    Settled = counters:new(1, []),
    Work = fun(Mine, Other) ->
        fun() ->
            settle(Mine, 600),
            counters:add(Settled, 1, 1),
            until(fun() -> counters:get(Settled, 1) =:= 2 end),
            [begin
                ets:insert(Mine, object(N, N)),
                whole(ets:lookup(Other, N)),
                ets:insert(Other, [object({copy, K}, V) || {K, V, _, _} <- ets:lookup(Mine, N)]),
                ets:foldl(fun(O, Sum) -> Sum + whole([O]) end, 0, Other) > 0
            end || N <- lists:seq(1, 60)],
            ok
        end
    end,
    Answers = together([Work(A, B), Work(B, A)]),
    R = {Answers, [{ets:info(T, size), whole(ets:tab2list(T))} || T <- Tables]},
    [ets:delete(T) || T <- Tables],
    R.

%% Known by names that change: who looks for an old name is told so, or finds the table.
renamed(Type) ->
    Names = [holders_a, holders_b],
    ets:new(hd(Names), [Type, public, named_table]),
    settle(hd(Names), 600),
    fill(hd(Names), 1, 100),
    Look = fun() -> lists:usort([case ended(fun() -> ets:lookup(lists:nth(1 + N rem 2, Names), 50) end) of gone -> gone; L -> whole(L) end || N <- lists:seq(1, 2000)]) -- [gone] end,
    Rename = fun() -> [begin ets:rename(A, B), ets:lookup(B, 50) end || N <- lists:seq(1, 200), {A, B} <- [case N rem 2 of 1 -> {holders_a, holders_b}; 0 -> {holders_b, holders_a} end]], ok end,
    R = {together([Look, Rename, Look]), whole(ets:tab2list(holders_a))},
    ets:delete(holders_a),
    R.
