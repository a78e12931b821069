//! The allocator's first arena, a mapping of this module's: small pages while the process is small, huge ones while it is not.
//!
//! Transparent huge pages save faults and misses of the TLB where memory is used, and waste most of what they take where it is
//! not: the allocator keeps runs of blocks for each thread and size, and of most no more than the beginning is ever used. A node
//! without work is three times as large with them. So the arena begins with small pages. Whenever [`STEP`] bytes of it have
//! been handed to the allocator, [`look`] asks how much memory the process has of its own, and from [`LARGE`] on advises huge
//! pages: what is touched first from then on has them, the rest when the system finds time (`khugepaged`). Left out are stretches that the allocator
//! has begun and of which little is used, such as those of a fresh VM: they would be filled, 26 MB in a node with 15,000 idle connections, which have 66 MB.
//! When as many bytes have gone back, or free memory was given back by an idle thread, it takes the advice back if no more than [`SMALL`] is left.
//!
//! What counts is what is resident, not what the allocator has taken: an idle node takes 90 MB and touches 12.
//!
//! Any further arenas are the allocator's own, with huge pages from the start: a process that has them is large. Large
//! heaps are mappings with huge pages of their own (`myriad_heap::block`). What goes back to the system with what the allocator gives back is
//! said in [`slices`](crate::slices).
//!
//! AR1. Nothing here allocates: it runs within the allocator.
//! AR2. One thread at a time looks and advises, so the advice is that of [`HUGE`].

use crate::slices::{STRETCH, Slices};
use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Bytes that are handed out or taken back between two looks.
const STEP: usize = 1 << 20;
/// A process with this number of bytes of its own is large: an idle one has 12 MB, with 64 schedulers 17.
const LARGE: usize = 32 << 20;
/// One that was large is not so any longer when it has no more than these.
const SMALL: usize = 24 << 20;
/// What arenas are aligned to and multiples of (`MI_ARENA_MIN_SIZE`); a multiple of a huge page, too.
const UNIT: usize = 32 << 20;

/// The most bytes that the arena can have. (The allocator can have no larger one than 14 GB: what it keeps about slices must fit 32 MB.)
pub const MOST: usize = 8 << 30;

/// The size of a huge page.
const PAGE: usize = STRETCH;
/// The most of the system's pages that one has.
const MOST_PARTS: usize = PAGE >> 12;

/// Where the arena is, and its size; set before there is a second thread, and before the allocator has it.
static START: AtomicUsize = AtomicUsize::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(0);
/// Where what was handed out ends, as far as that was noted: while the advice says small pages.
static TOP: AtomicUsize = AtomicUsize::new(0);
/// What of it the allocator has.
static SLICES: Slices<{ MOST / STRETCH }> = Slices::new();
/// Does the advice say huge pages?
static HUGE: AtomicBool = AtomicBool::new(false);
/// Bytes handed out or taken back since the last look.
static MOVED: AtomicUsize = AtomicUsize::new(0);
/// Is a thread looking at the moment?
static LOOKING: AtomicBool = AtomicBool::new(false);

/// `mi_commit_fun_t`
type Commit = unsafe extern "C" fn(come: bool, at: *mut c_void, bytes: usize, zero: *mut bool, of: *mut c_void) -> bool;

unsafe extern "C" {
    fn mi_process_init();
    fn mi_manage_memory(
        start: *mut c_void,
        size: usize,
        committed: bool,
        pinned: bool,
        zero: bool,
        numa_node: c_int,
        exclusive: bool,
        commit: Commit,
        of: *mut c_void,
        id: *mut *mut c_void,
    ) -> bool;
}

/// Gives the allocator its first arena, of `bytes` bytes rounded to whole units, [`MOST`] at most; `false`: there is no room for it. Without one it
/// makes its own.
///
/// Called before there is a second thread.
pub fn make(bytes: usize) -> bool {
    let bytes = (bytes.min(MOST) / UNIT).max(1) * UNIT;
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a new mapping; what of it lies before and behind the aligned part is given back, and the part is the allocator's
    // for good, which asks `commit` for it.
    unsafe {
        let all = libc::mmap(ptr::null_mut(), bytes + UNIT, access, kind, -1, 0);
        if all == libc::MAP_FAILED {
            return false;
        }
        let before = (all as usize).next_multiple_of(UNIT) - all as usize;
        let start = all.byte_add(before);
        if before > 0 {
            libc::munmap(all, before);
        }
        if before < UNIT {
            libc::munmap(start.byte_add(bytes), UNIT - before);
        }
        // Where the system gives huge pages unasked.
        libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE);
        START.store(start as usize, Relaxed);
        SIZE.store(bytes, Relaxed);
        mi_process_init();
        mi_manage_memory(start, bytes, false, false, true, -1, false, commit, ptr::null_mut(), ptr::null_mut())
    }
}

/// The allocator takes a part of the arena, or gives it back.
///
/// # Safety
/// What is given back is not used any more.
unsafe extern "C" fn commit(come: bool, at: *mut c_void, bytes: usize, zero: *mut bool, _: *mut c_void) -> bool {
    // Relaxed: set before there was a second thread.
    let start = START.load(Relaxed);
    let part = at as usize - start..at as usize - start + bytes;
    if come {
        SLICES.hand_out(part);
    } else {
        SLICES.take_back(part, |all| {
            // SAFETY: the caller promises that the part is not used any more; what else there is is nobody's, and stays so meanwhile (myriad.slices/SC2).
            unsafe { libc::madvise((start + all.start) as *mut c_void, all.len(), libc::MADV_DONTNEED) };
        });
    }
    if come && !zero.is_null() {
        // Parts of it may be in use before, so it need not be zero.
        // SAFETY: what the allocator wants to know.
        unsafe { zero.write(false) };
    }
    // Relaxed: guesses of where and when to look, and numbers that do not change.
    if come && !HUGE.load(Relaxed) {
        TOP.fetch_max(at as usize + bytes, Relaxed);
    }
    if come != HUGE.load(Relaxed) && MOVED.fetch_add(bytes, Relaxed) + bytes >= STEP {
        look();
    }
    true
}

