%% The experiment of Johansson, Sagonas and Wilhelmsson 2002, for `cargo xtask bench heaps`: programs that send, and what sending and
%% collecting took. The same on OTP, which tells less.
%%
%% Started as `erl -noshell -run heaps main WAY ...`; a program is a module of `examples/` or `bench/heaps/` with a function `run/1`, which
%% tells {Processes, Messages, Result}. The ways:
%%
%%   time RUNS TIMES MODULE NUMBER...   once to warm up, then so many runs, each of so many times, in processes of their own. A line `run` for
%%                                  each: nanoseconds for one time, those that passed and those of processor time. `peak`: bytes of memory
%%                                  beyond those before.
%%   parts RUNS TIMES MODULE NUMBER...  the same, and behind both nanoseconds what sends, sizes, copies, minor and major collections took where
%%                                  the VM tells (`+JMphases true`), or collections alone (microstates).
%%   trace MODULE NUMBER...         once to warm up, then traced: `stop` for each collection, minor and major ones together, `kinds`, the nanoseconds of both,
%%                                 and `words`, the most that all heaps together had and used. Where all processes have one heap, which no process collects,
%%                                 stops are those of all of them, and no words are known.
%%   once MODULE NUMBER... | none   once, without a word: for who counts instructions.
%%   small                          all programs in small, with what they tell and whether a trace counts the same.
-module(heaps).
-export([main/1]).

main(["time" | Words]) ->
    time(fun() -> [] end, Words),
    halt();
main(["parts" | Words]) ->
    erts_debug:set_internal_state(available_internal_state, true),
    time(fun parts/0, Words),
    halt();
main(["trace" | Program]) ->
    erts_debug:set_internal_state(available_internal_state, true),
    told(Program),
    Before = stops(),
    {Told, Seen} = traced([garbage_collection, procs, set_on_spawn, monotonic_timestamp], fun heaps_seen:collections/0, Program),
    print(Told),
    case {Before, stops()} of
        {undefined, undefined} -> heaps_seen:print(Seen);
        {{_, Earlier}, {_, Stops}} -> heaps_seen:print_stops([{Ns, N - proplists:get_value(Ns, Earlier, 0)} || {Ns, N} <- Stops])
    end,
    halt();
main(["once", "none"]) ->
    halt();
main(["once" | Program]) ->
    told(Program),
    halt();
main(["small"]) ->
    [small(Program) || Program <- small()],
    halt().

small() ->
    [["ring", "10", "999"], ["life", "4", "20"], ["keeplive", "5", "20", "10"], ["garbage", "5", "20", "10"],
     ["sendsame", "5", "20", "10"], ["heaps_procs", "12", "20"], ["heaps_procs", "10", "300"], ["heaps_eddie", "30"],
     ["heaps_compiler", "4", "3"], ["heaps_netsim", "60", "900", "4", "5"], ["heaps_netsim", "15", "701", "4", "5"],
     ["heaps_broadcast", "1", "5", "2"], ["heaps_broadcast", "200", "7", "3"]].

%% What a program tells, and whether as many processes are made and messages sent as it says, once its code is loaded: that takes messages.
small([Module | Numbers] = Program) ->
    told(Program),
    {{Processes, Messages, Result}, {Made, Sent}} = traced([send, procs, set_on_spawn], fun heaps_seen:counts/0, Program),
    io:format("~s ~s: ~w processes, ~w messages, result ~w; counted: ~w~n",
              [Module, lists:join(" ", Numbers), Processes, Messages, Result, {Made =:= Processes, Sent =:= Messages}]).

print({Processes, Messages, Result}) ->
    io:format("told ~w ~w ~w~n", [Processes, Messages, erlang:phash2(Result)]).

time(Parts, [Runs, Times | Program]) ->
    Before = status(<<"VmRSS">>),
    print(told(Program)),
    Figures = [measured(Parts, list_to_integer(Times), Program) || _ <- lists:seq(1, list_to_integer(Runs))],
    [io:format("run ~s~n", [lists:join(" ", [integer_to_list(N) || N <- Run])]) || Run <- Figures],
    io:format("peak ~w~n", [max(0, status(<<"VmHWM">>) - Before)]).

