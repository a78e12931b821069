%% Mandelbrot set: pure floating-point compute, no messages while it works.
%%
%% Source: Zhang 2011, section 4.1.4 (Mandelbrot Set Calculation). Each image is a sequential
%% computation of its own: for every pixel c, iterate z := z*z + c from 0 until |z| exceeds 2, at
%% most 255 times. Here the images are dealt out to worker processes, so the total work does not
%% depend on the number of workers; the paper's form is one worker for each image.
%%
%% Arguments: SIZE (pixels a side, 160), IMAGES (32), WORKERS (schedulers online),
%%            and the word `progress` anywhere to see how far it is on standard error.
%% Result:    pixels inside the set and the sum of all iteration counts.
-module(mandelbrot).
-export([main/1]).

-define(LIMIT, 255).

main(Args0) ->
    Progress = lists:member("progress", Args0),
    Args = [list_to_integer(A) || A <- Args0, A =/= "progress"],
    Size = arg(1, Args, 160),
    Images = arg(2, Args, 32),
    Workers = arg(3, Args, erlang:system_info(schedulers_online)),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> worker(Parent, W, Workers, Images, Size) end)
            || W <- lists:seq(0, Workers - 1)],
    {Inside, Sum} = collect(length(Pids), Images * Size, 0, Progress, 0, 0),
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("mandelbrot: size ~w, images ~w, inside ~w, checksum ~w~n",
              [Size, Images, Inside, Sum]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _Default) when length(Args) >= N -> lists:nth(N, Args);
arg(_, _, Default) -> Default.

collect(0, _, _, Progress, Inside, Sum) ->
    Progress andalso io:put_chars(standard_error, "\r\e[K"),
    {Inside, Sum};
collect(Left, Rows, Done, Progress, Inside, Sum) ->
    receive
        rows when Progress ->
            io:format(standard_error, "\r  ~3w % of ~w rows", [Done * 100 div Rows, Rows]),
            collect(Left, Rows, Done + 16, Progress, Inside, Sum);
        rows ->
            collect(Left, Rows, Done, Progress, Inside, Sum);
        {done, I, S} ->
            collect(Left - 1, Rows, Done, Progress, Inside + I, Sum + S)
    end.

%% Worker W of Workers computes the images W, W + Workers, W + 2*Workers ...
worker(Parent, W, Workers, Images, Size) ->
    {Inside, Sum} = images(Parent, W, Workers, Images, Size, 0, 0),
    Parent ! {done, Inside, Sum}.

images(Parent, N, Step, Images, Size, Inside, Sum) when N < Images ->
    %% The window moves a little from image to image, so that no two are the same.
    X0 = -2.0 - N * 0.0001,
    {I, S} = rows(Parent, 0, Size, X0, 3.0 / Size, 0, 0),
    images(Parent, N + Step, Step, Images, Size, Inside + I, Sum + S);
images(_, _, _, _, _, Inside, Sum) ->
    {Inside, Sum}.

rows(Parent, Row, Size, X0, Step, Inside, Sum) when Row < Size ->
    Row rem 16 =:= 15 andalso (Parent ! rows),
    {I, S} = row(0, Size, X0, -1.5 + Row * Step, Step, 0, 0),
    rows(Parent, Row + 1, Size, X0, Step, Inside + I, Sum + S);
rows(_, _, _, _, _, Inside, Sum) ->
    {Inside, Sum}.

row(Col, Size, X0, Ci, Step, Inside, Sum) when Col < Size ->
    case iterate(0.0, 0.0, X0 + Col * Step, Ci, 0) of
        ?LIMIT -> row(Col + 1, Size, X0, Ci, Step, Inside + 1, Sum + ?LIMIT);
        N -> row(Col + 1, Size, X0, Ci, Step, Inside, Sum + N)
    end;
row(_, _, _, _, _, Inside, Sum) ->
    {Inside, Sum}.

iterate(_, _, _, _, ?LIMIT) ->
    ?LIMIT;
iterate(Zr, Zi, Cr, Ci, N) ->
    R2 = Zr * Zr,
    I2 = Zi * Zi,
    if
        R2 + I2 > 4.0 -> N;
        true -> iterate(R2 - I2 + Cr, 2.0 * Zr * Zi + Ci, Cr, Ci, N + 1)
    end.
