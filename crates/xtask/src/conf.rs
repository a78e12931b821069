//! `cargo xtask conf`: OTP's own test suites on Myriad, case by case.
//!
//! The suites come from Debian's source package of the installed Erlang, fetched when first needed and kept in `target/conformance`;
//! nothing of it is part of this repository. The cases of a suite run one after the other in one VM, as Common Test runs them, each with
//! a limit of time (see `tests/conformance/conf_runner.erl`), those of `ssl` also with groups that begin once for all of their cases;
//! what fails runs once more in a VM of its own, which decides. Only cases
//! that OTP itself passes in this runner are run and scored: `tests/conformance/otp-RELEASE` names them, suite by suite, an `@` before
//! those that need a distributed node.

mod case;
mod compile;
mod page;
mod record;
mod report;
mod run;
mod single;
mod suite;
mod world;

use crate::heaps::{self, Heap};
use crate::stop::{Done, Stop, verdict};
use crate::words::Words;
use crate::{files, json, otp, parallel, program};
use case::{Case, Outcome};
use report::{Facts, Report};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use suite::{Chosen, Suite};
use world::World;

/// The words that the command takes.
pub const TAKES: &str = "[OPTION...] [SUITE...] | [--vm ERL] SUITE:CASE...
  SUITE            as `map` or `stdlib/lists`; those of tests/conformance/suites without one
  SUITE:CASE       this case alone, in a VM of its own, with what it prints
  --third N        only each third suite of those not marked slow (N = 0, 1, 2; auto: by the number of commits, every other
                   time round --native, of five commits one with --heap private and one with --heap shared);
                   with these --heap those alone that tests/conformance/heaps lists
  --minutes M      begin no case after M minutes; what was not run is neither passed nor failed
  --short          take the records as they are; without the source package, say so and go
  --record         run the suites on OTP first, and write the records anew; done anyway where one is missing or outdated
  --again          only the cases that failed last time
  --report         no case: only the report on what the last runs have left
  --nodes          the cases that need a distributed node, too
  --table FILE     the result as a page; --json FILE: for other programs
  --vm ERL         the VM that runs the cases (bin/erl)
  --native         every function is compiled before it first runs
  --heap HOW       processes have their memory so: private, hybrid, shared
  --timeout S      the seconds that a case may take (60)
  -j N             so many suites at a time (as many as the machine has cores)

A case listed in tests/conformance/known-failures counts as failed but does not make the exit status non-zero;
known-failures-HOW has what --heap HOW adds. One listed in tests/conformance/timed measures time: its second run comes after all others, and has the machine to itself.
";

const FLAGS: [&str; 6] = ["--native", "--short", "--record", "--again", "--report", "--nodes"];
const VALUED: [&str; 8] = ["--third", "--minutes", "--table", "--json", "--vm", "--timeout", "-j", heaps::OPTION];

/// More failures than this are no accident, and need not be run twice where time is short.
const MOST_SECOND_RUNS: usize = 40;

/// Runs suites or single cases, and reports.
pub fn main(words: &[String]) -> Done {
    let words = Words::parse(words, &FLAGS, &VALUED)?;
    let turn = words.value("--third").map(suite::turn).transpose()?;
    let heap = Heap::asked_for(&words)?.or(turn.and_then(|turn| turn.heap));
    let turn = turn.map(|turn| suite::Turn { heap, ..turn });
    let minutes: Option<u64> = words.number("--minutes")?;
    let timeout = words.number("--timeout")?.unwrap_or(60);
    let jobs = words.number("-j")?.unwrap_or_else(parallel::cores);
    let cases = single::asked_for(&words.rest)?;
    let vm = words.value("--vm").map(program::find).transpose()?;
    let listed = Chosen::new(&words.rest, turn)?;
    let Some(mut world) = World::new(vm, timeout, jobs)? else {
        println!(
            "conf: {}OTP's source package could not be fetched",
            if words.has("--short") { "skipped: " } else { "" }
        );
        return Ok(verdict(words.has("--short")));
    };
    let native = words.has("--native") || turn.is_some_and(|turn| turn.native);
    (world.flags, world.heap) = (otp::tier(native), heap);
    if !cases.is_empty() {
        return single::run(&world, &cases);
    }
    world.deadline = minutes.map(|minutes| world.began + Duration::from_secs(minutes * 60));
    let (suites, missing) = ready(&world, &listed, native);
    record::renew(&world, &suites, words.has("--short"), words.has("--record"))?;
    let report = judge(&mut world, &suites, &words)?;
    finish(&world, &report, missing, &words)
}

