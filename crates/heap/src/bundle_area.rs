//! The memory of bundles: one reserved address range, so that "does this lie in a bundle" is one subtraction and one comparison.
//!
//! The range is cut into pages, and a page into granules. A small bundle takes some granules of a page whose others hold bundles of the
//! same size; a large one takes pages. One word for each page says which, so that an address within a bundle leads to its beginning.
//!
//! BA1. The word of a page is written before a bundle of it is made, and not changed while there is one. Who looks up an address holds a bundle there.
//! BA2. A place of a page is held by a bundle, or free in [`Free`], or a thread's own: that it may make a bundle in, or has got back and gives back with others. So a thread
//!      takes the lock once for a page of small bundles, and once for [`GIVEN`] that it gives back.
//! BA3. Free pages keep their memory for what comes next: fresh pages cost more than what is written there. Some go back to the system when they were not needed
//!      for a while (`resident.rs`), piece by piece as more becomes free, and all when a scheduler has had nothing to do for long ([`give_back`]); then also the parts of shared pages in which no
//!      bundle lies.

use crate::reserved::{self, HUGE_PAGE};
use crate::resident::{PIECE, Resident};
use crate::shared_page::{GRANULE, GRANULES, PAGE, SharedPage, all_places};
use myriad_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex, OnceLock, memory};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;

/// Words of the largest bundle: larger terms are copied.
pub(crate) const MOST_WORDS: usize = 1 << 30;

/// Granules of the largest bundle that shares its page.
const SMALL: usize = GRANULES / 2;
/// Bytes to ask for, and below which it is not worth trying: where address space is scarce, there is less.
const MOST: usize = if cfg!(miri) { 4 << 20 } else { 32 << 30 };
const LEAST: usize = if cfg!(miri) { 4 << 20 } else { 16 << 20 };
/// Pages that bundles share of which the unused parts are given back at a time.
const AT_ONCE: usize = 64;
/// Small bundles that a thread gives back at a time.
const GIVEN: usize = 32;
/// Added to the number of a large bundle's first page.
const LARGE: u32 = GRANULES as u32;

static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static PAGES: OnceLock<Box<[AtomicU32]>> = OnceLock::new();
static CLASS: LockClass = LockClass::new("bundle_area", 951);
static FREE: Mutex<Free> = Mutex::new(&CLASS, Free::new());

/// A range of addresses.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) base: usize,
    pub(crate) len: usize,
}

impl Range {
    /// It has no addresses.
    pub(crate) const NONE: Range = Range { base: 0, len: 0 };

    #[inline(always)]
    pub(crate) fn holds(self, at: *const u64) -> bool {
        at.addr().wrapping_sub(self.base) < self.len
    }
}

/// The reserved range; empty before the first bundle.
#[inline(always)]
pub(crate) fn range() -> Range {
    // Acquire: pairs with the Release in `reserve`, so that base is seen with the length.
    let len = LEN.load(Ordering::Acquire);
    // Relaxed: ordered by the load above.
    Range { base: BASE.load(Ordering::Relaxed), len }
}

/// Has a bundle ever been made?
#[inline(always)]
pub(crate) fn is_in_use() -> bool {
    // Relaxed: whoever has got a bundle has synchronised with its maker.
    LEN.load(Ordering::Relaxed) != 0
}

/// Where the bundle begins in which an address lies.
///
/// # Safety
/// It lies in a bundle that is held.
pub(crate) unsafe fn start_of(at: *const u64) -> *mut u64 {
    let base = range().base;
    let offset = at.addr() - base;
    let page = offset / PAGE;
    // Relaxed: BA1.
    let word = PAGES.get().and_then(|pages| pages.get(page)).map_or(0, |word| word.load(Ordering::Relaxed));
    debug_assert!(word != 0, "BA1: an address is looked up where no bundle is");
    let start = if word >= LARGE {
        (word - LARGE) as usize * PAGE
    } else {
        let size = word as usize * GRANULE;
        page * PAGE + offset % PAGE / size * size
    };
    std::ptr::with_exposed_provenance_mut(base + start)
}

