%% How long stack traces are: `system_flag(backtrace_depth, N)`.
-module(trace_depth).
-export([main/0]).

main() ->
    t:each(depth, [0, 1, 2, 3, 8, 64], fun depths/1),
    t:c(most, fun() ->
            Old = erlang:system_flag(backtrace_depth, 1 bsl 30),
            {Old, erlang:system_flag(backtrace_depth, Old)}
        end),
    t:each(bad, [-1, 1 bsl 70, a], fun(D) -> erlang:system_flag(backtrace_depth, D) end),
    %% The call that raises is where the one before it returns to.
    t:c(right_behind, fun() -> [try F() catch _:_:S -> [Fun || {_, Fun, _, _} <- S, lists:member(Fun, [thrown, named, atom_to_list])] end || F <- [fun() -> thrown(3) end, fun() -> named(3) end]] end).

depths(Depth) ->
    Old = erlang:system_flag(backtrace_depth, Depth),
    Given = [{a, b, N, []} || N <- lists:seq(1, 12)],
    Raised = [try erlang:raise(error, x, lists:sublist(Given, N)) catch _:_:S1 -> length(S1) end || N <- [0, 1, 2, 12]],
    Lengths = [try F() catch _:_:S2 -> length(S2) end
               || F <- [fun() -> deep(3) end, fun() -> lists:nth(t:id(0), []) end, fun() -> again(2) end]],
    {current_stacktrace, Current} = process_info(self(), current_stacktrace),
    erlang:system_flag(backtrace_depth, Old),
    {raised, list_to_tuple(Raised), fresh, list_to_tuple(Lengths), current, length(Current)}.

deep(0) -> error(bottom);
deep(N) -> {deep(N - 1)}.

again(0) -> throw(up);
again(N) -> try again(N - 1) after ok end.

thrown(0) -> up;
thrown(N) -> throw(thrown(N - 1)).

named(0) -> [];
named(N) -> atom_to_list(named(N - 1)).
