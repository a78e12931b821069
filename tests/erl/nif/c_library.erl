%% C libraries: how they are loaded and refused, and what the functions of their interface give.
-module(c_library).
-export([main/0, load/1]).
-compile([nowarn_unused_function]).
-export([kinds/1, numbers/1, no_float/0, atoms/1, long_atom/0, strings/2, turned/1, bytes/1, part/3, maps/1, compared/2, printed/1, badarg/1,
         pending/1, box/1, boxed/1, boxes_gone/0, tell/2, thread/0, count/3, bounce/2, dirty/1, dirty_io/1, external/1, private/0]).

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
    t:c(many, fun() -> lists:sum([element(1, numbers(N)) || N <- lists:seq(1, 20000)]) end).

compile(Module) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "library.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 -DMODULE=", Module, " -I", code:root_dir(), "/usr/include -o library.new ", Source, " && mv library.new library.so"]).

resources() ->
    Box = box(5),
    Copy = binary_to_term(term_to_binary(Box)),
    Others = in_others(),
    {boxed(Box), boxed(Copy), is_reference(Box), Box =:= Copy, Others}.

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
