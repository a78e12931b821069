%% Stand-in for Common Test's ct: what OTP's suites call while a case runs.
-module(ct).
-export([fail/1, fail/2, log/1, log/2, log/3, log/4, pal/1, pal/2, pal/3, pal/4, print/1, print/2, print/3, comment/1, comment/2,
         sleep/1, timetrap/1, get_config/1, get_config/2, get_config/3, require/1, require/2, get_timetrap_info/0, get_status/0,
         capture_start/0, capture_stop/0, capture_get/0, capture_get/1, make_priv_dir/0, notify/2, get_progname/0]).

fail(Reason) -> exit({test_case_failed, Reason}).
fail(Format, Args) -> exit({test_case_failed, lists:flatten(io_lib:format(Format, Args))}).
log(F) -> log(F, []).
log(F, A) when is_list(A) -> test_server:format(F, A);
log(_, F) -> log(F, []).
log(_, F, A) -> log(F, A).
log(_, _, F, A) -> log(F, A).
pal(F) -> log(F, []).
pal(F, A) -> log(F, A).
pal(C, F, A) -> log(C, F, A).
pal(C, I, F, A) -> log(C, I, F, A).
print(F) -> log(F, []).
print(F, A) -> log(F, A).
print(C, F, A) -> log(C, F, A).
comment(C) -> log("~p", [C]), ok.
comment(F, A) -> log(F, A), ok.
sleep(T) -> test_server:sleep(T).
%% The runner's own time limit, one for each VM process, stands in for time traps.
timetrap(_) -> ok.
get_config(_) -> undefined.
get_config(_, Default) -> Default.
get_config(_, Default, _) -> Default.
require(_) -> {error, not_available}.
require(_, _) -> {error, not_available}.
get_timetrap_info() -> {infinity, {false, 1}}.
get_status() -> no_tests_running.
capture_start() -> test_server:capture_start().
capture_stop() -> test_server:capture_stop().
capture_get() -> test_server:capture_get().
capture_get(_) -> test_server:capture_get().
make_priv_dir() -> ok.
notify(_, _) -> ok.
get_progname() ->
    case init:get_argument(progname) of {ok, [[Program]]} -> Program; _ -> no_prog_name end.
