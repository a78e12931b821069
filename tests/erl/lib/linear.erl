%% Linearizability of what several processes do at the same time (Herlihy and Wing, 1990): is there one order of all operations, in which
%% each takes place at some moment between its call and its return, that a sequential model answers alike?
%%
%% A history is a list of {Call, Return, Operation, Result}; moments are strictly monotonic integers of the VM. The search is that of Wing
%% and Gong (1993): of the operations that no other one has returned before, try each one whose result the model agrees with. A set of
%% operations with the state that they have led to is looked at once (Lowe, 2017).
-module(linear).
-export([record/2, holds/3]).

%% Runs the operations of each worker, a list of {Operation, Fun}, side by side; gives the history.
record(Workers, Timeout) ->
    Me = self(),
    Pids = [spawn_link(fun() -> receive go -> ok end, Me ! {self(), [operation(O, F) || {O, F} <- Operations]} end) || Operations <- Workers],
    [P ! go || P <- Pids],
    lists:append([receive {P, Done} -> Done after Timeout -> exit({no_end, P}) end || P <- Pids]).

operation(Operation, Fun) ->
    Call = erlang:unique_integer([monotonic]),
    Result = try Fun() catch error:badarg -> badarg end,
    {Call, erlang:unique_integer([monotonic]), Operation, Result}.

%% Can the history be put in order? Model(Operation, State) is {Result, NewState}.
holds(History, Model, State) ->
    Numbered = lists:zip(lists:seq(0, length(History) - 1), lists:sort(History)),
    {Found, _} = search(Numbered, 0, Model, State, #{}),
    Found.

search([], _, _, _, Seen) -> {true, Seen};
search(Left, Done, Model, State, Seen) ->
    case Seen of
        #{{Done, State} := _} -> {false, Seen};
        #{} ->
            First = lists:min([Return || {_, {_, Return, _, _}} <- Left]),
            try_each([One || {_, {Call, _, _, _}} = One <- Left, Call < First], Left, Done, Model, State, Seen#{{Done, State} => seen})
    end.

try_each([], _, _, _, _, Seen) -> {false, Seen};
try_each([{N, {_, _, Operation, Result}} = One | Others], Left, Done, Model, State, Seen) ->
    Found = case Model(Operation, State) of
        {Result, Next} -> search(lists:delete(One, Left), Done bor (1 bsl N), Model, Next, Seen);
        _ -> {false, Seen}
    end,
    case Found of
        {true, _} -> Found;
        {false, Seen2} -> try_each(Others, Left, Done, Model, State, Seen2)
    end.
