%% Mandelbrot with a process for each image, over the square from -2 to 2 both ways.
%%
%% Source: Zhang 2011, sections 4.1.4 and 4.2.1: the paper does not say which part of the plane it computed; the benchmark of that name in BenchErl, which
%% came from OTP as the paper's programs did, has this square, with the paper's limit of 255. examples/mandelbrot.erl deals images out to workers.
%%
%% Arguments: SIZE (pixels a side, 100), IMAGES (240).
%% Result:    the sum of all iteration counts.
-module(images).
-export([main/1]).

-define(LIMIT, 255).

main(Args) ->
    Size = arg(1, Args, 100),
    Images = arg(2, Args, 240),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> Parent ! {sum, rows(0, Size, -2.0 - N * 0.0001, 4.0 / Size, 0)} end)
            || N <- lists:seq(1, Images)],
    %% In the order in which they come: looking for each in turn is quadratic, and on many cores takes longer than the images.
    Sum = lists:sum([receive {sum, S} -> S end || _ <- Pids]),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("images: size ~w, images ~w, checksum ~w~n", [Size, Images, Sum]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

rows(Row, Size, X0, Step, Sum) when Row < Size ->
    rows(Row + 1, Size, X0, Step, row(0, Size, X0, -2.0 + Row * Step, Step, Sum));
rows(_, _, _, _, Sum) ->
    Sum.

row(Col, Size, X0, Ci, Step, Sum) when Col < Size ->
    row(Col + 1, Size, X0, Ci, Step, Sum + iterate(0.0, 0.0, X0 + Col * Step, Ci, 0));
row(_, _, _, _, _, Sum) ->
    Sum.

iterate(_, _, _, _, ?LIMIT) ->
    ?LIMIT;
iterate(Zr, Zi, Cr, Ci, N) ->
    R2 = Zr * Zr,
    I2 = Zi * Zi,
    if
        R2 + I2 > 4.0 -> N;
        true -> iterate(R2 - I2 + Cr, 2.0 * Zr * Zi + Ci, Cr, Ci, N + 1)
    end.
