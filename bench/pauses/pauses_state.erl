%% The states of bench/pauses/pauses.erl: many small tuples, some of which each request replaces.
-module(pauses_state).
-export([entries/2, new/2, handle/3, size/1, bytes/1]).

%% Entries that a request replaces.
-define(REPLACED, 8).
%% Entries of a queue are put into it, and taken out, by so many.
-define(CHUNK, 1000).
%% Entries that a request looks at to take three of four out, until all were looked at.
-define(LOOKED_AT, 40).
%% Entries of a state that is made to see how large one is.
-define(SAMPLE, 100000).

%% How many entries of this shape take so many bytes.
entries(Shape, Bytes) ->
    max(?SAMPLE div 100, Bytes * ?SAMPLE div bytes(new(Shape, ?SAMPLE))).

%% A map; one that loses three of four entries, at random; a `gb_trees` tree; a queue: full chunks, what is put in, what is taken out.
new("map", Entries) ->
    {map, lists:foldl(fun(Key, Map) -> Map#{Key => entry(Key, 0)} end, #{}, lists:seq(1, Entries))};
new("shrinking", Entries) ->
    {map, Map} = new("map", Entries),
    {shrinking, Entries, Map};
new("tree", Entries) ->
    {tree, gb_trees:from_orddict([{Key, entry(Key, 0)} || Key <- lists:seq(1, Entries)])};
new("queue", Entries) ->
    lists:foldl(fun put_in/2, {queue, queue:new(), [], 0, []}, lists:seq(1, Entries)).

%% Request N replaces entries at random; in a queue it puts some in and takes as many out.
handle(N, Entries, {map, Map}) ->
    {map, replaced(N, ?REPLACED, Entries, fun maps:update/3, Map)};
handle(_, _, {shrinking, Left, Map}) when Left > 0 ->
    {shrinking, Left - ?LOOKED_AT, lists:foldl(fun shrunk/2, Map, lists:seq(max(1, Left - ?LOOKED_AT + 1), Left))};
handle(N, Entries, {shrinking, Left, Map}) ->
    {shrinking, Left, replaced(N, ?REPLACED, Entries, fun update/3, Map)};
handle(N, Entries, {tree, Tree}) ->
    {tree, replaced(N, ?REPLACED, Entries, fun gb_trees:update/3, Tree)};
handle(N, _, Queue) ->
    lists:foldl(fun(Nth, Q) -> take_out(put_in(?REPLACED * N + Nth, Q)) end, Queue, lists:seq(1, ?REPLACED)).

size({map, Map}) -> map_size(Map);
size({shrinking, _, Map}) -> map_size(Map);
size({tree, Tree}) -> gb_trees:size(Tree);
size({queue, Chunks, In, _, Out}) -> ?CHUNK * queue:len(Chunks) + length(In) + length(Out).

%% The bytes that it takes.
bytes(State) ->
    erts_debug:flat_size(State) * erlang:system_info(wordsize).

entry(Key, Version) ->
    {entry, Key, Version, Key + 1, Key + 2, Key + 3, Key + 4, Key + 5, Key + 6, Key + 7, Key + 8, Key + 9, Key + 10, Key + 11, Key + 12}.

replaced(_, 0, _, _, State) ->
    State;
replaced(N, Left, Entries, Update, State) ->
    Key = 1 + erlang:phash2(?REPLACED * N + Left, Entries),
    replaced(N, Left - 1, Entries, Update, Update(Key, entry(Key, N), State)).

shrunk(Key, Map) ->
    case erlang:phash2(Key, 4) of
        0 -> Map;
        _ -> maps:remove(Key, Map)
    end.

update(Key, Entry, Map) when is_map_key(Key, Map) -> Map#{Key := Entry};
update(_, _, Map) -> Map.

put_in(Key, {queue, Chunks, In, ?CHUNK, Out}) ->
    put_in(Key, {queue, queue:in(In, Chunks), [], 0, Out});
put_in(Key, {queue, Chunks, In, Count, Out}) ->
    {queue, Chunks, [entry(Key, 0) | In], Count + 1, Out}.

take_out({queue, Chunks, In, Count, []}) ->
    {{value, Out}, Left} = queue:out(Chunks),
    take_out({queue, Left, In, Count, Out});
take_out({queue, Chunks, In, Count, [_ | Out]}) ->
    {queue, Chunks, In, Count, Out}.
