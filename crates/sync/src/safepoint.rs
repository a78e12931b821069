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
//! A mutator that has nothing to do *stands*: it is counted all the while, so that nobody has to wake it to stop it, and looks for requests before its next step.
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
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
    fence,
};
use crate::futex::Futex;
use std::time::Duration;

/// How many stops are requested, and how many mutators are stopped.
#[derive(Debug)]
pub struct Safepoint {
    /// The number of requests, and above it how often who is stopped was called ([`call`](Self::call)).
    requests: AtomicU32,
    stopped: AtomicU32,
    /// Where mutators sleep until a request is released.
    released: Futex,
    /// Where requesters sleep until another mutator is stopped.
    came: Futex,
}

/// The number of requests among the bits of their word; what one call adds to it.
const REQUESTS: u32 = CALL - 1;
const CALL: u32 = 1 << 16;

impl Safepoint {
    const_unless_loom! {
        /// No stop is requested.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self { requests: AtomicU32::new(0), stopped: AtomicU32::new(0), released: Futex::new(), came: Futex::new() }
        }
    }

    /// A mutator's poll: is a stop requested? Then it is to [`block`](Self::block).
    #[inline]
    pub fn is_requested(&self) -> bool {
        // Relaxed: a request is met at one of the next polls; `block` looks again.
        self.requests.load(Relaxed) & REQUESTS > 0
    }

    /// A mutator is stopped as long as a stop is requested. `wait` waits a little, while nothing has changed of what it is told
    /// ([`wait_for_release`](Self::wait_for_release)); if it gives `false` the mutator runs on at once, requested or not.
    pub fn block(&self, mut wait: impl FnMut(u32) -> bool) {
        // Acquire: pairs with the Release in `release` (SP2).
        let requests = || self.requests.load(Acquire);
        let mut obeys = true;
        while obeys && requests() & REQUESTS > 0 {
            self.come();
            loop {
                let seen = requests();
                if !obeys || seen & REQUESTS == 0 {
                    break;
                }
                obeys = wait(seen);
            }
            self.leave();
        }
    }

    /// A mutator does `rest`, which is no step of it, and counts as stopped meanwhile. Then it blocks, if a stop is requested.
    pub fn stand(&self, rest: impl FnOnce(), wait: impl FnMut(u32) -> bool) {
        self.come();
        rest();
        self.leave();
        self.block(wait);
    }

    fn come(&self) {
        // Release: pairs with the Acquire in `stopped` (SP2). The count only changes by read-modify-writes, so that one
        // release sequence has all mutators' increments.
        self.stopped.fetch_add(1, Release);
        // Only a hint, so no fence stands between: who is not woken looks again by itself (`wait_for_another`).
        if self.is_requested() {
            self.came.wake_all(&self.stopped);
        }
    }

    fn leave(&self) {
        // Relaxed: ordered by the fence, which pairs with that in `request` (SP1).
        self.stopped.fetch_sub(1, Relaxed);
        fence(SeqCst);
    }

    /// Sleeps while there are the requests that were `seen`, and no call has come since then, at most for this time; may end before that.
    pub fn wait_for_release(&self, seen: u32, at_most: Duration) {
        self.released.wait(&self.requests, seen, Some(at_most));
    }

    /// Sleeps while `seen` mutators are stopped, at most for this time; may end before that, and may miss one that came just as the request was made.
    pub fn wait_for_another(&self, seen: u32, at_most: Duration) {
        self.came.wait(&self.stopped, seen, Some(at_most));
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
        self.released.wake_all(&self.requests);
    }

    /// Who is stopped ceases to sleep, to look for something that was left before the call.
    pub fn call(&self) {
        // Relaxed: it is found under the lock under which it was left. Who looked before that had seen the requests before: it does not fall asleep (sync.futex/F1).
        self.requests.fetch_add(CALL, Relaxed);
        self.released.wake_all(&self.requests);
    }

    /// Are at least `mutators` of them stopped? If these are all, it stays so until the caller releases its request (SP1).
    #[must_use]
    pub fn are_stopped(&self, mutators: usize) -> bool {
        self.stopped() as usize >= mutators
    }

    /// How many mutators are stopped.
    #[must_use]
    pub fn stopped(&self) -> u32 {
        // Acquire: pairs with the Release in `come` (SP2).
        self.stopped.load(Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Safepoint;

    #[test]
    fn is_stopped_while_requested() {
        let safepoint = Safepoint::new();
        safepoint.block(|_| unreachable!("nobody requests"));
        safepoint.request();
        safepoint.request();
        assert!(safepoint.is_requested() && !safepoint.are_stopped(1));
        let mut waits = 0;
        safepoint.block(|requests| {
            assert!(safepoint.are_stopped(1) && !safepoint.are_stopped(2));
            assert_eq!(requests % super::CALL, 2 - waits);
            safepoint.call();
            safepoint.release();
            waits += 1;
            true
        });
        assert_eq!((waits, safepoint.is_requested(), safepoint.are_stopped(1)), (2, false, false));
        safepoint.request();
        safepoint.block(|_| false);
        assert!(safepoint.is_requested() && !safepoint.are_stopped(1));
    }

    #[test]
    fn one_who_stands_is_stopped_and_blocks_then() {
        let safepoint = Safepoint::new();
        let mut waits = 0;
        safepoint.stand(|| assert!(safepoint.are_stopped(1)), |_| unreachable!("nobody requests"));
        safepoint.stand(
            || safepoint.request(),
            |_| {
                assert!(safepoint.are_stopped(1));
                safepoint.release();
                waits += 1;
                true
            },
        );
        assert_eq!((waits, safepoint.stopped()), (1, 0));
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn sleepers_are_woken() {
        let long = std::time::Duration::from_secs(3600);
        let safepoint = Safepoint::new();
        std::thread::scope(|scope| {
            safepoint.request();
            scope.spawn(|| {
                safepoint.block(|seen| {
                    safepoint.wait_for_release(seen, long);
                    true
                })
            });
            while !safepoint.are_stopped(1) {
                safepoint.wait_for_another(0, long);
            }
            safepoint.release();
        });
        assert_eq!((safepoint.stopped(), safepoint.is_requested()), (0, false));
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn sleepers_are_called() {
        use crate::{LockClass, Mutex};
        static CLASS: LockClass = LockClass::new("called_test", 1);
        let long = std::time::Duration::from_secs(3600);
        let (safepoint, left) = (Safepoint::new(), Mutex::new(&CLASS, false));
        std::thread::scope(|scope| {
            safepoint.request();
            let sleeper = scope.spawn(|| {
                safepoint.block(|seen| {
                    let found = *left.lock();
                    if !found {
                        safepoint.wait_for_release(seen, long);
                    }
                    !found
                })
            });
            while !safepoint.are_stopped(1) {
                safepoint.wait_for_another(0, long);
            }
            *left.lock() = true;
            safepoint.call();
            sleeper.join().unwrap();
            safepoint.release();
        });
    }
}

/// Caught when tried: no fence in `request`, none in `leave`; Relaxed for the Release of the increment, the Acquire of
/// `stopped`, the Release of `release` or the Acquire of `block`; no second look in `block`, no look in `stand`; a sleeper that is not woken. `call`
/// has no ordering to weaken, for the lock orders what is left; caught are: no wake in it; a word that it does not change; a call before the thing is left; a sleeper that looks for requests
/// after it has looked for the thing.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Safepoint;
    use crate::atomic::{
        AtomicBool,
        Ordering::{Acquire, Relaxed, Release},
    };
    use crate::cell::UnsafeCell;
    use crate::parker::Parker;
    use crate::{LockClass, Mutex};
    use loom::thread;
    use std::sync::Arc;
    use std::time::Duration;

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
                self.safepoint.block(|_| {
                    thread::yield_now();
                    !is_last
                });
            }
        }

        /// A mutator stands, before its next step.
        fn stand(&self) {
            self.safepoint.stand(thread::yield_now, |_| {
                thread::yield_now();
                true
            });
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

    fn check(mutators: usize, steps: usize, stops: usize, stand: bool, preemptions: usize) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let world = World::new(mutators);
            let threads: Vec<_> = (0..mutators)
                .map(|mutator| {
                    let world = world.clone();
                    thread::spawn(move || {
                        for step in 1..=steps {
                            if stand {
                                world.stand();
                            }
                            world.step(mutator, step == steps);
                        }
                    })
                })
                .collect();
            (0..stops).for_each(|_| world.stop());
            threads.into_iter().for_each(|mutator| mutator.join().unwrap());
        });
    }

    /// The second time it may be leaving the first stop.
    #[test]
    fn loom_the_world_of_one_is_stopped_again() {
        check(1, 2, 2, false, 4);
    }

    #[test]
    fn loom_the_world_of_two_is_stopped() {
        check(2, 1, 1, false, 2);
    }

    #[test]
    fn loom_the_world_of_one_who_stands_is_stopped_again() {
        check(1, 1, 2, true, 3);
    }

    /// A mutator that sleeps while it has nothing to do is not counted as stopped: who stops the world wakes it. Meanwhile a call returns that was made
    /// elsewhere (on a dirty scheduler), and wakes it as well: it takes what has returned when the world runs.
    struct Sleeper {
        world: Arc<World>,
        parker: Parker,
        returned: AtomicBool,
        result: UnsafeCell<u32>,
        is_over: AtomicBool,
    }

    // SAFETY: the result is handed over by `returned`, which loom checks.
    unsafe impl Sync for Sleeper {}
    // SAFETY: as above.
    unsafe impl Send for Sleeper {}

    impl Sleeper {
        /// The mutator.
        fn run(&self) {
            let (mut got, mut over) = (false, false);
            while !(got && over) {
                if self.world.safepoint.is_requested() {
                    self.world.safepoint.block(|_| {
                        thread::yield_now();
                        true
                    });
                }
                // Acquire: pairs with the Release in `return_to`, as a mailbox does.
                if self.returned.compare_exchange(true, false, Acquire, Relaxed).is_ok() {
                    // SAFETY: handed over.
                    let result = self.result.with(|result| unsafe { *result });
                    // SAFETY: this thread's own, while it is not stopped.
                    self.world.states[0].with_mut(|state| unsafe { *state += result });
                    got = true;
                }
                // Relaxed: nothing is ordered by it.
                over = self.is_over.load(Relaxed);
                if !(got && over) {
                    self.parker.park(None);
                }
            }
        }

        /// A dirty scheduler.
        fn return_to(&self) {
            // SAFETY: not handed over yet.
            self.result.with_mut(|result| unsafe { *result = 1 });
            // Release: pairs with the Acquire in `run`.
            self.returned.store(true, Release);
            self.parker.unpark();
        }
    }

    /// One who is stopped sleeps, and is called for what was left under a lock: if the call were missed it would sleep until the release, which waits for it here.
    #[test]
    fn loom_one_that_sleeps_is_called() {
        static CLASS: LockClass = LockClass::new("called_model", 1);
        loom::model(|| {
            let world = Arc::new((Safepoint::new(), Mutex::new(&CLASS, false)));
            world.0.request();
            let sleeper = {
                let world = world.clone();
                thread::spawn(move || {
                    let (safepoint, left) = &*world;
                    safepoint.block(|seen| {
                        let found = *left.lock();
                        if !found {
                            safepoint.wait_for_release(seen, Duration::MAX);
                        }
                        !found
                    });
                })
            };
            let (safepoint, left) = &*world;
            *left.lock() = true;
            safepoint.call();
            sleeper.join().unwrap();
            safepoint.release();
        });
    }

    #[test]
    fn loom_one_that_sleeps_is_woken_to_stop_and_for_what_returns() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let sleeper = Arc::new(Sleeper {
                world: World::new(1),
                parker: Parker::new(),
                returned: AtomicBool::new(false),
                result: UnsafeCell::new(0),
                is_over: AtomicBool::new(false),
            });
            let threads = [Sleeper::run, Sleeper::return_to].map(|does| {
                let sleeper = sleeper.clone();
                thread::spawn(move || does(&sleeper))
            });
            let world = &sleeper.world;
            world.safepoint.request();
            while !world.safepoint.are_stopped(1) {
                sleeper.parker.unpark();
                thread::yield_now();
            }
            // SAFETY: SP1.
            let seen = world.states[0].with_mut(|state| unsafe {
                *state += 10;
                *state
            });
            world.safepoint.release();
            // Relaxed: the unpark orders it (sync.parker/K2).
            sleeper.is_over.store(true, Relaxed);
            sleeper.parker.unpark();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            // SAFETY: the other threads have ended.
            let state = world.states[0].with(|state| unsafe { *state });
            assert!((10..=11).contains(&seen) && state == 11);
        });
    }
}
