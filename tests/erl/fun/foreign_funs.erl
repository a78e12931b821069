%% Funs and identifiers in the external term format, of whom something is not as their module or this node has it.
-module(foreign_funs).
-export([main/0, funs/0]).
-import(t, [c/2, id/1]).

funs() ->
    [A, B] = id([a, b]),
    [fun(X) -> {X} end, fun(X) -> {A, X} end, fun(X, Y) -> [A, B, X, Y] end].

main() ->
    [c([atom_to_list(Name), " ", integer_to_list(N)], fun() -> try binary_to_term(bytes(Change(fields(F)))) of G -> like(F, G) catch error:badarg -> badarg end end)
     || {N, F} <- lists:zip([1, 2, 3], funs()), {Name, Change} <- changes()],
    c(safe, fun() -> [try binary_to_term(bytes(Change(fields(hd(funs())))), [safe]) of _ -> Name catch error:badarg -> {not_safe, Name} end || {Name, Change} <- changes()] end),
    c(sorted, fun() -> order(id(hd(funs()))) end),
    exports(), identifiers().

%% What a fun is written as. The old numbers and what else stands as terms can be given as bytes.
fields(F) ->
    maps:from_list([{Item, item(F, Item)} || Item <- [arity, new_uniq, new_index, module, index, uniq, pid, env]]).

item(F, Item) -> {Item, Value} = erlang:fun_info(F, Item), Value.

