%% The module `parallel` under `cover` and call tracing, and while modules are replaced (docs/parallel.md).
-module(watched).
-export([main/0, seen/1, at/1]).

main() ->
    t:parallel(),
    t:mute(),
    covered(),
    [traced(Options) || Options <- options()],
    counted(),
    replaced(),
    purged(),
    itself().

options() -> [#{}, #{steal => always}, #{steal => always, max => 1}, #{steal => {seed, 3}}].

%% ---- cover

covered() ->
    File = filename:join(t:tmp("covered"), "covered.erl"),
    ok = file:write_file(File,
        "-module(covered).\n"
        "-export([sum/2, table/2]).\n"
        "sum(N, Options) -> parallel:fold(fun one/1, fun erlang:'+'/2, 0, {seq, 1, N}, Options).\n"
        "one(X) when X rem 3 =:= 0 ->\n"
        "    2 * X;\n"
        "one(X) ->\n"
        "    X.\n"
        "table(N, Options) ->\n"
        "    parallel:map(fun(X) ->\n"
        "            Row = parallel:filter(fun(Y) ->\n"
        "                Y rem X =:= 0\n"
        "            end, {seq, 1, N}, Options),\n"
        "            length(Row)\n"
        "        end, {seq, 1, N}, Options).\n"),
    {ok, covered} = cover:compile(File),
    [begin
         ok = cover:reset(covered),
         Found = {covered:sum(50, Options), covered:table(12, Options)},
         {ok, Lines} = cover:analyse(covered, calls, line),
         t:p(io_lib:format("covered ~0p", [Options]), {Found, [{Line, Calls} || {{covered, Line}, Calls} <- Lines]})
     end || Options <- options()],
    cover:stop().

%% ---- call tracing: each call is told, whichever process does it

traced(Options) ->
    Name = fun(What) -> io_lib:format("~w ~0p", [What, Options]) end,
    Exported = fun() -> parallel:map(fun ?MODULE:seen/1, lists:seq(1, 8), Options) end,
    Local = fun() -> in_loop(8, Options) end,
    t:p(Name(inherited), told(fun(Pid) -> erlang:trace(Pid, true, [call, set_on_spawn]) end, {?MODULE, seen, 1}, [local], Exported)),
    t:p(Name(everywhere), told(fun(_) -> erlang:trace(all, true, [call]) end, {?MODULE, seen, 1}, [global], Exported)),
    t:p(Name(local), told(fun(Pid) -> erlang:trace(Pid, true, [call, set_on_spawn]) end, {?MODULE, '_', '_'}, [local], Local)).

%% A fun with a loop whose fun is one too.
in_loop(N, Options) ->
    parallel:map(fun(X) -> length(parallel:filter(fun(Y) -> seen(X * Y) > 0 end, {seq, 1, 3}, Options)) end, {seq, 1, N}, Options).

seen(X) -> X.

%% The calls that a tracer is told of, by function, and how many have returned.
told(Trace, Pattern, Flags, F) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() -> Self ! ready, receive go -> exit(F()) end end),
    receive ready -> ok end,
    Trace(Pid),
    erlang:trace_pattern(Pattern, [{'_', [], [{return_trace}]}], Flags),
    Pid ! go,
    Value = receive {'DOWN', Ref, process, _, V} -> V end,
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    erlang:trace(all, false, [all]),
    erlang:trace_pattern(Pattern, false, Flags),
    Told = told(),
    % A fun's function has what it has closed over as further arguments.
    Calls = lists:sort([{Name, X} || {call, {?MODULE, Name, [X | _]}} <- Told, is_integer(X), Name =/= in_loop]),
    Names = lists:usort([Name || {Name, _} <- Calls]),
    Returns = length([Result || {return_from, {?MODULE, Name, _}, Result} <- Told, lists:member(Name, Names)]),
    {Value, [{Name, [X || {Of, X} <- Calls, Of =:= Name]} || Name <- Names], Returns}.

told() ->
    receive
        {trace, _, call, MFA} -> [{call, MFA} | told()];
        {trace, _, return_from, MFA, Value} -> [{return_from, MFA, Value} | told()]
    after 0 -> []
    end.

%% Calls that are counted, and processes that a tracer is told of.
counted() ->
    MFA = {?MODULE, seen, 1},
    Run = fun() -> parallel:foreach(fun ?MODULE:seen/1, {seq, 1, 100}, #{steal => always}) end,
    erlang:trace_pattern(MFA, true, [local, call_count]),
    erlang:trace(all, true, [call]),
    Run(),
    t:p(counted, erlang:trace_info(MFA, call_count)),
    erlang:trace(all, false, [call]),
    erlang:trace_pattern(MFA, false, [local, call_count]),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> Run() end end),
    erlang:trace(Pid, true, [procs]),
    Pid ! go,
    receive {'DOWN', Ref, process, _, normal} -> ok end,
    Delivered = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Delivered} -> ok end,
    % The owner hands over 50 elements, 25, 12, 6, 3, 2 and 1.
    t:p(spawned, [length(Arguments) || {trace, _, spawn, _, {parallel, part, Arguments}} <- t:flush()]).

