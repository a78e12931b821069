%% Drivers that have others wait: with their start, and by being busy.
-module(waiting_drivers).
-export([main/0]).

main() ->
    process_flag(trap_exit, true),
    ok = file:set_cwd(t:tmp("waiting_drivers")),
    load("waits", ""),
    t:each(open, ["", " einval", " badarg", " errno", " fails", " refuses"], fun(A) -> opened("waits" ++ A) end),
    load("busies", "-DFLAGS=0 '-DNAME=\"busies\"'"),
    load("endless", "-DFLAGS=ERL_DRV_FLAG_NO_BUSY_MSGQ '-DNAME=\"endless\"'"),
    [t:c(io_lib:format("limits ~s ~p ~p", [D, Low, High]), fun() -> with(D, fun(P) -> port_control(P, 3, [Low, High]), flushed() end) end)
     || D <- ["busies", "endless"], {Low, High} <- [{0, 0}, {10, 20}, {20, 10}, {10, 0}, {0, 10}, {255, 0}, {0, 255}]],
    t:c(limits_for_ever, fun() -> with("busies", fun(P) -> port_control(P, 3, [255, 255]), port_control(P, 3, [1, 2]), flushed() end) end),
    t:c(limits_of_option, fun() -> with("busies", [{busy_limits_msgq, {7, 9}}], fun(P) -> port_control(P, 3, [0, 0]), flushed() end) end),
    t:c(limits_disabled, fun() -> with("busies", [{busy_limits_msgq, disabled}], fun(P) -> port_control(P, 3, [5, 6]), flushed() end) end),
    t:c(busy_message, fun() -> with("busies", fun(P) -> busy(P, fun(Owner) -> P ! {Owner, {command, "message"}} end) end) end),
    t:c(busy_command, fun() -> with("busies", fun(P) -> busy(P, fun(_) -> port_command(P, "command") end) end) end),
    t:c(busy_monitor, fun() -> with("busies", fun told_of_busy/1) end),
    t:c(busy_closed, fun() -> with("busies", fun closed_while_busy/1) end),
    t:c(monitors, fun() -> with("busies", fun monitors/1) end),
    t:c(vector, fun() -> with("busies", fun vector/1) end).

load(Name, Flags) ->
    Source = filename:join(filename:dirname(proplists:get_value(source, module_info(compile))), "waits.c"),
    "" = os:cmd(["cc -shared -fPIC -O1 ", Flags, " -I", code:root_dir(), "/usr/include -o driver.new ", Source, " && mv driver.new ", Name, ".so"]),
    ok = erl_ddll:load_driver(".", Name).

opened(Command) ->
    Answer = try open_port({spawn_driver, Command}, []) catch C:R -> {C, R} end,
    Links = element(2, process_info(self(), links)),
    _ = [port_close(Answer) || is_port(Answer), erlang:port_info(Answer) =/= undefined],
    {is_port(Answer) orelse Answer, is_port(Answer) andalso lists:member(Answer, Links), flushed()}.

with(Name, Fun) -> with(Name, [], Fun).
with(Name, Options, Fun) ->
    P = open_port({spawn_driver, Name}, [binary | Options]),
    try Fun(P) after catch port_close(P), flushed() end.

%% The messages that are there and come soon, without the ports in them.
flushed() ->
    receive
        {P, {data, D}} when is_port(P) -> [{data, D} | flushed()];
        {'EXIT', P, R} when is_port(P) -> [{exit, R} | flushed()];
        X -> [X | flushed()]
    after 30 -> []
    end.

%% Where a sender stands that finds the port busy, and whether it goes on.
busy(P, Send) ->
    port_control(P, 1, [1]),
    Me = self(),
    {Pid, M} = spawn_monitor(fun() -> Send(Me) end),
    Standing = standing(Pid),
    Before = flushed(),
    port_control(P, 1, [0]),
    receive {'DOWN', M, _, _, R} -> {Standing, Before, R, flushed()} end.

standing(Pid) ->
    timer:sleep(50),
    {_, {M, F, _}} = process_info(Pid, current_function),
    {element(2, process_info(Pid, status)), M =:= erlang orelse M =:= erts_internal, lists:member(F, [send, port_command, bif_return_trap])}.

told_of_busy(P) ->
    erlang:system_monitor(self(), [busy_port]),
    R = busy(P, fun(Owner) -> P ! {Owner, {command, "told"}} end),
    erlang:system_monitor(undefined),
    {Standing, Messages, normal, After} = R,
    {Standing, [case X of {monitor, Pid, busy_port, Q} when is_pid(Pid) -> Q =:= P; X -> X end || X <- Messages], After}.

%% The port ends while somebody waits for it.
closed_while_busy(P) ->
    port_control(P, 1, [1]),
    Me = self(),
    Sends = [fun() -> P ! {Me, {command, "x"}}, sent end, fun() -> port_command(P, "x") end],
    Senders = [spawn_monitor(fun() -> exit(try Send() catch C:R -> {C, R} end) end) || Send <- Sends],
    timer:sleep(30),
    port_close(P),
    {[receive {'DOWN', M, _, _, R} -> R end || {_, M} <- Senders], flushed()}.

monitors(P) ->
    Seen = fun() -> {process_info(self(), monitored_by) =:= {monitored_by, [P]}, process_info(self(), monitored_by) =:= {monitored_by, []},
                     erlang:port_info(P, monitors) =:= {monitors, [{process, self()}]}} end,
    A = Seen(),
    port_control(P, 4, ""),
    B = Seen(),
    port_control(P, 5, ""),
    C = Seen(),
    port_control(P, 4, ""),
    port_close(P),
    timer:sleep(20),
    [A, B, C, process_info(self(), monitored_by)].

vector(P) ->
    port_control(P, 6, ""),
    receive {P, {data, Own}} -> ok end,
    Sent = [begin port_command(P, X), [case M of {data, D} -> D =:= X; _ -> M end || M <- flushed()] end || X <- [Own, binary:part(Own, 100, 800)]],
    port_command(P, [$a, <<"small">>, "list"]),
    {Sent, flushed()}.
