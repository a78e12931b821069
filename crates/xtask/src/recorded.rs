//! `cargo xtask recorded`: the recorded tests, programs whose output on the given VM must be what OTP printed.
//!
//! `tests/erl/AREA/NAME.erl` are modules with `main/0` (see `tests/erl/lib/t.erl`); `tests/cli/NAME.sh` are scripts that start `$ERL`
//! themselves. Each line of expected output is one check; so is the exit status.

mod compare;
mod run;

use crate::files::{self, top};
use crate::heaps::{self, Heap};
use crate::json::{self, Json};
use crate::otp::{self, Otp};
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use crate::{parallel, program};
use compare::{Judged, Known};
use run::World;
use std::path::PathBuf;
use std::process::ExitCode;

/// The words that the command takes.
pub const TAKES: &str = "[--vm ERL] [-j N] [--json FILE] [--timeout S] [--lines N] [--schedulers N] [--yields SEED] [--migrate SEED] [--heap HOW] [--native] [--record | --sequential] [PATTERN...]
  PATTERN       a part of AREA/NAME; all programs without one
  --vm ERL      the VM that runs them (bin/erl)
  -j N          so many at a time (as many as the machine has cores)
  --json FILE   the result for other programs
  --timeout S   the seconds that a program may take (90)
  --lines N     show so many lines of what differs (20)
  --schedulers N  on N schedulers, all online: not the programs that ask for several, or show what follows from their number
  --yields SEED   slices are of lengths drawn by the seed
  --migrate SEED  processes move to private threads and back, as drawn by the seed
  --heap HOW    processes have their memory so: private, hybrid, shared
  --native      every function is compiled before it first runs
  --record      write tests/expected from the installed OTP instead
  --sequential  the VM is the sequential one (make single): not the programs that ask for several schedulers

tests/known-failures lists what is known to differ, `AREA/NAME LINES REASON` each: so many lines of that program may
differ; tests/known-failures-HOW what --heap HOW adds. More is a failure; fewer asks for the number to be lowered. tests/several-schedulers lists what --sequential and --schedulers leave
out, tests/counts-schedulers what --schedulers does beside that, tests/on-schedulers what --migrate does, `AREA/NAME REASON` each.
";

/// Runs the programs and compares, or records.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(
        words,
        &["--record", "--sequential", "--native"],
        &["--vm", "-j", "--json", "--timeout", "--lines", "--schedulers", "--yields", "--migrate", heaps::OPTION],
    )?;
    let jobs = words.number("-j")?.unwrap_or_else(parallel::cores);
    let timeout = words.number("--timeout")?.unwrap_or(90);
    let shown = words.number("--lines")?.unwrap_or(20);
    let heap = Heap::asked_for(&words)?;
    let mut names = names(&words.rest)?;
    let schedulers = words.number::<u16>("--schedulers")?;
    let (yields, migrate) = (words.number::<u64>("--yields")?, words.number::<u64>("--migrate")?);
    if words.has("--sequential") || schedulers.is_some() {
        leave_out(&mut names, "several-schedulers")?;
    }
    if schedulers.is_some() {
        leave_out(&mut names, "counts-schedulers")?;
    }
    if migrate.is_some() {
        leave_out(&mut names, "on-schedulers")?;
    }
    let otp = Otp::find()?;
    let record = words.has("--record");
    let vm = match words.value("--vm") {
        _ if record => otp.erl(),
        Some(vm) => program::find(vm)?,
        None => otp::here(),
    };
    let tests = top().join("tests");
    let build = top().join("target/tests");
    let out = if record { tests.join("expected") } else { build.join("out") };
    let flags = [
        // Without compaction: so many are to work side by side.
        schedulers.map(|n| format!("+S {n}:{n} +scl false")),
        yields.map(|seed| format!("+JMyields {seed}")),
        migrate.map(|seed| format!("+JMmigrate {seed}")),
        heap.map(Heap::flag),
        words.has("--native").then(|| otp::NATIVE.join(" ")),
    ];
    let flags = flags.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let world = World { vm, timeout, tests, build, out, flags };
    world.compile(&otp)?;
    parallel::each(names.iter().map(String::as_str).collect(), jobs, |name| world.run(name));
    if record {
        return recorded(&world, &names);
    }
    let judged = judge(&world, &names, heap.unwrap_or(Heap::DEFAULT))?;
    let good = report(&world, &judged, shown);
    json::result(&words, "recorded", good, || found(&judged))?;
    Ok(verdict(good))
}

