%% A release of two versions, upgraded and taken back while its server runs: started by cli/release_upgrade.sh, first to make the
%% release's files in the current directory, then from its boot file.
-module(upgraded).
-export([make/0, run/0]).

version(V) -> integer_to_list(V).

application_version(Name) ->
    application:load(Name),
    {ok, V} = application:get_key(Name, vsn),
    V.

directory(V) -> filename:join(["lib", "rup-" ++ version(V), "ebin"]).

make() ->
    [application(V) || V <- [1, 2]],
    [release(V) || V <- [1, 2]],
    {ok, Root} = file:get_cwd(),
    Path = [{path, [directory(V) || V <- [1, 2]]}, {outdir, "releases/2"}, silent],
    {ok, _, _, _} = systools:make_relup("releases/2/rup", ["releases/1/rup"], ["releases/1/rup"], Path),
    ok = release_handler:create_RELEASES(Root, filename:join(Root, "releases"), filename:join(Root, "releases/1/rup.rel"),
                                         [{rup, "1", filename:join(Root, "lib")}]),
    halt().

application(V) ->
    Ebin = directory(V),
    ok = filelib:ensure_path(Ebin),
    Write = fun(File, Term) -> ok = file:write_file(filename:join(Ebin, File), io_lib:format("~p.~n", [Term])) end,
    Modules = [rup_app, rup_server] ++ [rup_more || V =:= 2],
    Write("rup.app", {application, rup, [{description, "a server"}, {vsn, version(V)}, {modules, Modules}, {registered, [rup_server]},
                                         {applications, [kernel, stdlib]}, {mod, {rup_app, []}}]}),
    Way = fun(Change) -> [{update, rup_server, {advanced, V}}, Change] end,
    V =:= 2 andalso Write("rup.appup", {"2", [{"1", Way({add_module, rup_more})}], [{"1", Way({delete_module, rup_more})}]}),
    [ok = file:write_file(filename:join(Ebin, atom_to_list(M) ++ ".beam"), compiled(source(M, V))) || M <- Modules].

release(V) ->
    Name = filename:join(["releases", version(V), "rup"]),
    ok = filelib:ensure_dir(Name),
    Applications = [{A, application_version(A)} || A <- [kernel, stdlib, sasl]] ++ [{rup, version(V)}],
    Release = {release, {"rup", version(V)}, {erts, erlang:system_info(version)}, Applications},
    ok = file:write_file(Name ++ ".rel", io_lib:format("~p.~n", [Release])),
    {ok, _, _} = systools:make_script(Name, [{path, [directory(V)]}, {outdir, filename:dirname(Name)}, local, silent]),
    {ok, _} = file:copy(Name ++ ".boot", filename:join(filename:dirname(Name), "start.boot")),
    ok = file:write_file(filename:join(filename:dirname(Name), "sys.config"), "[].\n").

source(rup_app, _) ->
    "-module(rup_app). -behaviour(application). -behaviour(supervisor). -export([start/2, stop/1, init/1]). "
    "start(_, _) -> supervisor:start_link(rup_app, []). stop(_) -> ok. "
    "init([]) -> {ok, {#{}, [#{id => server, start => {rup_server, start_link, []}, modules => [rup_server]}]}}.";
source(rup_more, _) ->
    "-module(rup_more). -export([what/0]). what() -> more.";
source(rup_server, V) ->
    State = ["{one, 0}", "{two, 0, fresh}"],
    lists:append(
      ["-module(rup_server). -vsn(", version(V), "). -behaviour(gen_server). ",
       "-export([start_link/0, init/1, handle_call/3, handle_cast/2, code_change/3]). ",
       "start_link() -> gen_server:start_link({local, rup_server}, rup_server, [], []). ",
       "init([]) -> {ok, ", lists:nth(V, State), "}. ",
       "handle_call(next, _, {one, N}) -> {reply, {one, N}, {one, N + 1}}; ",
       "handle_call(next, _, {two, N, How}) -> {reply, {two, N, How, rup_more:what()}, {two, N + 1, How}}. ",
       "handle_cast(_, S) -> {noreply, S}. ",
       "code_change({down, _}, {two, N, _}, Extra) -> {ok, {one, N * 10 + Extra}}; ",
       "code_change(_, {one, N}, Extra) -> {ok, {two, N, {from_one, Extra}}}."]).

compiled(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, _, Beam} = compile:forms(forms(Tokens)),
    Beam.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

%% In the first version of the release, by its boot file.
run() ->
    {ok, Root} = file:get_cwd(),
    Show = fun(What) -> io:format("~ts: ~0p~n", [What, {releases(), next(), application_version(rup)}]) end,
    Pid = whereis(rup_server),
    Show("first"),
    next(),
    io:format("unpacked: ~0p~n", [release_handler:set_unpacked(filename:join(Root, "releases/2/rup.rel"), [{rup, "2", filename:join(Root, "lib")}])]),
    io:format("checked: ~0p~n", [release_handler:check_install_release("2")]),
    io:format("installed: ~0p~n", [release_handler:install_release("2")]),
    Show("second"),
    io:format("same process: ~p~n", [Pid =:= whereis(rup_server)]),
    io:format("permanent: ~0p~n", [release_handler:make_permanent("2")]),
    io:format("back: ~0p~n", [release_handler:install_release("1")]),
    Show("first again"),
    io:format("without: ~0p~n", [catch rup_more:what()]),
    io:format("same process: ~p~n", [Pid =:= whereis(rup_server)]),
    io:format("permanent: ~0p~n", [release_handler:make_permanent("1")]),
    io:format("removed: ~0p~n", [release_handler:remove_release("2")]),
    halt().

next() -> gen_server:call(rup_server, next).

releases() -> lists:sort([{Name, Vsn, Status} || {Name, Vsn, _, Status} <- release_handler:which_releases()]).
