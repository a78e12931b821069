%% What all cores touch, as loops that processes do side by side; for the simulator, and the same on real cores.
%%
%% `myriad sim --cores N bench/scaling.erl LOOP [MICROSECONDS]` starts four workers for each scheduler, lets them work for as long as the
%% window is, counts what they do in the window (200 us of virtual time; on real cores take 100000 or more), and prints
%% `LOOP OPERATIONS-A-MILLISECOND`. Starting and ending do not count. `names [builtins]` prints the loops. `fan_in SENDERS [MESSAGES]` has so many processes send
%% some 20,000 messages, or as many as it says, together to one, which takes them one by one; its time is from the first to the last.
-module(scaling).
-export([main/1]).

-define(NAME, scaling_name).
-define(KEY, {?MODULE, key}).
%% Operations between two looks at the clock.
-define(STRETCH, 8).

main(["names"]) -> names(structures());
main(["names", "builtins"]) -> names(builtins());
main(["fan_in", Senders | Messages]) ->
    fan_in(list_to_integer(Senders), list_to_integer(hd(Messages ++ ["20000"])));
main([Name]) -> main([Name, window(Name)]);
main([Name, Window]) ->
    {_, Prepare, Body} = lists:keyfind(list_to_atom(Name), 1, structures() ++ builtins()),
    Length = erlang:convert_time_unit(list_to_integer(Window), microsecond, native),
    Shared = Prepare(),
    Count = 4 * erlang:system_info(schedulers),
    Self = self(),
    Workers = [spawn_link(fun() -> worker(Self, Body, {Shared, I}) end) || I <- lists:seq(1, Count)],
    [receive {ready, P} -> ok end || P <- Workers],
    Begin = erlang:monotonic_time() + warm_up(Name) * Length,
    [P ! {go, Begin, Begin + Length} || P <- Workers],
    Done = lists:sum([receive {done, P, N} -> N end || P <- Workers]),
    io:format("~s ~w~n", [Name, round(Done * 1000 / list_to_integer(Window))]),
    halt(0).

names(Loops) -> [io:format("~s~n", [Name]) || {Name, _, _} <- Loops].

%% Partners have to handle the signals of links and monitors meanwhile, whole slices long.
window(Name) when Name =:= "link"; Name =:= "monitor" -> "4000";
window(_) -> "200".

%% Windows until the one that counts: shards are divided while they are fought over, which is over by then on 128 cores.
warm_up(Name) ->
    case lists:member(Name, ["counter", "counter_auto", "counter_wc", "insert_wc"]) of
        true -> 20;
        false -> 1
    end.

fan_in(Senders, Messages) ->
    Each = Messages div Senders,
    Self = self(),
    Workers = [spawn_link(fun() -> receive go -> send(Self, Each) end end) || _ <- lists:seq(1, Senders)],
    Begin = erlang:monotonic_time(),
    [P ! go || P <- Workers],
    take(Senders * Each),
    Took = erlang:convert_time_unit(erlang:monotonic_time() - Begin, native, nanosecond),
    io:format("fan_in_~w ~w~n", [Senders, round(Senders * Each * 1.0e6 / Took)]),
    halt(0).

send(_, 0) -> ok;
send(To, N) -> To ! message, send(To, N - 1).

take(0) -> ok;
take(N) -> receive message -> take(N - 1) end.

worker(Parent, Body, Own) ->
    Body(Own, 0),
    Parent ! {ready, self()},
    receive {go, Begin, End} -> Parent ! {done, self(), work(Body, Own, Begin, End, 1, 0)} end.

%% Works until the window has ended; gives the operations in it.
work(Body, Own, Begin, End, N, Done) ->
    Next = stretch(Body, Own, N, ?STRETCH),
    case erlang:monotonic_time() of
        Now when Now >= End -> Done;
        Now when Now >= Begin -> work(Body, Own, Begin, End, Next, Done + ?STRETCH);
        _ -> work(Body, Own, Begin, End, Next, Done)
    end.

stretch(_, _, N, 0) -> N;
stretch(Body, Own, N, Left) ->
    Body(Own, N),
    stretch(Body, Own, N + 1, Left - 1).

%% Each: its name, what is made before, and an operation of a worker, who has what was made and a number of its own.
structures() ->
    [{nothing, fun nothing/0, fun(_, _) -> ok end},
     {whereis, fun() -> register(?NAME, self()) end, fun(_, _) -> whereis(?NAME) end},
     {named_send, fun nothing/0, fun named_send/2},
     {self_send, fun nothing/0, fun(_, N) -> self() ! N, receive N -> ok end end},
     {ping, fun nothing/0, fun ping/2},
     {spawn_exit, fun nothing/0, fun spawn_exit/2},
     {timer, fun nothing/0, fun(_, _) -> erlang:cancel_timer(erlang:start_timer(60000, self(), late)) end},
     {persistent_term, fun() -> persistent_term:put(?KEY, {a, b}) end, fun(_, _) -> persistent_term:get(?KEY) end},
     {existing_atom, fun() -> scaling_atom end, fun(_, _) -> list_to_existing_atom("scaling_atom") end},
     {one_binary, fun() -> binary:copy(<<"0123456789">>, 100) end, fun({B, _}, _) -> self() ! B, receive B -> ok end end},
     {lookup, fun() -> filled([]) end, fun lookup/2},
     {lookup_wc, fun() -> filled([{write_concurrency, true}]) end, fun lookup/2},
     {lookup_same, fun() -> filled([{read_concurrency, true}]) end, fun({T, _}, _) -> ets:lookup(T, {1, 1}) end},
     {counter, fun() -> filled([]) end, fun counter/2},
     {counter_wc, fun() -> filled([{write_concurrency, true}]) end, fun counter/2},
     {counter_auto, fun() -> filled([{write_concurrency, auto}]) end, fun counter/2},
     {insert_wc, fun() -> filled([{write_concurrency, true}]) end, fun insert/2},
     {ordered_lookup, fun() -> filled([ordered_set, {read_concurrency, true}]) end, fun lookup/2},
     {ordered_lookup_plain, fun() -> filled([ordered_set]) end, fun lookup/2},
     {ordered_lookup_wc, fun() -> filled([ordered_set, {write_concurrency, true}]) end, fun lookup/2},
     {ordered_counter_wc, fun() -> filled([ordered_set, {write_concurrency, true}]) end, fun counter/2}].

