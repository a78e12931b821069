%% Compressed tables: the same answers as from one that is not, and less memory.
-module(compressed).
-export([main/0]).

main() ->
    t:each(types, [set, ordered_set, bag, duplicate_bag], fun random/1),
    t:each(keypos, [1, 2, 3], fun keypos/1),
    t:each(info, [[compressed], [compressed, compressed], []], fun(O) -> ets:info(ets:new(t, O), compressed) end),
    t:each(smaller, [lists:duplicate(50, $x), lists:seq(1, 50), [{atom, N} || N <- lists:seq(1, 20)],
                     #{a => 1, b => [2, 3]}, list_to_tuple(lists:duplicate(20, foo))], fun smaller/1),
    t:c(elements, fun elements/0),
    t:c(counters, fun counters/0),
    t:c(replaced, fun replaced/0),
    t:c(binaries, fun binaries/0),
    t:c(fixed, fun fixed/0),
    t:c(file, fun file/0),
    t:c(deep, fun deep/0),
    t:c(refused, fun refused/0).

values() ->
    F = fun(X) -> {X, F0} = {X, fun lists:map/2}, {X, F0} end,
    [a, 1, -1, 1 bsl 58, 1 bsl 59, -(1 bsl 59), 1 bsl 64, -(1 bsl 200), 1.5, 0.0, 1.0e300, 3.0e-300, [], "text", [1 | 2], [256, 1],
     lists:seq(0, 300), {}, {a}, {1, {2, {3, [4]}}}, <<>>, <<1, 2, 3>>, <<5:3>>, binary:copy(<<"long">>, 100),
     binary:part(binary:copy(<<"part">>, 100), 5, 200), #{}, #{a => 1}, maps:from_list([{N, {N}} || N <- lists:seq(1, 50)]),
     fun lists:map/2, F(1), self() =:= self(), <<"x">>, {"deep", [{"er", #{k => <<"v">>}}]}].

%% The same operations on a table of each form, each with its result.
random(Type) ->
    Plain = ets:new(plain, [Type]),
    Packed = ets:new(packed, [Type, compressed]),
    Values = list_to_tuple(values()),
    Steps = steps(3000, 42, Values),
    Results = [{result(Plain, Step), result(Packed, Step)} || Step <- Steps],
    {length([x || {A, A} <- Results]), [{S, D} || {S, {A, B} = D} <- lists:zip(Steps, Results), A =/= B],
     lists:sort(ets:tab2list(Plain)) =:= lists:sort(ets:tab2list(Packed)), ets:info(Packed, size)}.

steps(0, _, _) -> [];
steps(N, Seed, Values) ->
    Next = (Seed * 1103515245 + 12345) rem 2147483648,
    Pick = fun(Shift) -> element(1 + (Next bsr Shift) rem tuple_size(Values), Values) end,
    Key = case (Next bsr 4) rem 3 of 0 -> {k, Next rem 17}; 1 -> Pick(5); 2 -> Next rem 29 end,
    Object = {Key, Pick(7), Next rem 100, Pick(9)},
    Step = case (Next bsr 11) rem 16 of
        0 -> {insert_new, Object};
        1 -> {delete, Key};
        2 -> {lookup, Key};
        3 -> {lookup_element, Key, 2 + Next rem 4};
        4 -> {update_counter, Key, {3, Next rem 7}};
        5 -> {update_element, Key, {2 + (Next bsr 3) rem 3, Pick(3)}};
        6 -> {update_element, Key, [{4, Pick(4)}, {2, x}]};
        7 -> {take, Key};
        8 -> {match_object, {'_', Pick(7), '_', '_'}};
        9 -> {select_count, [{{'_', '$1', '$2', '_'}, [{'>', '$2', 50}, {is_list, '$1'}], [true]}]};
        10 -> {delete_object, Object};
        11 -> {insert, [Object, setelement(2, Object, Pick(2)), {Key, Pick(6), Next rem 50, x}]};
        12 -> {update_counter, Key, {2, 1}, {Key, 1, 2, "default"}};
        13 -> {select_replace, [{{'$1', {a}, '$2', '$3'}, [], [{{'$1', "replaced", '$2', '$3'}}]}]};
        _ -> {insert, Object}
    end,
    [Step | steps(N - 1, Next, Values)].

result(T, Step) -> try step(T, Step) catch error:Reason -> {error, Reason} end.

%% What a select gives in an order that is the table's own.
step(T, {match_object, P}) -> lists:sort(ets:match_object(T, P));
step(T, Step) -> [F | Args] = tuple_to_list(Step), apply(ets, F, [T | Args]).

keypos(N) ->
    T = ets:new(t, [compressed, {keypos, N}]),
    ets:insert(T, [{"one", "two", "three"}, {{1}, {2}, {3}}]),
    {lists:sort([ets:lookup(T, K) || K <- ["one", "two", "three", {1}, {2}, {3}]]), ets:lookup_element(T, element(N, {{1}, {2}, {3}}), 1)}.

smaller(Value) ->
    [Plain, Packed] = [begin [ets:insert(T, {N, Value}) || N <- lists:seq(1, 1000)], ets:info(T, memory) end
                       || T <- [ets:new(t, []), ets:new(t, [compressed])]],
    Packed < Plain.

elements() ->
    T = ets:new(t, [compressed]),
    [begin ets:insert(T, {V, V, x, V}), [{V, V, x, V}] = ets:lookup(T, V), V = ets:lookup_element(T, V, 4),
           [[V]] = ets:match(T, {V, '$1', x, '_'}), [{V, V, x, V}] = ets:take(T, V) end || V <- values()],
    {length(values()), ets:info(T, size), ets:info(T, memory) =:= ets:info(ets:new(t, [compressed]), memory)}.

counters() ->
    T = ets:new(t, [compressed]),
    ets:insert(T, {k, 1, "text", 1 bsl 70, {a}}),
    [ets:update_counter(T, k, 5), ets:update_counter(T, k, {4, 1}), ets:update_counter(T, k, [{2, 1}, {4, -1}]),
     catch ets:update_counter(T, k, {3, 1}), ets:update_counter(T, k, {2, 1 bsl 80}), ets:update_counter(T, k, {2, -(1 bsl 80)}),
     ets:update_element(T, k, {3, 7}), ets:update_counter(T, k, {3, 1}), ets:update_element(T, k, [{5, {b, c}}, {3, "more"}]),
     catch ets:update_element(T, k, {6, 1}), catch ets:update_element(T, k, {1, 1}), ets:lookup(T, k),
     ets:update_counter(T, new, {2, 1}, {x, 1, "default"}), ets:lookup(T, new)].

replaced() ->
    T = ets:new(t, [compressed, ordered_set]),
    ets:insert(T, [{N, integer_to_list(N)} || N <- lists:seq(1, 20)]),
    [ets:select_replace(T, [{{'$1', "7"}, [], [{{'$1', {{seven, ["7" | "x"]}}}}]}]), ets:lookup(T, 7),
     ets:select_delete(T, [{{'_', [$1 | '_']}, [], [true]}]), ets:tab2list(T),
     ets:select_reverse(T, [{{'$1', "2"}, [], ['$_']}]), ets:select(T, [{{'_', '$1'}, [], ['$1']}], 3)].

%% The binaries that objects hold are there as long as the objects are.
binaries() ->
    T = ets:new(t, [compressed, bag]),
    B = binary:copy(<<"0123456789">>, 20),
    ets:insert(T, [{k, B}, {k, [B, {binary:part(B, 3, 100)}]}, {B, B}]),
    Held = lists:sort([Size || {_, Size, _} <- ets:info(T, binary)]),
    R = ets:lookup(T, k), erlang:garbage_collect(),
    true = ets:delete(T, k), erlang:garbage_collect(),
    {{sizes, Held}, lists:sort(R) =:= lists:sort([{k, B}, {k, [B, {binary:part(B, 3, 100)}]}]), ets:lookup(T, B) =:= [{B, B}], length(ets:info(T, binary))}.

fixed() ->
    T = ets:new(t, [compressed]),
    ets:insert(T, [{N, "x"} || N <- lists:seq(1, 100)]),
    ets:safe_fixtable(T, true),
    Keys = walk(T, ets:first(T)),
    ets:safe_fixtable(T, false),
    {lists:sort(Keys) =:= lists:seq(1, 100), ets:info(T, size)}.
walk(_, '$end_of_table') -> [];
walk(T, K) -> ets:delete(T, K), ets:insert(T, {K rem 7, "new"}), [K | walk(T, ets:next(T, K))].

file() ->
    Name = "compressed_" ++ os:getpid() ++ ".tab",
    T = ets:new(t, [compressed]),
    ets:insert(T, [{N, integer_to_list(N)} || N <- lists:seq(1, 100)]),
    ok = ets:tab2file(T, Name),
    {ok, New} = ets:file2tab(Name),
    ok = file:delete(Name),
    {ets:info(New, compressed), lists:sort(ets:tab2list(New)) =:= lists:sort(ets:tab2list(T))}.

deep() ->
    T = ets:new(t, [compressed]),
    Deep = lists:foldl(fun(N, D) -> {D, [N | D0]} = {D, [N | []]}, {D, D0} end, [], lists:seq(1, 100000)),
    ets:insert(T, {k, Deep}),
    [{k, Back}] = ets:lookup(T, k),
    Back =:= Deep.

refused() ->
    T = ets:new(t, [compressed]),
    [catch ets:new(t, [{compressed, true}]), catch ets:insert(T, {}), catch ets:insert(T, []), catch ets:insert(T, [{1, "a"}, x]),
     ets:info(T, size), catch ets:lookup_element(T, k, 2), catch ets:update_element(T, k, {2, 1})].
