%% Binaries that go to a driver as they are: it sees the same one each time, wherever it comes from, and gives it back.
-module(driver_vectors).
-export([main/0, id/1]).

main() ->
    ok = file:set_cwd(t:tmp("vectors")),
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "vectors.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 -I", code:root_dir(), "/usr/include -o vectors.so ", Source]),
    t:c(load, fun() -> erl_ddll:load_driver(".", vectors) end),
    [t:c([Kind, integer_to_list(Size)], fun() -> with(fun(P) -> same(P, binary(Kind, Size)) end) end) || Kind <- kinds(), Size <- [257, 3000, 5000, 100000]],
    t:c(size, fun() -> with(fun(P) -> port_command(P, binary("copied ", 5000)), <<N:64/native-signed>> = list_to_binary(port_control(P, 2, "")), N end) end),
    t:c(in_a_list, fun() -> with(fun in_a_list/1) end),
    t:c(appended_meanwhile, fun() -> with(fun appended_meanwhile/1) end),
    t:c(after_its_owner, fun() -> with(fun after_its_owner/1) end),
    t:c(back, fun() -> with(fun back/1) end),
    t:c(to_another, fun() -> with(fun(P) -> with(fun(Q) -> to_another(P, Q) end) end) end).

kinds() -> ["copied ", "built ", "appended ", "comprehended ", "flattened ", "encoded ", "read ", "sent ", "found "].

binary(Kind, Size) ->
    Bytes = list_to_binary([N rem 251 || N <- lists:seq(1, Size - 1)]),
    made(Kind, Bytes).

made("copied ", Bytes) -> binary:copy(<<Bytes/binary, 0>>);
made("built ", Bytes) -> <<(?MODULE:id(0)), Bytes/binary>>;
made("appended ", Bytes) -> lists:foldl(fun(B, Acc) -> <<Acc/binary, B>> end, <<>>, binary_to_list(Bytes));
made("comprehended ", Bytes) -> << <<(255 - B)>> || <<B>> <= Bytes >>;
made("flattened ", Bytes) -> iolist_to_binary([Bytes, [$a | Bytes]]);
made("encoded ", Bytes) -> term_to_binary(Bytes);
made("read ", Bytes) ->
    ok = file:write_file("bytes", Bytes),
    {ok, Read} = file:read_file("bytes"),
    Read;
made("sent ", Bytes) ->
    Me = self(),
    spawn(fun() -> Me ! {binary, binary:copy(Bytes)} end),
    receive {binary, B} -> B end;
made("found ", Bytes) ->
    T = ets:new(t, []),
    ets:insert(T, {a, binary:copy(Bytes)}),
    [{a, B}] = ets:lookup(T, a),
    ets:delete(T),
    B.

id(X) -> X.

%% The whole binary, a part of it, and all of it in a message.
same(P, B) ->
    port_command(P, B),
    port_command(P, binary:part(B, 0, 256 + byte_size(B) rem 256 - 200)),
    P ! {self(), {command, [binary:part(B, byte_size(B), -100)]}},
    Slices = [next() || _ <- "123"],
    garbage_collect(),
    port_command(P, B),
    All = <<B/binary, (binary:part(B, 0, 256 + byte_size(B) rem 256 - 200))/binary, (binary:part(B, byte_size(B), -100))/binary, B/binary>>,
    Last = next(),
    port_control(P, 1, ""),
    receive {P, {data, [$q, $u, $e, $u, $e | Data]}} -> {Slices, Last, iolist_to_binary(Data) =:= All} after 1000 -> nothing end.

in_a_list(P) ->
    B = binary("copied ", 1000),
    port_command(P, ["abc", B, <<"de">>, $f, [binary:part(B, 10, 500) | B]]),
    flushed().

%% What comes behind a binary that a driver has does not change what it has.
appended_meanwhile(P) ->
    B = binary("appended ", 1000),
    port_command(P, B),
    C = lists:foldl(fun(N, Acc) -> <<Acc/binary, N>> end, B, lists:duplicate(5000, $x)),
    port_command(P, C),
    port_control(P, 3, ""),
    port_control(P, 1, ""),
    [{slice, _, 0, 999}, {slice, _, 0, 5999}, {P, {data, [$q, $u, $e, $u, $e | Data]}}] = flushed(),
    {iolist_to_binary(Data) =:= <<B/binary, C/binary>>, C =:= <<B/binary, (binary:copy(<<"x">>, 5000))/binary>>}.

after_its_owner(P) ->
    {_, M} = spawn_monitor(fun() -> port_command(P, binary("built ", 2000)) end),
    receive {'DOWN', M, _, _, normal} -> ok end,
    port_control(P, 1, ""),
    [{slice, 1, 0, 2000}, {P, {data, [$q, $u, $e, $u, $e | Data]}}] = flushed(),
    iolist_to_binary(Data) =:= binary("built ", 2000).

%% What comes back is the same binary again.
back(P) ->
    port_command(P, binary("copied ", 4000)),
    port_control(P, 1, ""),
    [{slice, 1, 0, 4000}, {P, {data, [$q, $u, $e, $u, $e | Data]}}] = flushed(),
    port_command(P, Data),
    {byte_size(Data), binary:referenced_byte_size(Data), flushed()}.

to_another(P, Q) ->
    port_command(P, binary("copied ", 4000)),
    port_control(P, 1, ""),
    [_, {P, {data, [$q, $u, $e, $u, $e | Data]}}] = flushed(),
    port_command(Q, [Data, Data]),
    flushed().

with(Fun) ->
    P = open_port({spawn_driver, vectors}, [binary]),
    try Fun(P) after port_close(P), flushed() end.

next() -> receive X -> X after 1000 -> nothing end.

flushed() -> receive X -> [X | flushed()] after 0 -> [] end.
