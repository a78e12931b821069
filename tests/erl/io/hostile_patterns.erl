%% Regular expressions made to take much time or memory: the errors and limits are OTP's, and each case ends in little time.
-module(hostile_patterns).
-export([main/0]).

main() ->
    [t:c(["slow ", P, $ , integer_to_list(length(S))], fun() -> timed(fun() -> [re:run(S, P, []) | [given_up(re:run(S, P, O)) || O <- [[report_errors], [report_errors, {match_limit, 1000}], [{capture, none}, report_errors, {match_limit_recursion, 50}]]]] end) end) || {P, S} <- slow()],
    t:each(nested, [{W, N} || W <- ["()", "(?:)", "(?=)", "(?<=)", "(?>)", "(?i:)", "(?<n>)", "[]", "(?(?=a))", "(|)"], N <- [10, 240, 249, 250, 251, 260, 3000, 200000]], fun({W, N}) -> timed(fun() -> case compiled(nest(W, N)) of {error, {Text, _}} -> Text; R -> R end end) end),
    t:each(repeats, repeats(), fun(P) -> timed(fun() -> {compiled(P), short(catch_(fun() -> re:run("aaaaaaaaaab", P, [report_errors]) end))} end) end),
    [t:c("large " ++ atom_to_list(Name), fun() -> timed(fun() -> {compiled(P, O), short(catch_(fun() -> re:run(S, P, [report_errors | O]) end))} end) end) || {Name, P, O, S} <- large()],
    t:each(deep_subject, [{P, N} || P <- ["^(?:a|b)*$", "^(a|b)*$", "^((a|b)c?)*$", "^(?:a(?R)?b)$", "^(a(?1)?b)$", "^(?:.|\\n)*?x", "^(?:(?:a)*?)*$", "(?:a?){50}x", "^(?:(a)|b)*+$"], N <- [100, 5000, 50000], N < 50000 orelse re:run(P, "\\?[R1]|\\{50") =:= nomatch],
           fun({P, N}) -> timed(fun() -> S = [lists:duplicate(N, $a), lists:duplicate(N, $b)], [short(given_up(re:run(S, P, [report_errors]))), short(re:run(S, P, [{capture, first}]))] end) end),
    t:each(global, ["", "(?=(a*))", "a*?", "(?<=a)", "(a?)*"], fun(P) -> timed(fun() -> S = lists:duplicate(3000, $a), {match, L} = re:run(S, P, [global]), {length(L), hd(L), lists:last(L)} end) end),
    t:c(others_go_on, fun() -> S = self(), spawn_link(fun() -> ticks(S, 0) end), _ = re:run(lists:duplicate(40, $a), "(a+)+$|(a|a)+b", []), timed(fun() -> receive ticked -> ok end end) end),
    t:c(replace, fun() -> timed(fun() -> [catch_(fun() -> iolist_size(re:replace(lists:duplicate(3000, $a), P, W, [global])) end) || P <- ["a", "a*", "(a+)+b"], W <- ["&&&&", "\\1\\2\\99999999999999999999", "\\g{99999999999999999999}"]] end) end),
    t:c(split, fun() -> timed(fun() -> [catch_(fun() -> length(re:split(lists:duplicate(3000, $a), P, O)) end) || P <- ["a", "", "(a+)+b"], O <- [[], [group], [{parts, 5}], [{parts, 1 bsl 70}]]] end) end).

slow() ->
    A = fun(N) -> lists:duplicate(N, $a) end,
    [{"(a+)+b", A(30)}, {"(a+)+b", A(5000)}, {"^(a|aa)+$", A(60) ++ "b"}, {"(.*)*x", A(200)}, {"(x+x+)+y", lists:duplicate(40, $x)}, {"^(([a-z])+.)+[A-Z]([a-z])+$", A(60)}, {"(a*)*b", A(1000)}, {"(?:a*)*b", A(1000)},
     {"(a?){30}a{30}", A(30)}, {"(a?){40}a{40}b", A(40)}, {".*.*.*.*.*.*=x", A(300)}, {"(.+)+\\1x", A(100)}, {"^(?:(a)|(b)|a\\1)+$", A(80) ++ "c"}, {"(?:(?=(a+))a*b|a)*c", A(500)}, {"(a|b|ab)*c", lists:append(lists:duplicate(30, "ab"))},
     {"^(?:a+)+(?<!b)c", A(40)}, {"(?i)(A+)+B", A(40)}, {"([a-z]+)*=", A(60)}, {"(\\w+\\s*)+:", "word word word word word word word word word"}].

nest("[]", N) -> [lists:duplicate(N, $[), $a, lists:duplicate(N, $])];
nest(W, N) ->
    {Open, Close} = lists:split(length(W) - 1, W),
    case W of
        "(?<n>)" when N > 1 -> [[["(?<n", integer_to_list(I), ">"] || I <- lists:seq(1, N)], $a, lists:duplicate(N, Close)];
        _ -> [lists:duplicate(N, Open), $a, lists:duplicate(N, Close)]
    end.

