%% Regular expressions for the differential test, grown by a grammar and now and then broken, and what both VMs make of them.
%%
%% Most of them are wrong in one way or another: which error is told, and where, is compared as well. Those that compile
%% are matched with a few subjects, once and for all matches. No `\C`: OTP goes on within a character where Myriad fails. Not for
%% all matches with `\K`: where it stands in a lookbehind, a match may begin before the last one, and neither VM comes to an end.
-module(diff_patterns).
-export([pattern/0, options/0, subjects/0, tried/3]).
-import(diff_terms, [n/1, pick/1, chance/1]).

%% What compiling says, and what each subject gives.
tried(Pattern, Options, Subjects) ->
    case re:compile(Pattern, Options) of
        {error, Error} -> {error, Error};
        {ok, Compiled} ->
            Run = [report_errors, {match_limit, 100000}],
            Runs = case keeps(Pattern) of false -> [Run, [global | Run]]; true -> [Run] end,
            {element(2, Compiled), [[matched(S, Compiled, R) || R <- Runs] || S <- Subjects]}
    end.

keeps("\\K" ++ _) -> true;
keeps([_ | Rest]) -> keeps(Rest);
keeps([]) -> false.

%% A limit is reached at another step by another library.
matched(Subject, Compiled, Options) ->
    try re:run(Subject, Compiled, Options) of
        {error, _} -> limit;
        Result -> Result
    catch error:Reason -> Reason
    end.

options() ->
    pick([[], [], [], [], [unicode], [unicode], [unicode, ucp], [caseless], [caseless, unicode], [multiline], [extended], [no_auto_capture],
          [dotall], [ungreedy], [dupnames], [firstline], [dollar_endonly], [anchored], [{newline, crlf}, extended], [{newline, any}, multiline],
          [{newline, cr}, extended], [{newline, anycrlf}], [bsr_anycrlf]]).

subjects() -> [lists:flatten([pick(pieces()) || _ <- lists:seq(1, n(10))]) || _ <- [1, 2, 3]].

