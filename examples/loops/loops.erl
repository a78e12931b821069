%% Programs with loops, each done in three ways: sequentially, with the module `parallel`, and with a process for each task (docs/parallel.md).
%%
%% Those of Yasugi et al. (2015), smaller: fib, nqueens, pentomino, lu, comp, grav; and binsearch, which ends by an exception.
-module(loops).
-export([main/1, run/3, default/1, programs/0, throwing/3]).

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

%% The slides' experiment: an exception goes to the root when more than `Share` of all solutions have been found. Microseconds before it is raised, and from there
%% to the handler.
throwing(Program, N, Share) ->
    All = case Program of
              fib -> loops_search:leaves(N);
              _ -> run(Program, sequential, N)
          end,
    Found = counters:new(1, []),
    Begin = erlang:monotonic_time(),
    Tell = fun() ->
                   counters:add(Found, 1, 1),
                   counters:get(Found, 1) > Share * All andalso throw({enough, erlang:monotonic_time()})
           end,
    try
        case Program of
            fib -> loops_search:fib(parallel, N, Tell);
            nqueens -> loops_search:queens(parallel, N, Tell);
            pentomino -> loops_pentomino:count(parallel, N, Tell)
        end,
        {us(erlang:monotonic_time() - Begin), 0}
    catch
        throw:{enough, Raised} -> {us(Raised - Begin), us(erlang:monotonic_time() - Raised)}
    end.

us(Native) -> erlang:convert_time_unit(Native, native, microsecond).
