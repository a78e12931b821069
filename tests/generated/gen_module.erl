%% A random module: its text, and the options that it is compiled with.
%%
%% Functions call those that stand before them, so that calls end; those that call themselves or each other count `fuel` down. The
%% attribute `generated` has the types of each function's parameters. A function has a level, one more than those it calls, so that
%% one call stays a small piece of work.
-module(gen_module).
-export([draw/2, name/1]).
-import(diff_terms, [n/1, pick/1, chance/1, many/2]).
-import(gen_expr, [variable/0, add/2, one/1, expr/3, body/3, guard/1, begin_function/2]).

name(Number) -> "g_" ++ integer_to_list(Number).

%% The module of a seed and a number.
draw(Seed, Number) ->
    rand:seed(exsss, Seed bsl 32 bor Number),
    erase(variable),
    Env = gen_expr:env(name(Number)),
    {Fns, Texts} = functions(5 + n(5), Env, [], []),
    Names = [{Name, Types} || {Name, Types, _, _} <- lists:reverse(Fns)],
    Inlined = [Name || Name <- Names, chance(10)],
    Text = [
        "-file(\"", name(Number), ".erl\", 1).\n",
        "-module(", name(Number), ").\n",
        "-export([", lists:join(", ", [signature(F) || F <- Names]), "]).\n",
        "-generated([", lists:join(", ", [["{", F, ", [", lists:join(", ", [atom_to_list(T) || T <- Types]), "]}"] || {F, Types} <- Names]), "]).\n",
        "-record(r1, {a, b = 0}).\n-record(r2, {x = [], y, z = 1.0, u = a, w}).\n",
        [["-compile({inline, [", lists:join(", ", [signature(F) || F <- Inlined]), "]}).\n"] || Inlined =/= []],
        rare(),
        lists:reverse(Texts)
    ],
    {unicode:characters_to_list(Text), options()}.

signature({Name, Types}) -> [Name, "/", integer_to_list(length(Types))].

%% Passes left out, and code for older releases, bring other sequences of instructions. (Without `bs_create_bin` the compiler refuses its own
%% code if it has types.)
options() ->
    case n(2) of
        1 -> [];
        2 -> lists:usort(lists:flatten(many(2, fun() ->
            pick([no_type_opt, no_ssa_opt, no_bool_opt, no_copt, no_bsm_opt, no_share_opt, no_fun_opt, no_recv_opt, no_stack_trimming, no_postopt,
                  no_init_yregs, no_make_fun3, no_shared_fun_wrappers, no_swap, inline, {inline_size, 60}, inline_list_funcs, r22, r23, r24,
                  [no_bs_create_bin, no_type_opt], [no_bs_create_bin, no_type_opt]])
        end)))
    end.

%% What seldom stands in a module.
rare() ->
    case n(20) of
        1 -> "-on_load(loads/0).\nloads() -> ok.\n";
        2 -> "-export([uncalled/0]).\n-nifs([uncalled/0]).\nuncalled() -> erlang:load_nif(\"nowhere\", 0).\n";
        _ -> ""
    end.

functions(0, _, Fns, Texts) -> {Fns, Texts};
functions(Left, Env, Fns, Texts) ->
    {New, Text} = one([
        {12, fun() -> plain(Env, Fns) end},
        {3, fun() -> recursive(Env, Fns) end},
        {2, fun() -> mutual(Env, Fns) end},
        {2, fun() -> deep(Env) end},
        {1, fun() -> over_list(Env) end},
        {2, fun() -> over_bits(Env) end},
        {1, fun() -> receiving(Env) end},
        {1, fun() -> floats(Env) end}
    ]),
    functions(Left - 1, Env, New ++ Fns, [Text | Texts]).

new_name() -> ["f", tl(variable())].

%% The functions that one of this level may call.
below(Level, Fns) -> [Fn || {_, _, _, L} = Fn <- Fns, L < Level].

level(Fns) -> case n(3) of 1 -> 0; _ -> min(2, 1 + lists:max([-1 | [L || {_, _, _, L} <- Fns]])) end.

a_type() -> pick([int, int, small, float, num, atom, bool, list, ints, tuple, bin, bits, map, rec, fun1, any]).

types() -> [a_type() || _ <- lists:seq(1, case n(12) of 1 -> 6 + n(6); 2 -> 0; _ -> n(5) end)].

%% Some clauses with patterns and guards, and a body each.
plain(Env, Fns) ->
    {Name, Types, Type, Level} = {new_name(), types(), a_type(), level(Fns)},
    begin_function(40, 3),
    Known = Env#{fns := below(Level, Fns)},
    Clauses = [matching(Name, Types, Type, Known) || Types =/= [], _ <- lists:seq(1, n(3) - 1)],
    Last = case {Clauses, n(4)} of {[_ | _], 1} -> []; _ -> [catching(Name, [], Types, Type, Known)] end,
    {[{Name, Types, Type, Level}], written(Clauses ++ Last)}.

written(Clauses) -> ["\n", lists:join(";\n", Clauses), ".\n"].

