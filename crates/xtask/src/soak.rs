//! `cargo xtask soak`: processes, ports, tables, timers, code and tracing churn side by side; nothing may be lost, nothing stay.

use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::json::{self, Json};
use crate::otp::{self, Otp};
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use crate::{program, said};

/// The words that the command takes.
pub const TAKES: &str =
    "[--seconds N] [--seed N] [--vm ERL] [--patience S] [--native] [--heap HOW] [--only NAMES] [--json FILE] [--show PHASE:DRIVER:NUMBER]
  --seconds N    how long (600)
  --seed N       what is drawn; a new one without it
  --vm ERL       the VM (bin/erl)
  --patience S   the seconds that an episode may take (120), for a VM that a sanitizer makes slow
  --native       every function is compiled before it first runs
  --heap HOW     processes have their memory so: private, hybrid, shared
  --only NAMES   the episodes of these names alone, with commas between them
  --show PHASE:DRIVER:NUMBER   this episode of the seed alone, as what fails is named
  --json FILE    the result for other programs
";

/// Soaks a VM.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(
        words,
        &["--native"],
        &["--seconds", "--seed", "--vm", "--patience", "--show", "--only", "--json", heaps::OPTION],
    )?
    .nothing_else()?;
    let seconds: u64 = words.number("--seconds")?.unwrap_or(600);
    let patience: u64 = words.number("--patience")?.unwrap_or(120);
    let seed = words.seed()?;
    let heap = Heap::asked_for(&words)?;
    let one = words.value("--show").map(episode).transpose()?;
    let vm = words.value("--vm").map_or_else(|| Ok(otp::here()), program::find)?;
    let work = top().join("target/soak");
    let (ebin, scratch) = (work.join("ebin"), work.join("files"));
    otp::compile(&Otp::find()?, &ebin, &[], &files::ending(&top().join("tests/soak"), ".erl"))?;
    files::make_folder(&scratch)?;
    let mut command = program::limited(seconds * 2 + 2 * patience + 60, vm);
    command.args(otp::tier(words.has("--native")));
    command.args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(ebin).args(["-run", "soak"]);
    match one {
        Some([phase, driver, number]) => command.args(["show", &seed.to_string(), phase, driver, number]).arg(&scratch),
        None => {
            println!("soak: {seconds} seconds, seed {seed}{}", heaps::again(heap));
            command.args(["main", &seed.to_string(), &seconds.to_string()]).arg(&scratch)
        }
    };
    command.env("SOAK_ONLY", words.value("--only").unwrap_or_default());
    program::without_flags(&mut command).env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", work.join("erl_crash.dump"));
    heaps::give(&mut command, heap);
    let (status, said) = program::run_and_keep(command.env("SOAK_PATIENCE", patience.to_string()))?;
    files::remove_folder(&scratch);
    json::result(&words, "soak", status == 0, || found(seed, status, &said))?;
    if status != 0 && one.is_none() {
        println!(
            "soak: exit status {status}; again with: cargo xtask soak --seconds {seconds} --seed {seed}{}",
            heaps::again(heap)
        );
    }
    Ok(verdict(status == 0))
}

/// The name of an episode in its parts.
fn episode(name: &str) -> Result<[&str; 3], Stop> {
    let parts: Vec<&str> = name.split(':').filter(|part| part.parse::<u32>().is_ok()).collect();
    parts.try_into().map_err(|_| Stop::Usage(format!("--show {name}: no such episode")))
}

/// The result for other programs.
fn found(seed: u64, status: i32, said: &str) -> Vec<(&'static str, Json)> {
    vec![
        ("seed", seed.into()),
        ("status", Json::Number(status.into())),
        ("episodes", said::before(said, " episodes").into()),
        ("failures", said::failures(said)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episodes_have_three_numbers() {
        assert_eq!(episode("2:6:17").unwrap(), ["2", "6", "17"]);
        assert!(["", "1:2", "1:2:x", "1:2:3:4"].iter().all(|name| matches!(episode(name), Err(Stop::Usage(_)))));
    }

    #[test]
    fn the_json_has_what_the_soak_said() {
        let said = "soak: 1 seconds, seed 9\nsoak: 41 episodes: [{ring,41}]\nsoak: FAILED {ring,\"a\"}\n";
        let expected = "{\n  \"seed\": 9,\n  \"status\": 1,\n  \"episodes\": 41,\n  \"failures\": [\n    \"{ring,\\\"a\\\"}\"\n  ]\n}\n";
        assert_eq!(Json::Object(found(9, 1, said)).to_text(), expected);
    }
}
