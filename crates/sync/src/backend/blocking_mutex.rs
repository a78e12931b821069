//! Mutex and condition over loom, or over std where there is no futex ([`futex_mutex`](crate::futex_mutex) is for Linux).

use super::blocking::{acquired, unpoisoned};
#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;
use std::time::Duration;

pub(crate) type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;

#[derive(Debug)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    const_unless_loom! {
        pub(crate) fn new(value: T) -> Self {
            Self(imp::Mutex::new(value))
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        unpoisoned(self.0.lock())
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        acquired(self.0.try_lock())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.0.get_mut())
    }

    pub(crate) fn into_inner(self) -> T {
        unpoisoned(self.0.into_inner())
    }
}

#[derive(Debug)]
pub(crate) struct Condvar(imp::Condvar);

impl Condvar {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(imp::Condvar::new())
        }
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        unpoisoned(self.0.wait(guard))
    }

    /// The flag says that the time ran out.
    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> (MutexGuard<'a, T>, bool) {
        let (guard, result) = unpoisoned(self.0.wait_timeout(guard, time));
        (guard, result.timed_out())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}
