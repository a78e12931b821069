//! [`Sharing`]: an object that readers reach without its lock is one user's, until a second one comes.
//!
//! As long as one user alone has come, what its writes take out of the object need not wait for readers: that user does not read
//! while it writes. The states are those of Eraser (Savage et al., 1997): a first user makes the object Exclusive, a second one
//! Shared.
//!
//! ```text
//!   Unused -- first user comes --> Exclusive -- second user, with the object's lock --> Shared
//! ```
//!
//! SH1. A user comes ([`Sharing::admits`], [`Sharing::enter`]) before it reads without the lock, and before it writes.
//! SH2. The second user makes the object Shared with the lock held. So each write with the lock is over before that, and then the
//!      second user reads nothing that it took out; or it begins afterwards, and finds the object Shared.
//! SH3. A user that finds the object Shared without the lock has seen what was done with the lock before it became so: nothing
//!      that was freed then can still be reached.
//!
//! The lock may be several locks, one for each part of the object: the second user holds all. It may be held for reading, which
//! excludes writers as well. Without such a state all that is taken out would have to wait until readers have moved on, though most
//! objects have one user. A count of readers under way would be written by each of them.

use crate::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

const UNUSED: u64 = u64::MAX;
const SHARED: u64 = u64::MAX - 1;

/// How many use the object: no user yet, one (and which), or several.
#[derive(Debug)]
pub struct Sharing(AtomicU64);

impl Sharing {
    const_unless_loom! {
        /// No user has come yet.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicU64::new(UNUSED))
        }
    }

    /// Has this user come already, or has it no need to? If not, it [`enter`](Self::enter)s. User numbers are below 2^64 - 2.
    #[inline]
    pub fn admits(&self, user: u64) -> bool {
        // Acquire: pairs with the Release in `enter` (SH3).
        let now = self.0.load(Acquire);
        now == SHARED || now == user
    }

    /// A user comes: alone, or else as one of several. In that case `lock` takes the object's lock, which no thread may hold for
    /// writing as long as the result of `lock` lives.
    pub fn enter<G>(&self, user: u64, lock: impl FnOnce() -> G) {
        // Relaxed: the first user learns nothing by this, and other threads learn of it by the lock or by SHARED only.
        if self.0.compare_exchange(UNUSED, user, Relaxed, Relaxed).is_ok() {
            return;
        }
        let guard = lock();
        // Release: pairs with the Acquire in `admits` (SH3): what was done with the lock came before.
        self.0.store(SHARED, Release);
        drop(guard);
    }

    /// Is this user, which has come, the only one that reads without the lock? To be asked with the lock held for writing; or after
    /// that, about what was taken out while it was held.
    #[inline]
    pub fn is_exclusive_to(&self, user: u64) -> bool {
        // Relaxed: the lock orders it with the change to SHARED (SH2).
        self.0.load(Relaxed) == user
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Sharing;

    #[test]
    fn the_second_user_takes_the_lock() {
        let sharing = Sharing::new();
        assert!(!sharing.admits(7) && !sharing.is_exclusive_to(7));
        sharing.enter(7, || unreachable!("the first"));
        assert!(sharing.admits(7) && sharing.is_exclusive_to(7) && !sharing.admits(8));
        let mut locked = false;
        sharing.enter(8, || locked = true);
        assert!(locked && sharing.admits(7) && sharing.admits(8) && sharing.admits(9));
        assert!(!sharing.is_exclusive_to(7) && !sharing.is_exclusive_to(8));
    }
}

/// The chain of a hash table's bucket in small: a link to a row, a lock for writers, a seqlock for readers.
///
/// Caught when tried (each as a row that is read while it is freed): Relaxed for the Acquire of `admits` or the Release of
/// `enter`; a second user that takes no lock, or takes it after the change to Shared; a writer that frees at once whoever has
/// come, or that has not come itself; `is_exclusive_to` asked before the lock is taken.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Sharing;
    use crate::atomic::{
        AtomicUsize,
        Ordering::{Acquire, Release},
    };
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex, SeqLock};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("sharing", 1);
    /// What a freed row holds.
    const FREED: u32 = 99;

    struct Object {
        sharing: Sharing,
        lock: Mutex<()>,
        seqlock: SeqLock,
        link: AtomicUsize,
        rows: [UnsafeCell<u32>; 2],
    }

    // SAFETY: rows are written before the link leads to them, and freed when nobody reads them (SH1 to SH3); loom's cells check it.
    unsafe impl Sync for Object {}

    impl Object {
        fn new() -> Arc<Object> {
            Arc::new(Object {
                sharing: Sharing::new(),
                lock: Mutex::new(&CLASS, ()),
                seqlock: SeqLock::new(),
                link: AtomicUsize::new(0),
                rows: [UnsafeCell::new(0), UnsafeCell::new(0)],
            })
        }

        fn comes(&self, user: u64) {
            if !self.sharing.admits(user) {
                self.sharing.enter(user, || self.lock.lock());
            }
        }

        /// What a user reads without the lock, if nobody writes meanwhile.
        fn read(&self) {
            let row = self.seqlock.read_optimistically(|| {
                // Acquire: pairs with the Release in `replace`.
                let row = &self.rows[self.link.load(Acquire)];
                // SAFETY: SH2 and SH3: it is not freed.
                row.with(|row| unsafe { *row })
            });
            assert_ne!(row, Some(FREED));
        }

        /// Puts the second row in the place of the first, which is freed at once if nobody reads it (else left to thread progress,
        /// which is a long time).
        fn replace(&self, user: u64) {
            let _lock = self.lock.lock();
            let write = self.seqlock.write();
            // SAFETY: nothing leads to it yet.
            self.rows[1].with_mut(|row| unsafe { *row = 1 });
            // Release: pairs with the Acquire in `read`.
            self.link.store(1, Release);
            if self.sharing.is_exclusive_to(user) {
                // SAFETY: SH2.
                self.rows[0].with_mut(|row| unsafe { *row = FREED });
            }
            drop(write);
        }
    }

    fn check(model: fn(Arc<Object>)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || model(Object::new()));
    }

    fn writer(object: &Arc<Object>) -> thread::JoinHandle<()> {
        let object = object.clone();
        thread::spawn(move || {
            object.comes(1);
            object.replace(1);
        })
    }

    /// Either of the two is the first.
    #[test]
    fn loom_a_reader_comes_beside_a_writer() {
        check(|object| {
            let writer = writer(&object);
            object.comes(2);
            object.read();
            writer.join().unwrap();
        });
    }

    /// The third finds two others, and takes no lock.
    #[test]
    fn loom_a_reader_comes_beside_a_reader_and_a_writer() {
        check(|object| {
            object.comes(1);
            let (writer, second) = (writer(&object), object.clone());
            let second = thread::spawn(move || second.comes(2));
            if object.sharing.admits(3) {
                object.read();
            }
            writer.join().unwrap();
            second.join().unwrap();
        });
    }
}