matching(Name, Types, Type, Env) ->
    Parts = [gen_pattern:pattern(T, Env, 2) || T <- Types],
    Inner = add(lists:append([Vars || {_, Vars} <- Parts]), Env),
    [Name, "(", lists:join(", ", [P || {P, _} <- Parts]), ")", guard(Inner), " ->\n    ", result(Type, Inner)].

%% A clause for all that stands behind the given patterns.
catching(Name, Given, Types, Type, Env) ->
    Vars = [{T, variable()} || T <- Types],
    [Name, "(", lists:join(", ", Given ++ [V || {_, V} <- Vars]), ") ->\n    ", result(Type, add(Vars, Env))].

%% A body. Some end with a call, half of them keep what was bound alive to their end.
result(Type, Env) ->
    Depth = 2 + n(2),
    case n(6) of
        N when N =< 2 -> body(Type, Env, Depth);
        3 ->
            {Statements, Inner} = gen_expr:sequence(n(4) - 1, Env, Depth),
            [[[S, ",\n    "] || S <- Statements], gen_expr:call(any, Inner, Depth)];
        _ ->
            V = variable(),
            Kept = [Name || {_, Name} <- maps:get(vars, Env), chance(50)],
            {Statements, Inner} = gen_expr:sequence(n(5), Env, Depth),
            Bound = [Name || {_, Name} <- lists:sublist(maps:get(vars, Inner), 8), chance(60)],
            [[[S, ",\n    "] || S <- Statements], V, " = ", expr(Type, Inner, Depth), ",\n    {", lists:join(", ", [V | lists:usort(Kept ++ Bound)]), "}"]
    end.

%% ---- recursion

recursive(Env, Fns) ->
    Fn = {_, Types, _, _} = {new_name(), [fuel | types()], a_type(), 2},
    {[Fn], counted(Fn, [Fn], Types, Env, below(1, Fns))}.

mutual(Env, Fns) ->
    Type = a_type(),
    Group = [{new_name(), [fuel | types()], Type, 2} || _ <- lists:seq(1, 1 + n(2))],
    {Group, [counted(Fn, Group, Types, Env, below(1, Fns)) || {_, Types, _, _} = Fn <- Group]}.

