%% Sizes of heaps and the like, at their borders: of one process, of a new one, of all new ones.
-module(heap_sizes).
-export([main/0]).

-define(BORDERS, [-1, 0, 1, 12, 100, 232, 233, 234, 46422, 46423, (1 bsl 31) - 1, 1 bsl 31, (1 bsl 32) - 1, 1 bsl 32, 1 bsl 34, 1 bsl 40,
                  1062920605531495, 1 bsl 59, (1 bsl 60) - 1, 1 bsl 60, 1 bsl 63, 1 bsl 64, 1 bsl 70, a, 1.0]).
%% What takes no memory may be larger still.
-define(NUMBERS, [1062920605531496, (1 bsl 59) - 1 | ?BORDERS]).

main() ->
    t:mute(),
    t:each(flag_min_heap_size, ?BORDERS, fun(N) -> flag(min_heap_size, N) end),
    t:each(flag_min_bin_vheap_size, ?BORDERS, fun(N) -> flag(min_bin_vheap_size, N) end),
    t:each(flag_fullsweep_after, ?NUMBERS, fun(N) -> flag(fullsweep_after, N) end),
    t:each(flag_max_heap_size, ?NUMBERS, fun(N) -> flag(max_heap_size, N) end),
    t:each(flag_max_heap_size_map, ?NUMBERS, fun(N) -> flag(max_heap_size, #{size => N}) end),
    %% A first heap is made at once.
    t:each(spawn_min_heap_size, [N || N <- ?BORDERS, not is_integer(N) orelse N < 1 bsl 31 - 1 orelse N >= 1 bsl 59], fun(N) -> spawned([{min_heap_size, N}]) end),
    %% The other option has this one heeded on OTP.
    t:each(spawn_min_bin_vheap_size, ?BORDERS, fun(N) -> spawned([{min_heap_size, 233}, {min_bin_vheap_size, N}]) end),
    t:each(spawn_fullsweep_after, ?NUMBERS, fun(N) -> spawned([{fullsweep_after, N}]) end),
    t:each(spawn_max_heap_size, ?NUMBERS, fun(N) -> spawned([{max_heap_size, N}]) end),
    t:each(system_fullsweep_after, ?NUMBERS, fun(N) -> system(fullsweep_after, N) end),
    t:each(system_max_heap_size, ?NUMBERS -- [233, 234], fun(N) -> system(max_heap_size, N) end),
    t:each(system_min_heap_size, small(), fun(N) -> system(min_heap_size, N) end),
    t:each(system_min_bin_vheap_size, small(), fun(N) -> system(min_bin_vheap_size, N) end),
    t:c(heap_sizes, fun() -> erlang:system_info(heap_sizes) end).

%% OTP keeps 32 bits of these two.
small() -> [N || N <- ?BORDERS, not is_integer(N) orelse N < 1 bsl 16 orelse N >= 1 bsl 59].

%% A process of its own, which ends before its next collection would heed the flag.
flag(Flag, Value) ->
    S = self(),
    {P, M} = spawn_monitor(fun() -> S ! {self(), try process_flag(Flag, Value), process_info(self(), Flag) catch C:R -> {C, R} end} end),
    receive {P, Answer} -> erlang:demonitor(M, [flush]), Answer; {'DOWN', M, _, _, Reason} -> Reason end.

spawned(Options) ->
    S = self(),
    P = spawn_opt(fun() -> S ! {self(), process_info(self(), [K || {K, _} <- Options])} end, Options),
    receive {P, Answer} -> Answer end.

system(Flag, Value) ->
    Old = erlang:system_flag(Flag, Value),
    New = erlang:system_info(Flag),
    erlang:system_flag(Flag, Old),
    New.
