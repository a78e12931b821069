//! Address space from the operating system: reserved once, usable page by page.

pub(crate) use system::{commit, decommit, populate, prefer_huge_pages, reserve, reserve_usable, unreserve};

/// Bytes of a huge page.
pub(crate) const HUGE_PAGE: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };

/// The word at a reserved address.
pub(crate) fn pointer(at: usize) -> *mut u64 {
    std::ptr::with_exposed_provenance_mut(at)
}

#[cfg(not(miri))]
mod system {
    use super::HUGE_PAGE;

    fn map(len: usize, access: libc::c_int) -> Option<usize> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, where the system likes it.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
        (at != libc::MAP_FAILED).then_some(at as usize)
    }

    /// Reserves `len` bytes of address space.
    pub(crate) fn reserve(len: usize) -> Option<usize> {
        map(len, libc::PROT_NONE)
    }

    /// The same, of pages that are usable: nobody need [`commit`] them, which would wait for whatever else the system does with the process's memory. `None` too
    /// where writable memory is limited whether it is used or not (`ulimit -d`, strict overcommit).
    pub(crate) fn reserve_usable(len: usize) -> Option<usize> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the call writes to the place it is given, no more.
        let is_known = unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) } == 0;
        let is_limited = !is_known || limit.rlim_cur != libc::RLIM_INFINITY;
        if is_limited { None } else { map(len, libc::PROT_READ | libc::PROT_WRITE) }
    }

    /// Makes reserved pages usable; the caller has reserved them, and nobody uses them yet.
    pub(crate) fn commit(at: usize, len: usize) -> bool {
        // SAFETY: pages of a reserved range that nobody has taken yet.
        unsafe { libc::mprotect(at as *mut libc::c_void, len, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    }

    /// Gives the memory of usable pages back, which nobody uses any more; they stay usable.
    pub(crate) fn decommit(at: usize, len: usize) {
        // SAFETY: pages of a reserved range that nobody uses. If the system refuses, the pages only stay in memory.
        unsafe { libc::madvise(at as *mut libc::c_void, len, libc::MADV_DONTNEED) };
    }

    /// Takes memory for usable pages now, so that who writes them first need not wait. What is in them stays.
    pub(crate) fn populate(at: usize, len: usize) {
        let end = at + len;
        let mut from = at;
        while from < end {
            let to = (from + 1).next_multiple_of(HUGE_PAGE).min(end);
            // SAFETY: pages of a reserved range. A system that does not know the request (before Linux 5.14) refuses it.
            unsafe { libc::madvise(from as *mut libc::c_void, to - from, libc::MADV_POPULATE_WRITE) };
            from = to;
        }
    }

    /// Reserved pages that become usable are to be huge ones, where there are such.
    pub(crate) fn prefer_huge_pages(at: usize, len: usize) {
        // SAFETY: pages of a reserved range; the advice does not change what is there.
        unsafe { libc::madvise(at as *mut libc::c_void, len, libc::MADV_HUGEPAGE) };
    }

    /// Gives a reserved range back.
    ///
    /// # Safety
    /// It came from [`reserve`] with this length, and no reference to it is left.
    pub(crate) unsafe fn unreserve(at: usize, len: usize) {
        // SAFETY: the caller promises that it is a range of its own, and that no reference to it is left.
        unsafe { libc::munmap(at as *mut libc::c_void, len) };
    }
}

#[cfg(miri)]
mod system {
    //! The interpreter has no address space to reserve: blocks of its allocator stand for it.

    use myriad_sync::LockClass;
    use myriad_sync::Mutex;

    struct Block(*mut u8);

    // SAFETY: never used through here.
    unsafe impl Send for Block {}

    static CLASS: LockClass = LockClass::new("reserved_blocks", 952);
    /// The blocks. Their addresses alone, as numbers, would be leaks to the interpreter.
    static RESERVED: Mutex<Vec<Block>> = Mutex::new(&CLASS, Vec::new());

    pub(crate) fn reserve(len: usize) -> Option<usize> {
        let layout = std::alloc::Layout::from_size_align(len, 4096).ok()?;
        // SAFETY: the layout is not empty.
        let block = unsafe { std::alloc::alloc_zeroed(layout) };
        RESERVED.lock().push(Block(block));
        Some(block.expose_provenance())
    }

    pub(crate) fn reserve_usable(len: usize) -> Option<usize> {
        reserve(len)
    }

    pub(crate) fn commit(_: usize, _: usize) -> bool {
        true
    }

    pub(crate) fn decommit(_: usize, _: usize) {}

    pub(crate) fn prefer_huge_pages(_: usize, _: usize) {}

    pub(crate) fn populate(_: usize, _: usize) {}

    pub(crate) unsafe fn unreserve(at: usize, len: usize) {
        let mut blocks = RESERVED.lock();
        if let Some(i) = blocks.iter().position(|block| block.0.addr() == at) {
            let block = blocks.swap_remove(i);
            // SAFETY: the caller promises that the block came from `reserve`, with this length, and is not used any more.
            unsafe { std::alloc::dealloc(block.0, std::alloc::Layout::from_size_align_unchecked(len, 4096)) };
        }
    }
}
