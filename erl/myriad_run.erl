%% `myriad run FILE.erl ARG...`: compile a file, call its main, turn the outcome into an exit status.
%%
%% Started by bin/myriad as `-s myriad_run main -extra FILE ARG...`. The program runs in a process of
%% its own, so that an exit signal that kills it is reported like an exception that it raises.
%%
%% `myriad locks`, started as `-s myriad_run locks -extra OPTIONS FILE ARG...`, has the lock profile on meanwhile and prints it on standard error at the
%% end; OPTIONS are words of myriad:locks/1 in one argument, parted by blanks.
-module(myriad_run).
-export([main/0, locks/0, start/0, finish/1]).

main() ->
    finish(reason(start())).

%% Starts the program of the command line; gives its process and a monitor of it.
start() ->
    [File | Args] = init:get_plain_arguments(),
    start(File, Args, fun() -> ok end).

locks() ->
    [Options, File | Args] = init:get_plain_arguments(),
    Words = [option(Word) || Word <- string:lexemes(Options, " ")],
    Reason = reason(start(File, Args, fun() -> myriad:locks(on) end)),
    Reason =:= {?MODULE, ok} andalso io:put_chars(standard_error, myriad:locks(Words)),
    finish(Reason).

option("json") -> json;
option("by_scheduler") -> by_scheduler;
option(Column) -> {sort, list_to_atom(Column)}.

start(File, Args, AtStart) ->
    case compile:file(filename:rootname(File, ".erl"), [binary, report, debug_info]) of
        {ok, Module, Binary} ->
            {module, Module} = code:load_binary(Module, filename:absname(File), Binary),
            AtStart(),
            spawn_monitor(fun() -> call(Module, Args) end);
        error ->
            halt(1)
    end.

reason({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, Reason} -> Reason
    end.

%% Ends the node as the reason says for which that process has ended.
finish({?MODULE, ok}) ->
    halt(0);
finish({?MODULE, Class, Reason, Stack}) ->
    fail(Class, Reason, Stack);
finish(Reason) ->
    fail(exit, Reason, []).

call(Module, Args) ->
    Outcome =
        try main_of(Module, Args) of
            _ -> {?MODULE, ok}
        catch
            Class:Reason:Stack -> {?MODULE, Class, Reason, Stack}
        end,
    exit(Outcome).

main_of(Module, Args) ->
    case erlang:function_exported(Module, main, 1) of
        true -> Module:main(Args);
        false -> Module:main()
    end.

fail(Class, Reason, Stack) ->
    Format = fun(Term, Indent) -> io_lib:print(Term, Indent + 1, 80, -1) end,
    Skip = fun(Module, _Function, _Arity) -> Module =:= ?MODULE end,
    Text = erl_error:format_exception(1, Class, Reason, Stack, Skip, Format, unicode),
    io:format(standard_error, "myriad: ~ts~n", [Text]),
    halt(1).
