%% Small functions in BEAM assembly, some for each generic instruction (crates/xtask/src/opcodes.rs says what for).
%%
%% A case is {Opcode, Types, Code}: a function whose arguments are of these types (`opcode_values`). Operands stand in the order of the
%% table in crates/beam/src/opcode.rs, so no instruction has a form of its own here, but `line` and `make_fun3`, which the assembler
%% numbers. Labels from 1 on are the function's own; `info` is its clause failure, {name, Arity} the entry of a helper of
%% `opcode_module`. X0, X1... have the arguments at the start.
-module(opcode_cases).
-export([all/0]).

all() -> lists:append([tests(), branches(), calls(), frames(), data(), raises(), messages(), floats(), built_ins(), maps(), making_bits(), appending(), matching(), newer()]).

%% ---- shapes

erl(F, A) -> {extfunc, erlang, F, A}.
imp(M, F, A) -> {extfunc, M, F, A}.
x(N) -> {x, N}.
y(N) -> {y, N}.
none() -> {f, 0}.
flags(L) -> {field_flags, L}.
room(Words) -> {alloc, [{words, Words}, {floats, 0}, {funs, 0}]}.
fun_room(Live) -> {test_heap, {alloc, [{words, 0}, {floats, 0}, {funs, 1}]}, Live}.
line(N) -> {line, [{location, "opcodes.erl", N}]}.

%% Arguments in a frame: the code finds them in Y registers, and drops the frame where it returns, unless it has done so (`return_now`).
framed(K, Code) -> [{allocate, K, K}] ++ [{move, x(I), y(I)} || I <- seq(K)] ++ lists:append([dropped(I, K) || I <- Code]).

dropped(return, K) -> [{deallocate, K}, return];
dropped(return_now, _) -> [return];
dropped(I, _) -> [I].

seq(K) -> lists:seq(0, K - 1).

%% A test that says whether it held.
says(Test) -> [Test, {move, {atom, yes}, x(0)}, return, {label, 1}, {move, {atom, no}, x(0)}, return].

%% Variants of an instruction by where its sources are: X registers, Y registers, a constant for one of them.
variants(Op, Types, Make) ->
    K = length(Types),
    Xs = [x(I) || I <- seq(K)],
    Constants = [{Op, Types, Make(set(P, C, Xs))} || P <- lists:seq(1, K), C <- constants(lists:nth(P, Types))],
    [{Op, Types, Make(Xs)}, {Op, Types, framed(K, Make([y(I) || I <- seq(K)]))} | Constants].

set(P, C, L) -> lists:sublist(L, P - 1) ++ [C | lists:nthtail(P, L)].

constants(int) -> [{integer, 7}, {integer, 1 bsl 59}, {integer, -(1 bsl 60) - 1}];
constants(num) -> [{integer, -1}, {literal, 1.5}];
constants(any) -> [{integer, (1 bsl 60) - 1}, {atom, a}, nil, {literal, [1 | 2.0]}];
constants(_) -> [].

%% ---- tests

tests() ->
    One = [is_integer, is_float, is_number, is_atom, is_pid, is_reference, is_port, is_nil, is_binary, is_list, is_nonempty_list, is_tuple, is_function, is_boolean, is_bitstr, is_map],
    Two = [is_lt, is_ge, is_eq, is_ne, is_eq_exact, is_ne_exact],
    [C || Op <- One, C <- lists:sublist(variants(Op, [any], fun([A]) -> says({Op, {f, 1}, A}) end), 2)]
        ++ [C || Op <- Two, Types <- [[any, any], [num, num]], C <- variants(Op, Types, fun([A, B]) -> says({Op, {f, 1}, A, B}) end)]
        ++ [{Op, [bits], says({Op, {f, 1}, x(0)})} || Op <- [is_binary, is_bitstr]]
        ++ lists:sublist(variants(is_function2, ['fun', small], fun([A, B]) -> says({is_function2, {f, 1}, A, B}) end), 2)
        ++ [{is_function2, ['fun'], says({is_function2, {f, 1}, x(0), {integer, 1}})},
            {test_arity, [any], says_both({is_tuple, {f, 1}, x(0)}, {test_arity, {f, 1}, x(0), 2})},
            {test_arity, [tuple], framed(1, says_both({is_tuple, {f, 1}, y(0)}, {test_arity, {f, 1}, y(0), 0}))},
            {is_tagged_tuple, [tuple], says({is_tagged_tuple, {f, 1}, x(0), 2, {atom, a}})},
            {is_tagged_tuple, [any], framed(1, says({is_tagged_tuple, {f, 1}, y(0), 1, {atom, a}}))}].

says_both(A, B) -> [A | says(B)].

branches() ->
    Chosen = fun(Labels) -> lists:append([[{label, L}, {move, {integer, L}, x(0)}, return] || L <- Labels]) end,
    Select = fun(Op, Type, Values) ->
        Pairs = lists:append([[V, {f, L}] || {L, V} <- lists:enumerate(Values)]),
        Code = fun(Source) -> [{Op, Source, {f, length(Values) + 1}, {list, Pairs}} | Chosen(lists:seq(1, length(Values) + 1))] end,
        [{Op, [Type], Code(x(0))}, {Op, [Type], framed(1, Code(y(0)))}]
    end,
    Select(select_val, small, [{integer, N} || N <- [0, 1, 2, 3, 4, 7]])
        ++ Select(select_val, int, [{integer, N} || N <- [-1, 255, (1 bsl 59) - 1, -(1 bsl 59)]])
        ++ Select(select_val, any, [{atom, A} || A <- [a, b, true, false, ok, undefined, error, 'an atom']])
        ++ Select(select_val, any, [{atom, a}, {atom, ok}])
        ++ [{select_tuple_arity, [tuple], says_arity(x(0))}, {select_tuple_arity, [any], framed(1, says_arity(y(0)))}]
        ++ [{jump, [any], [{jump, {f, 1}}, {label, 2}, {move, {atom, wrong}, x(0)}, return, {label, 1}, {jump, {f, 3}}, {label, 3}, return]},
            {func_info, [any], [line(1), {is_integer, {f, info}, x(0)}, return]},
            {func_info, [any, any, any, any, any, any, any], [line(1), {is_atom, {f, info}, x(6)}, {move, x(6), x(0)}, return]},
            {label, [any], [{label, 1}, {label, 2}, {is_nil, {f, 3}, x(0)}, {label, 3}, return]},
            {int_code_end, [any], [return]},
            {return, [any], [return]}].

