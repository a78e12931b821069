-module(stack_passing_tests).
-include_lib("eunit/include/eunit.hrl").

empty_test() -> ?assertEqual(empty, stack:pop(stack:new())).

last_in_first_out_test() ->
    S = lists:foldl(fun stack:push/2, stack:new(), lists:seq(1, 1000)),
    ?assertMatch({1000, _}, stack:pop(S)).

many_test_() -> [?_assertEqual([N], stack:to_list(stack:push(N, stack:new()))) || N <- lists:seq(1, 200)].
