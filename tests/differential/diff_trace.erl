%% Tracing for the differential test: scripts of calls to the tracing functions, mostly nearly right, and what is traced meanwhile.
%%
%% A script runs in its caller, which is the tracer as well; what is traced is one process that does what it is told, and those
%% that it starts. An outcome is the result of each step and the messages that it led to, of each process in their order.
%% What is told of running and collecting is left out, as times are.
-module(diff_trace).
-export([script/0, traced/1]).
-export([id/1, pair/2, fact/1, tail/2, raise/1, catching/1, apart/1, up/1]).
-import(diff_terms, [n/1, pick/1, chance/1]).

%% A list of steps.
script() -> [step() || _ <- lists:seq(1, 2 + n(8))].

step() ->
    case n(14) of
        N when N =< 3 -> {trace, who(), how(), flags()};
        N when N =< 6 -> {trace_pattern, function(), spec(), pattern_flags()};
        7 -> {trace_info, pick([who(), function()]), item()};
        8 -> case n(3) of
                 1 -> {do, {seq_trace, set_token, token()}};
                 2 -> {do, {seq_trace, get_token, pick([[], [pick([label, serial, send, 'receive', print, timestamp, monotonic_timestamp, strict_monotonic_timestamp, x, 1])]])}};
                 3 -> {do, {seq_trace, print, pick([[hello], [label, hello], [7, hello], [x, {a, b}]])}}
             end;
        9 -> case n(4) of
                 1 -> {own, {erlang, system_profile, pick([[self, profile_flags()], [undefined, profile_flags()], [x, []], []])}};
                 2 -> {own, {erlang, system_monitor, pick([[self, monitor_flags()], [monitor_flags()], [undefined], [{self, monitor_flags()}], [x, []], []])}};
                 3 -> {own, {seq_trace, set_system_tracer, [pick([self, self, false, worker, x, 1, {x, 1}])]}};
                 4 -> {own, {seq_trace, get_system_tracer, []}}
             end;
        _ -> {do, work()}
    end.

who() -> pick([worker, worker, worker, worker, worker, worker, new, new_processes, self, dead, x, 1, {x, y}, [], new_ports, port]).
how() -> pick([true, true, true, true, true, true, false, false, x]).
flags() ->
    Flags = [pick([call, call, call, call, send, 'receive', procs, return_to, arity, silent, timestamp, cpu_timestamp, monotonic_timestamp, strict_monotonic_timestamp,
                   set_on_spawn, set_on_first_spawn, set_on_link, set_on_first_link, running_procs, running, garbage_collection, exiting, ports, {tracer, self}, {tracer, self},
                   {tracer, dead}, {tracer, x}, {tracer, worker}, x, {tracer, x, []}, 1]) || _ <- lists:seq(1, n(4))],
    case n(20) of 1 -> Flags ++ x; 2 -> call; _ -> [F || F <- Flags, known_flag(F) orelse chance(30)] end.

known_flag({tracer, self}) -> true;
known_flag(Flag) -> is_atom(Flag) andalso Flag =/= x.

function() ->
    pick([{?MODULE, F, '_'} || F <- ['_', id, fact, pair]] ++
         [{?MODULE, id, 1}, {?MODULE, fact, 1}, {?MODULE, tail, 2}, {?MODULE, raise, 1}, {?MODULE, catching, 1}, {?MODULE, apart, 1}, {?MODULE, up, 1}, {?MODULE, pair, 2}, {?MODULE, local, 1},
          {erlang, abs, 1}, {lists, reverse, 1}, {lists, reverse, 2}, {erlang, send, 2}, {erlang, '+', 2}, {erlang, spawn, 1},
          {lists, member, 2}, {erlang, element, 2}, {?MODULE, none, 1}, on_load, send, 'receive', {x, y}, {no_module, '_', '_'}, {'_', id, 1}, {?MODULE, '_', 1}, {1, 2, 3}, x, {?MODULE, id, 256}, {?MODULE, id, -1}]).

spec() ->
    case n(9) of
        1 -> true;
        2 -> false;
        3 -> pick([restart, pause]);
        4 -> pick([x, 1, [x], [{}], [{x, [], []}], [{'_', [], []} | x], {'_', [], []}, []]);
        _ -> [clause() || _ <- lists:seq(1, n(2))]
    end.