/// The programs that any of the patterns is a part of, by name.
fn names(patterns: &[String]) -> Result<Vec<String>, Stop> {
    let tests = top().join("tests");
    let folders = std::fs::read_dir(tests.join("erl")).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> = Vec::new();
    for folder in folders.filter(|folder| files::name(folder) != "lib") {
        names.extend(programs(folder, ".erl"));
    }
    names.extend(programs(tests.join("cli"), ".sh"));
    names.retain(|name| patterns.is_empty() || patterns.iter().any(|pattern| name.contains(pattern.as_str())));
    names.sort();
    if names.is_empty() { Err(Stop::Usage(format!("no test matches {}", patterns.join(" ")))) } else { Ok(names) }
}

/// Leaves out the programs of a list of names and reasons in this file of `tests`.
fn leave_out(names: &mut Vec<String>, file: &str) -> Result<(), Stop> {
    leave_out_listed(names, &files::read_if_there(&top().join("tests").join(file)), file)
}

/// A program that is not there has no place in the list.
fn leave_out_listed(names: &mut Vec<String>, list: &str, file: &str) -> Result<(), Stop> {
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let all = self::names(&[])?;
    if let Some(unknown) = listed.iter().find(|name| !all.iter().any(|one| one == *name)) {
        return Err(Stop::Failed(format!("tests/{file}: there is no program {unknown}")));
    }
    names.retain(|name| !listed.contains(&name.as_str()));
    Ok(())
}

/// `AREA/NAME` of the files in an area's folder that end so.
fn programs(folder: PathBuf, end: &str) -> impl Iterator<Item = String> {
    let files = files::ending(&folder, end);
    files.into_iter().map(move |file| format!("{}/{}", files::name(&folder), files::stem(&file)))
}

fn recorded(world: &World, names: &[String]) -> Done {
    let lines: usize = names.iter().map(|name| files::read_if_there(&world.output_of(name)).lines().count()).sum();
    println!("recorded {} programs, {lines} lines", names.len());
    Ok(ExitCode::SUCCESS)
}

fn judge(world: &World, names: &[String], heap: Heap) -> Result<Vec<Judged>, Stop> {
    let lists = ["known-failures".to_owned(), format!("known-failures-{}", heap.name())];
    let known = Known::parse(&lists.map(|list| files::read_if_there(&world.tests.join(list))).concat());
    names.iter().map(|name| compare::judge(world, name, known.lines(name))).collect()
}

/// Says what differs, and counts. Is all as expected?
fn report(world: &World, judged: &[Judged], shown: usize) -> bool {
    judged.iter().for_each(|program| program.tell(&world.difference_of(&program.name), shown));
    let bad: Vec<&str> =
        judged.iter().filter(|program| program.is_bad()).map(|program| program.name.as_str()).collect();
    let sum = |count: fn(&Judged) -> usize| judged.iter().map(count).sum::<usize>();
    let (passed, failed, known) = (sum(Judged::passed), sum(Judged::failed), sum(Judged::known));
    if !bad.is_empty() {
        println!("failing programs: {}", bad.join(" "));
        println!("one of them again: cargo xtask recorded {}", bad[0]);
    }
    if known > 0 {
        println!("known to differ: {known} lines (tests/known-failures)");
    }
    println!("{passed} passed, {failed} failed");
    failed == 0
}

/// The result for other programs.
fn found(judged: &[Judged]) -> Vec<(&'static str, Json)> {
    let sum = |count: fn(&Judged) -> usize| Json::from(judged.iter().map(count).sum::<usize>());
    vec![
        ("passed", sum(Judged::passed)),
        ("failed", sum(Judged::failed)),
        ("known", sum(Judged::known)),
        ("programs", Json::List(judged.iter().map(Judged::to_json).collect())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_programs() {
        let chosen = names(&["cli/".to_owned(), "term/deep".to_owned()]).unwrap();
        assert!(chosen.contains(&"term/deep".to_owned()) && chosen.contains(&"cli/pipes".to_owned()));
        assert!(
            chosen.is_sorted() && chosen.iter().all(|name| name.starts_with("cli/") || name.starts_with("term/deep"))
        );
        assert!(names(&[]).unwrap().iter().all(|name| !name.starts_with("lib/")));
        assert!(matches!(names(&["no such program".to_owned()]), Err(Stop::Usage(_))));
    }

    #[test]
    fn listed_programs_are_left_out() {
        let mut chosen = names(&["cli/".to_owned()]).unwrap();
        leave_out_listed(&mut chosen, "cli/pipes for a reason\n", "a list").unwrap();
        assert!(!chosen.contains(&"cli/pipes".to_owned()) && chosen.contains(&"cli/flags".to_owned()));
        assert!(matches!(leave_out_listed(&mut chosen, "cli/gone for a reason\n", "a list"), Err(Stop::Failed(_))));
    }
}