bytes(#{arity := Arity, new_uniq := Uniq, new_index := Index, module := Module, index := Old, uniq := OldUniq, pid := Pid, env := Env} = Fields) ->
    Body = iolist_to_binary([Arity, Uniq, <<Index:32, (maps:get(free, Fields, length(Env))):32>>, [term(T) || T <- [Module, Old, OldUniq, Pid | Env]]]),
    <<131, 112, (maps:get(size, Fields, byte_size(Body) + 4)):32, Body/binary>>.

term({bytes, Bytes}) -> Bytes;
term(Term) -> <<131, Bytes/binary>> = term_to_binary(Term), Bytes.

changes() ->
    Set = fun(Item, Value) -> fun(Fields) -> Fields#{Item => Value} end end,
    Add = fun(Item, More) -> fun(Fields) -> Fields#{Item => map_get(Item, Fields) + More} end end,
    Form = fun(Item, Make) -> fun(Fields) -> Fields#{Item => {bytes, Make(map_get(Item, Fields))}} end end,
    [{unchanged, fun(Fields) -> Fields end}, {another_uniq, Set(new_uniq, <<1:128>>)}, {another_index, Set(new_index, 77)}, {negative_index, Set(new_index, -1)},
     {another_module, Set(module, lists)}, {no_module, Set(module, no_such_module)}, {module_1, Set(module, 1)}, {module_nil, Set(module, [])},
     {another_old_index, Set(index, 77)}, {another_old_uniq, Set(uniq, 77)}, {negative_old_uniq, Set(uniq, -5)}, {both_uniqs, fun(Fields) -> Fields#{uniq => 77, new_uniq => <<1:128>>} end},
     {arity_more, Add(arity, 1)}, {arity_0, Set(arity, 0)}, {arity_255, Set(arity, 255)},
     {another_pid, Set(pid, list_to_pid("<0.1.0>"))}, {pid_of_another_node, Set(pid, {bytes, <<88, 119, 3, "a@b", 1:32, 2:32, 3:32>>})}, {pid_an_atom, Set(pid, foo)}, {pid_a_list, Set(pid, [a, b])},
     {free_256, fun(Fields) -> Fields#{env => lists:duplicate(256, x)} end}, {free_missing, fun(Fields) -> Fields#{free => 200} end},
     {free_max, Set(free, 16#ffffffff)}, {size_0, Set(size, 0)}, {size_max, Set(size, 16#ffffffff)}] ++
    [{list_to_atom(atom_to_list(Item) ++ "_" ++ atom_to_list(Name)), Form(Item, Make)}
     || Item <- [index, uniq], {Name, Make} <- [
        {integer, fun(N) -> <<98, N:32>> end}, {big, fun(N) -> <<110, 4, 0, N:32/little>> end}, {big9, fun(N) -> <<110, 9, 0, N:72/little>> end},
        {large_big, fun(N) -> <<111, 6:32, 0, N:48/little>> end}, {big_0, fun(_) -> <<110, 0, 0>> end}, {big_negative, fun(N) -> <<110, 4, 1, N:32/little>> end},
        {more_bits, fun(N) -> <<110, 5, 0, (N + (1 bsl 32)):40/little>> end}, {most_bits, fun(N) -> <<110, 8, 0, (N + (1 bsl 58)):64/little>> end},
        {too_many_bits, fun(N) -> <<110, 8, 0, (N + (1 bsl 59)):64/little>> end}, {least, fun(_) -> <<110, 8, 1, (1 bsl 59):64/little>> end},
        {less, fun(_) -> <<110, 8, 1, ((1 bsl 59) + 1):64/little>> end}, {an_atom, fun(_) -> <<119, 1, "a">> end}, {nil, fun(_) -> <<106>> end}, {float, fun(_) -> <<70, 1.0/float>> end}]].

%% How one compares with the true one, and what calling it comes to.
like(F, G) ->
    Hashes = [Hash(F) =:= Hash(G) || Hash <- [fun(X) -> erlang:phash2(X, 1 bsl 32) end, fun(X) -> Old = id(phash), erlang:Old(X, 1 bsl 32) end, fun(X) -> maps:is_key(X, #{F => 1}) end]],
    Items = [{Item, item(F, Item) =:= item(G, Item)} || Item <- [index, uniq, new_index, new_uniq, arity, name, module, env]],
    Again = case is_pid(item(G, pid)) of true -> binary_to_term(term_to_binary(G)) =:= G; false -> unknown end,
    {{equal, F =:= G, F == G}, {hashes, Hashes}, [Item || {Item, false} <- Items], [is_function(G, N) || N <- [0, 1, 2, 255]],
     [called(G, lists:seq(1, N)) || N <- [0, 1, 2]], Again}.

called(F, Args) -> try call(F, Args) of {value, Value} -> Value catch error:{Reason, _} -> Reason; error:Reason -> Reason end.

call(F, []) -> {value, F()};
call(F, [A]) -> {value, F(A)};
call(F, [A, B]) -> {value, F(A, B)}.

order(F) ->
    Fields = fields(F),
    Others = [binary_to_term(bytes(Fields#{new_index => I, uniq => U, module => M})) || M <- [aa, zz], I <- [3, -1, 0], U <- [9, -9]],
    [{item(G, module), item(G, new_index), item(G, uniq)} || G <- lists:sort(Others)].

exports() ->
    Export = fun(Arity) -> <<131, 113, 119, 5, "lists", 119, 7, "reverse", Arity/binary>> end,
    t:each(export, [<<97, 2>>, <<98, 2:32>>, <<110, 1, 0, 2>>, <<110, 9, 0, 2:72/little>>, <<111, 1:32, 0, 2>>, <<97, 255>>, <<98, -1:32>>, <<110, 1, 1, 2>>, <<119, 1, "a">>, <<106>>, <<>>],
           fun(Arity) -> binary_to_term(Export(Arity)) end),
    c(export_safe, fun() -> binary_to_term(Export(<<97, 2>>), [safe]) end),
    c(export_unsafe, fun() -> binary_to_term(<<131, 113, 119, 5, "lists", 119, 8, "foldlmap", 97, 2>>, [safe]) end).

%% Numbers that identifiers of this node do not have, and how many a reference has.
identifiers() ->
    Here = <<119, (byte_size(atom_to_binary(node()))), (atom_to_binary(node()))/binary>>,
    There = <<119, 3, "a@b">>,
    Read = fun(Bytes) -> T = binary_to_term(<<131, Bytes/binary>>), node(T) =:= node() end,
    [begin
        t:each([Where, " pid"], [{1, 0}, {32767, 8191}, {32768, 0}, {1, 8192}, {16#ffffffff, 0}, {1, 16#ffffffff}], fun({Number, Serial}) -> {Read(<<88, Node/binary, Number:32, Serial:32, 0:32>>), Read(<<103, Node/binary, Number:32, Serial:32, 0:8>>)} end),
        t:each([Where, " port"], [0, (1 bsl 28) - 1, 1 bsl 28, 16#ffffffff, 1 bsl 60], fun(Number) -> {Read(<<120, Node/binary, Number:64, 0:32>>), catch Read(<<89, Node/binary, Number:32, 0:32>>), catch Read(<<102, Node/binary, Number:32, 0:8>>)} end),
        t:each([Where, " creation"], [0, 3, 4, 255], fun(Creation) -> {Read(<<88, Node/binary, 1:32, 1:32, Creation:32>>), Read(<<103, Node/binary, 1:32, 1:32, Creation:8>>)} end),
        t:each([Where, " reference"], [{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {3, (1 bsl 18) - 1}, {3, 1 bsl 18}],
               fun({Count, First}) -> Rest = binary:copy(<<7:32>>, Count - 1), {Read(<<90, Count:16, Node/binary, 0:32, First:32, Rest/binary>>), catch Read(<<114, Count:16, Node/binary, 0:8, First:32, Rest/binary>>)} end)
     end || {Where, Node} <- [{"own", Here}, {"another's", There}]].
