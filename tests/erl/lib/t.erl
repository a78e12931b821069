%% What the recorded tests share: run a program, print one line for each case.
%%
%% A case is a name and a fun. Its line is `name: result`, or `name: class reason [frames]` when it
%% raises. Nothing that differs between two runs may be printed, so pids, references, ports and
%% local funs are replaced by their kind; frames hold module, function, arity or arguments, and line.
-module(t).
-export([main/1, c/2, outcome/1, p/2, id/1, norm/1, raw/2, flush/0, flush/1, frames/1, tmp/1, mute/0, each/3, parallel/0]).

%% Started as `erl -noshell -s t main MODULE`.
main([Module]) ->
    try Module:main() of
        _ -> halt(0)
    catch
        Class:Reason:Stack ->
            p(crashed, {Class, Reason, frames(Stack)}),
            halt(1)
    end.

c(Name, Fun) ->
    try Fun() of
        Value -> p(Name, Value)
    catch
        Class:Reason:Stack ->
            io:format("~ts: ~w ~0tp ~0tp~n", [name(Name), Class, norm(Reason), norm(frames(Stack))])
    end.

%% What a fun comes to, for cases that print several of them.
outcome(F) ->
    try F() of
        Value -> {ok, Value}
    catch
        Class:Reason -> {Class, Reason}
    end.

p(Name, Value) ->
    io:format("~ts: ~0tp~n", [name(Name), norm(Value)]).

%% As p, but a string is printed as it is, newlines visible.
raw(Name, Text) ->
    io:format("~ts: ~ts~n", [name(Name), string:replace(unicode:characters_to_list(Text), "\n", "\\n", all)]).

%% One line for each value of a list.
each(Name, Values, Fun) ->
    lists:foreach(fun(V) -> c(io_lib:format("~ts ~0tp", [name(Name), norm(V)]), fun() -> Fun(V) end) end,
                  Values).

name(Name) when is_atom(Name) -> atom_to_list(Name);
name(Name) -> Name.

%% Hides a value from the compiler, so that nothing is computed at compile time.
id(X) -> X.

frames(Stack) ->
    [{M, F, A, proplists:get_value(line, Info, none)}
     || {M, F, A, Info} <- lists:takewhile(fun(Frame) -> element(1, Frame) =/= ?MODULE end, Stack)].

norm(T) when is_pid(T) -> '<pid>';
norm(T) when is_reference(T) -> '<ref>';
norm(T) when is_port(T) -> '<port>';
norm(T) when is_function(T) ->
    case erlang:fun_info(T, type) of
        {type, external} -> T;
        {type, local} -> {'<fun>', element(2, erlang:fun_info(T, arity))}
    end;
norm(T) when is_tuple(T) -> list_to_tuple(norm(tuple_to_list(T)));
norm([H | T]) -> [norm(H) | norm(T)];
norm(T) when is_map(T) -> maps:from_list([{norm(K), norm(V)} || {K, V} <- maps:to_list(T)]);
norm(T) -> T.

%% All messages that are there (or come within a time), in order.
flush() -> flush(0).
flush(Time) ->
    %% Twice the time, as machines that run tests are often busy.
    receive M -> [M | flush(Time)] after 2 * Time -> [] end.

%% A directory of the program's own, removed and made anew.
tmp(Name) ->
    Dir = filename:join(os:getenv("TEST_TMP", "/tmp"), Name),
    file:del_dir_r(Dir),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    Dir.

%% No reports of crashes on standard output.
mute() -> logger:set_primary_config(level, none).

%% The module `parallel` is there: on stock OTP it is compiled from the sources that a library would depend on.
parallel() ->
    Sources = filename:join([os:getenv("TEST_TOP"), "..", "erl"]),
    erlang:function_exported(parallel_parts, enter, 4)
        orelse [compiled(filename:join(Sources, File)) || File <- ["parallel.erl", "stock/parallel_parts.erl"]].

compiled(Source) ->
    {ok, Module, Beam} = compile:file(Source, [binary]),
    {module, Module} = code:load_binary(Module, filename:basename(Source), Beam).
