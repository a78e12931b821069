//! The lookout: an idle scheduler looks now and then after those that do not get on.
//!
//! A scheduler whose thread has lost its processor (to another thread, another guest of a hypervisor, a quota), or that runs a long built-in, holds up
//! what waits in its queue and on its timer wheel, and what comes there. Nobody is told of it. So as long as some schedulers work and others do not, one of
//! these, the *lookout*, sleeps for a while only, and looks at the others ([`Lookout::look`]). Who has ended no slice for [`HELD_UP_NS`] although
//! something waits there, or a timer is due, is *held up*: the lookout takes over what is shared there, and fires its timers; who wakes a process
//! treats it as one that sleeps ([`RunQueue::is_away`](crate::run_queue::RunQueue::is_away)), until it has ended a slice. What it keeps
//! privately is little (`run_queue`). The process that it runs, and its part in thread progress, nobody can take over (`sync::progress`).
//!
//! LO1. Who it is is a hint: two at a time do no harm, and none for a moment neither. Who works sees to it that there is one, if there is an idle scheduler
//!      that could be (`Dispatcher::balance`).
//!
//! What was not done: the system's own word on whether a thread has a processor (`/proc/self/task/*/stat`), which is a file to read for each thread and knows nothing of
//! hypervisors; and to have the scheduler's private queue at hand by a fence in all threads (`membarrier`), which waits for a processor that a hypervisor
//! has taken away, just as its queue does. To look after half a millisecond already: neither the processor time of echoes and small HTTP
//! requests on two busy processors nor the 99th percentile of their times was better for it, beyond the spread.

use myriad_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use myriad_sync::{LockClass, Mutex};

static CLASS: LockClass = LockClass::new("lookout", 610);

/// A scheduler that has ended no slice for this time does not get on, nanoseconds: more than a slice takes, less than a system's time slice.
const HELD_UP_NS: u64 = 2_000_000;
/// A look costs so much for each scheduler, nanoseconds; a hundred times this lies between two looks, and [`HELD_UP_NS`] at least.
const LOOK_NS: u64 = 200;
/// In the place of a scheduler's number: there is no lookout.
const NOBODY: usize = usize::MAX;

/// Which scheduler is the lookout, and what was seen.
pub(crate) struct Lookout {
    who: AtomicUsize,
    seen: Mutex<Seen>,
}

struct Seen {
    /// How many slices each had ended, and since when that has not changed while something waited.
    since: Vec<(u64, u64)>,
    looked_ns: u64,
}

impl Lookout {
    pub(crate) fn new(schedulers: usize) -> Lookout {
        // Nothing is known of any.
        let seen = Seen { since: vec![(u64::MAX, 0); schedulers], looked_ns: 0 };
        Lookout { who: AtomicUsize::new(NOBODY), seen: Mutex::new(&CLASS, seen) }
    }

    /// Makes this scheduler the lookout, if there is none; is it?
    pub(crate) fn begin(&self, id: usize) -> bool {
        // Relaxed, all: LO1.
        let now = self.who.load(Relaxed);
        now == id || now == NOBODY && self.who.compare_exchange(NOBODY, id, Relaxed, Relaxed).is_ok()
    }

    /// This scheduler is it no more.
    pub(crate) fn end(&self, id: usize) {
        if self.who.load(Relaxed) == id {
            self.who.store(NOBODY, Relaxed);
        }
    }

    /// Is there no lookout?
    #[inline]
    pub(crate) fn is_vacant(&self) -> bool {
        self.who.load(Relaxed) == NOBODY
    }

    /// Nanoseconds between two looks at so many schedulers.
    pub(crate) fn interval_ns(schedulers: usize) -> u64 {
        HELD_UP_NS.max(schedulers as u64 * LOOK_NS * 100)
    }

    /// The schedulers of these that are held up at this time. Each says how many slices it has ended; `None` if nothing there has to wait for it.
    pub(crate) fn look(&self, now_ns: u64, waits: impl Iterator<Item = Option<u64>>) -> Vec<usize> {
        let Some(mut seen) = self.seen.try_lock() else { return Vec::new() };
        // One that comes to be idle all the time, as a server's schedulers do, has looked just before. A look takes lines from all that work.
        if now_ns.saturating_sub(seen.looked_ns) < HELD_UP_NS / 2 {
            return Vec::new();
        }
        // What was seen long ago says nothing of the time since.
        let anew = now_ns.saturating_sub(seen.looked_ns) > 2 * Self::interval_ns(seen.since.len());
        seen.looked_ns = now_ns;
        let mut held_up = Vec::new();
        for ((id, waits), since) in waits.enumerate().zip(&mut seen.since) {
            match waits {
                Some(slices) if !anew && slices == since.0 => {
                    if now_ns.saturating_sub(since.1) >= HELD_UP_NS {
                        held_up.push(id);
                    }
                }
                other => *since = (other.unwrap_or(u64::MAX), now_ns),
            }
        }
        held_up
    }
}

#[cfg(all(test, not(interleaved)))]
mod tests {
    use super::{HELD_UP_NS, Lookout};

    #[test]
    fn who_ends_no_slice_while_something_waits_is_held_up() {
        let lookout = Lookout::new(3);
        let look = |at: u64, waits: [Option<u64>; 3]| lookout.look(at * HELD_UP_NS / 2, waits.into_iter());
        assert_eq!(look(10, [Some(1), Some(1), Some(1)]), []);
        assert_eq!(look(11, [Some(1), Some(1), None]), [], "too short a time");
        assert_eq!(look(12, [Some(2), Some(1), Some(1)]), [1]);
        assert_eq!(look(13, [Some(2), Some(1), Some(1)]), [1], "still");
        assert_eq!(look(14, [Some(2), Some(2), Some(1)]), [0, 2]);
        assert_eq!(look(40, [Some(2), Some(2), Some(1)]), [], "nobody has looked meanwhile");
    }

    #[test]
    fn who_has_looked_does_not_look_again_at_once() {
        let lookout = Lookout::new(1);
        let looks = |at_ns: u64| {
            let mut looked = false;
            lookout.look(at_ns, std::iter::once_with(|| (looked = true, None).1));
            looked
        };
        let seen = [HELD_UP_NS, HELD_UP_NS + 1, HELD_UP_NS * 3 / 2 - 1, HELD_UP_NS * 3 / 2].map(looks);
        assert_eq!(seen, [true, false, false, true]);
    }

    #[test]
    fn there_is_one_at_a_time() {
        let lookout = Lookout::new(2);
        assert!(lookout.is_vacant());
        assert!(lookout.begin(1) && lookout.begin(1) && !lookout.begin(0));
        lookout.end(0);
        assert!(!lookout.is_vacant());
        lookout.end(1);
        assert!(lookout.begin(0));
    }
}
