//! [`Group`]: where the readers of one group of threads count, so that readers of different groups write no common line.
//!
//! A phase-fair ticket lock's reader side (Brandenburg and Anderson, Spin-Based Reader-Writer Synchronization for Multiprocessor Real-Time
//! Systems, 2010), once for each group as a distributed reader indicator (Calciu et al., NUMA-Aware Reader-Writer Locks, 2013; the reader groups of
//! OTP's). Readers count their arrivals in one word and their departures in another. A writer marks the first word: it has to wait for those
//! who came before the mark, and who comes later waits for it.
//!
//! ```text
//!    reader                                          writer, which no other writer is beside
//!    ------                                          ---------------------------------------
//!    arrivals + 1: was WRITER set?                   in each group: sets WRITER, keeps the count of arrivals
//!      no: it is inside                              in each group: waits until as many have departed
//!      yes: it waits until PHASE or WRITER changes     it is alone
//!    departures + 1: does the writer sleep?          in each group: clears WRITER, turns PHASE round
//!      yes: it wakes the writer                        wakes the readers that sleep
//! ```
//!
//! RG1. Both sides read-modify-write the one word `arrivals`: of a reader and a writer that come at once the later one knows of the other. No
//!      fence is needed, and a reader touches its group's line only.
//! RG2. Writer preference: once WRITER is set nobody gets in. A writer waits for those readers alone who were inside before, or whom RG3 lets in.
//! RG3. No reader starves: one that waits for a writer is inside when that writer opens the group, whether it has noticed or not. The next writer
//!      counts it among the arrivals before its mark, and waits for its departure.
//! RG4. PHASE turns round each time a group is opened, and by RG3 not twice while a reader that waits has not noticed. So one bit is enough.
//!      A writer that only tries sets no mark while a reader is inside or waits (`try_stop`), so it turns no phase either.
//! RG5. A closed group (CLOSED) has no readers inside: who comes goes away again, and looks where readers are to count now.
//! RG6. Whoever sleeps has set a bit (SLEEPERS, WRITER_SLEEPS) in the word that it sleeps on, by an exchange from the value that it judged by; the
//!      change that it waits for returns that bit, and wakes (sync.futex/F1).
//!
//! Counts go round after 2^28; there are never so many threads that the difference is in doubt.

use crate::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::backoff::spin_hint;
use crate::futex::Futex;

/// In `arrivals`: a writer has or wants the lock.
const WRITER: u32 = 1;
/// In `arrivals`: turns round when a writer opens the group.
const PHASE: u32 = 2;
/// In `arrivals`: readers do not count here (RG5).
const CLOSED: u32 = 4;
/// In `arrivals`: readers sleep until the group is opened.
const SLEEPERS: u32 = 8;
/// In `departures`: the writer sleeps until all have left.
const WRITER_SLEEPS: u32 = 1;
/// A reader, in both words.
const ONE: u32 = 16;
/// The readers, in both words.
const COUNT: u32 = !(ONE - 1);
/// After so many arrivals a count begins anew.
pub(crate) const GOES_ROUND: u32 = COUNT / ONE + 1;

/// How often a thread looks before it sleeps. A model need not look again: each look would only repeat the first.
const SPINS: u32 = if cfg!(loom) { 0 } else { 100 };

/// The readers of one group of threads.
#[derive(Debug)]
pub(crate) struct Group {
    arrivals: AtomicU32,
    departures: AtomicU32,
    /// The count of arrivals before the writer's mark; the writer's own.
    before: AtomicU32,
    readers: Futex,
    writer: Futex,
}

/// What became of a reader that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// It may read, until [`Group::depart`].
    Inside,
    /// The group is closed, and the reader has gone away again.
    Closed,
}

/// A reader has come after a writer, and has to [`wait`](Group::wait) for it: the word as the reader found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stopped(u32);

/// How a writer leaves a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaves {
    /// As it was, closed or not.
    Same,
    /// Closed instead of open, or open instead of closed.
    Changed,
}