/// What of the range is free.
struct Free {
    /// Runs of pages: how many by the first one; never adjacent.
    runs: BTreeMap<u32, u32>,
    /// The same: how many, and the first one. The smallest that is large enough is taken, so that the range is used from its beginning on.
    by_len: BTreeSet<(u32, u32)>,
    /// Of each number of granules, the pages with room for a bundle of so many.
    partial: [Vec<u32>; SMALL + 1],
    /// Of each page that small bundles share, up to the last that was ever used.
    shared: Vec<SharedPage>,
    /// Pages below it are usable.
    usable: u32,
    /// Free pages that have memory (BA3).
    resident: Resident,
}

impl Free {
    const fn new() -> Free {
        let partial = [const { Vec::new() }; SMALL + 1];
        Free {
            runs: BTreeMap::new(),
            by_len: BTreeSet::new(),
            partial,
            shared: Vec::new(),
            usable: 0,
            resident: Resident::NONE,
        }
    }

    fn add_run(&mut self, first: u32, pages: u32) {
        self.runs.insert(first, pages);
        self.by_len.insert((pages, first));
    }

    fn remove_run(&mut self, first: u32, pages: u32) {
        self.runs.remove(&first);
        self.by_len.remove(&(pages, first));
    }

    /// Reserves the range. `false`: there is no address space.
    #[cold]
    fn reserve(&mut self) -> bool {
        let first = (memory::address_space() / 16).clamp(LEAST, MOST) / PAGE * PAGE;
        let mut lens =
            std::iter::successors(Some(first), |len| Some(len / 2 / PAGE * PAGE)).take_while(|len| *len >= LEAST);
        let Some((base, len)) = lens.find_map(|len| reserved::reserve(len).map(|base| (base, len))) else {
            return false;
        };
        let pages = len / PAGE;
        // SAFETY: zero is a value of an atomic; what of it is never touched takes no memory.
        PAGES.get_or_init(|| unsafe { Box::new_zeroed_slice(pages).assume_init() });
        self.add_run(0, pages as u32);
        // Relaxed: ordered by the store below.
        BASE.store(base, Ordering::Relaxed);
        // Release: pairs with the Acquire in `range`.
        LEN.store(len, Ordering::Release);
        true
    }

    /// The first page of a run of so many.
    fn take_pages(&mut self, pages: u32) -> Option<u32> {
        // Relaxed: written under the lock that is held.
        if LEN.load(Ordering::Relaxed) == 0 && !self.reserve() {
            return None;
        }
        let (n, first) = *self.by_len.range((pages, 0)..).next()?;
        let end = first + pages;
        if end > self.usable && !self.make_usable(end) {
            return None;
        }
        self.remove_run(first, n);
        if n > pages {
            self.add_run(end, n - pages);
        }
        self.resident.remove(first, pages);
        Some(first)
    }

    /// Pages below `end` become usable, in large steps, as the system is asked under the lock; huge ones where more than one step is used.
    fn make_usable(&mut self, end: u32) -> bool {
        const STEP_PAGES: usize = HUGE_PAGE / PAGE;
        let Range { base, len } = range();
        let (from, end) = (self.usable as usize, (end as usize).next_multiple_of(STEP_PAGES).min(len / PAGE));
        let (at, bytes) = (base + from * PAGE, (end - from) * PAGE);
        if !reserved::commit(at, bytes) {
            return false;
        }
        if from > 0 {
            reserved::prefer_huge_pages(at, bytes);
        }
        self.usable = end as u32;
        true
    }

    fn give_pages(&mut self, first: u32, pages: u32) {
        let (mut start, mut end) = (first, first + pages);
        if let Some((before, n)) = self.runs.range(..first).next_back().map(|(before, n)| (*before, *n)) {
            debug_assert!(before + n <= first, "pages are given back twice");
            if before + n == first {
                self.remove_run(before, n);
                start = before;
            }
        }
        if let Some((next, n)) = self.runs.range(first..).next().map(|(next, n)| (*next, *n)) {
            debug_assert!(end <= next, "pages are given back twice");
            if end == next {
                self.remove_run(next, n);
                end = next + n;
            }
        }
        self.add_run(start, end - start);
        self.resident.add(first, pages);
        if let Some(due) = self.resident.due(pages) {
            self.give_back(due);
        }
    }

    /// Gives memory of so many free pages back.
    fn give_back(&mut self, mut left: u32) {
        while let Some((first, pages)) = self.resident.take(left) {
            reserved::decommit(range().base + first as usize * PAGE, pages as usize * PAGE);
            left -= pages;
        }
    }

