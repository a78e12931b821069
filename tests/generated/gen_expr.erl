%% Random expressions as text.
%%
%% An environment says what an expression may use:
%%   vars    {Type, Name} of the variables in scope, the newest first
%%   fns     {Name, Types of the parameters, Type, Level} of the functions that may be called
%%   fuel    {the expression for what is left, functions that take it first} in a function that calls itself or one that calls it
%%   module  the module's name
%% Variables have names that no other variable of the module has, so that scopes cannot be mixed up. Most expressions have the type that
%% is asked for; a few do not. What could grow without bound does not: sizes and numbers of repetitions are `small`, how much a function's
%% body holds and how many functions it calls is drawn from a budget (the process dictionary), and in what is repeated only functions are
%% called that call no others.
-module(gen_expr).
-export([begin_function/2, env/1, body/3, sequence/3, expr/3, call/3, variable/0, add/2, repeated/1, guard/1, typed/2, one/1]).
-import(diff_terms, [n/1, pick/1, chance/1, many/2]).
-import(gen_value, [constant/1, key/0]).

%% The budget of a function: how many expressions that are not leaves, and how many calls of other functions.
begin_function(Size, Calls) ->
    put(size, Size),
    put(calls, Calls).

env(Module) -> #{vars => [], fns => [], fuel => none, module => Module}.

variable() ->
    Number = case get(variable) of undefined -> 1; N -> N + 1 end,
    put(variable, Number),
    ["V", integer_to_list(Number)].

