%% The light runner of OTP's own suites: what one case is, without Common Test around it.
%%
%%   -run conf_runner list SUITE OUT                    the cases of SUITE, a line `GROUP/GROUP/CASE` each
%%   -run conf_runner run SUITE CASE DATADIR PRIVDIR OUT  run one; OUT gets `passed`, `skipped REASON`
%%                                                        or `failed REASON` (one line)
%%   -run conf_runner all SUITE LIST DATADIR DIR SECONDS HOW  run those named in the file LIST, one after the other; the outcome
%%                                                        of each goes to DIR/CASE (slashes become dots). DIR/now names
%%                                                        the case that runs. Ends the VM at one that takes longer
%%                                                        than SECONDS. HOW is `apart` or `shared`.
%%
%% As under Common Test, each init function of suite and groups runs in a process of its own, and
%% init_per_testcase, the case and end_per_testcase share one. Apart, each case has the suite and its groups begun for itself; shared,
%% cases of the same groups that follow each other have what was begun for the first, and one folder.
-module(conf_runner).
-export([list/1, run/1, all/1]).

list([Suite0, Out]) ->
    Suite = list_to_atom(Suite0),
    Groups = case erlang:function_exported(Suite, groups, 0) of true -> Suite:groups(); false -> [] end,
    Cases = try Suite:all() of
                All when is_list(All) -> cases(All, [], Groups);
                {skip, _} -> []
            catch _:_ -> []
            end,
    ok = file:write_file(Out, [[C, $\n] || C <- unique(Cases, [])]),
    halt(0).

unique([C | Cs], Seen) ->
    case lists:member(C, Seen) of
        true -> unique(Cs, Seen);
        false -> [C | unique(Cs, [C | Seen])]
    end;
unique([], _) -> [].

cases(Items, Path, Groups) ->
    lists:append([item(I, Path, Groups) || I <- Items]).

item({group, G}, Path, Groups) -> group(G, Path, Groups);
item({group, G, _}, Path, Groups) -> group(G, Path, Groups);
item({group, G, _, _}, Path, Groups) -> group(G, Path, Groups);
item({testcase, C, _}, Path, _) -> [name(C, Path)];
item({G, _, Items}, Path, Groups) -> cases(Items, [G | Path], Groups);
item({G, Items}, Path, Groups) when is_list(Items) -> cases(Items, [G | Path], Groups);
item(C, Path, _) when is_atom(C) -> [name(C, Path)];
item(Items, Path, Groups) when is_list(Items) -> cases(Items, Path, Groups);
item(_, _, _) -> [].

group(G, Path, Groups) ->
    case lists:keyfind(G, 1, Groups) of
        {G, _, Items} -> cases(Items, [G | Path], Groups);
        {G, Items} -> cases(Items, [G | Path], Groups);
        false -> []
    end.

name(C, Path) ->
    lists:append(lists:join("/", [atom_to_list(A) || A <- lists:reverse([C | Path])])).

run([Suite, Name, Data, Priv, Out]) ->
    {Outcome, _} = outcome_of(list_to_atom(Suite), Name, Data, Priv, apart),
    Text = text(Outcome),
    %% A VM whose files do not work yet can still say it on standard output.
    io:format("~nCONF ~ts~n", [Text]),
    file:write_file(Out, [unicode:characters_to_binary(Text), $\n]),
    erlang:halt(0).

all([Suite0, List, Data, Dir, Seconds, How]) ->
    {ok, Names} = file:read_file(List),
    Suite = list_to_atom(Suite0),
    Limit = list_to_integer(Seconds) * 1000,
    Begun = lists:foldl(fun(Name, Begun) -> one(Suite, Name, Data, Dir, Limit, Begun) end, begun(How), string:lexemes(binary_to_list(Names), "\n")),
    finish(Suite, Begun),
    file:delete(filename:join(Dir, "now")),
    erlang:halt(0).

begun("apart") -> apart;
begun("shared") -> [].

