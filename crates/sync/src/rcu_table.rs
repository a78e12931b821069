//! [`RcuTable`]: a hash table that all threads read and few write: a look-up takes no lock and writes nothing.
//!
//! For names, persistent terms and the like. Read-copy-update (McKenney and Slingwine, 1998) over open addressing with linear probing:
//! an array of places, each of which leads to an entry. An entry never changes; a writer stores another one in its place, and what it
//! has unlinked is freed once all threads have made progress ([`Progress`]). Writers take turns, by a lock.
//!
//! ```text
//!    places --> [ empty | entry | gone | entry | empty | ... ]      a search begins at the hash's place and ends at an empty one
//! ```
//!
//! RT1. Within one array a place that is not empty stays so: it leads to one entry after the other, or says that one is gone. So no
//!      search stops short of an entry that was there all the time.
//! RT2. An array that has been replaced does not change any more. A search that goes on in it finds what the table held when the search
//!      began.
//! RT3. At most three in four of an array's places are not empty, so that every search ends, and soon.
//! RT4. No key is there twice: a writer adds an entry after it has looked, holding the lock.
//!
//! # What a search sees
//!
//! It sees the table as it was at some moment between its beginning and its end. An entry that is replaced is found, the old or the new;
//! one that is taken out and put back elsewhere meanwhile may be missed, and was not there in between.
//!
//! A reader follows two links, from the table to the array and from the array to an entry. Both are stored with Release and loaded with
//! Acquire: what can be reached has been written. That it is still there is the caller's promise ([`RcuTable::find`]).
//!
//! # What was not done
//!
//! - *Chains*: an old array and a new one cannot share their entries without a second link in each (Triplett, McKenney and Walpole,
//!   2011), and each entry that is passed costs a cache miss.
//! - *A new array for each change*: a name comes and goes with its process, and would cost the more the more names there are.

use crate::{
    Mutex, MutexGuard,
    atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
    class::LockClass,
    pad::CachePadded,
    progress::{Progress, ThreadSlot},
};
use std::{
    fmt,
    ops::Deref,
    ptr::{self, NonNull},
};

/// Places of the first array: a power of two. In a model so few that the second entry needs another array.
const FIRST: usize = if cfg!(loom) { 2 } else { 8 };

/// How many of so many places may be other than empty (RT3): longer searches become frequent beyond it (Knuth, volume 3, 6.4).
const fn most_filled(places: usize) -> usize {
    if places < 4 { places / 2 } else { places / 4 * 3 }
}

/// Who leaves what has been unlinked to thread progress.
#[derive(Clone, Copy, Debug)]
pub enum Retirer<'a> {
    /// A registered thread: the cheaper way.
    Thread(&'a ThreadSlot),
    /// Any other, as [`Progress::retire_unregistered`].
    Other(&'a Progress),
    /// Nobody frees it: of a table that lasts as long as the process, and that nothing leaves. The arrays that it has outgrown are together no
    /// longer than the present one, and who looks in it need not be inside anything.
    Nobody,
}

impl Retirer<'_> {
    /// Has the box freed when all threads have made progress.
    ///
    /// # Safety
    /// It came from `Box::into_raw`, is unlinked, and is retired once.
    unsafe fn retire<T>(self, object: NonNull<T>) {
        /// Drops a box; its promise is that of `retire`.
        unsafe fn free<T>(object: *mut ()) {
            // SAFETY: the promise of `retire`, by now with no readers left.
            drop(unsafe { Box::from_raw(object.cast::<T>()) });
        }
        let object = object.as_ptr().cast();
        match self {
            // SAFETY: the caller's promise; `RcuTable::new` asks that any thread may drop what is in a table.
            Retirer::Thread(slot) => unsafe { slot.retire_object(object, free::<T>) },
            // SAFETY: as above.
            Retirer::Other(progress) => unsafe { progress.retire_object(object, free::<T>) },
            Retirer::Nobody => {}
        }
    }
}