add(Vars, #{vars := Old} = Env) -> Env#{vars := Vars ++ Old}.

%% In what is repeated.
repeated(#{fns := Fns} = Env) -> Env#{fns := [Fn || {_, _, _, 0} = Fn <- Fns], fuel := none}.

one(Choices) -> one(n(lists:sum([W || {W, _} <- Choices])), Choices).
one(At, [{W, F} | _]) when At =< W -> F();
one(At, [{W, _} | Rest]) -> one(At - W, Rest).

%% ---- sequences

%% Some statements and an expression of the type.
body(Type, Env, Depth) ->
    {Statements, Inner} = sequence(n(4) - 1, Env, Depth),
    [[[S, ",\n    "] || S <- Statements], expr(Type, Inner, Depth)].

%% Statements, and the environment behind them.
sequence(0, Env, _) -> {[], Env};
sequence(Number, Env, Depth) ->
    {Statement, Next} = statement(Env, Depth),
    {Rest, Last} = sequence(Number - 1, Next, Depth),
    {[Statement | Rest], Last}.

statement(Env, Depth) ->
    D = Depth - 1,
    one([
        {8, fun() -> Type = a_type(), V = variable(), {[V, " = ", expr(Type, Env, D)], add([{Type, V}], Env)} end},
        {2, fun() -> Type = pick([list, tuple, map, bits, rec]), match(Type, Env, D) end},
        {2, fun() ->
            {A, B, T1, T2} = {variable(), variable(), a_type(), a_type()},
            {["{", A, ", ", B, "} = {", expr(T1, Env, D), ", ", expr(T2, Env, D), "}"], add([{T1, A}, {T2, B}], Env)}
        end},
        {2, fun() ->
            %% All clauses bind the same variables.
            {A, B, T1, T2} = {variable(), variable(), a_type(), a_type()},
            Bind = fun(E) -> [A, " = ", expr(T1, E, D), ", ", B, " = ", expr(T2, E, D)] end,
            {[case_of(Env, D, Bind)], add([{T1, A}, {T2, B}], Env)}
        end},
        {1, fun() -> {["self() ! ", expr(any, Env, D)], Env} end},
        {1, fun() -> {["put(", pick(["a", "b", "{c}"]), ", ", expr(any, Env, D), ")"], Env} end},
        {1, fun() -> {["_ = ", expr(any, Env, D)], Env} end}
    ]).

match(Type, Env, D) ->
    {P, Vars} = gen_pattern:pattern(Type, Env, 2),
    {[P, " = ", expr(Type, Env, D)], add(Vars, Env)}.

a_type() -> pick([int, int, int, small, float, num, atom, bool, list, ints, tuple, bin, bits, map, rec, fun1, any]).

%% ---- expressions

%% An expression of the type, at most so many levels deep.
expr(Type, Env, Depth) when Depth =< 0 -> leaf(Type, Env);
expr(Type, Env, Depth) ->
    case {get(size), n(100)} of
        {Left, _} when Left =< 0 -> leaf(Type, Env);
        {_, N} when N =< 3 -> leaf(gen_value:other(Type), Env);
        {_, N} when N =< 15 -> leaf(Type, Env);
        {Left, N} ->
            put(size, Left - 1),
            case N =< 48 of
                true -> general(Type, Env, Depth - 1);
                false -> special(Type, Env, Depth - 1)
            end
    end.

%% Mostly a variable. Of constants the compiler knows too much, so that many go through a call.
leaf(Type, #{vars := Vars} = Env) ->
    case {n(20), typed(Type, Env)} of
        {N, [_ | _] = Names} when N > 3 -> lists:nth(min(n(length(Names)), n(length(Names))), Names);
        {N, _} when N =< 7 -> constant(Type);
        {N, _} when N =< 12, Type =/= small, Vars =/= [] -> element(2, pick(Vars));
        _ -> ["gen_run:id(", constant(Type), ")"]
    end.

%% The names of the variables of a type.
typed(Type, #{vars := Vars}) -> [Name || {T, Name} <- Vars, is_a(T, Type)].

is_a(_, any) -> true;
is_a(T, T) -> true;
is_a(T, num) -> lists:member(T, [int, small, float]);
is_a(small, int) -> true;
is_a(ints, list) -> true;
is_a(bin, bits) -> true;
is_a(rec, tuple) -> true;
is_a(bool, atom) -> true;
is_a(_, _) -> false.

%% ---- of any type

general(Type, Env, D) ->
    E = fun(T) -> expr(T, Env, D) end,
    one([
        {8, fun() -> case_of(Env, D, fun(Inner) -> body(Type, Inner, D) end) end},
        {3, fun() -> switch(Type, Env, D) end},
        {2, fun() -> sizes(Type, Env, D) end},
        {3, fun() -> if_of(Type, Env, D) end},
        {6, fun() -> try_of(Type, Env, D) end},
        {7, fun() -> call(Type, Env, D) end},
        {3, fun() -> F = variable(), ["begin ", F, " = ", E(fun1), ", gen_run:id(", F, "(", E(any), ")) end"] end},
        {1, fun() -> A = variable(), ["(fun(", A, ") -> ", body(Type, add([{any, A}], repeated(Env)), D), " end)(", E(any), ")"] end},
        {2, fun() -> receive_of(Type, Env, D) end},
        {2, fun() -> ["gen_run:id(", E(Type), ")"] end},
        {1, fun() -> ["begin\n    ", body(Type, Env, D), "\n  end"] end},
        {1, fun() -> ["element(", pick(["1", "2", "3"]), ", ", E(tuple), ")"] end},
        {1, fun() -> ["hd(", E(pick([list, ints])), ")"] end},
        {1, fun() -> ["map_get(", key(), ", ", E(map), ")"] end},
        {1, fun() -> ["maps:get(", key(), ", ", E(map), ", ", E(Type), ")"] end},
        {1, fun() -> field(Env, D) end},
        {1, fun() -> raise(Env, D) end},
        {1, fun() -> applied(Env, D) end},
        {1, fun() -> [pick(["get", "erase"]), "(", pick(["a", "b", "{c}"]), ")"] end}
    ]).

clause(P, G, Body) -> ["\n    ", P, G, " ->\n    ", Body].

alternatives(Clauses) -> lists:join(";", Clauses).

%% A case on something; `Body` makes what a clause evaluates.
case_of(Env, D, Body) ->
    Type = subject(Env),
    Clauses = [pattern_clause(Type, Env, Body) || _ <- lists:seq(1, n(3))],
    Last = case chance(85) of true -> [clause("_", "", Body(Env))]; false -> [] end,
    ["case ", expr(Type, Env, D), " of", alternatives(Clauses ++ Last), "\n  end"].

%% A type to look at: mostly one of which there is something.
subject(#{vars := Vars}) ->
    case n(5) of
        N when N > 1, Vars =/= [] -> element(1, pick(Vars));
        _ -> pick([int, num, float, atom, list, ints, tuple, bits, map, rec, any])
    end.

pattern_clause(Type, Env, Body) ->
    {P, Vars} = gen_pattern:pattern(Type, Env, 2),
    Inner = add(Vars, Env),
    clause(P, guard(Inner), Body(Inner)).

%% A case on many constants.
switch(Type, Env, D) ->
    Of = pick([small, int, atom, float]),
    Values = lists:usort([iolist_to_binary(gen_value:scalar(Of)) || _ <- lists:seq(1, 2 + n(5))]),
    Clauses = [clause(V, "", expr(Type, Env, D - 1)) || V <- Values],
    ["case ", expr(Of, Env, D), " of", alternatives(Clauses ++ [clause("_", "", expr(Type, Env, D))]), "\n  end"].

%% A case on the sizes of tuples.
sizes(Type, Env, D) ->
    Clauses = [begin
        Vars = [{any, variable()} || _ <- lists:seq(1, Size)],
        clause(["{", lists:join(", ", [V || {_, V} <- Vars]), "}"], "", expr(Type, add(Vars, Env), D))
    end || Size <- lists:sublist(pick([[0, 1, 2, 3], [3, 2, 1], [2, 3, 6], [1, 5, 2]]), 1 + n(3))],
    ["case ", expr(tuple, Env, D), " of", alternatives(Clauses ++ [clause("_", "", expr(Type, Env, D))]), "\n  end"].

if_of(Type, Env, D) ->
    Clauses = [clause(gen_pattern:tests(Env), "", body(Type, Env, D)) || _ <- lists:seq(1, n(2))],
    Last = case chance(85) of true -> [clause("true", "", expr(Type, Env, D))]; false -> [] end,
    ["if", alternatives(Clauses ++ Last), "\n  end"].

guard(Env) ->
    case chance(40) of
        true -> [" when ", gen_pattern:tests(Env)];
        false -> ""
    end.

%% ---- exceptions

raise(Env, D) ->
    E = expr(any, Env, D),
    case n(12) of
        N when N =< 3 -> ["throw(", E, ")"];
        N when N =< 6 -> ["error(", E, ")"];
        7 -> ["exit(", E, ")"];
        8 -> ["error(", E, ", [", expr(any, Env, D), "])"];
        9 -> ["erlang:raise(", pick(["error", "throw", "exit", "none"]), ", ", E, ", [{m, f, 1, []}])"];
        10 -> ["gen_run:missing(", E, ")"];
        11 -> ["error(", E, ", none, [{error_info, #{cause => ", expr(atom, Env, D), "}}])"];
        12 -> ["begin exit(self(), stop), ", E, " end"]
    end.

try_of(Type, Env, D) ->
    case n(8) of
        1 when Type =:= any; Type =:= tuple -> ["(catch ", expr(any, Env, D), ")"];
        N when N =< 3 -> ["case (catch ", expr(any, Env, D), ") of", alternatives([caught_clause(Type, Env, D), clause("_", "", expr(Type, Env, D))]), "\n  end"];
        N ->
            Handlers = [handler(Type, Env, D) || _ <- lists:seq(1, n(3))],
            Of = case N > 6 of
                true ->
                    Last = case chance(60) of true -> [clause("_", "", expr(Type, Env, D))]; false -> [] end,
                    [" of", alternatives([pattern_clause(any, Env, fun(Inner) -> body(Type, Inner, D) end) | Last])];
                false -> ""
            end,
            After = case chance(25) of
                true -> ["\n  after\n    ", pick([["put(a, ", expr(any, Env, D), ")"], ["self() ! {'after', ", expr(any, Env, D), "}"], expr(any, Env, D)])];
                false -> ""
            end,
            ["try\n    ", body(Type, Env, D), Of, "\n  catch", alternatives(Handlers), After, "\n  end"]
    end.

caught_clause(Type, Env, D) ->
    {R, S} = {variable(), variable()},
    Inner = add([{any, R}, {list, S}], Env),
    pick([
        clause(["{'EXIT', {", R, ", ", S, "}}"], "", expr(Type, Inner, D)),
        clause(["{'EXIT', ", R, "}"], "", expr(Type, add([{any, R}], Env), D)),
        clause(["{'EXIT', {badarg, ", S, "}}"], "", expr(Type, add([{list, S}], Env), D))
    ]).

handler(Type, Env, D) ->
    {C, R, S} = {variable(), variable(), variable()},
    Seen = add([{any, R}], Env),
    one([
        {2, fun() -> clause(["throw:", R], "", body(Type, Seen, D)) end},
        {1, fun() -> clause(R, guard(Seen), body(Type, Seen, D)) end},
        {2, fun() -> clause(["error:", R], guard(Seen), body(Type, Seen, D)) end},
        {1, fun() -> clause(pick(["error:badarg", "error:badarith", "error:function_clause", "error:if_clause", "exit:_", "throw:{a, _}"]), "", expr(Type, Env, D)) end},
        {1, fun() -> clause(["error:{", pick(["badmatch", "case_clause", "badkey", "badmap", "badfun", "badrecord"]), ", ", R, "}"], "", body(Type, Seen, D)) end},
        {3, fun() -> clause([C, ":", R, ":", S], "", ["{", C, ", ", R, ", ", S, "}"]) end},
        {2, fun() -> clause([C, ":", R, ":", S], "", ["erlang:raise(", C, ", ", R, ", ", S, ")"]) end},
        {1, fun() -> clause([C, ":", R, ":", S], "", ["erlang:raise(", pick([C, "throw", "error"]), ", {again, ", R, "}, ", pick([S, ["tl(", S, ")"], "[]"]), ")"]) end},
        {1, fun() -> clause([C, ":", R], [" when ", C, " =/= exit"], body(Type, add([{atom, C}], Seen), D)) end},
        {1, fun() -> clause(["_:", R, ":", S], "", body(Type, add([{list, S}], Seen), D)) end}
    ]).

%% ---- calls

call(Type, #{fns := Fns, fuel := Fuel} = Env, D) ->
    Own = case Fuel of none -> []; {_, Partners} -> [F || {_, _, T, _} = F <- Partners, T =:= Type orelse Type =:= any] end,
    Fitting = [F || {_, _, T, _} = F <- Fns, T =:= Type orelse Type =:= any],
    Calls = get(calls),
    case n(2) of
        1 when Own =/= [], Calls > 0 ->
            put(calls, Calls - 1),
            {{Left, _}, {Name, [fuel | Types], _, _}} = {Fuel, pick(Own)},
            [Name, "(", lists:join(", ", [Left | [expr(T, Env, D) || T <- Types]]), ")"];
        _ when Fitting =/= [], Calls > 0 ->
            put(calls, Calls - 1),
            called(pick(Fitting), Env, D);
        _ -> special(Type, Env, D)
    end.

called({Name, Types, _, _}, #{module := Module} = Env, D) ->
    Args = lists:join(", ", [argument(T, Env, D) || T <- Types]),
    Arity = integer_to_list(length(Types)),
    case n(12) of
        1 -> [Module, ":", Name, "(", Args, ")"];
        2 -> ["(fun ", Name, "/", Arity, ")(", Args, ")"];
        3 -> ["(gen_run:id(fun ", Name, "/", Arity, "))(", Args, ")"];
        4 -> ["apply(gen_run:id(", Module, "), ", Name, ", [", Args, "])"];
        5 -> ["apply(", Module, ", ", Name, ", gen_run:id([", Args, "]))"];
        6 -> ["(gen_run:id(fun ", Module, ":", Name, "/", Arity, "))(", Args, ")"];
        _ -> [Name, "(", Args, ")"]
    end.

argument(fuel, _, _) -> integer_to_list(n(4) - 1);
argument(deep, _, _) -> integer_to_list(n(30));
argument(Type, Env, D) -> expr(Type, Env, D).

%% Calls whose function only the run knows. The call around them, on the same line, keeps them from being the last instruction of their
%% line: of a built-in function that `apply` calls there, OTP tells the line of the instruction behind it.
applied(Env, D) ->
    E = fun(T) -> expr(T, Env, D) end,
    Call = case n(6) of
        1 -> ["(gen_run:id(lists)):(gen_run:id(reverse))(", E(list), ")"];
        2 -> ["(gen_run:id(erlang)):", pick(["abs", "hd", "length", "tuple_size"]), "(", E(any), ")"];
        3 -> ["apply(erlang, gen_run:id(element), [", E(small), ", ", E(tuple), "])"];
        4 -> ["apply(", E(fun1), ", ", case n(2) of 1 -> ["[", E(any), "]"]; 2 -> E(list) end, ")"];
        5 -> ["(gen_run:id(", E(any), ")):", pick(["f", "reverse"]), "(", E(any), ")"];
        6 -> ["erlang:apply(gen_run:id(erlang), gen_run:id(", pick(["'+'", "'=:='", "max", "element"]), "), [", E(int), ", ", E(int), "])"]
    end,
    ["gen_run:id(", Call, ")"].

%% ---- messages

receive_of(Type, Env, D) ->
    E = fun(T) -> expr(T, Env, D) end,
    V = variable(),
    Seen = add([{any, V}], Env),
    Ref = variable(),
    one([
        {3, fun() ->
            Sent = many(2, fun() -> ["self() ! ", expr(any, Env, D), ",\n    "] end),
            Clauses = [pattern_clause(pick([any, tuple, int, atom, bits, map]), Env, fun(Inner) -> body(Type, Inner, D) end) || _ <- lists:seq(1, n(2))],
            ["begin\n    ", Sent, "receive", alternatives(Clauses), "\n    after ", pick(["0", "0", "0", "0", "gen_run:id(0)", "1", "bad"]), " ->\n    ", E(Type), "\n    end\n  end"]
        end},
        {2, fun() -> ["begin\n    ", Ref, " = make_ref(),\n    self() ! {", Ref, ", ", E(any), "},\n    receive {", Ref, ", ", V, "} -> ", expr(Type, Seen, D), " end\n  end"] end},
        {1, fun() -> ["begin\n    self() ! ", E(any), ",\n    self() ! {here, ", E(any), "},\n    receive {here, ", V, "} -> ", body(Type, Seen, D), " end\n  end"] end},
        {1, fun() -> ["begin\n    {_, ", Ref, "} = spawn_monitor(fun() -> exit({done, ", expr(any, repeated(Env), D), "}) end),\n    receive {'DOWN', ", Ref, ", process, _, ", V, "} -> ",
                      expr(Type, Seen, D), " end\n  end"] end},
        {1, fun() -> ["receive after ", pick(["0", "1"]), " -> ", E(Type), " end"] end}
    ]).

%% ---- of one type

special(any, Env, D) -> expr(pick([int, int, small, float, num, atom, bool, list, ints, tuple, bin, bits, map, rec, fun1]), Env, D + 1);
special(Type, Env, D) ->
    E = fun(T) -> expr(T, Env, D) end,
    (pick(specials(Type, Env, D)))(E).

binary(Op, A, B) -> ["(", A, " ", Op, " ", B, ")"].

function(Name, Args) -> [Name, "(", lists:join(", ", Args), ")"].

%% What is nobody's zero: OTP's native code for x86 negates 0.0 in a floating point register to 0.0, elsewhere it gives -0.0.
negative(E) -> ["(-(abs(", E, ") + 1))"].

specials(small, _, _) -> [
    fun(E) -> binary("band", E(int), pick(["3", "31"])) end,
    fun(E) -> binary("rem", E(small), "20") end,
    fun(E) -> binary(pick(["+", "-"]), E(small), pick(["1", "2"])) end,
    fun(E) -> function(pick(["tuple_size", "map_size"]), [E(pick([tuple, map]))]) end,
    fun(E) -> binary("rem", function("length", [E(list)]), "9") end,
    fun(E) -> binary("rem", function(pick(["byte_size", "bit_size"]), [E(bits)]), "17") end
];
specials(int, Env, D) ->
    Arithmetic = fun(E) -> binary(pick(["+", "+", "-", "-", "*"]), E(int), E(int)) end,
    [
    Arithmetic, Arithmetic, Arithmetic,
    fun(E) -> binary(pick(["+", "-"]), E(int), pick(["1", "-1", "2"])) end,
    fun(E) -> binary(pick(["band", "bor", "bxor"]), E(int), E(int)) end,
    fun(E) -> binary(pick(["div", "rem"]), E(int), E(int)) end,
    fun(E) -> binary(pick(["div", "rem"]), E(int), pick(["2", "8", "-1", "10", "-7"])) end,
    fun(E) -> binary(pick(["bsl", "bsr"]), E(int), pick(["1", "3", "59", "60", "-1", ["(", E(small), " rem 70)"]])) end,
    fun(E) -> function(pick(["bnot", "abs"]), [E(int)]) end,
    fun(E) -> ["-(", E(int), pick([" bor 0)", " bxor 1)"])] end,
    fun(E) -> ["+gen_run:id(", E(int), ")"] end,
    fun(E) -> function(pick(["trunc", "round", "floor", "ceil"]), [E(num)]) end,
    fun(E) -> function(pick(["max", "min"]), [E(int), E(int)]) end,
    fun(E) -> function("lists:sum", [E(ints)]) end,
    fun(E) -> function("list_to_integer", [function("integer_to_list", [E(int)])]) end,
    fun(E) -> function("binary_to_integer", [function("integer_to_binary", [E(int), "16"]), "16"]) end,
    fun(E) -> function("binary:decode_unsigned", [E(bin)]) end,
    fun(E) ->
        {X, A} = {variable(), variable()},
        ["lists:foldl(fun(", X, ", ", A, ") -> ", expr(int, add([{int, X}, {int, A}], repeated(Env)), min(D, 1)), " end, ", E(int), ", ", E(ints), ")"]
    end,
    fun(E) -> fuelled(int, Env, E) end
    ];
specials(float, Env, _) ->
    Arithmetic = fun(E) -> binary(pick(["+", "-", "*", "/"]), E(float), E(float)) end,
    [
    Arithmetic, Arithmetic, Arithmetic,
    fun(E) -> binary(pick(["+", "-", "*", "/"]), E(num), E(float)) end,
    fun(E) -> binary("/", E(int), E(num)) end,
    fun(E) -> function("float", [E(num)]) end,
    fun(E) -> function("abs", [E(float)]) end,
    fun(E) -> negative(E(float)) end,
    fun(E) -> function("math:sqrt", [E(num)]) end,
    fun(E) -> function(pick(["math:floor", "math:ceil"]), [E(num)]) end,
    fun(E) -> function("list_to_float", [function("float_to_list", [E(float)])]) end,
    fun(E) -> V = variable(), ["begin\n    <<", V, ":64/float>> = <<(", E(int), "):64>>,\n    ", binary("+", V, pick(["1.0", "0.0", leaf(float, Env)])), "\n  end"] end
    ];
specials(num, _, _) -> [
    fun(E) -> binary(pick(["+", "-", "*"]), E(num), E(num)) end,
    fun(E) -> E(pick([int, float])) end,
    fun(E) -> function(pick(["max", "min"]), [E(num), E(num)]) end,
    fun(E) -> negative(E(num)) end
];
specials(bool, Env, _) -> [
    fun(E) -> binary(pick(["==", "/=", "=:=", "=/=", "<", ">", "=<", ">="]), E(num), E(num)) end,
    fun(E) -> binary(pick(["==", "/=", "=:=", "=/=", "<", ">", "=<", ">="]), E(any), E(any)) end,
    fun(E) -> binary(pick(["=:=", "=/="]), E(any), constant(any)) end,
    fun(E) -> binary(pick(["and", "or", "xor", "andalso", "orelse", "andalso", "orelse"]), E(bool), E(bool)) end,
    fun(E) -> ["(not ", E(bool), ")"] end,
    fun(_) -> ["(", gen_pattern:test(Env, 2), ")"] end,
    fun(E) -> function("is_map_key", [key(), E(map)]) end,
    fun(E) -> function("lists:member", [E(any), E(list)]) end,
    fun(E) -> function("is_record", [E(any), "r1"]) end
];
specials(atom, _, _) -> [
    fun(E) -> E(bool) end,
    fun(E) -> function("element", ["1", E(rec)]) end,
    fun(E) -> function("binary_to_atom", [function("atom_to_binary", [E(atom)])]) end
];
specials(list, Env, D) -> [
    fun(E) -> ["[", E(any), " | ", E(list), "]"] end,
    fun(E) -> ["[", E(any), ", ", E(any), " | ", E(list), "]"] end,
    fun(E) -> ["[", lists:join(", ", many(4, fun() -> E(any) end)), "]"] end,
    fun(E) -> binary(pick(["++", "--", "++"]), E(list), E(list)) end,
    fun(E) -> function(pick(["tl", "lists:reverse", "lists:sort", "lists:usort"]), [E(list)]) end,
    fun(E) -> function("tuple_to_list", [E(tuple)]) end,
    fun(E) -> function("binary_to_list", [E(bin)]) end,
    fun(E) -> ["lists:map(", E(fun1), ", ", E(list), ")"] end,
    fun(E) -> function("lists:sort", [function("maps:to_list", [E(map)])]) end,
    fun(E) -> function(pick(["integer_to_list", "float_to_list"]), [E(num)]) end,
    fun(E) -> E(ints) end,
    fun(_) -> comprehension(any, Env, D) end,
    fun(_) -> comprehension(any, Env, D) end,
    fun(E) -> fuelled(list, Env, E) end
];
specials(ints, Env, D) -> [
    fun(E) -> ["[", E(int), " | ", E(ints), "]"] end,
    fun(E) -> function("lists:seq", ["1", E(small)]) end,
    fun(E) -> function("lists:duplicate", [["abs(", E(small), ") rem 9"], E(int)]) end,
    fun(E) -> ["[", lists:join(", ", many(4, fun() -> E(int) end)), "]"] end,
    fun(_) -> comprehension(int, Env, D) end,
    fun(_) -> comprehension(int, Env, D) end
];
specials(tuple, _, _) ->
    Made = fun(E) -> ["{", lists:join(", ", many(5, fun() -> E(any) end)), "}"] end,
    [
    Made, Made,
    fun(E) -> ["{", E(any), ", ", E(any), "}"] end,
    fun(E) -> function("setelement", [pick(["1", "2", E(small)]), E(tuple), E(any)]) end,
    fun(E) -> ["setelement(1, setelement(2, setelement(3, {", E(any), ", b, c, ", E(any), "}, ", E(any), "), ", E(any), "), ", E(any), ")"] end,
    fun(E) -> function("list_to_tuple", [E(list)]) end,
    fun(E) -> function("erlang:append_element", [E(tuple), E(any)]) end,
    fun(E) -> E(rec) end
    ];
specials(bin, Env, D) -> [
    fun(_) -> gen_bits:construct(bytes, Env, D) end,
    fun(_) -> gen_bits:construct(bytes, Env, D) end,
    fun(E) -> ["<<(", E(bin), ")/binary, ", pick([["(", E(int), "):8"], ["(", E(bin), ")/binary"], "0:16"]), ">>"] end,
    fun(E) -> function(pick(["integer_to_binary", "float_to_binary"]), [E(num)]) end,
    fun(E) -> X = variable(), function("list_to_binary", [["[", X, " band 255 || ", X, " <- ", E(ints), "]"]]) end,
    fun(E) -> function("iolist_to_binary", [["[", E(bin), ", ", E(int), " band 255 | ", E(bin), "]"]]) end,
    fun(E) -> function("binary_part", [E(bin), E(small), E(small)]) end,
    fun(E) -> function("binary:copy", [E(bin), pick(["2", "3"])]) end,
    fun(E) -> function("atom_to_binary", [E(atom)]) end,
    fun(_) -> gen_bits:comprehension("8", Env, D) end
];
specials(bits, Env, D) -> [
    fun(E) -> E(bin) end,
    fun(_) -> gen_bits:construct(bits, Env, D) end,
    fun(_) -> gen_bits:construct(bits, Env, D) end,
    fun(_) -> gen_bits:construct(bits, Env, D) end,
    fun(E) -> ["<<(", E(bits), ")/bits, ", pick([["(", E(bits), ")/bits"], "1:1", ["(", E(int), "):3"]]), ">>"] end,
    fun(_) -> gen_bits:comprehension(pick(["1", "3", "13", "64"]), Env, D) end
];
specials(map, _, _) ->
    Pairs = fun(E, Arrow) -> lists:join(", ", [[pick([key(), key(), E(any)]), Arrow, E(any)] || _ <- lists:seq(1, n(3))]) end,
    [
    fun(E) -> ["#{", Pairs(E, " => "), "}"] end,
    fun(E) -> ["(", E(map), ")#{", Pairs(E, " => "), "}"] end,
    fun(E) -> ["(", E(map), ")#{", key(), " := ", E(any), "}"] end,
    fun(E) -> ["(", E(map), ")#{", key(), " => ", E(any), ", ", key(), " := ", E(any), "}"] end,
    fun(E) -> function("maps:put", [pick([key(), E(any)]), E(any), E(map)]) end,
    fun(E) -> function(pick(["maps:remove", "maps:update"]), [key() | case n(2) of 1 -> [E(map)]; 2 -> [E(any), E(map)] end]) end,
    fun(E) -> function("maps:merge", [E(map), E(map)]) end,
    fun(E) -> X = variable(), ["maps:from_list([{", X, ", ", E(any), "} || ", X, " <- ", E(ints), "])"] end
    ];
specials(rec, Env, D) -> [
    fun(E) -> ["#r1{a = ", E(any), "}"] end,
    fun(E) -> ["#r1{a = ", E(any), ", b = ", E(int), "}"] end,
    fun(E) -> ["#r2{x = ", E(list), ", z = ", E(float), ", w = ", E(any), "}"] end,
    fun(E) -> ["(", record(r1, Env, D), ")#r1{b = ", E(any), "}"] end,
    fun(E) -> ["(", record(r2, Env, D), ")#r2{x = ", E(any), ", y = ", E(any), ", u = ", E(atom), "}"] end,
    fun(E) -> ["(", record(r2, Env, D), ")#r2{", pick(["x", "z", "w"]), " = ", E(any), "}"] end
];
specials(fun1, Env, D) ->
    Inner = repeated(Env),
    Captured = fun(_) ->
        V = variable(),
        ["fun(", V, ") ->\n    ", body(any, add([{any, V}], Inner), D), "\n  end"]
    end,
    [
    Captured, Captured,
    fun(_) ->
        Clauses = [begin {P, Vars} = gen_pattern:pattern(any, Inner, 2), New = add(Vars, Inner), ["(", P, ")", guard(New), " -> ", expr(any, New, D)] end || _ <- [1, 2]],
        ["fun ", alternatives(Clauses), " end"]
    end,
    fun(_) ->
        {F, N, A} = {variable(), variable(), variable()},
        ["fun(", A, "1) -> (fun ", F, "(", N, ", ", A, ") when ", N, " > 0 -> ", F, "(", N, " - 1, ", expr(any, add([{any, A}], Inner), D), "); ", F, "(_, ", A, ") -> ", A, " end)(",
         integer_to_list(n(5)), ", ", A, "1) end"]
    end,
    fun(_) -> case [Name || {Name, [Type], _, 0} <- maps:get(fns, Env), not lists:member(Type, [fuel, deep, small])] of [] -> constant(fun1); Names -> ["fun ", pick(Names), "/1"] end end
    ].

%% Something of a record, now and then of another.
record(Name, Env, D) ->
    case chance(60) of
        true -> ["#", atom_to_list(Name), "{", case Name of r1 -> "a"; r2 -> "y" end, " = ", expr(any, Env, D), "}"];
        false -> expr(rec, Env, D)
    end.

field(Env, D) ->
    {Name, Fields} = pick([{r1, ["a", "b"]}, {r2, ["x", "y", "z", "u", "w"]}]),
    ["(", record(Name, Env, D), ")#", atom_to_list(Name), ".", pick(Fields)].

%% A fun that calls itself.
fuelled(Type, Env, E) ->
    {F, N, A} = {variable(), variable(), variable()},
    Inner = add([{small, N}, {Type, A}], repeated(Env)),
    ["(fun ", F, "(0, ", A, ") -> ", A, "; ", F, "(", N, ", ", A, ") -> ", F, "(", N, " - 1, ", expr(Type, Inner, 1), ") end)(", integer_to_list(n(4)), ", ", E(Type), ")"].

%% A list by comprehension, of one or two generators and filters.
comprehension(Type, Env, D) ->
    {Text, Inner} = generator(Env, D),
    {More, Last} = case n(4) of
        1 -> {T, I} = generator(Inner, 0), {[", ", T], I};
        2 -> {[", ", pick([gen_pattern:test(Inner, 1), expr(bool, Inner, 1)])], Inner};
        _ -> {"", Inner}
    end,
    ["[", expr(Type, Last, D), " || ", Text, More, "]"].

generator(Env, D) ->
    Inner = repeated(Env),
    case n(4) of
        1 ->
            V = variable(),
            {["<<", V, ":", pick(["4", "8", "16", "3"]), pick(["", "/signed", "/little"]), ">> <= ", expr(bits, Env, D)], add([{int, V}], Inner)};
        2 ->
            {P, Vars} = gen_pattern:pattern(tuple, Inner, 2),
            {[P, " <- ", expr(list, Env, D)], add(Vars, Inner)};
        _ ->
            Type = pick([ints, list]),
            V = variable(),
            {[V, " <- ", expr(Type, Env, D)], add([{case Type of ints -> int; list -> any end, V}], Inner)}
    end.
