//! Processes with a large old generation that sleep (heap.asleep) are asked for collections by schedulers that have nothing to do: else what has died there would stay as long as they sleep, and
//! what is left would lie between what others had.

use myriad_heap::Awaited;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::Pid;
use std::time::Duration;

/// From the moment when a process goes to sleep until it is asked for a marking, twice as long each time that little came of one; and for a step of one (nanoseconds).
const PAUSE_NS: u64 = 500_000_000;
const STEP_NS: u64 = 5_000_000;
/// From one process that is asked for a marking to the next: each takes a processor for a while.
const BETWEEN_NS: u64 = 50_000_000;
/// So many are noted at most: where no scheduler ever has nothing to do nobody is asked, and those that have ended stay.
const MOST: usize = 1024;
/// Nobody is to be asked.
const NEVER: u64 = u64::MAX;

static CLASS: LockClass = LockClass::new("large_sleepers", 726);

struct Sleeper {
    pid: Pid,
    from_ns: u64,
    awaited: Awaited,
}

#[derive(Default)]
struct Noted {
    sleepers: Vec<Sleeper>,
    /// Nobody is asked for a marking before this time.
    marking_ns: u64,
}

impl Noted {
    /// When this one is to be asked.
    fn due_ns(&self, sleeper: &Sleeper) -> u64 {
        if sleeper.awaited == Awaited::Steps { sleeper.from_ns } else { sleeper.from_ns.max(self.marking_ns) }
    }

    /// Takes out one that is to be asked now; those that are there no longer go.
    fn take(&mut self, now_ns: u64, is_there: impl Fn(Pid) -> bool) -> Option<Pid> {
        while let Some(place) = self.sleepers.iter().position(|sleeper| self.due_ns(sleeper) <= now_ns) {
            let Sleeper { pid, awaited, .. } = self.sleepers.swap_remove(place);
            if is_there(pid) {
                if awaited != Awaited::Steps {
                    self.marking_ns = now_ns + BETWEEN_NS;
                }
                return Some(pid);
            }
        }
        None
    }
}

/// The processes that are noted.
pub(crate) struct Sleepers {
    noted: Mutex<Noted>,
    /// When one is to be asked, or [`NEVER`].
    due_ns: AtomicU64,
}

impl Default for Sleepers {
    fn default() -> Sleepers {
        Sleepers { noted: Mutex::new(&CLASS, Noted::default()), due_ns: AtomicU64::new(NEVER) }
    }
}

impl Sleepers {
    /// A process goes to sleep.
    pub(crate) fn note(&self, pid: Pid, awaited: Awaited, now_ns: u64) {
        let pause_ns = match awaited {
            Awaited::Steps => STEP_NS,
            Awaited::Marking { vain } => PAUSE_NS << vain,
        };
        let mut noted = self.noted.lock();
        // Once each. One who is passed over is noted again some collections later.
        noted.sleepers.retain(|sleeper| sleeper.pid != pid);
        if noted.sleepers.len() == MOST {
            noted.sleepers.swap_remove(0);
        }
        noted.sleepers.push(Sleeper { pid, from_ns: now_ns + pause_ns, awaited });
        self.set_due(&noted);
    }

    fn set_due(&self, noted: &Noted) {
        let due_ns = noted.sleepers.iter().map(|sleeper| noted.due_ns(sleeper)).min();
        // Relaxed: a figure, looked at by who goes to sleep after this, or has its own look soon.
        self.due_ns.store(due_ns.unwrap_or(NEVER), Ordering::Relaxed);
    }

    /// Takes out one that is to be asked now, of those that are there.
    pub(crate) fn take(&self, now_ns: u64, is_there: impl Fn(Pid) -> bool) -> Option<Pid> {
        let mut noted = self.noted.lock();
        let taken = noted.take(now_ns, is_there);
        self.set_due(&noted);
        taken
    }

    /// Is one to be asked now?
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        // Relaxed: see `set_due`.
        self.due_ns.load(Ordering::Relaxed) <= now_ns
    }

    /// How long one may sleep who would sleep for so long.
    pub(crate) fn shorten(&self, timeout: Option<Duration>, now_ns: u64) -> Option<Duration> {
        // Relaxed: see `set_due`.
        let due_ns = Some(self.due_ns.load(Ordering::Relaxed)).filter(|due_ns| *due_ns != NEVER);
        let until = due_ns.map(|due_ns| Duration::from_nanos(due_ns.saturating_sub(now_ns)));
        timeout.into_iter().chain(until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::{Awaited, BETWEEN_NS, MOST, NEVER, PAUSE_NS, STEP_NS, Sleepers};
    use myriad_term::Pid;

    #[test]
    fn each_is_noted_once_and_not_all_that_there_are() {
        let sleepers = Sleepers::default();
        (0..3 * MOST as u64).for_each(|n| sleepers.note(Pid::from_data(n / 2), Awaited::Steps, n));
        let noted = || sleepers.noted.lock().sleepers.iter().map(|one| one.pid.data()).collect::<Vec<_>>();
        assert_eq!(noted().len(), MOST);
        (0..MOST).for_each(|_| sleepers.note(Pid::from_data(7), Awaited::Steps, 0));
        assert_eq!((noted().len(), noted().iter().filter(|pid| **pid == 7).count()), (MOST, 1));
    }

    #[test]
    fn markings_come_one_after_another_and_steps_do_not_wait_for_them() {
        let sleepers = Sleepers::default();
        let [one, other, third, gone] = [1, 2, 3, 4].map(Pid::from_data);
        let take = |now_ns| sleepers.take(now_ns, |pid| pid != gone);
        sleepers.note(gone, Awaited::Marking { vain: 0 }, 0);
        sleepers.note(one, Awaited::Marking { vain: 0 }, 0);
        sleepers.note(other, Awaited::Marking { vain: 2 }, 0);
        sleepers.note(third, Awaited::Steps, 7);
        assert!(!sleepers.is_due(6 + STEP_NS) && sleepers.is_due(7 + STEP_NS));
        assert_eq!([take(PAUSE_NS - 1), take(PAUSE_NS - 1)], [Some(third), None]);
        let now_ns = 4 * PAUSE_NS;
        let first = take(now_ns).unwrap();
        sleepers.note(third, Awaited::Steps, now_ns - STEP_NS);
        assert_eq!([take(now_ns), take(now_ns + BETWEEN_NS - 1)], [Some(third), None]);
        let second = take(now_ns + BETWEEN_NS).unwrap();
        assert!([[first, second], [second, first]].contains(&[one, other]));
        assert!(!sleepers.is_due(NEVER - 1));
    }
}
