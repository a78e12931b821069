%% What counts as built-in, texts too long for atoms, sharing in persistent terms, and who calls a fun that is being purged.
-module(builtins).
-export([main/0]).

beam(Text) ->
    Forms = [begin {ok, F} = erl_parse:parse_form(Ts), F end || Ts <- forms(Text)],
    {ok, _, Beam} = compile:forms(Forms),
    Beam.

forms(Text) ->
    {ok, Ts, _} = erl_scan:string(Text),
    split(Ts, []).

split([], []) -> [];
split([{dot, _} = D | Ts], L) -> [lists:reverse([D | L]) | split(Ts, [])];
split([T | Ts], L) -> split(Ts, [T | L]).

down({_, M}) -> receive {'DOWN', M, _, _, R} -> case R of {Why, _} -> Why; _ -> R end end.

suspended(_, 0) -> never;
suspended(P, N) ->
    case process_info(P, [status, current_function]) of
        [{status, suspended}, F] -> F;
        _ -> timer:sleep(10), suspended(P, N - 1)
    end.

%% Purges step by step, as OTP's own tests do.
purge(Soft) ->
    Mod = purged_mod,
    {module, Mod} = code:load_binary(Mod, "x", beam("-module(purged_mod). -export([f/0,g/1]). f() -> fun(X) -> X + 1 end. g(P) -> P ! {self(), in}, receive out -> ok end, f().")),
    F = Mod:f(),
    Me = self(),
    Inside = spawn_monitor(fun() -> Mod:g(Me) end),
    receive {_, in} -> ok end,
    true = erlang:delete_module(Mod),
    R = make_ref(),
    erts_code_purger ! {test_purge, Mod, self(), not Soft, R},
    receive {started, R} -> ok end,
    {P, _} = Caller = spawn_monitor(fun() -> exit({value, F(1)}) end),
    {Killed, _} = Victim = spawn_monitor(fun() -> exit({value, F(2)}) end),
    At = suspended(P, 200),
    suspended(Killed, 200),
    exit(Killed, kill),
    erts_code_purger ! {continue, R},
    receive {continued, R} -> ok end,
    erts_code_purger ! {complete, R},
    Result = receive {test_purge, X, R} -> X end,
    element(1, Inside) ! out,
    All = {At, Result, down(Caller), down(Victim), down(Inside)},
    [catch erlang:purge_module(Mod) || Soft],
    All.

main() ->
    logger:set_primary_config(level, none),
    t:each(is_builtin, [{apply, 2}, {apply, 3}, {yield, 0}, {hibernate, 3}, {abs, 1}, {apply, 42}, {spawn, 1}, {spawn, 3}, {halt, 0}],
           fun({F, A}) -> {erlang:is_builtin(erlang, F, A), lists:member({erlang, F, A}, erlang:system_info(snifs))} end),
    t:c(copy_shared, fun() -> [erlang:is_builtin(erts_debug, copy_shared, A) || A <- [1, 2]] end),
    [t:c(io_lib:format("long ~w ~w", [N, E]), fun() -> try length(atom_to_list(binary_to_atom(<<0:N/unit:8, 255>>, E))) catch error:Reason -> Reason end end)
     || E <- [utf8, latin1], N <- [10, 254, 255, 256, 512]],
    t:c(sharing, fun() ->
        T = lists:foldl(fun(_, A) -> {A, [A | A]} end, {}, lists:seq(1, 60)),
        ok = persistent_term:put(a_key, T),
        P = persistent_term:get(a_key),
        Sizes = {erts_debug:size(T), erts_debug:size(P), erts_debug:size_shared(P)},
        persistent_term:erase(a_key),
        {Sizes, lists:usort([begin timer:sleep(10), erts_debug:size(P) end || _ <- lists:seq(1, 10)])}
    end),
    t:c(soft_purge, fun() -> purge(true) end),
    t:c(purge, fun() -> purge(false) end).
