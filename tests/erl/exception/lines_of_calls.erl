%% The line of an instruction that has none of its own: the one before it, unless that was a tail call's of a function in Erlang.
-module(lines_of_calls).
-export([main/0]).

main() ->
    t:each(behind, [{lists, last}, {erlang, atom_to_list}, {erlang, throw}, {lists, reverse}], fun behind/1).

behind({M, F}) ->
    {module, lines_asm} = code:load_binary(lines_asm, "lines_asm", assembled({call_ext_only, 1, {extfunc, M, F, 1}})),
    try lines_asm:f(2, a) catch error:badarg:S -> element(4, lists:keyfind(lines_asm, 1, S)) end.

assembled(Call) ->
    Line = fun(N) -> {line, [{location, "lines_asm.erl", N}]} end,
    Code = [{label, 1}, Line(3), {func_info, {atom, lines_asm}, {atom, f}, 2},
            {label, 2}, {test, is_eq_exact, {f, 3}, [{x, 0}, {integer, 1}]}, {move, {x, 1}, {x, 0}}, Line(4), Call,
            {label, 3}, {bif, hd, {f, 0}, [{x, 1}], {x, 0}}, return],
    {ok, lines_asm, Binary} = compile:forms({lines_asm, [{f, 2}], [], [{function, f, 2, 2, Code}], 4}, [from_asm, binary]),
    Binary.
