//! Fragments: memory of one message, one spawn's arguments, or what did not fit a heap's block.
//!
//! A fragment is a chain of chunks, most often one of the exact size. It travels with a signal and ends by joining the
//! heap of the receiver ([`Heap::attach`]), whose next collection copies what is alive and frees the chunks; or it is
//! dropped, which gives back the counts of its off-heap objects. The first chunk has room for what a message needs beside its
//! words, so that a message is one block ([`Message`](crate::Message)).
//!
//! [`Heap::attach`]: crate::Heap::attach

use crate::account::Class;
use crate::block;
use crate::bundle;
use crate::queue_link::QueueLink;
use myriad_term::{OffHeap, Term};
use std::ptr::{self, NonNull};

/// Words of a chunk's own header.
const HEADER: usize = size_of::<Chunk>() / 8;
/// Least words of a chunk that is added because the first was full.
const LEAST: usize = 61;

/// A block with a header, in a chain. Of a fragment's chain the first one stays the first.
#[repr(C)]
pub(crate) struct Chunk {
    /// For queues of messages and other signals.
    pub(crate) link: QueueLink,
    pub(crate) next: *mut Chunk,
    pub(crate) top: *mut u64,
    /// The counted objects of the whole fragment, in its first chunk.
    pub(crate) off_heap: OffHeap,
    /// Of a message: the term.
    pub(crate) term: Term,
    /// Of a message: the token.
    pub(crate) token: Term,
}

/// One line of the cache.
const _: () = assert!(size_of::<Chunk>() == 64);

impl Chunk {
    /// A fresh chunk of at least `words` words.
    #[inline]
    pub(crate) fn take(words: usize) -> *mut Chunk {
        if words <= QueueLink::LARGEST_EXACT - HEADER {
            Chunk::take_block(words + HEADER)
        } else {
            Chunk::take_large(words)
        }
    }

    #[cold]
    #[inline(never)]
    fn take_large(words: usize) -> *mut Chunk {
        let Some(words) = words.checked_add(HEADER).and_then(QueueLink::block_size) else {
            block::out_of_memory(words, Class::Fragment)
        };
        Chunk::take_block(words)
    }

    #[inline(always)]
    fn take_block(words: usize) -> *mut Chunk {
        let (block, account) = block::take(words, Class::Fragment);
        let chunk = block.cast::<Chunk>();
        // SAFETY: a fresh block that begins with room for the header.
        unsafe {
            chunk.write(Chunk {
                link: QueueLink::of_block(words, account),
                next: ptr::null_mut(),
                top: block.add(HEADER),
                off_heap: OffHeap::new(),
                term: Term::NONE,
                token: Term::NONE,
            });
        }
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
        // SAFETY: the caller promises that the chunk is live.
        unsafe {
            debug_assert!(Self::holds_top(this), "the top of the chunk at {this:?} is outside it");
            ((*this).top as usize - Self::start(this) as usize) / 8
        }
    }

    /// Is the top a word of the chunk, or its end?
    ///
    /// # Safety
    /// `this` is a live chunk.
    unsafe fn holds_top(this: *mut Chunk) -> bool {
        // SAFETY: the caller promises that the chunk is live.
        unsafe {
            let end = this.cast::<u64>().wrapping_add((*this).link.block_words());
            (*this).top.is_aligned() && (Self::start(this)..=end).contains(&(*this).top)
        }
    }

    /// Words not in use.
    ///
    /// # Safety
    /// `this` is a live chunk.
    pub(crate) unsafe fn free(this: *mut Chunk) -> usize {
        // SAFETY: the caller promises that the chunk is live.
        unsafe { (*this).link.block_words() - ((*this).top as usize - this as usize) / 8 }
    }

    /// Frees one chunk.
    ///
    /// # Safety
    /// It is live, in no chain, and no reference to its words is left.
    #[inline]
    pub(crate) unsafe fn give(this: *mut Chunk) {
        // SAFETY: the caller's promise; read before the block goes.
        unsafe {
            debug_assert!(!(*this).link.is_shared(), "MB2: a block is freed that a heap and a message both have");
            let (words, account) = ((*this).link.block_words(), (*this).link.account());
            block::give_of(this.cast(), words, Class::Fragment, account);
        }
    }

