//! The readers-writer lock over std (on Linux two futex words and a short spin) or over loom, which has the same interface.
//!
//! Poisoning is switched off here: a VM thread that panics takes the VM down with a crash dump, and in a test the
//! panic itself is the report.

#[cfg(loom)]
use loom::sync as imp;
#[cfg(not(loom))]
use std::sync as imp;
use std::sync::TryLockError;

pub(crate) type ReadGuard<'a, T> = imp::RwLockReadGuard<'a, T>;
pub(crate) type WriteGuard<'a, T> = imp::RwLockWriteGuard<'a, T>;

pub(super) fn unpoisoned<G>(result: imp::LockResult<G>) -> G {
    result.unwrap_or_else(|poisoned| poisoned.into_inner())
}

pub(super) fn acquired<G>(result: imp::TryLockResult<G>) -> Option<G> {
    match result {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
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

    #[cfg(not(interleaved))]
    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        unpoisoned(self.0.read())
    }

    pub(crate) fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        acquired(self.0.try_read())
    }

    #[cfg(not(interleaved))]
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
