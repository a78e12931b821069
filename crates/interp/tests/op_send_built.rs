//! The decoder makes `SendBuilt` of the code below, which the compiler of the release on this machine compiles.

mod common;

use myriad_interp::{decode, disasm};
use std::path::{Path, PathBuf};
use std::process::Command;

const MODULE: &str = "op_send_built";

/// Functions whose messages are built where they are sent: the name begins with `f` if it is so that they are on top of the heap, and dead afterwards.
const FUNCTIONS: &str = "
-export([f_flat/2, f_nested/2, f_call/2, f_reply/2, f_send_3/2, k_used/2, n_part/2, n_slot/2]).
f_flat(P, X) -> P ! {x, X}, ok.
f_nested(P, X) -> P ! {self(), [{X, X} | X], X}, ok.
f_call(P, X) -> R = make_ref(), P ! {call, {self(), R}, X}, receive {R, V} -> V end.
f_reply({P, R}, X) -> try P ! {R, X}, ok catch _:_ -> ok end.
f_send_3(P, X) -> erlang:send(P, {X, [X]}, [noconnect]).
k_used(P, X) -> P ! {x, X}.
n_part(P, X) -> P ! X, ok.
n_slot(P, X) -> T = {x, X}, P ! T, P ! T, ok.
";

/// The module's code, compiled in a folder of its own.
fn compiled(otp: &Path) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("{MODULE}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join(format!("{MODULE}.erl"));
    std::fs::write(&source, format!("-module({MODULE}).\n{FUNCTIONS}")).unwrap();
    let status = Command::new(otp.join("bin/erlc")).arg("-o").arg(&folder).arg(&source).status().unwrap();
    assert!(status.success());
    let bytes = std::fs::read(source.with_extension("beam")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    bytes
}

#[test]
fn the_decoder_makes_it() {
    let otp = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
    let vm = common::vm();
    let module = common::prepared(vm, &compiled(&otp)).unwrap();
    for function in module.functions.iter().filter(|function| function.mfa.function.text() != "module_info") {
        let listing = disasm::listing(&decode::translate(vm, function).unwrap());
        let mut operands = listing.lines().filter_map(|line| line.split_once("SendBuilt ")).map(|(_, rest)| rest);
        let (name, found) = (function.mfa.function.text(), operands.next().map(|rest| rest.split_whitespace().nth(1)));
        let wanted = match name.split('_').next() {
            Some("f") => Some(Some("1")),
            Some("k") => Some(Some("0")),
            _ => None,
        };
        assert_eq!(found, wanted, "{name}\n{listing}");
    }
}
