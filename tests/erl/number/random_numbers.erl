%% rand with fixed seeds: every algorithm, so also 58- and 64-bit arithmetic on boundaries.
-module(random_numbers).
-export([main/0]).

main() ->
    [t:c(A, fun() ->
         S0 = rand:seed_s(A, {1, 2, 3}),
         {L, S1} = lists:mapfoldl(fun(_, S) -> rand:uniform_s(1000000, S) end, S0, lists:seq(1, 10)),
         {F, S2} = rand:uniform_s(S1),
         {N, S3} = rand:normal_s(S2),
         {B, _} = rand:uniform_s(1 bsl 100, S3),
         {L, F, N, B}
     end) || A <- [exsss, exro928ss, exrop, exs1024s, exsp, exs64, exsplus, exs1024]],
    t:c(jump, fun() -> {V, _} = rand:uniform_s(1000, rand:jump(rand:seed_s(exsss, 42))), V end),
    t:c(process_state, fun() -> rand:seed(exsss, 7), [rand:uniform(100) || _ <- lists:seq(1, 20)] end),
    t:c(bytes, fun() -> rand:seed(exsss, 9), rand:bytes(16) end),
    t:c(shuffle, fun() -> rand:seed(exsss, {9, 9, 9}), [X || {_, X} <- lists:sort([{rand:uniform(), N} || N <- lists:seq(1, 20)])] end),
    t:c(mwc59, fun() -> lists:foldl(fun(_, S) -> rand:mwc59(S) end, rand:mwc59_seed(1), lists:seq(1, 100)) end),
    t:c(splitmix, fun() -> rand:splitmix64_next(t:id(12345)) end),
    t:c(bad_alg, fun() -> rand:seed(nope) end),
    t:c(bad_range, fun() -> rand:uniform(t:id(0)) end).
