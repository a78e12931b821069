%% Integers, lists and tuples: searches, permutations, a sieve.
-module(native_search).
-export([nqueens/1, pentomino/1, fannkuch/1, comp/1, sieve/1]).

%% How many ways there are to put N queens on a board.
nqueens(N) -> queens(N, lists:seq(1, N), []).

queens(0, _, _) -> 1;
queens(Row, Columns, Placed) ->
    lists:sum([queens(Row - 1, Columns, [Column | Placed]) || Column <- Columns, is_safe(Column, 1, Placed)]).

is_safe(_, _, []) -> true;
is_safe(Column, Distance, [Other | Placed]) ->
    Column =/= Other andalso abs(Column - Other) =/= Distance andalso is_safe(Column, Distance + 1, Placed).

%% How many ways there are to fill a board of N by 5 with N different pentominoes. The first free square is covered by each piece
%% that is left, in each way that it can lie. The board is an integer, six bits for a row: the free squares and, between them, a border, which no piece can cross
%% without a square on it.
pentomino(N) ->
    Width = 6,
    Rows = [(2#11111 bsl (Width * Row)) || Row <- lists:seq(0, N - 1)],
    Free = lists:foldl(fun(Row, Board) -> Board bor Row end, 0, Rows),
    fill(Free, [lying(Piece, Width) || Piece <- pieces()], []).

fill(0, _, _) -> 1;
fill(Free, Pieces, Passed) ->
    Square = lowest(Free band -Free, 0),
    each_piece(Free, Square, Pieces, Passed, 0).

each_piece(_, _, [], _, Ways) -> Ways;
each_piece(Free, Square, [Piece | Pieces], Passed, Ways) ->
    More = each_way(Free, Square, Piece, join(Passed, Pieces), 0),
    each_piece(Free, Square, Pieces, [Piece | Passed], Ways + More).

each_way(_, _, [], _, Ways) -> Ways;
each_way(Free, Square, [Shape | Shapes], Pieces, Ways) ->
    Mask = Shape bsl Square,
    case Mask band Free of
        Mask -> each_way(Free, Square, Shapes, Pieces, Ways + fill(Free bxor Mask, Pieces, []));
        _ -> each_way(Free, Square, Shapes, Pieces, Ways)
    end.

join([], Pieces) -> Pieces;
join([Piece | Passed], Pieces) -> join(Passed, [Piece | Pieces]).

lowest(1, N) -> N;
lowest(Bit, N) when Bit band 16#FF =:= 0 -> lowest(Bit bsr 8, N + 8);
lowest(Bit, N) -> lowest(Bit bsr 1, N + 1).

%% All shapes of a piece turned and mirrored, as bits above its first square.
lying(Squares, Width) ->
    Turns = fun(S) -> [S, turn(S), turn(turn(S)), turn(turn(turn(S)))] end,
    All = Turns(Squares) ++ Turns([{-X, Y} || {X, Y} <- Squares]),
    lists:usort([as_bits(S, Width) || S <- All]).

turn(Squares) -> [{-Y, X} || {X, Y} <- Squares].

as_bits(Squares, Width) ->
    Places = [Y * Width + X || {X, Y} <- Squares],
    First = lists:min(Places),
    lists:sum([1 bsl (Place - First) || Place <- Places]).

pieces() ->
    [[{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}],
     [{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}],
     [{0, 0}, {1, 0}, {2, 0}, {3, 0}, {2, 1}],
     [{0, 0}, {1, 0}, {2, 0}, {2, 1}, {3, 1}],
     [{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}],
     [{0, 0}, {1, 0}, {2, 0}, {0, 1}, {2, 1}],
     [{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}],
     [{0, 0}, {1, 0}, {2, 0}, {1, 1}, {1, 2}],
     [{0, 0}, {1, 0}, {1, 1}, {2, 1}, {2, 2}],
     [{0, 0}, {0, 1}, {1, 1}, {2, 1}, {2, 2}],
     [{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}],
     [{1, 0}, {2, 0}, {0, 1}, {1, 1}, {1, 2}]].

%% Over all permutations of 1 to N: the most reversals of as many leading elements as the first one says until the first is 1, and the
%% sum of all.
fannkuch(N) -> permute(lists:seq(1, N), N, {0, 0}).

permute(Perm, 1, {Most, Sum}) ->
    Flips = flips(Perm, 0),
    {max(Flips, Most), Sum + Flips};
permute(Perm, N, Found) -> permute(Perm, N, N, Found).

%% Each of the first N elements comes to the place N once.
permute(_, _, 0, Found) -> Found;
permute(Perm, N, Left, Found) ->
    permute(rotate(Perm, N), N, Left - 1, permute(Perm, N - 1, Found)).

rotate([First | Rest], N) -> insert(Rest, N - 1, First).

insert(Rest, 0, X) -> [X | Rest];
insert([Y | Rest], N, X) -> [Y | insert(Rest, N - 1, X)].

flips([1 | _], Flips) -> Flips;
flips([N | _] = Perm, Flips) -> flips(flip(Perm, N, []), Flips + 1).

flip(Rest, 0, Front) -> join(lists:reverse(Front), Rest);
flip([X | Rest], N, Front) -> flip(Rest, N - 1, [X | Front]).

%% Of two lists of N numbers: how many pairs are equal.
comp(N) ->
    A = [X * 7919 rem 1009 || X <- lists:seq(1, N)],
    B = [X * 104729 rem 1013 || X <- lists:seq(1, N)],
    compare(A, B, 0).

compare([], _, Equal) -> Equal;
compare([X | A], B, Equal) -> compare(A, B, count(X, B, Equal)).

count(_, [], Equal) -> Equal;
count(X, [X | B], Equal) -> count(X, B, Equal + 1);
count(X, [_ | B], Equal) -> count(X, B, Equal).

%% Primes below N by the sieve of Eratosthenes on lists: what is left after a prime is merged with its multiples.
sieve(N) -> sieve(lists:seq(3, N, 2), N, 1).

sieve([P | Rest], N, Count) when P * P =< N -> sieve(without(Rest, P * P, 2 * P), N, Count + 1);
sieve(Rest, _, Count) -> Count + length(Rest).

without([X | Rest], Multiple, Step) when X < Multiple -> [X | without(Rest, Multiple, Step)];
without([X | Rest], Multiple, Step) when X =:= Multiple -> without(Rest, Multiple + Step, Step);
without([_ | _] = Rest, Multiple, Step) -> without(Rest, Multiple + Step, Step);
without([], _, _) -> [].
