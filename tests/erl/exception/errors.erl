%% Every kind of error, with its stack trace; try, catch, after and raise in all forms.
-module(errors).
-export([main/0]).
-record(r, {a}).

main() ->
    t:c(badmatch, fun() -> {ok, X} = t:id({error, x}), X end),
    t:c(badmatch_bound, fun() -> X = t:id(1), X = t:id(2) end),
    t:c(case_clause, fun() -> case t:id(a) of b -> c end end),
    t:c(if_clause, fun() -> X = t:id(1), if X > 2 -> y end end),
    t:c(function_clause, fun() -> only_one(t:id(2)) end),
    t:c(function_clause_many, fun() -> many(t:id(a), [1], {x}) end),
    t:c(badarith, fun() -> t:id(a) * 2 end),
    t:c(badarg, fun() -> atom_to_list(t:id(1)) end),
    t:c(undef, fun() -> nomodule:nofunction(1, 2) end),
    t:c(undef_local, fun() -> lists:nofunction() end),
    t:c(badfun, fun() -> (t:id(x))() end),
    t:c(try_clause, fun() -> try t:id(a) of b -> c catch throw:x -> y end end),
    t:c(badrecord, fun() -> (t:id(x))#r.a end),
    t:c(badkey, fun() -> maps:get(k, t:id(#{})) end),
    t:c(badmap, fun() -> maps:get(k, t:id(x)) end),
    t:c(bad_generator, fun() -> [X || X <- t:id(x)] end),
    t:c(bad_bit_generator, fun() -> [X || <<X>> <= t:id(x)] end),
    t:c(bad_filter, fun() -> [X || X <- [1], t:id(x)] end),
    t:c(andalso_bad, fun() -> t:id(x) andalso true end),
    t:c(orelse_bad, fun() -> t:id(x) orelse true end),
    t:c(and_bad, fun() -> t:id(x) and true end),
    t:c(not_bad, fun() -> not t:id(x) end),
    t:c(else_clause, fun() -> case t:id(3) of 1 -> a; 2 -> b end end),
    t:c(system_limit, fun() -> list_to_atom(lists:duplicate(300, $a)) end),
    t:c(noproc, fun() -> gen_server:call(no_such_name, x) end),
    t:c(error1, fun() -> error(reason) end),
    t:c(error2, fun() -> error(reason, [a, b]) end),
    t:c(error2_none, fun() -> error(reason, none) end),
    t:c(error3, fun() -> try error(reason, [a], [{error_info, #{cause => x}}]) catch _:_:S -> element(4, hd(S)) end end),
    t:c(throw1, fun() -> throw({a, 1}) end),
    t:c(exit1, fun() -> exit({shutdown, x}) end),
    t:c(catch_all, fun() -> [catch throw(a), catch exit(b), element(1, catch error(c)), catch 5] end),
    t:c(catch_error, fun() -> {'EXIT', {R, S}} = (catch t:id(a) + 1), {R, t:frames(S)} end),
    t:c(nested, fun() -> try try error(inner) catch error:inner -> throw(outer) end catch throw:X -> {got, X} end end),
    t:c(not_caught, fun() -> try throw(x) catch error:_ -> wrong end end),
    t:c(after_order, fun() -> try try self() ! one, throw(x) after self() ! two end catch throw:x -> t:flush() end end),
    t:c(after_value, fun() -> try value after ignored end end),
    t:c(after_raises, fun() -> try throw(first) after throw(second) end end),
    t:c(of_not_protected, fun() -> try t:id(1) of 1 -> throw(in_of) catch throw:_ -> caught_inside end end),
    t:c(class_var, fun() -> [try F() catch C:R -> {C, R} end || F <- [fun() -> throw(a) end, fun() -> exit(b) end, fun() -> error(c) end]] end),
    t:c(guard_catch, fun() -> [try throw(X) catch throw:Y when Y > 2 -> big; throw:Y -> {small, Y} end || X <- [1, 3]] end),
    t:c(raise, fun() -> erlang:raise(error, r, [{m, f, 1, [{line, 5}]}]) end),
    t:c(raise_class, fun() -> erlang:raise(throw, t:id(r), []) end),
    t:c(raise_bad, fun() -> erlang:raise(t:id(nope), r, []) end),
    t:c(raise_bad_stack, fun() -> erlang:raise(error, r, t:id(x)) end),
    t:c(reraise, fun() -> try only_one(t:id(2)) catch C:R:S -> erlang:raise(C, R, S) end end),
    t:c(deep_stack, fun() -> deep(5) end),
    t:c(deeper_than_kept, fun() -> deep(30) end),
    t:c(tail_calls, fun() -> tail(5) end),
    t:c(bif_frame, fun() -> [1 | element(t:id(5), {a})] end),
    t:c(bif_tail, fun() -> element(t:id(5), {a}) end),
    t:c(in_fun_of_lists, fun() -> lists:map(fun(X) -> 1 / X end, [1, 0]) end),
    t:c(in_foldl, fun() -> lists:foldl(fun(X, A) -> {X, A} = A end, 0, [1, 2]) end),
    t:c(exit_in_process, fun() -> down(fun() -> exit(bye) end) end),
    t:c(error_in_process, fun() -> t:mute(), {R, S} = down(fun() -> only_one(t:id(3)) end), {R, t:frames(S)} end),
    t:c(throw_in_process, fun() -> {R, S} = down(fun() -> throw(ball) end), {R, t:frames(S)} end),
    t:c(stack_var_unused, fun() -> try error(a) catch _:_:_ -> ok end end),
    t:c(many_levels, fun() -> levels(50) end),
    t:c(catch_in_args, fun() -> {catch error(a), catch throw(b), c} =:= x end),
    t:c(get_stacktrace_args, fun() -> try only_one([1, 2]) catch error:function_clause:S -> {M, F, A, _} = hd(S), {M, F, A} end end),
    t:c(line_numbers, fun() ->
            try
                t:id(1),
                t:id(2) +
                    t:id(x)
            catch _:_:S -> t:frames(S) end
        end),
    t:c(nif_error, fun() -> erlang:nif_error(not_loaded) end),
    t:c(frames_of_two_sizes, fun() -> [two_frames(R, [1, 2, x, 3], a, b, c) || R <- [false, true]] end),
    t:c(frames_of_two_sizes_raised, fun() -> two_frames(t:id(true), [1, 2, x, 3], a, b, c) end),
    t:c(match_in_head, fun() -> two_lists(t:id([1]), t:id([])) end).

only_one(1) -> one.
many(a, [], _) -> x;
many(_, _, {y}) -> y.
deep(0) -> error(bottom);
deep(N) -> {deep(N - 1)}.
tail(0) -> t:id(1) + t:id(a);
tail(N) -> tail(N - 1).
levels(0) -> throw(up);
levels(N) -> try levels(N - 1) catch error:X -> X after ok end.
two_lists([_ | _], [_ | _]) -> ok.

%% The frame is trimmed before what always raises, and not elsewhere.
two_frames(Raise, List, A, B, C) ->
    X = t:id(A),
    Y = t:id(B),
    case t:id(Raise) of
        true ->
            error(t:id({List, X}));
        _ ->
            Z = lists:map(fun(E) -> plus_one(E, X) end, List),
            {Z, t:id(Y), t:id(C)}
    end.
plus_one(E, _) -> E + 1.

down(F) ->
    {_, M} = spawn_monitor(F),
    receive {'DOWN', M, _, _, R} -> R end.
