%% Three ways to do what has several parts.
-module(loops_ways).
-export([both/3, fold/5, map/3, tasks/1]).

%% What both funs give.
both(sequential, F, G) ->
    A = F(),
    {A, G()};
both(parallel, F, G) -> parallel:both(F, G);
both(tasks, F, G) ->
    Task = task(G),
    A = F(),
    {A, outcome(Task)}.

%% Combine of what Map gives for the elements.
fold(parallel, Map, Combine, Zero, Data) -> parallel:fold(Map, Combine, Zero, Data);
fold(sequential, Map, Combine, Zero, Data) -> lists:foldl(fun(X, Acc) -> Combine(Acc, Map(X)) end, Zero, list(Data));
fold(tasks, Map, Combine, Zero, Data) -> lists:foldl(fun(X, Acc) -> Combine(Acc, X) end, Zero, map(tasks, Map, Data)).

map(parallel, Map, Data) -> parallel:map(Map, Data);
map(sequential, Map, Data) -> lists:map(Map, list(Data));
map(tasks, Map, Data) -> tasks([fun() -> Map(X) end || X <- list(Data)]).

%% A process for each.
tasks(Funs) -> [outcome(Task) || Task <- [task(F) || F <- Funs]].

task(F) -> spawn_monitor(fun() -> exit({done, F()}) end).

outcome({Pid, Ref}) ->
    receive {'DOWN', Ref, process, Pid, {done, Value}} -> Value;
            {'DOWN', Ref, process, Pid, Reason} -> exit(Reason)
    end.

list({seq, From, To}) -> lists:seq(From, To);
list(List) -> List.
