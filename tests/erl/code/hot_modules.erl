%% Modules are replaced and purged while their functions run often enough to be compiled.
-module(hot_modules).
-export([main/0]).

-define(MODULES, 4).
-define(VERSIONS, 15).

main() ->
    t:c(one_after_the_other, fun() -> [version(hot_1, N) || N <- lists:seq(1, 5)] end),
    t:c(side_by_side, fun side_by_side/0).

side_by_side() ->
    Workers = [spawn_monitor(fun() -> exit({sums, sums(M)}) end) || M <- modules()],
    lists:usort([receive {'DOWN', Ref, process, Pid, Reason} -> Reason end || {Pid, Ref} <- Workers]).

modules() -> [list_to_atom("hot_module_" ++ integer_to_list(N)) || N <- lists:seq(1, ?MODULES)].

sums(Module) -> lists:sum([version(Module, N) || N <- lists:seq(1, ?VERSIONS)]).

%% Loads a version, runs its loops, and purges it without a look at what is done with it meanwhile.
version(Module, N) ->
    {ok, Module, Code} = compile:forms(forms(Module, N)),
    {module, Module} = code:load_binary(Module, "hot", Code),
    Sum = Module:loop(20_000, 0),
    true = code:delete(Module),
    false = code:purge(Module),
    Sum.

%% Loops that call each other, with literals: a map key, a large integer and a tuple.
forms(Module, N) ->
    Number = integer_to_list(N),
    [form(Text) || Text <- [
        "-module(" ++ atom_to_list(Module) ++ ").",
        "-export([loop/2]).",
        "loop(0, Sum) -> Sum; loop(N, Sum) -> loop(N - 1, Sum + one(#{{a, b} => N}) rem 7).",
        "one(#{{a, b} := N}) -> two(N, {x, [" ++ Number ++ "]}).",
        "two(N, {x, [K]}) -> three(N + K, 0).",
        "three(N, _) when N > 123456789012345678901234567890 -> 0; three(N, _) -> N band 15."]].

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.
