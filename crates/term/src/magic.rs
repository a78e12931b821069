//! Magic references: references that keep an object of the VM alive (atomics, counters, resources, table ids).
//!
//! A `MagicRef` object holds one count of a [`Magic`], as a shared binary's does of its bytes, and is in its heap's
//! off-heap chain (term/B3): the collector gives the count back when the object dies.
//!
//! Of a reference that has become bytes or text, the VM keeps the numbers with the object, which they do not keep alive: read
//! again, they are a reference to it as long as another is left.
//!
//! M1. A block begins with its head, whose `type_id` and `free` are those of its value. It comes from a `Box`, or lies in memory of the value's own.
//! M2. An object whose head says that it is kept may be in `KEPT`, by its numbers. A thread that takes an object from there must hold it while
//!     the lock is held; the last holder takes it out before it frees it (sync.count/N2).

use crate::alloc::{Alloc, OffHeap};
use crate::binary::SharedBinary;
use crate::boxed::{Boxed, Header, Kind};
use crate::id::RefNumbers;
use crate::word::{Term, TermRef};
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{Count, LockClass, SpinLock};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// What every counted object begins with.
struct Head {
    holders: Count,
    /// Those of its references.
    numbers: RefNumbers,
    /// Was it ever put into `KEPT`?
    kept: AtomicBool,
    /// The type of the value behind.
    type_id: TypeId,
    /// Frees the block, value and all, or ends a value that does so.
    free: unsafe fn(NonNull<Head>),
}

impl Head {
    fn of<T: Any>(numbers: RefNumbers, free: unsafe fn(NonNull<Head>)) -> Head {
        let (numbers, kept) = (numbers.magic(), AtomicBool::new(false));
        Head { holders: Count::new(), numbers, kept, type_id: TypeId::of::<T>(), free }
    }
}

/// A counted object (M1).
#[repr(C)]
struct Block<T> {
    head: Head,
    value: T,
}

/// A value whose counted object lies in memory of the value's own ([`Magic::place`]).
pub trait Placed: Any + Send + Sync {
    /// Nobody holds the object any more: the value ends, and gives the memory back.
    ///
    /// # Safety
    /// Called once, by the object itself.
    unsafe fn end(this: NonNull<Self>);
}

/// Ends a placed block.
///
/// # Safety
/// It is a `Block<T>` that was placed, and no reference to it is left.
unsafe fn end_placed<T: Placed>(head: NonNull<Head>) {
    // SAFETY: the caller's promise; M1.
    unsafe { T::end(NonNull::from(&mut (*head.cast::<Block<T>>().as_ptr()).value)) };
}

/// Frees a block.
///
/// # Safety
/// It is a `Block<T>` from a `Box`, and no reference to it is left.
unsafe fn free<T>(head: NonNull<Head>) {
    // SAFETY: the caller promises that it is a block from a `Box` without other references; M1.
    drop(unsafe { Box::from_raw(head.cast::<Block<T>>().as_ptr()) });
}

static CLASS: LockClass = LockClass::new("magic_references", 920);

type Hasher = BuildHasherDefault<std::hash::DefaultHasher>;

/// Objects that can be found by the numbers of a reference (M2).
static KEPT: SpinLock<Kept> = SpinLock::new(&CLASS, Kept(HashMap::with_hasher(Hasher::new())));

struct Kept(HashMap<RefNumbers, NonNull<Head>, Hasher>);

// SAFETY: what it names can be held and released from any thread.
unsafe impl Send for Kept {}

/// A counted object of the VM that terms can refer to; a thin pointer.
pub struct Magic(NonNull<Head>);

// SAFETY: the count is atomic and the value is Send and Sync.
unsafe impl Send for Magic {}
// SAFETY: the count is atomic and the value is Send and Sync.
unsafe impl Sync for Magic {}

impl Magic {
    /// A new object with one count, and the numbers of its references: new ones, [marked](RefNumbers::magic) as such.
    pub fn new<T: Any + Send + Sync>(numbers: RefNumbers, value: T) -> Magic {
        let block = Block { head: Head::of::<T>(numbers, free::<T>), value };
        Magic(NonNull::from(Box::leak(Box::new(block))).cast())
    }

    /// The same in memory that the value sees to. Its address is the object's ([`Magic::address`]).
    ///
    /// # Safety
    /// The memory is the caller's, as many words as [`Magic::placed_words`] tells, and stays until the value's end.
    pub unsafe fn place<T: Placed>(at: NonNull<u64>, numbers: RefNumbers, value: T) -> Magic {
        const { assert!(align_of::<Block<T>>() <= align_of::<u64>(), "the memory would have to be aligned") };
        // SAFETY: the caller's promise.
        unsafe { at.cast::<Block<T>>().write(Block { head: Head::of::<T>(numbers, end_placed::<T>), value }) };
        Magic(at.cast())
    }

    /// Words that an object takes where it is placed.
    pub const fn placed_words<T: Placed>() -> usize {
        size_of::<Block<T>>().div_ceil(size_of::<u64>())
    }