/// The suites that are there and compile, and how many are or do not.
fn ready(world: &World, chosen: &Chosen, native: bool) -> (Vec<Suite>, usize) {
    if let Some(third) = chosen.third {
        let option = if native { " --native" } else { "" };
        let heap = heaps::again(world.heap);
        println!(
            "third {third}: {} suites; again with: cargo xtask conf --third {third}{option}{heap}",
            chosen.names.len()
        );
    }
    let suites = suite::find_all(world, &chosen.names);
    compile::compile(world, &suites);
    let (ready, broken): (Vec<Suite>, Vec<Suite>) = suites.into_iter().partition(|suite| world.is_compiled(suite));
    for suite in broken {
        let log = files::read_if_there(&world.ebin(&suite).join(format!("{}.log", suite.name)));
        println!("{}: does not compile: {}", suite.id(), log.lines().next().unwrap_or_default());
    }
    println!("conformance: {} suites compiled after {} s", ready.len(), world.began.elapsed().as_secs());
    let missing = chosen.names.len() - ready.len();
    (ready, missing)
}

/// Runs the cases as asked for, and what fails once more; what came of all.
fn judge(world: &mut World, suites: &[Suite], words: &Words) -> Result<Report, Stop> {
    let (report_only, again) = (words.has("--report"), words.has("--again"));
    let here = world.work.join("here");
    let all: Vec<Case> = suites.iter().flat_map(|suite| record::passed_by_otp(world, suite)).collect();
    // Those that need a node wait for distribution.
    let alone: Vec<&Case> = all.iter().filter(|case| !case.node).collect();
    first_runs(world, suites, &here, &alone, again, report_only)?;
    let facts = Facts::read(world)?;
    let second = if report_only { vec![] } else { to_run_again(world, &facts, &here, &alone) };
    // A failure is not forgotten for want of time.
    world.deadline = None;
    case::forget(&here, &second);
    let (timed, untimed): (Vec<&Case>, Vec<&Case>) = second.iter().partition(|case| facts.timed.contains(&case.id()));
    world.run_cases(&world.vm, &here, &untimed, world.jobs);
    if words.has("--nodes") {
        world.run_cases(&world.vm, &here, &all.iter().filter(|case| case.node).collect::<Vec<_>>(), world.jobs);
    }
    world.run_cases(&world.vm, &here, &timed, 1);
    let counted = all.iter().filter(|case| !case.node || words.has("--nodes"));
    let outcomes = counted.map(|case| (case, case.outcome(&here))).collect();
    let second: BTreeSet<String> = second.iter().map(|case| case.id()).collect();
    Ok(Report::new(&facts, &second, &all, outcomes))
}

/// All cases suite by suite, or those that failed last time, or none.
fn first_runs(
    world: &World,
    suites: &[Suite],
    here: &Path,
    cases: &[&Case],
    again: bool,
    report_only: bool,
) -> Result<(), Stop> {
    if report_only {
        return Ok(());
    }
    if again {
        let failed: Vec<&Case> = cases.iter().copied().filter(|case| case.outcome(here) != Outcome::Passed).collect();
        case::forget(here, &failed);
        world.run_cases(&world.vm, here, &failed, world.jobs);
        return Ok(());
    }
    suites.iter().for_each(|suite| files::remove_folder(&here.join(suite.key())));
    world.run_suites(&world.vm, here, cases)
}

/// What failed and is not known to, unless the time is limited and too much did.
fn to_run_again<'a>(world: &World, facts: &Facts, here: &Path, cases: &[&'a Case<'a>]) -> Vec<&'a Case<'a>> {
    let failed =
        |case: &&Case| matches!(case.outcome(here), Outcome::Other(_)) && !facts.known.contains_key(&case.id());
    let second: Vec<&Case> = cases.iter().copied().filter(failed).collect();
    if world.deadline.is_some() && second.len() > MOST_SECOND_RUNS { vec![] } else { second }
}

fn finish(world: &World, report: &Report, missing: usize, words: &Words) -> Result<ExitCode, Stop> {
    print!("{}", report.text());
    println!("conformance: {} s", world.began.elapsed().as_secs());
    if let Some(file) = words.value("--table") {
        files::write(file.as_ref(), page::page(report, &world.otp))?;
    }
    let good = report.is_good() && missing == 0;
    json::result(words, "conf", good, || report.found())?;
    Ok(verdict(good))
}
