%% Generated modules, compiled by OTP and called on one VM after the other (crates/xtask/src/generated.rs says what for).
%%
%% Module N of a seed and call I of one of its functions follow from these numbers alone. A line of the outcomes is
%% `MODULE FUNCTION/ARITY I DIGEST`.
-module(generated).
-export([make/1, run/1, show/1, text/1, instructions/1]).

%% Compiles the modules First to Last of a seed into a folder.
make([Seed, First, Last, Dir]) ->
    Made = [compiled(list_to_integer(Seed), N, Dir) || N <- lists:seq(list_to_integer(First), list_to_integer(Last))],
    halt(case lists:member(failed, Made) of true -> 1; false -> 0 end).

compiled(Seed, N, Dir) ->
    {Text, Options} = gen_module:draw(Seed, N),
    Name = gen_module:name(N),
    try binary(forms(Text), Options) of
        {ok, _, Binary, _} -> file:write_file(filename:join(Dir, Name ++ ".beam"), Binary);
        {error, [{_, [{_, beam_validator, _} | _]} | _], _} -> io:format("generated: OTP's compiler refuses the code that it makes of ~s~n", [Name]);
        {error, [{_, [{none, compile, {crash, Pass, _, _}} | _]} | _], _} -> io:format("generated: pass ~s of OTP's compiler crashes on ~s~n", [Pass, Name]);
        {error, Errors, _} -> faulty(Name, Dir, Text, {Options, Errors})
    catch
        Class:Reason:Stack -> faulty(Name, Dir, Text, {Class, Reason, Stack})
    end.

%% Some combinations of options are too much for the compiler itself: then it does without.
binary(Forms, Options) ->
    case compile:forms(Forms, [binary, return | Options]) of
        {error, _, _} when Options =/= [] -> binary(Forms, []);
        Result -> Result
    end.

faulty(Name, Dir, Text, Why) ->
    file:write_file(filename:join(Dir, Name ++ ".erl"), unicode:characters_to_binary(Text)),
    io:format("generated: ~s does not compile: ~0tp~n", [Name, Why]),
    failed.

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    parsed(Tokens).

parsed([]) -> [];
parsed(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | parsed(Rest)].

text([Seed, N]) ->
    {Text, Options} = gen_module:draw(list_to_integer(Seed), list_to_integer(N)),
    io:format("%% ~0p~n~ts", [Options, Text]),
    halt(0).

%% Calls all functions of the modules in a folder, each so many times; outcomes go to a file. Of the calls that another file has outcomes
%% of, none is made that took too long there.
run([Seed, Dir, Calls, Patience, File, Others]) ->
    logger:set_primary_config(level, none),
    {ok, Lines} = file:read_file(Others),
    put(late, maps:from_list([{Call, true} || Line <- binary:split(Lines, <<"\n">>, [global]), [Call, <<>>] <- [binary:split(Line, <<" late">>)]])),
    {ok, Device} = file:open(File, [write, raw, binary]),
    Ns = [list_to_integer(N) || "g_" ++ N <- [filename:rootname(F) || F <- filelib:wildcard("g_*.beam", Dir)]],
    [ok = file:write(Device, lines(list_to_integer(Seed), N, Dir, list_to_integer(Calls), list_to_integer(Patience))) || N <- lists:sort(Ns)],
    ok = file:close(Device),
    halt(0).

lines(Seed, N, Dir, Calls, Patience) ->
    Module = loaded(N, Dir),
    Late = get(late),
    Lines = [begin
        Call = iolist_to_binary(io_lib:format("~w ~w/~w ~w", [Module, F, length(Types), I])),
        case Late of
            #{Call := _} -> [];
            _ -> [Call, " ", digest(outcome(Seed, N, Module, F, Types, I, Patience)), "\n"]
        end
    end || {F, Types} <- functions(Module), I <- lists:seq(1, Calls)],
    code:delete(Module),
    code:purge(Module),
    Lines.

loaded(N, Dir) ->
    {module, Module} = code:load_abs(filename:join(Dir, gen_module:name(N))),
    Module.

functions(Module) -> proplists:get_value(generated, Module:module_info(attributes)).

outcome(Seed, N, Module, F, Types, I, Patience) ->
    {Args, Draw} = arguments(Seed, N, F, Types, I),
    gen_run:call({Module, F}, Args, Draw, Patience).

%% The arguments of a call, and a number that says how it is made.
arguments(Seed, N, F, Types, I) ->
    rand:seed(exsss, (Seed bsl 64) bor (N bsl 40) bor (erlang:phash2(F, 1 bsl 24) bsl 16) bor I),
    {[gen_value:argument(T) || T <- Types], rand:uniform(1 bsl 20)}.

digest({same, late}) -> "late";
digest({same, Outcome}) -> binary:encode_hex(binary:part(erlang:md5(term_to_binary(Outcome)), 0, 8));
digest({differ, _}) -> "differs".

%% One call in full.
show([Seed, Number, Name, Call, Dir, Patience]) ->
    logger:set_primary_config(level, none),
    {S, N, I, F} = {list_to_integer(Seed), list_to_integer(Number), list_to_integer(Call), list_to_atom(Name)},
    Module = loaded(N, Dir),
    {F, Types} = lists:keyfind(F, 1, functions(Module)),
    {Args, _} = arguments(S, N, F, Types, I),
    io:format("~w:~w(~ts)~n", [Module, F, lists:join(", ", [io_lib:format("~0tp", [A]) || A <- Args])]),
    io:put_chars(gen_run:text(outcome(S, N, Module, F, Types, I, list_to_integer(Patience)))),
    halt(0).

%% How often each instruction stands in the modules up to Count, the rarest last.
instructions([Seed, Count]) ->
    Number = list_to_integer(Count),
    Names = lists:append([instructions(list_to_integer(Seed), N) || N <- lists:seq(1, Number)]),
    Counts = maps:fold(fun(Name, C, Acc) -> [{C, Name} | Acc] end, [], lists:foldl(fun(Name, M) -> maps:update_with(Name, fun(C) -> C + 1 end, 1, M) end, #{}, Names)),
    [io:format("~9w ~s~n", [C, Name]) || {C, Name} <- lists:reverse(lists:sort(Counts))],
    Known = [element(1, beam_opcodes:opname(Op)) || Op <- lists:seq(1, 255), is_opcode(Op)],
    io:format("without: ~0p~n", [lists:usort(Known) -- [Name || {_, Name} <- Counts]]),
    halt(0).

is_opcode(Op) -> try beam_opcodes:opname(Op) of _ -> true catch error:_ -> false end.

instructions(Seed, N) ->
    {Text, Options} = gen_module:draw(Seed, N),
    {ok, _, Binary, _} = binary(forms(Text), Options),
    {beam_file, _, _, _, _, Functions} = beam_disasm:file(Binary),
    [instruction(I) || {function, _, _, _, Is} <- Functions, I <- Is].

instruction({test, Name, _, _}) -> Name;
instruction({test, Name, _, _, _}) -> Name;
instruction({test, Name, _, _, _, _}) -> Name;
instruction({bif, _, _, Args, _}) -> list_to_atom("bif" ++ integer_to_list(length(Args)));
instruction({gc_bif, _, _, _, Args, _}) -> list_to_atom("gc_bif" ++ integer_to_list(length(Args)));
instruction({arithfbif, Name, _, _, _}) -> Name;
instruction(I) when is_tuple(I) -> element(1, I);
instruction(I) -> I.
