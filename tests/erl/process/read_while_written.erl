%% Names and persistent terms are read by some processes while another changes them: what stays is always found, what is replaced is found
%% in one of its values, and what has been taken away is not found by those who were told so.
-module(read_while_written).
-export([main/0]).

-define(STAY, 40).

main() ->
    say(names, names(1000)),
    say(names_of_ending_processes, endings(300)),
    say(terms, terms(60)),
    say(left, {[N || N <- registered(), is_own(N)], [K || {{?MODULE, _} = K, _} <- persistent_term:get()]}).

say(What, Result) -> io:format("~w ~w~n", [What, Result]).

name(I) -> list_to_atom("read_while_written_" ++ integer_to_list(I)).
is_own(Name) -> lists:prefix("read_while_written_", atom_to_list(Name)).

%% Readers find the names that stay, and send by them, while others come and go beside them.
names(N) ->
    Staying = [begin P = spawn_link(fun echo/0), register(name(I), P), {name(I), P} end || I <- lists:seq(1, ?STAY)],
    Readers = readers(fun() ->
        [P = whereis(Name) || {Name, P} <- Staying],
        {Name, _} = lists:nth(rand:uniform(?STAY), Staying),
        Name ! {self(), Name},
        receive Name -> ok end
    end),
    Other = spawn_link(fun echo/0),
    [begin
         Name = name(?STAY + 1 + I rem 300),
         true = register(Name, Other),
         Other = whereis(Name),
         true = unregister(Name),
         undefined = whereis(Name)
     end || I <- lists:seq(1, N)],
    Found = stop(Readers),
    Own = lists:sort([Name || Name <- registered(), is_own(Name)]),
    Own = lists:sort([Name || {Name, _} <- Staying]),
    [begin unlink(P), exit(P, kill) end || P <- [Other | [P || {_, P} <- Staying]]],
    gone([Name || {Name, _} <- Staying]),
    Found.

gone(Names) ->
    case [Name || Name <- Names, whereis(Name) =/= undefined] of [] -> ok; Left -> erlang:yield(), gone(Left) end.

echo() -> receive {From, What} -> From ! What, echo() end.

%% Who is told that a process has ended finds its name free.
endings(N) ->
    Workers = [spawn_monitor(fun() -> ending(name(I), N) end) || I <- [1, 2, 3]],
    lists:usort([receive {'DOWN', Ref, _, _, Reason} -> Reason end || {_, Ref} <- Workers]).

ending(_, 0) -> ok;
ending(Name, N) ->
    {P, Ref} = spawn_monitor(fun() -> register(Name, self()) end),
    receive {'DOWN', Ref, _, P, normal} -> undefined = whereis(Name) end,
    ending(Name, N - 1).

%% Terms that stay, one whose value is replaced, others that come and go.
terms(N) ->
    Keys = [{?MODULE, I} || I <- lists:seq(1, ?STAY)],
    [ok = persistent_term:put(K, [K]) || K <- Keys],
    ok = persistent_term:put({?MODULE, counted}, {1, 1}),
    Readers = readers(fun() ->
        [[K] = persistent_term:get(K) || K <- Keys],
        {Same, Same} = persistent_term:get({?MODULE, counted})
    end),
    [begin
         ok = persistent_term:put({?MODULE, counted}, {I, I}),
         Other = {?MODULE, ?STAY + 1 + I rem 100},
         ok = persistent_term:put(Other, I),
         I = persistent_term:get(Other),
         true = persistent_term:erase(Other),
         none = persistent_term:get(Other, none)
     end || I <- lists:seq(1, N)],
    Found = stop(Readers),
    {N, N} = persistent_term:get({?MODULE, counted}),
    [true = persistent_term:erase(K) || K <- [{?MODULE, counted} | Keys]],
    Found.

%% Three processes that read until they are stopped.
readers(Read) ->
    [spawn_monitor(fun() -> read(Read) end) || _ <- [1, 2, 3]].

read(Read) ->
    Read(),
    receive stop -> ok after 0 -> read(Read) end.

%% How they ended.
stop(Readers) ->
    [P ! stop || {P, _} <- Readers],
    lists:usort([receive {'DOWN', Ref, _, _, Reason} -> Reason end || {_, Ref} <- Readers]).
