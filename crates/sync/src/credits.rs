//! [`Credits`]: references to objects that many threads hold, kept by a thread for its next use.
//!
//! Each reference that is made or dropped writes the object's [`Count`], and a line that many cores write costs each of them a fetch: 150 ns
//! from the other socket, and the more cores the longer one waits. So a thread that makes references to an object which is *widely
//! shared* takes several at once, and what it drops it keeps for the next that it makes. The references that it keeps are its credits.
//! It takes several only when it has named the object before, so that a single one costs what it did.
//!
//! CR1. A credit is counted in its object like any other reference. So an object lives while there is a credit for it, an entry
//!      with credits names that object and no later one at the same address, and a count is too high rather than too low.
//! CR2. A thread's place is written by that thread alone ([`slot::own`]); a thread without one, or whose place is closed, counts at once.
//! CR3. An entry without credits holds nothing. Its object may be gone and another be at its address; credits are put there only by a
//!      thread that holds the object at this address, after a look at its count.
//! CR4. An entry changes its object only while it has no credits. So objects that share an entry cost at most what they cost without one.
//! CR5. Who opens a place ([`Credits::settle`]) settles it again soon and before it sleeps, and closes it before it ends: a credit keeps
//!      an object's memory.
//!
//! # What was not done
//!
//! - *A count in two parts*, one for the thread that made the object: the objects in question have no thread that uses them most.
//! - *To evict*: two objects of one entry that are used in turns would cost three writes of their counts each time.

use crate::{
    atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed},
    count::Count,
    pad::CachePadded,
    slot,
};
use std::ptr::{self, NonNull};

/// Miri, which is slow, has all limits this much lower.
const MIRI: usize = if cfg!(miri) { 16 } else { 1 };
/// From so many references on an object is widely shared.
const WIDELY: usize = if cfg!(loom) { 2 } else { 64 / MIRI };
/// So many a thread takes at once.
const BATCH: usize = if cfg!(loom) { 1 } else { 256 / MIRI };
/// A thread keeps so many for one object, at most; then half of them go back.
const MOST: usize = if cfg!(loom) { 2 } else { 1024 / MIRI };
/// Objects for which a thread has credits, at most: a power of two.
const ENTRIES: usize = 8;
/// So many threads have places.
const PLACES: usize = if cfg!(any(loom, feature = "single")) { 0 } else { 256 };

/// An object that its last holder frees.
pub trait Counted {
    /// How many hold it.
    fn count(&self) -> &Count;

    /// Frees it.
    ///
    /// # Safety
    /// The last holder has released it (sync.count/N1).
    unsafe fn free(object: NonNull<Self>);
}

/// The credits for one object. Words, Relaxed, as one thread alone uses them (CR2).
#[derive(Debug)]
struct Entry<T> {
    /// Null: closed. [`Entry::vacant`]: of none.
    object: AtomicPtr<T>,
    credits: AtomicUsize,
}

impl<T: Counted> Entry<T> {
    const_unless_loom! {
        fn closed() -> Self {
            Self { object: AtomicPtr::new(ptr::null_mut()), credits: AtomicUsize::new(0) }
        }
    }

    /// The object of an entry that is open and has none.
    fn vacant() -> *mut T {
        const { assert!(align_of::<T>() > 1, "no object lies at address 1") };
        ptr::without_provenance_mut(1)
    }

    #[inline]
    fn is_of(&self, object: NonNull<T>) -> bool {
        self.object.load(Relaxed) == object.as_ptr()
    }

    /// A reference more, of an object that the caller holds.
    #[inline]
    fn hold(&self, object: NonNull<T>) {
        // SAFETY: the caller holds it.
        let count = unsafe { object.as_ref() }.count();
        if self.is_of(object) {
            match self.credits.load(Relaxed) {
                0 => self.take(count),
                credits => self.credits.store(credits - 1, Relaxed),
            }
        } else if count.hold_more(1) >= WIDELY {
            self.name(object);
        }
    }

    /// A reference more, and credits with it if the object is still widely shared.
    #[cold]
    fn take(&self, count: &Count) {
        if count.hold_more(1 + BATCH) >= WIDELY {
            self.credits.store(BATCH, Relaxed);
        } else {
            // There is another reference.
            let _ = count.release_some(BATCH);
            self.object.store(Self::vacant(), Relaxed);
        }
    }

