%% Loops of jumps, in which no call counts: such code is written as assembly. Each runs long enough to be preempted many times, on
%% one scheduler with others at work and while somebody collects its heap; what it has in registers must stay.
-module(jump_loops).
-export([main/0]).

-define(TURNS, 100000).

main() ->
    [t:c(Name, fun() -> run(Function, Arguments) end) || {Name, Arguments, Function} <- loops()],
    t:c(together, fun together/0).

%% In a process of its own, which another one disturbs.
run(Function, Arguments) ->
    load([Function]),
    together([{element(2, Function), Arguments}]).

together() ->
    load([Function || {_, _, Function} <- loops()]),
    together([{element(2, Function), Arguments} || {_, Arguments, Function} <- loops()]).

together(Calls) ->
    Workers = [spawn_monitor(fun() -> exit({done, apply(looping, Name, Arguments)}) end) || {Name, Arguments} <- Calls],
    [Pid ! message || {Pid, _} <- Workers],
    Disturber = spawn_link(fun() -> disturb([Pid || {Pid, _} <- Workers]) end),
    Results = [receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end || {Pid, Monitor} <- Workers],
    unlink(Disturber),
    exit(Disturber, kill),
    [Result || {done, Result} <- Results] ++ [Result || Result <- Results, element(1, Result) =/= done].

disturb(Pids) ->
    [erlang:garbage_collect(Pid, [{async, x}]) || Pid <- Pids],
    [receive {garbage_collect, x, _} -> ok end || _ <- Pids],
    erlang:yield(),
    disturb(Pids).