clause() -> {head(), [guard() || _ <- lists:seq(1, n(3) - 1)], [body() || _ <- lists:seq(1, n(3) - 1)]}.
head() -> pick(['_', '_', ['$1'], ['$1', '_'], ['$1' | '_'], ['_'], ['$1', '$2'], [3], [pick([1, 2, 3, a]) | '$1'], '$1', {'$1'}, [{'$1', '_'}], [], ['$1', '$1']]).
guard() ->
    pick([{'>', '$1', 1}, {is_integer, '$1'}, {is_atom, '$1'}, {'==', {hd, '$_'}, 2}, {'==', {length, '$$'}, 1}, {is_list, '$_'}, {'==', '$1', '$2'}, true, false, x, {is_pid, {self}}, {is_seq_trace},
          {'=<', 0, {element, 1, {get_seq_token}}}, {x}, {'orelse', {'>', '$1', 2}, {is_tuple, '$1'}}, {caller}, {'=:=', {element, 2, {caller}}, fact}, {not_, true}]).
body() ->
    pick([{return_trace}, {exception_trace}, {caller}, {message, {caller}}, {message, true}, {message, false}, {message, '$_'}, {message, {{'$1', {self}}}}, {message, [{caller_line}]}, {message, {process_dump_, 1}},
          {silent, true}, {silent, false}, {silent, x}, {display_, 1}, {trace, [send], [call]}, {trace, {self}, ['receive'], [arity]}, {trace, [call], []}, {trace, [], [x]}, {enable_trace, arity}, {disable_trace, arity},
          {enable_trace, {self}, send}, {disable_trace, send}, {enable_trace, x}, {set_seq_token, label, 17}, {set_seq_token, send, true}, {set_seq_token, x, 1}, {set_seq_token, serial, {{1, 2}}},
          {get_seq_token}, {is_seq_trace}, {set_tcw, 7}, {get_tcw}, {return_trace, 1}, true, false, x, '$1', {const, a}, {{'$1'}}, {message, {get_seq_token}}, {message, {const, []}}, {current_stacktrace}, {message, {{caller, '$$'}}}]).

pattern_flags() ->
    pick([[], [local], [local], [local], [local], [global], [meta], [{meta, self}], [{meta, dead}], [{meta, x}], [call_count], [call_time], [call_memory], [local, call_count], [call_count, call_time],
          [local, meta], [{meta, self}, local], [x], x, [global, local], [local | x], [{meta, x, 1}], [global, meta]]).

item() -> pick([flags, flags, tracer, traced, traced, match_spec, match_spec, meta, meta_match_spec, call_count, call_time, call_memory, all, all, x, 1]).

token() ->
    pick([[label, 17], [label, x], [label, {a, "b"}], [serial, {3, 4}], [serial, {-1, 2}], [serial, {1 bsl 60, 1}], [send, true], [send, false], [send, 1], ['receive', true], [print, true], [timestamp, true], [monotonic_timestamp, true],
          [strict_monotonic_timestamp, true], [x, true], [[]], [{0, 1, 1, worker, 0}], [{1, 2, 3, x, 4}], [{a}], [x]]).

profile_flags() -> pick([[], [exclusive], [runnable_ports], [x], [runnable_procs | x], x, [scheduler, x], [exclusive, timestamp, x]]).
monitor_flags() ->
    pick([[], [{long_gc, 100000}], [{large_heap, 1 bsl 40}], [busy_port], [busy_dist_port], [{long_schedule, 100000}], [{long_gc, 100000}, busy_port, {large_heap, 1 bsl 40}], [{long_gc, -1}], [{long_gc, x}],
          [{large_heap, 1 bsl 62}], [{large_heap, 1 bsl 58}], [{x, 1}], [x], x, [busy_port | x], [{long_gc, 1000000}, {long_gc, 200000}], [{long_schedule, 1 bsl 64}], [{long_schedule, 1}, x], [{long_gc, 0}], [{large_heap, 10}, x]]).

