%% Memory that scheduler 2 has allocated is freed by scheduler 1, while the other one sleeps.
-module(clean_up).
-export([main/1]).

main(Expected) ->
    S = self(),
    Trims = myriad:spawn_task(trims, [], [{scheduler, 1}]),
    Keeper = spawn_opt(fun() -> keep([]) end, [{scheduler, 1}]),
    Maker = spawn_opt(fun() -> make(Keeper, 4000), work(2000000), S ! made, receive stop -> ok end end, [{scheduler, 2}]),
    receive made -> ok end,
    Keeper ! {count, S},
    receive 4000 -> ok end,
    %% It has worked enough to give memory back when it is idle for a while, and does.
    timer:sleep(1500),
    Before = gen_server:call(Trims, read),
    Ref = monitor(process, Keeper),
    exit(Keeper, kill),
    receive {'DOWN', Ref, process, Keeper, killed} -> ok end,
    Expected = later(Trims, Before, case Expected of woken -> 10000; asleep -> 2500 end, Expected),
    Maker ! stop,
    halt(0).

keep(Held) -> receive {count, From} -> From ! length(Held), keep(Held); One -> keep([One | Held]) end.

make(_, 0) -> ok;
make(Keeper, N) -> Keeper ! binary:copy(<<N:32>>, 2500), make(Keeper, N - 1).

work(0) -> ok;
work(N) -> work(N - 1).

%% What scheduler 2 does within so many milliseconds.
later(_, _, Ms, woken) when Ms =< 0 -> asleep;
later(Trims, Before, Ms, woken) ->
    case gen_server:call(Trims, read) of
        Before -> timer:sleep(50), later(Trims, Before, Ms - 50, woken);
        _ -> woken
    end;
later(Trims, Before, Ms, asleep) ->
    timer:sleep(Ms),
    case gen_server:call(Trims, read) of Before -> asleep; _ -> woken end.
