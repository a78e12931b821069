//! Literals: constant terms of modules and persistent terms, shared by all processes and never copied by a collection.
//!
//! All areas lie in one address range that is reserved at first use, so "is this a literal" is one subtraction and one
//! comparison. The range is cut into runs of pages; an area is a list of runs. Pages become usable when an area first takes
//! them, and stay so (one mapping, however the runs come and go); their memory goes back to the system when it is dropped.
//!
//! L1. An area's terms point only into that area or other areas that outlive it.
//! L2. An area is dropped only when no process holds its terms any more (the collector of literals asks each: `Heap::refers_to`,
//!     `Heap::copy_out`; the crate `vm` has the protocol in `literals.rs`).
//! L3. Before the collector of literals asks the first process, it announces what is to go ([`crate::set_going`]), and waits for thread
//!     progress. So a process that has been asked never gets such a literal again: a message gets a copy of it.
//! L4. A bundle counts the areas that its words lead to (`area_count.rs`), for nobody may replace these. From the announcement on none comes to count one, and
//!     processes are asked about an area only when no bundle counts it ([`LiteralArea::is_counted`]).

use crate::account::Class;
use crate::area_count::{self, Known};
use crate::block::{self, out_of_memory};
use crate::reserved;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{Account, LockClass, Mutex, memory};
use myriad_term::{Alloc, OffHeap};
use std::ptr::NonNull;

/// Bytes of a page of the range.
pub(crate) const PAGE: usize = 4096;
/// Words of a page.
const PAGE_WORDS: usize = PAGE / 8;
/// Bytes to ask for, and below which it is not worth trying: where address space is scarce, there is less.
const MOST: usize = if cfg!(miri) { 1 << 20 } else { 64 << 30 };
const LEAST: usize = if cfg!(miri) { 1 << 20 } else { 16 << 20 };

static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static RANGE_CLASS: LockClass = LockClass::new("literal_range", 950);
static RANGE: Mutex<Range> = Mutex::new(&RANGE_CLASS, Range { free: Vec::new(), usable: 0 });

/// The reserved range, as base address and length in bytes; empty before the first literal.
#[inline]
pub(crate) fn range() -> (usize, usize) {
    // Acquire: pairs with the Release in `Range::reserve`, so that base is seen with the length. A thread that holds a
    // literal has synchronised with its maker and sees both.
    let len = LEN.load(Ordering::Acquire);
    // Relaxed: ordered by the load above.
    let base = BASE.load(Ordering::Relaxed);
    debug_assert!(len == 0 || base != 0, "the length of the range of literals is seen, and its base is not");
    (base, len)
}

/// Does this address lie in the range of literals?
#[inline]
pub fn is_literal(at: *const u64) -> bool {
    let (base, len) = range();
    (at as usize).wrapping_sub(base) < len
}

/// The free runs of the range.
struct Range {
    /// Start address and pages, ascending, never adjacent.
    free: Vec<(usize, usize)>,
    /// Addresses of the range below it are usable.
    usable: usize,
}

impl Range {
    #[cold]
    fn reserve(&mut self) {
        debug_assert!(self.usable == 0 && self.free.is_empty(), "the range of literals is reserved twice");
        // Of a limited address space an eighth: the rest is for heaps and stacks of threads.
        let first = (memory::address_space() / 8).clamp(LEAST, MOST) / PAGE * PAGE;
        let lens =
            std::iter::successors(Some(first), |len| Some(len / 2 / PAGE * PAGE)).take_while(|len| *len >= LEAST);
        for len in lens {
            if let Some(base) = reserved::reserve(len) {
                self.free.push((base, len / PAGE));
                self.usable = base;
                area_count::begin(base, len);
                // Relaxed: ordered by the store below.
                BASE.store(base, Ordering::Relaxed);
                // Release: pairs with the Acquire in `range`.
                LEN.store(len, Ordering::Release);
                return;
            }
        }
        out_of_memory(LEAST / 8, Class::Literal)
    }

    fn take(&mut self, pages: usize) -> usize {
        // Relaxed: written under the lock that is held.
        if LEN.load(Ordering::Relaxed) == 0 {
            self.reserve();
        }
        debug_assert!(pages > 0, "a run without pages is taken");
        let words = pages * PAGE_WORDS;
        block::require(words, Class::Literal);
        let Some(i) = self.free.iter().position(|(_, n)| *n >= pages) else { out_of_memory(words, Class::Literal) };
        let (at, n) = self.free[i];
        if n == pages {
            self.free.remove(i);
        } else {
            self.free[i] = (at + pages * PAGE, n - pages);
        }
        let end = at + pages * PAGE;
        if end > self.usable {
            if !reserved::commit(self.usable, end - self.usable) {
                out_of_memory(words, Class::Literal);
            }
            self.usable = end;
        }
        at
    }

