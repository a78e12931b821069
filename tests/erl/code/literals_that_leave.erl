%% Literals of purged modules, and of persistent terms, in what leaves a process when they are about to go: exit reasons, timers, rows, messages.
-module(literals_that_leave).
-export([main/0]).

main() ->
    logger:set_primary_config(level, error),
    erts_debug:set_internal_state(available_internal_state, true),
    t:c(exit_reasons, fun() -> rounds(fun exit_reason/2) end),
    t:c(monitors, fun() -> rounds(fun monitor_reason/2) end),
    t:c(timers, fun() -> rounds(fun timer/2) end),
    t:c(rows, fun() -> rounds(fun row/2) end),
    t:c(messages, fun() -> rounds(fun message/2) end),
    t:c(erased_terms, fun() -> [erased(N) || N <- lists:seq(1, 20)] =:= lists:duplicate(20, true) end).

%% Are they all as they were made?
rounds(Leaves) ->
    process_flag(trap_exit, true),
    lists:usort([begin load(N), Leaves(fun() -> literals_of_now:literal() end, N) =:= expected(N) end || N <- lists:seq(1, 40)]).

expected(N) -> {N, [a, {b, N}, "text", 1.5, 1 bsl 70 + N], #{k => [N]}}.

load(N) ->
    Text = io_lib:format("literal() -> {~w, [a, {b, ~w}, \"text\", 1.5, ~w], #{k => [~w]}}.", [N, N, 1 bsl 70 + N, N]),
    Forms = [form(F) || F <- ["-module(literals_of_now).", "-export([literal/0]).", Text]],
    {ok, _, Code} = compile:forms(Forms),
    code:purge(literals_of_now),
    {module, _} = code:load_binary(literals_of_now, "literals_of_now.erl", Code).

form(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.

%% A process that has the literal, on a heap that no collection may look at; its module goes, which waits for that to be over; and so many turns after it the process
%% does what it is told with the literal.
holder(Literal, N, Then) ->
    Me = self(),
    Pid = spawn_link(fun() ->
        L = Literal(),
        Broken = erts_debug:set_internal_state(inconsistent_heap, start),
        Me ! {self(), has_it},
        receive go_on -> erts_debug:set_internal_state(inconsistent_heap, Broken) end,
        turns(N),
        Then(L)
    end),
    receive {Pid, has_it} -> ok end,
    code:purge(literals_of_now), code:delete(literals_of_now), code:purge(literals_of_now),
    Pid ! go_on,
    Pid.

turns(0) -> ok;
turns(N) -> erlang:yield(), turns(N - 1).

%% What was left is looked at when all that goes has gone.
later() -> [begin persistent_term:put(?MODULE, {lists:seq(1, 50), N}), persistent_term:erase(?MODULE), garbage_collect() end || N <- lists:seq(1, 5)], timer:sleep(5).

exit_reason(Literal, N) ->
    Pid = holder(Literal, N, fun(L) -> exit(L) end),
    later(),
    receive {'EXIT', Pid, Reason} -> Reason end.

monitor_reason(Literal, N) ->
    Pid = holder(Literal, N, fun(L) -> receive after 1 -> exit({shutdown, L}) end end),
    Monitor = monitor(process, Pid),
    later(),
    Reason = receive {'DOWN', Monitor, process, Pid, {shutdown, R}} -> R end,
    receive {'EXIT', Pid, _} -> Reason end.

timer(Literal, N) ->
    Me = self(),
    Pid = holder(Literal, N, fun(L) -> erlang:send_after(10, Me, {later, L}) end),
    receive {'EXIT', Pid, _} -> ok end,
    later(),
    receive {later, L} -> L end.

row(Literal, N) ->
    Table = ets:new(rows, [public]),
    Pid = holder(Literal, N, fun(L) -> ets:insert(Table, {N, L}) end),
    receive {'EXIT', Pid, _} -> ok end,
    later(),
    [{N, L}] = ets:lookup(Table, N),
    ets:delete(Table),
    L.

message(Literal, N) ->
    Me = self(),
    Pid = holder(Literal, N, fun(L) -> Me ! {it_is, L} end),
    later(),
    receive {'EXIT', Pid, _} -> ok end,
    receive {it_is, L} -> L end.

erased(N) ->
    Term = {N, lists:seq(1, 30)},
    persistent_term:put({?MODULE, N}, Term),
    Pid = spawn_link(fun() -> L = persistent_term:get({?MODULE, N}), receive go_on -> exit({held, L}) end end),
    erlang:yield(),
    persistent_term:erase({?MODULE, N}),
    Pid ! go_on,
    later(),
    receive {'EXIT', Pid, {held, L}} -> L =:= Term; {'EXIT', Pid, {badarg, _}} -> true end.