/// Sees to it that the advice is right for the memory that the process has now.
#[cold]
pub fn look() {
    // Acquire: pairs with the Release below, so that advice follows advice as it was given (AR2).
    if LOOKING.swap(true, Acquire) {
        return;
    }
    MOVED.store(0, Relaxed);
    let huge = HUGE.load(Relaxed);
    if let Some(bytes) = own_bytes()
        && wants_huge(huge, bytes) != huge
    {
        let (start, size) = (START.load(Relaxed), SIZE.load(Relaxed));
        if huge {
            advise(start, size, libc::MADV_NOHUGEPAGE);
            TOP.store(0, Relaxed);
        } else {
            advise_huge(start, size, TOP.load(Relaxed));
        }
        HUGE.store(!huge, Relaxed);
    }
    LOOKING.store(false, Release);
}

/// Advises huge pages for what will be handed out first, beyond `top`, and before that where they fill little.
fn advise_huge(start: usize, size: usize, top: usize) {
    let begun = top.saturating_sub(start).next_multiple_of(PAGE).min(size);
    for at in (start..start + begun).step_by(PAGE).filter(|at| is_mostly_used(*at)) {
        advise(at, PAGE, libc::MADV_HUGEPAGE);
    }
    advise(start + begun, size - begun, libc::MADV_HUGEPAGE);
}

/// Are three quarters of this stretch, of the size of a huge page, resident?
fn is_mostly_used(at: usize) -> bool {
    let mut parts = [0_u8; MOST_PARTS];
    // SAFETY: a question about the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Some(number) = usize::try_from(page).ok().and_then(|page| PAGE.checked_div(page)) else { return false };
    let Some(parts) = parts.get_mut(..number) else { return false };
    // SAFETY: a question about memory, of which there is a byte of room for each page.
    let known = unsafe { libc::mincore(at as *mut c_void, PAGE, parts.as_mut_ptr()) } == 0;
    known && parts.iter().filter(|part| **part & 1 == 1).count() >= number / 4 * 3
}

/// Advises the system about memory of the arena's.
fn advise(at: usize, bytes: usize, advice: c_int) {
    // SAFETY: the arena's own memory; advice changes nothing of what it holds. A system without huge pages refuses.
    unsafe { libc::madvise(at as *mut c_void, bytes, advice) };
}

/// Are huge pages right for a process with `bytes` of its own, where they are in use so far or not (`are`)?
fn wants_huge(are: bool, bytes: usize) -> bool {
    if are { bytes > SMALL } else { bytes >= LARGE }
}

/// Memory of this process that is no file's; nothing where the system does not tell.
fn own_bytes() -> Option<usize> {
    let mut text = [0; 128];
    // SAFETY: a file of the system's, read into `text`.
    let read = unsafe {
        let file = libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        read
    };
    // SAFETY: a question about the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    own_pages(text.get(..usize::try_from(read).ok()?)?)?.checked_mul(usize::try_from(page).ok()?)
}

/// The pages that a text `size resident shared ...` tells.
fn own_pages(statm: &[u8]) -> Option<usize> {
    let mut words = statm.split(u8::is_ascii_whitespace).map(|word| str::from_utf8(word).ok()?.parse::<usize>().ok());
    let (_, resident, shared) = (words.next()??, words.next()??, words.next()??);
    Some(resident.saturating_sub(shared))
}

#[cfg(test)]
mod tests {
    use super::{LARGE, PAGE, SMALL, is_mostly_used, own_bytes, own_pages, wants_huge};

    #[test]
    fn large_processes_have_huge_pages() {
        assert!(!wants_huge(false, 0));
        assert!(!wants_huge(false, LARGE - 1));
        assert!(wants_huge(false, LARGE));
        assert!(wants_huge(true, LARGE - 1));
        assert!(wants_huge(true, SMALL + 1));
        assert!(!wants_huge(true, SMALL));
    }

    #[test]
    fn what_is_hardly_used_keeps_small_pages() {
        let bytes = 3 * PAGE;
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping of the test's own, which it writes to within its bounds.
        let start = unsafe {
            let all = libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0);
            assert_ne!(all, libc::MAP_FAILED);
            let start = (all as usize).next_multiple_of(PAGE);
            libc::madvise(all, bytes, libc::MADV_NOHUGEPAGE);
            std::ptr::write_bytes(start as *mut u8, 1, PAGE / 5 * 4);
            std::ptr::write_bytes((start + PAGE) as *mut u8, 1, PAGE / 5 * 3);
            start
        };
        assert!(is_mostly_used(start));
        assert!(!is_mostly_used(start + PAGE));
    }

    #[test]
    fn what_the_system_tells() {
        assert_eq!(own_pages(b"20000 4000 1500 1200 0 9000 0\n"), Some(2500));
        assert_eq!(own_pages(b"1 2 3"), Some(0));
        for text in [&b""[..], b"\n", b"1 2", b"1 2 ", b"1 x 3 4", b"1 -2 3 4", b"\xff 2 3"] {
            assert_eq!(own_pages(text), None, "{text:?}");
        }
        assert!(own_bytes().is_some_and(|bytes| bytes > 0));
    }
}
