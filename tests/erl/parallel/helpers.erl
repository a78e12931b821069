%% The module `parallel`: exceptions, and what the processes that do parts have of the caller's (docs/parallel.md).
-module(helpers).
-export([main/0]).

main() ->
    t:parallel(),
    t:mute(),
    [raising(Options) || Options <- [#{}, #{steal => always}, #{steal => {seed, 5}}, #{steal => always, max => 2}]],
    frames(),
    inherited(),
    messages(),
    ended().

raising(Options) ->
    Raise = fun(3) -> throw(three); (5) -> error(five); (6) -> exit(six); (X) -> X end,
    Of = fun(List) -> t:outcome(fun() -> parallel:map(Raise, List, Options) end) end,
    t:p(io_lib:format("raise ~0p", [Options]), [Of([1, 2, 3, 4, 5]), Of([5, 4, 3]), Of([1, 6, 5]), Of([1, 2, 4])]),
    t:p(io_lib:format("raise_both ~0p", [Options]),
        [t:outcome(fun() -> parallel:both(fun() -> Raise(A) end, fun() -> Raise(B) end, Options) end) || A <- [1, 3], B <- [2, 5]]),
    Inner = fun(X) -> parallel:foreach(fun(Y) -> X * Y =:= 12 andalso throw({X, Y}) end, [1, 2, 3, 4], Options) end,
    t:p(io_lib:format("raise_nested ~0p", [Options]), t:outcome(fun() -> parallel:map(Inner, [1, 2, 3, 4, 6], Options) end)),
    Caught = fun(X) -> try Raise(X) catch Class:Reason -> {Class, Reason} after ok end end,
    t:p(io_lib:format("caught ~0p", [Options]), t:outcome(fun() -> parallel:map(Caught, [1, 3, 5, 6], Options) end)),
    Any = t:outcome(fun() -> parallel:map(Raise, [1, 3, 5, 6], Options#{order => any}) end),
    t:p(io_lib:format("any ~0p", [Options]), lists:member(Any, [{throw, three}, {error, five}, {exit, six}])).

%% The fun's own frames come first, wherever it ran.
frames() ->
    [t:p(io_lib:format("frames ~0p", [Options]),
         try parallel:map(fun fail/1, [1, 2], Options)
         catch error:Reason:Stack -> {Reason, hd(t:frames(Stack)), lists:keymember(main, 2, Stack)}
         end)
     || Options <- [#{}, #{steal => always}]].

fail(2) -> error(two);
fail(X) -> X.

inherited() ->
    put(locale, "de"),
    put(rand_seed, mine),
    put('$callers', [caller]),
    Self = self(),
    Leader = group_leader(),
    process_flag(priority, high),
    See = fun(_) ->
                  [First | _] = Callers = get('$callers'),
                  {self() =:= Self, get(locale), get(rand_seed), First =:= Self orelse First, length(Callers), get('$ancestors') =/= undefined,
                   group_leader() =:= Leader, process_info(self(), priority)}
          end,
    t:p(inherited, parallel:map(See, [1, 2], #{steal => always, max => 1})),
    process_flag(priority, normal),
    parallel:foreach(fun(X) -> put(made, X) end, [1, 2], #{steal => always}),
    t:p(dictionary, {get(made), get(locale), get('$callers')}),
    erase('$callers').

%% Messages of one part keep their order; the caller's mailbox is as it was.
messages() ->
    Self = self(),
    process_flag(trap_exit, true),
    Self ! before,
    parallel:foreach(fun(X) -> [Self ! {X, N} || N <- [1, 2, 3]] end, [a, b, c], #{steal => always}),
    All = t:flush(20),
    t:p(messages, {hd(All), [[N || {Part, N} <- All, Part =:= X] || X <- [a, b, c]], length(All)}),
    _ = t:outcome(fun() -> parallel:map(fun(X) -> X > 1 andalso exit(X) end, [1, 2, 3], #{steal => always}) end),
    t:p(no_links, {t:flush(20), process_info(self(), [links, monitors])}),
    process_flag(trap_exit, false),
    Server = spawn(fun Loop() -> receive {From, Ref, X} -> From ! {Ref, X + 1}, Loop() end end),
    Call = fun(X) -> Ref = make_ref(), Server ! {self(), Ref, X}, receive {Ref, Y} -> Y end end,
    t:p(calls, parallel:map(Call, [1, 2, 3, 4], #{steal => always})),
    exit(Server, kill).

ended() ->
    Self = self(),
    Kill = fun(X) when X =:= 1 -> one; (2) -> exit(self(), kill), receive after infinity -> two end; (X) -> X end,
    t:p(killed, t:outcome(fun() -> parallel:map(Kill, [1, 2, 3], #{steal => always}) end)),
    % Who ends takes its helpers along.
    {Owner, Monitor} =
        spawn_monitor(fun() -> parallel:map(fun(X) -> Self ! {part, X, self()}, receive after infinity -> X end end, [1, 2, 3], #{steal => always}) end),
    Parts = [receive {part, X, Pid} -> Pid end || X <- [1, 2, 3]],
    Monitors = [monitor(process, Pid) || Pid <- Parts, Pid =/= Owner],
    t:p(parts, length(lists:usort(Parts))),
    exit(Owner, kill),
    t:p(owner, receive {'DOWN', Monitor, process, _, Why} -> Why end),
    t:p(helpers, [receive {'DOWN', Ref, process, _, _} -> ended after 5000 -> lives end || Ref <- Monitors]).
