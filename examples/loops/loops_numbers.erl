%% Numbers: matrices, pairs, forces.
-module(loops_numbers).
-export([lu/2, comp/2, grav/2]).

%% Decomposes a matrix of N rows: the sum of what comes out, rounded.
lu(How, N) ->
    Rows = [list_to_tuple([element_of(I, J, N) || J <- lists:seq(1, N)]) || I <- lists:seq(1, N)],
    round(lists:sum([lists:sum(tuple_to_list(Row)) || Row <- eliminate(How, 1, Rows, [])])).

element_of(I, I, N) -> float(N + I);
element_of(I, J, _) -> ((I * 7 + J * 13) rem 11) / 11.

eliminate(_, _, [], Done) -> Done;
eliminate(How, K, [Pivot | Rows], Done) ->
    By = element(K, Pivot),
    Below = fun(Row) ->
                    Factor = element(K, Row) / By,
                    {Left, Right} = lists:split(K - 1, tuple_to_list(Row)),
                    [_ | Behind] = Right,
                    list_to_tuple(Left ++ [Factor | less(Behind, lists:nthtail(K, tuple_to_list(Pivot)), Factor)])
            end,
    eliminate(How, K + 1, loops_ways:map(How, Below, Rows), [Pivot | Done]).

less([X | Xs], [Y | Ys], Factor) -> [X - Factor * Y | less(Xs, Ys, Factor)];
less([], [], _) -> [].

%% How many pairs of two rows of N numbers are the same.
comp(How, N) ->
    Second = [(J * 7919) rem 1009 || J <- lists:seq(1, N)],
    loops_ways:fold(How, fun(I) -> same((I * 104729) rem 1009, Second, 0) end, fun(A, B) -> A + B end, 0, {seq, 1, N}).

same(X, [X | Rest], Count) -> same(X, Rest, Count + 1);
same(X, [_ | Rest], Count) -> same(X, Rest, Count);
same(_, [], Count) -> Count.

%% The force of a grid of (2N + 1) * (2N + 1) * (2N + 1) bodies on one beside it.
grav(How, N) ->
    Sum = fun({A, B, C}, {D, E, F}) -> {A + D, B + E, C + F} end,
    Zero = {0.0, 0.0, 0.0},
    Plane = fun(X) -> loops_ways:fold(How, fun(Y) -> line(float(X), float(Y), -N, N, Zero) end, Sum, Zero, {seq, -N, N}) end,
    {X, Y, Z} = loops_ways:fold(How, Plane, Sum, Zero, {seq, -N, N}),
    {round(1.0e6 * X), round(1.0e6 * Y), round(1.0e6 * Z)}.

line(_, _, Z, N, Force) when Z > N -> Force;
line(X, Y, Z, N, {A, B, C}) ->
    {Dx, Dy, Dz} = {X - 1.3 * N, Y - 0.2, Z - 0.4},
    Square = Dx * Dx + Dy * Dy + Dz * Dz,
    By = 1.0 / (Square * math:sqrt(Square)),
    line(X, Y, Z + 1, N, {A + Dx * By, B + Dy * By, C + Dz * By}).
