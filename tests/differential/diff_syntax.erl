%% What the compiler turns into instructions instead of calls of built-ins: operators, guards, binaries, maps.
-module(diff_syntax).
-compile([nowarn_unused_vars, export_all, nowarn_export_all]).

-define(OP(Name, Op), Name(A, B) -> A Op B).
?OP(add, +). ?OP(sub, -). ?OP(mul, *). ?OP(fdiv, /). ?OP(idiv, div). ?OP(irem, rem). ?OP(bitand, band). ?OP(bitor, bor). ?OP(bitxor, bxor).
?OP(shiftl, bsl). ?OP(shiftr, bsr). ?OP(lt, <). ?OP(le, =<). ?OP(gt, >). ?OP(ge, >=). ?OP(eq, ==). ?OP(ne, /=). ?OP(same, =:=). ?OP(other, =/=).
?OP(plusplus, ++). ?OP(minus, --). ?OP(conj, and). ?OP(disj, or). ?OP(excl, xor). ?OP(also, andalso). ?OP(orelse_, orelse).
neg(A) -> -A.
plus(A) -> +A.
inv(A) -> bnot A.
not_(A) -> not A.

%% Each instruction that adds a constant.
consts(A) -> [catch A + 1, catch A - 1, catch 1 - A, catch A * 3, catch A div 2, catch A rem 8, catch A band 255, catch A bor 1, catch A bsl 1,
              catch A bsr 3, catch A bxor -1, catch A / 2, catch 2 * A + 1, catch (A + 576460752303423487), catch A * A, catch A * -1].

%% Chains of floats stay unboxed within a function.
chain(A, B) -> (A * B + A / 2.0) - B * 0.5.
chain2(A, B) when is_float(A), is_float(B) -> (A + B) * (A - B) / 3.0;
chain2(A, B) when is_float(A) -> A * 2.0 + B;
chain2(A, B) -> {A + B, A - 1.5}.

%% Which guards hold: a guard that fails inside counts as false.
-define(G(Name, Guard), if Guard -> Name; true -> no end).
guards(A, B) ->
    [?G(lt, A < B), ?G(le, A =< B), ?G(eq, A == B), ?G(same, A =:= B), ?G(sum, A + B > 0), ?G(length, length(A) > 1), ?G(hd, hd(A) =:= B),
     ?G(element, element(1, A) =:= B), ?G(tuple_size, tuple_size(A) =:= B), ?G(map_get, map_get(B, A) =:= 1), ?G(is_map_key, is_map_key(B, A)),
     ?G(bit_size, bit_size(A) > 8), ?G(byte_size, byte_size(A) > 1), ?G(map_size, map_size(A) > 1), ?G(abs, abs(A) > 1), ?G(round, round(A) =:= 1),
     ?G(trunc, trunc(A) > B), ?G(part, binary_part(A, 0, B) =:= <<>>), ?G(band_, A band B =:= 0), ?G(fun1, is_function(A, 1)),
     ?G(funb, is_function(A, B)), ?G(conj, A and B), ?G(either, (A orelse B) =:= true), ?G(self, self() =:= A), ?G(floor, floor(A) =:= B),
     ?G(fdiv, A / B > 1), ?G(tl, tl(A) =:= []), ?G(float, float(A) > 1.0), ?G(size, size(A) > 1), ?G(n, is_integer(A) andalso A bsr 1 > 5; B =:= a)].
types(A) ->
    [?G(atom, is_atom(A)), ?G(binary, is_binary(A)), ?G(bitstring, is_bitstring(A)), ?G(boolean, is_boolean(A)), ?G(float, is_float(A)),
     ?G(function, is_function(A)), ?G(integer, is_integer(A)), ?G(list, is_list(A)), ?G(map, is_map(A)), ?G(number, is_number(A)),
     ?G(pid, is_pid(A)), ?G(port, is_port(A)), ?G(reference, is_reference(A)), ?G(tuple, is_tuple(A))].

select(A) ->
    case A of
        0 -> zero; 1 -> one; 2 -> two; 3 -> three; -1 -> minus; 1.0 -> float; 255 -> byte; 18446744073709551616 -> big; a -> a; b -> b; true -> true; {} -> t0; {_} -> t1;
        {_, _} -> t2; {a, _, B} -> {t3, B}; [] -> nil; [X] -> {l1, X}; [X, Y | T] -> {l2, X, Y, T}; <<>> -> b0; <<"a", R/bits>> -> {ba, R};
        <<X:3, R/bits>> -> {b3, X, R}; #{a := X, b := _} -> {mab, X}; #{a := X} -> {ma, X}; #{1 := X} -> {m1, X}; #{} -> map;
        [_ | _] -> cons; F when is_float(F) -> f; _ -> other
    end.

