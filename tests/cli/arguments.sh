# Arguments of every kind reach the program unchanged: quotes, newlines, what a shell would replace, empty ones, bytes that are no text.
run() { "$ERL" -noshell -boot no_dot_erlang "$@" </dev/null 2>&1; echo "status $?"; }
bin=$(dirname "$ERL")
export ESCRIPT_EMULATOR=$ERL ERLC_EMULATOR=$ERL
nl='
'
bytes=$(printf '\377\001x')
odd=("a b" '' '"q"' "'" '$(id)' '`id`' '\' '\\n' "l1${nl}l2" '*' '%s' '~p' 'é€𝄞' "$bytes" '&' ';' '#' ' ')
show='io:format("~p~n~p~n", [init:get_plain_arguments(), [A || A = {K, _} <- init:get_arguments(), not lists:member(K, [root, bindir, progname, home, boot, noshell, noinput])]]), halt().'
run -eval "$show" -extra "${odd[@]}" -x +y -- -extra
run -eval "$show" -- "${odd[@]}" -x
run -foo "${odd[@]}" -bar "${odd[@]}" -eval "$show"
run -eval "io:put_chars(\"a'b\\\"c\\n\\\\ \$(id) \`id\` ${nl} é\\n\"), halt()."
run -foo -- -bar -eval "$show"
run "-a b" "c" "-" "" "-l1${nl}l2" "c" -eval "$show"
run -env 'A B' 'x y' -env C '$(id)"' -env D '' -eval 'io:format("~p~n", [[os:getenv(N) || N <- ["A B", "C", "D"]]]), halt().'
ERL_FLAGS='-foo "a b" '"'c d'"' e\ f \"g \$(id) `id` *' run -eval "$show"
ERL_AFLAGS='-foo "a' ERL_ZFLAGS="-bar 'b" run -eval "$show"
printf '%s\n' "-foo 'a b' \"c d\" e\\ f \\\\ '\$(id)' # comment" "-bar '" "' x" >args
run -args_file args -eval "$show"
printf '%s' "-eval 'io:put_chars(\"hi\\n\")' -s init stop" >args
run -args_file args
printf '[].' >'a b"c.config'
run -config 'a b"c' -eval "$show"

cat >'e "x$(id).es' <<'X'
#!/usr/bin/env escript
main(Args) -> io:format("~p ~p~n", [Args, escript:script_name()]).
X
"$bin/escript" 'e "x$(id).es' "${odd[@]}" -x +y -- -extra; echo "status $?"

mkdir -p "d \"q'" ./-d
printf -- '-module(m).\n-export([f/0]).\nf() -> ?X.\n' >"d \"q'/m.erl"
"$bin/erlc" -o ./-d '-DX="a b\n"' "d \"q'/m.erl"; echo "status $?"
run -pa ./-d -eval 'io:format("~p~n", [m:f()]), halt().'
(cd "d \"q'" && "$bin/erlc" "-DX={'it''s',\"\$(id)\"}" ./m.erl; echo "status $?"; ls)
(cd ./-d && "$bin/erlc" "-DX=\"l1${nl}l2\"" "../d \"q'/m.erl" && run -eval 'io:format("~p~n", [m:f()]), halt().')