    fn give(&mut self, at: usize, pages: usize) {
        let i = self.free.partition_point(|(start, _)| *start < at);
        let end = at + pages * PAGE;
        debug_assert!(end <= self.usable, "pages are given back that nobody took");
        debug_assert!(
            self.free.get(i).is_none_or(|next| end <= next.0),
            "pages are given back twice: free ones follow"
        );
        debug_assert!(
            i == 0 || self.free[i - 1].0 + self.free[i - 1].1 * PAGE <= at,
            "pages are given back twice: the free run before reaches into them"
        );
        self.free.insert(i, (at, pages));
        if i + 1 < self.free.len() && at + pages * PAGE == self.free[i + 1].0 {
            self.free[i].1 += self.free[i + 1].1;
            self.free.remove(i + 1);
        }
        if i > 0 && self.free[i - 1].0 + self.free[i - 1].1 * PAGE == at {
            self.free[i - 1].1 += self.free[i].1;
            self.free.remove(i);
        }
    }
}

/// Words of one run of pages.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: *mut u64,
    words: usize,
}

impl Run {
    fn end(&self) -> *mut u64 {
        self.start.wrapping_add(self.words)
    }
}

/// The literals of one module, or one persistent term.
pub struct LiteralArea {
    runs: Vec<Run>,
    top: *mut u64,
    free_words: usize,
    off_heap: OffHeap,
    /// Made with its first run.
    known: Option<NonNull<Known>>,
    stays: bool,
}

// SAFETY: an area owns its memory; its terms are immutable once published (term/T3).
unsafe impl Send for LiteralArea {}
// SAFETY: as above; shared use only reads.
unsafe impl Sync for LiteralArea {}

impl LiteralArea {
    /// An empty area, which holds no memory yet.
    pub const fn new() -> LiteralArea {
        LiteralArea {
            runs: Vec::new(),
            top: std::ptr::null_mut(),
            free_words: 0,
            off_heap: OffHeap::new(),
            known: None,
            stays: false,
        }
    }

    /// An empty area that is there for ever.
    pub const fn permanent() -> LiteralArea {
        let mut area = LiteralArea::new();
        area.stays = true;
        area
    }

    /// An empty area with room for `words` in one run.
    pub fn with_capacity(words: usize) -> LiteralArea {
        let mut area = LiteralArea::new();
        if words > 0 {
            area.add_run(words);
        }
        area
    }

    #[cold]
    fn add_run(&mut self, words: usize) {
        // Each run is twice as long as the last: few runs an area, little room lost.
        let last = self.runs.last().map_or(0, |run| run.words);
        let pages = words.max((last * 2).min(1 << 17)).div_ceil(PAGE_WORDS);
        let at = {
            let mut range = RANGE.lock();
            Class::Literal.ledger().come_together(pages * PAGE_WORDS);
            range.take(pages)
        };
        let run = Run { start: std::ptr::with_exposed_provenance_mut(at), words: pages * PAGE_WORDS };
        debug_assert!(
            is_literal(run.start) && is_literal(run.end().wrapping_sub(1)),
            "a run outside the range of literals"
        );
        let stays = self.stays;
        let known = *self.known.get_or_insert_with(|| Known::new(stays));
        area_count::set_known(run.start, run.words, known.as_ptr());
        self.runs.push(run);
        self.top = run.start;
        self.free_words = run.words;
    }

    /// Words that the area's pages hold.
    pub fn size_words(&self) -> usize {
        self.runs.iter().map(|run| run.words).sum()
    }

    /// Does a bundle count it (L4)?
    pub fn is_counted(&self) -> bool {
        // SAFETY: the area's own.
        self.known.is_some_and(|known| unsafe { known.as_ref() }.is_counted())
    }

    /// The addresses of the area, to be asked about later.
    pub fn ranges(&self) -> LiteralRanges {
        let mut ranges: Vec<(usize, usize)> =
            self.runs.iter().map(|run| (run.start as usize, run.start as usize + run.words * 8)).collect();
        ranges.sort_unstable();
        let ranges = LiteralRanges { ranges };
        debug_assert!(ranges.lie_apart(), "two runs of an area share addresses");
        ranges
    }
}

impl Default for LiteralArea {
    fn default() -> Self {
        Self::new()
    }
}

