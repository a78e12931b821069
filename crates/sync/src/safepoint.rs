//! [`Safepoint`]: mutators stop between two of their steps while a requester has what they share for itself (stop the world).
//!
//! A mutator polls between steps, by one Relaxed load; if a stop is requested it counts itself as stopped and waits until no
//! request is left. A requester requests first, then waits until as many as there are mutators are stopped.
//!
//! ```text
//!   mutator                                      requester
//!   -------                                      ---------
//!   runs a step                                  request: requests += 1; fence
//!   polls: a stop is requested                   waits until stopped = number of mutators
//!   block: stopped += 1, waits                   has the world for itself (SP2)
//!   no request is left                  <------  release: requests -= 1
//!   stopped -= 1; fence; looks again (SP1)
//!   runs the next step
//! ```
//!
//! SP1. A mutator looks for requests again after it has ceased to be counted, and counts itself anew if it finds one. So a requester
//!      that finds all mutators counted after its request knows that none of them takes a step before it releases the request,
//!      though some may still have been leaving an earlier stop: the mutator's fence and the requester's are a case of sync/SL1.
//! SP2. What mutators did before they were found stopped happens before what the requester does then, and that happens before what
//!      mutators do once the request is released.
//! SP3. Requests are counted: mutators run again when the last one is released.
//!
//! What was not done: a number for each request, which mutators acknowledge one by one. It needs no second look, but a word for each
//! mutator, and the requester would have to read them all.

use crate::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};

/// How many stops are requested, and how many mutators are stopped.
#[derive(Debug)]
pub struct Safepoint {
    requests: AtomicUsize,
    stopped: AtomicUsize,
}

impl Safepoint {
    const_unless_loom! {
        /// No stop is requested.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self { requests: AtomicUsize::new(0), stopped: AtomicUsize::new(0) }
        }
    }

    /// A mutator's poll: is a stop requested? Then it is to [`block`](Self::block).
    #[inline]
    pub fn is_requested(&self) -> bool {
        // Relaxed: a request is met at one of the next polls; `block` looks again.
        self.requests.load(Relaxed) > 0
    }

    /// A mutator is stopped as long as a stop is requested. `wait` waits a little; if it gives `false` the mutator runs on at once,
    /// requested or not.
    pub fn block(&self, mut wait: impl FnMut() -> bool) {
        // Acquire: pairs with the Release in `release` (SP2).
        let requested = || self.requests.load(Acquire) > 0;
        let mut obeys = true;
        while obeys && requested() {
            // Release: pairs with the Acquire in `are_stopped` (SP2). The count only changes by read-modify-writes, so that one
            // release sequence has all mutators' increments.
            self.stopped.fetch_add(1, Release);
            while obeys && requested() {
                obeys = wait();
            }
            // Relaxed: ordered by the fence, which pairs with that in `request` (SP1).
            self.stopped.fetch_sub(1, Relaxed);
            fence(SeqCst);
        }
    }

    /// Requests a stop, until [`release`](Self::release).
    pub fn request(&self) {
        // Relaxed: ordered by the fence, which pairs with that in `block` (SP1).
        self.requests.fetch_add(1, Relaxed);
        fence(SeqCst);
    }

    /// Takes one request back.
    pub fn release(&self) {
        // Release: pairs with the Acquire in `block` (SP2).
        self.requests.fetch_sub(1, Release);
    }

    /// Are at least `mutators` of them stopped? If these are all, it stays so until the caller releases its request (SP1).
    #[must_use]
    pub fn are_stopped(&self, mutators: usize) -> bool {
        // Acquire: pairs with the Release in `block` (SP2).
        self.stopped.load(Acquire) >= mutators
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Safepoint;

    #[test]
    fn is_stopped_while_requested() {
        let safepoint = Safepoint::new();
        safepoint.block(|| unreachable!("nobody requests"));
        safepoint.request();
        safepoint.request();
        assert!(safepoint.is_requested() && !safepoint.are_stopped(1));
        let mut waits = 0;
        safepoint.block(|| {
            assert!(safepoint.are_stopped(1) && !safepoint.are_stopped(2));
            safepoint.release();
            waits += 1;
            true
        });
        assert_eq!((waits, safepoint.is_requested(), safepoint.are_stopped(1)), (2, false, false));
        safepoint.request();
        safepoint.block(|| false);
        assert!(safepoint.is_requested() && !safepoint.are_stopped(1));
    }
}

/// Caught when tried: no fence in `request`, none in `block`; Relaxed for the Release of the increment, the Acquire of
/// `are_stopped`, the Release of `release` or the Acquire of `block`; no second look in `block`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Safepoint;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    /// A mutator's own state, which a requester looks at when all have stopped.
    struct World {
        safepoint: Safepoint,
        states: Vec<UnsafeCell<u32>>,
    }

    // SAFETY: SP1 and SP2: a mutator or a requester at a time, which loom checks.
    unsafe impl Sync for World {}
    // SAFETY: SP1 and SP2: a mutator or a requester at a time, which loom checks.
    unsafe impl Send for World {}

    impl World {
        fn new(mutators: usize) -> Arc<World> {
            let states = (0..mutators).map(|_| UnsafeCell::new(0)).collect();
            Arc::new(World { safepoint: Safepoint::new(), states })
        }

        /// One step of a mutator, and the poll after it. One that takes no other step need not wait to the end (two that wait for a
        /// third keep loom from running that).
        fn step(&self, mutator: usize, is_last: bool) {
            // SAFETY: this thread's own, while it is not stopped.
            self.states[mutator].with_mut(|state| unsafe { *state += 1 });
            if self.safepoint.is_requested() {
                self.safepoint.block(|| {
                    thread::yield_now();
                    !is_last
                });
            }
        }

        /// Stops the world, if all stop by themselves; writes to what is the mutators'.
        fn stop(&self) {
            self.safepoint.request();
            if self.safepoint.are_stopped(self.states.len()) {
                for state in &self.states {
                    // SAFETY: SP1.
                    state.with_mut(|state| unsafe { *state += 10 });
                }
            }
            self.safepoint.release();
        }
    }

    fn check(mutators: usize, steps: usize, stops: usize, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let world = World::new(mutators);
            let threads: Vec<_> = (0..mutators)
                .map(|mutator| {
                    let world = world.clone();
                    thread::spawn(move || (1..=steps).for_each(|step| world.step(mutator, step == steps)))
                })
                .collect();
            (0..stops).for_each(|_| world.stop());
            threads.into_iter().for_each(|mutator| mutator.join().unwrap());
        });
    }

    /// The second time it may be leaving the first stop.
    #[test]
    fn loom_the_world_of_one_is_stopped_again() {
        check(1, 2, 2, 4);
    }

    #[test]
    fn loom_the_world_of_two_is_stopped() {
        check(2, 1, 1, 2);
    }
}
