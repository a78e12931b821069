%% Two processes on two schedulers call the same functions for the first time, at the same moment: exceptions that pass through
%% them then show the same frames to both.
-module(first_calls).
-export([main/0]).

-define(FUNCTIONS, 600).
-define(CALLERS, 2).

main() ->
    t:c(raising, fun raising/0).

raising() ->
    {module, first} = code:load_binary(first, "first.beam", compiled()),
    Arrived = counters:new(1, [atomics]),
    Callers = [spawn_monitor(fun() -> exit({traces, traces(Arrived)}) end) || _ <- lists:seq(1, ?CALLERS)],
    Ends = [receive {'DOWN', M, process, P, End} -> End end || {P, M} <- Callers],
    [begin {traces, Traces} = End, frequencies(Traces) end || End <- Ends].

frequencies(Traces) ->
    maps:map(fun(_, Same) -> length(Same) end, maps:groups_from_list(fun(Frames) -> Frames end, Traces)).

traces(Arrived) ->
    [begin
         counters:add(Arrived, 1, 1),
         wait(Arrived, Round * ?CALLERS),
         try first:call(Round) catch error:badarg:Stack -> [frame(F, A) || {first, F, A, _} <- Stack] end
     end || Round <- lists:seq(1, ?FUNCTIONS)].

frame(call, 1) -> call;
frame(_, Arity) -> Arity.

wait(Arrived, Callers) ->
    case counters:get(Arrived, 1) of
        N when N < Callers -> wait(Arrived, Callers);
        _ -> ok
    end.

%% call(N) calls a function of its own for each N, which raises with values in its frame.
compiled() ->
    Calls = [io_lib:format("call(~b) -> {f~b(1, []), 2}", [N, N]) || N <- numbers()],
    Functions = [io_lib:format("f~b(A, B) -> C = id(A), D = hd(id(B)), id({A, B, C, D}), id([A, B, C, D]).", [N]) || N <- numbers()],
    Head = "-module(first). -export([call/1]). id(X) -> X. ",
    forms(lists:flatten([Head, lists:join("; ", Calls), ". ", lists:join(" ", Functions)])).

numbers() -> lists:seq(1, ?FUNCTIONS).

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, first, Beam} = compile:forms([form(F) || F <- split(Tokens)], [no_type_opt]),
    Beam.

form(Tokens) -> {ok, Form} = erl_parse:parse_form(Tokens), Form.

split([]) -> [];
split(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    [Form ++ [Dot] | split(Rest)].
