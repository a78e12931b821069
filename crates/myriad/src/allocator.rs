//! The global allocator: mimalloc behind the question whether a large block can be had, and an end of the VM as OTP's where it cannot
//! (`myriad_term::memory`).

use mimalloc::MiMalloc;
use myriad_term::memory::{self, Demand};
use std::alloc::{GlobalAlloc, Layout};

unsafe extern "C" {
    /// The allocator's own function for what needs no more than the usual alignment: the crate's `alloc` always asks about it.
    fn mi_malloc(size: usize) -> *mut u8;
}

/// See above.
pub struct Allocator;

#[inline(always)]
fn answer(verb: &str, layout: Layout, demand: Demand, request: impl FnOnce() -> *mut u8) -> *mut u8 {
    if memory::is_there(demand) {
        let block = request();
        if !block.is_null() {
            return block;
        }
    }
    refuse(verb, layout)
}

#[cold]
#[inline(never)]
fn refuse(verb: &str, layout: Layout) -> *mut u8 {
    memory::refused(verb, layout);
    std::ptr::null_mut()
}

// SAFETY: every block is mimalloc's, with the layout that was asked for; where there is none the answer is null, as the contract
// has it. What is called besides allocates little, so it does not come back here without end, and does not unwind.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        answer("allocate", layout, Demand::new(layout.size()), || {
            if layout.align() <= align_of::<usize>() {
                // SAFETY: mimalloc aligns every block to a word at least.
                return unsafe { mi_malloc(layout.size()) };
            }
            // SAFETY: the caller's promise.
            unsafe { MiMalloc.alloc(layout) }
        })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a layout that is not empty, as mimalloc asks for.
        answer("allocate", layout, Demand::new(layout.size()), || unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let old = layout.size();
        let demand = Demand::replacing(size, old.min(size), old);
        // SAFETY: the alignment is that of a layout, and the caller promises a size that goes with it.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller promises that the block came from this allocator with this layout.
        answer("reallocate", new, demand, || unsafe { MiMalloc.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that the block came from this allocator with this layout.
        unsafe { MiMalloc.dealloc(block, layout) };
    }
}