    /// Frees a chain of chunks; a block that is still held as a message becomes the message's alone, without words (heap/MB2).
    ///
    /// # Safety
    /// The chunks are live, and no reference to their words is left.
    pub(crate) unsafe fn give_all(mut this: *mut Chunk) {
        while !this.is_null() {
            // SAFETY: the caller's promise; read before the block goes.
            unsafe {
                let next = (*this).next;
                debug_assert!(
                    (*this).off_heap.first.is_null(),
                    "H5: a chunk is freed with objects that count something"
                );
                if (*this).link.take_shared() {
                    (*this).next = ptr::null_mut();
                    (*this).top = Self::start(this);
                    this = next;
                    continue;
                }
                Self::give(this);
                this = next;
            }
        }
    }
}

/// Memory of one message.
#[repr(transparent)]
pub struct Fragment {
    /// The first chunk, or null.
    chunks: *mut Chunk,
}

// SAFETY: a fragment owns its chunks and the counts in its chain.
unsafe impl Send for Fragment {}
// SAFETY: who borrows a fragment reads its words, which only its owner writes.
unsafe impl Sync for Fragment {}

impl Fragment {
    /// A fragment without memory.
    #[inline]
    pub const fn new() -> Fragment {
        Fragment { chunks: ptr::null_mut() }
    }