says_arity(A) ->
    Pairs = lists:append([[N, {f, N + 1}] || N <- [0, 1, 2, 4]]),
    [{is_tuple, {f, 9}, A}, {select_tuple_arity, A, {f, 9}, {list, Pairs}}]
        ++ lists:append([[{label, L}, {move, {integer, L}, x(0)}, return] || L <- [1, 2, 3, 5, 9]]).

%% ---- calls

%% `made/1` builds {X, [X], ...}, `both/2` a pair; `fails/1` raises what it gets.
calls() ->
    [{call, [any], framed(1, [{move, y(0), x(0)}, line(10), {call, 1, {f, {made, 1}}}, {test_heap, 2, 1}, {put_list, y(0), x(0), x(0)}, return])},
     {call, [any], framed(1, [{move, y(0), x(0)}, line(11), {call, 1, {f, {fails, 1}}}, return])},
     {call, [small], framed(1, [{move, y(0), x(0)}, {call, 1, {f, {deep, 1}}}, return])},
     {call_last, [any], framed(1, [{move, y(0), x(0)}, {call_last, 1, {f, {made, 1}}, 1}])},
     {call_only, [any, any], [{swap, x(0), x(1)}, {call_only, 2, {f, {both, 2}}}]},
     {call_only, [small], [{call_only, 1, {f, {loop, 1}}}]},
     {call_only, [any, any, any, any, any, any, any, any], [{call_only, 8, {f, {eight, 8}}}]},
     {call, [any, any, any, any, any, any, any, any], framed(8, [{move, y(I), x(7 - I)} || I <- seq(8)] ++ [{call, 8, {f, {eight, 8}}}, {test_heap, 2, 1}, {put_list, y(7), x(0), x(0)}, return])},
     {call_ext, [any], framed(1, [{move, y(0), x(0)}, line(12), {call_ext, 1, imp(gen_run, id, 1)}, return])},
     {call_ext, [any], framed(1, [{move, y(0), x(0)}, line(13), {call_ext, 1, erl(tuple_to_list, 1)}, return])},
     {call_ext, [list], framed(1, [{move, y(0), x(0)}, line(14), {call_ext, 1, imp(lists, reverse, 1)}, return])},
     {call_ext, [any], framed(1, [{move, y(0), x(0)}, line(15), {call_ext, 1, imp(gen_run, no_such_function, 1)}, return])},
     {call_ext_last, [any], framed(1, [{move, y(0), x(0)}, line(16), {call_ext_last, 1, erl(list_to_tuple, 1), 1}])},
     {call_ext_last, [any], framed(1, [{move, y(0), x(0)}, {call_ext_last, 1, imp(gen_run, id, 1), 1}])},
     {call_ext_only, [any], [{call_ext_only, 1, imp(gen_run, id, 1)}]},
     {call_ext_only, [any], [line(17), {call_ext_only, 1, erl(atom_to_list, 1)}]},
     {call_ext_only, [any], [line(18), {call_ext_only, 1, erl(throw, 1)}]},
     {call_fun, ['fun', any], framed(2, [{move, y(1), x(0)}, {move, y(0), x(1)}, line(19), {call_fun, 1}, return])},
     {call_fun, [any], framed(1, [{move, y(0), x(0)}, line(20), {call_fun, 0}, return])},
     {call_fun, ['fun', any], framed(2, [{move, y(1), x(0)}, {move, y(0), x(1)}, line(21), {call_fun, 1}, return])},
     {call_fun2, ['fun', any], framed(2, [{move, y(1), x(0)}, line(22), {call_fun2, {atom, unsafe}, 1, y(0)}, return])},
     {call_fun2, [any, any], framed(2, [{move, y(0), x(0)}, {move, y(1), x(2)}, line(23), {call_fun2, {atom, unsafe}, 2, x(2)}, return])},
     {call_fun2, [any, any], [fun_room(2), {make_fun3, {f, {body, 2}}, 0, 0, x(1), {list, [x(1)]}}, {allocate, 0, 2}, line(24), {call_fun2, {atom, safe}, 1, x(1)}, {deallocate, 0}, return]},
     {apply, [any, any], framed(2, [{move, y(0), x(0)}, {move, {atom, gen_run}, x(1)}, {move, {atom, id}, x(2)}, line(25), {apply, 1}, return])},
     {apply, [any, any], framed(2, [{move, y(0), x(1)}, {move, y(0), x(0)}, {move, y(1), x(2)}, line(26), {apply, 1}, return])},
     {apply, [any], framed(1, [{move, y(0), x(0)}, {move, {atom, erlang}, x(1)}, {move, {atom, hd}, x(2)}, line(27), {apply, 1}, return])},
     {apply_last, [any], framed(1, [{move, y(0), x(0)}, {move, {atom, gen_run}, x(1)}, {move, {atom, id}, x(2)}, {apply_last, 1, 1}])},
     {apply_last, [any, any], framed(2, [{move, y(0), x(1)}, {move, y(0), x(0)}, {move, y(1), x(2)}, line(28), {apply_last, 1, 2}])},
     {make_fun3, [any, any], [fun_room(2), {make_fun3, {f, {body, 2}}, 0, 0, x(0), {list, [x(1)]}}, return]},
     {make_fun3, [any, any], framed(2, [fun_room(0), {make_fun3, {f, {body, 2}}, 0, 0, y(0), {list, [y(1)]}}, {move, y(1), x(0)}, {call_fun2, {atom, unsafe}, 1, y(0)}, return])},
     {make_fun3, [any], [fun_room(1), {make_fun3, {f, {made, 1}}, 0, 0, x(0), {list, []}}, return]},
     {make_fun2, [any, any], [{make_fun2, {f, {body, 2}}, 0, 0, 1}, return]},
     {line, [any], framed(1, [line(30), {move, y(0), x(0)}, {call, 1, {f, {fails, 1}}}, line(31), return])},
     {nif_start, [any], [nif_start, return]},
     {on_load, [any], [return]}].

%% ---- frames

