%% One call of a generated function, and all that comes of it.
%%
%% What may differ between two VMs is replaced by its kind: pids, references; maps by their sorted pairs, funs by what they are made of.
%% Stack traces are compared whole: below the function stand the same frames of this module.
-module(gen_run).
-export([id/1, call/4, text/1]).

%% The term itself, of which the compiler knows nothing.
id(Term) -> Term.

%% What the call comes to when it is begun at the beginning of a slice and of a heap; with few reductions left; and with few words left
%% in the heap, so that it is collected at other places, and of all generations. `{same, Outcome}` if all agree; the outcome is `late` if the
%% call takes longer than Patience (milliseconds) or much memory.
call(Function, Args, Seed, Patience) ->
    case once(plain, Function, Args, Patience) of
        late -> {same, late};
        Outcome ->
            Others = [once(Way, Function, Args, Patience) || Way <- [{reductions, 1 + Seed rem 12}, {words, (Seed * 7) rem 233}]],
            case [O || O <- Others, O =/= Outcome] of
                [] -> {same, Outcome};
                [late | _] -> {same, late};
                _ -> {differ, [Outcome | Others]}
            end
    end.

once(Way, Function, Args, Patience) ->
    {Pid, Ref} = spawn_opt(fun() -> exit({outcome, outcome(Way, Function, Args)}) end, [monitor, {max_heap_size, #{size => 8000000, kill => true, error_logger => false}} | options(Way)]),
    receive
        {'DOWN', Ref, process, _, {outcome, Outcome}} -> Outcome;
        {'DOWN', Ref, process, _, killed} -> late;
        {'DOWN', Ref, process, _, Reason} -> {died, norm(Reason)}
    after Patience ->
        exit(Pid, kill),
        receive {'DOWN', Ref, process, _, _} -> late end
    end.

options({words, _}) -> [{fullsweep_after, 0}];
options(_) -> [].

outcome(Way, Function, Args) ->
    Kept = prepare(Way),
    Outcome = outcome(Function, Args),
    {norm(Outcome), norm(messages()), length(Kept)}.

%% (A slice has 4,000 reductions on both VMs.)
prepare(plain) -> id([]);
prepare({reductions, Left}) ->
    erlang:yield(),
    erlang:bump_reductions(4000 - Left),
    id([]);
prepare({words, Words}) ->
    _ = id(lists:duplicate(Words div 2, a)),
    id([]).

outcome({M, F}, Args) ->
    try apply(M, F, Args) of
        Value -> {ok, Value}
    catch
        Class:Reason:Stack -> {Class, Reason, Stack}
    end.

messages() ->
    receive Message -> [Message | messages()] after 0 -> [] end.

norm(Pid) when is_pid(Pid) -> '$pid';
norm(Ref) when is_reference(Ref) -> '$ref';
norm(Port) when is_port(Port) -> '$port';
norm(Fun) when is_function(Fun) ->
    case erlang:fun_info(Fun, type) of
        {type, external} -> Fun;
        {type, local} -> {'$fun', norm([erlang:fun_info(Fun, Item) || Item <- [module, name, arity, env]])}
    end;
norm(Map) when is_map(Map) -> {'$map', lists:sort([{norm(K), norm(V)} || {K, V} <- maps:to_list(Map)])};
norm(Tuple) when is_tuple(Tuple) -> list_to_tuple(norm(tuple_to_list(Tuple)));
norm([Head | Tail]) -> [norm(Head) | norm(Tail)];
norm(Other) -> Other.

%% An outcome as lines.
text({same, Outcome}) -> io_lib:format("~0tp~n", [Outcome]);
text({differ, Outcomes}) -> [io_lib:format("way ~w: ~0tp~n", [N, O]) || {N, O} <- lists:enumerate(Outcomes)].
