%% Run in the simulator with faults by seed (docs/simulator.md): what must hold however cores stop and wake-ups are late. Each part checks its
%% own results and is over when all of its processes are; what is lost leaves the program waiting, which the simulator reports.
-module(faults).
-export([main/0]).

main() ->
    Parts = [fun order/0, fun exits/0, fun timers/0, fun counters/0, fun names/0, fun suspended/0, fun terms/0, fun constants/0, fun priorities/0],
    Runs = [spawn_monitor(fun() -> Part(), exit(fine) end) || Part <- Parts],
    [receive {'DOWN', M, process, P, Why} -> fine = Why end || {P, M} <- Runs],
    io:format("fine~n").

all(Pids) -> [receive {'DOWN', M, process, P, Why} -> done = Why end || {P, M} <- Pids].

%% Signals between two processes keep their order: messages, one by name, and the end of the sender.
order() ->
    Receivers = [spawn_monitor(fun() -> receive {from, Senders} -> in_order(maps:from_list([{S, 0} || S <- Senders])) end end) || _ <- lists:seq(1, 4)],
    Senders = [spawn(fun() -> receive {to, To} -> [[R ! {self(), N} || R <- To] || N <- lists:seq(1, 60)] end end) || _ <- lists:seq(1, 8)],
    To = [R || {R, _} <- Receivers],
    [R ! {from, Senders} || R <- To],
    [S ! {to, To} || S <- Senders],
    all(Receivers).

in_order(Seen) ->
    [monitor(process, S) || S <- maps:keys(Seen)],
    in_order(Seen, maps:size(Seen)).

