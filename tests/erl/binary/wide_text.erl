%% Character data to UTF-16 and UTF-32, which has a quick way for what is right; and small binaries of mixed segments.
-module(wide_text).
-export([main/0]).

main() ->
    Right = [[], <<>>, "abc", [<<"å"/utf8>>, "т", [<<"𝄞"/utf8>> | <<"x">>]], <<"aåт𝄞"/utf8>>, [16#10ffff, 16#ffff, 0],
             [<<16#e2>>, <<16#82, 16#ac>>]],
    Wrong = [a, [a], [-1], [16#d800], [16#110000], [1 bsl 70], <<255>>, [<<"ab">>, <<16#e2, 16#82>>], [<<"a", 16#e2>> | "b"],
             [<<"ab">> | a], <<1:9>>, ["x", <<16#c0, 16#80>>, "rest"], <<16#ed, 16#a0, 16#80>>],
    To = [utf16, {utf16, big}, {utf16, little}, utf32, {utf32, big}, {utf32, little}, {utf16, middle}, utf8, {utf8, big}],
    From = [utf8, unicode, latin1],
    Each = fun(Name, All) ->
        t:each(Name, [{N, I, O} || N <- lists:seq(1, length(All)), I <- From, O <- To],
               fun({N, I, O}) -> short(unicode:characters_to_binary(lists:nth(N, All), I, O)) end)
    end,
    Each(right, Right),
    t:c(long, fun() ->
        [short(unicode:characters_to_binary(D, unicode, O)) || D <- [lists:duplicate(30000, <<"aå"/utf8>>), lists:seq(1, 20000)], O <- lists:sublist(To, 6)]
    end),
    Each(wrong, Wrong),
    t:c(back, fun() -> [unicode:characters_to_list(unicode:characters_to_binary("aåт𝄞", utf8, O), O) || O <- lists:sublist(To, 6)] end),
    Numbers = [0, 1, -1, 255, -256, 16#1234567, -(1 bsl 40), 1 bsl 59, 1 bsl 64],
    Sizes = [0, 1, 7, 8, 12, 16, 29, 57, 61, 64, 65],
    t:each(numbers, [{N, S, T} || N <- Numbers, S <- Sizes, T <- Sizes], fun({N, S, T}) -> {<<N:S, -1:T>>, <<1:3, N:S/little, N:T>>} end),
    t:each(pieces, [<<>>, <<"abc">>, <<"abc", 1:3>>, binary:copy(<<"x">>, 60), a], fun(B) -> <<"<", B/binary, 1:8, $å/utf8>> end),
    t:each(characters, [0, $a, $å, $т, $𝄞, 16#d800, 16#110000, -1, a], fun(C) -> <<C/utf8, 1:1, C/utf16, C/utf16-little, 3:7, C/utf32-little>> end),
    t:c(limit, fun() -> [byte_size(<<(binary:copy(<<1>>, N))/binary, 5:16, "ab">>) || N <- lists:seq(55, 66)] end).

short(B) when is_binary(B), byte_size(B) > 100 -> {byte_size(B), erlang:md5(B)};
short({Tag, B, Rest}) when byte_size(B) > 100 -> {Tag, short(B), erlang:phash2(Rest)};
short(X) -> X.
