%% One message to many, who send it on again: sizes from a word to a megabyte.
%%
%% Arguments: WORDS, RECEIVERS, RESENDS. A list that takes so many words of a heap (a single one: a small integer) goes to each of the
%% receivers, which stand in a ring; each hands it on to the next, RESENDS times. Each keeps the last one that it got until the caller has heard of all.
-module(heaps_broadcast).
-export([run/1]).

run([Words, Receivers, Resends]) ->
    Caller = self(),
    First = spawn_link(fun() -> receive {next, Next} -> receiver(Caller, Next, Resends + 1, {0, none}) end end),
    Pids = lists:foldl(fun(_, [Next | _] = Pids) -> [spawn_link(fun() -> receiver(Caller, Next, Resends + 1, {0, none}) end) | Pids] end,
                       [First], lists:seq(2, Receivers)),
    First ! {next, hd(Pids)},
    Message = message(Words),
    [Pid ! {message, Resends, Message} || Pid <- Pids],
    Sum = lists:sum([receive {received, S} -> S end || _ <- Pids]),
    [begin unlink(Pid), Pid ! stop end || Pid <- Pids],
    {Receivers, Receivers * (Resends + 1) + 1 + 2 * Receivers, Sum}.

message(1) -> 1;
message(Words) -> lists:seq(1, Words div 2).

%% In a ring each gets as many messages: those that began with the ones before it, and its own.
receiver(Caller, _, 0, {Sum, Last}) ->
    Caller ! {received, Sum},
    receive stop -> first(Last) end;
receiver(Caller, Next, Left, {Sum, _}) ->
    receive
        {message, Again, Message} ->
            Again > 0 andalso (Next ! {message, Again - 1, Message}),
            receiver(Caller, Next, Left - 1, {Sum + first(Message), Message})
    end.

first([First | _]) -> First;
first(Number) -> Number.
