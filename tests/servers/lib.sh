# Shell functions of the clients' scripts.

# Waits for up to a minute until somebody listens.
listening() { # PORT...
    local port
    for port in "$@"; do
        for _ in $(seq 300); do
            (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue 2
            sleep 0.2
        done
        echo "nobody listens on port $port" >&2
        return 1
    done
}

# What took how long, on standard error.
timed() { # WHAT COMMAND...
    local what=$1 begun status=0
    shift
    begun=$(date +%s%N)
    "$@" || status=$?
    echo "$what: $((($(date +%s%N) - begun) / 1000000)) ms" >&2
    return "$status"
}
