%% Match specifications made to take much time, memory or stack, and wrong ones of every kind: OTP's errors, in little time.
-module(hostile_specs).
-export([main/0]).

main() ->
    Tab = ets:new(t, [public]),
    ets:insert(Tab, [{I, I * 2} || I <- lists:seq(1, 10)]),
    All = fun(Name, Spec) -> t:c(Name, fun() -> timed(fun() -> [cut(catch_(F)) || F <- [fun() -> ets:match_spec_run([{1, 2}, {a, {b}}], ets:match_spec_compile(Spec)) end, fun() -> ets:select(Tab, Spec) end, fun() -> ets:test_ms({1, 2}, Spec) end, fun() -> erlang:match_spec_test([1, 2], Spec, trace) end]] end) end) end,
    %% OTP's compiler of specifications gives up where a C stack would end: deeper ones are nothing to compare.
    [begin
         All(["guard ", integer_to_list(N)], [{{'$1', '_'}, [deep(fun(X) -> {'not', X} end, {is_integer, '$1'}, N)], ['$1']}]),
         All(["andalso ", integer_to_list(N)], [{{'$1', '_'}, [deep(fun(X) -> {'andalso', true, X} end, {is_integer, '$1'}, N)], ['$1']}]),
         All(["sum ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [deep(fun(X) -> {'+', X, '$1'} end, '$1', N)]}]),
         All(["list ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [{length, deep(fun(X) -> ['$1' | X] end, [], N)}]}]),
         All(["tuples ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [{is_tuple, deep(fun(X) -> {{X}} end, '$1', N)}]}]),
         All(["maps ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [{is_map, deep(fun(X) -> #{k => X} end, '$1', N)}]}]),
         All(["nested lists ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [{is_list, deep(fun(X) -> [X] end, '$1', N)}]}]),
         All(["constant ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], [{is_list, {const, deep(fun(X) -> [X] end, '$1', N)}}]}])
     end || N <- [10, 1000]],
    [begin
         All(["head ", integer_to_list(N)], [{{'$1', deep(fun(X) -> {X} end, '$2', N)}, [], ['$1']}]),
         All(["head list ", integer_to_list(N)], [{{'$1', deep(fun(X) -> [X] end, '$2', N)}, [], ['$1']}]),
         All(["head map ", integer_to_list(N)], [{{'$1', deep(fun(X) -> #{k => X} end, '$2', N)}, [], ['$1']}]),
         All(["head long ", integer_to_list(N)], [{{'$1', lists:duplicate(N, '_')}, [], ['$1']}]),
         All(["clauses ", integer_to_list(N)], [{{I, '_'}, [], [I]} || I <- lists:seq(N, 1, -1)]),
         All(["guards ", integer_to_list(N)], [{{'$1', '_'}, lists:duplicate(N, {is_integer, '$1'}), ['$1']}]),
         All(["bodies ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'}], lists:duplicate(N, '$1')}]),
         All(["and ", integer_to_list(N)], [{{'$1', '_'}, [list_to_tuple(['and' | lists:duplicate(N, {is_integer, '$1'})])], ['$1']}]),
         All(["variables ", integer_to_list(N)], [{{'$1', list_to_tuple([variable(I) || I <- lists:seq(2, N)])}, [], ['$$']}]),
         All(["errors ", integer_to_list(N)], [{{'$1', '_'}, [{is_integer, '$1'} | lists:duplicate(N, {no_such, 1})], ['$1']}])
     end || N <- [10, 1000, 10000]],
    t:each(variable, ['$0', '$00', '$01', '$1x', '$', '$$', '$_', '$-1', '$ 1', '$99', '$100', '$9999', '$100000', '$99999999', '$100000000', '$99999999999999999999', '_1', '__', '$1$2'],
           fun(V) -> [cut(catch_(fun() -> ets:test_ms(X, [{H, [], [{{V, x}}]}]) end)) || {X, H} <- [{{5}, {V}}, {{V}, {V}}, {{5, 5}, {V, V}}, {{5, 6}, {V, V}}]] end),
    Wrong = [{}, {x}, [], [[]], [{}], [{x}], [{x, []}], [{x, [], []}], [{x, [], [], []}], [{'_', [] , x}], [{'_', x, [x]}], [{'_', [a | b], [x]}], [{'_', [], [a | b]}], [{'_', [], [{}]}], [{'_', [{}], [x]}], [{'_', [[]], [x]}], [{'_', [x], [x]}], [{'_', [{x}], [x]}],
             [{'_', [], [x]} | y], [{'_', [], [x]}, y], [{'_', [], [x]}, {}], [{'_', [{self, 1}], [x]}], [{'_', [{const}], [x]}], [{'_', [{const, 1, 2}], [x]}], [{'_', [{'andalso'}], [x]}], [{'_', [{'and'}], [x]}], [{'_', [{'or', true}], [x]}], [{'_', [{is_record, '$_'}], [x]}], [{'_', [{is_record, '$_', '$1'}], [x]}], [{'_', [{is_record, '$_', a, b}], [x]}], [{'_', [{is_record, '$_', a, -1}], [x]}],
             [{'_', [], [{{{a}, {{b}}, c}}]}], [{'_', [], [{a, b}]}], [{'_', [], [{1, 2}]}], [{'_', [], [{"a"}]}], [{'_', [], [fun() -> ok end]}], [{'_', [], [self()]}], [{fun() -> ok end, [], [x]}], [{#{'$1' => x}, [], ['$1']}], [{#{'_' => x}, [], [x]}], [{#{x => '$1', y => '$1'}, [], ['$1']}], [{[x | y], [], [x]}], [{'_', [], [#{{{a}} => {x}}]}], [{<<1:3>>, [], [x]}], [{'$1', [{'=:=', '$2', 1}], [x]}], [{'$1', [], ['$1', '$2', '$3']}],
             [{'_', [], [{return_trace}]}], [{'_', [], [{enable_trace, x}]}], [{'_', [], [{set_tcw, x}]}], [{'_', [{message, x}], [x]}], [{'_', [], [{exception_trace}]}], [{'_', [], [{silent, x}]}], [{'_', [{return_trace}], [x]}], [{'_', [], [{caller}]}], [{'_', [], [{process_dump}]}], [{'_', [], [{get_tcw}]}], [{'_', [], [{get_seq_token}]}], [{'_', [], [{set_seq_token, foo, 1}]}], [{'_', [], [{is_seq_trace}]}], [{'_', [], [{trace, [], []}]}], [{'_', [], [{'+', a, 1}]}], [{'_', [{'+', a, 1}], [x]}], [{'_', [{'+', 1, 1}], [x]}], [{'_', [], [{'/', 1, 0}]}], [{'_', [], [{hd, []}]}], [{'_', [], [{binary_part, <<1>>, 5, 5}]}], [{'_', [], [{'bsl', 1, 1 bsl 70}]}], [{'_', [], [{'bsl', 1, 1 bsl 40}]}], [{'_', [], [{element, 5, '$_'}]}]],
    t:each(wrong, Wrong, fun(S) -> [cut(catch_(F)) || F <- [fun() -> ets:select(Tab, S), ok end, fun() -> ets:select(Tab, S, 3), ok end, fun() -> ets:select_count(Tab, S) end, fun() -> ets:select_replace(Tab, S) end, fun() -> is_reference(ets:match_spec_compile(S)) end, fun() -> ets:test_ms({1, 2}, S) end, fun() -> erlang:match_spec_test([1], S, trace) end, fun() -> erlang:match_spec_test({1}, S, table) end, fun() -> erlang:match_spec_test({1}, S, foo) end]] end),
    t:c(match_patterns, fun() -> [cut(catch_(fun() -> F(Tab, P) end)) || P <- [deep(fun(X) -> {X} end, '$1', 10000), deep(fun(X) -> [X] end, '$1', 10000), list_to_tuple([variable(I) || I <- lists:seq(1, 5000)]), {'$1'}, '$1', 5, {'$100000000', '_'}], F <- [fun ets:match/2, fun ets:match_object/2, fun ets:match_delete/2]] end),
    t:c(run_wrong, fun() -> C = ets:match_spec_compile([{'_', [], [x]}]), [cut(catch_(fun() -> ets:match_spec_run(L, M) end)) || {L, M} <- [{[a | b], C}, {a, C}, {[], C}, {[a], foo}, {[a], make_ref()}, {[a], {ms}}, {[], foo}]] end),
    t:c(continuations, fun() -> [cut(catch_(fun() -> ets:select(X) end)) || X <- ['$end_of_table', foo, {Tab, 1}, {Tab, 1, 2, <<>>, [], 0}, {Tab, -1, 5, make_ref(), [], 0}, {foo, 0, 5, make_ref(), [], 0}, {}]] end).

variable(I) -> list_to_atom([$$ | integer_to_list(I)]).

deep(_, X, 0) -> X;
deep(F, X, N) -> deep(F, F(X), N - 1).

timed(Fun) ->
    {T, R} = timer:tc(Fun),
    case T < 20_000_000 of true -> R; false -> {too_slow, R} end.

%% Long answers as a number.
cut(T) ->
    N = t:norm(T),
    case erts_debug:flat_size(N) of
        S when S > 150 -> {size, hash(N)};
        _ -> N
    end.

hash({error, L}) when is_list(L) -> {error, length(L), erlang:phash2(L)};
hash({ok, L, A, B}) -> {ok, erlang:phash2(L), A, B};
hash(X) -> erlang:phash2(X).

catch_(F) -> try F() catch C:R -> {C, R} end.