%% ---- a fun's module is replaced

%% Each call of this tells the process of the program, which lets it go on.
at(X) ->
    ?MODULE ! {at, X, self()},
    receive go -> ok end.

arrived(X) -> receive {at, X, Pid} -> Pid end.

%% A module whose functions and funs say which version they are of.
load(Version) ->
    Text = io_lib:format("-module(upgraded). -export([f/1, local/0]). f(X) -> watched:at(X), {~w, X}. local() -> fun(X) -> watched:at(X), {~w, X} end. ",
                         [Version, Version]),
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, upgraded, Beam} = compile:forms(forms(Tokens)),
    {module, upgraded} = code:load_binary(upgraded, "upgraded", Beam),
    ok.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(Token) -> element(1, Token) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

old(Pids) -> [erlang:check_process_code(Pid, upgraded) || Pid <- Pids].

loop(Fun, Data, Options) -> spawn_monitor(fun() -> exit({outcome, t:outcome(fun() -> parallel:map(Fun(), Data, Options) end)}) end).

ended(Ref) -> receive {'DOWN', Ref, process, _, Reason} -> Reason end.

%% A helper may be about to end when the loop has its outcome.
soon_purged(Module) ->
    code:soft_purge(Module) orelse begin timer:sleep(1), soon_purged(Module) end.

%% The owner does 1 and 2, a helper 3 and 4. What begins later is new if the fun is an external one, old code stays as long as someone is in it.
replaced() ->
    true = register(?MODULE, self()),
    load(1),
    [begin
         {Owner, Ref} = loop(Fun, [1, 2, 3, 4], #{steal => always, max => 1}),
         First = [arrived(1), arrived(3)],
         load(Version),
         Before = {old(First), code:soft_purge(upgraded)},
         [Pid ! go || Pid <- First],
         Second = [arrived(2), arrived(4)],
         After = {old(Second), code:soft_purge(upgraded)},
         [Pid ! go || Pid <- Second],
         t:p(Name, {First =:= Second, hd(First) =:= Owner, Before, After, ended(Ref), soon_purged(upgraded)})
     end || {Name, Version, Fun} <- [{external, 2, fun() -> fun upgraded:f/1 end}, {local, 3, fun() -> upgraded:local() end}]].

%% A purge ends the helpers that are in old code, and the owner if its fun is of it.
purged() ->
    {Owner, Ref} = loop(fun() -> fun upgraded:f/1 end, [1, 2], #{steal => always}),
    [Owner, Helper] = [arrived(1), arrived(2)],
    Gone = monitor(process, Helper),
    Owner ! go,
    load(4),
    in_new_code(Owner),
    t:p(purged_external, {old([Owner, Helper]), code:soft_purge(upgraded), code:purge(upgraded), ended(Gone), ended(Ref)}),
    {Owner2, Ref2} = loop(fun() -> upgraded:local() end, [1, 2], #{steal => always}),
    [Owner2, Helper2] = [arrived(1), arrived(2)],
    Gone2 = monitor(process, Helper2),
    load(5),
    t:p(purged_local, {old([Owner2, Helper2]), code:soft_purge(upgraded), code:purge(upgraded), ended(Gone2), ended(Ref2)}),
    t:p(unused, {soon_purged(upgraded), t:flush()}).

%% It has left its call when it waits for the other one.
in_new_code(Pid) ->
    erlang:check_process_code(Pid, upgraded) andalso begin timer:sleep(1), in_new_code(Pid) end.

%% The module `parallel` itself is replaced, with loops of both versions within each other.
itself() ->
    Source = filename:join([os:getenv("TEST_TOP"), "..", "erl", "parallel.erl"]),
    {ok, parallel, Beam} = compile:file(Source, [binary]),
    Inner = fun(X) -> at(X), parallel:map(fun(Y) -> X * Y end, {seq, 1, 3}, #{steal => always}) end,
    {_, Ref} = loop(fun() -> Inner end, [1, 2, 3, 4], #{steal => always}),
    Pids = [arrived(X) || X <- [1, 2, 3, 4]],
    true = code:soft_purge(parallel),
    {module, parallel} = code:load_binary(parallel, "parallel.erl", Beam),
    Purged = code:soft_purge(parallel),
    [Pid ! go || Pid <- Pids],
    t:p(itself, {length(lists:usort(Pids)), Purged, ended(Ref), soon_purged(parallel)}).
