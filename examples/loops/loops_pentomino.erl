%% The twelve pieces of five squares on a board of 60: how many ways there are.
-module(loops_pentomino).
-export([count/2, count/3]).

%% The board is Rows rows high: 3, 4, 5 or 6.
count(How, Rows) -> count(How, Rows, fun() -> ok end).

count(How, Rows, Tell) ->
    Width = 60 div Rows,
    place(How, 0, lists:seq(1, 12), all(Rows, Width), (1 bsl 60) - 1, Tell).

%% For each piece and each square the sets of squares that it can cover so that this one is the first of them.
all(Rows, Width) ->
    list_to_tuple([begin
                       Fits = lists:usort([fitting(Shape, Square, Rows, Width) || Shape <- turned(Piece), Square <- lists:seq(0, 59)]),
                       list_to_tuple([[Set || Set <- Fits, Set =/= none, first_of(Set) =:= Square] || Square <- lists:seq(0, 59)])
                   end || Piece <- pieces()]).

pieces() ->
    [[{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}], [{0, 1}, {0, 2}, {1, 0}, {1, 1}, {2, 1}], [{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}],
     [{0, 1}, {1, 1}, {2, 0}, {2, 1}, {3, 0}], [{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}], [{0, 0}, {0, 1}, {0, 2}, {1, 1}, {2, 1}],
     [{0, 0}, {0, 2}, {1, 0}, {1, 1}, {1, 2}], [{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}], [{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}],
     [{0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}], [{0, 1}, {1, 0}, {1, 1}, {2, 1}, {3, 1}], [{0, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 2}]].

turned(Piece) ->
    Turn = fun(Shape) -> moved([{Y, -X} || {X, Y} <- Shape]) end,
    Turns = fun(Shape) -> [Shape, Turn(Shape), Turn(Turn(Shape)), Turn(Turn(Turn(Shape)))] end,
    lists:usort(Turns(moved(Piece)) ++ Turns(moved([{X, -Y} || {X, Y} <- Piece]))).

moved(Shape) ->
    {Left, Top} = {lists:min([X || {X, _} <- Shape]), lists:min([Y || {_, Y} <- Shape])},
    lists:sort([{X - Left, Y - Top} || {X, Y} <- Shape]).

fitting(Shape, Square, Rows, Width) ->
    At = [{Square div Rows + X, Square rem Rows + Y} || {X, Y} <- Shape],
    case lists:all(fun({X, Y}) -> X < Width andalso Y < Rows end, At) of
        true -> lists:foldl(fun({X, Y}, Set) -> Set bor (1 bsl (X * Rows + Y)) end, 0, At);
        false -> none
    end.

first_of(Set) -> first_of(Set, 0).
first_of(Set, N) when Set band (1 bsl N) =/= 0 -> N;
first_of(Set, N) -> first_of(Set, N + 1).

place(_, Full, [], _, Full, Tell) ->
    Tell(),
    1;
place(How, Covered, Left, All, Full, Tell) ->
    Square = first_of(bnot Covered band Full),
    With = fun(Piece) -> piece(How, Piece, element(Square + 1, element(Piece, All)), Covered, Left, All, Full, Tell) end,
    loops_ways:fold(How, With, fun(A, B) -> A + B end, 0, Left).

piece(How, Piece, Sets, Covered, Left, All, Full, Tell) ->
    lists:sum([place(How, Covered bor Set, lists:delete(Piece, Left), All, Full, Tell) || Set <- Sets, Set band Covered =:= 0]).