impl Group {
    /// Open or closed, without readers.
    pub(crate) fn new(open: bool) -> Self {
        Self {
            arrivals: AtomicU32::new(if open { 0 } else { CLOSED }),
            departures: AtomicU32::new(0),
            before: AtomicU32::new(0),
            readers: Futex::new(),
            writer: Futex::new(),
        }
    }

    /// A reader comes.
    #[inline]
    pub(crate) fn arrive(&self) -> Result<Arrival, Stopped> {
        // Acquire: pairs with the Release in `leave`: the reader sees what the writers before it have done.
        let found = self.arrivals.fetch_add(ONE, Acquire);
        if found & WRITER != 0 { Err(Stopped(found)) } else { Ok(self.admitted(found)) }
    }

    /// A reader comes if that takes no waiting; `None`: a writer has or wants the lock.
    pub(crate) fn try_arrive(&self) -> Option<Arrival> {
        // Relaxed: a guess, which the exchange checks.
        let mut found = self.arrivals.load(Relaxed);
        loop {
            if found & WRITER != 0 {
                return None;
            }
            // Acquire: as in `arrive`.
            match self.arrivals.compare_exchange_weak(found, found.wrapping_add(ONE), Acquire, Relaxed) {
                Ok(found) => return Some(self.admitted(found)),
                Err(now) => found = now,
            }
        }
    }

    /// Waits until the writer that has stopped this reader opens the group.
    #[cold]
    pub(crate) fn wait(&self, stopped: Stopped) -> Arrival {
        let mut spins = SPINS;
        loop {
            // Acquire: pairs with the Release in `leave`.
            let now = self.arrivals.load(Acquire);
            if (now ^ stopped.0) & (WRITER | PHASE) != 0 {
                return self.admitted(now);
            }
            if spins > 0 {
                spins -= 1;
                spin_hint();
                continue;
            }
            let asleep = now | SLEEPERS;
            // Relaxed: the word alone tells the writer (RG6).
            if now == asleep || self.arrivals.compare_exchange(now, asleep, Relaxed, Relaxed).is_ok() {
                self.readers.wait(&self.arrivals, asleep, None);
            }
        }
    }

    /// No writer keeps the reader out of this word any more, but it may be closed (RG5).
    #[inline]
    fn admitted(&self, word: u32) -> Arrival {
        if word & CLOSED == 0 {
            return Arrival::Inside;
        }
        self.depart();
        Arrival::Closed
    }

    /// A reader that was inside leaves.
    #[inline]
    pub(crate) fn depart(&self) {
        // Release: pairs with the Acquire in `drain` and `try_stop`: the writer comes after what the reader has read.
        if self.departures.fetch_add(ONE, Release) & WRITER_SLEEPS != 0 {
            self.writer.wake_one(&self.departures);
        }
    }

    /// A writer comes, beside no other: who comes from now on waits for it.
    pub(crate) fn stop(&self) {
        // Relaxed, both: the word has one order (RG1); what readers have done is seen by their departures.
        let found = self.arrivals.fetch_or(WRITER, Relaxed);
        self.before.store(found & COUNT, Relaxed);
        debug_assert_eq!(found & WRITER, 0, "two writers at a time");
    }

    /// As [`stop`](Self::stop), if there is no reader.
    pub(crate) fn try_stop(&self) -> bool {
        // Acquire: pairs with the Release in `depart`. It is looked at first: a count of arrivals that it has reached since then has no
        // reader inside (RG4).
        let departures = self.departures.load(Acquire) & COUNT;
        // Relaxed, all: as in `stop`.
        let found = self.arrivals.load(Relaxed);
        self.before.store(departures, Relaxed);
        found & COUNT == departures && self.arrivals.compare_exchange(found, found | WRITER, Relaxed, Relaxed).is_ok()
    }

    /// How many readers have come before the writer since the lock was made: a figure that goes round ([`GOES_ROUND`]).
    pub(crate) fn before(&self) -> u32 {
        // Relaxed: the writer's own.
        self.before.load(Relaxed) / ONE
    }

