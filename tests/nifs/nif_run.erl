%% Runs what nif_gen makes (crates/xtask/src/nifs.rs says what for).
-module(nif_run).
-export([main/1]).

%% valid SEED COUNT FILE: a line for each sequence, with what it has told and sent; traced SEED COUNT FILE: done by a tracer.
main([How, Seed, Count, File]) when How =:= "valid"; How =:= "traced" ->
    load(),
    Sequence = case How of "valid" -> fun sequence/1; "traced" -> fun traced/1 end,
    {ok, Out} = file:open(File, [write, raw, {delayed_write, 1 bsl 16, 1000}]),
    [ok = file:write(Out, io_lib:format("~b ~0p~n", [N, Sequence(N)])) || N <- seeds(Seed, Count)],
    ok = file:close(Out),
    halt(case left(100) of 0 -> 0; N -> io:format("~b objects are left~n", [N]), 1 end);
%% show SEED: the operations, and what they come to.
main(["show", Seed]) ->
    load(),
    [N] = seeds(Seed, "1"),
    io:format("~p~n~p~n", [nif_gen:valid(N), sequence(N)]),
    halt();
main(["kinds"]) -> io:format("~b~n", [length(nif_gen:kinds())]), halt();
%% misuse SEED: says what is to be found, and does it; 0 means that it has been accepted. traced_misuse SEED: the same, by a tracer.
main([How, Seed]) when How =:= "misuse"; How =:= "traced_misuse" ->
    load(),
    {Calls, Function, What} = nif_gen:misuse(list_to_integer(Seed)),
    io:format("expected: ~ts: ~ts~n", [Function, What]),
    case How of
        "misuse" -> [nif_ops:run(nif_gen:encode(Call), arguments()) || Call <- Calls];
        "traced_misuse" -> events([nif_gen:encode(Call) || Call <- Calls])
    end,
    io:format("accepted: ~0p~n", [Calls]),
    halt().

load() -> ok = nif_ops:load(filename:absname("nif_ops")).

seeds(Seed, Count) -> First = list_to_integer(Seed), lists:seq(First, First + list_to_integer(Count) - 1).

sequence(Seed) ->
    Calls = [nif_gen:encode(Call) || Call <- nif_gen:valid(Seed)],
    {Pid, Ref} = spawn_monitor(fun() ->
        Told = [nif_ops:run(Call, arguments()) || Call <- Calls],
        exit({told, plain(Told), plain(sent())})
    end),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end.

%% The same, by a tracer, one call at each event.
traced(Seed) ->
    Calls = [nif_gen:encode(Call) || Call <- nif_gen:valid(Seed)],
    {Pid, Ref} = spawn_monitor(fun() -> exit({told, plain(events(Calls)), plain(sent())}) end),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end.

events(Calls) ->
    Tracee = spawn_link(fun Loop() -> receive stop -> ok; From -> From ! {seen, self()}, Loop() end end),
    Told = [event(Tracee, Call) || Call <- Calls],
    unlink(Tracee),
    Tracee ! stop,
    Told.

event(Tracee, Call) ->
    1 = erlang:trace(Tracee, true, ['receive', {tracer, nif_ops, {self(), Call, arguments()}}]),
    Tracee ! self(),
    receive {seen, Tracee} -> ok end,
    erlang:trace(Tracee, false, [all]),
    receive {'receive', _, Told} -> Told after 0 -> nothing end.

sent() -> receive Message -> [Message | sent()] after 0 -> [] end.

%% Without what is another one in each run.
plain(Term) when is_reference(Term) -> a_reference;
plain([Head | Tail]) -> [plain(Head) | plain(Tail)];
plain(Term) when is_tuple(Term) -> list_to_tuple(plain(tuple_to_list(Term)));
plain(Term) when is_map(Term) -> {map, lists:sort([{plain(K), plain(V)} || {K, V} <- maps:to_list(Term)])};
plain(Term) -> Term.

arguments() ->
    Large = binary:copy(<<"0123456789">>, 20),
    [17, -1 bsl 70, 1.5, an_atom, "a string", Large, binary:part(Large, 7, 100), <<5:3>>, {a, {tuple}, "of", 4}, [1, 2 | three], #{a => 1, "b" => 2.0},
     fun lists:map/2].

%% Objects go once the processes have.
left(Tries) ->
    case nif_ops:count() of
        N when N =:= 0; Tries =:= 0 -> N;
        _ -> erlang:garbage_collect(), timer:sleep(20), left(Tries - 1)
    end.
