//! [`Parker`]: one thread sleeps until another wakes it, and no wake-up is lost.
//!
//! K1. An `unpark` that comes before or during a `park` ends that `park`; several count as one.
//! K2. What the waker did before `unpark`, the sleeper sees after `park`.
//!
//! ```text
//!            unpark                         unpark: and wake
//!   Empty ------------> Notified    Parked ------------------> Notified
//!     |  <------------  (park)        |  (the sleeper goes on:   |
//!     +-- park --> Parked             |   Notified -> Empty) <---+
//!            ^---- time ran out: Parked -> Empty
//! ```
//!
//! The owner makes every move but those to Notified.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    futex::Futex,
    thread::{self, Instant},
};
use std::time::Duration;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// Where one thread sleeps. Any thread may wake it.
#[derive(Debug)]
pub struct Parker {
    state: AtomicU32,
    futex: Futex,
}

impl Parker {
    const_unless_loom! {
        /// The owner is awake, and no notice has come.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self { state: AtomicU32::new(EMPTY), futex: Futex::new() }
        }
    }

    /// Sleeps until [`unpark`](Self::unpark), at most `timeout`; says whether it was woken. Returns at once if an
    /// `unpark` came since the last `park`. Only the owner may call it.
    pub fn park(&self, timeout: Option<Duration>) -> bool {
        if self.take_notice() {
            return true;
        }
        if timeout.is_some_and(|time| time.is_zero()) {
            return false;
        }
        if !thread::CAN_SPAWN {
            return self.park_alone(timeout);
        }
        // A time too far away to be represented is never.
        let deadline = timeout.and_then(|time| Instant::now().checked_add(time));
        // Relaxed: announces only that a waker has to wake this thread; if it was Notified just before, `take_notice` orders.
        if self.state.compare_exchange(EMPTY, PARKED, Relaxed, Relaxed).is_err() {
            return self.take_notice();
        }
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                // Acquire: pairs with the Release in `unpark`, which may have come at the last moment.
                return self.state.swap(EMPTY, Acquire) == NOTIFIED;
            }
            self.futex.wait(&self.state, PARKED, left);
            if self.take_notice() {
                return true;
            }
        }
    }

    /// Wakes the owner, or lets its next `park` return at once.
    pub fn unpark(&self) {
        // Release: pairs with the Acquire in `take_notice` (K2). A read-modify-write, so that a second waker
        // continues the release sequence of the first.
        if self.state.swap(NOTIFIED, Release) == PARKED {
            self.futex.wake_one(&self.state);
        }
    }

    /// Was it woken since the last time it slept or asked? Takes note of it as [`park`](Self::park) does. Only the owner may call
    /// it.
    pub fn take_notice(&self) -> bool {
        // Acquire: pairs with the Release in `unpark`.
        self.state.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok()
    }

    /// With no other thread nobody can wake us: only time passes.
    fn park_alone(&self, timeout: Option<Duration>) -> bool {
        match timeout {
            Some(time) => thread::sleep(time),
            None => loop {
                thread::sleep(Duration::from_secs(3600));
            },
        }
        false
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Parker;
    use std::time::{Duration, Instant};

    #[test]
    fn an_earlier_wake_up_counts_once() {
        let parker = Parker::new();
        parker.unpark();
        parker.unpark();
        assert!(parker.park(None));
        assert!(!parker.park(Some(Duration::ZERO)));
    }

    #[test]
    fn time_runs_out() {
        let parker = Parker::new();
        let start = Instant::now();
        assert!(!parker.park(Some(Duration::from_millis(20))));
        assert!(start.elapsed() >= Duration::from_millis(20));
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn ping_pong() {
        let rounds = if cfg!(miri) { 20 } else { 5_000 };
        let (ping, pong) = (Parker::new(), Parker::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds {
                    assert!(ping.park(None));
                    pong.unpark();
                }
            });
            for round in 0..rounds {
                ping.unpark();
                assert!(pong.park((round % 2 == 0).then_some(Duration::from_secs(60))));
            }
        });
    }
}

/// Caught when tried: Relaxed in `unpark` or in `take_notice`; a store instead of the swap in `unpark`; a
/// `Futex` that notifies without having had the lock (a lost wake-up, which loom reports as a deadlock).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Parker;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    struct Shared {
        parker: Parker,
        words: [UnsafeCell<bool>; 2],
        said: [crate::atomic::AtomicBool; 2],
    }

    // SAFETY: the parker orders the accesses, and loom checks that it does.
    unsafe impl Sync for Shared {}
    // SAFETY: the parker orders the accesses, and loom checks that it does.
    unsafe impl Send for Shared {}

    fn wakers(count: usize, preemptions: Option<usize>) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = preemptions;
        model.check(move || {
            let shared =
                Arc::new(Shared { parker: Parker::new(), words: Default::default(), said: Default::default() });
            let wakers: Vec<_> = (0..count)
                .map(|waker| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        // SAFETY: only this waker writes, before it says so.
                        shared.words[waker].with_mut(|word| unsafe { *word = true });
                        // Relaxed: the parker has to order (K2).
                        shared.said[waker].store(true, std::sync::atomic::Ordering::Relaxed);
                        shared.parker.unpark();
                    })
                })
                .collect();
            // As a scheduler does: sleep, then look for work.
            let mut heard = vec![false; count];
            while heard.contains(&false) {
                assert!(shared.parker.park(None));
                let mut news = false;
                for waker in 0..count {
                    if !heard[waker] && shared.said[waker].load(std::sync::atomic::Ordering::Relaxed) {
                        (heard[waker], news) = (true, true);
                        if count == 1 {
                            // SAFETY: written before the `unpark` that ended the `park`.
                            shared.words[waker].with(|word| assert!(unsafe { *word }));
                        }
                    }
                }
                assert!(news || count > 1);
            }
            wakers.into_iter().for_each(|waker| waker.join().unwrap());
        });
    }

    #[test]
    fn one_waker_is_heard() {
        wakers(1, None);
    }

    /// Two wake-ups may be one, but then the sleeper sees what both did.
    #[test]
    fn two_wakers_are_heard() {
        wakers(2, Some(3));
    }
}
