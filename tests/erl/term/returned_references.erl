%% References that were bytes or text meanwhile stand for what they stood for: by each way, of each kind.
-module(returned_references).
-export([main/0]).
-import(t, [c/2]).

main() ->
    process_flag(trap_exit, true),
    [kinds(Name, Way) || {Name, Way} <- ways()],
    files(), names(), gone(), messages(), kept_by_nothing().

%% What makes another of a term, which stays until that is done.
ways() ->
    [{Name, fun(T) -> Other = Way(T), t:id(T), Other end} || {Name, Way} <- bare_ways()].

bare_ways() ->
    [{bytes, fun(T) -> binary_to_term(term_to_binary(T)) end},
     {safe, fun(T) -> binary_to_term(term_to_binary(T), [safe]) end},
     {compressed, fun(T) -> [T | _] = L = binary_to_term(term_to_binary(lists:duplicate(100, T), [compressed])), lists:last(L) end},
     {iovec, fun(T) -> binary_to_term(iolist_to_binary(term_to_iovec(T))) end},
     {file, fun(T) ->
         Name = file_name(), ok = file:write_file(Name, term_to_binary(T)), {ok, Bytes} = file:read_file(Name), binary_to_term(Bytes)
     end},
     {port, fun(T) ->
         Port = open_port({spawn, "cat"}, [{packet, 4}, binary]), port_command(Port, term_to_binary(T)),
         receive {Port, {data, Bytes}} -> port_close(Port), receive {'EXIT', Port, _} -> binary_to_term(Bytes) end end
     end},
     {text, fun(T) -> text(T, fun erlang:ref_to_list/1) end},
     {written, fun(T) -> text(T, fun(R) -> lists:flatten(io_lib:format("~w", [R])) end) end},
     {printed, fun(T) -> text(T, fun(R) -> lists:flatten(io_lib:format("~0p", [R])) end) end}].

file_name() -> filename:join(t:tmp("returned"), "file").

%% All references in a term.
text(R, F) when is_reference(R) -> list_to_ref(F(R));
text(T, F) when is_tuple(T) -> list_to_tuple(text(tuple_to_list(T), F));
text([H | T], F) -> [text(H, F) | text(T, F)];
text(M, F) when is_map(M) -> maps:map(fun(_, V) -> text(V, F) end, M);
text(T, _) -> T.