frames() ->
    Build = [{put_list, x(0), nil, x(1)}, {put_tuple2, x(0), {list, [x(1), {atom, a}, {integer, 1 bsl 60}]}}],
    [{allocate, [any, any], [{allocate, 2, 2}, {move, x(0), y(0)}, {move, x(1), y(1)}, {call, 1, {f, {made, 1}}}, {test_heap, 4, 1}, {put_tuple2, x(0), {list, [x(0), y(0), y(1)]}}, {deallocate, 2}, return]},
     {allocate_heap, [any], [{allocate_heap, 1, room(7), 1}, {move, x(0), y(0)}] ++ Build ++ [{move, x(0), y(0)}, {deallocate, 1}, return]},
     {allocate_zero, [any], [{allocate_zero, 3, 1}, {move, x(0), y(1)}, {call, 1, {f, {made, 1}}}, {test_heap, 4, 1}, {put_tuple2, x(0), {list, [x(0), y(0), y(1)]}}, {deallocate, 3}, return]},
     {allocate_heap_zero, [any], [{allocate_heap_zero, 2, 7, 1}, {move, x(0), y(1)}] ++ Build ++ [{move, y(0), x(1)}, {deallocate, 2}, return]},
     {test_heap, [any], [{test_heap, 6, 1} | Build] ++ [return]},
     {test_heap, [any, any, any], [{test_heap, room(600), 3}] ++ [{put_list, x(0), nil, x(0)}] ++ lists:append(lists:duplicate(140, [{put_list, x(1), x(0), x(0)}, {put_list, x(2), x(0), x(0)}])) ++ [return]},
     {init, [any], [{allocate, 2, 1}, {init, y(0)}, {init, y(1)}, {call, 1, {f, {made, 1}}}, {test_heap, 3, 1}, {put_tuple2, x(0), {list, [x(0), y(1)]}}, {deallocate, 2}, return]},
     {init_yregs, [any], [{allocate, 3, 1}, {init_yregs, {list, [y(0), y(2)]}}, {move, x(0), y(1)}, {call, 1, {f, {made, 1}}}, {test_heap, 5, 1}, {put_tuple2, x(0), {list, [x(0), y(0), y(1), y(2)]}}, {deallocate, 3}, return]},
     {deallocate, [any], [{allocate, 0, 1}, {deallocate, 0}, {allocate_zero, 5, 1}, {deallocate, 5}, return]},
     {trim, [any, any, any], framed(3, [{call, 1, {f, {made, 1}}}, {trim, 2, 1}, {test_heap, 2, 1}, {put_list, x(0), y(0), x(0)}, {deallocate, 1}, return_now])},
     {trim, [any], framed(1, [{trim, 0, 1}, {move, y(0), x(0)}, return])}].

%% ---- data

data() ->
    Cons = fun(Code) -> [{is_nonempty_list, {f, 1}, x(0)}] ++ Code ++ [return, {label, 1}, {move, {atom, no}, x(0)}, return] end,
    Pair = fun(Code) -> [{is_tuple, {f, 1}, x(0)}, {test_arity, {f, 1}, x(0), 2}] ++ Code ++ [return, {label, 1}, {move, {atom, no}, x(0)}, return] end,
    variants(move, [any], fun([A]) -> [{move, A, x(3)}, {move, x(3), x(0)}, return] end)
        ++ variants(put_list, [any, any], fun([A, B]) -> [{test_heap, 2, 2}, {put_list, A, B, x(0)}, return] end)
        ++ variants(put_tuple2, [any, any], fun([A, B]) -> [{test_heap, 5, 2}, {put_tuple2, x(0), {list, [B, A, {literal, 2.5}, nil]}}, return] end)
        ++ [{put_list, [any, any], framed(2, [{test_heap, 4, 0}, {put_list, y(0), y(1), y(0)}, {put_list, y(0), y(0), x(0)}, return])},
            {swap, [any, any], [{swap, x(0), x(1)}, {test_heap, 2, 2}, {put_list, x(0), x(1), x(0)}, return]},
            {swap, [any, any], framed(2, [{swap, y(0), y(1)}, {move, y(0), x(0)}, {swap, x(0), y(1)}, {test_heap, 2, 1}, {put_list, x(0), y(1), x(0)}, return])},
            {get_list, [list], Cons([{get_list, x(0), x(1), x(2)}, {test_heap, 3, 3}, {put_tuple2, x(0), {list, [x(2), x(1)]}}])},
            {get_list, [any], Cons([{get_list, x(0), x(0), x(1)}])},
            {get_list, [list], framed(1, Cons([{get_list, x(0), x(0), y(0)}, {test_heap, 3, 1}, {put_tuple2, x(0), {list, [x(0), y(0)]}}]))},
            {get_hd, [list], Cons([{get_hd, x(0), x(0)}])},
            {get_hd, [list], framed(1, Cons([{get_hd, y(0), y(0)}, {move, y(0), x(0)}]))},
            {get_tl, [list], Cons([{get_tl, x(0), x(0)}])},
            {get_tl, [list], framed(1, Cons([{get_tl, y(0), y(0)}, {move, y(0), x(0)}]))},
            {get_tuple_element, [tuple], Pair([{get_tuple_element, x(0), 1, x(0)}])},
            {get_tuple_element, [tuple], framed(1, Pair([{get_tuple_element, y(0), 0, x(0)}, {get_tuple_element, y(0), 1, y(0)}, {test_heap, 2, 1}, {put_list, x(0), y(0), x(0)}]))},
            {set_tuple_element, [tuple, any], framed(2, [{move, y(0), x(1)}, {move, {integer, 1}, x(0)}, {move, y(1), x(2)}, line(40), {call_ext, 3, erl(setelement, 3)}, {set_tuple_element, y(1), x(0), 0}, return])}].

%% ---- exceptions

