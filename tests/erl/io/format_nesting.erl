%% What formatting and writing give, element by element: the deep list itself is seen by whoever prints it.
-module(format_nesting).
-export([main/0]).

main() ->
    t:each(fields, [{"~w", [a]}, {"~10w|~-10w", [abc, {a}]}, {"~3w", [abcdef]}, {"~8.3w", [abcdef]}, {"~.2w", [abcdef]}, {"~10s|~-10s", ["abc", <<"abc">>]},
                    {"~12.6s", ["abc"]}, {"~-12.6s", ["abcdefgh"]}, {"~.7..s", ["abc"]}, {"~s ~s", [atom, ["a" | <<"bc">>]]}, {"~3ts", [["å", [[]], <<"äö"/utf8>>]]},
                    {"~9..xts", [<<255>>]}, {"~5c~-5.2.*c", [$a, $-, $b]}, {"~3n~~~i", [x]}, {"~*.*.0f", [10, 2, 1.5]}, {"~+ ~# ~.16+", [10, -10, -255]}],
           fun({F, A}) -> io_lib:format(F, A) end),
    t:each(terms, [[1, [2 | 3]], {}, {a, "b", {}}, #{}, #{a => 1, b => [#{}]}, <<>>, <<1, 22>>, <<1, 2:3>>, 'a b', 1.0e22, [[] | {}]],
           fun(T) -> {io_lib:write(T), [io_lib:write(T, D) || D <- [0, 1, 2, 3, 4]]} end),
    t:each(encodings, [[{encoding, latin1}], [{encoding, unicode}], [{depth, 1}], [], [{chars_limit, 5}], [{depth, a}]], fun(O) -> io_lib:write(['αβ', 'é', {'αβ'}], O) end),
    t:each(scanned, [{"a~10.3.0tpb", [x]}, {<<"~-*W~n">>, [5, x, 2]}, {'~lp', [1]}, {"~x", [10, "0x"]}], fun({F, A}) -> io_lib:scan_format(F, A) end),
    t:each(built, [{"a~10.3.0tp~nb~s~w", [x, "c", {d}]}], fun({F, A}) -> io_lib:build_text(io_lib:scan_format(F, A)) end),
    t:each(column, ["abc~p", "abc~ndef\t~p", "~s~p~p", "~p~10.30p"], fun(F) -> io_lib:format(F, [lists:duplicate(20, abcdef) || $~ <- F]) end),
    %% Long and deep ones, which take other ways.
    t:c(long, fun() -> L = lists:seq(1, 100000), erlang:phash2([io_lib:format("~w ~10s", [L, [$a, L -- L, "b"]]), io_lib:write(list_to_tuple(L)), io_lib:format(lists:duplicate(200000, $x), [])]) end),
    t:c(deep, fun() -> D = lists:foldl(fun(_, A) -> [A] end, [], lists:seq(1, 2000)), {length(lists:flatten(io_lib:write(D))), length(lists:flatten(io_lib:format("~w~s", [D, D])))} end),
    t:c(digits, fun() -> erlang:phash2(io_lib:format("~w~b", [1 bsl 100000, -1 bsl 70000])) end).
