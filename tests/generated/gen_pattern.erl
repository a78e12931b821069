%% Random patterns and tests, as text.
-module(gen_pattern).
-export([pattern/3, tests/1, test/2]).
-import(diff_terms, [n/1, pick/1, chance/1]).
-import(gen_expr, [variable/0, typed/2]).
-import(gen_value, [constant/1, scalar/1, key/0]).

%% A pattern for terms of a type, at most so many levels deep, and the variables that it binds with their types.
pattern(any, Env, Depth) -> pattern(pick([int, float, atom, list, ints, tuple, bits, map, rec, fun1]), Env, Depth);
pattern(Type, Env, Depth) ->
    case n(100) of
        N when N =< 8; Depth =< 0, N =< 30 -> {"_", []};
        N when N =< 25; Depth =< 0, N =< 80 -> fresh(Type);
        N when N =< 30 ->
            {V, New} = fresh(Type),
            {P, Vars} = pattern(Type, Env, Depth - 1),
            {[P, " = ", V], New ++ Vars};
        N when N =< 35 ->
            %% What is bound already.
            case typed(Type, Env) of
                [_ | _] = Names -> {pick(Names), []};
                [] -> shape(Type, Env, Depth - 1)
            end;
        _ -> shape(Type, Env, Depth - 1)
    end.

fresh(Type) -> V = variable(), {V, [{Type, V}]}.

shape(Type, Env, D) when Type =:= list; Type =:= ints ->
    Item = case Type of list -> any; ints -> int end,
    case n(8) of
        1 -> {"[]", []};
        2 -> around(["[", "]"], parts([Item], Env, D));
        3 -> around(["[", "]"], parts([Item, Item], Env, D));
        4 -> {H, Vars} = pattern(Type, Env, 0), {["\"te\" ++ ", H], Vars};
        _ ->
            {Heads, Vars} = parts(lists:duplicate(n(2), Item), Env, D),
            {Tail, More} = pattern(Type, Env, 0),
            {["[", lists:join(", ", Heads), " | ", Tail, "]"], Vars ++ More}
    end;
shape(tuple, Env, D) ->
    case n(6) of
        1 -> {"{}", []};
        2 -> {P, Vars} = pattern(any, Env, D), {["{", pick(["a", "ok", "r1", "1"]), ", ", P, "}"], Vars};
        3 -> {V, Vars} = fresh(any), {["{", V, ", ", V, "}"], Vars};
        _ -> around(["{", "}"], parts(lists:duplicate(n(4), any), Env, D))
    end;
shape(rec, Env, D) ->
    {[P, Q], Vars} = parts([any, any], Env, D),
    {pick([["#r1{a = ", P, ", b = ", Q, "}"], ["#r2{z = ", P, ", w = ", Q, "}"], ["#r2{x = ", P, ", y = ", Q, ", _ = _}"]]), Vars};
shape(map, Env, D) ->
    {Ps, Vars} = parts(lists:duplicate(n(3), any), Env, D),
    Keys = [case typed(any, Env) of [_ | _] = Names -> pick([key(), key(), key(), pick(Names)]); [] -> key() end || _ <- Ps],
    {["#{", lists:join(", ", [[K, " := ", P] || {K, P} <- lists:zip(Keys, Ps)]), "}"], Vars};
shape(Type, Env, _) when Type =:= bits; Type =:= bin -> gen_bits:pattern(Env);
shape(Type, _, _) when Type =:= fun1 -> fresh(Type);
shape(Type, _, _) -> {scalar(Type), []}.

around([Open, Close], {Ps, Vars}) -> {[Open, lists:join(", ", Ps), Close], Vars}.

parts(Types, Env, D) ->
    Parts = [pattern(T, Env, D) || T <- Types],
    {[P || {P, _} <- Parts], lists:append([Vars || {_, Vars} <- Parts])}.

%% ---- tests, as guards have them

tests(Env) ->
    case n(5) of
        1 -> [test(Env, 2), ", ", test(Env, 1)];
        2 -> [test(Env, 2), "; ", test(Env, 2)];
        _ -> test(Env, 2)
    end.

%% An expression that may stand in a guard, and mostly gives a boolean.
test(Env, Depth) when Depth > 0 ->
    case n(10) of
        1 -> ["(", test(Env, Depth - 1), pick([" andalso ", " orelse "]), test(Env, Depth - 1), ")"];
        2 -> ["(", test(Env, Depth - 1), pick([" and ", " or ", " xor "]), test(Env, Depth - 1), ")"];
        3 -> ["not ", "(", test(Env, Depth - 1), ")"];
        _ -> test(Env, 0)
    end;
test(Env, _) ->
    V = fun(Type) -> value(Type, Env, 2) end,
    case n(12) of
        N when N =< 3 -> Type = pick([int, num, num, any]), ["(", V(Type), compare(), V(Type), ")"];
        4 -> ["(", V(any), pick([" =:= ", " =/= ", " == "]), constant(any), ")"];
        N when N =< 7 ->
            [pick(["is_integer", "is_float", "is_number", "is_atom", "is_boolean", "is_list", "is_tuple", "is_binary", "is_bitstring", "is_map", "is_function", "is_pid",
                   "is_reference", "is_port"]), "(", V(any), ")"];
        8 -> ["is_function(", V(any), ", ", pick(["1", "2", V(small)]), ")"];
        9 -> ["is_record(", V(any), pick([", r1)", ", r2, 6)"])];
        10 -> ["is_map_key(", pick([key(), V(any)]), ", ", V(map), ")"];
        11 -> V(bool);
        12 -> ["(", V(small), compare(), pick(["0", "1", "3", V(int)]), ")"]
    end.

compare() -> [" ", pick(["==", "/=", "=:=", "=/=", "<", ">", "=<", ">="]), " "].

%% A value that a guard may compute.
value(Type, Env, Depth) ->
    V = fun(T) -> value(T, Env, Depth - 1) end,
    case n(3) of
        1 when Depth > 0, (Type =:= int orelse Type =:= num) ->
            case n(8) of
                1 -> ["(", V(int), pick([" + ", " - ", " * "]), V(int), ")"];
                2 -> ["(", V(int), pick([" band ", " bor ", " bxor ", " div ", " rem "]), V(int), ")"];
                3 -> ["(", V(int), pick([" bsl ", " bsr "]), pick(["1", "58", "60"]), ")"];
                4 -> [pick(["abs", "bnot"]), "(", V(int), ")"];
                5 -> [pick(["trunc", "round", "floor", "ceil"]), "(", V(num), ")"];
                6 -> pick([["length(", V(list), ")"], ["tuple_size(", V(tuple), ")"], ["map_size(", V(map), ")"], ["size(", V(tuple), ")"]]);
                7 -> [pick(["bit_size", "byte_size"]), "(", V(bits), ")"];
                8 -> ["(", V(num), " / ", V(num), ")"]
            end;
        1 when Depth > 0, Type =:= any ->
            case n(5) of
                1 -> ["hd(", V(list), ")"];
                2 -> ["element(", pick(["1", "2", V(small)]), ", ", V(tuple), ")"];
                3 -> ["map_get(", key(), ", ", V(map), ")"];
                4 -> ["tl(", V(list), ")"];
                5 -> ["float(", V(num), ")"]
            end;
        _ ->
            case typed(Type, Env) of
                [_ | _] = Names -> case chance(85) of true -> pick(Names); false -> plain(Type) end;
                [] -> plain(Type)
            end
    end.

plain(Type) when Type =:= fun1; Type =:= any -> scalar(any);
plain(Type) -> constant(Type).
