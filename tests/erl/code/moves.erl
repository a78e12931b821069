%% Neighbouring moves, some of which become one instruction: every pair of moves between three X registers, a Y register and
%% constants, and triples of them, before a return, a call and a call in tail position. Written as assembly, for a compiler
%% leaves out what these do in vain. What each leaves in the registers is compared with a model.
-module(moves).
-export([main/0]).

main() ->
    Moves = [{move, From, To} || To <- registers(), From <- registers() ++ constants(), From =/= To],
    Pairs = [[A, B] || A <- Moves, B <- Moves],
    Some = [A || {I, A} <- lists:enumerate(Moves), I rem 3 =:= 0],
    Triples = [[A, B, C] || A <- Some, B <- Moves, C <- Some],
    [t:c(io_lib:format("~p ~p", [What, End]), fun() -> check(Sequences, End) end)
     || {What, Sequences} <- [{pairs, Pairs}, {triples, Triples}], End <- [return, call, tail_call]].

registers() -> [{x, 0}, {x, 1}, {x, 2}, {y, 0}].
constants() -> [{atom, constant}, {integer, -7}, nil, {literal, {literal}}, {integer, 1 bsl 40}].

%% How many there are, a hash of what they leave, and which leave something else than they should.
check(Sequences, End) ->
    Numbered = lists:enumerate(Sequences),
    load([function(N, Moves, End) || {N, Moves} <- Numbered], length(Sequences)),
    Got = [apply(moved, name(N), [first, second, third]) || {N, _} <- Numbered],
    Wrong = [{Moves, Result} || {Moves, Result} <- lists:zip(Sequences, Got), Result =/= expected(Moves, End)],
    {length(Got), erlang:phash2(Got), lists:sublist(Wrong, 5)}.

expected(Moves, End) ->
    Start = #{{x, 0} => first, {x, 1} => second, {x, 2} => third, {y, 0} => third},
    #{{x, 0} := A, {x, 1} := B, {x, 2} := C, {y, 0} := D} =
        lists:foldl(fun({move, From, To}, File) -> File#{To := value(From, File)} end, Start, Moves),
    case End of
        return -> {A, B, C, D};
        call -> {{A, B, C}, D};
        tail_call -> {A, B, C}
    end.

value({Type, Value}, File) -> maps:get({Type, Value}, File, Value);
value(nil, _) -> [].

%% The N-th sequence is a function of its own.
name(N) -> list_to_atom("f" ++ integer_to_list(N)).

function(N, Moves, End) ->
    Entry = 2 * N + 4,
    {function, name(N), 3, Entry,
     [{label, Entry - 1}, {func_info, {atom, moved}, {atom, name(N)}, 3},
      {label, Entry}, {allocate, 1, 3}, {move, {x, 2}, {y, 0}} | Moves ++ rest(End)]}.

rest(return) -> tuple(3, [{x, 0}, {x, 1}, {x, 2}, {y, 0}]) ++ [{deallocate, 1}, return];
rest(call) -> [{call, 3, {f, 4}} | tuple(1, [{x, 0}, {y, 0}])] ++ [{deallocate, 1}, return];
rest(tail_call) -> [{call_last, 3, {f, 4}, 1}].

tuple(Live, Elements) -> [{test_heap, 1 + length(Elements), Live}, {put_tuple2, {x, 0}, {list, Elements}}].

%% The function that is called puts its arguments into a tuple.
load(Functions, Count) ->
    Collect =
        {function, collect, 3, 4,
         [{label, 3}, {func_info, {atom, moved}, {atom, collect}, 3},
          {label, 4} | tuple(3, [{x, 0}, {x, 1}, {x, 2}])] ++ [return]},
    Exports = [{name(N), 3} || N <- lists:seq(1, Count)],
    Asm = {moved, Exports, [], [Collect | Functions], 2 * Count + 5},
    {ok, moved, Beam} = compile:forms(Asm, [from_asm, no_postopt]),
    {module, moved} = code:load_binary(moved, "moved.beam", Beam),
    code:purge(moved).
