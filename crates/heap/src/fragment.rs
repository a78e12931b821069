//! Fragments: memory of one message, one spawn's arguments, or what did not fit a heap's block.
//!
//! A fragment is a chain of chunks, most often one of the exact size. It travels with a signal and ends by joining the
//! heap of the receiver ([`Heap::attach`]), whose next collection copies what is alive and frees the chunks; or it is
//! dropped, which gives back the counts of its off-heap objects.
//!
//! [`Heap::attach`]: crate::Heap::attach

use crate::account::Class;
use crate::block;
use myriad_term::{Alloc, OffHeap};
use std::ptr::{self, NonNull};

/// Words of a chunk's own header.
const HEADER: usize = 3;
/// Least words of a chunk that is added because the first was full.
const LEAST: usize = 61;

/// A block with a header, in a chain.
#[repr(C)]
pub(crate) struct Chunk {
    pub(crate) next: *mut Chunk,
    pub(crate) top: *mut u64,
    pub(crate) end: *mut u64,
}

impl Chunk {
    /// A fresh chunk of `words` words.
    pub(crate) fn take(words: usize) -> *mut Chunk {
        let block = block::take(HEADER + words, Class::Fragment);
        let chunk = block.cast::<Chunk>();
        // SAFETY: a fresh block that begins with room for the header.
        unsafe { chunk.write(Chunk { next: ptr::null_mut(), top: block.add(HEADER), end: block.add(HEADER + words) }) };
        chunk
    }

    /// First word after the header.
    pub(crate) fn start(this: *mut Chunk) -> *mut u64 {
        this.cast::<u64>().wrapping_add(HEADER)
    }

    /// Words in use.
    ///
    /// # Safety
    /// `this` is a live chunk.
    pub(crate) unsafe fn used(this: *mut Chunk) -> usize {
        // SAFETY: the caller's promise.
        unsafe { ((*this).top as usize - Self::start(this) as usize) / 8 }
    }

    /// Words not in use.
    ///
    /// # Safety
    /// `this` is a live chunk.
    pub(crate) unsafe fn free(this: *mut Chunk) -> usize {
        // SAFETY: the caller's promise.
        unsafe { ((*this).end as usize - (*this).top as usize) / 8 }
    }

    /// Frees a chain of chunks.
    ///
    /// # Safety
    /// The chunks are live and nobody looks at their words any more.
    pub(crate) unsafe fn give_all(mut this: *mut Chunk) {
        while !this.is_null() {
            // SAFETY: the caller's promise; read before the block goes.
            unsafe {
                let next = (*this).next;
                let words = ((*this).end as usize - this as usize) / 8;
                block::give(this.cast(), words, Class::Fragment);
                this = next;
            }
        }
    }
}

/// Memory of one message.
pub struct Fragment {
    chunks: *mut Chunk,
    off_heap: OffHeap,
}

// SAFETY: a fragment owns its chunks and the counts in its chain.
unsafe impl Send for Fragment {}

impl Fragment {
    /// A fragment without memory.
    #[inline]
    pub const fn new() -> Fragment {
        Fragment { chunks: ptr::null_mut(), off_heap: OffHeap::new() }
    }

    /// A fragment with room for `words` (none is taken for 0).
    #[inline]
    pub fn with_capacity(words: usize) -> Fragment {
        let chunks = if words == 0 { ptr::null_mut() } else { Chunk::take(words) };
        Fragment { chunks, off_heap: OffHeap::new() }
    }

    /// Holds no object?
    pub fn is_empty(&self) -> bool {
        self.used_words() == 0
    }

    /// Words that objects take.
    pub fn used_words(&self) -> usize {
        let (mut sum, mut chunk) = (0, self.chunks);
        while !chunk.is_null() {
            // SAFETY: the fragment's own chunks.
            unsafe {
                sum += Chunk::used(chunk);
                chunk = (*chunk).next;
            }
        }
        sum
    }

    /// Words that objects take, if they lie in one chunk and none of them is counted: [`Heap::absorb`] may move them then.
    ///
    /// [`Heap::absorb`]: crate::Heap::absorb
    #[inline]
    pub fn movable_words(&self) -> Option<usize> {
        if self.chunks.is_null() || !self.off_heap.first.is_null() {
            return None;
        }
        // SAFETY: the fragment's own chunk.
        unsafe { (*self.chunks).next.is_null().then(|| Chunk::used(self.chunks)) }
    }

    /// The memory that holds objects, as (start, end).
    pub(crate) fn areas(&self) -> Vec<(*mut u64, *mut u64)> {
        let (mut areas, mut chunk) = (Vec::new(), self.chunks);
        while !chunk.is_null() {
            // SAFETY: the fragment's own chunk.
            unsafe {
                areas.push((Chunk::start(chunk), (*chunk).top));
                chunk = (*chunk).next;
            }
        }
        areas
    }

    /// Where the objects of the first chunk begin.
    pub(crate) fn start(&self) -> *mut u64 {
        Chunk::start(self.chunks)
    }

    /// Takes all chunks and the chain out: the caller owns them now.
    pub(crate) fn into_parts(self) -> (*mut Chunk, OffHeap) {
        let this = std::mem::ManuallyDrop::new(self);
        (this.chunks, OffHeap { first: this.off_heap.first, binary_words: this.off_heap.binary_words })
    }

    /// A fragment of whole chunks and a whole chain, which it owns.
    pub(crate) fn from_parts(chunks: *mut Chunk, off_heap: OffHeap) -> Fragment {
        Fragment { chunks, off_heap }
    }

    #[cold]
    fn grow(&mut self, words: usize) {
        // SAFETY: the fragment's own chunk, if any.
        let last = if self.chunks.is_null() { 0 } else { unsafe { Chunk::used(self.chunks) } };
        let chunk = Chunk::take(words.max((last * 2).clamp(LEAST, 1 << 16)));
        // SAFETY: a fresh chunk.
        unsafe { (*chunk).next = self.chunks };
        self.chunks = chunk;
    }
}

impl Default for Fragment {
    fn default() -> Self {
        Self::new()
    }
}

impl Alloc for Fragment {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        // SAFETY: `chunks` is null or the fragment's own chunk; after `grow` it has the room.
        unsafe {
            if self.chunks.is_null() || Chunk::free(self.chunks) < words {
                self.grow(words);
            }
            let at = (*self.chunks).top;
            (*self.chunks).top = at.add(words);
            NonNull::new_unchecked(at)
        }
    }

    fn off_heap(&mut self) -> &mut OffHeap {
        &mut self.off_heap
    }
}

impl Drop for Fragment {
    fn drop(&mut self) {
        // SAFETY: never attached, so its objects die with it; the counts go before the memory.
        unsafe {
            self.off_heap.release_all();
            Chunk::give_all(self.chunks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::{Build, SharedBinary, Term};

    #[test]
    fn grows_without_moving() {
        let mut fragment = Fragment::with_capacity(4);
        let mut list = Term::NIL;
        for i in 0..1000 {
            list = fragment.cons(Term::small(i), list);
        }
        assert_eq!(fragment.used_words(), 2000);
        assert!(list.list_iter().zip((0..1000).rev()).all(|(t, i)| t.as_small() == Some(i)));
    }

    #[test]
    fn drop_gives_counts_back() {
        let shared = SharedBinary::from_bytes(&[0; 100]);
        let mut fragment = Fragment::new();
        fragment.shared_binary(shared.clone());
        fragment.shared_binary(shared.clone());
        assert_eq!(shared.references(), 3);
        drop(fragment);
        assert_eq!(shared.references(), 1);
    }
}
