//! [`Mutex`] and [`Condvar`]: the lock to use unless there is a reason for another.
//!
//! Over the back end's mutex, which on Linux is one futex word (`futex_mutex.rs`): an uncontended acquisition is one
//! compare-exchange, a contended one spins about a hundred turns and then sleeps in the kernel. This module adds the class.

use crate::{
    backend::locks,
    class::{Held, LockClass},
    cost::{self, Hold},
    profile::{self, Counted, How},
};
use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

/// Mutual exclusion. Never poisoned.
#[derive(Debug)]
pub struct Mutex<T> {
    class: &'static LockClass,
    raw: locks::Mutex<T>,
}

/// The right to the value; gives the lock back when dropped.
#[derive(Debug)]
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct MutexGuard<'a, T> {
    // Dropped in this order: the hold is counted, then the lock is free, then the class is no longer held.
    counted: Counted<'a>,
    raw: locks::MutexGuard<'a, T>,
    held: Held,
}

impl<T> Mutex<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, raw: locks::Mutex::new(value) }
        }
    }

    /// Waits until the lock is free, and takes it.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.class.hold(Hold::exclusive(&self.raw));
        let (raw, counted) = profile::acquire(&self.class, How::Mutex, || self.raw.try_lock(), || self.raw.lock());
        MutexGuard { counted, raw, held }
    }

    /// Takes the lock if it is free.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        if !cost::is_free(Hold::exclusive(&self.raw)) {
            return None;
        }
        let Some(raw) = self.raw.try_lock() else {
            profile::refused(&self.class, How::Mutex);
            return None;
        };
        let counted = Counted::new(&self.class, How::Mutex);
        Some(MutexGuard { counted, raw, held: self.class.hold_unordered(Hold::exclusive(&self.raw)) })
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.raw.get_mut()
    }

    /// Takes the value out.
    pub fn into_inner(self) -> T {
        self.raw.into_inner()
    }

    /// The lock's class.
    pub const fn class(&self) -> &'static LockClass {
        self.class
    }

    /// What the lock profile knows the lock by, as long as it stays where it is.
    pub fn identity(&self) -> usize {
        profile::identity(&self.class)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.raw
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.raw
    }
}

/// Waiting for a condition that a mutex guards. Wake-ups may be spurious: test the condition in a loop.
#[derive(Debug)]
pub struct Condvar(locks::Condvar);

impl Condvar {
    const_unless_loom! {
        /// A condition that no thread waits for yet.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(locks::Condvar::new())
        }
    }

    /// Gives the lock back, waits for a notification, and takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { counted, raw, held } = guard;
        counted.count();
        MutexGuard { counted, raw: self.0.wait(raw), held }
    }

    /// As [`wait`](Self::wait), for at most `time`. The flag says that the time ran out.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> (MutexGuard<'a, T>, bool) {
        let MutexGuard { counted, raw, held } = guard;
        counted.count();
        let (raw, timed_out) = self.0.wait_timeout(raw, time);
        (MutexGuard { counted, raw, held }, timed_out)
    }

    /// Wakes one of the threads that wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Condvar, Mutex};
    use crate::LockClass;
    use std::time::Duration;

    static CLASS: LockClass = LockClass::new("mutex", 1);

    #[test]
    fn a_try_fails_while_the_lock_is_held() {
        let lock = Mutex::new(&CLASS, 1);
        let held = lock.lock();
        assert!(lock.try_lock().is_none());
        drop(held);
        assert_eq!(lock.try_lock().as_deref(), Some(&1));
    }

    #[test]
    fn a_wait_may_run_out_of_time() {
        let (lock, condition) = (Mutex::new(&CLASS, 1), Condvar::new());
        let mut held = lock.lock();
        let mut timed_out = false;
        while !timed_out {
            (held, timed_out) = condition.wait_timeout(held, Duration::from_millis(5));
        }
        assert_eq!(*held, 1);
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn a_waiter_is_notified() {
        let (lock, condition) = (Mutex::new(&CLASS, false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *lock.lock() = true;
                condition.notify_one();
            });
            let mut done = lock.lock();
            while !*done {
                done = condition.wait(done);
            }
        });
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn a_panic_does_not_poison() {
        let lock = Mutex::new(&CLASS, 1);
        let panicked = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let _held = lock.lock();
                    panic!("while holding");
                })
                .join()
        });
        assert!(panicked.is_err());
        assert_eq!(*lock.lock(), 1);
    }
}