repeats() ->
    ["a{65535}", "a{0,65535}", "a{65536}", "a{99999999999999999999}", "(a){65535}", "(?:a{1000}){1000}", "(?:a{1,100}){1,100}", "((a{1,200}){1,200}){1,2}", "((a{1,99}){1,99}){1,99}", "(((a{1,99}){1,99}){1,99}){1,99}", "(?:(?:(?:(?:a{2}){2}){2}){2}){2}",
     "(?:(?:a{0,30}){0,30}){0,30}", "(abcdefghij){0,6000}", "(abcdefghij){6553}", "(abcdefghij){65535}", "[a-z]{65535}", "[a-z]{0,65535}b", "(?=a){1000}", "(?:){65535}", "(){65535}", "(a|b){1000}", "((a|b|c){100}){100}", "(?>a{10}){1000}", "(?1)(a){60000}", "(a)(?1){60000}", "(?(1)a|b){1000}", "\\1{60000}(a)", "(?<=a{1000})b", "a{65535}{65535}", "a+{1000}", "\\w{60000}\\d{60000}\\x{ff}{60000}"].

large() ->
    Words = fun(N) -> lists:join($|, ["w" ++ integer_to_list(I) || I <- lists:seq(1, N)]) end,
    [{words_1000, Words(1000), [], "xxw999"}, {words_20000, Words(20000), [], "xxw19999"}, {words_200000, Words(200000), [], "xxw199999"},
     {literal, lists:duplicate(1000000, $a), [], "b"}, {class_of_ranges, [$[, [[C, $-, C + 1] || C <- lists:seq(16#100, 16#d000, 3)], $]], [unicode], [16#1234]},
     {caseless_class, [$[, [[C, $-, C + 1] || C <- lists:seq(16#100, 16#d000, 3)], $]], [unicode, caseless], [16#1234]}, {classes_5000, lists:duplicate(5000, "[a-y]"), [], "a"}, {negated, ["[^", lists:seq(16#100, 16#4000), $]], [unicode], "a"}, {properties, lists:duplicate(3000, "\\p{Lu}"), [unicode], "a"}, {class_of_properties, [$[, lists:duplicate(3000, "\\p{Lu}"), $]], [unicode], "A"},
     {groups_1000, lists:duplicate(1000, "(a)?"), [], "a"}, {groups_65535, lists:duplicate(65535, "()"), [], "a"}, 
     {names_9999, [["(?<n", integer_to_list(I), ">)"] || I <- lists:seq(1, 9999)], [], "a"}, {names_10000, [["(?<n", integer_to_list(I), ">)"] || I <- lists:seq(1, 10000)], [], "a"}, {same_name, lists:duplicate(5000, "(?<n>a)?"), [dupnames], "a"},
     {references, ["(a)", lists:duplicate(50000, "\\1?")], [], "a"}, {forward, [[["\\", integer_to_list(I)] || I <- lists:seq(100, 150)], lists:duplicate(200, "(a)?")], [], "a"}, {recursions, ["(a)", lists:duplicate(20000, "(?1)?")], [], "a"}, 
     {comment, ["(?#", lists:duplicate(1000000, $x), ")a"], [], "a"}, {blanks, [lists:duplicate(1000000, $\s), "a"], [extended], "a"}, {quoted, ["\\Q", lists:duplicate(500000, $(), "\\E"], [], "a"}, {stars, lists:duplicate(100000, "a*"), [], "a"}, {dots, [lists:duplicate(100000, ".*"), "x"], [], "a"}, {options, lists:duplicate(100000, "(?i)(?-i)"), [], "a"},
     {conditions, lists:duplicate(3000, "(?(?=a)a|b)"), [], "a"}, {alternatives_behind, ["(?<=", lists:join($|, [lists:duplicate(I, $a) || I <- lists:seq(1, 300)]), ")b"], [], "ab"}, {verbs, [lists:duplicate(20000, "(*PRUNE)"), "a"], [], "a"}, {long_name, ["(?<", lists:duplicate(100000, $n), ">a)"], [], "a"}, {long_verb, ["(*MARK:", lists:duplicate(300, $n), ")a"], [], "a"}, {long_number, ["\\x{", lists:duplicate(100000, $0), "41}"], [], "A"}, {long_group_number, ["(?", lists:duplicate(100000, $1), ")"], [], "A"}, {callouts, [lists:duplicate(20000, "(?C1)"), "a"], [], "a"}].

compiled(P) -> compiled(P, []).

compiled(P, O) ->
    case catch_(fun() -> re:compile(P, O) end) of
        {ok, C} -> {ok, element(2, C)};
        R -> R
    end.

%% In 20 seconds, on a busy machine, too; most take milliseconds.
timed(Fun) ->
    {T, R} = timer:tc(Fun),
    case T < 20_000_000 of true -> R; false -> {too_slow, R} end.

%% Which subjects reach a limit depends on what the library finds out before it begins.
given_up({error, match_limit}) -> nomatch;
given_up({error, match_limit_recursion}) -> nomatch;
given_up(R) -> R.

ticks(S, 20) -> S ! ticked;
ticks(S, N) -> timer:sleep(1), ticks(S, N + 1).

short({match, L}) when length(L) > 10 -> {match, length(L), erlang:phash2(L)};
short(R) -> R.

catch_(F) -> try F() catch C:R -> {C, R} end.
