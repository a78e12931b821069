%% Built-in functions one by one, for cargo xtask bench: processor time of one case in microseconds for one pass.
%%
%% Started as `erl +S 1 +sbwt none -noshell -run builtins main CASE [PERCENT]`; CASE `names` prints them all, PERCENT is how
%% much of the rounds to run. Processor time, so that other work on the machine counts for little; one scheduler that does
%% not spin, so that nothing but the case (and its collections) is counted. The rounds are chosen for some 100 to 300 ms on
%% a quiet machine; data are made before the clock starts and results are used, so that nothing can be left out. Prints the
%% best of three passes in the same VM, as `value N`.
-module(builtins).
-export([main/1, id/1]).

main(["names"]) ->
    [io:format("~s~n", [Name]) || {Name, _, _} <- cases()],
    halt(0);
main([Name | Rest]) ->
    {_, All, Make} = lists:keyfind(list_to_atom(Name), 1, cases()),
    Rounds = case Rest of [P] -> max(1, All * list_to_integer(P) div 100); [] -> All end,
    Fun = Make(),
    repeat(Fun, max(1, Rounds div 20)),
    io:format("value ~w~n", [lists:min([pass(Fun, Rounds) || _ <- [1, 2, 3]])]),
    halt(0).

%% In a process of its own, so that each pass starts from a fresh heap.
pass(Fun, Rounds) ->
    {_, Ref} = spawn_monitor(fun() ->
        {Start, _} = statistics(runtime),
        repeat(Fun, Rounds),
        {End, _} = statistics(runtime),
        exit({took, 1000 * (End - Start)})
    end),
    receive {'DOWN', Ref, _, _, {took, Time}} -> Time end.

repeat(_, 0) -> ok;
repeat(Fun, N) -> Fun(), repeat(Fun, N - 1).

