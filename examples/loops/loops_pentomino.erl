%% Pieces of five squares on a board, each of the twelve at most once: how many ways there are.
-module(loops_pentomino).
-export([count/2, count/3, board/1]).

count(How, N) -> count(How, board(N), fun(_) -> ok end).

count(How, {Full, All}, Tell) -> place(How, 0, lists:seq(1, 12), All, Full, Tell).

%% N rows and 60 squares, for N of 3 to 6; else five rows and N squares.
board(N) when N =< 6 -> board(N, 60);
board(N) -> board(5, N).

board(Rows, Squares) -> {(1 bsl Squares) - 1, all(Rows, Squares)}.

%% For each piece and each square the sets of squares that it can cover so that this one is the first of them.
all(Rows, Squares) ->
    list_to_tuple([begin
                       Fits = lists:usort([fitting(Shape, Square, Rows, Squares div Rows) || Shape <- turned(Piece), Square <- lists:seq(0, Squares - 1)]),
                       list_to_tuple([[Set || Set <- Fits, Set =/= none, first_of(Set) =:= Square] || Square <- lists:seq(0, Squares - 1)])
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

place(_, Full, _, _, Full, Tell) ->
    Tell(1),
    1;
place(How, Covered, Left, All, Full, Tell) ->
    Square = first_of(bnot Covered band Full),
    With = fun(Piece) -> piece(How, Piece, element(Square + 1, element(Piece, All)), Covered, Left, All, Full, Tell) end,
    loops_ways:fold(How, With, fun(A, B) -> A + B end, 0, Left).

piece(How, Piece, Sets, Covered, Left, All, Full, Tell) ->
    lists:sum([place(How, Covered bor Set, lists:delete(Piece, Left), All, Full, Tell) || Set <- Sets, Set band Covered =:= 0]).
