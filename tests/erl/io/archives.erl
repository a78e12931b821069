%% Broken and hostile archives: zip, tar, compressed data, code in archives. Made here byte by byte, cut and changed at each place.
-module(archives).
-export([main/0]).
-include_lib("kernel/include/file.hrl").

main() ->
    process_flag(trap_exit, true),
    t:mute(),
    Dir = t:tmp("archives"),
    ok = file:set_cwd(Dir),
    zips(Dir),
    tars(Dir),
    compressed(),
    loader(Dir),
    ok.

%% Zip.

zips(Dir) ->
    {ok, {_, Zip}} = zip:create("x.zip", [{"a.txt", <<"alpha alpha alpha alpha">>, info(23)}, {"d/b.txt", <<"beta">>, info(4)}, {"empty", <<>>, info(0)}], [memory]),
    t:c(zip_size, fun() -> byte_size(Zip) end),
    t:c(zip_whole, fun() -> unzip(Zip) end),
    runs(zip_cut, [binary:part(Zip, 0, N) || N <- lists:seq(0, byte_size(Zip) - 1)], fun unzip/1),
    [runs({zip_changed, C}, [change(Zip, N, C) || N <- lists:seq(0, byte_size(Zip) - 1)], fun unzip/1) || C <- [1, 128, 255]],
    runs(zip_table_changed, [change(Zip, N, 255) || N <- lists:seq(0, byte_size(Zip) - 1)], fun(Z) -> result(fun() -> zip:table(Z) end) end),
    t:each(zip_entries, [{"../up", 8, 0, 0}, {"/abs/olute", 8, 0, 0}, {"a/../../../up", 8, 0, 0}, {"..", 8, 0, 0}, {"", 8, 0, 0}, {"a\0b", 8, 0, 0}, {"dir/", 8, 0, 0}, {lists:duplicate(300, $n), 8, 0, 0},
                         {"lied", 8, 1 bsl 31, 0}, {"lied", 8, 16#ffffffff, 0}, {"lied", 0, 16#ffffffff, 0}, {"secret", 8, 0, 1}, {"secret", 0, 0, 1}, {"stored", 0, 0, 0}, {"method", 12, 0, 0}, {"method", 99, 0, 0}, {"later", 8, 0, 8}, {"utf", 8, 0, 16#800}, {[16#ff, 16#fe], 8, 0, 16#800}],
           fun({Name, Method, Size, Flags}) ->
               Z = entry(Name, Method, Size, Flags),
               {unzip(Z), result(fun() -> zip:table(Z) end), to_disk(Dir, fun() -> zip:unzip(Z) end)}
           end),
    t:c(zip_crc, fun() -> Z = entry("x", 8, 0, 0), {P, _} = binary:match(Z, <<(erlang:crc32("the text of the entry")):32/little>>), unzip(change(Z, P, 1)) end),
    t:c(zip_bomb, fun() -> {ok, {_, Z}} = zip:create("b.zip", [{"zeros", binary:copy(<<0>>, 20000000)}], [memory]), {byte_size(Z) < 100000, [{N, byte_size(B), erlang:crc32(B)} || {N, B} <- element(2, zip:unzip(Z, [memory]))]} end),
    t:c(zip_bomb_cut, fun() -> {ok, {_, Z}} = zip:create("b.zip", [{"zeros", binary:copy(<<0>>, 2000000)}], [memory]), {P, _} = binary:match(Z, <<2000000:32/little>>), cut(unzip(change(Z, P, 255))) end),
    t:c(zip_same_twice, fun() -> {ok, {_, Z}} = zip:create("b.zip", [{"a", <<"1">>}, {"a", <<"2">>}], [memory]), unzip(Z) end),
    t:c(zip_comment, fun() -> {unzip(<<Zip/binary, "more">>), unzip(<<"before", Zip/binary>>), unzip(<<Zip/binary, Zip/binary>>)} end),
    t:c(zip_file, fun() -> [begin ok = file:write_file("z", binary:part(Zip, 0, N)), result(fun() -> zip:unzip("z", [memory]) end) end || N <- [0, 1, 21, 22, 100, byte_size(Zip) - 1, byte_size(Zip)]] end),
    t:c(zip_open, fun() -> ok = file:write_file("z", Zip), {ok, H} = zip:zip_open("z", [memory]), R = [limited(fun() -> zip:zip_get(F, H) end) || F <- ["a.txt", "none", "../x", foo, "d/b.txt"]], {R, zip:zip_close(H), limited(fun() -> zip:zip_get("a.txt", H) end)} end),
    t:c(zip_open_changed, fun() -> ok = file:write_file("z", Zip), {ok, H} = zip:zip_open("z", [memory]), ok = file:write_file("z", binary:part(Zip, 0, 20)), R = [limited(fun() -> zip:zip_get(F, H) end) || F <- ["a.txt", "d/b.txt"]], {R, limited(fun() -> zip:zip_close(H) end)} end),
    t:c(zip_places, fun() -> [result(fun() -> zip:unzip(F, [memory]) end) || F <- [".", "none", "", foo, <<>>, <<0>>]] end).

%% Archives hold times.
info(Size) -> #file_info{size = Size, mtime = {{2020, 1, 1}, {0, 0, 0}}, type = regular, mode = 8#644}.

%% One entry of our own making; Size 0 is the true size.
entry(Name, Method, Size0, Flags) ->
    Text = <<"the text of the entry">>,
    Data = case Method of 0 -> Text; _ -> zlib:zip(Text) end,
    Size = case Size0 of 0 -> byte_size(Text); _ -> Size0 end,
    N = list_to_binary(Name),
    Common = <<20:16/little, Flags:16/little, Method:16/little, 0:16, 33:16/little, (erlang:crc32(Text)):32/little, (byte_size(Data)):32/little, Size:32/little, (byte_size(N)):16/little, 0:16>>,
    Local = <<"PK", 3, 4, Common/binary, N/binary, Data/binary>>,
    Central = <<"PK", 1, 2, 20:16/little, Common/binary, 0:16, 0:16, 0:16, 0:32, 0:32, N/binary>>,
    <<Local/binary, Central/binary, "PK", 5, 6, 0:32, 1:16/little, 1:16/little, (byte_size(Central)):32/little, (byte_size(Local)):32/little, 0:16>>.

unzip(Z) -> result(fun() -> zip:unzip(Z, [memory]) end).

%% What unpacking leaves, inside and beside the directory it is for.
to_disk(Dir, Fun) ->
    Place = filename:join([Dir, "un", "pack"]),
    ok = filelib:ensure_dir(filename:join(Place, "x")),
    ok = file:set_cwd(Place),
    R = result(Fun),
    ok = file:set_cwd(Dir),
    Left = lists:sort(tree("un", "")),
    ok = file:del_dir_r("un"),
    {R, Left}.

tree(Dir, Below) ->
    {ok, Names} = file:list_dir(Dir),
    lists:append([case file:read_link_info(filename:join(Dir, N)) of
        {ok, #file_info{type = directory}} -> [Below ++ N ++ "/" | tree(filename:join(Dir, N), Below ++ N ++ "/")];
        {ok, #file_info{type = Type}} -> [{Type, Below ++ N}]
    end || N <- Names]).

%% Tar.

tars(Dir) ->
    Whole = tar([{"a", "alpha", []}, {"d/b", "beta", []}, {"l", "", [{type, $2}, {link, "a"}]}]),
    t:c(tar_whole, fun() -> {untar(Whole), tar_to_disk(Dir, Whole)} end),
    runs(tar_cut, [binary:part(Whole, 0, N) || N <- [0, 1, 100, 511, 512, 513, 516, 517, 1000, 1023, 1024, 1025, 1536, 1537, 2048, 2500, 2560, 2561, 3000, 3072, byte_size(Whole) - 1]], fun untar/1),
    [runs({tar_changed, C}, [change(Whole, N, C) || N <- lists:seq(0, 512)], fun untar/1) || C <- [1, 255]],
    %% The header's sum made right again.
    [runs({tar_changed_and_summed, C}, [resum(change(Whole, N, C)) || N <- lists:seq(0, 511)], fun untar/1) || C <- [1, 128, 255]],
    Names = ["../up", "/abs", "a/../../up", "a/../b", "..", ".", "", "./x", "a//b", "a\0b", [16#ff, 16#fe], "dir/", "x/./../../y"],
    t:each(tar_names, Names, fun(N) -> T = tar([{N, "text", []}]), {untar(T), result(fun() -> erl_tar:table({binary, T}) end), tar_to_disk(Dir, T)} end),
    Sizes = ["77777777777\0", "777777777777", "8", "-1", "", "9999", "abc", [128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5], [128, 127 | lists:duplicate(10, 255)], lists:duplicate(12, 255), [255 | lists:duplicate(11, 0)], "   4 ", "4x", "0000000004 5"],
    t:each(tar_sizes, Sizes, fun(S) -> T = tar([{"a", "text", [{size, S}]}, {"b", "more", []}]), {untar(T), result(fun() -> erl_tar:table({binary, T}, [verbose]) end)} end),
    Links = [[{"l", "l"}], [{"l", "m"}, {"m", "l"}], [{"l", ".."}], [{"l", "/"}], [{"l", "../.."}], [{"l", "/etc"}], [{"d/l", ".."}]],
    t:each(tar_links, Links, fun(L) -> T = tar([{N, "", [{type, $2}, {link, To}]} || {N, To} <- L] ++ [{"l/through", "text", []}]), tar_to_disk(Dir, T) end),
    t:each(tar_hard_links, ["a", "../a", "/etc/passwd", "none", "l"], fun(To) -> T = tar([{"a", "text", []}, {"l", "", [{type, $1}, {link, To}]}]), tar_to_disk(Dir, T) end),
    t:c(tar_link_then_file, fun() -> T = tar([{"x", "", [{type, $2}, {link, "../outside"}]}, {"x", "text", []}]), tar_to_disk(Dir, T) end),
    t:each(tar_types, lists:seq($0, $9) ++ "ADEIKLMNSVXgx\0\xff", fun(Type) -> T = tar([{"a", "12 path=b/c\n", [{type, Type}, {link, "other"}]}, {"z", "text", []}]), {untar(T), tar_to_disk(Dir, T)} end),
    t:each(tar_pax, ["12 path=b/c\n", "99 path=b/c\n", "1 path=b/c\n", "-5 path=x\n", "path=x\n", "12 path=../x\n", "17 size=99999999\n", "10 size=x\n", "11 size=-1\n", "30 linkpath=../../../../../x\n", "0 \n", "", "12 path\n", "9999999999999999999999 path=x\n", "12 path=b/c\n12 path=d/e\n", "13 path=\xff\xfe/\n"],
           fun(P) -> T = tar([{"pax", P, [{type, $x}]}, {"z", "text", []}]), {untar(T), tar_to_disk(Dir, T)} end),
    t:each(tar_long_names, [10, 150, 5000], fun(N) -> T = tar([{"././@LongLink", lists:duplicate(N, $n) ++ "\0", [{type, $L}]}, {"z", "text", []}]), {short(untar(T)), short(tar_to_disk(Dir, T))} end),
    t:c(tar_devices, fun() -> T = tar([{"dev", "", [{type, $3}]}, {"fifo", "", [{type, $6}]}, {"z", "text", []}]), {untar(T), tar_to_disk(Dir, T)} end),
    Gz = zlib:gzip(Whole),
    runs(tar_gz_cut, [binary:part(Gz, 0, N) || N <- lists:seq(0, byte_size(Gz) - 1, 3)], fun(B) -> result(fun() -> erl_tar:extract({binary, B}, [memory, compressed]) end) end),
    runs(tar_gz_changed, [change(Gz, N, 255) || N <- lists:seq(0, byte_size(Gz) - 1)], fun(B) -> result(fun() -> erl_tar:extract({binary, B}, [memory, compressed]) end) end),
    runs(tar_gz_file_cut, [binary:part(Gz, 0, N) || N <- lists:seq(0, byte_size(Gz) - 1, 7)], fun(B) -> ok = file:write_file("t.gz", B), result(fun() -> erl_tar:extract("t.gz", [memory, compressed]) end) end),
    t:c(tar_not, fun() -> [result(fun() -> erl_tar:extract(X, [memory]) end) || X <- [{binary, <<>>}, {binary, <<0:4096>>}, {binary, <<0:8192>>}, {binary, binary:copy(<<"x">>, 5000)}, "none", ".", "/dev/null", {binary, foo}, foo, {file, foo}]] end),
    t:c(tar_bomb, fun() -> ok = file:write_file("b.gz", zlib:gzip(tar([{"zeros", binary:copy(<<0>>, 20000000), []}]))), [{"zeros", B}] = element(2, erl_tar:extract("b.gz", [memory, compressed])), byte_size(B) end).

tar(Entries) ->
    iolist_to_binary([[tar_entry(E) || E <- Entries], <<0:8192>>]).

tar_entry({Name, Text, Options}) ->
    Get = fun(K, D) -> proplists:get_value(K, Options, D) end,
    Size = Get(size, io_lib:format("~11.8.0b\0", [iolist_size(Text)])),
    H = iolist_to_binary([field(Name, 100), "0000644\0", "0000000\0", "0000000\0", field(Size, 12), "00000000001\0", "        ", Get(type, $0), field(Get(link, ""), 100), "ustar\00000", field("", 32), field("", 32), "0000000\0", "0000000\0", field("", 167)]),
    Body = iolist_to_binary(Text),
    [resum(H), Body, <<0:((512 - byte_size(Body) rem 512) rem 512)/unit:8>>].

field(Text, Size) ->
    B = iolist_to_binary(Text),
    <<(binary:part(<<B/binary, 0:Size/unit:8>>, 0, Size))/binary>>.

resum(<<A:148/binary, _:8/binary, B:356/binary, Rest/binary>>) ->
    Sum = lists:sum(binary_to_list(A)) + lists:sum(binary_to_list(B)) + 8 * $\s,
    S = iolist_to_binary(io_lib:format("~6.8.0b\0 ", [Sum])),
    <<A/binary, S/binary, B/binary, Rest/binary>>.

untar(T) -> result(fun() -> erl_tar:extract({binary, T}, [memory]) end).

tar_to_disk(Dir, T) -> to_disk(Dir, fun() -> erl_tar:extract({binary, T}) end).

short({{error, {N, R}}, L}) when length(N) > 200 -> {{error, {length(N), R}}, L};
short({ok, [{N, B} | L]}) when length(N) > 200 -> {ok, [{length(N), B} | L]};
short({R, L}) when is_list(L) -> {R, [length(X) || X <- L]};
short(R) -> R.

%% Compressed data.

compressed() ->
    Text = iolist_to_binary([integer_to_list(I * I) || I <- lists:seq(1, 60)]),
    Forms = [{compress, zlib:compress(Text), fun zlib:uncompress/1}, {gzip, zlib:gzip(Text), fun zlib:gunzip/1}, {zip, zlib:zip(Text), fun zlib:unzip/1}],
    [begin
         runs({cut, Name}, [binary:part(B, 0, N) || N <- lists:seq(0, byte_size(B) - 1)], fun(X) -> result(fun() -> F(X) end) end),
         [runs({changed, Name, C}, [change(B, N, C) || N <- lists:seq(0, byte_size(B) - 1)], fun(X) -> sum(result(fun() -> F(X) end)) end) || C <- [1, 255]],
         t:c(["more ", Name], fun() -> [sum(result(fun() -> F(X) end)) || X <- [<<B/binary, "more">>, <<B/binary, B/binary>>, <<B/binary, 0>>, [B, [], <<>>], [binary:part(B, 0, 5) | binary:part(B, 5, byte_size(B) - 5)]]] end)
     end || {Name, B, F} <- [{atom_to_list(N), B, F} || {N, B, F} <- Forms]],
    Bomb = zlib:compress(binary:copy(<<0>>, 50000000)),
    t:c(bomb_in_steps, fun() -> Z = zlib:open(), ok = zlib:inflateInit(Z), {continue, First} = zlib:safeInflate(Z, Bomb), N = steps(Z, zlib:safeInflate(Z, []), iolist_size(First)), {iolist_size(First) < 1000000, N, zlib:inflateEnd(Z), zlib:close(Z)} end),
    t:c(bomb_left, fun() -> Z = zlib:open(), ok = zlib:inflateInit(Z), {continue, _} = zlib:safeInflate(Z, Bomb), [result(fun() -> zlib:inflateEnd(Z) end), zlib:close(Z)] end),
    t:c(steps_cut, fun() -> Z = zlib:open(), ok = zlib:inflateInit(Z), {finished, D} = zlib:safeInflate(Z, binary:part(zlib:compress(Text), 0, 30)), [iolist_size(D) > 0, result(fun() -> zlib:inflateEnd(Z) end), zlib:close(Z)] end),
    t:c(steps_bad, fun() -> Z = zlib:open(), ok = zlib:inflateInit(Z), [result(fun() -> zlib:safeInflate(Z, "garbage") end), result(fun() -> zlib:safeInflate(Z, []) end), result(fun() -> zlib:inflate(Z, Bomb) end) =:= ok, zlib:close(Z)] end),
    t:c(dictionary, fun() ->
        C = zlib:open(), ok = zlib:deflateInit(C), A = zlib:deflateSetDictionary(C, Text), B = iolist_to_binary(zlib:deflate(C, [Text, Text], finish)), ok = zlib:deflateEnd(C), zlib:close(C),
        Z = zlib:open(), ok = zlib:inflateInit(Z),
        R = [A =:= erlang:adler32(Text), result(fun() -> zlib:inflate(Z, B) end), result(fun() -> zlib:inflateSetDictionary(Z, "wrong") end), zlib:inflateSetDictionary(Z, Text), iolist_size(zlib:inflate(Z, [])), zlib:inflateEnd(Z), zlib:close(Z)],
        {R, result(fun() -> zlib:uncompress(B) end)}
    end),
    t:c(windows, fun() -> [begin Z = zlib:open(), R = result(fun() -> zlib:inflateInit(Z, W) end), S = sum(result(fun() -> iolist_to_binary(zlib:inflate(Z, zlib:compress(Text))) end)), zlib:close(Z), {W, R, S} end || W <- [-15, -8, -7, 0, 7, 8, 9, 15, 16, 24, 31, 32, 47, 48, 1 bsl 70, foo]] end),
    t:c(gz_member_errors, fun() -> G = zlib:gzip("x"), [result(fun() -> zlib:gunzip(change(G, N, X)) end) || {N, X} <- [{0, 255}, {2, 255}, {3, 2}, {3, 4}, {3, 8}, {3, 16}, {3, 31}, {3, 224}]] end),
    t:c(compressed_file, fun() -> G = zlib:gzip(binary:copy(<<"line\n">>, 1000)), [begin ok = file:write_file("g", B), {ok, D} = file:open("g", [read, compressed, raw, binary]), R = drain(D, 0), file:close(D), R end || B <- [G, binary:part(G, 0, 12), binary:part(G, 0, 25), change(G, 15, 255), change(G, byte_size(G) - 6, 1), <<G/binary, G/binary>>, <<G/binary, "tail">>, <<>>, <<31>>, <<31, 139>>, <<31, 139, 8>>]] end).

steps(Z, {continue, D}, N) -> steps(Z, zlib:safeInflate(Z, []), N + iolist_size(D));
steps(_, {finished, D}, N) -> N + iolist_size(D).

drain(D, N) -> case file:read(D, 700) of {ok, B} -> drain(D, N + byte_size(B)); R -> {N, R} end.

sum(B) when is_binary(B) -> {byte_size(B), erlang:crc32(B)};
sum(X) -> X.

%% Code in archives.

loader(Dir) ->
    Code = [{"m1/ebin/m1.beam", beam(m1, 1)}, {"m1/ebin/m1.app", <<"{application, m1, [{vsn, \"1\"}]}.\n">>}, {"m1/priv/text", <<"private">>}],
    {ok, {_, Zip}} = zip:create("m1.ez", [{N, B, info(byte_size(B))} || {N, B} <- Code], [memory]),
    Path = filename:join([Dir, "m1.ez", "m1", "ebin"]),
    Inside = filename:join([Dir, "m1.ez", "m1", "priv", "text"]),
    Try = fun(Z) ->
        erl_prim_loader:purge_archive_cache(),
        file:delete("m1.ez"),
        ok = file:write_file("m1.ez", Z),
        R = {code:add_patha(Path), result(fun() -> m1:f() end), kind(result(fun() -> erl_prim_loader:get_file(Inside) end)), result(fun() -> erl_prim_loader:list_dir(Path) end), kind(result(fun() -> erl_prim_loader:read_file_info(Inside) end))},
        code:del_path(Path),
        code:purge(m1), code:delete(m1), code:purge(m1),
        R
    end,
    t:c(archive_whole, fun() -> Try(Zip) end),
    t:c(archive_paths, fun() -> erl_prim_loader:purge_archive_cache(), [result(fun() -> erl_prim_loader:list_dir(filename:join([Dir, "m1.ez" | P])) end) || P <- [[], ["m1"], [".."], ["m1", ".."], ["none"], ["m1", "ebin", "m1.beam"], ["m1", "ebin", "m1.beam", "x"]]] end),
    t:c(archive_of_archive, fun() -> {ok, {_, Z}} = zip:create("n.ez", [{"in.ez", Zip}], [memory]), file:write_file("n.ez", Z), [result(fun() -> erl_prim_loader:list_dir(filename:join(Dir, P)) end) || P <- ["n.ez", "n.ez/in.ez", "n.ez/in.ez/m1"]] end),
    Step = byte_size(Zip) div 60,
    runs(archive_cut, [binary:part(Zip, 0, N) || N <- lists:seq(0, byte_size(Zip) - 1, Step) ++ [byte_size(Zip) - 1]], Try),
    %% Not through the loader, which OTP's own code lets die of some of them.
    runs(archive_changed, [change(Zip, N, 255) || N <- lists:seq(byte_size(Zip) - 300, byte_size(Zip) - 1) ++ lists:seq(0, 60)],
         fun(Z) -> result(fun() -> case prim_zip:open(fun({N, _, Get}, A) -> {true, true, [{N, erlang:crc32(Get())} | A]} end, [], {"x.ez", Z}) of {ok, S, A} -> prim_zip:close(S), A; E -> E end end) end),
    runs(archive_entries, [entry(N, M, S, F) || {N, M, S, F} <- [{"../up", 8, 0, 0}, {"/abs", 8, 0, 0}, {"lied", 8, 16#ffffffff, 0}, {"lied", 0, 16#ffffffff, 0}, {"secret", 8, 0, 1}, {"", 8, 0, 0}, {"a\0b", 8, 0, 0}, {[255], 8, 0, 0}]],
         fun(Z) -> erl_prim_loader:purge_archive_cache(), file:write_file("e.ez", Z), F = filename:join(Dir, "e.ez"), {result(fun() -> erl_prim_loader:list_dir(F) end), [result(fun() -> erl_prim_loader:get_file(filename:join(F, N)) end) || N <- ["lied", "../up", "up", "secret"]]} end),
    t:c(prim_zip, fun() -> [result(fun() -> {ok, S, Acc} = prim_zip:open(fun({N, _, _}, A) -> {true, true, [N | A]} end, [], Z), prim_zip:close(S), Acc end) || Z <- [Zip, {"name", Zip}, "none", <<>>, <<"PK">>, {"x", <<>>}, foo, "m1.ez"]] end),
    t:c(loader_places, fun() -> [result(fun() -> erl_prim_loader:get_file(F) end) || F <- ["/", "/none", "", "a\0b", foo, "x.ez/y", "m1.ez", lists:duplicate(5000, $x), "/dev/full/x", "/etc/passwd/x"]] end).

beam(M, V) ->
    {ok, M, B} = compile:forms([{attribute, 1, module, M}, {attribute, 1, export, [{f, 0}]}, {function, 1, f, 0, [{clause, 1, [], [], [{integer, 1, V}]}]}], [deterministic]),
    B.

%% Many inputs: equal results in a row are told once.
runs(Name, Inputs, Fun) ->
    t:c(io_lib:format("~0p", [Name]), fun() -> group(lists:zip(lists:seq(0, length(Inputs) - 1), [cut(t:norm(Fun(I))) || I <- Inputs])) end).

%% A long answer as a number.
cut(T) -> case erlang:external_size(T) > 250 of true -> erlang:phash2(T); false -> T end.

group([]) -> [];
group([{N, R} | L]) ->
    {Same, Rest} = lists:splitwith(fun({_, R1}) -> R1 =:= R end, L),
    [{N, N + length(Same), R} | group(Rest)].

change(B, N, X) ->
    <<A:N/binary, C, Rest/binary>> = B,
    <<A/binary, (C bxor X), Rest/binary>>.

%% OTP's own server may end without an answer.
limited(Fun) ->
    {P, R} = spawn_monitor(fun() -> exit(result(Fun)) end),
    receive {'DOWN', R, _, _, X} -> X after 500 -> exit(P, kill), stuck end.

kind(T) when is_tuple(T) -> element(1, T);
kind(T) -> T.

result(Fun) -> try Fun() catch C:R -> {C, R} end.
