%% A byte-code interpreter: a machine with a stack and two variables.
-module(native_machine).
-export([interpreter/1]).

-define(PUSH, 0).
-define(LOAD, 1).
-define(STORE, 2).
-define(ADD, 3).
-define(SUB, 4).
-define(MUL, 5).
-define(AND, 6).
-define(JUMP, 7).
-define(JUMP_IF_ZERO, 8).
-define(HALT, 9).

interpreter(N) -> run(0, program(), [], {0, N}).

%% Variable 1 counts down to 0; variable 0 becomes the sum of the squares of its odd values and of its even values.
program() ->
    <<?LOAD, 1, ?JUMP_IF_ZERO, 34,
      ?LOAD, 1, ?PUSH, 1, ?AND, ?JUMP_IF_ZERO, 18,
      ?LOAD, 1, ?LOAD, 1, ?MUL, ?JUMP, 20,
      ?LOAD, 1,
      ?LOAD, 0, ?ADD, ?STORE, 0,
      ?LOAD, 1, ?PUSH, 1, ?SUB, ?STORE, 1,
      ?JUMP, 0,
      ?HALT>>.

run(Pc, Code, Stack, Vars) ->
    case binary:at(Code, Pc) of
        ?PUSH ->
            run(Pc + 2, Code, [binary:at(Code, Pc + 1) | Stack], Vars);
        ?LOAD ->
            run(Pc + 2, Code, [element(binary:at(Code, Pc + 1) + 1, Vars) | Stack], Vars);
        ?STORE ->
            [Value | Rest] = Stack,
            run(Pc + 2, Code, Rest, setelement(binary:at(Code, Pc + 1) + 1, Vars, Value));
        ?ADD ->
            [B, A | Rest] = Stack,
            run(Pc + 1, Code, [A + B | Rest], Vars);
        ?SUB ->
            [B, A | Rest] = Stack,
            run(Pc + 1, Code, [A - B | Rest], Vars);
        ?MUL ->
            [B, A | Rest] = Stack,
            run(Pc + 1, Code, [A * B | Rest], Vars);
        ?AND ->
            [B, A | Rest] = Stack,
            run(Pc + 1, Code, [A band B | Rest], Vars);
        ?JUMP ->
            run(binary:at(Code, Pc + 1), Code, Stack, Vars);
        ?JUMP_IF_ZERO ->
            case Stack of
                [0 | Rest] -> run(binary:at(Code, Pc + 1), Code, Rest, Vars);
                [_ | Rest] -> run(Pc + 2, Code, Rest, Vars)
            end;
        ?HALT ->
            [] = Stack,
            element(1, Vars)
    end.
