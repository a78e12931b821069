%% What Myriad has beside OTP: native tasks, the lock profile, and terms to share.
%%
%% Native tasks (docs/architecture.md, `crates/myriad/src/task.rs`) are processes to all others, whose state and reactions are native code. What
%% a task waits for is waited for here.
-module(myriad).
-export([spawn_task/2, spawn_task/3, task_info/1, run_task/2]).
-export([locks/0, locks/1, share/1, frames/2, undefined_function/3]).

%% The lock profile (docs/locks.md): built-in functions.
locks() -> erlang:nif_error(undef).
locks(_Options) -> erlang:nif_error(undef).

%% The same term, where other processes and tables may share it without copying (`+heap=hybrid`; docs/heaps.md): a built-in function.
share(_Term) -> erlang:nif_error(undef).

%% A new task of a type that the VM's program has registered; `badarg` if there is none of that name.
spawn_task(Type, Arg) -> spawn_task(Type, Arg, []).

%% With options of `spawn_opt/4`; those of the type, its priority and thread, come last.
spawn_task(Type, Arg, Options) -> spawn_opt(?MODULE, run_task, [Type, Arg], Options ++ myriad_tasks:options(Type)).

%% The type of a task, and what it tells of itself. It answers when it comes to that among its messages.
task_info(Pid) ->
    Ref = monitor(process, Pid),
    Pid ! {'$myriad_task_info', self(), Ref},
    receive
        {Ref, Info} -> demonitor(Ref, [flush]), Info;
        {'DOWN', Ref, process, Pid, Reason} -> exit(Reason)
    end.

run_task(Type, Arg) ->
    myriad_tasks:place(Type),
    go_on(myriad_tasks:start(Type, Arg)).

%% An event comes before a time-out, and before batch work.
go_on({exit, Reason}) -> exit(Reason);
go_on(idle) -> receive Message -> go_on(event(Message)) after 0 -> go_on(myriad_tasks:idle()) end;
go_on(Time) -> receive Message -> go_on(event(Message)) after Time -> go_on(myriad_tasks:time_out()) end.

event({'$myriad_task_info', From, Ref}) ->
    From ! {Ref, myriad_tasks:info()},
    myriad_tasks:next();
event(Message) -> myriad_tasks:event(Message).

%% The innermost frames of a process's stack, so many at most (and 1,000): `[{Module, Function, Arity, Location, Values}]`, where a value is what a Y register holds,
%% `{y, N, Term}`, or `{y, N}` for one that marks a `catch` or `try`. `undefined`: there is no such process.
frames(Pid, Depth) when is_integer(Depth), Depth >= 0 ->
    case process_info(Pid, '$frames') of
        {_, Frames} -> lists:sublist(Frames, Depth);
        undefined -> undefined
    end.

%% A call of a function of a module that comes with Myriad, of which the process's error handler hears otherwise: if the program has a module of that
%% name, it is that one's.
undefined_function(Module, Function, Arguments) ->
    _ = code:ensure_loaded(Module),
    case erlang:module_loaded(Module) orelse myriad_modules:load(Module) of
        true -> apply(Module, Function, Arguments);
        false -> error_handler:undefined_function(Module, Function, Arguments)
    end.
