//! [`Extendible`]: what leads from a hash to one of several parts, each with a lock of its own, of which there become more while threads
//! use them (extendible hashing: Fagin, Nievergelt, Pippenger and Strong, 1979).
//!
//! A part of depth `d` has the hashes that end in `d` certain bits. An array, whose length is a power of two, leads from the last bits
//! of a hash to the part that has it; several entries lead to one part if its depth is less than that of the array. A part is divided by the next
//! bit: it keeps one half of its hashes, and a new part gets the others. Only the entries of the new part change; an array that
//! is too short for them is replaced by one of twice the length.
//!
//! ```text
//!    a user                                       who divides a part, with the part's lock
//!    ------                                       ---------------------------------------
//!    array = current       (Acquire)              fills a new part; changes what the old one says that it has
//!    part = array[hash]    (Acquire)              array[...] = new part     (Release)
//!    takes the part's lock                          or current = an array of twice the length   (Release)
//!    does the part say that it has the hash?      releases the part's lock
//!      no: releases the lock, begins again
//! ```
//!
//! EX1. What a user finds is a part, filled, which may have had the hash at some time. Whether it has it now the part says, to who has its lock
//!      (or has another way to know that nothing was changed meanwhile, such as a [`SeqLock`]).
//! EX2. Who finds under the part's lock that the part does not have the hash any more finds a later part the next time: the entries were stored
//!      before the lock was released.
//! EX3. Parts and arrays live as long as the whole: parts are never joined, and all arrays together are no longer than twice the last one.
//!      So a user needs no grace period, and the arrays no reference counts.
//!
//! What was not done: replacing the array at each division ([`Directory`](crate::Directory)), which copies it as often as there are parts.