raises() ->
    Try = fun(Body, Handler) ->
        [{allocate, 3, 1}, {init_yregs, {list, [y(1), y(2)]}}, {'try', y(0), {f, 1}}, {move, x(0), y(1)}, line(50), {call, 1, Body}, {try_end, y(0)}, {test_heap, 2, 1}, {put_list, y(1), x(0), x(0)}, {deallocate, 3}, return,
         {label, 1}, {try_case, y(0)}] ++ Handler ++ [{deallocate, 3}, return]
    end,
    Told = [{test_heap, 3, 3}, {put_tuple2, x(0), {list, [x(0), x(1)]}}],
    Kinds = [{fails, 1}, {throws, 1}, {exits, 1}, {made, 1}],
    [{badmatch, [any], framed(1, [line(51), {badmatch, y(0)}])}, {badmatch, [any], [line(52), {badmatch, x(0)}]}, {badmatch, [any], [{badmatch, {literal, [a]}}]},
     {if_end, [any], [line(53), if_end]},
     {case_end, [any], [line(54), {case_end, x(0)}]}, {case_end, [any], framed(1, [line(55), {case_end, y(0)}])},
     {try_case_end, [any], [line(56), {try_case_end, x(0)}]}, {try_case_end, [any], framed(1, [{try_case_end, y(0)}])}]
        ++ [{'catch', [any], [{allocate, 1, 1}, {'catch', y(0), {f, 1}}, line(57), {call, 1, {f, K}}, {label, 1}, {catch_end, y(0)}, {deallocate, 1}, return]} || K <- Kinds]
        ++ [{catch_end, [any], [{allocate, 2, 1}, {'catch', y(1), {f, 2}}, {'catch', y(0), {f, 1}}, {call, 1, {f, K}}, {label, 1}, {catch_end, y(0)}, line(58), {call, 1, {f, {throws, 1}}}, {label, 2}, {catch_end, y(1)}, {deallocate, 2}, return]} || K <- Kinds]
        ++ [{'try', [any], Try({f, K}, Told)} || K <- Kinds]
        ++ [{try_end, [any], Try({f, K}, Told)} || K <- [{made, 1}]]
        ++ [{try_case, [any], Try({f, K}, [{move, x(2), y(2)}, {move, x(1), x(0)}, {call, 1, {f, {made, 1}}}])} || K <- Kinds]
        ++ [{build_stacktrace, [any], Try({f, K}, [{move, x(2), x(0)}, {move, x(1), y(1)}, build_stacktrace, {test_heap, 3, 1}, {put_tuple2, x(0), {list, [x(0), y(1)]}}])} || K <- Kinds]
        ++ [{raise, [any], Try({f, K}, [line(59), {raise, x(2), x(1)}])} || K <- Kinds]
        ++ [{raise, [any, any], Try({f, {throws, 1}}, [line(60), {raise, x(2), {atom, another}}])}]
        ++ [{raw_raise, [any], Try({f, K}, [line(61), raw_raise])} || K <- Kinds]
        ++ [{raw_raise, [any], Try({f, {fails, 1}}, [{move, y(1), x(0)}, line(62), raw_raise])},
            {raw_raise, [any], Try({f, {fails, 1}}, [build_raw_trace()] ++ [raw_raise])}].

build_raw_trace() -> {move, {atom, exit}, x(0)}.

%% ---- messages

messages() ->
    Own = {bif0, erl(self, 0), x(0)},
    Send = fun(What) -> [{move, What, x(1)}, Own, send] end,
    %% The first message that is `stop`, or any at all.
    Any = [{label, 1}, {loop_rec, {f, 2}, x(0)}, {move, x(0), y(0)}, remove_message, {move, y(0), x(0)}, return, {label, 2}, {wait, {f, 1}}],
    Stop = [{label, 1}, {loop_rec, {f, 2}, x(0)}, {is_eq_exact, {f, 3}, x(0), {atom, stop}}, remove_message, {move, {atom, stopped}, x(0)}, return, {label, 3}, {loop_rec_end, {f, 1}}, {label, 2}, {wait, {f, 1}}],
    Late = fun(Time) -> [line(70), {label, 1}, {loop_rec, {f, 2}, x(0)}, {is_eq_exact, {f, 3}, x(0), {atom, stop}}, remove_message, {move, {atom, stopped}, x(0)}, return, {label, 3}, {loop_rec_end, {f, 1}}, {label, 2}, {wait_timeout, {f, 1}, Time}, timeout, {move, {atom, late}, x(0)}, return] end,
    Reference = [{label, 1}, {loop_rec, {f, 2}, x(0)}, {is_eq_exact, {f, 3}, x(0), y(1)}, remove_message, {move, {atom, found}, x(0)}, return, {label, 3}, {loop_rec_end, {f, 1}}, {label, 2}, {wait, {f, 1}}],
    Marked = [{recv_marker_reserve, x(0)}, {move, x(0), y(1)}, line(71), {call_ext, 0, erl(make_ref, 0)}, {recv_marker_bind, y(1), x(0)}, {move, x(0), y(1)}],
    [{Op, [any], framed(1, Send(y(0)) ++ Any)} || Op <- [send, loop_rec, remove_message]]
        ++ [{Op, [any], framed(1, Send(y(0)) ++ Send({atom, stop}) ++ Send(y(0)) ++ Stop)} || Op <- [loop_rec_end, wait]]
        ++ [{send, [any, any], framed(2, [{move, y(0), x(0)}, {move, y(1), x(1)}, line(72), send, return])},
            {wait, [any], framed(1, [{move, y(0), x(2)}, Own, {move, x(0), x(1)}, {move, {integer, 1}, x(0)}, line(73), {call_ext, 3, erl(send_after, 3)}] ++ Any)},
            {wait_timeout, [wait], framed(1, Late(y(0)))}, {timeout, [any], framed(1, Late({integer, 1}))},
            {wait_timeout, [any], framed(1, Send(y(0)) ++ Late({integer, 2}))}, {wait_timeout, [any], framed(1, Send({atom, stop}) ++ Late({atom, infinity}))}]
        ++ [{Op, [any, any], framed(2, Send({atom, stop}) ++ Marked ++ Send(y(0)) ++ Send(y(1)) ++ [{recv_marker_use, y(1)} || Op =/= recv_marker_clear] ++ [{recv_marker_clear, y(1)} || Op =:= recv_marker_clear] ++ Reference)}
            || Op <- [recv_marker_reserve, recv_marker_bind, recv_marker_use, recv_marker_clear]]
        ++ [{Op, [any], framed(1, [{recv_mark, {f, 1}}] ++ Send(y(0)) ++ [{recv_set, {f, 1}}] ++ Any)} || Op <- [recv_mark, recv_set]].

%% ---- floats

