%% Maps with keys that the code names: made, changed, taken apart.
-module(map_shapes).
-export([main/0]).

main() ->
    A = t:id(1), B = t:id(2),
    New = #{width => A, adjust => B, precision => [A], pad_char => {B}, encoding => A, strings => B},
    t:c(new, fun() -> {New, #{b => A, a => B}, #{2 => A, 1 => B, a => A}, #{A => 1, a => B}, #{a => A, 1.0 => B}, #{}} end),
    t:c(doubles, fun() -> {#{a => A, b => B, a => B}, #{a => 0}#{b => A, b => B}} end),
    Maps = [#{}, #{a => 0}, #{z => 0, b => 9}, New, #{1 => x, [] => y, "k" => z, {t} => 1, 1.5 => 2}, maps:from_list([{K, K} || K <- lists:seq(1, 31)]),
            maps:from_list([{K, K} || K <- lists:seq(1, 32)]), maps:from_list([{K, K} || K <- lists:seq(1, 40)]), a, []],
    t:each(add, Maps, fun(M) -> sorted(M#{b => A, control_char => B, 7 => [], a => A}) end),
    t:each(add_one, Maps, fun(M) -> sorted(M#{b => A}) end),
    t:each(update, Maps, fun(M) -> M#{a := A} end),
    t:each(update_many, [#{a => 1, b => 2, c => 3, d => 4, 1 => 0} | Maps], fun(M) -> M#{d := A, 1 := [B], a := B} end),
    t:each(take, [#{a => 1, b => 2, c => 3, 1 => 0}, lists:nth(7, Maps) | Maps], fun take/1),
    t:each(one, [#{a => 1} | Maps], fun(#{a := X}) -> {found, X}; (#{1 := X}) -> {number, X}; (M) -> {none, map_size(M)} end),
    t:each(bifs, Maps, fun(M) -> {map_size(M), map_get(a, M)} end),
    t:c(take_large, fun() -> take((lists:nth(8, Maps))#{a => A, b => B}) end),
    t:c(same, fun() -> M = t:id(New), M#{width := A, strings := B} =:= M end),
    t:c(collected, fun() -> [begin garbage_collect(), #{x => I, y => [I]} end || I <- lists:seq(1, 5)] end),
    t:c(sent, fun() -> S = self(), spawn(fun() -> S ! #{from => A, to => B} end), receive M -> M end end),
    t:c(many, fun() -> L = [#{id => I, name => <<I:64>>, more => [I]} || I <- lists:seq(1, 20000)], {length(L), erlang:phash2(L)} end).

sorted(M) -> lists:sort(maps:to_list(M)).

take(#{a := X, b := Y, 1 := Z}) -> {three, X, Y, Z};
take(#{b := Y, a := X}) -> {two, X, Y};
take(#{encoding := E, width := W, adjust := J}) -> {E, W, J};
take(_) -> none.
