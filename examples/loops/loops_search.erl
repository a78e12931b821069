%% Recursions and searches.
-module(loops_search).
-export([fib/2, fib/3, leaves/1, queens/2, queens/3, binsearch/2]).

fib(sequential, N) -> fib(N);
fib(How, N) -> tree(How, N).

fib(N) when N < 2 -> 1;
fib(N) -> fib(N - 1) + fib(N - 2).

tree(_, N) when N < 2 -> 1;
tree(How, N) ->
    {A, B} = loops_ways:both(How, fun() -> tree(How, N - 1) end, fun() -> tree(How, N - 2) end),
    A + B.

%% Tells of the leaves, those of a small tree at once: what all cores write at each leaf would be all that they wait for.
fib(How, N, Tell) when N =< 10 -> told(Tell, tree(How, N));
fib(How, N, Tell) ->
    {A, B} = loops_ways:both(How, fun() -> fib(How, N - 1, Tell) end, fun() -> fib(How, N - 2, Tell) end),
    A + B.

told(Tell, Count) ->
    Tell(Count),
    Count.

leaves(N) -> fib(N).

%% How many ways there are to place N queens.
queens(How, N) -> queens(How, N, fun(_) -> ok end).

queens(How, N, Tell) -> row(How, N, N, [], Tell).

row(_, _, 0, _, Tell) -> told(Tell, 1);
row(sequential, N, Left, Placed, Tell) ->
    lists:sum([row(sequential, N, Left - 1, [Column | Placed], Tell) || Column <- lists:seq(1, N), is_safe(Column, 1, Placed)]);
row(How, N, Left, Placed, Tell) ->
    Place = fun(Column) ->
                    case is_safe(Column, 1, Placed) of
                        true -> row(How, N, Left - 1, [Column | Placed], Tell);
                        false -> 0
                    end
            end,
    loops_ways:fold(How, Place, fun(A, B) -> A + B end, 0, {seq, 1, N}).

is_safe(_, _, []) -> true;
is_safe(Column, Distance, [Other | Placed]) ->
    Column =/= Other andalso abs(Column - Other) =/= Distance andalso is_safe(Column, Distance + 1, Placed).

%% A tree of depth N is searched for one of its leaves, three quarters of the way: an exception ends the search.
binsearch(How, N) ->
    Sought = 3 * (1 bsl (N - 2)),
    try half(How, 0, N, Sought)
    catch throw:{found, Leaf} -> Leaf
    end.

half(_, Leaf, 0, Leaf) -> throw({found, Leaf});
half(_, _, 0, _) -> none;
half(sequential, First, Depth, Sought) ->
    half(sequential, First, Depth - 1, Sought),
    half(sequential, First + (1 bsl (Depth - 1)), Depth - 1, Sought);
half(tasks, First, Depth, Sought) when Depth > 12 ->
    % An exception of a task ends this process.
    Half = fun(From) -> fun() -> try half(tasks, From, Depth - 1, Sought) catch throw:Found -> Found end end end,
    [throw(Found) || {found, _} = Found <- loops_ways:tasks([Half(First), Half(First + (1 bsl (Depth - 1)))])],
    none;
half(tasks, First, Depth, Sought) -> half(sequential, First, Depth, Sought);
half(parallel, First, Depth, Sought) ->
    parallel:both(fun() -> half(parallel, First, Depth - 1, Sought) end,
                  fun() -> half(parallel, First + (1 bsl (Depth - 1)), Depth - 1, Sought) end, #{order => any}).
