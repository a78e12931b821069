%% Descriptors that libraries wait for.
-module(selected).
-export([main/0]).
-compile([nowarn_unused_function]).
-export([open_pipe/0, select_end/5, select_x/4, put/3, take/2, wrong/0]).

-define(NOT_LOADED, erlang:nif_error(not_loaded)).
open_pipe() -> ?NOT_LOADED.
select_end(_, _, _, _, _) -> ?NOT_LOADED.
select_x(_, _, _, _) -> ?NOT_LOADED.
put(_, _, _) -> ?NOT_LOADED.
take(_, _) -> ?NOT_LOADED.
wrong() -> ?NOT_LOADED.

-define(READ, 1).
-define(WRITE, 2).
-define(STOP, 4).
-define(CANCEL, 8).

main() ->
    ok = file:set_cwd(t:tmp("selected")),
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "selected.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 -D_GNU_SOURCE -I ", code:root_dir(), "/usr/include -o selected.so ", Source]),
    ok = erlang:load_nif("./selected", 0),
    t:c(input, fun input/0),
    t:c(output, fun output/0),
    t:c(both_ends, fun both_ends/0),
    t:c(other_process, fun other_process/0),
    t:c(custom, fun custom/0),
    t:c(again, fun again/0),
    t:c(cancelled, fun cancelled/0),
    t:c(stopped_at_once, fun() -> P = open_pipe(), {stop(P, 0), stop(P, 1), told(P, 2)} end),
    t:c(hung_up, fun hung_up/0),
    t:c(wrong, fun wrong/0),
    t:c(kept, fun kept/0),
    t:c(many, fun many/0),
    t:c(echo, fun echo/0).

%% The next `Count` that are told, with the pipe as `pipe`, and what is told soon after these though it should not be.
told(P, Count) ->
    receive
        %% Of pipes of others, whose references have been collected.
        {gone, 0} -> told(P, Count);
        {select, P, R, What} -> [{select, R, What} | told(P, Count - 1)];
        {What, N} when is_atom(What) -> [{What, N} | told(P, Count - 1)];
        {custom, P, X} -> [{custom, X} | told(P, Count - 1)]
    after patience(Count) -> []
    end.

%% How long a message is waited for, of which there are to be so many more.
patience(Count) when Count > 0 -> 20_000;
patience(_) -> 50.

%% Whether it was called or is to be called is the VM's affair.
stop(P, End) -> (select_end(P, End, ?STOP, undefined, undefined) band bnot 3).

input() ->
    P = open_pipe(),
    First = select_end(P, 0, ?READ, self(), undefined),
    Nothing = told(P, 0),
    3 = put(P, 1, <<"abc">>),
    Ready = told(P, 1),
    Once = told(P, 0),
    R = make_ref(),
    Second = select_end(P, 0, ?READ, self(), R),
    At = [case X of {select, Y, W} -> {Y =:= R, W}; _ -> X end || X <- told(P, 1)],
    {First, Nothing, Ready, Once, Second, At, take(P, 0), stop(P, 0), stop(P, 1), told(P, 2)}.

output() ->
    P = open_pipe(),
    Selected = select_end(P, 1, ?WRITE, undefined, undefined),
    Ready = told(P, 1),
    Full = fill(P, 0),
    More = select_end(P, 1, ?WRITE, undefined, undefined),
    Nothing = told(P, 0),
    [take(P, 0) || _ <- lists:seq(1, 4)],
    Again = told(P, 1),
    {Selected, Ready, Full > 1000, More, Nothing, Again, stop(P, 1), stop(P, 0), told(P, 2)}.

fill(P, N) -> case put(P, 1, binary:copy(<<"x">>, 4096)) of -1 -> N; M -> fill(P, N + M) end.

both_ends() ->
    P = open_pipe(),
    Selected = [select_end(P, 0, ?READ, self(), undefined), select_end(P, 1, ?WRITE, self(), undefined)],
    Ready = told(P, 1),
    put(P, 1, <<"a">>),
    {Selected, Ready, told(P, 1), stop(P, 0), stop(P, 1), told(P, 2)}.

