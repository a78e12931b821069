%% Records what OTP does, for the tests of crate ets: `escript record.erl` in this directory writes calls.bin and specs.bin.
%%
%% Each file is a sequence of external terms, each after its size in four bytes. calls.bin: {Function, Arguments, Outcome},
%% where {'$table', N} stands for the N-th table and an outcome is {value, Term} or {error, Reason, Cause}. The
%% pseudo-functions chunks, walk and continue stand for loops (see tests.rs). specs.bin: {Term, Specification, Dialect, Result}.
-mode(compile).

main(_) ->
    rand:seed(exsss, {1, 2, 3}),
    put(out, []),
    [scenario(Options) || Options <- [[], [ordered_set], [bag], [duplicate_bag], [{keypos, 2}],
                                      [ordered_set, {keypos, 2}], [named_table, public], [bag, {keypos, 2}]]],
    growth(),
    fixing(),
    write("calls.bin"),
    put(out, []),
    [note({T, MS, D, try erlang:match_spec_test(T, MS, D) catch error:E -> {'EXIT', E} end})
     || {T, D, Specs} <- specs(), MS <- Specs],
    write("specs.bin").

note(Term) -> put(out, [Term | get(out)]).

write(Name) ->
    Bins = [begin B = term_to_binary(T, [{minor_version, 2}]), [<<(byte_size(B)):32>>, B] end || T <- lists:reverse(get(out))],
    ok = file:write_file(Name, Bins).

%% Calls and notes.
c(F, Args) ->
    Outcome = outcome(F, Args),
    note({F, hide(Args), hide(Outcome)}),
    Outcome.

