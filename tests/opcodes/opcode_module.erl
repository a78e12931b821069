%% Modules of the functions of `opcode_cases`, one for each opcode: `o_NAME`, or `n_NAME` for those that OTP does not know yet.
-module(opcode_module).
-export([write/1]).

%% Writes all modules; the names of the opcodes that have cases.
write(Dir) ->
    Later = later(),
    ok = assembler(Later),
    Cases = opcode_cases:all(),
    Ops = lists:usort([Op || {Op, _, _} <- Cases]),
    [write(Op, prefix(Op, Later) ++ atom_to_list(Op), [{T, C} || {O, T, C} <- Cases, O =:= Op], Dir) || Op <- Ops],
    Ops.

prefix(Op, Later) -> case lists:keymember(Op, 1, Later) of true -> "n_"; false -> "o_" end.

%% Instructions of releases after this one: name, arity, opcode.
later() ->
    All = [{badrecord, 1, 180}, {update_record, 5, 181}, {bs_match, 3, 182}, {executable_line, 2, 183}, {debug_line, 4, 184}, {bif3, 6, 185}, {is_any_native_record, 2, 186},
           {is_native_record, 4, 187}, {get_record_elements, 3, 188}, {put_record, 6, 189}, {is_record_accessible, 3, 190}, {get_record_field, 5, 191}],
    [O || {Name, Arity, _} = O <- All, not is_known(Name, Arity)].

is_known(Name, Arity) -> try beam_opcodes:opcode(Name, Arity) of _ -> true catch error:_ -> false end.

%% OTP's assembler asks `beam_opcodes` for numbers: from now on it gets those of later releases, too.
assembler(Later) ->
    Known = lists:append([try {Name, Arity} = beam_opcodes:opname(N), [{Name, Arity, N}] catch error:_ -> [] end || N <- lists:seq(1, 255)]),
    Clause = fun({Name, Arity, N}) -> {clause, 1, [{atom, 1, Name}, {integer, 1, Arity}], [], [{integer, 1, N}]} end,
    Forms = [{attribute, 1, module, beam_opcodes}, {attribute, 1, export, [{opcode, 2}, {format_number, 0}]},
             {function, 1, opcode, 2, [Clause(O) || O <- Known ++ Later]},
             {function, 1, format_number, 0, [{clause, 1, [], [], [{integer, 1, beam_opcodes:format_number()}]}]}],
    {ok, beam_opcodes, Code} = compile:forms(Forms),
    true = code:unstick_mod(beam_opcodes),
    {module, beam_opcodes} = code:load_binary(beam_opcodes, "beam_opcodes", Code),
    ok.

write(Op, Name, Cases, Dir) ->
    Module = list_to_atom(Name),
    Named = [{list_to_atom(atom_to_list(Op) ++ "_" ++ integer_to_list(N)), Types, Code} || {N, {Types, Code}} <- lists:enumerate(Cases)],
    All = [{F, length(Types), Code} || {F, Types, Code} <- Named] ++ helpers(),
    {Functions, Top} = assembly(Module, All),
    Attributes = [{cases, [{F, Types} || {F, Types, _} <- Named]} | [{on_load, [{on_loading, 0}]} || Op =:= on_load]],
    {ok, Binary} = beam_asm:module({Module, [{F, A} || {F, A, _} <- All], Attributes, Functions, Top}, [], [], []),
    ok = file:write_file(filename:join(Dir, Name ++ ".beam"), Binary).

%% What cases call.
helpers() ->
    [X0, X1] = [{x, 0}, {x, 1}],
    Raise = fun(F) -> [{line, [{location, "helpers.erl", 1}]}, {call_ext_only, 1, {extfunc, erlang, F, 1}}] end,
    Below = [{is_integer, {f, 1}, X0}, {is_lt, {f, 1}, {integer, 0}, X0}, {is_lt, {f, 1}, X0, {integer, 2000}}],
    Less = {gc_bif2, {f, 0}, 1, {extfunc, erlang, '-', 2}, X0, {integer, 1}, X0},
    [{made, 1, [{test_heap, 6, 1}, {put_list, X0, nil, X1}, {put_tuple2, X0, {list, [X0, X1, {literal, "made"}]}}, return]},
     {both, 2, [{test_heap, 2, 2}, {put_list, X0, X1, X0}, return]},
     {body, 2, [{test_heap, 2, 2}, {put_list, X1, X0, X0}, return]},
     {eight, 8, [{test_heap, 9, 8}, {put_tuple2, X0, {list, [{x, I} || I <- lists:seq(0, 7)]}}, return]},
     {fails, 1, Raise(error)}, {throws, 1, Raise(throw)}, {exits, 1, Raise(exit)},
     {loop, 1, Below ++ [Less, {call_only, 1, {f, {loop, 1}}}, {label, 1}, return]},
     {deep, 1, Below ++ [{allocate, 1, 1}, {move, X0, {y, 0}}, Less, {call, 1, {f, {deep, 1}}}, {test_heap, 2, 1}, {put_list, {y, 0}, X0, X0}, {deallocate, 1}, return, {label, 1}, {move, nil, X0}, return]},
     {on_loading, 0, [{move, {atom, ok}, X0}, return]}].

%% Each function has the labels of its clause failure and of its entry, then its own.
assembly(Module, All) ->
    {Bases, Top} = lists:mapfoldl(fun({F, A, Code}, Next) -> {{{F, A}, Next}, Next + 2 + lists:max([0 | [L || {label, L} <- Code]])} end, 1, All),
    Functions = [begin
        Base = proplists:get_value({F, A}, Bases),
        Head = [{label, Base}, {line, [{location, "opcodes.erl", 1}]}, {func_info, {atom, Module}, {atom, F}, A}, {label, Base + 1}],
        {function, F, A, Base + 1, Head ++ [placed(I, Base, Bases) || I <- Code]}
    end || {F, A, Code} <- All],
    {Functions, Top}.

placed({label, L}, Base, _) -> {label, Base + 1 + L};
placed({f, 0}, _, _) -> {f, 0};
placed({f, info}, Base, _) -> {f, Base};
placed({f, L}, Base, _) when is_integer(L) -> {f, Base + 1 + L};
placed({f, Function}, _, Bases) -> {f, proplists:get_value(Function, Bases) + 1};
placed({literal, _} = Literal, _, _) -> Literal;
placed({line, _} = Line, _, _) -> Line;
placed(Tuple, Base, Bases) when is_tuple(Tuple) -> list_to_tuple(placed(tuple_to_list(Tuple), Base, Bases));
placed([H | T], Base, Bases) -> [placed(H, Base, Bases) | placed(T, Base, Bases)];
placed(Other, _, _) -> Other.
