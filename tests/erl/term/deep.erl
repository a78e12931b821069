%% Terms nested a hundred thousand deep, through everything that walks a term: none of it may need stack by the depth.
-module(deep).
-export([main/0]).

-define(DEPTH, 100_000).

main() ->
    Deep = nested(?DEPTH, end1),
    Same = nested(?DEPTH, end1),
    Other = nested(?DEPTH, end2),
    t:c(exactly_equal, fun() -> {Deep =:= Same, Deep =:= Other, Deep == Same, Deep == Other} end),
    t:c(order, fun() -> {Deep < Other, Deep < Same, Deep =< Same, max(Deep, Other) =:= Other} end),
    t:c(hashes, fun() -> {erlang:phash2(Deep) =:= erlang:phash2(Same), erlang:phash(Deep, 1000) =:= erlang:phash(Same, 1000), erlang:phash2(Deep) =:= erlang:phash2(Other)} end),
    t:c(portable_hash, fun() -> erlang:phash2(plain(?DEPTH)) end),
    t:c(old_hash, fun() -> erlang:phash(plain(?DEPTH), 1 bsl 32) end),
    Plain = plain(?DEPTH),
    t:c(external, fun() -> B = term_to_binary(Plain), {byte_size(B), erlang:external_size(Plain), erlang:md5(B), binary_to_term(B) =:= Plain, binary_to_term(B, [safe, used]) =:= {Plain, byte_size(B)}} end),
    t:c(external_of_funs, fun() -> B = term_to_binary(Deep), {binary_to_term(B) =:= Deep, iolist_size(term_to_iovec(Deep)) =:= byte_size(B)} end),
    t:c(compressed, fun() -> binary_to_term(term_to_binary(Plain, [compressed])) =:= Plain end),
    t:c(sent, fun() -> Self = self(), {P, M} = spawn_monitor(fun() -> receive X -> Self ! {back, X} end end), P ! Deep, receive {back, X} -> receive {'DOWN', M, _, _, R} -> {R, X =:= Deep} end end end),
    t:c(spawned_with, fun() -> {_, M} = spawn_monitor(fun() -> exit(Deep =:= Same) end), receive {'DOWN', M, _, _, R} -> R end end),
    t:c(exit_reason, fun() -> {_, M} = spawn_monitor(fun() -> exit(Deep) end), receive {'DOWN', M, _, _, R} -> R =:= Same end end),
    t:c(collected, fun() -> true = erlang:garbage_collect(), Deep =:= Same end),
    t:c(sizes, fun() -> {erts_debug:flat_size(Plain), erts_debug:size_shared(Plain), erts_debug:flat_size(Deep) =:= erts_debug:flat_size(Same)} end),
    t:c(copy_shared, fun() -> erts_debug:copy_shared(Deep) =:= Deep end),
    t:c(dictionary, fun() -> put(Deep, 1), put(deep, Same), {get(Same), erase(deep) =:= Deep, erase(Deep)} end),
    t:c(map_key, fun() -> M = #{Deep => 1, Other => 2}, {maps:get(Same, M), maps:get(Other, M), map_size(maps:remove(Same, M))} end),
    t:c(large_map_key, fun() -> M = (maps:from_list([{I, I} || I <- lists:seq(1, 100)]))#{Deep => d}, {maps:get(Same, M), maps:is_key(Other, M), maps:take(Same, M) =:= {d, maps:remove(Deep, M)}} end),
    t:c(persistent_term, fun() -> persistent_term:put(deep, Deep), R = persistent_term:get(deep) =:= Same, persistent_term:erase(deep), R end),
    [t:c(io_lib:format("ets ~p ~p", [Type, Options]), fun() -> table([Type | Options], Deep, Same, Other) end) || Type <- [set, bag, duplicate_bag, ordered_set], Options <- [[], [compressed]]],
    t:c(match_pattern, fun() -> T = ets:new(t, []), ets:insert(T, [{1, Plain}, {2, other}]), [ets:select(T, [{{'$1', '$2'}, [{'=:=', '$2', {const, Plain}}], ['$1']}]), ets:select(T, [{{'$1', pattern(?DEPTH)}, [], ['$1']}]), ets:match(T, {'$1', pattern(?DEPTH)})] end),
    t:c(match_spec_test, fun() -> {ok, R, _, _} = erlang:match_spec_test({1, Plain}, [{{'$1', pattern(?DEPTH)}, [], ['$_']}], table), R =:= {1, Plain} end),
    %% OTP has a limit for these.
    t:c(made_by_match_spec, fun() -> [made(N) || N <- [100, ?DEPTH]] =/= [] end),
    t:c(made_by_shallow_match_spec, fun() -> made(100) end),
    t:c(deep_guard, fun() -> [guarded(N) || N <- [100, ?DEPTH]] =/= [] end),
    t:c(shallow_guard, fun() -> guarded(100) end),
    Io = lists:foldl(fun(_, A) -> [A | <<"y">>] end, lists:foldl(fun(_, A) -> [$x, A] end, [], lists:seq(1, ?DEPTH)), lists:seq(1, ?DEPTH)),
    t:c(iolists, fun() -> {iolist_size(Io), erlang:md5(iolist_to_binary(Io)), iolist_size(erlang:iolist_to_iovec(Io)), erlang:crc32(Io), erlang:adler32(Io), byte_size(list_to_bitstring(Io)), erlang:md5(Io)} end),
    t:c(unicode, fun() -> {erlang:md5(unicode:characters_to_binary(Io)), length(unicode:characters_to_list(Io)), byte_size(unicode:characters_to_binary(Io, latin1, utf16))} end),
    t:c(unicode_error, fun() -> {error, B, Rest} = unicode:characters_to_binary([Io, -1, Io]), {byte_size(B), iolist_size(tl(Rest))} end),
    t:c(flatten, fun() -> length(lists:flatten(deep_list(?DEPTH))) end),
    t:c(to_port, fun() -> F = filename:join(t:tmp("deep"), "f"), ok = file:write_file(F, Io), filelib:file_size(F) end),
    t:c(printed, fun() -> length(lists:flatten(io_lib:format("~w", [plain(20_000)]))) end),
    t:c(printed_cut, fun() -> length(io_lib:format("~P", [Plain, 10])) end),
    t:c(error_reason, fun() -> try error(Deep) catch error:R -> R =:= Same end end),
    t:c(bad_argument, fun() -> try atom_to_list(Deep) catch error:badarg:S -> [{_, _, [A], _} | _] = S, A =:= Same end end),
    t:c(lists_functions, fun() -> L = [Deep, Other], {lists:member(Same, L), lists:keyfind(Same, 1, [{Other}, {Deep}]) =:= {Same}, length(L -- [Same]), length(lists:usort([Deep, Same, Other]))} end),
    t:c(binary_to_bad_term, fun() -> try binary_to_term(<<131, (binary:copy(<<104, 1>>, ?DEPTH))/binary>>) catch error:R -> R end end).

%% Lists in tuples in maps in funs.
nested(0, T) -> T;
nested(N, T) when N rem 4 =:= 0 -> nested(N - 1, {T, N});
nested(N, T) when N rem 4 =:= 1 -> nested(N - 1, [T]);
nested(N, T) when N rem 4 =:= 2 -> nested(N - 1, #{N => T});
nested(N, T) -> nested(N - 1, fun() -> {N, T} end).

%% No funs: the same in every VM.
plain(N) -> plain(N, 17).

plain(0, T) -> T;
plain(N, T) when N rem 3 =:= 0 -> plain(N - 1, {T, N});
plain(N, T) when N rem 3 =:= 1 -> plain(N - 1, [T]);
plain(N, T) -> plain(N - 1, #{N => T}).

pattern(N) -> plain(N, '$3').

inner(0, T) -> T;
inner(N, T) when N rem 2 =:= 0 -> inner(N - 1, {T});
inner(N, T) -> inner(N - 1, [T]).

body(N) -> body(N, '$1').

body(0, T) -> T;
body(N, T) when N rem 2 =:= 0 -> body(N - 1, {{T}});
body(N, T) -> body(N - 1, [T]).

made(N) ->
    try ets:match_spec_run([{1}], ets:match_spec_compile([{{'$1'}, [], [body(N)]}])) of
        [R] -> R =:= inner(N, 1)
    catch
        error:_ -> limit
    end.

guarded(N) ->
    try ets:match_spec_run([{1}], ets:match_spec_compile([{{'$1'}, [guard(N)], ['$1']}])) catch error:_ -> limit end.

guard(0) -> true;
guard(N) -> {'not', {'not', guard(N - 1)}}.

deep_list(N) -> lists:foldl(fun(I, A) -> [A, I] end, [], lists:seq(1, N)).

table(Options, Deep, Same, Other) ->
    T = ets:new(t, Options),
    ets:insert(T, {Deep, 1}),
    ets:insert(T, [{Other, Deep}]),
    A = [ets:lookup(T, Same) =:= [{Deep, 1}], ets:member(T, Other), ets:lookup_element(T, Same, 2), length(ets:match_object(T, {Same, '_'})), length(ets:match(T, {'_', Same})), ets:select_count(T, [{{'$1', '$2'}, [{'=:=', '$2', {const, Same}}], [true]}])],
    ets:delete_object(T, {Same, 1}),
    B = [ets:info(T, size), length(ets:tab2list(T))],
    ets:delete(T, Other),
    C = ets:info(T, size),
    ets:delete(T),
    {A, B, C}.
