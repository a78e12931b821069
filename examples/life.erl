%% Life: Conway's game on a torus, each square a process that talks to its eight neighbours.
%%
%% Source: Johansson, Sagonas, Wilhelmsson 2002, section 6.1 (life, a 10 by 10 board). A square
%% sends its state to its neighbours, waits for theirs, and steps. Neighbours can be one generation
%% ahead, so states carry the generation and are received selectively.
%%
%% Arguments: SIDE (10), GENERATIONS (3010).
%% Result:    living squares at the end and the board folded into a number.
-module(life).
-export([main/1, run/1]).

main(Args) ->
    Side = arg(1, Args, 10),
    Generations = arg(2, Args, 3010),
    Start = erlang:monotonic_time(millisecond),
    Board = board(Side, Generations),
    Time = erlang:monotonic_time(millisecond) - Start,
    Hash = lists:foldl(fun(Bit, H) -> (H * 31 + Bit + 7) rem 16#FFFFFFB end, 0, Board),
    io:format("life: side ~w, generations ~w, living ~w, checksum ~w~n",
              [Side, Generations, lists:sum(Board), Hash]),
    io:format("time ~w ms~n", [Time]).

%% The same for `bench/heaps`: a square is told its neighbours, tells them its states, and tells its last one.
run([Side, Generations]) ->
    Squares = Side * Side,
    {Squares, Squares * (8 * Generations + 2), lists:sum(board(Side, Generations))}.

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

%% A glider in the corner: it never dies out, and comes home every 40 generations on a side of 10.
alive(X, Y) ->
    case lists:member({X, Y}, [{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}]) of
        true -> 1;
        false -> 0
    end.

board(Side, Generations) ->
    Parent = self(),
    Places = [{X, Y} || Y <- lists:seq(0, Side - 1), X <- lists:seq(0, Side - 1)],
    Pids = [spawn_link(fun() -> square(Parent, alive(X, Y), Generations) end) || {X, Y} <- Places],
    At = maps:from_list(lists:zip(Places, Pids)),
    [begin
         Near = [maps:get({(X + Dx + Side) rem Side, (Y + Dy + Side) rem Side}, At)
                 || Dx <- [-1, 0, 1], Dy <- [-1, 0, 1], {Dx, Dy} =/= {0, 0}],
         maps:get({X, Y}, At) ! {neighbours, Near}
     end || {X, Y} <- Places],
    [receive {final, P, State} -> State end || P <- Pids].

square(Parent, State, Generations) ->
    receive {neighbours, Near} -> ok end,
    generation(Parent, Near, State, Generations).

generation(Parent, _, State, 0) ->
    Parent ! {final, self(), State};
generation(Parent, Near, State, Left) ->
    [P ! {state, Left, State} || P <- Near],
    generation(Parent, Near, step(State, gather(Left, 8, 0)), Left - 1).

gather(_, 0, Sum) -> Sum;
gather(Generation, N, Sum) ->
    receive {state, Generation, S} -> gather(Generation, N - 1, Sum + S) end.

step(_, 3) -> 1;
step(State, 2) -> State;
step(_, _) -> 0.
