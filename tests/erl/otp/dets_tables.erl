%% DETS: tables on disc, opened again, repaired after a crash, traversed with specifications, moved to and from ETS.
-module(dets_tables).
-export([main/0]).
-include_lib("stdlib/include/qlc.hrl").

main() ->
    [kind(K) || K <- [set, bag, duplicate_bag]],
    t:c(repair, fun repaired/0),
    t:c(many, fun many/0),
    t:c(ets, fun with_ets/0),
    t:c(errors, fun errors/0).

file(Name) -> Name ++ ".dets".

open(T, Options) -> dets:open_file(T, [{file, file(atom_to_list(T))} | Options]).

kind(K) ->
    file:delete(file(atom_to_list(K))),
    t:c(name(K, open), fun() -> open(K, [{type, K}]) end),
    t:c(name(K, insert), fun() -> dets:insert(K, [{N rem 10, N} || N <- lists:seq(1, 30)]) end),
    t:c(name(K, objects), fun() -> lists:sort(dets:lookup(K, 3)) end),
    t:c(name(K, new), fun() -> {dets:insert_new(K, {3, x}), dets:insert_new(K, {a, "text", <<1:3>>, #{k => 1.5}})} end),
    t:c(name(K, match), fun() -> lists:sort(dets:match(K, {'$1', 27})) end),
    t:c(name(K, select), fun() -> lists:sort(dets:select(K, [{{'$1', '$2'}, [{'>', '$2', 25}], [{{'$2', '$1'}}]}])) end),
    t:c(name(K, member), fun() -> [dets:member(K, X) || X <- [1, 11, a]] end),
    t:c(name(K, counter), fun() -> dets:update_counter(K, 3, {2, 5}) end),
    t:c(name(K, delete), fun() -> {dets:delete(K, 4), dets:delete_object(K, {5, 25}), dets:match_delete(K, {6, '_'}), dets:info(K, size)} end),
    t:c(name(K, fold), fun() -> dets:foldl(fun(X, N) when is_integer(element(2, X)) -> element(2, X) + N; (_, N) -> N end, 0, K) end),
    t:c(name(K, traverse), fun() -> lists:sort(dets:traverse(K, fun({a, _, _, _}) -> continue; ({7, V}) -> {continue, V}; (_) -> continue end)) end),
    t:c(name(K, keys), fun() -> lists:usort(keys(K, dets:first(K))) end),
    t:c(name(K, close), fun() -> dets:close(K) end),
    t:c(name(K, again), fun() -> {ok, K} = open(K, [{type, K}, {access, read}]), {lists:sort(dets:match_object(K, '_')), dets:insert(K, {1, 1})} end),
    t:c(name(K, closed), fun() -> {dets:close(K), dets:info(K), dets:is_dets_file(file(atom_to_list(K)))} end).

name(K, What) -> lists:concat([K, " ", What]).

keys(_, '$end_of_table') -> [];
keys(T, K) -> [K | keys(T, dets:next(T, K))].

%% A file that says of itself that nobody closed it has to be repaired.
repaired() ->
    file:delete(file("crashed")), file:delete(file("copy")),
    {ok, crashed} = open(crashed, []),
    ok = dets:insert(crashed, [{N, lists:duplicate(N rem 50, x)} || N <- lists:seq(1, 500)]),
    ok = dets:close(crashed),
    {ok, _} = file:copy(file("crashed"), file("copy")),
    {ok, F} = file:open(file("copy"), [read, write, raw, binary]),
    ok = file:pwrite(F, 8, <<0:32>>),
    ok = file:close(F),
    Refused = open(copy, [{repair, false}]),
    {ok, copy} = open(copy, []),
    Result = {element(1, Refused), element(1, element(2, Refused)), dets:info(copy, size), length(element(2, hd(dets:lookup(copy, 499))))},
    ok = dets:close(copy),
    Result.

many() ->
    file:delete(file("many")),
    {ok, many} = open(many, [{auto_save, 100}, {min_no_slots, 256}]),
    [dets:insert(many, {N, {value, N}}) || N <- lists:seq(1, 5000)],
    [dets:delete(many, N) || N <- lists:seq(1, 5000, 2)],
    [dets:insert(many, {N, {again, N}}) || N <- lists:seq(1, 5000, 5)],
    Chunks = chunks(dets:match_object(many, '_', 100)),
    Result = {dets:info(many, size), length(Chunks), length(lists:usort(Chunks)), dets:select_delete(many, [{{'$1', {again, '_'}}, [], [true]}]), dets:info(many, size)},
    ok = dets:close(many),
    Result.

chunks('$end_of_table') -> [];
chunks({Objects, Rest}) -> Objects ++ chunks(dets:match_object(Rest)).

with_ets() ->
    file:delete(file("moved")),
    E = ets:new(e, []),
    ets:insert(E, [{N, N * N} || N <- lists:seq(1, 100)]),
    {ok, moved} = open(moved, []),
    Moved = dets:from_ets(moved, E),
    ets:delete_all_objects(E),
    E = dets:to_ets(moved, E),
    Back = {ets:info(E, size), ets:lookup(E, 12)},
    Table = dets:table(moved),
    Sum = lists:sum(qlc:e(qlc:q([V || {K, V} <- Table, K =< 10]))),
    ok = dets:close(moved),
    {Moved, Back, Sum}.

errors() ->
    ok = file:write_file(file("bad"), <<"no table">>),
    {open(bad, []), open(nowhere, [{access, read}]), catch dets:lookup(nothing, 1), catch open(x, [{type, heap}])}.
