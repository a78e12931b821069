%% io_lib:format with every control sequence, pretty printing, reading terms, strings.
-module(formatting).
-export([main/0]).

main() ->
    Terms = [1, -1.5, 1.0e100, a, 'A b', "text", "å", "т", [1, 2], [], {a, "b", [c]}, <<"bin">>, <<"å"/utf8>>, <<1, 2, 255>>, <<1:3>>, #{a => 1, "k" => [v]}, fun lists:map/2, [a | b], {}, [[]], "\n\t\e", '\n', ''],
    [t:each(io_lib:format("~~~s", [C]), Terms, fun(T) -> lists:flatten(io_lib:format("~" ++ C, [T])) end) || C <- ["w", "p", "tw", "tp", "0p", "W" ]],
    t:c(depth, fun() -> [lists:flatten(io_lib:format("~W ~P", [T, D, T, D])) || T <- [lists:seq(1, 20), {a, {b, {c, {d}}}}, #{a => #{b => #{c => 1}}}, <<0:800>>, "long string here"], D <- [1, 3, 6]] end),
    t:each(strings, [{"~s", ["abc"]}, {"~10s|~-10s|", ["abc", "abc"]}, {"~.2s", ["abc"]}, {"~10.3.*s", [$x, "abcdef"]}, {"~ts", ["тест"]}, {"~ts", [<<"å"/utf8>>]}, {"~s", [<<"å">>]}, {"~s", [["a", [$b], <<"c">>]]}, {"~s", [atom]}, {"~s", [[1090]]}, {"~5ts|", ["т"]}],
           fun({F, A}) -> lists:flatten(io_lib:format(F, A)) end),
    t:each(numbers, [{"~b ~.16b ~.2B ~.36B", [10, 255, 5, 100000]}, {"~#", [a]}, {"~.16# ~.16x ~.16X", [255, 255, "0x", 255, "0x"]}, {"~.16x ~.16X", [255, "0x", 255, "0x"]}, {"~5b|~-5b|~5.10.0b", [42, 42, 42]}, {"~e ~f ~g", [1.5, 1.5, 1.5]}, {"~.3e ~.3f ~.3g", [123.456, 123.456, 123.456]}, {"~10.2f|~-10.2f|", [3.14159, 3.14159]}, {"~.0f", [2.5]}, {"~g ~g ~g", [1.0e20, 0.001, 0.0]}, {"~.1f", [0.05]}, {"~3.2f", [123456.0]}],
           fun({F, A}) -> lists:flatten(io_lib:format(F, A)) end),
    t:each(others, [{"~c~3c~tc", [$a, $b, 1090]}, {"~i~w", [skipped, b]}, {"~n~~", []}, {"~*w|", [10, a]}, {"~-10w|", [a]}, {"~10.5w|", [abcdefghijkl]}, {"~30.5.*w", [$-, abc]}, {"~10p|", [abc]}, {"~5.5.0p", [1]}],
           fun({F, A}) -> lists:flatten(io_lib:format(F, A)) end),
    t:each(bad, [{"~z", [a]}, {"~w", []}, {"~w", [a, b]}, {"~s", [1]}, {"~b", [a]}, {"~f", [1]}, {"~c", [a]}, {"~", [a]}, {a, []}, {"~w", a}, {"~s", [{}]}, {"~2", []}],
           fun({F, A}) -> lists:flatten(io_lib:format(F, A)) end),
    t:c(pretty_wide, fun() -> lists:flatten(io_lib:format("~p", [[{key, lists:seq(1, 40)}, {other, #{name => "some long string that goes on", list => lists:duplicate(10, abcdef)}}, {bin, binary:copy(<<"xyz">>, 40)}]])) end),
    t:c(pretty_narrow, fun() -> [lists:flatten(io_lib:format("~" ++ integer_to_list(W) ++ "p", [{tuple, [list, of_atoms, "and strings"], #{map => [1, 2, 3]}}])) || W <- [10, 20, 40, 80]] end),
    t:c(pretty_records, fun() -> lists:flatten(io_lib_pretty:print({rec, 1, [a]}, fun(rec, 2) -> [x, y]; (_, _) -> no end)) end),
    t:c(limit, fun() -> [lists:flatten(io_lib:format("~p ~w", [lists:seq(1, 100), {a, b}], [{chars_limit, L}])) || L <- [5, 20, 60]] end),
    t:c(scan_format, fun() -> io_lib:unscan_format(io_lib:scan_format("~10.3p ~s~n", [a, "b"])) end),
    t:each(fread, [{"~d ~d", "12 34"}, {"~s ~a", "word atom rest"}, {"~f", "1.5"}, {"~4d", "123456"}, {"~c~c", "ab"}, {"~16u", "ff"}, {"x~d", "y1"}, {"~d", "abc"}, {"~d", ""}, {"~*d ~d", "1 2"}, {"~#", "16#ff"}, {"~-", "-"}, {"~2c", "abc"}, {"~l~d", "12"}, {"~n", "x"}],
           fun({F, S}) -> io_lib:fread(F, S) end),
    t:each(quote, ["abc", "Abc", "a b", "", "a@1", "div", "é", "1a"], fun(S) -> {io_lib:write_atom(list_to_atom(S)), io_lib:write_string(S), io_lib:write_string_as_latin1(S)} end),
    t:c(predicates, fun() -> {io_lib:printable_list("ab\n"), io_lib:printable_list([1]), io_lib:printable_unicode_list([1090]), io_lib:printable_latin1_list([1090]), io_lib:latin1_char_list([229]), io_lib:deep_char_list([[$a], "b"]), io_lib:char_list([55296]), io_lib:quote_atom('a b', [])} end),
    t:c(write, fun() -> [lists:flatten(io_lib:write(T)) || T <- Terms] end),
    t:each(scan, ["foo(X) -> 1.", "16#ff 2#101 $a $\\n 1.5e3 'q a' \"str\" <<1:2>>", "% comment\na.", "\"unterminated", "1_000", "#{a := 1} || <- <= => ->", "'тест'", "$", "a & b", "-0x"], fun(S) -> erl_scan:string(S) end),
    t:each(parse, ["1 + 2 * 3.", "[X || X <- L].", "fun(A) when A > 1 -> B end.", "#{a => 1}.", "<<X:8/little>>.", "try a catch b:c:d -> e after f end.", "1 +.", "foo bar.", "case x of y -> z end."],
           fun(S) -> {ok, Ts, _} = erl_scan:string(S), case erl_parse:parse_exprs(Ts) of {ok, E} -> {ok, E}; {error, {L, M, T}} -> {L, lists:flatten(M:format_error(T))} end end),
    t:each(parse_term, ["{a, [1, 2], \"s\", #{k => <<1>>}}.", "fun lists:map/2.", "1 + 2.", "X."], fun(S) -> {ok, Ts, _} = erl_scan:string(S), erl_parse:parse_term(Ts) end),
    t:c(pp, fun() -> {ok, Ts, _} = erl_scan:string("f(X) when X > 1, is_atom(X) -> case X of {a, B} -> [B || B <- C, B > 2]; _ -> try g(X) catch error:E:S -> {E, S} after h() end end."), {ok, F} = erl_parse:parse_form(Ts), lists:flatten(erl_pp:form(F)) end),
    t:each(eval, ["1 + 2.", "X = 3, X * X.", "lists:map(fun(A) -> A * 2 end, [1, 2]).", "case {a, 1} of {a, N} -> N end.", "[X || X <- [1, 2, 3], X > 1].", "try error(x) catch error:E -> E end.", "#{a => 1}#{b => 2}.", "<<A:4, B:4>> = <<16#12>>, {A, B}.", "F = fun Fac(0) -> 1; Fac(N) -> N * Fac(N - 1) end, F(5).", "begin a, b end.", "if 1 > 2 -> a; true -> b end.", "receive x -> y after 0 -> z end.", "1 / 0.", "foo().", "Y.", "<< <<X>> || X <- [1, 2] >>.", "X = 1, X = 2.", "catch throw(a).", "\"a\" ++ \"b\".", "not true andalso x."],
           fun(S) -> {ok, Ts, _} = erl_scan:string(S), {ok, E} = erl_parse:parse_exprs(Ts), {value, V, B} = erl_eval:exprs(E, []), {V, B} end).
