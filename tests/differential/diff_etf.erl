%% External terms that are not quite right, and what becomes of them.
%%
%% A term is written from the format's grammar, tag by tag, where now and then a field is wrong; then bytes of it may be changed,
%% cut, repeated or moved. What is read is shown field by field, as no printing of the VM's own would, with its hashes and what is
%% written of it.
-module(diff_etf).
-export([read/1, drawn/0, local_funs/0]).
-import(diff_terms, [n/1, pick/1, many/2, chance/1]).

%% ---- Reading

read({Bytes, Options}) ->
    known(),
    put(safe, lists:member(safe, Options)),
    case is_left_out(inflated(Bytes)) of
        true -> left_out;
        false -> try read_term(Bytes, Options) after make_atoms(inflated(Bytes)) end
    end.

inflated(<<131, 80, _:32, Packed/binary>>) -> try zlib:uncompress(Packed) of Body -> <<131, Body/binary>> catch _:_ -> <<>> end;
inflated(Bytes) -> Bytes.

%% What the option `safe` lets through is a matter of what atoms and exports there are. Of a term that is refused, one VM may have made some and the
%% other none: so those of the generator are made at first, and afterwards all that it may hold, at whatever byte.
-define(FUNCTIONS, [{erlang, abs}, {erlang, is_atom}, {erlang, '+'}, {lists, reverse}, {no_such_module, f}]).

known() ->
    case persistent_term:get(?MODULE, []) of
        [] ->
            Atoms = ['x@y.z', 'å@b', nohost, '@', 'a@', '@b', 'a@b', 'other@host', 'nonode@nohost' | [binary_to_atom(<<C/utf8>>) || C <- lists:seq(0, 2047)]],
            persistent_term:put(?MODULE, {Atoms, [erlang:make_fun(M, F, A) || {M, F} <- ?FUNCTIONS, A <- lists:seq(0, 255)]}),
            {ok, M, Code} = compile:forms([{attribute, 1, module, diff_etf_loaded}]),
            {module, M} = code:load_binary(M, "", Code);
        _ -> ok
    end.

make_atoms(<<T, L, Text:L/binary, _/binary>> = Bytes) when T =:= 115; T =:= 119 -> make_atom(T, Text), next_atom(Bytes);
make_atoms(<<T, L:16, Text:L/binary, _/binary>> = Bytes) when T =:= 100; T =:= 118 -> make_atom(T, Text), next_atom(Bytes);
make_atoms(<<_, _/binary>> = Bytes) -> next_atom(Bytes);
make_atoms(<<>>) -> ok.

next_atom(<<_, Rest/binary>>) -> make_atoms(Rest).

make_atom(T, Text) -> catch binary_to_atom(Text, if T =:= 115; T =:= 100 -> latin1; true -> utf8 end).

%% What is not compared: where OTP reads past the end of what is there (a float whose text does not end within its 31 bytes; references of no
%% numbers, of which some end it with a memory fault), the tags by which its compressed tables name things within the VM, and
%% `fun M:F/A` of more than 255 arguments (docs/differences.md).
is_left_out(<<131, Body/binary>>) -> (catch walk(1, Body)) =/= false;
is_left_out(_) -> false.

