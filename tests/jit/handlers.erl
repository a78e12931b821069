%% Handlers of exceptions, messages.
-module(handlers).
-export([safe/1, old/1, always/1, wait/1]).

safe(F) ->
    try F() of
        ok -> good;
        Other -> {bad, Other}
    catch
        throw:X -> {thrown, X};
        error:badarg:Trace -> {wrong, Trace}
    end.

old(F) -> catch F().

always(F) ->
    try F() after erlang:put(done, true) end.

wait(Ref) ->
    receive
        {Ref, Value} -> Value
    after 100 -> late
    end.