in_order(_, 0) -> exit(done);
in_order(Seen, Left) ->
    receive
        {S, N} -> N = maps:get(S, Seen) + 1, in_order(Seen#{S := N}, Left);
        {'DOWN', _, process, S, _} -> in_order_end(Seen, S, Left)
    end.

%% A sender that was there when it was monitored has sent all; one that was not had sent before, too, but those signals are others'.
in_order_end(Seen, S, Left) ->
    case maps:get(S, Seen) of
        60 -> in_order(Seen, Left - 1);
        N -> receive {S, Next} -> Next = N + 1, in_order_end(Seen#{S := Next}, S, Left) end
    end.

%% Exit signals reach all that are linked, kills end what computes, waits and is sent to.
exits() ->
    Chain = fun Chain(0) -> receive stop -> exit(done) end; Chain(N) -> spawn_link(fun() -> Chain(N - 1) end), receive never -> ok end end,
    Links = [spawn_monitor(fun() -> Chain(12) end) || _ <- lists:seq(1, 6)],
    Busy = [spawn_monitor(fun Loop() -> Loop() end) || _ <- lists:seq(1, 6)],
    Idle = [spawn_monitor(fun() -> receive never -> ok end end) || _ <- lists:seq(1, 6)],
    [P ! {message, self()} || {P, _} <- Idle, _ <- lists:seq(1, 10)],
    [exit(P, kill) || {P, _} <- Busy ++ Idle],
    [exit(P, done) || {P, _} <- Links],
    [receive {'DOWN', M, process, P, killed} -> ok end || {P, M} <- Busy ++ Idle],
    all(Links).

%% Timers are never early, and one that was cancelled never comes.
timers() ->
    all([spawn_monitor(fun() -> timer(N) end) || N <- lists:seq(1, 12)]).

timer(N) ->
    Begin = erlang:monotonic_time(millisecond),
    Comes = erlang:start_timer(N rem 3, self(), comes),
    Gone = erlang:start_timer(1, self(), gone),
    Left = erlang:cancel_timer(Gone),
    receive {timeout, Comes, comes} -> ok end,
    true = erlang:monotonic_time(millisecond) - Begin >= N rem 3,
    receive {timeout, Gone, gone} -> false = Left after 5 -> true = is_integer(Left) orelse Left =:= false end,
    exit(done).

%% No count is lost in any kind of table.
counters() ->
    Kinds = [[], [{write_concurrency, true}], [ordered_set, {write_concurrency, true}], [ordered_set]],
    Tables = [ets:new(counters, [public | Kind]) || Kind <- Kinds],
    [ets:insert(T, [{K, 0} || K <- lists:seq(1, 8)]) || T <- Tables],
    Add = fun(I) -> [[ets:update_counter(T, (N + I) rem 8 + 1, 1) || T <- Tables] || N <- lists:seq(1, 40)], exit(done) end,
    Insert = fun(I) -> [true = ets:insert(T, {{I, N}, N}) andalso ets:member(T, {I, N}) || T <- Tables, N <- lists:seq(1, 20)], exit(done) end,
    all([spawn_monitor(fun() -> F(I) end) || F <- [Add, Insert], I <- lists:seq(1, 6)]),
    [240 = lists:sum([ets:lookup_element(T, K, 2) || K <- lists:seq(1, 8)]) || T <- Tables],
    [128 = ets:info(T, size) || T <- Tables].

%% One process at a time has a name, and none when it has ended.
names() ->
    Take = fun Take(0) -> exit(done);
               Take(N) ->
                   try register(contested, self()) of
                       true -> Self = whereis(contested), Self = self(), unregister(contested), Take(N - 1)
                   catch error:badarg -> erlang:yield(), Take(N) end
           end,
    all([spawn_monitor(fun() -> Take(8) end) || _ <- lists:seq(1, 8)]),
    undefined = whereis(contested).

%% Who is suspended does nothing until it is resumed; a look at another process is answered.
suspended() ->
    all([spawn_monitor(fun suspend/0) || _ <- lists:seq(1, 4)]).

suspend() ->
    {P, M} = spawn_monitor(fun() -> (fun Count(N) -> put(n, N), receive stop -> exit(done) after 0 -> Count(N + 1) end end)(0) end),
    [begin
        true = erlang:suspend_process(P),
        {dictionary, One} = process_info(P, dictionary),
        {dictionary, One} = process_info(P, dictionary),
        true = erlang:resume_process(P),
        {status, _} = process_info(P, status)
     end || _ <- lists:seq(1, 5)],
    process_flag(priority, high),
    P ! stop,
    receive {'DOWN', M, process, P, done} -> exit(done) end.

%% What is sent arrives as it was: small and large terms, binaries of several owners, while all collect garbage.
terms() ->
    Binary = binary:copy(<<"0123456789">>, 30),
    Make = fun(N) -> {N, lists:seq(1, N), binary:part(Binary, 0, N), #{N => [Binary]}, fun() -> {N, Binary} end} end,
    Echo = fun Echo() -> receive {From, Term} -> From ! {self(), Term}, garbage_collect(), Echo(); stop -> exit(done) end end,
    Echoes = [spawn_monitor(Echo) || _ <- lists:seq(1, 4)],
    Ask = fun() ->
        [begin
            {_, L, B, M, F} = Term = Make(N * 7),
            P ! {self(), Term},
            receive {P, {_, L2, B2, M2, F2}} -> true = {L, B, M, F()} =:= {L2, B2, M2, F2()} end
         end || N <- lists:seq(1, 12), {P, _} <- Echoes],
        exit(done)
    end,
    all([spawn_monitor(Ask) || _ <- lists:seq(1, 4)]),
    [P ! stop || {P, _} <- Echoes],
    all(Echoes).

%% A persistent term is whole as long as somebody has it, however often it is replaced.
constants() ->
    Key = {?MODULE, constant},
    Put = fun(N) -> persistent_term:put(Key, {N, lists:seq(1, 50), N}) end,
    Put(0),
    Read = fun() ->
        [begin
            {N, L, N} = Term = persistent_term:get(Key),
            erlang:yield(),
            {N, L, N} = Term,
            50 = length(L)
         end || _ <- lists:seq(1, 40)],
        exit(done)
    end,
    Readers = [spawn_monitor(Read) || _ <- lists:seq(1, 6)],
    [Put(N) || N <- lists:seq(1, 6)],
    all(Readers),
    true = persistent_term:erase(Key).

%% Processes of each priority get on beside some that compute for as long as there are others; those of low priority, too.
priorities() ->
    Busy = [spawn(fun Spin() -> receive stop -> ok after 0 -> erlang:yield(), Spin() end end) || _ <- lists:seq(1, 4)],
    Pair = fun(Priority) ->
        process_flag(priority, Priority),
        Me = self(),
        Other = spawn_opt(fun() -> [receive N -> Me ! {N, lists:seq(1, 20)} end || N <- lists:seq(1, 5)] end, [{priority, Priority}]),
        [begin Other ! N, receive {N, _} -> erlang:yield() end end || N <- lists:seq(1, 5)],
        exit(done)
    end,
    all([spawn_monitor(fun() -> Pair(P) end) || P <- [low, low, normal, normal, high, high, high, max, max]]),
    [P ! stop || P <- Busy].
