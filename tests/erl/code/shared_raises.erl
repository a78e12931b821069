%% Compilers share a call that always raises between places whose frames differ in size. Written as assembly: with a frame of two
%% registers, and with one of them trimmed away.
-module(shared_raises).
-export([main/0]).

main() ->
    Functions = [{error, 1}, {error, 2}, {exit, 1}, {throw, 1}],
    [t:c(io_lib:format("~p/~b", [F, A]), fun() -> raised(F, A) end) || {F, A} <- Functions],
    t:c(caught, fun() -> load(caught_one(), shared), [(catch shared:f(X, a)) || X <- [[], b]] end),
    t:c(traced, fun traced/0).

raised(F, A) ->
    load(module(F, A), shared),
    calls().

calls() ->
    [try shared:f(X, [y]) of R -> R catch C:R:S -> {C, R, [{F, A} || {shared, F, A, _} <- S]} end || X <- [1, [], b, c]].

%% Where calls of the function are traced it still raises.
traced() ->
    load(module(error, 1), shared),
    erlang:trace_pattern({erlang, error, 1}, true, [local]),
    Result = calls(),
    erlang:trace_pattern({erlang, error, 1}, false, [local]),
    Result.

load(Asm, Name) ->
    {ok, Name, Beam} = compile:forms(Asm, [from_asm, no_postopt]),
    {module, Name} = code:load_binary(Name, "shared.beam", Beam),
    code:purge(Name).

%% f(X, Y): an atom other than c returns; not an atom, nil and c raise, from two frames.
module(F, A) ->
    {shared, [{f, 2}], [],
     [{function, f, 2, 2,
       [{label, 1}, {func_info, {atom, shared}, {atom, f}, 2},
        {label, 2}, {allocate, 2, 2},
        {move, {x, 0}, {y, 1}}, {move, {x, 1}, {y, 0}},
        {test, is_ne_exact, {f, 3}, [{x, 0}, nil]},
        {trim, 1, 1},
        {test, is_atom, {f, 3}, [{x, 0}]},
        {test, is_ne_exact, {f, 3}, [{x, 0}, {atom, c}]},
        {deallocate, 1}, return,
        {label, 3}, {move, {atom, oops}, {x, 0}}, {move, {literal, [y]}, {x, 1}},
        {line, []}, {call_ext_last, A, {extfunc, erlang, F, A}, 2}]}], 4}.

%% The frame that is of two sizes has a handler in it.
caught_one() ->
    {shared, [{f, 2}], [],
     [{function, f, 2, 2,
       [{label, 1}, {func_info, {atom, shared}, {atom, f}, 2},
        {label, 2}, {allocate, 2, 2}, {init_yregs, {list, [{y, 0}]}},
        {'catch', {y, 1}, {f, 4}},
        {test, is_ne_exact, {f, 3}, [{x, 0}, nil]},
        {jump, {f, 3}},
        {label, 3}, {move, {atom, oops}, {x, 0}}, {line, []}, {call_ext, 1, {extfunc, erlang, throw, 1}},
        {label, 4}, {catch_end, {y, 1}}, {deallocate, 2}, return]}], 5}.
