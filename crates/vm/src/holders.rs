//! Processes that sleep and hold many words of bundles and messages (heap.idle) are asked for a collection: else what they refer to no longer would stay as long as they sleep.
//!
//! A process is noted when it goes to sleep. When those that are noted may hold much of all that is in bundles and messages, a scheduler asks some of them at a time; one that has nothing to do wakes
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
/// Part of all words in bundles and messages that is.
const PART: usize = 4;
/// Words that a process counts for at least, so that there is an end to how many are noted.
const LEAST: usize = 1024;
/// Processes that are asked at a time, and where there is nothing else to do.
const AT_ONCE: usize = 64;
const AT_REST: usize = 256;
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
    /// A scheduler rests.
    at_rest: bool,
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
    /// Are they worth asking, where all bundles and messages have so many words? At rest who is noted may have much more than he had then, and others have ended: all of it may
    /// be theirs.
    fn is_worth(&self, all: usize) -> bool {
        let words = if self.at_rest { all } else { self.words };
        !self.processes.is_empty() && words >= WORTH.max(all / PART)
    }

    /// Takes out those that are to be asked next, and whether at rest; those that are there no longer go.
    fn take(&mut self, now_ns: u64, all: usize, is_there: impl Fn(Pid) -> bool) -> (Vec<Pid>, bool) {
        if self.asked > 0 {
            let is_vain = self.left > self.asked / 2;
            self.vain = if is_vain { (self.vain + 1).min(MOST_VAIN) } else { 0 };
            (self.asked, self.left) = (0, 0);
            self.next_ns = if is_vain { now_ns + (PAUSE_NS << self.vain) } else { now_ns };
        }
        if now_ns < self.next_ns || !self.is_worth(all) {
            return (Vec::new(), false);
        }
        self.next_ns = now_ns + PAUSE_NS;
        let at_rest = std::mem::take(&mut self.at_rest);
        let most = if at_rest { AT_REST } else { AT_ONCE };
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some((pid, share)) = self.processes.pop_front()
        {
            self.words -= share;
            if is_there(pid) {
                taken.push(pid);
            }
        }
        (taken, at_rest)
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
        let is_due =
            noted.asked > 0 || (noted.words >= WORTH || noted.at_rest) && noted.is_worth(account::beside_blocks());
        // Relaxed: a figure, looked at by who goes to sleep after this, or has its own look soon.
        self.due_ns.store(if is_due { noted.next_ns } else { NEVER }, Ordering::Relaxed);
    }

    /// A scheduler rests: what others held may be gone, so that those who are noted are worth asking now.
    pub(crate) fn look_at_rest(&self) {
        let mut noted = self.noted.lock();
        noted.at_rest = true;
        self.set_due(&noted);
        // Else nobody asks, and later there may be no rest.
        noted.at_rest = self.due_ns().is_some();
    }

    /// One who was asked to collect, and had this share, has so much left.
    fn answer(&self, had: usize, left: usize) {
        let mut noted = self.noted.lock();
        noted.asked += had;
        noted.left += left.min(had);
        self.set_due(&noted);
    }

    /// Takes out those that are to be asked now, of those that are there, and whether at rest.
    fn take(&self, now_ns: u64, is_there: impl Fn(Pid) -> bool) -> (Vec<Pid>, bool) {
        let mut noted = self.noted.lock();
        let taken = noted.take(now_ns, account::beside_blocks(), is_there);
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
    use super::{AT_ONCE, AT_REST, LEAST, Noted, PAUSE_NS, WORTH};
    use myriad_term::Pid;

    fn noted(processes: usize, share: usize) -> Noted {
        let processes = (0..processes).map(|number| (Pid::from_data(number as u64), share)).collect::<Vec<_>>();
        Noted { words: processes.len() * share, processes: processes.into(), ..Noted::default() }
    }

    #[test]
    fn some_at_a_time_are_asked_while_they_are_worth_it() {
        let mut many = noted(2 * AT_ONCE + 1, WORTH / AT_ONCE);
        assert!(many.take(0, 20 * WORTH, |_| true).0.is_empty(), "there is far more in bundles");
        assert_eq!(many.take(0, 3 * WORTH, |_| true).0.len(), AT_ONCE);
        assert!(many.take(PAUSE_NS - 1, 3 * WORTH, |_| true).0.is_empty(), "not so soon");
        assert_eq!(many.take(PAUSE_NS, 3 * WORTH, |_| true).0.len(), AT_ONCE);
        assert!(many.take(2 * PAUSE_NS, 3 * WORTH, |_| true).0.is_empty(), "what is left is not worth it");
        assert_eq!((many.processes.len(), many.words), (1, WORTH / AT_ONCE));
        assert!(noted(1, LEAST).take(0, 0, |_| true).0.is_empty());
    }

    #[test]
    fn at_rest_more_are_asked_whatever_they_had_when_they_were_noted() {
        let mut many = noted(2 * AT_REST, LEAST);
        many.at_rest = true;
        assert!(many.take(0, WORTH - 1, |_| true).0.is_empty(), "there is little in all");
        let (asked, at_rest) = many.take(0, 20 * WORTH, |_| true);
        assert!(at_rest && asked.len() == AT_REST);
        assert!(many.take(PAUSE_NS, 20 * WORTH, |_| true).0.is_empty(), "it rests no longer");
    }

    #[test]
    fn who_has_ended_is_passed_over() {
        let mut some = noted(3 * AT_ONCE, WORTH / AT_ONCE);
        let is_odd = |pid| (0..AT_ONCE as u64).any(|n| pid == Pid::from_data(2 * n + 1));
        let (asked, _) = some.take(0, 0, is_odd);
        assert!(asked.len() == AT_ONCE && asked.into_iter().all(is_odd));
        assert_eq!((some.processes.len(), some.words), (AT_ONCE, WORTH));
        assert!(some.take(PAUSE_NS, 0, |_| false).0.is_empty());
        assert_eq!((some.processes.len(), some.words), (0, 0));
    }

    #[test]
    fn who_keeps_what_he_has_is_asked_ever_more_rarely() {
        let mut some = noted(10 * AT_ONCE, WORTH / 4);
        let mut now_ns = 0;
        for round in 1..4 {
            assert_eq!(some.take(now_ns, 0, |_| true).0.len(), AT_ONCE);
            (some.asked, some.left) = (100, 51);
            now_ns += PAUSE_NS;
            assert!(some.take(now_ns, 0, |_| true).0.is_empty(), "round {round}");
            now_ns += PAUSE_NS << round;
        }
        assert_eq!(some.take(now_ns, 0, |_| true).0.len(), AT_ONCE);
        (some.asked, some.left) = (100, 50);
        assert_eq!(some.take(now_ns + 1, 0, |_| true).0.len(), AT_ONCE, "much has come of it");
    }
}
