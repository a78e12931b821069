%% Arguments for the functions of `opcode_cases`: terms at the corners of representations, by types.
-module(opcode_values).
-export([arguments/4]).

%% The arguments of a call, and a number that says how it is begun (`gen_run:call/4`). A function of one argument that may be anything gets
%% each corner; else they are drawn, mostly from those of the type, now and then the same one twice.
arguments(Module, F, Types, I) ->
    rand:seed(exsss, erlang:phash2({Module, F, I}, 1 bsl 32)),
    {drawn(Types, I), I + rand:uniform(1 bsl 20)}.

drawn([any], I) -> Corners = corners(any), [lists:nth(1 + I rem length(Corners), Corners)];
drawn([Type], I) when I rem 3 =/= 0 -> Corners = corners(Type), [lists:nth(1 + I rem length(Corners), Corners)];
drawn([Type | Types], _) ->
    First = value(Type),
    Others = [case rand:uniform(6) of 1 when T =:= Type -> First; _ -> value(T) end || T <- Types],
    [First | Others];
drawn([], _) -> [].

value(Type) ->
    case rand:uniform(5) of
        1 when Type =/= small, Type =/= shift, Type =/= size, Type =/= code -> pick(corners(any));
        _ -> pick(corners(Type))
    end.

pick(List) -> lists:nth(rand:uniform(length(List)), List).

corners(any) -> lists:append([corners(T) || T <- [int, float, atom, list, tuple, map, bits, 'fun']]) ++ [self(), make_ref()];
corners(int) -> lists:append([[N, -N - 1] || N <- [0, 1, 7, 255, 256, 65535, (1 bsl 31) - 1, (1 bsl 59) - 1, 1 bsl 59, (1 bsl 60) - 1, 1 bsl 60, (1 bsl 60) + 1, (1 bsl 63) - 1, 1 bsl 63, 1 bsl 64, 1 bsl 70]]);
corners(float) -> [0.0, -0.0, 1.0, -1.5, 1.0e23, 9007199254740993.0 | floats()];
corners(num) -> corners(int) ++ corners(float);
corners(atom) -> [a, b, ok, true, false, undefined, 'an atom', ''];
corners(bool) -> [true, false];
corners(list) -> [[], [1], "text", [a | b], [1, 2.5, {c}], lists:seq(1, 40), [{a, 1}, {b, 2}]];
corners(tuple) -> [{}, {a}, {a, 1}, {1, [2]}, {a, 2.5, <<"c">>}, {a, b, c, d}, {1 bsl 60, -1}, list_to_tuple(lists:seq(1, 70))];
corners(map) -> [#{}, #{a => 1}, #{a => 1, b => 2}, #{1.0 => x, [] => 1 bsl 60}, #{1 => a, 1.0 => b, a => c}, maps:from_list([{N, N * 1.0} || N <- lists:seq(1, 40)])];
corners(bits) ->
    Long = binary:copy(<<"longer than 64 bytes ">>, 5),
    <<_:3, Odd:37/bits, _/bits>> = Long,
    <<_:1, Whole:40/bits, _/bits>> = Long,
    <<_:8, Part:200/bits, _/bits>> = Long,
    [<<>>, <<1:1>>, <<5:3>>, <<"a">>, <<"abc">>, <<"ab", 1:4>>, <<-1:64>>, <<0:72>>, <<(1 bsl 60):64>>, Long, Odd, Whole, Part, <<Part/bits, 1:2>>, <<16#D8, 0, 16#DC, 1>>, <<0, 0, 16#D8, 0>>, <<255, 255>>];
corners(floats) -> [<<F/float>> || F <- corners(float)] ++ [<<16#7FF0:16, 0:48>>, <<16#FFF8:16, 1:48>>, <<1:64>>];
corners(text) -> lists:append([[<<C/utf8, "x">>, <<C/utf16>>, <<C/utf16-little>>, <<C/utf32, 1:1>>] || C <- [0, $a, 127, 128, 16#7FF, 16#800, 16#FFFD, 16#10000, 16#10FFFF]]) ++ [<<16#C0, 128>>, <<16#F4, 16#90, 128, 128>>, <<16#110000:32>>];
corners(char) -> [0, $a, 127, 128, 16#7FF, 16#800, 16#D7FF, 16#D800, 16#DFFF, 16#E000, 16#FFFF, 16#10000, 16#10FFFF, 16#110000, -1, 1 bsl 60, a, 1.5];
corners('fun') -> Kept = pick([1, 2.5]), [fun(X) -> X end, fun(X) -> {X, Kept} end, fun(X, Y) -> [X | Y] end, fun() -> Kept end, fun erlang:hd/1, fun lists:reverse/1, fun erlang:no_such_function/1];
corners(small) -> [0, 1, 2, 3, 5, 8, 24, 64, 255, 256, 1000, -1, a, 1.5];
%% What the compiler's code has shown to be sizes and characters before it asks for more.
corners(size) -> [0, 1, 2, 3, 5, 8, 24, 64, 255, 256, 1000];
corners(code) -> [0, $a, 127, 128, 16#7FF, 16#800, 16#D7FF, 16#E000, 16#FFFF, 16#10000, 16#10FFFF];
corners(shift) -> [0, 1, -1, 5, 58, 59, 60, 61, 63, 64, 65, 130, -58, -60, -64, -130, a, 1.0];
corners(wait) -> [0, 1, 2, -1, a, 1.5, 1 bsl 64, {}].

%% Where floats stop being immediate: 2^-255 and 2^257; the largest, the smallest.
floats() ->
    [F || E <- [-1022, -256, -255, -254, 256, 257, 258, 1023], M <- [0, 1, (1 bsl 52) - 1], S <- [0, 1], <<F/float>> <= <<S:1, (1023 + E):11, M:52>>] ++ [5.0e-324].