/// An entry, with its hash, so that moving it to another array needs no look at the value.
struct Entry<E> {
    hash: u64,
    value: E,
}

type Place<E> = AtomicPtr<Entry<E>>;

/// What a place leads to whose entry has been taken out: no address of an entry, which is aligned.
fn gone<E>() -> *mut Entry<E> {
    ptr::without_provenance_mut(1)
}

struct Array<E>(Box<[Place<E>]>);

impl<E> Array<E> {
    fn new(places: usize) -> Self {
        debug_assert!(places.is_power_of_two(), "bits of a hash choose the place");
        Self((0..places).map(|_| AtomicPtr::new(ptr::null_mut())).collect())
    }

    /// The places that a search for this hash comes by, without end.
    #[inline]
    fn along(&self, hash: u64) -> impl Iterator<Item = &Place<E>> {
        // Fibonacci hashing (Knuth, volume 3, 6.4): neighbouring hashes, such as those of atoms, are spread.
        let first = (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        (first..).map(|at| &self.0[at & (self.0.len() - 1)])
    }

    /// The place of the entry whose value `is_it` knows, and the entry.
    ///
    /// # Safety
    /// What the places lead to stays for as long as the borrow: as [`RcuTable::find`] asks, or because the caller holds the lock.
    #[inline]
    unsafe fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<(&Place<E>, &Entry<E>)> {
        for place in self.along(hash) {
            // Acquire: pairs with the Release in `set`: the entry's words come before its link.
            let at = place.load(Acquire);
            if at.is_null() {
                break;
            }
            if at == gone() {
                continue;
            }
            // SAFETY: neither empty nor gone, it is an entry, which the caller promises to stay.
            let entry = unsafe { &*at };
            if entry.hash == hash && is_it(&entry.value) {
                return Some((place, entry));
            }
        }
        None
    }

    /// The entries, in the order of their places.
    fn entries(&self) -> impl Iterator<Item = NonNull<Entry<E>>> {
        // Relaxed: only the holder of the lock, who has seen what others stored, asks.
        self.0.iter().map(|place| place.load(Relaxed)).filter(|at| *at != gone()).filter_map(NonNull::new)
    }

    /// Puts an entry into the first place that has none. `true`: the place was empty. For the holder of the lock.
    fn set(&self, entry: NonNull<Entry<E>>) -> bool {
        // SAFETY: the caller's own, or one of the table, which the lock keeps.
        let hash = unsafe { entry.as_ref() }.hash;
        for place in self.along(hash) {
            // Relaxed: stored under the lock.
            let at = place.load(Relaxed);
            if at.is_null() || at == gone() {
                // Release: pairs with the Acquire in `find`.
                place.store(entry.as_ptr(), Release);
                return at.is_null();
            }
        }
        false
    }
}

/// How full the table is.
struct Fill {
    entries: usize,
    /// Places of the array that are not empty.
    filled: usize,
}

/// A hash table of entries that know their keys; the caller hashes and compares.
pub struct RcuTable<E> {
    /// Apart from the lock, whose line writers take away.
    array: CachePadded<AtomicPtr<Array<E>>>,
    fill: CachePadded<Mutex<Fill>>,
}

impl<E: Send + Sync + 'static> RcuTable<E> {
    /// An empty table; `class` is that of its writers' lock.
    pub fn new(class: &'static LockClass) -> Self {
        let array = Box::into_raw(Box::new(Array::new(FIRST)));
        let fill = Mutex::new(class, Fill { entries: 0, filled: 0 });
        Self { array: CachePadded::new(AtomicPtr::new(array)), fill: CachePadded::new(fill) }
    }