%% Name, arguments, function. The first argument is the number of turns, in X0.
loops() ->
    [{jump, [?TURNS, a], function(jump, 2,
        fun(L, Out) ->
            [{label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             down({x, 0}, 2),
             {jump, {f, L}},
             {label, Out} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {'failed test', [?TURNS, a], function(failed_test, 2,
        fun(L, _) ->
            [{label, L},
             down({x, 0}, 2),
             {test, is_eq_exact, {f, L}, [{x, 0}, {integer, 0}]} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {'failed test of a type', [?TURNS, a], function(failed_type, 2,
        fun(L, Out) ->
            [{label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             down({x, 0}, 2),
             {test, is_tuple, {f, L}, [{x, 1}]},
             {test, test_arity, {f, L}, [{x, 1}, 2]},
             {label, Out} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {select, [?TURNS, a], function(select, 2,
        fun(L, Out) ->
            [{label, L},
             down({x, 0}, 2),
             {select_val, {x, 0}, {f, L}, {list, [{integer, 0}, {f, Out}, {integer, 1}, {f, L}, {integer, 2}, {f, L}]}},
             {label, Out} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {'select of arity', [?TURNS, {a, b}], function(select_arity, 2,
        fun(L, Out) ->
            [{test, is_tuple, {f, Out}, [{x, 1}]},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             down({x, 0}, 2),
             {select_tuple_arity, {x, 1}, {f, Out}, {list, [2, {f, L}, 3, {f, Out}]}},
             {label, Out} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {'guard that fails', [?TURNS, a], function(guard, 2,
        fun(L, Out) ->
            [{label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             down({x, 0}, 2),
             {bif, hd, {f, L}, [{x, 1}], {x, 2}},
             {label, Out} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]
        end)},
     {'to the entry', [?TURNS, a], {function, to_entry, 2, 4,
        [{label, 3}, {func_info, {atom, looping}, {atom, to_entry}, 2},
         {label, 4},
         {test, is_ne_exact, {f, 5}, [{x, 0}, {integer, 0}]},
         down({x, 0}, 2),
         {jump, {f, 4}},
         {label, 5} | tuple(2, [{x, 0}, {x, 1}])] ++ [return]}},
     {'two loops', [300, 300, a], function(nested, 3,
        fun(L, Out) ->
            [{label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             down({x, 0}, 3),
             {move, {integer, 300}, {x, 1}},
             {label, Out + 1},
             down({x, 1}, 3),
             {test, is_eq_exact, {f, Out + 1}, [{x, 1}, {integer, 0}]},
             {jump, {f, L}},
             {label, Out} | tuple(3, [{x, 0}, {x, 1}, {x, 2}])] ++ [return]
        end)},
     {'far registers', [lists:duplicate(?TURNS, e), {a, [b]}], function(far, 2,
        fun(L, Out) ->
            [{move, {x, 1}, {x, 7}}, {move, {atom, c}, {x, 300}}, {move, {x, 1}, {x, 1000}},
             {label, L},
             {test, is_nonempty_list, {f, Out}, [{x, 0}]},
             {get_tl, {x, 0}, {x, 0}},
             {jump, {f, L}},
             {label, Out}, {move, {x, 7}, {x, 1}}, {move, {x, 300}, {x, 2}}, {move, {x, 1000}, {x, 3}}
             | tuple(4, [{x, 0}, {x, 1}, {x, 2}, {x, 3}])] ++ [return]
        end)},
     {frame, [?TURNS, {a, [b]}], function(frame, 2,
        fun(L, Out) ->
            [{allocate, 3, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 2}}, {init_yregs, {list, [{y, 1}]}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{y, 2}, {integer, 0}]},
             down({y, 2}, 0),
             {jump, {f, L}},
             {label, Out} | tuple(0, [{y, 0}, {y, 2}])] ++ [{deallocate, 3}, return]
        end)},
     {'built-in calls', [?TURNS, {a, [b]}], function(built_in, 2,
        fun(L, Out) ->
            [{allocate, 2, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 1}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{y, 1}, {integer, 0}]},
             down({y, 1}, 0),
             {move, {y, 0}, {x, 0}},
             {line, []}, {call_ext, 1, {extfunc, erlang, tuple_to_list, 1}},
             {jump, {f, L}},
             {label, Out} | tuple(0, [{y, 0}, {y, 1}])] ++ [{deallocate, 2}, return]
        end)},
     {'exceptions', [?TURNS div 10, {a, [b]}], function(exceptions, 2,
        fun(L, Out) ->
            [{allocate, 3, 2},
             {move, {x, 1}, {y, 1}}, {move, {x, 0}, {y, 2}}, {init_yregs, {list, [{y, 0}]}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{y, 2}, {integer, 0}]},
             down({y, 2}, 0),
             {'try', {y, 0}, {f, Out + 1}},
             {move, {y, 1}, {x, 0}},
             {line, []}, {call_ext, 1, {extfunc, erlang, atom_to_list, 1}},
             {try_end, {y, 0}},
             {jump, {f, Out}},
             {label, Out + 1}, {try_case, {y, 0}}, {move, {x, 1}, {y, 0}},
             {jump, {f, L}},
             {label, Out} | tuple(0, [{y, 1}, {y, 2}])] ++ [{deallocate, 3}, return]
        end)},
     {'back to the end of a catch', [?TURNS div 10, {a, [b]}], function(to_catch_end, 2,
        fun(L, Out) ->
            [{allocate, 3, 2},
             {move, {x, 1}, {y, 1}}, {move, {x, 0}, {y, 2}}, {init_yregs, {list, [{y, 0}]}},
             {'catch', {y, 0}, {f, L}},
             {line, []}, {call_ext, 1, {extfunc, erlang, throw, 1}},
             {label, L}, {catch_end, {y, 0}},
             {test, is_ne_exact, {f, Out}, [{y, 2}, {integer, 0}]},
             down({y, 2}, 0),
             {'catch', {y, 0}, {f, Out + 1}},
             {test, is_eq_exact, {f, Out + 2}, [{y, 2}, {integer, 9}]},
             {move, {y, 1}, {x, 0}},
             {line, []}, {call_ext, 1, {extfunc, erlang, throw, 1}},
             {label, Out + 1}, {catch_end, {y, 0}}, {move, {x, 0}, {y, 1}},
             {'catch', {y, 0}, {f, Out + 3}},
             {label, Out + 2},
             {move, {atom, value}, {x, 0}},
             {jump, {f, L}},
             {label, Out + 3}, {catch_end, {y, 0}},
             {label, Out} | tuple(0, [{y, 1}, {y, 2}])] ++ [{deallocate, 3}, return]
        end)},
     {matching, [binary:copy(<<"0123456789">>, 10000), 0], function(matching, 2,
        fun(L, Out) ->
            [{test, bs_start_match3, {f, Out}, 2, [{x, 0}], {x, 2}},
             {label, L},
             {test, bs_get_integer2, {f, Out}, 3, [{x, 2}, {integer, 8}, 1, {field_flags, [unsigned, big]}], {x, 3}},
             {gc_bif, '+', {f, 0}, 4, [{x, 1}, {x, 3}], {x, 1}},
             {jump, {f, L}},
             {label, Out}, {move, {x, 1}, {x, 0}}, return]
        end)},
     {floats, [?TURNS, 1.5], function(floats, 2,
        fun(L, Out) ->
            [{fmove, {float, 0.25}, {fr, 0}}, {fconv, {x, 1}, {fr, 1}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             {bif, fadd, {f, 0}, [{fr, 0}, {fr, 1}], {fr, 1}},
             down({x, 0}, 2),
             {jump, {f, L}},
             {label, Out}, {test_heap, {alloc, [{words, 3}, {floats, 1}]}, 2}, {fmove, {fr, 1}, {x, 1}},
             {put_tuple2, {x, 0}, {list, [{x, 0}, {x, 1}]}}, return]
        end)},
     {'a large binary, byte by byte', [lists:duplicate(?TURNS, 5), ?TURNS], function(large_binary, 2,
        fun(L, Out) ->
            [{bs_init2, {f, 0}, {x, 1}, 0, 2, {field_flags, []}, {x, 2}},
             {label, L},
             {test, is_nonempty_list, {f, Out}, [{x, 0}]},
             {get_list, {x, 0}, {x, 3}, {x, 0}},
             {bs_put_integer, {f, 0}, {integer, 8}, 1, {field_flags, [unsigned, big]}, {x, 3}},
             {jump, {f, L}},
             {label, Out}, {move, {x, 2}, {x, 0}},
             {call_ext_only, 1, {extfunc, erlang, md5, 1}}]
        end)},
     {'a small binary, slowly', [2000, lists:seq(1, 40)], function(small_binary, 2,
        fun(L, Out) ->
            [{fmove, {float, 0.25}, {fr, 3}},
             {bs_init2, {f, 0}, 48, 0, 2, {field_flags, []}, {x, 2}},
             {label, L},
             {test, is_nonempty_list, {f, Out}, [{x, 1}]},
             {get_list, {x, 1}, {x, 3}, {x, 1}},
             {bs_put_integer, {f, 0}, {integer, 8}, 1, {field_flags, [unsigned, big]}, {x, 3}},
             {move, {x, 0}, {x, 3}},
             {label, Out + 1},
             {test, is_ne_exact, {f, L}, [{x, 3}, {integer, 0}]},
             down({x, 3}, 4),
             {jump, {f, Out + 1}},
             {label, Out}, {bs_put_float, {f, 0}, {integer, 64}, 1, {field_flags, [big]}, {float, 2.5}},
             {test_heap, {alloc, [{words, 3}, {floats, 1}]}, 3}, {fmove, {fr, 3}, {x, 0}},
             {put_tuple2, {x, 0}, {list, [{x, 0}, {x, 2}]}}, return]
        end)},
     {'bytes behind a binary', [lists:duplicate(?TURNS div 10, 5), <<1, 2, 3>>], function(appended, 2,
        fun(L, Out) ->
            [{label, L},
             {test, is_nonempty_list, {f, Out}, [{x, 0}]},
             {get_list, {x, 0}, {x, 2}, {x, 0}},
             {bs_append, {f, 0}, {integer, 16}, 0, 3, 8, {x, 1}, {field_flags, []}, {x, 1}},
             {bs_put_integer, {f, 0}, {integer, 8}, 1, {field_flags, [unsigned, big]}, {x, 2}},
             {move, {integer, 500}, {x, 3}},
             {label, Out + 1},
             down({x, 3}, 4),
             {test, is_eq_exact, {f, Out + 1}, [{x, 3}, {integer, 0}]},
             {bs_put_integer, {f, 0}, {integer, 8}, 1, {field_flags, [unsigned, big]}, {x, 2}},
             {jump, {f, L}},
             {label, Out}, {move, {x, 1}, {x, 0}},
             {call_ext_only, 1, {extfunc, erlang, md5, 1}}]
        end)},
     {'growing', [?TURNS, {a, [b]}], function(growing, 2,
        fun(L, Out) ->
            [{move, nil, {x, 2}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{x, 0}, {integer, 0}]},
             {test_heap, 2, 3},
             {put_list, {x, 0}, {x, 2}, {x, 2}},
             down({x, 0}, 3),
             {jump, {f, L}},
             {label, Out}, {gc_bif, length, {f, 0}, 3, [{x, 2}], {x, 0}}, return]
        end)},
     {'in a receive', [?TURNS, {a, [b]}], function(in_receive, 2,
        fun(L, Out) ->
            [{allocate, 2, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 1}},
             {label, L}, {loop_rec, {f, Out}, {x, 0}},
             {test, is_ne_exact, {f, Out + 2}, [{y, 1}, {integer, 0}]},
             down({y, 1}, 1),
             {jump, {f, L}},
             {label, Out + 2},
             remove_message | tuple(1, [{x, 0}, {y, 0}, {y, 1}])] ++
            [{deallocate, 2}, return,
             {label, Out}, {wait, {f, L}}]
        end)},
     {'with a message in hand', [?TURNS, {a, [b]}], function(message, 2,
        fun(L, Out) ->
            [{allocate, 2, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 1}},
             {label, Out + 1}, {loop_rec, {f, Out}, {x, 0}},
             {label, L},
             {test, is_ne_exact, {f, Out + 2}, [{y, 1}, {integer, 0}]},
             down({y, 1}, 1),
             {jump, {f, L}},
             {label, Out + 2},
             remove_message | tuple(1, [{x, 0}, {y, 0}, {y, 1}])] ++
            [{deallocate, 2}, return,
             {label, Out}, {wait, {f, Out + 1}}]
        end)},
     {'waits', [50, {a, [b]}], function(waits, 2,
        fun(L, Out) ->
            [{allocate, 2, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 1}}, {move, {integer, 1}, {x, 0}}, {move, {y, 0}, {x, 1}},
             {label, L}, {wait_timeout, {f, L}, {x, 0}}, timeout,
             {test, is_ne_exact, {f, Out}, [{y, 1}, {integer, 0}]},
             down({y, 1}, 0),
             {move, {integer, 1}, {x, 0}}, {move, {y, 0}, {x, 1}},
             {jump, {f, L}},
             {label, Out} | tuple(0, [{y, 0}, {y, 1}])] ++ [{deallocate, 2}, return]
        end)},
     {'time-outs', [?TURNS, {a, [b]}], function(timeouts, 2,
        fun(L, Out) ->
            [{allocate, 2, 2},
             {move, {x, 1}, {y, 0}}, {move, {x, 0}, {y, 1}},
             {label, L},
             {test, is_ne_exact, {f, Out}, [{y, 1}, {integer, 0}]},
             down({y, 1}, 0),
             {label, Out + 1},
             {wait_timeout, {f, Out + 1}, {integer, 0}}, timeout,
             {jump, {f, L}},
             {label, Out} | tuple(0, [{y, 0}, {y, 1}])] ++ [{deallocate, 2}, return]
        end)}].

%% A function of assembly: the code gets a label to branch back to, and one beyond which it may use labels.
function(Name, Arity, Code) ->
    {function, Name, Arity, 4,
     [{label, 3}, {func_info, {atom, looping}, {atom, Name}, Arity}, {label, 4} | Code(5, 6)]}.

down(Register, Live) -> {gc_bif, '-', {f, 0}, Live, [Register, {integer, 1}], Register}.

tuple(Live, Elements) -> [{test_heap, 1 + length(Elements), Live}, {put_tuple2, {x, 0}, {list, Elements}}].

%% All labels of a module differ.
load(Functions) ->
    Moved = [move_labels(Function, 10 * I) || {I, Function} <- lists:enumerate(0, Functions)],
    Exports = [{element(2, F), element(3, F)} || F <- Functions],
    Asm = {looping, Exports, [], Moved, 10 * length(Functions) + 5},
    {ok, looping, Beam} = compile:forms(Asm, [from_asm, no_postopt, report]),
    code:purge(looping),
    {module, looping} = code:load_binary(looping, "looping.beam", Beam).

move_labels({function, Name, Arity, Entry, Code}, By) -> {function, Name, Arity, Entry + By, move(Code, By)}.

move({f, 0}, _) -> {f, 0};
move({f, L}, By) -> {f, L + By};
move({label, L}, By) -> {label, L + By};
move([H | T], By) -> [move(H, By) | move(T, By)];
move(T, By) when is_tuple(T) -> list_to_tuple(move(tuple_to_list(T), By));
move(T, _) -> T.