    /// The caller's reference goes.
    #[inline]
    fn release(&self, object: NonNull<T>) {
        if self.is_of(object) && self.keep(object) {
            return;
        }
        if release(object, 1) > WIDELY {
            self.name(object);
        }
    }

    /// Keeps the caller's reference to the entry's object as a credit, if that is widely shared.
    fn keep(&self, object: NonNull<T>) -> bool {
        let credits = self.credits.load(Relaxed);
        // SAFETY: the caller holds it. With credits it was widely shared a moment ago; without, it may be another (CR3).
        if credits == 0 && unsafe { object.as_ref() }.count().get() <= WIDELY {
            return false;
        }
        let credits = credits + 1;
        let kept = if credits > MOST { credits - MOST / 2 } else { credits };
        self.credits.store(kept, Relaxed);
        if kept < credits {
            release(object, credits - kept);
        }
        true
    }

    /// The entry becomes the object's, if it is open and has no credits (CR4).
    #[cold]
    fn name(&self, object: NonNull<T>) {
        if self.credits.load(Relaxed) == 0 && !self.object.load(Relaxed).is_null() {
            self.object.store(object.as_ptr(), Relaxed);
        }
    }

    /// Gives back its credits; the object's name stays.
    fn give_back(&self) {
        let credits = self.credits.load(Relaxed);
        if credits > 0 {
            self.credits.store(0, Relaxed);
            // With credits it is not null.
            NonNull::new(self.object.load(Relaxed)).inspect(|object| _ = release(*object, credits));
        }
    }
}

/// So many references of the caller's go; how many there were before.
#[inline]
fn release<T: Counted>(object: NonNull<T>, references: usize) -> usize {
    // SAFETY: these references hold it until here.
    let before = unsafe { object.as_ref() }.count().release_some(references);
    if before == references {
        // SAFETY: sync.count/N1.
        unsafe { T::free(object) };
    }
    before
}

/// A thread's entries: neighbours in memory have different ones, whatever their distance.
#[derive(Debug)]
struct Place<T>([Entry<T>; ENTRIES]);

impl<T: Counted> Place<T> {
    #[cfg(not(loom))]
    const fn closed() -> Self {
        Self([const { Entry::closed() }; ENTRIES])
    }

    #[inline]
    fn entry(&self, object: NonNull<T>) -> &Entry<T> {
        // Multiples of this spread evenly (Knuth, The Art of Computer Programming 3, 6.4).
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let mixed = (object.addr().get() as u64).wrapping_mul(GOLDEN);
        &self.0[(mixed >> (u64::BITS - ENTRIES.ilog2())) as usize]
    }

    fn give_back(&self) {
        self.0.iter().for_each(Entry::give_back);
    }

    /// Gives back all credits; the entries name this from now on.
    fn reset(&self, object: *mut T) {
        self.give_back();
        self.0.iter().for_each(|entry| entry.object.store(object, Relaxed));
    }
}

/// The credits of all threads, for objects of one type.
#[derive(Debug)]
pub struct Credits<T>([CachePadded<Place<T>>; PLACES]);

impl<T: Counted> Credits<T> {
    /// All places are closed.
    #[cfg(not(loom))]
    #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
    pub const fn new() -> Self {
        Self([const { CachePadded::new(Place::closed()) }; PLACES])
    }

    /// The calling thread's place, if it may be open.
    #[inline]
    fn own(&self) -> Option<&Place<T>> {
        Some(&self.0[slot::known(PLACES)?])
    }

    /// Makes a reference more to an object.
    ///
    /// # Safety
    /// The caller holds it.
    #[inline]
    pub unsafe fn hold(&self, object: NonNull<T>) {
        match self.own() {
            Some(place) => place.entry(object).hold(object),
            // SAFETY: the caller holds it.
            None => unsafe { object.as_ref() }.count().hold(),
        }
    }

    /// Gives up a reference; the last one frees the object.
    ///
    /// # Safety
    /// The caller holds the object and uses this reference no more; whoever holds it last may free it on its thread.
    #[inline]
    pub unsafe fn release(&self, object: NonNull<T>) {
        match self.own() {
            Some(place) => place.entry(object).release(object),
            None => _ = release(object, 1),
        }
    }

    /// Gives back the calling thread's credits.
    pub fn give_back(&self) {
        self.own().inspect(|place| place.give_back());
    }

