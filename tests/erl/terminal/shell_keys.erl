%% The shell on a terminal: keys that edit, history, completion, wide characters, lines over several rows, what comes meanwhile.
-module(shell_keys).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("keys")),
    Up = "\e[A", Down = "\e[B", Right = "\e[C", Left = "\e[D",
    N = fun(K, X) -> lists:duplicate(K, X) end,
    S0 = pty:start("", [{cols, 40}]),
    %% Keys of one line, and what the line then gives.
    Edits = [{"left", ["\"abc", Left, Left, "x\"."]}, {"home_end", ["bc\".", "\e[H", "\"a", "\e[F"]}, {"ctrl_a_e", ["bc\"", 1, "\"a", 5, "."]}, {"home_1", ["bc\".", "\e[1~", "\"a", "\e[4~"]}, {"home_o", ["bc\".", "\eOH", "\"a", "\eOF"]},
             {"backspace", ["\"abc", 127, 127, "x\"."]}, {"ctrl_h", ["\"abc", 8, 8, "x\"."]}, {"delete", ["\"abc\".", Left, Left, Left, Left, "\e[3~"]}, {"ctrl_d", ["\"abc\".", Left, Left, Left, Left, 4]},
             {"ctrl_k_y", ["\"abc\".", 1, 11, 25]}, {"ctrl_k_y_twice", ["\"ab", 1, 6, 11, 25, 25, "\"."]}, {"ctrl_u", ["\"abc\".", 21, "\"def\"."]}, {"ctrl_w", ["\"abc def", 23, "x\"."]}, {"ctrl_w_twice", ["\"a b c d", 23, 23, "x\"."]},
             {"ctrl_t", ["\"acb", 20, "\"."]}, {"ctrl_t_inside", ["\"abcd\".", N(4, Left), 20]}, {"ctrl_b_f", ["\"abc", 2, 2, "x", 6, "y\"."]}, {"alt_b", ["\"abc def\".", "\eb\eb", "x"]}, {"alt_f", ["\"abc def\".", 1, "\ef", "x\ef", "y"]}, {"alt_d", ["\"abc def\".", 1, 6, "\ed", "x"]}, {"alt_bs", ["\"abc def", "\e\d", "x\"."]},
             {"ctrl_left", ["\"abc def\".", "\e[1;5D\e[1;5D", "x"]}, {"ctrl_right", ["\"abc def\".", 1, "\e[1;5C", "x"]}, {"ctrl_5d", ["\"abc def\".", "\e[5D\e[5D", "x"]}, {"alt_left", ["\"abc def\".", "\e[1;3D", "x"]},
             {"ctrl_l", ["\"ab", 12, "c\"."]}, {"ctrl_g_unknown", ["\"abc\"", "\e[99~", "."]}, {"alt_t", ["\"ab cd", "\et", "\"."]}, {"unknown_escape", ["\"a\ezb\"."]}, {"ctrl_x", ["\"a", 24, "b\"."]}, {"ctrl_v", ["\"a", 22, "b\"."]}, {"ctrl_q", ["\"a", 17, "b\"."]}, {"ctrl_o", ["\"a", 15, "b\"."]}, {"page_up", ["\"a\e[5~b\e[6~\"."]}, {"insert", ["\"ab\e[2~c\"."]}, {"f1", ["\"ab\eOPc\"."]}, {"shift_tab", ["\"ab\e[Zc\"."]},
             {"ends", [N(3, Left), N(3, Right), 127, "\"a\"", N(3, Right), ".", 4]}, {"ctrl_c_none", ["ok."]}],
    S1 = lists:foldl(fun({Name, Keys}, S) -> line(Name, Keys, S) end, S0, Edits),
    S2 = pty:keys(line("history_1", ["{first, 1}."], S1), ""),
    S3 = line("history_2", ["{second, 2}."], S2),
    Histories = [{"up", [Up]}, {"up_up", [Up, Up, Up]}, {"up_down", [Up, Up, Down]}, {"ctrl_p", [16]}, {"ctrl_n", [16, 16, 14]}, {"up_edit", [Up, Left, Left, "5"]}, {"down_first", [Down, "ok."]}, {"typed_then_up", ["abc", Up, Down, "."]}, {"up_end", [N(100, Up), N(99, Down), 1, 11, "top."]}, {"alt_p", ["\e[A\e[A\e[B\e[B", "here."]}],
    S4 = lists:foldl(fun({Name, Keys}, S) -> line(Name, Keys, S) end, S3, Histories),
    %% Ctrl-R.
    S5 = pty:show("search", pty:settle(pty:keys(pty:clear(S4), [18, "first"]))),
    S6 = pty:show("search_again", pty:settle(pty:keys(S5, [18]))),
    S7 = pty:show("search_taken", pty:until(pty:keys(S6, "\r"), "> $")),
    S8 = pty:show("search_left", pty:settle(pty:keys(pty:clear(S7), [18, "zzz"]))),
    S9 = pty:show("search_done", pty:settle(pty:keys(S8, [27, "[C"]))),
    %% The line is still there: away with it.
    S10 = line("after_search", [1, 11, "ok."], pty:clear(S9)),
    pty:stop(S10),
    completion(),
    wide(Left, Right, N),
    long(Left, N),
    meanwhile(),
    ok.

