%% Character data that are wrong somewhere: what is found wrong first, and how far the rest is looked at. An integer that is no
%% small one in OTP ends the looking.
-module(bad_characters).
-export([main/0]).

main() ->
    B = t:id(1 bsl 70),
    [t:c(io_lib:format("~w ~w", [Name, Data]), fun() -> convert(Name, Data) end)
     || Data <- data(B) ++ data(t:id((1 bsl 59) - 1)) ++ data(t:id(1 bsl 59)) ++ data(t:id(-(1 bsl 59) - 1)),
        Name <- [list, binary, latin1]].

convert(list, Data) -> unicode:characters_to_list(Data);
convert(binary, Data) -> unicode:characters_to_binary(Data);
convert(latin1, Data) -> unicode:characters_to_binary(Data, latin1, utf8).

data(B) ->
    [[[B, 1], m], [[B, m], 1], [[B | m], 1], [[-2, 1], m], [[-2, B], m], [[-2, B, m], 1], [[-2, [B], m], 1], [[-2, [B, m], m], m],
     [[[-2], B], m], [[[-2], 1], B, m], [[[-2], m], B], [[-2], [B | m], m], [-2, B | m], [B | m], [[[B]] | m],
     [[-2, <<1:1>>], B], [-2, [1 | B]], [[[-2], [B]] | m], [[[-2 | B]] | m], [-2, {}, B], [B, -2, {}], [[$a, B], {}],
     [[<<255>>, B], m], [[<<255>>, 1], m], [[<<255>>, [B]], m], [<<255>> | B], [[<<255>> | B] | m], [<<255>>, B | m],
     [[B, 1] | -2], [[-2] | B]].
