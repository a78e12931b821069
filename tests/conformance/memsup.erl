%% Stand-in for os_mon's memsup, which need not be installed: suites ask it whether large cases fit.
%% Never more than two gigabytes are admitted, as several cases run at once.
-module(memsup).
-export([get_system_memory_data/0, get_memory_data/0]).

get_system_memory_data() ->
    {ok, Text} = file:read_file("/proc/meminfo"),
    Value = fun(Key) ->
                    {match, [Kb]} = re:run(Text, Key ++ ":\\s+(\\d+) kB", [{capture, all_but_first, list}]),
                    min(list_to_integer(Kb) * 1024, 1 bsl 31)
            end,
    [{available_memory, Value("MemAvailable")}, {total_memory, Value("MemTotal")}, {system_total_memory, Value("MemTotal")},
     {free_memory, Value("MemFree")}].

get_memory_data() ->
    Data = get_system_memory_data(),
    {proplists:get_value(total_memory, Data), 0, {self(), 0}}.
