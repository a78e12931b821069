%% Programs with loops, each done in three ways: sequentially, with the module `parallel`, and with a process for each task (docs/parallel.md).
%%
%% Those of Yasugi et al. (2015), smaller: fib, nqueens, pentomino, lu, comp, grav; and binsearch, which ends by an exception.
-module(loops).
-export([main/1, run/3, default/1, programs/0, throwing/3, throwing/4, solutions/2]).

%% `main PROGRAM HOW [N]`: milliseconds and the result.
main([Program, How | Rest]) ->
    Name = list_to_atom(Program),
    N = case Rest of [] -> default(Name); [Text] -> list_to_integer(Text) end,
    {Us, Result} = timer:tc(?MODULE, run, [Name, list_to_atom(How), N]),
    io:format("~s ~s ~w: ~w ms, ~0p~n", [Program, How, N, Us div 1000, Result]).

programs() -> [fib, nqueens, pentomino, lu, comp, grav, binsearch].

default(fib) -> 32;
default(nqueens) -> 12;
default(pentomino) -> 4;
default(lu) -> 500;
default(comp) -> 30000;
default(grav) -> 150;
default(binsearch) -> 23.

run(fib, How, N) -> loops_search:fib(How, N);
run(nqueens, How, N) -> loops_search:queens(How, N);
run(pentomino, How, N) -> loops_pentomino:count(How, N);
run(lu, How, N) -> loops_numbers:lu(How, N);
run(comp, How, N) -> loops_numbers:comp(How, N);
run(grav, How, N) -> loops_numbers:grav(How, N);
run(binsearch, How, N) -> loops_search:binsearch(How, N).

%% The slides' experiment: an exception goes to the root when more than `Share` of all solutions have been found. Microseconds before the first one is raised, and from
%% there to the handler.
throwing(Program, N, Share) ->
    {Before, After} = throwing(Program, parallel, N, Share * solutions(Program, N)),
    {Before / 1000, After / 1000}.

%% The same when more than `Most` solutions have been found, in nanoseconds.
throwing(Program, How, N, Most) ->
    Found = counters:new(1, []),
    % When the first one was raised: with two parts at work there may be several, and that of the lowest part wins.
    First = atomics:new(1, []),
    Search = search(Program, How, N),
    Begin = erlang:monotonic_time(),
    Tell = fun(Count) ->
                   counters:add(Found, 1, Count),
                   counters:get(Found, 1) > Most andalso
                       begin
                           _ = atomics:compare_exchange(First, 1, 0, max(1, erlang:monotonic_time() - Begin)),
                           throw(enough)
                       end
           end,
    try Search(Tell) of
        _ -> {ns(erlang:monotonic_time() - Begin), 0}
    catch
        throw:enough ->
            End = erlang:monotonic_time() - Begin,
            Raised = atomics:get(First, 1),
            {ns(Raised), ns(End - Raised)}
    end.

search(fib, How, N) -> fun(Tell) -> loops_search:fib(How, N, Tell) end;
search(nqueens, How, N) -> fun(Tell) -> loops_search:queens(How, N, Tell) end;
search(pentomino, How, N) ->
    Board = loops_pentomino:board(N),
    fun(Tell) -> loops_pentomino:count(How, Board, Tell) end.

%% How many there are.
solutions(fib, N) -> loops_search:leaves(N);
solutions(Program, N) -> run(Program, sequential, N).

ns(Native) -> erlang:convert_time_unit(Native, native, nanosecond).
