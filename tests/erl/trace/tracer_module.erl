%% Tracer modules: what they are asked, what they are told, and what their answers do.
-module(tracer_module).
-export([main/0, f/1, g/1]).

f(X) -> g(X).
g(X) -> X + 1.

main() ->
    t:mute(),
    ok = file:set_cwd(t:tmp("tracer_module")),
    [library(Name, Flags) || {Name, Flags} <- [{plain, ""}, {special, "-DSPECIAL"}, {incomplete, "-DINCOMPLETE"}]],
    t:c(refused, fun refused/0),
    [t:c(io_lib:format("~s ~s", [Name, What]), fun() -> events(Name, What) end) || Name <- [plain, special], What <- events()],
    t:c(asked, fun asked/0),
    t:c(opts, fun opts/0),
    t:c(answers, fun answers/0),
    t:c(status, fun status/0),
    t:c(info, fun info/0),
    t:c(meta, fun meta/0),
    t:c(match_spec, fun match_spec/0),
    t:c(inherited, fun inherited/0),
    t:c(new, fun new/0),
    t:c(port, fun port/0),
    t:c(sequential, fun sequential/0),
    t:c(erl_tracer, fun erl_tracer/0),
    t:c(dbg, fun dbg/0),
    t:c(unloaded, fun unloaded/0),
    t:c(many, fun many/0).

library(Name, Flags) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "tracer_module.c"),
    "" = os:cmd(io_lib:format("cc -shared -fPIC -O1 -DMODULE=~s ~s -I ~ts/usr/include -o ~s.so ~ts", [Name, Flags, code:root_dir(), Name, Source])),
    load(Name).

load(Name) ->
    Kinds = ["call", "garbage_collection", "ports", "procs", "receive", "running_ports", "running_procs", "send"],
    Functions = [{"enabled", "_, _, _"}, {"trace", "_, _, _, _, _"} |
                 [F || K <- Kinds, F <- [{"enabled_" ++ K, "_, _, _"}, {"trace_" ++ K, "_, _, _, _, _"}]]],
    Text = [io_lib:format("-module(~s). -compile(export_all). -compile(nowarn_export_all). load(F) -> erlang:load_nif(F, []). ", [Name]) |
            [[F, "(", A, ") -> erlang:nif_error(not_loaded). "] || {F, A} <- Functions]],
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Name, Binary} = compile:forms(forms(Tokens)),
    code:purge(Name),
    {module, _} = code:load_binary(Name, atom_to_list(Name), Binary),
    ok = Name:load(filename:absname(Name)).

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

%% A process that does what it is told to.
tracee() -> spawn(fun tracee_loop/0).
tracee_loop() -> receive {From, F} -> F(), From ! {self(), done}, tracee_loop(); stop -> ok end.

%% Has it do this, and gives what the tracer has told meanwhile.
run(P, F) ->
    P ! {self(), F},
    receive {P, done} -> ok after 5000 -> timeout end,
    told(P).

told(P) ->
    R = erlang:trace_delivered(P),
    receive {trace_delivered, P, R} -> ok after 5000 -> error(not_delivered) end,
    drain(P).

drain(P) -> receive M -> [names(M, P) | drain(P)] after 20 -> [] end.

