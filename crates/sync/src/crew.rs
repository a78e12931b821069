//! [`Crew`]: one thread has others, which have nothing to do, help it with work that lies on its stack.
//!
//! CR1. Nobody is inside the work once [`Crew::lead`] has returned: who helps enters while the offer stands, under its lock, and the leader takes the offer back
//!      before it waits for those who are inside.

use crate::{Backoff, LockClass, Mutex};

static CLASS: LockClass = LockClass::new("crew", 30);

/// What is offered, if anything is.
#[derive(Debug)]
pub struct Crew(Mutex<Offer>);

#[derive(Debug, Default)]
struct Offer {
    work: Option<Work>,
    inside: u32,
}

/// The leader's work, which is there as long as it stands in an offer, or somebody is inside (CR1).
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: all may call it at once, as it is `Sync`.
unsafe impl Send for Work {}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

impl Crew {
    const_unless_loom! {
        /// Nobody needs help.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(Mutex::new(&CLASS, Offer { work: None, inside: 0 }))
        }
    }

    /// Does `work` on this thread, and on those that [`help`](Self::help) meanwhile, whom `call` calls when the work is there. Returns when all have returned. One thread
    /// leads at a time.
    pub fn lead(&self, work: &(dyn Fn() + Sync), call: impl FnOnce()) {
        let offered: *const (dyn Fn() + Sync + '_) = work;
        // SAFETY: a pointer with another bound on a lifetime; it is used while `work` is there (CR1).
        let offered =
            Work(unsafe { std::mem::transmute::<*const (dyn Fn() + Sync + '_), *const (dyn Fn() + Sync)>(offered) });
        let led = Led(self);
        let before = self.0.lock().work.replace(offered);
        debug_assert!(before.is_none(), "two lead at once");
        call();
        work();
        drop(led);
    }

    /// Helps, if help is wanted; gives whether it was.
    pub fn help(&self) -> bool {
        let Some(Work(work)) = self.enter() else { return false };
        let inside = Inside(self);
        // SAFETY: CR1: it is there while somebody is inside.
        unsafe { (*work)() };
        drop(inside);
        true
    }

    fn enter(&self) -> Option<Work> {
        let mut offer = self.0.lock();
        let work = offer.work?;
        offer.inside += 1;
        Some(work)
    }
}

/// The end of an offer, also where the work panics.
struct Led<'a>(&'a Crew);

impl Drop for Led<'_> {
    fn drop(&mut self) {
        let mut backoff = Backoff::new();
        self.0.0.lock().work = None;
        while self.0.0.lock().inside > 0 {
            backoff.pause();
        }
    }
}

/// Somebody who helps.
struct Inside<'a>(&'a Crew);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.0.lock().inside -= 1;
    }
}

#[cfg(all(test, not(any(loom, interleaved))))]
mod tests {
    use super::Crew;
    use crate::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn help_is_wanted_while_one_leads() {
        let (crew, times) = (Crew::new(), AtomicU32::new(0));
        assert!(!crew.help());
        let work = || {
            times.fetch_add(1, Relaxed);
        };
        crew.lead(&work, || {
            assert!(crew.help());
        });
        assert_eq!(times.into_inner(), 2);
        assert!(!crew.help());
    }
}

/// Caught when tried: the leader does not wait for who is inside; the offer stands when it has returned; who enters is not counted under the lock.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Crew;
    use crate::atomic::{AtomicU32, Ordering::Relaxed};
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    /// What the work reads: the leader writes it before and after.
    struct Shared {
        crew: Crew,
        seen: UnsafeCell<u32>,
        times: AtomicU32,
    }

    // SAFETY: CR1, which loom checks.
    unsafe impl Sync for Shared {}
    // SAFETY: CR1, which loom checks.
    unsafe impl Send for Shared {}

    #[test]
    fn loom_nobody_is_inside_when_the_leader_goes_on() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let (seen, times) = (UnsafeCell::new(0), AtomicU32::new(0));
            let shared = Arc::new(Shared { crew: Crew::new(), seen, times });
            let helper = {
                let shared = shared.clone();
                thread::spawn(move || u32::from(shared.crew.help()))
            };
            let set = |value| {
                // SAFETY: CR1: nobody helps.
                shared.seen.with_mut(|seen| unsafe { *seen = value });
            };
            set(1);
            let work = || {
                // SAFETY: the leader writes before and after.
                assert_eq!(shared.seen.with(|seen| unsafe { *seen }), 1);
                shared.times.fetch_add(1, Relaxed);
            };
            shared.crew.lead(&work, || {});
            set(2);
            let helped = helper.join().unwrap();
            assert_eq!(shared.times.load(Relaxed), 1 + helped);
        });
    }
}
