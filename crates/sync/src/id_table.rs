//! [`IdTable`]: objects that are found by their identifiers, which rise, without a lock.
//!
//! The low bits of an identifier choose a slot. Whoever makes an object draws an identifier, reserves its slot, makes the object while it
//! holds no lock, and fills the slot. If the slot is in use it draws the next identifier.
//!
//! ```text
//!            reserve: compare-and-swap (Acquire)            fill (Release)
//!    empty ---------------------------------------> reserved --------------> filled
//!      ^                                               |                        |
//!      +-----------------------------------------------+------------------------+
//!                         dropped unfilled, vacate (Release)
//! ```
//!
//! ID1. Only the thread that has reserved a slot fills it, so two objects that are there at one time have different low bits.
//! ID2. Identifiers rise in the order of drawing, but for what many threads draw at once (sync.numbers/NU2): where few make objects, who makes
//!      one after it has learned of another gives it a higher identifier.
//! ID3. An object is born in the era that its maker finds after the slot is reserved; a cut ([`IdTable::cut`]) begins a new one. A thread that
//!      has cut finds the slot of each object of an earlier era reserved or filled, unless the object has gone; and who makes an object of the
//!      new era has seen all that the thread that has cut had stored before.
//! ID4. [`IdTable::count`] is never above the number of slots that were in use at some moment while it was counted.
//! ID5. Behind [`IdTable::reached`], asked for after a cut, no slot holds an object of an earlier era: identifiers rise from 0, so those that were
//!      drawn are below the next one. Who draws does so before the fence of ID3, so a cutter that does not see the draw need not see the object.
//!
//! ID3 holds since makers and cutters store and then look (sync/SL1): the maker reserves a slot and looks at the era, the cutter begins an era
//! and looks at the slots. Of their two fences one is the later: either that cutter sees the slot reserved, or that maker the new era. Makers
//! only read the era's line, so that they do not take it from one another.
//! ID4 holds since who comes is counted after the slot is reserved, and who goes before the slot is emptied.
//!
//! # What was not done
//!
//! - *A free list*: an identifier would come again soon after its object has gone.

