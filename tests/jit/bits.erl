%% Bit strings.
-module(bits).
-export([header/1, words/2, characters/2, build/2, append/2]).

header(<<Version:4, Length:12, Rest/binary>>) -> {Version, Length, Rest};
header(_) -> none.

words(<<W:32, Rest/binary>>, Sum) -> words(Rest, Sum + W);
words(<<>>, Sum) -> Sum.

characters(<<C/utf8, Rest/binary>>, N) when C > 32 -> characters(Rest, N + 1);
characters(_, N) -> N.

build(A, B) -> <<A:16, B/binary>>.

append(Binary, Byte) -> <<Binary/binary, Byte>>.
