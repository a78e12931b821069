%% A built-in that only raises, applied in tail position: the function that did so has not gone by then, and tracing tells of it.
-module(applied_errors).
-export([main/0, applies/2, applies/3, named/2, loop/0]).

main() ->
    P = spawn(fun loop/0),
    Raising = [{erlang, exit, 1}, {erlang, error, 1}, {erlang, error, 2}, {erlang, throw, 1}],
    Own = [{?MODULE, applies, 2}, {?MODULE, applies, 3}, {?MODULE, named, 2}],
    Spec = [{'_', [], [{exception_trace}, {message, {caller}}]}],
    Errors = [{exit, [x]}, {error, [x]}, {error, [x, [y]]}, {throw, [x]}],
    lists:foreach(
        fun({Kind, Flags, Functions}) ->
            1 = erlang:trace(P, true, Flags),
            [1 = erlang:trace_pattern(F, Spec, [Kind]) || F <- Functions],
            t:each(about(Kind, Functions, mfa), Errors, fun({F, A}) ->
                in(P, fun() -> catch applies(erlang, F, A) end)
            end),
            t:each(about(Kind, Functions, named), [exit, error, throw], fun(F) -> in(P, fun() -> catch named(F, x) end) end),
            t:each(about(Kind, Functions, 'fun'), [exit, error, throw], fun(F) ->
                in(P, fun() -> catch applies(fun erlang:F/1, [x]) end)
            end),
            [1 = erlang:trace_pattern(F, false, [Kind]) || F <- Functions],
            1 = erlang:trace(P, false, [all])
        end,
        [{local, [call], Raising ++ Own}, {local, [call, return_to], Raising}, {local, [call], Own}, {meta, [procs], Raising ++ Own}, {global, [call], Raising}]),
    t:each("not traced", [exit, error, throw], fun(F) -> try applies(erlang, F, [x]) catch _:_:S -> t:frames(S) end end),
    t:each("not traced, by name", [exit, error, throw], fun(F) -> try named(F, x) catch _:_:S -> t:frames(S) end end),
    t:each("ends", [exit, error, throw], fun(F) -> ended(Spec, Raising, F) end).

about(Kind, Functions, How) -> io_lib:format("~p of ~p, ~p", [Kind, length(Functions), How]).

applies(M, F, A) -> apply(M, F, t:id(A)).
applies(F, A) -> apply(F, t:id(A)).
named(F, A) -> erlang:F(t:id(A)).

%% Nobody catches it.
ended(Spec, Raising, F) ->
    logger:set_primary_config(level, none),
    {P, Ref} = spawn_monitor(fun loop/0),
    1 = erlang:trace(P, true, [call]),
    [1 = erlang:trace_pattern(R, Spec, [local]) || R <- [{?MODULE, applies, 3} | Raising]],
    P ! {call, self(), fun() -> applies(erlang, F, [x]) end},
    Reason = receive {'DOWN', Ref, process, _, R} -> R end,
    Trace = t:flush(50),
    [1 = erlang:trace_pattern(R, false, [local]) || R <- [{?MODULE, applies, 3} | Raising]],
    {case Reason of {What, Stack} -> {What, t:frames(Stack)}; _ -> Reason end, Trace}.

in(P, Fun) ->
    P ! {call, self(), Fun},
    receive done -> ok end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    [untimed(M) || M <- t:flush()].

untimed(M) when element(1, M) =:= trace_ts -> setelement(tuple_size(M), M, time);
untimed(M) -> M.

loop() ->
    receive {call, From, Fun} -> Fun(), From ! done end,
    loop().
