//! Raw blocks of words.
//!
//! Most come from the global allocator, which keeps them warm per thread. Large blocks of heaps are mappings of their own: their
//! memory goes back to the system at once, and what is never touched costs nothing. (Fragments are not: a large message is
//! written whole and lives shortly, and then fresh pages cost more than the copy.)
//!
//! Each block is on the account of the thread that took it (`account.rs`). What keeps a block notes whose that is, and names it on giving back.

use crate::account::Class;
use crate::one_heap;
use crate::young_blocks;
use myriad_sync::Account;
use myriad_term::memory::{self, Demand, Purpose};
use std::alloc::{Layout, alloc, dealloc};

/// Words from which on a heap block is a mapping: 4 MB. (Small in tests, so that they meet both.)
pub(crate) const MAPPED: usize = if cfg!(test) { 2048 } else { 512 * 1024 };
/// Words of a page.
const PAGE_WORDS: usize = 512;

/// What OTP calls the memory of such blocks.
const fn purpose(class: Class) -> Purpose {
    match class {
        Class::Process => Purpose("eheap", "heap"),
        Class::Fragment => Purpose("eheap", "heap_frag"),
        Class::Bundle => Purpose("eheap", "message"),
        Class::Literal => Purpose("literal", "literal"),
    }
}

/// Stops the VM: the system has no memory left.
#[cold]
#[inline(never)]
pub(crate) fn out_of_memory(words: usize, class: Class) -> ! {
    memory::exhausted(purpose(class), words.saturating_mul(8))
}

/// Stops the VM if the system has no memory for `words` words.
pub(crate) fn require(words: usize, class: Class) {
    memory::require(purpose(class), Demand::new(words.saturating_mul(8)));
}

/// The same for words that take the place of others.
pub(crate) fn require_for(words: usize, class: Class, plan: Move) {
    let [bytes, copied, freed] = [words, plan.copied, plan.freed].map(|words| words.saturating_mul(8));
    memory::require(purpose(class), Demand::replacing(bytes, copied, freed));
}

#[inline]
fn layout(words: usize, class: Class) -> Layout {
    Layout::array::<u64>(words.max(1)).unwrap_or_else(|_| out_of_memory(words, class))
}

/// A block from the global allocator: each message takes one, so what only large ones need is out of line.
#[inline]
fn allocate(words: usize, class: Class) -> *mut u64 {
    let layout = layout(words, class);
    if layout.size() >= memory::NAMED {
        return allocate_named(layout, class);
    }
    // SAFETY: the layout is not empty.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        out_of_memory(words, class);
    }
    block.cast()
}

#[cold]
#[inline(never)]
fn allocate_named(layout: Layout, class: Class) -> *mut u64 {
    // SAFETY: the layout is not empty.
    unsafe { memory::allocate(layout, purpose(class)) }.cast().as_ptr()
}

fn is_mapped(words: usize, class: Class) -> bool {
    words >= MAPPED && class == Class::Process
}

/// Is a block of this class one that the one heap keeps for its young memory?
#[inline(always)]
fn is_young(class: Class) -> bool {
    class == Class::Process && one_heap::is_on()
}

/// What a block is taken for.
#[derive(Clone, Copy)]
pub(crate) struct Move {
    /// Words that will surely be written to it before anything is given back.
    pub(crate) copied: usize,
    /// Words that are given back then.
    pub(crate) freed: usize,
}

/// A fresh block, uninitialised, and the account that it is on: the calling thread's.
#[inline]
pub(crate) fn take(words: usize, class: Class) -> (*mut u64, Account) {
    take_all(words, class, Move { copied: words, freed: 0 })
}

/// A fresh block, uninitialised, that takes the place of others; on the calling thread's account.
#[inline]
pub(crate) fn take_for(words: usize, class: Class, plan: Move) -> *mut u64 {
    take_all(words, class, plan).0
}

#[inline]
fn take_all(words: usize, class: Class, plan: Move) -> (*mut u64, Account) {
    debug_assert!(words > 0, "a block without words");
    debug_assert!(plan.copied <= words, "more is to be copied to a block than it has room for");
    let kept = if is_young(class) { young_blocks::take(words) } else { None };
    let block =
        kept.unwrap_or_else(|| if is_mapped(words, class) { map(words, class, plan) } else { allocate(words, class) });
    (block, class.ledger().come(words))
}

#[cold]
fn map(words: usize, class: Class, plan: Move) -> *mut u64 {
    require_for(words, class, plan);
    let block = system::map(words);
    if block.is_null() { out_of_memory(words, class) } else { block }
}

/// Gives a block back that is on the calling thread's account; null is no block.
///
/// # Safety
/// The block came from [`take`] with the same size and class, and no reference to it is left.
pub(crate) unsafe fn give(block: *mut u64, words: usize, class: Class) {
    // SAFETY: the caller's promise.
    unsafe { give_of(block, words, class, Account::own()) };
}

