//! `cargo xtask soak`: processes, ports, tables, timers, code and tracing churn side by side; nothing may be lost, nothing stay.

use crate::files::{self, top};
use crate::otp::{self, Otp};
use crate::program;
use crate::stop::{Done, verdict};
use crate::words::Words;

/// The words that the command takes.
pub const TAKES: &str = "[--seconds N] [--seed N] [--vm ERL] [--patience S]
  --seconds N    how long (600)
  --seed N       what is drawn; a new one without it
  --vm ERL       the VM (bin/erl)
  --patience S   the seconds that an episode may take (120), for a VM that a sanitizer makes slow
";

/// Soaks a VM.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &[], &["--seconds", "--seed", "--vm", "--patience"])?.nothing_else()?;
    let seconds: u64 = words.number("--seconds")?.unwrap_or(600);
    let patience: u64 = words.number("--patience")?.unwrap_or(120);
    let seed = words.seed()?;
    let vm = words.value("--vm").map_or_else(|| Ok(otp::here()), program::find)?;
    let work = top().join("target/soak");
    let (ebin, scratch) = (work.join("ebin"), work.join("files"));
    otp::compile(&Otp::find()?, &ebin, &[], &files::ending(&top().join("tests/soak"), ".erl"))?;
    files::make_folder(&scratch)?;
    println!("soak: {seconds} seconds, seed {seed}");
    let mut command = program::limited(seconds * 2 + 2 * patience + 60, vm);
    command.args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(ebin).args(["-run", "soak", "main"]);
    command.args([seed.to_string(), seconds.to_string()]).arg(&scratch);
    program::without_flags(&mut command).env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", work.join("erl_crash.dump"));
    let status = program::run(command.env("SOAK_PATIENCE", patience.to_string()))?;
    files::remove_folder(&scratch);
    if status != 0 {
        println!("soak: exit status {status}; again with: cargo xtask soak --seconds {seconds} --seed {seed}");
    }
    Ok(verdict(status == 0))
}
