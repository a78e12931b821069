# escript, erlc and child processes on the VM under test.
bin=$(dirname "$ERL")
export ESCRIPT_EMULATOR=$ERL ERLC_EMULATOR=$ERL
escript=$bin/escript erlc=$bin/erlc
cat >one <<'X'
#!/usr/bin/env escript
%%! +S 1 -foo bar
main([]) -> io:format("no arguments ~p~n", [init:get_argument(foo)]);
main(["crash"]) -> error(crashed);
main(["halt", N]) -> halt(list_to_integer(N));
main(["throw"]) -> throw(ball);
main(Args) -> io:format("~p ~p ~p~n", [Args, escript:script_name(), local(2)]).
local(X) -> X * 21.
X
"$escript" one; echo "status $?"
"$escript" one a "b c"; echo "status $?"
"$escript" one crash 2>&1; echo "status $?"
"$escript" one throw 2>&1; echo "status $?"
"$escript" one halt 6; echo "status $?"
"$escript" -s one a 2>&1; echo "status $?"
echo 'main(_) -> io:format("~p", [foo(1)]).' >two
"$escript" two 2>&1; echo "status $?"
"$escript" missing 2>&1; echo "status $?"
printf -- '-module(m).\n-export([f/0, main/1]).\nf() -> lists:seq(1, 3).\nmain(_) -> io:format("~w~n", [f()]).\n' >m.erl
"$erlc" m.erl; echo "status $?"; ls m.beam
"$ERL" -noshell -boot no_dot_erlang -eval 'io:format("~w~n", [m:f()]), halt().'
"$escript" m.beam x; echo "status $?"
printf -- '-module(bad).\nf( -> x.\n' >bad.erl
"$erlc" bad.erl; echo "status $?"
printf -- '-module(warn).\n-export([f/1]).\nf(X) -> Y = 1, 2.\n' >warn.erl
"$erlc" warn.erl; echo "status $?"
"$erlc" -Werror warn.erl; echo "status $?"
"$erlc" +debug_info -o . -DX=1 m.erl && "$ERL" -noshell -boot no_dot_erlang -eval '{ok, {m, [{abstract_code, {V, _}}]}} = beam_lib:chunks("m.beam", [abstract_code]), io:format("~w~n", [V]), halt().'
"$erlc" -S m.erl && head -n 1 m.S
printf 'Terminals a.\nNonterminals r.\nRootsymbol r.\nr -> a : ok.\n' >g.yrl
"$ERL" -noshell -boot no_dot_erlang -eval 'io:put_chars(os:cmd("erl -noshell -eval \"io:put_chars(erlang:system_info(otp_release)), halt().\"")), io:nl(), halt().'
