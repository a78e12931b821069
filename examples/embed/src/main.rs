//! A program that embeds the VM and registers a type of tasks: `embed EXPRESSION` evaluates Erlang code that may use it.

mod counter;

use myriad::flags::{Command, parse};
use std::path::{Path, PathBuf};

/// Where the release keeps the programs of its emulator.
fn programs(root: &Path) -> Option<PathBuf> {
    let folders = std::fs::read_dir(root).ok()?.flatten().map(|entry| entry.path().join("bin"));
    folders.into_iter().find(|path| path.join("inet_gethost").exists())
}

fn run(expression: &str) -> Result<i32, String> {
    let root = std::env::var("MYRIAD_OTP_ROOT").unwrap_or_else(|_| "/usr/lib/erlang".to_owned());
    let programs = programs(Path::new(&root)).ok_or(format!("{root} holds no release"))?;
    let programs = programs.to_string_lossy().into_owned();
    let release = ["--", "-root", &root, "-bindir", &programs, "-progname", "erl", "--", "-home", "/", "--"];
    let program = ["-noshell", "-noinput", "-boot", "no_dot_erlang", "-eval", expression];
    let words: Vec<Vec<u8>> = release.iter().chain(&program).map(|word| word.as_bytes().to_vec()).collect();
    let Ok(Command::Run(config)) = parse(&words) else { return Err("the flags are bad".to_owned()) };
    let vm = myriad::boot::start(*config)?;
    myriad::task::register(vm, counter::counter())?;
    myriad::task::register(vm, counter::private_counter())?;
    Ok(vm.run())
}

fn main() {
    let Some(expression) = std::env::args().nth(1) else {
        eprintln!("usage: embed EXPRESSION");
        std::process::exit(2)
    };
    match run(&expression) {
        Ok(status) => std::process::exit(status),
        Err(error) => {
            eprintln!("embed: {error}");
            std::process::exit(1)
        }
    }
}
