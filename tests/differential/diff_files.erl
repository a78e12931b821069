%% Files for the differential test: scripts of calls in a directory of its own, mostly nearly right.
%%
%% No name leads out of the directory: none is absolute but of what is nowhere, none has `..`, and nothing is deleted but by its own
%% name. Names are few, so that calls meet each other's files, directories and links. Times, owners and what counts links on other file
%% systems are left out.
-module(diff_files).
-export([script/0, used/1]).
-include_lib("kernel/include/file.hrl").
-import(diff_terms, [n/1, pick/1]).

script() -> [step() || _ <- lists:seq(1, 3 + n(15))].

step() ->
    case n(26) of
        N when N =< 4 -> {open, n(3), name(), modes()};
        5 -> {close, n(3)};
        N when N =< 8 -> {read, n(3), size()};
        N when N =< 11 -> {write, n(3), data()};
        12 -> {position, n(3), place()};
        13 -> {pread, n(3), offset(), size()};
        14 -> {pread, n(3), pick([[], [{offset(), size()}, {offset(), size()}], [{0, 1} | x], x])};
        15 -> {pwrite, n(3), write_offset(), data()};
        16 -> {pwrite, n(3), pick([[], [{n(5), data()}, {write_offset(), data()}], [{0, x}], x])};
        17 -> {pick([truncate, datasync, sync]), n(3)};
        18 -> {allocate, n(3), small_offset(), small_offset()};
        19 -> {advise, n(3), offset(), size(), pick([normal, random, sequential, will_need, dont_need, no_reuse, x])};
        20 -> {name, pick([delete, make_dir, del_dir, list_dir, list_dir_all, read_link, read_link_all, consult, read_file, set_cwd]), [name()]};
        21 -> {name, pick([make_link, make_symlink, rename, copy]), [name(), name()]};
        22 -> {name, write_file, [name(), data(), pick([[], [], [append], [exclusive], [raw], [x], [compressed]])]};
        23 -> {info, pick([read_file_info, read_link_info]), name(), pick([[], [raw], [{time, posix}], [{time, x}], [x]])};
        24 -> {name, change_mode, [name(), pick([8#600, 8#644, 8#755, 8#1777, -1, 1 bsl 40, x, 0])]};
        25 -> {name, change_time, [name(), pick([{{2020, 1, 1}, {0, 0, 0}}, {{1900, 1, 1}, {0, 0, 0}}, {{2300, 1, 1}, {0, 0, 0}}, {{2020, 13, 1}, {0, 0, 0}}, x])]};
        26 -> {read_line, n(3)}
    end.

name() ->
    pick(["a", "a", "a", "b", "b", "d", "d", "d/a", "d/b", "e/d", "a/b", "l", "l", "m", ".", "", "./a", "d/./a", "d/", "a/", "/nosuch/x", <<"a">>, <<"r", 255>>, "\x{e9}\x{3c0}", "a\0b", <<"a", 0>>, [$a | $b], x, 'a', ["d", $/, "a"],
          lists:duplicate(256, $n), lists:duplicate(5000, $n), [-1], [16#d800], 1, {a}, "l/a", "m/a"]).

modes() ->
    Modes = [pick([read, read, write, write, append, exclusive, raw, raw, raw, binary, binary, read_ahead, {read_ahead, pick([0, 1, 100, 1 bsl 20, -1, x, 1 bsl 70])}, delayed_write, {delayed_write, pick([0, 10, x, -1]), pick([0, 10, x])},
                   sync, compressed, directory, {encoding, pick([utf8, latin1, unicode, utf16, {utf16, little}, x])}, ram, x, {x, 1}]) || _ <- lists:seq(1, n(4))],
    case n(15) of 1 -> Modes ++ x; 2 -> x; _ -> Modes end.

size() -> pick([0, 1, 2, 5, 10, 100, 5000, 100000, -1, x, 1.0, 1 bsl 31, 1 bsl 62, 1 bsl 64, 1 bsl 70]).
small_offset() -> pick([0, 1, 10, 4096, -1, x, 1 bsl 70]).
offset() -> pick([0, 0, 1, 5, 10, 100, 1 bsl 31, 1 bsl 40, 1 bsl 62, (1 bsl 63) - 1, 1 bsl 63, 1 bsl 64, -1, -(1 bsl 70), x, 1.5]).
%% Nothing is written so far out that a copy of the file would have no end.
write_offset() -> pick([0, 0, 1, 5, 10, 100, 1 bsl 63, 1 bsl 64, -1, -(1 bsl 70), x, 1.5]).
place() -> pick([bof, cur, eof, 0, 3, 100, -1, {bof, write_offset()}, {cur, pick([-1, 0, 1, 100, -(1 bsl 62)])}, {eof, pick([-1, -3, 0, 10, x])}, {x, 1}, x, 1 bsl 70]).
data() -> pick(["abc", <<"defgh">>, ["x", <<"y">>, [$z]], "", <<>>, "line\nline\n", binary:copy(<<"0123456789">>, 1000), [256], [945, 946], x, [<<1:3>>], <<1:3>>, [a], [$a | $b], [$a | <<"b">>], {a}]).

%% Runs a script in a new directory.
used(Script) ->
    {ok, Top} = file:get_cwd(),
    Dir = filename:join(Top, "diff_files." ++ os:getpid()),
    _ = file:del_dir_r(Dir),
    ok = file:make_dir(Dir),
    ok = file:set_cwd(Dir),
    try element(1, lists:mapfoldl(fun step/2, #{}, Script))
    after
        ok = file:set_cwd(Top),
        file:del_dir_r(Dir)
    end.

step({open, N, Name, Modes}, Open) ->
    case attempt(open, [Name, Modes]) of
        {ok, Device} ->
            case Open of #{N := Old} -> file:close(Old); _ -> ok end,
            {ok, Open#{N => Device}};
        Error -> {Error, Open}
    end;
step({close, N}, Open) -> on(N, close, [], Open, maps:remove(N, Open));
step({name, F, Args}, Open) -> {listed(F, attempt(F, Args)), Open};
step({info, F, Name, Options}, Open) -> {known(attempt(F, [Name, Options])), Open};
step(Step, Open) -> [F, N | Args] = tuple_to_list(Step), on(N, F, Args, Open, Open).

on(N, F, Args, Open, Then) ->
    case Open of
        #{N := Device} -> {attempt(F, [Device | Args]), Then};
        _ -> {not_open, Open}
    end.

attempt(F, Args) -> try apply(file, F, Args) of V -> short(V) catch C:R -> {C, short(R)} end.

short({ok, Data}) when is_binary(Data), byte_size(Data) > 64 -> {ok, byte_size(Data), erlang:md5(Data)};
short({badmatch, V}) -> {badmatch, short(V)};
short({bad_return_value, V}) -> {bad_return_value, short(V)};
short(Other) -> Other.

listed(F, {ok, Names}) when F =:= list_dir; F =:= list_dir_all -> {ok, lists:sort(Names)};
listed(_, Result) -> Result.

known({ok, #file_info{size = Size, type = Type, access = Access, mode = Mode, links = Links}}) ->
    {ok, if Type =:= directory -> size; true -> Size end, Type, Access, Mode, if Type =:= directory -> links; true -> Links end};
known(Error) -> Error.
