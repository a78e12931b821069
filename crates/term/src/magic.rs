//! Magic references: references that keep an object of the VM alive (atomics, counters, resources, table ids).
//!
//! A `MagicRef` object holds one count of a [`Magic`], as a shared binary's does of its bytes, and is in its heap's
//! off-heap chain (B3): the collector gives the count back when the object dies.

use crate::alloc::{Alloc, OffHeap};
use crate::binary::SharedBinary;
use crate::boxed::{Boxed, Header, Kind};
use crate::id::RefNumbers;
use crate::word::Term;
use myriad_sync::atomic::{AtomicUsize, Ordering, fence};
use std::any::{Any, TypeId};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// What every counted object begins with.
struct Head {
    references: AtomicUsize,
    /// The type of the value behind.
    type_id: TypeId,
    /// Frees the block, value and all.
    free: unsafe fn(NonNull<Head>),
}

/// A counted object. M1. It begins with its head, whose `type_id` and `free` are those for `T`.
#[repr(C)]
struct Block<T> {
    head: Head,
    value: T,
}

/// Frees a block.
///
/// # Safety
/// It is a `Block<T>` from a `Box`, and nobody uses it any more.
unsafe fn free<T>(head: NonNull<Head>) {
    // SAFETY: the caller's promise; M1.
    drop(unsafe { Box::from_raw(head.cast::<Block<T>>().as_ptr()) });
}

/// A counted object of the VM that terms can refer to; a thin pointer.
pub struct Magic(NonNull<Head>);

// SAFETY: the count is atomic and the value is Send and Sync.
unsafe impl Send for Magic {}
// SAFETY: as above.
unsafe impl Sync for Magic {}

impl Magic {
    /// A new object with one count.
    pub fn new<T: Any + Send + Sync>(value: T) -> Magic {
        let head = Head { references: AtomicUsize::new(1), type_id: TypeId::of::<T>(), free: free::<T> };
        Magic(NonNull::from(Box::leak(Box::new(Block { head, value }))).cast())
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
        // Relaxed: a statistic.
        self.head().references.load(Ordering::Relaxed)
    }

    /// The count as a word for a boxed object; [`Magic::from_raw`] takes it back.
    pub fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).0.as_ptr().cast()
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
        // Relaxed: a new count is made from one that is held, as with Arc.
        self.head().references.fetch_add(1, Ordering::Relaxed);
        Magic(self.0)
    }
}

impl Drop for Magic {
    fn drop(&mut self) {
        // Release: our uses happen before the last holder frees; pairs with the Acquire fence below.
        if self.head().references.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            // SAFETY: the last count; M1.
            unsafe { (self.head().free)(self.0) };
        }
    }
}

impl Boxed {
    /// The object behind a magic reference, without touching the count.
    pub fn magic(self) -> ManuallyDrop<Magic> {
        debug_assert!(self.kind() == Kind::MagicRef);
        // SAFETY: word 2 is what `into_raw` gave; the object keeps its count.
        ManuallyDrop::new(unsafe { Magic::from_raw(self.word(2) as *const ()) })
    }

    /// Gives back the count that an off-heap object holds.
    ///
    /// # Safety
    /// The object is dead: nobody reads it, or gives this count back, again.
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

impl Term {
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
pub fn magic_reference<A: Alloc + ?Sized>(heap: &mut A, numbers: RefNumbers, magic: Magic) -> Term {
    let [low, high] = numbers.to_words();
    let at = heap.alloc(5).as_ptr();
    // SAFETY: five fresh words (A2), then an initialised off-heap object.
    unsafe {
        *at = Header::new(Kind::MagicRef, 4).raw();
        *at.add(1) = low;
        *at.add(2) = high;
        *at.add(3) = magic.into_raw() as u64;
        *at.add(4) = 0;
        heap.off_heap().link(at, 0);
        Term::from_boxed(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    #[test]
    fn counts_come_back() {
        let magic = Magic::new(42u32);
        {
            let mut arena = Arena::new();
            let t = magic_reference(&mut arena, RefNumbers([1, 2, 3]), magic.clone());
            assert_eq!(t.as_magic().and_then(|m| m.get::<u32>().copied()), Some(42));
            assert_eq!(t.as_local_ref(), Some(RefNumbers([1, 2, 3])));
            assert_eq!(magic.references(), 2);
        }
        assert_eq!(magic.references(), 1);
    }

    #[test]
    fn a_value_is_of_its_own_type_and_freed_once() {
        let inside = myriad_sync::Arc::new(());
        let magic = Magic::new((7u8, inside.clone()));
        assert!(magic.get::<u8>().is_none());
        assert_eq!(magic.get::<(u8, myriad_sync::Arc<()>)>().map(|v| v.0), Some(7));
        drop(magic.clone());
        assert_eq!(myriad_sync::Arc::strong_count(&inside), 2);
        drop(magic);
        assert_eq!(myriad_sync::Arc::strong_count(&inside), 1);
    }
}
