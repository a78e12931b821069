%% Sequential tracing follows who is spawned: the request and the reply as messages, the token of the new process, and for
%% spawn_request the reply itself.
-module(sequential_spawns).
-export([main/0, begun/1]).

main() ->
    t:c(spawn, fun() -> traced(fun(F) -> spawn(F) end) end),
    t:c(spawn_link, fun() -> traced(fun(F) -> spawn_link(F) end) end),
    t:c(spawn_monitor, fun() -> traced(fun(F) -> element(1, spawn_monitor(F)) end) end),
    t:c(spawn_mfa, fun() -> traced(fun(_) -> spawn(?MODULE, begun, [self()]) end) end),
    t:each(spawn_opt, [[], [link, {priority, high}], [{min_heap_size, 500}, monitor], [{monitor, [{tag, t}]}]], fun(Options) ->
        traced(fun(F) ->
            case spawn_opt(F, Options) of
                {Pid, _} -> Pid;
                Pid -> Pid
            end
        end)
    end),
    Requests = [
        [],
        [link],
        [monitor, {reply_tag, {a, "b"}}],
        [{monitor, [{alias, demonitor}]}, {reply, success_only}],
        [{reply, error_only}],
        [{reply, no}]
    ],
    t:each(request_received, Requests, fun(Options) ->
        traced(fun(F) ->
            Before = seq_trace:get_token(),
            Id = spawn_request(F, Options),
            Reply = receive {_, Id, ok, _} = R -> R after 50 -> none end,
            [Reply, Before, seq_trace:get_token()]
        end)
    end),
    t:each(request_left, Requests, fun(Options) ->
        traced(fun(F) -> [spawn_request(F, Options), seq_trace:get_token()] end)
    end),
    Refused = [
        [bad],
        [bad, {reply_tag, rt}],
        [{priority, x}],
        [bad, {reply, no}],
        [{reply, no}, bad],
        [{reply, success_only}, bad],
        [{reply_tag, a}, bad, {reply_tag, b}],
        [{reply_tag, a}, bad, {reply, maybe}, {reply_tag, b}],
        [{reply, maybe}, {reply, no}]
    ],
    t:each(request_refused, Refused, fun(Options) ->
        traced(fun(F) ->
            Id = spawn_request(F, Options),
            receive {_, Id, _, _} = R -> [R, seq_trace:get_token()] after 50 -> none end
        end)
    end),
    t:c(flags, fun() ->
        [traced(fun(F) -> spawn(F) end, Flags) || Flags <- [[send], ['receive'], [print], []]]
    end),
    t:c(after_messages, fun() ->
        traced(fun(F) ->
            self() ! one,
            receive one -> ok end,
            self() ! two,
            spawn(F)
        end)
    end).

begun(Parent) -> Parent ! {begun, seq_trace:get_token()}.

traced(F) -> traced(F, [send, 'receive']).

%% What F gives, what is traced while it runs, and what its children tell of their tokens.
traced(F, Flags) ->
    Tracer = spawn(fun() -> collect([]) end),
    Self = self(),
    {Runner, Monitor} = spawn_monitor(fun() ->
        receive go -> ok end,
        seq_trace:set_token(label, 17),
        [seq_trace:set_token(Flag, true) || Flag <- Flags],
        Result = F(fun() -> begun(Self) end),
        seq_trace:set_token([]),
        Self ! {self(), Result},
        receive stop -> ok end
    end),
    Old = seq_trace:set_system_tracer(Tracer),
    Runner ! go,
    Result = receive {Runner, R} -> R end,
    Tokens = tokens(),
    seq_trace:set_token([]),
    Runner ! stop,
    receive {'DOWN', Monitor, process, _, normal} -> ok end,
    seq_trace:set_system_tracer(Old),
    seq_trace:reset_trace(),
    Tracer ! {get, self()},
    receive {events, Events} -> ok end,
    %% Those of several senders come in any order.
    {Result, Tokens, lists:sort([numbered(E) || E <- Events])}.

tokens() -> receive {begun, Token} -> [Token | tokens()] after 100 -> [] end.

numbered({seq_trace, Label, {Kind, Serial, From, To, Message}}) -> {Serial, Kind, Label, t:norm({From, To, Message})}.

collect(Events) ->
    receive
        {get, From} -> From ! {events, lists:reverse(Events)};
        Event -> collect([Event | Events])
    end.
