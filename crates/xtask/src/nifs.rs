//! `cargo xtask nifs`: sequences of calls of the NIF interface, by seed.
//!
//! The library `nif_ops` does what strings of operations say, which `nif_gen` makes (`tests/nifs`), called by a process or as a tracer ([`WAYS`]). Valid
//! sequences must come to the same on OTP, here, and here with `+nifcheck`. One of misuse must end a VM with `+nifcheck`, by a message and a crash dump that
//! name what it did.

use crate::files::{self, top};
use crate::json;
use crate::otp::{self, Otp};
use crate::program;
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The words that the command takes.
pub const TAKES: &str = "[--seed N] [--count N] [--misuse N] [--shown N] [--json FILE] [--show SEED] [--sanitizer NAME]
  --seed N       the first seed; drawn without it
  --count N      how many valid sequences (2000)
  --misuse N     how many of misuse (one of each kind)
  --shown N      name so many of the sequences that differ (12)
  --show SEED    the valid sequence of a seed, and what it comes to on OTP and here
  --sanitizer NAME  the VM here has it (address, thread): its library too
  --json FILE    the result for other programs
";

/// The seconds that a VM may take.
const TIMEOUT: u64 = 600;
/// The exit status of a VM that a library's misuse has ended.
const MISUSED: i32 = 134;
const CHECKED: &[&str] = &["+nifcheck"];

/// A VM, and the folder with the library that is built for it.
struct Vm {
    erl: PathBuf,
    folder: PathBuf,
}

/// A way in which sequences are run.
struct Way {
    /// What does valid ones (`nif_run.erl`).
    valid: &'static str,
    /// What does one of misuse.
    misuse: &'static str,
    /// The library's function, as a message about a misuse names it.
    function: &'static str,
}

const WAYS: [Way; 2] = [
    Way { valid: "valid", misuse: "misuse", function: "nif_ops:run/2" },
    Way { valid: "traced", misuse: "traced_misuse", function: "its function for tracing" },
];

/// Runs sequences, and says what differs and what is not found.
pub fn main(words: &[String]) -> Done {
    let words =
        Words::parse(words, &[], &["--seed", "--count", "--misuse", "--shown", "--show", "--sanitizer", "--json"])?;
    let words = words.nothing_else()?;
    let count: u64 = words.number("--count")?.unwrap_or(2000);
    let misuses: Option<u64> = words.number("--misuse")?;
    let shown: usize = words.number("--shown")?.unwrap_or(12);
    let show: Option<u64> = words.number("--show")?;
    let seed = words.seed()?;
    let otp = Otp::find()?;
    let work = top().join("target/nifs");
    otp::compile(&otp, &work.join("ebin"), &[], &files::ending(&top().join("tests/nifs"), ".erl"))?;
    let stock = Vm { erl: otp.erl(), folder: work.join("otp") };
    let here = Vm { erl: otp::here(), folder: work.join("here") };
    stock.make_library(&otp, None)?;
    here.make_library(&otp, words.value("--sanitizer"))?;
    if let Some(seed) = show {
        let on = |vm: &Vm| program::run(vm.run(&work, &[]).args(["show", &seed.to_string()]));
        return Ok(verdict(on(&stock)? == 0 && on(&here)? == 0));
    }
    let mut differing = Vec::new();
    for Way { valid: how, .. } in &WAYS {
        let expected = valid(&work, &stock, &[], how, seed, count)?;
        for flags in [&[][..], CHECKED] {
            let found = valid(&work, &here, flags, how, seed, count)?;
            let differs = expected.iter().zip(&found).filter(|(expected, found)| expected != found);
            let number = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
            differing.extend(differs.map(|(line, _)| format!("{} {how} {flags:?}", number(line))));
            if found.len() != expected.len() {
                differing.push(format!("the number of sequences {how}: {} of {}", found.len(), expected.len()));
            }
        }
    }
    let kinds = program::output(stock.run(&work, &[]).arg("kinds"))?.unwrap_or_default();
    let kinds = kinds.trim().parse().map_err(|_| Stop::Failed(format!("the kinds of misuse are {kinds:?}")))?;
    let seeds = seed..seed + misuses.unwrap_or(kinds);
    let (mut unfound, all) = (Vec::new(), (seeds.end - seeds.start) * WAYS.len() as u64);
    for (seed, way) in seeds.flat_map(|seed| WAYS.iter().map(move |way| (seed, way))) {
        unfound.extend(misuse(&work, &here, way, seed)?.map(|why| format!("{} {seed}: {why}", way.misuse)));
    }
    let is_good = differing.is_empty() && unfound.is_empty();
    json::result(&words, "nifs", is_good, || {
        let counts = [("sequences", count), ("misuses", all)].map(|(what, number)| (what, number.into()));
        let faults =
            [("differ", differing.len()), ("unfound", unfound.len())].map(|(what, number)| (what, number.into()));
        [("seed", seed.into())].into_iter().chain(counts).chain(faults).collect()
    })?;
    differing.iter().take(shown).for_each(|what| println!("nifs: FAILED differs: {what}"));
    unfound.iter().take(shown).for_each(|what| println!("nifs: FAILED {what}"));
    println!(
        "nifs: {count} valid sequences on OTP and here, with and without +nifcheck, called and as tracers: {} differ; {all} of misuse: {} not named (seed {seed})",
        differing.len(),
        unfound.len()
    );
    Ok(verdict(is_good))
}

