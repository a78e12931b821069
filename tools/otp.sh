# Finding the OTP installation: sourced (POSIX sh) by the scripts in bin/ and tools/.
#
# The caller sets `top` (the root of the repository). Set here: otp_root, otp_release and otp_erts
# by find_otp; launcher_dir by launcher. Nothing here prints on success. Paths may hold any character, so none goes through
# a command substitution, which cuts newlines off at the end.

# The releases that the VM has a profile for.
supported_releases="25"

# OTP's programs that start an emulator.
otp_programs="erlc escript dialyzer typer ct_run"

die() {
    printf '%s\n' "myriad: $*" >&2
    exit 1
}

# A path from the root on, without slashes at its end. Sets `absolute`.
absolute() {
    absolute=$1
    while [ "${absolute%/}" != "$absolute" ]; do absolute=${absolute%/}; done
    case $1 in
        /*) absolute=${absolute:-/} ;;
        *) absolute=$PWD/$absolute ;;
    esac
}

# The OTP installation whose libraries are used: MYRIAD_OTP_ROOT, or where Debian puts it.
find_otp() {
    if [ -n "${MYRIAD_OTP_ROOT:-}" ]; then
        absolute "$MYRIAD_OTP_ROOT"
        otp_root=$absolute
        [ -d "$otp_root" ] || die "MYRIAD_OTP_ROOT=$otp_root is not a directory; it must be the root of an Erlang/OTP $supported_releases installation"
    else
        otp_root=/usr/lib/erlang
        [ -d "$otp_root/lib" ] || die "no Erlang/OTP in $otp_root: install it (Debian: apt-get install erlang-base erlang-dev), or set MYRIAD_OTP_ROOT"
    fi
    otp_erts='' otp_release=''
    if [ -r "$otp_root/releases/start_erl.data" ]; then
        # The file need not end in a newline, so `read` may fail though it has read both words.
        read -r otp_erts otp_release < "$otp_root/releases/start_erl.data" || :
    fi
    if [ -z "$otp_release" ]; then
        for found in "$otp_root"/releases/*/OTP_VERSION; do
            [ -r "$found" ] || continue
            found=${found%/OTP_VERSION}
            otp_release=${found##*/}
        done
        for found in "$otp_root"/erts-*; do
            [ -d "$found" ] && otp_erts=${found##*/erts-}
        done
    fi
    case " $supported_releases " in
        *" ${otp_release:-none} "*) ;;
        *) die "$otp_root holds Erlang/OTP ${otp_release:-of an unknown release}; supported: $supported_releases (Debian 12: apt-get install erlang-base erlang-dev), or point MYRIAD_OTP_ROOT at one" ;;
    esac
    [ -x "$otp_root/erts-$otp_erts/bin/erlexec" ] ||
        die "$otp_root has no erts-$otp_erts/bin/erlexec: install erlang-base"
}

# The launcher directory: what erlexec takes for BINDIR. It holds links to OTP's helper programs, our
# `erl` (so that programs which start `erl` stay on this VM) and the VM itself as myriad.smp. Beside it, in `programs`, are links
# to OTP's programs that start the `erl` which they find beside themselves, and ours for them to find.
#
# It is in the checkout, or, where that cannot be written to, in the user's cache. Its name is the ERTS version; another
# OTP root or emulator gets one of its own.
launcher() {
    absolute "${MYRIAD_EMULATOR:-$top/target/release/myriad}"
    emulator=$absolute
    [ -x "$emulator" ] || die "$emulator is missing: run \`make build\` in $top"
    key=''
    [ -z "${MYRIAD_EMULATOR:-}${MYRIAD_OTP_ROOT:-}" ] || key=-$(key)
    launcher_dir=$top/target/otp/$otp_erts$key/bin
    is_launcher "$launcher_dir" && return
    make_launcher && return
    cache=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}
    launcher_dir=$cache/myriad/$otp_erts-$(key)/bin
    is_launcher "$launcher_dir" && return
    make_launcher ||
        die "can write neither to $top/target/otp nor to $cache: run \`cargo xtask launcher\` in $top as its owner, or set XDG_CACHE_HOME to a directory of yours"
}

# What tells launcher directories of one ERTS version apart.
key() {
    printf '%s\n' "$otp_root" "$emulator" "$top" | cksum | cut -d ' ' -f 1
}

is_launcher() {
    [ "$1/erl" -ef "$top/bin/erl" ] && [ "$1/myriad.smp" -ef "$emulator" ] &&
        [ "$1/erlexec" -ef "$otp_root/erts-$otp_erts/bin/erlexec" ] && [ -L "${1%/bin}/programs/ct_run" ]
}

# Makes launcher_dir, if it can be written to. It is built beside its place and renamed into it, so that any number of first
# starts may race: one rename wins, the others find a whole directory.
make_launcher() (
    # Others of this machine use it too.
    umask 022
    mkdir -p "${launcher_dir%/*/*}" 2>/dev/null || return
    fresh=$(mktemp -d "${launcher_dir%/bin}.XXXXXX" 2>/dev/null) || return
    mkdir "$fresh/bin" "$fresh/programs"
    chmod 755 "$fresh"
    for helper in "$otp_root/erts-$otp_erts"/bin/*; do
        case ${helper##*/} in
            beam*.smp | erl | erlc | escript | start | start_erl) ;;
            *) ln -s "$helper" "$fresh/bin/" ;;
        esac
    done
    for ours in erl erlc escript; do
        ln -s "$top/bin/$ours" "$fresh/bin/$ours"
    done
    ln -s "$emulator" "$fresh/bin/myriad.smp"
    ln -s "$top/bin/erl" "$fresh/programs/erl"
    for program in $otp_programs; do
        ln -s "$otp_root/erts-$otp_erts/bin/${program##*/}" "$fresh/programs/$program"
    done
    if ! mv -T "$fresh" "${launcher_dir%/bin}" 2>/dev/null; then
        # Either another start won, or an outdated directory is in the way: put that one aside.
        if ! is_launcher "$launcher_dir"; then
            mv -T "${launcher_dir%/bin}" "$fresh.old" 2>/dev/null
            mv -T "$fresh" "${launcher_dir%/bin}" 2>/dev/null
        fi
        rm -rf "$fresh" "$fresh.old"
    fi
    is_launcher "$launcher_dir"
)

# Becomes one of OTP's programs, running on Myriad.
otp_program() { # ONE-OF-OTP_PROGRAMS ARGUMENT...
    find_otp
    launcher
    program=${launcher_dir%/bin}/programs/$1
    name=${1##*/}
    shift
    [ -x "$program" ] || die "$otp_root has no $name (Debian: apt-get install erlang-dialyzer erlang-common-test)"
    case $program in
        *[[:space:]]*:* | *:*[[:space:]]*)
            die "$name does not run from $top, a path with both a blank and a colon: move the checkout" ;;
        *[[:space:]]*)
            # They split the path of what they start at blanks; called by name alone, they find it on the path.
            PATH=${program%/*}:$PATH
            export PATH
            exec "$name" "$@" ;;
    esac
    exec "$program" "$@"
}