work() ->
    pick([{?MODULE, id, [pick([1, 2, 3, a, {a, 1}, [b]])]}, {?MODULE, pair, [n(3), n(3)]}, {?MODULE, fact, [n(4)]}, {?MODULE, tail, [n(3), a]}, {?MODULE, raise, [pick([error, exit, throw])]}, {?MODULE, catching, [pick([error, exit, throw])]},
          {?MODULE, apart, [pick([normal, kill, spawn, link, monitor])]}, {?MODULE, up, [n(3)]}, {erlang, abs, [-n(3)]}, {erlang, abs, [x]}, {lists, reverse, [[1, 2]]}, {lists, reverse, [[1], [2]]}, {lists, reverse, [x]}, {erlang, '+', [1, 2]}, {erlang, '+', [1, x]},
          {erlang, send, [self, message]}, {erlang, send, [worker, message]}, {erlang, send, [x, message]}, {erlang, register, [diff_trace_worker, worker]}, {lists, member, [1, [2, 1]]}, {erlang, element, [3, {a}]}, {?MODULE, none, [1]}]).

%% What is traced.
id(X) -> local(X).
local(X) -> X.
pair(X, Y) -> {id(X), local(Y)}.
fact(0) -> 1;
fact(N) -> N * ?MODULE:fact(N - 1).
tail(0, X) -> X;
tail(N, X) -> tail(N - 1, [X]).
raise(Class) -> id(Class), erlang:raise(Class, raised, []).
catching(Class) -> try pair(Class, raise(Class)) catch C:R -> {C, R} end.
up(N) -> F = fun(X) -> id(X) + N end, [F(X) || X <- lists:seq(1, N)].

apart(spawn) -> ended(spawn(fun() -> id(child) end));
apart(monitor) -> ended(spawn(?MODULE, id, [child]));
apart(link) -> ended(spawn_link(fun() -> pair(a, b) end));
apart(Reason) -> ended(spawn(fun() -> id(Reason), exit(Reason) end)).

%% How it ended is seen only if it has not yet.
ended(Pid) -> Ref = monitor(process, Pid), receive {'DOWN', Ref, process, Pid, _} -> ended end.

%% Runs a script.
traced(Script) ->
    Self = self(),
    Worker = spawn(fun() -> work(Self) end),
    Dead = spawn(fun() -> ok end),
    ended(Dead),
    Port = open_port({spawn, "cat"}, []),
    {module, seq_trace} = code:ensure_loaded(seq_trace),
    Names = #{self => Self, worker => Worker, dead => Dead, port => Port},
    try [run(Step, Names) || Step <- Script]
    after
        erlang:system_profile(undefined, []),
        erlang:system_monitor(undefined),
        seq_trace:set_system_tracer(false),
        erlang:trace(all, false, [all]),
        [erlang:trace_pattern(MFA, false, Flags) || MFA <- [{?MODULE, '_', '_'}, {erlang, abs, 1}, {erlang, send, 2}, {erlang, '+', 2}, {erlang, spawn, 1}, {erlang, element, 2}, {lists, '_', '_'}], Flags <- [[], [local, meta, call_count, call_time]]],
        [erlang:trace_pattern(on_load, false, Flags) || Flags <- [[], [local, meta, call_count, call_time]]],
        erlang:trace_pattern(send, true, []),
        erlang:trace_pattern('receive', true, []),
        catch port_close(Port),
        exit(Worker, kill),
        ended(Worker),
        said([]),
        seq_trace:set_token([])
    end.

work(Parent) ->
    receive
        {do, M, F, Args} ->
            Result = try apply(M, F, Args) catch C:R -> {C, R} end,
            %% What it told itself, and its token.
            (fun Flush() -> receive message -> Flush() after 0 -> ok end end)(),
            Parent ! {done, self(), Result},
            work(Parent)
    end.

run({do, {seq_trace, F, Args}}, Names) -> step(fun() -> unnumbered(tell(Names, seq_trace, F, named_in(Names, Args))) end, Names);
run({do, {M, F, Args}}, Names) -> step(fun() -> tell(Names, M, F, named_in(Names, Args)) end, Names);
run({own, {M, F, Args}}, Names) -> step(fun() -> attempt(M, F, named_in(Names, Args)) end, Names);
run({trace_info, Who, Item}, Names) -> step(fun() -> timeless(attempt(erlang, trace_info, [named_in(Names, Who), Item])) end, Names);
%% How many there are of all modules is each VM's own, as it is of ports.
run({trace_pattern, {'_', _, _} = Function, Spec, Flags}, Names) ->
    step(fun() -> N = attempt(erlang, trace_pattern, [Function, Spec, named_in(Names, Flags)]), if is_integer(N) -> some; true -> N end end, Names);
run(Step, Names) -> [F | Args] = tuple_to_list(Step), step(fun() -> attempt(erlang, F, named_in(Names, Args)) end, Names).