floats() ->
    Room = {test_heap, {alloc, [{words, 3}, {floats, 2}, {funs, 0}]}, 2},
    Binary = fun(Op, A, B) -> [line(80), {fconv, A, {fr, 0}}, {fconv, B, {fr, 1}}, {Op, none(), {fr, 0}, {fr, 1}, {fr, 2}}, Room, {fmove, {fr, 2}, x(0)}, return] end,
    [C || Op <- [fadd, fsub, fmul, fdiv], Types <- [[float, float], [num, num]], C <- variants(Op, Types, fun([A, B]) -> Binary(Op, A, B) end)]
        ++ [{fadd, [num, num, num, num], [line(81)] ++ [{fconv, x(I), {fr, I}} || I <- seq(4)] ++ [{fadd, none(), {fr, 0}, {fr, 1}, {fr, 4}}, {fsub, none(), {fr, 2}, {fr, 3}, {fr, 5}}, {fmul, none(), {fr, 4}, {fr, 5}, {fr, 6}}, {fdiv, none(), {fr, 6}, {fr, 0}, {fr, 0}}, Room, {fmove, {fr, 0}, x(0)}, {fmove, {fr, 6}, x(1)}, {put_tuple2, x(0), {list, [x(0), x(1)]}}, return]},
            {fnegate, [num], [line(82), {fconv, x(0), {fr, 0}}, {fnegate, none(), {fr, 0}, {fr, 1}}, room_for_float(1), {fmove, {fr, 1}, x(0)}, return]},
            {fconv, [any], [line(83), {fconv, x(0), {fr, 0}}, room_for_float(1), {fmove, {fr, 0}, x(0)}, return]},
            {fconv, [int], framed(1, [line(84), {fconv, y(0), {fr, 0}}, room_for_float(1), {fmove, {fr, 0}, y(0)}, {move, y(0), x(0)}, return])},
            {fmove, [float], [{is_float, {f, 1}, x(0)}, {fmove, x(0), {fr, 3}}, room_for_float(1), {fmove, {fr, 3}, x(0)}, return, {label, 1}, {move, {atom, no}, x(0)}, return]},
            {fmove, [float], framed(1, [{is_float, {f, 1}, y(0)}, {fmove, y(0), {fr, 0}}, room_for_float(0), {fmove, {fr, 0}, x(0)}, return, {label, 1}, {move, {atom, no}, x(0)}, return])},
            {fmove, [any], [{fmove, {literal, 1.0e100}, {fr, 0}}, room_for_float(1), {fmove, {fr, 0}, x(0)}, return]}]
        ++ [{Op, [num], [line(85), fclearerror, {fconv, x(0), {fr, 0}}, {fmul, none(), {fr, 0}, {fr, 0}, {fr, 0}}, {fcheckerror, none()}, room_for_float(1), {fmove, {fr, 0}, x(0)}, return]} || Op <- [fclearerror, fcheckerror]].

room_for_float(Live) -> {test_heap, {alloc, [{words, 0}, {floats, 1}, {funs, 0}]}, Live}.

%% ---- built-in functions

built_ins() ->
    Guarded = fun(Make) -> fun(Sources) -> Make({f, 1}, Sources) ++ [{label, 1}, {move, {atom, failed}, x(0)}, return] end end,
    Both = fun(Op, Types, Make) -> lists:append([variants(Op, Types, fun(Sources) -> [line(90) | Make(none(), Sources)] end), lists:sublist(variants(Op, Types, Guarded(Make)), 2)]) end,
    Bif = fun(Op, F, Types) -> Both(Op, Types, fun(Fail, Sources) -> [list_to_tuple([Op, Fail, erl(F, length(Types))] ++ Sources ++ [x(0)]), return] end) end,
    Gc = fun(Op, F, Types) -> Both(Op, Types, fun(Fail, Sources) -> [list_to_tuple([Op, Fail, length(Types), erl(F, length(Types))] ++ Sources ++ [x(0)]), return] end) end,
    %% Those that build nothing may stand between a request for room and its use.
    Room = fun(Op, F, Types) -> {Op, Types, [line(91), {test_heap, 3, length(Types)}, list_to_tuple([Op, none(), erl(F, length(Types))] ++ [x(I) || I <- seq(length(Types))] ++ [x(3)]), {put_tuple2, x(0), {list, [x(3), x(0)]}}, return]} end,
    Tests = [is_atom, is_binary, is_bitstring, is_boolean, is_float, is_function, is_integer, is_list, is_map, is_number, is_pid, is_port, is_reference, is_tuple],
    [{bif0, [], [{bif0, erl(F, 0), x(0)}, return]} || F <- [self, node]]
        ++ [Room(bif1, F, [any]) || F <- Tests ++ ['not', hd, tl, tuple_size, node, get]]
        ++ [Room(bif2, F, Types) || {F, Types} <- [{element, [small, tuple]}, {map_get, [any, map]}, {is_map_key, [any, map]}, {'and', [bool, bool]}, {'or', [bool, bool]}, {'xor', [bool, bool]}, {is_function, ['fun', small]}, {'=:=', [any, any]}, {'<', [num, num]}]]
        ++ lists:append([Bif(bif1, F, T) || {F, T} <- [{hd, [list]}, {tl, [list]}, {'not', [bool]}, {is_atom, [any]}, {is_function, [any]}, {tuple_size, [any]}, {node, [any]}, {is_map, [any]}, {get, [any]}]])
        ++ lists:append([Bif(bif2, F, T) || {F, T} <- [{element, [small, tuple]}, {'=:=', [any, any]}, {'==', [num, num]}, {'/=', [num, any]}, {'=/=', [any, any]}, {'<', [any, any]}, {'>=', [num, num]}, {'and', [bool, bool]}, {'or', [bool, any]}, {'xor', [bool, bool]}, {map_get, [any, map]}, {is_map_key, [any, map]}, {is_function, ['fun', small]}]])
        ++ lists:append([Gc(gc_bif1, F, T) || {F, T} <- [{'-', [num]}, {'+', [num]}, {'bnot', [int]}, {abs, [num]}, {float, [num]}, {trunc, [num]}, {round, [num]}, {ceil, [num]}, {floor, [num]}, {length, [list]}, {size, [any]}, {byte_size, [bits]}, {bit_size, [bits]}, {map_size, [map]}, {tuple_size, [tuple]}]])
        ++ lists:append([Gc(gc_bif2, F, T) || {F, T} <- [{'+', [num, num]}, {'-', [num, num]}, {'*', [num, num]}, {'/', [num, num]}, {'div', [int, int]}, {'rem', [int, int]}, {'band', [int, int]}, {'bor', [int, int]}, {'bxor', [int, int]}, {'bsl', [int, shift]}, {'bsr', [int, shift]}, {'+', [any, any]}, {'*', [int, int]}, {binary_part, [bits, any]}]])
        ++ lists:append([Gc(gc_bif3, F, T) || {F, T} <- [{binary_part, [bits, small, small]}]]).

%% ---- maps