%% A function that calls itself or others of its group with one less, at most twice.
counted({Name, _, Type, _}, Group, [fuel | Types], Env, Fns) ->
    begin_function(12, 0),
    End = catching(Name, ["0"], Types, Type, Env),
    begin_function(25, 2),
    Left = variable(),
    Vars = [{T, variable()} || T <- Types],
    Inner = add([{small, Left} | Vars], Env#{fns := Fns, fuel := {[Left, " - 1"], Group}}),
    Names = lists:join(", ", [Left | [V || {_, V} <- Vars]]),
    written([
        End,
        [Name, "(", Names, ")", case n(3) of 1 -> ""; _ -> [" when ", Left, " > 0"] end, " ->\n    ", body(Type, Inner, 3)]
    ]).

%% Recursion that may be hundreds of frames deep, with little work in each.
deep(Env) ->
    {Name, N, A, B} = {new_name(), variable(), variable(), variable()},
    begin_function(6, 0),
    Type = pick([int, float, list, any]),
    Inner = add([{small, N}, {any, B}], Env),
    E = fun(T) -> expr(T, Inner, 2) end,
    Next = [Name, "(", N, " - 1, ", A, ", ", pick([B, E(any), [N, ", ", A]]), ")"],
    Step = case Next of
        [_, _, _, _, _, _, [_, ", ", _], _] -> ["[", Name, "(", N, " - 1, ", A, ", ", B, ") | ", A, "]"];
        _ -> one([
            {2, fun() -> ["[", E(any), " | ", Next, "]"] end},
            {2, fun() -> ["1 + ", Next] end},
            {1, fun() -> ["{", A, ", ", N, "} = {", A, ", ", N, "},\n    case ", Next, " of\n    [_ | _] = V0 -> tl(V0);\n    V0 -> V0\n    end"] end},
            {1, fun() -> Next end},
            {1, fun() -> ["try ", Next, " catch throw:V0 -> V0; error:{", N, ", _} -> ", E(any), " end"] end},
            {1, fun() -> ["case catch ", Next, " of {'EXIT', {_, V0}} -> V0; V0 -> [", N, " | V0] end"] end},
            {1, fun() -> ["{", Next, ", ", E(small), "}"] end},
            {1, fun() -> ["try ", Next, " after put(", N, " rem 3, ", E(any), ") end"] end}
        ])
    end,
    End = one([{3, fun() -> A end}, {1, fun() -> ["throw(", A, ")"] end}, {1, fun() -> ["error({", pick(["1", "2", "30"]), ", ", A, "})"] end}]),
    {[{Name, [deep, Type, any], any, 1}], written([
        [Name, "(0, ", A, ", _) -> ", End],
        [Name, "(", N, ", ", A, ", ", B, ") ->\n    ", Step]
    ])}.

over_list(Env) ->
    {Name, H, T, A} = {new_name(), variable(), variable(), variable()},
    begin_function(8, 0),
    Type = pick([int, any, bin, list, tuple]),
    Inner = add([{any, H}, {list, T}, {Type, A}], Env),
    Step = pick([
        [Name, "(", T, ", ", expr(Type, Inner, 2), ")"],
        ["[", expr(any, Inner, 2), " | ", Name, "(", T, ", ", A, ")]"],
        ["case ", gen_pattern:test(Inner, 1), " of true -> ", Name, "(", T, ", ", expr(Type, Inner, 1), "); false -> ", Name, "(", T, ", ", A, ") end"]
    ]),
    {[{Name, [list, Type], any, 1}], written([
        [Name, "([", H, " | ", T, "]", ", ", A, ")", guard(Inner), " ->\n    ", Step],
        [Name, "(", pick(["[]", "_"]), ", ", A, ") -> ", A]
    ])}.

%% Takes a bit string apart, piece by piece.
over_bits(Env) ->
    {Name, X, R, A} = {new_name(), variable(), variable(), variable()},
    begin_function(8, 0),
    {Type, Segment} = pick([{int, ":8"}, {int, ":5"}, {int, ":16/little"}, {int, ":12/signed"}, {int, "/utf8"}, {int, "/utf16"}, {bin, ":3/binary"}, {float, ":64/float"}, {bits, ":7/bits"},
                            {int, ":64"}, {int, ":61/signed"}]),
    Inner = add([{Type, X}, {list, A}], Env),
    Clauses = [
        [[Name, "(<<", pick(["$a", "0:3", "1:1, 1:1", "\"te\""]), ", ", R, "/bits>>, ", A, ") -> ", Name, "(", R, ", [a | ", A, "])"] || chance(50)],
        [[Name, "(<<", X, Segment, ", ", R, "/bits>>, ", A, ")", guard(Inner), " ->\n    ", pick([
            [Name, "(", R, ", [", expr(any, Inner, 2), " | ", A, "])"],
            ["[", X, " | ", Name, "(", R, ", ", A, ")]"],
            ["{", R, ", ", Name, "(", R, ", ", A, ")}"],
            ["case ", R, " of <<_:3, ", R, "1/bits>> when ", gen_pattern:test(Inner, 1), " -> ", Name, "(", R, "1, ", A, "); _ -> ", Name, "(", R, ", ", A, ") end"]
        ])]],
        [pick([[Name, "(<<>>, ", A, ") -> ", A], [Name, "(", R, ", ", A, ") -> {", A, ", ", R, "}"], [Name, "(<<", R, "/bits>>, ", A, ") -> [bit_size(", R, ") | ", A, "]"]])]
    ],
    {[{Name, [bits, list], any, 1}], written(lists:append(Clauses))}.

%% Takes messages that it has sent in some order.
receiving(Env) ->
    {Name, N, A, X} = {new_name(), variable(), variable(), variable()},
    begin_function(8, 0),
    Inner = add([{any, A}], Env),
    {P, Vars} = gen_pattern:pattern(any, Inner, 2),
    {[{Name, [fuel, any], any, 1}], written([
        [Name, "(0, ", A, ") ->\n    receive\n    {", P, ", ", X, "} ->\n    [", expr(any, add([{any, X} | Vars], Inner), 2), " | ", Name, "(0, ", X, ")];\n    {_, a} -> ", A,
         "\n    after 0 -> ", A, "\n    end"],
        [Name, "(", N, ", ", A, ") ->\n    self() ! {", expr(any, add([{small, N}], Inner), 2), ", ", pick([A, "a", N]), "},\n    ", Name, "(", N, " - 1, ", A, ")"]
    ])}.

%% A row of arithmetic on numbers that are known to be floats.
floats(Env) ->
    {Name, N} = {new_name(), 2 + n(3)},
    begin_function(30, 0),
    Vars = [{float, variable()} || _ <- lists:seq(1, N)],
    Tests = lists:join(", ", [["is_float(", V, ")"] || {_, V} <- Vars]),
    Row = fun Row(0) -> pick([V || {_, V} <- Vars]);
              Row(Left) -> case n(8) of
                  1 -> ["(-(abs(", Row(Left - 1), ") + 1.0))"];
                  2 -> ["(", Row(Left - 1), pick([" * ", " / "]), gen_value:constant(float), ")"];
                  _ -> ["(", Row(Left - 1), pick([" + ", " - ", " * ", " / "]), Row(Left - 1), ")"]
              end
          end,
    Inner = add(Vars, Env),
    {[{Name, [float || _ <- Vars], any, 0}], written([
        [Name, "(", lists:join(", ", [V || {_, V} <- Vars]), ") when ", Tests, " ->\n    {", Row(2 + n(2)), ", ", Row(1), ", ", Row(1), "}"],
        [Name, "(", lists:join(", ", [V || {_, V} <- Vars]), ") ->\n    ", Row(3), " + ", expr(num, Inner, 1)]
    ])}.
