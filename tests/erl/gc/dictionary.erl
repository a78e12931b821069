%% A large process dictionary: what is in it survives collections of all kinds, whether it was put long ago or just now.
-module(dictionary).
-export([main/0]).

-define(KEYS, 500).

main() ->
    io:format("~p~n", [[changes(Seed) || Seed <- [1, 2, 3]]]),
    io:format("~p~n", [shared_values()]),
    io:format("~p~n", [literals()]).

%% Random changes, beside a map that is told of them; collections in between, asked for and not.
changes(Seed) ->
    in_process(fun() -> change(Seed, 20000, #{}) end).

change(_, 0, Map) ->
    lists:sort(get()) =:= lists:sort(maps:to_list(Map));
change(Seed, Left, Map) ->
    Key = key(erlang:phash2({Seed, key, Left}, ?KEYS)),
    case 1 + erlang:phash2({Seed, Left}, 100) of
        N when N =< 2 -> erlang:garbage_collect(self(), [{type, minor}]), change(Seed, Left - 1, Map);
        3 -> erlang:garbage_collect(), change(Seed, Left - 1, Map);
        N when N =< 20 -> true = erase(Key) =:= maps:get(Key, Map, undefined), change(Seed, Left - 1, maps:remove(Key, Map));
        N when N =< 40 -> true = get(Key) =:= maps:get(Key, Map, undefined), change(Seed, Left - 1, Map);
        N when N =< 45 -> true = lists:sort(get()) =:= lists:sort(maps:to_list(Map)), change(Seed, Left - 1, Map);
        _ ->
            Value = value(Left),
            true = put(Key, Value) =:= maps:get(Key, Map, undefined),
            change(Seed, Left - 1, Map#{Key => Value})
    end.

key(N) when N rem 3 =:= 0 -> {key, N};
key(N) when N rem 3 =:= 1 -> integer_to_list(N);
key(N) -> N.

value(N) when N rem 4 =:= 0 -> N;
value(N) when N rem 4 =:= 1 -> {N, [N, N], integer_to_binary(N)};
value(N) when N rem 4 =:= 2 -> binary:copy(<<N:32>>, 50);
value(N) -> lists:seq(1, N rem 50).

%% Values that came in large messages, each from a process that has ended since.
shared_values() ->
    in_process(fun() ->
        Self = self(),
        [put(I, I) || I <- lists:seq(1, 200)],
        Pids = [spawn_monitor(fun() -> Self ! {I, lists:seq(I, I + 2000)} end) || I <- lists:seq(1, 150)],
        [receive {I, List} -> put({large, I}, List) end || I <- lists:seq(1, 150)],
        [receive {'DOWN', Ref, process, _, _} -> ok end || {_, Ref} <- Pids],
        [collections(2) || _ <- lists:seq(1, 10)],
        [erase({large, I}) || I <- lists:seq(1, 150, 2)],
        collections(5),
        erlang:garbage_collect(),
        collections(5),
        {lists:all(fun(I) -> get({large, I}) =:= lists:seq(I, I + 2000) end, lists:seq(2, 150, 2)), length(get())}
    end).

%% Values that were literals when they were put.
literals() ->
    in_process(fun() ->
        Term = {lists:seq(1, 1000), #{a => "b"}},
        persistent_term:put({?MODULE, term}, Term),
        [put(I, I) || I <- lists:seq(1, 200)],
        put(literal, persistent_term:get({?MODULE, term})),
        collections(4),
        persistent_term:erase({?MODULE, term}),
        [begin collections(4), receive after 1 -> ok end end || _ <- lists:seq(1, 100)],
        get(literal) =:= Term
    end).

%% Minor ones.
collections(N) ->
    [erlang:garbage_collect(self(), [{type, minor}]) || _ <- lists:seq(1, N)],
    length(lists:seq(1, 10000)).

in_process(Fun) ->
    {_, Ref} = spawn_monitor(fun() -> exit({result, Fun()}) end),
    receive {'DOWN', Ref, process, _, {result, Result}} -> Result end.
