//! [`SeqLock`]: optimistic reads of what a lock protects, without taking it (sequence locks: Lameter, 2005; Boehm, 2012).
//!
//! The holder of the lock makes the number odd while it writes. A reader without the lock may see a state that never was, and
//! believes it only if the number was even before and is the same after.
//!
//! ```text
//!    writer, with the lock                 reader, without
//!    ---------------------                 ---------------
//!    number = 2n + 1    (Relaxed)          before = number        (Acquire)    odd: gives up
//!    fence              (Release)          reads the data         (atomics)
//!    writes the data    (atomics)          fence                  (Acquire)
//!    number = 2n + 2    (Release)          number == before?      (Relaxed)    no: gives up
//! ```
//!
//! Q1. What is read are atomics, read and written in any order, or things that do not change once they can be reached.
//! Q2. A read that ends with `Some` saw nothing of a write that had not ended, and all of those that had ended before it began.
//!
//! Two pairs of orderings hold up Q2. A reader that reads an even number has, by its Acquire and the writer's last Release, all that was
//! written until then. A reader that has read something of a later write has, by its Acquire fence and the writer's Release
//! fence, that write's odd number or a later one in its second look, and finds that it is not what it was before.
//!
//! A reader that has to give up is told so, and not made to try again: where writers are many it would never come to an end. Its caller
//! takes the lock.
//!
//! What was not done: a readers-writer lock, whose readers write its word (and its line is then what limits them); copies that are replaced
//! whole and read by one pointer, which suit what changes rarely.

use crate::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

/// A number that is odd while the holder of the lock writes.
#[derive(Debug)]
pub struct SeqLock(AtomicUsize);

impl SeqLock {
    const_unless_loom! {
        /// An even number: no write is under way.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(AtomicUsize::new(0))
        }
    }

    /// Begins to write; ended by dropping what it gives. The caller holds the lock for writing until then.
    #[inline]
    pub fn write(&self) -> SeqWrite<'_> {
        debug_assert!(!self.is_being_written(), "two writers: the lock is not held for writing");
        // Relaxed: only the holder of the lock changes it. The Release fence pairs with the Acquire fence in
        // `read_optimistically`: a reader that has seen something written from now on then finds the number odd.
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
        fence(Release);
        SeqWrite(&self.0)
    }

    /// Is the number odd? For the assertions of a writer; to others it is a figure, already old.
    pub fn is_being_written(&self) -> bool {
        // Relaxed: the writer's own store, or a figure.
        self.0.load(Relaxed) & 1 != 0
    }

    /// Reads without the lock. Nothing if a write fell into the time of reading: what `read` found is worthless then.
    #[inline]
    pub fn read_optimistically<R>(&self, read: impl FnOnce() -> R) -> Option<R> {
        // Acquire: pairs with the Release in `SeqWrite::drop`.
        let before = self.0.load(Acquire);
        if before & 1 != 0 {
            return None;
        }
        let found = read();
        // Acquire: pairs with the Release fence in `write`; what was found was read before the second look at the number.
        fence(Acquire);
        (self.0.load(Relaxed) == before).then_some(found)
    }
}

/// While it lives the number is odd.
#[derive(Debug)]
pub struct SeqWrite<'a>(&'a AtomicUsize);

impl Drop for SeqWrite<'_> {
    #[inline]
    fn drop(&mut self) {
        debug_assert!(self.0.load(Relaxed) & 1 != 0, "the write has been ended already");
        // Release: pairs with the Acquire in `read_optimistically`: a reader that finds the number even finds all that was
        // written. The load is Relaxed: its own.
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::SeqLock;

    #[test]
    fn a_write_spoils_a_look() {
        let seqlock = SeqLock::new();
        assert_eq!(seqlock.read_optimistically(|| 1), Some(1));
        assert_eq!(seqlock.read_optimistically(|| drop(seqlock.write())), None);
        let writing = seqlock.write();
        assert_eq!(seqlock.read_optimistically(|| 2), None);
        drop(writing);
        assert_eq!(seqlock.read_optimistically(|| 3), Some(3));
    }
}

/// Each of the four orderings of [`SeqLock`], made Relaxed, lets the reader believe a state that never was (Q2).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::SeqLock;
    use crate::atomic::{AtomicUsize, Ordering::Relaxed};
    use loom::thread;
    use std::sync::Arc;

    #[test]
    fn loom_looks_are_whole() {
        loom::model(|| {
            let shared = Arc::new((SeqLock::new(), AtomicUsize::new(0), AtomicUsize::new(0)));
            let writer = shared.clone();
            let writing = thread::spawn(move || {
                let (seqlock, first, second) = &*writer;
                let _write = seqlock.write();
                first.store(1, Relaxed);
                second.store(1, Relaxed);
            });
            let (seqlock, first, second) = &*shared;
            if let Some((a, b)) = seqlock.read_optimistically(|| (first.load(Relaxed), second.load(Relaxed))) {
                assert_eq!(a, b);
            }
            writing.join().unwrap();
            assert_eq!(seqlock.read_optimistically(|| (first.load(Relaxed), second.load(Relaxed))), Some((1, 1)));
        });
    }
}