use crate::{
    atomic::{
        AtomicBool, AtomicPtr, AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
    backoff::Backoff,
    counter::ShardedTally,
    numbers::Numbers,
    pad::CachePadded,
};
use std::{
    fmt,
    ops::Range,
    ptr::{self, NonNull},
};

/// Slots on a memory page of 4,096 bytes; [`spread`] exchanges slots of one page alone.
const ON_A_PAGE: usize = 512;

/// A search through so many slots in use asks whether all are: most searches end sooner, and counting visits all threads' shards.
const SLOTS_BEFORE_COUNTING: u64 = if cfg!(loom) { 2 } else { 8 };

/// The slot for the low bits of an identifier: of 64 identifiers in a row, from a multiple of 64, each on a cache line of its own, as threads
/// that make objects at one time have neighbouring ones. 512 in a row stay on one page: where there are few objects, few pages are touched.
#[inline(always)]
const fn spread(low_bits: usize) -> usize {
    if cfg!(loom) { low_bits } else { low_bits ^ (low_bits & 63) << 3 }
}

/// What a slot holds while its object is being made: an address below that of any object.
const RESERVED: usize = 1;

/// What is in a slot.
enum Slot<T> {
    Empty,
    /// An object is being made.
    Reserved,
    Filled(NonNull<T>),
}

impl<T> Slot<T> {
    #[inline(always)]
    fn read(slot: &AtomicPtr<T>) -> Self {
        // Acquire: pairs with the Release in `fill`.
        match NonNull::new(slot.load(Acquire)) {
            None => Slot::Empty,
            Some(object) if object.addr().get() == RESERVED => Slot::Reserved,
            Some(object) => Slot::Filled(object),
        }
    }

    fn object(self) -> Option<NonNull<T>> {
        if let Slot::Filled(object) = self { Some(object) } else { None }
    }

    /// What is there once nobody is making it.
    fn settled(slot: &AtomicPtr<T>) -> Option<NonNull<T>> {
        let mut backoff = Backoff::new();
        loop {
            match Slot::read(slot) {
                Slot::Reserved => backoff.pause(),
                settled => return settled.object(),
            }
        }
    }
}

/// A table of as many objects as it has slots. It does not own them: what was in a slot belongs to whoever has vacated it.
pub struct IdTable<T> {
    slots: Box<[AtomicPtr<T>]>,
    ids: Numbers,
    /// How many eras have begun: read by those threads.
    era: CachePadded<AtomicU64>,
    /// The next identifier was chosen once: any slot may be in use.
    chosen: AtomicBool,
    population: Box<ShardedTally>,
}

impl<T> IdTable<T> {
    /// With these slots, all null; their number must be a power of two, and at least 512. So many threads make objects often.
    pub fn new(slots: Box<[AtomicPtr<T>]>, makers: usize) -> Self {
        assert!(slots.len().is_power_of_two(), "the low bits of an identifier choose the slot");
        assert!(cfg!(loom) || slots.len() >= ON_A_PAGE, "slots are exchanged within a page");
        let era = CachePadded::new(AtomicU64::new(0));
        let chosen = AtomicBool::new(false);
        IdTable { slots, ids: Numbers::new(makers), era, chosen, population: Box::new(ShardedTally::new()) }
    }

    /// How many slots there are.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// How many slots are in use (ID4): exact while nobody comes or goes.
    pub fn count(&self) -> usize {
        self.population.now().number() as usize
    }

    /// The identifier that is drawn next.
    pub fn next_id(&self) -> u64 {
        self.ids.next()
    }

    /// This identifier is drawn next, in a new era: for tests of identifiers that come again, which no longer rise then (ID2).
    pub fn set_next_id(&self, id: u64) {
        // Relaxed: who draws it has seen this, since the restart releases it, when it comes to its fence (ID5).
        self.chosen.store(true, Relaxed);
        self.cut();
        // Who draws it finds the new era behind the fence in `comes`. A thread that draws meanwhile gets an identifier of before or after.
        self.ids.restart(id);
    }

    #[inline(always)]
    fn slot(&self, low_bits: usize) -> &AtomicPtr<T> {
        &self.slots[spread(low_bits & (self.slots.len() - 1))]
    }

    /// What the slot holds that these low bits of an identifier choose; it may belong to another identifier with the same low bits.
    #[inline(always)]
    pub fn get(&self, low_bits: usize) -> Option<NonNull<T>> {
        Slot::read(self.slot(low_bits)).object()
    }

    /// Slots at this place in the order of memory and behind it are of no interest to who has cut (ID5).
    pub fn reached(&self) -> usize {
        // Relaxed, both: ordered by the fence in `cut`.
        if self.chosen.load(Relaxed) {
            return self.slots.len();
        }
        let drawn = usize::try_from(self.ids.next()).unwrap_or(usize::MAX);
        // Slots are exchanged within a page.
        let page = if cfg!(loom) { 1 } else { ON_A_PAGE };
        drawn.checked_next_multiple_of(page).map_or(self.slots.len(), |drawn| drawn.min(self.slots.len()))
    }

    /// All objects that are there, in the order of memory; one that is being made is passed by.
    pub fn objects(&self) -> impl Iterator<Item = NonNull<T>> {
        self.slots.iter().take(self.reached()).filter_map(|slot| Slot::read(slot).object())
    }

    /// The objects in the slots from a place on, in the order of slots, with their places.
    pub fn objects_from(&self, place: usize) -> impl Iterator<Item = (usize, NonNull<T>)> {
        let slots = self.slots.iter().take(self.reached()).enumerate().skip(place);
        slots.filter_map(|(place, slot)| Slot::read(slot).object().map(|object| (place, object)))
    }

    /// The objects in the slots at these places, in the order of memory. Waits for those that are being made (ID3), so the thread must not
    /// hold what their makers may wait for.
    pub fn settled(&self, places: Range<usize>) -> impl Iterator<Item = NonNull<T>> {
        self.slots.get(places).unwrap_or_default().iter().filter_map(Slot::settled)
    }

    /// Draws identifiers until the slot of one is free, and reserves that slot; `None` if all slots are in use.
    pub fn reserve(&self) -> Option<Reserved<'_, T>> {
        let (mut in_use, mut backoff): (u64, Backoff) = (0, Backoff::new());
        loop {
            // Relaxed: one drawn in an era that has just ended is one drawn before.
            let id = self.ids.draw(self.era.load(Relaxed));
            let slot = self.slot(id as usize);
            if Self::is_claimed(slot) {
                return Some(Reserved { table: self, slot, id, born: self.comes() });
            }
            in_use += 1;
            if in_use >= SLOTS_BEFORE_COUNTING && in_use.is_power_of_two() {
                if self.count() >= self.capacity() {
                    return None;
                }
                if in_use >= self.capacity() as u64 {
                    // All were in use though the count does not say so yet: by a thread that has lost its core between the two.
                    backoff.pause();
                }
            }
        }
    }

    fn is_claimed(slot: &AtomicPtr<T>) -> bool {
        let reserved = ptr::without_provenance_mut(RESERVED);
        // Relaxed: a slot found in use is left alone. Acquire: pairs with the Release of whoever emptied the slot, so that this thread has seen
        // the object before it gone.
        slot.load(Relaxed).is_null() && slot.compare_exchange(ptr::null_mut(), reserved, Acquire, Relaxed).is_ok()
    }

    /// An object is born, whose slot is reserved; gives its era.
    fn comes(&self) -> u64 {
        // SeqCst: sync/SL1 with the fence in `cut`: the slot is reserved, then the era looked at (ID3). And Release: pairs with the Acquire
        // fence in `ShardedTally::now`: who counts this one has seen the one before it in the slot go (ID4).
        fence(SeqCst);
        self.population.come(0);
        // Acquire: pairs with the Release in `cut` (ID3).
        self.era.load(Acquire)
    }

    fn empty(&self, slot: &AtomicPtr<T>) {
        self.population.go(0);
        // Release: pairs with the Acquire in `is_claimed`: who reserves the slot has seen the object gone, and counted (ID4).
        slot.store(ptr::null_mut(), Release);
    }

    /// Empties the slot of these low bits: what was there is no longer found, and belongs to the caller. Threads that have found it before
    /// may still look at it.
    ///
    /// Only one thread may vacate a slot that is filled.
    pub fn vacate(&self, low_bits: usize) {
        let slot = self.slot(low_bits);
        debug_assert!(slot.load(Relaxed).addr() > RESERVED, "nothing is there");
        self.empty(slot);
    }

    /// Begins an era: what is born before is of a lower one (ID3).
    pub fn cut(&self) -> u64 {
        // Release: pairs with the Acquire in `comes`.
        let era = self.era.fetch_add(1, Release) + 1;
        // SeqCst: sync/SL1 with the fence in `comes`: the era has begun, then the slots are looked at.
        fence(SeqCst);
        era
    }
}

