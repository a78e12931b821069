%% The module `parallel` (docs/parallel.md): what its functions give, and that is what those of `lists` give, however the loops are cut.
-module(loops).
-export([main/0]).

main() ->
    t:parallel(),
    [same(N, Options) || N <- [0, 1, 2, 3, 10, 100], Options <- options()],
    [nested(Options) || Options <- options()],
    data(),
    sorting(),
    bad().

options() ->
    [#{}, #{steal => always}, #{steal => always, max => 1}, #{max => 0}, #{steal => always, order => any}]
        ++ [#{steal => {seed, Seed}} || Seed <- [1, 2, 3]].

%% One line for a length and options, with what differs.
same(N, Options) ->
    List = lists:seq(1, N),
    Square = fun(X) -> X * X end,
    Third = fun(X) -> X rem 3 =:= 0 end,
    Even = fun(X) when X rem 2 =:= 0 -> {true, -X}; (X) -> X rem 3 =:= 0 end,
    Twice = fun(X) -> [X, X + 1] end,
    Large = fun(X) -> X > 40 end,
    Rising = fun(X) -> X < 40 end,
    Data = [List, {seq, 1, N}, list_to_tuple(List)],
    Pairs =
        [{map, fun() -> lists:map(Square, List) end, fun(D) -> parallel:map(Square, D, Options) end},
         {foreach, fun() -> lists:foreach(Square, List) end, fun(D) -> parallel:foreach(Square, D, Options) end},
         {filter, fun() -> lists:filter(Third, List) end, fun(D) -> parallel:filter(Third, D, Options) end},
         {filtermap, fun() -> lists:filtermap(Even, List) end, fun(D) -> parallel:filtermap(Even, D, Options) end},
         {flatmap, fun() -> lists:flatmap(Twice, List) end, fun(D) -> parallel:flatmap(Twice, D, Options) end},
         {all, fun() -> lists:all(Rising, List) end, fun(D) -> parallel:all(Rising, D, Options) end},
         {any, fun() -> lists:any(Large, List) end, fun(D) -> parallel:any(Large, D, Options) end},
         {search, fun() -> lists:search(fun(X) -> X =:= 77 end, List) end, fun(D) -> parallel:search(fun(X) -> X =:= 77 end, D, Options) end},
         {find_any, fun() -> lists:search(fun(X) -> X =:= 77 end, List) end, fun(D) -> parallel:find_any(fun(X) -> X =:= 77 end, D, Options) end},
         {fold, fun() -> lists:foldl(fun(X, Acc) -> Acc ++ [X] end, [], List) end,
          fun(D) -> parallel:fold(fun(X) -> [X] end, fun(A, B) -> A ++ B end, [], D, Options) end}],
    Differ = [{Name, Expected, Got} || {Name, Of, In} <- Pairs, D <- Data, Expected <- [Of()], Got <- [In(D)], Got =/= Expected],
    Joined = parallel:join([fun() -> X end || X <- List], Options),
    t:p(io_lib:format("~w ~0p", [N, Options]), {Differ, Joined =:= List, erlang:phash2(lists:map(Square, List))}).

nested(Options) ->
    Table = fun(Map) -> Map(fun(X) -> Map(fun(Y) -> X * Y end, lists:seq(1, 12)) end, lists:seq(1, 9)) end,
    Fib = fun(_, N) when N < 2 -> N;
             (F, N) ->
                  {A, B} = parallel:both(fun() -> F(F, N - 1) end, fun() -> F(F, N - 2) end, Options),
                  A + B
          end,
    t:p(io_lib:format("nested ~0p", [Options]),
        {Table(fun(F, L) -> parallel:map(F, L, Options) end) =:= Table(fun lists:map/2), Fib(Fib, 9)}).

data() ->
    t:c(range, fun() -> parallel:map(fun(X) -> X + 1 end, {seq, 3, 7}) end),
    t:c(empty_range, fun() -> parallel:map(fun(X) -> X + 1 end, {seq, 3, 2}) end),
    t:c(large_range, fun() -> parallel:map(fun(X) -> X end, {seq, 1 bsl 70, (1 bsl 70) + 2}, #{steal => always}) end),
    t:c(last_small, fun() -> parallel:fold(fun(X) -> X rem 7 end, fun(A, B) -> A + B end, 0, {seq, (1 bsl 60) - 200000, (1 bsl 60) + 200000}) end),
    t:c(tuple, fun() -> parallel:map(fun(X) -> X + 1 end, {3, 4}) end),
    t:c(map, fun() -> lists:sort(parallel:map(fun({K, V}) -> {V, K} end, #{a => 1, b => 2})) end),
    t:c(both, fun() -> parallel:both(fun() -> a end, fun() -> b end) end),
    t:c(join, fun() -> {parallel:join([]), parallel:join([fun() -> a end])} end),
    t:c(fold_zero, fun() -> parallel:fold(fun(X) -> X end, fun(A, B) -> A + B end, 0, []) end).

sorting() ->
    List = [(N * 7919) rem 30011 || N <- lists:seq(1, 30000)],
    Keyed = [{X rem 50, X} || X <- List],
    ByKey = fun({A, _}, {B, _}) -> A =< B end,
    t:p(sort, [parallel:sort(List, O) =:= lists:sort(List) || O <- options()]),
    t:p(sort_by, [parallel:sort(ByKey, Keyed, O) =:= lists:sort(ByKey, Keyed) || O <- options()]),
    t:p(sort_short, parallel:sort([3, 1, 2])).

bad() ->
    Id = fun(X) -> X end,
    Bad = [{map, [a, []]}, {map, [fun() -> ok end, []]}, {map, [Id, a]}, {map, [Id, [], a]}, {map, [Id, [], #{a => 1}]}, {map, [Id, [], #{max => -1}]},
           {map, [Id, [], #{order => b}]}, {map, [Id, [], #{steal => c}]}, {map, [Id, [], #{grace => d}]}, {map, [Id, [1 | 2]]},
           {foreach, [a, []]}, {filter, [a, []]}, {filtermap, [a, []]}, {flatmap, [a, []]}, {all, [a, []]}, {any, [a, []]}, {search, [a, []]},
           {find_any, [a, []]}, {fold, [a, b, c, []]}, {sort, [a]}, {sort, [a, []]}, {both, [a, b]}, {join, [a]}, {join, [[a]]}],
    [t:p(io_lib:format("bad ~w ~0p", [F, t:norm(A)]), t:outcome(fun() -> apply(parallel, F, A) end)) || {F, A} <- Bad],
    Wrong = fun(X) -> {wrong, X} end,
    t:p(bad_filter, t:outcome(fun() -> parallel:filter(Wrong, [1, 2]) end)),
    t:p(bad_flatmap, t:outcome(fun() -> parallel:flatmap(Wrong, [1, 2]) end)).
