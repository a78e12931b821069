# Finding the OTP installation: sourced (POSIX sh) by the scripts in bin/ and tools/.
#
# The caller sets `top` (the root of the repository). Set here: otp_root, otp_release and otp_erts
# by find_otp; launcher_dir by launcher. Nothing here prints on success.

# The releases that the VM has a profile for.
supported_releases="25"

die() {
    printf '%s\n' "myriad: $*" >&2
    exit 1
}

# The OTP installation whose libraries are used: MYRIAD_OTP_ROOT, or where Debian puts it.
find_otp() {
    if [ -n "${MYRIAD_OTP_ROOT:-}" ]; then
        otp_root=${MYRIAD_OTP_ROOT%/}
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

# A file's real path, symbolic links followed. Sets `resolved`.
resolve() {
    resolved=$1
    while [ -L "$resolved" ]; do
        link=$(readlink "$resolved")
        case $link in
            /*) resolved=$link ;;
            *) resolved=${resolved%/*}/$link ;;
        esac
    done
}

# The launcher directory: what erlexec takes for BINDIR. It holds links to OTP's helper programs, our
# `erl` (so that programs which start `erl` stay on this VM) and the VM itself as myriad.smp.
#
# It is built beside its place and renamed into it, so that any number of first starts may race: one
# rename wins, the others find a whole directory. The default directory is keyed by the ERTS version;
# another OTP root or emulator gets one of its own.
launcher() {
    emulator=${MYRIAD_EMULATOR:-$top/target/release/myriad}
    [ -x "$emulator" ] || die "$emulator is missing: run \`make build\` in $top"
    if [ -z "${MYRIAD_EMULATOR:-}${MYRIAD_OTP_ROOT:-}" ]; then
        launcher_dir=$top/target/otp/$otp_erts/bin
    else
        key=$(printf '%s\n' "$otp_root" "$emulator" | cksum)
        launcher_dir=$top/target/otp/$otp_erts-${key%% *}/bin
    fi
    if [ "$launcher_dir/erl" -ef "$top/bin/erl" ] && [ "$launcher_dir/myriad.smp" -ef "$emulator" ] &&
        [ "$launcher_dir/erlexec" -ef "$otp_root/erts-$otp_erts/bin/erlexec" ]; then
        return
    fi
    mkdir -p "${launcher_dir%/*/*}" || die "cannot create ${launcher_dir%/*/*}"
    fresh=$(mktemp -d "${launcher_dir%/bin}.XXXXXX") || die "cannot create a directory in ${launcher_dir%/*/*}"
    chmod 755 "$fresh"
    mkdir "$fresh/bin"
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
    if ! mv -T "$fresh" "${launcher_dir%/bin}" 2>/dev/null; then
        # Either another start won, or an outdated directory is in the way: put that one aside.
        if ! [ "$launcher_dir/erl" -ef "$top/bin/erl" ] || ! [ "$launcher_dir/myriad.smp" -ef "$emulator" ] ||
            ! [ "$launcher_dir/erlexec" -ef "$otp_root/erts-$otp_erts/bin/erlexec" ]; then
            mv -T "${launcher_dir%/bin}" "$fresh.old" 2>/dev/null
            mv -T "$fresh" "${launcher_dir%/bin}" 2>/dev/null
        fi
        rm -rf "$fresh" "$fresh.old"
    fi
    [ -x "$launcher_dir/myriad.smp" ] || die "could not set up $launcher_dir"
}