    /// Gives back what nobody uses of some pages with room for bundles of so many granules, from a place among these on; gives the place behind them, if there are more.
    fn give_back_unused(&mut self, granules: usize, from: usize) -> Option<usize> {
        let to = self.partial[granules].len().min(from + AT_ONCE);
        for page in self.partial[granules].get(from..to)? {
            let at = range().base + *page as usize * PAGE;
            self.shared[*page as usize].give_unused(granules, |part| reserved::decommit(at + part.start, part.len()));
        }
        (to < self.partial[granules].len()).then_some(to)
    }

    /// A page with places for bundles of so many granules, and which: they are the caller's (BA2).
    fn take_places(&mut self, granules: usize) -> Option<(u32, u64)> {
        if let Some(page) = self.partial[granules].pop() {
            return Some((page, self.shared[page as usize].take_places()));
        }
        let page = self.take_pages(1)?;
        if self.shared.len() <= page as usize {
            self.shared.resize(page as usize + 1, SharedPage::default());
        }
        self.shared[page as usize] = SharedPage::default();
        note(page, 1, granules as u32);
        Some((page, all_places(granules)))
    }

    /// Some places of a page come back; or none.
    fn give_places(&mut self, page: u32, granules: usize, given: u64) {
        if given == 0 {
            return;
        }
        let Some(shared) = self.shared.get_mut(page as usize) else { return };
        debug_assert_eq!(shared.places & given, 0, "a bundle is given back twice");
        let was_full = shared.places == 0;
        shared.places |= given;
        let is_empty = shared.places == all_places(granules);
        let partial = &mut self.partial[granules];
        if was_full {
            shared.at = partial.len() as u32;
            partial.push(page);
        }
        // One stays for what comes next.
        if is_empty && partial.len() > 1 {
            let at = shared.at as usize;
            debug_assert_eq!(partial[at], page, "a page with room stands where it says");
            partial.swap_remove(at);
            if let Some(moved) = partial.get(at) {
                self.shared[*moved as usize].at = at as u32;
            }
            self.give_pages(page, 1);
        }
    }
}

/// What of small bundles' places is a thread's own (BA2).
struct Own {
    /// Of each number of granules, a page, and places there that are free.
    pages: [(u32, u64); SMALL + 1],
    /// What came back: the page, the number of granules, the place.
    given: Vec<(u32, u8, u8)>,
}

myriad_sync::thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own { pages: [(0, 0); SMALL + 1], given: Vec::new() }) };
}

impl Own {
    /// The offset of a place for a bundle of so many granules.
    fn take(&mut self, granules: usize) -> Option<usize> {
        // What has just been used is still in the cache.
        if let Some((page, _, place)) = self.given.pop_if(|(_, of, _)| usize::from(*of) == granules) {
            return Some(page as usize * PAGE + usize::from(place) * granules * GRANULE);
        }
        if self.pages[granules].1 == 0 {
            let mut free = FREE.lock();
            self.give_all(&mut free);
            self.pages[granules] = free.take_places(granules)?;
        }
        let (page, places) = &mut self.pages[granules];
        let place = places.trailing_zeros() as usize;
        debug_assert!(place < GRANULES / granules, "a page without room is kept as one that has some");
        *places &= *places - 1;
        Some(*page as usize * PAGE + place * granules * GRANULE)
    }

    fn give(&mut self, offset: usize, granules: usize) {
        let place = offset % PAGE / (granules * GRANULE);
        self.given.push(((offset / PAGE) as u32, granules as u8, place as u8));
        if self.given.len() >= GIVEN {
            self.give_all(&mut FREE.lock());
        }
    }

    fn give_all(&mut self, free: &mut Free) {
        for (page, granules, place) in self.given.drain(..) {
            free.give_places(page, granules.into(), 1 << place);
        }
    }

    /// The thread has nothing of its own any more.
    fn clear(&mut self) {
        let mut free = FREE.lock();
        self.give_all(&mut free);
        for (granules, (page, places)) in self.pages.iter_mut().enumerate() {
            free.give_places(*page, granules, std::mem::take(places));
        }
    }
}

impl Drop for Own {
    /// The thread ends.
    fn drop(&mut self) {
        self.clear();
    }
}

