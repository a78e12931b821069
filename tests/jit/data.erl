%% Lists, tuples, records, maps.
-module(data).
-export([append/2, swap/1, name/1, age/1, get/1, has/1, put/2]).

-record(person, {name, age}).

append([X | Rest], Tail) -> [X | append(Rest, Tail)];
append([], Tail) -> Tail.

swap({A, B}) -> {B, A}.

name(#person{name = Name}) -> Name.

%% The compiler knows that it is a tuple; the loader does not.
age(Person) when element(1, Person) =:= person, tuple_size(Person) =:= 3 -> years(Person).

years(Person) -> _ = erlang:self(), element(3, Person).

get(#{key := Value, other := Other}) -> Value + Other;
get(_) -> none.

has(Map) -> is_map_key(key, Map).

put(Map, Value) -> Map#{key => Value}.
