# Requests for memory that no machine has, and those beyond a limit on address space: what is said, the dump's slogan, the status.
# Whoever takes a gigabyte instead is ended.
MOST_PAGES=262144
run() { # CODE
    rm -f erl_crash.dump
    "$ERL" -noshell -boot no_dot_erlang -eval "$1, halt(5)." </dev/null >out 2>&1 &
    local pid=$! pages
    while kill -0 $pid 2>/dev/null; do
        { read -r _ pages _ <"/proc/$pid/statm"; } 2>/dev/null && [ "${pages:-0}" -gt "$MOST_PAGES" ] && kill -9 $pid && echo 'too much memory'
        sleep 0.02
    done
    wait $pid 2>/dev/null
    echo "status $?"
}
# A block that is to grow is one that is asked for anew, as far as the program can tell.
said() { grep -aoE -m 1 '[a-z]+_alloc: Cannot .*|=> .*' "$1" | sed -e 's/Cannot reallocate/Cannot allocate/' "${@:2}"; }
try() {
    echo "$1"
    run "$1"
    said out
    [ ! -e erl_crash.dump ] || said erl_crash.dump
}
try '<<0:(1 bsl 45)>>'
try 'binary:copy(<<"7">>, 1 bsl 38)'
try 'N = 1 bsl 45, B = <<1>>, <<B/binary, 0:N>>'
try 'B = binary:copy(<<"ab">>, 1 bsl 20), binary:copy(B, 1 bsl 19)'
try 'lists:foldl(fun(_, B) -> <<B/binary, 0:(1 bsl 45)>> end, <<>>, [1, 2])'
try 'process_flag(min_heap_size, 1 bsl 38), erlang:garbage_collect()'
try 'unicode:characters_to_list(binary:copy(<<"7">>, 1 bsl 38))'
try 'spawn(fun() -> <<0:(1 bsl 45)>> end), timer:sleep(infinity)'
# What has an answer of its own gives it.
file='file:write_file("f", "abc"), {ok, F} = file:open("f", [read, raw, binary])'
try "$file, io:format(\"=> ~0p~n\", [file:read(F, 1 bsl 40)])"
try "$file, io:format(\"=> ~0p~n\", [file:pread(F, 0, 1 bsl 40)])"
try "$file, io:format(\"=> ~0p~n\", [file:pread(F, [{0, 1}, {0, 1 bsl 40}])])"
try '{ok, F} = file:open("s", [write, raw]), file:pwrite(F, 1 bsl 42, <<"x">>), io:format("=> ~0p~n", [file:read_file("s")])'
rm -f s f
# Figures that depend on a VM's own layout are left out.
sizes() { echo "$1"; run "$1"; said out -e 's/[0-9]\+ bytes/N bytes/'; }
sizes 'atomics:new(1 bsl 38, [])'
sizes 'counters:new(1 bsl 38, [])'
sizes 'counters:new(1 bsl 34, [write_concurrency])'
sizes 'iolist_to_binary(lists:duplicate(1 bsl 19, binary:copy(<<"7">>, 1 bsl 20)))'
sizes 'list_to_binary(lists:duplicate(1 bsl 19, binary:copy(<<"7">>, 1 bsl 20)))'
cat >grow.erl <<'X'
-module(grow).
-compile(export_all).

list(L) -> list([L | L]).
stack(-1) -> [];
stack(N) -> [N | stack(N + 1)].
double(B) -> double(<<B/binary, B/binary>>).
append(B) -> append(<<B/binary, 0:80000000>>).
external() -> term_to_binary(lists:duplicate(2000, binary:copy(<<1>>, 2000000))).
arrays(L) -> arrays([atomics:new(1000000, []) | L]).
X
"$(dirname "$ERL")/erlc" -W0 grow.erl
# Within a limit, where OTP reserves a gigabyte ahead.
(
    ulimit -v 2500000
    MOST_PAGES=700000
    for call in 'list([])' 'stack(0)' 'double(<<1, 2, 3>>)' 'append(<<>>)' 'external()' 'arrays([])'; do
        sizes "grow:$call"
    done
)
