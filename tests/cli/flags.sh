# What flags do: arguments the program sees, evaluation order, applications' parameters, exit codes.
run() { "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null; echo "status $?"; }
run -eval 'io:format("hello~n"), halt().'
run -eval 'halt(3).'
run -eval 'halt(255).'
run -eval 'erlang:halt(300).'
run -eval 'init:stop(4).'
run -eval 'io:format("~p~n", [init:get_arguments() -- [A || A = {K, _} <- init:get_arguments(), lists:member(K, [root, bindir, progname, home, boot])]]), halt().' -foo a b -bar -foo c
run -foo "two words" "" -eval 'io:format("~p ~p~n", [init:get_argument(foo), init:get_argument(none)]), halt().'
run -eval 'io:format("~p~n", [init:get_plain_arguments()]), halt().' -extra x -y +z "a b"
run -eval 'io:format("~p~n", [init:get_plain_arguments()]), halt().' -- plain args -foo
run -kernel my_par '[1, 2]' -eval 'io:format("~p~n", [application:get_env(kernel, my_par)]), halt().'
# Whether the logger still shows its report is a matter of time: without it.
run -kernel logger_level emergency -s io put_chars text -s io nl -s erlang halt
run -run io put_chars text -run io nl -run erlang halt
run -eval 'a' -eval 'io:format("second~n")' -s init stop
run -env MY_VAR value -eval 'io:format("~p~n", [os:getenv("MY_VAR")]), halt().'
run +S 1 -eval 'io:format("~p~n", [{erlang:system_info(schedulers), erlang:system_info(schedulers_online)}]), halt().'
run +S 2:1 -eval 'io:format("~p~n", [{erlang:system_info(schedulers), erlang:system_info(schedulers_online)}]), halt().'
run +P 5000 +Q 2000 +t 200000 -eval 'io:format("~p~n", [[erlang:system_info(I) || I <- [process_limit, port_limit, atom_limit]]]), halt().'
run +hms 1000 +hmaxk false +A 3 +sbt u +sbwt none +K true -eval 'io:format("~p~n", [element(2, process_info(spawn(fun() -> receive x -> x end end), min_heap_size)) >= 1000]), halt().'
for threads in 0 1 5 1024; do run +A $threads -eval 'io:format("~p~n", [erlang:system_info(thread_pool_size)]), halt().'; done
mkdir -p first last
run -pa first -pz last -eval 'io:format("~p~n", [{hd(code:get_path()), lists:last(code:get_path())}]), halt().'
run -mode embedded -eval 'io:format("~p ~p~n", [code:get_mode(), erlang:module_loaded(lists)]), halt().'
echo "-eval 'io:write(from_file),io:nl().' -s init stop" >flags.args
run -args_file flags.args
ERL_FLAGS='-foo env' ERL_AFLAGS='-bar first' ERL_ZFLAGS='-baz last' run -eval 'io:format("~p~n", [[init:get_argument(A) || A <- [foo, bar, baz]]]), halt().' -foo line
printf '[{kernel, [{from_config, yes}]}, {other, [{a, 1}]}].\n' >my.config
run -config my -eval 'io:format("~p ~p~n", [application:get_env(kernel, from_config), application:get_env(other, a)]), halt().'
run -config nothere -eval 'halt().' 2>&1 | grep -o 'could not read\|no such file\|nothere' | sort -u
run -version 2>&1 | grep -c 'version'
run +V 2>&1 | grep -c 'version'
run +S x -eval 'halt().' 2>&1 | sed -n 1p
"$ERL" -noshell -boot nothere </dev/null 2>&1 | grep -o 'cannot get bootfile\|nothere' | sort -u
echo 'io:put_chars(["typed ", integer_to_list(1 + 1), 10]), halt().' | "$ERL" -boot no_dot_erlang 2>&1 | grep -o 'typed 2'
echo "line one" | "$ERL" -noshell -boot no_dot_erlang -eval 'io:format("~p ~p~n", [io:get_line(""), io:get_line("")]), halt().'
