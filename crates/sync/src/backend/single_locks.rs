//! Locks of the sequential back end: a flag that only finds self-deadlock.
//!
//! A wait with nobody to notify would last for ever. [`Condvar::wait`] therefore panics, naming the broken
//! invariant; a wait with a time limit sleeps that long.

use std::{
    cell::{Cell, UnsafeCell},
    ops::{Deref, DerefMut},
    time::Duration,
};

/// Free, or held by that many readers, or by a writer.
const FREE: u32 = 0;
const WRITER: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct RwLock<T> {
    state: Cell<u32>,
    value: UnsafeCell<T>,
}

// SAFETY: sync/S1 (back end `single`): there is no second thread.
unsafe impl<T: Send> Sync for RwLock<T> {}

/// A mutex is a readers-writer lock that nobody reads.
#[derive(Debug)]
pub(crate) struct Mutex<T>(RwLock<T>);

pub(crate) type MutexGuard<'a, T> = WriteGuard<'a, T>;

#[derive(Debug)]
pub(crate) struct ReadGuard<'a, T>(&'a RwLock<T>);

#[derive(Debug)]
pub(crate) struct WriteGuard<'a, T>(&'a RwLock<T>);

#[cold]
fn deadlock() -> ! {
    panic!("deadlock: the lock is held, and there is no other thread to release it");
}

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self { state: Cell::new(FREE), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub(crate) fn try_read(&self) -> Option<ReadGuard<'_, T>> {
        let readers = self.state.get();
        if readers >= WRITER - 1 {
            return None;
        }
        self.state.set(readers + 1);
        Some(ReadGuard(self))
    }

    #[inline]
    pub(crate) fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        if self.state.get() != FREE {
            return None;
        }
        self.state.set(WRITER);
        Some(WriteGuard(self))
    }

    #[inline]
    pub(crate) fn read(&self) -> ReadGuard<'_, T> {
        self.try_read().unwrap_or_else(|| deadlock())
    }

    #[inline]
    pub(crate) fn write(&self) -> WriteGuard<'_, T> {
        self.try_write().unwrap_or_else(|| deadlock())
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
}

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.write()
    }

    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_write()
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.value.into_inner()
    }
}

impl<T> Deref for ReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the state counts this reader, so no writer has a guard.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Deref for WriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the state is WRITER, so this is the only guard.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for WriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the state is WRITER, so this is the only guard.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for ReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.state.set(self.0.state.get() - 1);
    }
}

impl<T> Drop for WriteGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.state.set(FREE);
    }
}

#[derive(Debug)]
pub(crate) struct Condvar;

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self
    }

    pub(crate) fn wait<'a, T>(&self, _guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        panic!("deadlock: waiting for a condition, and there is no other thread to bring it about");
    }

    pub(crate) fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, time: Duration) -> (MutexGuard<'a, T>, bool) {
        std::thread::sleep(time);
        (guard, true)
    }

    pub(crate) fn notify_one(&self) {}

    pub(crate) fn notify_all(&self) {}
}
