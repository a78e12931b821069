%% Tuples: construction, access, BIFs, errors, matching, records.
-module(tuples).
-export([main/0]).
-record(point, {x = 0, y = 0, label}).

main() ->
    T = t:id({a, b, c}),
    t:c(element, fun() -> [element(I, T) || I <- [1, 2, 3]] end),
    t:each(element_bad, [0, 4, -1, a, 1.0, 1 bsl 64], fun(I) -> element(I, T) end),
    t:c(element_not_tuple, fun() -> element(1, t:id([a])) end),
    t:each(setelement, [1, 2, 3, 0, 4, a], fun(I) -> setelement(I, T, new) end),
    t:c(setelement_not_tuple, fun() -> setelement(1, t:id(a), b) end),
    t:c(sizes, fun() -> {tuple_size(T), size(T), tuple_size(t:id({}))} end),
    t:c(tuple_size_bad, fun() -> tuple_size(t:id(a)) end),
    t:c(size_bad, fun() -> size(t:id([])) end),
    t:c(to_list, fun() -> {tuple_to_list(T), list_to_tuple([x | tuple_to_list(T)]), tuple_to_list(t:id({}))} end),
    t:c(list_to_tuple_bad, fun() -> list_to_tuple(t:id([a | b])) end),
    t:c(tuple_to_list_bad, fun() -> tuple_to_list(t:id(a)) end),
    t:each(make_tuple, [0, 1, 3, -1, a, 1 bsl 24], fun(N) -> erlang:make_tuple(N, x) end),
    t:c(make_tuple3, fun() -> erlang:make_tuple(5, z, [{2, a}, {4, b}, {2, c}]) end),
    t:c(make_tuple3_bad, fun() -> erlang:make_tuple(2, z, [{3, a}]) end),
    t:c(append, fun() -> erlang:append_element(T, d) end),
    t:c(insert, fun() -> [erlang:insert_element(I, T, i) || I <- [1, 2, 4]] end),
    t:c(insert_bad, fun() -> erlang:insert_element(5, T, i) end),
    t:c(delete, fun() -> [erlang:delete_element(I, T) || I <- [1, 2, 3]] end),
    t:c(delete_bad, fun() -> erlang:delete_element(0, T) end),
    t:c(big, fun() -> B = list_to_tuple(lists:seq(1, 70000)), {tuple_size(B), element(65536, B), lists:sum(tuple_to_list(setelement(70000, B, 0)))} end),
    P = #point{x = 1, y = t:id(2)},
    t:c(record, fun() -> {P, P#point.y, P#point{label = here}, is_record(P, point), is_record(P, point, 4), is_record(T, point)} end),
    t:c(badrecord, fun() -> (t:id(T))#point.x end),
    t:c(badrecord_update, fun() -> (t:id({}))#point{x = 1} end),
    t:c(record_index, fun() -> {#point.label, record_info(size, point), record_info(fields, point)} end),
    t:each(shape, [{}, {1}, {1, 2}, {ok, 1}, {error, x}, {a, b, c, d}, foo], fun shape/1),
    t:c(swap, fun() -> {A, B, C} = T, {C, B, A} end),
    t:c(nested, fun() -> {A, {B, [C | D]}} = t:id({1, {2, [3, 4, 5]}}), [A, B, C, D] end),
    t:c(is_record_bad, fun() -> is_record(P, t:id(1)) end),
    t:c(updates, fun() -> lists:foldl(fun(I, Acc) -> setelement(I rem 3 + 1, Acc, I) end, T, lists:seq(1, 10)) end).

shape({}) -> empty;
shape({ok, V}) -> {fine, V};
shape({error, R}) -> {wrong, R};
shape({_}) -> one;
shape({A, B}) -> {two, A, B};
shape(T) when tuple_size(T) > 3 -> many;
shape(_) -> other.
