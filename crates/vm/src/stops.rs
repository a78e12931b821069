//! How long stops of all processes take (`+heap=shared`), counted by duration.

use myriad_sync::atomic::{AtomicU64, Ordering};

/// Steps to an octave: a duration is known to an eighth.
const STEPS: usize = 8;
/// Durations up to 2 to the power of so many nanoseconds: nine minutes.
const OCTAVES: usize = 39;

/// How often something took how long.
pub struct Durations([AtomicU64; STEPS * OCTAVES]);

impl Default for Durations {
    fn default() -> Durations {
        Durations([const { AtomicU64::new(0) }; STEPS * OCTAVES])
    }
}

/// The place of a duration: below eight nanoseconds there is one for each.
fn place(ns: u64) -> usize {
    let octave = (u64::BITS - ns.leading_zeros()).saturating_sub(4);
    let place = STEPS * octave as usize + (ns >> octave) as usize;
    place.min(STEPS * OCTAVES - 1)
}

/// The longest duration of a place, but for the last, which has what is longer, too.
fn longest(place: usize) -> u64 {
    let octave = (place / STEPS).saturating_sub(1);
    ((place - STEPS * octave + 1) as u64) << octave
}

impl Durations {
    /// Something took so many nanoseconds.
    pub(crate) fn note(&self, ns: u64) {
        // Relaxed: figures for people.
        self.0[place(ns)].fetch_add(1, Ordering::Relaxed);
    }

    /// Nanoseconds, rounded up by an eighth at most, and how often that was.
    pub fn each(&self) -> impl Iterator<Item = (u64, u64)> {
        // Relaxed: see `note`.
        let counts = self.0.iter().enumerate().map(|(place, count)| (longest(place), count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0)
    }
}

/// The stops of a VM.
#[derive(Default)]
pub struct Stops {
    /// From when a stop was asked for until all stood.
    pub asked: Durations,
    /// From when it was asked for until it was over, and the others were about to be woken.
    pub whole: Durations,
}

#[cfg(test)]
mod tests {
    use super::{Durations, longest, place};

    #[test]
    fn durations_are_known_to_an_eighth() {
        for ns in (0..10_000).chain((4..38).flat_map(|octave| [(1 << octave) - 1, 1 << octave, (1 << octave) + 1])) {
            let told = longest(place(ns));
            assert!(ns < told && told <= ns + 1 + ns / 8, "{ns} is told as {told}");
        }
        let durations = Durations::default();
        [1_000, 1_001, 2_000_000, u64::MAX].into_iter().for_each(|ns| durations.note(ns));
        let told: Vec<(u64, u64)> = durations.each().collect();
        assert_eq!(told.iter().map(|(_, count)| *count).collect::<Vec<u64>>(), [2, 1, 1]);
        assert!((1_001..1_130).contains(&told[0].0) && (2_000_000..2_260_000).contains(&told[1].0));
    }
}