/// As [`give`], of a block on any account.
///
/// # Safety
/// As for [`give`].
#[inline]
pub(crate) unsafe fn give_of(block: *mut u64, words: usize, class: Class, account: Account) {
    if block.is_null() {
        return;
    }
    debug_assert!(
        !is_mapped(words, class) || system::begins_mapping(block),
        "a block of {words} words came from the allocator: it is given back with another size than it was taken with"
    );
    class.ledger().go(account, words);
    // SAFETY: the caller promises that the block came from `take` with this size and class, and is not used any more.
    unsafe {
        if !is_young(class) || !young_blocks::keep(block, words, account) {
            free(block, words, class);
        }
    }
}

/// The system or the allocator has a block back that is on no account.
///
/// # Safety
/// As for [`give`].
pub(crate) unsafe fn free(block: *mut u64, words: usize, class: Class) {
    // SAFETY: the caller's promise.
    unsafe {
        if is_mapped(words, class) {
            system::unmap(block, words);
        } else {
            dealloc(block.cast(), layout(words, class));
        }
    }
}

/// Gives the end of a block back that is on the calling thread's account, so that at least `keep` words stay; gives the words that it has then.
///
/// # Safety
/// As for [`give`], of the words from `keep` on.
pub(crate) unsafe fn truncate(block: *mut u64, words: usize, keep: usize, class: Class) -> usize {
    debug_assert!(keep <= words, "a block is cut beyond its end");
    let keep = keep.max(MAPPED).next_multiple_of(PAGE_WORDS);
    if keep >= words || !is_mapped(words, class) || !system::CUTS {
        return words;
    }
    class.ledger().resize(Account::own(), words, keep);
    // SAFETY: a mapping (`words > MAPPED`) stays one; both borders are page borders, or the end.
    unsafe { system::unmap(block.add(keep), words - keep) };
    keep
}

#[cfg(not(miri))]
mod system {
    //! Mappings.

    /// Can the end of a mapping go alone?
    pub(super) const CUTS: bool = true;

    /// A new mapping, or null.
    pub(super) fn map(words: usize) -> *mut u64 {
        let Some(bytes) = words.checked_mul(8) else { return std::ptr::null_mut() };
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, where the system likes it; the advice concerns nothing else.
        unsafe {
            let at = libc::mmap(std::ptr::null_mut(), bytes, access, kind | libc::MAP_NORESERVE, -1, 0);
            if at == libc::MAP_FAILED {
                return std::ptr::null_mut();
            }
            // Large pages: one fault where there would be hundreds. A system without them refuses, which does no harm.
            libc::madvise(at, bytes, libc::MADV_HUGEPAGE);
            at.cast()
        }
    }

    /// May a mapping begin here?
    pub(super) fn begins_mapping(block: *mut u64) -> bool {
        block.addr().is_multiple_of(super::PAGE_WORDS * 8)
    }

    /// Gives a mapping, or the end of one, back.
    ///
    /// # Safety
    /// It came from [`map`], and no reference to it is left.
    pub(super) unsafe fn unmap(block: *mut u64, words: usize) {
        // SAFETY: the caller promises that the words came from `map`, and that no reference to them is left.
        unsafe { libc::munmap(block.cast(), words * 8) };
    }
}

#[cfg(miri)]
mod system {
    //! The interpreter has no mappings: blocks of its allocator stand for them.

    use super::{Class, layout};

    pub(super) const CUTS: bool = false;

    pub(super) fn map(words: usize) -> *mut u64 {
        // SAFETY: the layout is not empty.
        unsafe { std::alloc::alloc(layout(words, Class::Process)) }.cast()
    }

    pub(super) fn begins_mapping(_: *mut u64) -> bool {
        true
    }

    pub(super) unsafe fn unmap(block: *mut u64, words: usize) {
        // SAFETY: the caller promises that the block came from `map` above, so from the allocator with this layout.
        unsafe { std::alloc::dealloc(block.cast(), layout(words, Class::Process)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_blocks_are_cut() {
        let words = 8 * MAPPED + 7;
        let (block, _) = take(words, Class::Process);
        // SAFETY: the block's own words; given back once.
        unsafe {
            block.add(words - 1).write(1);
            block.add(MAPPED).write(2);
            let left = truncate(block, words, MAPPED + 1, Class::Process);
            assert!(left < words || cfg!(miri));
            assert_eq!(*block.add(MAPPED), 2);
            assert_eq!(truncate(block, left, left, Class::Process), left);
            give(block, left, Class::Process);
            let (small, _) = take(10, Class::Process);
            assert_eq!(truncate(small, 10, 1, Class::Process), 10);
            give(small, 10, Class::Process);
        }
    }
}
