%% Figures of the module `parallel` (docs/parallel.md): a case and a way to do it; prints a line `value N`.
-module(parallel_ops).
-export([main/1]).

-define(RUNS, 7).
-define(TICKS, 3000).

main([Case, Way]) ->
    io:format("value ~p~n", [figure(list_to_atom(Case), list_to_atom(Way))]),
    halt().

%% Milliseconds of 10^6 elements that cost nothing.
figure(map, Way) ->
    List = lists:seq(1, 1000000),
    F = fun(X) -> X + 1 end,
    middle(fun() -> ms(fun() -> map(Way, F, List) end) end);
%% Milliseconds of 10^5 elements of a microsecond.
figure(micro, Way) ->
    List = lists:seq(1, 100000),
    F = micro(),
    middle(fun() -> ms(fun() -> map(Way, F, List) end) end);
%% The same where every scheduler has something to do.
figure(busy, Way) ->
    Busy = busy(),
    Ms = figure(micro, Way),
    [exit(Pid, kill) || Pid <- Busy],
    Ms;
%% Microseconds that half, and 99 of 100, of the ticks each millisecond are late at most, beside a loop of such elements where all schedulers are busy: with others, or with loops alone,
%% one of `parallel` or one of `lists` for each scheduler.
figure(busy_p50, Way) -> late(0.5, Way, 1, fun busy/0);
figure(busy_p99, Way) -> late(0.99, Way, 1, fun busy/0);
figure(loop_p50, Way) -> late(0.5, Way, loops(Way), fun() -> [] end);
figure(loop_p99, Way) -> late(0.99, Way, loops(Way), fun() -> [] end);
%% Nanoseconds of two funs.
figure(both, Way) ->
    F = fun() -> ok end,
    Both = case Way of
               lists -> fun() -> {F(), F()} end;
               parallel -> fun() -> parallel:both(F, F) end
           end,
    middle(fun() -> ms(fun() -> times(1000000, Both) end) end);
%% Microseconds from the beginning of a loop until another process does a part of it; the loop stands in so many calls.
figure(request, Depth) ->
    Loop = fun() ->
                   Self = self(),
                   Begin = erlang:monotonic_time(),
                   Began = parallel:map(fun(_) -> At = erlang:monotonic_time(), work(20000), {self() =/= Self, At} end, {seq, 1, 100}),
                   timer:sleep(5),
                   case [At || {true, At} <- Began] of
                       [] -> none;
                       At -> erlang:convert_time_unit(lists:min(At) - Begin, native, nanosecond) / 1000
                   end
           end,
    Deep = fun Deep(0) -> Loop(); Deep(N) -> Us = Deep(N - 1), _ = work(1), Us end,
    Found = [Us || _ <- lists:seq(1, 50), Us <- [Deep(list_to_integer(atom_to_list(Depth)))], Us =/= none],
    lists:nth(length(Found) div 2 + 1, lists:sort(Found));
%% Microseconds from an exception until its handler runs; so many parts are at work.
figure(throw, Parts) ->
    N = list_to_integer(atom_to_list(Parts)),
    Once = fun() ->
                   Throw = fun(X) when X =:= N -> receive after 2 -> throw(erlang:monotonic_time()) end;
                              (_) -> (fun Loop() -> work(1000), Loop() end)()
                           end,
                   try parallel:foreach(Throw, {seq, 1, N}, #{steal => always, order => any})
                   catch throw:At -> erlang:convert_time_unit(erlang:monotonic_time() - At, native, nanosecond) / 1000
                   end
           end,
    lists:nth(16, lists:sort([Once() || _ <- lists:seq(1, 31)])).

busy() -> [spawn(fun Loop() -> work(1000), Loop() end) || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))].

loops(parallel) -> 1;
loops(lists) -> erlang:system_info(schedulers).

%% All timers are set before, so a late tick does not put off the next one.
late(Part, Way, Loops, Busy) ->
    List = lists:seq(1, 100000),
    F = micro(),
    Others = Busy() ++ [spawn(fun Loop() -> _ = map(Way, F, List), Loop() end) || _ <- lists:seq(1, Loops)],
    timer:sleep(200),
    First = erlang:monotonic_time(millisecond) + 50,
    Due = lists:seq(First, First + ?TICKS - 1),
    [erlang:send_after(Time, self(), {tick, Time}, [{abs, true}]) || Time <- Due],
    Late = [receive {tick, Time} -> erlang:monotonic_time(microsecond) - 1000 * Time end || Time <- Due],
    [exit(Pid, kill) || Pid <- Others],
    lists:nth(ceil(Part * ?TICKS), lists:sort(Late)).

map(lists, F, List) -> lists:map(F, List);
map(parallel, F, List) -> parallel:map(F, List);
map(tasks, F, List) -> loops_ways:map(tasks, F, List);
map(async_stream, F, List) ->
    code:add_pathz("/usr/lib/elixir/lib/elixir/ebin"),
    {ok, _} = application:ensure_all_started(elixir),
    'Elixir.Enum':to_list('Elixir.Task':async_stream(List, F)).

%% A fun that takes a microsecond here.
micro() ->
    N = 20000000,
    _ = work(N),
    Ms = ms(fun() -> work(N) end),
    Steps = max(1, round(N / (Ms * 1000))),
    fun(X) -> work(Steps), X end.

work(0) -> ok;
work(N) -> work(N - 1).

times(0, _) -> ok;
times(N, F) ->
    _ = F(),
    times(N - 1, F).

ms(F) ->
    {Us, _} = timer:tc(F),
    Us / 1000.

%% Each run in a process of its own.
middle(F) ->
    Once = fun() ->
                   {_, Ref} = spawn_monitor(fun() -> _ = F(), erlang:garbage_collect(), exit(F()) end),
                   receive {'DOWN', Ref, process, _, Figure} -> Figure end
           end,
    lists:nth(?RUNS div 2 + 1, lists:sort([Once() || _ <- lists:seq(1, ?RUNS)])).
