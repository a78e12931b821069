%% Damaged code, loaded and called (crates/xtask/src/mutants.rs says what for).
%%
%% A mutant is made of a subject by its seed and number alone. Two in three are changed as assembly, with a grammar's eye: registers,
%% labels, numbers and constants are exchanged, tests left out, instructions moved, so that most of them still are code; the others as
%% bytes of the file. What loads is called with arguments of all kinds, each call in a process that is killed if it takes long.
-module(mutants).
-export([main/1, show/1]).

-define(WORKERS, 2).
%% Milliseconds that a call may take before it is killed, and that a killed process may take to end.
-define(PATIENCE, 40).
-define(TO_END, 60000).

main([SeedText, CountText, Dir]) ->
    {Seed, Count} = {list_to_integer(SeedText), list_to_integer(CountText)},
    logger:set_primary_config(level, none),
    Subjects = subjects(),
    Workers = [spawn_monitor(fun() -> worker(Seed, W, Count, Subjects, filename:join(Dir, integer_to_list(W))) end) || W <- lists:seq(1, ?WORKERS)],
    Results = [receive {'DOWN', Ref, process, Pid, Reason} -> Reason end || {Pid, Ref} <- Workers],
    Sums = [S || {done, S} <- Results],
    Failed = [R || R <- Results, not is_tuple(R) orelse element(1, R) =/= done],
    [Loaded, Called, Killed] = [lists:sum([element(I, S) || S <- Sums]) || I <- [1, 2, 3]],
    io:format("mutants: ~w mutants, ~w loaded, ~w calls, ~w killed (seed ~w)~n", [Count, Loaded, Called, Killed, Seed]),
    [io:format("mutants: FAILED ~0tP~n", [R, 60]) || R <- Failed],
    halt(case Failed of [] when Loaded * 10 > Count -> 0; _ -> 1 end).

%% The mutant of a seed and a number, its assembly and what its calls come to.
show([SeedText, NumberText]) ->
    logger:set_primary_config(level, none),
    {What, Binary} = mutant(list_to_integer(SeedText), list_to_integer(NumberText), subjects(), mutant_1),
    io:format("~tp~n", [What]),
    file:write_file("mutant_1.beam", Binary),
    io:format("~tp~n", [try_out(Binary, mutant_1, fun(Call) -> io:format("~tp~n", [Call]) end)]),
    halt().

worker(Seed, W, Count, Subjects, At) ->
    {ok, File} = file:open(At, [write, raw, binary]),
    Module = list_to_atom("mutant_" ++ integer_to_list(W)),
    exit({done, lists:foldl(fun(N, {Loaded, Called, Killed}) ->
        file:pwrite(File, 0, io_lib:format("~-9w", [N])),
        case mutant(Seed, N, Subjects, Module) of
            {_, none} -> {Loaded, Called, Killed};
            {_, Binary} ->
                case try_out(Binary, Module, fun(_) -> ok end) of
                    refused -> {Loaded, Called, Killed};
                    {C, K} -> {Loaded + 1, Called + C, Killed + K}
                end
        end
    end, {0, 0, 0}, lists:seq(W, Count, ?WORKERS))}).

%% ---- subjects

subjects() ->
    Own = lists:duplicate(12, mutant_subjects),
    Others = [lists, maps, queue, orddict, gb_trees, gb_sets, string, proplists, array, binary, base64, sets, erl_scan, calendar, digraph_utils, unicode_util],
    list_to_tuple([{M, Assembly, beam(M)} || M <- Own ++ Others, {ok, Assembly} <- [assembly(M)]]).

beam(M) -> {ok, B} = file:read_file(code:which(M)), B.

%% As the assembler takes it, if the file holds what it was compiled from.
assembly(M) ->
    case beam_lib:chunks(code:which(M), [abstract_code]) of
        {ok, {M, [{abstract_code, {_, Forms}}]}} ->
            {ok, M, {M, Exports, _, Functions, _}} = compile:forms(Forms, [to_asm, binary]),
            {ok, {Exports, Functions}};
        _ -> none
    end.

%% ---- mutants

mutant(Seed, N, Subjects, Module) ->
    %% (Of a tuple of numbers that are close to each other `rand` makes states that others of them have, too.)
    rand:seed(exsss, Seed bsl 32 bor N),
    {Name, {Exports, Functions}, Beam} = element(rand:uniform(tuple_size(Subjects)), Subjects),
    case rand:uniform(3) of
        1 -> {{bytes, Name}, bytes(Beam, Module)};
        _ ->
            Changed = changed(Functions, rand:uniform(3)),
            {{Name, [F || F <- Changed, not lists:member(F, Functions)]}, assemble(Module, Name, Exports, Changed)}
    end.

