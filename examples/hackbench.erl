%% Hackbench: chat rooms. A stream of messages with fan-in, groups independent of each other.
%%
%% Source: Zhang 2011, section 4.1.4 (Erlang Hackbench, after the Linux scheduler's). In each group
%% 20 writers each send LOOPS messages to each of 20 listeners.
%%
%% Arguments: GROUPS (50), LOOPS (100).
%% Result:    messages received and the sum of their payloads.
-module(hackbench).
-export([main/1]).

-define(MEMBERS, 20).

main(Args) ->
    Groups = arg(1, Args, 50),
    Loops = arg(2, Args, 100),
    Start = erlang:monotonic_time(millisecond),
    Parent = self(),
    Pids = [spawn_link(fun() -> group(Parent, Loops) end) || _ <- lists:seq(1, Groups)],
    Results = [receive {group, P, Count, Sum} -> {Count, Sum} end || P <- Pids],
    Time = erlang:monotonic_time(millisecond) - Start,
    io:format("hackbench: groups ~w, loops ~w, messages ~w, checksum ~w~n",
              [Groups, Loops, lists:sum([C || {C, _} <- Results]), lists:sum([S || {_, S} <- Results])]),
    io:format("time ~w ms~n", [Time]).

arg(N, Args, _) when length(Args) >= N -> list_to_integer(lists:nth(N, Args));
arg(_, _, Default) -> Default.

group(Parent, Loops) ->
    Self = self(),
    Expected = ?MEMBERS * Loops,
    Listeners = [spawn_link(fun() -> listen(Self, Expected, 0, 0) end)
                 || _ <- lists:seq(1, ?MEMBERS)],
    [spawn_link(fun() -> write(Listeners, Loops) end) || _ <- lists:seq(1, ?MEMBERS)],
    {Count, Sum} = lists:foldl(fun(L, {C, S}) ->
                                       receive {heard, L, C1, S1} -> {C + C1, S + S1} end
                               end, {0, 0}, Listeners),
    Parent ! {group, Self, Count, Sum}.

listen(Group, 0, Count, Sum) ->
    Group ! {heard, self(), Count, Sum};
listen(Group, Left, Count, Sum) ->
    receive {say, _From, N} -> listen(Group, Left - 1, Count + 1, Sum + N) end.

write(_, 0) ->
    ok;
write(Listeners, N) ->
    Self = self(),
    [L ! {say, Self, N} || L <- Listeners],
    write(Listeners, N - 1).