maps() ->
    Map = fun(Code) -> [{is_map, {f, 1}, x(0)} | Code] ++ [return, {label, 1}, {move, {atom, no}, x(0)}, return] end,
    [{put_map_assoc, [any, any], [{put_map_assoc, none(), {literal, #{}}, x(0), 2, {list, [x(0), x(1)]}}, return]},
     {put_map_assoc, [any, any], [{put_map_assoc, none(), {literal, #{}}, x(0), 2, {list, [{atom, a}, x(0), {atom, b}, x(1)]}}, return]},
     {put_map_assoc, [map, any], Map([line(100), {put_map_assoc, none(), x(0), x(0), 2, {list, [{literal, 1.0}, {atom, b}, {atom, a}, x(1)]}}])},
     {put_map_assoc, [map, any, any], framed(3, Map([line(101), {put_map_assoc, none(), y(0), y(0), 3, {list, [y(1), y(2)]}}, {move, y(0), x(0)}]))},
     {put_map_exact, [map, any], Map([line(102), {put_map_exact, none(), x(0), x(0), 2, {list, [{atom, a}, x(1)]}}])},
     {put_map_exact, [map, any, any], framed(3, Map([line(103), {put_map_exact, none(), y(0), x(0), 3, {list, [y(1), y(2)]}}]))},
     {put_map_exact, [map, any], Map([line(104), {put_map_exact, none(), x(0), x(0), 2, {list, [{literal, 1.0}, x(1), {literal, []}, {integer, 1 bsl 60}]}}])},
     {has_map_fields, [map], Map([{has_map_fields, {f, 1}, x(0), {list, [{atom, a}]}}])},
     {has_map_fields, [map, any], Map([{has_map_fields, {f, 1}, x(0), {list, [x(1)]}}])},
     {get_map_elements, [map], Map([{get_map_elements, {f, 1}, x(0), {list, [{atom, a}, x(0)]}}])},
     {get_map_elements, [map, any], Map([{get_map_elements, {f, 1}, x(0), {list, [x(1), x(1)]}}, {test_heap, 2, 2}, {put_list, x(0), x(1), x(0)}])},
     {get_map_elements, [map], framed(1, Map([{get_map_elements, {f, 1}, y(0), {list, [{literal, 1.0}, x(0), {literal, []}, y(0)]}}, {test_heap, 2, 1}, {put_list, x(0), y(0), x(0)}]))}].

%% ---- making bit strings

making_bits() ->
    Init = fun(Bytes) -> [line(110), {bs_init2, none(), Bytes, 0, 2, flags([]), x(2)}] end,
    Done = [{move, x(2), x(0)}, return],
    Integer = [{bs_put_integer, [int, int], Init(8) ++ [{bs_put_integer, none(), {integer, 64}, 1, flags(Fs), x(0)}] ++ Done} || Fs <- [[], [little]]],
    Integer
        ++ [{bs_put_integer, [int, int], [line(111), {bs_init_bits, none(), 75, 0, 2, flags([]), x(2)}, {bs_put_integer, none(), {integer, 3}, 1, flags([]), x(0)}, {bs_put_integer, none(), {integer, 72}, 1, flags([signed, little]), x(1)}] ++ Done},
            {bs_put_integer, [any, small], [line(112), {bs_add, none(), {integer, 0}, x(1), 1, x(2)}, {bs_init_bits, none(), x(2), 0, 3, flags([]), x(2)}, {bs_put_integer, none(), x(1), 1, flags([]), x(0)}] ++ Done},
            {bs_put_float, [num, num], Init(12) ++ [{bs_put_float, none(), {integer, 64}, 1, flags([]), x(0)}, {bs_put_float, none(), {integer, 32}, 1, flags([little]), x(1)}] ++ Done},
            {bs_put_float, [any, any], Init(2) ++ [{bs_put_float, none(), {integer, 16}, 1, flags([]), x(0)}] ++ Done},
            {bs_put_binary, [bits, small], [line(113), {gc_bif1, none(), 2, erl(byte_size, 1), x(0), x(1)}, {bs_init2, none(), x(1), 0, 2, flags([]), x(2)}, {bs_put_binary, none(), {atom, all}, 8, flags([]), x(0)}] ++ Done},
            {bs_put_binary, [bits, small], [line(114), {bs_init_bits, none(), 16, 0, 2, flags([]), x(2)}, {bs_put_binary, none(), {integer, 16}, 1, flags([]), x(0)}] ++ Done},
            {bs_put_string, [int, any], Init(11) ++ [{bs_put_string, 3, {string, <<"abc">>}}, {bs_put_integer, none(), {integer, 64}, 1, flags([]), x(0)}] ++ Done},
            {bs_init2, [small, small], [line(115), {bs_add, none(), {integer, 0}, x(0), 1, x(2)}, {bs_init2, none(), x(2), 0, 3, flags([]), x(2)}, {bs_add, none(), {integer, 0}, x(0), 8, x(1)}, {bs_put_integer, none(), x(1), 1, flags([]), {integer, 1}}] ++ Done},
            {bs_init_bits, [int, any], [line(116), {bs_init_bits, none(), 11, 0, 2, flags([]), x(2)}, {bs_put_integer, none(), {integer, 11}, 1, flags([]), x(0)}] ++ Done},
            {bs_add, [size, size], [line(117), {bs_add, none(), x(0), x(1), 8, x(0)}, return]},
            {bs_add, [size, size], [line(118), {bs_add, {f, 1}, x(0), x(1), 3, x(0)}, return, {label, 1}, {move, {atom, failed}, x(0)}, return]},
            {bs_utf8_size, [code], [{bs_utf8_size, none(), x(0), x(0)}, return]}, {bs_utf8_size, [code], framed(1, [{bs_utf8_size, none(), y(0), x(0)}, return])},
            {bs_utf16_size, [code], [{bs_utf16_size, none(), x(0), x(0)}, return]}, {bs_utf16_size, [code], framed(1, [{bs_utf16_size, none(), y(0), x(0)}, return])}]
        ++ [{Op, [char, any], [line(121), {is_integer, {f, 1}, x(0)}, {Size, none(), x(0), x(1)}, {bs_init2, none(), x(1), 0, 2, flags([]), x(2)}, {Op, none(), flags(Fs), x(0)}] ++ Done ++ [{label, 1}, return]}
            || {Op, Size, Fs} <- [{bs_put_utf8, bs_utf8_size, []}, {bs_put_utf16, bs_utf16_size, []}, {bs_put_utf16, bs_utf16_size, [little]}]]
        ++ [{bs_put_utf32, [char, any], Init(4) ++ [{bs_put_utf32, none(), flags(Fs), x(0)}] ++ Done} || Fs <- [[], [little]]]
        ++ [{bs_create_bin, Types, [line(122), {bs_create_bin, none(), 0, 2, 1, x(0), {list, Segments}}, return]} || {Types, Segments} <- segments()]
        ++ [{bs_create_bin, [any, any], framed(2, [{bs_create_bin, {f, 1}, 0, 0, 8, x(0), {list, segment(integer, 1, 1, y(0), {integer, 16}) ++ segment(binary, 2, 8, y(1), {atom, all})}}, return, {label, 1}, {move, {atom, failed}, x(0)}, return])}].

segments() ->
    [{[int, int], segment(integer, 1, 1, x(0), {integer, 64}) ++ segment(integer, 2, 1, x(1), {integer, 13})},
     {[any, any], segment(integer, 1, 1, x(0), {integer, 8}) ++ segment(binary, 2, 1, x(1), {atom, all})},
     {[int, small], segment(integer, 1, 8, x(0), x(1))},
     {[num, num], segment(float, 1, 1, x(0), {integer, 64}) ++ segment(float, 2, 1, x(1), {integer, 32})},
     {[bits, small], segment(binary, 1, 1, x(0), x(1)) ++ string_segment(2, <<"abc">>)},
     {[bits, bits], segment(append, 1, 1, x(0), {atom, all}) ++ segment(binary, 2, 1, x(1), {atom, all})},
     {[bits, int], segment(append, 1, 8, x(0), {atom, all}) ++ segment(integer, 2, 1, x(1), {integer, 8})},
     {[char, char], segment(utf8, 1, 0, x(0), {atom, undefined}) ++ segment(utf16, 2, 0, x(1), {atom, undefined}) ++ segment(utf32, 3, 0, x(0), {atom, undefined})}].

segment(Type, N, Unit, Source, Size) -> [{atom, Type}, N, Unit, nil, Source, Size].
string_segment(N, Text) -> [{atom, string}, N, 8, nil, {string, Text}, {integer, byte_size(Text)}].

appending() ->
    Append = fun(Dst) -> [line(130), {bs_append, none(), {integer, 64}, 0, 2, 1, x(1), flags([]), Dst}, {bs_put_integer, none(), {integer, 64}, 1, flags([]), x(0)}] end,
    Writable = [{allocate, 1, 2}, {move, x(1), y(0)}, {move, {integer, 32}, x(0)}, bs_init_writable],
    [{bs_append, [int, bits], Append(x(0)) ++ [return]},
     {bs_append, [int, bits], Append(x(1)) ++ [{bs_append, none(), {integer, 8}, 0, 2, 1, x(1), flags([]), x(1)}, {bs_put_integer, none(), {integer, 8}, 1, flags([]), {integer, 255}}, {move, x(1), x(0)}, return]},
     {bs_append, [small, bits], [line(131), {bs_append, none(), x(0), 0, 2, 8, x(1), flags([]), x(0)}, {move, x(1), x(0)}, return]},
     {bs_init_writable, [any, any], Writable ++ [{deallocate, 1}, return]},
     {bs_private_append, [any, int], Writable ++ [{bs_private_append, none(), {integer, 24}, 1, x(0), flags([]), x(0)}, {bs_put_integer, none(), {integer, 24}, 1, flags([]), y(0)}, {bs_private_append, none(), {integer, 5}, 1, x(0), flags([]), x(0)}, {bs_put_integer, none(), {integer, 5}, 1, flags([]), y(0)}, {deallocate, 1}, return]}].

%% ---- matching bit strings

%% What is matched goes to X2; it and the rest are the result.
matching() ->
    Context = {bs_start_match3, {f, 1}, x(0), 2, x(1)},
    No = [{label, 1}, {move, {atom, no}, x(0)}, return],
    Rest = [{bs_get_tail, x(1), x(1), 3}, {test_heap, 3, 3}, {put_tuple2, x(0), {list, [x(2), x(1)]}}, return | No],
    Took = fun(Take) -> [Context] ++ Take ++ Rest end,
    Skipped = fun(Skip) -> [Context] ++ Skip ++ [{move, {atom, skipped}, x(2)}] ++ Rest end,
    Types = [bits, small],
    Get = fun(Op, Size, Unit, Fs) -> {Op, {f, 1}, x(1), 2, Size, Unit, flags(Fs), x(2)} end,
    %% The size is in X1, and the context in X2.
    Sized = fun(Op, Unit, Fs) -> [{bs_start_match3, {f, 1}, x(0), 2, x(2)}, {Op, {f, 1}, x(2), 3, x(1), Unit, flags(Fs), x(3)}, {move, x(2), x(1)}, {move, x(3), x(2)}] ++ Rest end,
    [{bs_get_integer2, Types, Took([Get(bs_get_integer2, {integer, S}, U, F)])} || {S, U, F} <- [{8, 1, []}, {3, 1, []}, {16, 1, [little]}, {13, 1, [signed]}, {60, 1, []}, {61, 1, [signed]}, {64, 1, [signed]}, {64, 1, []}, {72, 1, [little]}, {0, 1, []}]]
        ++ [{bs_get_integer2, Types, Sized(bs_get_integer2, U, F)} || {U, F} <- [{1, []}, {8, [signed, little]}]]
        ++ [{bs_get_float2, Types, Took([Get(bs_get_float2, {integer, S}, 1, F)])} || {S, F} <- [{64, []}, {64, [little]}, {32, []}, {16, []}, {32, [little]}]]
        ++ [{bs_get_float2, [floats, small], Took([Get(bs_get_float2, {integer, 64}, 1, [])])}, {bs_get_float2, Types, Sized(bs_get_float2, 8, [])}]
        ++ [{bs_get_binary2, Types, Took([Get(bs_get_binary2, S, U, [])])} || {S, U} <- [{{integer, 2}, 8}, {{integer, 5}, 1}, {{atom, all}, 8}, {{atom, all}, 1}]]
        ++ [{bs_get_binary2, Types, Sized(bs_get_binary2, U, [])} || U <- [1, 8]]
        ++ [{bs_skip_bits2, Types, Skipped([{bs_skip_bits2, {f, 1}, x(1), S, U, flags([])}])} || {S, U} <- [{{integer, 5}, 1}, {{integer, 2}, 8}]]
        %% (Of all bits only where nobody looks at the rest: OTP leaves the position as it is.)
        ++ [{bs_skip_bits2, Types, [Context, {bs_skip_bits2, {f, 1}, x(1), {atom, all}, U, flags([])}, {move, {atom, skipped}, x(0)}, return | No]} || U <- [1, 8]]
        ++ [{bs_test_tail2, Types, Skipped([{bs_skip_bits2, {f, 1}, x(1), {integer, 24}, 1, flags([])}, {bs_test_tail2, {f, 1}, x(1), N}])} || N <- [0, 1]]
        ++ [{bs_test_unit, Types, Skipped([{bs_test_unit, {f, 1}, x(1), U}])} || U <- [1, 8, 3]]
        ++ [{bs_match_string, [bits, small], Skipped([{bs_match_string, {f, 1}, x(1), N, {string, <<"abc">>}}])} || N <- [8, 24, 3, 12]]
        ++ [{bs_match_string, Types, Skipped([Get(bs_get_integer2, {integer, 1}, 1, []), {bs_match_string, {f, 1}, x(1), 16, {string, <<"ab">>}}])}]
        ++ [{Op, Types, Took([{Op, {f, 1}, x(1), 2, flags(F), x(2)}])} || {Op, F} <- [{bs_get_utf8, []}, {bs_get_utf16, []}, {bs_get_utf16, [little]}, {bs_get_utf32, []}, {bs_get_utf32, [little]}]]
        ++ [{Op, [text, small], Took([{Op, {f, 1}, x(1), 2, flags(F), x(2)}])} || {Op, F} <- [{bs_get_utf8, []}, {bs_get_utf16, []}, {bs_get_utf32, []}]]
        ++ [{Op, [text, small], Skipped([{Op, {f, 1}, x(1), 2, flags(F)}])} || {Op, F} <- [{bs_skip_utf8, []}, {bs_skip_utf16, []}, {bs_skip_utf16, [little]}, {bs_skip_utf32, []}]]
        ++ [{bs_start_match3, [any, small], Skipped([])},
            {bs_start_match3, [any], framed(1, [{bs_start_match3, {f, 1}, y(0), 1, y(0)}, {bs_get_tail, y(0), x(0), 0}, return | No])},
            {bs_start_match4, [any, small], [{bs_start_match4, {f, 1}, 2, x(0), x(1)}, {move, {atom, started}, x(2)} | Rest]},
            {bs_start_match4, [bits, small], [{is_bitstr, {f, 1}, x(0)}, {bs_start_match4, {atom, no_fail}, 2, x(0), x(1)}, {bs_start_match4, {atom, resume}, 2, x(1), x(1)}, {move, {atom, started}, x(2)} | Rest]},
            {bs_get_tail, [bits, small], Took([Get(bs_get_integer2, {integer, 3}, 1, [])])},
            {bs_get_position, [bits, small], [Context, {bs_get_position, x(1), x(0), 2}, Get(bs_get_integer2, {integer, 9}, 1, []), {bs_set_position, x(1), x(0)}] ++ Rest},
            {bs_set_position, [bits, small], [Context, Get(bs_get_integer2, {integer, 4}, 1, []), {bs_get_position, x(1), x(0), 3}, {bs_get_binary2, {f, 1}, x(1), 3, {atom, all}, 1, flags([]), x(2)}, {bs_set_position, x(1), x(0)}] ++ Rest}].

%% ---- instructions of later releases

newer() ->
    Tuple = fun(Update) -> [{is_tuple, {f, 1}, x(0)}, {test_arity, {f, 1}, x(0), 2}, Update, return, {label, 1}, {move, {atom, no}, x(0)}, return] end,
    Context = {bs_start_match3, {f, 1}, x(0), 2, x(1)},
    Rest = [{bs_get_tail, x(1), x(1), 3}, {test_heap, 3, 3}, {put_tuple2, x(0), {list, [x(2), x(1)]}}, return, {label, 1}, {move, {atom, no}, x(0)}, return],
    Commands = [[{atom, ensure_at_least}, 8, 1, {atom, integer}, 2, nil, 8, 1, x(2)],
                [{atom, ensure_at_least}, 24, 8, {atom, integer}, 2, {literal, [little, signed]}, 16, 1, x(2), {atom, skip}, 8],
                [{atom, ensure_exactly}, 24, {atom, '=:='}, nil, 8, 97, {atom, binary}, 2, nil, 16, 1, x(2)],
                [{atom, ensure_at_least}, 3, 1, {atom, skip}, 3, {atom, get_tail}, 2, 1, x(2)],
                [{atom, ensure_at_least}, 67, 1, {atom, skip}, 3, {atom, integer}, 2, nil, 64, 1, x(2)]],
    [{badrecord, [any], [line(150), {badrecord, x(0)}]}, {badrecord, [any], framed(1, [{badrecord, y(0)}])}]
        ++ [{update_record, [tuple, any], Tuple({update_record, {atom, Hint}, 2, x(0), x(0), {list, [N, x(1)]}})} || {Hint, N} <- [{copy, 1}, {reuse, 2}]]
        ++ [{update_record, [tuple, any], framed(2, Tuple({update_record, {atom, reuse}, 2, y(0), x(0), {list, [1, y(1), 2, {integer, 1 bsl 60}]}}))}]
        ++ [{bs_match, Types, [Context, {bs_match, {f, 1}, x(1), {list, C}}] ++ [{move, {atom, none}, x(2)} || not has_result(C)] ++ Rest} || Types <- [[bits, small], [any, small]], C <- Commands]
        ++ [{executable_line, [any], [{executable_line, 0, 7}, return]},
            {debug_line, [any], [{debug_line, {atom, entry}, 0, 1, 1}, return]}]
        ++ variants(bif3, [any, any, small], fun([A, B, C]) -> [line(151), {bif3, none(), erl(is_record, 3), A, B, C, x(0)}, return] end)
        ++ [{is_any_native_record, [any], says({is_any_native_record, {f, 1}, x(0)})},
            {is_native_record, [any], says({is_native_record, {f, 1}, x(0), {atom, a}, {atom, b}})},
            {get_record_elements, [any], [{get_record_elements, {f, 1}, x(0), {list, [{atom, a}, x(0)]}}, return, {label, 1}, {move, {atom, no}, x(0)}, return]},
            {put_record, [any], [line(152), {put_record, none(), {literal, {a, b}}, nil, x(0), 1, {list, [{atom, a}, x(0)]}}, return]},
            {is_record_accessible, [any], says({is_record_accessible, {f, 1}, x(0), {atom, a}})},
            {get_record_field, [any], [line(153), {get_record_field, none(), x(0), {literal, {a, b}}, {atom, a}, x(0)}, return]},
            {get_record_field, [any], [{get_record_field, {f, 1}, x(0), {atom, a}, {atom, b}, x(0)}, return, {label, 1}, {move, {atom, no}, x(0)}, return]}].

has_result(Commands) -> lists:member(x(2), Commands).
