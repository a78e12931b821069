//! [`LeaderSlot`]: one thread at a time waits for events, where only an event wakes it (leader and followers: Schmidt et al.,
//! 2000).
//!
//! The leader waits in a call of the operating system that a [`Parker`](crate::Parker) cannot end; an *interrupt* ends it, which
//! costs a call too. The others sleep by their parkers. So a waker notifies a thread first, by what that thread looks at before it
//! sleeps, then looks whether it leads, and interrupts the wait only then. A thread becomes the leader first, then looks whether
//! it was notified, and waits only if not.
//!
//! LS1. There is one leader at a time; what one did while it led happens before what the next one does.
//! LS2. A leader that finds no notice is found to lead by any waker that notifies it after that look (sync/SL1).
//! LS3. An interrupt may come when its thread leads no more, and then ends another's wait early: waits are repeated anyway.
//!
//! What was not done: an interrupt at every notice, which needs no protocol and costs a call of the operating system each time.

use crate::atomic::{
    AtomicUsize,
    Ordering::{Relaxed, Release, SeqCst},
    fence,
};

/// In the place of a thread's number: no thread leads.
const NOBODY: usize = usize::MAX;

/// The number of the thread that leads, if one does.
#[derive(Debug)]
pub struct LeaderSlot(AtomicUsize);

/// The calling thread leads until this is dropped.
#[must_use]
#[derive(Debug)]
pub struct Leading<'a>(&'a LeaderSlot);

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        // Release: pairs with the fence in `try_lead` (LS1).
        self.0.0.store(NOBODY, Release);
    }
}

impl LeaderSlot {
    const_unless_loom! {
        /// No thread leads.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicUsize::new(NOBODY))
        }
    }

    /// Becomes the leader, under this number, unless there is one. To be called before the look for a notice.
    pub fn try_lead(&self, who: usize) -> Option<Leading<'_>> {
        // Relaxed: ordered by the fence. On failure nothing follows from it.
        self.0.compare_exchange(NOBODY, who, Relaxed, Relaxed).ok()?;
        // Pairs with the fence in `is_led_by` (LS2), and, as it is an Acquire fence too, with the Release in `Leading::drop` (LS1).
        fence(SeqCst);
        Some(Leading(self))
    }

    /// To be asked after thread `who` was notified: does it lead, so that its wait has to be interrupted?
    #[must_use]
    pub fn is_led_by(&self, who: usize) -> bool {
        // Pairs with the fence in `try_lead` (LS2).
        fence(SeqCst);
        // Relaxed: ordered by the fence.
        self.0.load(Relaxed) == who
    }

    /// The thread that leads (a figure, already old).
    pub fn leader(&self) -> Option<usize> {
        Some(self.0.load(Relaxed)).filter(|who| *who != NOBODY)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::LeaderSlot;

    #[test]
    fn one_leads_at_a_time() {
        let slot = LeaderSlot::new();
        let leading = slot.try_lead(0).expect("nobody leads");
        assert!(slot.try_lead(1).is_none());
        assert!(slot.is_led_by(0) && !slot.is_led_by(1));
        assert_eq!(slot.leader(), Some(0));
        drop(leading);
        assert_eq!(slot.leader(), None);
        assert!(slot.try_lead(1).is_some());
    }
}

/// Caught when tried: no fence in `try_lead`, none in `is_led_by` (each a wake-up that is lost: a deadlock), an Acquire fence in
/// `try_lead` (so too); Relaxed for the Release of `Leading::drop` (two leaders meet); a look for a notice before `try_lead`, a
/// look at the leader before the notice (wake-ups that are lost).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::LeaderSlot;
    use crate::Parker;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    /// Two threads that wait, and what the leader waits in.
    struct Shared {
        slot: LeaderSlot,
        parkers: [Parker; 2],
        /// Ends the leader's wait, as an event does.
        event: Parker,
        /// Leaders so far: what only the leader touches.
        led: UnsafeCell<u32>,
    }

    // SAFETY: LS1: the leader touches the cell, and loom checks that the next one comes after it.
    unsafe impl Sync for Shared {}

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared {
                slot: LeaderSlot::new(),
                parkers: [Parker::new(), Parker::new()],
                event: Parker::new(),
                led: UnsafeCell::new(0),
            })
        }

        /// Sleeps until it was notified.
        fn wait(&self, who: usize) {
            let Some(_leading) = self.slot.try_lead(who) else {
                assert!(self.parkers[who].park(None));
                return;
            };
            // SAFETY: LS1.
            self.led.with_mut(|led| unsafe { *led += 1 });
            while !self.parkers[who].take_notice() {
                // One that was meant for another may come first (LS3).
                self.event.park(None);
            }
        }

        fn wake(&self, who: usize) {
            self.parkers[who].unpark();
            if self.slot.is_led_by(who) {
                self.event.unpark();
            }
        }
    }

    #[test]
    fn loom_a_leader_is_woken() {
        loom::model(|| {
            let shared = Shared::new();
            let waker = shared.clone();
            let waker = thread::spawn(move || waker.wake(0));
            shared.wait(0);
            waker.join().unwrap();
        });
    }

    #[test]
    fn loom_leaders_and_followers_are_woken() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Shared::new();
            let other = shared.clone();
            let other = thread::spawn(move || other.wait(1));
            let waker = shared.clone();
            let waker = thread::spawn(move || {
                waker.wake(0);
                waker.wake(1);
            });
            shared.wait(0);
            other.join().unwrap();
            waker.join().unwrap();
        });
    }
}