    /// Gives back the calling thread's credits and opens its place: it has credits from now on (CR5).
    pub fn settle(&self) {
        slot::own(PLACES).inspect(|place| self.0[*place].reset(Entry::vacant()));
    }

    /// Gives back the calling thread's credits and closes its place.
    pub fn close(&self) {
        self.own().inspect(|place| place.reset(ptr::null_mut()));
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{BATCH, Counted, Credits, MOST, WIDELY};
    use crate::Count;
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Object {
        count: Count,
        freed: &'static AtomicUsize,
    }

    impl Counted for Object {
        fn count(&self) -> &Count {
            &self.count
        }

        unsafe fn free(object: NonNull<Object>) {
            // SAFETY: the last reference; `Held::new` made it.
            let object = unsafe { Box::from_raw(object.as_ptr()) };
            object.freed.fetch_add(1, Relaxed);
        }
    }

    /// A reference to an object.
    struct Held(NonNull<Object>, &'static Credits<Object>);

    // SAFETY: the object is counted, and freed on any thread.
    unsafe impl Send for Held {}

    impl Held {
        fn new(credits: &'static Credits<Object>, freed: &'static AtomicUsize) -> Held {
            Held(NonNull::from(Box::leak(Box::new(Object { count: Count::new(), freed }))), credits)
        }

        fn references(&self) -> usize {
            // SAFETY: held.
            unsafe { self.0.as_ref() }.count.get()
        }

        /// With so many references, made where there are no credits yet.
        fn several(&self, references: usize) -> Vec<Held> {
            (0..references - 1).map(|_| self.clone()).collect()
        }
    }

    impl Clone for Held {
        fn clone(&self) -> Held {
            // SAFETY: held.
            unsafe { self.1.hold(self.0) };
            Held(self.0, self.1)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // SAFETY: held, and used no more.
            unsafe { self.1.release(self.0) };
        }
    }

    #[test]
    fn references_to_what_is_widely_shared_are_taken_and_kept_several_at_once() {
        static CREDITS: Credits<Object> = Credits::new();
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let object = Held::new(&CREDITS, &FREED);
        let mut held = object.several(WIDELY);
        CREDITS.settle();
        held.push(object.clone());
        assert_eq!(object.references(), WIDELY + 1, "one alone is one");
        held.extend((0..=BATCH).map(|_| object.clone()));
        assert_eq!(object.references(), WIDELY + 2 + BATCH, "one, and a batch");
        CREDITS.give_back();
        assert_eq!(object.references(), WIDELY + 2 + BATCH, "it has been used up");
        held.truncate(WIDELY + 1);
        assert_eq!(object.references(), WIDELY + 2 + BATCH, "those that were dropped are kept");
        CREDITS.give_back();
        assert_eq!(object.references(), WIDELY + 2);

        held.extend((0..2 * MOST).map(|_| object.clone()));
        CREDITS.give_back();
        held.truncate(WIDELY);
        let kept = object.references() - WIDELY - 1;
        assert!((MOST / 2..=MOST).contains(&kept), "{kept}");
        drop(held);
        drop(object);
        assert_eq!(FREED.load(Relaxed), 0, "a credit holds it");
        CREDITS.close();
        assert_eq!(FREED.load(Relaxed), 1);
    }

    #[test]
    fn what_few_hold_is_counted_at_once() {
        static CREDITS: Credits<Object> = Credits::new();
        static FREED: AtomicUsize = AtomicUsize::new(0);
        CREDITS.settle();
        let object = Held::new(&CREDITS, &FREED);
        for round in 0..3 * WIDELY {
            let held = object.several(WIDELY);
            assert_eq!(object.references(), WIDELY, "{round}");
            drop(held);
            assert_eq!(object.references(), 1, "{round}");
        }
        drop(object);
        assert_eq!(FREED.load(Relaxed), 1);
        CREDITS.close();
    }

    #[test]
    fn an_object_that_is_widely_shared_no_more_is_counted_at_once() {
        static CREDITS: Credits<Object> = Credits::new();
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let object = Held::new(&CREDITS, &FREED);
        let mut held = object.several(WIDELY);
        CREDITS.settle();
        // The entry names it, without credits: so would a later object at this address find it.
        held.push(object.clone());
        while let Some(one) = held.pop() {
            let before = object.references();
            drop(one);
            // The first that is dropped is kept.
            CREDITS.give_back();
            assert_eq!(object.references(), before - 1);
        }
        let another = object.clone();
        assert_eq!(object.references(), 2, "the batch has gone back at once");
        drop(another);
        drop(object);
        assert_eq!(FREED.load(Relaxed), 1);
        CREDITS.close();
    }

    #[test]
    fn a_thread_that_has_not_promised_to_give_back_counts_at_once() {
        static CREDITS: Credits<Object> = Credits::new();
        static FREED: AtomicUsize = AtomicUsize::new(0);
        CREDITS.settle();
        CREDITS.close();
        let object = Held::new(&CREDITS, &FREED);
        let held = object.several(4 * WIDELY);
        assert_eq!(object.references(), 4 * WIDELY);
        drop(held);
        assert_eq!(object.references(), 1);
        drop(object);
        assert_eq!(FREED.load(Relaxed), 1);
    }

    /// Objects that share an entry take it in turns, and each is freed once.
    #[test]
    fn each_object_is_freed_once() {
        static CREDITS: Credits<Object> = Credits::new();
        static FREED: AtomicUsize = AtomicUsize::new(0);
        const OBJECTS: usize = 12;
        const ROUNDS: usize = if cfg!(miri) { 3 } else { 100 };
        let objects: Vec<Held> = (0..OBJECTS).map(|_| Held::new(&CREDITS, &FREED)).collect();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let mut mine: Vec<Held> = objects.clone();
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        CREDITS.settle();
                        mine.extend(
                            (0..40).flat_map(|i| mine[(i + thread) % OBJECTS..][..1].to_vec()).collect::<Vec<_>>(),
                        );
                        if round % 4 == thread {
                            mine.truncate(OBJECTS);
                        }
                    }
                    drop(mine);
                    CREDITS.close();
                });
            }
            drop(objects);
        });
        assert_eq!(FREED.load(Relaxed), OBJECTS);
    }
}