    /// Where the object begins.
    #[inline(always)]
    pub fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// The object of a reference that was [kept](Magic::keep), if it is still there.
    pub fn of_reference(numbers: RefNumbers) -> Option<Magic> {
        let kept = KEPT.lock();
        let found = *kept.0.get(&numbers)?;
        // SAFETY: M2.
        unsafe { found.as_ref() }.holders.try_hold().then_some(Magic(found))
    }

    /// A reference to it becomes bytes or text: the numbers shall lead to it.
    pub fn keep(&self) {
        // Relaxed: the thread that has set it has kept the object, under the lock that orders all looks for it.
        if !self.head().kept.load(Ordering::Relaxed) {
            KEPT.lock().0.insert(self.head().numbers, self.0);
            // Relaxed: this holder's release orders it for the last one's look.
            self.head().kept.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: counted: the block lives while this count does; M1.
        unsafe { self.0.as_ref() }
    }

    /// The object, if it is a `T`.
    #[inline]
    pub fn get<T: Any>(&self) -> Option<&T> {
        if self.head().type_id != TypeId::of::<T>() {
            return None;
        }
        // SAFETY: as above; M1: it is a `T`.
        Some(unsafe { &self.0.cast::<Block<T>>().as_ref().value })
    }

    /// How many counts there are (a figure, already old).
    pub fn references(&self) -> usize {
        self.head().holders.get()
    }

    /// The count as a word for a boxed object; [`Magic::from_raw`] takes it back.
    pub fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).0.as_ptr().cast()
    }

    /// The object whose holder gave this word by [`Magic::into_raw`], if it has a holder left.
    ///
    /// # Safety
    /// The object's memory is not freed yet: its value's `Drop`, which the last holder runs first, waits for this call.
    pub unsafe fn try_hold(raw: *const ()) -> Option<Magic> {
        let head = NonNull::new(raw.cast_mut().cast::<Head>())?;
        // SAFETY: the caller's promise; M1.
        unsafe { head.as_ref() }.holders.try_hold().then_some(Magic(head))
    }

    /// Takes back what [`Magic::into_raw`] gave.
    ///
    /// # Safety
    /// `raw` came from `into_raw`, and its count has not been given back yet.
    pub unsafe fn from_raw(raw: *const ()) -> Magic {
        // SAFETY: the caller's promise; never null.
        Magic(unsafe { NonNull::new_unchecked(raw.cast_mut().cast()) })
    }
}

impl Clone for Magic {
    fn clone(&self) -> Self {
        self.head().holders.hold();
        Magic(self.0)
    }
}

/// Nothing leads to the object any more (M2).
#[cold]
fn forget(head: NonNull<Head>) {
    // SAFETY: the object is the last holder's, which has not freed it yet.
    let numbers = unsafe { head.as_ref() }.numbers;
    let mut kept = KEPT.lock();
    // There may be another object of the same numbers: tables make one for each of their references.
    if kept.0.get(&numbers) == Some(&head) {
        kept.0.remove(&numbers);
    }
}

impl Drop for Magic {
    fn drop(&mut self) {
        if self.head().holders.release() {
            // Relaxed: all that others did is done (sync.count/N1).
            if self.head().kept.load(Ordering::Relaxed) {
                forget(self.0);
            }
            // SAFETY: the last count; M1.
            unsafe { (self.head().free)(self.0) };
        }
    }
}

impl Boxed<'_, '_> {
    /// The object behind a magic reference, without touching the count.
    pub fn magic(self) -> ManuallyDrop<Magic> {
        debug_assert!(self.kind() == Kind::MagicRef);
        // SAFETY: word 2 is what `into_raw` gave; the object keeps its count.
        ManuallyDrop::new(unsafe { Magic::from_raw(self.word(2) as *const ()) })
    }

    /// Gives back the count that an off-heap object holds.
    ///
    /// # Safety
    /// The object is dead: it is not read again, and this count not given back again.
    pub unsafe fn release_off_heap(self) {
        // SAFETY: the caller's promise: the word's count is given back once.
        unsafe {
            if self.kind() == Kind::SharedBinary {
                drop(SharedBinary::from_raw(self.word(1) as *const ()));
            } else {
                debug_assert!(self.kind() == Kind::MagicRef);
                drop(Magic::from_raw(self.word(2) as *const ()));
            }
        }
    }
}

impl TermRef<'_> {
    /// The object behind a magic reference; clone it to keep it longer than the term.
    pub fn as_magic(self) -> Option<ManuallyDrop<Magic>> {
        let b = self.as_boxed()?;
        (b.kind() == Kind::MagicRef).then(|| b.magic())
    }
}

impl OffHeap {
    /// Gives back the counts of all objects of the chain and empties it.
    ///
    /// # Safety
    /// The objects are initialised and die now.
    pub unsafe fn release_all(&mut self) {
        let mut at = std::mem::replace(&mut self.first, ptr::null_mut());
        self.binary_words = 0;
        while !at.is_null() {
            // SAFETY: the caller's promise; the link is read before the count goes.
            unsafe {
                let object = Boxed::at(at);
                at = object.off_heap_next();
                object.release_off_heap();
            }
        }
    }
}

