%% Integers in the code that fit no word: their values, and that they go with the version of the module that they stand in.
-module(large_constants).
-export([main/0]).

main() ->
    load(compiled()),
    [t:c(integer_to_list(I), fun() -> of_index(I, V) end) || {I, V} <- indexed()],
    t:c(versions, fun versions/0).

of_index(I, V) ->
    {constant_values:of_index(I) =:= V, constant_values:plus(I, 1) - V, constant_values:is(I, V)}.

%% What a process holds outlives the version; nothing else does.
versions() ->
    Code = compiled(),
    Held = [constant_values:of_index(I) || {I, _} <- indexed()],
    First = reloaded(Code, 20),
    Second = reloaded(Code, 150),
    {Held =:= values(), Second - First < 400_000}.

reloaded(Code, Times) ->
    [begin load(Code), [true = constant_values:is(I, V) || {I, V} <- indexed()] end || _ <- lists:seq(1, Times)],
    memory().

values() ->
    [1 bsl 59, 1 bsl 60, -(1 bsl 60), (1 bsl 60) - 1, 1 bsl 63, -(1 bsl 63), (1 bsl 64) - 1, 1 bsl 64, -(1 bsl 64), 1 bsl 127,
     -(1 bsl 127), (1 bsl 127) - 1, 1 bsl 2000, -(1 bsl 2000) + 1].

indexed() ->
    lists:zip(lists:seq(1, length(values())), values()).

load(Code) ->
    code:purge(constant_values),
    {module, constant_values} = code:load_binary(constant_values, "constant_values.beam", Code).

%% The least of some looks: what is freed elsewhere may take a moment.
memory() ->
    lists:min([begin timer:sleep(50), erlang:garbage_collect(), erlang:memory(system) end || _ <- lists:seq(1, 6)]).

compiled() ->
    Clauses = fun(Format) -> lists:join(";\n", [io_lib:format(Format, [I, V]) || {I, V} <- indexed()]) end,
    Text = ["-module(constant_values). -export([of_index/1, plus/2, is/2]).\n",
            Clauses("of_index(~w) -> ~w"), ".\n", Clauses("plus(~w, X) -> X - 1 + ~w"), ".\n", Clauses("is(~w, ~w) -> true"), ".\n"],
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, constant_values, Code} = compile:forms(forms(Tokens)),
    Code.

forms(Tokens) ->
    case lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens) of
        {[], []} -> [];
        {Form, [Dot | Rest]} -> {ok, F} = erl_parse:parse_form(Form ++ [Dot]), [F | forms(Rest)]
    end.
