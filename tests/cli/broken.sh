# A VM that breaks: what it says, its status, where its dump goes.
run() { "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null >out 2>err; echo "status $?"; }
dump() { grep -a -m 1 '^Slogan' "${1:-erl_crash.dump}" 2>/dev/null | cut -c1-60; rm -f erl_crash.dump my.dump; }
internal='erts_debug:set_internal_state(available_internal_state, true), erts_debug:set_internal_state'
# OTP aborts without a dump; Myriad's abort is that of a broken invariant, with one.
run -eval "$internal(abort, {why, 17})." 2>/dev/null
grep -ao '{why,17}' err; rm -f erl_crash.dump
run -eval 'halt(abort).' 2>/dev/null; dump
run -eval 'erlang:halt("a slogan").'; sed -n 1p err; dump
ERL_CRASH_DUMP=$PWD/my.dump run -eval 'erlang:halt("elsewhere").'; ls erl_crash.dump 2>/dev/null; dump my.dump
ERL_CRASH_DUMP_SECONDS=0 run -eval 'erlang:halt("none").'; ls erl_crash.dump 2>/dev/null
ERL_CRASH_DUMP=/nonexistent/dump run -eval 'erlang:halt("nowhere").'; sed -n 1p err
# No memory left: OTP's words, a dump, no core.
printf -- '-module(eat).\n-export([f/0]).\nf() -> g([]).\ng(L) -> g([{L, L, L, L, L, L} | L]).\n' >eat.erl
"$(dirname "$ERL")/erlc" eat.erl
(ulimit -v 4000000; run -s eat f; sed -e 's/[0-9][0-9]* bytes/N bytes/' err | grep -a -m 1 Cannot; dump | sed -e 's/[0-9][0-9]* bytes/N bytes/' | cut -c1-40)
