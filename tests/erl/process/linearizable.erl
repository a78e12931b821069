%% What several processes do at the same time to names, to the table of processes and to a persistent term takes place in one order.
-module(linearizable).
-export([main/0]).

-define(ROUNDS, 150).
-define(WORKERS, 4).
-define(OPERATIONS, 8).

main() ->
    t:mute(),
    t:c(refuted, fun refuted/0),
    [t:c(Name, fun() -> rounds(Name, Make, Model) end) || {Name, Make, Model} <- [
        {names, fun names/0, fun name/2},
        {processes, fun processes/0, fun process/2},
        {persistent_term, fun constants/0, fun constant/2}]].

%% The checker finds what cannot be: a value read after another has been put, both values read in one order and the other.
refuted() ->
    History = [{1, 2, {put, a}, ok}, {3, 4, {put, b}, ok}],
    Read = fun(From, To, Value) -> {From, To, get, Value} end,
    Twice = [{1, 9, {put, a}, ok}, {2, 10, {put, b}, ok}, Read(11, 12, a), Read(13, 14, b)],
    [linear:holds(H, fun constant/2, undefined)
     || H <- [History ++ [Read(5, 6, a)], History ++ [Read(5, 6, b)], tl(History) ++ [{1, 5, {put, a}, ok}, Read(6, 7, a)], Twice,
              [{1, 2, {put, a}, ok}, {3, 8, erase, true}, Read(4, 5, undefined), Read(6, 7, a)]]].

rounds(Name, Make, Model) ->
    Bad = [History || _ <- lists:seq(1, ?ROUNDS), {State, Operations, After} <- [Make()], History <- [linear:record(Operations, 30000)],
                      ok =:= After(), not linear:holds(History, Model, State)],
    case Bad of
        [] -> {Name, all_linearizable};
        [History | _] -> {length(Bad), not_linearizable, lists:sort(History)}
    end.

%% Each worker draws what it does.
workers(Draw) -> [[Draw() || _ <- lists:seq(1, ?OPERATIONS)] || _ <- lists:seq(1, ?WORKERS)].

any(List) -> lists:nth(rand:uniform(length(List)), List).

%% The end of a process has taken place when its monitors hear of it.
end_of(Pid) ->
    M = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', M, process, Pid, _} -> ended end.

waiting() -> spawn(fun() -> receive never -> ok end end).

%% Names: two of them, for four processes, which end now and then.
names() ->
    Pids = [waiting() || _ <- lists:seq(1, 4)],
    Names = [linear_one, linear_two],
    Draw = fun() ->
        {Pid, Name} = {any(Pids), any(Names)},
        case rand:uniform(12) of
            N when N =< 4 -> {{register, Name, Pid}, fun() -> register(Name, Pid) end};
            N when N =< 6 -> {{unregister, Name}, fun() -> unregister(Name) end};
            N when N =< 9 -> {{whereis, Name}, fun() -> whereis(Name) end};
            N when N =< 11 -> {{send, Name}, fun() -> Name ! message end};
            12 -> {{kill, Pid}, fun() -> end_of(Pid) end}
        end
    end,
    {{#{}, Pids}, workers(Draw), fun() -> [end_of(P) || P <- Pids], [undefined, undefined] = [whereis(N) || N <- Names], ok end}.

%% The model: who has which name, and who lives.
name({register, Name, Pid}, {Names, Living} = State) ->
    case is_map_key(Name, Names) orelse lists:member(Pid, maps:values(Names)) orelse not lists:member(Pid, Living) of
        true -> {badarg, State};
        false -> {true, {Names#{Name => Pid}, Living}}
    end;
name({unregister, Name}, {Names, Living} = State) ->
    case is_map_key(Name, Names) of
        true -> {true, {maps:remove(Name, Names), Living}};
        false -> {badarg, State}
    end;
name({whereis, Name}, {Names, _} = State) -> {maps:get(Name, Names, undefined), State};
name({send, Name}, {Names, _} = State) -> {case Names of #{Name := _} -> message; #{} -> badarg end, State};
name({kill, Pid}, {Names, Living}) -> {ended, {maps:filter(fun(_, P) -> P =/= Pid end, Names), lists:delete(Pid, Living)}}.

%% Processes: some that end, and a look at each. (One that is ending is not alive any more, and still listed by processes/0: a list is no
%% part of this history but for a process that one worker alone knows.)
processes() ->
    Pids = [waiting() || _ <- lists:seq(1, 4)],
    Draw = fun() ->
        Pid = any(Pids),
        case rand:uniform(8) of
            1 -> {{kill, Pid}, fun() -> end_of(Pid) end};
            2 -> {spawn, fun() -> P = waiting(), Lives = is_process_alive(P), Listed = lists:member(P, erlang:processes()), {end_of(P), Lives, Listed, is_process_alive(P)} end};
            N when N =< 5 -> {{is_alive, Pid}, fun() -> is_process_alive(Pid) end};
            _ -> {{is_alive, Pid}, fun() -> process_info(Pid, priority) =/= undefined end}
        end
    end,
    {Pids, workers(Draw), fun() -> [end_of(P) || P <- Pids], ok end}.

process({kill, Pid}, Living) -> {ended, lists:delete(Pid, Living)};
process({is_alive, Pid}, Living) -> {lists:member(Pid, Living), Living};
process(spawn, Living) -> {{ended, true, true, false}, Living}.

%% A persistent term.
constants() ->
    Key = {?MODULE, key},
    Draw = fun() ->
        Value = {rand:uniform(3), lists:seq(1, 5)},
        case rand:uniform(6) of
            N when N =< 2 -> {{put, Value}, fun() -> persistent_term:put(Key, Value) end};
            N when N =< 5 -> {get, fun() -> persistent_term:get(Key, undefined) end};
            6 -> {erase, fun() -> persistent_term:erase(Key) end}
        end
    end,
    {undefined, workers(Draw), fun() -> persistent_term:erase(Key), ok end}.

constant({put, Value}, _) -> {ok, Value};
constant(get, Value) -> {Value, Value};
constant(erase, Value) -> {Value =/= undefined, undefined}.