/// Caught when tried: Relaxed for the Release or no fence in [`Count::release_some`]; a credit more than was counted; a credit for
/// a reference that has gone.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{Counted, Entry};
    use crate::Count;
    use crate::cell::UnsafeCell;
    use loom::thread;
    use std::ptr::NonNull;
    use std::sync::Arc;

    struct Object {
        count: Count,
        /// Is it there? Taking it away stands for freeing it.
        there: UnsafeCell<bool>,
    }
    // SAFETY: the cell is read by holders and written by the last. (Were it otherwise, loom's cell would say so.)
    unsafe impl Sync for Object {}

    impl Counted for Object {
        fn count(&self) -> &Count {
            &self.count
        }

        unsafe fn free(object: NonNull<Object>) {
            // SAFETY: the last reference; the memory lives as long as the model.
            unsafe { object.as_ref() }.there.with_mut(|there| unsafe {
                assert!(*there, "freed twice");
                *there = false;
            });
        }
    }

    /// A thread has so many references: it makes others, drops those, and then its own.
    fn use_it(object: &Object, has: usize, makes: usize) {
        let entry = Entry::closed();
        entry.object.store(Entry::<Object>::vacant(), super::Relaxed);
        let name = NonNull::from(object);
        for _ in 0..makes {
            entry.hold(name);
            // SAFETY: held.
            assert!(object.there.with(|there| unsafe { *there }));
        }
        for _ in 0..makes {
            entry.release(name);
        }
        for _ in 0..has {
            // SAFETY: held by its own references still.
            assert!(object.there.with(|there| unsafe { *there }));
            entry.release(name);
        }
        entry.give_back();
    }

    /// Two threads, each with so many references, make so many more.
    fn two_threads(has: [usize; 2], makes: [usize; 2]) {
        loom::model(move || {
            let object = Arc::new(Object { count: Count::new(), there: UnsafeCell::new(true) });
            object.count.hold_more(has[0] + has[1] - 1);
            let other = {
                let object = object.clone();
                thread::spawn(move || use_it(&object, has[0], makes[0]))
            };
            use_it(&object, has[1], makes[1]);
            other.join().unwrap();
            // SAFETY: the other thread has ended.
            assert!(object.count.get() == 0 && !object.there.with(|there| unsafe { *there }));
        });
    }

    #[test]
    fn loom_who_gives_back_the_last_frees() {
        two_threads([1, 1], [2, 2]);
    }

    #[test]
    fn loom_who_gives_back_the_last_frees_what_it_did_not_make() {
        two_threads([2, 2], [0, 1]);
    }
}