%% Built-ins that ask for what the VM has one of.
builtins() ->
    [{named_table, fun() -> filled([named_table]), scaling end, fun lookup/2},
     {table_whereis, fun() -> filled([named_table]), scaling end, fun({T, _}, _) -> ets:whereis(T) end},
     {read_table, fun() -> term_to_binary(filled([])) end, fun({T, I}, N) -> lookup({binary_to_term(T), I}, N) end},
     {dynamic_call, fun calls/0, fun({Calls, _}, N) -> {M, F, As} = element(N rem 8 + 1, Calls), apply(M, F, As) end},
     {local_fun, fun nothing/0, fun(_, N) -> call(fun() -> N end) end},
     {external_fun, fun calls/0, fun({Calls, _}, N) -> {M, F, [A]} = element(N rem 8 + 1, Calls), call(fun M:F/1, A) end},
     {read_fun, fun() -> term_to_binary(fun() -> ok end) end, fun({F, _}, _) -> call(binary_to_term(F)) end},
     {read_external_fun, fun() -> term_to_binary(fun lists:sum/1) end, fun({F, _}, N) -> call(binary_to_term(F), [N]) end},
     {read_atom, fun() -> term_to_binary(scaling_atom) end, fun({A, _}, _) -> binary_to_term(A) end},
     {function_exported, fun calls/0, fun({Calls, _}, N) -> {M, F, _} = element(N rem 8 + 1, Calls), erlang:function_exported(M, F, 1) end},
     {not_exported, fun calls/0, fun({Calls, _}, N) -> {M, F, _} = element(N rem 8 + 1, Calls), erlang:function_exported(M, F, 99) end},
     {module_loaded, fun calls/0, fun({Calls, _}, N) -> {M, _, _} = element(N rem 8 + 1, Calls), erlang:module_loaded(M) end},
     {module_md5, fun nothing/0, fun(_, _) -> lists:module_info(md5) end},
     {registered, fun nothing/0, fun(_, _) -> registered() end},
     {persistent_terms, fun() -> persistent_term:put(?KEY, {a, b}) end, fun(_, _) -> persistent_term:get() end},
     {is_process_alive, fun nothing/0, fun(_, _) -> is_process_alive(partner()) end},
     {queue_len, fun nothing/0, fun(_, _) -> process_info(partner(), message_queue_len) end},
     {link, fun nothing/0, fun(_, _) -> P = partner(), link(P), unlink(P) end},
     {monitor, fun nothing/0, fun(_, _) -> demonitor(monitor(process, partner()), [flush]) end},
     {getenv, fun nothing/0, fun(_, _) -> os:getenv("PATH") end},
     {make_ref, fun nothing/0, fun(_, _) -> make_ref() end},
     {unique_integer, fun nothing/0, fun(_, _) -> erlang:unique_integer() end},
     {unique_monotonic, fun nothing/0, fun(_, _) -> erlang:unique_integer([monotonic]) end},
     {monotonic_time, fun nothing/0, fun(_, _) -> erlang:monotonic_time() end},
     {system_time, fun nothing/0, fun(_, _) -> erlang:system_time() end}].

nothing() -> none.

%% A table with eight rows for each worker.
filled(Options) ->
    T = ets:new(scaling, [public | Options]),
    ets:insert(T, [{{I, K}, 0} || I <- lists:seq(1, 4 * erlang:system_info(schedulers)), K <- lists:seq(0, 7)]),
    T.

lookup({T, I}, N) -> ets:lookup(T, {I, N rem 8}).

counter({T, I}, N) -> ets:update_counter(T, {I, N rem 8}, 1).

insert({T, I}, N) -> ets:insert(T, {{I, N rem 8}, N}).

%% To the worker itself, by a name of its own.
named_send({_, I}, N) ->
    Name = own(fun() ->
        New = list_to_atom("scaling_" ++ integer_to_list(I)),
        register(New, self()),
        New
    end),
    Name ! N,
    receive N -> ok end.

spawn_exit(_, _) ->
    {P, M} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', M, process, P, normal} -> ok end.

%% Functions of one argument in several modules.
calls() ->
    {{lists, sum, [[]]}, {erlang, abs, [1]}, {math, sqrt, [1]}, {maps, keys, [#{}]},
     {sets, is_set, [none]}, {string, length, [""]}, {binary, first, [<<1>>]}, {erlang, is_atom, [none]}}.

call(F) -> F().

call(F, A) -> F(A).

%% A process of the worker's own.
partner() -> own(fun() -> spawn_link(fun echo/0) end).

%% A round trip to it.
ping(_, N) ->
    Partner = partner(),
    Partner ! {self(), N},
    receive {Partner, N} -> ok end.

echo() -> receive {From, N} -> From ! {self(), N}, echo() end.

%% What the worker made in its first operation.
own(Make) ->
    case get(own) of
        undefined -> New = Make(), put(own, New), New;
        Made -> Made
    end.
