//! What tests of whole VMs share.

use myriad::flags::Command;
use myriad::{boot, flags};
use std::path::{Path, PathBuf};

/// Where the release keeps the programs of its emulator.
fn programs(root: &Path) -> PathBuf {
    let entries = std::fs::read_dir(root).expect("a root").flatten().map(|entry| entry.path());
    let mut erts = entries.filter(|path| path.join("bin/inet_gethost").exists());
    erts.next().expect("erts-*/bin").join("bin")
}

/// Runs a VM with these flags, which evaluates an expression, to its end; gives its exit status.
pub fn run(emulator_flags: &[&str], expression: &str) -> i32 {
    let root = std::env::var_os("MYRIAD_OTP_ROOT").map_or_else(|| PathBuf::from("/usr/lib/erlang"), PathBuf::from);
    let programs = programs(&root);
    let text = |path: &'_ Path| path.to_str().expect("paths in UTF-8").to_owned();
    let (root, programs) = (&*text(&root), &*text(&programs));
    let release = ["--", "-root", root, "-bindir", programs, "-progname", "erl", "--", "-home", "/", "--"];
    let program = ["-noshell", "-noinput", "-boot", "no_dot_erlang", "-eval", expression];
    let words = emulator_flags.iter().chain(&release).chain(&program);
    let words: Vec<Vec<u8>> = words.map(|word| word.as_bytes().to_vec()).collect();
    let Ok(Command::Run(config)) = flags::parse(&words) else { panic!("the flags are good") };
    boot::start(*config).expect("a release at the root").run()
}