one(Suite, Name, Data, Dir, Limit, Begun0) ->
    Stem = filename:join(Dir, [if C =:= $/ -> $.; true -> C end || C <- Name]),
    Priv = case Begun0 of apart -> Stem ++ ".priv"; _ -> filename:join(Dir, "shared.priv") end,
    ok = file:write_file(filename:join(Dir, "now"), Name),
    ok = filelib:ensure_dir(filename:join(Priv, "x")),
    ok = file:set_cwd(Priv),
    Leader = group_leader(),
    Began = erlang:monotonic_time(second),
    {Pid, Monitor} = spawn_monitor(fun() -> exit({conf_result, outcome_of(Suite, Name, Data, Priv, Begun0)}) end),
    Done = fun(Outcome) ->
                   file:write_file(Stem ++ ".seconds", [integer_to_list(erlang:monotonic_time(second) - Began), $\n]),
                   file:write_file(Stem, [unicode:characters_to_binary(text(Outcome)), $\n])
           end,
    Begun = receive
                {'DOWN', Monitor, process, Pid, {conf_result, {Outcome, Now}}} -> Done(Outcome), Now;
                {'DOWN', Monitor, process, Pid, Reason} -> Done({failed, Reason}), case Begun0 of apart -> apart; _ -> [] end
            after Limit ->
                Done({failed, 'over time'}),
                erlang:halt(3)
            end,
    group_leader(Leader, self()),
    file:set_cwd(Dir),
    Begun0 =:= apart andalso file:del_dir_r(Priv),
    Begun.

%% Runs a case from here on: this process is the suite's caller. What comes of it, and what is begun then.
outcome_of(Suite, Name, Data, Priv, Begun) ->
    %% Only of a loaded module is known which init and end functions it exports.
    _ = code:ensure_loaded(Suite),
    %% As in OTP's own test runs; where a VM lacks it, the cases that need it say so.
    catch erts_debug:set_internal_state(available_internal_state, true),
    Parts = [list_to_atom(P) || P <- string:lexemes(Name, "/")],
    Case = lists:last(Parts),
    Config = [{data_dir, Data ++ "/"}, {priv_dir, Priv ++ "/"}, {watchdog, self()}, {suite, Suite}, {tc_logfile, "none"}],
    put(conf_case, {Suite, Case}),
    Levels = [{init_per_suite, []} | [{init_per_group, [G]} || G <- lists:droplast(Parts)]],
    case Begun of
        apart -> {within(Suite, Levels, Case, Config), apart};
        _ ->
            Kept = keep(Suite, Levels, Begun),
            Now = begin_levels(Suite, lists:nthtail(length(Kept), Levels), Kept, Config),
            {shared(Suite, Case, lists:last(Now)), Now}
    end.

text(passed) -> "passed";
text({Kind, Reason}) ->
    Flat = lists:flatten(io_lib:format("~0tP", [Reason, 30])),
    atom_to_list(Kind) ++ " " ++ string:slice([if C < 32 -> $\s; true -> C end || C <- Flat], 0, 300).

%% Runs the init functions from the outside in, the case, and the end functions from the inside out.
within(Suite, [], Case, Config) ->
    separately(fun() -> testcase(Suite, Case, Config) end);
within(Suite, [Level | Rest], Case, Config) ->
    case begin_level(Suite, Level, Config) of
        {config, New} ->
            Outcome = within(Suite, Rest, Case, New),
            end_level(Suite, Level, New),
            Outcome;
        Outcome -> Outcome
    end.

%% The configuration behind an init function, or what comes of all cases within.
begin_level(Suite, {Init, Args}, Config) ->
    Arity = length(Args) + 1,
    case erlang:function_exported(Suite, Init, Arity) of
        false -> {config, group_name(Args, Config)};
        true ->
            case separately(fun() -> {config, apply(Suite, Init, Args ++ [group_name(Args, Config)])} end) of
                {config, New} when is_list(New) -> {config, New};
                {config, {skip, R}} -> {skipped, R};
                {config, {skipped, R}} -> {skipped, R};
                {config, {skip_and_save, R, _}} -> {skipped, R};
                {config, {fail, R}} -> {failed, R};
                {config, Other} -> {failed, {Init, returned, Other}};
                {failed, R} -> {failed, {Init, R}};
                {skipped, R} -> {skipped, R}
            end
    end.