impl<T> fmt::Debug for IdTable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdTable")
            .field("capacity", &self.capacity())
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

/// A slot whose object is being made. Dropped unfilled it is free again.
#[must_use = "the slot is free again when this is dropped"]
pub struct Reserved<'a, T> {
    table: &'a IdTable<T>,
    slot: &'a AtomicPtr<T>,
    /// The identifier.
    pub id: u64,
    /// The era in which the object is born: with the identifier it tells the object apart from all others.
    pub born: u64,
}

impl<T> Reserved<'_, T> {
    /// Puts the object in its slot: it can be found from now on.
    pub fn fill(self, object: NonNull<T>) {
        debug_assert!(object.addr().get() > RESERVED);
        debug_assert!(self.slot.load(Relaxed).addr() == RESERVED, "ID1");
        // Release: pairs with the Acquire in `Slot::read`, so that who finds the object finds it made.
        self.slot.store(object.as_ptr(), Release);
        std::mem::forget(self);
    }
}

impl<T> Drop for Reserved<'_, T> {
    fn drop(&mut self) {
        self.table.empty(self.slot);
    }
}

impl<T> fmt::Debug for Reserved<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved").field("id", &self.id).field("born", &self.born).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{IdTable, ON_A_PAGE, spread};
    use crate::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
    use std::{collections::BTreeSet, ptr::NonNull};

    fn table() -> IdTable<u64> {
        IdTable::new((0..ON_A_PAGE).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect(), 1)
    }

    /// Makes an object that holds its identifier.
    fn make(table: &IdTable<u64>) -> Option<u64> {
        let reserved = table.reserve()?;
        let id = reserved.id;
        reserved.fill(NonNull::from(Box::leak(Box::new(id))));
        Some(id)
    }

    fn unmake(table: &IdTable<u64>, id: u64) {
        let object = table.get(id as usize).expect("it is there");
        table.vacate(id as usize);
        // SAFETY: it was boxed by `make`, and no other thread looks at it.
        assert_eq!(*unsafe { Box::from_raw(object.as_ptr()) }, id);
    }

    #[test]
    fn identifiers_in_a_row_have_slots_on_different_lines_of_a_page() {
        for first in (0..4 * ON_A_PAGE).step_by(64) {
            let lines: BTreeSet<usize> = (first..first + 64).map(|id| spread(id) / 8).collect();
            assert_eq!(lines.len(), 64);
        }
        let slots: BTreeSet<usize> = (0..4 * ON_A_PAGE).map(spread).collect();
        assert_eq!(slots.len(), 4 * ON_A_PAGE, "a slot for each");
        assert!((0..4 * ON_A_PAGE).all(|id| spread(id) / ON_A_PAGE == id / ON_A_PAGE));
    }

    #[test]
    fn a_full_table_says_so_and_takes_the_next_one_when_one_has_gone() {
        let table = table();
        let ids: Vec<u64> = std::iter::from_fn(|| make(&table)).collect();
        assert_eq!(ids, (0..ON_A_PAGE as u64).collect::<Vec<u64>>());
        assert_eq!(table.count(), table.capacity());
        unmake(&table, 77);
        assert_eq!((table.get(77), table.count()), (None, ON_A_PAGE - 1));
        let again = make(&table).expect("room for one");
        assert!(again > 77 && again as usize % ON_A_PAGE == 77);
        assert!(table.reserve().is_none());
        ids.into_iter().filter(|id| *id != 77).chain([again]).for_each(|id| unmake(&table, id));
        assert_eq!(table.count(), 0);
    }

    #[test]
    fn a_reserved_slot_is_not_found_and_is_free_again() {
        let table = table();
        let reserved = table.reserve().expect("room");
        assert_eq!((table.get(0), table.objects().count(), table.count()), (None, 0, 1));
        drop(reserved);
        assert_eq!((table.settled(0..ON_A_PAGE).count(), table.count()), (0, 0));
    }

    #[test]
    fn the_next_identifier_can_be_chosen() {
        let table = table();
        assert_eq!(table.reached(), 0);
        assert_eq!((make(&table), table.next_id()), (Some(0), 1));
        assert_eq!(table.reached(), ON_A_PAGE);
        table.set_next_id(1000);
        let reserved = table.reserve().expect("room");
        assert_eq!((reserved.born, reserved.id), (1, 1000), "the identifiers of a new era");
        drop(reserved);
        unmake(&table, 0);
    }

    /// Threads that make objects and take them away, in a table that is almost full: each is found by its identifier until it goes.
    #[cfg(not(feature = "single"))]
    #[test]
    fn many_threads_make_objects_and_each_has_its_own() {
        const ROUNDS: usize = if cfg!(miri) { 30 } else { 20_000 };
        let (table, made) = (table(), AtomicUsize::new(0));
        let old: Vec<u64> = (0..ON_A_PAGE - 8).filter_map(|_| make(&table)).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let ids = [make(&table), make(&table)].map(|id| id.expect("eight at most"));
                        assert!(ids[0] < ids[1]);
                        ids.into_iter().for_each(|id| unmake(&table, id));
                        made.fetch_add(2, Relaxed);
                    }
                });
            }
            scope.spawn(|| (0..ROUNDS).for_each(|_| assert!(table.count() <= table.capacity())));
        });
        assert_eq!((made.load(Relaxed), table.count()), (8 * ROUNDS, old.len()));
        old.into_iter().for_each(|id| unmake(&table, id));
    }
}