%% Names for what differs from run to run.
names(P, P) -> tracee;
names(X, _) when X =:= self() -> self;
names(X, _) when is_pid(X) -> pid;
names(X, _) when is_port(X) -> port;
names(X, _) when is_reference(X) -> reference;
names(X, _) when is_function(X) -> function;
names(T, P) when is_tuple(T) -> list_to_tuple(names(tuple_to_list(T), P));
names([H | T], P) -> [names(H, P) | names(T, P)];
names(#{scheduler_id := I} = M, P) when is_integer(I) -> names(M#{scheduler_id := true}, P);
names(M, P) when is_map(M) -> maps:map(fun(_, V) -> names(V, P) end, M);
names(X, _) -> X.

stop(P) -> R = monitor(process, P), P ! stop, receive {'DOWN', R, _, _, _} -> ok end, told(P).

%% ---

refused() ->
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, nowhere, []}]) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, lists, []}]) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, incomplete, []}]) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, "plain", []}]) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, plain}]) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, {plain, []}}]) end) ++
    try_(fun() -> erlang:trace_pattern({?MODULE, f, 1}, [], [{meta, lists, []}]) end) ++
    try_(fun() -> erlang:trace_pattern({?MODULE, f, 1}, [], [{meta, plain}]) end) ++
    try_(fun() -> erlang:trace_pattern({?MODULE, f, 1}, [], [{meta, incomplete, []}]) end) ++
    try_(fun() -> seq_trace:set_system_tracer({lists, []}) end) ++
    try_(fun() -> seq_trace:set_system_tracer({incomplete, []}) end) ++
    try_(fun() -> seq_trace:set_system_tracer({plain, wrong}) end) ++
    try_(fun() -> erlang:system_flag(sequential_tracer, {plain, [], []}) end) ++
    try_(fun() -> erlang:trace(self(), true, [call, {tracer, plain, wrong}]) end) ++
    [erlang:trace_info(self(), flags), erlang:trace(self(), false, [all])].

try_(F) -> [try F() catch C:R -> {C, R} end].

events() -> [call, return_to, send, 'receive', procs, garbage_collection, running, exiting, names].

