-module(stack_tests).
-include_lib("eunit/include/eunit.hrl").

push_pop_test() ->
    S = stack:push(b, stack:push(a, stack:new())),
    ?assertMatch({b, _}, stack:pop(S)),
    ?assertEqual([b, a], stack:to_list(S)).

generated_test_() ->
    [{lists:concat(["with ", N]), ?_assertEqual(N, length(stack:to_list(filled(N))))} || N <- lists:seq(1, 5)].

fixture_test_() ->
    {setup, fun stack:new/0, fun(_) -> ok end,
     fun(S) -> {inorder, [?_assertEqual(empty, stack:pop(S)), ?_assertError(function_clause, stack:pop(x))]} end}.

slow_test_() -> {timeout, 5, fun() -> timer:sleep(20) end}.

fails_test() -> ?assertEqual([a, b], stack:to_list(stack:push(b, stack:push(a, stack:new())))).

throws_test() -> throw({not_caught, 1}).

times_out_test_() -> {timeout, 0.1, fun() -> timer:sleep(5000) end}.

filled(N) -> lists:foldl(fun stack:push/2, stack:new(), lists:seq(1, N)).
