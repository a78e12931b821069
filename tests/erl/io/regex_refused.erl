%% What is wrong with a pattern, which of several faults is told, and where; and what patterns mean that are read in another way today.
-module(regex_refused).
-export([main/0]).

main() ->
    t:each(refused, refused(), fun(P) -> case re:compile(P) of {ok, _} -> ok; Error -> Error end end),
    t:each(of_characters, ["[é-a]", "\\x{d800}", "\\777", "\\x{110000}", "\\N{2}é", "(?<=\\C)", "(?<=\\C{2})", "é**", "\\cé"],
           fun(P) -> case re:compile(P, [unicode]) of {ok, _} -> ok; Error -> Error end end),
    t:each(means, [{P, O} || P <- ["[\\p{Lu}a]+", "[^\\p{Lu}a]+", "[\\P{Ll}]+", "[\\p{Ll}^-]+", "[^\\d\\p{^Lu}-\\p{Lt}]+", "[\\Q\\E^\\p{Lu}]", "a+ (?#c)?B"], O <- [[], [caseless], [extended]]],
           fun({P, O}) -> re:run("aB^-1 É\nAbé-", P, [global, unicode | O]) end),
    t:each(lookbehinds, ["(?<=(?(DEFINE)a)b)", "(?<=(?(1)ab))x(c)?", "(?<!(?=a){2,}b)c", "(?<=\\R{2})c", "(?<=b\\X{0})c", "(?<=a(*ACCEPT)b)b", "(?(R1)a|b)c", "(?(R0)a|b)",
                         "(?<n>a\\k<n>?)+b", "(?|(a)|(b))(c\\2?)", "[\\d\\Q\\E-a]+", "[!\\Q\\E--]+", "[[:<:]]b"],
           fun(P) -> [re:run(S, P) || S <- ["aabbc", "xab\r\n\ncab", "a!-bc b"]] end).

refused() ->
    ["(?R)b", "(a|(?1))", "((?2)b(?1)c)(d)", "((?2)b(?1)c)d", "a\\b*", "^*", "(*ACCEPT){2}", "(*ACCEPT:)", "(*ACCEPT:x)", "(*F:)", "(*MARK)",
         "(*MARK:)", "(*THEN:)", "[\\d-z]", "[a-\\d]", "[--\\R]", "\\g", "\\gx", "\\g{", "\\g{-1}", "\\g{1", "\\k", "\\kx", "\\k{", "\\k{}", "\\g<>",
         "\\g<+1", "\\g<1", "(?+", "(?-", "(?-a", "(?-1", "(?+1)", "(?-0)", "(?P", "(?P=", "(?P=a", "(?P>a", "(?P<", "(?P<a", "(?<", "(?<a", "(?'a",
         "(?(", "(?(1", "(?(a)", "(?(R1)a)", "(?(Rx)a)", "(?(R&x)a)", "(?(<x>)a)", "(?(0)a)", "(?(+0)a)", "(?(DEFINE)a|b)", "(?(1)a|b|c)(x)",
         "(?<=a+|(?1)", "(?<=a+|(?1))", "(?<=(?1)a+)(b)", "(?<=(?1)a+)(b)xxx", "(?<=(?(1)a))(b)", "(?<=(?1))(?(1)a)(b)xx(?2)",
         "(?<=(?1))((?2))((?1))", "\\2(a", "\\2(a))", "(a)\\2x", "a)b", "(?C256)", "(?C1", "(?C", "(?#abc", "[[:foo:]]", "[[.a.]]", "[[=a=]]",
         "[:a:]", "[.a.]", "[b-a]", "[a", "[a\\", "\\c", "\\cé", "\\x{", "\\x{}", "\\x{100}", "\\x{fz", "\\o", "\\o{", "\\o{}", "\\o{9", "\\o{777}",
         "\\777", "\\p", "\\p{", "\\p{Foo}", "\\p{Foo", "\\pq", "\\pé", "\\N{x}", "[\\N]", "\\L", "a{2,1}", "a{65536}", "a{1,65536}", "a{655360}",
         "\\8", "\\81", "\\12", "\\99999999999999", "(?99999999999)", "(?<1>a)", "(?<n>a)(?<n>b)", "(?|(?<n>a)|(?<m>b))", "(*FOO)", "(*a", "(*",
         "(*)", "(?^a)", "(?i", "(?X)\\y", "(?X)[\\y]", "(?X)[\\R]", "(?X)\\R", "a+(?#x)?", "a+(?#x)?+", "(?x)a+ ?", "(?x)a+ +", "(?x)a+ + +",
         "(?x)a{2} ?", "(?x)a+ #c", "(?x)a+(?#x) ?", "(?x)a+ (?#x)?", "a+(?#x)(?#y)?", "(?x)a+ (?#x)(?#y)?*", "a+\\E?", "a\\E+", "a+\\Q\\E?",
         "a(?#x)+", "\\g99999999999", "\\g{99999999999", "\\g{-99999999999}", "(?(99999999999)a)", "(?(R99999999999)a)", "\\g<99999999999>",
         "(?C99999999)", "[\\99999999999999]", "\\4294967297", "\\2147483647", "\\214748364", "(?R1)", "()(?R1)", "(?R+1)()", "(?(R)a|(?R)b)",
         "(?=(?R))", "(?(?=a)*b)", "(?(?C1)a)", "(?(?C1)(?=a)b)", "(?(?Cx)a)", "(?<=\\R{2})a", "(?<=\\X{2})a", "[[:<:]]*", "[[:<:]]a", "[[:>:]]{2}",
         "(*FAIL)*", "(?!)*", "(?!)?", "(?!){0}", "(?!)", "(?x)a+ #c\\n ?", "(?x)a+  (?#c", "(?x)a+ #", "(?<=(\\b){1,3})", "(a(?1)|b?(?:c*(?1)))",
         "\\B(?<=a|^(?R))", "(?(1)(?R)a|b)(c)", "(?|(?<n>a)|(?<m>b))", "(?J)(?<n>a)(?<n>b)", "(?<a>x)(?|y|(?<a>z))",
         "(?<n2>a)(?|b|(?|(?<n1>a)|(?<n2>b)))", "\\p{(abcdefghijklmnopqrstuvwxyzabcdefgh}", "\\p{abcdefghijklmnopqrstuvwxyzabcd}",
         "\\p{abcdefghijklmnopqrstuvwxyzabcde}",
         "(*MARK:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
         "(*MARK:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
         "(?<nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn>a)", "(?<nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn>a)"].
