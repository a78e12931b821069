%% The compiler at work, on a module that is made here: N groups of functions with records, cases, comprehensions, funs and binaries.
-module(native_compile).
-export([compile/1]).

%% What the module computes when it has been loaded.
compile(N) ->
    Forms = [form(Text) || Text <- text(N)],
    {ok, Module, Code} = compile:forms(Forms, [binary]),
    {module, Module} = code:load_binary(Module, "made", Code),
    Sum = Module:all(),
    code:purge(Module),
    Sum.

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

text(N) ->
    ["-module(native_made).", "-export([all/0])."] ++ all(N) ++ lists:append([group(integer_to_list(I)) || I <- lists:seq(1, N)]).

all(N) ->
    [lists:flatten(["all() -> 0", [[" + area_", integer_to_list(I), "(", integer_to_list(I rem 5), ")"] || I <- lists:seq(1, N)], "."])].

group(I) ->
    [lists:flatten(Text) || Text <- [
        ["area_", I, "(0) -> sum_", I, "([1, 2, 3], 0);",
         "area_", I, "(N) when N < 3 -> case shape_", I, "(N) of {square, S} -> S * S; {oblong, A, B} -> A * B; _ -> 0 end;",
         "area_", I, "(N) -> Made = made_", I, "(N), byte_size(Made) + sum_", I, "([X * X || X <- [N, 2, ", I, "], X > 1], 0)."],
        ["sum_", I, "([X | Rest], Sum) -> sum_", I, "(Rest, Sum + X); sum_", I, "([], Sum) -> Sum."],
        ["shape_", I, "(1) -> {square, ", I, "}; shape_", I, "(2) -> {oblong, 2, ", I, "}; shape_", I, "(_) -> none."],
        ["made_", I, "(N) -> F = fun(X) -> X + N end, Map = #{n => N, i => ", I, "},",
         "#{i := Y} = Map, try <<(F(Y)):16, N:8, 1:8>> catch error:_ -> <<>> end."]]].
