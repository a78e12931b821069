%% What a fun sees of the library's loop that calls it, and what others see: `lists:foreach/2`, `foldl/3`, `map/2`, `maps:fold/3`.
-module(library_loops).
-export([main/0, stop_at/2]).

main() ->
    [each_of(Loop) || Loop <- [foreach, foldl, map, fold]],
    c(deep_map, fun() -> length(lists:map(fun(X) -> X + 1 end, lists:seq(1, 300000))) end),
    c(nested, fun() -> lists:foldl(fun(X, A) -> A + lists:sum(lists:map(fun(Y) -> X * Y end, [1, 2, 3])) end, 0, [1, 2, 3]) end),
    c(exports, fun() -> {lists:foldl(fun erlang:max/2, 0, [1, 7, 3]), lists:map(fun erlang:abs/1, [-1, 2]), lists:map(fun lists:sum/1, [[1], []])} end),
    c(iterators, fun() -> [maps:fold(fun put_pair/3, [], I) || I <- [maps:iterator(#{a => 1, b => 2}), none, {k, v, none}, {k, v, {l, w, none}}]] end),
    [c({bad_iterator, I}, fun() -> maps:fold(fun put_pair/3, [], I) end) || I <- [{k, v, bad}, {k, v, [7 | #{}]}, {k, v, [0 | x]}, {k, v}, [0 | #{a => b}]]],
    c(large_map, fun large_map/0),
    c(purged, fun purged/0).

%% One of the loops over the elements of a list, which ends in `Tail`.
run(foreach, Fun, List) -> lists:foreach(Fun, List);
run(foldl, Fun, List) -> lists:foldl(fun(X, Acc) -> [Fun(X) | Acc] end, [], List);
run(map, Fun, List) -> lists:map(Fun, List);
run(fold, Fun, List) -> maps:fold(fun(K, V, Acc) -> [Fun(V), K | Acc] end, [], maps:from_list(lists:zip(lists:seq(1, length(List)), List))).

each_of(Loop) ->
    [c({Loop, length(L)}, fun() -> run(Loop, fun(X) -> {X} end, L) end) || L <- [[], [a], [a, b], [a, b, c], lists:seq(1, 40)]],
    [c({Loop, improper, L}, fun() -> run(Loop, fun(X) -> {X} end, L) end) || Loop =/= fold, L <- [[a | b], [a, b | c], a]],
    [c({Loop, fails, Class}, fun() -> run(Loop, fun(X) -> fail(Class, X) end, [1, 2, 3, 4]) end) || Class <- [error, exit, throw]],
    [c({Loop, bad_fun, F}, fun() -> call(Loop, F) end) || F <- [x, fun() -> ok end]],
    [c({Loop, missing, F}, fun() -> call(Loop, F) end) || F <- [fun nowhere:f/1, fun nowhere:f/2, fun nowhere:f/3]],
    c({Loop, seen_inside}, fun() -> run(Loop, fun(_) -> stack(self()) end, [1, 2]) end),
    c({Loop, seen_outside}, fun() -> seen_outside(Loop) end),
    c({Loop, collected}, fun() -> run(Loop, fun(X) -> erlang:garbage_collect(), {X, lists:seq(1, X)} end, [1, 2, 3]) end),
    c({Loop, interrupted}, fun() -> interrupted(Loop) end),
    c({Loop, reductions}, fun() -> reductions(Loop) end),
    c({Loop, traced}, fun() -> traced(Loop, before) end),
    c({Loop, traced_meanwhile}, fun() -> traced(Loop, meanwhile) end).

%% A case of any name.
c(Name, Fun) -> t:c(io_lib:format("~0tp", [t:norm(Name)]), Fun).

call(foreach, F) -> lists:foreach(F, [1]);
call(foldl, F) -> lists:foldl(F, 0, [1]);
call(map, F) -> lists:map(F, [1]);
call(fold, F) -> maps:fold(F, 0, #{a => 1}).

fail(Class, 3) -> erlang:raise(Class, reason, []);
fail(_, X) -> X.

put_pair(K, V, Acc) -> [{K, V} | Acc].

%% Functions, files and lines on a stack, as far as they are the library's or ours.
stack(Pid) ->
    {current_stacktrace, Stack} = process_info(Pid, current_stacktrace),
    [{M, F, A, [P || {line, _} = P <- Where]} || {M, F, A, Where} <- Stack, lists:member(M, [lists, maps])].

stop_at(Parent, N) ->
    Parent ! {self(), N},
    receive go -> N end.

%% A process that waits in the third call of the fun.
seen_outside(Loop) ->
    Parent = self(),
    {Pid, Ref} = spawn_monitor(fun() -> run(Loop, fun(3) -> stop_at(Parent, 3); (X) -> X end, [1, 2, 3, 4]) end),
    receive {Pid, 3} -> ok end,
    Result = {stack(Pid), process_info(Pid, current_function)},
    Pid ! go,
    receive {'DOWN', Ref, _, _, Reason} -> {Result, Reason} end.

%% Suspended, collected and resumed time and again while it runs.
interrupted(Loop) ->
    Parent = self(),
    List = lists:seq(1, 20000),
    {Pid, Ref} = spawn_monitor(fun() ->
        Result = run(Loop, fun(X) -> {X, [X]} end, List),
        Parent ! {self(), erlang:phash2(Result)},
        receive stop -> ok end
    end),
    Result = interrupt(Pid, 50),
    Pid ! stop,
    receive {'DOWN', Ref, _, _, Reason} -> {Result =:= erlang:phash2(run(Loop, fun(X) -> {X, [X]} end, List)), Reason} end.

interrupt(Pid, 0) -> receive {Pid, Hash} -> Hash end;
interrupt(Pid, N) ->
    erlang:suspend_process(Pid),
    erlang:garbage_collect(Pid),
    erlang:resume_process(Pid),
    interrupt(Pid, N - 1).

%% Each call of a turn counts: of funs, the loop's of itself, of `maps:next/1`. (Collections count as well.)
reductions(Loop) ->
    Count = fun(N) ->
        List = lists:seq(1, N),
        {reductions, Before} = process_info(self(), reductions),
        run(Loop, fun(X) -> X end, List),
        {reductions, After} = process_info(self(), reductions),
        After - Before
    end,
    Turns = (Count(3100) - Count(100)) / 3000,
    Least = case Loop of fold -> 4; foldl -> 3; _ -> 2 end,
    Turns > Least - 0.1.

%% What a tracer sees of the loop's calls of itself, set before it begins or in the second call of the fun.
traced(Loop, When) ->
    Parent = self(),
    Functions = [{lists, foreach_1, 2}, {lists, foldl_1, 3}, {lists, map_1, 2}, {maps, fold_1, 3}, {maps, next, 1}],
    Set = fun(Flag) -> [erlang:trace_pattern(MFA, Flag, [local]) || MFA <- Functions] end,
    {Pid, Ref} = spawn_monitor(fun() ->
        receive go -> ok end,
        run(Loop, fun(2) when When =:= meanwhile -> Parent ! set, receive set -> 2 end; (X) -> X end, [1, 2, 3, 4])
    end),
    erlang:trace(Pid, true, [call, arity]),
    When =:= before andalso Set(true),
    Pid ! go,
    When =:= meanwhile andalso receive set -> Set(true), Pid ! set end,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    Set(false),
    D = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, D} -> ok end,
    calls(Pid).

calls(Pid) ->
    receive {trace, Pid, call, MFA} -> [MFA | calls(Pid)] after 0 -> [] end.

large_map() ->
    Map = maps:from_list([{X, X * X} || X <- lists:seq(1, 5000)]),
    Order = maps:fold(fun(K, V, Acc) when V =:= K * K -> [K | Acc] end, [], Map),
    {Order =:= lists:reverse(in_order(maps:next(maps:iterator(Map)))), length(Order)}.

in_order(none) -> [];
in_order({K, _, I}) -> [K | in_order(maps:next(I))].

%% The fun's code goes away in the middle of the loop: the process is killed with it.
purged() ->
    Code = fun() ->
        Forms = [{attribute, 1, module, purged_loop}, {attribute, 1, export, [{f, 1}]},
            {function, 1, f, 1, [{clause, 1, [{var, 1, 'P'}], [], [{'fun', 1, {clauses, [{clause, 1, [{var, 1, 'X'}], [],
                [{call, 1, {remote, 1, {atom, 1, library_loops}, {atom, 1, stop_at}}, [{var, 1, 'P'}, {var, 1, 'X'}]}, {var, 1, 'X'}]}]}}]}]}],
        {ok, M, Binary} = compile:forms(Forms),
        {module, M} = code:load_binary(M, "purged_loop", Binary),
        M
    end,
    M = Code(),
    Fun = M:f(self()),
    {Pid, Ref} = spawn_monitor(fun() -> lists:foreach(Fun, [1, 2, 3]) end),
    receive {Pid, 1} -> ok end,
    Code(),
    Soft = code:soft_purge(M),
    code:purge(M),
    receive {'DOWN', Ref, _, _, Reason} -> {Soft, Reason} end.
