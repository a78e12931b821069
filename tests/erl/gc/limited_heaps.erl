%% Processes with a max_heap_size that make much garbage and hold little: the room that a collection leaves them for the sake of
%% speed does not end them. Those that hold too much end.
-module(limited_heaps).
-export([main/0]).

main() ->
    t:mute(),
    %% Words that live, elements of lists that are thrown away, and a limit of twice what OTP needs.
    t:each(lives, [{0, 5, 1200}, {0, 50, 2400}, {0, 200, 7200}, {0, 1000, 19000}, {0, 3000, 58000}, {100, 5, 1800}, {100, 200, 6000},
                   {100, 1000, 30000}, {1000, 5, 12000}, {1000, 200, 14000}, {5000, 5, 80000}, {5000, 1000, 80000},
                   {20000, 200, 210000}],
           fun({Live, Garbage, Limit}) -> run(Live, Garbage, Limit) end),
    t:each(dies, [{3000, 5, 5000}, {20000, 5, 20000}, {0, 20000, 20000}], fun({Live, Garbage, Limit}) -> run(Live, Garbage, Limit) end),
    t:c(among_others, fun() ->
        Ps = [element(2, start(N rem 3 * 100, N, 20000)) || N <- lists:seq(1, 100)],
        lists:usort([receive {'DOWN', P, process, _, Reason} -> Reason end || P <- Ps])
    end).

run(Live, Garbage, Limit) ->
    {_, Ref} = start(Live, Garbage, Limit),
    receive {'DOWN', Ref, process, _, Reason} -> Reason end.

start(Live, Garbage, Limit) ->
    spawn_opt(fun() ->
        Held = lists:seq(1, Live),
        work(2000, Garbage),
        Live = length(Held)
    end, [monitor, {max_heap_size, #{size => Limit, kill => true, error_logger => false}}]).

work(0, _) -> ok;
work(N, Elements) ->
    Elements = length(lists:seq(1, Elements)),
    work(N - 1, Elements).