end_level(Suite, {Init, Args}, Config) ->
    Arity = length(Args) + 1,
    End = list_to_atom("end" ++ lists:nthtail(4, atom_to_list(Init))),
    erlang:function_exported(Suite, Init, Arity) andalso erlang:function_exported(Suite, End, Arity) andalso
        separately(fun() -> apply(Suite, End, Args ++ [Config]) end).

%% What is begun and shared, from the outside in: `{Level, {config, Config}}`, or in the last place the outcome of what could not be begun.

%% Ends what the next case is not within.
keep(Suite, [Level | Levels], [{Level, _} = Kept | Begun]) -> [Kept | keep(Suite, Levels, Begun)];
keep(Suite, _, Gone) -> finish(Suite, Gone), [].

finish(_, apart) -> ok;
finish(Suite, Begun) -> [end_level(Suite, Level, Config) || {Level, {config, Config}} <- lists:reverse(Begun)], ok.

begin_levels(_, [], Begun, _) -> Begun;
begin_levels(Suite, [Level | Levels], Begun, Config) ->
    Within = case Begun of [] -> {config, Config}; _ -> element(2, lists:last(Begun)) end,
    case Within of
        {config, Outer} -> begin_levels(Suite, Levels, Begun ++ [{Level, begin_level(Suite, Level, Outer)}], Config);
        _ -> Begun
    end.

shared(Suite, Case, {_, {config, Config}}) -> separately(fun() -> testcase(Suite, Case, Config) end);
shared(_, _, {_, Outcome}) -> Outcome.

group_name([], Config) -> Config;
group_name([G], Config) ->
    Above = [[{name, Name}] || {tc_group_properties, [{name, Name}]} <- Config],
    [{tc_group_properties, [{name, G}]}, {tc_group_path, Above} | Config].

separately(Fun) ->
    Dictionary = get(conf_case),
    {Pid, Monitor} = spawn_monitor(fun() -> put(conf_case, Dictionary), exit({conf_result, guarded(Fun)}) end),
    receive
        {'DOWN', Monitor, process, Pid, {conf_result, Result}} -> Result;
        {'DOWN', Monitor, process, Pid, Reason} -> outcome(exit, Reason, [])
    end.

guarded(Fun) ->
    try Fun() catch Class:Reason:Stack -> outcome(Class, Reason, Stack) end.

outcome(_, {skip, R}, _) -> {skipped, R};
outcome(_, {skipped, R}, _) -> {skipped, R};
outcome(_, {comment, _}, _) -> passed;
outcome(Class, R, Stack) -> {failed, {Class, R, lists:sublist([{M, F, A, proplists:get_value(line, I)} || {M, F, A, I} <- Stack], 4)}}.

testcase(Suite, Case, Config0) ->
    Config = [{test_case, Case} | Config0],
    Ready = case erlang:function_exported(Suite, init_per_testcase, 2) of
                true -> Suite:init_per_testcase(Case, Config);
                false -> Config
            end,
    case Ready of
        {skip, R} -> {skipped, R};
        {skipped, R} -> {skipped, R};
        {fail, R} -> {failed, R};
        _ when is_list(Ready) ->
            Result = guarded(fun() -> verdict(Suite:Case(Ready)) end),
            case erlang:function_exported(Suite, end_per_testcase, 2) of
                true ->
                    Status = case Result of passed -> ok; _ -> Result end,
                    case guarded(fun() -> {ended, Suite:end_per_testcase(Case, [{tc_status, Status} | Ready])} end) of
                        {ended, {fail, Why}} when Result =:= passed -> {failed, Why};
                        _ -> Result
                    end;
                false -> Result
            end
    end.

verdict({skip, R}) -> {skipped, R};
verdict({skipped, R}) -> {skipped, R};
verdict(_) -> passed.
