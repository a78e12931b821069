%% What bench/pauses/pauses.erl reckons: percentiles, the collections of a process, and what they have to do with the delays of requests.
-module(pauses_figures).
-export([parts/2, counts/1, trace/1, collections/1, delays/2]).

%% Of some nanoseconds those that so large a part of them does not exceed, in milliseconds; -1 of none.
parts(Parts, []) ->
    [-1 || _ <- Parts];
parts(Parts, Times) ->
    Sorted = list_to_tuple(lists:sort(Times)),
    [element(max(1, ceil(Part * tuple_size(Sorted))), Sorted) / 1.0e6 || Part <- Parts].

%% How many minor collections there were, and milliseconds of the longest; the same of those of both generations.
counts(Collections) ->
    [begin
         Times = [To - From || {K, From, To} <- Collections, K =:= Kind],
         [length(Times), lists:max([0 | Times]) / 1.0e6]
     end || Kind <- [minor, major]].

%% Has the collections of a process noted.
trace(Pid) ->
    Tracer = spawn_opt(fun() -> note([]) end, [{priority, high}]),
    1 = erlang:trace(Pid, true, [garbage_collection, monotonic_timestamp, {tracer, Tracer}]),
    Tracer.

%% Those that were noted, the first first: {minor | major, From, To} in nanoseconds.
collections(Tracer) ->
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    Tracer ! {noted, self()},
    receive {noted, Noted} -> Noted end.

note(Noted) ->
    receive
        {trace_ts, _, Event, _, At} -> note([{Event, erlang:convert_time_unit(At, native, nanosecond)} | Noted]);
        {noted, To} -> To ! {noted, paired(Noted, [])}
    end.

%% Of events, the last first, the collections, the first first.
paired([{gc_minor_end, To}, {gc_minor_start, From} | Earlier], Found) -> paired(Earlier, [{minor, From, To} | Found]);
paired([{gc_major_end, To}, {gc_major_start, From} | Earlier], Found) -> paired(Earlier, [{major, From, To} | Found]);
paired([], Found) -> Found;
%% One that had begun, or one that has not ended.
paired([_ | Earlier], Found) -> paired(Earlier, Found).

%% Of requests, {Due, Done} in their order: the delays of all; those of requests that no collection has a share in; how long each waited while
%% its server collected. A collection has a share in a request that waited for it, or for another request that it has a share in.
delays(Requests, Collections) ->
    {All, Calm, Collecting, _, _, _} = lists:foldl(fun request/2, {[], [], [], Collections, 0, false}, Requests),
    {All, Calm, Collecting}.

request({Due, Done}, {All, Calm, Collecting, Collections, Before, Shared}) ->
    Left = lists:dropwhile(fun({_, _, To}) -> To =< Due end, Collections),
    Meanwhile = lists:takewhile(fun({_, From, _}) -> From < Done end, Left),
    Waited = lists:sum([min(To, Done) - max(From, Due) || {_, From, To} <- Meanwhile]),
    Shares = Meanwhile =/= [] orelse (Shared andalso Due < Before),
    Delay = Done - Due,
    {[Delay | All], if Shares -> Calm; true -> [Delay | Calm] end, [Waited | Collecting], Left, Done, Shares}.