other_process() ->
    P = open_pipe(),
    Self = self(),
    Other = spawn_link(fun() -> Self ! {other, told(P, 1)} end),
    Selected = select_end(P, 0, ?READ, Other, undefined),
    put(P, 1, <<"a">>),
    Told = receive {other, X} -> X end,
    %% One that has ended is told nothing.
    Gone = select_end(P, 0, ?READ, Other, undefined),
    {Selected, Told, Gone, told(P, 0), stop(P, 0), stop(P, 1), told(P, 2)}.

custom() ->
    P = open_pipe(),
    Selected = [select_x(P, 0, ?READ, {custom, P, [1, 2, {"three", <<4:800>>}]}), select_x(P, 1, ?WRITE, {custom, P, out})],
    Ready = told(P, 1),
    put(P, 1, <<"a">>),
    {Selected, Ready, told(P, 1), stop(P, 0), stop(P, 1), told(P, 2)}.

%% The latest counts.
again() ->
    P = open_pipe(),
    [select_x(P, 0, ?READ, {custom, P, N}) || N <- [1, 2, 3]],
    put(P, 1, <<"a">>),
    {told(P, 1), stop(P, 0), stop(P, 1), told(P, 2)}.

cancelled() ->
    P = open_pipe(),
    select_end(P, 0, ?READ, self(), undefined),
    Cancelled = [select_end(P, 0, ?READ bor ?CANCEL, self(), undefined), select_end(P, 0, ?READ bor ?CANCEL, self(), undefined),
                 select_end(P, 0, ?WRITE bor ?CANCEL, self(), undefined)],
    put(P, 1, <<"a">>),
    Nothing = told(P, 0),
    select_end(P, 0, ?READ, self(), undefined),
    {Cancelled, Nothing, told(P, 1), stop(P, 0), stop(P, 1), told(P, 2)}.

hung_up() ->
    P = open_pipe(),
    select_end(P, 0, ?READ, self(), undefined),
    Stopped = stop(P, 1),
    {Stopped, lists:sort(told(P, 2)), take(P, 0), stop(P, 0), told(P, 1)}.

%% What is selected keeps the object; after it was stopped that goes. A process of its own, whose pipe is the only one that it is told of.
kept() ->
    {Pid, Monitor} = spawn_monitor(fun() ->
        P = open_pipe(),
        select_end(P, 0, ?READ, self(), undefined),
        exit({kept(P), gone(0), stops(), gone(1)})
    end),
    receive {'DOWN', Monitor, process, Pid, Found} -> Found end.

kept(P) -> erlang:put(pipe, term_to_binary(P)), is_reference(P).

stops() -> P = binary_to_term(get(pipe)), stop(P, 0), told(P, 1).

%% How many objects go, which are to be `Count`, when all references that are not used any more are collected.
gone(Count) -> erlang:garbage_collect(), going(Count).
going(Count) -> receive {gone, 0} -> 1 + going(Count - 1) after patience(Count) -> 0 end.

many() ->
    Ps = [open_pipe() || _ <- lists:seq(1, 100)],
    [0 = select_end(P, 0, ?READ, self(), undefined) || P <- Ps],
    [put(P, 1, <<"a">>) || P <- Ps],
    Ready = length([P || P <- Ps, receive {select, P, undefined, ready_input} -> true after patience(1) -> false end]),
    [stop(P, End) || P <- Ps, End <- [0, 1]],
    {Ready, length(told(none, 200))}.

%% Two processes that answer each other through pipes.
echo() ->
    {There, Back} = {open_pipe(), open_pipe()},
    Self = self(),
    spawn_link(fun() -> answer(There, Back, 500), Self ! done end),
    ask(There, Back, 500),
    receive done -> ok end,
    [stop(P, End) || P <- [There, Back], End <- [0, 1]],
    length(told(none, 4)).

ask(_, _, 0) -> ok;
ask(There, Back, N) -> put(There, 1, <<"a">>), wait(Back), 1 = take(Back, 0), ask(There, Back, N - 1).

answer(_, _, 0) -> ok;
answer(There, Back, N) -> wait(There), 1 = take(There, 0), put(Back, 1, <<"b">>), answer(There, Back, N - 1).

wait(P) -> 0 = select_end(P, 0, ?READ, self(), undefined), receive {select, P, undefined, ready_input} -> ok end.
