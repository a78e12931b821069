//! Outcomes of calls, one a line: `g_MODULE FUNCTION/ARITY CALL DIGEST`.

use std::collections::BTreeMap;
use std::fmt;

/// A call: the number of its module, the function's name, and the number of the call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the module.
    pub module: u64,
    /// The function's name.
    pub function: String,
    /// The number of the call.
    pub call: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.module, self.function, self.call)
    }
}

impl Place {
    /// The place that prints as this text.
    pub fn parse(text: &str) -> Option<Place> {
        let [module, function, call] = text.split(':').collect::<Vec<_>>().try_into().ok()?;
        let is_name = !function.is_empty() && function.chars().all(|c| c.is_ascii_alphanumeric());
        let place = Place { module: module.parse().ok()?, function: function.to_owned(), call: call.parse().ok()? };
        is_name.then_some(place)
    }
}

/// The outcomes of a batch.
pub struct Outcomes(BTreeMap<Place, String>);

impl Outcomes {
    /// The outcomes of these lines. A line that is none (the last one of a VM that ended by a signal) is left out.
    pub fn parse(text: &str) -> Outcomes {
        Outcomes(text.lines().filter_map(outcome).collect())
    }

    /// How many there are, of how many functions, and how many calls took too long.
    pub fn count(&self) -> (usize, usize, usize) {
        let mut functions: Vec<(u64, &str)> =
            self.0.keys().map(|place| (place.module, place.function.as_str())).collect();
        functions.dedup();
        (self.0.len(), functions.len(), self.0.values().filter(|digest| *digest == LATE).count())
    }

    /// The number of the last module that has one; 0 without any.
    pub fn last_module(&self) -> u64 {
        self.0.keys().next_back().map_or(0, |place| place.module)
    }

    /// The calls that another VM answers in another way, or not at all. What took too long here may do so there.
    pub fn differing(&self, other: &Outcomes) -> Vec<Place> {
        let calls = self.0.iter().filter(|(_, digest)| *digest != LATE);
        calls.filter(|(place, digest)| other.0.get(place) != Some(digest)).map(|(place, _)| place.clone()).collect()
    }

    /// The calls whose outcome depends on how they are begun, on one VM.
    pub fn unsteady(&self) -> Vec<Place> {
        self.0.iter().filter(|(_, digest)| *digest == DIFFERS).map(|(place, _)| place.clone()).collect()
    }
}

/// Instead of the digest of a call that took too long.
const LATE: &str = "late";
/// Instead of the digest where a call's outcomes differ among the ways to begin it.
const DIFFERS: &str = "differs";

fn outcome(line: &str) -> Option<(Place, String)> {
    let [module, function, call, digest] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let (function, _) = function.split_once('/')?;
    let module = module.strip_prefix("g_")?.parse().ok()?;
    let place = Place { module, function: function.to_owned(), call: call.parse().ok()? };
    Some((place, digest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(places: &[Place]) -> Vec<String> {
        places.iter().map(Place::to_string).collect()
    }

    #[test]
    fn calls_that_differ_are_found() {
        let otp = Outcomes::parse("g_1 f1/2 1 AA\ng_1 f1/2 2 late\ng_1 f9/0 1 BB\ng_2 f1/2 1 CC\ng_2 f1/2 2 differs\n");
        let here = Outcomes::parse("g_1 f1/2 1 AA\ng_1 f1/2 2 DD\ng_1 f9/0 1 differs\ng_2 f1/2 1 la");
        assert_eq!(names(&otp.differing(&here)), ["1:f9:1", "2:f1:1", "2:f1:2"]);
        assert_eq!(
            (names(&otp.unsteady()), names(&here.unsteady())),
            (vec!["2:f1:2".to_owned()], vec!["1:f9:1".to_owned()])
        );
        assert_eq!((otp.count(), otp.last_module(), Outcomes::parse("").last_module()), ((5, 3, 1), 2, 0));
    }

    #[test]
    fn places_are_what_they_print_as() {
        let place = Place { module: 17, function: "f20".to_owned(), call: 3 };
        assert_eq!(Place::parse(&place.to_string()), Some(place));
        assert!(
            ["", "17", "17:f20", "17::3", "17:f-:3", "x:f:3", "1:f:3:4"]
                .iter()
                .all(|text| Place::parse(text).is_none())
        );
    }
}
