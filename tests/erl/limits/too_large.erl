%% What is too large to exist is refused at once, whatever the size: only classes and reasons, no stack traces.
-module(too_large).
-export([main/0]).

main() ->
    Kilo = binary:copy(<<7>>, 1024),
    Deep = lists:foldl(fun(_, L) -> [L | L] end, [Kilo], lists:seq(1, 16)),
    r(iolists, [{F, fun() -> erlang:F(Deep) end} || F <- [iolist_size]]),
    r(shifts, [{{X, N}, fun() -> t:id(X) bsl t:id(N) end} || X <- [1, -1, 1 bsl 70], N <- [1 bsl 32, 1 bsl 40, 1 bsl 62, 1 bsl 100]]),
    r(no_shift, [{{X, N}, fun() -> t:id(X) bsl t:id(N) end} || X <- [0], N <- [1 bsl 40, 1 bsl 100]]),
    r(right_shifts, [{{X, N}, fun() -> t:id(X) bsr t:id(N) end} || X <- [1, -1], N <- [1 bsl 40, 1 bsl 100, -(1 bsl 40), -(1 bsl 100)]]),
    r(products, [{huge, fun() -> X = t:id(1 bsl 40000000), X * X end}]),
    r(segments, [{N, fun() -> <<0:(t:id(N))>> end} || N <- [1 bsl 64, 1 bsl 67, 1 bsl 100, -1, a]]),
    r(byte_segments, [{N, fun() -> <<0:(t:id(N))/unit:8>> end} || N <- [1 bsl 61, 1 bsl 64]]),
    r(atoms, [{F, fun() -> erlang:F(A) end} || {F, A} <- [{list_to_atom, lists:duplicate(256, $a)}, {binary_to_atom, binary:copy(<<"a">>, 256)},
                                                         {list_to_existing_atom, lists:duplicate(256, 955)}, {binary_to_atom, binary:copy(<<955/utf8>>, 256)}]]),
    r(atoms, [{length, fun() -> length(atom_to_list(list_to_atom(lists:duplicate(255, 955)))) end}]),
    r(tuples, [{N, fun() -> tuple_size(erlang:make_tuple(t:id(N), 0)) end} || N <- [16777216, 1 bsl 100, -1]]),
    r(copies, [{N, fun() -> binary:copy(Kilo, t:id(N)) end} || N <- [1 bsl 100, -1]]),
    r(decimals, [{N, fun() -> float_to_list(1.5, [{decimals, t:id(N)}]) end} || N <- [254, 1 bsl 100]]),
    r(bases, [{B, fun() -> integer_to_list(5, t:id(B)) end} || B <- [1, 37, 1 bsl 64]]),
    r(atomics, [{N, fun() -> atomics:new(t:id(N), []) end} || N <- [0, 1 bsl 100]]),
    r(timers, [{N, fun() -> erlang:send_after(t:id(N), self(), x) end} || N <- [1 bsl 64, 1 bsl 100, -1]]),
    r(timeouts, [{N, fun() -> receive after t:id(N) -> ok end end} || N <- [1 bsl 32, 1 bsl 100, -1, a]]),
    r(external, [{B, fun() -> binary_to_term(B) end}
                 || B <- [<<131, 105, 255, 255, 255, 255>>, <<131, 108, 255, 255, 255, 255, 106>>, <<131, 116, 255, 255, 255, 255>>,
                          <<131, 109, 255, 255, 255, 255, 1>>, <<131, 111, 255, 255, 255, 255, 0, 1>>, <<131, 80, 255, 255, 255, 255, 120, 156>>]]),
    r(text, [{F, fun() -> erlang:F(A) end} || {F, A} <- [{list_to_float, lists:duplicate(400, $9) ++ ".0"}, {list_to_float, "1.0e999999999999999999999"},
                                                        {binary_to_float, <<"-1.0e400">>}, {list_to_integer, lists:duplicate(400, $z)}]]),
    r(length, [{million, fun() -> length(integer_to_list(list_to_integer(lists:duplicate(100000, $7)))) end}]),
    r(processes, [{N, fun() -> spawn_opt(fun() -> ok end, [{min_heap_size, t:id(N)}]) end} || N <- [1 bsl 100, -1]]),
    r(tables, [{P, fun() -> ets:new(x, [{keypos, t:id(P)}]) end} || P <- [0, 1 bsl 100]]),
    r(records, [{I, fun() -> setelement(t:id(I), {a}, b) end} || I <- [0, 2, 1 bsl 64]]),
    r(parts, [{P, fun() -> binary_part(Kilo, t:id(P)) end} || P <- [{1 bsl 64, 1}, {1, 1 bsl 64}, {9223372036854775807, 9223372036854775807}, {1024, -1025}]]),
    r(arity, [{N, fun() -> apply(lists, nothing, lists:duplicate(t:id(N), 0)) end} || N <- [255, 100000]]),
    r(patterns, [{N, fun() -> re:run(<<"x">>, ["x{", integer_to_list(t:id(N)), "}"]) end} || N <- [65535, 65536, 1 bsl 40]]).

%% A line for each: what it gives, in short.
r(Name, Calls) ->
    lists:foreach(fun({Case, F}) ->
        Result = try F() of V -> short(V) catch C:R -> {C, short(R)} end,
        io:format("~w ~0tP: ~0tp~n", [Name, Case, 12, t:norm(Result)])
    end, Calls).

short(B) when is_bitstring(B), bit_size(B) > 1000 -> {bits, bit_size(B)};
short(I) when is_integer(I), abs(I) > 1 bsl 200 -> large_integer;
short(T) -> T.