pieces() -> ["a", "b", "ab", "c", "\n", "\r\n", "\r", "1", "-", "_", " ", "aa", "A", "B", "Ab", [16#e9], [16#c9]].

pattern() ->
    Text = lists:flatten(case n(9) of
        1 -> [optional(atom_(1)), "(?<", pick(["=", "!"]), alternatives(2), ")", optional(sequence(1))];
        2 -> ["(", alternatives(2), ")", pick(["(?1)", "(?R)?", "\\1", "(?2)?", "(?1)*", "(?1){2}", "(?1)+?", "(?1)*+"]), alternatives(2)];
        N when N =< 4 -> [class() || _ <- lists:seq(1, n(2))];
        _ -> alternatives(3)
    end),
    case n(5) of
        1 -> broken(Text);
        2 -> pick(["(*UTF8)", "(*CR)", "(*ANYCRLF)", "(*UCP)", "(*LIMIT_MATCH=900)", "(*BSR_ANYCRLF)", "(?x)", "(?i)", "(?X)", "(?J)"]) ++ Text;
        _ -> Text
    end.

%% A character less, another one, or the end cut off.
broken("") -> "(";
broken(Text) ->
    {Before, [_ | After]} = lists:split(n(length(Text)) - 1, Text),
    case n(4) of
        1 -> Before;
        2 -> Before ++ After;
        3 -> Before ++ pick(["(", ")", "[", "]", "\\", "?", "*", "{", "}", "|", "(?", "(*", "<", "'", "1", "-", "^", ":", "#", [0]]) ++ After;
        4 -> Before ++ pick(odd()) ++ After
    end.

odd() ->
    ["(?#c)", " #c\n", "\\Q", "\\E", "{2}", "{,3}", "{3,2}", "{65536}", "(?C1)", "(?C256)", "\\g{", "\\g<", "\\g{-3}", "\\k{n1}", "\\k'n1'", "\\x{", "\\x{d800}", "\\x{1ff}", "\\o{",
     "\\o{12}", "\\400", "\\p{", "\\p{Foo}", "\\p{^Greek}", "\\pZ", "\\N{2}", "\\N{a}", "\\L", "\\c", "(?P<", "(?P=n1)", "(?P>n1)", "(?'n1'", "(?<1", "(?(", "(?(0)", "(?(R&n1)", "(?(R1)",
     "(?('n1')", "(?(-1)", "(?(+1)", "(?+1)", "(?-2)", "(?i-s", "(?^)", "(*FOO)", "(*MARK)", "(*ACCEPT:x)", "[[:<:]]", "[[:>:]]", "[:alpha:]", "[.a.]", "[^]", "(?<n1>", "(?|(?<n1>a)|(?<n2>b))",
     "\\8", "\\18", "\\99999999999", "(?99999999999)", "+", "++", "*?"].

optional(X) -> case n(2) of 1 -> X; _ -> "" end.

alternatives(Depth) -> lists:join("|", [sequence(Depth) || _ <- lists:seq(1, pick([1, 1, 1, 2, 2, 3]))]).
sequence(Depth) -> [item(Depth) || _ <- lists:seq(0, pick([0, 1, 1, 2, 2, 3]))].
item(Depth) -> [atom_(Depth), pick(["", "", "", "", "", repetition()])].
repetition() ->
    [pick(["*", "+", "?", "{1,3}", "{2}", "{0}", "{0,0}", "{1}", "{0,1}", "{0,}", "{3,3}", "{2,}", "{1,1}"]), case chance(6) of true -> pick(["(?#c)", " ", " #c\n"]); false -> "" end,
     pick(["", "", "", "?", "+"])].

atom_(0) -> pick(["a", "b", ".", "\\b", "[ab]", "\\d", "^", "$", "\\B", "a", "b"]);
atom_(Depth) ->
    Inner = fun() -> alternatives(Depth - 1) end,
    case n(36) of
        1 -> ["(", Inner(), ")"];
        2 -> ["(?:", Inner(), ")"];
        3 -> ["(?>", Inner(), ")"];
        4 -> ["(?=", Inner(), ")"];
        5 -> ["(?!", Inner(), ")"];
        6 -> ["(?<=", Inner(), ")"];
        7 -> ["(?<!", Inner(), ")"];
        8 -> ["(?|", Inner(), ")"];
        9 -> ["(?i:", Inner(), ")"];
        10 -> ["(?(", pick(["1", "2", "-1", "+1", "R1", "R", "R2", "n1"]), ")", Inner(), ")"];
        11 -> ["(?(?=", atom_(0), ")", Inner(), ")"];
        12 -> ["(?<n", integer_to_list(n(2)), ">", Inner(), ")"];
        13 -> pick(["\\1", "\\2", "\\g{-1}", "\\k<n1>", "\\g2", "\\3"]);
        14 -> pick(["(?1)", "(?R)", "(?-1)", "(?&n1)", "\\g<1>", "\\g'-1'", "(?+1)", "(?P>n1)"]);
        15 -> pick(["\\R", "\\X", "\\K", "\\G", "\\A", "\\z", "\\Z", "\\h", "\\v", "\\H", "\\V", "\\N"]);
        16 -> pick(["(?i)", "(?s)", "(?m)", "(?x)", "(?-i)", "(?U)", "(?#x)", "\\Qa\\E", "\\E", "\\Q\\E"]);
        17 -> pick(["(*ACCEPT)", "(*FAIL)", "(*COMMIT)", "(*PRUNE)", "(*SKIP)", "(*THEN)", "(*MARK:x)", "(*SKIP:x)"]);
        18 -> pick(["[^a]", "[a-c]", "[[:alpha:]]", "\\w", "\\W", "\\s", "\\D", "[\\d-]", "\\p{Lu}", "\\pL", "[\\p{Lu}1]", "\\P{Ll}", "[^\\p{Ll}]", "\\p{Latin}"]);
        19 -> pick(["\\x61", "\\141", "\\x{62}", "\\n", "\\r", "\\t", "\\e", "\\cA", "\\q", "\\y", "\\8", [16#e9]]);
        20 -> ["(?(DEFINE)", Inner(), ")"];
        21 -> ["(?(<n1>)", Inner(), ")"];
        22 -> ["(?(R)", Inner(), ")"];
        23 -> class();
        24 -> pick(odd());
        _ -> atom_(0)
    end.

class() -> ["[", pick(["", "", "^"]), [member() || _ <- lists:seq(1, n(4))], "]", pick(["", "", "+", "*?", "{2}"])].
member() ->
    pick(["a", "b", "a-c", "-", "]", "[", "^", "\\d", "\\w", "\\s", "\\b", "\\]", "\\-", "[:alpha:]", "[:^digit:]", "[:space:]", "[:punct:]", "[:upper:]", "\\x61", "\\n", "\\h", "\\v",
          "\\N", "\\R", "\\X", "\\Q-\\E", "\\E", "\\Q\\E", "z-a", "a-\\d", "\\d-a", "-a", "a-", "\\x{e9}", "[:x:]", "[.a.]", "[=a=]", "\\pL", "\\p{^Lu}", "\\P{Lu}", "\\p{Ll}", "[[", "&&",
          "~~", "--", "a--b", "\\c@", "\\0", "\\08", "\\1", "\\377", "\\o{101}", "\\z", "\\A", "_", " ", "#", "A-Z", [16#c9]]).
