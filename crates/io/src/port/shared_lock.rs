//! A lock that all ports of a driver share, where the driver is not made for more than one thread (`ERL_DRV_FLAG_USE_PORT_LOCKING` of C drivers).
//!
//! SL1. It is taken before the port's own lock, and given back after that: so a call of the driver for one port may call the driver's
//!      functions for another, whose lock nobody else can wait for meanwhile.
//! SL2. The thread that has it may take it again.

use myriad_sync::{Arc, LockClass, Mutex, MutexGuard};
use std::cell::RefCell;

static CLASS: LockClass = LockClass::nested("driver_lock", 299);

thread_local! {
    /// Those that this thread has, by their addresses (SL2).
    static HELD: RefCell<Vec<*const SharedLock>> = const { RefCell::new(Vec::new()) };
}

/// See the module.
pub struct SharedLock(Mutex<()>);

impl SharedLock {
    /// A free one.
    pub fn new() -> Arc<SharedLock> {
        Arc::new(SharedLock(Mutex::new(&CLASS, ())))
    }

    /// Takes it, unless this thread has it.
    pub(super) fn enter(&self) -> Entered<'_> {
        let this = std::ptr::from_ref(self);
        if HELD.with_borrow(|held| held.contains(&this)) {
            return Entered { of: self, lock: None };
        }
        let lock = self.0.lock();
        HELD.with_borrow_mut(|held| held.push(this));
        Entered { of: self, lock: Some(lock) }
    }
}

/// The right to the driver; gives the lock back when dropped, if this is what has taken it.
pub(super) struct Entered<'a> {
    of: &'a SharedLock,
    lock: Option<MutexGuard<'a, ()>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let this = std::ptr::from_ref(self.of);
            HELD.with_borrow_mut(|held| held.retain(|other| *other != this));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SharedLock;
    use myriad_sync::thread;

    #[test]
    fn its_holder_may_take_it_again() {
        let lock = SharedLock::new();
        let other = lock.clone();
        let first = lock.enter();
        drop(lock.enter());
        assert!(other.0.try_lock().is_none(), "the inner one has not given it back");
        drop(first);
        let body = move || drop(other.enter());
        thread::spawn("shared_lock_test", body).unwrap().join().unwrap();
        assert!(lock.0.try_lock().is_some());
    }
}