put_(K, V, M) -> M#{K => V}.
update(K, V, M) -> M#{K := V}.
put_two(K, V, M) -> M#{a => V, K => V, b => K}.
get_(K, M) -> #{K := V} = M, V.
get_or(K, M) -> case M of #{K := V} -> {found, V}; #{} -> missing; _ -> not_map end.
tuple_update(A, V) -> setelement(1, setelement(2, A, V), V).
call(F, A) -> F(A).
call2(F, A, B) -> F(A, B).
apply_(M, F, A) -> apply(M, F, A).
match(A, B) -> {A, [B | _]} = {B, A}.

-define(FIELDS(X),
    X(1, integer) X(2, little) X(3, signed) X(4, little-signed) X(5, native) X(6, integer-unit:3) X(7, little-signed-unit:7)
    X(8, float) X(9, float-little) X(10, binary) X(11, bitstring) X(12, binary-unit:4) X(13, binary-unit:16) X(14, float-unit:16)).
-define(BUILD(N, T), build(N, V, S) -> [catch <<V:S/T>>, catch <<1:1, V:S/T, 2:3>>]; ).
-define(TAKE(N, T), take(N, B, S) -> case B of <<V:S/T, R/bits>> -> {V, R}; <<_:1, V:S/T, _/bits>> -> {odd, V}; _ -> none end; ).
?FIELDS(?BUILD) build(_, V, S) -> <<V:8/integer, V:S>>.
?FIELDS(?TAKE) take(_, B, S) -> case B of <<_:S, R/bits>> -> R; _ -> none end.

fixed(V) ->
    [catch <<V:0>>, catch <<V:1>>, catch <<V:7>>, catch <<V:8>>, catch <<V:13/little>>, catch <<V:16>>, catch <<V:24/little>>, catch <<V:32>>, catch <<V:33/signed>>,
     catch <<V:60>>, catch <<V:64/little>>, catch <<V:65>>, catch <<V:127/little>>, catch <<V:32/float>>, catch <<V:64/float-little>>, catch <<V:16/float>>, catch <<V/utf8>>,
     catch <<V/utf16>>, catch <<V/utf16-little>>, catch <<V/utf32>>, catch <<V/binary>>, catch <<V/bits>>, catch <<1:1, V/bits>>, catch <<V:2/binary>>,
     catch <<1:3, V:2/binary-unit:5>>, catch <<V/float>>, catch <<7:3, V/utf8, V:9/little>>].

-define(M(Pattern), case B of Pattern -> {V, R}; _ -> none end).
fixed_match(B) ->
    [?M(<<V:1, R/bits>>), ?M(<<V:8, R/bits>>), ?M(<<V:8/signed, R/bits>>), ?M(<<V:13/little, R/bits>>), ?M(<<V:16/little-signed, R/bits>>), ?M(<<V:24, R/bits>>),
     ?M(<<V:32/signed, R/bits>>), ?M(<<V:33/little, R/bits>>), ?M(<<V:59, R/bits>>), ?M(<<V:60/signed, R/bits>>), ?M(<<V:61/little-signed, R/bits>>), ?M(<<V:64, R/bits>>),
     ?M(<<V:64/signed, R/bits>>), ?M(<<V:77/little-signed, R/bits>>), ?M(<<V:16/float, R/bits>>), ?M(<<V:32/float, R/bits>>), ?M(<<V:64/float-little, R/bits>>),
     ?M(<<V/utf8, R/bits>>), ?M(<<V/utf16, R/bits>>), ?M(<<V/utf16-little, R/bits>>), ?M(<<V/utf32, R/bits>>), ?M(<<V:2/binary, R/binary>>), ?M(<<V:3/bits, R/binary>>),
     ?M(<<_:3, V:2/binary, R/bits>>), ?M(<<V:1, "a", R/bits>>), ?M(<<"ab", V, R/bits>>), ?M(<<V:4, V:4, R/bits>>), ?M(<<_:5, V:11/little, _:2, R:5/bits, _/bits>>)].

%% A length read from the binary itself.
frames(B) -> case B of <<N, V:N/binary, R/bits>> -> [V | frames(R)]; <<N:4, V:N/bits, R/bits>> -> [V, R]; _ -> B end.
bytes(B) -> [<<X>> || <<X:5>> <= B].
pack(L) -> << <<X:11/little>> || X <- L >>.
utf(B) -> [C || <<C/utf8>> <= B].
append(B, L) -> lists:foldl(fun(X, Acc) -> <<Acc/bits, X/bits>> end, <<B/bits>>, L).

caught(F, A) ->
    try F(A) of V -> {ok, V} catch throw:T -> {thrown, T}; error:{badmatch, V} -> {bad, V}; error:E -> {error, E} after put(x, A) end.
receive_(A, B) ->
    self() ! A, self() ! B,
    R = receive B -> second after 0 -> none end,
    Rest = receive X -> X after 0 -> none end,
    receive _ -> ok after 0 -> ok end,
    {R, Rest}.
