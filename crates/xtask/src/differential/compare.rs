//! Outcomes beside each other. A line is `NUMBER DIGEST MODULE:FUNCTION/ARITY`.

use std::collections::{BTreeMap, BTreeSet};

/// An internal error of OTP (of its regular expressions, past the end of the subject) cannot be caught there and says nothing.
const DIED: &str = "{died,internal_error}";

/// A call that differs.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its number.
    pub number: u64,
    /// What was called.
    pub function: String,
}

/// All calls, compared.
pub struct Calls {
    /// Are all outcomes there, and the same?
    pub same: bool,
    /// Those that differ, of the calls that Myriad came to.
    pub differ: Vec<Difference>,
    /// How many have no outcome on OTP.
    pub died: usize,
}

impl Calls {
    /// Compares OTP's outcomes with Myriad's, without those that OTP has none for.
    pub fn compare(otp: &str, here: &str) -> Calls {
        let died: BTreeSet<u64> = otp.lines().filter(|line| line.contains(DIED)).filter_map(number).collect();
        let kept = |text: &'_ str| -> Vec<String> {
            let lines = text.lines().filter(|line| number(line).is_none_or(|number| !died.contains(&number)));
            lines.map(str::to_owned).collect()
        };
        let last = last_number(here);
        let (otp, here) = (kept(otp), kept(here));
        let there: BTreeSet<Vec<&str>> = here.iter().map(|line| words(line)).collect();
        let missing = otp.iter().filter(|line| !there.contains(&words(line)));
        let mut differ: Vec<Difference> =
            missing.filter_map(|line| difference(line)).filter(|d| d.number <= last).collect();
        differ.sort_by_key(|difference| difference.number);
        Calls { same: otp == here, differ, died: died.len() }
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().take(3).collect()
}

fn number(line: &str) -> Option<u64> {
    line.split(' ').next()?.parse().ok()
}

fn difference(line: &str) -> Option<Difference> {
    Some(Difference { number: number(line)?, function: words(line).get(2).copied().unwrap_or_default().to_owned() })
}

/// The number of the last call that has an outcome; 0 without one.
pub fn last_number(outcomes: &str) -> u64 {
    outcomes.lines().next_back().and_then(number).unwrap_or(0)
}

/// How many calls of each function differ, the most first.
pub fn by_function(differ: &[Difference]) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    differ.iter().for_each(|difference| *counts.entry(&difference.function).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// One call of each function, or all.
pub fn to_show(differ: &[Difference], all: bool) -> Vec<&Difference> {
    let mut seen = BTreeSet::new();
    differ.iter().filter(|difference| all || seen.insert(difference.function.as_str())).collect()
}

/// The lines that only one of two texts has at a place, marked.
pub fn lines_that_differ(otp: &str, here: &str) -> String {
    let (otp, here): (Vec<&str>, Vec<&str>) = (otp.lines().collect(), here.lines().collect());
    let same = |a: &[&str], b: &[&str]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let before = same(&otp, &here);
    let (mut otp, mut here) = (otp[before..].to_vec(), here[before..].to_vec());
    otp.reverse();
    here.reverse();
    let after = same(&otp, &here);
    otp.drain(..after);
    here.drain(..after);
    let marked = |mark: &'static str, lines: Vec<&str>| {
        lines.iter().rev().map(|line| format!("{mark} {line}\n")).collect::<String>()
    };
    marked("<", otp) + &marked(">", here)
}

/// A text without what goes beyond a width.
pub fn cut(text: &str, width: usize) -> String {
    text.lines().map(|line| line.chars().take(width).chain(['\n']).collect::<String>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTP: &str = "1 a m:f/1\n2 b m:g/1\n3 {died,internal_error} re:run/3\n4 d m:f/1\n5 e m:f/1\n";

    #[test]
    fn calls_without_an_outcome_do_not_count() {
        let calls = Calls::compare(OTP, "1 a m:f/1\n2 b m:g/1\n3 z re:run/3\n4 d m:f/1\n5 e m:f/1\n");
        assert!(calls.same && calls.differ.is_empty() && calls.died == 1);
    }

    #[test]
    fn calls_that_were_not_reached_do_not_differ() {
        let calls = Calls::compare(OTP, "1 x m:f/1\n2 b m:g/1\n3 c re:run/3\n4 y m:f/1\n");
        assert!(!calls.same);
        assert_eq!(calls.differ.iter().map(|d| d.number).collect::<Vec<_>>(), [1, 4]);
        assert_eq!(by_function(&calls.differ), [("m:f/1", 2)]);
        assert_eq!((to_show(&calls.differ, false).len(), to_show(&calls.differ, true).len()), (1, 2));
        assert_eq!((last_number(OTP), last_number("")), (5, 0));
    }

    #[test]
    fn lines_that_differ_are_marked() {
        assert_eq!(lines_that_differ("a\nb\nc\nd\n", "a\nx\ny\nd\n"), "< b\n< c\n> x\n> y\n");
        assert_eq!(lines_that_differ("a\na\n", "a\n"), "< a\n");
        assert_eq!(cut("abc\nd", 2), "ab\nd\n");
    }
}