impl Vm {
    /// Compiles the library, for a VM with a sanitizer if one is named.
    fn make_library(&self, otp: &Otp, sanitizer: Option<&str>) -> Result<(), Stop> {
        files::make_folder(&self.folder)?;
        let mut compiler = match sanitizer {
            Some(_) => program::command(top().join("tools/sanitized/cc")),
            None => program::command("cc"),
        };
        compiler.env("SANITIZER", sanitizer.unwrap_or_default());
        compiler
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(otp.root.join("usr/include"));
        let library = self.folder.join("nif_ops.so");
        match program::run(compiler.arg("-o").arg(library).arg(top().join("tests/nifs/nif_ops.c")))? {
            0 => Ok(()),
            _ => Err(Stop::Failed("the library does not compile".to_owned())),
        }
    }

    /// The VM, which does something of `nif_run.erl`; what, is still to be said.
    fn run(&self, work: &Path, flags: &[&str]) -> Command {
        let mut command = program::limited(TIMEOUT, &self.erl);
        command.args(flags).args(["-noshell", "-boot", "no_dot_erlang", "-pa"]).arg(work.join("ebin"));
        command.args(["-run", "nif_run", "main"]).current_dir(&self.folder);
        program::without_flags(&mut command).env("LC_ALL", "C.UTF-8").env("ERL_CRASH_DUMP", dump(work));
        command
    }
}

fn dump(work: &Path) -> PathBuf {
    work.join("erl_crash.dump")
}

/// What valid sequences come to, a line each.
fn valid(work: &Path, vm: &Vm, flags: &[&str], how: &str, seed: u64, count: u64) -> Result<Vec<String>, Stop> {
    let file = work.join("outcomes");
    files::write(&file, "")?;
    let mut command = vm.run(work, flags);
    match program::run(command.args([how, &seed.to_string(), &count.to_string()]).arg(&file))? {
        0 => Ok(files::read(&file)?.lines().map(str::to_owned).collect()),
        status => Err(Stop::Failed(format!("{} {flags:?} ended with status {status} (seed {seed})", vm.erl.display()))),
    }
}

/// What is wrong with how a sequence of misuse has ended; nothing: it was found.
fn misuse(work: &Path, vm: &Vm, way: &Way, seed: u64) -> Result<Option<String>, Stop> {
    let file = work.join("said");
    files::write(&dump(work), "")?;
    let mut command = vm.run(work, CHECKED);
    let status = program::run_to(command.args([way.misuse, &seed.to_string()]), files::create(&file)?)?;
    Ok(unnamed(status, way.function, &files::read(&file)?, &files::read(&dump(work))?))
}

/// What a VM with an exit status, what it has said, and its crash dump do not tell of a misuse in a library's function.
fn unnamed(status: i32, within: &str, said: &str, dump: &str) -> Option<String> {
    let line = |begin: &str| said.lines().find_map(|line| line.strip_prefix(begin)).map(str::trim_end);
    let Some((function, what)) = line("expected: ").and_then(|expected| expected.split_once(": ")) else {
        return Some(format!("it has not begun: {said}"));
    };
    let Some(found) = line("NIF misuse in ") else {
        return Some(format!("{function}: {what}: it is not named (status {status}): {said}"));
    };
    let is_named = found.contains("nif_ops.so") && found.contains(within);
    let is_right = found.contains(&format!(": {function}, ")) && found.contains(&format!(": {what}"));
    if !(is_named && is_right && status == MISUSED) {
        return Some(format!("{function}: {what}: status {status}: {found}"));
    }
    let in_dump = dump
        .lines()
        .any(|line| line.strip_prefix("Slogan: NIF misuse in ").is_some_and(|rest| rest.trim_end() == found));
    (!in_dump).then(|| format!("{function}: {what}: it is not in the crash dump"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: &str = WAYS[0].function;

    #[test]
    fn a_misuse_is_named_where_it_is_to_be() {
        let said = "expected: enif_compare: a term that is gone\nNIF misuse in /x/nif_ops.so, nif_ops:run/2: enif_compare, a: a term that is gone\r\n";
        let dump = "=erl_crash_dump:0.5\nSlogan: NIF misuse in /x/nif_ops.so, nif_ops:run/2: enif_compare, a: a term that is gone\n";
        assert_eq!(unnamed(134, WITHIN, said, dump), None);
        assert!(unnamed(134, WITHIN, said, "").is_some_and(|why| why.contains("crash dump")));
        assert!(unnamed(139, WITHIN, said, dump).is_some_and(|why| why.contains("status 139")));
        assert!(unnamed(134, WITHIN, &said.replace("enif_compare, a", "enif_hash, a"), dump).is_some());
        assert!(
            unnamed(0, WITHIN, "expected: f: w\naccepted: []\n", dump).is_some_and(|why| why.contains("not named"))
        );
        assert!(unnamed(1, WITHIN, "", dump).is_some_and(|why| why.contains("not begun")));
    }
}
