//! The global allocator: mimalloc behind magazines of small blocks, and behind the question whether a large block can be had, with an end of the VM
//! as OTP's where it cannot (`myriad_term::memory`).

use crate::magazines;
use mimalloc::MiMalloc;
use myriad_term::memory::{self, Demand};
use std::alloc::{GlobalAlloc, Layout};

/// Is it a block of the magazines' module, rather than an aligned one of mimalloc's? Who frees a block says the layout that it was taken with.
#[inline(always)]
const fn is_plain(layout: Layout) -> bool {
    layout.align() <= align_of::<usize>()
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

// SAFETY: every block is mimalloc's, with room for the layout that was asked for; where there is none the answer is null, as the contract
// has it. What is called besides allocates little, so it does not come back here without end, and does not unwind.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        answer("allocate", layout, Demand::new(layout.size()), || {
            if is_plain(layout) {
                return magazines::take(layout.size());
            }
            // SAFETY: the caller's promise.
            unsafe { MiMalloc.alloc(layout) }
        })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        answer("allocate", layout, Demand::new(layout.size()), || {
            if is_plain(layout) {
                return magazines::take_zeroed(layout.size());
            }
            // SAFETY: the caller promises a layout that is not empty, as mimalloc asks for.
            unsafe { MiMalloc.alloc_zeroed(layout) }
        })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let old = layout.size();
        let demand = Demand::replacing(size, old.min(size), old);
        // SAFETY: the alignment is that of a layout, and the caller promises a size that goes with it.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        answer("reallocate", new, demand, || {
            if is_plain(layout) {
                // SAFETY: the caller promises that the block came from this allocator with this layout.
                return unsafe { magazines::resize(block, size) };
            }
            // SAFETY: as above.
            unsafe { MiMalloc.realloc(block, layout, size) }
        })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_plain(layout) {
            // SAFETY: the caller promises that the block came from this allocator with this layout.
            return unsafe { magazines::give(block, layout.size()) };
        }
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(block, layout) };
    }
}
