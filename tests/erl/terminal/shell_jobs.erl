%% The shell on a terminal: Ctrl-G and its commands, the break menu of Ctrl-C, signals of the keyboard, kinds of terminal and locale.
-module(shell_jobs).
-export([main/0]).

main() ->
    ok = file:set_cwd(t:tmp("jobs")),
    jobs(),
    breaks(),
    signals(),
    kinds(),
    ok.

step(Name, Keys, Pattern, S) -> pty:show(Name, pty:until(pty:keys(pty:clear(S), Keys), Pattern)).

jobs() ->
    S0 = pty:start("", [{cols, 60}]),
    S1 = step("ctrl_g", [7], " --> $", S0),
    S2 = step("help", "h\r", " --> $", S1),
    S3 = step("list", "j\r", " --> $", S2),
    S4 = step("start", "s\r", " --> $", S3),
    S5 = step("list_two", "j\r", " --> $", S4),
    S6 = step("connect", "c\r", "1> $", S5),
    S7 = step("second", "second.\r", "2> $", S6),
    S8 = pty:settle(pty:keys(step("again", [7], " --> $", S7), "c 1\r")),
    S9 = pty:show("back", pty:until(pty:keys(S8, "first.\r"), "2> $")),
    S10 = pty:settle(pty:keys(pty:clear(S9), "timer:sleep(infinity).\r")),
    S11 = step("stuck", [7], " --> $", S10),
    S12 = step("interrupt", "i\r", " --> $", S11),
    S13 = pty:show("interrupted", pty:until(pty:keys(pty:clear(S12), "c\r"), "\\d> $")),
    S14 = step("more", [7], " --> $", S13),
    S15 = step("kill_second", "k 2\r", " --> $", S14),
    S16 = step("list_one", "j\r", " --> $", S15),
    S17 = step("unknown", "z\r", " --> $", S16),
    S18 = step("no_job", "c 9\r", " --> $", S17),
    S19 = step("not_number", "c x\r", " --> $", S18),
    S20 = step("start_module", "s lists\r", " --> $", S19),
    S21 = step("remote_bad", "r\r", " --> $", S20),
    S22 = step("remote_none", "r no@where\r", " --> $", S21),
    S23 = step("empty", "\r", " --> $", S22),
    S24 = step("kill_own", "k\r", " --> $", S23),
    S25 = step("list_none", "j\r", " --> $", S24),
    S26 = pty:settle(pty:keys(step("start_again", "s\r", " --> $", S25), "")),
    S27 = step("connect_again", "c\r", "1> $", S26),
    S28 = pty:show("exit", pty:until(pty:keys(pty:clear(S27), "exit(bye).\r"), "2> $")),
    S29 = step("quit", [7], " --> $", S28),
    S30 = pty:finish(pty:keys(pty:clear(S29), "q\r")),
    t:c(quit, fun() -> {pty:rows(S30), pty:ended(S30)} end),
    pty:stop(S30),
    q("q().\r", "q"), q("halt(3).\r", "halt"), q("init:stop(4).\r", "stop"), q([4], "ctrl_d"), q("exit().\r", "exit").

q(Keys, Name) ->
    S = pty:start(""),
    S1 = case Keys of [4] -> pty:settle(pty:keys(pty:clear(S), Keys), 500); "exit" ++ _ -> pty:until(pty:keys(pty:clear(S), Keys), "1> $"); _ -> pty:finish(pty:keys(pty:clear(S), Keys)) end,
    t:c(Name, fun() -> {pty:rows(S1), pty:ended(S1)} end),
    pty:stop(S1).

breaks() ->
    S0 = pty:start("", [{cols, 100}]),
    S1 = pty:settle(pty:keys(pty:clear(S0), [3])),
    pty:show("ctrl_c", S1),
    S2 = pty:show("continue", pty:until(pty:keys(pty:settle(pty:keys(S1, "c\r")), "on.\r"), "2> $")),
    Menu = fun(S, Keys) -> pty:settle(pty:keys(pty:settle(pty:keys(pty:clear(S), [3])), Keys), 400) end,
    Finds = fun(Name, S, Texts) -> t:c(Name, fun() -> [X || X <- Texts, string:find(pty:raw(S), X) =/= nomatch] end), S end,
    S3 = Finds(version, Menu(S2, "v\r"), ["Erlang", "emulator version"]),
    S4 = pty:show("unknown", pty:settle(pty:keys(Menu(S3, "zzz\r"), "c\r"))),
    S5 = Finds(processes, Menu(S4, "p\r"), ["=proc", "init"]),
    S6 = Finds(loaded, Menu(S5, "l\r"), ["lists", "erlang"]),
    S7 = Finds(info, Menu(S6, "i\r"), ["=memory", "total", "atom"]),
    S8 = Finds(tables, Menu(S7, "D\r"), ["=ets", "Table"]),
    S9 = Finds(node, Menu(S8, "d\r"), ["nonode@nohost", "=no_distribution"]),
    S10 = pty:finish(Menu(S9, "a\r")),
    t:c(abort, fun() -> pty:ended(S10) end),
    pty:stop(S10),
    %% Ctrl-C twice.
    A0 = pty:start(""),
    A1 = pty:finish(pty:keys(pty:settle(pty:keys(pty:clear(A0), [3])), [3])),
    t:c(twice, fun() -> {pty:rows(A1), pty:ended(A1)} end),
    pty:stop(A1),
    [begin
         S = pty:settle(pty:keys(pty:clear(pty:start(Flags)), [3]), 1200),
         E = pty:show(["ctrl_c ", Flags], case pty:ended(S) of false -> pty:settle(pty:keys(S, "x.\r"), 600); _ -> S end),
         t:c(["ended ", Flags], fun() -> pty:ended(E) end),
         pty:stop(E)
     end || Flags <- ["+Bc", "+Bd", "+Bi", "+B"]],
    %% Ctrl-C while something runs.
    C0 = pty:start("+Bc"),
    C1 = pty:settle(pty:keys(pty:clear(C0), "timer:sleep(infinity).\r")),
    C2 = pty:show("ctrl_c_running", pty:until(pty:keys(C1, [3]), "2> $")),
    pty:stop(C2).

