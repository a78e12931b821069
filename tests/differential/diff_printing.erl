%% Terms printed in lines, for the differential test: the exact deep list that each VM gives.
%%
%% Terms are like those of programs (records, options, nested maps, text, reports), of any type among them, and now and then
%% so large that they take many lines; columns and lengths of lines are small and large.
-module(diff_printing).
-export([term/0, options/0, chars/0, printed/2, sorted/2, texts/2]).
-import(diff_terms, [n/1, pick/1, chance/1, many/2]).

printed(Term, Options) -> io_lib_pretty:print(Term, Options).

%% By the older entry.
sorted(Term, [A, B, C]) -> [io_lib:print(Term, A, B, C), io_lib:write_string(lists:flatten(io_lib:print(Term)))].

%% What io_lib's functions on characters say of something that mostly is some, and of an atom.
texts(Chars, Atom) ->
    [{F, try io_lib:F(Chars) catch Class:Reason -> {Class, Reason} end} ||
        F <- [write_string, write_latin1_string, write_string_as_latin1, printable_list, printable_unicode_list, printable_latin1_list, char_list, latin1_char_list, deep_char_list,
              deep_latin1_char_list, chars_length]] ++
    [{F, try io_lib:F(Chars, Quote) catch Class:Reason -> {Class, Reason} end} || F <- [write_string, write_latin1_string, write_string_as_latin1], Quote <- [$', $a, 955]] ++
    [{F, try io_lib:F(Atom) catch Class:Reason -> {Class, Reason} end} || F <- [write_atom, write_atom_as_latin1, write_string]].

%% Flat and deep, with other things now and then.
chars() ->
    case n(8) of
        1 -> diff_terms:term();
        2 -> diff_terms:chardata();
        3 -> diff_terms:string();
        4 -> diff_terms:latin();
        5 -> [printable(), [], [printable() | printable()], diff_terms:char()];
        6 -> printable() ++ pick([a, [a], [1.0], <<"b">>, [-1], [16#110000], [1 bsl 70], [16#ffff], [16#d800]]);
        _ -> printable()
    end.

options() ->
    case n(12) of
        1 -> many(3, fun wrong/0);
        2 -> many(10, fun option/0) ++ many(2, fun wrong/0);
        3 -> many(2, fun wrong/0) ++ many(5, fun option/0);
        _ -> many(6, fun option/0)
    end.

option() ->
    pick([{column, column()}, {line_length, width()}, {line_length, width()}, {depth, depth()}, {line_max_chars, pick([-1, width(), 60])},
          {encoding, pick([latin1, latin1, utf8, unicode])}, {strings, diff_terms:bool()}, {chars_limit, -1},
          {record_print_fun, fun(r, N) -> lists:sublist([one, two, 'Three', four, five, six], N); (_, _) -> no end}]).

wrong() ->
    pick([{column, 1.0}, {depth, a}, {line_length, -5}, {line_length, []}, {chars_limit, n(300)}, {chars_limit, 0}, {strings, 1}, {encoding, x}, depth, {depth}, {depth, 1, 2},
          {record_print_fun, fun(_, _) -> no end}, {record_print_fun, fun(r, N) -> lists:sublist([one, two, 'Three'], N); (_, _) -> no end}, {record_print_fun, none},
          {line_max_chars, x}, {a, b}]).

column() -> pick([1, 1, n(10), n(60), n(200), 0, -3]).
width() -> pick([80, 80, n(20), n(60), n(120), 40, 60, 1, 0, 1000]).
depth() -> pick([-1, -1, n(6), n(12), n(40), 1, 0, -7]).

term() ->
    case n(12) of
        1 -> diff_terms:term(5);
        2 -> diff_terms:map();
        3 -> diff_terms:bits();
        4 -> printable();
        5 -> diff_terms:proper();
        _ -> like(pick([1, 2, 3, 4, 5, 6]))
    end.

%% What programs print.
like(Depth) when Depth =< 0 -> leaf();
like(Depth) ->
    Deeper = fun() -> like(Depth - pick([1, 1, 2])) end,
    case n(16) of
        N when N =< 3 -> list_to_tuple([name() | many(5, Deeper)]);
        N when N =< 5 -> many(6, Deeper);
        N when N =< 7 -> maps:from_list(many(6, fun() -> {pick([name(), binary_name(), leaf()]), Deeper()} end));
        8 -> many(5, fun() -> {name(), Deeper()} end);
        9 -> list_to_tuple(many(6, Deeper));
        10 -> many(4, Deeper) ++ Deeper();
        11 -> maps:from_list(many(3, fun() -> {Deeper(), Deeper()} end));
        12 -> many(30, fun leaf/0);
        13 -> [Same || Same <- [Deeper()], _ <- lists:seq(1, n(4))];
        _ -> leaf()
    end.

leaf() ->
    case n(14) of
        1 -> diff_terms:int();
        2 -> diff_terms:float();
        3 -> diff_terms:bin();
        4 -> diff_terms:term(1);
        N when N =< 6 -> name();
        7 -> printable();
        N when N =< 9 -> pick([0, 1, 42, 1000000, -5]);
        10 -> binary_name();
        11 -> diff_terms:atom();
        12 -> pick([[], {}, #{}, <<>>, <<1:1>>, "", [0], {a}, [$a | b], {{}}, {a, b}]);
        13 -> list_to_binary(lists:duplicate(n(60), n(200)));
        14 -> unicode:characters_to_binary(printable())
    end.

name() ->
    pick([ok, error, state, child, supervisor, pid, id, name, registered_name, mfargs, restart_type, shutdown, child_type, a_rather_long_name_of_a_field, x, 'Quoted atom', undefined, 'maybe', 'else', while,
          r, 'λ', 'é', start_error, 'two\nlines']).
binary_name() -> pick([<<"id">>, <<"name">>, <<"created_at">>, <<"https://a.b/c?d">>, <<"söt"/utf8>>, <<"latin ", 246>>, <<"日本語"/utf8>>, <<"e", 16#301/utf8>>, <<0, 1, 2>>]).

printable() ->
    Char = pick([fun() -> pick("abcdefgh XYZ 0123.,\"\\'") end, fun() -> pick("abc\n\t\r\b\v\f\e\d~|{}") end, fun() -> pick("abåäöÿ×÷ß ") end, fun() -> pick([$a, $λ, $ж, $中, $한, $€, $x, $ ]) end,
                 fun() -> pick([$a, 16#301, $b, 16#1f468, 16#200d, 16#1f3fb, $c, $€]) end, fun diff_terms:char/0, fun() -> $a end]),
    many(pick([5, 20, 100]), Char).
