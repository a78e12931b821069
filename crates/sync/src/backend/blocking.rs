//! Blocking locks over std (a futex word with a short spin on Linux) or over loom, which has the same interface.
//!
//! Poisoning is switched off here: a VM thread that panics takes the VM down with a crash dump, and in a test the
//! panic itself is the report.

#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;
use std::{sync::TryLockError, time::Duration};

pub(crate) type MutexGuard<'a, T> = imp::MutexGuard<'a, T>;
pub(crate) type ReadGuard<'a, T> = imp::RwLockReadGuard<'a, T>;
pub(crate) type WriteGuard<'a, T> = imp::RwLockWriteGuard<'a, T>;

fn unpoisoned<G>(result: imp::LockResult<G>) -> G {
    result.unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn acquired<G>(result: imp::TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

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

#[derive(Debug)]
pub(crate) struct RwLock<T>(imp::RwLock<T>);

impl<T> RwLock<T> {
    const_unless_loom! {
        pub(crate) fn new(value: T) -> Self {
            Self(imp::RwLock::new(value))
        }
    }

    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    pub(crate) fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        acquired(self.0.try_read())
    }

    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        unpoisoned(self.0.write())
    }

    pub(crate) fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        acquired(self.0.try_write())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        unpoisoned(self.0.get_mut())
    }
}
