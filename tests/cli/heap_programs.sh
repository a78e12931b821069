# The programs of the experiment with heaps (docs/heaps.md) in small: the same results, and as many processes and messages as they tell.
for program in ring life keeplive garbage sendsame; do set -- "$@" "$TEST_TOP/../examples/$program.erl"; done
"$(dirname "$ERL")/erlc" "$@" "$TEST_TOP"/../bench/heaps/*.erl
"$ERL" -noshell -boot no_dot_erlang -run heaps main small </dev/null
