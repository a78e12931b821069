%% How long others wait for a process with much state, for `cargo xtask bench pauses`: the figures of one run on one VM, as a line `value N...`.
%%
%% Started as `erl -noshell -run pauses main WHAT SHAPE MEGABYTES SECONDS`; the shapes are those of pauses_state.erl. Times are in milliseconds.
-module(pauses).
-export([main/1]).

%% Requests that come due at each millisecond.
-define(BURST, 10).
%% Ticks begin so many milliseconds before what they stand beside, and go on for so many after it.
-define(BEFORE, 20).
-define(AFTER, 1000).
%% More of them than there are in any run.
-define(MOST_TICKS, 600000).
%% The process that dies has a binary of so many bytes for so many entries of its state.
-define(BINARY, 100).
-define(ENTRIES_A_BINARY, 8).

%% A process with so much state serves ten requests each millisecond. They come from a client that never waits, and a request's delay is counted
%% from when it was due. Of all delays, and of those that no collection has a share in: p50, p99, p99.9 and the longest; of the time that a
%% request waited while its server collected: p99.9 and the longest. Then collections of the server, minor ones and those of both generations:
%% how many, and the longest; a tick of one millisecond beside it: p99, p99.9 and the latest; megabytes of the state, and what
%% the VM grew by at most over it, while it serves and till then; what it has grown by in the end over the state then.
main(["serve", Shape, Megabytes, Seconds]) ->
    Ticks = 1000 * list_to_integer(Seconds),
    Done = atomics:new(?BURST * Ticks, []),
    Late = atomics:new(Ticks, []),
    Before = memory("VmRSS"),
    Parent = self(),
    {Server, Bytes} = holder(Shape, Megabytes, fun(Entries, State) ->
        Last = serve(?BURST * Ticks, Entries, State, Done),
        Parent ! {last, memory("VmRSS"), pauses_state:bytes(Last)}
    end),
    Building = memory("VmHWM"),
    forget_highest_memory(),
    Tracer = pauses_figures:trace(Server),
    First = erlang:monotonic_time(millisecond) + ?BEFORE,
    Others = [spawn_monitor(fun() -> tick(First, 1, Ticks, Late) end), spawn_monitor(fun() -> request(First, 1, Ticks, Server) end)],
    [receive {'DOWN', Ref, process, _, Reason} -> normal = Reason end || {_, Ref} <- [{Server, monitor(process, Server)} | Others]],
    {Ending, Left} = receive {last, Memory, LastBytes} -> {Memory, LastBytes} end,
    Serving = memory("VmHWM"),
    Collections = pauses_figures:collections(Tracer),
    Requests = [{1000000 * (First + (N - 1) div ?BURST), atomics:get(Done, N)} || N <- lists:seq(1, ?BURST * Ticks)],
    {All, Calm, Collecting} = pauses_figures:delays(Requests, Collections),
    value([pauses_figures:parts([0.5, 0.99, 0.999, 1], All), pauses_figures:parts([0.5, 0.99, 0.999, 1], Calm),
           pauses_figures:parts([0.999, 1], Collecting), pauses_figures:counts(Collections),
           lateness([atomics:get(Late, N) || N <- lists:seq(1, Ticks)]), Bytes / 1.0e6, (Serving - Before) / Bytes, (Building - Before) / Bytes,
           (Ending - Before) / Left]);

%% A process sends its state to another. A tick of one millisecond beside this: p99, p99.9 and the latest; how long the send took, and how
%% long it was until the receiver had the state; megabytes of the state, and what the VM grew by at most over it.
main(["send", Shape, Megabytes, _]) ->
    {Parent, Before} = {self(), memory("VmRSS")},
    {Sender, Bytes} = holder(Shape, Megabytes, fun(_, State) ->
        receive {to, Receiver} -> ok end,
        Receiver ! {state, State},
        Parent ! {sent, now_ns()},
        receive stop -> pauses_state:size(State) end
    end),
    Receiver = spawn_link(fun() ->
        receive
            {state, State} ->
                Parent ! {received, now_ns()},
                receive stop -> pauses_state:size(State) end
        end
    end),
    forget_highest_memory(),
    {Late, [Sent, Received]} = beside(fun() ->
        Began = now_ns(),
        Sender ! {to, Receiver},
        [receive {What, At} -> (At - Began) / 1.0e6 end || What <- [sent, received]]
    end),
    value([lateness(Late), Sent, Received, Bytes / 1.0e6, (memory("VmHWM") - Before) / Bytes]);

