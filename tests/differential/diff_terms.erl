%% Random terms for the differential test: all types, nested, with a liking for values at edges.
%%
%% Randomness is the process's own `rand` state, so one seed gives one term on every VM. Binaries are also made as parts of
%% others, at odd bit offsets and by appending, maps also by updates: the same value in another representation must behave
%% the same. Keys of maps of more than 32 pairs hold no atoms: their order is each VM's own (docs/differences.md).
-module(diff_terms).
-export([term/0, term/1, represent/1, key/0, int/0, small/0, big/0, float/0, number/0, atom/0, bool/0, list/1, proper/0, ints/0, improper/0,
         tuple/0, map/0, big_map/0, bin/0, bits/0, bytes/1, string/0, char/0, chardata/0, iodata/0, text/0, text/1, latin/0, pairs/0, tuples/0,
         external_fun/1, pick/1, n/1, chance/1, many/2, word/0, utf8/0]).

n(N) -> rand:uniform(N).
chance(Percent) -> rand:uniform(100) =< Percent.
pick(List) -> lists:nth(rand:uniform(length(List)), List).
many(Max, F) -> [F() || _ <- lists:seq(1, rand:uniform(Max + 1) - 1)].

term() -> term(3).

%% A term of at most so many levels.
term(Depth) when Depth =< 0 -> simple();
term(Depth) ->
    case n(20) of
        N when N =< 8 -> simple();
        N when N =< 11 -> list(Depth - 1);
        12 -> [term(Depth - 1) | term(Depth - 1)];
        N when N =< 15 -> list_to_tuple(many(4, fun() -> term(Depth - 1) end));
        N when N =< 17 -> map(Depth - 1);
        18 -> case n(4) of 1 -> big_map(); _ -> string() end;
        19 -> iodata();
        20 -> bits()
    end.

