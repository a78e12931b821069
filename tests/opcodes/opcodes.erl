%% Each generic instruction in small functions, called on one VM after the other (crates/xtask/src/opcodes.rs says what for).
-module(opcodes).
-export([make/1, run/1, show/1]).

%% Milliseconds that a call may take.
-define(PATIENCE, 30000).

%% Writes the modules into a folder, and says which opcodes have cases.
make([Dir]) ->
    [io:format("~s~n", [Op]) || Op <- opcode_module:write(Dir)],
    halt(0).

%% Calls all functions of the modules in a folder whose names begin so, each so many times; a line of the file of outcomes is
%% `MODULE FUNCTION/ARITY I DIGEST`.
run([Dir, Prefix, Calls, File]) ->
    logger:set_primary_config(level, none),
    {ok, Device} = file:open(File, [write, raw, binary, {delayed_write, 65536, 1000}]),
    Names = lists:sort([filename:rootname(F) || F <- filelib:wildcard(Prefix ++ "*.beam", Dir)]),
    [ok = file:write(Device, lines(Name, Dir, list_to_integer(Calls))) || Name <- Names],
    ok = file:close(Device),
    halt(0).

lines(Name, Dir, Calls) ->
    case code:load_abs(filename:join(Dir, Name)) of
        {module, Module} -> lines_of(Name, Module, Calls);
        {error, Why} -> io_lib:format("~s ~w unloadable~n", [Name, Why])
    end.

lines_of(Name, Module, Calls) ->
    Lines = [[Name, io_lib:format(" ~s/~w ~w ", [F, length(Types), I]), digest(outcome(Module, F, Types, I)), "\n"] || {F, Types} <- cases(Module), I <- lists:seq(1, Calls)],
    code:delete(Module),
    code:purge(Module),
    Lines.

cases(Module) -> proplists:get_value(cases, erlang:get_module_info(Module, attributes)).

outcome(Module, F, Types, I) ->
    {Args, Draw} = opcode_values:arguments(Module, F, Types, I),
    gen_run:call({Module, F}, Args, Draw, ?PATIENCE).

digest({same, late}) -> "late";
digest({same, Outcome}) -> binary:encode_hex(binary:part(erlang:md5(term_to_binary(Outcome)), 0, 8));
digest({differ, _}) -> "differs".

%% One call in full.
show([Dir, Name, Function, Call]) ->
    logger:set_primary_config(level, none),
    {module, Module} = code:load_abs(filename:join(Dir, Name)),
    F = list_to_atom(Function),
    {F, Types} = lists:keyfind(F, 1, cases(Module)),
    {Args, _} = opcode_values:arguments(Module, F, Types, list_to_integer(Call)),
    io:format("~w:~w(~ts)~n", [Module, F, lists:join(", ", [io_lib:format("~0tp", [A]) || A <- Args])]),
    io:put_chars(gen_run:text(outcome(Module, F, Types, list_to_integer(Call)))),
    halt(0).
