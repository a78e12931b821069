//! What came of all cases: counted suite by suite, and those named that are not as they should be.

use super::case::{Case, Outcome};
use super::world::World;
use crate::files;
use crate::heaps::Heap;
use crate::json::Json;
use crate::stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of cases beforehand; they are named as [`Case::id`] does.
pub struct Facts {
    /// Those that fail, and why (`tests/conformance/known-failures`, and the list of the architecture of heaps).
    pub known: BTreeMap<String, String>,
    /// Those that measure time (`tests/conformance/timed`).
    pub timed: BTreeSet<String>,
}

impl Facts {
    /// Reads the lists.
    pub fn read(world: &World) -> Result<Facts, Stop> {
        let all = files::read(&world.parts.join("known-failures"))?;
        let of_heap = format!("known-failures-{}", world.heap.unwrap_or(Heap::DEFAULT).name());
        let of_heap = files::read_if_there(&world.parts.join(of_heap));
        let known = [all, of_heap].iter().flat_map(|list| rows(list)).collect();
        let timed = rows(&files::read(&world.parts.join("timed"))?).into_iter().map(|(id, _)| id).collect();
        Ok(Facts { known, timed })
    }
}

/// Lines of `SUITE CASE WORDS...`: the case, and the words.
fn rows(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let (suite, rest) = line.split_once(' ')?;
        let (case, words) = rest.trim_start().split_once(' ').unwrap_or((rest.trim_start(), ""));
        let words = if words.trim().is_empty() { "no reason given" } else { words.trim_start() };
        Some((format!("{suite} {case}"), words.to_owned()))
    });
    rows.collect()
}

/// The counts of a suite, or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The suite.
    pub suite: String,
    /// Cases that OTP passes.
    pub otp: usize,
    /// Those of them that need a distributed node and did not get one.
    pub nodes: usize,
    /// Those that passed.
    pub passed: usize,
    /// Those that did not.
    pub failed: usize,
    /// Those for which there was no time.
    pub unrun: usize,
}

/// What a case means for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    NotRun,
    Passed,
    PassedAgainstTheList,
    PassedAlone,
    FailedAsKnown,
    Failed,
}

/// A case, what came of it, and what that means.
struct Judged {
    suite: String,
    case: String,
    outcome: Outcome,
    verdict: Verdict,
}

/// The result of a run.
pub struct Report {
    rows: Vec<Row>,
    cases: Vec<Judged>,
    known: BTreeMap<String, String>,
}

impl Report {
    /// Judges outcomes. `second` are the cases that ran once more, `all` those that OTP passes.
    pub fn new(facts: &Facts, second: &BTreeSet<String>, all: &[Case], outcomes: Vec<(&Case, Outcome)>) -> Report {
        let mut report = Report { rows: vec![], cases: vec![], known: facts.known.clone() };
        for case in all {
            let row = report.row(&case.suite.id());
            row.otp += 1;
            row.nodes += usize::from(case.node);
        }
        for (case, outcome) in outcomes {
            let id = case.id();
            let verdict = verdict(&id, &outcome, facts, second);
            let row = report.row(&case.suite.id());
            row.nodes -= usize::from(case.node);
            match verdict {
                Verdict::NotRun => row.unrun += 1,
                Verdict::FailedAsKnown | Verdict::Failed => row.failed += 1,
                Verdict::Passed | Verdict::PassedAgainstTheList | Verdict::PassedAlone => row.passed += 1,
            }
            report.cases.push(Judged { suite: case.suite.id(), case: case.name.clone(), outcome, verdict });
        }
        report
    }

    fn row(&mut self, suite: &str) -> &mut Row {
        let index = self.rows.iter().position(|row| row.suite == suite).unwrap_or_else(|| {
            self.rows.push(Row { suite: suite.to_owned(), ..Row::default() });
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }

    /// Did nothing fail that is not known to?
    pub fn is_good(&self) -> bool {
        self.cases.iter().all(|case| case.verdict != Verdict::Failed)
    }

    /// A row for each suite, in the order of the run.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The sums of all rows.
    pub fn total(&self) -> Row {
        let sum = |count: fn(&Row) -> usize| self.rows.iter().map(count).sum();
        Row {
            suite: "all".to_owned(),
            otp: sum(|row| row.otp),
            nodes: sum(|row| row.nodes),
            passed: sum(|row| row.passed),
            failed: sum(|row| row.failed),
            unrun: sum(|row| row.unrun),
        }
    }

    /// What failed: suite, case, and why as far as is known.
    pub fn lost(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        let lost = self.cases.iter().filter(|case| matches!(case.verdict, Verdict::FailedAsKnown | Verdict::Failed));
        lost.map(|case| {
            let reason = self.known.get(&case.id()).map_or("not looked into", String::as_str);
            (case.suite.as_str(), case.case.as_str(), reason)
        })
    }

    /// A line for each suite, one for each case that is not as it should be, and the sum.
    pub fn text(&self) -> String {
        let suites = self
            .rows
            .iter()
            .map(|row| format!("{}: {} of {}{}\n", row.suite, row.passed, row.run(), row.rest("not run")));
        let cases = self.cases.iter().filter_map(|case| case.remark(&self.known));
        let total = self.total();
        let share = 100.0 * total.passed as f64 / total.run().max(1) as f64;
        let sum = format!("{} of {} cases pass ({share:.1} %)", total.passed, total.run());
        let all: String = suites.chain(cases).collect();
        format!("{all}{sum}{}\n", total.rest("not run for want of time"))
    }

    /// The result for other programs.
    pub fn found(&self) -> Vec<(&'static str, Json)> {
        let cases = self.cases.iter().map(|case| {
            Json::Object(vec![
                ("suite", case.suite.as_str().into()),
                ("case", case.case.as_str().into()),
                ("verdict", case.verdict.name().into()),
                ("outcome", case.outcome.text().into()),
            ])
        });
        vec![
            ("total", self.total().to_json()),
            ("suites", Json::List(self.rows.iter().map(Row::to_json).collect())),
            ("cases", Json::List(cases.collect())),
        ]
    }
}

fn verdict(id: &str, outcome: &Outcome, facts: &Facts, second: &BTreeSet<String>) -> Verdict {
    let known = facts.known.get(id);
    match outcome {
        Outcome::NotRun => Verdict::NotRun,
        Outcome::Passed if known.is_some() => Verdict::PassedAgainstTheList,
        Outcome::Passed if second.contains(id) => Verdict::PassedAlone,
        Outcome::Passed => Verdict::Passed,
        Outcome::Other(_) if known.is_some() => Verdict::FailedAsKnown,
        Outcome::Other(_) => Verdict::Failed,
    }
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Verdict::NotRun => "not run",
            Verdict::Passed => "passed",
            Verdict::PassedAgainstTheList => "passed, though listed",
            Verdict::PassedAlone => "passed alone",
            Verdict::FailedAsKnown => "failed, as known",
            Verdict::Failed => "failed",
        }
    }
}