line(Name, Keys, S) ->
    S1 = pty:settle(pty:keys(pty:clear(S), [Keys]), 50),
    S2 = pty:until(pty:keys(S1, "\r"), "\\d> $"),
    pty:show(Name, S2).

completion() ->
    S0 = pty:start("", [{cols, 60}]),
    S1 = lists:foldl(fun({Name, Keys}, S) ->
        pty:show(Name, pty:settle(pty:keys(pty:settle(pty:keys(pty:clear(S), [21, 1, 11]), 100), Keys), 200))
    end, S0, [{"module", "erl_sca\t"}, {"module_many", "lis\t"}, {"function", "lists:rev\t"}, {"function_many", "lists:key\t"}, {"whole", "lists:reverse\t"}, {"none", "lists:zzz\t"}, {"no_module", "zzzz:\t"}, {"middle", "X = lists:rev\t"}, {"quoted", "'Elixir\t"}, {"bif", "spawn_l\t"}, {"nothing", "\t"}, {"twice", "lists:key\t\t"}, {"paren", "lists:reverse(\t"}, {"variable", "Va\t"}]),
    S2 = pty:until(pty:keys(pty:settle(pty:keys(S1, [21, 1, 11])), "Variable = 1, Variant = 2.\r"), "2> $"),
    S3 = lists:foldl(fun({Name, Keys}, S) -> pty:show(Name, pty:settle(pty:keys(pty:settle(pty:keys(pty:clear(S), [21, 1, 11]), 100), Keys), 200)) end, S2, [{"variables", "Var\t"}, {"variable_one", "Varia\t"}, {"variable_end", "{Variab\t"}]),
    pty:stop(S3).

wide(Left, Right, N) ->
    S0 = pty:start("", [{cols, 20}, {env, [{"LC_ALL", "C.UTF-8"}]}]),
    S1 = lists:foldl(fun({Name, Keys}, S) -> line(Name, Keys, S) end, S0,
        [{"cjk", ["\"日本語\"."]}, {"cjk_left", ["\"日本語\".", N(3, Left), "x"]}, {"cjk_delete", ["\"日本語\".", N(3, Left), 127]}, {"cjk_home", ["日本語\".", 1, "\"", 5]}, {"cjk_wrap", ["\"日本語日本語日本語日本語\"."]}, {"cjk_wrap_odd", ["\"a日本語日本語日本語日本語\"."]},
         {"cjk_wrap_delete", ["\"日本語日本語日本語日本語\".", N(6, Left), N(4, 127)]}, {"emoji", ["\"😀😁\"."]}, {"emoji_left", ["\"😀😁\".", N(3, Left), "x"]}, {"combining", ["\"e\x{301}e\x{301}\"."]}, {"combining_left", ["\"e\x{301}ab\".", N(4, Left), "x"]}, {"combining_delete", ["\"e\x{301}\".", N(2, Left), 127]}, {"combining_word", ["\"ae\x{301} b\".", N(3, Left), 23]}, {"kill", ["\"日本\".", 1, 11, 25]}, {"swap", ["\"日本", 20, "\"."]}, {"words", ["\"日本 語語\".", "\eb\eb", "x"]},
         {"latin", ["\"åäö\".", N(3, Left), "x"]}, {"history", ["\e[A"]}]),
    pty:stop(S1).

