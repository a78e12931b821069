//! [`Directory`]: what leads to locks and is replaced whole, read without a lock (read-copy-update: McKenney and Slingwine, 1998).
//!
//! A thread finds the lock that it wants by the directory, takes it, and then asks whether the directory is still the current one. If not,
//! it begins again. Who changes what the locks stand for holds those locks, puts a new directory in the place of the old one,
//! and releases them.
//!
//! ```text
//!    a user                                       a thread that replaces the directory
//!    ------                                       ------------------------------------
//!    d = current           (Acquire)              has the locks whose part of the directory changes
//!    takes a lock found in d                      current = new         (Release)
//!    current == d?         (Relaxed)              releases the locks
//!      no: releases the lock, begins again        retires the old one
//! ```
//!
//! DI1. `current` changes only by a thread that holds `pinned` for writing, and the locks whose part of the directory changes.
//! DI2. A user that has a lock and then finds the directory current knows that this lock's part stays as it is until it releases the lock: who
//!      changed it before had the lock, and its store is seen by whoever takes the lock afterwards; who wants to change it has to wait.
//! DI3. What a directory holds outlives its users. Those that a domain of [`Progress`] knows are waited for before an old directory is
//!      freed; others hold `pinned` for reading as long as they are inside, and the directory stays as it is meanwhile.
//!
//! Who replaces the directory only tries to take `pinned`: it has locks that come behind it in the lock order. A directory that stays as it
//! was is correct, and no more than slower.
//!
//! What was not done: a tree of nodes each with a lock of its own (Sagonas and Winblad, 2015), which replaces less at a time; each step
//! down it is a load that depends on the one before, where the search of one array stays within a few lines of the cache.

use crate::{
    LockClass, Progress, ReadGuard, RwLock,
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// A value that is replaced whole while threads use it.
#[derive(Debug)]
pub struct Directory<T: Send + Sync + 'static> {
    current: AtomicPtr<T>,
    /// DI3.
    pinned: RwLock<()>,
    domain: &'static Progress,
}

/// A thread is inside a [`Directory`]: what it finds there stays as long as this lives.
pub struct Entered<'d, T: Send + Sync + 'static> {
    directory: &'d Directory<T>,
    /// For a thread that the domain does not know.
    _pin: Option<ReadGuard<'d, ()>>,
}

/// What has been replaced.
struct Replaced<T>(*mut T);

// SAFETY: the pointer is the only one to a value that any thread may drop.
unsafe impl<T: Send> Send for Replaced<T> {}

impl<T> Replaced<T> {
    /// Frees it.
    ///
    /// # Safety
    /// DI3: no user has it any more, and it is called once.
    unsafe fn free(self) {
        // SAFETY: the caller's promise; the pointer came from a box.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl<T: Send + Sync + 'static> Directory<T> {
    /// A directory that is this value at first. `class` is that of the lock that keeps it as it is: it comes before the locks that the
    /// directory leads to.
    pub fn new(class: &'static LockClass, domain: &'static Progress, first: T) -> Self {
        let current = AtomicPtr::new(Box::into_raw(Box::new(first)));
        Self { current, pinned: RwLock::new(class, ()), domain }
    }

    /// Goes inside, and keeps the directory as it is until it goes out.
    pub fn pin(&self) -> Entered<'_, T> {
        Entered { directory: self, _pin: Some(self.pinned.read()) }
    }

    /// Goes inside as a thread that the domain knows.
    ///
    /// # Safety
    /// This thread is registered in the domain, and comes by no quiescent state as long as the result lives.
    #[inline(always)]
    pub unsafe fn enter(&self) -> Entered<'_, T> {
        Entered { directory: self, _pin: None }
    }

    /// Replaces the value by what `make` makes of the current one; `false`, and `make` is not called, if somebody keeps it as it is.
    ///
    /// The caller has the locks whose part of the value changes (DI1).
    pub fn replace(&self, make: impl FnOnce(&T) -> T) -> bool {
        let Some(_alone) = self.pinned.try_write() else { return false };
        // Relaxed: DI1: it was stored by this thread, or with `pinned`.
        let old = self.current.load(Relaxed);
        // SAFETY: DI1, DI3: it is the current one, which only this thread can replace now.
        let new = Box::new(make(unsafe { &*old }));
        // Release: pairs with the Acquire in `Entered::current`.
        self.current.store(Box::into_raw(new), Release);
        let old = Replaced(old);
        // SAFETY: DI3: nobody has pinned it, and by then all others have moved on.
        self.domain.retire_unregistered(move || unsafe { old.free() });
        true
    }
}

