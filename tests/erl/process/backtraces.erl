%% The stack of a process as text: process_info(P, backtrace), erlang:process_display/2.
-module(backtraces).
-export([main/0, waits/2, caught/1, deep/1]).

waits(X, Y) -> receive never -> {X, Y} end.
caught(X) -> Y = catch waits(X, [a, "abc", <<"b">>, 1.5, {1 bsl 70}]), {ok, Y, X}.
tried(X) -> try waits(X, X) of Y -> {Y, X} catch error:E -> {X, E} after put(x, X) end.
deep(0) -> waits(0, 0);
deep(N) -> [N | deep(N - 1)].

plain(Text) ->
    lists:foldl(fun({Re, To}, T) -> re:replace(T, Re, To, [global, {return, binary}]) end, Text,
                [{"0x[0-9a-f]{16}", "0x"}, {" \\+ [0-9]+\\)", ")"}, {"<0\\.[0-9]+\\.0>", "<pid>"}]).

show(F) ->
    P = spawn(F),
    timer:sleep(20),
    {backtrace, B} = process_info(P, backtrace),
    exit(P, kill),
    io:format("~s~n", [plain(B)]).

main() ->
    show(fun() -> waits(1, #{}) end),
    show(fun() -> waits(1, 2), ok end),
    show(fun() -> caught([1]) end),
    show(fun() -> tried({x, y}), ok end),
    show(fun() -> deep(3) end),
    show(fun() -> lists:map(fun(X) -> timer:sleep(X) end, [100000, 1]) end),
    P = spawn(fun() -> waits(1, 2), ok end),
    [t:c(io_lib:format("~0p", [A]), fun() -> apply(erlang, process_display, A) end) || A <- [[x, backtrace], [P, x], [self(), []]]],
    exit(P, kill),
    timer:sleep(10),
    t:c(gone, fun() -> erlang:process_display(P, backtrace) end).
