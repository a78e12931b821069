%% The compiler gives the same bytes as on OTP: every pass of it, the literals' compression and the modules' MD5.
-module(compiler).
-export([main/0]).

main() ->
    Examples = filename:join([os:getenv("TEST_TOP"), "..", "examples", "*.erl"]),
    [t:c(filename:basename(F), fun() -> bytes(F) end) || F <- lists:sort(filelib:wildcard(Examples))],
    t:c(compressed, fun() -> [compressed(N, L) || N <- [1, 40, 500, 6000], L <- [0, 1, 3, 6, 9]] end).

bytes(File) ->
    {ok, _, Beam} = compile:file(File, [binary, deterministic]),
    {byte_size(Beam), erlang:phash2(Beam)}.

%% Deflated text with some repetition, by zlib and by term_to_binary.
compressed(N, Level) ->
    {Bytes, _} = lists:mapfoldl(fun(_, X) -> {binary:copy(<<(X rem 31 + 64)>>, X rem 7 + 1), (X * 1103515245 + 12345) band 16#7fffffff} end,
                                N, lists:seq(1, N)),
    Text = iolist_to_binary(Bytes),
    Z = zlib:open(),
    ok = zlib:deflateInit(Z, Level),
    Deflated = zlib:deflate(Z, Text, finish),
    erlang:phash2({zlib:gzip(Text), iolist_to_binary(Deflated), term_to_binary(Text, [{compressed, Level}])}).
