//! [`Tombstone`]: an object whose contents are taken out for good, and threads that look at them with its lock or optimistically.
//!
//! A deleter sets the tombstone, and only then takes the contents out, with the lock held and within a write of the object's
//! [`SeqLock`](crate::SeqLock). A reader must look at the tombstone after it has found something; a writer, once it has the lock and
//! before it adds anything. Nothing here stores and then looks (sync/SL1): all follows in one direction, contents after tombstone, and so
//! needs no fence and no ordering beyond those of lock and seqlock.
//!
//! TS1. A thread that has the lock, or has read without a write falling into it, sees the tombstone if it sees that the contents
//!      are gone, or could add to what remains.
//! TS2. Of several deleters one learns that it is the first.

use crate::atomic::{AtomicBool, Ordering::Relaxed};

/// Has the object been deleted?
#[derive(Debug)]
pub struct Tombstone(AtomicBool);

impl Tombstone {
    const_unless_loom! {
        /// It has not.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    /// Deletes the object: before its contents are taken out. `false`: another deleter has (TS2).
    #[must_use]
    pub fn set(&self) -> bool {
        // Relaxed: what follows with the lock and the seqlock makes it known (TS1).
        !self.0.swap(true, Relaxed)
    }

    /// Has it been deleted? To be asked with the lock, or after an optimistic look.
    #[inline]
    pub fn is_set(&self) -> bool {
        // Relaxed: lock and seqlock order it after the contents that were seen (TS1).
        self.0.load(Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Tombstone;

    #[test]
    fn one_deletes() {
        let tombstone = Tombstone::new();
        assert!(!tombstone.is_set() && tombstone.set() && tombstone.is_set() && !tombstone.set());
    }
}

/// Caught when tried: no Release fence in the seqlock, or no Acquire fence (its two other orderings are not needed here); the
/// tombstone set after the contents were taken out; a look at it before the contents were looked at, or before the lock was
/// taken.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Tombstone;
    use crate::atomic::{AtomicUsize, Ordering::Relaxed};
    use crate::{LockClass, Mutex, SeqLock};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("tombstone", 1);

    /// An object that counts the things in it.
    struct Object {
        tombstone: Tombstone,
        lock: Mutex<()>,
        seqlock: SeqLock,
        contents: AtomicUsize,
    }

    impl Object {
        fn new() -> Arc<Object> {
            Arc::new(Object {
                tombstone: Tombstone::new(),
                lock: Mutex::new(&CLASS, ()),
                seqlock: SeqLock::new(),
                contents: AtomicUsize::new(1),
            })
        }

        fn delete(&self) {
            if self.tombstone.set() {
                let _lock = self.lock.lock();
                let _write = self.seqlock.write();
                // Relaxed: lock and seqlock order it, here and below.
                self.contents.store(0, Relaxed);
            }
        }

        /// What an optimistic reader finds.
        fn look(&self) -> Option<usize> {
            let found = self.seqlock.read_optimistically(|| self.contents.load(Relaxed))?;
            (!self.tombstone.is_set()).then_some(found)
        }

        fn add(&self) {
            let _lock = self.lock.lock();
            if !self.tombstone.is_set() {
                let _write = self.seqlock.write();
                self.contents.store(self.contents.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    #[test]
    fn loom_nobody_sees_or_fills_what_remains() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let object = Object::new();
            let deletes = object.clone();
            let deletes = thread::spawn(move || deletes.delete());
            let adds = object.clone();
            let adds = thread::spawn(move || adds.add());
            assert_ne!(object.look(), Some(0), "it looks empty");
            deletes.join().unwrap();
            adds.join().unwrap();
            assert_eq!((object.look(), object.contents.load(Relaxed)), (None, 0), "something was added to the remains");
        });
    }
}
