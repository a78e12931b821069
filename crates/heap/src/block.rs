//! Raw blocks of words.
//!
//! From the global allocator, which keeps small blocks warm per thread and gives large ones back to the system.

use crate::account::Class;
use std::alloc::{Layout, alloc, dealloc};

/// Stops the VM: the system has no memory left.
#[cold]
pub(crate) fn out_of_memory(words: usize) -> ! {
    myriad_term::memory::exhausted("eheap", "heap", words.saturating_mul(8))
}

fn layout(words: usize) -> Layout {
    match Layout::array::<u64>(words.max(1)) {
        Ok(layout) => layout,
        Err(_) => out_of_memory(words),
    }
}

/// A fresh block, uninitialised.
pub(crate) fn take(words: usize, class: Class) -> *mut u64 {
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc(layout(words)) }.cast::<u64>();
    if block.is_null() {
        out_of_memory(words);
    }
    class.grow(words);
    block
}

/// Gives a block back; null is no block.
///
/// # Safety
/// The block came from [`take`] with the same size and class, and nobody looks at it any more.
pub(crate) unsafe fn give(block: *mut u64, words: usize, class: Class) {
    if !block.is_null() {
        class.shrink(words);
        // SAFETY: the caller's promise.
        unsafe { dealloc(block.cast(), layout(words)) };
    }
}
