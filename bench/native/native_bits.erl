%% Binaries: a JSON codec, packets of bit fields, UTF-8.
-module(native_bits).
-export([json/1, bit_fields/1, utf8/1]).

%% N objects are written, read, and written again.
json(N) ->
    Value = [object(Id) || Id <- lists:seq(1, N)],
    Text = iolist_to_binary(write(Value)),
    {Read, <<>>} = value(Text),
    Again = iolist_to_binary(write(Read)),
    {Text =:= Again, byte_size(Text), erlang:crc32(Again)}.

object(Id) ->
    #{<<"id">> => Id, <<"name">> => <<"item \"", (integer_to_binary(Id))/binary, "\"\n">>,
      <<"tags">> => [<<"red">>, <<"green">>, null, Id rem 2 =:= 0],
      <<"at">> => #{<<"x">> => Id * 37 rem 1000, <<"y">> => -Id, <<"near">> => []}}.

write(Map) when is_map(Map) ->
    [${, lists:join($,, [[write(Key), $:, write(Value)] || {Key, Value} <- maps:to_list(Map)]), $}];
write(List) when is_list(List) -> [$[, lists:join($,, [write(Value) || Value <- List]), $]];
write(Text) when is_binary(Text) -> [$", << <<(escaped(C))/binary>> || <<C>> <= Text >>, $"];
write(Number) when is_integer(Number) -> integer_to_binary(Number);
write(true) -> <<"true">>;
write(false) -> <<"false">>;
write(null) -> <<"null">>.

escaped($") -> <<"\\\"">>;
escaped($\\) -> <<"\\\\">>;
escaped($\n) -> <<"\\n">>;
escaped(C) -> <<C>>.

value(<<C, Rest/binary>>) when C =:= $\s; C =:= $\n; C =:= $\t; C =:= $\r -> value(Rest);
value(<<"{}", Rest/binary>>) -> {#{}, Rest};
value(<<"{", Rest/binary>>) -> members(Rest, []);
value(<<"[]", Rest/binary>>) -> {[], Rest};
value(<<"[", Rest/binary>>) -> elements(Rest, []);
value(<<"\"", Rest/binary>>) -> text(Rest, <<>>);
value(<<"true", Rest/binary>>) -> {true, Rest};
value(<<"false", Rest/binary>>) -> {false, Rest};
value(<<"null", Rest/binary>>) -> {null, Rest};
value(<<"-", Rest/binary>>) ->
    {Number, Left} = digits(Rest, 0),
    {-Number, Left};
value(<<C, _/binary>> = Rest) when C >= $0, C =< $9 -> digits(Rest, 0).

members(Bytes, Found) ->
    {Key, <<":", Rest/binary>>} = value(Bytes),
    case value(Rest) of
        {Value, <<",", Left/binary>>} -> members(Left, [{Key, Value} | Found]);
        {Value, <<"}", Left/binary>>} -> {maps:from_list([{Key, Value} | Found]), Left}
    end.

elements(Bytes, Found) ->
    case value(Bytes) of
        {Value, <<",", Left/binary>>} -> elements(Left, [Value | Found]);
        {Value, <<"]", Left/binary>>} -> {lists:reverse(Found, [Value]), Left}
    end.

text(<<"\"", Rest/binary>>, Text) -> {Text, Rest};
text(<<"\\n", Rest/binary>>, Text) -> text(Rest, <<Text/binary, "\n">>);
text(<<"\\", C, Rest/binary>>, Text) -> text(Rest, <<Text/binary, C>>);
text(<<C, Rest/binary>>, Text) -> text(Rest, <<Text/binary, C>>).

digits(<<C, Rest/binary>>, Number) when C >= $0, C =< $9 -> digits(Rest, Number * 10 + C - $0);
digits(Rest, Number) -> {Number, Rest}.

%% Packets with fields of odd widths are packed into one bit string and taken apart again.
bit_fields(N) ->
    Packed = pack(N, <<>>),
    {bit_size(Packed), unpack(Packed, 0)}.

pack(0, Packed) -> Packed;
pack(N, Packed) ->
    Kind = N rem 3,
    Size = N band 3,
    Body = N * 2654435761,
    pack(N - 1, <<Packed/bits, Kind:2, (N rem 2):1, Size:5, (N * 7):11, -N:13/little-signed, Body:(8 * Size)>>).

unpack(<<Kind:2, Flag:1, Size:5, Tag:11, Signed:13/little-signed, Body:(8 * Size), Rest/bits>>, Sum) ->
    Value =
        case Kind of
            0 -> Tag + Flag;
            1 -> Signed;
            2 -> Body
        end,
    unpack(Rest, (Sum * 3 + Value) band 16#FFFFFFF);
unpack(<<>>, Sum) -> Sum.

%% Text of code points of all widths is made, read, and turned into capitals, byte by byte where it is ASCII.
utf8(N) ->
    Line = <<"the quick brown fox, größer als ein Łoś, ελληνικά, 日本語 and 𝄞; "/utf8>>,
    Text = binary:copy(Line, N),
    {count(Text, 0, 0), erlang:crc32(capitals(Text, <<>>))}.

count(<<C/utf8, Rest/binary>>, Count, Sum) -> count(Rest, Count + 1, Sum + C);
count(<<>>, Count, Sum) -> {Count, Sum}.

capitals(<<C, Rest/binary>>, Text) when C >= $a, C =< $z -> capitals(Rest, <<Text/binary, (C - 32)>>);
capitals(<<C, Rest/binary>>, Text) when C < 128 -> capitals(Rest, <<Text/binary, C>>);
capitals(<<C/utf8, Rest/binary>>, Text) -> capitals(Rest, <<Text/binary, C/utf8>>);
capitals(<<>>, Text) -> Text.
