# Standard input, output and error that are closed, end, or take nothing: what the VM says and how it ends.
erl() { timeout 30 "$ERL" -noshell -boot no_dot_erlang "$@"; }
# Of a tuple, for what ends the VM is told as text if it can be one, so in one more line: which it is when the pipe is found closed at a number that is a character.
lines='[io:format("line ~w~n", [{I}]) || I <- lists:seq(1, 50000)]'
erl -eval "$lines, halt(3)." </dev/null 2>err | head -n 2; echo "status ${PIPESTATUS[*]}"; grep -ac . err
erl -eval "R = (catch $lines), timer:sleep(300), io:format(standard_error, \"~0p~n\", [case R of {'EXIT', {W, _}} -> W; _ -> all end]), halt(4)." </dev/null 2>err | head -n 2; echo "status ${PIPESTATUS[*]}"; grep -ao '^{.*\|^[a-z]*$' err
# A port of our own on the closed pipe.
erl -eval 'process_flag(trap_exit, true), timer:sleep(200), P = open_port({fd, 0, 1}, [out]), port_command(P, "x"), receive {_, P, R} -> io:format(standard_error, "=> ~p~n", [R]) after 2000 -> io:format(standard_error, "=> nothing~n", []) end, halt(5).' </dev/null 2>err | true; echo "status ${PIPESTATUS[*]}"; grep -a '^=>' err
# Standard error.
(erl -eval 'timer:sleep(200), R = (catch [io:format(standard_error, "line ~w~n", [I]) || I <- lists:seq(1, 30000)]), timer:sleep(300), io:format("~0p~n", [case R of {_, {W, _}} -> W; _ -> all end]), R2 = (catch io:format(standard_error, "again~n", [])), io:format("~0p~n", [case R2 of {_, {W2, _}} -> W2; _ -> R2 end]), halt(6).' 3>&1 2>&1 >&3 3>&- </dev/null | true; echo "status ${PIPESTATUS[0]}") 2>&1
# Closed before the start.
erl -eval 'io:format("text~n"), halt(2).' </dev/null >&-; echo "status $?"
erl -eval 'io:format("text~n"), halt(2).' <&-; echo "status $?"
erl -eval 'io:format(standard_error, "text~n", []), io:format("more~n"), halt(2).' </dev/null 2>&-; echo "status $?"
erl -eval 'file:write_file("closed", "text"), {ok, B} = file:read_file("closed"), io:format(standard_error, "~p~n", [B]), halt(2).' <&- >&- 2>err; echo "status $?"; cat err closed; echo
erl -eval 'file:write_file("closed", "text"), io:format(standard_error, "x", []), {ok, B} = file:read_file("closed"), file:write_file("closed2", B), halt(2).' <&- >&- 2>&-; echo "status $?"; cat closed2; echo
# The end of standard input.
printf 'abc' | erl -eval 'io:format("~0p~n", [[io:get_line(""), io:get_line(""), io:get_chars("", 1), io:read("")]]), halt(7).'; echo "status $?"
printf 'a\nb' | erl -eval 'io:format("~0p~n", [[io:get_chars("", 10), io:get_chars("", 10), io:fread("", "~s"), file:read(standard_io, 3), file:read_line(standard_io)]]), halt(7).'; echo "status $?"
printf '\377\376x\n' | erl -eval 'io:setopts([binary, {encoding, unicode}]), io:format("~0p~n", [[io:get_line(""), io:get_line("")]]), halt(7).'; echo "status $?"
printf '\377\376x\n' | erl -eval 'io:setopts([binary, {encoding, latin1}]), io:format("~0p~n", [[io:get_line(""), io:get_line("")]]), halt(7).'; echo "status $?"
head -c 300000 /dev/zero | tr '\0' a | erl -eval 'io:format("~p ~p~n", [length(io:get_line("")), io:get_line("")]), halt(7).'; echo "status $?"
seq 1 2000 | erl -eval 'F = fun F(N, S) -> case io:fread("", "~d") of {ok, [I]} -> F(N + 1, S + I); E -> {N, S, E} end end, io:format("~p~n", [F(0, 0)]), halt(7).'; echo "status $?"
seq 1 2000 | erl -eval 'F = fun F(N) -> case io:get_line("") of eof -> N; _ -> F(N + 1) end end, io:format("~p~n", [F(0)]), halt(7).'; echo "status $?"
# A shell whose input ends, on a pipe.
printf 'X = 1 + 1.\nio:put_chars(["it ", integer_to_list(X), 10]).\n' | timeout 30 "$ERL" -boot no_dot_erlang 2>&1 | grep -ao 'it 2'; echo "status ${PIPESTATUS[1]}"
# Much output right before the end: all of it comes, on a pipe that is read slowly, too.
erl -eval 'io:put_chars(lists:duplicate(300000, $x)), halt(8).' </dev/null | (sleep 0.5; wc -c); echo "status ${PIPESTATUS[*]}"
erl -eval 'io:put_chars(lists:duplicate(300000, $x)), init:stop(8).' </dev/null | (sleep 0.5; wc -c); echo "status ${PIPESTATUS[*]}"
erl -eval 'P = open_port({fd, 0, 1}, [out]), [port_command(P, lists:duplicate(1000, $x)) || _ <- lists:seq(1, 300)], halt(8).' </dev/null | (sleep 0.5; wc -c); echo "status ${PIPESTATUS[*]}"
erl -eval '[spawn(fun() -> io:put_chars(lists:duplicate(1000, $x)) end) || _ <- lists:seq(1, 300)], timer:sleep(200), init:stop(8).' </dev/null | (sleep 0.5; wc -c); echo "status ${PIPESTATUS[*]}"
# The reader goes away while the VM waits to write: it does not hang.
erl -eval 'io:put_chars(lists:duplicate(3000000, $x)), halt(9).' </dev/null 2>/dev/null | (sleep 0.5; head -c 5 >/dev/null); echo "status ${PIPESTATUS[*]}"
# A full disk under standard output.
erl -eval 'R = (catch io:put_chars("text")), timer:sleep(200), io:format(standard_error, "~0p~n", [R]), halt(3).' </dev/null >/dev/full 2>err; echo "status $?"; grep -av '^$' err | head -n 3
erl -eval 'R = (catch [io:put_chars("text") || _ <- lists:seq(1, 1000)]), timer:sleep(200), file:write_file("result", io_lib:format("~0p~n", [case R of {_, {W, _}} -> W; _ -> all end])), halt(3).' </dev/null >/dev/full 2>/dev/full; echo "status $?"; cat result
# Many writers to one pipe: nothing is torn or lost.
erl -eval 'S = self(), Ps = [spawn(fun() -> [io:put_chars([integer_to_list(P * 1000 + I), $\n]) || I <- lists:seq(1, 200)], S ! done end) || P <- lists:seq(1, 20)], [receive done -> ok end || _ <- Ps], halt().' </dev/null | sort -n | md5sum
