-module(stack).
-export([new/0, push/2, pop/1, to_list/1, main/1]).
-export_type([stack/0]).
-include_lib("eunit/include/eunit.hrl").

-record(stack, {items = [] :: [term()], size = 0 :: non_neg_integer()}).
-opaque stack() :: #stack{}.

-spec new() -> stack().
new() -> #stack{}.

-spec push(term(), stack()) -> stack().
push(X, #stack{items = Items, size = N}) -> #stack{items = [X | Items], size = N + 1}.

-spec pop(stack()) -> {term(), stack()} | empty.
pop(#stack{size = 0}) -> empty;
pop(#stack{items = [X | Rest], size = N}) -> {X, #stack{items = Rest, size = N - 1}}.

-spec to_list(stack()) -> [term()].
to_list(#stack{items = Items}) -> Items.

-spec main([string()]) -> ok.
main(Args) ->
    io:format("~ts~n", [lists:join(" ", to_list(lists:foldl(fun push/2, new(), Args)))]).

inside_test() -> ?assertEqual(empty, pop(new())).
