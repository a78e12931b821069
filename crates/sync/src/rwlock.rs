//! [`RwLock`]: many readers or one writer.
//!
//! Readers write the lock word too, so under many cores a read-mostly structure is better published through an
//! atomic pointer and reclaimed by [`progress`](crate::progress). A reader obeys the lock order like a writer:
//! taking a second read lock of one class can deadlock with a writer that waits between the two.

use crate::{
    backend::locks,
    class::{Held, LockClass},
    cost::{self, Hold},
    profile::{self, Counted, How},
};
use std::ops::{Deref, DerefMut};

/// Many readers or one writer. Never poisoned.
#[derive(Debug)]
pub struct RwLock<T> {
    class: &'static LockClass,
    raw: locks::RwLock<T>,
}

/// The right to read.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct ReadGuard<'a, T> {
    // Dropped in this order: the hold is counted, then the lock is free, then the class is no longer held.
    _counted: Counted<'a>,
    raw: locks::ReadGuard<'a, T>,
    _held: Held,
}

/// The right to read and write.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct WriteGuard<'a, T> {
    // Dropped in this order, as in the guard of a reader.
    _counted: Counted<'a>,
    raw: locks::WriteGuard<'a, T>,
    _held: Held,
}

impl<T> RwLock<T> {
    const_unless_loom! {
        /// A free lock of this class.
        pub fn new(class: &'static LockClass, value: T) -> Self {
            Self { class, raw: locks::RwLock::new(value) }
        }
    }

    /// Waits until no writer has the lock, and joins the readers.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let held = self.class.hold(Hold::shared(&self.raw));
        let (raw, counted) = profile::acquire(&self.class, How::Read, || self.raw.try_read(), || self.raw.read());
        ReadGuard { _counted: counted, raw, _held: held }
    }

    /// Joins the readers if no writer has the lock.
    #[track_caller]
    pub fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        if !cost::is_free(Hold::shared(&self.raw)) {
            return None;
        }
        let Some(raw) = self.raw.try_read() else {
            profile::refused(&self.class, How::Read);
            return None;
        };
        let counted = Counted::new(&self.class, How::Read);
        Some(ReadGuard { _counted: counted, raw, _held: self.class.hold_unordered(Hold::shared(&self.raw)) })
    }

    /// Waits until no thread has the lock, and takes it for writing.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let held = self.class.hold(Hold::exclusive(&self.raw));
        let (raw, counted) = profile::acquire(&self.class, How::Write, || self.raw.try_write(), || self.raw.write());
        WriteGuard { _counted: counted, raw, _held: held }
    }

    /// Takes the lock for writing if no thread has it.
    #[track_caller]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        if !cost::is_free(Hold::exclusive(&self.raw)) {
            return None;
        }
        let Some(raw) = self.raw.try_write() else {
            profile::refused(&self.class, How::Write);
            return None;
        };
        let counted = Counted::new(&self.class, How::Write);
        Some(WriteGuard { _counted: counted, raw, _held: self.class.hold_unordered(Hold::exclusive(&self.raw)) })
    }

    /// The value, through an exclusive borrow.
    pub fn get_mut(&mut self) -> &mut T {
        self.raw.get_mut()
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

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.raw
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.raw
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.raw
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::RwLock;
    use crate::LockClass;

    static CLASS: LockClass = LockClass::nested("rw", 1);

    #[test]
    fn readers_share_and_a_writer_excludes() {
        let mut lock = RwLock::new(&CLASS, 1);
        {
            let (one, two) = (lock.read(), lock.try_read());
            assert_eq!((*one, two.as_deref()), (1, Some(&1)));
            assert!(lock.try_write().is_none());
        }
        *lock.write() += 1;
        {
            let _writer = lock.try_write().expect("free");
            assert!(lock.try_read().is_none() && lock.try_write().is_none());
        }
        assert_eq!(*lock.get_mut(), 2);
    }
}
