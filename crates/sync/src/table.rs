//! [`AppendVec`]: a table that grows at its end, is read without a lock, and never moves an entry.
//!
//! For tables like atoms and code: written rarely, read all the time, entries never freed. Segments double in
//! size, so an index leads to its segment by one count of leading zeros.
//!
//! A1. Entries below `len` are initialised and never written again (but through `&mut`).
//! A2. A segment's pointer is null or final.
//! A3. Only a holder of `grow` writes `len`, segment pointers and entries at or above `len`.

use crate::{
    Mutex,
    atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    cell::UnsafeCell,
    class::LockClass,
};
use std::{fmt, mem::MaybeUninit, ptr};

type Entry<T> = UnsafeCell<MaybeUninit<T>>;

/// Entries in the first segment: a power of two. Small in a model, so that it crosses segments.
const FIRST: usize = if cfg!(loom) { 2 } else { 64 };

/// Doublings after which there is room for 2^32 entries or more.
const SEGMENTS: usize = if cfg!(loom) { 3 } else { 27 };

/// Entries that fit in all segments.
const CAPACITY: usize = (FIRST << SEGMENTS) - FIRST;

/// A grow-only table with lock-free reads and stable addresses.
pub struct AppendVec<T> {
    len: AtomicUsize,
    limit: usize,
    grow: Mutex<()>,
    segments: [AtomicPtr<Entry<T>>; SEGMENTS],
}

// SAFETY: entries are handed out as `&T` to any thread (T: Sync) and dropped by the last owner (T: Send).
unsafe impl<T: Send + Sync> Sync for AppendVec<T> {}
// SAFETY: owning the table is owning the entries.
unsafe impl<T: Send> Send for AppendVec<T> {}

/// The segment of an entry, and its place there.
#[inline(always)]
const fn locate(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let segment = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (segment, shifted - (FIRST << segment))
}

impl<T> AppendVec<T> {
    const_unless_loom! {
        /// Empty, to hold at most `limit` entries; `class` is that of its internal lock.
        pub fn new(class: &'static LockClass, limit: usize) -> Self {
            #[cfg(not(loom))]
            let segments = [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS];
            #[cfg(loom)]
            let segments = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
            let limit = if limit < CAPACITY { limit } else { CAPACITY };
            Self { len: AtomicUsize::new(0), limit, grow: Mutex::new(class, ()), segments }
        }
    }

    /// Appends, and says at which index; gives the value back if the table is full.
    pub fn push(&self, value: T) -> Result<usize, T> {
        let mut value = Some(value);
        match self.push_with(|_| value.take()) {
            Some(index) => Ok(index),
            // Full: `push_with` did not call the closure.
            None => match value {
                Some(value) => Err(value),
                None => unreachable!("a value made is a value stored"),
            },
        }
    }

    /// Appends what `make` returns for the index it will have. Nothing is appended if the table is full, in which
    /// case `make` is not called, or if `make` gives nothing. `make` runs under the table's lock.
    pub fn push_with(&self, make: impl FnOnce(usize) -> Option<T>) -> Option<usize> {
        let _grow = self.grow.lock();
        // Relaxed: A3, only a holder of the lock writes it.
        let index = self.len.load(Relaxed);
        if index >= self.limit {
            return None;
        }
        let value = make(index)?;
        let (segment, offset) = locate(index);
        let mut entries = self.segments[segment].load(Relaxed);
        if entries.is_null() {
            entries = new_segment(FIRST << segment);
            // Relaxed: published to readers by `len` below.
            self.segments[segment].store(entries, Relaxed);
        }
        // SAFETY: `offset` is inside the segment, which lives as long as the table (A2).
        let entry = unsafe { &*entries.add(offset) };
        // SAFETY: A3; no reader looks at or above `len`.
        entry.with_mut(|place| unsafe { (*place).write(value) });
        // Release: pairs with the Acquire in `len`; a thread that sees the length sees segment and entry.
        self.len.store(index + 1, Release);
        Some(index)
    }

    /// How many entries there are.
    #[inline]
    pub fn len(&self) -> usize {
        // Acquire: pairs with the Release in `push_with`.
        self.len.load(Acquire)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there can be.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// The entry at an index.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: just checked, with Acquire.
        (index < self.len()).then(|| unsafe { self.get_unchecked(index) })
    }

    /// The entry at an index that is known to be one: because this thread saw it pushed, or got the index from
    /// a thread that did, by means that order.
    ///
    /// # Safety
    /// The push that returned `index` happened before this call.
    #[inline]
    pub unsafe fn get_unchecked(&self, index: usize) -> &T {
        let (segment, offset) = locate(index);
        // Relaxed: written before the push that happened before (A2).
        let entries = self.segments[segment].load(Relaxed);
        // SAFETY: the segment was there before the entry was pushed, and `offset` is inside it.
        let entry = unsafe { &*entries.add(offset) };
        // SAFETY: A1, initialised and never written again while `&self` lives.
        entry.with(|value| unsafe { (*value).assume_init_ref() })
    }

