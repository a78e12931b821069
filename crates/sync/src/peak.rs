//! [`Peak`]: the highest value of a number that one thread writes, since the start and since someone last asked.
//!
//! The owner compares each value with one word, the limit, and looks closer only beyond it ([`Peak::rise`]), which sets the next limit some
//! steps higher. So a peak is known to within a step, and costs a comparison.
//!
//! PK1. The highest values are written by the owner of the number alone. The limit is the owner's too, but for who asks: that one sets it to the
//!      least there is, so that the owner looks at the next value, whatever it is.
//! PK2. An owner that sets a limit and whoever asks at the same time do not miss each other (sync/SL1): the owner stores the limit and then
//!      looks whether there is a new era, who asks begins an era and then stores the limit. Either the owner sees the era, and looks again, or
//!      the limit of who asks is the last.

use crate::atomic::{
    AtomicI64, AtomicU64,
    Ordering::{Relaxed, SeqCst},
    fence,
};

/// From one question to the next, of all the peaks that are asked for together.
#[derive(Debug)]
pub struct Era(AtomicU64);

impl Era {
    const_unless_loom! {
        /// The first.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Era {
            Era(AtomicU64::new(0))
        }
    }

    /// The next begins: `peaks` are all those that it is of.
    pub fn next<'p>(&self, peaks: impl Iterator<Item = &'p Peak>) {
        self.0.fetch_add(1, Relaxed);
        // PK2; pairs with the fence in `rise`.
        fence(SeqCst);
        peaks.for_each(|peak| peak.limit.store(i64::MIN, Relaxed));
    }
}

/// The highest values of a number, and how many things it was the size of then.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Highest {
    /// Since someone last asked.
    pub recent: u64,
    /// Since the start.
    pub ever: u64,
}

/// See the module's page. Relaxed everywhere but in PK2: a figure orders nothing.
#[derive(Debug)]
#[repr(C)]
pub struct Peak {
    limit: AtomicI64,
    recent: AtomicI64,
    ever: AtomicI64,
    /// The era that `recent` is of.
    era: AtomicU64,
}

impl Peak {
    const_unless_loom! {
        /// Nothing yet.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Peak {
            Peak { limit: AtomicI64::new(0), recent: AtomicI64::new(0), ever: AtomicI64::new(0), era: AtomicU64::new(0) }
        }
    }

    /// Is the number beyond what is known of it? Then for its owner to [`rise`](Peak::rise).
    #[inline(always)]
    pub fn is_below(&self, number: i64) -> bool {
        number > self.limit.load(Relaxed)
    }

    /// By the owner: notes the value, which is `above` less than the number that the limit is for, and looks again when that has grown by
    /// a step, or by what is left to the peak.
    pub fn rise(&self, era: &Era, value: i64, above: i64, step: i64) {
        loop {
            let now = era.0.load(Relaxed);
            let before = if self.era.load(Relaxed) == now { self.recent.load(Relaxed) } else { i64::MIN };
            let recent = before.max(value);
            self.recent.store(recent, Relaxed);
            self.era.store(now, Relaxed);
            self.ever.store(self.ever.load(Relaxed).max(value), Relaxed);
            self.limit.store(recent.max(value.saturating_add(step)).saturating_add(above), Relaxed);
            // PK2; pairs with the fence in `Era::next`.
            fence(SeqCst);
            if era.0.load(Relaxed) == now {
                return;
            }
        }
    }

    /// The highest values, given the one of now.
    pub fn highest(&self, era: &Era, value: u64) -> Highest {
        let noted = |number: &AtomicI64| u64::try_from(number.load(Relaxed)).unwrap_or(0).max(value);
        let is_new = self.era.load(Relaxed) == era.0.load(Relaxed);
        Highest { recent: if is_new { noted(&self.recent) } else { value }, ever: noted(&self.ever) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Era, Highest, Peak};

    #[test]
    fn a_peak_is_kept_until_someone_asks_and_the_highest_for_ever() {
        let (era, peak) = (Era::new(), Peak::new());
        let set = |value: i64| {
            if peak.is_below(value) {
                peak.rise(&era, value, 0, 10);
            }
        };
        [5, 50, 55, 7].into_iter().for_each(set);
        // 55 is within a step.
        assert_eq!(peak.highest(&era, 7), Highest { recent: 50, ever: 50 });
        era.next([&peak].into_iter());
        assert_eq!(peak.highest(&era, 7), Highest { recent: 7, ever: 50 });
        [8, 30, 20].into_iter().for_each(set);
        assert_eq!(peak.highest(&era, 20), Highest { recent: 30, ever: 50 });
        set(90);
        assert_eq!(peak.highest(&era, 91), Highest { recent: 91, ever: 91 });
    }

    #[test]
    fn the_limit_is_for_a_number_that_is_more_than_the_value() {
        let (era, peak) = (Era::new(), Peak::new());
        peak.rise(&era, 100, 900, 10);
        assert!(!peak.is_below(1010) && peak.is_below(1011));
        // Far below the peak there is nothing to look at until it is reached.
        peak.rise(&era, 20, 991, 10);
        assert!(!peak.is_below(1091) && peak.is_below(1092));
    }
}

/// Caught when tried: no fence in `rise`, none in `Era::next`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Era, Peak};
    use loom::thread;
    use std::sync::Arc;

    /// PK2: after a question the owner looks at its next value, however low.
    #[test]
    fn no_question_is_missed() {
        loom::model(|| {
            let shared = Arc::new((Era::new(), Peak::new()));
            let asked = shared.clone();
            let asker = thread::spawn(move || asked.0.next([&asked.1].into_iter()));
            let (era, peak) = &*shared;
            peak.rise(era, 100, 0, 1);
            asker.join().unwrap();
            let is_of_this_era = peak.highest(era, 0).recent == 100;
            assert!(is_of_this_era || peak.is_below(5));
        });
    }
}
