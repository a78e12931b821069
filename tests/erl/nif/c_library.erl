%% C libraries: how they are loaded and refused, and what the functions of their interface give.
-module(c_library).
-export([main/0, load/1]).
-compile([nowarn_unused_function, nowarn_deprecated_function]).
-export([kinds/1, numbers/1, no_float/0, atoms/1, long_atom/0, strings/2, turned/1, bytes/1, part/3, maps/1, compared/2, printed/1, badarg/1,
         pending/1, box/1, boxed/1, boxes_gone/0, tell/2, thread/0, count/3, bounce/2, dirty/1, dirty_io/1, external/1, private/0,
         watcher/0, watch/2, unwatch/2, unwatched/1, dynamic/2, box_bytes/1, unique/1, times/0, variable/2, thread_types/0, thread_types_cpu/0,
         thread_types_io/0, port/2, queue/1]).


-define(NOT_LOADED, erlang:nif_error(not_loaded)).
kinds(_) -> ?NOT_LOADED.
numbers(_) -> ?NOT_LOADED.
no_float() -> ?NOT_LOADED.
atoms(_) -> ?NOT_LOADED.
long_atom() -> ?NOT_LOADED.
strings(_, _) -> ?NOT_LOADED.
turned(_) -> ?NOT_LOADED.
bytes(_) -> ?NOT_LOADED.
part(_, _, _) -> ?NOT_LOADED.
maps(_) -> ?NOT_LOADED.
compared(_, _) -> ?NOT_LOADED.
printed(_) -> ?NOT_LOADED.
badarg(_) -> ?NOT_LOADED.
pending(_) -> ?NOT_LOADED.
box(_) -> ?NOT_LOADED.
boxed(_) -> ?NOT_LOADED.
boxes_gone() -> ?NOT_LOADED.
tell(_, _) -> ?NOT_LOADED.
thread() -> ?NOT_LOADED.
count(_, _, _) -> ?NOT_LOADED.
bounce(_, _) -> ?NOT_LOADED.
dirty(_) -> ?NOT_LOADED.
dirty_io(_) -> ?NOT_LOADED.
external(_) -> ?NOT_LOADED.
private() -> ?NOT_LOADED.
watcher() -> ?NOT_LOADED.
watch(_, _) -> ?NOT_LOADED.
unwatch(_, _) -> ?NOT_LOADED.
unwatched(_) -> ?NOT_LOADED.
dynamic(_, _) -> ?NOT_LOADED.
box_bytes(_) -> ?NOT_LOADED.
unique(_) -> ?NOT_LOADED.
times() -> ?NOT_LOADED.
variable(_, _) -> ?NOT_LOADED.
thread_types() -> ?NOT_LOADED.
thread_types_cpu() -> ?NOT_LOADED.
thread_types_io() -> ?NOT_LOADED.
port(_, _) -> ?NOT_LOADED.
queue(_) -> ?NOT_LOADED.

load(Info) -> erlang:load_nif(filename:absname("library"), Info).

