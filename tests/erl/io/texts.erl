%% Texts as `string` takes them apart: flat lists and binaries, whole ranges of characters, what is wrong; long ones, and what others see.
-module(texts).
-export([main/0]).

main() ->
    Texts = ["", "a", "abcab", "  a b\t\r\n", "\r\na\r\n\r", "\r\r\n", "a\rb", "grüße ΣΑΣ", [$\s, $a, 769, $\s], [$a, $\s, 769], [16#600, $\s, $a], [16#1f1e6, 16#1f1e6, $a], [8232, 133, $a, 8206],
             <<>>, <<"abcab">>, <<"  a b\r\n">>, <<"\ra">>, <<"a ", 255>>, <<"a", 255, " ">>, <<195>>, <<"grüße ΣΑΣ"/utf8>>, <<" a", 769/utf8, " ">>, <<1:3>>,
             ["a" | <<" b ">>], ["ab", <<"cab">>], [$a, -1], [$a, 55296, $b], [$a, 1.5], [$a, {}], [a], [$a | b], a, {}],
    [t:each(N, Texts, F) || {N, F} <- of_texts()],
    Patterns = ["b", "ab", "a", <<"ca">>, "\r", "\n", "x", [769], [$a, 769], ["a"], [55296], "", <<>>, [[]], <<255>>, [a], a],
    [t:each(io_lib:format("~w ~0tp", [N, S]), Patterns, fun(P) -> F(S, P) end) || {N, F} <- of_patterns(), S <- ["abcab", <<"abcab">>, "a\r\nb", [$c, $a, 769], [$x, {}], <<"ab", 255>>]],
    Separators = [" ", "ab", "\n", "\r", ["\r\n"], ["\r\n", $\n], [$a, 769], [[$a, 769]], [8232], [955], [], [a], a, <<" ">>, "a" ++ b],
    [t:each(io_lib:format("~w ~0tp", [N, S]), Separators, fun(P) -> F(S, P) end) || {N, F} <- of_separators(), S <- ["aab ba\r\n", <<"aab ba\r\n">>, [$a, 769, $b, 955], <<"a λ"/utf8>>, <<"b ", 255>>]],
    t:each(sliced, [{S, L} || S <- [0, 1, 3, 5, 6, -1, a], L <- [0, 1, 3, 9, infinity, -1, a]], fun({S, L}) -> [string:slice(T, S, L) || T <- ["abcab", <<"abcab">>]] end),
    t:each(older, ["", " a bá ", [$\s, a, $\s], " a" ++ b, [955, $ÿ, $÷, $Z, $a], a],
           fun(S) -> [catch element(1, {F()}) || F <- [fun() -> string:strip(S) end, fun() -> string:strip(S, left) end, fun() -> string:strip(S, right, $\s) end, fun() -> string:to_upper(S) end, fun() -> string:to_lower(S) end,
                                                     fun() -> string:substr(S, 2) end, fun() -> string:substr(S, 1, 2) end, fun() -> string:substr(S, 3, 0) end, fun() -> string:chr(S, $a) end, fun() -> string:rchr(S, $\s) end]] end),
    %% Nothing is looked at beyond what is asked for.
    t:c(beyond, fun() -> {string:slice(<<"abc", 255>>, 1, 1), string:find([$a, $b | c], "a"), string:split(<<"a,b", 255>>, ","), string:equal([$a | x], "b"), string:prefix([$a, $b | c], "x")} end),
    t:each(cases, [{0, 16#7ff}, {16#800, 16#1fff}, {16#2000, 16#2fff}, {16#3000, 16#ffff}, {16#10000, 16#1ffff}],
           fun({A, B}) -> [erlang:phash2([F(S) || C <- lists:seq(A, B), C < 16#d800 orelse C > 16#dfff, S <- [[C], [C, $a], <<C/utf8>>]]) || F <- [fun string:uppercase/1, fun string:lowercase/1, fun string:casefold/1, fun string:titlecase/1]] end),
    t:each(folded, [{0, 16#5ff}, {16#1e00, 16#20ff}], fun({A, B}) -> erlang:phash2([string:equal([C], [D], true) || C <- lists:seq(A, B), D <- [C + 1, C + 32, C - 1, $s], D >= 0]) end),
    t:c(clusters, fun clusters/0),
    t:c(long, fun long/0),
    t:c(traced, fun() -> [traced(M, F) || {M, F} <- [{string, fun() -> string:length(t:id("abc")) end}, {string, fun() -> string:trim(t:id(" a ")) end}, {unicode_util, fun() -> walk(fun unicode_util:gc/1, ["a", $b, 955]) end},
                                                     {unicode_util, fun() -> walk(fun unicode_util:cp/1, "ab") end}, {unicode_util, fun() -> string:length(["a", "b"]) end}]] end),
    t:each(walked, ["abc", [955, $a, 956], "\r\na\r", [$e, 769, $a], <<"aλ\r\n"/utf8>>, <<"a", 255>>, ["a", <<"bc">>, $d], [$a | <<"bc">>], [a], [$a, b], [$a | b], [-1, 256, 1 bsl 70], x],
           fun(T) -> [try walk(F, T) catch C:R -> {C, R} end || F <- [fun unicode_util:gc/1, fun unicode_util:cp/1]] end),
    t:c(replaced, fun replaced/0),
    t:c(no_built_in, fun() -> erlang:is_builtin(string, length, 1) end).

of_texts() ->
    [{length, fun string:length/1}, {reverse, fun string:reverse/1}, {graphemes, fun string:to_graphemes/1}, {uppercase, fun string:uppercase/1}, {lowercase, fun string:lowercase/1}, {casefold, fun string:casefold/1},
     {trim, fun string:trim/1}, {leading, fun(S) -> string:trim(S, leading) end}, {trailing, fun(S) -> string:trim(S, trailing, " a") end}, {sideways, fun(S) -> string:trim(S, sideways) end}, {chomp, fun string:chomp/1},
     {slices, fun(S) -> {string:slice(S, 1), string:slice(S, 2, 2)} end}, {graphs, fun(S) -> {string:next_grapheme(S), string:next_codepoint(S)} end}, {titlecase, fun string:titlecase/1},
     {padded, fun(S) -> [string:pad(S, 6), string:pad(S, 4, leading, x), string:pad(S, 9, both, "ab"), string:pad(S, -1, both), string:pad(S, 2, a)] end}, {to_integer, fun string:to_integer/1}, {characters, fun unicode:characters_to_list/1}, {equal, fun(S) -> {string:equal(S, "abcab"), string:equal(<<"ABCAB">>, S, true)} end}].

of_patterns() ->
    [{found, fun(S, P) -> {string:find(S, P), string:find(S, P, trailing)} end}, {split, fun(S, P) -> [string:split(S, P, W) || W <- [leading, trailing, all]] end}, {prefix, fun string:prefix/2}, {older, fun(S, P) -> {string:str(S, P), string:rstr(S, P)} end}].

of_separators() ->
    [{lexemes, fun string:lexemes/2}, {nth, fun(S, P) -> [string:nth_lexeme(S, N, P) || N <- [1, 2, 3]] end}, {tokens, fun string:tokens/2},
     {taken, fun(S, P) -> {string:take(S, P), string:take(S, P, true), string:take(S, P, false, trailing), string:take(S, P, true, leading)} end}, {trimmed, fun(S, P) -> [string:trim(S, W, P) || W <- [leading, trailing, both]] end}].

%% Pairs of characters of all kinds: how many clusters they are.
clusters() ->
    Some = lists:seq(0, 255, 3) ++ "\r\n" ++ [769, 955] ++ lists:seq(16#250, 16#ffff, 333) ++ lists:seq(16#1f000, 16#1fa00, 41),
    Pairs = [[A, B] || A <- Some, B <- Some, A < 16#d800 orelse A > 16#dfff, B < 16#d800 orelse B > 16#dfff],
    [erlang:phash2([F(P) || P <- Pairs]) || F <- [fun string:length/1, fun(P) -> string:length(unicode:characters_to_binary(P)) end, fun unicode_util:gc/1, fun(P) -> string:slice(P, 1) end]].

%% Longer than what is done at once.
long() ->
    L = lists:append(lists:duplicate(30000, "abc, de ")),
    B = list_to_binary(L),
    [erlang:phash2({string:length(T), string:uppercase(T), string:trim(T), string:lexemes(T, ", "), string:find(T, "x"), string:find(T, "de", trailing), length(string:split(T, ",", all)),
                    string:slice(T, 100000, 50000), string:reverse(T), string:equal(T, L), string:equal(T, string:uppercase(L), true), erlang:phash2(string:to_graphemes(T))}) || T <- [L, B, <<B/binary, 955/utf8>>, L ++ [$e, 769]]].

%% All clusters or characters.
walk(Next, Text) ->
    case Next(Text) of
        [First | Rest] -> [First | walk(Next, Rest)];
        Other -> Other
    end.

%% The calls of another function of the module that a tracer sees.
traced(Module, Fun) ->
    Self = self(),
    Tracer = spawn_link(fun Loop() -> receive {trace, _, call, {M, F, A}} -> Self ! {M, F, length(A)}, Loop() end end),
    erlang:trace_pattern({Module, '_', '_'}, true, [local]),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    Value = Fun(),
    erlang:trace(self(), false, [call]),
    erlang:trace_pattern({Module, '_', '_'}, false, [local]),
    {Value, t:flush(200)}.

%% A module of the same name that does something else is what it is.
replaced() ->
    {string, Old, File} = code:get_object_code(string),
    Form = fun(Line) -> {ok, T, _} = erl_scan:string(Line), {ok, F} = erl_parse:parse_form(T), F end,
    {ok, string, New} = compile:forms([Form("-module(string)."), Form("-export([length/1])."), Form("length(X) -> {X}.")]),
    code:unstick_dir(filename:dirname(File)),
    {module, string} = code:load_binary(string, "other", New),
    Other = apply(string, length, ["abc"]),
    code:purge(string),
    {module, string} = code:load_binary(string, File, Old),
    {Other, apply(string, length, ["abc"])}.