%% {Name, Rounds, fun() -> what one round does}
cases() ->
    [{binary_match_rare, 300, fun() -> T = text(1 bsl 20), fun() -> nomatch = binary:match(T, <<"needle in the hay">>) end end},
     {binary_match_byte, 500, fun() -> T = text(1 bsl 20), fun() -> nomatch = binary:match(T, <<1>>) end end},
     {binary_match_many, 30, fun() ->
         T = text(1 bsl 20), P = binary:compile_pattern([<<"zebra">>, <<"quagga">>, <<"okapi">>]),
         fun() -> nomatch = binary:match(T, P) end
     end},
     {binary_match_short, 400000, fun() -> T = ?MODULE:id(<<"name=value; other=thing">>), fun() -> {4, 1} = binary:match(T, <<"=">>) end end},
     {binary_matches, 20, fun() -> T = text(1 bsl 20), fun() -> [_ | _] = binary:matches(T, <<"the">>) end end},
     {binary_split_lines, 20, fun() -> T = lines(20000), fun() -> 20001 = length(binary:split(T, <<"\n">>, [global])) end end},
     {binary_split_first, 300000, fun() -> T = ?MODULE:id(<<"key: value of some length">>), fun() -> [_, _] = binary:split(T, <<": ">>) end end},
     {binary_replace, 15, fun() -> T = text(1 bsl 18), fun() -> true = is_binary(binary:replace(T, <<"the">>, <<"THE">>, [global])) end end},
     {characters_to_binary_list, 60, fun() -> L = lists:flatten(lists:duplicate(10000, "abc åäö €")), fun() -> true = is_binary(unicode:characters_to_binary(L)) end end},
     {characters_to_binary_utf8, 100, fun() -> B = unicode:characters_to_binary(lists:flatten(lists:duplicate(100000, "abc åäö €"))), fun() -> B = unicode:characters_to_binary([B]) end end},
     {characters_to_binary_latin1, 60, fun() -> B = binary:copy(<<"abc ", 228, 246, " and more of it">>, 20000), fun() -> true = is_binary(unicode:characters_to_binary(B, latin1, utf8)) end end},
     {characters_to_list, 60, fun() -> B = unicode:characters_to_binary(lists:flatten(lists:duplicate(10000, "abc åäö €"))), fun() -> [_ | _] = unicode:characters_to_list(B) end end},
     {sort_random_integers, 15, fun() -> L = randoms(50000), fun() -> [_ | _] = lists:sort(L) end end},
     {sort_sorted, 200, fun() -> L = lists:seq(1, 50000), fun() -> [_ | _] = lists:sort(L) end end},
     {sort_tuples, 10, fun() -> L = [{X rem 100, X} || X <- randoms(50000)], fun() -> [_ | _] = lists:sort(L) end end},
     {sort_binaries, 10, fun() -> L = [integer_to_binary(X) || X <- randoms(50000)], fun() -> [_ | _] = lists:sort(L) end end},
     {keysort, 10, fun() -> L = [{a, X rem 1000, b} || X <- randoms(50000)], fun() -> [_ | _] = lists:keysort(2, L) end end},
     {usort, 15, fun() -> L = [X rem 1000 || X <- randoms(50000)], fun() -> 1000 = length(lists:usort(L)) end end},
     {lists_reverse, 1000, fun() -> L = lists:seq(1, 50000), fun() -> [_ | _] = lists:reverse(L) end end},
     {lists_member, 1500, fun() -> L = lists:seq(1, 50000), fun() -> false = lists:member(none, L) end end},
     {lists_keyfind, 500, fun() -> L = [{X, X} || X <- lists:seq(1, 20000)], fun() -> false = lists:keyfind(none, 1, L) end end},
     {append, 800, fun() -> L = lists:seq(1, 50000), fun() -> [_ | _] = L ++ [1] end end},
     {subtract, 20, fun() -> L = randoms(20000), M = lists:sublist(L, 5000, 5000), fun() -> 15000 = length(L -- M) end end},
     {maps_from_list, 15, fun() -> L = [{X, X} || X <- randoms(20000)], fun() -> true = is_map(maps:from_list(L)) end end},
     {maps_get_large, 30, fun() ->
         Ks = randoms(20000), M = maps:from_list([{K, K} || K <- Ks]),
         fun() -> lists:foreach(fun(K) -> K = maps:get(K, M) end, Ks) end
     end},
     {maps_put_large, 10, fun() -> Ks = randoms(20000), fun() -> true = is_map(lists:foldl(fun(K, M) -> M#{K => K} end, #{}, Ks)) end end},
     {maps_put_small, 20000, fun() -> fun() -> 8 = map_size(lists:foldl(fun(K, M) -> maps:put(K, 1, M) end, #{}, [a, b, c, d, e, f, g, h])) end end},
     {maps_update, 15, fun() ->
         Ks = randoms(20000), M0 = maps:from_list([{K, 0} || K <- Ks]),
         fun() -> true = is_map(lists:foldl(fun(K, M) -> maps:update_with(K, fun(V) -> V + 1 end, M) end, M0, Ks)) end
     end},
     {maps_remove, 15, fun() ->
         Ks = randoms(20000), M0 = maps:from_list([{K, 0} || K <- Ks]),
         fun() -> 0 = map_size(lists:foldl(fun maps:remove/2, M0, Ks)) end
     end},
     {maps_merge, 30, fun() ->
         A = maps:from_list([{X, a} || X <- lists:seq(1, 20000)]), B = maps:from_list([{X, b} || X <- lists:seq(10000, 30000)]),
         fun() -> 30000 = map_size(maps:merge(A, B)) end
     end},
     {maps_to_list, 60, fun() -> M = maps:from_list([{X, X} || X <- lists:seq(1, 20000)]), fun() -> 20000 = length(maps:to_list(M)) end end},
     {maps_fold, 30, fun() -> M = maps:from_list([{X, X} || X <- lists:seq(1, 20000)]), fun() -> 200010000 = maps:fold(fun(_, V, S) -> V + S end, 0, M) end end},
     {ets_insert_set, 10, fun() -> Ks = randoms(20000), fun() ->
         T = ets:new(t, [set]), lists:foreach(fun(K) -> ets:insert(T, {K, K}) end, Ks), ets:delete(T) end end},
     {ets_lookup_set, 30, fun() ->
         Ks = randoms(20000), T = ets:new(t, [set, public]), lists:foreach(fun(K) -> ets:insert(T, {K, K}) end, Ks),
         fun() -> lists:foreach(fun(K) -> [_] = ets:lookup(T, K) end, Ks) end
     end},
     {ets_lookup_binary_key, 20, fun() ->
         Ks = [integer_to_binary(K) || K <- randoms(20000)], T = ets:new(t, [set, public]), lists:foreach(fun(K) -> ets:insert(T, {K, K, [K]}) end, Ks),
         fun() -> lists:foreach(fun(K) -> [_] = ets:lookup(T, K) end, Ks) end
     end},
     {ets_insert_ordered, 8, fun() -> Ks = randoms(20000), fun() ->
         T = ets:new(t, [ordered_set]), lists:foreach(fun(K) -> ets:insert(T, {K, K}) end, Ks), ets:delete(T) end end},
     {ets_lookup_ordered, 20, fun() ->
         Ks = randoms(20000), T = ets:new(t, [ordered_set, public]), lists:foreach(fun(K) -> ets:insert(T, {K, K}) end, Ks),
         fun() -> lists:foreach(fun(K) -> [_] = ets:lookup(T, K) end, Ks) end
     end},
     {ets_next_ordered, 20, fun() ->
         T = ets:new(t, [ordered_set, public]), [ets:insert(T, {K, K}) || K <- lists:seq(1, 20000)],
         fun() -> 20000 = walk(T, ets:first(T), 0) end
     end},
     {ets_update_counter, 40, fun() ->
         T = ets:new(t, [set, public]), ets:insert(T, {c, 0}),
         fun() -> lists:foreach(fun(_) -> ets:update_counter(T, c, 1) end, lists:seq(1, 20000)) end
     end},
     {ets_select, 40, fun() ->
         T = ets:new(t, [set, public]), [ets:insert(T, {K, K rem 10, x}) || K <- lists:seq(1, 20000)],
         fun() -> 2000 = length(ets:select(T, [{{'$1', 3, '_'}, [{'>', '$1', 0}], ['$1']}])) end
     end},
     {ets_tab2list, 40, fun() -> T = ets:new(t, [set, public]), [ets:insert(T, {K, K}) || K <- lists:seq(1, 20000)], fun() -> 20000 = length(ets:tab2list(T)) end end},
     {term_to_binary, 100, fun() -> X = mixed(2000), fun() -> true = is_binary(term_to_binary(X)) end end},
     {binary_to_term, 80, fun() -> B = term_to_binary(mixed(2000)), fun() -> [_ | _] = binary_to_term(B) end end},
     {term_to_binary_small, 200000, fun() -> X = ?MODULE:id({msg, 12345, <<"abc">>, [a, 1.5]}), fun() -> true = is_binary(term_to_binary(X)) end end},
     {binary_to_term_small, 200000, fun() -> B = term_to_binary(?MODULE:id({msg, 12345, <<"abc">>, [a, 1.5]})), fun() -> {_, _, _, _} = binary_to_term(B) end end},
     {external_size, 200, fun() -> X = mixed(2000), fun() -> true = 0 < erlang:external_size(X) end end},
     {io_lib_format, 20000, fun() -> fun() -> [_ | _] = io_lib:format("~s: ~w of ~p, ~.2f~n", ["name", 42, {a, [b]}, 3.14159]) end end},
     {io_lib_format_p, 300, fun() -> X = mixed(5), fun() -> [_ | _] = io_lib:format("~p", [X]) end end},
     {io_lib_format_ts, 30000, fun() -> fun() -> [_ | _] = io_lib:format("~ts ~10s ~-5w|", [<<"åäö"/utf8>>, "right", 7]) end end},
     {re_run_simple, 60000, fun() ->
         {ok, P} = re:compile("(\\w+)@(\\w+)\\.com"), S = ?MODULE:id(<<"mail to somebody@example.com today">>),
         fun() -> {match, _} = re:run(S, P) end
     end},
     {re_run_compile, 20000, fun() -> fun() -> {match, [_]} = re:run(<<"mail to somebody@example.com">>, "([a-z]+)@", [{capture, [1], binary}]) end end},
     {re_run_global, 4, fun() -> T = text(1 bsl 17), {ok, P} = re:compile("\\b[a-z]{5,}\\b"), fun() -> {match, _} = re:run(T, P, [global]) end end},
     {re_run_long_nomatch, 20, fun() -> T = text(1 bsl 20), {ok, P} = re:compile("needle[0-9]+"), fun() -> nomatch = re:run(T, P) end end},
     {re_run_unicode, 60, fun() -> T = unicode:characters_to_binary(lists:flatten(lists:duplicate(4000, "abc åäö €"))), {ok, P} = re:compile("€x", [unicode]), fun() -> nomatch = re:run(T, P) end end},
     {re_replace, 3000, fun() -> {ok, P} = re:compile("[aeiou]"), fun() -> true = is_binary(re:replace(<<"the quick brown fox jumps over the lazy dog">>, P, "*", [global, {return, binary}])) end end},
     {phash2_small, 1000000, fun() -> X = ?MODULE:id({key, 12345}), fun() -> true = is_integer(erlang:phash2(X)) end end},
     {phash2_mixed, 100, fun() -> X = mixed(2000), fun() -> true = is_integer(erlang:phash2(X)) end end},
     {phash2_binary, 200, fun() -> B = text(1 bsl 18), fun() -> true = is_integer(erlang:phash2(B)) end end},
     {big_multiply_small, 500000, fun() -> A = ?MODULE:id(1 bsl 200) - 12345, B = ?MODULE:id(1 bsl 190) + 987, fun() -> true = A * B > 0 end end},
     {big_multiply_2k, 15000, fun() -> A = ?MODULE:id(1 bsl 8000) div 7, B = ?MODULE:id(1 bsl 8100) div 11, fun() -> true = A * B > 0 end end},
     {big_multiply_64k, 20, fun() -> A = ?MODULE:id(1 bsl 300000) div 7, B = ?MODULE:id(1 bsl 310000) div 11, fun() -> true = A * B > 0 end end},
     {big_divide, 10000, fun() -> A = ?MODULE:id(1 bsl 8000) div 7, B = ?MODULE:id(1 bsl 4100) div 11, fun() -> true = A div B > 0 end end},
     {factorial, 20, fun() -> fun() -> true = factorial(2000, 1) > 0 end end},
     {integer_to_list_big, 15, fun() -> A = ?MODULE:id(1 bsl 30000) div 7, fun() -> [_ | _] = integer_to_list(A) end end},
     {integer_to_binary_100, 100000, fun() -> A = ?MODULE:id(1 bsl 330) div 7, fun() -> true = is_binary(integer_to_binary(A)) end end},
     {list_to_integer_big, 15, fun() -> L = integer_to_list((1 bsl 30000) div 7), fun() -> true = list_to_integer(L) > 0 end end},
     {integer_to_binary, 1000000, fun() -> X = ?MODULE:id(123456789), fun() -> <<"123456789">> = integer_to_binary(X) end end},
     {binary_to_integer, 1000000, fun() -> B = ?MODULE:id(<<"123456789">>), fun() -> 123456789 = binary_to_integer(B) end end},
     {float_to_binary_short, 300000, fun() -> X = ?MODULE:id(3.141592653589793), fun() -> <<"3.141592653589793">> = float_to_binary(X, [short]) end end},
     {binary_to_float, 300000, fun() -> B = ?MODULE:id(<<"3.141592653589793">>), fun() -> 3.141592653589793 = binary_to_float(B) end end},
     {iolist_to_binary, 100, fun() -> L = [[integer_to_binary(X), $,, "text"] || X <- lists:seq(1, 10000)], fun() -> true = is_binary(iolist_to_binary(L)) end end},
     {binary_to_list, 100, fun() -> B = text(1 bsl 17), fun() -> [_ | _] = binary_to_list(B) end end},
     {list_to_binary, 150, fun() -> L = binary_to_list(text(1 bsl 17)), fun() -> true = is_binary(list_to_binary(L)) end end},
     {list_to_atom, 200000, fun() -> L = ?MODULE:id("kernel"), fun() -> kernel = list_to_existing_atom(L) end end},
     {md5, 300, fun() -> B = text(1 bsl 17), fun() -> <<_:16/binary>> = erlang:md5(B) end end},
     {crc32, 500, fun() -> B = text(1 bsl 18), fun() -> true = is_integer(erlang:crc32(B)) end end}].

%% Hides a value from the compiler, which works out what it can.
id(X) -> X.

factorial(0, F) -> F;
factorial(N, F) -> factorial(N - 1, N * F).

walk(_, '$end_of_table', N) -> N;
walk(T, K, N) -> walk(T, ets:next(T, K), N + 1).

%% English-like text without newlines.
text(Size) ->
    Words = {<<"the ">>, <<"quick ">>, <<"brown ">>, <<"fox ">>, <<"jumps ">>, <<"over ">>, <<"lazy ">>, <<"dogs ">>},
    B = iolist_to_binary([element(1 + R rem 8, Words) || R <- randoms(Size div 4)]),
    binary:part(B, 0, min(Size, byte_size(B))).

lines(N) -> iolist_to_binary([["line number ", integer_to_list(X), " of the text", $\n] || X <- lists:seq(1, N)]).

%% The same numbers on every VM.
randoms(N) -> randoms(N, 12345, []).
randoms(0, _, L) -> L;
randoms(N, X, L) ->
    Y = (X * 1103515245 + 12345) band 16#7FFFFFFF,
    randoms(N - 1, Y, [Y bsr 3 | L]).

%% What messages and tables are made of.
mixed(N) ->
    [{X, <<"binary ", (integer_to_binary(X))/binary>>, [a, "string", X * 1.5], #{id => X, name => undefined, {k, X} => []}}
     || X <- lists:seq(1, N)].
