//! `cargo xtask mutants`: code that no compiler makes.
//!
//! Functions of OTP and of `mutant_subjects` whose assembly, or whose `.beam` file, has been damaged are loaded and called. Each is
//! refused, or runs to some end within its own memory; none may reach other memory, and none may go on when it is killed.

use crate::files::{self, top};
use crate::json::{self, Json};
use crate::otp::{self, Otp};
use crate::stop::{Done, verdict};
use crate::words::Words;
use crate::{program, said};
use std::path::Path;

/// The words that the command takes.
pub const TAKES: &str = "[--seed N] [--count N] [--vm ERL] [--timeout S] [--native] [--json FILE] [--show NUMBER]
  --seed N        what is drawn; a new one without it
  --count N       how many mutants (3000)
  --show NUMBER   this mutant of the seed alone, with its assembly; its code goes to target/mutants/mutant_1.beam
  --vm ERL        the VM (bin/erl)
  --timeout S     the seconds that all may take (3600)
  --native        every function is compiled before it first runs
  --json FILE     the result for other programs
";

/// Makes mutants and runs them.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &["--native"], &["--seed", "--count", "--vm", "--timeout", "--show", "--json"])?
        .nothing_else()?;
    let count: u64 = words.number("--count")?.unwrap_or(3000);
    let shown: Option<u64> = words.number("--show")?;
    let timeout = words.number("--timeout")?.unwrap_or(3600);
    let seed = words.seed()?;
    let vm = words.value("--vm").map_or_else(|| Ok(otp::here()), program::find)?;
    let work = top().join("target/mutants");
    let (ebin, at) = (work.join("ebin"), work.join("at"));
    otp::compile(&Otp::find()?, &ebin, &["+debug_info"], &files::ending(&top().join("tests/mutants"), ".erl"))?;
    // Workers note here which mutant they are at, for the case that the VM does not live to tell.
    files::remove_folder(&at);
    files::make_folder(&at)?;
    let mut command = program::limited(timeout, vm);
    command.args(otp::tier(words.has("--native")));
    command.args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(&ebin).args(["-run", "mutants"]);
    match shown {
        Some(number) => command.args(["show", &seed.to_string(), &number.to_string()]),
        None => command.args(["main", &seed.to_string(), &count.to_string()]).arg(&at),
    };
    command.env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", work.join("erl_crash.dump")).current_dir(&work);
    let (status, said) = program::run_and_keep(program::without_flags(&mut command))?;
    json::result(&words, "mutants", status == 0, || found(seed, status, &said, &noted(&at)))?;
    if status != 0 {
        println!("mutants: exit status {status} (seed {seed}); workers were at mutants {}", noted(&at));
        println!("one of them alone: cargo xtask mutants --seed {seed} --show NUMBER");
    }
    Ok(verdict(status == 0))
}

/// The result for other programs.
fn found(seed: u64, status: i32, said: &str, at: &str) -> Vec<(&'static str, Json)> {
    let mut items = vec![("seed", seed.into()), ("status", Json::Number(status.into())), ("workers_at", at.into())];
    let counts = [" mutants", " loaded", " calls", " killed"].map(|what| said::before(said, what));
    items.extend(["mutants", "loaded", "calls", "killed"].into_iter().zip(counts.map(Json::from)));
    items.push(("failures", said::failures(said)));
    items
}

/// The numbers that the workers have noted.
fn noted(at: &Path) -> String {
    let notes: Vec<String> =
        files::ending(at, "").iter().map(|file| files::read_if_there(file).trim().to_owned()).collect();
    notes.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_has_what_the_mutants_said() {
        let said = "mutants: 500 mutants, 333 loaded, 8000 calls, 12 killed (seed 1)\nmutants: FAILED {why}\n";
        let expected = "{\n  \"seed\": 1,\n  \"status\": 1,\n  \"workers_at\": \"17 8\",\n  \"mutants\": 500,\n  \"loaded\": 333,\n  \
                        \"calls\": 8000,\n  \"killed\": 12,\n  \"failures\": [\n    \"{why}\"\n  ]\n}\n";
        assert_eq!(Json::Object(found(1, 1, said, "17 8")).to_text(), expected);
        assert!(Json::Object(found(1, 139, "", "")).to_text().contains("\"killed\": null"));
    }

    #[test]
    fn notes_are_numbers_in_a_row() {
        let at = std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id()));
        files::make_folder(&at).unwrap();
        files::write(&at.join("1"), "17       ").unwrap();
        files::write(&at.join("2"), "8        ").unwrap();
        assert_eq!(noted(&at), "17 8");
        files::remove_folder(&at);
    }
}
