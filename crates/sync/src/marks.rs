//! [`Marks`]: 32 marks in one word, and a lock on them.
//!
//! For things that come in groups of 32, each of which is someone's as long as it is marked. Who does something to those of a group that are nobody's
//! locks the marks meanwhile.
//!
//! MK1. No mark is set or cleared while the marks are locked, but by who has locked them.
//! MK2. What is done while the marks are locked happens before what follows a mark that is set later, and after what went before a mark that was cleared.

use crate::{
    atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    backoff::Backoff,
};

/// See the module's page.
#[derive(Debug)]
pub struct Marks(AtomicU64);

/// The bit of the word that no mark has.
const LOCKED: u64 = 1 << 32;

impl Marks {
    const_unless_loom! {
        /// Nothing is marked.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Marks {
            Marks(AtomicU64::new(0))
        }
    }

    /// Changes the word as soon as it is not locked.
    fn change(&self, change: impl Fn(u64) -> u64) {
        let mut backoff = Backoff::new();
        // Relaxed: a first guess; the exchange checks it.
        let mut word = self.0.load(Relaxed);
        loop {
            if word & LOCKED != 0 {
                backoff.pause();
                word = self.0.load(Relaxed);
                continue;
            }
            // Acquire: pairs with the Release when a `Locked` is dropped (MK2).
            match self.0.compare_exchange_weak(word, change(word), Acquire, Relaxed) {
                Ok(_) => return,
                Err(seen) => word = seen,
            }
        }
    }

    /// Marks things.
    pub fn set(&self, marks: u32) {
        self.change(|word| word | u64::from(marks));
    }

    /// Waits until nobody has the marks locked, and locks them.
    pub fn lock(&self) -> Locked<'_> {
        self.change(|word| word | LOCKED);
        // Relaxed: nobody changes them now (MK1).
        Locked { of: self, marks: self.0.load(Relaxed) as u32 }
    }
}

/// The right to change marks, and to do something to what is not marked; given back when dropped.
#[must_use = "the lock is released at once if it is not kept"]
#[derive(Debug)]
pub struct Locked<'m> {
    of: &'m Marks,
    marks: u32,
}

impl Locked<'_> {
    /// What is marked.
    pub fn marks(&self) -> u32 {
        self.marks
    }

    /// Takes marks away.
    pub fn clear(&mut self, marks: u32) {
        self.marks &= !marks;
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `change` (MK2).
        self.of.0.store(self.marks.into(), Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Marks;

    #[test]
    fn marks_are_set_and_cleared_one_by_one() {
        let marks = Marks::new();
        marks.set(0b101);
        marks.set(1 << 31);
        let mut locked = marks.lock();
        assert_eq!(locked.marks(), 1 << 31 | 0b101);
        locked.clear(0b111);
        drop(locked);
        assert_eq!(marks.lock().marks(), 1 << 31);
    }
}

/// Caught when tried: either ordering weakened, no look at the lock.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Marks;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    struct Group {
        marks: Marks,
        things: [UnsafeCell<u32>; 2],
    }

    // SAFETY: a thing is touched by who has marked it, or, while it is not marked, by who has the marks locked.
    unsafe impl Sync for Group {}

    impl Group {
        fn touch(&self, thing: usize) {
            // SAFETY: as above.
            self.things[thing].with_mut(|thing| unsafe { *thing += 1 });
        }

        /// Takes a thing, uses it, and gives it back: then what is nobody's is touched.
        fn use_one(&self, thing: usize) {
            self.marks.set(1 << thing);
            self.touch(thing);
            let mut locked = self.marks.lock();
            locked.clear(1 << thing);
            (0..2).filter(|thing| locked.marks() & 1 << thing == 0).for_each(|thing| self.touch(thing));
        }
    }

    #[test]
    fn what_is_marked_is_left_alone() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let group = Arc::new(Group { marks: Marks::new(), things: [const { 0 }; 2].map(UnsafeCell::new) });
            let other = {
                let group = group.clone();
                thread::spawn(move || group.use_one(0))
            };
            group.use_one(1);
            other.join().unwrap();
        });
    }
}
