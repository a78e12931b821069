%% ETS: tables to and from files and DETS, what tools show of tables, specifications as programs make and keep them.
-module(table_files).
-export([main/0]).
-include_lib("stdlib/include/ms_transform.hrl").
-include_lib("stdlib/include/qlc.hrl").

main() ->
    D = t:tmp("ets_files"),
    F = fun(Name) -> filename:join(D, Name) end,
    t:each(round, [set, ordered_set, bag, duplicate_bag], fun(Type) -> round(F("round"), Type) end),
    t:each(options, [[], [{extended_info, [md5sum]}], [{extended_info, [object_count]}], [{extended_info, [object_count, md5sum]}, {sync, true}], [{sync, maybe}], [{extended_info, [size]}], x],
           fun(O) -> T = filled(set, 20), R = {ets:tab2file(T, F("opt"), O), extended(ets:tabfile_info(F("opt"))), [catch loaded(ets:file2tab(F("opt"), V)) || V <- [[], [{verify, true}], [{verify, false}], [{verify, x}]]]}, ets:delete(T), file:delete(F("opt")), R end),
    t:c(damaged, fun() -> damaged(F("damaged")) end),
    t:c(no_file, fun() -> {ets:file2tab(F("none")), ets:tabfile_info(F("none")), ets:tab2file(ets:new(t, []), F("no/dir")), catch ets:tab2file(none, F("x"))} end),
    t:c(not_a_table, fun() -> ok = file:write_file(F("text"), "no table"), {element(1, ets:file2tab(F("text"))), element(1, ets:tabfile_info(F("text")))} end),
    t:c(named, fun() -> T = ets:new(kept, [named_table, public, {keypos, 2}, compressed]), ets:insert(T, {1, a, <<"bin">>, 1.5, self()}), ok = ets:tab2file(T, F("named")), A = ets:file2tab(F("named")), ets:delete(T), {ok, kept} = ets:file2tab(F("named")), {A, info(kept), ets:lookup(kept, a), ets:delete(kept)} end),
    t:c(terms, fun() -> T = ets:new(t, []), L = [{1 bsl 200}, {-0.0}, {#{a => [b | c]}}, {<<5:3>>}, {fun lists:map/2}, {"text"}, {{}}, {binary:copy(<<7>>, 1000)}, {'ö'}], ets:insert(T, L), ok = ets:tab2file(T, F("terms")), {ok, U} = ets:file2tab(F("terms")), lists:sort(ets:tab2list(U)) =:= lists:sort(L) end),
    t:c(many, fun() -> T = filled(ordered_set, 20000), ok = ets:tab2file(T, F("many"), [{extended_info, [md5sum, object_count]}]), {ok, U} = ets:file2tab(F("many"), [{verify, true}]), {ets:info(U, size), ets:tab2list(T) =:= ets:tab2list(U)} end),
    t:c(while_changed, fun() -> changed_meanwhile(F("changed")) end),
    t:c(dets, fun() -> with_dets(F("dets")) end),
    t:c(init_table, fun() -> T = ets:new(t, [bag]), ets:insert(T, {old}), R = ets:init_table(T, reader([[{a, 1}, {a, 2}], [{b, 1}]])), {R, lists:sort(ets:tab2list(T)), failed(fun() -> ets:init_table(T, reader([[x]])) end)} end),
    t:each(test_ms, [[{{'$1', '$2'}, [{'>', '$1', 1}], ['$2']}], [{'$1', [], [{{'$1', '$_'}}]}], [{{'$1'}, [], ['$1']}], [{a, [], [{x}]}], x, []], fun(S) -> {ets:test_ms({2, b}, S), catch ets:test_ms(not_a_tuple, S)} end),
    t:c(fun2ms, fun() -> specs() end),
    t:c(match_spec_run, fun() -> M = ets:match_spec_compile([{{'$1', '$2'}, [{is_atom, '$1'}], [{{'$2', '$1'}}]}]), {ets:is_compiled_ms(M), ets:is_compiled_ms(x), ets:match_spec_run([{a, 1}, {2, b}, {c, 3}], M), failed(fun() -> ets:match_spec_run([a], x) end)} end),
    t:c(repair, fun() -> [repaired(Type) || Type <- [set, ordered_set, bag]] end),
    t:c(shown, fun shown/0),
    t:c(table, fun() -> T = filled(ordered_set, 10), {lists:sort(qlc:eval(qlc:q([V || {K, V} <- ets:table(T), K > 8]))), qlc:eval(ets:table(T, [{traverse, {select, ets:fun2ms(fun({I, _}) when I < 3 -> I end)}}])), qlc:eval(ets:table(T, [{traverse, last_prev}, {n_objects, 1}]))} end),
    t:each(memory, [set, ordered_set, bag, duplicate_bag], fun memory/1),
    t:c(memory_of_options, fun() -> [ets:info(ets:new(t, [public | O]), memory) || O <- [[], [{read_concurrency, true}], [{write_concurrency, true}], [{write_concurrency, auto}], [{write_concurrency, true}, {read_concurrency, true}], [ordered_set], [ordered_set, {read_concurrency, true}], [ordered_set, {write_concurrency, true}]]] end).

filled(Type, N) -> T = ets:new(t, [Type]), ets:insert(T, [{I, I * I} || I <- lists:seq(1, N)]), T.

info(T) -> [{K, ets:info(T, K)} || K <- [type, keypos, protection, named_table, name, compressed, size]].

loaded({ok, T}) -> R = {ok, lists:sort(ets:tab2list(T)) =/= [], ets:info(T, size)}, ets:delete(T), R;
loaded(Error) -> element(1, Error).

%% Without what differs between releases and runs.
extended({ok, I}) -> [{K, V} || {K, V} <- I, lists:member(K, [name, type, protection, named_table, keypos, size, extended_info])];
extended(Error) -> element(1, Error).

round(File, Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{I rem 10, I} || I <- lists:seq(1, 30)]),
    ok = ets:tab2file(T, File),
    {ok, U} = ets:file2tab(File),
    {lists:sort(ets:tab2list(T)) =:= lists:sort(ets:tab2list(U)), info(U), extended(ets:tabfile_info(File))}.

%% A byte in the middle is another, and the end is missing.
damaged(File) ->
    T = filled(set, 50),
    ok = ets:tab2file(T, File, [{extended_info, [md5sum, object_count]}]),
    {ok, B} = file:read_file(File),
    Try = fun(Bytes) -> ok = file:write_file(File, Bytes), [loaded(ets:file2tab(File, [{verify, V}])) || V <- [true, false]] end,
    Middle = byte_size(B) div 2,
    <<Before:Middle/binary, X, After/binary>> = B,
    {Try(B), hd(Try(<<Before/binary, (X bxor 1), After/binary>>)), Try(binary:part(B, 0, byte_size(B) - 40)), Try(<<>>)}.

%% Somebody writes while the table goes to a file: all that stands still arrives.
changed_meanwhile(File) ->
    T = ets:new(t, [public]),
    ets:insert(T, [{I, x} || I <- lists:seq(1, 5000)]),
    P = spawn(fun() -> churn(T, 0) end),
    ok = ets:tab2file(T, File),
    exit(P, kill),
    {ok, U} = ets:file2tab(File),
    [ets:member(U, I) || I <- lists:seq(1, 5000)] =:= lists:duplicate(5000, true).

churn(T, N) -> ets:insert(T, {{new, N rem 3000}, N}), ets:delete(T, {new, (N + 1500) rem 3000}), churn(T, N + 1).

with_dets(File) ->
    {ok, d} = dets:open_file(d, [{file, File}]),
    T = filled(ordered_set, 100),
    d = ets:to_dets(T, d),
    ets:delete_all_objects(T),
    R = {dets:info(d, size), ets:from_dets(T, d), ets:info(T, size), ets:last(T), dets:close(d)},
    {R, failed(fun() -> ets:to_dets(T, d) end), failed(fun() -> ets:from_dets(none, d) end)}.

failed(F) -> try F() catch C:R -> {C, R} end.

reader([]) -> fun(read) -> end_of_input; (close) -> ok end;
reader([L | Ls]) -> fun(read) -> {L, reader(Ls)}; (close) -> ok end.

specs() ->
    Bound = {x, 1},
    Ms = [ets:fun2ms(fun({K, V}) when K > 5, V =/= a -> {V, K} end),
          ets:fun2ms(fun({_, V} = O) when is_list(V) orelse V =:= Bound -> [O | V] end),
          ets:fun2ms(fun({M, K}) when is_map_key(K, M), map_get(K, M) > 1 -> #{got => K} end),
          ets:fun2ms(fun(X) -> X end),
          ets:fun2ms(fun({a, B}) -> object(); ({B, _}) when abs(B) + 1 =< 2 bsl 3 -> bindings() end)],
    T = ets:new(t, [bag]),
    ets:insert(T, [{6, b}, {6, a}, {1, "l"}, {2, {x, 1}}, {#{k => 2}, k}, {a, 1}]),
    [{M, lists:sort(ets:select(T, M))} || M <- Ms].

%% A continuation that went through the external format has lost its compiled specification.
repaired(Type) ->
    T = filled(Type, 50),
    Ms = [{{'$1', '_'}, [], ['$1']}],
    {L, C} = ets:select(T, Ms, 20),
    Away = binary_to_term(term_to_binary(setelement(case Type of ordered_set -> 5; _ -> 4 end, C, <<>>))),
    Bad = try ets:select(Away) catch error:E -> E end,
    Back = ets:repair_continuation(Away, Ms),
    {M, _} = ets:select(Back),
    Same = ets:repair_continuation(C, Ms) =:= C,
    {Type, length(L), Bad, length(M), lists:sort(L) =/= lists:sort(M), Same, ets:repair_continuation('$end_of_table', Ms)}.

%% The line of a table in `ets:i/0`, and `ets:i/1` answered with "q".
shown() ->
    T = ets:new(shown_table, [ordered_set, named_table, public]),
    ets:insert(T, [{I, x} || I <- lists:seq(1, 30)]),
    Self = self(),
    Catcher = spawn_link(fun() -> catcher(Self, []) end),
    Old = group_leader(),
    group_leader(Catcher, self()),
    ets:i(),
    ets:i(shown_table),
    group_leader(Old, self()),
    Catcher ! stop,
    Text = receive {text, L} -> lists:flatten(L) end,
    Line = [string:lexemes(X, " ") || X <- string:lexemes(Text, "\n"), string:find(X, "shown_table") =/= nomatch],
    Rows = [X || X <- string:lexemes(Text, "\n"), lists:prefix("<", X)],
    {[lists:sublist(X, 5) || X <- Line], lists:sublist(Rows, 3), length(Rows)}.

catcher(To, Text) ->
    receive
        {io_request, From, R, Request} ->
            {Reply, More} = request(Request),
            From ! {io_reply, R, Reply},
            catcher(To, [Text | More]);
        stop -> To ! {text, Text}
    end.

request({put_chars, _, Chars}) -> {ok, unicode:characters_to_list(Chars)};
request({put_chars, _, M, F, A}) -> {ok, unicode:characters_to_list(apply(M, F, A))};
request({requests, L}) -> {ok, [element(2, request(R)) || R <- L]};
request({get_line, _, _}) -> {"q\n", ""};
request({get_until, _, _, _, _, _}) -> {{ok, q, 1}, ""};
request(getopts) -> {[], ""};
request(_) -> {{error, request}, ""}.

%% Words of tables and of rows, as `ets:info/2` says.
memory(Type) ->
    Words = fun(N) ->
        T = ets:new(t, [Type]),
        Empty = ets:info(T, memory),
        ets:insert(T, [{I} || I <- lists:seq(1, N)]),
        Full = ets:info(T, memory),
        [ets:delete(T, I) || I <- lists:seq(1, N - N div 10)],
        R = {Empty, Full, ets:info(T, memory)},
        ets:delete(T),
        R
    end,
    Row = fun(Object) -> T = ets:new(t, [Type]), M = ets:info(T, memory), ets:insert(T, Object), ets:info(T, memory) - M end,
    {[Words(N) || N <- [10, 256, 257, 2305, 10000]], [Row(O) || O <- [{1}, {1, 2}, {a, b}, {1, []}, {1, "abc"}, {1, {a, b, c}}, {1, <<"abc">>}, {1, 1 bsl 100}, {1, self()}, {{a, 1}, 2}, {<<"key">>, [<<"val">>]}, {1, [a | b]}]]}.
