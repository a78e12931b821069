//! The mutex and the condition of the production build: each a word that the kernel is asked about only when a thread sleeps.
//!
//! The mutex is Drepper's third (Futexes Are Tricky, 2011) with a short spin before the first sleep:
//!
//! ```text
//!            lock                      a waiter is about to sleep
//!   FREE ------------> HELD --------------------------------------> CONTENDED
//!     ^                  |                                              |
//!     +----- unlock -----+------------ unlock: and wake one ------------+
//! ```
//!
//! FM1. A thread that sleeps has made the word CONTENDED before, and the unlock that takes it from there wakes one.
//! FM2. A thread that has slept takes the lock as CONTENDED, since it cannot know whether others still sleep. The unlock that follows
//!      may wake nobody, which costs a system call.
//!
//! The condition counts notices in a word; a waiter sleeps while the count is what it was when the waiter still held the mutex.
//!
//! FM3. A waiter enters itself in `waiters` while it holds the mutex. So who changes the condition under the mutex and finds no
//!      waiter there has changed it before the waiter looked, and need not notify.
//!
//! Over std's, which is the same mutex, this one does not ask at each lock and unlock whether the thread panics, and its condition
//! makes no system call where nobody waits (docs/design.md, section 8, has the figures). A panic does not poison.

use crate::{
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    backoff::spin_hint,
    cell::{MutPtr, UnsafeCell},
    futex::Futex,
};
use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// How often a thread looks before it sleeps. A model need not look again: each look would only repeat the first.
const SPINS: u32 = if cfg!(any(loom, interleaved)) { 0 } else { 100 };

/// Mutual exclusion; a thread that waits for long sleeps.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    word: AtomicU32,
    futex: Futex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock hands the value to one thread at a time, so sharing it only needs sending.
unsafe impl<T: Send> Sync for Mutex<T> {}
// SAFETY: owning the lock is owning the value.
unsafe impl<T: Send> Send for Mutex<T> {}

impl<T> Mutex<T> {
    const_unless_loom! {
        pub(crate) fn new(value: T) -> Self {
            Self { word: AtomicU32::new(FREE), futex: Futex::new(), value: UnsafeCell::new(value) }
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        if !self.try_acquire() {
            self.acquire_contended();
        }
        self.guard()
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.try_acquire().then(|| self.guard())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
    }

    #[inline]
    fn guard(&self) -> MutexGuard<'_, T> {
        MutexGuard { value: self.value.write_ptr(), release: Unlock(self) }
    }

    #[inline]
    fn try_acquire(&self) -> bool {
        // Acquire: pairs with the Release in `unlock`.
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn acquire_contended(&self) {
        if self.spin() == FREE && self.try_acquire() {
            return;
        }
        // Acquire: pairs with the Release in `unlock`. It takes the lock, or tells the holder of this waiter (FM1, FM2).
        while self.word.swap(CONTENDED, Acquire) != FREE {
            self.futex.wait(&self.word, CONTENDED, None);
            // Another thread may have come first while this one woke, and be done soon.
            self.spin();
        }
    }

    /// Looks until the lock is free, others sleep for it, or it has lasted too long. A lock that others sleep for is held for long.
    fn spin(&self) -> u32 {
        for _ in 0..SPINS {
            // Relaxed: a guess, which an exchange checks.
            let word = self.word.load(Relaxed);
            if word != HELD {
                return word;
            }
            spin_hint();
        }
        HELD
    }
}

/// The right to the value; gives the lock back when dropped.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    // Dropped in this order: the access ends, then the lock is free.
    value: MutPtr<T>,
    release: Unlock<'a, T>,
}

// SAFETY: a shared guard gives `&T`.
unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held, and `&self` excludes `deref_mut`.
        unsafe { self.value.deref() }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and `&mut self` excludes other borrows.
        unsafe { self.value.deref() }
    }
}

/// Gives the lock back when dropped. Made only by `Mutex::guard`.
#[derive(Debug)]
struct Unlock<'a, T>(&'a Mutex<T>);

impl<T> Drop for Unlock<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let lock = self.0;
        // Release: pairs with the Acquire of the next to take the lock.
        if lock.word.swap(FREE, Release) == CONTENDED {
            lock.futex.wake_one(&lock.word);
        }
    }
}

/// A condition that a mutex guards.
#[derive(Debug)]
pub(crate) struct Condvar {
    notices: AtomicU32,
    waiters: AtomicU32,
    futex: Futex,
}