kinds(Name, Way) ->
    C = fun(What, F) -> c([atom_to_list(Name), " ", What], F) end,
    C("alias", fun() -> A = alias(), B = Way(A), B ! hi, {A =:= B, got()} end),
    C("alias, one reply", fun() -> B = Way(alias([reply])), B ! one, B ! two, {got(), got()} end),
    C("alias, sent by erlang:send/3", fun() -> B = Way(alias()), erlang:send(B, hi, [noconnect]), got() end),
    C("alias, from another", fun() -> B = Way(alias()), spawn(fun() -> Way(B) ! hi end), got() end),
    C("unalias", fun() -> A = alias(), B = Way(A), U = unalias(B), A ! hi, B ! hi, {U, unalias(A), got()} end),
    C("monitor with alias", fun() ->
        {P, M} = waiting([{alias, explicit_unalias}]), Way(M) ! hi, Got = got(), P ! stop,
        receive {'DOWN', M, _, _, normal} -> Way(M) ! still, {Got, got(), unalias(M)} end
    end),
    C("monitor with alias, one reply", fun() ->
        {_, M} = waiting([{alias, reply_demonitor}]), Way(M) ! hi, {got(), demonitor(Way(M), [info])}
    end),
    C("demonitor", fun() -> {_, M} = waiting([]), {demonitor(Way(M), [info]), demonitor(M, [info])} end),
    C("timers", fun() ->
        T = erlang:start_timer(100000, self(), x), S = erlang:send_after(100000, self(), x),
        {erlang:read_timer(Way(T)) > 90000, is_integer(erlang:cancel_timer(Way(T))), is_integer(erlang:cancel_timer(Way(S))), erlang:cancel_timer(T)}
    end),
    C("atomics", fun() -> A = atomics:new(2, []), atomics:put(Way(A), 2, 7), {atomics:get(A, 2), atomics:add_get(Way(A), 2, 1), atomics:info(Way(A)) =:= atomics:info(A)} end),
    C("counters", fun() ->
        [begin N = counters:new(1, O), counters:add(Way(N), 1, 3), {counters:get(N, 1), counters:get(Way(N), 1)} end || O <- [[], [atomics], [write_concurrency]]]
    end),
    C("table", fun() ->
        T = ets:new(t, []), true = ets:insert(Way(T), {a, 1}), Answer = {ets:lookup(T, a), ets:info(Way(T), size), Way(T) =:= T},
        U = Way(T), ets:delete(U), {Answer, ets:info(U), ets:info(T), catch ets:insert(U, {a})}
    end),
    C("named table", fun() ->
        T = ets:new(named, [named_table]), true = ets:insert(Way(ets:whereis(T)), {a, 1}), L = ets:tab2list(T), ets:delete(Way(ets:whereis(T))), L
    end),
    C("continuation of a table", fun() ->
        [begin
            T = ets:new(t, [K]), ets:insert(T, [{I, I} || I <- lists:seq(1, 10)]), rest(Way, ets:select(T, [{{'$1', '_'}, [], ['$1']}], 3))
         end || K <- [set, ordered_set, duplicate_bag]]
    end),
    C("specification", fun() ->
        M = ets:match_spec_compile([{{'$1'}, [], ['$1']}]), {ets:match_spec_run([{1}, {2}], Way(M)), ets:is_compiled_ms(Way(M))}
    end),
    C("patterns", fun() ->
        [binary:matches(<<"abcab">>, Way(binary:compile_pattern(P))) || P <- [<<"ab">>, [<<"a">>, <<"c">>]]]
    end),
    C("regular expression", fun() -> {ok, R} = re:compile("b+"), re:run("abbc", Way(R)) end),
    C("zlib", fun() -> Z = zlib:open(), ok = zlib:deflateInit(Way(Z)), D = zlib:deflate(Way(Z), "abc", finish), zlib:close(Way(Z)), zlib:uncompress(iolist_to_binary(D)) end),
    C("raw file with a buffer", fun() ->
        {ok, F} = file:open(file_name(), [read, write, raw, {delayed_write, 100, 100}, read_ahead, binary]), file:close(Way(F))
    end),
    C("code", fun() ->
        {ok, x, Code} = compile:forms([{attribute, 1, module, x}, {attribute, 1, export, [{f, 0}]}, {function, 1, f, 0, [{clause, 1, [], [], [{atom, 1, loaded}]}]}]),
        P = erts_internal:prepare_loading(x, Code), ok = erlang:finish_loading([Way(P)]), R = x:f(),
        code:purge(x), code:delete(x), code:purge(x), {R, catch erlang:finish_loading([P])}
    end).

%% (OTP's list_to_ref/1 takes no reference that was made on a dirty scheduler, as a file's is.)
files() ->
    [c([atom_to_list(Name), " raw file"], fun() ->
        {ok, F} = file:open(file_name(), [read, write, raw]), ok = file:write(Way(F), "abc"), file:position(Way(F), 0), R = file:read(F, 9), {R, file:close(Way(F)), file:read(F, 1)}
     end) || {Name, Way} <- ways(), not lists:member(Name, [text, written, printed])].

rest(_, '$end_of_table') -> [];
rest(_, {L, '$end_of_table'}) -> length(L);
rest(Way, {L, Next}) -> [length(L) | rest(Way, ets:select(Way(Next)))].

waiting(Options) ->
    P = spawn(fun() -> receive stop -> ok end end),
    {P, monitor(process, P, Options)}.

got() -> receive M -> M after 30 -> none end.

