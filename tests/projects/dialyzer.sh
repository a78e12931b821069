# Dialyzer: a PLT of erts, kernel and stdlib, and what it finds in a module and in the two applications themselves.
# DIALYZER_APPS names other applications for the PLT (a shorter run).
files=$PROJECTS/rebar3
step() { echo "== $*"; "$@" 2>&1; echo "status $?"; }
root=$(erl -noshell -boot no_dot_erlang -eval 'io:put_chars(code:root_dir()), halt().')

# shellcheck disable=SC2086
step dialyzer --build_plt --output_plt plt --apps ${DIALYZER_APPS:-erts kernel stdlib}
step dialyzer --plt plt --plt_info
erlc +debug_info "$files/src/stack.erl" "$files/src/wrong.erl"
step dialyzer --plt plt --no_check_plt stack.beam wrong.beam
step dialyzer --plt plt --no_check_plt -Wunmatched_returns -Wunknown -Wunderspecs stack.beam wrong.beam
step dialyzer --plt plt --check_plt
[ -n "${DIALYZER_APPS:-}" ] ||
    step dialyzer --plt plt --no_check_plt -Wunknown "$root"/lib/kernel-*/ebin "$root"/lib/stdlib-*/ebin