outcome(F, Args) ->
    try {value, call(F, Args)}
    catch
        error:Reason:Stack ->
            {_, _, _, Info} = hd(Stack),
            {error, Reason, maps:get(cause, proplists:get_value(error_info, Info, #{}), none)}
    end.

call(chunks, [F, T, MS, Limit]) -> chunks(F, ets:F(T, MS, Limit));
call(walk, [T, First, Next]) -> walk(T, Next, ets:First(T));
call(run_r, [L, MS, Acc]) -> ets:match_spec_run_r(L, ets:match_spec_compile(MS), Acc);
call(F, Args) -> apply(ets, F, Args).

chunks(_, '$end_of_table') -> [];
chunks(F, {L, Continuation}) -> [L | chunks(F, ets:F(Continuation))].

walk(_, _, '$end_of_table') -> [];
walk(T, Next, K) -> [K | walk(T, Next, ets:Next(T, K))].

hide(T) ->
    case get({table, T}) of
        undefined -> hide_parts(T);
        N -> {'$table', N}
    end.

hide_parts(T) when is_tuple(T) -> list_to_tuple([hide(E) || E <- tuple_to_list(T)]);
hide_parts([H | T]) -> [hide(H) | hide(T)];
hide_parts(T) when is_reference(T) -> '$reference';
hide_parts(T) -> T.

new(Options) ->
    N = case get(tables) of undefined -> 0; V -> V end,
    put(tables, N + 1),
    Name = list_to_atom("t" ++ integer_to_list(N)),
    T = ets:new(Name, Options),
    put({table, T}, N),
    note({new, [Name, Options], {value, {'$table', N}}}),
    T.

scenario(Options) ->
    T = new(Options),
    [step(T) || _ <- lists:seq(1, 350)],
    c(delete, [T]),
    c(lookup, [T, 1]).

key() ->
    case rand:uniform(12) of
        1 -> float(rand:uniform(5));
        2 -> {rand:uniform(3), rand:uniform(3)};
        3 -> {rand:uniform(2), {rand:uniform(2), 9}};
        4 -> element(rand:uniform(4), {a, b, foo, 'an atom'});
        5 -> [rand:uniform(2), rand:uniform(2)];
        6 -> <<(rand:uniform(3))>>;
        7 -> (1 bsl 70) + rand:uniform(2);
        8 -> "ab";
        9 -> #{rand:uniform(2) => rand:uniform(2)};
        _ -> rand:uniform(12)
    end.

%% Keys whose hash is not OTP's alone would change the order of visits.
value() ->
    case rand:uniform(10) of
        1 -> rand:uniform() ;
        2 -> {rand:uniform(3), "text"};
        3 -> #{a => rand:uniform(3), 2 => b};
        4 -> 1 bsl 65;
        5 -> <<0:800>>;
        6 -> [a, b, {c}];
        7 -> 0.0;
        _ -> rand:uniform(5)
    end.

object() ->
    case rand:uniform(12) of
        1 -> {key(), key(), value(), value()};
        2 -> {key()};
        3 -> {};
        4 -> foo;
        _ -> {key(), key(), value()}
    end.

step(T) ->
    case rand:uniform(30) of
        N when N < 8 -> c(insert, [T, object()]);
        8 -> c(insert, [T, [object() || _ <- lists:seq(1, rand:uniform(4))]]);
        9 -> c(insert_new, [T, object()]);
        10 -> c(insert_new, [T, [object() || _ <- lists:seq(1, rand:uniform(4))]]);
        11 -> c(lookup, [T, key()]);
        12 -> c(member, [T, key()]);
        13 -> c(delete, [T, key()]);
        14 -> case catch ets:tab2list(T) of
                  [_ | _] = L -> c(delete_object, [T, lists:nth(rand:uniform(length(L)), L)]);
                  _ -> c(delete_object, [T, object()])
              end;
        15 -> c(take, [T, key()]);
        16 -> c(lookup_element, [T, key(), rand:uniform(4) - 1]);
        17 -> c(update_counter, [T, key(), update()]);
        18 -> K = key(),
              %% (OTP 25 can crash when an operation fails that has a default.)
              Usable = case ets:lookup(T, K) of
                           [{_, _, N3}] -> is_integer(N3);
                           [] -> true;
                           _ -> false
                       end,
              Usable andalso c(update_counter, [T, K, {3, rand:uniform(9)}, {key(), key(), rand:uniform(9)}]);
        19 -> c(update_element, [T, key(), {rand:uniform(5) - 1, value()}]);
        20 -> c(update_element, [T, key(), [{rand:uniform(4), value()} || _ <- lists:seq(1, rand:uniform(3))]]);
        21 -> c(next, [T, key()]);
        22 -> c(prev, [T, key()]);
        23 -> c(slot, [T, rand:uniform(12)]);
        24 -> c(walk, case rand:uniform(2) of 1 -> [T, first, next]; 2 -> [T, last, prev] end);
        25 -> c(match, [T, pattern()]), c(match_object, [T, pattern()]);
        26 -> c(select, [T, spec()]), c(select_reverse, [T, spec()]);
        27 -> c(chunks, [select, T, spec(), rand:uniform(3)]), c(chunks, [match_object, T, pattern(), rand:uniform(5)]);
        28 -> c(chunks, [select_reverse, T, spec(), rand:uniform(3)]), c(select_count, [T, spec()]);
        29 -> c(select_replace, [T, replacing()]);
        30 -> c(internal_select_delete, [T, spec()]), c(info, [T, size])
    end.

update() ->
    One = fun() ->
                  case rand:uniform(4) of
                      1 -> {rand:uniform(4), rand:uniform(9) - 4};
                      2 -> {3, rand:uniform(9) - 4, rand:uniform(9) - 4, rand:uniform(9)};
                      3 -> {3, (1 bsl 59) + rand:uniform(9)};
                      4 -> {3, x}
                  end
          end,
    case rand:uniform(4) of
        1 -> [One() || _ <- lists:seq(1, rand:uniform(3))];
        2 -> rand:uniform(5);
        _ -> One()
    end.

pattern() ->
    case rand:uniform(12) of
        1 -> '_';
        2 -> '$1';
        3 -> {'$1', '_', '_'};
        4 -> {key(), '$1', '$2'};
        5 -> {'$2', key(), '$1'};
        6 -> {{rand:uniform(3), '$1'}, '_', '_'};
        7 -> {'_', '$1', '$1'};
        8 -> {'$1', '$1', '_'};
        9 -> {'$1', '_', #{a => '$2'}};
        10 -> {'_', {'$3', {'$1', '_'}}, '$2'};
        11 -> {[rand:uniform(2) | '$1'], '$2', '_'};
        12 -> {'_', '_', value()}
    end.

guard() ->
    case rand:uniform(8) of
        1 -> [{'>', '$1', rand:uniform(5)}];
        2 -> [{is_integer, '$1'}, {'<', {'rem', '$1', 3}, 2}];
        3 -> [{'orelse', {is_float, '$1'}, {'==', {'+', '$1', 1}, rand:uniform(5)}}];
        4 -> [{'not', {is_tuple, '$1'}}];
        5 -> [{'=:=', {size, '$_'}, 3}];
        6 -> [{'and', {is_atom, '$1'}, true}];
        _ -> []
    end.

spec() ->
    Body = case rand:uniform(6) of
               1 -> ['$_'];
               2 -> [{{'$1', {{'$_'}}}}];
               3 -> [true];
               4 -> ['$$'];
               5 -> [[{'+', '$1', 1} | '$1']];
               6 -> [#{key => '$1', {node} => {const, {a, "b"}}}]
           end,
    Head = case rand:uniform(6) of
               1 -> {key(), '$1', '_'};
               2 -> {'_', '$1', '_'};
               3 -> {{rand:uniform(3), '$1'}, '_', '_'};
               4 -> '$1';
               _ -> {'$1', '_', '_'}
           end,
    case {rand:uniform(8), Body} of
        {1, _} -> [{{key(), '_', '$1'}, guard(), ['$1']}, {{key(), '$1', '_'}, [], ['$_']}];
        {2, _} -> [{Head, [{foo, 1}], Body}];
        {3, _} -> [{{'_', {rand:uniform(3), '$1'}, '_'}, [], Body}];
        {_, [#{} = _]} -> [{Head, guard(), ['$1']}];
        _ -> [{Head, guard(), Body}]
    end.

replacing() ->
    case rand:uniform(7) of
        1 -> [{{'$1', '$2', '$3'}, [{is_integer, '$3'}], [{{'$1', '$2', {'+', '$3', 1}}}]}];
        2 -> [{{'$1', '$2', '_'}, guard(), [{{'$1', '$2', "new"}}]}];
        3 -> [{{key(), '$1', '_'}, [], ['$_']}];
        4 -> [{{'$1', '$2', '_'}, [], [{{'$2', '$1', x}}]}];
        5 -> [{{'$1', '$2', '_'}, [{is_atom, '$1'}], [{{{element, 1, '$_'}, {element, 2, '$_'}, 7}}]}];
        6 -> [{{{rand:uniform(3), '$1'}, '$2', '_'}, [], [{{{{rand:uniform(3), '$1'}}, '$2', y}}]}];
        7 -> [{{1, {2, '$1'}, '_'}, [], [{{1, {const, {2, '$1'}}, z}}]}]
    end.

growth() ->
    T = new([]),
    [c(insert, [T, {I}]) || I <- lists:seq(1, 700)],
    c(walk, [T, first, next]),
    [c(slot, [T, I]) || I <- lists:seq(0, 30)],
    c(select, [T, [{{'$1'}, [{'<', '$1', 50}], ['$1']}]]),
    c(chunks, [select, T, [{{'$1'}, [], ['$1']}], 100]),
    c(info, [T, stats]),
    c(internal_select_delete, [T, [{{'$1'}, [{'>', '$1', 20}], [true]}]]),
    c(walk, [T, first, next]),
    U = new([]),
    %% (OTP's order of a long list depends on whether it is interrupted; short ones are inserted in one go.)
    [c(insert, [U, [{I + J} || J <- lists:seq(1, 100)]]) || I <- lists:seq(0, 8900, 100)],
    c(info, [U, stats]),
    c(internal_select_delete, [U, [{{'$1'}, [{'>', '$1', 300}], [true]}]]),
    c(walk, [U, first, next]),
    O = new([ordered_set]),
    c(insert, [O, [{{I rem 7, I}, I} || I <- lists:seq(1, 3000)]]),
    c(select, [O, [{{{3, '$1'}, '_'}, [], ['$1']}]]),
    c(select_reverse, [O, [{{{3, '$1'}, '_'}, [{'<', '$1', 300}], ['$1']}]]),
    c(chunks, [select, O, [{{{5, '$1'}, '_'}, [], ['$1']}], 100]),
    c(chunks, [select_reverse, O, [{{{5, '$1'}, '_'}, [], ['$1']}], 100]),
    c(select_count, [O, [{{{6, '_'}, '_'}, [], [true]}]]),
    c(internal_select_delete, [O, [{{{6, '_'}, '_'}, [], [true]}]]),
    c(info, [O, size]),
    c(internal_delete_all, [O, undefined]),
    c(info, [O, size]).

fixing() ->
    [begin
         T = new(Options),
         c(insert, [T, [{I, I} || I <- lists:seq(1, 300)]]),
         c(safe_fixtable, [T, true]),
         c(delete, [T, 16]),
         c(next, [T, 16]),
         [c(delete, [T, I]) || I <- lists:seq(50, 280)],
         [c(insert, [T, {I, again}]) || I <- lists:seq(100, 110)],
         [c(insert, [T, {I, new}]) || I <- lists:seq(1000, 1300)],
         c(walk, [T, first, next]),
         c(info, [T, size]),
         c(safe_fixtable, [T, true]),
         c(safe_fixtable, [T, false]),
         c(info, [T, fixed]),
         c(next, [T, 60]),
         c(internal_delete_all, [T, undefined]),
         c(next, [T, 60]),
         c(insert, [T, {60, x}]),
         c(safe_fixtable, [T, false]),
         c(info, [T, safe_fixed]),
         c(walk, [T, first, next]),
         c(next, [T, 61])
     end || Options <- [[], [bag], [ordered_set], [duplicate_bag]]].

specs() ->
    All = [[], foo, [foo], [{a, b}], [{a}], [{a, [], [], []}], [{'_', [], ['$_']} | foo], [{{a, '_'}, [], [1]} | bar],
         [{a, [], []}], [{a, [], ['$_']}], [{'_', [], ['$_']}], [{'$1', [], ['$1']}], [{'$1', foo, ['$1']}],
         [{'$1', [], foo}], [{'$1', [foo], ['$1']}], [{'$1', ['$2'], ['$1']}], [{'$1', ['$2', '$3'], ['$4']}],
         [{'$1', [{foo, 1}], ['$1']}], [{'$1', [{is_atom, 1, 2}], ['$1']}], [{'$1', [{is_atom, a}], ['$1']}],
         [{{'$1', '_', '_', '_', '_'}, [], ['$$']}], [{{'$2', '$1', '$2', '_', '_'}, [], ['$$']}],
         [{{'$2', '$1', '$5', '_', '_'}, [], ['$$']}], [{{'$2', '$1', '$5', '_', '_'}, [], [{{'$$'}}]}],
         [{'_', [], [{{x, {'+', a, 1}, {hd, {'+', a, 1}}}}]}], [{'_', [], [{x, y}]}], [{'_', [], [{{}}]}],
         [{'_', [], [{}]}], [{'_', [], [{a}]}], [{'_', [], [[a | b]]}], [{'_', [], [#{a => '$_'}]}],
         [{'_', [], [#{{const, a} => {const, {b}}}]}], [{{a, '_', '_', '_', #{k => '$1'}}, [], ['$1']}],
         [{{a, '_', '_', '_', #{'$1' => v}}, [], ['$1']}], [{{a, '_', '_', '_', #{'_' => v}}, [], [1]}],
         [{#{{'_'} => 1}, [], [1]}], [{{a, '_', '_', '_', #{j => '$1'}}, [], ['$1']}],
         [{{a, '_', '_', ['$1' | '$2'], #{}}, [], [{{'$1', '$2'}}]}], [{{a, 1, 2.0, [x], '$1'}, [], ['$1']}],
         [{{a, 1.0, '_', '_', '_'}, [], [1]}], [{{a, '_', 2, '_', '_'}, [], [1]}], [{{'_', '_', '_', [x], '_'}, [], [1]}],
         [{{'_', '_', '_', [y], '_'}, [], [1]}], [{{a, b}, [], [1]}, {'_', [], [2]}], [{[a | '_'], [], [1]}]] ++
        [[{'_', [G], [yes]}] ||
            G <- [{'or', true, foo}, {'orelse', true, foo}, {'orelse', foo, true}, {'andalso'}, {'and'}, {'and', true},
                  {'and', true, true, false}, {'andalso', true, true, false}, {andthen, true, true}, {'xor', true, true},
                  {'xor', true, true, true}, {self}, {is_seq_trace}, {is_record, '$_', a}, {is_record, '$_', a, 5},
                  {is_record, '$_', {const, a}, 5}, {silent, true}, '_', true, false, {'==', {'+', 1, a}, 'EXIT'},
                  {'=:=', 1, 1}, {'=:=', 1, 1.0}, {'==', 1, 1.0}, {{x}}, {const, true}, [], {is_tcw}, {'not', false},
                  {is_map, {element, 5, '$_'}}, {'=:=', {element, 1, '$_'}, a}, {'/=', a, b}, {'=/=', 1, 1.0},
                  {'>=', b, a}, {'=<', b, a}, {'<', 1, a}, {'orelse'}, {'or'}, {'orelse', {'andalso', true, false}, {'not', false}},
                  {is_function, {const, fun lists:map/2}}, {is_binary, <<1>>}, {is_pid, {self}}, {is_reference, 1},
                  {is_port, 1}, {is_list, []}, {is_number, 1}, {is_float, 1.5}, {is_integer, 1 bsl 80}]] ++
        [[{'_', [], [B]}] ||
            B <- [{'and', 1, 2}, {'orelse', 1, 2}, {'andalso', true, 2}, {'andalso', 2, true}, {'not', 1}, {node},
                  {node, {self}}, {message, 1}, {return_trace}, {get_tcw}, {caller}, {const, '$_'}, {const}, {const, 1, 2},
                  '$1', '$$', '_', {element, 2, '$_'}, {element, 9, '$_'}, {element, 5, '$_'},
                  {binary_part, {const, <<"abc">>}, 1, 1}, {binary_part, {const, <<"abc">>}, {{1, 1}}},
                  {binary_part, <<"abc">>, 3, -2}, {binary_part, <<"abc">>, 3, 2}, {'+', 1}, {'-', 1}, {max, 1, 2},
                  {is_function, 1, 2}, {float, 1}, {ceil, 1.5}, {floor, 1.5}, {tuple_size, '$_'}, {is_boolean, true},
                  {is_bitstring, true}, {is_constant, 1}, {size, '$_'}, {size, <<1, 2>>}, {'/', 1, 0}, {'/', 3, 2}, {'div', 7, 2},
                  {'rem', -7, 2}, {'band', 6, 3}, {'bor', 6, 3}, {'bxor', 6, 3}, {'bnot', 6}, {'bsl', 1, 70}, {'bsr', 256, 4},
                  {'*', 1 bsl 40, 1 bsl 40}, {'-', 1, 2.5}, {abs, -3}, {abs, -(1 bsl 70)}, {round, 2.5}, {trunc, -2.5},
                  {hd, [1, 2]}, {tl, [1, 2]}, {hd, []}, {length, [1, 2]}, {length, {const, [1 | 2]}},
                  {'++', [], []}, {setelement, 1, '$_', a}, {is_map_key, k, {const, #{k => 1}}}, {map_get, k, {const, #{k => 1}}},
                  {map_get, j, {const, #{k => 1}}}, {map_size, #{a => b}}, {bit_size, <<1:3>>}, {byte_size, <<1:3>>},
                  {self, 1}, {silent, true}, {{{{self}}, <<1>>, "ab"}}, {1}, {{a}, b}, {'$1'}, {'$1', 1}, {"a b", 1}, {foo, {bar}},
                  {set_seq_token, label, 1}, {get_seq_token}, {display, 1}, {set_tcw, 1}, {set_tcw_fake, 1}, {process_dump},
                  {exception_trace}, {enable_trace, x}, {trace, [], []}, {caller_line}, {message, 1, 2}, {get_tcw, 1},
                  {andthen}, {'orelse'}, {'or'}, {'orelse', 5}, {'or', 5}, #{a => 1}, '$0', [{'+', 1, 2}, {{a, {'+', 1, 2}}}],
                  {{{{'$_'}}, [{element, 4, '$_'} | {element, 4, '$_'}]}}, {element, 4, {{1, 2, 3, '$_'}}}, {hd, ['$_']},
                  {'andalso', true, {{'$_', 1}}}, {'orelse', false, {element, 4, '$_'}}, {map_get, a, #{a => '$_'}}]] ++
        [[{'_', [], ['$_', '$_']}], [{'_', [], [true, false]}], [{'_', [a | b], [1]}], [{'_', [], [1 | 2]}],
         [{'$0', [], ['$0']}], [{'$100000000', [], ['$100000000']}], [{'$99999999999', [], ['$99999999999']}],
         [{'$1000000000000', [], [1]}], [{'$01', [], ['$1']}], [{'$01', [], ['$01']}], [{'$', [], [1]}],
         [{'$1', ['$2'], ['$4']}, {'_', [{foo}], [1]}], [{'$1', ['$2'], foo}], [{'$1', [], [{const, 1, 2}, {foo, {bar}}]}]],
    Trace = [[{'_', [], B}] ||
                B <- [[{caller}], [{return_trace}, {exception_trace}], [{silent, true}], [{set_seq_token, label, 1}],
                      [{get_seq_token}], [{message, '$_'}], [{message, false}], [{process_dump}], [{enable_trace, send}],
                      [], [a], [{exception_trace}, {return_trace}, {message, {{a}}}], [{self}], [{message, 1}, {message, true}],
                      [{trace, [], [send]}], [{caller_line}], [{message}], [{return_trace, 1}], [{silent}], [{const, 1}]]] ++
        [[{['$1', '_'], [], []}], [{a, [], []}], [{['$1', '$2'], [{'==', '$1', a}], [{return_trace}, {message, '$2'}]}],
         [{'_', [{message, 1}], []}], [{[b, a], [], [true]}], [{['$1', '$2'], [{'==', '$3', a}], []}], [{'_', [false], []}],
         [{'_', [{is_seq_trace}], []}], [{'_', [{return_trace}], []}], [{{a, b}, [], []}], [{'$1', [], [{message, '$1'}]}]],
    [{{a, 1, 2.0, [x], #{k => v}}, table, All}, {[a, b], trace, Trace}, {foo, table, [[{'_', [], [1]}], [{foo, [], ['$_']}]]}].
