//! `cargo xtask`: the chores of this repository that want a program. Not part of the VM, and nothing of the VM is used.
//!
//! A command is a row of [`COMMANDS`] and a module of its own.

mod tidy;

use std::process::ExitCode;

/// A command: its name, what it does, and its entry, which gets the words after the name.
struct Command {
    name: &'static str,
    what: &'static str,
    run: fn(&[String]) -> Result<ExitCode, Usage>,
}

/// The words after a command's name are not what it takes.
struct Usage;

const COMMANDS: &[Command] =
    &[Command { name: "tidy", what: "check the rules of docs/checks.md that compilers do not know", run: tidy::main }];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let command = words.first().and_then(|name| COMMANDS.iter().find(|command| command.name == name));
    match command.map(|command| (command.run)(&words[1..])) {
        Some(Ok(code)) => code,
        Some(Err(Usage)) | None => {
            eprint!("{}", usage());
            ExitCode::from(2)
        }
    }
}

fn usage() -> String {
    let rows = COMMANDS.iter().map(|command| format!("  {:<12} {}\n", command.name, command.what));
    format!("usage: cargo xtask COMMAND\n{}", rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_stands_in_the_usage_once() {
        for command in COMMANDS {
            assert_eq!(COMMANDS.iter().filter(|other| other.name == command.name).count(), 1);
            assert!(usage().contains(&format!("  {} ", command.name)));
        }
    }
}
