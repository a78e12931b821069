%% Calls that fail, each made in every way: by the forms of a call, in and out of tail position, with and without a stack frame,
%% under a handler and not, by the library's loops, and as the first call of a process. For each failure and each outcome
%% (class, reason and whole stack trace) a line tells which ways have it. In what is printed `way` is the function that makes
%% the call, `'@'` a line that is the call's own.
-module(failing_calls).
-export([main/0, undefined_lambda/3, undefined_function/3, breakpoint/3]).

main() ->
    t:mute(),
    erlang:system_flag(backtrace_depth, 40),
    load_modules(),
    [failure(Name, Target, error_handler) || {Name, Target} <- by_name() ++ by_fun() ++ static()],
    [failure(Name, Target, Handler) || {Name, Target, Handler} <- handled()],
    [purge([Name, ', ', End], Which, Arguments, End)
     || {Name, Which, Arguments} <- disappearing(), End <- [complete, abort, deleted]],
    [traced(Name, Functions, Target) || {Name, Functions, Target} <- traceable()],
    [broken(Name, Function, Target, Handler) || {Name, Function, Target} <- breakable(), Handler <- [?MODULE, raising_handler]].

%% ---- what is called

%% Kind, fun (or module), function, list of arguments.
by_name() ->
    [{Name, {mfa, Module, Function, Arguments}} || {Name, {Module, Function, Arguments}} <-
        [{'no module', {no_such_module, f, [1]}},
         {'no function', {victim, gone, [1]}},
         {'no function without arguments', {victim, gone, []}},
         {'not exported', {victim, hidden, [1, 2]}},
         {'module no atom', {"victim", f, [1]}},
         {'module a fun', {fun victim:f/1, f, [1]}},
         {'function no atom', {victim, {f}, [1]}},
         {'deleted module', {deleted, f, [1]}},
         {'function not in the new version', {shrunk, f, [1]}},
         {'no list', {victim, f, no_list}},
         {'improper list', {victim, f, [1 | 2]}},
         {'256 arguments', {victim, f, lists:duplicate(256, x)}},
         {'1100 arguments', {victim, f, lists:duplicate(1100, x)}},
         {raises, {victim, f, [raise]}},
         {'no clause', {victim, only, [2]}},
         {'built-in', {erlang, hd, [[]]}},
         {'built-in of another module', {maps, get, [key, #{}]}},
         {exit, {erlang, exit, [reason]}},
         {throw, {erlang, throw, [value]}},
         {error, {erlang, error, [reason]}},
         {'error/2', {erlang, error, [reason, [a]]}},
         {raise, {erlang, raise, [error, reason, [{m, f, 1, []}]]}},
         {'apply of no fun', {erlang, apply, [no_fun, [1]]}},
         {'apply of nothing', {erlang, apply, [no_such_module, f, [1]]}},
         {'apply of what raises', {erlang, apply, [victim, f, [raise]]}},
         {'apply/4', {erlang, apply, [a, b, c, d]}}]].

by_fun() ->
    [{Name, {'fun', Fun, none, Arguments}} || {Name, {Fun, Arguments}} <-
        [{'an atom', {atom, [1]}},
         {'a pair', {{victim, f}, [1]}},
         {'a number', {17, [1]}},
         {'another arity', {victim:'fun'(0), [1]}},
         {'no arguments', {victim:'fun'(1), []}},
         {'another arity of an external fun', {fun victim:f/1, [1, 2]}},
         {'external fun of nothing', {fun victim:gone/1, [1]}},
         {'external fun of no module', {fun no_such_module:f/2, [1, 2]}},
         {'external fun of a built-in', {fun erlang:hd/1, [[]]}},
         {'external fun of exit', {fun erlang:exit/1, [reason]}},
         {raises, {victim:'fun'(1), [raise]}},
         {'no list', {victim:'fun'(1), no_list}},
         {'improper list', {victim:'fun'(1), [1 | 2]}},
         {'256 arguments', {victim:'fun'(1), lists:duplicate(256, x)}},
         {'1100 arguments', {victim:'fun'(1), lists:duplicate(1100, x)}},
         {'256 arguments of no fun', {atom, lists:duplicate(256, x)}},
         {'three arguments of no fun', {atom, [1, 2, 3]}},
         {'purged version, no arguments', {purged_version(version_0, 0), []}},
         {'purged version', {purged_version(version_1, 1), [1]}},
         {'purged version, two arguments', {purged_version(version_2, 2), [1, 2]}},
         {'purged version, three arguments', {purged_version(version_3, 3), [1, 2, 3]}},
         {'purged version, free variables', {purged_version(version_free, free), [1]}},
         {'purged version, another arity', {purged_version(version_other, 2), [1]}},
         {'purged module, no arguments', {purged_module(module_0, 0), []}},
         {'purged module', {purged_module(module_1, 1), [1]}},
         {'purged module, two arguments', {purged_module(module_2, 2), [1, 2]}},
         {'purged module, three arguments', {purged_module(module_3, 3), [1, 2, 3]}},
         {'purged module, free variables', {purged_module(module_free, free), [1]}},
         {'purged module, another arity', {purged_module(module_other, 2), [1]}},
         {'never loaded', {never_loaded(), [1]}}]].

%% Calls of what the code names.
static() ->
    [{Kind, {Kind, none, none, [1]}} || Kind <- [no_module, no_function, deleted_module, shrunk_module]].

%% What comes before an error handler: the module's own, one whose functions raise; for funs one that does not exist, and one that
%% lacks the functions (calls by name then end OTP itself).
handled() ->
    [{[Name, ' handled by ', Handler], Target, Handler}
     || Handler <- [?MODULE, raising_handler], {Name, Target} <- unhandled_names() ++ unhandled_funs()] ++
    [{[Name, ' not handled by ', Handler], Target, Handler}
     || Handler <- [no_such_handler, victim], {Name, Target} <- unhandled_funs()].

unhandled_names() ->
    [{'no module', {mfa, no_such_module, f, [1]}},
     {'no function', {mfa, victim, gone, [1]}},
     {'256 arguments', {mfa, victim, f, lists:duplicate(256, x)}},
     {'no function named', {no_function, none, none, [1]}},
     {'external fun', {'fun', fun victim:gone/1, none, [1]}}].

unhandled_funs() ->
    [{'purged version', {'fun', purged_version(version_handled, 1), none, [1]}},
     {'purged module', {'fun', purged_module(module_handled, 1), none, [1]}},
     {'purged module, no arguments', {'fun', purged_module(module_handled_0, 0), none, []}}].

undefined_function(Module, Function, Arguments) -> {handled, Module, Function, Arguments}.
undefined_lambda(Module, Fun, Arguments) -> {handled, Module, Fun, Arguments}.

%% Which fun of a module, and what it is called with.
disappearing() ->
    [{'purged meanwhile, no arguments', 0, []}, {'purged meanwhile', 1, [1]}, {'purged meanwhile, two arguments', 2, [1, 2]},
     {'purged meanwhile, free variables', free, [1]}, {'purged meanwhile, another arity', 1, [1, 2]},
     {'purged meanwhile, raises', 1, [raise]}].

%% What is called, and the functions with a breakpoint.
traceable() ->
    [{'fun', {victim, '_', '_'}, {'fun', victim:'fun'(1), none, [raise]}},
     {'external fun', {victim, '_', '_'}, {'fun', fun victim:f/1, none, [raise]}},
     {name, {victim, f, 1}, {mfa, victim, f, [raise]}},
     {'no clause', {victim, only, 1}, {mfa, victim, only, [2]}},
     {'built-in', {erlang, hd, 1}, {mfa, erlang, hd, [[]]}},
     {exit, {erlang, exit, 1}, {mfa, erlang, exit, [reason]}},
     {'no function', {victim, '_', '_'}, {mfa, victim, gone, [1]}},
     {'error handler', {error_handler, '_', '_'}, {mfa, victim, gone, [1]}},
     {'error handler of a fun', {error_handler, '_', '_'}, {'fun', purged_module(module_traced, 1), none, [1]}},
     {'purged version', {version_traced, '_', '_'}, {'fun', purged_version(version_traced, 1), none, [1]}},
     {'purged version in a loop', {lists, '_', '_'}, {loop, purged_version(version_traced_1, 1), none, [1]}},
     {'purged version in a loop of two', {lists, '_', '_'}, {loop, purged_version(version_traced_2, 2), none, [1, 2]}},
     {'purged version in a loop over a map', {maps, '_', '_'}, {loop, purged_version(version_traced_3, 3), none, [1, 2, 3]}}].

%% The same for a breakpoint of the debugger.
breakable() ->
    [{'fun', {victim, '-fun/1-fun-1-', 1}, {'fun', victim:'fun'(1), none, [1]}},
     {'external fun', {victim, f, 1}, {'fun', fun victim:f/1, none, [1]}},
     {name, {victim, f, 1}, {mfa, victim, f, [1]}}].

breakpoint(Module, Function, Arguments) -> {stopped, Module, Function, Arguments}.

%% ---- the modules of the test

%% A fun of the old version of a module, which is purged.
purged_version(Name, Which) ->
    load(Name, 1),
    Fun = Name:'fun'(Which),
    load(Name, 2),
    code:purge(Name),
    Fun.

purged_module(Name, Which) ->
    load(Name, 1),
    Fun = Name:'fun'(Which),
    code:delete(Name),
    code:purge(Name),
    Fun.

never_loaded() ->
    load(never, 1),
    Bytes = binary:replace(term_to_binary(never:'fun'(1)), <<"never">>, <<"newer">>, [global]),
    binary_to_term(Bytes).

load_modules() ->
    load(victim, 1),
    load(deleted, 1),
    code:delete(deleted),
    code:purge(deleted),
    load(shrunk, 1),
    load(shrunk, "-export([g/1]). g(X) -> X."),
    load(raising_handler,
         "-export([undefined_function/3, undefined_lambda/3, breakpoint/3]). "
         "breakpoint(_, F, As) -> error({raised, F, As}). "
         "undefined_function(_, F, As) -> error({raised, F, As}). "
         "undefined_lambda(M, _, As) -> error({raised, M, As})."),
    load(ways, ways_text()).

load(Name, Version) ->
    code:purge(Name),
    {module, Name} = code:load_binary(Name, atom_to_list(Name) ++ ".beam", beam(Name, Version)).

%% Compiled once.
beam(Name, Version) ->
    case get({Name, Version}) of
        undefined ->
            Text = if is_integer(Version) -> victim_text(Version); true -> Version end,
            {ok, Tokens, _} = erl_scan:string(lists:flatten(["-module(", atom_to_list(Name), "). ", Text])),
            {ok, Name, Beam} = compile:forms([form(F) || F <- split(Tokens)], []),
            put({Name, Version}, Beam),
            Beam;
        Beam ->
            Beam
    end.

form(Tokens) -> {ok, Form} = erl_parse:parse_form(Tokens), Form.

split([]) -> [];
split(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    [Form ++ [Dot] | split(Rest)].

victim_text(Version) ->
    io_lib:format(
        "-export([f/1, only/1, 'fun'/1]). "
        "f(raise) -> error(raised); f(X) -> X. "
        "only(1) -> 1. "
        "'fun'(0) -> fun() -> {version, ~b} end;"
        "'fun'(1) -> fun(raise) -> error(raised); (X) -> {X, ~b} end;"
        "'fun'(2) -> fun(X, Y) -> {X, Y, ~b} end;"
        "'fun'(3) -> fun(X, Y, Z) -> {X, Y, Z, ~b} end;"
        "'fun'(wait) -> receive after infinity -> ok end;"
        "'fun'(free) -> A = f(a), B = f(b), fun(X) -> {A, B, X, ~b} end.",
        lists:duplicate(5, Version)).

%% ---- the ways

%% What calls, of which kind, with how many arguments. F is the fun, or M and N module and function, L the list of arguments.
calls() ->
    [{fun0, 'fun', 0, "F()"},
     {fun1, 'fun', 1, "F(A)"},
     {fun2, 'fun', 2, "F(A, B)"},
     {apply2, 'fun', any, "apply(F, L)"},
     {apply_named2, 'fun', any, "N:apply(F, L)"},
     {foreach, loop, 1, "lists:foreach(F, [A])"},
     {map, loop, 1, "lists:map(F, [A])"},
     {foldl, loop, 2, "lists:foldl(F, B, [A])"},
     {fold_pairs, loop, 3, "maps:fold(F, C, #{A => B})"},
     {eval, 'fun', 1, "eval(F, A)"},
     {call0, mfa, 0, "F:N()"},
     {call1, mfa, 1, "F:N(A)"},
     {call2, mfa, 2, "F:N(A, B)"},
     {call3, mfa, 3, "F:N(A, B, C)"},
     {apply3, mfa, any, "apply(F, N, L)"},
     {apply_named3, apply, any, "E:apply(F, N, L)"},
     {no_module, no_module, 1, "no_such_module:f(A)"},
     {no_function, no_function, 1, "victim:gone(A)"},
     {deleted_module, deleted_module, 1, "deleted:f(A)"},
     {shrunk_module, shrunk_module, 1, "shrunk:f(A)"}].

%% Where it stands.
places(Call) ->
    [{tail, Call},
     {tail_with_frame, ["ways:id(1), ", Call]},
     {tail_with_large_frame, ["X = ways:id(1), Y = ways:id(2), ways:id(X), ways:id(Y), ", Call]},
     {body, ["{r, ", Call, "}"]},
     {body_with_frame, ["X = ways:id(1), Y = ways:id(2), {", Call, ", X, Y}"]},
     {in_try, ["try ", Call, " catch throw:never -> caught end"]},
     {in_try_of, ["X = ways:id(1), try ", Call, " of R -> {R, X} catch throw:never -> caught end"]},
     {in_after, ["X = ways:id(1), try ", Call, " after ways:id(X) end"]},
     {in_catch, ["X = ways:id(1), R = (catch ", Call, "), {R, X}"]},
     {in_handler, ["try ways:id(1) + ways:id(a) catch _:_ -> ", Call, " end"]}].

ways() ->
    [{way(Form, Place), Kind, Arity, Body}
     || {Form, Kind, Arity, Call} <- calls(), {Place, Body} <- places(Call)].

way(Form, Place) -> list_to_atom(lists:concat([Form, ' ', Place])).
way(Way) -> list_to_tuple([list_to_atom(Word) || Word <- string:lexemes(atom_to_list(Way), " ")]).

%% Each way is a function, on a line of its own: the first is on line 2.
ways_text() ->
    Head = fun(0) -> "[]"; (1) -> "[A]"; (2) -> "[A, B]"; (3) -> "[A, B, C]"; (any) -> "E" end,
    ["-export([id/1", [io_lib:format(", ~p/4", [Way]) || {Way, _, _, _} <- ways()], "]). id(X) -> X. ",
     "eval(F, A) -> erl_eval:expr({call, 1, {var, 1, 'F'}, [{var, 1, 'A'}]}, [{'A', A}, {'F', F}]).",
     [io_lib:format("\n~p(F, N, ~s, L) -> ~s.", [Way, Head(Arity), Body]) || {Way, _, Arity, Body} <- ways()]].

%% The ways to call a target, what each calls with, and its line.
ways_to({Kind, _, _, Arguments} = Target) ->
    Length = try length(Arguments) catch error:badarg -> none end,
    [{Way, arguments(Kind1, Arity, Target), Line}
     || {Line, {Way, Kind1, Arity, _}} <- lists:enumerate(2, ways()),
        Kind1 =:= Kind orelse {Kind1, Kind} =:= {loop, 'fun'} orelse {Kind1, Kind} =:= {apply, mfa},
        Arity =:= any orelse Arity =:= Length].

arguments('fun', any, {_, F, _, L}) -> [F, erlang, none, L];
arguments(apply, any, {_, F, N, L}) -> [F, N, erlang, L];
arguments(_, any, {_, F, N, L}) -> [F, N, none, L];
arguments(_, _, {_, F, N, L}) -> [F, N, L, L].

%% ---- the outcomes

failure(Name, Target, Handler) ->
    report(Name, in_process(fun() ->
        process_flag(error_handler, Handler),
        [{Way, Outcome} || {Way, Arguments, Line} <- ways_to(Target), Outcome <- outcomes(Way, Arguments, Line)] ++
        as_first_call(Target)
    end)).

%% The outcomes of a way, which should be one: also when reductions are used up on the way there, and while calls are saved.
outcomes(Way, Arguments, Line) ->
    Undisturbed = outcome(Way, Arguments, Line),
    Preempted = [outcome_with(Left, Way, Arguments, Line) || Left <- lists:seq(1, 14)],
    process_flag(save_calls, 10),
    Saved = outcome(Way, Arguments, Line),
    process_flag(save_calls, 0),
    lists:uniq([Undisturbed, Saved | Preempted]).

outcome_with(Reductions, Way, Arguments, Line) ->
    erlang:yield(),
    erlang:bump_reductions(4000 - Reductions),
    outcome(Way, Arguments, Line).

in_process(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({done, Fun()}) end),
    receive {'DOWN', Monitor, process, Pid, Reason} -> {done, Result} = Reason, Result end.

outcome(Way, Arguments, Line) -> plain(outcome(Way, Arguments), Way, Line).

outcome(Way, Arguments) ->
    try apply(ways, Way, Arguments) of
        {{'EXIT', {Reason, [_ | _] = Stack}}, 1} -> {error, Reason, Stack};
        Value -> {returned, Value}
    catch
        Class:Reason:Stack -> {Class, Reason, Stack}
    end.

%% How a process ends that begins with the call.
as_first_call({'fun', F, _, L}) ->
    [{'first fun', first_call([F])} || is_function(F), L =:= []] ++
    [{'first apply2', first_call([erlang, apply, [F, L]])}];
as_first_call({mfa, M, N, L}) ->
    [{'first name', first_call([M, N, L])} || is_atom(M), is_atom(N), is_list(L), length(L) < 1000] ++
    [{'first apply3', first_call([erlang, apply, [M, N, L]])},
     {'first hibernate', first_call([fun() -> self() ! wake, erlang:hibernate(M, N, L) end])}];
as_first_call(_) ->
    [].

first_call(Arguments) ->
    try apply(erlang, spawn_monitor, Arguments) of
        {Pid, Monitor} -> receive {'DOWN', Monitor, process, Pid, Reason} -> {ended, plain(Reason, none, none)} end
    catch
        Class:Reason -> {not_spawned, Class, plain(Reason, none, none)}
    end.

%% Names the way and its line alike for all ways, and what differs from run to run.
plain({ways, Way, Arity}, Way, _) -> {ways, way, Arity};
plain({ways, Way, Arity, Where}, Way, Line) ->
    {way, plain(Arity, Way, Line), case proplists:get_value(line, Where) of Line -> '@'; Other -> Other end};
plain([{?MODULE, outcome, _, [{file, _} | _]} | _], _, _) -> [top];
plain({M, F, A, [{file, _}, {line, N}]}, Way, Line) -> {M, F, plain(A, Way, Line), N};
plain([x | _] = List, _, _) -> {length(List), x};
plain([H | T], Way, Line) -> [plain(H, Way, Line) | plain(T, Way, Line)];
plain(T, Way, Line) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T), Way, Line));
plain(Fun, _, _) when is_function(Fun) -> t:norm(Fun);
plain(Pid, _, _) when is_pid(Pid) -> '<pid>';
plain(T, _, _) -> T.

%% A line for each outcome, and one for each set of places where calls of some forms have it.
report(Name, Outcomes) ->
    io:format("~s~n", [[if is_atom(Part) -> atom_to_list(Part); true -> Part end || Part <- lists:flatten([Name])]]),
    [begin
         io:format("  ~0tp~n", [Outcome]),
         Places = grouped([way(Way) || Way <- Ways]),
         [io:format("    ~ts: ~ts~n", [words(Forms), words(At)]) || {At, Forms} <- grouped([{At, Form} || {Form, At} <- Places])]
     end || {Outcome, Ways} <- grouped([{Outcome, Way} || {Way, Outcome} <- Outcomes])].

%% Values by key, both in the order in which they come first.
grouped(Pairs) ->
    Keys = lists:uniq([Key || {Key, _} <- Pairs]),
    [{Key, [Value || {K, Value} <- Pairs, K =:= Key]} || Key <- Keys].

words(Atoms) -> lists:join(" ", [atom_to_list(Atom) || Atom <- Atoms]).

%% ---- purging under the calls

%% Each way calls the fun while the purge of its module's version is under way.
purge(Name, Which, Arguments, End) ->
    report(Name, [{Way, purged_under(Which, Arguments, End, Way)} || {Way, _, _} <- ways_to({'fun', none, none, Arguments})]).

purged_under(Which, Arguments, End, Way) ->
    load(pending, 1),
    Fun = pending:'fun'(Which),
    Holder = if End =:= abort -> spawn(pending, 'fun', [wait]); true -> none end,
    if End =:= deleted -> code:purge(pending), true = code:delete(pending); true -> load(pending, 2) end,
    Ref = make_ref(),
    erts_code_purger ! {test_purge, pending, self(), End =/= abort, Ref},
    receive {started, Ref} -> ok end,
    {_, WayArguments, Line} = lists:keyfind(Way, 1, ways_to({'fun', Fun, none, Arguments})),
    {Caller, Monitor} = spawn_monitor(fun() -> exit({done, outcome(Way, WayArguments, Line)}) end),
    until_suspended(Caller),
    erts_code_purger ! {continue, Ref},
    receive {continued, Ref} -> ok end,
    erts_code_purger ! {complete, Ref},
    Result = receive {test_purge, R, Ref} -> R end,
    Outcome = receive {'DOWN', Monitor, process, Caller, {done, O}} -> O end,
    if Holder =/= none -> exit(Holder, kill); true -> ok end,
    {Result, Outcome}.

%% Suspended, or at its end.
until_suspended(Pid) ->
    case process_info(Pid, status) of
        {status, suspended} -> ok;
        undefined -> ok;
        _ -> erlang:yield(), until_suspended(Pid)
    end.

%% ---- calls that are traced

traced(Name, Functions, Target) ->
    [traced(Name, Functions, Target, Specification, How) || {Specification, How} <- breakpoints()].

breakpoints() ->
    [{true, global}, {true, local}, {[{'_', [], [{exception_trace}]}], local},
     {[{'_', [], [{message, {caller}}, {return_trace}]}], global}].

traced(Name, Functions, Target, Specification, How) ->
    erlang:trace_pattern(Functions, Specification, [How]),
    Outcomes = [{Way, traced_outcome(Way, Arguments, Line)} || {Way, Arguments, Line} <- ways_to(Target)],
    erlang:trace_pattern(Functions, false, [How]),
    report([Name, ' traced ', How, io_lib:format(" ~0tp", [Specification])], Outcomes).

traced_outcome(Way, Arguments, Line) ->
    Tracer = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        erlang:trace(self(), true, [call, return_to, {tracer, Tracer}]),
        Outcome = outcome(Way, Arguments),
        erlang:trace(self(), false, [call, return_to]),
        exit({done, plain(Outcome, Way, Line)})
    end),
    Outcome = receive {'DOWN', Monitor, process, Pid, {done, O}} -> O end,
    Ref = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Ref} -> ok end,
    {Outcome, [plain(list_to_tuple(tl(tl(tuple_to_list(M)))), Way, Line) || M <- t:flush()]}.

broken(Name, Function, Target, Handler) ->
    erts_debug:breakpoint(Function, true),
    failure([Name, ' stopped in by ', Handler], Target, Handler),
    erts_debug:breakpoint(Function, false).
