# How a failing start looks: exit status, the message on standard output or error, the crash dump. Whether the logger still shows its
# report of the process that failed before the VM ends is a race: it is told to show none.
run() { "$ERL" -noshell -boot no_dot_erlang -kernel logger_level emergency "$@" </dev/null >out 2>err; echo "status $?"; sed -e 's/<0\.[0-9]*\.0>/<pid>/g' -e 's/,\[{file.*$//' out err | grep -a . | cut -c1-150 | sort | uniq; ls erl_crash.dump 2>/dev/null; rm -f erl_crash.dump; }
run -eval 'error(my_reason).'
run -eval 'exit(my_reason).'
run -eval 'throw(my_reason).'
run -eval 'syntax error here'
run -eval 'io:format("~p~n", [1/0]), halt().'
run -s no_such_module
run -s lists no_such_function
run -eval 'erlang:halt("slogan text").'
run -eval 'halt(0, [{flush, false}]).'
run -eval 'spawn(fun() -> receive after 50 -> exit(whereis(init), kill) end end), receive after 3000 -> halt(9) end.'
run -eval 'spawn(fun() -> io:put_chars("from another process\n"), halt(5) end), receive after 3000 -> ok end.'
