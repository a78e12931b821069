# The crash dump as OTP's crashdump_viewer reads it: what processes are and hold, tables, ports, timers, persistent terms.
cat >crashing.erl <<'X'
-module(crashing).
-export([main/0, waits/2]).
waits(X, Y) -> receive never -> {X, Y} end.
f(X) -> Z = waits(X, #{a => X}), [Z | X].
main() ->
    register(first, self()),
    ets:new(rows, [named_table, ordered_set, public]),
    ets:insert(rows, [{I, I} || I <- lists:seq(1, 100)]),
    persistent_term:put({x, y}, #{big => lists:seq(1, 10), f => 1.5}),
    Large = binary:copy(<<"hello">>, 100),
    put(numbers, {1.25, -3.0e-200, 0.1, 1 bsl 100, -(1 bsl 200), -1, 1 bsl 60}),
    put(things, {fun lists:map/2, fun(Q) -> {Large, Q} end, Large, binary:part(Large, 5, 100), <<"small">>, [a | b]}),
    put(maps, {#{}, #{a => 1, b => #{c => "text"}}, maps:from_list([{I, I * I} || I <- lists:seq(1, 100)])}),
    put(atoms, ['', 'a b', [], "", 'x:y', true]),
    erlang:send_after(100000, self(), {hello, "you"}),
    self() ! {a, b},
    self() ! [Large, 1.5],
    register(second, spawn_link(fun() -> f(Large) end)),
    {Third, Ref} = spawn_monitor(fun() -> process_flag(trap_exit, true), catch f([Large, 1.5]), ok end),
    register(third, Third),
    Third ! {Ref, 1, 2},
    register(fourth, spawn(fun() -> process_flag(sensitive, true), put(x, y), f(1) end)),
    register(cat, open_port({spawn, "cat"}, [binary])),
    timer:sleep(100),
    erlang:halt("the slogan").
X
cat >viewing.erl <<'X'
-module(viewing).
-export([main/1]).
-include("crashdump_viewer.hrl").
main([Dump]) ->
    {ok, _} = crashdump_viewer:start_link(),
    ok = crashdump_viewer:read_file(Dump),
    {ok, General, []} = wait(50),
    io:format("~p~n", [General#general_info.slogan]),
    {ok, Processes, []} = crashdump_viewer:processes(),
    [process(P) || Name <- ["first", "second", "third", "fourth", "init"], P <- Processes, P#proc.name =:= Name],
    {ok, Tables, []} = crashdump_viewer:ets_tables(all),
    [io:format("~p~n", [{T#ets_table.name, T#ets_table.size, T#ets_table.is_named, maps:with([protection, compressed, read_c], T#ets_table.details)}])
     || T <- Tables, T#ets_table.name =:= "rows"],
    {ok, Ports, []} = crashdump_viewer:ports(),
    [io:format("~p~n", [{P#port.controls, P#port.input, P#port.output, P#port.queue}]) || P <- Ports, P#port.name =:= "cat"],
    {ok, Timers, []} = crashdump_viewer:timers(all),
    [io:format("~p~n", [{T#timer.msg, T#timer.time > 90000}]) || T <- Timers, T#timer.msg =/= "refresh_timeout"],
    {ok, Terms, []} = crashdump_viewer:persistent_terms(),
    io:format("~p~n", [proplists:get_value({x, y}, Terms)]),
    {ok, Atoms, []} = crashdump_viewer:atoms(),
    io:format("~p~n", [[lists:keymember({list_to_binary(A), q}, 2, Atoms) || A <- ["a b'", "x:y'", "no b'"]]]),
    {ok, _, _, Modules, []} = loaded(crashdump_viewer:loaded_modules()),
    io:format("~p~n", [[lists:keymember({atom_to_binary(M), nq}, #loaded_mod.mod, Modules) || M <- [crashing, lists, nothing]]]),
    {ok, Memory, []} = crashdump_viewer:memory(),
    io:format("~p~n", [[list_to_integer(V) > 0 || {K, V} <- Memory, lists:member(K, [total, processes, system, atom, binary, code, ets])]]),
    {ok, Schedulers, []} = crashdump_viewer:schedulers(),
    io:format("~p~n", [length([S || #sched{type = normal} = S <- Schedulers]) =:= erlang:system_info(schedulers)]),
    halt().
%% The file is read by a server that goes on after the answer.
wait(N) ->
    case catch crashdump_viewer:general_info() of
        {ok, _, _} = Info -> Info;
        _ when N > 0 -> timer:sleep(100), wait(N - 1)
    end.
loaded({ok, Modules, W}) -> {ok, 0, 0, Modules, W};
loaded({ok, A, B, Modules, W}) -> {ok, A, B, Modules, W}.
process(#proc{pid = Pid}) ->
    {ok, P, []} = crashdump_viewer:proc_details(pid_to_list(Pid)),
    io:format("~p~n", [{P#proc.name, P#proc.init_func, P#proc.state, P#proc.msg_q_len, many(P#proc.links), many(P#proc.monitors), many(P#proc.mon_by)}]),
    case P#proc.name of
        "init" -> ok;
        _ ->
            [io:format("  ~s ~p~n", [K, plain(V)]) || {K, V} <- lists:sort([{K, V} || {K, V} <- P#proc.dict])],
            [io:format("  message ~p~n", [plain(M)]) || {M, _} <- P#proc.msg_q],
            [io:format("  ~p ~p~n", [Y, plain(V)]) || P#proc.name =/= "first", {Y, V} <- P#proc.stack_dump, lists:member(Y, [y0, y1, y2])]
    end.
many(undefined) -> 0;
many(L) -> length(L).
plain(['#CDVPid' | _]) -> pid;
plain(['#CDVBin', Offset, Size, _]) -> {binary, Offset, Size};
plain("Catch " ++ _) -> "Catch";
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(M) when is_map(M) -> maps:map(fun(_, V) -> plain(V) end, M);
plain(F) when is_function(F) -> erlang:fun_info(F, module);
plain(R) when is_reference(R) -> reference;
plain(T) -> T.
X
OBSERVER=$("$ERL" -noshell -eval 'io:put_chars(code:lib_dir(observer)), halt().')
"$(dirname "$ERL")/erlc" -W0 crashing.erl
"$(dirname "$ERL")/erlc" -W0 -I "$OBSERVER/src" -I "$OBSERVER/include" viewing.erl
ERL_CRASH_DUMP=whole "$ERL" -noshell -s crashing main </dev/null >out 2>&1
echo "status $?"
tr -d '\r' <out | sed "s#to: .*/#to: #" | grep -a .
"$ERL" -noshell -run viewing main whole </dev/null 2>&1
ERL_CRASH_DUMP=none ERL_CRASH_DUMP_SECONDS=0 "$ERL" -noshell -s crashing main </dev/null >/dev/null 2>&1
ERL_CRASH_DUMP=part ERL_CRASH_DUMP_BYTES=20000 "$ERL" -noshell -s crashing main </dev/null >/dev/null 2>&1
ls none 2>/dev/null
tail -n 1 part