    /// The entries there are now, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: below `len`, loaded with Acquire.
        (0..self.len()).map(|index| unsafe { self.get_unchecked(index) })
    }
}

/// An allocation of that many entries, each uninitialised; dropping the table frees it.
fn new_segment<T>(size: usize) -> *mut Entry<T> {
    let entries: Box<[Entry<T>]> = (0..size).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
    Box::into_raw(entries).cast()
}

impl<T> Drop for AppendVec<T> {
    fn drop(&mut self) {
        let mut left = self.len();
        for (number, segment) in self.segments.iter().enumerate() {
            // Relaxed: `&mut self` orders.
            let entries = segment.load(Relaxed);
            if entries.is_null() {
                break;
            }
            let size = FIRST << number;
            let slice = ptr::slice_from_raw_parts_mut(entries, size);
            // SAFETY: made by `new_segment` with this size; dropped once.
            let mut entries = unsafe { Box::from_raw(slice) };
            for entry in entries.iter_mut().take(left) {
                // SAFETY: A1, below `len`; dropped once.
                unsafe { entry.get_mut().assume_init_drop() }
            }
            left = left.saturating_sub(size);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for AppendVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AppendVec, CAPACITY, FIRST, locate};
    use crate::LockClass;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    static TABLE: LockClass = LockClass::new("table", 1);

    #[test]
    fn indices_lead_to_segments_without_gap() {
        let (mut segment, mut offset) = (0, 0);
        for index in 0..100_000 {
            assert_eq!(locate(index), (segment, offset));
            offset += 1;
            if offset == FIRST << segment {
                (segment, offset) = (segment + 1, 0);
            }
        }
        const { assert!(CAPACITY >= 1 << 32) };
        assert_eq!(locate(CAPACITY - 1).0, super::SEGMENTS - 1);
    }

    #[test]
    fn entries_stay_where_they_are_up_to_the_limit() {
        let table = AppendVec::new(&TABLE, 300);
        assert_eq!(table.push("0".to_owned()), Ok(0));
        let first: *const String = table.get(0).expect("pushed");
        for index in 1..300 {
            assert_eq!(table.push_with(|index| Some(index.to_string())), Some(index));
        }
        assert_eq!(table.push("late".to_owned()), Err("late".to_owned()));
        assert_eq!(table.push_with(|_| unreachable!()), None);
        assert!(std::ptr::eq(first, table.get(0).expect("pushed")));
        assert!(table.iter().enumerate().all(|(index, entry)| *entry == index.to_string()));
        assert_eq!((table.len(), table.get(300)), (300, None));
    }

    #[test]
    fn a_maker_may_decline() {
        let table = AppendVec::<u8>::new(&TABLE, 2);
        assert_eq!(table.push_with(|_| None), None);
        assert!(table.is_empty());
        assert_eq!(table.push(5), Ok(0));
    }

    #[test]
    fn entries_are_dropped_once() {
        static DROPS: AtomicUsize = AtomicUsize::new(0);
        struct Counted;
        impl Drop for Counted {
            fn drop(&mut self) {
                DROPS.fetch_add(1, Relaxed);
            }
        }
        let table = AppendVec::new(&TABLE, 1000);
        for _ in 0..FIRST * 3 + 1 {
            assert!(table.push(Counted).is_ok());
        }
        drop(table);
        assert_eq!(DROPS.load(Relaxed), FIRST * 3 + 1);
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn readers_see_whole_entries_while_it_grows() {
        let count: usize = if cfg!(miri) { 300 } else { 50_000 };
        let table = AppendVec::new(&TABLE, count);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| while table.push_with(|index| Some(Box::new(index * 3))).is_some() {});
            }
            while table.len() < count {
                for index in (0..table.len()).rev().take(10) {
                    assert_eq!(**table.get(index).expect("below len"), index * 3);
                }
                std::thread::yield_now();
            }
        });
    }
}

/// Caught when tried: Relaxed for the Release in `push_with` or for the Acquire in `len` (the reader follows a segment that
/// is not there yet, and the test process dies of it).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::AppendVec;
    use crate::LockClass;
    use loom::thread;
    use std::sync::Arc;

    static TABLE: LockClass = LockClass::new("table", 1);

    /// Two writers fill the table over a segment's edge while a reader looks.
    #[test]
    fn readers_see_whole_entries() {
        loom::model(|| {
            let table = Arc::new(AppendVec::new(&TABLE, 3));
            let writers = [2, 1].map(|count| {
                let table = table.clone();
                thread::spawn(move || {
                    for _ in 0..count {
                        assert!(table.push_with(|index| Some(index * 3)).is_some());
                    }
                })
            });
            let len = table.len();
            if let Some(last) = len.checked_sub(1) {
                assert_eq!(table.get(last), Some(&(last * 3)));
            }
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            assert_eq!(table.iter().copied().collect::<Vec<_>>(), [0, 3, 6]);
            assert_eq!(table.push(9), Err(9));
        });
    }
}
