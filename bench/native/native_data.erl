%% Data structures: trees, lists, and those of the standard library.
-module(native_data).
-export([binary_trees/1, merge_sort/1, lists_sort/1, maps/1, gb_trees/1, dict/1, records/1]).

%% Full binary trees of many depths up to N are made and counted, beside one that stays.
binary_trees(N) ->
    Kept = tree(N),
    Counts = [sizes(1 bsl (N - Depth + 2), Depth, 0) || Depth <- lists:seq(4, N, 2)],
    {size_of(Kept), Counts}.

sizes(0, _, Sum) -> Sum;
sizes(N, Depth, Sum) -> sizes(N - 1, Depth, Sum + size_of(tree(Depth))).

tree(0) -> {nil, nil};
tree(Depth) -> {tree(Depth - 1), tree(Depth - 1)}.

size_of({nil, nil}) -> 1;
size_of({Left, Right}) -> 1 + size_of(Left) + size_of(Right).

merge_sort(N) -> fold(sort(randoms(N), N)).

sort(List, 1) -> [hd(List)];
sort(List, N) ->
    Half = N div 2,
    merge(sort(List, Half), sort(lists:nthtail(Half, List), N - Half)).

merge([X | Xs], [Y | _] = Ys) when X =< Y -> [X | merge(Xs, Ys)];
merge([_ | _] = Xs, [Y | Ys]) -> [Y | merge(Xs, Ys)];
merge([], Ys) -> Ys;
merge(Xs, []) -> Xs.

lists_sort(N) -> fold(lists:sort(randoms(N))).

maps(N) ->
    Keys = randoms(N),
    Map = lists:foldl(fun(Key, Map) -> maps:update_with(Key rem 5000, fun(V) -> V + 1 end, 1, Map) end, #{}, Keys),
    Large = lists:foldl(fun(Key, All) -> All#{Key => Key band 255} end, Map, Keys),
    Small = lists:foldl(fun small/2, #{a => 0, b => 0, c => 0}, Keys),
    {maps:size(Large), found(Keys, Large, 0), maps:fold(fun(_, V, Sum) -> Sum + V end, 0, Map), maps:to_list(Small)}.

small(Key, #{a := A} = Map) when Key rem 3 =:= 0 -> Map#{a := A + 1};
small(Key, #{b := B} = Map) when Key rem 3 =:= 1 -> Map#{b := B + Key band 3};
small(_, #{b := B, c := C} = Map) -> Map#{c := (B + C) band 16#FFFF}.

found([Key | Keys], Map, Sum) ->
    case Map of
        #{Key := Value} -> found(Keys, Map, Sum + Value);
        #{} -> found(Keys, Map, Sum)
    end;
found([], _, Sum) -> Sum.

gb_trees(N) ->
    Keys = randoms(N),
    Tree = lists:foldl(fun(Key, Tree) -> gb_trees:enter(Key, Key band 15, Tree) end, gb_trees:empty(), Keys),
    Sum = lists:foldl(fun(Key, Sum) -> Sum + gb_trees:get(Key, Tree) end, 0, Keys),
    Half = lists:sublist(Keys, N div 2),
    Less = lists:foldl(fun gb_trees:delete_any/2, Tree, Half),
    {gb_trees:size(Tree), gb_trees:size(Less), Sum, fold(gb_trees:keys(Less))}.

dict(N) ->
    Keys = randoms(N),
    Dict = lists:foldl(fun(Key, Dict) -> dict:update_counter(Key rem 50000, 1, Dict) end, dict:new(), Keys),
    Sum = lists:foldl(fun(Key, Sum) -> Sum + dict:fetch(Key rem 50000, Dict) end, 0, Keys),
    {dict:size(Dict), Sum, dict:fold(fun(Key, V, Hash) -> Hash bxor (Key * V) end, 0, Dict)}.

%% A queue of jobs goes round; fields are read, matched and changed.
-record(job, {id, state = ready, left, cost = 0, note}).

records(N) ->
    Jobs = [#job{id = Id, left = 1 + Id rem 7} || Id <- lists:seq(1, 50)],
    Done = turn(N, Jobs, []),
    [{State, length([J || J <- Done, J#job.state =:= State]), lists:sum([J#job.cost || J <- Done, J#job.state =:= State])}
     || State <- [ready, running, waiting]].

turn(0, Jobs, Past) -> Jobs ++ Past;
turn(N, [], Past) -> turn(N, lists:reverse(Past), []);
turn(N, [Job | Jobs], Past) -> turn(N - 1, Jobs, [step(Job) | Past]).

step(#job{state = ready} = Job) -> Job#job{state = running, note = {started, Job#job.id}};
step(#job{state = running, left = 0, id = Id} = Job) -> Job#job{state = waiting, left = 1 + Id rem 5};
step(#job{state = running, left = Left, cost = Cost} = Job) -> Job#job{left = Left - 1, cost = Cost + Left};
step(#job{state = waiting, note = {_, Id}, id = Id} = Job) -> Job#job{state = ready, note = none}.

randoms(N) -> randoms(N, 12345, []).

randoms(0, _, List) -> List;
randoms(N, State, List) ->
    Next = (State * 1103515245 + 12345) band 16#7FFFFFFF,
    randoms(N - 1, Next, [Next bsr 4 | List]).

fold(List) -> lists:foldl(fun(X, Hash) -> (Hash * 31 + X) band 16#FFFFFFF end, 0, List).