%% Bytes of the code changed, the rest of the file as it is but for the module's name.
bytes(Beam, Module) ->
    {ok, _, Chunks} = beam_lib:all_chunks(Beam),
    {ok, New} = beam_lib:build_module([chunk(Id, C, atom_to_binary(Module)) || {Id, C} <- Chunks, not lists:member(Id, ["Dbgi", "Docs", "Abst"])]),
    New.

chunk("Code", <<Size:32, Head:Size/binary, Code/binary>>, _) ->
    Damaged = lists:foldl(fun(_, C) ->
        At = rand:uniform(byte_size(C)) - 1,
        <<A:At/binary, B, Z/binary>> = C,
        New = case rand:uniform(3) of 1 -> rand:uniform(256) - 1; 2 -> B bxor (16 * rand:uniform(3)); 3 -> (B + 16) rem 256 end,
        case rand:uniform(12) of
            1 when Z =/= <<>> -> <<A/binary, Z/binary>>;
            2 -> <<A/binary, New, B, Z/binary>>;
            _ -> <<A/binary, New, Z/binary>>
        end
    end, Code, lists:seq(1, rand:uniform(3))),
    {"Code", <<Size:32, Head/binary, Damaged/binary>>};
chunk("AtU8", <<N:32, L, _:L/binary, Rest/binary>>, Name) -> {"AtU8", <<N:32, (byte_size(Name)), Name/binary, Rest/binary>>};
chunk(Id, C, _) -> {Id, C}.

changed(Functions, 0) -> Functions;
changed(Functions, Times) ->
    At = rand:uniform(length(Functions)),
    {function, F, A, E, Is} = lists:nth(At, Functions),
    New = {function, F, A, E, change(Is, Functions)},
    changed(lists:sublist(Functions, At - 1) ++ [New | lists:nthtail(At, Functions)], Times - 1).

%% Damages the instructions of one function, after its entry.
change(Is, Functions) ->
    {Head, Body} = lists:splitwith(fun(I) -> not (is_tuple(I) andalso element(1, I) =:= func_info) end, Is),
    case Body of
        [Info, Entry | Code] when length(Code) > 1 -> Head ++ [Info, Entry | damage(Code, Is, Functions)];
        _ -> Is
    end.

damage(Code, Is, Functions) ->
    At = rand:uniform(length(Code)),
    {Before, [I | After]} = lists:split(At - 1, Code),
    case rand:uniform(14) of
        1 -> Before ++ After;
        2 -> case After of [J | Rest] -> Before ++ [J, I | Rest]; [] -> Code end;
        3 -> {A, B} = lists:split(rand:uniform(length(Code)) - 1, Code), A ++ [I | B];
        4 -> Before ++ [any_instruction(Functions) | After];
        5 -> Before ++ [any_instruction(Functions), I | After];
        N when N < 9 -> without_test(Code);
        _ -> Before ++ [operands(I, labels(Is)) | After]
    end.

any_instruction(Functions) ->
    {function, _, _, _, Is} = lists:nth(rand:uniform(length(Functions)), Functions),
    case lists:nth(rand:uniform(length(Is)), Is) of
        {label, _} -> {move, {x, 0}, {x, 1}};
        {func_info, _, _, _} -> {move, {x, 1}, {x, 0}};
        I -> I
    end.

%% Leaves out one of the tests: what comes behind it trusts what it showed.
without_test(Code) ->
    Tests = [N || {N, I} <- lists:zip(lists:seq(1, length(Code)), Code), is_tuple(I), element(1, I) =:= test],
    case Tests of
        [] -> Code;
        _ -> At = lists:nth(rand:uniform(length(Tests)), Tests), lists:sublist(Code, At - 1) ++ lists:nthtail(At, Code)
    end.

labels(Is) -> [L || {label, L} <- Is].

%% Changes one of an instruction's operands.
operands({label, _} = I, _) -> I;
operands(I, Labels) when is_tuple(I), tuple_size(I) > 1 ->
    At = 1 + rand:uniform(tuple_size(I) - 1),
    setelement(At, I, operand(element(At, I), Labels));
operands(I, _) -> I.

operand({x, _}, _) -> {x, rand:uniform(6) - 1};
operand({y, _}, _) -> case rand:uniform(3) of 1 -> {x, rand:uniform(4) - 1}; _ -> {y, rand:uniform(4) - 1} end;
operand({fr, _}, _) -> {fr, rand:uniform(3) - 1};
operand({f, _}, Labels) -> {f, lists:nth(rand:uniform(length(Labels)), Labels)};
operand({integer, _}, _) -> constant();
operand({atom, _}, _) -> constant();
operand({literal, _}, _) -> constant();
operand({list, L}, Labels) when L =/= [] -> {list, items(L, Labels)};
operand(L, Labels) when is_list(L), L =/= [] -> items(L, Labels);
operand({tr, R, _}, Labels) -> operand(R, Labels);
operand({alloc, L}, _) -> {alloc, [{K, rand:uniform(6) - 1} || {K, _} <- L]};
operand({field_flags, _}, _) -> {field_flags, rand:uniform(8) - 1};
operand(N, _) when is_integer(N) -> case rand:uniform(3) of 1 -> N + 1; 2 -> max(0, N - 1); 3 -> rand:uniform(8) - 1 end;
operand(Other, _) -> Other.

