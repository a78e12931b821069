//! What a program printed beside what OTP printed.

use super::run::World;
use crate::json::Json;
use crate::stop::Stop;
use crate::{files, program};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines that are known to differ, by program.
pub struct Known(BTreeMap<String, usize>);

impl Known {
    /// Reads `tests/known-failures`.
    pub fn parse(text: &str) -> Known {
        let rows = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
        });
        Known(rows.collect())
    }

    /// How many lines of a program may differ.
    pub fn lines(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// A program that has run.
#[derive(Debug)]
pub struct Judged {
    /// `AREA/NAME`.
    pub name: String,
    /// The lines that OTP printed, with its exit status; nothing if it was never recorded.
    lines: Option<usize>,
    /// How many of them are not there.
    wrong: usize,
    /// How many may be missing.
    allowed: usize,
}

impl Judged {
    /// Is more wrong than is known?
    pub fn is_bad(&self) -> bool {
        self.wrong > self.allowed
    }

    /// The lines that are as expected.
    pub fn passed(&self) -> usize {
        self.lines.unwrap_or(0).saturating_sub(self.wrong)
    }

    /// The lines that make the program a failure.
    pub fn failed(&self) -> usize {
        match self.lines {
            None => 1,
            Some(_) if self.is_bad() => self.wrong,
            Some(_) => 0,
        }
    }

    /// The lines that differ, as is known.
    pub fn known(&self) -> usize {
        if self.lines.is_none() || self.is_bad() { 0 } else { self.wrong }
    }

    /// Says what is wrong, with the first lines of the file that has what differs.
    pub fn tell(&self, difference: &Path, shown: usize) {
        let Judged { name, wrong, allowed, .. } = self;
        let Some(lines) = self.lines else {
            println!("{name}: nothing recorded (make record)");
            return;
        };
        if self.is_bad() {
            println!("-- {name}: {wrong} of {lines} lines differ (< OTP, > this VM)");
            let said = files::read_if_there(difference);
            said.lines().take(shown).for_each(|line| println!("{}", line.chars().take(300).collect::<String>()));
        } else if *wrong > 0 {
            println!("-- {name}: {wrong} of {lines} lines differ, as known");
            if wrong < allowed {
                println!("   lower its number in tests/known-failures from {allowed} to {wrong}");
            }
        }
    }

    /// The program's part of the result for other programs.
    pub fn to_json(&self) -> Json {
        Json::Object(vec![
            ("name", self.name.as_str().into()),
            ("lines", self.lines.into()),
            ("failed", self.failed().into()),
            ("known", self.known().into()),
        ])
    }
}

/// Compares a program's output with the recorded one.
pub fn judge(world: &World, name: &str, allowed: usize) -> Result<Judged, Stop> {
    let expected = world.tests.join(format!("expected/{name}.txt"));
    let output = world.output_of(name);
    let Ok(text) = std::fs::read(&expected) else {
        return Ok(Judged { name: name.to_owned(), lines: None, wrong: 1, allowed: 0 });
    };
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    let same = std::fs::read(&output).is_ok_and(|output| output == text);
    let wrong = if same { 0 } else { differing(&expected, &output, &world.difference_of(name))? };
    Ok(Judged { name: name.to_owned(), lines: Some(lines), wrong, allowed })
}

/// How many expected lines are not there; what differs goes to a file.
fn differing(expected: &Path, output: &Path, difference: &Path) -> Result<usize, Stop> {
    program::run_to(program::command("diff").arg("-a").args([expected, output]), files::create(difference)?)?;
    let missing = files::read(difference)?.lines().filter(|line| line.starts_with('<')).count();
    // Only extra lines: nothing expected is missing, but the program is wrong all the same.
    Ok(missing.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: Option<usize>, wrong: usize, allowed: usize) -> [usize; 3] {
        let judged = Judged { name: "a/b".to_owned(), lines, wrong, allowed };
        [judged.passed(), judged.failed(), judged.known()]
    }

    #[test]
    fn lines_pass_fail_or_are_known() {
        assert_eq!(judged(Some(10), 0, 0), [10, 0, 0]);
        assert_eq!(judged(Some(10), 3, 0), [7, 3, 0]);
        assert_eq!(judged(Some(10), 3, 2), [7, 3, 0]);
        assert_eq!(judged(Some(10), 2, 3), [8, 0, 2]);
        assert_eq!(judged(None, 1, 0), [0, 1, 0]);
    }

    #[test]
    fn the_json_has_counts_of_lines() {
        let judged = Judged { name: "a/b".to_owned(), lines: Some(10), wrong: 2, allowed: 3 };
        let expected = "{\n  \"name\": \"a/b\",\n  \"lines\": 10,\n  \"failed\": 0,\n  \"known\": 2\n}\n";
        assert_eq!(judged.to_json().to_text(), expected);
    }

    #[test]
    fn known_failures_have_a_number() {
        let known = Known::parse("# words\na/b 3 a reason\na/c\n");
        assert_eq!([known.lines("a/b"), known.lines("a/c"), known.lines("#")], [3, 0, 0]);
    }

    #[test]
    fn extra_lines_are_wrong_too() {
        let folder = std::env::temp_dir().join(format!("xtask-compare-{}", std::process::id()));
        files::make_folder(&folder).unwrap();
        let [a, b, difference] = ["a", "b", "difference"].map(|name| folder.join(name));
        files::write(&a, "1\n2\n3\n").unwrap();
        for (text, wrong) in [("1\n2\n3\n4\n", 1), ("1\n3\n", 1), ("4\n", 3)] {
            files::write(&b, text).unwrap();
            assert_eq!(differing(&a, &b, &difference).unwrap(), wrong, "{text}");
        }
        files::remove_folder(&folder);
    }
}
