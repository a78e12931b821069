%% Built-ins that make a result larger than the heap they run on, whatever else lives there: called in the body of a function, in tail
%% position, by apply, under a tracer, in a process that gets messages meanwhile, and in one whose heap is limited.
-module(large_results).
-export([main/0, tail/2]).

main() ->
    [t:c(io_lib:format("~w of ~w", [What, Size]), fun() -> in_process(fun() -> calls(What, Size) end) end)
     || What <- [reverse, append, to_list, part_to_list, bits_to_list, decode, decode_maps, characters],
        Size <- [10, 1000, 30000, 70000, 300000]],
    t:c(traced, fun() -> in_process(fun traced/0) end),
    t:c(among_messages, fun() -> in_process(fun among_messages/0) end),
    t:c(limited, fun() -> limited() end),
    [t:c(Name, Call) || {Name, Call} <- wrong()].

%% In a process with the smallest heap, in which something lives, too.
in_process(Fun) ->
    {Pid, Ref} = spawn_monitor(fun() ->
        Live = {lists:seq(1, t:id(50)), <<"a binary on the heap">>, #{a => 1.5}},
        Result = Fun(),
        Live = {lists:seq(1, t:id(50)), <<"a binary on the heap">>, #{a => t:id(1.5)}},
        exit({result, Result})
    end),
    receive {'DOWN', Ref, process, Pid, {result, Result}} -> Result; {'DOWN', Ref, process, Pid, Other} -> {failed, Other} end.

calls(What, Size) ->
    {M, F, Args} = call(What, Size),
    Results = [apply(M, F, Args), ?MODULE:tail(What, Args), body(What, Args) | [apply(M, F, Args) || _ <- [1, 2, 3]]],
    [First | Others] = Results,
    {erlang:phash2(First), summary(First), lists:all(fun(R) -> R =:= First end, Others)}.

summary(L) when is_list(L) -> {length(L), hd(L), lists:last(L)};
summary(M) when is_map(M) -> map_size(M).

call(reverse, N) -> {lists, reverse, [lists:seq(1, N), [tail]]};
call(append, N) -> {erlang, '++', [lists:seq(1, N), [tail]]};
call(to_list, N) -> {erlang, binary_to_list, [bytes(N)]};
call(part_to_list, N) -> {erlang, binary_to_list, [bytes(N), 3, N - 1]};
call(bits_to_list, N) -> B = bytes(N), {erlang, bitstring_to_list, [<<B/binary, 5:3>>]};
call(decode, N) -> {erlang, binary_to_term, [term_to_binary([{X, [X | "text"], X * 1.0e300} || X <- lists:seq(1, N div 10 + 1)])]};
call(decode_maps, N) -> {erlang, binary_to_term, [term_to_binary(maps:from_list([{X, #{x => X, "y" => [a]}} || X <- lists:seq(1, N div 20 + 1)]))]};
call(characters, N) -> {unicode, characters_to_list, [unicode:characters_to_binary(lists:duplicate(N div 2, "aé"))]}.

tail(reverse, [A, B]) -> lists:reverse(A, B);
tail(append, [A, B]) -> A ++ B;
tail(to_list, [A]) -> binary_to_list(A);
tail(part_to_list, [A, B, C]) -> binary_to_list(A, B, C);
tail(bits_to_list, [A]) -> bitstring_to_list(A);
tail(D, [A]) when D =:= decode; D =:= decode_maps -> binary_to_term(A);
tail(characters, [A]) -> unicode:characters_to_list(A).

body(What, Args) ->
    Before = [What | Args],
    Result = case What of
        reverse -> [A, B] = Args, lists:reverse(A, B);
        append -> [A, B] = Args, A ++ B;
        to_list -> [A] = Args, binary_to_list(A);
        part_to_list -> [A, B, C] = Args, binary_to_list(A, B, C);
        bits_to_list -> [A] = Args, bitstring_to_list(A);
        characters -> [A] = Args, unicode:characters_to_list(A);
        _ -> [A] = Args, binary_to_term(A)
    end,
    [What | Args] = Before,
    Result.

bytes(N) -> << <<(X rem 251)>> || <<X:16>> <= << <<X:16>> || X <- lists:seq(1, N) >> >>.

%% A call that is made again counts once.
traced() ->
    Self = self(),
    Tracer = spawn_link(fun() -> collect(Self, []) end),
    erlang:trace(self(), true, [call, {tracer, Tracer}]),
    erlang:trace_pattern({lists, reverse, 2}, [{'_', [], [{return_trace}]}], [local]),
    List = lists:seq(1, 40000),
    Done = [length(lists:reverse(List, [])), length(apply(lists, reverse, [List, [a]])), length(tail(reverse, [List, [a, b]]))],
    erlang:trace(self(), false, [all]),
    erlang:trace_pattern({lists, reverse, 2}, false, [local]),
    Ref = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Ref} -> ok end,
    Tracer ! stop,
    receive {traced, What} -> {Done, What} end.

collect(To, Seen) ->
    receive
        {trace, _, call, {M, F, Args}} -> collect(To, [{call, M, F, length(Args)} | Seen]);
        {trace, _, return_from, MFA, Value} -> collect(To, [{return, MFA, length(Value)} | Seen]);
        stop -> To ! {traced, lists:reverse(Seen)}
    end.

among_messages() ->
    Self = self(),
    Sender = spawn_link(fun() -> [Self ! {message, X, lists:seq(1, 20)} || X <- lists:seq(1, 2000)] end),
    Sums = [length(lists:reverse(binary_to_list(bytes(N * 100)))) || N <- lists:seq(1, 60)],
    _ = Sender,
    {lists:sum(Sums), received(0)}.

received(2000) -> 2000;
received(N) -> receive {message, _, L} when length(L) =:= 20 -> received(N + 1) after 5000 -> {only, N} end.

%% Too large for the limit, at the next collection at the latest.
limited() ->
    Binary = bytes(60000),
    {Pid, Ref} = spawn_opt(fun() -> L = binary_to_list(Binary), erlang:garbage_collect(), exit(length(L)) end,
                           [monitor, {max_heap_size, #{size => 5000, kill => true, error_logger => false}}]),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end.

wrong() ->
    Long = lists:seq(1, 70000),
    Improper = lists:seq(1, 100) ++ tail,
    [{improper_reverse, fun() -> lists:reverse(t:id(Improper), []) end},
     {improper_append, fun() -> t:id(Improper) ++ [] end},
     {long_improper_reverse, fun() -> try lists:reverse(t:id(Long ++ tail), []) catch error:R -> R end end},
     {long_improper_append, fun() -> try t:id(Long ++ tail) ++ [] catch error:R -> R end end},
     {append_to_improper, fun() -> length_of(t:id(Long) ++ tail, 0) end},
     {reverse_onto_atom, fun() -> length_of(lists:reverse(t:id(Long), tail), 0) end},
     {cut_off_term, fun() -> B = term_to_binary(Long), try binary_to_term(binary:part(B, 0, byte_size(B) - 1)) catch error:R -> R end end},
     {lying_list, fun() -> try binary_to_term(<<131, 108, 0, 0, 100, 0, 0:200000>>) catch error:R -> R end end}].

length_of([_ | T], N) -> length_of(T, N + 1);
length_of(T, N) -> {N, T}.
