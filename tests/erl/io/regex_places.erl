%% Where in a pattern the error is that it is refused for; what is no pattern at all.
-module(regex_places).
-export([main/0]).

main() ->
    t:each(lookbehind, ["(?<!\\x61?c|^)", "(?<!(?:[a-c])*|(?<n>\\s)\\d)", "(?<=a|[b*]|c{2}|d{2,})", "(?<=a|(b|c+)|d)", "(?<=a|bc+)",
                        "(?<=([^a])\\1.|[a-c])", "(?<=($)\\1|\\x611)", "(?<=a+)", "x(?<!a*|b)y", "(?<=a|b{1,2}|c+)", "(?<=a|bc)", "(?<=[|*]|b)"],
           fun(P) -> case re:compile(P) of {ok, _} -> ok; Error -> Error end end),
    t:each(no_pattern, [{S, P, O} || P <- [t:id(5), t:id(a), [a], [300], <<1:3>>, {}], S <- [<<"x">>, -1], O <- [[unicode], [unicode, global], []]],
           fun({S, P, O}) -> re:run(S, P, O) end).
