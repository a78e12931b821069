%% Runs what nif_gen makes (crates/xtask/src/nifs.rs says what for).
-module(nif_run).
-export([main/1]).

%% valid SEED COUNT FILE: a line for each sequence, with what it has told and sent.
main(["valid", Seed, Count, File]) ->
    load(),
    {ok, Out} = file:open(File, [write, raw, {delayed_write, 1 bsl 16, 1000}]),
    [ok = file:write(Out, io_lib:format("~b ~0p~n", [N, sequence(N)])) || N <- seeds(Seed, Count)],
    ok = file:close(Out),
    halt(case left(100) of 0 -> 0; N -> io:format("~b objects are left~n", [N]), 1 end);
%% show SEED: the operations, and what they come to.
main(["show", Seed]) ->
    load(),
    [N] = seeds(Seed, "1"),
    io:format("~p~n~p~n", [nif_gen:valid(N), sequence(N)]),
    halt();
main(["kinds"]) -> io:format("~b~n", [length(nif_gen:kinds())]), halt();
%% misuse SEED: says what is to be found, and does it; 0 means that it has been accepted.
main(["misuse", Seed]) ->
    load(),
    {Calls, Function, What} = nif_gen:misuse(list_to_integer(Seed)),
    io:format("expected: ~ts: ~ts~n", [Function, What]),
    [nif_ops:run(nif_gen:encode(Call), arguments()) || Call <- Calls],
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
