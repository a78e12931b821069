//! The allocator: a heap for each simulated core, as each thread of a real machine has one. With one heap for all, blocks of different cores
//! would share cache lines, and a core would be given what another one has just freed.

use crate::machine::MOST_CORES;
use libmimalloc_sys as mi;
use myriad_sync::cost;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// Of each core of the run.
    static HEAPS: [Cell<*mut mi::mi_heap_t>; MOST_CORES] = const { [const { Cell::new(ptr::null_mut()) }; MOST_CORES] };
}

/// The memory of this program: of each simulated core, and of what no core does.
pub struct CoreHeaps;

/// Makes the heaps of so many cores, or of all that can be, before one of them runs.
///
/// mimalloc 3 finds a thread's part of a heap in an array of the thread's. Each time that this grows, up to 64 bytes behind its old end are
/// left as they were in the new one (`mi_rezalloc` of a block that was larger than what had been asked for), and may look like a part. So
/// the heap with the highest number is used first, which makes the array as long as it ever becomes.
pub fn prepare(cores: usize) {
    let cores = cores.min(MOST_CORES);
    HEAPS.with(|heaps| {
        for heap in heaps.iter().take(cores).filter(|heap| heap.get().is_null()) {
            // SAFETY: it asks for nothing.
            heap.set(unsafe { mi::mi_heap_new() });
        }
        let last = heaps[cores - 1].get();
        if !last.is_null() {
            // SAFETY: the heap is never deleted, and the block is freed once; freeing nothing is allowed.
            unsafe { mi::mi_free(mi::mi_heap_malloc(last, size_of::<usize>())) };
        }
    });
}

/// The heap of the core that runs; `None`: no core does, or there was no memory for one.
fn own_heap() -> Option<*mut mi::mi_heap_t> {
    let core = cost::core()?;
    Some(HEAPS.with(|heaps| heaps[core].get())).filter(|heap| !heap.is_null())
}

// SAFETY: every block is mimalloc's, with the size and alignment that was asked for, and mimalloc knows which heap a block is of.
unsafe impl GlobalAlloc for CoreHeaps {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = match own_heap() {
            // SAFETY: the heap is never deleted.
            Some(heap) => unsafe { mi::mi_heap_malloc_aligned(heap, layout.size(), layout.align()) },
            // SAFETY: any size and any power of two may be asked for.
            None => unsafe { mi::mi_malloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = match own_heap() {
            // SAFETY: the heap is never deleted.
            Some(heap) => unsafe { mi::mi_heap_zalloc_aligned(heap, layout.size(), layout.align()) },
            // SAFETY: any size and any power of two may be asked for.
            None => unsafe { mi::mi_zalloc_aligned(layout.size(), layout.align()) },
        };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller promises that the block is of this allocator and used no more.
        unsafe { mi::mi_free(block.cast()) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let block = match own_heap() {
            // SAFETY: the heap is never deleted; the caller promises that the block is of this allocator and has this layout.
            Some(heap) => unsafe { mi::mi_heap_realloc_aligned(heap, block.cast(), size, layout.align()) },
            // SAFETY: as above.
            None => unsafe { mi::mi_realloc_aligned(block.cast(), size, layout.align()) },
        };
        block.cast()
    }
}
