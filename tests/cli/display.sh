# erlang:process_display/2 writes to standard error: of another process, and of the caller.
run() { "$ERL" -noshell -eval "$1" -s init stop </dev/null 2>&1 | sed -e 's/0x[0-9a-f]*/0x/g' -e 's/ + [0-9]*)/)/' -e 's/<0\.[0-9]*\.0>/<pid>/g'; }
run 'P = spawn(fun() -> receive never -> ok end end), timer:sleep(50), io:format("~p~n", [erlang:process_display(P, backtrace)]).' | grep -v -e '^y' -e '^$' -e Return
run 'io:format("~p~n", [erlang:process_display(whereis(code_server), backtrace)]).' | grep -v '^y'
