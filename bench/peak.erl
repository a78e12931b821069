%% What stays resident after a peak, for `cargo xtask bench alloc`: `value BEFORE HIGHEST AFTER RATIO`, the first three in MB.
%%
%% Started as `erl -noshell -run peak main MEGABYTES KEPT HOW`. A thousand processes take so much memory together, most of it at once, and end; of a
%% hundred of them KEPT stay. Each builds a list (HOW is `built`), or gets lists of 10,000 words from one that makes them (`sent`), or lists of
%% 100 words, one process's after another's (`turns`). RATIO is what is resident two seconds later over what was before and what processes
%% hold more than before.
-module(peak).
-export([main/1]).

-define(PROCESSES, 1000).

main([Megabytes, Kept, How]) ->
    Ways = case How of
               "built" -> {fun built/1, fun nothing/2};
               "sent" -> {fun received/1, fun nothing/2};
               "turns" -> {fun fed/1, fun feed/2}
           end,
    Words = list_to_integer(Megabytes) * 1000000 div erlang:system_info(wordsize) div ?PROCESSES,
    %% The code that is needed is there, and what starting took is collected.
    run(10, 1000, 0, Ways),
    [erlang:garbage_collect(P) || P <- processes()],
    timer:sleep(2000),
    {Before, Had} = {resident("VmRSS:"), erlang:memory(processes)},
    Stay = run(?PROCESSES, Words, list_to_integer(Kept), Ways),
    timer:sleep(2000),
    After = resident("VmRSS:"),
    Held = max(0, erlang:memory(processes) - Had) / 1000000,
    [exit(P, kill) || P <- Stay],
    io:format("value ~.1f ~.1f ~.1f ~.3f~n", [Before, resident("VmHWM:"), After, After / (Before + Held)]),
    erlang:halt(0).

%% All are there with what they take before the first goes.
run(Processes, Words, Kept, {Take, Feed}) ->
    Parent = self(),
    Pids = [spawn(fun() -> hold(Parent, Take(Words)) end) || _ <- lists:seq(1, Processes)],
    Feed(Pids, Words),
    [receive {taken, P} -> ok end || P <- Pids],
    Numbered = lists:zip(lists:seq(0, Processes - 1), Pids),
    {Stay, Go} = lists:partition(fun({I, _}) -> I rem 100 < Kept end, Numbered),
    Monitors = [{P, erlang:monitor(process, P)} || {_, P} <- Go],
    [P ! go || {P, _} <- Monitors],
    [receive {'DOWN', M, process, P, _} -> ok end || {P, M} <- Monitors],
    [P || {_, P} <- Stay].

hold(Parent, List) ->
    Parent ! {taken, self()},
    receive go -> length(List) end.

%% A list of tuples: six words each.
built(Words) ->
    [{I, I, I} || I <- lists:seq(1, Words div 6)].

-define(SENT, 10000).

%% Messages, each of so many words, of another process, which makes a new one for each.
received(Words) ->
    Self = self(),
    N = Words div ?SENT,
    spawn_link(fun() -> [Self ! {list, lists:seq(I, I + ?SENT div 2 - 1)} || I <- lists:seq(1, N)] end),
    [receive {list, List} -> List end || _ <- lists:seq(1, N)].

-define(FED, 100).

nothing(_, _) -> ok.

%% Processes get small messages in turn.
fed(Words) ->
    [receive {list, List} -> List end || _ <- lists:seq(1, Words div ?FED)].

feed(Pids, Words) ->
    Feed = fun(I) -> lists:foreach(fun(P) -> P ! {list, lists:seq(I, I + ?FED div 2 - 1)} end, Pids) end,
    lists:foreach(Feed, lists:seq(1, Words div ?FED)).

%% A figure of the system's on this process, in MB.
resident(Key) ->
    {ok, Told} = file:read_file("/proc/self/status"),
    [Line] = [L || L <- string:split(binary_to_list(Told), "\n", all), lists:prefix(Key, L)],
    list_to_integer(lists:nth(2, string:lexemes(Line, " \t"))) / 1000.
