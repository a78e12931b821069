//! [`Revocable`]: a value that one thread at a time uses, and that another may take away without waiting for the user.
//!
//! RV1. The state says which thread may touch the value: the one that changed it from `FREE` to `USED`, until it gives the value
//!      back, or the one that changed it to `GONE`, once; no thread afterwards.
//! RV2. A value revoked while it is used (`REVOKED`) is dropped by its user, which finds that instead of `USED`.

use crate::{
    atomic::{
        AtomicU8,
        Ordering::{Acquire, Relaxed, Release},
    },
    cell::UnsafeCell,
};
use std::fmt;

const FREE: u8 = 0;
const USED: u8 = 1;
const REVOKED: u8 = 2;
const GONE: u8 = 3;

/// A value that can be taken away from its user.
pub struct Revocable<T> {
    state: AtomicU8,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: RV1: the value is with one thread at a time, and each hands it on by a Release that the next one's Acquire pairs with.
unsafe impl<T: Send> Send for Revocable<T> {}
// SAFETY: RV1: the value is with one thread at a time, and each hands it on by a Release that the next one's Acquire pairs with.
unsafe impl<T: Send> Sync for Revocable<T> {}

/// Another thread uses the value, or it is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unavailable;

/// The right to use the value, given back when dropped.
struct Use<'a, T>(&'a Revocable<T>);

impl<T> Drop for Use<'_, T> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `change`. Relaxed on failure: the thread that revoked has not touched the value.
        if self.0.state.compare_exchange(USED, FREE, Release, Relaxed).is_err() {
            // Relaxed: RV2; no other thread changes `REVOKED`.
            self.0.state.store(GONE, Relaxed);
            // SAFETY: RV1: this thread has used it, and no thread will.
            drop(unsafe { self.0.out() });
        }
    }
}

impl<T> Revocable<T> {
    /// A value to use.
    pub fn new(value: T) -> Revocable<T> {
        Revocable { state: AtomicU8::new(FREE), value: UnsafeCell::new(Some(value)) }
    }

    /// Changes the state from `FREE`; whether it was that.
    fn change(&self, to: u8) -> bool {
        // Acquire: pairs with the Release in `Use::drop`, of who used the value before.
        self.state.compare_exchange(FREE, to, Acquire, Relaxed).is_ok()
    }

    /// The value.
    ///
    /// # Safety
    /// The caller may touch it (RV1).
    unsafe fn out(&self) -> Option<T> {
        // SAFETY: RV1: the caller promises that the value is its own to touch.
        self.value.with_mut(|value| unsafe { (*value).take() })
    }

    /// Uses the value, unless another thread does.
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> Result<R, Unavailable> {
        if !self.change(USED) {
            return Err(Unavailable);
        }
        let _use = Use(self);
        // SAFETY: RV1.
        self.value.with(|value| unsafe { (*value).as_ref() }.map(f)).ok_or(Unavailable)
    }

    /// Takes the value out, if no thread uses it.
    pub fn take(&self) -> Result<T, Unavailable> {
        if !self.change(GONE) {
            return Err(Unavailable);
        }
        // SAFETY: RV1.
        unsafe { self.out() }.ok_or(Unavailable)
    }

    /// Has the value dropped: here, or by the thread that uses it at the moment, as soon as that is over.
    pub fn revoke(&self) {
        loop {
            if let Ok(value) = self.take() {
                return drop(value);
            }
            // Relaxed: this thread has no part in the value. If it is free by now, the loop takes it.
            match self.state.compare_exchange(USED, REVOKED, Relaxed, Relaxed) {
                Err(FREE) => {}
                _ => return,
            }
        }
    }
}

impl<T> fmt::Debug for Revocable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a figure.
        let gone = self.state.load(Relaxed) >= REVOKED;
        f.write_str(if gone { "Revocable(gone)" } else { "Revocable(_)" })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Revocable, Unavailable};
    use std::rc::Rc;

    #[test]
    fn is_used_by_one_at_a_time_until_it_is_taken() {
        let five = Revocable::new(5);
        assert_eq!(five.with(|n| (*n, five.with(|n| *n), five.take())), Ok((5, Err(Unavailable), Err(Unavailable))));
        assert_eq!(five.take(), Ok(5));
        assert_eq!((five.with(|n| *n), five.take()), (Err(Unavailable), Err(Unavailable)));
    }

    #[test]
    fn revoked_while_in_use_it_is_dropped_afterwards() {
        let value = Rc::new(());
        let revocable = Revocable::new(value.clone());
        let count = revocable.with(|_| {
            revocable.revoke();
            revocable.revoke();
            Rc::strong_count(&value)
        });
        assert_eq!((count, Rc::strong_count(&value)), (Ok(2), 1));
        assert_eq!(revocable.with(|_| ()), Err(Unavailable));
    }
}

/// Caught when tried: Relaxed for the Release or the Acquire of the value's way from user to revoker; no second look in `revoke`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Revocable;
    use loom::thread;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Counts its drops; not the model's atomic, for it only counts.
    struct Counted(Arc<AtomicUsize>);

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn loom_revoked_beside_its_users_it_is_dropped_once() {
        loom::model(|| {
            let drops = Arc::new(AtomicUsize::new(0));
            let value = Arc::new(Revocable::new(Counted(drops.clone())));
            let users: Vec<_> = (0..2)
                .map(|_| {
                    let value = value.clone();
                    thread::spawn(move || {
                        let _ = value.with(|_| ());
                    })
                })
                .collect();
            value.revoke();
            users.into_iter().for_each(|user| user.join().unwrap());
            assert_eq!(drops.load(SeqCst), 1);
        });
    }
}
