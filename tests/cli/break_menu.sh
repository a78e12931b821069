# The break menu where input is a pipe: a process with its dictionary and its stack, an option that there is none of, the node.
menu() { # NAME KEYS
    echo "-- $1"
    rm -f in out && mkfifo in
    "$ERL" -noshell -eval 'register(waiter, spawn(fun() -> put(key, value), receive stop -> ok end end)), io:format("ready~n"), receive never -> ok end.' <in >out 2>&1 &
    vm=$!
    exec 3>in
    seen ready
    kill -INT $vm
    seen '(d)istribution'
    printf "$2" >&3
}
seen() { for _ in $(seq 200); do grep -q "$1" out && return; sleep 0.05; done; echo "no $1"; }
ended() { kill -KILL $vm; wait $vm 2>/dev/null; exec 3>&-; }

menu processes 'p\n'
seen 'Name: waiter'
sleep 0.5
# The names of the lines, and what is the same on each VM; the stack has places of its own.
awk '/^=proc/ {section = ""} {section = section $0 "\n"} /^Internal State/ && section ~ /Name: waiter/ {printf "%s", section}' out |
    awk '/^(State|Name|Spawned as|Message queue length|Dictionary|arity)/ {print; next} /^[A-Z=]/ {sub(/:.*/, ""); print}'
ended
menu unknown 'x\n'
seen 'Invalid option'
grep 'Invalid option' out
ended
menu node 'd\n'
seen '^=no_distribution'
grep -A1 '^=node' out
ended
menu kill 'k\nr\n'
seen '(r)eturn'
grep -A3 '^Process Information' out
ended
menu abort 'a\n'
wait $vm
echo "status $?"