%% The reference of a message about what has an alias is that alias.
messages() ->
    c("'DOWN'", fun() -> {P, M} = waiting([{alias, explicit_unalias}]), P ! stop, receive {'DOWN', R, _, _, _} -> R ! hi, {R =:= M, got()} end end),
    c("spawn_reply", fun() ->
        M = spawn_request(fun() -> ok end, [{monitor, [{alias, explicit_unalias}]}]),
        receive {spawn_reply, R, ok, _} -> R ! hi, receive {'DOWN', M, _, _, _} -> {R =:= M, got()} end end
    end),
    c("spawn_opt", fun() ->
        {P, M} = spawn_opt(fun() -> receive stop -> ok end end, [{monitor, [{alias, demonitor}]}]),
        binary_to_term(term_to_binary(M)) ! hi, Got = got(), P ! stop, receive {'DOWN', R, _, _, _} -> R ! hi, {Got, got()} end
    end).

%% Forms of a reference that name this node otherwise.
names() ->
    A = alias(),
    <<131, 90, 3:16, Rest/binary>> = term_to_binary(A),
    {Node, <<_:32, Numbers/binary>>} = split(Rest),
    [c(["creation ", integer_to_list(Creation)], fun() -> binary_to_term(<<131, Tag, 3:16, Node/binary, Creation:Size, Numbers/binary>>) ! hi, got() end)
     || {Tag, Size, Creation} <- [{90, 32, 0}, {114, 8, 0}]],
    <<_:32, Others/binary>> = Numbers,
    c("other numbers", fun() -> binary_to_term(<<131, 90, 3:16, Node/binary, 0:32, 77:32, Others/binary>>) ! hi, got() end),
    c("fewer numbers", fun() -> binary_to_term(<<131, 90, 2:16, Node/binary, 0:32, (binary:part(Numbers, 0, 8))/binary>>) ! hi, got() end),
    unalias(A).

split(<<Tag, L, Text:L/binary, Rest/binary>>) when Tag =:= 115; Tag =:= 119 -> {<<Tag, L, Text/binary>>, Rest};
split(<<Tag, L:16, Text:L/binary, Rest/binary>>) when Tag =:= 100; Tag =:= 118 -> {<<Tag, L:16, Text/binary>>, Rest}.

%% What nobody refers to any more is gone, and what has ended is no more.
gone() ->
    Self = self(),
    Bytes = fun(Make) -> M = monitor(process, spawn(fun() -> Self ! term_to_binary(Make()) end)), receive {'DOWN', M, _, _, _} -> receive B -> B end end end,
    Gone = [{"atomics", fun() -> atomics:new(1, []) end, fun(R) -> atomics:get(R, 1) end},
            {"counters", fun() -> counters:new(1, [write_concurrency]) end, fun(R) -> counters:get(R, 1) end},
            {"table", fun() -> ets:new(t, [public]) end, fun(R) -> ets:insert(R, {1}) end},
            {"table's facts", fun() -> ets:new(t, []) end, fun ets:info/1},
            {"specification", fun() -> ets:match_spec_compile([{'_', [], [1]}]) end, fun(R) -> ets:match_spec_run([1], R) end},
            {"patterns", fun() -> binary:compile_pattern(<<"a">>) end, fun(R) -> binary:match(<<"a">>, R) end},
            {"zlib", fun zlib:open/0, fun zlib:deflateInit/1},
            {"alias", fun erlang:alias/0, fun(R) -> R ! hi end},
            {"timer", fun() -> erlang:start_timer(10000, self(), x) end, fun erlang:cancel_timer/1},
            {"file", fun() -> {ok, F} = file:open(file_name(), [write, raw]), F end, fun(F) -> file:write(F, "a") end}],
    [begin B = Bytes(Make), erlang:garbage_collect(), timer:sleep(20), c([Name, " that is gone"], fun() -> Use(binary_to_term(B)) end) end || {Name, Make, Use} <- Gone].

%% Bytes alone keep nothing; a reference made from them does.
kept_by_nothing() ->
    c("held by what was read", fun() ->
        Self = self(),
        P = spawn(fun() -> A = atomics:new(1, []), atomics:put(A, 1, 5), Self ! term_to_binary(A), receive stop -> atomics:get(A, 1) end end),
        Bytes = receive B -> B end, Read = binary_to_term(Bytes), M = monitor(process, P), P ! stop, receive {'DOWN', M, _, _, _} -> ok end,
        [atomics:get(Read, 1), atomics:get(binary_to_term(Bytes), 1)]
    end).