/// A magic reference on a heap; takes over one count.
pub fn magic_reference<'h, A: Alloc<'h> + ?Sized>(heap: &mut A, magic: Magic) -> TermRef<'h> {
    let [low, high] = magic.head().numbers.to_words();
    let at = heap.alloc(5).as_ptr();
    // SAFETY: five fresh words (term/A2), then an initialised off-heap object.
    unsafe {
        *at = Header::new(Kind::MagicRef, 4).raw();
        *at.add(1) = low;
        *at.add(2) = high;
        *at.add(3) = magic.into_raw() as u64;
        *at.add(4) = 0;
        heap.link(at, 0);
        Term::from_boxed(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    #[test]
    fn counts_come_back() {
        let magic = Magic::new(RefNumbers([1, 2, 3]), 42u32);
        {
            let mut arena = &Arena::new();
            let t = magic_reference(&mut arena, magic.clone());
            assert_eq!(t.as_magic().and_then(|m| m.get::<u32>().copied()), Some(42));
            assert_eq!(t.as_local_ref(), Some(RefNumbers([1, 2, 3]).magic()));
            assert_eq!(magic.references(), 2);
        }
        assert_eq!(magic.references(), 1);
    }

    #[test]
    fn numbers_lead_to_what_is_kept_and_alive() {
        let numbers = RefNumbers([4, 2, 3]).magic();
        let magic = Magic::new(numbers, 42u32);
        assert!(Magic::of_reference(numbers).is_none());
        magic.keep();
        magic.keep();
        let found = Magic::of_reference(numbers).unwrap();
        assert_eq!((found.get::<u32>(), found.references()), (Some(&42), 2));
        drop(magic);
        // Another of the same numbers takes its place, and the first one's end does not end it.
        let other = Magic::new(numbers, 43u32);
        other.keep();
        drop(found);
        assert_eq!(Magic::of_reference(numbers).unwrap().get(), Some(&43u32));
        drop(other);
        assert!(Magic::of_reference(numbers).is_none());
    }

    #[test]
    fn a_word_holds_what_is_still_held() {
        let magic = Magic::new(RefNumbers([6, 2, 3]), 42u32);
        let raw = magic.clone().into_raw();
        // SAFETY: the word of an object that is held; its count is given back once.
        let (second, first) = unsafe { (Magic::try_hold(raw).unwrap(), Magic::from_raw(raw)) };
        assert_eq!((second.get::<u32>(), magic.references()), (Some(&42), 3));
        drop((first, second));
        assert_eq!(magic.references(), 1);
    }

    #[test]
    fn a_binary_holds_the_object_of_its_bytes() {
        let magic = Magic::new(RefNumbers([7, 2, 3]), *b"some bytes");
        let data = magic.get::<[u8; 10]>().unwrap().as_ptr();
        // SAFETY: the bytes are the object's, which nobody changes.
        let binary = unsafe { SharedBinary::of_object(magic.clone(), data, 10) };
        assert_eq!((binary.bytes(), binary.capacity(), magic.references()), (&b"some bytes"[..], 10, 2));
        drop(binary.clone());
        drop(binary);
        assert_eq!(magic.references(), 1);
    }

    /// A value that tells how often it has ended.
    struct Ends(myriad_sync::Arc<myriad_sync::atomic::AtomicUsize>);

    impl Placed for Ends {
        unsafe fn end(this: NonNull<Self>) {
            // SAFETY: called once, and the memory is a test's, which gives it back itself.
            let Ends(ended) = unsafe { this.read() };
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_placed_object_lies_where_it_was_placed_and_ends_with_its_last_holder() {
        let ended = myriad_sync::Arc::new(myriad_sync::atomic::AtomicUsize::new(0));
        let mut memory = vec![0u64; Magic::placed_words::<Ends>()];
        let at = NonNull::new(memory.as_mut_ptr()).unwrap();
        // SAFETY: the memory has as many words, and stays until the end of the test.
        let magic = unsafe { Magic::place(at, RefNumbers([8, 2, 3]), Ends(ended.clone())) };
        assert!(magic.address() == at.addr().get() && magic.get::<Ends>().is_some() && magic.get::<u8>().is_none());
        drop(magic.clone());
        assert_eq!((ended.load(Ordering::Relaxed), magic.references()), (0, 1));
        drop(magic);
        assert_eq!((ended.load(Ordering::Relaxed), myriad_sync::Arc::strong_count(&ended)), (1, 1));
    }

    #[test]
    fn a_value_is_of_its_own_type_and_freed_once() {
        let inside = myriad_sync::Arc::new(());
        let magic = Magic::new(RefNumbers([5, 2, 3]), (7u8, inside.clone()));
        assert!(magic.get::<u8>().is_none());
        assert_eq!(magic.get::<(u8, myriad_sync::Arc<()>)>().map(|v| v.0), Some(7));
        drop(magic.clone());
        assert_eq!(myriad_sync::Arc::strong_count(&inside), 2);
        drop(magic);
        assert_eq!(myriad_sync::Arc::strong_count(&inside), 1);
    }
}
