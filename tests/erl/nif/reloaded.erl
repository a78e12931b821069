%% Libraries that go: code loading, purge, take-over of resource types, and what keeps a library mapped.
-module(reloaded).
-export([main/0]).

main() ->
    register(listener, self()),
    ok = file:set_cwd(t:tmp("reloaded")),
    [compile(Version, Flags) || {Version, Flags} <- [{1, 1}, {2, 3}, {3, 1}]],
    t:c(refuses, fun() -> code(), {load(1, 5), events(), mapped()} end),
    t:c(at_once, fun at_once/0),
    t:c(unloads, fun() -> {purge(), events(), mapped(1)} end),
    t:c(with_objects, fun with_objects/0),
    t:c(takes_over, fun takes_over/0),
    t:c(takes_nothing_over, fun takes_nothing_over/0),
    t:c(refused_upgrade, fun refused_upgrade/0),
    t:c(watches, fun watches/0),
    t:c(slow, fun() -> ended_in(slow) end),
    t:c(later, fun() -> ended_in(later) end),
    t:c(often, fun() -> [begin code(), ok = load(2, 1 * 0), purge() end || _ <- lists:seq(1, 5)], {length(events()), mapped(1)} end).

compile(Version, Flags) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "reloaded.c"),
    "" = os:cmd(io_lib:format("cc -shared -fPIC -O1 -DVERSION=~b -DFLAGS=~b -I ~ts/usr/include -o library~b.so ~ts", [Version, Flags, code:root_dir(), Version, Source])).

%% A version more of the module that has the libraries' functions.
code() ->
    Text = "-module(reloaded_nif). -export([load/2, make/0, look/1, watch/2, slow/0, later/0]).
            load(F, I) -> erlang:load_nif(F, I).
            make() -> no. look(_) -> no. watch(_, _) -> no. slow() -> no. later() -> no.",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, _, Binary} = compile:forms(forms(Tokens), [{d, version, erlang:unique_integer()}]),
    code:purge(reloaded_nif),
    {module, _} = code:load_binary(reloaded_nif, "reloaded_nif", Binary).

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

load(Version, Info) -> reloaded_nif:load(filename:absname("library" ++ integer_to_list(Version)), Info).

%% All code of it goes.
purge() -> code:purge(reloaded_nif), Deleted = code:delete(reloaded_nif), {Deleted, code:purge(reloaded_nif)}.

%% What the libraries have told so far.
events() -> receive {_, _, _} = Event -> [Event | events()] after 50 -> [] end.

%% Which libraries are mapped: they need not go at once.
mapped() ->
    {ok, Maps} = file:read_file("/proc/self/maps"),
    [V || V <- [1, 2, 3], binary:match(Maps, <<"/library", ($0 + V), ".so">>) =/= nomatch].

mapped(Tries) when Tries < 100 -> case mapped() of [] -> []; _ -> timer:sleep(10), mapped(Tries + 1) end;
mapped(_) -> mapped().

%% Only one of those who load at once does.
at_once() ->
    code(),
    Self = self(),
    [spawn(fun() -> Self ! {loaded, load(1, 0)} end) || _ <- lists:seq(1, 5)],
    {lists:sort([receive {loaded, X} -> X end || _ <- lists:seq(1, 5)]), events(), mapped()}.

in_another(F) ->
    {_, M} = spawn_monitor(fun() -> exit(F()) end),
    receive {'DOWN', M, _, _, X} -> X end.

with_objects() ->
    code(), ok = load(1, 0),
    {A, B} = reloaded_nif:make(),
    Looked = [reloaded_nif:look(X) || X <- [A, B, make_ref()]],
    Gone = in_another(fun() -> reloaded_nif:make(), ok end),
    {Looked, Gone, events(), purge(), events(), mapped(), is_reference(A), kept(B), events(), mapped(1)}.

%% The other term goes.
kept(X) -> erlang:garbage_collect(), is_reference(X).

takes_over() ->
    code(), ok = load(1, 0),
    {A, B} = reloaded_nif:make(),
    code(), ok = load(2, 0),
    Looked = [reloaded_nif:look(X) || X <- [A, B]],
    code:purge(reloaded_nif),
    Mapped = lists:member(2, mapped()),
    More = [reloaded_nif:look(X) || X <- [A, B]],
    {Looked, Mapped, More, events(), purge(), is_reference(A), kept(B), events(), mapped(1), is_reference(B)}.

takes_nothing_over() ->
    code(), ok = load(1, 0),
    {A, B} = reloaded_nif:make(),
    code(), Loaded = load(3, 0),
    Looked = [reloaded_nif:look(X) || X <- [A, B]],
    {Loaded, Looked, events(), purge(), events(), mapped(), is_reference(A), kept(B), events(), mapped(1)}.

refused_upgrade() ->
    code(), ok = load(2, 0),
    {A, _} = reloaded_nif:make(),
    code(), Loaded = load(1, 7),
    Again = load(2, 0),
    Looked = reloaded_nif:look(A),
    {Loaded, Again, Looked, events(), purge(), is_reference(A), kept(0), events(), mapped(1)}.

%% A process that is watched ends when the code has gone.
watches() ->
    code(), ok = load(1, 0),
    {A, _} = reloaded_nif:make(),
    P = spawn(fun() -> receive stop -> ok end end),
    0 = reloaded_nif:watch(A, P),
    purge(),
    P ! stop,
    {events(), is_reference(A), kept(0), events(), mapped(1)}.

%% The process ends while a function runs for it, and the code goes. (OTP 25 crashes where it goes before the function has returned.)
ended_in(Function) ->
    code(), ok = load(1, 0),
    _ = events(),
    {P, M} = spawn_monitor(reloaded_nif, Function, []),
    receive {Function, 1, 0} -> ok end,
    exit(P, kill),
    receive {'DOWN', M, _, _, _} -> ok end,
    timer:sleep(400),
    purge(),
    %% What was to follow may have run or not.
    {[E || E <- events(), element(1, E) =:= unload], mapped(1)}.
