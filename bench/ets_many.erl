%% ETS operations on distinct keys by one process and by two at once: NAME, nanoseconds of elapsed time for each operation of one process, the
%% same of two, and how much more two get done than one, a line each.
%%
%% `erl -noshell +S 2 +sbwt none -pa DIR -run ets_many main [-extra NAME...]`, on each VM in turn: the best of five, since the machine is
%% seldom quiet. The keys of the two are mixed: neighbours belong to different processes.
-module(ets_many).
-export([main/0]).
main() ->
    Args = init:get_plain_arguments(),
    Kinds = [{set, [set]}, {set_wc, [set, {write_concurrency, true}]}, {set_auto, [set, {write_concurrency, auto}]},
             {ord, [ordered_set]}, {ord_wc, [ordered_set, {write_concurrency, true}]}, {ord_auto, [ordered_set, {write_concurrency, auto}]}],
    Works = [insert, lookup, update_counter],
    [case Args =:= [] orelse lists:member(Name, Args) of
         true -> row(Name, Options, Work);
         false -> ok
     end || {Kind, Options} <- Kinds, Work <- Works, Name <- [lists:concat([Kind, "_", Work])]],
    halt(0).

row(Name, Options, Work) ->
    {One, Two} = lists:unzip([{run(1, Options, Work), run(2, Options, Work)} || _ <- lists:seq(1, 5)]),
    {A, B} = {lists:min(One), lists:min(Two)},
    io:format("~-24s ~8.1f ~8.1f ~6.2f~n", [Name, A, B, 2 * A / B]).

-define(KEYS, 20000).
-define(ROUNDS, 15).

%% Nanoseconds for each operation of each of N processes at once.
run(N, Options, Work) ->
    T = ets:new(t, [public | Options]),
    ets:insert(T, [{K, 0} || K <- lists:seq(0, ?KEYS - 1)]),
    Parent = self(),
    Pids = [spawn_link(fun() ->
                receive go -> ok end,
                [go_through(Work, T, I, N) || _ <- lists:seq(1, ?ROUNDS)],
                Parent ! {done, self()}
            end) || I <- lists:seq(0, N - 1)],
    Begin = erlang:monotonic_time(nanosecond),
    [P ! go || P <- Pids],
    [receive {done, P} -> ok end || P <- Pids],
    Time = erlang:monotonic_time(nanosecond) - Begin,
    ets:delete(T),
    Time / (?ROUNDS * (?KEYS div 2)).

%% Each process goes through half as many keys as there are, its own.
go_through(Work, T, I, N) -> go_through(Work, T, I, N, ?KEYS div 2).
go_through(_, _, _, _, 0) -> ok;
go_through(Work, T, K, N, Left) ->
    work(Work, T, (K * 7919) rem ?KEYS),
    go_through(Work, T, K + N, N, Left - 1).

work(insert, T, K) -> ets:insert(T, {K, K});
work(lookup, T, K) -> [_] = ets:lookup(T, K);
work(update_counter, T, K) -> ets:update_counter(T, K, 1).
