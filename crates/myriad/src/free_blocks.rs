//! Gives the system the memory of large free blocks that lie beside blocks in use.
//!
//! The allocator cuts blocks of one size from a run of slices: of 16 KB to 512 KB from runs of 512 KB and 4 MB. A run goes back to the system when
//! none of its blocks is in use; one heap of a process that stays keeps up to 4 MB. So an idle thread has what is free of its own runs dropped,
//! but for the word that each free block begins with.
//!
//! FB1. What is free of a thread's own runs stays so while that thread is here: it alone allocates of them. Others may give blocks back meanwhile;
//!      those count as in use.
//! FB2. Of a free block the allocator reads the first word alone. (That free blocks are zero, where it believes so, stays true.)

use std::ffi::c_void;
use std::ops::Range;

/// The smallest blocks that are looked at: smaller ones have too little beside the page that their first word keeps.
const SMALLEST: usize = 16 << 10;

/// `mi_heap_area_t`: a run of slices.
#[repr(C)]
struct Run {
    blocks: *mut u8,
    reserved: usize,
    committed: usize,
    used: usize,
    block_size: usize,
    full_block_size: usize,
    /// The allocator's own record.
    page: *mut c_void,
}

/// Called for each run, without a block, or for each block in use of one; says whether to go on.
type Visitor = unsafe extern "C" fn(
    heap: *const c_void,
    run: *const Run,
    block: *mut u8,
    block_size: usize,
    argument: *mut c_void,
) -> bool;

unsafe extern "C" {
    fn mi_theap_get_default() -> *mut c_void;
    fn mi_theap_visit_blocks(heap: *const c_void, blocks: bool, visitor: Visitor, argument: *mut c_void) -> bool;
    /// (Not part of the allocator's interface, but asked for each run it leaves out those of small blocks, whose lists of free blocks are long.)
    fn _mi_theap_area_visit_blocks(run: *const Run, page: *mut c_void, visitor: Visitor, argument: *mut c_void)
    -> bool;
}

/// How far a run has been looked at.
struct Look {
    /// The block after the last one in use.
    next: usize,
    /// Bytes from one block to the next.
    step: usize,
    /// The size of the system's pages.
    page: usize,
}

impl Look {
    /// What can be dropped of the free blocks before an address.
    fn free_until(&self, end: usize) -> impl Iterator<Item = Range<usize>> {
        let (step, page) = (self.step, self.page);
        (self.next..end).step_by(step).filter_map(move |block| {
            let inner = (block + size_of::<usize>()).next_multiple_of(page)..(block + step) / page * page;
            (!inner.is_empty()).then_some(inner)
        })
    }

    /// Drops the free blocks before an address.
    ///
    /// # Safety
    /// They are free, of a run of the calling thread's (FB1).
    unsafe fn drop_until(&self, end: usize) {
        for inner in self.free_until(end) {
            // SAFETY: the caller's promise (FB2).
            unsafe { libc::madvise(inner.start as *mut c_void, inner.len(), libc::MADV_DONTNEED) };
        }
    }
}

/// Of a run.
unsafe extern "C" fn look(_: *const c_void, run: *const Run, _: *mut u8, _: usize, page: *mut c_void) -> bool {
    // SAFETY: the allocator's description of a run, and the page's size that `give_back` names; for as long as the call.
    unsafe {
        let (run_at, run, page) = (run, &*run, *page.cast::<usize>());
        if run.full_block_size >= SMALLEST {
            let mut look = Look { next: run.blocks.addr(), step: run.full_block_size, page };
            _mi_theap_area_visit_blocks(run_at, run.page, pass, (&raw mut look).cast());
            look.drop_until(run.blocks.addr() + run.reserved);
        }
    }
    true
}

/// Of a block in use: blocks come in the order of their addresses.
unsafe extern "C" fn pass(_: *const c_void, _: *const Run, block: *mut u8, _: usize, of: *mut c_void) -> bool {
    // SAFETY: that of `look`, for as long as the call; between the last block in use and this one all are free.
    unsafe {
        let look = &mut *of.cast::<Look>();
        look.drop_until(block.addr());
        look.next = block.addr() + look.step;
    }
    true
}

/// Drops what is free of the calling thread's runs of large blocks.
pub fn give_back() {
    // SAFETY: a question about the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Some(mut page) = usize::try_from(page).ok().filter(|page| *page > 0) else { return };
    // SAFETY: the calling thread's own blocks; nothing is allocated meanwhile.
    unsafe { mi_theap_visit_blocks(mi_theap_get_default(), false, look, (&raw mut page).cast()) };
}

#[cfg(test)]
mod tests {
    use super::{Look, SMALLEST, give_back};

    #[test]
    fn the_first_word_of_a_free_block_stays() {
        let free = |next: usize, step: usize, end: usize| {
            let look = Look { next, step, page: 0x1000 };
            look.free_until(end).map(|bytes| (bytes.start, bytes.end)).collect::<Vec<_>>()
        };
        assert_eq!(free(0x10000, 0x5000, 0x10000), []);
        assert_eq!(free(0x10000, 0x5000, 0x1a000), [(0x11000, 0x15000), (0x16000, 0x1a000)]);
        assert_eq!(free(0x10ff9, 0x5010, 0x10ff9 + 0x5010), [(0x12000, 0x16000)]);
        assert_eq!(free(0x10ff0, 0x1800, 0x127f0), [(0x11000, 0x12000)]);
    }

    #[test]
    fn blocks_in_use_keep_what_they_hold_and_free_ones_are_used_again() {
        for size in [SMALLEST, 3 * SMALLEST + 8, 200_000, 400_000] {
            let mut blocks: Vec<Vec<u8>> = (0..40).map(|number| vec![number; size]).collect();
            blocks.retain(|block| block[0] % 3 == 0);
            give_back();
            let more: Vec<Vec<u8>> = (0..40).map(|number| vec![number + 100; size]).collect();
            let kept = blocks.iter().zip((0..).step_by(3)).chain(more.iter().zip(100..));
            kept.for_each(|(block, number)| assert!(block.iter().all(|byte| *byte == number)));
            let zeroed = vec![0_u8; size];
            assert!(zeroed.iter().all(|byte| *byte == 0));
        }
    }
}
