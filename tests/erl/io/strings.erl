%% The string module, regular expressions, unicode and characters.
-module(strings).
-export([main/0]).

main() ->
    L = ["Hello World", "", "åäö ÅÄÖ", "тест", [$e, 769, $x], "a,b,,c", "  pad  ", <<"binary å"/utf8>>, ["deep", [" ", <<"list">>]], "ǅ ß ﬁ"],
    Fs = [{length, fun string:length/1}, {to_graphemes, fun string:to_graphemes/1}, {uppercase, fun string:uppercase/1}, {lowercase, fun string:lowercase/1}, {titlecase, fun string:titlecase/1}, {casefold, fun string:casefold/1},
          {reverse, fun string:reverse/1}, {trim, fun string:trim/1}, {trim_leading, fun(S) -> string:trim(S, leading) end}, {chomp, fun string:chomp/1}, {is_empty, fun string:is_empty/1}, {next_grapheme, fun string:next_grapheme/1},
          {next_codepoint, fun string:next_codepoint/1}, {split, fun(S) -> string:split(S, ",") end}, {split_all, fun(S) -> string:split(S, ",", all) end}, {lexemes, fun(S) -> string:lexemes(S, ", ") end}, {nth_lexeme, fun(S) -> string:nth_lexeme(S, 1, ", ") end},
          {slice, fun(S) -> {string:slice(S, 2), string:slice(S, 1, 3)} end}, {pad, fun(S) -> lists:flatten([string:pad(S, 14, both, $.)]) end}, {find, fun(S) -> {string:find(S, "l"), string:find(S, "l", trailing)} end}, {prefix, fun(S) -> string:prefix(S, "He") end},
          {replace, fun(S) -> string:replace(S, "l", "[L]", all) end}, {take, fun(S) -> string:take(S, "Helo") end}, {to_integer, fun string:to_integer/1}, {nfd, fun unicode:characters_to_nfd_list/1}, {nfc, fun unicode:characters_to_nfc_binary/1}, {nfkd, fun unicode:characters_to_nfkd_list/1}],
    [t:each(N, L, F) || {N, F} <- Fs],
    t:c(equal, fun() -> {string:equal("a", <<"a">>), string:equal("A", "a", true), string:equal([$e, 769], [233], false, nfc)} end),
    t:c(old, fun() -> {string:tokens("a b,c", " ,"), string:join(["a", "b"], "-"), string:str("hello", "ll"), string:rstr("hello", "l"), string:substr("hello", 2, 3), string:strip("  a "), string:centre("a", 5), string:left("abc", 2), string:right("abc", 5, $.), string:words("a b c"), string:chars($x, 3), string:copies("ab", 2), string:span("aab", "a"), string:cspan("aab", "b"), string:to_upper("abC"), string:to_lower("AbC")} end),
    Re = [{"a+", "baaac", []}, {"(\\w+) (\\w+)", "hello world", [{capture, all, list}]}, {"(?<x>b+)", "abbc", [{capture, [x], binary}]}, {"b", "abcb", [global]}, {"^l", "a\nl", [multiline]}, {"A", "a", [caseless]}, {"(a)|(b)", "b", [{capture, all, list}]},
          {"å", <<"xå"/utf8>>, [unicode]}, {"x*", "aaa", [global, {capture, all, index}]}, {"z", "abc", []}, {"a.c", "a\nc", [dotall]}, {"(", "a", []}, {"a{2,3}?", "aaaa", [{capture, first, list}]}, {"b", "abc", [{offset, 2}]}, {"(?i)ABC(?-i)d", "abcd", []}, {"\\bfoo\\b", "a foo b", []}, {"(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaac", []}, {"[[:alpha:]]+", "12ab", [{capture, all, list}]}, {"(?=a)a", "a", [{capture, none}]}, {"a", "ba", [anchored]}, {"^(?:a|ab)$", "ab", [dollar_endonly]}],
    t:each(re_run, Re, fun({P, S, O}) -> re:run(S, P, O) end),
    t:c(re_replace, fun() -> {re:replace("hello", "l", "[&]", [global, {return, list}]), re:replace("ab", "(a)(b)", "\\2\\1", [{return, binary}]), re:replace("abc", "x", "y", [{return, list}])} end),
    t:c(re_split, fun() -> {re:split("a,b;c", "[,;]", [{return, list}]), re:split("abc", "", [{return, list}]), re:split("a1b2", "(\\d)", [{return, list}]), re:split("a,b,,", ",", [{return, list}, trim]), re:split("a,b,c", ",", [{parts, 2}, {return, binary}])} end),
    t:each(re_compile, ["a(b", "[z-a]", "*a", "(?<n>a)", "\\", "a{3,2}", "(?<n", "x++"], fun(P) -> case re:compile(P) of {ok, C} -> element(1, C); E -> E end end),
    t:c(re_inspect, fun() -> {ok, P} = re:compile("(?<b>x)(?<a>y)"), {re:inspect(P, namelist), re:run("xy", P, [{capture, all_names, list}])} end),
    t:c(re_bad, fun() -> re:run(t:id(a), "x") end),
    t:c(unicode_util, fun() -> {unicode_util:uppercase("ßa"), unicode_util:gc([$e, 769, $x]), unicode_util:whitespace() =/= []} end),
    t:c(uri, fun() -> {uri_string:parse("http://u@h.org:80/p/a?q=1#f"), uri_string:normalize("HTTP://A/b/../c"), uri_string:quote("a b/ä"), uri_string:dissect_query("a=1&b=%20")} end).