events(Module, What) ->
    P = tracee(),
    Flags = case What of return_to -> [call, return_to]; names -> [procs]; _ -> [What] end,
    1 = erlang:trace(P, true, [{tracer, Module, {self(), #{}}} | Flags]),
    Self = self(),
    Told = case What of
        call ->
            1 = erlang:trace_pattern({?MODULE, g, 1}, [{['$1'], [{'>', '$1', 2}], [{return_trace}, {message, {{got, '$1'}}}]},
                {[1], [], []}, {['$1'], [{is_atom, '$1'}], [{exception_trace}]}], [local]),
            run(P, fun() -> f(5), f(1), f(0), catch f(a) end);
        return_to ->
            [1 = erlang:trace_pattern({?MODULE, F, 1}, true, [local]) || F <- [f, g]],
            run(P, fun() -> _ = f(5), ok end);
        send -> run(P, fun() -> Self ! hello, spawn(fun() -> ok end) ! gone end);
        'receive' -> run(P, fun() -> receive after 1 -> ok end, self() ! {a, <<1:800>>}, receive {a, _} -> ok end end);
        procs -> run(P, fun() -> Q = spawn(fun tracee_loop/0), link(Q), unlink(Q), Q ! stop,
                                 R = spawn_link(fun() -> receive stop -> ok end end), unlink(R), R ! stop end);
        garbage_collection -> [setelement(4, T, is_list(element(4, T))) || T <- run(P, fun() -> erlang:garbage_collect() end), size(T) > 3];
        running -> lists:usort([setelement(4, T, place) || T <- run(P, fun() -> receive after 2 -> ok end end)]);
        exiting -> run(P, fun() -> ok end);
        names -> A = run(P, fun() -> register(?MODULE, self()) end), unregister(?MODULE), A ++ told(P)
    end,
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    Ended = [case T of {F, out_exited, _, W, _, _} when What =:= exiting -> {F, W}; _ -> T end || T <- stop(P), What =/= running, What =/= garbage_collection],
    {Told, Ended}.

%% Whether it is asked, with which function, for which tag.
asked() ->
    [begin
        P = tracee(),
        1 = erlang:trace(P, true, [call, return_to, send, procs, {tracer, Module, {self(), #{send => discard}, tell}}]),
        1 = erlang:trace_pattern({?MODULE, g, 1}, [{'_', [], [{exception_trace}]}], [local]),
        Told = run(P, fun() -> _ = f(1), catch f(a), Q = spawn(fun() -> ok end), Q ! x, ok end),
        erlang:trace_pattern({?MODULE, g, 1}, false, [local]),
        erlang:trace(P, false, [all]), stop(P),
        [{element(1, T), element(2, T), element(3, T)} || T <- Told, element(2, T) =/= trace_status]
     end || Module <- [plain, special]].

opts() ->
    [begin
        P = tracee(),
        1 = erlang:trace(P, true, [send, {tracer, plain, {self(), #{}}} | Flags]),
        Told = run(P, fun() -> ok end),
        Set = [erlang:trace_info(P, flags)],
        erlang:trace(P, false, [all]), stop(P), {Told, Set}
     end || Flags <- [[timestamp], [monotonic_timestamp], [strict_monotonic_timestamp], [scheduler_id], [timestamp, scheduler_id, monotonic_timestamp]]].

answers() ->
    [begin
        P = tracee(),
        1 = erlang:trace(P, true, [send, call, {tracer, plain, {self(), #{send => Answer}}}]),
        Told = run(P, fun() -> self() ! x end),
        Info = [erlang:trace_info(P, flags)],
        erlang:trace(P, false, [all]), stop(P), {Answer, Told, Info}
     end || Answer <- [trace, discard, remove, something, raise, 17]].

status() ->
    [begin
        P = tracee(),
        Made = try erlang:trace(P, true, [send, {tracer, plain, {self(), #{trace_status => Answer}}}]) catch error:R -> R end,
        Info = [erlang:trace_info(P, flags), tracer(P)],
        Told = run(P, fun() -> self() ! x end),
        Again = try erlang:trace(P, true, [procs, {tracer, plain, {self(), #{}}}]) catch error:R1 -> R1 end,
        Info2 = [erlang:trace_info(P, flags), tracer(P)],
        erlang:trace(P, false, [all]), stop(P), {Answer, Made, Info, Told, Again, Info2}
     end || Answer <- [trace, discard, remove, raise, something]].

tracer(P) -> names(erlang:trace_info(P, tracer), P).

info() ->
    P = tracee(),
    State = {self(), #{}, [a, {<<0:8000>>, "text"}, 1.5]},
    1 = erlang:trace(P, true, [call, {tracer, plain, State}]),
    A = erlang:trace_info(P, tracer) =:= {tracer, {plain, State}},
    %% The same tracer, and others.
    B = [try erlang:trace(P, true, [send, {tracer, plain, S}]) catch error:R -> R end || S <- [State, {self(), #{}}]],
    C = try erlang:trace(P, true, [procs]) catch error:R1 -> R1 end,
    D = erlang:trace_info(P, flags),
    E = try erlang:trace(P, false, [send, {tracer, plain, {self(), #{}}}]) catch error:R2 -> R2 end,
    F = try erlang:trace(P, false, [send]) catch error:R3 -> R3 end,
    G = erlang:trace_info(P, flags),
    1 = erlang:trace(P, false, [all]),
    H = {erlang:trace_info(P, flags), erlang:trace_info(P, tracer)},
    stop(P),
    {A, B, C, D, E, F, G, H}.

meta() ->
    P = tracee(),
    State = {self(), #{}},
    1 = erlang:trace_pattern({?MODULE, g, 1}, [{['$1'], [{'>', '$1', 2}], [{return_trace}, {message, '$1'}]}, {'_', [], []}], [{meta, plain, State}]),
    A = run(P, fun() -> f(1), f(7) end),
    B = [names(erlang:trace_info({?MODULE, g, 1}, K), P) || K <- [meta, all]],
    1 = erlang:trace_pattern({?MODULE, g, 1}, true, [{meta, plain, {self(), #{call => discard}}}]),
    C = run(P, fun() -> f(1) end),
    1 = erlang:trace_pattern({?MODULE, g, 1}, true, [{meta, plain, {self(), #{call => remove}}}]),
    D = run(P, fun() -> f(1) end),
    E = names(erlang:trace_info({?MODULE, g, 1}, meta), P),
    1 = erlang:trace_pattern({?MODULE, g, 1}, false, [meta]),
    F = run(P, fun() -> f(1) end),
    %% Of new code.
    erlang:trace_pattern(on_load, true, [{meta, plain, State}]),
    G = names(erlang:trace_info(on_load, meta), P),
    erlang:trace_pattern(on_load, false, [meta]),
    stop(P),
    {A, B, C, D, E, F, G}.

match_spec() ->
    P = tracee(), Q = tracee(),
    1 = erlang:trace(P, true, [call, {tracer, plain, {self(), #{}}}]),
    1 = erlang:trace_pattern({?MODULE, g, 1}, [{[1], [], [{trace, [], [send, {{tracer, special, {{self(), #{}}}}}]}]},
                                               {[2], [], [{trace, Q, [], [call, send, {{tracer, special, {{self(), #{}}}}}]}]},
                                               {[3], [], [{disable_trace, send}]}, {[4], [], [{silent, true}]}], [local]),
    R = [{X, run(P, fun() -> f(X) end), tracer(P), erlang:trace_info(P, flags)} || X <- [1, 2, 3, 4, 5]],
    S = {tracer(Q), erlang:trace_info(Q, flags)},
    T = run(Q, fun() -> self() ! x end),
    erlang:trace_pattern({?MODULE, g, 1}, false, [local]),
    erlang:trace(all, false, [all]),
    stop(P), stop(Q),
    {R, S, T}.

inherited() ->
    [begin
        P = tracee(),
        1 = erlang:trace(P, true, [procs, Flag, {tracer, plain, {self(), #{}}}]),
        Self = self(),
        Told = run(P, fun() -> Self ! {child, Q = spawn_link(fun tracee_loop/0)}, unlink(Q) end),
        Q = receive {child, C} -> C after 0 -> P end,
        R = [{tracer(X), erlang:trace_info(X, flags)} || X <- [P, Q]],
        erlang:trace(P, false, [all]), stop(P),
        {Flag, lists:sort([{element(1, T), element(2, T)} || T <- Told]), R}
     end || Flag <- [set_on_spawn, set_on_first_spawn, set_on_link]].

new() ->
    0 = erlang:trace(new_processes, true, [procs, {tracer, plain, {self(), #{}}}]),
    A = [names(erlang:trace_info(new_processes, K), self()) || K <- [flags, tracer]],
    P = spawn(fun() -> ok end),
    timer:sleep(20),
    0 = erlang:trace(new_processes, false, [all]),
    {A, told(P), erlang:trace_info(new_processes, tracer)}.

port() ->
    Self = self(),
    P = open_port({spawn, "cat"}, [binary]),
    1 = erlang:trace(P, true, [ports, send, 'receive', {tracer, special, {self(), #{}}}]),
    A = names(erlang:trace_info(P, tracer), P),
    port_command(P, "abc"),
    receive {P, {data, D}} -> ok end,
    register(a_port, P), unregister(a_port),
    P ! {Self, close},
    receive {P, closed} -> ok end,
    timer:sleep(20),
    {A, D, lists:sort([{element(1, T), element(2, T), maps:keys(element(5, T)), element(6, T)} || T <- drain(P), size(T) =:= 6])}.

sequential() ->
    Self = self(),
    Old = seq_trace:set_system_tracer({plain, {self(), #{}}}),
    Now = names(seq_trace:get_system_tracer(), none),
    Info = names(erlang:system_info(sequential_tracer), none),
    P = spawn(fun() -> seq_trace:set_token(label, {label, 17}), seq_trace:set_token(send, true), seq_trace:set_token(print, true), seq_trace:set_token('receive', true),
                       seq_trace:set_token(monotonic_timestamp, true), Self ! {hello, self()}, seq_trace:print({label, 17}, "text") end),
    receive {hello, P} -> ok end,
    seq_trace:set_token([]),
    timer:sleep(20),
    A = lists:sort(drain(P)),
    _ = seq_trace:set_system_tracer({plain, {self(), #{seq_trace => discard}}}),
    spawn(fun() -> seq_trace:set_token(print, true), seq_trace:print("text") end),
    timer:sleep(20),
    B = drain(P),
    C = names(seq_trace:get_system_tracer(), none),
    _ = seq_trace:set_system_tracer({plain, {self(), #{seq_trace => remove}, tell}}),
    spawn(fun() -> seq_trace:set_token(print, true), seq_trace:print("text") end),
    timer:sleep(20),
    %% How often it is asked is the VM's affair.
    Asked = fun() -> lists:usort([T || T <- drain(P), element(2, T) =/= trace_status]) end,
    D = {Asked(), seq_trace:get_system_tracer()},
    E = try_(fun() -> seq_trace:set_system_tracer({plain, {self(), #{trace_status => remove}}}) end) ++
        try_(fun() -> seq_trace:set_system_tracer({plain, {self(), #{trace_status => discard}}}) end),
    F = names(seq_trace:set_system_tracer(false), none),
    [] = Asked(),
    {Old, Now, Info, A, B, C, D, E, F, seq_trace:get_system_tracer()}.

%% The module that stands for processes and ports.
erl_tracer() ->
    P = tracee(),
    1 = erlang:trace(P, true, [send, {tracer, erl_tracer, self()}]),
    A = {tracer(P), run(P, fun() -> self() ! x end)},
    B = try_(fun() -> erlang:trace(P, true, [procs, {tracer, self()}]) end),
    C = erlang:trace_info(P, flags),
    1 = erlang:trace(P, false, [all]),
    stop(P),
    {A, B, C}.

dbg() ->
    {ok, _} = dbg:tracer(module, {plain, {self(), #{}}}),
    P = tracee(),
    {ok, [{matched, _, 1}]} = dbg:p(P, [c, m]),
    {ok, _} = dbg:tpl(?MODULE, g, x),
    Told = run(P, fun() -> f(1) end),
    dbg:stop_clear(),
    timer:sleep(50),
    stop(P),
    Told.

%% The module goes while processes are traced by it, and comes back.
unloaded() ->
    P = tracee(),
    1 = erlang:trace(P, true, [send, {tracer, plain, {self(), #{}}}]),
    A = run(P, fun() -> self() ! x end),
    code:purge(plain), true = code:delete(plain),
    B = run(P, fun() -> self() ! x end),
    code:purge(plain),
    C = run(P, fun() -> self() ! x end),
    load(plain),
    D = run(P, fun() -> self() ! x end),
    E = [erlang:trace_info(P, flags), tracer(P)],
    erlang:trace(P, false, [all]), stop(P),
    {A, B, C, D, E}.

%% Many tracers that differ, of which most are forgotten.
many() ->
    P = tracee(),
    [begin
        1 = erlang:trace(P, true, [send, {tracer, plain, {self(), #{}, N}}]),
        {tracer, {plain, {_, _, N}}} = erlang:trace_info(P, tracer),
        1 = erlang:trace(P, false, [send])
     end || N <- lists:seq(1, 1000)],
    Ps = [begin Q = tracee(), 1 = erlang:trace(Q, true, [procs, {tracer, plain, {self(), #{}, N}}]), {N, Q} end || N <- lists:seq(1, 300)],
    drain(P),
    R = [N || {N, Q} <- Ps, erlang:trace_info(Q, tracer) =/= {tracer, {plain, {self(), #{}, N}}}],
    [Q ! stop || {_, Q} <- Ps],
    stop(P), timer:sleep(50), drain(P),
    R.