%% A process dies, with a binary for some entries of its state. A tick of one millisecond beside this: p99, p99.9 and the latest; megabytes of
%% the state.
main(["death", Shape, Megabytes, _]) ->
    {Holder, Bytes} = holder(Shape, Megabytes, fun(Entries, State) ->
        Binaries = [binary:copy(<<N>>, ?BINARY) || N <- lists:seq(1, Entries div ?ENTRIES_A_BINARY)],
        erlang:garbage_collect(),
        receive
            {ready, To} -> To ! ready
        end,
        receive
            die -> length(Binaries) + pauses_state:size(State)
        end
    end),
    Holder ! {ready, self()},
    receive ready -> ok end,
    {Late, normal} = beside(fun() ->
        Ref = monitor(process, Holder),
        Holder ! die,
        receive {'DOWN', Ref, process, _, Reason} -> Reason end
    end),
    value([lateness(Late), Bytes / 1.0e6]).

value(Numbers) ->
    io:format("value~s~n", [[[$\s, float_to_list(N / 1, [{decimals, 3}])] || N <- lists:flatten(Numbers)]]),
    halt().

lateness(Late) ->
    pauses_figures:parts([0.99, 0.999, 1], Late).

%% A process that has made a state of so many megabytes, and goes on with it and the number of its entries; and the bytes of the state.
holder(Shape, Megabytes, GoOn) ->
    Parent = self(),
    Pid = spawn_link(fun() ->
        Entries = pauses_state:entries(Shape, 1000000 * list_to_integer(Megabytes)),
        State = pauses_state:new(Shape, Entries),
        erlang:garbage_collect(),
        Parent ! {bytes, pauses_state:bytes(State)},
        receive go_on -> GoOn(Entries, State) end
    end),
    receive
        {bytes, Bytes} ->
            Pid ! go_on,
            {Pid, Bytes}
    end.

serve(0, _, State, _) ->
    State;
serve(Left, Entries, State, Done) ->
    receive
        {request, N} ->
            Next = pauses_state:handle(N, Entries, State),
            atomics:put(Done, N, now_ns()),
            serve(Left - 1, Entries, Next, Done)
    end.

%% Sends the requests that are due at each millisecond, however late it is.
request(_, N, Ticks, _) when N > Ticks ->
    ok;
request(Due, N, Ticks, Server) ->
    wait_until(Due),
    [Server ! {request, ?BURST * (N - 1) + Nth} || Nth <- lists:seq(1, ?BURST)],
    request(Due + 1, N + 1, Ticks, Server).

%% Notes at each millisecond how late it is, until there were so many, or a word comes.
tick(_, N, Ticks, _) when N > Ticks ->
    ok;
tick(Due, N, Ticks, Late) ->
    wait_until(Due),
    atomics:put(Late, N, now_ns() - 1000000 * Due),
    receive {stop, From} -> From ! {ticks, N}
    after 0 -> tick(Due + 1, N + 1, Ticks, Late)
    end.

%% Does it beside a tick: how late each was, and what came of it.
beside(Job) ->
    Late = atomics:new(?MOST_TICKS, []),
    First = erlang:monotonic_time(millisecond) + ?BEFORE,
    Ticker = spawn_link(fun() -> tick(First, 1, ?MOST_TICKS, Late) end),
    timer:sleep(2 * ?BEFORE),
    Found = Job(),
    timer:sleep(?AFTER),
    Ticker ! {stop, self()},
    receive {ticks, Count} -> {[atomics:get(Late, N) || N <- lists:seq(1, Count)], Found} end.

wait_until(Millisecond) ->
    Timer = erlang:start_timer(Millisecond, self(), due, [{abs, true}]),
    receive {timeout, Timer, due} -> ok end.

now_ns() ->
    erlang:monotonic_time(nanosecond).

%% The kernel counts the highest memory of the VM; from now on anew.
forget_highest_memory() ->
    ok = file:write_file("/proc/self/clear_refs", <<"5">>).

%% Bytes of the VM: now (`VmRSS`), or at most since then.
memory(Which) ->
    {ok, Text} = file:read_file("/proc/self/status"),
    {match, [Kilobytes]} = re:run(Text, Which ++ ":\\s+(\\d+)", [{capture, all_but_first, list}]),
    1024 * list_to_integer(Kilobytes).
