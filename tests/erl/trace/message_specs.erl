%% Which actions specifications for messages may have, and what silent does to those they choose.
-module(message_specs).
-export([main/0]).

allowed(What, Action) -> (catch erlang:trace_pattern(What, [{'_', [], [Action]}], [])) =:= 1.

messages(Flags, Send, Receive) ->
    Self = self(),
    P = spawn(fun() -> receive {go, X} -> Self ! X, Self ! again, receive a -> Self ! last end end end),
    erlang:trace_pattern(send, Send, []),
    erlang:trace_pattern('receive', Receive, []),
    erlang:trace(P, true, [send, 'receive' | Flags]),
    P ! {go, 1},
    P ! a,
    timer:sleep(50),
    lists:sort(t:flush()).

main() ->
    Actions = [{return_trace}, {exception_trace}, {message, x}, {message, {process_dump}}, {message, {caller}},
               {message, {caller_line}}, {message, {get_tcw}}, {message, {get_seq_token}}, {message, {is_seq_trace}},
               {silent, true}, {trace, [], []}, {trace, self(), [], []}, {enable_trace, call}, {disable_trace, call},
               {enable_trace, self(), call}, {disable_trace, self(), call}, {set_tcw, 1}, {set_seq_token, label, 1},
               {display, 1}, {process_dump}, {message, {self}}],
    t:each(allowed, Actions, fun(A) -> {allowed(send, A), allowed('receive', A)} end),
    All = [{'_', [], []}],
    t:each(messages, [{[], true, true}, {[silent], true, true}, {[silent], All, All}, {[], [{'_', [], [{silent, true}]}], true},
                      {[silent], [{'_', [], [{silent, false}]}], true}, {[], [{'_', [], [{message, false}]}], All},
                      {[], [{['_', again], [], [{message, yes}]}], [{['_', '_', a], [], [{message, no}]}]}],
           fun({Flags, Send, Receive}) -> messages(Flags, Send, Receive) end),
    erlang:trace_pattern(send, true, []),
    erlang:trace_pattern('receive', true, []),
    %% Calls of what only raises, by apply in tail position.
    t:each(raising, [{exit, [done]}, {throw, [a]}, {error, [b]}, {error, [b, [c]]}], fun({F, A}) ->
        erlang:trace_pattern({erlang, F, length(A)}, [{'_', [], [{exception_trace}]}], [local]),
        P = spawn(fun() -> receive go -> catch by_name(erlang, F, A) end end),
        erlang:trace(P, true, [call]),
        P ! go,
        timer:sleep(30),
        erlang:trace_pattern({erlang, F, length(A)}, false, [local]),
        t:flush()
    end).

by_name(M, F, A) -> erlang:apply(M, F, t:id(A)).