signals() ->
    S0 = pty:start("", [{program, "sh -i"}, {env, [{"PS1", "$ "}]}, {prompt, "[$] $"}]),
    Erl = os:getenv("ERL"),
    Modes = "stty -a | tr ' ;' '\\n\\n' | grep -e '^-*icanon' -e '^-*echo$' -e '^-*opost' -e '^-*icrnl' | sort | tr '\\n' ' '; echo\r",
    Shown = fun(Name, S) -> t:c(Name, fun() -> [R || R <- pty:rows(S), string:find(R, "icanon") =/= nomatch, string:find(R, "grep") =:= nomatch] end) end,
    S1 = pty:until(pty:keys(S0, [Erl, " -boot no_dot_erlang\r"]), "1> $"),
    %% The terminal is as the shell that was stopped has it.
    S2 = pty:settle(pty:keys(pty:clear(S1), [26]), 400),
    t:c(ctrl_z, fun() -> string:find(pty:raw(S2), "Stopped") =/= nomatch end),
    S3 = pty:settle(pty:keys(pty:clear(S2), "fg\n"), 400),
    S4 = pty:settle(pty:keys(S3, "X = 5.\r"), 400),
    t:c(fg, fun() -> string:find(pty:raw(S4), "5\r\n2> ") =/= nomatch end),
    S5 = pty:until(pty:keys(pty:settle(S4), "halt().\r"), "[$] $"),
    S6 = pty:until(pty:keys(pty:clear(S5), Modes), "[$] $"),
    Shown(modes_after_halt, S6),
    S7 = pty:until(pty:keys(pty:settle(pty:clear(S6)), [Erl, " -boot no_dot_erlang\r"]), "1> $"),
    S8 = pty:settle(pty:keys(pty:clear(S7), [28]), 500),
    t:c(ctrl_backslash, fun() -> [X || X <- ["Quit", "$ "], string:find(pty:raw(S8), X) =/= nomatch] end),
    pty:stop(S8).

kinds() ->
    Try = fun(Name, Flags, Options, Keys) ->
        S = pty:start(Flags, Options),
        S1 = case Name of "bytes" ++ _ -> pty:settle(pty:keys(pty:clear(S), Keys), 500); _ -> pty:until(pty:keys(pty:clear(S), Keys), "2> $") end,
        pty:show(Name, S1),
        pty:stop(S1)
    end,
    Try("dumb", "", [{env, [{"TERM", "dumb"}]}], "{typed, 1}.\r"),
    Try("no_term", "", [{env, [{"TERM", ""}]}], "{typed, 1}.\r"),
    Try("unknown_term", "", [{env, [{"TERM", "no-such-terminal"}]}], "{typed, 1}.\r"),
    Try("oldshell", "-oldshell", [], "{typed, 1}.\r"),
    Try("oldshell_edit", "-oldshell", [], ["{typed", 127, "d, 1}.\r"]),
    [Try(["locale ", L], "", [{env, [{"LC_ALL", L}]}], <<"\"å日\"."/utf8, "\r">>) || L <- ["C", "C.UTF-8", ""]],
    Try("encoding_c", "", [{env, [{"LC_ALL", "C"}]}], "proplists:get_value(encoding, io:getopts()).\r"),
    Try("output_c", "", [{env, [{"LC_ALL", "C"}]}], "io:put_chars([229, 26085, 10]).\r"),
    Try("output_c_ts", "", [{env, [{"LC_ALL", "C"}]}], "io:format(\"~ts~n\", [[229, 26085]]).\r"),
    Try("output_utf8", "", [{env, [{"LC_ALL", "C.UTF-8"}]}], "io:format(\"~ts~n\", [[229, 26085]]).\r"),
    Try("pc_unicode", "+pc unicode", [{env, [{"LC_ALL", "C.UTF-8"}]}], "[26085, 229].\r"),
    %% Input or output is none.
    S = pty:start("", [{exec, "echo '{piped, 1}.' | "}, {prompt, none}]),
    S1 = pty:finish(S),
    t:c(input_piped, fun() -> {tl(pty:rows(S1)), pty:ended(S1)} end),
    pty:stop(S1).
