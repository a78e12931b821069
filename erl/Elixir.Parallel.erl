%% The module `parallel` for Elixir: what is enumerable comes first, as in `Enum`, and options may be a keyword list (docs/parallel.md).
-module('Elixir.Parallel').
-export(['__info__'/1]).
-export([map/2, map/3, each/2, each/3, filter/2, filter/3, flat_map/2, flat_map/3, reduce/3, reduce/4, 'any?'/2, 'any?'/3, 'all?'/2, 'all?'/3]).
-export([find/2, find/3, find_any/2, find_any/3, sort/1, sort/2, sort/3, both/2, both/3]).

map(Enumerable, F) -> map(Enumerable, F, []).
map(Enumerable, F, Options) -> parallel:map(F, data(Enumerable), options(Options)).

each(Enumerable, F) -> each(Enumerable, F, []).
each(Enumerable, F, Options) -> parallel:foreach(F, data(Enumerable), options(Options)).

filter(Enumerable, F) -> filter(Enumerable, F, []).
filter(Enumerable, F, Options) -> parallel:filter(holds(F), data(Enumerable), options(Options)).

flat_map(Enumerable, F) -> flat_map(Enumerable, F, []).
flat_map(Enumerable, F, Options) -> parallel:flatmap(fun(X) -> list(F(X)) end, data(Enumerable), options(Options)).

%% As `Enum.reduce/3`, for a function that is associative and has Acc as its neutral element.
reduce(Enumerable, Acc, F) -> reduce(Enumerable, Acc, F, []).
reduce(Enumerable, Acc, F, Options) ->
    parallel:fold(fun(X) -> X end, fun(Before, X) -> F(X, Before) end, Acc, data(Enumerable), options(Options)).

'any?'(Enumerable, F) -> 'any?'(Enumerable, F, []).
'any?'(Enumerable, F, Options) -> parallel:any(holds(F), data(Enumerable), options(Options)).

'all?'(Enumerable, F) -> 'all?'(Enumerable, F, []).
'all?'(Enumerable, F, Options) -> parallel:all(holds(F), data(Enumerable), options(Options)).

find(Enumerable, F) -> find(Enumerable, F, []).
find(Enumerable, F, Options) -> found(parallel:search(holds(F), data(Enumerable), options(Options))).

%% The element that is found first in time.
find_any(Enumerable, F) -> find_any(Enumerable, F, []).
find_any(Enumerable, F, Options) -> found(parallel:find_any(holds(F), data(Enumerable), options(Options))).

sort(Enumerable) -> sort(Enumerable, asc, []).
sort(Enumerable, Order) -> sort(Enumerable, Order, []).
sort(Enumerable, asc, Options) -> parallel:sort(list(Enumerable), options(Options));
sort(Enumerable, desc, Options) -> sort(Enumerable, fun(A, B) -> A >= B end, Options);
sort(Enumerable, F, Options) -> parallel:sort(F, list(Enumerable), options(Options)).

both(F, G) -> parallel:both(F, G).
both(F, G, Options) -> parallel:both(F, G, options(Options)).

%% What Elixir's compiler and shell ask of a module.
'__info__'(module) -> ?MODULE;
'__info__'(functions) ->
    [Function || {Name, _} = Function <- lists:sort(?MODULE:module_info(exports)), Name =/= module_info, Name =/= '__info__'];
'__info__'(macros) -> [];
'__info__'(struct) -> nil;
'__info__'(Key) -> ?MODULE:module_info(Key).

data(#{'__struct__' := 'Elixir.Range', first := First, last := Last, step := 1}) -> {seq, First, Last};
data(Map) when is_map(Map), not is_map_key('__struct__', Map) -> Map;
data(Enumerable) -> list(Enumerable).

list(List) when is_list(List) -> List;
list(Enumerable) -> 'Elixir.Enum':to_list(Enumerable).

options(Options) when is_list(Options) -> maps:from_list(Options);
options(Options) -> Options.

%% Everything but `false` and `nil` is true.
holds(F) ->
    fun(X) ->
            case F(X) of
                false -> false;
                nil -> false;
                _ -> true
            end
    end.

found({value, X}) -> X;
found(false) -> nil.
