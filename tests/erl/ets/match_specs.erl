%% Match specifications: every guard and body operation, ets:test_ms, fun2ms results, errors.
-module(match_specs).
-export([main/0]).

main() ->
    T = t:id({a, 1, 2.5, "str", <<"bin">>, {x, y}, #{k => v}, [1, 2]}),
    Guards = [{is_atom, '$1'}, {is_float, '$3'}, {is_integer, '$2'}, {is_list, '$4'}, {is_number, '$2'}, {is_pid, '$1'}, {is_port, '$1'}, {is_reference, '$1'},
              {is_tuple, '$6'}, {is_map, '$7'}, {is_binary, '$5'}, {is_function, '$1'}, {is_record, '$6', x}, {is_map_key, k, '$7'},
              {'==', '$2', 1.0}, {'=:=', '$2', 1.0}, {'=/=', '$2', 1.0}, {'/=', '$2', 1.0}, {'<', '$2', '$3'}, {'>', '$2', '$3'}, {'>=', '$1', '$2'}, {'=<', '$1', '$2'},
              {'not', {is_atom, '$1'}}, {'and', true, {is_atom, '$1'}}, {'or', false, {is_atom, '$1'}}, {'xor', true, true},
              {'andalso', {is_atom, '$1'}, false, true}, {'orelse', false, {is_list, '$4'}}, {'andalso', false, {hd, '$1'}}, {hd, '$1'}, '$1', true, false, {const, true}],
    t:each(in_maps, [#{k => {'$1', x}}, #{k => ['$1' | '$2']}, #{k => #{m => {'$1'}}}, #{k => {{'_', '$1'}}, l => ['$2']}, {#{k => {'$2'}}, '$2'}, #{k => {a}}, #{k => {'_'}}], fun(P) ->
        [ets:test_ms({X}, [{{P}, [], ['$$']}]) || X <- [#{k => {1, x}}, #{k => [1, 2], l => 3}, #{k => #{m => {7}}}, #{k => {{1, 2}}, l => [3]}, {#{k => {5}, j => 1}, 5}, {#{k => {5}}, 6}, #{k => {a}}]]
    end),
    t:c(in_large_map, fun() -> M = maps:from_list([{I, {I, x}} || I <- lists:seq(1, 50)]), [ets:test_ms({M}, [{{#{33 => {V, x}}}, [], ['$$']}]) || V <- ['$1', '_', 33, 34]] ++ [ets:test_ms({M}, [{{M#{7 => {'$1', '$2'}}}, [], ['$$']}])] end),
    t:each(guard, Guards, fun(G) -> ets:test_ms(T, [{spread(), [G], [hit]}]) end),
    Bodies = ['$1', '$_', '$$', {const, {a, b}}, {{'$2', '$1'}}, ['$1', ['$2']], {element, 1, '$6'}, {hd, '$8'}, {tl, '$8'}, {length, '$8'}, {map_get, k, '$7'}, {map_size, '$7'},
              {size, '$6'}, {tuple_size, '$6'}, {byte_size, '$5'}, {bit_size, '$5'}, {binary_part, '$5', 1, 2}, {abs, -3}, {round, '$3'}, {trunc, '$3'}, {float, '$2'}, {ceil, '$3'}, {floor, '$3'},
              {'+', '$2', 1}, {'-', '$2'}, {'-', '$2', '$3'}, {'*', '$2', 3}, {'/', 1, 2}, {'div', 7, 2}, {'rem', 7, 2}, {'band', 6, 3}, {'bor', 6, 3}, {'bxor', 6, 3}, {'bnot', 6}, {'bsl', 1, 70}, {'bsr', 16, 2},
              {'+', '$1', 1}, {hd, '$1'}, {'div', 1, 0}, {node}, {node, {self}}, {'max', 1, 2}, {'min', 1, 2}, #{k => '$1'}, {const, '$1'}, {is_atom, '$1'}],
    t:each(body, Bodies, fun(B) -> ets:test_ms(T, [{spread(), [], [B]}]) end),
    %% What errors quote is bytes, at most 99 of them.
    t:each(quoted, [{list_to_atom([233]), 1}, {list_to_atom([8364, 233]), 1}, {list_to_atom("$" ++ [233])}, {hd, 1, "åäö"}, {const, "åäö", [8364]}, {foo, <<"åäö"/utf8>>}
                    | [{list_to_atom(lists:duplicate(N, 8364)), 1} || N <- lists:seq(24, 32)]],
           fun(F) -> {error, Errors} = ets:test_ms({a}, [{'_', [F], [F]}]), Errors end),
    t:c(self, fun() -> ets:test_ms({a}, [{{'_'}, [], [{self}]}]) =:= {ok, self()} end),
    Heads = [{'$1', '_'}, '_', '$1', {'$1', '$1'}, {a, '$1'}, {'$1', {x, '$2'}}, {'$1', ['$2' | '_']}, {'$1', #{k => '$2'}}, #{}, [], {'$300', '_'}, {1, 1.0}, {'$1'}, {'_', "s"}],
    Terms = [{a, b}, {a, a}, {a, {x, 1}}, {a, [1, 2]}, {a, #{k => 2, l => 3}}, {1, 1.0}, {1, 1}],
    t:each(head, Heads, fun(H) -> [try ets:test_ms(X, [{H, [], ['$$']}]) catch C:R -> {C, R} end || X <- Terms] end),
    t:c(several_clauses, fun() -> [ets:test_ms(X, [{{a, '$1'}, [], [{{first, '$1'}}]}, {{'$1', '_'}, [], [{{second, '$1'}}]}]) || X <- [{a, 1}, {b, 2}, {c}]] end),
    t:c(last_body_value, fun() -> ets:test_ms({a}, [{{'$1'}, [], [one, two, '$1']}]) end),
    Bad = [x, [], [x], [{a, b}], [{'$1', x, ['$1']}], [{'$1', [], x}], [{'$1', [], []}], [{'$1', [{nope, 1}], ['$1']}], [{'$1', [], [{hd}]}], [{'$1', [], ['$2']}], [{'$1', [{is_atom}], ['$1']}], [{'$1', [], [{{{1}}}]}], [{'$1', [], [{message, x}]}]],
    t:each(bad_test, Bad, fun(S) -> case catch ets:test_ms({a}, S) of {error, L} -> {error, [K || {K, _} <- L]}; {'EXIT', {R, _}} -> {exit, R}; X -> X end end),
    t:each(bad_select, Bad, fun(S) -> Tab = ets:new(x, []), ets:insert(Tab, {a}), try ets:select(Tab, S) after ets:delete(Tab) end end),
    t:c(compiled, fun() -> C = ets:match_spec_compile([{{'$1', '$2'}, [{'<', '$2', 3}], ['$1']}]), {ets:match_spec_run([{a, 1}, {b, 5}, {c, 2}, d], C), ets:is_compiled_ms(C), ets:is_compiled_ms(x)} end),
    t:c(trace_ms, fun() -> erlang:match_spec_test([1, 2], [{['$1', '$2'], [{'>', '$2', '$1'}], [{message, {{got, '$1'}}}, {return_trace}]}], trace) end),
    t:c(trace_ms_false, fun() -> erlang:match_spec_test([1, 2], [{['$1', '$1'], [], [true]}], trace) end),
    t:c(table_ms, fun() -> erlang:match_spec_test({1, 2}, [{{'$1', '$2'}, [], [{'+', '$1', '$2'}]}], table) end),
    t:c(key_bound, fun() -> Tab = ets:new(o, [ordered_set]), ets:insert(Tab, [{{A, B}, A * B} || A <- lists:seq(1, 20), B <- lists:seq(1, 20)]), {ets:select(Tab, [{{{5, '$1'}, '$2'}, [{'>', '$1', 17}], ['$2']}]), length(ets:match(Tab, {{'_', 3}, '$1'})), ets:select(Tab, [{{{7, 7}, '$1'}, [], ['$1']}])} end).

spread() -> {'$1', '$2', '$3', '$4', '$5', '$6', '$7', '$8'}.
