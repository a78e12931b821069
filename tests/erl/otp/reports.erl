%% The text of crash and supervisor reports and of error logger output on standard output.
-module(reports).
-export([main/0, init/1, handle_call/3, handle_cast/2]).

init(X) -> {ok, X}.
handle_call(crash, _, S) -> {reply, 1 + t:id(S), S}.
handle_cast(_, S) -> {noreply, S}.

main() ->
    %% Pids and times differ: the template leaves times out, the filter below replaces pids.
    S = self(),
    Format = #{template => [level, "|", msg, "\n"], single_line => false, time_offset => "Z"},
    logger:remove_handler(default),
    ok = logger:add_handler(h, logger_to_me, #{config => #{to => S, format => Format}}),
    logger:set_primary_config(level, all),
    show(plain_crash, fun() -> spawn(fun() -> t:id(1) + t:id(a) end) end),
    show(plain_throw, fun() -> spawn(fun() -> throw(ball) end) end),
    show(exit_reason, fun() -> spawn(fun() -> exit(quiet) end) end),
    show(undef, fun() -> spawn(nomod, nofun, [x]) end),
    show(proc_lib, fun() -> proc_lib:spawn(fun() -> exit(oops) end) end),
    show(gen_server, fun() -> {ok, P} = gen_server:start(?MODULE, a, []), catch gen_server:call(P, crash) end),
    show(message, fun() -> logger:error("error ~p", [{x, "y"}]), logger:notice(#{report => 1}), error_logger:warning_report([{a, b}]), error_logger:info_msg("i ~w", [j]) end),
    show(badformat, fun() -> logger:error("~p ~p", [a]) end).

show(Name, F) ->
    F(),
    [io:format("~s: ~ts~n", [Name, clean(T)]) || {text, T} <- t:flush(400)].

clean(T) ->
    lists:foldl(fun({P, R}, X) -> re:replace(X, P, R, [global, unicode, {return, list}]) end, unicode:characters_to_list(T),
                [{"<0\\.\\d+\\.\\d+>", "<pid>"}, {"#Ref<[^>]*>", "<ref>"}, {"#Fun<([a-z_]+)[^>]*>", "<fun \\1>"},
                 {"(heap_size|stack_size|reductions|message_queue_len): \\d+", "\\1: N"}, {"~p", "P"}, {"\\n", "\\\\n"}, {"/[^ \"]*/(erl/)", "\\1"}]).
