//! Processes that sleep and hold large bundles (heap.idle) are asked for a collection: else what they refer to no longer would stay as long as they sleep.
//!
//! A process is noted when it goes to sleep. When those that are noted may hold much of all that is in bundles, a scheduler asks some of them at a time; one that has nothing to do wakes
//! for it. Where little comes of it, they are asked ever more rarely.

mod asking;

use myriad_heap::account;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::Pid;
use std::collections::VecDeque;
use std::time::Duration;

/// Words that are worth asking for.
const WORTH: usize = 1 << 20;
/// Part of all words in bundles that is.
const PART: usize = 4;
/// Words that a process counts for at least, so that there is an end to how many are noted.
const LEAST: usize = 1024;
/// Processes that are asked at a time.
const AT_ONCE: usize = 64;
/// From one time to the next (nanoseconds), twice as long each time that little came of it; and how often it doubles.
const PAUSE_NS: u64 = 500_000_000;
const MOST_VAIN: u32 = 7;
/// Nobody is to be asked.
const NEVER: u64 = u64::MAX;

static CLASS: LockClass = LockClass::new("bundle_holders", 725);

#[derive(Default)]
struct Noted {
    /// The processes, and their shares.
    processes: VecDeque<(Pid, usize)>,
    /// Their shares together.
    words: usize,
    /// What those had who have been asked and have answered since the last time, and what they have left.
    asked: usize,
    left: usize,
    /// How often little has come of it, one time after another.
    vain: u32,
    /// Not before this time.
    next_ns: u64,
}

/// The processes that are noted.
pub(crate) struct Holders {
    noted: Mutex<Noted>,
    /// When some are to be asked, or [`NEVER`].
    due_ns: AtomicU64,
}

impl Default for Holders {
    fn default() -> Holders {
        Holders { noted: Mutex::new(&CLASS, Noted::default()), due_ns: AtomicU64::new(NEVER) }
    }
}

impl Noted {
    /// Are they worth asking, where all bundles have so many words?
    fn is_worth(&self, all: usize) -> bool {
        self.words >= WORTH.max(all / PART)
    }

    /// Takes out those that are to be asked next.
    fn take(&mut self, now_ns: u64, all: usize) -> Vec<Pid> {
        if self.asked > 0 {
            let is_vain = self.left > self.asked / 2;
            self.vain = if is_vain { (self.vain + 1).min(MOST_VAIN) } else { 0 };
            (self.asked, self.left) = (0, 0);
            self.next_ns = if is_vain { now_ns + (PAUSE_NS << self.vain) } else { now_ns };
        }
        if now_ns < self.next_ns || !self.is_worth(all) {
            return Vec::new();
        }
        self.next_ns = now_ns + PAUSE_NS;
        let some = self.processes.len().min(AT_ONCE);
        let taken: Vec<_> = self.processes.drain(..some).collect();
        self.words -= taken.iter().map(|(_, share)| share).sum::<usize>();
        taken.into_iter().map(|(pid, _)| pid).collect()
    }
}

impl Holders {
    /// A process goes to sleep that has this share.
    fn note(&self, pid: Pid, share: usize) {
        let mut noted = self.noted.lock();
        let share = share.max(LEAST);
        noted.processes.push_back((pid, share));
        noted.words += share;
        self.set_due(&noted);
    }

    fn set_due(&self, noted: &Noted) {
        let is_due = noted.asked > 0 || noted.words >= WORTH && noted.is_worth(account::bundles().size);
        // Relaxed: a figure, looked at by who goes to sleep after this, or has its own look soon.
        self.due_ns.store(if is_due { noted.next_ns } else { NEVER }, Ordering::Relaxed);
    }

    /// One who was asked to collect, and had this share, has so much left.
    fn answer(&self, had: usize, left: usize) {
        let mut noted = self.noted.lock();
        noted.asked += had;
        noted.left += left.min(had);
        self.set_due(&noted);
    }

    /// Takes out those that are to be asked now.
    fn take(&self, now_ns: u64) -> Vec<Pid> {
        let mut noted = self.noted.lock();
        let taken = noted.take(now_ns, account::bundles().size);
        self.set_due(&noted);
        taken
    }

    /// When somebody is to be asked, if anybody is.
    fn due_ns(&self) -> Option<u64> {
        // Relaxed: see `set_due`.
        Some(self.due_ns.load(Ordering::Relaxed)).filter(|due_ns| *due_ns != NEVER)
    }

    /// Is somebody to be asked now?
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        // Relaxed: see `set_due`.
        self.due_ns.load(Ordering::Relaxed) <= now_ns
    }

    /// How long one may sleep who would sleep for so long.
    pub(crate) fn shorten(&self, timeout: Option<Duration>, now_ns: u64) -> Option<Duration> {
        let until = self.due_ns().map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        timeout.into_iter().chain(until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, LEAST, Noted, PAUSE_NS, WORTH};
    use myriad_term::Pid;

    fn noted(processes: usize, share: usize) -> Noted {
        let processes = (0..processes).map(|number| (Pid::from_data(number as u64), share)).collect::<Vec<_>>();
        Noted { words: processes.len() * share, processes: processes.into(), ..Noted::default() }
    }

    #[test]
    fn some_at_a_time_are_asked_while_they_are_worth_it() {
        let mut many = noted(2 * AT_ONCE + 1, WORTH / AT_ONCE);
        assert!(many.take(0, 20 * WORTH).is_empty(), "there is far more in bundles");
        assert_eq!(many.take(0, 3 * WORTH).len(), AT_ONCE);
        assert!(many.take(PAUSE_NS - 1, 3 * WORTH).is_empty(), "not so soon");
        assert_eq!(many.take(PAUSE_NS, 3 * WORTH).len(), AT_ONCE);
        assert!(many.take(2 * PAUSE_NS, 3 * WORTH).is_empty(), "what is left is not worth it");
        assert_eq!((many.processes.len(), many.words), (1, WORTH / AT_ONCE));
        assert!(noted(1, LEAST).take(0, 0).is_empty());
    }

    #[test]
    fn who_keeps_what_he_has_is_asked_ever_more_rarely() {
        let mut some = noted(10 * AT_ONCE, WORTH / 4);
        let mut now_ns = 0;
        for round in 1..4 {
            assert_eq!(some.take(now_ns, 0).len(), AT_ONCE);
            (some.asked, some.left) = (100, 51);
            now_ns += PAUSE_NS;
            assert!(some.take(now_ns, 0).is_empty(), "round {round}");
            now_ns += PAUSE_NS << round;
        }
        assert_eq!(some.take(now_ns, 0).len(), AT_ONCE);
        (some.asked, some.left) = (100, 50);
        assert_eq!(some.take(now_ns + 1, 0).len(), AT_ONCE, "much has come of it");
    }
}
