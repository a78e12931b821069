%% The compute set: programs that only compute, in one process, for `cargo xtask bench native`.
%%
%% Started as `erl -noshell -run native main NAME`. Each program is a function of a size. It runs once with a small size, so that its
%% code is loaded, and compiled where a VM does that in the background, then with the full one, and only this run is timed. Prints
%% `checksum X`, which has to be the same on all VMs, and `value N N`, the microseconds that passed and those of processor time;
%% `mandelbrot` has its checksum in a line of its own. `main names` names the programs.
-module(native).
-export([main/1]).

%% The name, the module and function, the small and the full size.
programs() ->
    [{fib, native_calls, fib, 20, 37},
     {tak, native_calls, tak, 8, 30},
     {ackermann, native_calls, ackermann, 3, 10},
     {hanoi, native_calls, hanoi, 10, 25},
     {closures, native_calls, closures, 1000, 8000000},
     {exceptions, native_calls, exceptions, 1000, 4500000},
     {interpreter, native_machine, interpreter, 1000, 800000},
     {nqueens, native_search, nqueens, 6, 12},
     {pentomino, native_search, pentomino, 3, 8},
     {fannkuch, native_search, fannkuch, 6, 9},
     {comp, native_search, comp, 50, 16000},
     {sieve, native_search, sieve, 1000, 1000000},
     {lu, native_floats, lu, 10, 360},
     {gravitation, native_floats, gravitation, 3, 78},
     {nbody, native_floats, nbody, 100, 250000},
     {mandelbrot, mandelbrot, main, ["10", "1", "1"], ["200", "5", "1"]},
     {spectral_norm, native_floats, spectral_norm, 10, 900},
     {binary_trees, native_data, binary_trees, 5, 18},
     {merge_sort, native_data, merge_sort, 100, 600000},
     {lists_sort, native_data, lists_sort, 100, 900000},
     {maps, native_data, maps, 100, 220000},
     {gb_trees, native_data, gb_trees, 100, 120000},
     {dict, native_data, dict, 100, 180000},
     {records, native_data, records, 100, 9000000},
     {json, native_bits, json, 5, 5500},
     {bit_fields, native_bits, bit_fields, 100, 2000000},
     {utf8, native_bits, utf8, 10, 120000},
     {factorial, native_numbers, factorial, 100, 14000},
     {pi_digits, native_numbers, pi_digits, 20, 1400},
     {collatz, native_numbers, collatz, 100, 700000},
     {compile, native_compile, compile, 3, 90}].

main(["names"]) ->
    io:format("~s~n", [lists:join(" ", [atom_to_list(element(1, Program)) || Program <- programs()])]),
    halt();
main([Name]) ->
    {_, Module, Function, Small, Full} = lists:keyfind(list_to_atom(Name), 1, programs()),
    _ = Module:Function(Small),
    {Start, Before} = {erlang:monotonic_time(), processor_time()},
    Result = Module:Function(Full),
    {Time, Took} = {erlang:monotonic_time() - Start, processor_time() - Before},
    io:format("checksum ~w~nvalue ~w ~w~n", [Result, erlang:convert_time_unit(Time, native, microsecond), Took div 1000]),
    halt().

%% Nanoseconds, of all threads.
processor_time() ->
    {ok, Tasks} = file:list_dir("/proc/self/task"),
    lists:sum([time_of("/proc/self/task/" ++ Task ++ "/schedstat") || Task <- Tasks]).

%% A thread may have ended meanwhile.
time_of(File) ->
    case file:read_file(File) of
        {ok, Said} -> binary_to_integer(hd(binary:split(Said, <<" ">>)));
        {error, _} -> 0
    end.
