%% Collections of a large heap in the middle of float arithmetic: between the division and the making of its result.
-module(float_registers).
-export([main/0]).

main() ->
    Live = lists:seq(1, t:id(300000)),
    t:c(quotients, fun() -> check(divide(t:id(400000), 7, []), 0, 0.0) end),
    t:c(boxed, fun() -> check(divide(t:id(400000), t:id(1.0e-250), []), 0, 0.0) end),
    t:c(live, fun() -> length(Live) end).

divide(0, _, Done) -> Done;
divide(N, By, Done) -> divide(N - 1, By, [{N, (N * 2) / (By * 2)} | Done]).

check([{N, Q} | Rest], Wrong, Sum) when Q > 1.0e200 -> check(Rest, Wrong + wrong(N, Q * 1.0e-250), Sum + Q);
check([{N, Q} | Rest], Wrong, Sum) -> check(Rest, Wrong + wrong(N, Q * 7), Sum + Q);
check([], Wrong, Sum) -> {Wrong, Sum}.

wrong(N, Again) when abs(N - Again) < 1.0e-3 -> 0;
wrong(_, _) -> 1.
