%% The line of an instruction that has none of its own: the one before it, unless that stands between a move to X0 and a tail call of a
%% function in Erlang.
-module(lines_of_calls).
-export([main/0]).

main() ->
    Calls = [{call_ext_only, 1, {extfunc, M, F, 1}} || {M, F} <- [{lists, last}, {erlang, atom_to_list}, {erlang, throw}]],
    Moves = [[], [{move, {x, 1}, {x, 0}}], [{move, {x, 1}, {x, 2}}], [{move, {atom, a}, {x, 0}}], [{move, {x, 1}, {x, 0}}, {move, {x, 1}, {x, 2}}]],
    t:each(behind, [{M, C} || M <- Moves, C <- Calls], fun behind/1).

behind({Moves, Call}) ->
    code:purge(lines_asm),
    {module, lines_asm} = code:load_binary(lines_asm, "lines_asm", assembled(Moves, Call)),
    try lines_asm:f(2, a) catch error:badarg:S -> element(4, lists:keyfind(lines_asm, 1, S)) end.

assembled(Moves, Call) ->
    Line = fun(N) -> {line, [{location, "lines_asm.erl", N}]} end,
    Code = [{label, 1}, Line(3), {func_info, {atom, lines_asm}, {atom, f}, 2},
            {label, 2}, {test, is_eq_exact, {f, 3}, [{x, 0}, {integer, 1}]}] ++ Moves ++ [Line(4), Call,
            {label, 3}, {bif, hd, {f, 0}, [{x, 1}], {x, 0}}, return],
    {ok, lines_asm, Binary} = compile:forms({lines_asm, [{f, 2}], [], [{function, f, 2, 2, Code}], 4}, [from_asm, binary]),
    Binary.
