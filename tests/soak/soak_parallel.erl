%% Episodes of the soak with the module `parallel`: loops in loops against the same ones of `lists`, and what is not wanted any more. As those of soak_episodes.
-module(soak_parallel).
-export([episodes/0]).

-define(assert(Condition), assert(Condition, ?LINE)).

episodes() -> [{loops, fun loops/0}, {loops, fun loops/0}, {not_wanted, fun not_wanted/0}, {killed_loops, fun killed_loops/0}].

assert(true, _) -> ok;
assert(_, Line) -> error({assertion, Line}).

n(Most) -> rand:uniform(Most).
one(List) -> lists:nth(n(length(List)), List).

%% ---- programs that are drawn

loops() ->
    Program = program(4),
    Expected = outcome(fun() -> by_lists(Program) end),
    [?assert(outcome(fun() -> in_parallel(Program, Options) end) =:= Expected)
     || Options <- [#{}, #{}, #{max => n(3)}, #{steal => {seed, n(1000)}}, #{steal => always}]],
    ?assert(process_info(self(), message_queue_len) =:= {message_queue_len, 0}).

program(0) -> leaf();
program(Depth) ->
    Some = fun(Most) -> [program(Depth - 1) || _ <- lists:seq(1, n(Most))] end,
    case n(8) of
        1 -> leaf();
        2 -> {both, program(Depth - 1), program(Depth - 1)};
        3 -> {'catch', program(Depth - 1)};
        4 -> {fold, Some(8)};
        5 -> {search, Some(8)};
        6 -> {flatmap, Some(8)};
        _ -> {map, Some(12)}
    end.

leaf() ->
    case n(60) of
        1 -> {raise, one([throw, error, exit]), n(100)};
        N when N < 20 -> {work, n(20000), n(1000)};
        _ -> {work, n(200), lists:seq(1, n(30))}
    end.

by_lists({work, N, Value}) -> work(N), Value;
by_lists({raise, Class, Value}) -> erlang:Class(Value);
by_lists({'catch', Program}) -> caught(fun() -> by_lists(Program) end);
by_lists({both, A, B}) ->
    First = by_lists(A),
    {First, by_lists(B)};
by_lists({map, Programs}) -> lists:map(fun by_lists/1, Programs);
by_lists({flatmap, Programs}) -> lists:flatmap(fun(P) -> [by_lists(P), 1] end, Programs);
by_lists({fold, Programs}) -> lists:foldl(fun(P, Acc) -> Acc + erlang:phash2(by_lists(P)) end, 0, Programs);
by_lists({search, Programs}) -> lists:search(fun(P) -> is_found(by_lists(P)) end, Programs).

in_parallel({work, N, Value}, _) -> work(N), Value;
in_parallel({raise, Class, Value}, _) -> erlang:Class(Value);
in_parallel({'catch', Program}, O) -> caught(fun() -> in_parallel(Program, O) end);
in_parallel({both, A, B}, O) -> parallel:both(fun() -> in_parallel(A, O) end, fun() -> in_parallel(B, O) end, O);
in_parallel({map, Programs}, O) -> parallel:map(fun(P) -> in_parallel(P, O) end, Programs, O);
in_parallel({flatmap, Programs}, O) -> parallel:flatmap(fun(P) -> [in_parallel(P, O), 1] end, Programs, O);
in_parallel({fold, Programs}, O) -> parallel:fold(fun(P) -> erlang:phash2(in_parallel(P, O)) end, fun(A, B) -> A + B end, 0, Programs, O);
in_parallel({search, Programs}, O) -> parallel:search(fun(P) -> is_found(in_parallel(P, O)) end, Programs, O).

is_found(Value) -> erlang:phash2(Value) rem 5 =:= 0.

work(0) -> ok;
work(N) -> work(N - 1).

caught(F) ->
    try F()
    catch Class:Reason when Reason =/= {parallel, aborted} -> {caught, Class, Reason}
    end.

outcome(F) ->
    try {ok, F()}
    catch Class:Reason -> {Class, Reason}
    end.

%% ---- what is not wanted any more

%% One element is found; the others would go on for ever, each in its own way.
not_wanted() ->
    Self = self(),
    Count = 1 + n(12),
    Found = n(Count),
    Tag = make_ref(),
    Ways = list_to_tuple([one([wait, work, catch_all, sleep]) || _ <- lists:seq(1, Count)]),
    Seek = fun(X) ->
                   Self ! {Tag, self()},
                   X =:= Found orelse for_ever(element(X, Ways))
           end,
    Options = one([#{steal => always, grace => n(30)}, #{steal => always, grace => 0}]),
    ?assert(parallel:find_any(Seek, {seq, 1, Count}, Options) =:= {value, Found}),
    Helpers = lists:usort(pids(Tag)) -- [Self],
    [gone(Helper) || Helper <- Helpers].

for_ever(wait) -> receive for_ever -> ok end;
for_ever(work) -> work(1000), for_ever(work);
for_ever(catch_all) -> catch (receive for_ever -> ok after 5 -> work(1000) end), for_ever(catch_all);
for_ever(sleep) -> timer:sleep(1), for_ever(sleep).

pids(Tag) ->
    receive {Tag, Pid} -> [Pid | pids(Tag)]
    after 0 -> []
    end.

gone(Pid) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, _, _} -> ok
    after 20000 -> error({lives, Pid, process_info(Pid)})
    end.

%% The caller or a helper is killed.
killed_loops() ->
    Self = self(),
    Tag = make_ref(),
    Count = 2 + n(6),
    Wait = fun(X) -> Self ! {Tag, self()}, receive {Tag, go} -> X end end,
    {Caller, Ref} = spawn_monitor(fun() -> exit({outcome, outcome(fun() -> parallel:map(Wait, lists:seq(1, Count), #{steal => always}) end)}) end),
    All = [receive {Tag, Pid} -> Pid end || _ <- lists:seq(1, Count)],
    Killed = one(All),
    exit(Killed, kill),
    [Pid ! {Tag, go} || Pid <- All],
    receive
        {'DOWN', Ref, process, _, Reason} when Killed =:= Caller -> ?assert(Reason =:= killed);
        {'DOWN', Ref, process, _, Reason} -> ?assert(Reason =:= {outcome, {exit, killed}})
    end,
    [gone(Pid) || Pid <- All].
