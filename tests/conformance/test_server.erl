%% Stand-in for Common Test's test_server: configuration, capture of output, peers, small helpers.
-module(test_server).
-export([lookup_config/2, timetrap/1, timetrap_cancel/0, timetrap_cancel/1, timetrap_scale_factor/0, adjusted_sleep/1, sleep/1,
         seconds/1, minutes/1, hours/1, format/1, format/2, format/3, fail/0, fail/1, comment/1, is_cover/0, is_debug/0, is_native/1,
         is_commercial/0, os_type/0, temp_name/1, messages_get/0, messages_get/1, do_times/2, do_times/4, m_out_of_n/3, call_crash/3, call_crash/4,
         call_crash/5, capture_start/0, capture_stop/0, capture_get/0, peer_name/2, start_peer/3, start_peer/5, start_node/3, stop_node/1,
         is_release_available/1, break/1, permit_io/2, is_valgrind/0, is_asan/0, timecall/3]).

lookup_config(Key, Config) ->
    case lists:keyfind(Key, 1, Config) of {Key, V} -> V; false -> undefined end.

timetrap(_) -> make_ref().
timetrap_cancel() -> ok.
timetrap_cancel(_) -> ok.
timetrap_scale_factor() -> 1.
sleep(infinity) -> timer:sleep(infinity);
sleep(T) when is_number(T) -> timer:sleep(trunc(T));
sleep({hours, H}) -> timer:sleep(hours(H));
sleep({minutes, M}) -> timer:sleep(minutes(M));
sleep({seconds, S}) -> timer:sleep(seconds(S)).
adjusted_sleep(T) -> timer:sleep(T).
seconds(N) -> trunc(N * 1000).
minutes(N) -> trunc(N * 60000).
hours(N) -> trunc(N * 3600000).

format(F) -> format(F, []).
format(F, A) ->
    Text = try io_lib:format(F, A) catch _:_ -> io_lib:format("~p ~p", [F, A]) end,
    io:put_chars([Text, $\n]).
format(_, F, A) -> format(F, A).
fail() -> exit(suite_failed).
fail(Reason) -> exit({suite_failed, Reason}).
comment(_) -> ok.
break(_) -> ok.
permit_io(_, _) -> ok.

is_cover() -> false.
is_debug() -> false.
is_native(_) -> false.
is_commercial() -> false.
is_valgrind() -> false.
is_asan() -> false.
is_release_available(_) -> false.
os_type() -> os:type().
temp_name(Stem) -> Stem ++ integer_to_list(erlang:unique_integer([positive])).
messages_get() -> messages_get([]).
messages_get(L) -> receive M -> messages_get([M | L]) after 0 -> lists:reverse(L) end.
do_times(0, _) -> ok;
do_times(N, F) -> F(), do_times(N - 1, F).
do_times(0, _, _, _) -> ok;
do_times(N, M, F, A) -> apply(M, F, A), do_times(N - 1, M, F, A).
m_out_of_n(0, _, _) -> ok;
m_out_of_n(M, 0, _) -> exit({m_out_of_n_failed, {M, left_to_do}});
m_out_of_n(M, N, F) ->
    case catch F() of
        {'EXIT', _} -> m_out_of_n(M, N - 1, F);
        _ -> m_out_of_n(M - 1, N - 1, F)
    end.

call_crash(M, F, A) -> call_crash(infinity, M, F, A).
timecall(M, F, A) ->
    {Micros, Value} = timer:tc(M, F, A),
    {Micros / 1000000, Value}.

call_crash(Time, M, F, A) -> call_crash(Time, any, M, F, A).
call_crash(Time, Crash, M, F, A) ->
    Old = process_flag(trap_exit, true),
    Pid = spawn_link(M, F, A),
    Result = receive
                 {'EXIT', Pid, R} when Crash =:= any; R =:= Crash -> ok;
                 {'EXIT', Pid, R} -> exit({wrong_crash_reason, R})
             after Time -> exit(call_crash_timeout)
             end,
    process_flag(trap_exit, Old),
    Result.

%% Output is captured by standing in for the group leader of the caller.
capture_start() ->
    Caller = group_leader(),
    Pid = spawn(fun() -> capture(Caller, []) end),
    put(conf_capture, {Pid, Caller}),
    group_leader(Pid, self()),
    ok.
capture_stop() ->
    case get(conf_capture) of
        {_, Caller} -> group_leader(Caller, self()), ok;
        _ -> ok
    end.
capture_get() ->
    case get(conf_capture) of
        {Pid, _} -> Pid ! {get, self()}, receive {captured, Pid, L} -> L end;
        _ -> []
    end.
capture(To, Acc) ->
    receive
        {io_request, From, Ref, {put_chars, _, Chars}} -> From ! {io_reply, Ref, ok}, capture(To, [lists:flatten([Chars]) | Acc]);
        {io_request, From, Ref, {put_chars, _, M, F, A}} -> From ! {io_reply, Ref, ok}, capture(To, [lists:flatten(apply(M, F, A)) | Acc]);
        {get, P} -> P ! {captured, self(), lists:reverse(Acc)}, capture(To, []);
        Other -> To ! Other, capture(To, Acc)
    end.

%% Peers: the runner gives cases that need it a distributed node.
peer_name(Module, Case) ->
    peer:random_name(lists:concat([Module, "-", Case])).
start_peer(Opts, Module, Case) when is_map(Opts) ->
    is_alive() orelse maps:is_key(connection, Opts) orelse error(needs_a_node),
    peer:start_link(maps:merge(#{name => peer_name(Module, Case)}, Opts));
start_peer(Args, Module, Case) ->
    start_peer(#{args => ["-pa", filename:dirname(code:which(Module)) | Args]}, Module, Case).
start_peer(_, _, _, _, _) -> not_available.
start_node(Name, _, Opts) ->
    is_alive() orelse error(needs_a_node),
    Args = string:lexemes(proplists:get_value(args, Opts, ""), " "),
    {ok, _, Node} = peer:start(#{name => Name, args => Args}),
    {ok, Node}.
stop_node(Node) -> erpc:call(Node, erlang, halt, []), true.