simple() ->
    case n(14) of
        N when N =< 3 -> small();
        N when N =< 5 -> int();
        6 -> float();
        N when N =< 9 -> atom();
        N when N =< 11 -> bin();
        12 -> pick([[], {}, #{}, <<>>]);
        13 -> key();
        14 -> rare()
    end.

rare() ->
    case n(6) of
        1 -> list_to_pid("<0.0.0>");
        2 -> list_to_ref("#Ref<0.1.2.3>");
        3 -> list_to_port("#Port<0.7>");
        4 -> external_fun(n(3));
        5 -> Kept = small(), fun(X) -> {Kept, X} end;
        6 -> bits()
    end.

%% Few values, so that two draws are often alike, or equal but not identical.
key() -> pick([a, b, c, 1, 2, 3, 1.0, 2.0, -1, <<"a">>, <<"b">>, "a", {a}, {1, b}, [], 0, 0.0, -0.0, true, 1 bsl 64, (1 bsl 64) * 1.0]).

small() -> n(12) - 3.

int() ->
    case n(5) of
        1 -> n(600) - 300;
        N when N =< 3 ->
            Edge = 1 bsl pick([7, 8, 15, 16, 24, 27, 28, 31, 32, 52, 53, 57, 58, 59, 60, 61, 62, 63, 64, 65, 127, 128, 191, 192, 256, 1023, 1024]),
            (Edge + n(5) - 3) * pick([1, -1]);
        4 -> big();
        5 -> n(1 bsl 62) * pick([1, -1])
    end.

big() ->
    Bits = n(400),
    <<Value:Bits>> = bits_of(Bits),
    Value * pick([1, -1]).

bits_of(Bits) -> <<Part:Bits/bits, _/bits>> = bytes(Bits div 8 + 1), Part.

float() ->
    case n(4) of
        1 -> pick([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 0.1, 1/3, 1.0e15, 1.0e16, 9007199254740991.0, 9007199254740992.0, 1.0e21, 1.0e22, 1.0e23,
                   4.9e-324, 2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 1.0e-4, 1.0e-5, 0.045, 99.995,
                   18446744073709551616.0, 576460752303423488.0, 1152921504606846976.0, 2.0e-255, 1.0e77]);
        2 -> int_float(int());
        3 -> (n(2000000) - 1000000) / pick([1, 7, 10, 100, 1000, 1024]);
        4 -> case bytes(8) of <<F/float>> -> F; _ -> 2.5 end
    end.

int_float(I) -> try float(I) catch error:badarg -> 1.0e300 end.

number() -> case n(3) of 1 -> float(); 2 -> int(); 3 -> small() end.
bool() -> chance(50).

atom() ->
    pick([a, b, c, d, true, false, undefined, ok, error, '', 'A b', 'å', 'ÿ', 'αβ', '\n', 'it\'s', nil, infinity, badarg, normal, '$1', '_', '$_',
          list_to_atom(lists:duplicate(255, $x)), 'not', 'end', 'a@b', '1', 'Zz']).

list(Depth) -> many(6, fun() -> term(Depth) end).

proper() ->
    case n(4) of
        1 -> many(12, fun key/0);
        2 -> list(2);
        3 -> many(40, fun number/0);
        4 -> many(8, fun() -> term(1) end)
    end.

improper() -> many(4, fun key/0) ++ pick([x, 1, <<>>, {}, #{}, 1.0, <<1:3>>]).
ints() -> many(20, fun() -> pick([small(), int()]) end).
tuple() -> list_to_tuple(many(pick([3, 6, 30]), fun() -> term(1) end)).
pairs() -> many(10, fun() -> {key(), term(1)} end).
tuples() -> many(10, fun() -> pick([{key(), key()}, {key(), key(), key()}, {key()}, key(), {}, {key(), small()}]) end).

map() -> case n(6) of 1 -> big_map(); _ -> map(2) end.
map(Depth) ->
    Pairs = many(pick([2, 5, 33]), fun() -> {key(), term(Depth - 1)} end),
    case n(3) of
        1 -> maps:from_list(Pairs);
        2 -> lists:foldl(fun({K, V}, M) -> M#{K => V} end, #{}, Pairs);
        3 -> lists:foldl(fun({K, V}, M) -> maps:remove(V, maps:put(K, V, M)) end, #{extra => 1}, Pairs)
    end.

%% Keys without atoms. A few are removed again, so that some end as small maps.
big_map() ->
    First = n(50),
    All = maps:from_list([{plain_key(I), small()} || I <- lists:seq(First, First + 20 + n(80))]),
    lists:foldl(fun maps:remove/2, All, [plain_key(I) || I <- lists:seq(First, First + n(60))]).

plain_key(I) when I rem 5 =:= 0 -> I * 1.0;
plain_key(I) when I rem 7 =:= 0 -> {I, I};
plain_key(I) when I rem 11 =:= 0 -> integer_to_binary(I);
plain_key(I) when I rem 13 =:= 0 -> I bsl 61;
plain_key(I) -> I.

bytes(N) -> list_to_binary([n(256) - 1 || _ <- lists:seq(1, N)]).

bin() ->
    Size = case n(10) of N when N =< 5 -> n(8) - 1; N when N =< 8 -> n(40); 9 -> 60 + n(10); 10 -> n(300) end,
    Whole = case n(3) of 1 -> bytes(Size); 2 -> text(Size); 3 -> utf8() end,
    represent(Whole).

text(Size) -> list_to_binary([pick("abcABC 01229.-+e,\n\tzy{[\"'") || _ <- lists:seq(1, Size)]).
text() -> text(n(12)).

%% The same bits, kept in one of the ways in which a VM keeps binaries.
represent(Bin) ->
    Size = bit_size(Bin),
    case n(6) of
        1 -> <<_:3, Part:Size/bits, _/bits>> = <<5:3, Bin/bits, 7:5>>, Part;
        2 -> <<_:8, Part:Size/bits, _/bits>> = <<1, Bin/bits, (bytes(70))/binary>>, Part;
        3 -> Half = Size div 2, <<A:Half/bits, B/bits>> = Bin, Acc = <<A/bits>>, <<Acc/bits, B/bits>>;
        4 -> <<_:600, Part:Size/bits, _/bits>> = <<0:600, Bin/bits, 1:1>>, Part;
        _ -> Bin
    end.

bits() ->
    Bits = n(pick([9, 70, 300])) - 1,
    represent(bits_of(Bits)).

char() ->
    case n(12) of
        1 -> pick([0, 127, 128, 255, 256, 16#7ff, 16#800, 16#d7ff, 16#e000, 16#fffd, 16#ffff, 16#10000, 16#10ffff]);
        2 -> pick([16#d800, 16#dfff, 16#110000, -1, 16#301, 16#308, 16#1f1e6, 16#1f468, 16#200d, 16#fe0f, 13, 10]);
        3 -> n(16#10ffff);
        4 -> pick("åäöÅÄÖßÿ×µ");
        5 -> pick([$α, $Σ, $ς, $İ, $ı, 16#1e9e, 16#fb01, 16#1c5, 16#ac00, 16#1100, 16#1161, 16#11a8]);
        _ -> pick("abcXYZ 0123456789.,-+\t\nab")
    end.

valid_char() -> case char() of C when C < 0; C > 16#10ffff; C >= 16#d800, C =< 16#dfff -> $x; C -> C end.

string() -> many(12, case n(3) of 1 -> fun char/0; _ -> fun valid_char/0 end).
latin() -> many(12, fun() -> n(256) - 1 end).
word() -> many(5, fun() -> pick("abcab ") end).

%% UTF-8, sometimes broken.
utf8() ->
    Whole = unicode:characters_to_binary(many(12, fun valid_char/0)),
    case n(6) of
        1 -> binary:part(Whole, 0, n(byte_size(Whole) + 1) - 1);
        2 -> <<Whole/binary, (bytes(n(3)))/binary>>;
        3 -> <<(bytes(n(3)))/binary, Whole/binary>>;
        _ -> Whole
    end.

chardata() -> chardata(3).
chardata(0) -> string();
chardata(Depth) ->
    case n(7) of
        1 -> string();
        2 -> represent(utf8());
        3 -> bin();
        4 -> many(4, fun() -> chardata(Depth - 1) end);
        5 -> [chardata(Depth - 1) | represent(utf8())];
        6 -> [valid_char() | chardata(Depth - 1)] ;
        7 -> unicode:characters_to_binary(many(20, fun valid_char/0))
    end.

iodata() -> iodata(3).
iodata(0) -> latin();
iodata(Depth) ->
    case n(8) of
        1 -> latin();
        2 -> bin();
        3 -> many(5, fun() -> iodata(Depth - 1) end);
        4 -> [iodata(Depth - 1) | bin()];
        5 -> [n(256) - 1 | iodata(Depth - 1)];
        6 -> case n(6) of 1 -> [256]; 2 -> [a]; 3 -> [bits()]; _ -> [] end;
        _ -> bin()
    end.

external_fun(0) -> fun erlang:node/0;
external_fun(1) -> pick([fun erlang:is_atom/1, fun erlang:is_integer/1, fun erlang:hd/1, fun erlang:abs/1, fun erlang:is_list/1, fun lists:reverse/1,
                         fun erlang:tuple_size/1, fun no_such_module:f/1, fun 'αβ':'å b'/1, fun erlang:length/1]);
external_fun(2) -> pick([fun erlang:max/2, fun erlang:'+'/2, fun erlang:'=<'/2, fun erlang:'=:='/2, fun lists:append/2, fun erlang:element/2,
                         fun erlang:'<'/2, fun lists:delete/2]);
external_fun(3) -> pick([fun maps:put/3, fun erlang:setelement/3, fun lists:keyfind/3, fun maps:get/3]).
