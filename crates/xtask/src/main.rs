//! `cargo xtask`: the chores of this repository that want a program. Not part of the VM, and nothing of the VM is used.
//!
//! A command is a row of [`COMMANDS`] and a module of its own. Words that a command does not know are answered with its usage and
//! status 2; a command that cannot do its work says why in one line, with status 1.

mod bench;
mod conf;
mod differential;
mod files;
mod generated;
mod heaps;
mod json;
mod launcher;
mod mutants;
mod nifs;
mod opcodes;
mod otp;
mod parallel;
mod program;
mod projects;
mod recorded;
mod said;
mod scaffold;
mod soak;
mod stop;
mod tidy;
mod words;

use std::process::ExitCode;
use stop::{Done, Stop};

/// A command: its name, what it does, what words it takes, and its entry, which gets the words after the name.
struct Command {
    name: &'static str,
    what: &'static str,
    takes: &'static str,
    run: fn(&[String]) -> Done,
}

const COMMANDS: &[Command] = &[
    Command { name: "bench", what: "Myriad against erl on this machine", takes: bench::TAKES, run: bench::main },
    Command { name: "conf", what: "OTP's own test suites, case by case", takes: conf::TAKES, run: conf::main },
    Command {
        name: "differential",
        what: "the same random calls of built-ins on OTP and on Myriad",
        takes: differential::TAKES,
        run: differential::main,
    },
    Command {
        name: "generated",
        what: "random modules, called on OTP and on Myriad",
        takes: generated::TAKES,
        run: generated::main,
    },
    Command { name: "launcher", what: "make the directory that bin/erl starts from", takes: "", run: launcher::main },
    Command { name: "mutants", what: "damaged code, loaded and called", takes: mutants::TAKES, run: mutants::main },
    Command {
        name: "nifs",
        what: "sequences of calls of the NIF interface, valid ones and misuse",
        takes: nifs::TAKES,
        run: nifs::main,
    },
    Command {
        name: "opcodes",
        what: "each generic instruction, on OTP and on Myriad in each of its ways",
        takes: opcodes::TAKES,
        run: opcodes::main,
    },
    Command {
        name: "new-bif",
        what: "row, stub and failing test of a new built-in function",
        takes: scaffold::bif::TAKES,
        run: scaffold::bif::main,
    },
    Command {
        name: "new-op",
        what: "row, stub and failing test of a new instruction",
        takes: scaffold::op::TAKES,
        run: scaffold::op::main,
    },
    Command {
        name: "pages",
        what: "write the parts of docs/ that are made from the code",
        takes: "",
        run: tidy::generated::main,
    },
    Command {
        name: "projects",
        what: "projects of Elixir and rebar3, made on OTP and on Myriad",
        takes: projects::TAKES,
        run: projects::main,
    },
    Command {
        name: "recorded",
        what: "the recorded tests: programs whose output must be what OTP printed",
        takes: recorded::TAKES,
        run: recorded::main,
    },
    Command { name: "soak", what: "random churn of everything side by side", takes: soak::TAKES, run: soak::main },
    Command {
        name: "tidy",
        what: "check the rules of docs/checks.md that compilers do not know",
        takes: tidy::TAKES,
        run: tidy::main,
    },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(command) = words.first().and_then(|name| COMMANDS.iter().find(|command| command.name == name)) else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    match (command.run)(&words[1..]) {
        Ok(code) => code,
        Err(Stop::Usage(what)) => {
            eprint!("{}: {what}\n{}", command.name, command.usage());
            ExitCode::from(2)
        }
        Err(Stop::Failed(why)) => {
            eprintln!("{}: {why}", command.name);
            ExitCode::FAILURE
        }
    }
}

impl Command {
    /// The words that the command takes, and what they mean.
    fn usage(&self) -> String {
        let (words, meaning) = self.takes.split_once('\n').unwrap_or((self.takes, ""));
        let space = if words.is_empty() { "" } else { " " };
        format!("usage: cargo xtask {}{space}{words}\n{meaning}", self.name)
    }
}

/// All commands.
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

    #[test]
    fn no_command_takes_words_that_it_does_not_know() {
        for command in COMMANDS {
            for words in [["--nonsense"].as_slice(), &["-x"]] {
                let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
                assert!(matches!((command.run)(&words), Err(Stop::Usage(_))), "{}", command.name);
            }
            assert!(command.usage().ends_with('\n'));
        }
    }
}