    /// A fragment with room for `words` (none is taken for 0).
    #[inline]
    pub fn with_capacity(words: usize) -> Fragment {
        let chunks = if words == 0 { ptr::null_mut() } else { Chunk::take(words) };
        Fragment { chunks }
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

    /// Words of the bundles that it holds, wholly, beyond those of its own objects for that.
    pub(crate) fn bundle_words(&self) -> usize {
        if self.chunks.is_null() || !bundle::in_use() {
            return 0;
        }
        // SAFETY: the fragment's own chunk, and its chain (heap/H5).
        unsafe { bundle::words_held_in(&(*self.chunks).off_heap) }
    }

    /// Words that objects take, if they lie in one chunk and none of them is counted: [`Message::absorb`] may move them then.
    ///
    /// [`Message::absorb`]: crate::Message::absorb
    #[inline]
    pub fn movable_words(&self) -> Option<usize> {
        self.movable().map(|(_, words)| words)
    }

    /// The same, and where they begin.
    #[inline]
    pub(crate) fn movable(&self) -> Option<(*mut u64, usize)> {
        if self.chunks.is_null() {
            return None;
        }
        // SAFETY: the fragment's own chunk.
        unsafe {
            let movable = (*self.chunks).off_heap.first.is_null() && (*self.chunks).next.is_null();
            movable.then(|| (Chunk::start(self.chunks), Chunk::used(self.chunks)))
        }
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

    /// Takes all chunks and the chain out: the caller owns them now.
    pub(crate) fn into_parts(self) -> (*mut Chunk, OffHeap) {
        let this = std::mem::ManuallyDrop::new(self).chunks;
        if this.is_null() {
            return (this, OffHeap::new());
        }
        // SAFETY: the fragment's own chunk.
        let chain = unsafe { std::mem::replace(&mut (*this).off_heap, OffHeap::new()) };
        (this, chain)
    }

    /// A fragment of whole chunks and a whole chain, which it owns.
    pub(crate) fn from_parts(chunks: *mut Chunk, off_heap: OffHeap) -> Fragment {
        debug_assert!(off_heap.first.is_null() || !chunks.is_null(), "H5: a chain of objects that lie in no chunk");
        let mut fragment = Fragment { chunks };
        if !off_heap.first.is_null() {
            debug_assert!(fragment.off_heap().first.is_null(), "H5: a second chain for the same chunks");
            *fragment.off_heap() = off_heap;
        }
        fragment
    }

    /// The chain of its counted objects (term.boxed/B3).
    pub(crate) fn off_heap(&mut self) -> &mut OffHeap {
        let first = self.first();
        // SAFETY: the fragment's own chunk, borrowed with it.
        unsafe { &mut (*first).off_heap }
    }

    /// The first chunk, made if there is none.
    fn first(&mut self) -> *mut Chunk {
        if self.chunks.is_null() {
            self.chunks = Chunk::take(0);
        }
        self.chunks
    }

    /// The fragment of a first chunk.
    pub(crate) fn of_first(chunk: NonNull<Chunk>) -> Fragment {
        Fragment { chunks: chunk.as_ptr() }
    }

    /// Hands the first chunk over, made if there is none.
    pub(crate) fn into_first(mut self) -> NonNull<Chunk> {
        let first = self.first();
        std::mem::forget(self);
        // SAFETY: `first` never gives null.
        unsafe { NonNull::new_unchecked(first) }
    }

    /// The chunk that may have room: the newest, which is behind the first.
    #[inline]
    fn newest(&self) -> *mut Chunk {
        // SAFETY: the fragment's own chunk, which the caller has seen.
        let behind = unsafe { (*self.chunks).next };
        if behind.is_null() { self.chunks } else { behind }
    }

    /// Room for `words` words (term/A1, term/A2).
    #[inline]
    pub(crate) fn alloc(&mut self, words: usize) -> NonNull<u64> {
        // SAFETY: `chunks` is null or the fragment's own chunk; what `grow` gives has the room.
        unsafe {
            let mut chunk = if self.chunks.is_null() { self.chunks } else { self.newest() };
            if chunk.is_null() || Chunk::free(chunk) < words {
                chunk = self.grow(words);
            }
            debug_assert!(
                !(*self.chunks).link.is_joined(),
                "MB1: an object is made in a fragment that belongs to a heap"
            );
            debug_assert!(words <= Chunk::free(chunk), "a chunk that was added for {words} words has no room for them");
            let at = (*chunk).top;
            (*chunk).top = at.add(words);
            NonNull::new_unchecked(at)
        }
    }

    /// A new chunk with room for `words`.
    #[cold]
    fn grow(&mut self, words: usize) -> *mut Chunk {
        if self.chunks.is_null() {
            self.chunks = Chunk::take(words.max(LEAST));
            return self.chunks;
        }
        // SAFETY: the fragment's own chunks.
        unsafe {
            let chunk = Chunk::take(words.max((Chunk::used(self.newest()) * 2).clamp(LEAST, 1 << 16)));
            (*chunk).next = (*self.chunks).next;
            (*self.chunks).next = chunk;
            chunk
        }
    }
}

impl Default for Fragment {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Fragment {
    fn drop(&mut self) {
        if self.chunks.is_null() {
            return;
        }
        // SAFETY: never attached, so its objects die with it; the counts go before the memory.
        unsafe {
            debug_assert!(!(*self.chunks).link.is_joined(), "MB1: a fragment is freed whose words belong to a heap");
            (*self.chunks).off_heap.release_all();
            Chunk::give_all(self.chunks);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Payload;
    use myriad_term::{Build, SharedBinary, Term};

    #[test]
    fn grows_without_moving() {
        let payload = Payload::build(4, |draft| (0..1000).fold(Term::NIL, |list, i| draft.cons(Term::small(i), list)));
        assert_eq!(payload.words(), 2000);
        assert!(payload.term().list_iter().zip((0..1000).rev()).all(|(t, i)| t.as_small() == Some(i)));
    }

    #[test]
    fn what_settles_moves_to_the_block_or_joins_the_heap() {
        let mut heap = crate::Heap::new(&crate::Settings::default());
        let small = || Payload::build(4, |draft| draft.list(&[Term::small(1), Term::OK]));
        assert_eq!(small().settle(&mut heap).list_length(), Some(2));
        assert_eq!((heap.used_words(), heap.info().mbuf_size), (4, 0));
        let large = Payload::build(4, |draft| (0..1000).fold(Term::NIL, |list, i| draft.cons(Term::small(i), list)));
        assert_eq!(large.settle(&mut heap).list_length(), Some(1000));
        assert_eq!(heap.info().mbuf_size, 2000, "the block has no room");
        let shared = SharedBinary::from_bytes(&[0; 100]);
        assert!(Payload::build(0, |draft| draft.shared_binary(shared.clone())).settle(&mut heap).is_bitstring());
        assert_eq!(shared.references(), 2, "it is counted, and stays where it is");
        drop(heap);
        assert_eq!(shared.references(), 1);
    }

    #[test]
    fn drop_gives_counts_back() {
        let shared = SharedBinary::from_bytes(&[0; 100]);
        let payload = Payload::build(0, |draft| {
            draft.shared_binary(shared.clone());
            draft.shared_binary(shared.clone())
        });
        assert_eq!(shared.references(), 3);
        drop(payload);
        assert_eq!(shared.references(), 1);
    }
}
