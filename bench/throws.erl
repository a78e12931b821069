%% The slides' experiment with an exception (docs/parallel.md): `throws PROGRAM WAY N RUNS PERCENT...` does PROGRAM of examples/loops in that way, and throws to the
%% root when more than so many per cent of all solutions have been found; 100 never throws. A line `point PERCENT BEFORE AFTER` for each run: nanoseconds before the
%% first exception is raised, and from there to the handler.
-module(throws).
-export([main/1]).

main([Program, Way, N, Runs | Percents]) ->
    Search = {list_to_atom(Program), list_to_atom(Way), list_to_integer(N)},
    All = loops:solutions(element(1, Search), element(3, Search)),
    % The shares take turns, so that a change of the machine's load meets all of them.
    _ = point(Search, All, 100),
    [begin
         {Before, After} = point(Search, All, list_to_integer(Percent)),
         io:format("point ~s ~w ~w~n", [Percent, Before, After])
     end || _ <- lists:seq(1, list_to_integer(Runs)), Percent <- Percents],
    ok.

%% In a process of its own, which begins with nothing.
point({Program, Way, N}, All, Percent) ->
    {_, Ref} = spawn_monitor(fun() -> exit({took, loops:throwing(Program, Way, N, All * Percent / 100)}) end),
    receive {'DOWN', Ref, process, _, {took, Took}} -> Took end.
