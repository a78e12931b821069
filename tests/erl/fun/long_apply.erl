%% Argument lists that are longer than any function's: `undef`, `badarity`, and a limit far above.
-module(long_apply).
-export([main/0, f/1]).

f(_) -> ok.

main() ->
    logger:set_primary_config(level, none),
    [begin
         L = lists:seq(1, N),
         Name = fun(What) -> list_to_atom(What ++ "_" ++ integer_to_list(N)) end,
         t:c(Name("mfa"), fun() -> outcome(fun() -> mfa(?MODULE, f, L) end) end),
         t:c(Name("mfa_last"), fun() -> outcome(fun() -> mfa_last(nowhere, f, L) end) end),
         t:c(Name("built_in"), fun() -> outcome(fun() -> mfa(erlang, abs, L) end) end),
         t:c(Name("local_fun"), fun() -> outcome(fun() -> fun_call(fun(_) -> ok end, L) end) end),
         t:c(Name("local_fun_last"), fun() -> outcome(fun() -> fun_last(fun(_) -> ok end, L) end) end),
         t:c(Name("external_fun"), fun() -> outcome(fun() -> fun_call(fun ?MODULE:f/1, L) end) end),
         t:c(Name("no_fun"), fun() -> outcome(fun() -> fun_call(x, L) end) end),
         t:c(Name("no_fun_last"), fun() -> outcome(fun() -> fun_last(x, L) end) end),
         t:c(Name("no_module"), fun() -> outcome(fun() -> mfa(1, f, L) end) end),
         t:c(Name("improper"), fun() -> outcome(fun() -> mfa(?MODULE, f, L ++ x) end) end),
         t:c(Name("improper_fun"), fun() -> outcome(fun() -> fun_last(fun ?MODULE:f/1, L ++ x) end) end),
         t:c(Name("spawn"), fun() -> down(spawn_monitor(?MODULE, f, L)) end),
         t:c(Name("hibernate"), fun() -> down(spawn_monitor(fun() -> self() ! x, erlang:hibernate(?MODULE, f, L) end)) end)
     end || N <- [255, 256, 300, 1022, 1023, 1024, 1025]].

mfa(M, F, A) -> R = apply(M, F, A), {r, R}.
mfa_last(M, F, A) -> apply(M, F, A).
fun_call(F, A) -> R = apply(F, A), {r, R}.
fun_last(F, A) -> apply(F, A).

outcome(F) ->
    try F() catch error:Reason:Stack -> {reason(Reason), [frame(S) || S <- lists:sublist(Stack, 2)]} end.

reason({badarity, {_, L}}) -> {badarity, length(L)};
reason(Reason) -> Reason.

%% Names of funs are left out: how many frames there are below them is not the point.
frame({M, F, A, Info}) ->
    Name = case atom_to_list(F) of "-" ++ _ -> a_fun; _ -> F end,
    {M, Name, if is_list(A) -> {arguments, length(A)}; Name =:= a_fun -> any; true -> A end, lists:keymember(error_info, 1, Info)}.

down({_, Ref}) ->
    receive {'DOWN', Ref, _, _, {Reason, [Top | _]}} -> {Reason, frame(Top)} end.
