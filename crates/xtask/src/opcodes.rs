//! `cargo xtask opcodes`: each generic instruction in small functions, called on OTP and on Myriad in each of its ways to run.
//!
//! All must agree in what a call gives or raises, to the frames of its trace, and in the messages that it leaves; also when it begins with few reductions
//! left, or with few words left on the heap. An instruction without a case fails the run. What OTP does not know yet is compared with tier 0.

use crate::files::{self, top};
use crate::json;
use crate::otp::{self, Otp};
use crate::program;
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The words that the command takes.
pub const TAKES: &str = "[--calls N] [--shown N] [--json FILE] [--show MODULE:FUNCTION:CALL]
  --calls N        how many calls of each function (60)
  --shown N        name so many of the calls that differ (12)
  --show ...       this call, with its outcome on OTP and in tier 0
  --json FILE      the result for other programs
";

/// A way to run code, and the flags of the VM for it.
type Way = (&'static str, &'static [&'static str]);

/// Instructions fused as the decoder does; in machine code; and in machine code that leaves all it can to tier 0, whose companion has them one by one.
const WAYS: [Way; 3] =
    [("tier 0", &["+Jnative", "false"]), ("machine code", otp::NATIVE), ("companion", otp::COMPANION)];

/// The seconds that a VM may take for all.
const TIMEOUT: u64 = 600;

/// Outcomes of calls, by these.
type Outcomes = BTreeMap<String, String>;

/// Makes the modules, calls their functions, and says what differs.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &[], &["--calls", "--shown", "--show", "--json"])?.nothing_else()?;
    let calls: u64 = words.number("--calls")?.unwrap_or(60);
    let shown: usize = words.number("--shown")?.unwrap_or(12);
    let otp = Otp::find()?;
    let work = top().join("target/opcodes");
    let beams = work.join("beams");
    let mut sources = files::ending(&top().join("tests/opcodes"), ".erl");
    sources.push(top().join("tests/generated/gen_run.erl"));
    otp::compile(&otp, &work.join("ebin"), &[], &sources)?;
    files::remove_folder(&beams);
    files::make_folder(&beams)?;
    let made = program::output(vm(&work, &otp.erl(), &[]).args(["make"]).arg(&beams))?;
    let made = made.ok_or_else(|| Stop::Failed("the modules are none".to_owned()))?;
    if let Some(call) = words.value("--show") {
        return show(&work, &otp, &beams, call);
    }
    let table = files::read(&top().join("crates/beam/src/opcode.rs"))?;
    let mut faults = without_case(&table, &made.lines().collect());
    let of_otp = run(&work, &otp.erl(), &[], ["o_", &calls.to_string()])?;
    let mut expected: Option<Outcomes> = None;
    let mut differing = Vec::new();
    for (way, flags) in WAYS {
        let here = run(&work, &otp::here(), flags, ["", &calls.to_string()])?;
        // What OTP has, else what the first way has found.
        let expected = expected.get_or_insert_with(|| here.clone().into_iter().chain(of_otp.clone()).collect());
        differing.extend(differences(expected, &here).into_iter().map(|call| format!("{way}: {call}")));
    }
    let unsteady = of_otp.iter().filter(|(_, outcome)| is_unsteady(outcome));
    faults.extend(unsteady.map(|(call, outcome)| format!("OTP: {call} {outcome}")));
    let is_good = faults.is_empty() && differing.is_empty();
    let (ops, calls) = (made.lines().count(), expected.map_or(0, |all| all.len()));
    json::result(&words, "opcodes", is_good, || {
        vec![("opcodes", ops.into()), ("calls", calls.into()), ("differ", differing.len().into())]
    })?;
    faults.iter().for_each(|fault| println!("opcodes: FAILED {fault}"));
    differing.iter().take(shown).for_each(|call| println!("opcodes: differs in {call}"));
    println!(
        "opcodes: {ops} instructions, {calls} calls on OTP and in {} ways on Myriad, {} differ",
        WAYS.len(),
        differing.len()
    );
    Ok(verdict(is_good))
}

/// A VM that does something of `opcodes.erl`; what, is still to be said.
fn vm(work: &Path, erl: &Path, flags: &[&str]) -> Command {
    let mut command = program::limited(TIMEOUT, erl);
    command.args(["+S", "1"]).args(flags).args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(work.join("ebin"));
    command.args(["-run", "opcodes"]).current_dir(work);
    program::without_flags(&mut command).env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", work.join("erl_crash.dump"));
    command
}

/// The outcomes of all modules whose names begin so, each function called so many times.
fn run(work: &Path, erl: &Path, flags: &[&str], [prefix, calls]: [&str; 2]) -> Result<Outcomes, Stop> {
    let (beams, file): (PathBuf, PathBuf) = (work.join("beams"), work.join("outcomes"));
    files::write(&file, "")?;
    let mut command = vm(work, erl, flags);
    match program::run(command.arg("run").arg(beams).args([prefix, calls]).arg(&file))? {
        0 => Ok(outcomes(&files::read(&file)?)),
        status => Err(Stop::Failed(format!("{} {flags:?} ended with status {status}", erl.display()))),
    }
}

fn outcomes(text: &str) -> Outcomes {
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    lines.map(|(call, outcome)| (call.to_owned(), outcome.to_owned())).collect()
}

/// Did it take too long, or come to another thing when it was begun otherwise?
fn is_unsteady(outcome: &str) -> bool {
    matches!(outcome, "late" | "differs" | "unloadable")
}

/// The calls that have come to something else than expected, or have not been made.
fn differences(expected: &Outcomes, found: &Outcomes) -> Vec<String> {
    let differs = |(call, outcome): &(&String, &String)| found.get(*call) != Some(*outcome) || is_unsteady(outcome);
    let missing = expected.iter().filter(differs).map(|(call, _)| call.clone());
    missing.chain(found.keys().filter(|call| !expected.contains_key(*call)).cloned()).collect()
}

/// The instructions of the table (crates/beam/src/opcode.rs) that have no case, and cases of none.
fn without_case(table: &str, cases: &BTreeSet<&str>) -> Vec<String> {
    let row = |line: &'_ str| -> Option<String> {
        let mut words = line.split_whitespace();
        words.next()?.parse::<u8>().ok()?;
        let (_, name, kinds) = (words.next()?, words.next()?, words.next()?);
        kinds.starts_with('[').then(|| name.to_owned())
    };
    let ops: BTreeSet<String> = table.lines().filter_map(row).collect();
    let mut faults: Vec<String> = Vec::new();
    if ops.is_empty() {
        faults.push("no instructions are found in the table".to_owned());
    }
    faults.extend(ops.iter().filter(|op| !cases.contains(op.as_str())).map(|op| format!("{op} has no case")));
    faults.extend(cases.iter().filter(|op| !ops.contains(**op)).map(|op| format!("{op} is in no table")));
    faults
}