    /// Waits until those have left who came before the writer.
    pub(crate) fn drain(&self) {
        // Relaxed: the writer's own.
        let before = self.before.load(Relaxed);
        let mut spins = SPINS;
        loop {
            // Acquire: pairs with the Release in `depart`.
            let now = self.departures.load(Acquire);
            if now & COUNT == before {
                if now & WRITER_SLEEPS != 0 {
                    // Relaxed: nobody departs who would look at it.
                    self.departures.fetch_and(!WRITER_SLEEPS, Relaxed);
                }
                return;
            }
            if spins > 0 {
                spins -= 1;
                spin_hint();
                continue;
            }
            let asleep = now | WRITER_SLEEPS;
            // Relaxed: the word alone tells the readers (RG6).
            if now == asleep || self.departures.compare_exchange(now, asleep, Relaxed, Relaxed).is_ok() {
                self.writer.wait(&self.departures, asleep, None);
            }
        }
    }

    /// The writer leaves, which readers that wait for it find at once.
    pub(crate) fn leave(&self, leaves: Leaves) {
        let changed = if leaves == Leaves::Changed { CLOSED } else { 0 };
        // Release: pairs with the Acquire in `arrive`, `try_arrive` and `wait`.
        let found = self.arrivals.fetch_xor(WRITER | PHASE | changed, Release);
        debug_assert_ne!(found & WRITER, 0, "the writer is not there");
        if found & SLEEPERS != 0 {
            // Relaxed: no reader goes to sleep until the next writer comes, so the bit is nobody else's.
            self.arrivals.fetch_and(!SLEEPERS, Relaxed);
            self.readers.wake_all(&self.arrivals);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Arrival, Group, Leaves};

    fn stop(group: &Group) {
        group.stop();
        group.drain();
    }

    #[test]
    fn who_comes_after_a_writer_waits_for_it_and_for_no_other() {
        let group = Group::new(true);
        assert_eq!(group.arrive(), Ok(Arrival::Inside));
        group.stop();
        let stopped = group.arrive().expect_err("RG2");
        assert_eq!(group.try_arrive(), None);
        group.depart();
        group.drain();
        group.leave(Leaves::Same);
        // The next writer is there before the reader has noticed.
        let first = group.before();
        group.stop();
        assert_eq!(group.before() - first, 1, "RG3: the reader that waits came before the second writer");
        assert_eq!(group.wait(stopped), Arrival::Inside, "RG3");
        group.depart();
        group.drain();
        group.leave(Leaves::Same);
    }

    #[test]
    fn a_writer_that_tries_leaves_no_mark_beside_a_reader() {
        let group = Group::new(true);
        assert_eq!(group.try_arrive(), Some(Arrival::Inside));
        assert!(!group.try_stop());
        assert_eq!(group.try_arrive(), Some(Arrival::Inside), "RG4");
        group.depart();
        group.depart();
        assert!(group.try_stop());
        group.leave(Leaves::Same);
    }

    #[test]
    fn nobody_is_inside_a_closed_group() {
        let group = Group::new(true);
        stop(&group);
        let stopped = group.arrive().expect_err("a writer is there");
        group.leave(Leaves::Changed);
        assert_eq!(group.wait(stopped), Arrival::Closed);
        assert_eq!((group.arrive(), group.try_arrive()), (Ok(Arrival::Closed), Some(Arrival::Closed)));
        // Those who went away again are not waited for.
        stop(&group);
        group.leave(Leaves::Changed);
        assert_eq!(group.arrive(), Ok(Arrival::Inside));
    }

    #[test]
    fn counts_go_round() {
        let group = Group::new(true);
        for word in [&group.arrivals, &group.departures] {
            word.fetch_add(super::COUNT, super::Relaxed);
        }
        for _ in 0..3 {
            assert_eq!(group.arrive(), Ok(Arrival::Inside));
            group.depart();
            stop(&group);
            group.leave(Leaves::Same);
        }
    }
}
