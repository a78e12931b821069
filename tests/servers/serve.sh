# Shell functions that start a server and end it; sourced by what runs one. The caller sets `here` (this folder), `work` (a folder for
# everything that comes up), `PORT` (the first of twenty ports), and has called find_otp of tools/otp.sh.

# Starts a server, and sets `own`, its folder, `group`, its process, and `with`, a command that gives another what the server has.
begin_server() { # NAME VM ERL-DIRECTORY [FLAGS OF EACH EMULATOR]
    own=$work/$1-$2
    mkdir -p "$own"
    chmod 755 "$own"
    # A port mapper of its own, which ends with it.
    with=(env HOME="$own" WORK="$own" ERL_DIR="$3" BUILD="$work/$1" PORT="$PORT" ERL_EPMD_PORT=$((PORT + 19)) ${4:+ERL_AFLAGS="$4"})
    setsid "${with[@]}" "$here/$1/start" >"$own/server.out" 2>&1 </dev/null &
    group=$!
}

# A process and all below it.
family() { # PROCESS
    local child
    echo "$1"
    for child in $(pgrep -P "$1"); do family "$child"; done
}

# Ends the server, and goes on to other ports. Fails where it does not stop. One that changes the user runs in a session of its own, and
# `su` hands no signal on to it: so each is told.
end_server() { # NAME VM
    local status=0 all
    mapfile -t all < <(family $group)
    kill -TERM "${all[@]}" 2>/dev/null
    for _ in $(seq 100); do kill -0 "${all[@]}" 2>/dev/null || break; sleep 0.2; done
    if kill -KILL "${all[@]}" 2>/dev/null; then echo "$1 on $2 did not stop within 20 s"; status=1; fi
    wait $group 2>/dev/null
    group=''
    "${with[@]}" "$otp_root/erts-$otp_erts/bin/epmd" -kill >/dev/null 2>&1
    PORT=$((PORT + 20))
    return "$status"
}