main() ->
    ok = file:set_cwd(t:tmp("c_library")),
    t:c(absent, fun() -> {error, {Why, Text}} = erlang:load_nif("/no/such/library", 0), {Why, Text} end),
    ok = file:write_file("damaged.so", [<<127, "ELF">>, binary:copy(<<0>>, 100)]),
    t:c(damaged, fun() -> erlang:load_nif("./damaged", 0) end),
    "" = os:cmd("echo 'int none;' >none.c && cc -shared -fPIC -o none.so none.c && echo 'int none(void); int f(void) { return none(); }' >lacks.c && cc -shared -fPIC -o lacks.so lacks.c"),
    t:c(no_library_of_nifs, fun() -> erlang:load_nif("./none", 0) end),
    t:c(lacks_a_name, fun() -> erlang:load_nif("./lacks", 0) end),
    compile("other_module"),
    t:c(others, fun() -> load(0) end),
    compile("c_library"),
    t:c(refuses, fun() -> load(17) end),
    t:c(not_yet, fun() -> kinds(1) end),
    t:c(loads, fun() -> load([]) end),
    t:c(again, fun() -> load([]) end),
    t:each(kinds, [a, <<1>>, <<1:3>>, [1], [], {}, 1, 1.5, fun() -> 1 end, fun lists:map/2, self(), make_ref(), #{}, 1 bsl 70], fun kinds/1),
    Edges = [N + D || N <- [0, 1 bsl 31, 1 bsl 32, 1 bsl 59, 1 bsl 60, 1 bsl 63, 1 bsl 64], D <- [-1, 0]],
    t:each(numbers, Edges ++ [-N || N <- Edges] ++ [1.5, 0.0, -0.0, a], fun numbers/1),
    t:c(no_float, fun no_float/0),
    t:each(atoms, [a, 'å', '', 'nineteen characters', 'twenty characters...', '日', 1], fun atoms/1),
    t:c(long_atom, fun long_atom/0),
    [t:c(["strings ", io_lib:format("~0p ~p", [S, N])], fun() -> strings(S, N) end) || S <- ["", "abc", "abcd", "å", [300], [a], "ab" ++ c], N <- [0, 1, 4, 5]],
    t:each(turned, [{}, {1, b, "c"}, [], [1, 2, 3], [1 | 2], 7], fun turned/1),
    Large = binary:copy(<<"0123456789">>, 20),
    t:each(bytes, [<<>>, <<"abc">>, ["ab", [<<"cd">>, $e] | <<"f">>], Large, binary:part(Large, 3, 100), <<1:3>>, [256], [a], x], fun bytes/1),
    t:c(unaligned, fun() -> <<_:3, B/bitstring>> = <<1:3, "unaligned">>, bytes(B) end),
    t:each(part, [{<<"abcdef">>, 1, 3}, {Large, 10, 100}, {binary:part(Large, 5, 150), 5, 70}, {<<"abc">>, 3, 0}],
           fun({B, S, N}) -> part(B, S, N) end),
    t:each(maps, [#{}, #{a => 1}, #{1 => 2, b => 3}, a], fun maps/1),
    t:c(large_map, fun() -> M = maps:from_list([{N, N} || N <- lists:seq(1, 100)]), {100, L, _, P, _, M, _} = maps(M), {lists:sort(L) =:= maps:to_list(M), maps:size(P)} end),
    t:each(compared, [{1, 1}, {1, 1.0}, {1, 2}, {b, a}, {"a", {}}, {Large, Large}], fun({A, B}) -> compared(A, B) end),
    t:each(printed, [a, 'A b', [1, 2], "abc", {1, <<"b">>, 1.5}, #{a => 1}], fun printed/1),
    t:c(badarg, fun() -> badarg(0) end),
    t:each(pending, [a, {b, [1, 2]}, 0], fun pending/1),
    t:c(resources, fun resources/0),
    t:c(no_resource, fun() -> [boxed(X) || X <- [1, make_ref(), a]] end),
    t:c(tell, fun() -> {tell(self(), {"a term", Large}), receive {own, X} -> X end, receive {callers, Y} -> Y end} end),
    t:c(tell_name, fun() -> register(named, self()), {tell(named, 1), flushed(), tell(nobody_has_it, 1)} end),
    t:c(tell_ended, fun() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> ok end, {tell(P, {"not sent", lists:seq(1, 5)}), flushed()} end),
    t:c(thread, fun() -> {thread(), receive X -> X end} end),
    t:c(count, fun() -> count(20, 0, []) end),
    t:c(count_collected, fun() -> [begin {N, L} = count(5, 0, lists:seq(1, 1000)), {N, length(L)} end || _ <- lists:seq(1, 3)] end),
    t:c(bounce, fun() -> bounce(20, 0) end),
    t:each(dirty, [<<"abc">>, Large, a], fun dirty/1),
    t:each(dirty_io, [<<"abc">>, a], fun dirty_io/1),
    t:each(external, [a, [1, 2.5, {"b", Large}], #{a => self()}], fun external/1),
    t:c(private, fun private/0),
    t:c(in_funs, fun() -> F = fun kinds/1, G = fun ?MODULE:numbers/1, {F(a) =:= kinds(a), G(1), apply(?MODULE, numbers, [2])} end),
    t:c(watched, fun watched/0),
    t:c(watched_ended, fun() -> {P, M} = spawn_monitor(fun() -> ok end), receive {'DOWN', M, _, _, _} -> ok end, watch(watcher(), P) end),
    t:c(unwatched, fun() -> unwatched(?MODULE) end),
    t:c(watcher_gone, fun watcher_gone/0),
    t:c(watched_by_many, fun watched_by_many/0),
    t:c(dynamic, fun() -> W = watcher(), watch(W, self()), {dynamic(?MODULE, W), dynamic(lists, W), dynamic("no", W), dynamic(?MODULE, make_ref())} end),
    t:c(box_bytes, fun box_bytes/0),
    t:c(unique, fun unique/0),
    t:c(times, fun() -> {{A, B, C}, Now} = times(), {is_integer(A + B + C), Now < erlang:now(), element(1, Now) > 1000} end),
    t:c(variables, fun() -> os:putenv("MYRIAD_C", "abc"), [variable(N, R) || {N, R} <- [{"MYRIAD_C", 50}, {"MYRIAD_C", 4}, {"MYRIAD_C", 3}, {"MYRIAD_C", 0}, {"MYRIAD_NONE", 50}]] end),
    t:c(thread_types, fun() -> {thread_types(), thread_types_cpu(), thread_types_io()} end),
    t:c(port, fun port/0),
    t:each(queue, queues(), fun queue/1),
    t:c(queue_long, fun queue_long/0),
    t:c(many, fun() -> lists:sum([element(1, numbers(N)) || N <- lists:seq(1, 20000)]) end).

compile(Module) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "library.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 -DMODULE=", Module, " -I", code:root_dir(), "/usr/include -o library.new ", Source, " && mv library.new library.so"]).

resources() ->
    Box = box(5),
    Copy = binary_to_term(term_to_binary(Box)),
    Others = in_others(),
    {boxed(Box), boxed(Copy), is_reference(Box), Box =:= Copy, Others}.

watched() ->
    W = watcher(),
    P = spawn(fun() -> receive stop -> ok end end),
    Q = spawn(fun() -> receive stop -> exit(bad) end end),
    Terms = [watch(W, X) || X <- [P, P, Q]],
    {monitored_by, By} = process_info(P, monitored_by),
    Known = {[is_reference(X) || X <- Terms], length(lists:usort(Terms)), By =:= [W, W]},
    Unwatched = {unwatch(W, 1), unwatch(W, 1), process_info(P, monitored_by) =:= {monitored_by, [W]}},
    P ! stop, Q ! stop,
    Downs = lists:sort([receive {down, I, X, Alive} -> {I, X =:= P, X =:= Q, Alive} after 1000 -> none end || _ <- [1, 2]]),
    {Known, Unwatched, Downs, unwatch(W, 0), flushed()}.

%% An object that has gone is told nothing more.
watcher_gone() ->
    Self = self(),
    P = spawn(fun() -> receive stop -> ok end end),
    {_, M} = spawn_monitor(fun() -> W = watcher(), watch(W, P), watch(W, Self), watch(W, self()) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    Unwatched = [monitors(X, 100) || X <- [P, Self]],
    exit(P, kill),
    {Unwatched, flushed()}.

monitors(P, Tries) ->
    case process_info(P, monitored_by) of
        {_, []} -> none;
        {_, L} when Tries =:= 0 -> length(L);
        %% What it shows is kept by this process.
        _ -> erlang:garbage_collect(), timer:sleep(10), monitors(P, Tries - 1)
    end.

watched_by_many() ->
    Ws = [watcher() || _ <- lists:seq(1, 200)],
    Ps = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 50)],
    [watch(W, P) || W <- Ws, P <- lists:sublist(Ps, 4)],
    [P ! stop || P <- Ps],
    Downs = [receive {down, _, _, false} -> ok after 1000 -> none end || _ <- lists:seq(1, length(Ws) * 4)],
    {length(Downs), length([W || W <- Ws, boxed(W) =:= none]), flushed()}.

box_bytes() ->
    Before = boxes_gone(),
    Bytes = box_bytes(7),
    Part = binary:part(Bytes, 50, 100),
    erlang:garbage_collect(),
    Read = {byte_size(Bytes), Part =:= binary:copy(<<"b">>, 100), <<Bytes/binary, "more">> =:= <<(binary:copy(<<"b">>, byte_size(Bytes)))/binary, "more">>},
    Kept = boxes_gone() - Before,
    {_, M} = spawn_monitor(fun() -> binary:at(box_bytes(1000), 3) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    {Read, Kept, gone_by(Before + 1000, 100) - Before, byte_size(Bytes)}.

unique() ->
    Plain = [unique(0) || _ <- lists:seq(1, 10)] ++ [erlang:unique_integer() || _ <- lists:seq(1, 10)],
    Rising = [unique(3), erlang:unique_integer([positive, monotonic]), unique(3)],
    {length(lists:usort(Plain)), Rising =:= lists:usort(Rising), unique(1) > 0, unique(2) < 0}.

port() ->
    Port = open_port({spawn, "cat"}, [binary]),
    Self = self(),
    spawn_link(fun() -> Self ! port(Port, ["a", <<"b">>]) end),
    Echo = echo(Port, <<>>, 5),
    Answer = receive X -> X end,
    port_close(Port),
    {Echo, Answer, port(Port, "c")}.

queues() ->
    Large = binary:copy(<<"0123456789">>, 20),
    <<_:3, Unaligned:5/binary, _/bitstring>> = <<1:3, "unaligned">>,
    Lists = [[], [<<"ab">>, <<"cde">>], [<<>>, <<"a">>, <<>>], [<<"a">>, binary:part(Large, 190, 10), Unaligned], [a], [<<1:3>>, <<"abc", 1:5>>], <<"ab">>, [<<"a">> | b],
             lists:duplicate(20, <<"x">>), [<<"a">>, Large]],
    [[], [{take, [], 0, 0}], [{take, [], 1, 0}]]
        ++ [[{How, Bytes, Skip, 0}, {take, [], 1, 0}, {How, Bytes, 1, 0}, {take, [], 2, 0}] || How <- [looked, owned], Bytes <- [<<"abc">>, <<>>, Unaligned], Skip <- [0, 1, 3, 4, 9]]
        ++ [[{How, List, Skip, 100}, {take, [], 3, 0}] || How <- [vector, small, lasting], List <- Lists, Skip <- [0, 2, 50]]
        ++ [[{How, [<<"ab">>, <<"cde">>, <<"f">>, <<>>, <<"g">>], 0, Most} || Most <- [0, 1, 2, 3, 4]] || How <- [vector, small, lasting]].

%% More than the queue has room for at first, half of it again and again.
queue_long() ->
    Steps = [Step || I <- lists:seq(1, 100), Step <- [{vector, [<<I:16>>, <<(-I):16>>], I rem 5, 9}, {take, [], I rem 3, 0}]],
    {true, Answers} = queue(Steps),
    erlang:phash2(Answers).

echo(_, Bytes, N) when byte_size(Bytes) >= N -> Bytes;
echo(Port, Bytes, N) -> receive {Port, {data, More}} -> echo(Port, <<Bytes/binary, More/binary>>, N) after 1000 -> Bytes end.

%% How many objects go with the process that had them.
in_others() ->
    Before = boxes_gone(),
    {_, M} = spawn_monitor(fun() -> Boxes = [box(1) || _ <- lists:seq(1, 10)], length(Boxes) =:= 10 andalso boxed(hd(Boxes)) end),
    receive {'DOWN', M, _, _, _} -> ok end,
    gone_by(Before + 10, 100) - Before.

gone_by(Many, Tries) ->
    case boxes_gone() of
        N when N < Many, Tries > 0 -> timer:sleep(10), gone_by(Many, Tries - 1);
        N -> N
    end.

flushed() -> receive X -> [X | flushed()] after 0 -> [] end.