impl Judged {
    fn id(&self) -> String {
        format!("{} {}", self.suite, self.case)
    }

    /// What there is to say of the case, if anything.
    fn remark(&self, known: &BTreeMap<String, String>) -> Option<String> {
        let id = self.id();
        let remark = match self.verdict {
            Verdict::PassedAgainstTheList => format!("passes, though listed in known-failures: {id}"),
            Verdict::PassedAlone => format!("passes only in a VM of its own: {id}"),
            Verdict::FailedAsKnown => format!("known: {id} ({})", known.get(&id).map_or("", String::as_str)),
            Verdict::Failed => format!(
                "OTP passes, not here: {id}: {}\n   again with: cargo xtask conf {}:{}",
                self.outcome.text(),
                self.suite,
                self.case
            ),
            Verdict::NotRun | Verdict::Passed => return None,
        };
        Some(format!("   {remark}\n"))
    }
}

impl Row {
    /// The cases that count: run, and not in want of a node.
    pub fn run(&self) -> usize {
        self.passed + self.failed
    }

    /// What does not count.
    fn rest(&self, unrun: &str) -> String {
        let parts = [(self.nodes, "more need a node"), (self.unrun, unrun)];
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect()
    }

    fn to_json(&self) -> Json {
        Json::Object(vec![
            ("suite", self.suite.as_str().into()),
            ("otp", self.otp.into()),
            ("nodes", self.nodes.into()),
            ("run", self.run().into()),
            ("passed", self.passed.into()),
            ("unrun", self.unrun.into()),
        ])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::conf::suite::Suite;

    /// A report on a case of each kind, of two suites.
    pub fn sample() -> Report {
        let known = rows("# words\na/x known a reason\na/x listed\n");
        let facts = Facts { known: known.into_iter().collect(), timed: BTreeSet::new() };
        let second = BTreeSet::from(["a/x second".to_owned()]);
        let suites = ["x", "y"].map(|name| Suite { application: "a", name: name.to_owned(), folder: "".into() });
        let cases = [
            (0, "good", "passed"),
            (0, "second", "passed"),
            (0, "listed", "passed"),
            (0, "known", "failed a"),
            (0, "bad", "skipped c"),
            (0, "none", ""),
            (1, "good", "passed"),
        ];
        let all: Vec<Case> = cases.iter().map(|(suite, name, _)| Case::parse(&suites[*suite], name)).collect();
        let outcome = |text: &str| match text {
            "" => Outcome::NotRun,
            "passed" => Outcome::Passed,
            other => Outcome::Other(other.to_owned()),
        };
        let outcomes = all.iter().zip(&cases).map(|(case, (_, _, text))| (case, outcome(text))).collect();
        let node = Case::parse(&suites[1], "@node");
        let with_node: Vec<Case> = all.iter().cloned().chain([node]).collect();
        Report::new(&facts, &second, &with_node, outcomes)
    }

    #[test]
    fn the_text_has_suites_then_cases_then_the_sum() {
        let expected = "a/x: 3 of 5, 1 not run\na/y: 1 of 1, 1 more need a node\n   \
                        passes only in a VM of its own: a/x second\n   \
                        passes, though listed in known-failures: a/x listed\n   \
                        known: a/x known (a reason)\n   \
                        OTP passes, not here: a/x bad: skipped c\n   again with: cargo xtask conf a/x:bad\n\
                        4 of 6 cases pass (66.7 %), 1 more need a node, 1 not run for want of time\n";
        assert_eq!(sample().text(), expected);
        assert!(!sample().is_good());
    }

    #[test]
    fn what_is_lost_has_its_reason() {
        let lost: Vec<(String, String)> = sample().lost().map(|(_, case, why)| (case.into(), why.into())).collect();
        let expected = [("known", "a reason"), ("bad", "not looked into")];
        assert_eq!(lost, expected.map(|(case, why)| (case.to_owned(), why.to_owned())));
    }

    #[test]
    fn the_json_counts_as_the_text_does() {
        let text = Json::Object(sample().found()).to_text();
        assert!(text.contains(r#""passed": 4"#) && text.contains(r#""verdict": "failed, as known""#), "{text}");
    }
}
