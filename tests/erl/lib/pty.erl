%% A terminal for programs under test: `script` makes it, this module is what would show it.
%%
%% The screen has no end: rows are counted from where it began. It knows what shells write: text, carriage return, line feed,
%% backspace, movements of the cursor, clearing, deleting and inserting characters. Wide characters take two places.
-module(pty).
-export([start/1, start/2, keys/2, until/2, finish/1, settle/1, settle/2, show/2, screen/1, rows/1, cursor/1, clear/1, stop/1, size/3, os_pid/1, ended/1, raw/1]).

-record(s, {port, pid, cols = 80, cells = #{}, at = {0, 0}, edge = false, rest = <<>>, bells = 0, top = 0, ended = false, raw = [], sent = false}).

%% Starts the VM under test in a terminal.
start(Flags) -> start(Flags, []).

start(Flags, Options) ->
    Get = fun(K, D) -> proplists:get_value(K, Options, D) end,
    Cols = Get(cols, 80),
    Program = Get(program, [os:getenv("ERL"), " -boot no_dot_erlang ", Flags]),
    Command = lists:flatten(["stty sane cols ", integer_to_list(Cols), " rows 24; echo $$ >pty.pid; tty >pty.name; ", Get(before, ""), Get(exec, "exec "), Program]),
    Env = [{"TERM", "xterm"}, {"SHELL", "/bin/sh"}, {"ERL_AFLAGS", false} | Get(env, [])],
    file:delete("pty.name"),
    Port = open_port({spawn_executable, os:find_executable("script")}, [binary, exit_status, {args, ["-qec", Command, "/dev/null"]}, {env, Env}]),
    S = #s{port = Port, cols = Cols},
    Prompt = Get(prompt, "1> $"),
    case Prompt of none -> S; _ -> until(S, Prompt) end.

%% Sends what keys send.
keys(S, Text) ->
    catch port_command(S#s.port, unicode_bytes(Text)),
    S#s{sent = true}.

unicode_bytes(B) when is_binary(B) -> B;
unicode_bytes(L) -> unicode:characters_to_binary(L).

%% Takes output until the text of the cursor's row up to the cursor matches. After keys, what stood there before they were
%% answered is no match.
until(S, Pattern) -> until(S, Pattern, erlang:monotonic_time(millisecond) + 20000).

until(S, Pattern, End) ->
    case not S#s.sent andalso re:run(before(S), unicode:characters_to_binary(Pattern), [unicode]) of
        {match, _} -> settle(S, 30);
        _ when S#s.ended =/= false -> S;
        _ ->
            case take(S, 100) of
                quiet ->
                    case erlang:monotonic_time(millisecond) > End of
                        true -> io:format("!! no ~ts in time; the row is ~ts~n", [Pattern, before(S)]), S;
                        false -> until(S, Pattern, End)
                    end;
                S1 -> until(S1, Pattern, End)
            end
    end.

%% Takes output until the program has ended.
finish(#s{ended = X} = S) when X =/= false -> S;
finish(S) -> case take(S, 10000) of quiet -> S; S1 -> finish(S1) end.

%% Takes output until there has been none for some time.
settle(S) -> settle(S, 200).

settle(S, Time) ->
    case take(S, Time) of
        quiet -> S;
        S1 -> settle(S1, Time)
    end.

take(#s{port = P} = S, Time) ->
    receive
        {P, {data, B}} -> feed(S#s{raw = [S#s.raw, B], sent = false}, B);
        {P, {exit_status, X}} -> S#s{ended = X}
    after Time -> quiet
    end.

%% The rows since the last `clear`, and the cursor.
show(Name, S) ->
    t:c(Name, fun() -> {rows(S), cursor(S), S#s.bells} end),
    S.

screen(S) -> {rows(S), cursor(S)}.

rows(#s{cells = Cells, top = Top}) ->
    Last = lists:max([Top | [R || {R, _} <- maps:keys(Cells)]]),
    [row(Cells, R) || R <- lists:seq(Top, Last)].

row(Cells, R) ->
    Columns = lists:sort([C || {R1, C} <- maps:keys(Cells), R1 =:= R]),
    Text = case Columns of [] -> ""; _ -> lists:append([maps:get({R, C}, Cells, " ") || C <- lists:seq(0, lists:last(Columns))]) end,
    string:trim(Text, trailing, " ").

cursor(#s{at = {R, C}, top = Top}) -> {R - Top, C}.

before(#s{cells = Cells, at = {R, C}}) -> unicode:characters_to_binary([maps:get({R, I}, Cells, " ") || I <- lists:seq(0, C - 1)]).

%% What is above the cursor's row is forgotten.
clear(#s{at = {R, _}} = S) -> S#s{top = R, bells = 0, raw = []}.

raw(S) -> iolist_to_binary(S#s.raw).

%% Another size of the terminal.
size(S, Cols, Rows) ->
    {ok, Name} = file:read_file("pty.name"),
    os:cmd(lists:flatten(io_lib:format("stty cols ~w rows ~w <~s", [Cols, Rows, string:trim(Name)]))),
    S#s{cols = Cols}.

%% The process that `start` started.
os_pid(_) ->
    {ok, B} = file:read_file("pty.pid"),
    binary_to_list(string:trim(B)).

ended(#s{ended = X}) -> X.

stop(#s{port = P, ended = false} = S) ->
    os:cmd("kill -9 " ++ os_pid(S) ++ " 2>/dev/null"),
    receive {P, {exit_status, _}} -> ok after 5000 -> ok end,
    catch port_close(P),
    t:flush(),
    ok;
stop(#s{port = P}) ->
    catch port_close(P),
    t:flush(),
    ok.

feed(S, New) ->
    All = <<(S#s.rest)/binary, New/binary>>,
    {Chars, Rest} = decode(All, []),
    chars(Chars, S#s{rest = Rest}).

decode(<<C/utf8, R/binary>>, L) -> decode(R, [C | L]);
decode(B, L) when byte_size(B) < 4 -> case incomplete(B) of true -> {lists:reverse(L), B}; false -> bad(B, L) end;
decode(B, L) -> bad(B, L).

bad(<<C, R/binary>>, L) -> decode(R, [{byte, C} | L]);
bad(<<>>, L) -> {lists:reverse(L), <<>>}.

incomplete(B) -> case unicode:characters_to_list(B) of {incomplete, _, _} -> true; _ -> false end.

chars([], S) -> S;
chars([27 | L] = All, S) ->
    case sequence(L) of
        more -> S#s{rest = unicode:characters_to_binary([C || C <- All, is_integer(C)])};
        {Letter, Numbers, Rest} -> chars(Rest, move(Letter, Numbers, S#s{edge = false}))
    end;
chars([C | L], S) -> chars(L, char(C, S)).

sequence([$[ | L]) -> numbers(L, "");
sequence([C, _ | L]) when C =:= $(; C =:= $) -> {$m, [], L};
sequence([C | L]) -> {{esc, C}, [], L};
sequence([]) -> more.

numbers([C | L], T) when C >= $0, C =< $9; C =:= $;; C =:= $? -> numbers(L, [C | T]);
numbers([C | L], T) -> {C, [list_to_integer(N) || N <- string:lexemes(lists:reverse(T), ";?")], L};
numbers([], _) -> more.

move(Letter, Numbers, #s{at = {R, C}, cols = Cols, cells = Cells} = S) ->
    N = case Numbers of [X | _] when X > 0 -> X; _ -> 1 end,
    case Letter of
        $A -> S#s{at = {max(S#s.top, R - N), C}};
        $B -> S#s{at = {R + N, C}};
        $C -> S#s{at = {R, min(Cols - 1, C + N)}};
        $D -> S#s{at = {R, max(0, C - N)}};
        $G -> S#s{at = {R, N - 1}};
        $J -> S#s{cells = maps:filter(fun({R1, C1}, _) -> R1 < R orelse R1 =:= R andalso C1 < C end, Cells)};
        $K -> S#s{cells = maps:filter(fun({R1, C1}, _) -> R1 =/= R orelse C1 < C end, Cells)};
        $P -> S#s{cells = shift(Cells, R, C, N)};
        $@ -> S#s{cells = shift(Cells, R, C, -N)};
        _ -> S
    end.

%% Deletes N places of a row at a column, or makes room for -N.
shift(Cells, R, C, N) ->
    Place = fun(C1) when C1 < C -> C1; (C1) -> C1 - N end,
    maps:from_list([{case R1 of R -> {R, Place(C1)}; _ -> K end, V} || {{R1, C1} = K, V} <- maps:to_list(Cells), R1 =/= R orelse C1 < C orelse C1 >= C + N]).

char($\r, #s{at = {R, _}} = S) -> S#s{at = {R, 0}, edge = false};
char($\n, #s{at = {R, C}} = S) -> S#s{at = {R + 1, C}, edge = false};
char($\b, #s{at = {R, C}} = S) -> S#s{at = {R, max(0, C - 1)}, edge = false};
char(7, S) -> S#s{bells = S#s.bells + 1};
char($\t, #s{at = {R, C}, cols = Cols} = S) -> S#s{at = {R, min(Cols - 1, (C div 8 + 1) * 8)}};
char(C, S) when is_integer(C), C < 32 -> S;
char({byte, B}, S) -> place(["<", integer_to_list(B, 16), ">"], 1, S);
char(C, #s{at = {R, Col}, cells = Cells} = S) ->
    case width(C) of
        0 ->
            K = case S#s.edge of true -> {R, Col}; false -> {R, max(0, Col - 1)} end,
            K1 = case maps:find(K, Cells) of {ok, ""} -> {R, element(2, K) - 1}; _ -> K end,
            S#s{cells = Cells#{K1 => maps:get(K1, Cells, " ") ++ [C]}};
        W -> place([C], W, S)
    end.

place(Text, W, #s{edge = true, at = {R, _}} = S) -> place(Text, W, S#s{edge = false, at = {R + 1, 0}});
place(Text, 2, #s{at = {R, C}, cols = Cols} = S) when C =:= Cols - 1 -> place(Text, 2, S#s{at = {R + 1, 0}});
place(Text, W, #s{at = {R, C}, cols = Cols, cells = Cells0} = S) ->
    Flat = lists:flatten(Text),
    Cells = case W of 2 -> Cells0#{{R, C} => Flat, {R, C + 1} => ""}; 1 -> Cells0#{{R, C} => Flat} end,
    case C + W of
        Cols -> S#s{cells = Cells, at = {R, Cols - 1}, edge = true};
        Next -> S#s{cells = Cells, at = {R, Next}}
    end.

width(C) when C >= 16#300, C =< 16#36f; C >= 16#200b, C =< 16#200f; C >= 16#fe00, C =< 16#fe0f; C >= 16#20d0, C =< 16#20ff -> 0;
width(C) when C >= 16#1100, C =< 16#115f; C >= 16#2e80, C =< 16#a4cf; C >= 16#ac00, C =< 16#d7a3; C >= 16#f900, C =< 16#faff; C >= 16#fe30, C =< 16#fe6f;
              C >= 16#ff00, C =< 16#ff60; C >= 16#1f300, C =< 16#1f64f; C >= 16#1f900, C =< 16#1f9ff; C >= 16#20000, C =< 16#3fffd -> 2;
width(_) -> 1.
