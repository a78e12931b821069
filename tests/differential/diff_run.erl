%% Makes the calls of the differential test and writes what each gave.
%%
%% Call I of a seed is drawn with a random state of its own, so that any one can be made alone, on either VM. A line of the
%% outcome file is `I DIGEST Module:Function/Arity`; show/2 prints one call in full. What may differ between two VMs is replaced by
%% its kind: pids, ports, references, local funs, compiled patterns; maps by their sorted pairs.
-module(diff_run).
-export([main/1, show/1]).

%% Arguments: seed, first, last, file, calls in a batch.
main([Seed, First, Last, File, Batch]) ->
    {ok, Device} = file:open(File, [append, raw, binary]),
    batches(list_to_integer(Seed), list_to_integer(First), list_to_integer(Last), list_to_integer(Batch), Device),
    ok = file:close(Device),
    halt(0).

%% A new process for each batch: heaps are small again, and nothing is left of what went before. What cannot be caught (an
%% internal error of OTP's `re`) ends the process: then each call of the batch gets its own.
batches(_, First, Last, _, _) when First > Last -> ok;
batches(Seed, First, Last, Batch, Device) ->
    Next = min(First + Batch, Last + 1),
    Numbers = lists:seq(First, Next - 1),
    Lines = case alone(fun() -> [line(Seed, I) || I <- Numbers] end) of
        {ok, Whole} -> Whole;
        _ -> [case alone(fun() -> line(Seed, I) end) of {ok, Line} -> Line; Died -> died(I, Died) end || I <- Numbers]
    end,
    ok = file:write(Device, Lines),
    batches(Seed, Next, Last, Batch, Device).

alone(Fun) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({ok, Fun()}) end),
    receive {'DOWN', Ref, process, Pid, Result} -> Result end.

died(_, {{generator, _, _}, _} = Fault) -> io:format("generator: ~tp~n", [Fault]), halt(1);
died(I, {Reason, [{M, F, Args, _} | _]}) when is_list(Args) -> io_lib:format("~w ~0tp ~w:~w/~w~n", [I, {died, norm(Reason)}, M, F, length(Args)]);
died(I, Reason) -> io_lib:format("~w ~0tp ?~n", [I, {died, norm(Reason)}]).

line(Seed, I) ->
    {M, F, Args} = draw(Seed, I),
    Before = erlang:md5(term_to_binary(norm(Args))),
    Outcome = outcome(M, F, Args),
    %% The arguments must be what they were.
    Same = Before =:= erlang:md5(term_to_binary(norm(Args))),
    Digest = binary:encode_hex(binary:part(erlang:md5(term_to_binary({Before, Outcome, Same})), 0, 8)),
    io_lib:format("~w ~s ~w:~w/~w~n", [I, Digest, M, F, length(Args)]).

draw(Seed, I) ->
    rand:seed(exsss, Seed bsl 32 bor I),
    try diff_calls:draw() catch _:Reason:Stack -> error({generator, Reason, Stack}) end.

outcome(M, F, Args) ->
    try apply(M, F, Args) of
        Value -> {ok, norm(Value)}
    catch
        Class:Reason:Stack ->
            {Class, norm(Reason), norm(own(Stack)), explained(Reason, Stack)}
    end.

%% The frames above those of this module.
own(Stack) -> lists:takewhile(fun(Frame) -> element(1, Frame) =/= ?MODULE end, Stack).

%% What the shell would say of the arguments.
explained(Reason, [{M, _, _, Info} | _] = Stack) when is_list(Info) ->
    case lists:keyfind(error_info, 1, Info) of
        {error_info, Map} when is_map(Map) ->
            Module = maps:get(module, Map, M),
            try norm(Module:format_error(Reason, Stack)) catch C:R -> {C, norm(R)} end;
        _ -> none
    end;
explained(_, _) -> none.

norm(Pid) when is_pid(Pid) -> '$pid';
norm(Ref) when is_reference(Ref) -> '$ref';
norm(Port) when is_port(Port) -> '$port';
norm(Fun) when is_function(Fun) ->
    case erlang:fun_info(Fun, type) of
        {type, external} -> Fun;
        {type, local} -> {'$fun', erlang:fun_info(Fun, arity)}
    end;
norm(Map) when is_map(Map) -> {'$map', lists:sort([{norm(K), norm(V)} || {K, V} <- maps:to_list(Map)])};
norm({re_pattern, Captures, Unicode, Crlf, Code}) when is_binary(Code) -> {re_pattern, Captures, Unicode, Crlf};
norm({'EXIT', {Reason, Stack}}) when is_list(Stack) ->
    %% Caught within a call.
    {'EXIT', {norm(Reason), norm(try own(Stack) catch error:_ -> Stack end)}};
norm(Tuple) when is_tuple(Tuple) -> list_to_tuple(norm(tuple_to_list(Tuple)));
norm([Head | Tail]) -> [norm(Head) | norm(Tail)];
norm(Other) -> Other.

%% Arguments: seed, number of the call.
show([Seed, I]) ->
    {M, F, Args} = draw(list_to_integer(Seed), list_to_integer(I)),
    Text = lists:join(", ", [io_lib:format("~0tp", [A]) || A <- Args]),
    io:format("~ts:~ts(~ts).~n", [io_lib:write_atom(M), io_lib:write_atom(F), Text]),
    io:format("~0tp~n", [outcome(M, F, Args)]),
    halt(0).