/// Caught when tried: Relaxed for the Acquire of `Slot::read` and of `is_claimed`, for the Release of `fill` and of `empty`; `comes` without its
/// fence, `ShardedTally::now` without its own; a slot that is emptied before who goes is counted. ID3 is judged in [`crate::snapshots`].
#[cfg(all(test, loom))]
mod loom_tests {
    use super::IdTable;
    use crate::{atomic::AtomicPtr, cell::UnsafeCell};
    use loom::thread;
    use std::ptr::{NonNull, null_mut};
    use std::sync::Arc;

    /// Written by the thread that makes it, read by the others.
    struct Object(UnsafeCell<u64>);

    struct Objects {
        table: IdTable<Object>,
        /// One for each slot: whoever has reserved the slot makes it anew.
        memory: Vec<Object>,
    }

    // SAFETY: the table orders the accesses to the objects, and loom checks that it does.
    unsafe impl Sync for Objects {}
    // SAFETY: as above.
    unsafe impl Send for Objects {}

    impl Objects {
        fn new(slots: usize) -> Arc<Self> {
            let table = IdTable::new((0..slots).map(|_| AtomicPtr::new(null_mut())).collect(), 1);
            Arc::new(Objects { table, memory: (0..slots).map(|_| Object(UnsafeCell::new(u64::MAX))).collect() })
        }

