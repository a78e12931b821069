//! The allocator: a heap for each simulated core, as each thread of a real machine has one. With one heap for all, blocks of different cores
//! would share cache lines, and a core would be given what another one has just freed.

use crate::machine::MOST_CORES;
use libmimalloc_sys as mi;
use myriad_sync::cost;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

thread_local! {
    /// Made when a core first asks for memory.
    static HEAPS: [Cell<*mut mi::mi_heap_t>; MOST_CORES] = const { [const { Cell::new(ptr::null_mut()) }; MOST_CORES] };
}

/// The memory of this program: of each simulated core, and of what no core does.
pub struct CoreHeaps;

/// The heap of the core that runs; `None`: no core does.
fn own_heap() -> Option<*mut mi::mi_heap_t> {
    let core = cost::core()?;
    let made = HEAPS.with(|heaps| {
        let heap = &heaps[core];
        if heap.get().is_null() {
            // SAFETY: it asks for nothing.
            heap.set(unsafe { mi::mi_heap_new() });
        }
        heap.get()
    });
    Some(made).filter(|heap| !heap.is_null())
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
