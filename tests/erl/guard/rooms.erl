%% Built-ins of guards between the parts of a term for which the compiler makes room once: a module that has them loads, and gives what it should.
-module(rooms).
-export([main/0]).
-record(p, {q}).

main() ->
    Fun = fun() -> ok end,
    put(key, value),
    t:each(both, [both({1, 2}), both([1]), both(#{a => 1}), both(<<"b">>), both(<<1:3>>), both(Fun), both(1), both(2.5), both(a), both(true)], fun(X) -> X end),
    t:each(rest, [rest(#{a => 1}, [x | y], {p, q}, true)], fun(X) -> X end).

%% Whether each type test leaves what has been reserved before it alone.
both(X) ->
    P = {X, X},
    [{P, is_atom(X)}, q(X, P), r(X, P), s(X, P)].

q(X, P) -> Q = [P | X], A = is_binary(X), B = is_bitstring(X), C = is_boolean(X), D = is_float(X), {Q, A, B, C, D, is_function(X)}.

r(X, P) -> Q = [P | X], A = is_integer(X), B = is_list(X), C = is_map(X), D = is_number(X), {Q, A, B, C, D, not is_function(X), is_function(X, 0)}.

s(X, P) -> Q = [P | X], A = is_pid(X), B = is_port(X), C = is_reference(X), D = is_tuple(X), {Q, A, B, C, D, X =:= P, X == P, X < P, X >= P}.

rest(Map, List, Tuple, Bool) ->
    P = {Map, List},
    A = hd(List), B = tl(List), C = element(1, Tuple), D = map_get(a, Map), E = is_map_key(b, Map),
    {P, A, B, C, D, E, not Bool, Bool and Bool, Bool or Bool, Bool xor Bool, get(key), is_pid(self()), node() =:= node(self()), tuple_size(Tuple),
        map_size(Map), is_record(Tuple, p), is_record(Tuple, p, 2)}.
