%% What stands for Myriad's built-in functions of this name elsewhere (docs/parallel.md): a loop is cut into as many pieces as there are schedulers when it
%% begins, unless it is within another one, and processes that end with what they have come to do all but the first.
-module(parallel_parts).
-export([enter/4, cut/5, leave/0, make/4, await/1, abort/1, stopped_by/2, report/1]).

%% A piece of N elements begins: is it to be cut first?
enter(N, Loop, [], []) when N > 1, element(6, Loop) =/= 0 ->
    case get(?MODULE) =:= undefined andalso erlang:system_info(schedulers_online) > 1 of
        true -> cut;
        false -> ok
    end;
enter(_, _, _, _) -> ok.

%% So many elements are left to the caller, and the parts that others do.
cut(F, Rest, N, Loop, Max) ->
    Helpers = lists:min([N - 1, erlang:system_info(schedulers_online) - 1, Max]),
    Size = N div (Helpers + 1),
    Own = N - Size * Helpers,
    Parts = parts(F, behind(Rest, Own), Size, Loop, Helpers),
    put(?MODULE, owner),
    {Own, Parts}.

%% All pieces of the loop have come to their ends, or one of them to an exception.
leave() ->
    get(?MODULE) =:= owner andalso erase(?MODULE),
    ok.

parts(_, _, _, _, 0) -> [];
parts(F, Rest, Size, Loop, Helpers) ->
    Part = made(F, first(Rest, Size), Size, Loop),
    [Part | parts(F, behind(Rest, Size), Size, Loop, Helpers - 1)].

%% A part: its name. `none`: the process has as many as its options allow.
make(F, Rest, N, Loop) ->
    case length([Part || {{?MODULE, Part}, _} <- get()]) < element(6, Loop) of
        true -> made(F, Rest, N, Loop);
        false -> none
    end.

%% A helper of one that may have so many only has none itself.
made(F, Rest, N, Loop) when is_integer(element(6, Loop)), element(6, Loop) > 0 -> made(F, Rest, N, setelement(6, Loop, 0));
made(F, Rest, N, Loop) ->
    Dictionary = [{?MODULE, part} | [Entry || {Key, _} = Entry <- get(), not is_own(Key)]],
    {priority, Priority} = process_info(self(), priority),
    {Pid, Ref} = spawn_opt(parallel, part, [F, Rest, N, Loop, self(), Dictionary], [monitor, {priority, Priority}]),
    Owner = self(),
    spawn(fun() -> end_with(Owner, Pid) end),
    Part = erlang:unique_integer([positive]),
    put({?MODULE, Part}, {Pid, Ref}),
    Part.

first(Rest, N) when is_list(Rest) -> lists:sublist(Rest, N);
first(From, _) -> From.

behind(Rest, N) when is_list(Rest) -> lists:nthtail(N, Rest);
behind(From, N) -> From + N.

%% A part ends when its owner does.
end_with(Owner, Part) ->
    Ref = monitor(process, Owner),
    monitor(process, Part),
    receive
        {'DOWN', Ref, process, _, _} -> exit(Part, kill);
        {'DOWN', _, process, _, _} -> ok
    end.

is_own({?MODULE, _}) -> true;
is_own(Key) -> Key =:= ?MODULE.

%% What a part has come to: `{ok, Acc}` or `{Class, Reason, Trace}`.
await(Part) ->
    {_, Ref} = erase({?MODULE, Part}),
    receive
        {'DOWN', Ref, process, _, {?MODULE, Outcome}} -> Outcome;
        {'DOWN', Ref, process, _, Reason} -> {exit, Reason, []}
    end.

%% Nobody wants to know any more what becomes of those of these pieces that are parts.
abort(Pieces) -> [abort_part(Part) || Part <- Pieces, is_integer(Part)].

abort_part(Part) ->
    case erase({?MODULE, Part}) of
        {Pid, Ref} ->
            demonitor(Ref, [flush]),
            exit(Pid, kill);
        undefined -> ok
    end.

%% Exceptions of parts are met where one waits for them.
stopped_by(_, _) -> none.

report(Outcome) -> exit({?MODULE, Outcome}).
