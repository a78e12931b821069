%% The order of all terms and every comparison operator between each two.
-module(comparison).
-export([main/0]).

values() ->
    [-1, 0, 1, 1.0, -0.5, 1 bsl 60, 1.0e30, 1 bsl 100, -(1 bsl 100), 9007199254740993, 9007199254740992.0,
     a, aa, b, '', 'å', true, false, {}, {1}, {1.0}, {1, 2}, {a, b}, {b}, #{}, #{a => 1}, #{a => 2}, #{b => 1},
     #{1 => a}, #{1.0 => a}, #{a => 1, b => 2}, [], [1], [1.0], [1, 2], [1 | 2], [a], "abc", [[]], <<>>, <<1>>, <<1:1>>, <<2>>,
     <<1, 2>>, <<255:7>>, <<"abc">>, fun erlang:abs/1, fun lists:map/2, fun lists:map/3].

main() ->
    [t:c(io_lib:format("~0tp", [A]),
         fun() -> lists:flatten([[cmp(A, B, $<), cmp(A, B, $=)] || B <- values()]) end)
     || A <- values()],
    t:c(sort, fun() -> lists:sort(values()) end),
    t:c(usort, fun() -> lists:usort(values() ++ values()) end),
    t:c(reverse_sort, fun() -> lists:sort(fun(A, B) -> A >= B end, values()) end),
    Self = self(),
    Ref = make_ref(),
    Fun = fun() -> Self end,
    t:c(kinds, fun() -> lists:sort([[], <<>>, #{}, {}, Self, Fun, Ref, a, 1, [1]]) end),
    t:c(pids, fun() -> {Self =:= t:id(Self), Self < t:id(Ref), Self > t:id(Ref), Self == t:id(a)} end),
    t:c(refs, fun() -> R2 = make_ref(), {Ref < R2, Ref =:= Ref, Ref == R2} end),
    t:c(min_max, fun() -> {min(1, 1.0), min(1.0, 1), max(1, 1.0), max(a, 1), min([], {})} end),
    t:c(deep, fun() -> A = nest(100000, []), B = nest(100000, []), {A =:= B, A == B, A < [A]} end),
    t:c(deep_tuple, fun() -> A = tnest(100000, 1), B = tnest(100000, 1.0), {A =:= B, A == B, A < B} end),
    t:c(long_lists, fun() -> A = lists:seq(1, 100000), {A =:= lists:seq(1, 100000), A < lists:seq(1, 99999) ++ [0], A == [float(X) || X <- A]} end),
    t:c(map_order, fun() -> lists:sort([#{b => 1}, #{a => 9, c => 0}, #{a => 1}, #{1 => 1}, #{1.5 => 1}, #{{} => 1}]) end),
    t:c(big_maps, fun() -> A = maps:from_list([{I, I} || I <- lists:seq(1, 100)]),
                           B = maps:from_list([{I, I} || I <- lists:seq(100, 1, -1)]),
                           {A =:= B, A == B#{5 := 5.0}, A =:= B#{5 := 5.0}, A < B#{5 := 6}, A > B#{50 := 6}} end),
    t:c(bits, fun() -> lists:sort([<<1:1>>, <<0:1>>, <<1:8>>, <<1:9>>, <<0:3>>, <<128>>]) end),
    t:c(unaligned, fun() -> <<_:3, A:16/bits, _/bits>> = t:id(<<255, 1, 2, 3>>), <<B:16/bits, _/bits>> = t:id(<<248, 8, 1>>), {A, B, A =:= B, A < B} end).

cmp(A, B, $<) -> case {A < B, A =< B, A > B, A >= B} of
                     {true, true, false, false} -> $<;
                     {false, false, true, true} -> $>;
                     {false, true, false, true} -> $=
                 end;
cmp(A, B, $=) -> case {A =:= B, A == B, A =/= B, A /= B} of
                     {true, true, false, false} -> $!;
                     {false, true, true, false} -> $~;
                     {false, false, true, true} -> $.
                 end.

nest(0, X) -> X;
nest(N, X) -> nest(N - 1, [X]).
tnest(0, X) -> X;
tnest(N, X) -> tnest(N - 1, {X}).
