%% A module of the library that somebody has replaced runs as it stands, whatever a VM knows of the library's own.
-module(replaced_library).
-export([main/0]).

main() ->
    t:c(printing, fun() -> replaced(io_lib_pretty, "print(_, _) -> \"patched\".", fun() -> io_lib_pretty:print({a, [b]}, []) end) end),
    t:c(restored, fun() -> lists:flatten(io_lib_pretty:print({a, [b]}, [])) end),
    t:c(covered, fun covered/0).

%% What `Fun` gives while `Module` is one of which only this is left.
replaced(Module, Text, Fun) ->
    [Name | _] = string:split(Text, "("),
    Arity = length(string:split(hd(string:split(Text, ")")), ",", all)),
    Forms = [form(T) || T <- [io_lib:format("-module(~s).", [Module]), io_lib:format("-export([~s/~w]).", [Name, Arity]), Text]],
    {ok, Module, Code} = compile:forms(Forms),
    true = code:unstick_mod(Module),
    {module, Module} = code:load_binary(Module, "patched", Code),
    Result = Fun(),
    code:purge(Module),
    {module, Module} = code:load_file(Module),
    code:purge(Module),
    true = code:stick_mod(Module),
    Result.

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

%% `cover` counts the lines of what it has compiled.
covered() ->
    Dir = filename:join(code:lib_dir(stdlib), "ebin"),
    ok = code:unstick_dir(Dir),
    {ok, io_lib_pretty} = cover:compile_beam(io_lib_pretty),
    Text = lists:flatten(io_lib_pretty:print({a, [b]}, [])),
    {ok, Lines} = cover:analyse(io_lib_pretty, calls, function),
    cover:stop(),
    ok = code:stick_dir(Dir),
    {Text, [F || {{_, F, A}, N} <- Lines, N > 0, {F, A} =/= {print, 2}]}.
