%% Built-ins that work on much give way: no slice of a process that calls one on some 10 MB takes longer than LIMIT.
-module(holds).
-export([main/0]).

%% Milliseconds. Other programs take time from the scheduler, too: the best of some tries counts.
-define(LIMIT, 25).
-define(TRIES, 20).

main() ->
    erlang:system_monitor(self(), [{long_schedule, 5}]),
    [io:format("~p: ~p~n", [Name, best(Make, Fun, ?TRIES)]) || {Name, Make, Fun} <- cases()],
    erlang:system_monitor(undefined),
    ok.

best(Make, Fun, Tries) ->
    case longest(Make, Fun) of
        Longest when Longest =< ?LIMIT -> gives_way;
        Longest when Tries =:= 1 -> {holds, Longest};
        _ -> best(Make, Fun, Tries - 1)
    end.

longest(Make, Fun) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() ->
        Data = Make(),
        garbage_collect(),
        Self ! {ready, self()},
        receive go -> ok end,
        Fun(Data),
        Self ! {done, self()}
    end),
    receive {ready, Pid} -> ok end,
    holds(Pid, 0),
    Pid ! go,
    receive {done, Pid} -> ok end,
    receive {'DOWN', Ref, _, _, normal} -> ok end,
    timer:sleep(1),
    holds(Pid, 0).

holds(Pid, Longest) ->
    receive
        {monitor, Pid, long_schedule, Info} -> holds(Pid, max(Longest, proplists:get_value(timeout, Info)));
        {monitor, _, long_schedule, _} -> holds(Pid, Longest)
    after 0 -> Longest
    end.

bin() -> binary:copy(<<"0123456789abcde\n">>, 640 * 1024).
bytes() -> binary_to_list(bin()).
list() -> lists:seq(1, 500000).
pairs() -> [{X, X} || X <- list()].
map() -> maps:from_list(pairs()).
digits(N) -> list_to_binary(lists:duplicate(N, $7)).

cases() ->
    [{list_to_binary, fun bytes/0, fun list_to_binary/1},
     {list_to_bitstring, fun() -> [<<1:1>> | bytes()] end, fun list_to_bitstring/1},
     {iolist_size, fun bytes/0, fun iolist_size/1},
     {length, fun bytes/0, fun(L) -> apply(erlang, t:id(length), [L]) end},
     {length_in_guard, fun bytes/0, fun(L) when length(L) > 10 -> ok end},
     {append, fun() -> {list(), [1]} end, fun({A, B}) -> A ++ B end},
     {subtract_few, fun() -> {list(), [1, 2, 400000]} end, fun({A, B}) -> A -- B end},
     {member, fun bytes/0, fun(L) -> lists:member(x, L) end},
     {reverse, fun list/0, fun(L) -> lists:reverse(L, x) end},
     {keyfind, fun pairs/0, fun(L) -> lists:keyfind(x, 2, L) end},
     {binary_to_list, fun bin/0, fun binary_to_list/1},
     {tuple_to_list, fun() -> list_to_tuple(list()) end, fun tuple_to_list/1},
     {term_to_binary, fun pairs/0, fun term_to_binary/1},
     {binary_to_term, fun() -> term_to_binary(pairs()) end, fun binary_to_term/1},
     {external_size, fun pairs/0, fun erlang:external_size/1},
     {copy, fun bin/0, fun binary:copy/1},
     {matches, fun bin/0, fun(B) -> binary:matches(B, [<<"3">>, <<"45">>]) end},
     {split, fun bin/0, fun(B) -> binary:split(B, <<"\n">>, [global]) end},
     {longest_common_prefix, fun() -> [bin(), binary:copy(bin())] end, fun binary:longest_common_prefix/1},
     {characters_to_list, fun bin/0, fun unicode:characters_to_list/1},
     {phash2, fun pairs/0, fun erlang:phash2/1},
     {md5, fun bin/0, fun erlang:md5/1},
     {crc32, fun bytes/0, fun erlang:crc32/1},
     {equal, fun() -> {pairs(), pairs()} end, fun({A, B}) -> A =:= B end},
     {less, fun() -> {pairs(), pairs()} end, fun({A, B}) -> A < B end},
     {digits, fun() -> binary_to_list(digits(1000)) ++ bytes() end, fun string:list_to_integer/1},
     {regex, fun bin/0, fun(B) -> re:run(B, <<"nothere">>, [unicode]) end},
     {from_list, fun pairs/0, fun maps:from_list/1},
     {from_keys, fun list/0, fun(L) -> maps:from_keys(L, ok) end},
     {keys, fun map/0, fun maps:keys/1},
     {values, fun map/0, fun maps:values/1},
     {to_list, fun map/0, fun maps:to_list/1},
     {merge, fun() -> {map(), maps:from_keys(lists:seq(250000, 750000), x)} end, fun({A, B}) -> maps:merge(A, B) end}].
