//! Where a collection puts what becomes old: the free end of one block, or the gaps of a large old generation (`gaps.rs`).
//!
//! OS1. Who opens one has made sure that all that can come fits (heap.copy/C1): in a block behind its top, in a large generation at its end.

/// A destination of the copying loop, which scans what it has put there.
pub(crate) trait OldSpace {
    /// Room for an object (OS1).
    fn take(&mut self, words: usize) -> *mut u64;

    /// Where the next words are that were put here and are not scanned, from an address to another, if all up to `at` are.
    fn unscanned(&mut self, at: *mut u64) -> Option<(*mut u64, *mut u64)>;
}

/// The free end of a block.
pub(crate) struct Block {
    pub(crate) top: *mut u64,
}

impl OldSpace for Block {
    #[inline(always)]
    fn take(&mut self, words: usize) -> *mut u64 {
        let at = self.top;
        self.top = at.wrapping_add(words);
        at
    }

    #[inline(always)]
    fn unscanned(&mut self, at: *mut u64) -> Option<(*mut u64, *mut u64)> {
        (at < self.top).then_some((at, self.top))
    }
}