impl<T: Send + Sync + 'static> Drop for Directory<T> {
    fn drop(&mut self) {
        // Relaxed: whoever drops the last reference to it has seen all that was done.
        let last = Replaced(self.current.load(Relaxed));
        // SAFETY: DI3: nobody is inside.
        unsafe { last.free() };
    }
}

impl<T: Send + Sync + 'static> Entered<'_, T> {
    /// The directory as it is now.
    #[inline(always)]
    pub fn current(&self) -> &T {
        // Acquire: pairs with the Release in `replace`.
        // SAFETY: DI3: it is not freed as long as this thread is inside.
        unsafe { &*self.directory.current.load(Acquire) }
    }

    /// Is this still the current one? To be asked with a lock that was found in it (DI2).
    #[inline(always)]
    pub fn is_current(&self, seen: &T) -> bool {
        // Relaxed: the lock orders it (DI2).
        std::ptr::eq(self.directory.current.load(Relaxed), seen)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Directory;
    use crate::{Arc, LockClass, OnceLock, Progress};

    static CLASS: LockClass = LockClass::new("directory", 1);

    #[test]
    fn it_is_replaced_unless_it_is_pinned() {
        static DOMAIN: OnceLock<Arc<Progress>> = OnceLock::new();
        let domain = DOMAIN.get_or_init(|| Progress::new(2));
        let slot = domain.register().expect("room");
        let counted = Arc::new(());
        let directory = Directory::new(&CLASS, domain, (1, counted.clone()));
        {
            let inside = directory.pin();
            let seen = inside.current();
            assert!(!directory.replace(|_| unreachable!("somebody keeps it as it is")));
            assert!(inside.is_current(seen));
        }
        // SAFETY: the thread is registered, and quiescent afterwards.
        let inside = unsafe { directory.enter() };
        let seen = inside.current();
        assert!(directory.replace(|old| (old.0 + 1, old.1.clone())));
        assert_eq!((seen.0, inside.current().0, inside.is_current(seen)), (1, 2, false));
        assert_eq!(Arc::strong_count(&counted), 3, "the old one is kept for who is inside");
        drop(inside);
        (0..4).for_each(|_| slot.quiescent());
        assert_eq!(Arc::strong_count(&counted), 2);
        drop(directory);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}

/// Fails if the Release in `replace` or the Acquire in `current` is made Relaxed (the value is read before it is written), and if the user
/// does not ask `is_current` with the lock (DI2).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Directory;
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex, Progress};
    use loom::thread;
    use std::sync::Arc;

    static DIRECTORY: LockClass = LockClass::new("directory", 1);
    static PART: LockClass = LockClass::new("part", 2);

    /// Leads to a part, and says what the part is now.
    struct Leads(Arc<Mutex<u32>>, UnsafeCell<u32>);

    // SAFETY: the cell is written only before the value is shared; the model checks it.
    unsafe impl Sync for Leads {}

    #[test]
    fn loom_who_has_the_lock_knows_what_it_stands_for() {
        loom::model(|| {
            let domain = Progress::new(2);
            // SAFETY: the domain is dropped after all that uses it, at the end.
            let lasting: &'static Progress = unsafe { &*std::sync::Arc::as_ptr(&domain) };
            let slot = domain.register().expect("room");
            let part = Arc::new(Mutex::new(&PART, 1));
            let directory = Arc::new(Directory::new(&DIRECTORY, lasting, Leads(part.clone(), UnsafeCell::new(1))));
            let replacer = directory.clone();
            let other = thread::spawn(move || {
                let mut part = part.lock();
                let replaced = replacer.replace(|old| {
                    let new = Leads(old.0.clone(), UnsafeCell::new(0));
                    // SAFETY: it is not shared yet.
                    new.1.with_mut(|n| unsafe { *n = 2 });
                    new
                });
                assert!(replaced, "nobody keeps it as it is");
                *part = 2;
            });
            {
                // SAFETY: the thread is registered, and quiescent afterwards.
                let inside = unsafe { directory.enter() };
                loop {
                    let leads = inside.current();
                    // SAFETY: it is not written any more.
                    let said = leads.1.with(|n| unsafe { *n });
                    let part = leads.0.lock();
                    if inside.is_current(leads) {
                        assert_eq!(*part, said, "the lock stands for something else");
                        break;
                    }
                }
            }
            other.join().unwrap();
            (0..3).for_each(|_| slot.quiescent());
            drop(directory);
            drop(slot);
        });
    }
}
