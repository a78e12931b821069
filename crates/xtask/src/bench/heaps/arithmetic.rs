//! What is reckoned from the figures of runs.

/// Durations in nanoseconds, shortest first, and how many there were of each.
pub type Stops = Vec<(u64, u64)>;

/// The parts of a bar: shares of the time of a run, which are 1 together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// What is none of the others. Sends, too, where they are not told apart.
    pub mutator: f64,
    /// Send, size, copy; nothing where they are not told apart from the mutator.
    pub sends: Option<[f64; 3]>,
    /// Minor collections and those of both generations.
    pub collections: [f64; 2],
}

impl Shares {
    /// Of a run that took `passed`: its parts are those five, or one for all collections, which goes to minor and major ones as a trace has them;
    /// nothing if it is neither.
    pub fn of(passed: f64, parts: &[f64], kinds: [f64; 2]) -> Option<Shares> {
        let (sends, collections) = match *parts {
            [send, size, copy, minor, major] => (Some([send, size, copy]), [minor, major]),
            [all] => (None, split(all, kinds)),
            _ => return None,
        };
        let share = |part: f64| part / passed;
        let (sends, collections) = (sends.map(|sends| sends.map(share)), collections.map(share));
        let others: f64 = sends.iter().flatten().chain(&collections).sum();
        (passed > 0.0).then_some(Shares { mutator: (1.0 - others).max(0.0), sends, collections })
    }

    /// The heights of a bar's parts: mutator, send, size, copy, minor, major.
    pub fn heights(&self, bar: f64) -> [Option<f64>; 6] {
        let [send, size, copy] = self.sends.map_or([None; 3], |sends| sends.map(Some));
        let [minor, major] = self.collections.map(Some);
        [Some(self.mutator), send, size, copy, minor, major].map(|share| share.map(|share| share * bar))
    }
}

/// A whole in the proportion of two parts; all of it to the first if there is nothing to tell.
fn split(whole: f64, [first, second]: [f64; 2]) -> [f64; 2] {
    let both = first + second;
    if both > 0.0 { [whole * first / both, whole * second / both] } else { [whole, 0.0] }
}

/// The median of all; nothing of none.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// The duration that so many in a thousand do not exceed (nearest rank).
pub fn per_mille(stops: &Stops, per_mille: u64) -> Option<f64> {
    let all: u64 = stops.iter().map(|(_, count)| count).sum();
    let rank = (all * per_mille).div_ceil(1000).max(1);
    let mut seen = 0;
    let found = stops.iter().find(|(_, count)| {
        seen += count;
        seen >= rank
    });
    found.map(|(ns, _)| *ns as f64)
}

/// The longest duration.
pub fn longest(stops: &Stops) -> Option<f64> {
    stops.iter().map(|(ns, _)| *ns).max().map(|ns| ns as f64)
}

/// How many there were.
pub fn count(stops: &Stops) -> f64 {
    stops.iter().map(|(_, count)| count).sum::<u64>() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_divided_by_what_is_known() {
        let shares = Shares::of(100.0, &[10.0, 5.0, 15.0, 20.0, 10.0], [0.0; 2]).unwrap();
        assert_eq!(shares, Shares { mutator: 0.4, sends: Some([0.1, 0.05, 0.15]), collections: [0.2, 0.1] });
        let heights = shares.heights(2.0).map(Option::unwrap);
        assert!((heights.iter().sum::<f64>() - 2.0).abs() < 1e-9 && (heights[5] - 0.2).abs() < 1e-9);
        let merged = Shares::of(100.0, &[30.0], [3.0, 1.0]).unwrap();
        assert_eq!(merged, Shares { mutator: 0.7, sends: None, collections: [0.225, 0.075] });
        assert_eq!(merged.heights(1.0)[1], None);
        assert_eq!(Shares::of(100.0, &[30.0], [0.0; 2]).unwrap().collections, [0.3, 0.0]);
        assert_eq!(Shares::of(10.0, &[20.0], [1.0, 0.0]).unwrap().mutator, 0.0);
        assert_eq!((Shares::of(100.0, &[], [0.0; 2]), Shares::of(0.0, &[1.0], [0.0; 2])), (None, None));
    }

    #[test]
    fn ranks_of_stops() {
        let stops = vec![(10, 900), (20, 98), (30, 1), (40, 1)];
        assert_eq!(
            [500, 900, 901, 999, 1000].map(|part| per_mille(&stops, part)),
            [10.0, 10.0, 20.0, 30.0, 40.0].map(Some)
        );
        assert_eq!((longest(&stops), count(&stops)), (Some(40.0), 1000.0));
        assert_eq!((per_mille(&vec![(7, 1)], 999), per_mille(&vec![], 999), longest(&vec![])), (Some(7.0), None, None));
    }

    #[test]
    fn medians() {
        assert_eq!([vec![3.0, 1.0, 2.0], vec![4.0, 1.0], vec![]].map(median), [Some(2.0), Some(2.5), None]);
    }
}
