//! What tests of whole VMs share.

use myriad::flags::Command;
use myriad::{boot, flags};
use myriad_vm::Vm;
use std::path::{Path, PathBuf};

/// Where the release keeps the programs of its emulator.
fn programs(root: &Path) -> PathBuf {
    let entries = std::fs::read_dir(root).expect("a root").flatten().map(|entry| entry.path());
    let mut erts = entries.filter(|path| path.join("bin/inet_gethost").exists());
    erts.next().expect("erts-*/bin").join("bin")
}

/// A VM with these flags, which is to evaluate an expression.
pub fn vm(emulator_flags: &[&str], expression: &str) -> &'static Vm {
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
    let programs = programs(&root);
    let text = |path: &'_ Path| path.to_str().expect("paths in UTF-8").to_owned();
    let (root, programs) = (&*text(&root), &*text(&programs));
    let release = ["--", "-root", root, "-bindir", programs, "-progname", "erl", "--", "-home", "/", "--"];
    let program = ["-noshell", "-noinput", "-boot", "no_dot_erlang", "-eval", expression];
    let words = emulator_flags.iter().chain(&release).chain(&program);
    let words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
    let Ok(Command::Run(config)) = flags::parse(&words) else { panic!("the flags are good") };
    boot::start(*config).expect("a release at the root")
}

/// The expression that compiles and loads an Erlang module beside the tests, and makes a call to it.
#[allow(dead_code, reason = "not all tests have one")]
pub fn program(module: &str, call: &str) -> String {
    let source = format!("{}/tests/{module}.erl", env!("CARGO_MANIFEST_DIR"));
    format!(
        "{{ok, M, Code}} = compile:file({source:?}, [binary, report]),
         {{module, M}} = code:load_binary(M, {source:?}, Code),
         M:{call}."
    )
}
