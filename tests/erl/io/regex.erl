%% Module re: errors of patterns, options, what is captured, all matches, splitting and replacing.
-module(regex).
-export([main/0]).

main() ->
    t:each(pattern, patterns(), fun(P) -> compile(P, []) end),
    t:each(unicode_pattern, patterns(), fun(P) -> compile(P, [unicode]) end),
    t:each(option, options(), fun(O) -> compile("a", [O]) end),
    {ok, P} = re:compile("(a)(?<n>b)?"),
    t:each(run_option, options() ++ run_options(), fun(O) -> catch_(fun() -> re:run("ab", P, [O]) end) end),
    t:each(both, options() ++ run_options(), fun(O) -> re:run("xab", "(a)(?<n>b)?", [O]) end),
    t:each(all, options() ++ run_options(), fun(O) -> catch_(fun() -> re:run("xabcabyz", "(a)(?<n>b)?", [global, O]) end) end),
    Captures = [n, 1, "x", <<"n">>, -1, 5, 0, '', "", [<<"n">>], ["n"], [110 | <<>>], <<"n\0">>, [300], 1 bsl 40, -(1 bsl 40), 1 bsl 70, 1.0, {a}, <<1:3>>, "n\0x"],
    t:each(capture, Captures, fun(C) -> catch_(fun() -> re:run("ab", P, [{capture, [C], index}]) end) end),
    t:each(forms, [{V, F} || V <- [all, all_but_first, all_names, first, none, [], [n, 1], ["n", 2, 7]], F <- [index, list, binary]],
           fun({V, F}) -> O = [{capture, V, F}], {re:run("xab", P, O), re:run("xa", P, O), re:run("xabya", P, [global | O]), re:run("z", P, O), re:run("z", P, [global | O])} end),
    t:each(newline, [{N, S, R} || N <- [cr, lf, crlf, any, anycrlf], S <- ["a\rb", "a\nb", "a\r\nb", "a\vb"], R <- ["^b", "a$", "a.b"]],
           fun({N, S, R}) -> {ok, C} = re:compile(R, [multiline]), {re:run(S, R, [multiline, {newline, N}]), re:run(S, C, [{newline, N}]), re:run(S, "", [global, {newline, N}])} end),
    t:each(line_breaks, [{S, O} || S <- ["\n", "\r\n", [16#85], "\v"], O <- [[], [bsr_anycrlf], [bsr_unicode], [bsr_unicode, bsr_anycrlf]]], fun({S, O}) -> {ok, C} = re:compile("^\\R$"), {re:run(S, "^\\R$", O), re:run(S, C, O)} end),
    t:each(empty, ["", "a", "aab", "a\r\nb", "b\r\n", "aåb"], fun(S) -> [re:run(S, R, [global | O]) || R <- ["", "a*", "x*", "(?=b)", "a?\\b", "$", "(?<=a)"], O <- [[], [notempty], [notempty_atstart], [anchored], [{offset, 1}], [{newline, crlf}], [unicode]]] end),
    t:each(latin1, ["\\w", "\\W", "[[:lower:]]", "[[:upper:]]", "[[:punct:]]", "[[:graph:]]", "[[:cntrl:]]", "\\s", "\\h"], fun(R) -> [[C || C <- lists:seq(0, 255), re:run([C], R, O) =/= nomatch] || O <- [[], [unicode], [unicode, ucp]]] end),
    t:c(caseless, fun() -> [re:run([S], [R], [caseless | O]) || {S, R} <- [{16#e5, 16#c5}, {16#ff, 16#178}, {16#3b1, 16#391}, {$a, $A}], O <- [[], [unicode]], S < 256, R < 256 orelse O =/= []] end),
    t:c(caseless_properties, fun() -> [re:run(S, R, O) || S <- ["aB", "b", "B", "BbB"], R <- ["\\p{Lu}", "\\P{Lu}+", "(?i)\\p{Ll}{1}b", "b(?i:\\p{^Lu}|x)", "(?<=\\p{Lu})b", "\\p{L}+", "(\\p{Lt})?(b)"], O <- [[], [caseless], [caseless, unicode]]] end),
    t:c(utf8, fun() -> [catch_(fun() -> re:run(S, R, O) end) || S <- [<<"ab", 255>>, <<"aåb"/utf8>>, [1024], "å"], R <- ["b", <<"å"/utf8>>, <<"(*UTF8)."/utf8>>, [1024]], O <- [[unicode], [], [unicode, {capture, all, list}], [unicode, {offset, 2}]]] end),
    t:c(bad_utf8, fun() -> [compile(X, O) || X <- [<<"ab", 255>>, <<"a", 200>>, <<"a", 237, 160, 128>>, "(*UTF8)\xe4", "(*UTF)a"], O <- [[unicode], [never_utf], [unicode, never_utf], []], not (O =:= [] andalso is_binary(X))] end),
    t:c(nul, fun() -> {ok, Q} = re:compile("a\0b("), {re:run("xa", Q), re:run(<<"xa\0b">>, "a\\x00b"), re:run("xa\0b", <<"a\0b">>)} end),
    t:c(limits, fun() -> [re:run("aaaaaaaaaaaaaz", "(a+)*zz", O) || O <- [[], [{match_limit, 3000}], [{match_limit, 3000}, report_errors], [{match_limit_recursion, 10}, report_errors], [{match_limit, 0}, report_errors], [report_errors], [{match_limit, 3000}, report_errors, global], [{match_limit, 3000}, global]]] end),
    t:c(errors, fun() -> [catch_(fun() -> apply(re, run, A) end) || A <- [["a", "("], ["a", "(", [report_errors]], ["a", "(", [report_errors, global]], [foo, P], [[a], P], ["a", [a]], ["a", P, foo], ["a", P, [global | foo]], [[300], P], ["a", {re_pattern, 1, 0, 0, <<>>}], ["a", {re_pattern, 1, 0, 0, <<"xyzxyzxyzxyz">>}], ["a", {re_pattern, 1, 0, 0, foo}], ["a", {re_pattern, 1, 0}], [<<1:3>>, "a"], ["a", <<1:3>>]]] end),
    t:c(inspect, fun() -> [catch_(fun() -> re:inspect(X, I) end) || {X, I} <- [{P, namelist}, {P, foo}, {foo, namelist}, {{re_pattern, 1, 0, 0, <<>>}, namelist}, {element(2, re:compile("(?<b>x)(?<a>y)|(?<b>z)", [dupnames])), namelist}]] end),
    t:c(kept, fun() -> is_binary(element(5, P)) andalso re:run("ab", binary_to_term(term_to_binary(P))) end),
    t:c(sub_binary, fun() -> B = binary:copy(<<"a">>, 5000), {match, [C, D]} = re:run(B, "a(a+)$", [{capture, all, binary}]), [{byte_size(X), binary:referenced_byte_size(X)} || X <- [C, D]] end),
    t:c(unaligned, fun() -> <<_:4, B:3/binary, _:4>> = <<38, 23, 6, 18>>, {B, re:run(B, "(p)"), re:run(B, "(p)", [{capture, all, binary}])} end),
    t:c(recursion, fun() -> [re:run(S, R, [{capture, first, list}]) || {S, R} <- [{"aaa", "^(a|b(?1)c|aa)(?1)$"}, {"abcba", "^((.)(?1)\\2|.)$"}, {"abba", "^((.)(?1)\\2|.?)$"}, {"aaaa", "^(a+)(?1)$"}, {"xaaaa", "x(a|aa)(?1)*a$"}, {"(a(b)c)", "\\((?:[^()]|(?R))*\\)"}, {"abcabc", "(?<x>abc)(?&x)"}, {"abcabc", "(?<x>abc)\\g<x>"}, {"aba", "(?<x>a)b\\k<x>"}, {"aba", "(a)b\\g{-1}"}]] end),
    t:c(look_back, fun() -> [re:run("abc", R, O) || R <- ["(?=a\\K)", "(?=ab\\K)", "a\\Kb", "(?<=a\\K)b"], O <- [[], [global]]] end),
    t:c(dialect, fun() -> [re:run(S, R, [{capture, first, list}]) || {S, R} <- [{"a{,3}", "a{,3}"}, {"a{ 1 }", "a{ 1 }"}, {"yqj", "\\y\\q\\j"}, {"B-", "[\\B-]+"}, {"8", "\\8"}, {"9a", "\\9a"}, {"\0", "\\x"}, {"\t", "\\cI"}, {"a-z", "[\\w-z]+"}, {[0], "\\c@"}, {[4, $F], "\\x4\\F"}]] end),
    t:c(long, fun() -> B = binary:copy(<<"abc\n">>, 100000), [begin {match, M} = re:run(B, "b", [global | O]), {length(M), lists:last(M)} end || O <- [[], [unicode], [{capture, none}] -- [{capture, none}]]] end),
    t:c(far, fun() -> B = <<(binary:copy(<<"x">>, 1000000))/binary, "needle">>, {re:run(B, "needle"), re:run(B, "x*needle"), re:run(B, "needle", [{offset, 999999}]), re:run(B, "^needle")} end),
    t:c(split, fun() -> [re:split("abcbd", R, O) || R <- ["b", "(b)", "", "z", "(x)?b", "b|$"], O <- [[], [{return, list}], [group], [trim], [{parts, 2}, {return, list}], [group, trim, {return, list}], [unicode, {return, list}]]] end),
    t:c(split_bad, fun() -> [catch_(fun() -> re:split("abc", R, O) end) || {R, O} <- [{"(", []}, {"b", [foo]}, {"b", [global]}, {"b", [{parts, -1}]}, {foo, []}, {"b", foo}]] end),
    t:c(replace, fun() -> [iolist_to_binary(re:replace("abcabc", R, With, O)) || R <- ["b", "(b)(c)", "", "z"], With <- ["[&]", "\\1\\2", "\\g{1}x", "\\&", "", <<"\\\\">>], O <- [[], [global], [global, unicode]]] end),
    t:c(replace_bad, fun() -> [catch_(fun() -> re:replace("abc", R, W, O) end) || {R, W, O} <- [{"(", "x", []}, {"b", foo, []}, {"b", "x", [foo]}, {"b", "x", [{capture, all}]}, {"b", "x", [report_errors]}, {"b", "x", [{return, foo}]}]] end),
    Verbs = ["x(?(?=a(*COMMIT)b)abc|ac)|xa", "(?(?=a(*V)b)x|.)", "(?(?=a(*V)b|ac)x|.)", "(?>x|(?(?=a(*V)b)q|a))c", "(?:(?(?=a(*V)b)q|a)c|ac)", "(?(?=(?>a(*V)b))q|a)c|ac", "(?(?=(?=a(*V:n)b))q|a)c|ac", "(?(?=(?!a(*V)b))q|a)c|ac", "(?(?!a(*V)b)..|.)", "(?(?<=a(*V)b|x)q|c)|x", "(?(?<!a(*V)b)c|q)", "(?:(?(?=a(*V)b)x|a|)){2}", "(a(*V)b){0}(?(?=(?1))q|a)c|ac", "(?(?=ac)a(*V)b|x)|ac"],
    t:each(verbs_in_conditions, [lists:append(string:replace(R, "V", V, all)) || R <- Verbs, V <- ["COMMIT", "PRUNE", "SKIP", "THEN"], string:find(R, "V") =/= nomatch],
           fun(R) -> [catch_(fun() -> re:run(S, R, [global]) end) || S <- ["ac", "zac", "xac xab", "abc", "aac"]] end),
    t:each(verbs_after_assertions, ["a*?(?<=(*ACCEPT)a)(*THEN)", "a*?(*THEN)", "a*?(?<=a)(*THEN)", "a*?(?=a(*ACCEPT))(*THEN)", "a*?(?=|a)(*THEN)", "a*?(?=(x)|a)(*THEN)|a", "(?:a*?(?=()a)(*THEN)|aa)", "(?:a|aa)(?=)(*THEN)b|aab", "a*?(?=a)?(*THEN)", "(?:a|(?=a)*aa(*THEN)b)", "a*?(?<=(?=a).)(*THEN)", "(a*?(?=a\\K)(*THEN))", "a*?(?!b)(*THEN)"],
           fun(R) -> [re:run(S, R, [global]) || S <- ["aab", "baa", "aaaxa"]] end),
    t:each(control, ["\\c\\p{^Lu}]", "\\c(a", "[\\c\\p]", "[\\c]a]", "\\c[\\c]*", "\\c\\(a)", "\\c{2}"], fun(R) -> [catch_(fun() -> re:run(S, R, O) end) || S <- ["\e\x1dp", [28 | "p{^Lu}]a"], "(h\ba"], O <- [[], [caseless]]] end),
    t:each(ends_of_lines, ["[^x][^\\n]{2}", "[^x][^\\n][^\\n]", "[^x][^\\r]", "[^x][^\\x0a]{2}", "[^x][^\\x{a}]{2}", "[^x][^\\cJ]{2}", "[^x][^\\012]{2}", "[^x][^\n]{2}", "[^x][^\\na]-", "[^x][\\n]?-", "[^x](?!\\n)-", "[^x][^\\d\\n]a", "[^x]-"],
           fun(R) -> [re:run("A\r\n-ac1\r\n--", R, [global, {newline, N}]) || N <- [lf, cr, crlf, any, anycrlf]] end),
    t:each(brackets_in_classes, ["[^[:^digit:\\Q\\E]+", "[[:digit:\\E]+", "[[:a]+", "[[.b\\Q\\E.]+", "[[=b=\\E]+", "[a[:digit:]]+", "[\\[:digit:]]+"], fun(R) -> [re:run(S, R) || S <- ["1[:dx]]", "b=[."]] end),
    t:each(loops, ["((?(R)a)++|x)(?R)", "((?(R)a?)+|x)(?R)", "((?(R)a|b?)+|x)(?R)", "((?(R)a|b)+|x)(?R)", "((?(R)a)*|x)(?R)", "((?(R)(?1)a)+|x)(?R)", "((?(R)(?1))+|x)(?R)", "(((?(1)(?(2)b)+)+)+|x)(?R)", "(((?(1)(?(2)b))+)+|x)(?R)", "((?(1)a){1,}+|x)(?R)", "((?(1)a){2,}?|x)(?R)", "((?(1)a){2,3}|x)(?R)", "((?(?=a)b)+)(?R)", "(?(R)a)+(?R)", "(?(R)a)++(?R)"], fun(R) -> compile(R, []) end),
    t:each(failing_behind, ["(?<=(?:(*FAIL)[-a].|.(?=b)a))b", "(?<=(*F)ab|cd)e", "(?<!(*F)ab|cd)b", "(?<=(?:a(*F)b|cd)a)b", "(?<!(?+1)++a)(?(<n1>)b)(c)", "(?<!(?:(?+1)x)++a)(?(<n1>)b)(c)"], fun(R) -> [re:run(S, R) || S <- ["cab", "cdab", "aab", "cdeb"]] end),
    t:c(caseless_classes, fun() -> [{R, O, re:run("aB1", R, [global | O])} || R <- ["[[:upper:]]", "[1[:upper:]]", "[[:^upper:]]", "[[:lower:]]", "[^[:lower:]]", "(?i)[[:lower:]]", "a(?i:[[:lower:]])[[:lower:]]?", "(*UCP)(?i)[[:^lower:]]"], O <- [[], [caseless], [ucp], [ucp, caseless], [ucp, caseless, unicode]]] end),
    t:each(in_characters, ["\\C", "\\C?", "\\C\\C", "a\\C", "\\C(?<=.)", "\\C(?=.)", ".\\C", "\\C+?B", "\\b", "\\C\\b", "\\C(?!\\X)", "\\C[\\x{80}-\\x{bf}]", "\\C.*y", "\\C\\w", "(?<=\\x{100})|\\C", "(?i)\\C\\x{80}?", "^|\\C", "\\C$"],
           fun(R) -> [{catch_(fun() -> re:run(S, R, [unicode, global | O]) end), catch_(fun() -> re:run(S, R, [unicode | O]) end), catch_(fun() -> re:split(S, R, [unicode | O]) end), catch_(fun() -> re:replace(S, R, "-", [unicode, global | O]) end)} || S <- [[256, 66, 256, 256], <<"aĀB"/utf8>>, "x€y", [16#10000, $a]], O <- [[], [{offset, 1}], [{offset, 2}], [{capture, all, list}], [{capture, all, binary}]]] end),
    t:c(version, fun() -> binary:part(re:version(), 0, 15) end).

catch_(F) -> try F() catch C:R -> {C, R} end.

compile(P, O) ->
    case re:compile(P, O) of
        {ok, C} -> list_to_tuple(lists:sublist(tuple_to_list(C), 4));
        Error -> Error
    end.

options() ->
    [unicode, anchored, caseless, dollar_endonly, dotall, extended, firstline, multiline, no_auto_capture, dupnames, ungreedy, {newline, cr}, {newline, any}, {newline, nul}, {newline, foo}, bsr_anycrlf, bsr_unicode, no_start_optimize, ucp, never_utf, foo, {newline}, {newline, any, any}, "a", 1, {a, b}].

run_options() ->
    [global, report_errors, notbol, noteol, notempty, notempty_atstart, {offset, 1}, {offset, 2}, {offset, -1}, {offset, 1 bsl 31}, {offset, 1 bsl 70}, {offset}, {offset, 1, 2}, {match_limit, -1}, {match_limit, 0}, {match_limit, (1 bsl 31) - 1}, {match_limit, 1 bsl 31}, {match_limit_recursion, -1}, {match_limit_recursion, 1 bsl 31}, {capture}, {capture, foo}, {capture, all, list, foo}, {capture, {a}}, {capture, [{}]}, {capture, [1 | 2]}, {capture, "abc"}, {capture, [1, 1]}].

patterns() ->
    ["\\", "abc\\", "[\\", "(\\", "\\c", "\\c\t", "\\y", "a{3,2}", "a{65536}", "[abc", "[", "[]", "[^]", "[\\B]", "[\\R]", "[z-a]", "*a", "a|*", "(*)", "a**", "a+++", "(?z)", "(?", "(?-", "(?<", "(?<>x)", "(?P", "(?P<", "(?Pz)", "(?P=x)", "(?P>x)", "[:alpha:]", "[[.a.]]", "[[=a=]]", "[[:x:]]", "[[:^x:]]", "(", "a(b", ")", "a(b))",
     "\\1", "(a)\\2", "(a)\\3b", "\\9", "\\80", "(?1)", "(a)(?2)", "(?#abc", "(?(1)a|b|c)", "(a)(?(1)a|b|c)", "(a)(?(2)a|b)", "(?(", "(?()a)", "(?(?a)b)", "(?(?=a)b|c|d)", "(?(<a>)b)", "(?('a')b)", "(?(DEFINE)a|b)", "(?(x)a|b)", "(?(0)a)", "(?<=a*)b", "(?<=a|bc)d", "(?<!a+)b", "(?<=(a|bc))d", "(?<=\\X)b", "(?<=\\R)a", "(?<=a{2,3})b",
     "(?+", "(?+a)", "(?-a)", "(?+0)", "(a)(?-1)", "(?0", "(?R", "(?Rx)", "(?1x)", "\\x{110000}", "\\x{", "\\x{}", "\\x{zz}", "\\x{1", "\\xg", "\\o", "\\o{", "\\o{}", "\\o{8}", "\\o{1", "\\u", "\\U", "\\L", "\\l", "\\N{name}", "[\\N]", "(?C256)", "(?C", "(?C1", "(?Cx)", "(?C'a')", "\\p", "\\p{", "\\p{}", "\\p{Zz}", "\\p{Lu", "\\pq",
     "(?<1a>x)", "(?<a", "(?<a>x)(?<a>y)", "(?<a-b>x)", "(?'a", "(?'a>x)", "(?<aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa>x)", "\\g", "\\ga", "\\g{", "\\g{}", "\\g{a", "\\g{a}", "\\g{1", "\\g1", "\\g{1}", "\\g0", "\\g{0}", "\\g-1", "(a)\\g-2", "\\g<", "\\g<a", "\\g<a>", "\\g<-1>", "\\g'a'", "\\g'", "\\g+1", "\\k", "\\ka", "\\k{", "\\k{a", "\\k{a}", "\\k<", "\\k<a>", "\\k'a",
     "(*ACCEPT:x)", "(*COMMIT:x)", "(*MARK)", "(*MARK:)", "(*FOO)", "(*foo:x)", "(*UTF8)", "(*CRLF)", "(*NUL)", "(*LIMIT_MATCH=", "(*LIMIT_DEPTH=3)a", "(*NO_JIT)a", "(*pla:a)", "(?|(?<a>a)|(?<b>b))", "(?^a)", "(?^i)a", "(?n)a", "(?i-", "(?i", "(?--i)", "(?X)\\y", "(?X)a", "(?(VERSION>=1)a)", "(?&a)", "(?&", "(?&a", "(?&1)", "(?<a>b)(?P>b)",
     "a{,3}", "{", "[a-\\d]", "[\\d-a]", "[a-[:digit:]]", "[[:digit:]-a]", "[a-]", "[\\Qa\\E]", "[]a]", "\\Qabc", "\\i\\j\\m\\q\\F\\I\\J\\M\\O\\T\\Y", "(?=\\K)", "(?(a-b)c)", "(?(1a)c)", "(?(1", "(?(a", "(?(<a", "(?(R&a)b)"].
