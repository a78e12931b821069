%% Guards: type tests and guard BIFs over every kind of term, boolean operators, failing guards.
-module(guards).
-export([main/0]).

values() ->
    [0, -5, 1 bsl 70, 1.5, -2.5, a, true, false, [], [1], [1 | 2], "str", {}, {a, b}, <<>>, <<1, 2>>, <<1:3>>, #{}, #{a => 1}, fun lists:map/2, self(), make_ref()].

main() ->
    t:c(types, fun() -> [{V, types(V)} || V <- values()] end),
    t:c(bifs, fun() -> [{V, [G(V) || G <- bifs()]} || V <- values()] end),
    t:c(compare, fun() -> [cmp(A, B) || A <- [1, 1.0, a, "x"], B <- [1, 1.0, a, "x"]] end),
    t:c(booleans, fun() -> [{A, B, bools(A, B)} || A <- [true, false, x], B <- [true, false, x]] end),
    t:c(short_circuit, fun() -> [short(X) || X <- [{1}, {}, a, {0}]] end),
    t:c(alternatives, fun() -> [alt(X) || X <- [1, a, "x", {x}, 2.0]] end),
    t:c(arith, fun() -> [arith(X) || X <- [10, 10.0, a, 1 bsl 64, -3]] end),
    t:c(not_fail, fun() -> [nots(X) || X <- [a, [], {x}]] end),
    t:c(select_atoms, fun() -> [sel(X) || X <- [a, b, c, d, 1, 2, 3, 1000, -1, 1 bsl 64, 1.5, "s"]] end),
    t:c(select_arity, fun() -> [ar(X) || X <- [{}, {1}, {1, 2}, {1, 2, 3, 4}, {x, 1, 2}, a]] end),
    t:c(select_big, fun() -> [dense(X) || X <- [0, 5, 19, 20, -1, 1 bsl 70, a]] end),
    t:c(if_expr, fun() -> [if X > 5 -> big; X =:= 3; X =:= 4 -> three_or_four; is_atom(X) -> atom; true -> other end || X <- [7, 3, 4, 1, a]] end),
    t:c(self_node, fun() -> X = self(), if X =:= self(), node(X) =:= node() -> same; true -> no end end),
    t:c(element_guard, fun() -> [if element(2, X) =:= ok -> ok; true -> no end || X <- [{a, ok}, {a}, a]] end),
    t:c(map_guard, fun() -> [if is_map_key(k, X), map_get(k, X) > 1 -> yes; true -> no end || X <- [#{k => 2}, #{k => 1}, #{}, a]] end),
    t:c(tuple_literal, fun() -> [case X of {ok, {a, [1, 2]}} -> deep; {ok, _} -> shallow; _ -> none end || X <- [{ok, {a, [1, 2]}}, {ok, {a, [1, 3]}}, x]] end),
    t:c(big_literals, fun() -> [case X of 16#FFFFFFFFFFFFFFFFFF -> big; 1.5 -> flt; "lit" -> str; <<"bin">> -> bin; _ -> no end || X <- [16#FFFFFFFFFFFFFFFFFF, 1.5, "lit", <<"bin">>, x]] end).

types(V) ->
    [T || {T, true} <- [{atom, if is_atom(V) -> true; true -> false end}, {binary, if is_binary(V) -> true; true -> false end}, {bitstring, if is_bitstring(V) -> true; true -> false end},
     {boolean, if is_boolean(V) -> true; true -> false end}, {float, if is_float(V) -> true; true -> false end}, {function, if is_function(V) -> true; true -> false end},
     {function2, if is_function(V, 2) -> true; true -> false end}, {integer, if is_integer(V) -> true; true -> false end}, {list, if is_list(V) -> true; true -> false end},
     {map, if is_map(V) -> true; true -> false end}, {number, if is_number(V) -> true; true -> false end}, {pid, if is_pid(V) -> true; true -> false end},
     {port, if is_port(V) -> true; true -> false end}, {reference, if is_reference(V) -> true; true -> false end}, {tuple, if is_tuple(V) -> true; true -> false end},
     {record, if is_record(V, a, 2) -> true; true -> false end}, {record1, if is_record(V, a, 1) -> true; true -> false end}]].

bifs() ->
    [fun(V) when abs(V) > 1 -> abs; (_) -> n end, fun(V) when bit_size(V) > 0 -> bits; (_) -> n end, fun(V) when byte_size(V) > 0 -> bytes; (_) -> n end,
     fun(V) when ceil(V) > 0 -> ceil; (_) -> n end, fun(V) when float(V) > 0 -> float; (_) -> n end, fun(V) when floor(V) < 0 -> floor; (_) -> n end,
     fun(V) when hd(V) =:= 1 -> hd; (_) -> n end, fun(V) when length(V) >= 0 -> length; (_) -> n end, fun(V) when map_size(V) >= 0 -> map_size; (_) -> n end,
     fun(V) when round(V) =/= 0 -> round; (_) -> n end, fun(V) when size(V) > 0 -> size; (_) -> n end, fun(V) when tl(V) =:= [] -> tl; (_) -> n end,
     fun(V) when trunc(V) =/= 0 -> trunc; (_) -> n end, fun(V) when tuple_size(V) > 1 -> tuple_size; (_) -> n end, fun(V) when node(V) =:= node() -> node; (_) -> n end,
     fun(V) when binary_part(V, 0, 1) =:= <<1>> -> part; (_) -> n end, fun(V) when element(1, V) =:= a -> element; (_) -> n end, fun(V) when -V < 0 -> neg; (_) -> n end,
     fun(V) when V + 1 > V -> plus; (_) -> n end, fun(V) when V rem 2 =:= 0 -> even; (_) -> n end, fun(V) when V band 1 =:= 1 -> odd; (_) -> n end, fun(V) when bnot V < 0 -> bnot_; (_) -> n end].

cmp(A, B) when A =:= B -> exact;
cmp(A, B) when A == B -> equal;
cmp(A, B) when A < B -> less;
cmp(A, B) when A > B -> more.

bools(A, B) ->
    [if A and B -> t; true -> f end, if A or B -> t; true -> f end, if A xor B -> t; true -> f end, if A andalso B -> t; true -> f end,
     if A orelse B -> t; true -> f end, if not A -> t; true -> f end].

short(X) when is_tuple(X) andalso tuple_size(X) > 0 andalso element(1, X) > 0 -> positive;
short(X) when not is_tuple(X) orelse tuple_size(X) =:= 0 -> no_element;
short(_) -> rest.
alt(X) when is_atom(X); is_list(X) -> atom_or_list;
alt(X) when element(1, X) =:= x; X =:= 1 -> x_or_one;
alt(_) -> other.
arith(X) when X div 3 =:= 3 -> div3;
arith(X) when X * 2 > 1 bsl 64 -> huge;
arith(X) when X / 2 == 5 -> half;
arith(X) when X + a > 1 -> never;
arith(_) -> none.
nots(X) when not (hd(X) =:= 1) -> not_one;
nots(X) when not is_list(X), not is_atom(X) -> neither;
nots(_) -> failed.
sel(a) -> 1; sel(b) -> 2; sel(c) -> 3; sel(1) -> one; sel(2) -> two; sel(3) -> three; sel(1000) -> thousand; sel(16#10000000000000000) -> big; sel(1.5) -> f; sel(_) -> none.
ar({}) -> 0; ar({_}) -> 1; ar({x, _, _}) -> x3; ar({_, _}) -> 2; ar({_, _, _, _}) -> 4; ar(_) -> none.
dense(0) -> z; dense(1) -> a; dense(2) -> b; dense(3) -> c; dense(4) -> d; dense(5) -> e; dense(6) -> f; dense(19) -> last; dense(_) -> no.
