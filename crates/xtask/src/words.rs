//! The words after a command's name: options, some with a value, and what is left.

use crate::stop::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// What a command was told.
#[derive(Debug, Default)]
pub struct Words {
    flags: BTreeSet<String>,
    values: BTreeMap<String, String>,
    /// The words that belong to no option, in their order.
    pub rest: Vec<String>,
}

impl Words {
    /// Takes the words apart: `flags` are options alone, `valued` are followed by a value. No other word may begin with `-`.
    pub fn parse(words: &[String], flags: &[&str], valued: &[&str]) -> Result<Words, Stop> {
        let mut told = Words::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if flags.contains(&word.as_str()) {
                told.flags.insert(word.clone());
            } else if valued.contains(&word.as_str()) {
                let value = words.next().ok_or_else(|| Stop::Usage(format!("{word} wants a value")))?;
                told.values.insert(word.clone(), value.clone());
            } else if word.starts_with('-') {
                return Err(Stop::Usage(format!("unknown option {word}")));
            } else {
                told.rest.push(word.clone());
            }
        }
        Ok(told)
    }

    /// Refuses words that belong to no option.
    pub fn nothing_else(self) -> Result<Words, Stop> {
        match self.rest.first() {
            Some(word) => Err(Stop::Usage(format!("unknown word {word}"))),
            None => Ok(self),
        }
    }

    /// Was the option given?
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    /// The value of an option, if it was given.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.values.get(option).map(String::as_str)
    }

    /// The value of `--seed`, or a new one, below 2^30.
    pub fn seed(&self) -> Result<u64, Stop> {
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |now| u64::from(now.subsec_nanos()) ^ now.as_secs());
        Ok(self.number("--seed")?.unwrap_or_else(|| now() % (1 << 30)))
    }

    /// The value of an option that must be a number, if it was given.
    pub fn number<N: FromStr>(&self, option: &str) -> Result<Option<N>, Stop> {
        let parse = |value: &str| value.parse().map_err(|_| Stop::Usage(format!("{option} {value}: no such number")));
        self.value(option).map(parse).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Words, Stop> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Words::parse(&words, &["--short"], &["--vm", "-n"])
    }

    #[test]
    fn options_and_the_rest() {
        let words = parse("a --short --vm erl b -n 3").unwrap();
        assert!(words.has("--short") && !words.has("--long"));
        assert_eq!((words.value("--vm"), words.value("--no")), (Some("erl"), None));
        assert_eq!(words.number::<u32>("-n").unwrap(), Some(3));
        assert_eq!(words.rest, ["a", "b"]);
        assert!(words.nothing_else().is_err());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["--long", "--vm", "-n x"] {
            let number = parse(line).and_then(|words| words.number::<u32>("-n"));
            assert!(matches!(number, Err(Stop::Usage(_))), "{line}");
        }
    }
}