    /// The entry of this hash that `is_it` knows.
    ///
    /// # Safety
    /// Until the last use of what it gives, the calling thread has no quiescent point, and is inside (registered and not parked, or
    /// pinned), in each domain of thread progress that a [`Retirer`] of this table's writers belongs to.
    #[inline]
    pub unsafe fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<&E> {
        // Acquire: pairs with the Release in `make_room`: the array's places come before its link.
        // SAFETY: the array is retired like an entry, and the caller is inside.
        let array = unsafe { &*self.array.load(Acquire) };
        // SAFETY: the caller's promise.
        unsafe { array.find(hash, is_it) }.map(|(_, entry)| &entry.value)
    }

    /// Waits until no other thread writes. The holder sees the table as it is.
    pub fn write(&self) -> RcuWriter<'_, E> {
        RcuWriter { fill: self.fill.lock(), table: self }
    }
}

impl<E> RcuTable<E> {
    fn array(&self) -> &Array<E> {
        // Relaxed: for the holder of the lock, under which it is stored.
        // SAFETY: it is retired only after another has been stored here, by the holder of the lock.
        unsafe { &*self.array.load(Relaxed) }
    }
}

impl<E> Drop for RcuTable<E> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` orders. SAFETY: from `Box::into_raw`, and nobody reads any more.
        let array = unsafe { Box::from_raw(self.array.load(Relaxed)) };
        for entry in array.entries() {
            // SAFETY: from `Box::into_raw`, in one place alone (RT4).
            drop(unsafe { Box::from_raw(entry.as_ptr()) });
        }
    }
}

impl<E> fmt::Debug for RcuTable<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcuTable").finish_non_exhaustive()
    }
}

/// The right to write; gives the lock back when dropped.
#[must_use = "the lock is released at once if the writer is not kept"]
pub struct RcuWriter<'a, E> {
    fill: MutexGuard<'a, Fill>,
    table: &'a RcuTable<E>,
}

impl<E: Send + Sync + 'static> RcuWriter<'_, E> {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.fill.entries
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries, in an order that stays while none comes or goes.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        // SAFETY: the lock is held for as long as the borrow: nobody else unlinks.
        self.table.array().entries().map(|entry| unsafe { &(*entry.as_ptr()).value })
    }

    /// The place of the entry that `is_it` knows, and the entry's address: what is retired must come from the place, not from a reference.
    fn place(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<(&Place<E>, NonNull<Entry<E>>)> {
        // SAFETY: the lock is held for as long as the borrow: nobody else unlinks.
        let (place, _) = unsafe { self.table.array().find(hash, is_it) }?;
        // Relaxed: stored under the lock.
        NonNull::new(place.load(Relaxed)).map(|entry| (place, entry))
    }

    /// The entry of this hash that `is_it` knows.
    pub fn find(&self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<&E> {
        // SAFETY: as in `place`.
        unsafe { self.table.array().find(hash, is_it) }.map(|(_, entry)| &entry.value)
    }

    /// Adds an entry whose key is not there. An array that becomes too small is left to `by`.
    pub fn add(&mut self, hash: u64, value: E, by: Retirer<'_>) {
        if self.fill.filled >= most_filled(self.table.array().0.len()) {
            self.make_room(by);
        }
        let entry = NonNull::from(Box::leak(Box::new(Entry { hash, value })));
        let was_empty = self.table.array().set(entry);
        self.fill.filled += usize::from(was_empty);
        self.fill.entries += 1;
        debug_assert!(self.fill.filled <= most_filled(self.table.array().0.len()), "RT3: searches might not end");
    }

    /// Puts an entry in the place of the one that `is_it` knows, or adds it; gives the one that was there.
    pub fn put(&mut self, hash: u64, value: E, is_it: impl Fn(&E) -> bool, by: Retirer<'_>) -> Option<Unlinked<E>> {
        let Some((place, old)) = self.place(hash, is_it) else {
            self.add(hash, value, by);
            return None;
        };
        // Release: pairs with the Acquire in `find`.
        place.store(Box::into_raw(Box::new(Entry { hash, value })), Release);
        Some(Unlinked(old))
    }

    /// Takes out the entry that `is_it` knows.
    pub fn remove(&mut self, hash: u64, is_it: impl Fn(&E) -> bool) -> Option<Unlinked<E>> {
        let (place, old) = self.place(hash, is_it)?;
        // Relaxed: who reads it follows no link. That it comes before the freeing, thread progress orders.
        place.store(gone(), Relaxed);
        self.fill.entries -= 1;
        Some(Unlinked(old))
    }

    /// Takes out all entries.
    pub fn clear(&mut self) -> Vec<Unlinked<E>> {
        let mut all = Vec::with_capacity(self.len());
        for place in &*self.table.array().0 {
            // Relaxed, twice: as in `entries`, and as in `remove`.
            let at = place.load(Relaxed);
            if let Some(entry) = NonNull::new(at).filter(|_| at != gone()) {
                place.store(gone(), Relaxed);
                all.push(Unlinked(entry));
            }
        }
        self.fill.entries = 0;
        all
    }

    /// Moves the entries to an array of which, with one entry more, at most half is filled.
    fn make_room(&mut self, by: Retirer<'_>) {
        // Relaxed: stored under the lock.
        let Some(old) = NonNull::new(self.table.array.load(Relaxed)) else { unreachable!("a table has an array") };
        let new = Array::new((2 * (self.fill.entries + 1)).next_power_of_two().max(FIRST));
        // SAFETY: the lock is held: nobody else retires it.
        for entry in unsafe { old.as_ref() }.entries() {
            new.set(entry);
        }
        self.fill.filled = self.fill.entries;
        // Release: pairs with the Acquire in `RcuTable::find`.
        self.table.array.store(Box::into_raw(Box::new(new)), Release);
        // SAFETY: a box's, unlinked just now; its entries are not dropped with it.
        unsafe { by.retire(old) };
    }
}

impl<E> fmt::Debug for RcuWriter<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RcuWriter").field("entries", &self.fill.entries).finish_non_exhaustive()
    }
}

/// An entry that is no longer in its table, though others may be looking at it.
#[must_use = "it is never freed unless it is retired"]
pub struct Unlinked<E>(NonNull<Entry<E>>);

impl<E> Unlinked<E> {
    /// Has it freed when all threads have made progress.
    pub fn retire(self, by: Retirer<'_>) {
        // SAFETY: a box's, unlinked by who made this; `self` is used up.
        unsafe { by.retire(self.0) };
    }
}

impl<E> Deref for Unlinked<E> {
    type Target = E;
    fn deref(&self) -> &E {
        // SAFETY: it is retired only when this is used up.
        unsafe { &self.0.as_ref().value }
    }
}

impl<E> fmt::Debug for Unlinked<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unlinked").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{RcuTable, Retirer};
    use crate::{LockClass, Progress, ThreadSlot};

    static CLASS: LockClass = LockClass::new("rcu_table", 1);

    /// A key, and what stands beside it.
    type Pair = (u64, u64);

    fn find(table: &RcuTable<Pair>, hash: u64, key: u64) -> Option<u64> {
        // SAFETY: the tests' threads are registered, and copy what they find before they go on.
        unsafe { table.find(hash, |pair| pair.0 == key) }.map(|pair| pair.1)
    }

    fn put(table: &RcuTable<Pair>, hash: u64, pair: Pair, slot: &ThreadSlot) -> Option<u64> {
        let old = table.write().put(hash, pair, |old| old.0 == pair.0, Retirer::Thread(slot))?;
        let value = old.1;
        old.retire(Retirer::Thread(slot));
        Some(value)
    }

    fn remove(table: &RcuTable<Pair>, hash: u64, key: u64, slot: &ThreadSlot) -> Option<u64> {
        let old = table.write().remove(hash, |pair| pair.0 == key)?;
        let value = old.1;
        old.retire(Retirer::Thread(slot));
        Some(value)
    }

    /// Against a `BTreeMap`, with keys that share hashes, while the table grows, empties and grows again.
    #[test]
    fn it_holds_what_was_put() {
        let slot = Progress::new(1).register().expect("room");
        let table = RcuTable::new(&CLASS);
        let mut expected = std::collections::BTreeMap::new();
        let (rounds, mut random) = (if cfg!(miri) { 400 } else { 40_000 }, 1_u64);
        for round in 0..rounds {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = random >> 33 & if round / 4000 % 2 == 0 { 1023 } else { 15 };
            let hash = key / 3;
            if random >> 60 < 9 {
                assert_eq!(put(&table, hash, (key, round), &slot), expected.insert(key, round));
            } else {
                assert_eq!(remove(&table, hash, key, &slot), expected.remove(&key));
            }
            assert_eq!(find(&table, hash, key), expected.get(&key).copied());
            slot.quiescent();
        }
        let mut all: Vec<Pair> = table.write().iter().copied().collect();
        all.sort_unstable();
        assert_eq!((table.write().len(), all), (expected.len(), expected.into_iter().collect()));
        for old in table.write().clear() {
            old.retire(Retirer::Thread(&slot));
        }
        assert!(table.write().is_empty() && table.write().iter().next().is_none());
    }

    #[test]
    fn keys_that_come_and_go_need_no_more_places() {
        let slot = Progress::new(1).register().expect("room");
        let table = RcuTable::new(&CLASS);
        for key in 0..if cfg!(miri) { 20 * super::FIRST as u64 } else { 5000 } {
            assert_eq!(put(&table, key, (key, 0), &slot), None);
            assert_eq!(remove(&table, key, key, &slot), Some(0));
            slot.quiescent();
        }
        assert_eq!(table.array().0.len(), super::FIRST);
    }

    #[test]
    fn entries_are_dropped_with_the_table_or_after_progress() {
        let shared = std::sync::Arc::new(());
        let progress = Progress::new(1);
        let table = RcuTable::new(&CLASS);
        for key in 0..20 {
            table.write().add(key, (key, shared.clone()), Retirer::Other(&progress));
        }
        let gone = table.write().remove(3, |entry| entry.0 == 3).expect("put");
        gone.retire(Retirer::Other(&progress));
        assert_eq!(std::sync::Arc::strong_count(&shared), 21, "there may be readers");
        progress.register().expect("room").quiescent();
        assert_eq!(std::sync::Arc::strong_count(&shared), 20);
        drop(table);
        assert_eq!(std::sync::Arc::strong_count(&shared), 1);
    }

    /// Keys that stay are found all the time, each with a value that never goes back, while others come and go and the array is
    /// replaced again and again.
    #[cfg(not(feature = "single"))]
    #[test]
    fn readers_find_what_stays() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        const STAY: u64 = 8;
        let rounds = if cfg!(miri) { 60 } else { 30_000 };
        let (progress, table, done) = (Progress::new(4), RcuTable::new(&CLASS), AtomicBool::new(false));
        let slot = progress.register().expect("room");
        (0..STAY).for_each(|key| assert_eq!(put(&table, key % 2, (key, 0), &slot), None));
        slot.park();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let slot = progress.register().expect("room");
                    let mut last = [0; STAY as usize];
                    while !done.load(Relaxed) {
                        for key in 0..STAY {
                            let now = find(&table, key % 2, key).expect("it stays");
                            assert!(now >= last[key as usize], "an older value");
                            last[key as usize] = now;
                        }
                        slot.quiescent();
                    }
                });
            }
            slot.unpark();
            for round in 1..=rounds {
                put(&table, round % STAY % 2, (round % STAY, round), &slot);
                let other = STAY + round % 64;
                if round / 64 % 2 == 0 {
                    put(&table, other % 5, (other, round), &slot);
                } else {
                    remove(&table, other % 5, other, &slot);
                }
                slot.quiescent();
            }
            done.store(true, Relaxed);
            slot.park();
        });
    }
}

/// Caught when tried: Relaxed for the Acquire in `Array::find` or in `RcuTable::find`, for the Release in `set`, in `put` or in
/// `make_room`; a place that becomes empty again when its entry goes (RT1).
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{RcuTable, Retirer};
    use crate::{LockClass, Progress, ThreadSlot, cell::UnsafeCell};
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("rcu_table", 1);

    /// An entry whose words are a checked cell: a reader that is not ordered after its making, or before its freeing, is a race.
    struct Checked {
        key: u64,
        words: UnsafeCell<u64>,
    }

    // SAFETY: the table and the domain order the accesses to `words`, and loom checks that they do.
    unsafe impl Sync for Checked {}
    // SAFETY: as above.
    unsafe impl Send for Checked {}

    impl Checked {
        fn new(key: u64) -> Self {
            let words = UnsafeCell::new(0);
            // SAFETY: nobody else knows it yet.
            words.with_mut(|words| unsafe { *words = key });
            Self { key, words }
        }

        fn check(&self) {
            // SAFETY: written before it was linked.
            self.words.with(|words| assert_eq!(unsafe { *words }, self.key));
        }
    }

    impl Drop for Checked {
        fn drop(&mut self) {
            // SAFETY: dropped when nobody can have a reference.
            self.words.with_mut(|words| unsafe { *words = u64::MAX });
        }
    }

    /// All keys have one hash, so that each search comes by the others' places.
    fn finds(table: &RcuTable<Checked>, key: u64) -> bool {
        // SAFETY: the reader is registered, and its quiescent points come later.
        let found = unsafe { table.find(0, |entry| entry.key == key) };
        found.inspect(|entry| entry.check()).is_some()
    }

    /// `write` on a table of key 1 while another thread looks twice for it: it is there all the time.
    fn key_stays_while(write: fn(&RcuTable<Checked>, &ThreadSlot)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let progress = Progress::new(2);
            let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
            let table = Arc::new(RcuTable::new(&CLASS));
            table.write().add(0, Checked::new(1), Retirer::Thread(&mine));
            let reader = {
                let table = table.clone();
                // The slot comes back, so that leaving the domain orders nothing here.
                thread::spawn(move || {
                    assert!(finds(&table, 1), "missed what stays");
                    theirs.quiescent();
                    assert!(finds(&table, 1), "missed what stays");
                    finds(&table, 2);
                    theirs
                })
            };
            write(&table, &mine);
            mine.quiescent();
            mine.quiescent();
            drop(reader.join().unwrap());
            drop(mine);
        });
    }

    #[test]
    fn an_entry_is_replaced() {
        key_stays_while(|table, slot| {
            let old = table.write().put(0, Checked::new(1), |entry| entry.key == 1, Retirer::Thread(slot));
            old.unwrap().retire(Retirer::Thread(slot));
        });
    }

    /// The second entry needs another array.
    #[test]
    fn the_array_is_replaced() {
        key_stays_while(|table, slot| table.write().add(0, Checked::new(2), Retirer::Thread(slot)));
    }

    /// Another entry comes before it, goes, and another takes its place.
    #[test]
    fn another_comes_and_goes() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let progress = Progress::new(2);
            let (mine, theirs) = (progress.register().unwrap(), progress.register().unwrap());
            let table = Arc::new(RcuTable::new(&CLASS));
            for key in [2, 1] {
                table.write().add(0, Checked::new(key), Retirer::Thread(&mine));
            }
            let reader = {
                let table = table.clone();
                thread::spawn(move || {
                    assert!(finds(&table, 1), "RT1");
                    finds(&table, 3);
                    theirs
                })
            };
            table.write().remove(0, |entry| entry.key == 2).unwrap().retire(Retirer::Thread(&mine));
            table.write().add(0, Checked::new(3), Retirer::Thread(&mine));
            mine.quiescent();
            mine.quiescent();
            drop(reader.join().unwrap());
            drop(mine);
        });
    }
}
