%% Formats with arguments that mostly suit them, for the differential test: what they give is compared with its nesting.
-module(diff_formats).
-export([call/0, options/0, depth/0, data/0, formatted/1, built/1, written/2, limited/2]).
-import(diff_terms, [n/1, pick/1, many/2, chance/1, term/0, term/1]).

formatted({Format, Args}) -> io_lib:format(Format, Args).

%% In two steps, with changes between them as `logger_formatter` makes them.
built({Format, Args}) ->
    Scanned = io_lib:scan_format(Format, Args),
    {Scanned, io_lib:build_text(Scanned), catch io_lib:build_text([changed(S) || S <- Scanned]), catch io_lib:unscan_format(Scanned)}.

changed(#{control_char := $p, args := [A]} = Spec) -> Spec#{control_char := $P, args := [A, 5], width := 0};
changed(#{control_char := $w, args := [A]} = Spec) -> Spec#{control_char := $W, args := [A, 4]};
changed(Other) -> Other.

written(Term, Options) -> io_lib:write(Term, Options).

limited({Format, Args}, Limit) -> io_lib:format(Format, Args, [{chars_limit, Limit}]).

options() ->
    case n(4) of
        1 -> depth();
        2 -> many(2, fun() -> {depth, depth()} end) ++ many(1, fun() -> {encoding, pick([latin1, unicode, utf8, other])} end);
        3 -> [{encoding, pick([latin1, unicode, utf8])}, {depth, depth()}] ++ many(1, fun() -> {chars_limit, pick([-1, 0, n(50)])} end);
        4 -> pick([[], [depth], [{depth, a}], [x | y], a])
    end.

depth() -> pick([-1, 0, 1, 2, 3, n(6), n(30), -n(10)]).

%% A format and its arguments: now and then one too many, or one less.
call() ->
    Pieces = many(pick([1, 2, 6]), fun piece/0),
    Text = lists:append([T || {T, _} <- Pieces]),
    Args = lists:append([A || {_, A} <- Pieces]),
    Format = case n(8) of
        1 -> try list_to_binary(Text) catch error:badarg -> Text end;
        2 when length(Text) < 200 -> list_to_atom(Text);
        3 -> case chance(20) of true -> Text ++ pick([[], [a], ["ab"], x, [-1], [16#110000], [1 bsl 70]]); false -> Text end;
        _ -> Text
    end,
    {Format, case n(25) of 1 -> Args ++ [a]; 2 when Args =/= [] -> lists:droplast(Args); 3 -> pick([a, [x | y]]); _ -> Args end}.

piece() ->
    case n(4) of
        1 -> {plain(), []};
        _ -> control()
    end.

plain() -> case n(6) of 1 -> "\n"; 2 -> "\t"; 3 -> [pick("åÿ") | "x"]; 4 -> diff_terms:latin() -- "~"; _ -> pick(["name: ", ", ", " => ", "abc\ndef", "", "[", "αβ"]) end.

control() ->
    C = pick("wwwwwwwwwwpppppppppsssssssssssssWWPPbBxX+#bBxX+#efgefgciniin~~~q"),
    {W, WA} = width(),
    {P, PA} = precision(C),
    {Pad, PadA} = pad(W, P),
    {[$~ | W ++ P ++ Pad ++ pick(["", "", "t", "t", "l", "tl", "lt", "tt"]) ++ [C]], WA ++ PA ++ PadA ++ argument(C)}.

width() ->
    case n(10) of
        1 -> {"*", [pick([0, 1, 5, 20, -5, -20, 80, n(300), 30, -60, 3, 0, pick([a, 1.0])])]};
        2 -> {integer_to_list(n(120)), []};
        3 -> {"-*", [pick([12, -12])]};
        5 -> {"-" ++ integer_to_list(n(40)), []};
        4 -> {pick(["0", "1", "-1", "-0", "-", "007", "80", "10"]), []};
        _ -> {"", []}
    end.

%% (None that is negative: OTP fills such fields without end.)
precision(C) ->
    case n(10) of
        1 -> {".*", [pick([0, 1, 2, 8, 10, 16, n(40), 3, 12, 20, 7, 1, 2, pick([a, 1])])]};
        2 -> {"." ++ integer_to_list(number(C)), []};
        3 -> {"." ++ integer_to_list(number(C)), []};
        4 -> {".", []};
        _ -> {"", []}
    end.

number(C) when C =:= $e; C =:= $f; C =:= $g -> n(30) - 1;
number(C) when C =:= $p; C =:= $P -> pick([0, 1, n(80), n(200)]);
number(C) when C =:= $s; C =:= $w -> n(25) - 1;
number(_) -> n(38) - 1.

pad(_, "") -> case n(12) of 1 -> {"..x", []}; 2 -> {"..*", [pick([$0, $\n, 16#e5, 16#3bb, a, [], [$a]])]}; _ -> {"", []} end;
pad(_, _) -> case n(5) of 1 -> {".0", []}; 2 -> {".*", [pick([$-, $., $\t, 1 bsl 64])]}; 3 -> {"..", []}; _ -> {"", []} end.

argument($w) -> [data()];
argument($p) -> [data()];
argument($W) -> [data(), depth()];
argument($P) -> [data(), depth()];
argument($s) -> [case n(6) of 1 -> diff_terms:chardata(); 2 -> diff_terms:iodata(); 3 -> diff_terms:atom(); 4 -> text(); 5 -> nested(); 6 -> case n(4) of 1 -> term(); _ -> diff_terms:latin() end end];
argument(C) when C =:= $e; C =:= $f; C =:= $g -> [case n(20) of 1 -> diff_terms:int(); 2 -> term(0); _ -> diff_terms:float() end];
argument(C) when C =:= $x; C =:= $X -> [diff_terms:int(), pick(["0x", "16#", '0x', 'αβ', <<"0x">>, [], ["a", [$b | []]], [16#3bb], [16#d800], [$a | $b], [<<"x">>], 1, [16#ffff], "-"])];
argument(C) when C =:= $b; C =:= $B; C =:= $+; C =:= $# -> [case n(20) of 1 -> 1.5; 2 -> a; _ -> diff_terms:int() end];
argument($c) -> [case n(4) of 1 -> diff_terms:int(); 2 -> diff_terms:char(); 3 -> pick([$a, -1, 256, 300, a]); 4 -> $z end];
argument($i) -> [term(1)];
argument(_) -> [].

nested() -> case n(3) of 1 -> [nested() | diff_terms:bin()]; 2 -> many(2, fun nested/0); 3 -> text() end.
text() -> pick(["", "a", "hello world", <<"bytes">>, <<"åäö"/utf8>>, "åäö", [229, [228 | <<"x">>], []], "a\r\nb\tc", <<"a\r\nb">>, "λόγος", <<"λόγος"/utf8>>, [$e, 16#301, $x], <<255, 1>>, 'an atom', lists:duplicate(n(100), $x)]).

%% Terms as reports and logs have them, too.
data() ->
    case n(8) of
        1 -> [{K, term(1)} || K <- many(6, fun diff_terms:atom/0)];
        2 -> #{pick([a, "k", <<"key">>, 1]) => data(), diff_terms:key() => term(1)};
        3 -> list_to_tuple([pick([state, record, ok, error]) | many(5, fun() -> term(1) end)]);
        4 -> text();
        5 -> {data(), data()};
        6 -> many(30, fun diff_terms:small/0);
        _ -> term(n(3))
    end.
