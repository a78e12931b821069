%% What a process held that has ended goes, also when nobody does anything afterwards.
-module(ended_and_idle).
-export([main/0]).

main() ->
    t:mute(),
    Before = erlang:memory(binary),
    {_, M} = spawn_monitor(fun() -> exit({held, byte_size(binary:copy(<<1>>, 20000000))}) end),
    receive {'DOWN', M, _, _, Reason} -> t:p(ended, Reason) end,
    t:p(gone, is_gone(Before + 10000000, 10)).

%% Looks rarely: who looks often is not idle.
is_gone(_, 0) -> false;
is_gone(Most, Times) ->
    receive after 1200 -> ok end,
    erlang:memory(binary) < Most orelse is_gone(Most, Times - 1).
