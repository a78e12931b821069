%% Thousands of the rarer instructions within one slice: none may leave anything on the native stack.
-module(long_slices).
-export([main/0]).

-define(TEN(E), E, E, E, E, E, E, E, E, E, E).

main() ->
    Map = maps:from_list([{N, N} || N <- lists:seq(1, 40)]),
    Bin = t:id(<<0:4000, 1:3>>),
    t:c(update, fun() -> maps:get(a, update(20000, t:id(#{a => 0, b => 0}))) end),
    t:c(update_large, fun() -> maps:get(1, update_large(20000, Map)) end),
    t:c(lists, fun() -> lists(20000, t:id([1, 2, 3])) end),
    t:c(sizes, fun() -> sizes(20000, t:id({1, 2}), Map, Bin) end),
    t:c(guards, fun() -> guards(20000, t:id({1, 2}), t:id(#{a => 1}), [1, 2]) end),
    t:c(matching, fun() -> matching(20000, t:id(<<1:8, 2:16, 1.0:64/float, "abc", 5:3>>), 0) end),
    t:c(building, fun() -> building(20000, t:id(7), <<>>) end),
    t:c(funs, fun() -> funs(20000, fun(X) -> X + 1 end, 0) end),
    t:c(exceptions, fun() -> exceptions(20000, t:id([]), 0) end),
    t:c(undefined_name, fun() -> undefined(20000, 0) end).

update(0, M) -> M;
update(N, M) ->
    M1 = (((((M#{a => N})#{b => N})#{a := 1})#{c => 2})#{a => 3})#{b := N},
    M2 = (((((M1#{a => N})#{b => N})#{a := 1})#{c => 2})#{a => 3})#{b := N},
    update(N - 1, (((((M2#{a => N})#{b => N})#{a := 1})#{c => 2})#{a => 3})#{b := N}).

update_large(0, M) -> M;
update_large(N, M) ->
    update_large(N - 1, (((((((M#{1 => N})#{2 := N})#{3 => 1})#{4 := 2})#{5 => 3})#{6 := N})#{7 => N})#{1 := N * 2}).

lists(0, L) -> L;
lists(N, L) -> [?TEN(hd(tl(L))), ?TEN(hd(tl(L))), ?TEN(length(L))], lists(N - 1, L).

sizes(0, T, M, B) -> {size(T), map_size(M), bit_size(B)};
sizes(N, T, M, B) ->
    _ = [?TEN(tuple_size(T)), ?TEN(map_size(M)), ?TEN(byte_size(B)), ?TEN(bit_size(B)), ?TEN(map_get(1, M)), ?TEN(element(1, T))],
    sizes(N - 1, T, M, B).

guards(0, T, M, L) -> {T, M, L};
guards(N, T, M, L) when hd(L) =:= 1, tl(L) =/= [], length(L) > 1, tuple_size(T) =:= 2, is_map_key(a, M), map_get(a, M) =:= 1,
                        element(2, T) =:= 2, is_function(L, N) =:= false, abs(N) > 0, node() =:= node(self()) ->
    guards(N - 1, T, M, L).

matching(0, _, Sum) -> Sum;
matching(N, <<A, B:16/little, F:64/float, C:2/binary, D/bitstring>> = All, Sum) when is_binary(C), is_bitstring(D) ->
    <<_:24, F:64/float, R/binary-unit:1>> = All,
    matching(N - 1, All, Sum + A + B + byte_size(C) + bit_size(D) + bit_size(R)).

building(0, _, B) -> erlang:crc32(B);
building(N, X, B) ->
    C = <<X:3, N:13, X/float, "text", X:5>>,
    building(N - 1, X, <<B/binary, (byte_size(C)), C:2/binary>>).

funs(0, _, S) -> S;
funs(N, F, S) -> G = fun(X) -> F(X) + N end, funs(N - 1, F, S + G(1) + F(2)).

exceptions(0, _, S) -> S;
exceptions(N, L, S) ->
    A = try hd(L) catch error:badarg -> 1 end,
    B = try throw(L) catch throw:[] -> 2 end,
    exceptions(N - 1, L, S + A + B).

undefined(0, S) -> S;
undefined(N, S) -> undefined(N - 1, S + try no_such_module:f(N) catch error:undef -> 1 end).
