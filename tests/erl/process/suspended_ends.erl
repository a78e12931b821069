%% Suspending a process that is about to end: whoever suspends is answered.
-module(suspended_ends).
-export([main/0]).

work(0) -> ok;
work(N) -> process_info(self(), links), work(N - 1).

lap(N) ->
    Parent = self(),
    Work = N rem 50,
    {Suspended, Mon2} = spawn_monitor(fun() -> work(Work) end),
    {Suspender, Mon1} = spawn_monitor(fun() ->
        work(Work div 2),
        Parent ! {suspending, self()},
        case catch erlang:suspend_process(Suspended) of
            {'EXIT', {badarg, _}} -> ok;
            {'EXIT', {exited, _}} -> ok;
            true -> erlang:resume_process(Suspended)
        end
    end),
    receive {suspending, Suspender} -> N rem 2 =:= 0 andalso exit(Suspender, bang) end,
    receive {'DOWN', Mon1, process, Suspender, _} -> ok end,
    receive {'DOWN', Mon2, process, Suspended, normal} -> ok end.

main() -> t:c(all_end, fun() -> lists:foreach(fun lap/1, lists:seq(1, 20000)) end).
