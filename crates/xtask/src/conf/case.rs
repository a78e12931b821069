//! Cases, and what came of them: a file for each, `WHERE/SUITE/CASE`, whose first line is the outcome.

use super::suite::Suite;
use crate::files;
use std::path::{Path, PathBuf};

/// A case of a suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case<'a> {
    /// The suite.
    pub suite: &'a Suite,
    /// Its name behind those of its groups, with slashes between.
    pub name: String,
    /// Does it need a distributed node?
    pub node: bool,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not run, or has left nothing.
    NotRun,
    /// As expected.
    Passed,
    /// `failed` or `skipped`, and why.
    Other(String),
}

impl<'a> Case<'a> {
    /// The case of a line in a record, where an `@` stands before those that need a node.
    pub fn parse(suite: &'a Suite, line: &str) -> Case<'a> {
        match line.strip_prefix('@') {
            Some(name) => Case { suite, name: name.to_owned(), node: true },
            None => Case { suite, name: line.to_owned(), node: false },
        }
    }

    /// As the lists of `tests/conformance` name it.
    pub fn id(&self) -> String {
        format!("{} {}", self.suite.id(), self.name)
    }

    /// As the command line names it.
    pub fn short(&self) -> String {
        format!("{}:{}", self.suite.id(), self.name)
    }

    /// The file with the outcome.
    pub fn file(&self, place: &Path) -> PathBuf {
        place.join(self.suite.key()).join(file_name(&self.name))
    }

    /// What came of the case.
    pub fn outcome(&self, place: &Path) -> Outcome {
        Outcome::parse(&files::read_if_there(&self.file(place)))
    }
}

/// A case's name as a file's.
pub fn file_name(case: &str) -> String {
    case.replace('/', ".")
}

/// Takes outcomes away, so that the cases can be run again.
pub fn forget(place: &Path, cases: &[&Case]) {
    for case in cases {
        let _ = std::fs::remove_file(case.file(place));
    }
}

impl Outcome {
    fn parse(text: &str) -> Outcome {
        match text.lines().next().unwrap_or_default() {
            "" => Outcome::NotRun,
            "passed" => Outcome::Passed,
            line => Outcome::Other(line.to_owned()),
        }
    }

    /// Did the case skip itself?
    pub fn is_skipped(&self) -> bool {
        matches!(self, Outcome::Other(reason) if reason.starts_with("skipped"))
    }

    /// The outcome in words.
    pub fn text(&self) -> &str {
        match self {
            Outcome::NotRun => "not run",
            Outcome::Passed => "passed",
            Outcome::Other(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_their_files() {
        let suite = Suite { application: "stdlib", name: "lists".to_owned(), folder: "".into() };
        let case = Case::parse(&suite, "@group/sub/one");
        assert!(case.node && !Case::parse(&suite, "one").node);
        assert_eq!(
            (case.id(), case.short()),
            ("stdlib/lists group/sub/one".into(), "stdlib/lists:group/sub/one".into())
        );
        assert_eq!(case.file("x".as_ref()), Path::new("x/stdlib-lists/group.sub.one"));
    }

    #[test]
    fn outcomes_are_first_lines() {
        assert_eq!(Outcome::parse(""), Outcome::NotRun);
        assert_eq!(Outcome::parse("passed\nmore"), Outcome::Passed);
        assert_eq!(Outcome::parse("failed {a,b}\n"), Outcome::Other("failed {a,b}".to_owned()));
        assert!(Outcome::parse("skipped x\n").is_skipped());
    }
}