items(L, Labels) ->
    At = rand:uniform(length(L)),
    lists:sublist(L, At - 1) ++ [operand(lists:nth(At, L), Labels) | lists:nthtail(At, L)].

constant() ->
    case rand:uniform(9) of
        1 -> nil;
        2 -> {atom, all};
        3 -> {literal, {a, [b], <<"c">>}};
        4 -> {literal, [1, 2 | x]};
        5 -> {literal, #{a => {1, 2}}};
        6 -> {integer, -1};
        7 -> {integer, 1 bsl 70};
        8 -> {x, rand:uniform(4) - 1};
        9 -> {integer, rand:uniform(70)}
    end.

assemble(Module, Name, Exports, Functions) ->
    Top = lists:max([0 | [L || {function, _, _, _, Is} <- Functions, L <- labels(Is)]]) + 1,
    Code = [{function, F, A, E, [placed(I, Name, Module) || I <- Is]} || {function, F, A, E, Is} <- Functions],
    try beam_asm:module({Module, Exports, [], Code, Top}, [], [], [{source, "m"}]) of
        {ok, Binary} when is_binary(Binary) -> Binary;
        {ok, Binary, _} -> Binary
    catch _:_ -> none
    end.

placed({func_info, _, F, A}, _, Module) -> {func_info, {atom, Module}, F, A};
placed(I, Name, Module) -> here(I, Name, Module).

here({extfunc, Name, F, A}, Name, Module) -> {extfunc, Module, F, A};
here(T, Name, Module) when is_tuple(T) -> list_to_tuple(here(tuple_to_list(T), Name, Module));
here([H | T], Name, Module) -> [here(H, Name, Module) | here(T, Name, Module)];
here(T, _, _) -> T.

%% ---- calls

%% `refused`, or how many calls were made and how many of them were killed.
try_out(Binary, Module, Tell) ->
    case code:load_binary(Module, "mutant", Binary) of
        {module, Module} ->
            Exports = [E || {F, _} = E <- erlang:get_module_info(Module, exports), F =/= module_info],
            Calls = [{F, arguments(A)} || {F, A} <- pick(Exports, 6), _ <- [1, 2]],
            Killed = [call(Module, F, As, Tell) || {F, As} <- Calls],
            code:purge(Module),
            code:delete(Module),
            code:purge(Module),
            {length(Calls), lists:sum(Killed)};
        {error, _} -> refused
    end.

pick(List, N) -> lists:sublist([E || {_, E} <- lists:sort([{rand:uniform(), E} || E <- List])], N).

call(Module, F, As, Tell) ->
    Tell({F, As}),
    {Pid, Ref} = spawn_opt(fun() ->
        self() ! {hello, [world]},
        self() ! [{1, 2}, 3],
        R = (catch apply(Module, F, As)),
        %% The result is walked in all ways.
        exit({erlang:phash2(R), catch erlang:external_size(R), R =:= R, erts_debug:flat_size(R), iolist_size(io_lib:format("~0P", [R, 20]))})
    end, [monitor, {max_heap_size, #{size => 3000000, kill => true, error_logger => false}}]),
    receive {'DOWN', Ref, process, Pid, Why} -> Tell(Why), 0
    after ?PATIENCE ->
        exit(Pid, kill),
        receive {'DOWN', Ref, process, Pid, _} -> 1
        after ?TO_END -> exit({does_not_die, Module, F, As, process_info(Pid, current_stacktrace)})
        end
    end.

arguments(A) -> [argument() || _ <- lists:seq(1, A)].

argument() ->
    case rand:uniform(24) of
        1 -> [];
        2 -> [{a, 1}, {b, 2}, c];
        3 -> {1, [2], "three"};
        4 -> <<"text and more text">>;
        5 -> <<1:3>>;
        6 -> #{a => 1, b => {2, 3}};
        7 -> rand:uniform(300) - 3;
        8 -> 1 bsl 65;
        9 -> 1.5;
        10 -> a;
        11 -> [1, 2 | 3];
        12 -> {};
        13 -> fun(X) -> X end;
        14 -> fun(X, Y) -> [X | Y] end;
        15 -> self();
        16 -> "abc def";
        17 -> lists:seq(1, 20);
        18 -> {r, 1, 2, 3, 4};
        19 -> binary:copy(<<"long enough to be shared ">>, 20);
        20 -> make_ref();
        21 -> maps:from_list([{N, N} || N <- lists:seq(1, 40)]);
        22 -> [<<"a">>, [b, "c"]];
        23 -> {4, {2, nil, nil}, nil};
        24 -> -1
    end.
