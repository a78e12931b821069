%% What a tracer sees of a program for `bench/heaps`: how much there was of it, or its collections.
-module(heaps_seen).
-export([counts/0, collections/0, print/1, print_stops/1]).

%% Processes made and messages sent. The result of the whole program is not one of them.
counts() -> counts(0, -1).

counts(Made, Sent) ->
    receive
        {trace, _, spawn, _, _} -> counts(Made + 1, Sent);
        {trace, _, send, _, _} -> counts(Made, Sent + 1);
        {trace, _, send_to_non_existing_process, _, _} -> counts(Made, Sent + 1);
        {seen, From} -> From ! {seen, {Made, Sent}};
        _ -> counts(Made, Sent)
    end.

%% What is known so far: of each process the words that its heap has and uses, and since when it collects; the sums, the most that they
%% came to, the durations of all collections, and the sums of both kinds of them.
-record(seen, {heaps = #{}, begun = #{}, has = 0, uses = 0, most_has = 0, most_uses = 0, stops = [], minor = 0, major = 0}).

collections() -> collections(#seen{}).

collections(S) ->
    receive
        {trace_ts, Pid, gc_minor_start, Info, Time} -> collections(begins(Pid, Info, Time, S));
        {trace_ts, Pid, gc_major_start, Info, Time} -> collections(begins(Pid, Info, Time, S));
        {trace_ts, Pid, gc_minor_end, Info, Time} ->
            {Took, After} = ends(Pid, Info, Time, S),
            collections(After#seen{minor = After#seen.minor + Took});
        {trace_ts, Pid, gc_major_end, Info, Time} ->
            {Took, After} = ends(Pid, Info, Time, S),
            collections(After#seen{major = After#seen.major + Took});
        {trace_ts, Pid, spawned, _, _, _} -> collections(heap(Pid, {first(), 0}, S));
        {trace_ts, Pid, exit, _, _} -> collections(heap(Pid, {0, 0}, S));
        {seen, From} -> From ! {seen, S};
        _ -> collections(S)
    end.

begins(Pid, Info, Time, S) ->
    After = heap(Pid, words(Info), S),
    After#seen{begun = maps:put(Pid, Time, S#seen.begun)}.

ends(Pid, Info, Time, S) ->
    Took = erlang:convert_time_unit(Time - maps:get(Pid, S#seen.begun, Time), native, nanosecond),
    After = heap(Pid, words(Info), S),
    {Took, After#seen{stops = [Took | S#seen.stops]}}.

heap(Pid, {Has, Uses}, #seen{heaps = Heaps} = S) ->
    {HadBefore, UsedBefore} = maps:get(Pid, Heaps, {0, 0}),
    {AllHave, AllUse} = {S#seen.has + Has - HadBefore, S#seen.uses + Uses - UsedBefore},
    S#seen{heaps = maps:put(Pid, {Has, Uses}, Heaps), has = AllHave, uses = AllUse,
           most_has = max(AllHave, S#seen.most_has), most_uses = max(AllUse, S#seen.most_uses)}.

words(Info) ->
    Sum = fun(Keys) -> lists:sum([proplists:get_value(Key, Info, 0) || Key <- Keys]) end,
    {Sum([heap_block_size, old_heap_block_size, mbuf_size]), Sum([heap_size, stack_size, old_heap_size, mbuf_size])}.

%% The words of a heap that has just been made.
first() ->
    {min_heap_size, Words} = erlang:system_info(min_heap_size),
    Words.

%% Stops of all processes, {Nanoseconds, HowMany}; no words are known.
print_stops(Stops) ->
    [io:format("stop ~w ~w~n", [Ns, N]) || {Ns, N} <- Stops, N > 0],
    io:format("kinds ~w 0~n", [lists:sum([Ns * N || {Ns, N} <- Stops])]).

print(S) ->
    [io:format("stop ~w 1~n", [Stop]) || Stop <- lists:sort(S#seen.stops)],
    io:format("kinds ~w ~w~n", [S#seen.minor, S#seen.major]),
    io:format("words ~w ~w~n", [S#seen.most_has, S#seen.most_uses]).