/// Gives the system the memory of all pages that are free now, those of the calling thread's own places too, and what nobody uses of pages that bundles share. Others may take pages meanwhile:
/// it is done in pieces.
pub(crate) fn give_back() {
    if !is_in_use() {
        return;
    }
    // At its end a thread has nothing of its own.
    let _ = OWN.try_with(|own| own.borrow_mut().clear());
    let pages = FREE.lock().resident.pages();
    (0..pages.div_ceil(PIECE as usize)).for_each(|_| FREE.lock().give_back(PIECE));
    for granules in 1..=SMALL {
        let mut next = Some(0);
        while let Some(from) = next {
            next = FREE.lock().give_back_unused(granules, from);
        }
    }
}

/// BA1.
fn note(first: u32, pages: u32, word: u32) {
    if let Some(all) = PAGES.get() {
        // Relaxed: BA1; who gets a term of the bundle has synchronised with its maker.
        all[first as usize..][..pages as usize].iter().for_each(|page| page.store(word, Ordering::Relaxed));
    }
}

fn granules(words: usize) -> usize {
    (words * 8).div_ceil(GRANULE)
}

fn pages(words: usize) -> u32 {
    (words * 8).div_ceil(PAGE) as u32
}

/// Memory for a bundle of so many words, at most [`MOST_WORDS`]; `None`: the range has no room.
pub(crate) fn take(words: usize) -> Option<NonNull<u64>> {
    debug_assert!(words > 0 && words <= MOST_WORDS, "a bundle of {words} words");
    let granules = granules(words);
    let offset = if granules <= SMALL {
        OWN.try_with(|own| own.borrow_mut().take(granules)).unwrap_or_else(|_| take_at_the_end(granules))?
    } else {
        let mut free = FREE.lock();
        let pages = pages(words);
        let first = free.take_pages(pages)?;
        note(first, pages, LARGE + first);
        first as usize * PAGE
    };
    NonNull::new(std::ptr::with_exposed_provenance_mut(range().base + offset))
}

/// Gives it back.
///
/// # Safety
/// It came from [`take`] for so many words, and nobody refers to it.
pub(crate) unsafe fn give(at: NonNull<u64>, words: usize) {
    let offset = at.addr().get() - range().base;
    let granules = granules(words);
    if granules <= SMALL {
        // A thread that ends has nothing of its own any more.
        if OWN.try_with(|own| own.borrow_mut().give(offset, granules)).is_err() {
            let place = offset % PAGE / (granules * GRANULE);
            FREE.lock().give_places((offset / PAGE) as u32, granules, 1 << place);
        }
    } else {
        FREE.lock().give_pages((offset / PAGE) as u32, pages(words));
    }
}

/// A place for a small bundle where the thread ends and has nothing of its own any more.
#[cold]
fn take_at_the_end(granules: usize) -> Option<usize> {
    let mut free = FREE.lock();
    let (page, places) = free.take_places(granules)?;
    let place = places.trailing_zeros() as usize;
    free.give_places(page, granules, places & (places - 1));
    Some(page as usize * PAGE + place * granules * GRANULE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn bundles_lie_apart_and_their_beginnings_are_found() {
        let mut taken = BTreeMap::new();
        let mut seed = 1usize;
        let mut random = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        for round in 0..if cfg!(miri) { 100 } else { 20_000 } {
            if round % 2 == 0 || taken.is_empty() {
                let words = 1 + random() % if random() % 8 == 0 { 20_000 } else { 700 };
                let Some(at) = take(words) else { continue };
                // SAFETY: the block's own words.
                unsafe {
                    at.write(words as u64);
                    at.add(words - 1).write(words as u64);
                }
                let (start, end) = (at.addr().get(), at.addr().get() + words * 8);
                assert!(taken.range(..end).next_back().is_none_or(|(before, (_, words))| before + words * 8 <= start));
                taken.insert(start, (at, words));
            } else {
                let key = *taken.keys().nth(random() % taken.len()).unwrap();
                let (at, words) = taken.remove(&key).unwrap();
                // SAFETY: the block is held until it is given back, once.
                unsafe {
                    assert_eq!(start_of(at.as_ptr().wrapping_add(random() % words)), at.as_ptr());
                    assert_eq!((*at.as_ptr(), *at.as_ptr().add(words - 1)), (words as u64, words as u64));
                    give(at, words);
                }
            }
        }
        for (at, words) in taken.into_values() {
            // SAFETY: as above.
            unsafe { give(at, words) };
        }
    }
}
