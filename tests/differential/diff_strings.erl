%% Texts of few different characters, so that what is looked for is often there, with now and then a character that joins others,
%% a wrong byte or what is no text at all.
-module(diff_strings).
-export([text/0, pattern/0, separators/0, functions/0]).
-import(diff_terms, [n/1, pick/1, many/2, chance/1, term/1]).

functions() ->
    [{F, [text | Kinds]} || {F, Kinds} <- [{length, []}, {reverse, []}, {to_graphemes, []}, {next_grapheme, []}, {next_codepoint, []}, {uppercase, []}, {lowercase, []},
                                           {casefold, []}, {titlecase, []}, {is_empty, []}, {chomp, []}, {slice, [index]}, {slice, [index, index]}, {trim, []}, {trim, [side]},
                                           {trim, [side, marks]}, {lexemes, [marks]}, {nth_lexeme, [index, marks]}, {take, [marks]}, {take, [marks, bool, side]},
                                           {find, [mark]}, {find, [mark, direction]}, {split, [mark]}, {split, [mark, direction]}, {replace, [mark, text, direction]}, {prefix, [mark]},
                                           {equal, [text]}, {equal, [text, bool]}, {pad, [size, side]}, {tokens, [marks]}, {str, [mark]}, {strip, []}, {to_upper, []}, {to_lower, []},
                                           {to_integer, []}, {chr, [char]}, {rchr, [char]}, {substr, [index]}, {substr, [index, index]}]].

%% Flat lists and binaries most often, long ones seldom.
text() ->
    Char = alphabet(),
    Chars = many(case n(30) of 1 -> 200; _ -> 12 end, Char),
    case n(12) of
        1 -> nested(Chars);
        2 -> Chars ++ pick([<<"ab">>, <<>>, x, 1.5, -1, <<"a\n"/utf8>>]);
        N when N < 8 -> Chars;
        _ -> binary(Chars)
    end.

%% Most texts have characters of one kind.
alphabet() ->
    case n(6) of
        1 -> fun() -> pick("ab") end;
        2 -> fun() -> pick("aB \n\r,") end;
        3 -> fun() -> pick("aA \tbß") end;
        4 -> fun() -> pick([$a, $\s, $\r, $\n, 16#301]) end;
        5 -> fun() -> pick("aÄöλΣ ςж") end;
        6 -> fun rare/0
    end.

rare() ->
    case n(8) of
        1 -> pick([16#301, 16#600, 16#1f600, 16#200d, 16#1f3fb, 16#1100, 16#1161, 16#11a8, 16#ac00, 16#ac01, 16#1f1e6, 16#ad, 16#2028, 16#85, 16#200e, 16#903, 16#e31, 16#a9, 16#ae, 16#2764]);
        2 -> pick([16#df, 16#b5, 16#ff, 16#130, 16#131, 16#149, 16#17f, 16#3c2, 16#1c4, 16#1c5, 16#390, 16#1e9e, 16#587, 16#4e00, 16#10ffff, 16#fffe]);
        3 -> pick([16#d800, 16#110000, -1, 256, 1.5, a, [], <<255>>, <<"ab">>, "ab", [$a, 16#301], 1 bsl 70]);
        _ -> pick("ab \r\n")
    end.

binary(Chars) ->
    case unicode:characters_to_binary([C || C <- Chars, is_integer(C)]) of
        Binary when is_binary(Binary) ->
            case n(15) of
                1 -> <<Binary/binary, (pick([<<255>>, <<16#c3>>, <<16#e2, 16#82>>, <<16#ed, 16#a0, 16#80>>, <<16#c0, 16#80>>]))/binary>>;
                2 -> diff_terms:represent(Binary);
                3 -> At = n(byte_size(Binary) + 1) - 1, <<A:At/binary, B/binary>> = Binary, <<A/binary, 16#80, B/binary>>;
                _ -> Binary
            end;
        _ -> <<"ab">>
    end.

nested(Chars) ->
    {A, B} = lists:split(n(length(Chars) + 1) - 1, Chars),
    pick([[A | B], [A, B], [A, binary(B)], [binary(A) | B], [[[A]], [], B], [binary(A), binary(B)]]).

%% What is looked for.
pattern() ->
    Char = alphabet(),
    Chars = many(3, Char),
    case n(8) of
        1 -> text();
        2 -> binary(Chars);
        3 -> [Chars];
        _ -> Chars
    end.

separators() ->
    Marks = many(3, fun() -> pick([$a, $b, $\s, $,, $\n, $\r, "\r\n", $\t, $ß, $λ, 16#2028, 16#85, 16#301, [$a, 16#301], 16#600]) end),
    case chance(30) of true -> pick([<<"a">>, [<<"a">>], Marks ++ [x], "a" ++ b, [[]], [1 bsl 70]]); false -> Marks end.