long(Left, N) ->
    S0 = pty:start("", [{cols, 20}]),
    S1 = lists:foldl(fun({Name, Keys}, S) -> line(Name, Keys, S) end, S0,
        [{"edge", ["\"0123456789abc\"", "."]}, {"edge_1", ["\"0123456789abcd\"."]}, {"edge_back", ["\"0123456789abcdef", 127, 127, 127, "\"."]}, {"rows", ["\"", N(5, "0123456789"), "\"."]}, {"rows_home", [N(5, "0123456789"), "\".", 1, "\"", 5]}, {"rows_insert", ["\"", N(5, "0123456789"), "\".", N(30, Left), "xyz"]}, {"rows_delete", ["\"", N(5, "0123456789"), "\".", N(30, Left), N(10, 127)]}, {"rows_kill", ["\"", N(5, "0123456789"), N(20, Left), 11, "\"."]}, {"rows_word", ["\"0123456789 abcdefghijkl mno", 23, 23, "\"."]}, {"rows_history", ["\e[A\e[A\e[B", 5]}, {"rows_ctrl_u", ["\"", N(5, "0123456789"), 21, "ok."]}, {"rows_redraw", ["\"", N(4, "0123456789"), 12, "\"."]}]),
    S2 = pty:until(pty:keys(pty:clear(S1), ["length(\"", lists:duplicate(3000, $x), "\").\r"]), "\\d> $"),
    t:c(pasted, fun() -> lists:last(lists:droplast(pty:rows(S2))) end),
    S3 = pty:until(pty:keys(pty:clear(S2), ["{a,\r b,\r c}.\r"]), "\\d> $"),
    pty:show("several_lines", S3),
    S4 = pty:until(pty:keys(pty:clear(S3), ["1. 2. 3.\r"]), "18> $"),
    pty:show("several_expressions", S4),
    S5 = pty:size(pty:settle(pty:keys(pty:clear(S4), ["\"0123456789"])), 60, 24),
    S6 = pty:until(pty:keys(pty:settle(S5), ["abcdefghijklmnopqrstuvwxyz\"."]), "\\.$"),
    S7 = pty:show("resized", pty:until(pty:keys(pty:settle(pty:keys(S6, [N(30, Left), "XY", 5])), "\r"), "\\d> $")),
    S8 = pty:until(pty:keys(pty:clear(S7), ["[io:columns(), io:rows()].\r"]), "\\d> $"),
    pty:show("sizes", S8),
    pty:stop(S8).

meanwhile() ->
    S0 = pty:start("", [{cols, 40}]),
    Run = fun(Name, Keys, S) -> pty:show(Name, pty:until(pty:keys(pty:clear(S), Keys), "\\d> $")) end,
    S1 = pty:until(pty:keys(S0, "spawn(fun() -> receive after 800 -> io:format(\"meanwhile~n\") end end), ok.\r"), "2> $"),
    S2 = pty:keys(pty:clear(S1), "{typed, be"),
    S3 = pty:settle(S2, 1500),
    S4 = pty:show("output_while_editing", S3),
    S5 = Run("then", "fore}.\r", S4),
    S6 = Run("get_line", "io:get_line(\"name? \").\rsome body\r", S5),
    S7 = pty:until(pty:keys(pty:clear(S6), "io:get_line(\"name? \").\r"), "name\\? $"),
    S8 = pty:show("get_line_edited", pty:until(pty:keys(S7, ["abc", 127, "\e[D", "x", 5, "\r"]), "\\d> $")),
    S9 = pty:until(pty:keys(pty:clear(S8), "io:get_password().\r"), "^$"),
    S10 = pty:show("get_password", pty:until(pty:keys(pty:settle(S9), "secret\r"), "\\d> $")),
    S11 = Run("get_chars", "io:get_chars(\"> \", 3).\rabcdef\r", S10),
    S12 = Run("fread", "io:fread(\"f \", \"~d ~s\").\r12 xy\r", pty:settle(S11)),
    S13 = Run("read", "io:read(\"t \").\r{a, b}.\r", S12),
    S14 = Run("tabs_and_colours", "io:put_chars(\"a\\tb\\e[31mred\\e[0mc\\n\").\r", S13),
    S15 = Run("returns", "io:put_chars(\"abc\\rx\\ny\\bz\\n\").\r", S14),
    S16 = Run("no_line_end", "io:put_chars(\"abc\").\r", S15),
    S17 = Run("setopts", "io:setopts([{echo, false}]), A = io:get_line(\"q \"), io:setopts([{echo, true}]), A.\rhidden\r", S16),
    S18 = Run("getopts", "lists:sort([K || {K, _} <- io:getopts()]).\r", S17),
    S19 = Run("encoding", "proplists:get_value(encoding, io:getopts()).\r", S18),
    pty:stop(S19).