walk(0, _) -> false;
walk(N, <<97, _, R/binary>>) -> walk(N - 1, R);
walk(N, <<98, _:32, R/binary>>) -> walk(N - 1, R);
walk(N, <<70, _:64, R/binary>>) -> walk(N - 1, R);
walk(N, <<99, Text:31/binary, R/binary>>) -> binary:match(Text, <<0>>) =:= nomatch orelse binary:match(Text, <<$,>>) =/= nomatch orelse walk(N - 1, R);
walk(N, <<106, R/binary>>) -> walk(N - 1, R);
walk(N, <<107, L:16, _:L/binary, R/binary>>) -> walk(N - 1, R);
walk(N, <<109, L:32, _:L/binary, R/binary>>) -> walk(N - 1, R);
walk(N, <<77, L:32, _, _:L/binary, R/binary>>) -> walk(N - 1, R);
walk(N, <<110, L, _, _:L/binary, R/binary>>) -> walk(N - 1, R);
walk(N, <<111, L:32, _, _:L/binary, R/binary>>) -> walk(N - 1, R);
walk(N, <<T, L:16, _:L/binary, R/binary>>) when T =:= 100; T =:= 118 -> walk(N - 1, R);
walk(N, <<T, L, _:L/binary, R/binary>>) when T =:= 115; T =:= 119 -> walk(N - 1, R);
walk(N, <<104, A, R/binary>>) -> walk(N - 1 + A, R);
walk(N, <<105, A:32, R/binary>>) -> walk(N - 1 + A, R);
walk(N, <<108, A:32, R/binary>>) -> walk(N + A, R);
walk(N, <<116, A:32, R/binary>>) -> walk(N - 1 + 2 * A, R);
walk(N, <<112, _:32, _, _:16/binary, _:32, F:32, R/binary>>) -> walk(N + 3 + F, R);
walk(N, <<113, R/binary>>) -> is_odd_export(R, named(named(R))) orelse walk(N + 2, R);
walk(N, <<88, R/binary>>) -> walk(N - 1, skip(12, named(R)));
walk(N, <<103, R/binary>>) -> walk(N - 1, skip(9, named(R)));
walk(N, <<89, R/binary>>) -> walk(N - 1, skip(8, named(R)));
walk(N, <<102, R/binary>>) -> walk(N - 1, skip(5, named(R)));
walk(N, <<120, R/binary>>) -> walk(N - 1, skip(12, named(R)));
walk(N, <<101, R/binary>>) -> walk(N - 1, skip(5, named(R)));
walk(N, <<90, L:16, R/binary>>) -> L =:= 0 orelse walk(N - 1, skip(4 + 4 * L, named(R)));
walk(N, <<114, L:16, R/binary>>) -> L =:= 0 orelse walk(N - 1, skip(1 + 4 * L, named(R)));
walk(_, <<T, _/binary>>) -> lists:member(T, [73, 74, 75, 76, 78]);
walk(_, _) -> false.

name_at(<<T, L:16, Text:L/binary, _/binary>>) when T =:= 100; T =:= 118 -> Text;
name_at(<<_, L, Text:L/binary, _/binary>>) -> Text.

named(<<T, L:16, _:L/binary, R/binary>>) when T =:= 100; T =:= 118 -> R;
named(<<T, L, _:L/binary, R/binary>>) when T =:= 115; T =:= 119 -> R;
named(<<T, _/binary>>) when T =:= 73; T =:= 75 -> throw(left_out);
named(_) -> none.

skip(L, Bytes) when is_binary(Bytes) -> case Bytes of <<_:L/binary, R/binary>> -> R; _ -> none end;
skip(_, none) -> none.

%% With `safe`, OTP takes only exports that were there when code was loaded last.
is_odd_export(_, none) -> false;
is_odd_export(Bytes, Arity) ->
    {M, F} = {name_at(Bytes), name_at(named(Bytes))},
    get(safe) andalso not lists:any(fun({KM, KF}) -> {atom_to_binary(KM), atom_to_binary(KF)} =:= {M, F} end, ?FUNCTIONS) orelse wide_arity(Arity).

wide_arity(<<98, N:32/signed, _/binary>>) -> N > 255;
wide_arity(<<110, L, 0, N:L/unit:8-little, _/binary>>) -> N > 255;
wide_arity(<<111, L:32, 0, N:L/unit:8-little, _/binary>>) -> N > 255;
wide_arity(_) -> false.

read_term(Bytes, Options) ->
    Term = case binary_to_term(Bytes, Options) of
        {T, Used} when is_integer(Used) -> case lists:member(used, Options) of true -> {T, Used}; false -> {T, Used} end;
        T -> T
    end,
    {show(Term), erlang:phash2(Term), erlang:phash2(Term, 1 bsl 32), phash(Term), like_ours(Term),
     case has(fun is_made_by_nobody/1, Term) of true -> none; false -> again(Term) end}.

