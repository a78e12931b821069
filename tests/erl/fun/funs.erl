%% Funs: closures, external funs, calls that fail, fun_info, named funs, apply.
-module(funs).
-export([main/0, exported/1, add/2]).

exported(X) -> {exported, X}.
add(A, B) -> A + B.
local(X) -> {local, X}.

main() ->
    N = t:id(10),
    Add = fun(X) -> X + N end,
    t:c(closure, fun() -> {Add(1), (fun() -> N end)(), lists:map(Add, [1, 2])} end),
    t:c(counter, fun() -> Make = fun(X) -> fun(Y) -> {X, Y, N} end end, (Make(a))(b) end),
    t:c(external, fun() -> F = fun ?MODULE:exported/1, {F(1), F =:= fun funs:exported/1, F} end),
    t:c(external_dynamic, fun() -> M = t:id(erlang), A = t:id(abs), F = fun M:A/1, F(-3) end),
    t:c(make_fun, fun() -> F = erlang:make_fun(lists, reverse, 1), {F([1, 2]), F} end),
    t:c(external_undef, fun() -> F = fun nomod:nofun/1, F(1) end),
    t:c(local_fun, fun() -> F = fun local/1, F(2) end),
    t:c(named, fun() -> F = fun Fac(0) -> 1; Fac(X) -> X * Fac(X - 1) end, F(10) end),
    t:c(badfun, fun() -> (t:id(notfun))(1) end),
    t:c(badfun_tuple, fun() -> (t:id({erlang, abs}))(1) end),
    t:c(badarity, fun() -> Add(1, 2) end),
    t:c(badarity_zero, fun() -> Add() end),
    t:c(badarity_external, fun() -> F = t:id(fun lists:reverse/1), F(1, 2) end),
    t:c(no_clause, fun() -> (fun(1) -> one end)(t:id(2)) end),
    t:c(is_function, fun() -> {is_function(Add), is_function(Add, 1), is_function(Add, 2), is_function(fun lists:map/2, 2), is_function(a)} end),
    t:c(is_function_bad, fun() -> is_function(Add, t:id(-1)) end),
    t:c(fun_info, fun() -> [erlang:fun_info(Add, I) || I <- [module, arity, type, env, index, name]] end),
    t:c(fun_info_external, fun() -> lists:sort(erlang:fun_info(fun lists:map/2)) end),
    t:c(fun_info_pid, fun() -> {pid, P} = erlang:fun_info(Add, pid), is_pid(P) end),
    t:c(fun_info_bad, fun() -> erlang:fun_info(Add, nope) end),
    t:c(fun_to_list, fun() -> {erlang:fun_to_list(fun lists:map/2), lists:prefix("#Fun<funs.", erlang:fun_to_list(Add))} end),
    t:c(equality, fun() -> Mk = fun(X) -> fun() -> X end end, {Mk(1) =:= Mk(1), Mk(1) =:= Mk(2), Mk(1) == Mk(1.0)} end),
    t:c(apply3, fun() -> {apply(?MODULE, add, [1, 2]), apply(erlang, t:id('+'), [1, 2]), apply(fun add/2, [3, 4])} end),
    t:c(apply_mod, fun() -> M = t:id(?MODULE), F = t:id(add), {M:F(1, 2), M:add(3, 4), ?MODULE:F(5, 6)} end),
    t:c(apply_undef, fun() -> apply(?MODULE, nope, [1]) end),
    t:c(apply_local_undef, fun() -> M = t:id(?MODULE), M:local(1) end),
    t:c(apply_bad_module, fun() -> M = t:id("m"), M:f(1) end),
    t:c(apply_bad_args, fun() -> apply(?MODULE, add, t:id([1 | 2])) end),
    t:c(apply_bad_fun_args, fun() -> apply(Add, t:id(foo)) end),
    t:c(apply_wrong_arity, fun() -> apply(?MODULE, add, [1]) end),
    t:c(apply_many, fun() -> apply(fun(A, B, C, D, E, F, G, H, I, J) -> [A, B, C, D, E, F, G, H, I, J] end, lists:seq(1, 10)) end),
    t:c(send_fun, fun() -> P = self(), spawn(fun() -> P ! fun(X) -> X * N end end), receive F -> F(4) end end),
    t:c(spawn_fun_env, fun() -> P = self(), L = lists:seq(1, 5), spawn(fun() -> P ! {sum, lists:sum(L) + N} end), receive {sum, S} -> S end end),
    t:c(compose, fun() -> lists:foldl(fun(F, A) -> F(A) end, 1, [Add, fun(X) -> X * 2 end, fun erlang:integer_to_list/1, fun lists:reverse/1]) end),
    t:c(function_exported, fun() -> {erlang:function_exported(?MODULE, add, 2), erlang:function_exported(?MODULE, local, 1), erlang:function_exported(erlang, abs, 1), erlang:function_exported(nomod, f, 0)} end),
    t:c(is_builtin, fun() -> {erlang:is_builtin(erlang, abs, 1), erlang:is_builtin(lists, map, 2), erlang:is_builtin(lists, reverse, 2)} end),
    t:c(module_info, fun() -> {?MODULE:module_info(module), lists:sort(?MODULE:module_info(exports)), is_list(?MODULE:module_info(attributes)), byte_size(?MODULE:module_info(md5))} end),
    t:c(twenty_free, fun() ->
            [A, B, C, D, E, F, G, H] = t:id([1, 2, 3, 4, 5, 6, 7, 8]),
            Big = fun(X) -> {A, B, C, D, E, F, G, H, X} end, Big(9) end).