impl Alloc<'static> for LiteralArea {
    #[inline]
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        if words > self.free_words {
            self.add_run(words);
        }
        let at = self.top;
        let end = self.runs.last().map_or(at, Run::end);
        debug_assert!(
            at.wrapping_add(self.free_words) == end,
            "the free words of an area do not end with its last run"
        );
        // SAFETY: `free_words >= words` words from `top` belong to the last run.
        self.top = unsafe { at.add(words) };
        self.free_words -= words;
        NonNull::new(at).unwrap_or(NonNull::dangling())
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object.
        unsafe { self.off_heap.link(header, words) };
    }
}

impl Drop for LiteralArea {
    fn drop(&mut self) {
        debug_assert!(!self.is_counted(), "L4: an area goes that bundles count");
        if self.is_counted() {
            // Its memory stays, rather than that a bundle leads nowhere.
            std::mem::take(&mut self.runs);
            return;
        }
        // SAFETY: L2, the objects of the area die now.
        unsafe { self.off_heap.release_all() };
        self.runs.iter().for_each(|run| area_count::set_known(run.start, run.words, std::ptr::null_mut()));
        // SAFETY: the area's own; nobody has a term of the area by which it might be found.
        self.known.take().inspect(|known| unsafe { Known::free(*known) });
        for run in self.runs.drain(..) {
            reserved::decommit(run.start as usize, run.words * 8);
            Class::Literal.ledger().go(Account::SHARED, run.words);
            RANGE.lock().give(run.start as usize, run.words / PAGE_WORDS);
        }
    }
}

/// Where an area lies.
#[derive(Clone, Debug, Default)]
pub struct LiteralRanges {
    /// Start and end addresses, ascending.
    pub(crate) ranges: Vec<(usize, usize)>,
}

impl LiteralRanges {
    /// Does the address lie in the area?
    #[inline]
    pub fn contains(&self, at: *const u64) -> bool {
        let at = at as usize;
        let i = self.ranges.partition_point(|(start, _)| *start <= at);
        i > 0 && at < self.ranges[i - 1].1
    }

    /// The addresses of both.
    pub fn join(&mut self, other: &LiteralRanges) {
        self.ranges.extend_from_slice(&other.ranges);
        self.ranges.sort_unstable();
        debug_assert!(self.lie_apart(), "an area is joined twice, or two areas share addresses");
    }

    /// Does each range end before the next begins?
    pub(crate) fn lie_apart(&self) -> bool {
        self.ranges.iter().all(|range| range.0 < range.1) && self.ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }

    /// No address at all?
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_term::{Build, SharedBinary, Term};

    #[test]
    fn literals_are_known_by_address() {
        let on_stack = [0u64; 2];
        let mut area = LiteralArea::new();
        let list = area.list(&[Term::small(1), Term::small(2)]);
        assert!(is_literal(list.object_ptr()));
        assert!(!is_literal(on_stack.as_ptr()));
        assert!(area.ranges().contains(list.object_ptr()));
        let mut other = LiteralArea::with_capacity(10_000);
        let tuple = other.tuple(&vec![Term::NIL; 9_999]);
        assert!(other.ranges().contains(tuple.object_ptr()) && !area.ranges().contains(tuple.object_ptr()));
        assert_eq!(other.runs.len(), 1);
        let mut both = area.ranges();
        both.join(&other.ranges());
        assert!(
            both.contains(list.object_ptr()) && both.contains(tuple.object_ptr()) && !both.contains(on_stack.as_ptr())
        );
    }

    #[test]
    fn pages_are_used_again() {
        let shared = SharedBinary::from_bytes(&[1; 80]);
        // Each area takes milliseconds under miri, and frees its pages in full: a few show what a thousand do.
        for _ in 0..if cfg!(miri) { 3 } else { 1000 } {
            let mut area = LiteralArea::new();
            for _ in 0..300 {
                area.shared_binary(shared.clone());
            }
            assert!(area.runs.len() < 4);
        }
        assert_eq!(shared.references(), 1);
    }

    #[test]
    fn free_runs_join() {
        let mut range = Range { free: vec![(0x10000, 16)], usable: usize::MAX };
        // The static range is reserved, so that `take` does not reserve for this one.
        drop(LiteralArea::with_capacity(1));
        let (a, b, c) = (range.take(4), range.take(4), range.take(8));
        assert!(range.free.is_empty());
        range.give(a, 4);
        range.give(c, 8);
        assert_eq!(range.free.len(), 2);
        range.give(b, 4);
        assert_eq!(range.free, vec![(0x10000, 16)]);
    }
}