%% What is written of it, and whether that is the same. OTP takes any term for the creator of a fun, and ends with a memory fault when it
%% is to write one that is no pid.
again(Term) ->
    Again = binary_to_term(term_to_binary(Term)),
    %% (As keys of large maps, OTP hashes bits behind the numbers of other nodes' references.)
    {written(Term), show(Again) =:= show(Term), has(fun is_large_map/1, Term) orelse Again =:= Term}.

is_made_by_nobody(F) when is_function(F) -> case erlang:fun_info(F, pid) of {pid, P} when is_pid(P) -> false; {pid, undefined} -> false; _ -> true end;
is_made_by_nobody(_) -> false.

phash(Term) -> F = phash, erlang:F(Term, 1 bsl 32).

%% Large maps are written in an order of each VM's own.
written(Term) ->
    Forms = [term_to_binary(Term, [{minor_version, V}]) || V <- [0, 1, 2]],
    Sizes = [[byte_size(B) || B <- Forms], iolist_size(term_to_iovec(Term)), erlang:external_size(Term), erlang:external_size(Term, [{minor_version, 0}])],
    case has(fun is_large_map/1, Term) of
        true -> Sizes;
        false -> {Sizes, Forms, iolist_to_binary(term_to_iovec(Term)) =:= term_to_binary(Term), term_to_binary(Term, [compressed])}
    end.

is_large_map(M) -> is_map(M) andalso map_size(M) > 32.

has(Is, T) -> Is(T) orelse within(Is, T).
within(Is, [H | T]) -> has(Is, H) orelse has(Is, T);
within(Is, T) when is_tuple(T) -> within(Is, tuple_to_list(T));
within(Is, M) when is_map(M) -> within(Is, maps:to_list(M));
within(Is, F) when is_function(F) -> within(Is, fun_info(F, env));
within(_, _) -> false.

%% Is it one of the funs of this module, and how do they compare?
like_ours(F) when is_function(F) -> [{F =:= G, F == G, is_function(F, 1)} || G <- local_funs()];
like_ours(_) -> [].

show(A) when is_atom(A) -> {atom, atom_to_list(A)};
show(F) when is_float(F) -> {float, <<F/float>>};
show(I) when is_integer(I) -> I;
show(B) when is_bitstring(B) -> B;
show([]) -> [];
show([H | T]) -> show_list([H | T], []);
show(T) when is_tuple(T) -> {tuple, show(tuple_to_list(T))};
show(M) when is_map(M) -> {map, lists:sort([{show(K), show(V)} || {K, V} <- maps:to_list(M)])};
show(P) when is_pid(P) -> identifier(pid, P, fun erlang:pid_to_list/1);
show(P) when is_port(P) -> identifier(port, P, fun erlang:port_to_list/1);
show(R) when is_reference(R) -> identifier(reference, R, fun erlang:ref_to_list/1);
show(F) when is_function(F) ->
    {'fun', [{Item, show(fun_info(F, Item))} || Item <- [type, module, arity, env]], code_name(F),
     [case catch erlang:fun_info(F, Item) of {Item, V} -> {Item, show(V)}; {'EXIT', {Reason, _}} -> Reason end || Item <- [index, uniq, new_index, new_uniq, pid]],
     erlang:fun_to_list(F), [is_function(F, N) || N <- lists:seq(0, 3)]}.

show_list([H | T], Shown) -> show_list(T, [show(H) | Shown]);
show_list([], Shown) -> lists:reverse(Shown);
show_list(T, Shown) -> {improper, lists:reverse(Shown), show(T)}.

%% OTP would run a fun with another number of free variables than its function takes; Myriad never finds code for it.
code_name(F) ->
    {module, Module} = erlang:fun_info(F, module),
    {name, Name} = erlang:fun_info(F, name),
    Arity = fun_info(F, arity) + length(fun_info(F, env)),
    case erlang:module_loaded(Module) andalso lists:member({Name, Arity}, Module:module_info(functions)) of true -> Name; false -> none end.

fun_info(F, Item) -> {Item, Value} = erlang:fun_info(F, Item), Value.

%% The text begins with a number for the node that is each VM's own.
identifier(Kind, Id, Text) ->
    [_ | Numbers] = string:lexemes(Text(Id), ".>"),
    {Kind, atom_to_list(node(Id)), Numbers, Id =:= Id, is_process_of_here(Kind, Id)}.

is_process_of_here(pid, Pid) -> node(Pid) =:= node() andalso (catch is_process_alive(Pid)) =/= true;
is_process_of_here(_, _) -> none.

%% ---- Writing

%% What read/1 takes.
drawn() -> {bytes(), options()}.

options() -> pick([[], [], [], [safe], [used], [safe, used]]).

bytes() ->
    put(wrong, pick([0, 0, 2, 10])),
    Body = iolist_to_binary([term(n(4) - 1)]),
    Whole = case n(12) of
        1 -> compressed(Body);
        _ -> <<(wrong(131, fun() -> n(256) - 1 end)), Body/binary>>
    end,
    case n(3) of 1 -> Whole; 2 -> changed(n(3), Whole); 3 -> changed(1, Whole) end.

%% Something else instead, now and then.
wrong(Right, Other) ->
    case n(100) =< get(wrong) of true -> Other(); false -> Right end.

count(N) -> wrong(N, fun() -> pick([0, N + 1, max(0, N - 1), 255, 256, 65535, 16#ffffffff, 16#7fffffff, 16#80000000]) end).

compressed(Body) ->
    Packed = zlib:compress(Body),
    Size = wrong(byte_size(Body), fun() -> pick([byte_size(Body) + 1, max(0, byte_size(Body) - 1), 0, 1000]) end),
    After = case n(4) of 1 -> <<(diff_terms:bytes(n(3)))/binary>>; _ -> <<>> end,
    <<131, 80, Size:32, Packed/binary, After/binary>>.

term(Depth) when Depth =< 0 -> leaf();
term(Depth) ->
    case n(16) of
        1 -> tuple(Depth);
        2 -> tuple(Depth);
        3 -> list(Depth);
        4 -> list(Depth);
        5 -> map(Depth);
        6 -> map(Depth);
        N when N =< 11 -> local_fun(Depth);
        12 -> large_map();
        _ -> leaf()
    end.

terms(Max, Depth) -> many(Max, fun() -> term(Depth - 1) end).

tuple(Depth) ->
    Terms = terms(4, Depth),
    case n(2) of
        1 -> [104, count(length(Terms)) band 255, Terms];
        2 -> [105, <<(count(length(Terms))):32>>, Terms]
    end.

list(Depth) ->
    Terms = terms(4, Depth),
    [108, <<(count(length(Terms))):32>>, Terms, case n(4) of 1 -> term(Depth - 1); _ -> 106 end].

map(Depth) ->
    Pairs = many(4, fun() -> [term(Depth - 1), term(Depth - 1)] end),
    Twice = wrong(Pairs, fun() -> Pairs ++ Pairs end),
    [116, <<(count(length(Twice))):32>>, Twice].

large_map() ->
    Count = 30 + n(8),
    Keys = [case n(20) of 1 -> leaf(); _ -> [97, I] end || I <- lists:seq(1, Count)],
    [116, <<(count(Count)):32>>, [[K, leaf()] || K <- Keys]].

leaf() ->
    case n(24) of
        1 -> [97, n(256) - 1];
        2 -> [98, <<(pick([0, 1, -1, 16#7fffffff, -16#80000000, n(1 bsl 32)])):32>>];
        3 -> float();
        4 -> big();
        5 -> big();
        6 -> 106;
        7 -> B = small_bytes(), [107, <<(wrong(byte_size(B), fun() -> pick([0, byte_size(B) + 1, 65535]) end)):16>>, B];
        8 -> B = small_bytes(), [109, <<(count(byte_size(B))):32>>, B];
        9 -> bits();
        10 -> pid();
        11 -> pid();
        12 -> port();
        13 -> port();
        N when N =< 16 -> reference();
        17 -> export();
        18 -> export();
        19 -> case n(100) =< get(wrong) of true -> unknown(); false -> 106 end;
        20 -> local_fun(1);
        _ -> atom()
    end.

unknown() -> [n(256) - 1, diff_terms:bytes(n(12))].

small_bytes() -> diff_terms:bytes(case n(6) of 1 -> 60 + n(10); _ -> n(6) - 1 end).

float() ->
    Value = diff_terms:float(),
    case n(4) of
        1 -> [99, text(Value)];
        2 -> [70, wrong(<<Value/float>>, fun() -> pick([<<16#7ff0000000000000:64>>, <<16#fff8000000000000:64>>, <<16#8000000000000000:64>>, <<1:64>>]) end)];
        _ -> [70, <<Value/float>>]
    end.

%% The old form: text of 31 characters.
text(Value) ->
    Text = wrong(io_lib:format("~.20e", [Value]),
                 fun() -> pick(["1.5", " 1.5", "1.5 ", "1", "1.", ".5", "+1.5e+3", "1.5e", "1.5e400", "1.5e-400", "nan", "inf", "1.5x", "", "-0.0", "1e5", "1.5E5", "0x1p3", "1,5", "١.٥"]) end),
    <<Cut:31/binary, _/binary>> = <<(unicode:characters_to_binary(Text))/binary, 0:(31 * 8)>>,
    Cut.

big() ->
    Bytes = diff_terms:bytes(pick([0, 1, 2, 3, 4, 7, 8, 9, 12, 16, 20])),
    Digits = case n(3) of 1 -> <<Bytes/binary, 0, 0>>; 2 -> <<Bytes/binary, 128>>; 3 -> Bytes end,
    Sign = wrong(n(2) - 1, fun() -> n(256) - 1 end),
    case n(3) of
        1 -> [111, <<(count(byte_size(Digits))):32>>, Sign, Digits];
        _ -> [110, count(byte_size(Digits)) band 255, Sign, Digits]
    end.

bits() ->
    Bytes = small_bytes(),
    Bits = wrong(case Bytes of <<>> -> 0; _ -> n(8) end, fun() -> pick([0, 8, 9, 255, 1]) end),
    [77, <<(count(byte_size(Bytes))):32>>, Bits, Bytes].

atom() -> atom(pick([names, names, names, latin, utf8, others])).
atom(names) -> encoded(pick(["a", "b", "ok", "true", "undefined", "lists", "reverse", "diff_etf", "nonode@nohost", "a@b", "", "infinity"]));
atom(latin) -> encoded_latin(list_to_binary(many(6, fun() -> pick([$a, $z, 127, 128, 200, 255, 0]) end)));
atom(utf8) -> encoded(many(4, fun() -> pick([$a, 255, 256, 16#7ff, 16#800, 16#ffff, 16#10000, 16#10ffff, 16#d7ff, 16#e000, 16#3b1]) end));
atom(others) ->
    case n(4) of
        1 -> encoded_latin(binary:copy(<<"x">>, pick([254, 255])));
        2 -> encoded(lists:duplicate(pick([127, 128, 254, 255]), pick([255, 256, 16#10000])));
        3 -> raw_utf8(wrong(<<"a">>, fun() -> pick([<<255>>, <<192, 128>>, <<193, 191>>, <<16#ed, 16#a0, 16#80>>, <<16#f4, 16#90, 16#80, 16#80>>, <<16#e0, 16#80, 16#80>>, <<195>>, <<128>>, <<16#ef, 16#bf, 16#bf>>]) end));
        4 -> wrong([119, 1, $a], fun() -> pick([[82, 0], [82, 255], [118, <<256:16>>, binary:copy(<<"x">>, 256)], [100, <<256:16>>, binary:copy(<<"x">>, 256)]]) end)
    end.

encoded(Text) -> case lists:all(fun(C) -> C < 256 end, Text) andalso n(2) of 1 -> encoded_latin(list_to_binary(Text)); _ -> raw_utf8(unicode:characters_to_binary(Text)) end.
encoded_latin(Bytes) when byte_size(Bytes) < 256 ->
    case n(2) of 1 -> [115, wrong(byte_size(Bytes), fun() -> n(9) - 1 end), Bytes]; 2 -> [100, <<(wrong(byte_size(Bytes), fun() -> n(9) - 1 end)):16>>, Bytes] end;
encoded_latin(Bytes) -> [100, <<(byte_size(Bytes)):16>>, Bytes].
raw_utf8(Bytes) when byte_size(Bytes) < 256 ->
    case n(2) of 1 -> [119, wrong(byte_size(Bytes), fun() -> n(9) - 1 end), Bytes]; 2 -> [118, <<(wrong(byte_size(Bytes), fun() -> n(9) - 1 end)):16>>, Bytes] end;
raw_utf8(Bytes) -> [118, <<(byte_size(Bytes)):16>>, Bytes].

node_name() ->
    case n(8) of
        N when N =< 4 -> encoded("nonode@nohost");
        5 -> encoded("a@b");
        6 -> encoded(pick(["x@y.z", "å@b", "nohost", "", "@", "a@", "@b"]));
        7 -> wrong(encoded("a@b"), fun() -> term(1) end);
        8 -> encoded("other@host")
    end.

creation(8) -> wrong(pick([0, 1, 2, 3]), fun() -> pick([4, 255]) end);
creation(32) -> pick([0, 0, 0, 1, 2, 3, 4, 16#ffffffff, 16#80000000]).

number(Small) -> case n(4) of 1 -> pick([0, 1, 16#7fff, 16#8000, 16#ffff, 1 bsl 18 - 1, 1 bsl 18, 1 bsl 28 - 1, 1 bsl 28, 1 bsl 31, 16#ffffffff]); _ -> n(Small) end.

pid() ->
    case n(3) of
        1 -> [103, node_name(), <<(number(100)):32, (number(9)):32, (creation(8)):8>>];
        _ -> [88, node_name(), <<(number(100)):32, (number(9)):32, (creation(32)):32>>]
    end.

port() ->
    case n(3) of
        1 -> [102, node_name(), <<(number(100)):32, (creation(8)):8>>];
        2 -> [89, node_name(), <<(number(100)):32, (creation(32)):32>>];
        3 -> [120, node_name(), <<(pick([number(100), 1 bsl 28, 1 bsl 32, 1 bsl 56, 1 bsl 60 - 1, 1 bsl 60, 1 bsl 63, (1 bsl 64) - 1])):64, (creation(32)):32>>]
    end.

reference() ->
    Numbers = [<<(number(1000)):32>> || _ <- lists:seq(1, pick([1, 2, 3, 3, 3, 3, 4, 5, 6]))],
    Count = wrong(length(Numbers), fun() -> pick([1, 3, 5, 6, 65535]) end),
    case n(4) of
        1 -> [101, node_name(), <<(number(1000)):32, (creation(8)):8>>];
        2 -> [114, <<Count:16>>, node_name(), creation(8), Numbers];
        _ -> [90, <<Count:16>>, node_name(), <<(creation(32)):32>>, Numbers]
    end.

%% Whole numbers where nothing else may stand.
integer(Right) ->
    case n(10) of
        1 -> [98, <<Right:32>>];
        2 -> [110, 4, 0, <<Right:32/little>>];
        3 -> wrong([98, <<Right:32>>], fun() -> pick([[97, n(256) - 1], [98, <<(-Right):32>>], [98, <<(-1):32>>], [110, 1, 1, 7], [110, 8, 0, <<(1 bsl 63):64/little>>], [110, 0, 0], [111, <<4:32>>, 0, <<Right:32/little>>], [106], atom(), [110, 9, 0, <<Right:72/little>>], [110, 5, 0, <<1, 2, 3, 4, 5>>], [110, 8, 1, <<Right:64/little>>]]) end);
        _ when Right < 256 -> [97, Right];
        _ -> [98, <<Right:32>>]
    end.

export() ->
    case n(3) of
        1 -> [113, encoded("lists"), encoded("reverse"), integer(pick([1, 2]))];
        2 -> [113, encoded("erlang"), encoded(pick(["is_atom", "abs", "+"])), integer(pick([0, 1, 2]))];
        3 -> [113, wrong(encoded("no_such_module"), fun() -> term(1) end), wrong(encoded("f"), fun() -> term(1) end), integer(pick([0, 3, 254, 255]))]
    end.

%% Funs of this module, to be written as they are and otherwise.
local_funs() ->
    [A, B] = [list_to_atom(L) || L <- ["t", "u"]],
    [fun(X) -> X end, fun(X) -> {A, X} end, fun(X, Y) -> [A, B, X, Y] end].

local_fun(Depth) ->
    F = pick(local_funs()),
    Module = pick(["diff_etf", "diff_etf", "diff_etf", "no_such_module", "lists"]),
    Env = fun_info(F, env),
    Right = case n(3) of 1 -> terms(3, Depth); _ -> [raw_utf8(atom_to_binary(E)) || E <- Env] end,
    Free = wrong(length(Right), fun() -> pick([0, 1, length(Right) + 1, 255, 256, 16#ffffffff, 16#10000]) end),
    Uniq = wrong(fun_info(F, new_uniq), fun() -> diff_terms:bytes(16) end),
    Arity = wrong(fun_info(F, arity), fun() -> n(256) - 1 end),
    Index = wrong(fun_info(F, new_index), fun() -> pick([0, 1, 100, 16#ffffffff]) end),
    OldIndex = integer(wrong(fun_info(F, index), fun() -> n(100) end)),
    OldUniq = integer(wrong(fun_info(F, uniq), fun() -> n(100) end)),
    Creator = case n(4) of 1 -> pid(); _ -> wrong([88, encoded("nonode@nohost"), <<0:32, 0:32, 0:32>>], fun() -> term(Depth - 1) end) end,
    Body = iolist_to_binary([Arity, Uniq, <<Index:32, Free:32>>, wrong(encoded(Module), fun() -> leaf() end), OldIndex, OldUniq, Creator, Right]),
    case n(100) =< get(wrong) of
        true -> pick([[117, <<Free:32>>, Creator, encoded(Module), OldIndex, OldUniq, Right], [112, <<(count(byte_size(Body) + 4)):32>>, Body], [112, <<(n(200)):32>>, Body]]);
        false -> [112, <<(byte_size(Body) + 4):32>>, Body]
    end.

%% Changes that know nothing of the format. What claims a size of many gigabytes in a compressed term is left out: OTP takes room for it.
changed(0, Bytes) -> Bytes;
changed(N, Bytes) -> changed(N - 1, change(Bytes)).

change(Bytes) when byte_size(Bytes) < 2 -> Bytes;
change(<<131, 80, _/binary>> = Bytes) ->
    At = 5 + n(byte_size(Bytes) - 5),
    <<A:At/binary, _, B/binary>> = <<Bytes/binary, 0>>,
    <<A/binary, (n(256) - 1), B/binary>>;
change(Bytes) ->
    Size = byte_size(Bytes),
    At = n(Size) - 1,
    <<A:At/binary, X, B/binary>> = Bytes,
    Changed = case n(8) of
        1 -> <<A/binary, (n(256) - 1), B/binary>>;
        2 -> <<A/binary, (X bxor (1 bsl (n(8) - 1))), B/binary>>;
        3 -> <<A/binary, (pick([0, 1, 127, 128, 255])), B/binary>>;
        4 -> A;
        5 -> Length = min(n(8), byte_size(B)), <<_:Length/binary, C/binary>> = B, <<A/binary, X, C/binary>>;
        6 -> <<A/binary, (diff_terms:bytes(n(4)))/binary, X, B/binary>>;
        7 -> Length = min(n(20), byte_size(B)), <<C:Length/binary, _/binary>> = B, <<A/binary, C/binary, X, B/binary>>;
        8 -> <<A/binary, (iolist_to_binary([term(1)]))/binary, B/binary>>
    end,
    case Changed of <<131, 80, _/binary>> -> Bytes; _ -> Changed end.