        fn make(&self) -> Option<u64> {
            let reserved = self.table.reserve()?;
            let (id, object) = (reserved.id, &self.memory[reserved.id as usize % self.memory.len()]);
            // SAFETY: ID1: the slot, and with it this object, is the thread's own.
            object.0.with_mut(|value| unsafe { *value = id });
            reserved.fill(NonNull::from(object));
            Some(id)
        }

        fn read(object: NonNull<Object>) -> u64 {
            // SAFETY: objects live as long as the table, and nobody writes to one that is in its slot.
            unsafe { object.as_ref() }.0.with(|value| unsafe { *value })
        }

        fn find(&self, low_bits: usize) -> Option<u64> {
            self.table.get(low_bits).map(Self::read)
        }
    }

    fn bounded(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(preemptions);
        builder.check(model);
    }

    #[test]
    fn loom_who_finds_an_object_finds_it_made() {
        bounded(3, || {
            let objects = Objects::new(2);
            let maker = {
                let objects = objects.clone();
                thread::spawn(move || objects.make())
            };
            let mine = objects.make();
            assert_ne!(mine, None);
            for slot in 0..2 {
                assert!(objects.find(slot).is_none_or(|id| id == slot as u64));
            }
            assert_ne!(maker.join().unwrap(), mine);
            assert_eq!(objects.table.count(), 2);
        });
    }

    /// Two threads take the one slot in turn, or find the table full: what one has done to the object the next one has seen.
    #[test]
    fn loom_a_slot_belongs_to_one_at_a_time() {
        bounded(2, || {
            let objects = Objects::new(1);
            let use_it = |objects: &Objects| {
                let Some(id) = objects.make() else { return false };
                assert_eq!(objects.find(0), Some(id));
                objects.table.vacate(0);
                true
            };
            let other = {
                let objects = objects.clone();
                thread::spawn(move || use_it(&objects))
            };
            let mine = use_it(&objects);
            assert!(other.join().unwrap() || mine);
            assert_eq!(objects.table.count(), 0);
        });
    }

    /// ID4: two objects one after the other in the one slot, made by one thread or by two, are never counted together.
    #[test]
    fn loom_the_count_is_never_too_high() {
        for threads in 1..=2 {
            bounded(2, move || {
                let objects = Objects::new(1);
                let users: Vec<_> = (0..threads)
                    .map(|_| {
                        let objects = objects.clone();
                        thread::spawn(move || (threads..=2).for_each(|_| drop(objects.table.reserve())))
                    })
                    .collect();
                assert!(objects.table.count() <= 1);
                users.into_iter().for_each(|user| user.join().unwrap());
            });
        }
    }
}