use crate::{
    Arc, LockClass, Mutex, SeqLock,
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// An array that leads to parts.
type Entries<T> = Box<[AtomicPtr<T>]>;

/// What owns the parts and the arrays, the current one last.
struct Owned<T> {
    parts: Vec<Arc<T>>,
    arrays: Vec<Arc<Entries<T>>>,
}

/// Parts by the last bits of hashes.
pub struct Extendible<T> {
    current: AtomicPtr<Entries<T>>,
    /// Odd while a part is divided.
    changes: SeqLock,
    owned: Mutex<Owned<T>>,
}

fn pointer<T>(to: &Arc<T>) -> *mut T {
    Arc::as_ptr(to).cast_mut()
}

impl<T> Extendible<T> {
    /// `1 << depth` parts; `make` gets the last bits of each one's hashes. `class`: of the lock with which parts are divided, which comes after
    /// those of the parts.
    pub fn new(class: &'static LockClass, depth: u32, make: impl FnMut(u32) -> T) -> Self {
        let parts: Vec<Arc<T>> = (0..1u32 << depth).map(make).map(Arc::new).collect();
        let array: Arc<Entries<T>> = Arc::new(parts.iter().map(|part| AtomicPtr::new(pointer(part))).collect());
        let current = AtomicPtr::new(pointer(&array));
        Self { current, changes: SeqLock::new(), owned: Mutex::new(class, Owned { parts, arrays: vec![array] }) }
    }

    /// The part that has a hash, or had it a moment ago (EX1).
    #[inline(always)]
    pub fn part(&self, hash: u32) -> &T {
        // Acquire: pairs with the Release of `current` in `divide`.
        // SAFETY: EX3: arrays live as long as `self`.
        let array = unsafe { &*self.current.load(Acquire) };
        debug_assert!(array.len().is_power_of_two(), "a hash's last bits choose the entry");
        // Acquire: pairs with the Release of the entries in `divide`.
        // SAFETY: EX3: parts live as long as `self`.
        unsafe { &*array[hash as usize & (array.len() - 1)].load(Acquire) }
    }

    /// Divides a part whose lock the caller holds. `depth` is what it was until now, `bits` are the last ones of its hashes; the new part
    /// has those with the next bit set. `change` changes the figures of the old one, and what it says that it has.
    pub fn divide(&self, bits: u32, depth: u32, new: T, change: impl FnOnce()) {
        let new = Arc::new(new);
        let mut owned = self.owned.lock();
        let _change = self.changes.write();
        change();
        let at = bits as usize | 1 << depth;
        // Relaxed: stored with this lock.
        // SAFETY: EX3: arrays live as long as `self`.
        let array = unsafe { &*self.current.load(Relaxed) };
        debug_assert!(bits >> depth == 0 && array.len() >= 1 << depth, "EX1: the array leads to the part");
        if at < array.len() {
            for entry in array.iter().skip(at).step_by(2 << depth) {
                // Release: pairs with the Acquire of the entry in `part`: the new part is filled.
                entry.store(pointer(&new), Release);
            }
        } else {
            // Relaxed: stored with this lock.
            let old = || array.iter().map(|entry| AtomicPtr::new(entry.load(Relaxed)));
            let longer: Entries<T> = old().chain(old()).collect();
            // Relaxed: the array is not shared yet.
            longer[at].store(pointer(&new), Relaxed);
            let longer = Arc::new(longer);
            // Release: pairs with the Acquire of `current` in `part`: the array and the new part are filled.
            self.current.store(pointer(&longer), Release);
            owned.arrays.push(longer);
        }
        owned.parts.push(new);
    }

    /// Sums up a figure of all parts, of a time at which none was divided.
    pub fn sum(&self, figure: impl Fn(&T) -> isize) -> isize {
        let sum = || {
            // Acquire, twice: as in `part`.
            // SAFETY: EX3: arrays live as long as `self`.
            let array = unsafe { &*self.current.load(Acquire) };
            // SAFETY: EX3: parts live as long as `self`.
            let part = |at: usize| unsafe { &*array[at].load(Acquire) };
            // The first of the entries that lead to a part stands for it.
            let is_first = |at: &usize| *at == 0 || !std::ptr::eq(part(*at), part(*at & !(1 << at.ilog2())));
            (0..array.len()).filter(is_first).map(|at| figure(part(at))).sum()
        };
        self.changes.read_optimistically(sum).unwrap_or_else(|| {
            let _none_is_divided = self.owned.lock();
            sum()
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Extendible;
    use crate::LockClass;

    static CLASS: LockClass = LockClass::new("extendible", 2);

    #[test]
    fn each_hash_leads_to_the_part_that_was_divided_last() {
        let parts = Extendible::new(&CLASS, 1, |bits| (bits, 1));
        assert_eq!([0, 1, 2, 3].map(|hash| parts.part(hash).0), [0, 1, 0, 1]);
        parts.divide(1, 1, (3, 2), || ());
        parts.divide(1, 2, (5, 3), || ());
        parts.divide(0, 1, (2, 2), || ());
        let expected = [0, 1, 2, 3, 0, 5, 2, 3];
        for hash in 0..64 {
            assert_eq!(parts.part(hash).0, expected[hash as usize % 8], "{hash}");
        }
        assert_eq!(parts.sum(|_| 1), 5);
        assert_eq!(parts.sum(|part| part.0 as isize), 11);
    }
}

/// The first fails if the Release of `current`, or its Acquire in `part`, is made Relaxed; the second if the Acquire of the entry is: a part is read
/// before it is filled. The Release of the entry passes as Relaxed, for the Release fence of `changes` comes before it, and after the part was
/// filled; it is kept so that the store does not depend on that fence.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Extendible;
    use crate::cell::UnsafeCell;
    use crate::{LockClass, Mutex};
    use loom::thread;
    use std::sync::Arc;

    static OWNED: LockClass = LockClass::new("extendible", 2);
    static PART: LockClass = LockClass::new("part", 1);

    /// A part: the last bits of its hashes, filled before it is shared, and its depth.
    struct Part(UnsafeCell<u32>, Mutex<u32>);

    // SAFETY: the cell is written only before the part is shared; the model checks it.
    unsafe impl Sync for Part {}
    // SAFETY: as above.
    unsafe impl Send for Part {}

    fn part(bits: u32, depth: u32) -> Part {
        let part = Part(UnsafeCell::new(0), Mutex::new(&PART, depth));
        // SAFETY: it is not shared yet.
        part.0.with_mut(|own| unsafe { *own = bits });
        part
    }

    fn divide(parts: &Extendible<Part>, bits: u32) {
        let mut depth = parts.part(bits).1.lock();
        let before = *depth;
        parts.divide(bits, before, part(bits | 1 << before, before + 1), || *depth += 1);
    }

    /// One thread divides the part of `bits` while another one looks for `hash`.
    fn find(bits: u32, hash: u32, before: fn(&Extendible<Part>)) {
        loom::model(move || {
            let parts = Arc::new(Extendible::new(&OWNED, 0, |bits| part(bits, 0)));
            before(&parts);
            let divided = parts.clone();
            let other = thread::spawn(move || divide(&divided, bits));
            let mut misses = 0;
            loop {
                let found = parts.part(hash);
                // SAFETY: it is not written any more.
                let own = found.0.with(|own| unsafe { *own });
                let depth = found.1.lock();
                if (own ^ hash) & ((1 << *depth) - 1) == 0 {
                    break;
                }
                misses += 1;
                assert!(misses < 2, "EX2: who begins again finds the new part");
            }
            other.join().unwrap();
        });
    }

    #[test]
    fn loom_a_part_behind_a_longer_array_is_filled() {
        find(0, 1, |_| ());
    }

    #[test]
    fn loom_a_part_behind_an_entry_is_filled() {
        find(1, 3, |parts| {
            divide(parts, 0);
            divide(parts, 0);
        });
    }
}
