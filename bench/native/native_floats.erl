%% Floating point. Results are rounded for the checksum, and only they.
-module(native_floats).
-export([lu/1, gravitation/1, nbody/1, spectral_norm/1]).

%% LU decomposition of an N by N matrix that needs no pivots, rows as lists: the product of the diagonal of U, in logarithms.
lu(N) ->
    Matrix = [[cell(Row, Column, N) || Column <- lists:seq(1, N)] || Row <- lists:seq(1, N)],
    rounded(decompose(Matrix, 0.0)).

cell(Row, Row, N) -> float(N);
cell(Row, Column, _) -> 1.0 / (Row + 2.0 * Column).

decompose([], Sum) -> Sum;
decompose([[Pivot | Row] | Rows], Sum) ->
    decompose([eliminate(First / Pivot, Rest, Row) || [First | Rest] <- Rows], Sum + math:log(Pivot)).

eliminate(Factor, [X | Rest], [Y | Row]) -> [X - Factor * Y | eliminate(Factor, Rest, Row)];
eliminate(_, [], []) -> [].

%% The force of (2N+1)^3 particles on a grid on one outside of it.
gravitation(N) ->
    {X, Y, Z} = plane(-N, N, {0.0, 0.0, 0.0}),
    {rounded(X), rounded(Y), rounded(Z)}.

plane(X, N, Force) when X =< N -> plane(X + 1, N, line(X, -N, N, Force));
plane(_, _, Force) -> Force.

line(X, Y, N, Force) when Y =< N -> line(X, Y + 1, N, point(float(X), float(Y), -N, N, Force));
line(_, _, _, Force) -> Force.

point(X, Y, Z, N, {Fx, Fy, Fz}) when Z =< N ->
    {Dx, Dy, Dz} = {X - 100.5, Y - 90.25, Z - 80.125},
    R2 = Dx * Dx + Dy * Dy + Dz * Dz,
    Weight = 1.0e6 / (R2 * math:sqrt(R2)),
    point(X, Y, Z + 1, N, {Fx + Dx * Weight, Fy + Dy * Weight, Fz + Dz * Weight});
point(_, _, _, _, Force) -> Force.

%% Five bodies that attract each other, so many steps: their energy in the end.
nbody(Steps) ->
    rounded(energy(steps(Steps, bodies()), 0.0)).

%% {X, Y, Z, Vx, Vy, Vz, Mass}: a heavy one and four light ones on orbits.
bodies() ->
    [{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 40.0},
     {5.0, 0.1, 0.0, 0.0, 2.8, 0.1, 0.04},
     {-9.0, 0.0, 0.2, 0.1, -2.1, 0.0, 0.01},
     {0.0, 15.0, 0.1, -1.6, 0.0, 0.05, 0.002},
     {0.3, -25.0, 0.0, 1.25, 0.0, 0.0, 0.003}].

steps(0, Bodies) -> Bodies;
steps(N, Bodies) -> steps(N - 1, [move(Body, 0.01) || Body <- pull(Bodies)]).

move({X, Y, Z, Vx, Vy, Vz, Mass}, Dt) ->
    {X + Dt * Vx, Y + Dt * Vy, Z + Dt * Vz, Vx, Vy, Vz, Mass}.

pull([Body | Rest0]) ->
    {Pulled, Rest} = pull(Body, Rest0, []),
    [Pulled | pull(Rest)];
pull([]) -> [].

pull(Body, [], Done) -> {Body, lists:reverse(Done)};
pull({X1, Y1, Z1, Vx1, Vy1, Vz1, M1}, [{X2, Y2, Z2, Vx2, Vy2, Vz2, M2} | Rest], Done) ->
    {Dx, Dy, Dz} = {X1 - X2, Y1 - Y2, Z1 - Z2},
    R2 = Dx * Dx + Dy * Dy + Dz * Dz,
    Strength = 0.01 / (R2 * math:sqrt(R2)),
    {S1, S2} = {M1 * Strength, M2 * Strength},
    One = {X1, Y1, Z1, Vx1 - Dx * S2, Vy1 - Dy * S2, Vz1 - Dz * S2, M1},
    Two = {X2, Y2, Z2, Vx2 + Dx * S1, Vy2 + Dy * S1, Vz2 + Dz * S1, M2},
    pull(One, Rest, [Two | Done]).

energy([{X, Y, Z, Vx, Vy, Vz, Mass} | Rest], Sum) ->
    Kinetic = 0.5 * Mass * (Vx * Vx + Vy * Vy + Vz * Vz),
    Potential = lists:sum([Mass * M / math:sqrt((X - A) * (X - A) + (Y - B) * (Y - B) + (Z - C) * (Z - C))
                           || {A, B, C, _, _, _, M} <- Rest]),
    energy(Rest, Sum + Kinetic - Potential);
energy([], Sum) -> Sum.

%% The largest singular value of the matrix 1 / ((i + j) (i + j + 1) / 2 + i + 1), by the power method.
spectral_norm(N) ->
    {U, V} = power(5, N, [1.0 || _ <- lists:seq(1, N)], []),
    rounded(math:sqrt(dot(U, V, 0.0) / dot(V, V, 0.0))).

power(0, _, U, V) -> {U, V};
power(Left, N, U, _) ->
    V = both(U, N),
    power(Left - 1, N, both(V, N), V).

both(V, N) ->
    Once = [product(Row, 0, V, 0.0) || Row <- lists:seq(0, N - 1)],
    [transposed(0, Column, Once, 0.0) || Column <- lists:seq(0, N - 1)].

product(I, J, [X | V], Sum) -> product(I, J + 1, V, Sum + X / weight(I, J));
product(_, _, [], Sum) -> Sum.

transposed(I, J, [X | V], Sum) -> transposed(I + 1, J, V, Sum + X / weight(I, J));
transposed(_, _, [], Sum) -> Sum.

weight(I, J) -> (I + J) * (I + J + 1) div 2 + I + 1.

dot([X | U], [Y | V], Sum) -> dot(U, V, Sum + X * Y);
dot([], [], Sum) -> Sum.

rounded(X) -> round(X * 1.0e9).
