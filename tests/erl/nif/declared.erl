%% Modules that say which of their functions may be NIFs (`-nifs`).
-module(declared).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("declared")),
    [compile(Name, Entries) || {Name, Entries} <- libraries()],
    [t:c([D, $\s, Name], fun() -> loaded(D, Name) end) || D <- declarations(), {Name, _} <- libraries()].

libraries() ->
    [{"a", ["a"]}, {"ab", ["a", "b"]}, {"own", ["own"]}, {"no", ["a", "no"]}, {"twice", ["a", "a"]}, {"b_twice", ["b", "b"]}].

declarations() ->
    ["", "-nifs([]).", "-nifs([a/0]).", "-nifs([a/0, b/0]).", "-nifs([own/0]).", "-nifs([a/0]). -nifs([b/0])."].

%% `a` and `b` are exported, `own` is not. What a library that is refused has is called in Erlang.
loaded(Declaration, Library) ->
    Text = "-module(declared_nif). -export([load/1, a/0, b/0, c/0]). " ++ Declaration ++
        " load(F) -> erlang:load_nif(F, 0). a() -> erlang. b() -> erlang. c() -> own(). own() -> erlang.",
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, _, Binary} = compile:forms(forms(Tokens)),
    code:purge(declared_nif),
    {module, _} = code:load_binary(declared_nif, "declared_nif", Binary),
    Loaded = declared_nif:load(filename:absname(Library)),
    Answer = {Loaded, [declared_nif:F() || F <- [a, b, c]]},
    {true, _} = {code:delete(declared_nif), code:purge(declared_nif)},
    Answer.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

compile(Name, Functions) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "declared.c"),
    Entries = lists:join($,, [["{\"", F, "\",0,here,0}"] || F <- Functions]),
    "" = os:cmd(["cc -shared -fPIC -O1 '-DENTRIES=", Entries, "' -I ", code:root_dir(), "/usr/include -o ", Name, ".so ", Source]).