%% A token without its serial numbers: how many messages loading code takes is each VM's own.
unnumbered({Flags, Label, _, From, _}) -> {Flags, Label, serial, From, serial};
unnumbered({serial, {_, _}}) -> {serial, serial};
unnumbered({N, M}) when is_integer(N), is_integer(M) -> {serial, serial};
unnumbered(Other) -> Other.

attempt(M, F, Args) -> try apply(M, F, Args) catch C:R -> {C, R} end.

tell(#{worker := Worker}, M, F, Args) ->
    Ref = monitor(process, Worker),
    Worker ! {do, M, F, Args},
    receive
        {done, Worker, Result} -> demonitor(Ref, [flush]), Result;
        {'DOWN', Ref, _, _, Reason} -> {died, Reason}
    end.

step(Fun, Names) ->
    Result = Fun(),
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    {named(Names, Result), lists:sort([{P, Of} || {P, Of} <- by_process(named(Names, said([])))])}.

%% What has come, in its order.
said(Before) ->
    receive Message -> said([timeless(Message) | Before])
    after 0 -> lists:filter(fun is_told/1, lists:reverse(Before))
    end.

is_told(Message) when element(1, Message) =:= trace -> not is_own(element(3, Message));
is_told(Message) when element(1, Message) =:= profile -> false;
%% Who traces its own tracer gets what either of the two is told.
is_told({_, _, 'receive', Told}) when element(1, Told) =:= trace; element(1, Told) =:= trace_ts -> false;
is_told({_, _, 'receive', Told, _}) when element(1, Told) =:= trace; element(1, Told) =:= trace_ts -> false;
is_told(_) -> true.

%% What each VM does in its own way.
is_own(What) -> lists:member(What, [in, out, in_exiting, out_exiting, out_exited, gc_minor_start, gc_minor_end, gc_major_start, gc_major_end]).

timeless(Message) when element(1, Message) =:= trace_ts ->
    [_, Who, What | More] = lists:droplast(tuple_to_list(Message)),
    case is_own(What) of
        true -> {trace, Who, What};
        false -> list_to_tuple([timed, Who, What | [timeless(Told) || Told <- More]])
    end;
timeless({'DOWN', _, process, P, _}) -> {'DOWN', P};
timeless({trace, P, 'receive', {'DOWN', _, process, _, _}}) -> {trace, P, 'receive', 'DOWN'};
timeless({seq_trace, Label, Event, _Time}) -> {seq_trace, Label, unserial(Event), time};
timeless({seq_trace, Label, Event}) -> {seq_trace, Label, unserial(Event)};
timeless({call_time, Times}) when is_list(Times) -> {call_time, lists:sort([Count || {_, Count, _, _} <- Times])};
timeless({call_memory, Times}) when is_list(Times) -> {call_memory, lists:sort([Count || {_, Count, _} <- Times])};
timeless({all, Items}) when is_list(Items) -> {all, [timeless(Item) || Item <- Items]};
timeless(Other) -> Other.

unserial({What, _Serial, From, To, Message}) -> {What, From, To, Message}.

%% The messages of each process.
by_process(Messages) ->
    maps:to_list(lists:foldr(fun(Message, Of) -> maps:update_with(about(Message), fun(Ms) -> [Message | Ms] end, [Message], Of) end, #{}, Messages)).

about({trace, P, _, _}) -> P;
about({trace, P, _, _, _}) -> P;
about(Message) when element(1, Message) =:= timed -> element(2, Message);
about(_) -> other.

named_in(Names, Term) when is_atom(Term) -> maps:get(Term, Names, Term);
named_in(Names, [H | T]) -> [named_in(Names, H) | named_in(Names, T)];
named_in(Names, Tuple) when is_tuple(Tuple) -> list_to_tuple([named_in(Names, T) || T <- tuple_to_list(Tuple)]);
named_in(_, Other) -> Other.

named(Names, Term) when is_pid(Term); is_port(Term) ->
    case [Name || {Name, Pid} <- maps:to_list(Names), Pid =:= Term] of [Name] -> Name; [] -> '$pid' end;
named(Names, [H | T]) -> [named(Names, H) | named(Names, T)];
named(Names, Tuple) when is_tuple(Tuple) -> list_to_tuple([named(Names, T) || T <- tuple_to_list(Tuple)]);
named(_, Other) -> Other.
