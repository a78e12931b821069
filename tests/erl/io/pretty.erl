%% io_lib_pretty: the very lists that it gives, on one line and on many, by column, width and depth.
-module(pretty).
-export([main/0]).

main() ->
    Small = [[], {}, #{}, <<>>, a, 'A b', 12, -1.5, "text", [a | b], [1, 2, 3], {a}, {a, b}, {1, a}, #{a => 1}, <<1, 2, 3>>, <<"ab">>, <<"å"/utf8>>, <<"å">>, <<1:3>>, <<7, 5:3>>,
             [{a, 1} | {b, 2}], #{[a] => {b, #{}}}, fun lists:map/2, "é", "λ", 'λ', [$a, 16#301], <<"e", 16#301/utf8>>, [$\e, $\d], [1 | "ab"]],
    t:each(small, Small, fun(T) -> io_lib_pretty:print(T, []) end),
    t:each(latin1, Small, fun(T) -> io_lib_pretty:print(T, [{encoding, latin1}]) end),
    t:each(narrow, Small, fun(T) -> io_lib_pretty:print(T, [{line_length, 1}]) end),
    t:each(no_strings, Small, fun(T) -> io_lib_pretty:print(T, [{strings, false}, {column, 5}]) end),
    t:each(depths, Small, fun(T) -> [io_lib_pretty:print(T, [{depth, D}]) || D <- [0, 1, 2, 3]] end),
    Large = large(),
    t:each(lines, [20, 40, 60, 80, 200, 0], fun(W) -> [io_lib_pretty:print(T, [{line_length, W}]) || T <- Large] end),
    t:each(columns, [-1, 0, 2, 3, 4, 5, 6, 30, 79, 90], fun(C) -> [erlang:phash2(io_lib_pretty:print(T, [{column, C}])) || T <- Large] end),
    t:each(chars, [0, 10, 30, 60], fun(M) -> [erlang:phash2(io_lib_pretty:print(T, [{line_max_chars, M}])) || T <- Large] end),
    t:each(deep_large, [2, 3, 5, 8, 20], fun(D) -> [flat(io_lib_pretty:print(T, [{depth, D}])) || T <- Large] end),
    t:each(binary_depths, [1, 2, 3, 5, 8], fun(D) ->
        [flat(io_lib_pretty:print(T, [{depth, D}])) || T <- [<<"a longer text in a binary">>, <<"åäöåäöåäöåäö"/utf8>>, <<"ascii then åäö åäö"/utf8>>, <<"text then", 0, 1>>, <<"ab", 255, 254>>, <<"åä", 0>>,
            <<"åäöåäöå"/utf8, 255>>, <<"x", 255>>, <<0, "abc">>, <<1:1>>, <<1, 2, 3, 1:1>>, <<"abcdefghijklmnopqrstuvwx", 0>>, <<"twenty characters...", 200, 7>>]] end),
    t:each(others, [{a, -1}, {"ab", -1}, {{a, [b]}, 3}], fun({T, D}) -> {io_lib:print(T), io_lib:print(T, 3, 10, D), io_lib_pretty:print(T, 2, fun(_, _) -> no end)} end),
    t:each(options, [[{depth, a}], [{column, 2.5}], [{line_length, -3}], [{strings, perhaps}], [{chars_limit, 9}], [{chars_limit, 0}], [{depth}, {depth, 1}], [x, {encoding, y}], [{line_max_chars, none}],
                     [{record_print_fun, fun(r, 2) -> [x, y]; (_, _) -> no end}], [{record_print_fun, none}], [{column, 1} | x]],
           fun(O) -> {io_lib_pretty:print({r, [1, 2], "abc"}, O), io_lib_pretty:print(7, O)} end),
    t:each(nested, [240, 248, 249, 250, 251, 252, 260, 400], fun(N) ->
        Nest = fun(F) -> lists:foldl(fun(_, T) -> F(T) end, end_, lists:seq(1, N)) end,
        [erlang:phash2(io_lib_pretty:print(Nest(F), [{line_length, W}])) || W <- [80, 0], F <- [fun(T) -> [T] end, fun(T) -> {T} end, fun(T) -> {x, T} end, fun(T) -> #{k => T} end, fun(T) -> #{T => 1} end, fun(T) -> [1 | {T}] end]] end),
    t:c(long, fun() -> [erlang:phash2(io_lib_pretty:print(T, [])) || T <- [lists:seq(1, 60000), lists:duplicate(70000, $a), binary:copy(<<"text">>, 40000), binary:copy(<<0>>, 60000), 1 bsl 100000, [1 bsl 50000, a], list_to_tuple(lists:seq(1, 30000)),
        maps:from_list([{N, N * 1.5} || N <- lists:seq(1, 8000)])]] end),
    t:c(left_alone, fun() -> T = lists:duplicate(2000, {a, "b"}), {io_lib_pretty:print(T, []) =:= io_lib_pretty:print(T, []), T =:= lists:duplicate(2000, {a, "b"})} end),
    t:c(indentation_is_shared, fun() -> erts_debug:size(io_lib_pretty:print(lists:duplicate(500, {aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccc}), [{column, 70}])) < 500 * 260 end).

flat(Chars) -> unicode:characters_to_binary(Chars).

large() ->
    [{state, pid, [{name, "some process"}, {restart, permanent}, {mfargs, {a_module, start_link, [{option, value}, {another, [1, 2, 3]}]}}], #{timeout => infinity, "key" => [a, b, c]}},
     #{<<"id">> => 1234567, <<"name">> => <<"a name of some length">>, <<"tags">> => [<<"one">>, <<"two">>, <<"three">>], <<"nested">> => #{<<"x">> => 1.5, <<"y">> => -2, <<"z">> => null}, <<"list">> => [#{<<"a">> => N} || N <- [1, 2, 3]]},
     lists:seq(1, 60), [{N, N * N} || N <- lists:seq(1, 12)], list_to_tuple(lists:seq(1, 40)), {a_tag_that_is_quite_long_for_a_tuple, [x, y, z], {another_long_tag, "with a string that takes some room", more}},
     <<0:640>>, {bin, <<0:300>>}, [some, elements, "strings", {and_, tuples} | {improper, [tail]}], [a, b, c | lists:duplicate(5, abcdefgh) ++ tail], #{{a, key} => [value], [another, key] => {v, 1}}, {{{nested, 1}, 2}, 3, "four"},
     [[["deep", [lists, [in_, [lists]]]]]], {x, {y, {z, {u, {v, {w, "abcdefghijklmnopqrstuvwxyz"}}}}}}, "a string longer than a line: " ++ lists:seq($a, $z) ++ lists:seq($a, $z) ++ lists:seq($A, $Z)].
