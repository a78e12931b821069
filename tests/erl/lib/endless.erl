%% Loops of jumps without an end, which OTP cannot stop: others run beside them, see them and stop them.
-module(endless).
-export([main/1]).

main(["stopped"]) ->
    Pids = start(),
    Places = [erlang:process_info(Pid, current_function) =:= {current_function, {endless_loops, Name, 1}} || {Name, Pid} <- Pids],
    [true = erlang:garbage_collect(Pid) || {_, Pid} <- Pids],
    [true = erlang:suspend_process(Pid) andalso erlang:resume_process(Pid) || {_, Pid} <- Pids],
    Before = [reductions(Pid) || {_, Pid} <- Pids],
    timer:sleep(500),
    Shares = [reductions(Pid) - Old > 4000 || {{_, Pid}, Old} <- lists:zip(Pids, Before)],
    Ends = [killed(Pid) || {_, Pid} <- Pids],
    io:format("~w~n", [[lists:usort(Values) || Values <- [Places, Shares, Ends]]]);
main(["told"]) ->
    start(),
    os:cmd("kill -TERM " ++ os:getpid()),
    timer:sleep(infinity).

reductions(Pid) ->
    {reductions, N} = erlang:process_info(Pid, reductions),
    N.

killed(Pid) ->
    Monitor = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end.

start() ->
    Functions = [function(Name, 10 * I, Code) || {I, {Name, Code}} <- lists:enumerate(loops())],
    Asm = {endless_loops, [{Name, 1} || {Name, _} <- loops()], [], Functions, 10 * length(Functions) + 10},
    {ok, Module, Beam} = compile:forms(Asm, [from_asm, no_postopt, report]),
    {module, Module} = code:load_binary(Module, "", Beam),
    Pids = [{Name, spawn(Module, Name, [a])} || {Name, _} <- loops()],
    [Pid ! message || {_, Pid} <- Pids],
    timer:sleep(200),
    Pids.

%% Label L is in place 2 of the code's own, the others are free.
function(Name, L, Code) ->
    {function, Name, 1, L + 1,
     [{label, L}, {func_info, {atom, endless_loops}, {atom, Name}, 1}, {label, L + 1} | Code({f, L + 1}, {f, L + 2}, {f, L + 3})]}.

loops() ->
    [{jump, fun(_, {f, L} = Loop, _) -> [{label, L}, {jump, Loop}] end},
     {entry, fun(Entry, _, _) -> [{jump, Entry}] end},
     {failed_test, fun(_, {f, L} = Loop, _) -> [{label, L}, {test, is_tuple, Loop, [{x, 0}]}, return] end},
     {select, fun(_, {f, L} = Loop, {f, Out}) ->
         [{label, L}, {select_val, {x, 0}, {f, Out}, {list, [{atom, a}, Loop, {atom, b}, {f, Out}]}}, {label, Out}, return]
     end},
     {guard, fun(_, {f, L} = Loop, _) -> [{label, L}, {bif, hd, Loop, [{x, 0}], {x, 1}}, {move, {x, 1}, {x, 0}}, return] end},
     {two, fun(_, {f, L} = Loop, {f, Inner}) ->
         [{label, L}, {test, is_tuple, {f, Inner}, [{x, 0}]}, return, {label, Inner}, {jump, Loop}]
     end},
     {calls, fun(_, {f, L} = Loop, _) ->
         [{allocate, 0, 1}, {label, L}, {move, {atom, a}, {x, 0}}, {line, []}, {call_ext, 1, {extfunc, erlang, atom_to_list, 1}}, {jump, Loop}]
     end},
     {exceptions, fun(_, {f, L} = Loop, {f, Handler}) ->
         [{allocate, 1, 1}, {init_yregs, {list, [{y, 0}]}},
          {label, L}, {'try', {y, 0}, {f, Handler}}, {move, {atom, a}, {x, 0}},
          {line, []}, {call_ext, 1, {extfunc, erlang, hd, 1}}, {try_end, {y, 0}}, {deallocate, 1}, return,
          {label, Handler}, {try_case, {y, 0}}, {jump, Loop}]
     end},
     {growing, fun(_, {f, L} = Loop, _) -> [{label, L}, {test_heap, 2, 1}, {put_list, {x, 0}, nil, {x, 1}}, {jump, Loop}] end},
     {peeking, fun(_, {f, L} = Loop, {f, Wait}) ->
         [{allocate, 0, 1}, {label, L}, {loop_rec, {f, Wait}, {x, 0}}, {jump, Loop}, {label, Wait}, {wait, Loop}]
     end},
     {message_in_hand, fun({f, Entry}, {f, L} = Loop, {f, Wait}) ->
         [{allocate, 0, 1}, {label, Entry + 3}, {loop_rec, {f, Wait}, {x, 0}},
          {label, L}, {test, is_tuple, Loop, [{x, 0}]}, remove_message, {deallocate, 0}, return,
          {label, Wait}, {wait, {f, Entry + 3}}]
     end},
     {timeouts, fun(_, {f, L} = Loop, {f, Wait}) ->
         [{allocate, 0, 1}, {label, L}, {label, Wait}, {wait_timeout, {f, Wait}, {integer, 0}}, timeout, {jump, Loop}]
     end}].
