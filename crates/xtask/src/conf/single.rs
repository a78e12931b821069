//! Single cases, as one repeats them while looking for a fault: each in a VM of its own, with what it prints.

use super::case::{Case, Outcome};
use super::suite::Suite;
use super::world::World;
use super::{compile, record};
use crate::files;
use crate::stop::{Done, Stop, verdict};

/// How much of a case's log is shown.
const LINES_SHOWN: usize = 40;

/// The words of the form `SUITE:CASE`, as suites and cases. All words are, or none.
pub fn asked_for(words: &[String]) -> Result<Vec<(String, String)>, Stop> {
    let cases: Vec<(String, String)> = words
        .iter()
        .filter_map(|word| word.split_once(':'))
        .map(|(suite, case)| (suite.strip_suffix("_SUITE").unwrap_or(suite).to_owned(), case.to_owned()))
        .collect();
    match words.iter().find(|word| !word.contains(':')) {
        Some(suite) if !cases.is_empty() => Err(Stop::Usage(format!("{suite} names no case, and other words do"))),
        _ => Ok(cases),
    }
}

/// Runs the cases; those that fail print the end of their log.
pub fn run(world: &World, asked: &[(String, String)]) -> Done {
    let mut good = true;
    for (name, case) in asked {
        let suite = Suite::find(&world.source, name).ok_or_else(|| Stop::Failed(format!("{name}: no such suite")))?;
        compile::compile(world, std::slice::from_ref(&suite));
        if !world.is_compiled(&suite) {
            return Err(Stop::Failed(format!("{name}: does not compile: {}", world.ebin(&suite).display())));
        }
        for case in find(world, &suite, case)? {
            good &= run_one(world, &case)?;
        }
    }
    Ok(verdict(good))
}

/// The cases of this name, with or without those of their groups: of the record, or of the suite where OTP does not pass it.
fn find<'a>(world: &World, suite: &'a Suite, name: &str) -> Result<Vec<Case<'a>>, Stop> {
    let recorded = named(record::passed_by_otp(world, suite), name);
    if !recorded.is_empty() {
        return Ok(recorded);
    }
    let listed = named(record::list(world, suite)?, name);
    if listed.is_empty() {
        return Err(Stop::Failed(format!("{}: no case {name}", suite.id())));
    }
    println!("{}: {name} is not among the cases that OTP passes in this runner", suite.id());
    Ok(listed)
}

fn named<'a>(cases: Vec<Case<'a>>, name: &str) -> Vec<Case<'a>> {
    let tail = format!("/{name}");
    cases.into_iter().filter(|case| case.name == name || case.name.ends_with(&tail)).collect()
}

fn run_one(world: &World, case: &Case) -> Result<bool, Stop> {
    let place = world.work.join("single");
    super::case::forget(&place, &[case]);
    world.run_case(&world.vm, &place, case)?;
    let outcome = case.outcome(&place);
    let file = case.file(&place);
    let log = file.with_file_name(format!("{}.log", files::name(&file)));
    let seconds = files::read_if_there(&file.with_file_name(format!("{}.seconds", files::name(&file))));
    println!("{} on {}: {} ({} s)", case.short(), world.vm.display(), outcome.text(), seconds.trim());
    if outcome != Outcome::Passed {
        let text = files::read_if_there(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].iter().for_each(|line| println!("    {line}"));
        println!("    (all of it: {})", log.display());
    }
    Ok(outcome == Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_asked_for_by_suite() {
        let ask = |words: &[&str]| asked_for(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(ask(&["map_SUITE:t_fold"]).unwrap(), [("map".to_owned(), "t_fold".to_owned())]);
        assert_eq!(ask(&["map"]).unwrap(), []);
        assert!(ask(&["map:t_fold", "lists"]).is_err());
    }

    #[test]
    fn cases_are_found_without_their_groups() {
        let suite = Suite { application: "a", name: "x".to_owned(), folder: "".into() };
        let cases = || ["g/one", "h/one", "@g/two", "three"].map(|line| Case::parse(&suite, line)).to_vec();
        assert_eq!(named(cases(), "one").len(), 2);
        assert_eq!(named(cases(), "g/one").len(), 1);
        assert!(named(cases(), "two")[0].node && named(cases(), "hree").is_empty());
    }
}