impl Condvar {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { notices: AtomicU32::new(0), waiters: AtomicU32::new(0), futex: Futex::new() }
        }
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.sleep(guard, None).0
    }

    /// The flag says that the time ran out.
    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> (MutexGuard<'a, T>, bool) {
        self.sleep(guard, Some(time))
    }

    fn sleep<'a, T>(&self, guard: MutexGuard<'a, T>, time: Option<Duration>) -> (MutexGuard<'a, T>, bool) {
        let lock = guard.release.0;
        // Relaxed, both: the mutex orders them with what a notifier does under it (FM3), and a notice that comes later changes
        // the word that the kernel compares.
        self.waiters.fetch_add(1, Relaxed);
        let seen = self.notices.load(Relaxed);
        drop(guard);
        let timed_out = self.futex.wait(&self.notices, seen, time);
        // Relaxed: one waiter too many costs a notifier a system call.
        self.waiters.fetch_sub(1, Relaxed);
        (lock.lock(), timed_out)
    }

    pub(crate) fn notify_one(&self) {
        if self.count_notice() {
            self.futex.wake_one(&self.notices);
        }
    }

    pub(crate) fn notify_all(&self) {
        if self.count_notice() {
            self.futex.wake_all(&self.notices);
        }
    }

    /// Whether anybody waits. A waiter that is about to sleep then finds the count changed, and does not.
    fn count_notice(&self) -> bool {
        // Relaxed, both: as in `sleep`.
        let waited_for = self.waiters.load(Relaxed) != 0;
        if waited_for {
            self.notices.fetch_add(1, Relaxed);
        }
        waited_for
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Condvar, FREE, Mutex};
    use crate::atomic::Ordering::Relaxed;
    use std::time::Duration;

    const ROUNDS: u32 = if cfg!(miri) { 20 } else { 20_000 };

    #[test]
    fn more_threads_than_cores_exclude_each_other() {
        let lock = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..ROUNDS).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 8 * ROUNDS);
        assert_eq!(lock.word.load(Relaxed), FREE);
        assert_eq!(lock.into_inner(), 8 * ROUNDS);
    }

    #[test]
    fn those_that_sleep_are_woken() {
        let lock = Mutex::new(0);
        std::thread::scope(|scope| {
            let held = lock.lock();
            for _ in 0..4 {
                scope.spawn(|| *lock.lock() += 1);
            }
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
        });
        assert_eq!(*lock.lock(), 4);
    }

    #[test]
    fn turns_pass_round_by_notices_to_all() {
        let (turn, passed) = (Mutex::new(0), Condvar::new());
        let rounds = ROUNDS / 10;
        std::thread::scope(|scope| {
            for me in 0..3 {
                let (turn, passed) = (&turn, &passed);
                scope.spawn(move || {
                    for _ in 0..rounds {
                        let mut now = turn.lock();
                        while *now % 3 != me {
                            now = passed.wait(now);
                        }
                        *now += 1;
                        drop(now);
                        passed.notify_all();
                    }
                });
            }
        });
        assert_eq!((*turn.lock(), passed.waiters.load(Relaxed)), (3 * rounds, 0));
    }

    #[test]
    fn a_wait_without_a_notice_runs_out_of_time() {
        let (lock, never) = (Mutex::new(()), Condvar::new());
        let mut timed_out = false;
        while !timed_out {
            timed_out = never.wait_timeout(lock.lock(), Duration::from_millis(5)).1;
        }
        assert!(lock.try_lock().is_some());
        assert_eq!(never.waiters.load(Relaxed), 0);
    }
}

/// Caught when tried: each Acquire and the Release made Relaxed, one at a time; a waiter that sleeps without CONTENDED (FM1); a
/// condition whose count is read after the mutex is given back.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Condvar, Mutex};
    use loom::thread;
    use std::sync::Arc;

    /// Each of three takes the lock once: some sleep, and an unlock that woke nobody would leave one asleep, which loom reports.
    #[test]
    fn those_that_sleep_are_woken() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let lock = Arc::new(Mutex::new(0));
            let others = [(); 2].map(|()| {
                let lock = lock.clone();
                thread::spawn(move || *lock.lock() += 1)
            });
            *lock.lock() += 1;
            others.into_iter().for_each(|other| other.join().unwrap());
            assert_eq!(*lock.try_lock().expect("nobody is left"), 3);
        });
    }

    /// A condition that is changed under the mutex and notified of after it: the waiter ends.
    #[test]
    fn no_notice_is_lost() {
        loom::model(|| {
            let shared = Arc::new((Mutex::new(false), Condvar::new()));
            let notifier = {
                let shared = shared.clone();
                thread::spawn(move || {
                    *shared.0.lock() = true;
                    shared.1.notify_one();
                })
            };
            let mut done = shared.0.lock();
            while !*done {
                done = shared.1.wait(done);
            }
            drop(done);
            notifier.join().unwrap();
        });
    }
}
