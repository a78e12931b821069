//! Locks of the simulated machine: who waits for whom, and how long, by class.
//!
//! In the run a lock is free whenever a core comes to it, for cores take turns where none is held. In virtual time it may be held: a core
//! that comes while another one holds it waits until that one gives it back. How long it will hold the lock itself is taken to be as long as
//! the last one did. What a waiter would pay for sleeping and waking is not counted, nor that a lock may pass over those that sleep.

use crate::busy::Busy;
use crate::lines::ByAddress;
use myriad_sync::LockClass;
use myriad_sync::cost::Hold;
use std::collections::BTreeMap;

/// So many locks are known; when there are more, all are forgotten.
const MOST_LOCKS: usize = 1 << 18;

#[derive(Clone, Copy, Default)]
struct Lock {
    readers: Busy,
    writers: Busy,
    /// How long it was held last.
    held_ns: u64,
}

/// What waiting for the locks of a class came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// Acquisitions.
    pub taken: u64,
    /// Those that waited.
    pub waited: u64,
    /// How long, altogether.
    pub ns: u64,
}

/// All locks that were taken.
#[derive(Default)]
pub struct Locks {
    /// The least time that taking a lock and giving it back take, and the instructions between (nanoseconds).
    least_hold_ns: u64,
    locks: ByAddress<Lock>,
    /// Those that the core that runs holds, and since when.
    held: Vec<(Hold, u64)>,
    by_class: BTreeMap<&'static str, Waits>,
}

impl Locks {
    /// Locks that are held for at least so long.
    pub fn new(least_hold_ns: u64) -> Locks {
        Locks { least_hold_ns, ..Locks::default() }
    }

    /// Takes a lock at the first time from `now` on at which it is free; gives that time.
    pub fn acquire(&mut self, class: &'static LockClass, hold: Hold, now: u64) -> u64 {
        if self.locks.len() >= MOST_LOCKS {
            self.locks.clear();
        }
        let at = self.locks.entry(hold.lock).or_default().free_at(hold, now);
        self.held.push((hold, at));
        let waits = self.by_class.entry(class.name()).or_default();
        waits.taken += 1;
        if at > now {
            waits.waited += 1;
            waits.ns += at - now;
        }
        at
    }

    /// Is it free now?
    pub fn is_free(&self, hold: Hold, now: u64) -> bool {
        self.locks.get(&hold.lock).is_none_or(|lock| lock.free_at(hold, now) == now)
    }

    /// It is given back now, or when it has been held for the least time; gives when. One that was taken when no core ran is none of this
    /// machine's.
    pub fn release(&mut self, hold: Hold, now: u64) -> u64 {
        let Some(place) = self.held.iter().rposition(|(held, _)| *held == hold) else { return now };
        let (_, since) = self.held.remove(place);
        let lock = self.locks.entry(hold.lock).or_default();
        lock.held_ns = (now - since).max(self.least_hold_ns);
        // In a gap that is shorter than a tenth of a hold nobody gets the lock.
        let spans = if hold.shared { &mut lock.readers } else { &mut lock.writers };
        spans.add(since, since + lock.held_ns.max(1), lock.held_ns / 10);
        since + lock.held_ns
    }

    /// The waits by class name.
    pub fn by_class(&self) -> &BTreeMap<&'static str, Waits> {
        &self.by_class
    }
}

impl Lock {
    fn free_at(&self, hold: Hold, now: u64) -> u64 {
        let at = self.writers.first_gap(now, self.held_ns);
        if hold.shared {
            return at;
        }
        // Two lists: what is free in the one may not be in the other.
        let mut at = at;
        loop {
            let later = self.writers.first_gap(self.readers.first_gap(at, self.held_ns), self.held_ns);
            if later == at {
                return at;
            }
            at = later;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Locks, Waits};
    use myriad_sync::LockClass;
    use myriad_sync::cost::Hold;

    static CLASS: LockClass = LockClass::new("a class", 1);
    const WRITE: Hold = Hold { lock: 64, line: 64, shared: false };
    const READ: Hold = Hold { lock: 64, line: 64, shared: true };

    fn locks() -> Locks {
        let mut locks = Locks::default();
        assert_eq!(locks.acquire(&CLASS, WRITE, 100), 100);
        locks.release(WRITE, 150);
        locks
    }

    #[test]
    fn who_comes_during_a_hold_waits_for_its_end() {
        let mut locks = locks();
        assert!(!locks.is_free(WRITE, 120) && locks.is_free(WRITE, 150));
        assert_eq!(locks.acquire(&CLASS, WRITE, 120), 150);
        locks.release(WRITE, 200);
        assert_eq!(locks.by_class()["a class"], Waits { taken: 2, waited: 1, ns: 30 });
    }

    #[test]
    fn who_comes_before_a_hold_does_not_wait_if_there_is_time() {
        let mut locks = locks();
        assert_eq!(locks.acquire(&CLASS, WRITE, 10), 10);
        locks.release(WRITE, 60);
        assert_eq!(locks.acquire(&CLASS, WRITE, 80), 150);
    }

    #[test]
    fn readers_wait_for_writers_alone() {
        let mut locks = locks();
        for _ in 0..2 {
            assert_eq!(locks.acquire(&CLASS, READ, 120), 150);
            locks.release(READ, 170);
        }
        assert_eq!(locks.acquire(&CLASS, WRITE, 155), 170);
    }

    #[test]
    fn a_lock_is_held_for_its_least_time() {
        let mut locks = Locks::new(30);
        for (now, at) in [(100, 100), (105, 130)] {
            assert_eq!(locks.acquire(&CLASS, WRITE, now), at);
            assert_eq!(locks.release(WRITE, at + 2), at + 30);
        }
    }

    #[test]
    fn what_nobody_took_is_not_given_back() {
        let mut locks = Locks::default();
        locks.release(WRITE, 10);
        assert!(locks.is_free(WRITE, 5));
    }
}