%% What a program tells.
told(Program) ->
    {Pid, Ref} = start(Program),
    Pid ! go,
    result(Pid, Ref).

%% A process that runs the program when it is told to, and tells the result.
start([Module | Numbers]) ->
    Caller = self(),
    spawn_monitor(fun() ->
                          receive go -> ok end,
                          Caller ! {result, self(), (list_to_atom(Module)):run([list_to_integer(N) || N <- Numbers])}
                  end).

result(Pid, Ref) ->
    Result = receive
                 {result, Pid, Told} -> Told;
                 {'DOWN', Ref, process, Pid, Why} -> exit(Why)
             end,
    receive {'DOWN', Ref, process, Pid, normal} -> Result end.

%% The figures of a run, for one time.
measured(Parts, Times, Program) ->
    erlang:garbage_collect(),
    {Before, Earlier, Processor} = {Parts(), processor_time(), processor_time()},
    Start = erlang:monotonic_time(),
    [told(Program) || _ <- lists:seq(1, Times)],
    Passed = erlang:convert_time_unit(erlang:monotonic_time() - Start, native, nanosecond),
    %% Without what looking at the clocks takes.
    Took = max(0, processor_time() - Processor - (Processor - Earlier)),
    %% The length of a tick is estimated anew at each look, so a part that took nothing may have lost a little.
    Grown = [max(0, After - B) || {After, B} <- lists:zip(Parts(), Before)],
    [Ns div Times || Ns <- [Passed, Took | Grown]].

%% Nanoseconds of send, size, copy, minor and major collections; of all collections; or none.
parts() ->
    case phases() of
        undefined -> collections();
        Parts -> [Ns || {_, Ns} <- Parts]
    end.

collections() ->
    case erlang:system_flag(microstate_accounting, true) of
        true ->
            Counters = [Counters || #{counters := Counters} <- erlang:statistics(microstate_accounting)],
            Ticks = lists:sum([maps:get(gc, C) || C <- Counters]),
            [erlang:convert_time_unit(Ticks, perf_counter, nanosecond)];
        false -> collections()
    end.

phases() ->
    try erts_debug:get_internal_state(phases) catch error:_ -> undefined end.

%% How long all processes stood, until all did and as a whole.
stops() ->
    try erts_debug:get_internal_state(stop) catch error:_ -> undefined end.

%% Runs a program and has what happens in it seen by a process, which is asked for what it has seen in the end.
traced(Flags, Seen, Program) ->
    Tracer = spawn_opt(Seen, [{priority, high}]),
    {Pid, Ref} = start(Program),
    1 = erlang:trace(Pid, true, [{tracer, Tracer} | Flags]),
    Pid ! go,
    Told = result(Pid, Ref),
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    Tracer ! {seen, self()},
    receive {seen, What} -> {Told, What} end.

%% Nanoseconds, of all threads.
processor_time() ->
    {ok, Tasks} = file:list_dir("/proc/self/task"),
    lists:sum([time_of("/proc/self/task/" ++ Task ++ "/schedstat") || Task <- Tasks]).

%% A thread may have ended meanwhile.
time_of(File) ->
    case file:read_file(File) of
        {ok, Said} -> binary_to_integer(hd(binary:split(Said, <<" ">>)));
        {error, _} -> 0
    end.

%% Bytes of a line of the process's status.
status(Name) ->
    {ok, Text} = file:read_file("/proc/self/status"),
    [Line] = [L || L <- binary:split(Text, <<"\n">>, [global]), binary:match(L, Name) =:= {0, byte_size(Name)}],
    [Number] = [binary_to_integer(W) || W <- binary:split(Line, [<<" ">>, <<"\t">>], [global]), W =/= <<>>, binary:first(W) < $:],
    1024 * Number.
