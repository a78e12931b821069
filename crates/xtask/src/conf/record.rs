//! OTP's own results: which cases it passes in this runner, a file for each suite.
//!
//! The first line names the package and the protocol that the record was made with; another one makes it outdated.

use super::case::{self, Case, Outcome};
use super::suite::Suite;
use super::world::World;
use crate::stop::Stop;
use crate::{files, program};
use std::path::Path;

/// What a case sees of the runner; records made under another protocol are made anew.
const PROTOCOL: usize = 2;

/// The cases of a suite that OTP passes, as the record has them.
pub fn passed_by_otp<'a>(world: &World, suite: &'a Suite) -> Vec<Case<'a>> {
    let record = files::read_if_there(&world.record(suite));
    record.lines().filter(|line| !line.starts_with('#')).map(|line| Case::parse(suite, line)).collect()
}

/// All cases of a suite, asked of the suite itself on OTP.
pub fn list<'a>(world: &World, suite: &'a Suite) -> Result<Vec<Case<'a>>, Stop> {
    let folder = world.work.join("cases");
    files::make_folder(&folder)?;
    let file = folder.join(suite.key());
    let mut command = world.start(&world.otp.erl(), suite, 60);
    command.args(["-eval", &format!("code:ensure_loaded('{}')", suite.module())]);
    command.args(["-run", "conf_runner", "list", &suite.module()]).arg(&file);
    if program::quiet(&mut command)? != 0 {
        println!("{}: its cases cannot be listed", suite.id());
    }
    Ok(files::read_if_there(&file).lines().map(|line| Case::parse(suite, line)).collect())
}

/// Makes the records that are missing or outdated, or all of these suites.
pub fn renew(world: &World, suites: &[Suite], as_they_are: bool, all: bool) -> Result<(), Stop> {
    let header = header(world);
    let is_stale =
        |suite: &&Suite| all || files::read_if_there(&world.record(suite)).lines().next() != Some(header.as_str());
    let stale: Vec<&Suite> = suites.iter().filter(is_stale).collect();
    if as_they_are || stale.is_empty() {
        return Ok(());
    }
    println!("conformance: OTP's results for {} suites", stale.len());
    let place = world.work.join("otp");
    let mut cases = Vec::new();
    for suite in &stale {
        files::remove_folder(&place.join(suite.key()));
        cases.extend(list(world, suite)?);
    }
    let node = run_on_otp(world, &place, &cases)?;
    stale.iter().try_for_each(|suite| write(world, suite, &header, &place, &cases, &node))
}

fn header(world: &World) -> String {
    format!("# Cases that OTP {} passes: package {}, protocol {PROTOCOL}", world.otp.release, world.version)
}

/// Runs the cases. What fails is tried once more alone, then as a distributed node: those are returned.
fn run_on_otp<'a>(world: &World, place: &Path, cases: &[Case<'a>]) -> Result<Vec<Case<'a>>, Stop> {
    let erl = world.otp.erl();
    let all: Vec<&Case> = cases.iter().collect();
    world.run_suites(&erl, place, &all)?;
    let second = failing(place, &all);
    case::forget(place, &second);
    world.run_cases(&erl, place, &second, world.jobs);
    let node: Vec<Case> = failing(place, &all).into_iter().map(|case| Case { node: true, ..case.clone() }).collect();
    let third: Vec<&Case> = node.iter().collect();
    case::forget(place, &third);
    world.run_cases(&erl, place, &third, world.jobs);
    Ok(node)
}

/// Those that neither passed nor skipped themselves.
fn failing<'a, 'b>(place: &Path, cases: &[&'b Case<'a>]) -> Vec<&'b Case<'a>> {
    cases.iter().copied().filter(|case| has_failed(&case.outcome(place))).collect()
}

fn has_failed(outcome: &Outcome) -> bool {
    *outcome != Outcome::Passed && !outcome.is_skipped()
}

fn write(world: &World, suite: &Suite, header: &str, place: &Path, cases: &[Case], node: &[Case]) -> Result<(), Stop> {
    let outcomes: Vec<(&Case, Outcome)> =
        cases.iter().filter(|case| case.suite == suite).map(|case| (case, case.outcome(place))).collect();
    let mut text = format!("{header}\n");
    for (case, _) in outcomes.iter().filter(|(_, outcome)| *outcome == Outcome::Passed) {
        let mark = if node.iter().any(|other| other.id() == case.id()) { "@" } else { "" };
        text += &format!("{mark}{}\n", case.name);
    }
    let count = |is: fn(&Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| is(outcome)).count();
    let passed = count(|outcome| *outcome == Outcome::Passed);
    println!(
        "{}: OTP passed {passed}, failed {}, skipped {}",
        suite.id(),
        count(has_failed),
        count(Outcome::is_skipped)
    );
    let file = world.record(suite);
    file.parent().map_or(Ok(()), files::make_folder)?;
    files::write(&file, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_has_not_failed() {
        let other = |text: &str| Outcome::Other(text.to_owned());
        assert!(has_failed(&other("failed x")) && has_failed(&Outcome::NotRun));
        assert!(!has_failed(&other("skipped x")) && !has_failed(&Outcome::Passed));
    }
}