/// A call in full, on OTP and in tier 0.
fn show(work: &Path, otp: &Otp, beams: &Path, call: &str) -> Done {
    let Some((module, (function, number))) =
        call.split_once(':').and_then(|(module, rest)| Some((module, rest.split_once(':')?)))
    else {
        return Err(Stop::Usage(format!("{call} is no MODULE:FUNCTION:CALL")));
    };
    let mut good = true;
    for (erl, flags) in [(otp.erl(), &[][..]), (otp::here(), WAYS[0].1)] {
        let status = program::run(vm(work, &erl, flags).arg("show").arg(beams).args([module, function, number]))?;
        good &= status == 0;
    }
    Ok(verdict(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_without_a_case_is_a_fault() {
        let table = "  1 Label   label   [NewLabel]   \"Define.\";\n 2 Move  move [Src Dst] \"Copy.\";\n  27 m_plus 4; 28 m_minus 4;\n";
        assert_eq!(without_case(table, &BTreeSet::from(["label", "move"])), Vec::<String>::new());
        assert_eq!(without_case(table, &BTreeSet::from(["label", "mov"])), ["move has no case", "mov is in no table"]);
        assert_eq!(without_case("", &BTreeSet::new()), ["no instructions are found in the table"]);
    }

    #[test]
    fn calls_that_are_missing_or_unsteady_differ() {
        let expected = outcomes("m f/1 1 AA\nm f/1 2 BB\nm f/1 3 late\n");
        assert_eq!(differences(&expected, &outcomes("m f/1 1 AA\nm f/1 2 BC\n")), ["m f/1 2", "m f/1 3"]);
        assert_eq!(differences(&expected, &expected), ["m f/1 3"]);
        assert_eq!(differences(&outcomes("m f/1 1 AA"), &outcomes("m f/1 1 AA\nm g/1 1 AA")), ["m g/1 1"]);
    }
}
