//! A bump arena of terms: an [`Alloc`] whose objects all go at once.
//!
//! For terms without a process: tests, command-line tools, terms under construction. Chunks grow geometrically and never
//! move (term/A1). On drop the off-heap chain gives back its counts, then the chunks are freed.
//!
//! R1. A term of an arena borrows it: it is a [`TermRef`](crate::TermRef) of the arena's borrow, so that neither
//!     [`Arena::clear`] nor dropping the arena compiles while one is in use.
//! R2. The arena's cell is looked into for the length of one operation, in which nothing else of the arena runs; one thread
//!     has it.
//!
//! ```compile_fail,E0502
//! use myriad_term::{Arena, Build, Term};
//! let mut arena = Arena::new();
//! let list = (&mut &arena).cons(Term::OK, Term::NIL);
//! arena.clear();
//! assert!(list.is_cons());
//! ```
//!
//! ```compile_fail,E0597
//! use myriad_term::{Arena, Build, Term};
//! let list = {
//!     let arena = Arena::new();
//!     (&mut &arena).cons(Term::OK, Term::NIL)
//! };
//! assert!(list.is_cons());
//! ```

use crate::alloc::{Alloc, OffHeap};
use crate::memory;
use std::alloc::{Layout, dealloc};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

/// Words of the first chunk.
const FIRST_CHUNK: usize = 256;
/// Chunks double up to this many words; larger objects get a chunk of their own size.
const LARGEST_CHUNK: usize = 1 << 20;

/// A bump arena. A reference to it is the [`Alloc`]. Not `Sync` (R2).
pub struct Arena(UnsafeCell<Chunks>);

/// What an arena has.
struct Chunks {
    chunks: Vec<(NonNull<u64>, Layout)>,
    free: NonNull<u64>,
    free_words: usize,
    next_chunk: usize,
    used_words: usize,
    off_heap: OffHeap,
}

impl Arena {
    /// An empty arena, which holds no memory yet.
    pub const fn new() -> Arena {
        Arena(UnsafeCell::new(Chunks {
            chunks: Vec::new(),
            free: NonNull::dangling(),
            free_words: 0,
            next_chunk: FIRST_CHUNK,
            used_words: 0,
            off_heap: OffHeap::new(),
        }))
    }

    /// Words given out so far.
    pub const fn used_words(&self) -> usize {
        // SAFETY: R2.
        unsafe { (*self.0.get()).used_words }
    }

    /// Drops all terms, of which none is in use any more (R1), and keeps a chunk for the next ones.
    #[inline]
    pub fn clear(&mut self) {
        let chunks = self.0.get_mut();
        if chunks.used_words > 0 {
            chunks.drop_terms();
        }
    }
}

impl Chunks {
    #[cold]
    fn drop_terms(&mut self) {
        // SAFETY: the chain holds initialised off-heap objects of this arena (term/B3), which all die now.
        unsafe { self.off_heap.release_all() };
        self.off_heap = OffHeap::new();
        self.used_words = 0;
        // The first chunk: none is smaller.
        for (chunk, layout) in self.chunks.drain(1..) {
            // SAFETY: allocated in `grow` with this layout; R1: no term is looked at any more.
            unsafe { dealloc(chunk.as_ptr().cast(), layout) };
        }
        self.next_chunk = FIRST_CHUNK;
        if let Some((chunk, layout)) = self.chunks.first() {
            (self.free, self.free_words) = (*chunk, layout.size() / 8);
        }
    }

    #[inline]
    fn take(&mut self, words: usize) -> NonNull<u64> {
        if words > self.free_words {
            self.grow(words);
        }
        debug_assert!(words <= self.free_words, "a chunk that was added for {words} words has no room for them");
        let at = self.free;
        // SAFETY: `free_words >= words` words from `free` belong to the last chunk.
        self.free = unsafe { at.add(words) };
        self.free_words -= words;
        self.used_words += words;
        at
    }

    #[cold]
    fn grow(&mut self, words: usize) {
        let size = words.max(self.next_chunk);
        self.next_chunk = (self.next_chunk * 2).min(LARGEST_CHUNK);
        let layout = memory::layout::<u64>(size, memory::TEMPORARY);
        // SAFETY: the size is at least FIRST_CHUNK words, not zero.
        let chunk = unsafe { memory::allocate(layout, memory::TEMPORARY) }.cast::<u64>();
        self.chunks.push((chunk, layout));
        self.free = chunk;
        self.free_words = size;
    }
}

impl<'h> Alloc<'h> for &'h Arena {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        // SAFETY: R2.
        unsafe { (*self.0.get()).take(words) }
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: R2, and the caller's promise about the object.
        unsafe { (*self.0.get()).off_heap.link(header, words) };
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let chunks = self.0.get_mut();
        // SAFETY: the chain holds initialised off-heap objects of this arena (term/B3), which all die now.
        unsafe { chunks.off_heap.release_all() };
        for (chunk, layout) in chunks.chunks.drain(..) {
            // SAFETY: allocated in `grow` with this layout; R1: no term is looked at any more.
            unsafe { dealloc(chunk.as_ptr().cast(), layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Build;
    use crate::binary::SharedBinary;
    use crate::test_terms::many;
    use crate::word::Term;

    #[test]
    fn objects_stay_where_they_are() {
        let mut arena = &Arena::new();
        let length = many(10_000) as i64;
        let mut list = Term::NIL;
        for i in 0..length {
            list = arena.cons(Term::small(i), list);
        }
        let width = many(100_000);
        let big = arena.tuple(&vec![Term::NIL; width]);
        assert_eq!(list.list_length(), Some(length as usize));
        assert!(list.list_iter().zip((0..length).rev()).all(|(t, i)| t.as_small() == Some(i)));
        assert_eq!(big.as_tuple().unwrap().len(), width);
        assert_eq!(arena.used_words(), 2 * length as usize + width + 1);
    }

    #[test]
    fn a_cleared_arena_holds_nothing_and_is_used_again() {
        let shared = SharedBinary::from_bytes(&[7; 100]);
        let mut arena = Arena::new();
        for round in 1..50 {
            let mut heap = &arena;
            heap.shared_binary(shared.clone());
            let tuple = heap.tuple(&vec![Term::small(round); 20 * round as usize]);
            assert!(tuple.as_tuple().unwrap().elements().iter().all(|e| e.as_small() == Some(round)));
            assert_eq!(shared.references(), 2);
            arena.clear();
            assert_eq!((shared.references(), arena.used_words()), (1, 0));
        }
        arena.clear();
    }

    #[test]
    fn binaries_lose_their_count() {
        let shared = SharedBinary::from_bytes(&[7; 100]);
        {
            let mut arena = &Arena::new();
            for _ in 0..3 {
                arena.shared_binary(shared.clone());
            }
            assert_eq!(shared.references(), 4);
        }
        assert_eq!(shared.references(), 1);
    }
}
