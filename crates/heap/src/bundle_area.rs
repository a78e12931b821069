//! The memory of bundles: one reserved address range, so that "does this lie in a bundle" is one subtraction and one comparison.
//!
//! The range is cut into pages, and a page into granules. A small bundle takes some granules of a page whose others hold bundles of the
//! same size; a large one takes pages. One word for each page says which, so that an address within a bundle leads to its beginning.
//!
//! BA1. The word of a page is written before a bundle of it is made, and not changed while there is one. Who looks up an address holds a bundle there.

use crate::reserved;
use myriad_sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex, OnceLock, memory};
use std::ptr::NonNull;

/// Words of the largest bundle: larger terms are copied.
pub(crate) const MOST_WORDS: usize = 1 << 30;

const GRANULE: usize = 256;
const GRANULES: usize = 64;
const PAGE: usize = GRANULE * GRANULES;
/// Granules of the largest bundle that shares its page.
const SMALL: usize = GRANULES / 2;
/// Bytes to ask for, and below which it is not worth trying: where address space is scarce, there is less.
const MOST: usize = if cfg!(miri) { 4 << 20 } else { 32 << 30 };
const LEAST: usize = if cfg!(miri) { 4 << 20 } else { 16 << 20 };
/// From so many bytes on, memory of pages goes back to the system as soon as their bundle has gone.
const GIVEN_BACK: usize = 256 << 10;
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
    /// Runs of pages: first page and how many, ascending, never adjacent.
    runs: Vec<(u32, u32)>,
    /// Of each number of granules, the pages with room for a bundle of so many.
    partial: [Vec<u32>; SMALL + 1],
    /// Of each page that small bundles share, up to the last that was ever used: a bit for each place that is free.
    places: Vec<u64>,
    /// Pages below it are usable.
    usable: u32,
}

/// All places of a page whose bundles take so many granules.
fn all_places(granules: usize) -> u64 {
    let places = GRANULES / granules;
    u64::MAX >> (u64::BITS as usize - places)
}

impl Free {
    const fn new() -> Free {
        Free { runs: Vec::new(), partial: [const { Vec::new() }; SMALL + 1], places: Vec::new(), usable: 0 }
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
        self.runs.push((0, pages as u32));
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
        let i = self.runs.iter().position(|(_, n)| *n >= pages)?;
        let (first, n) = self.runs[i];
        let end = first + pages;
        if end > self.usable {
            if !reserved::commit(range().base + self.usable as usize * PAGE, (end - self.usable) as usize * PAGE) {
                return None;
            }
            self.usable = end;
        }
        if n == pages {
            self.runs.remove(i);
        } else {
            self.runs[i] = (end, n - pages);
        }
        Some(first)
    }

    fn give_pages(&mut self, first: u32, pages: u32) {
        let i = self.runs.partition_point(|(start, _)| *start < first);
        debug_assert!(self.runs.get(i).is_none_or(|next| first + pages <= next.0), "pages are given back twice");
        self.runs.insert(i, (first, pages));
        if i + 1 < self.runs.len() && first + pages == self.runs[i + 1].0 {
            self.runs[i].1 += self.runs[i + 1].1;
            self.runs.remove(i + 1);
        }
        if i > 0 && self.runs[i - 1].0 + self.runs[i - 1].1 == first {
            self.runs[i - 1].1 += self.runs[i].1;
            self.runs.remove(i);
        }
        // What may go back is seen once for a run that has grown, too.
        if pages as usize * PAGE >= GIVEN_BACK {
            reserved::decommit(range().base + first as usize * PAGE, pages as usize * PAGE);
        }
    }

    /// Of so many granules.
    fn take_small(&mut self, granules: usize) -> Option<usize> {
        let page = match self.partial[granules].last() {
            Some(page) => *page,
            None => {
                let page = self.take_pages(1)?;
                if self.places.len() <= page as usize {
                    self.places.resize(page as usize + 1, 0);
                }
                self.places[page as usize] = all_places(granules);
                note(page, 1, granules as u32);
                self.partial[granules].push(page);
                page
            }
        };
        let places = &mut self.places[page as usize];
        let place = places.trailing_zeros() as usize;
        debug_assert!(place < GRANULES / granules, "a page without room is kept as one that has some");
        *places &= *places - 1;
        if *places == 0 {
            self.partial[granules].pop();
        }
        Some(page as usize * PAGE + place * granules * GRANULE)
    }

    fn give_small(&mut self, offset: usize, granules: usize) {
        let page = offset / PAGE;
        let place = offset % PAGE / (granules * GRANULE);
        let places = &mut self.places[page];
        debug_assert_eq!(*places & 1 << place, 0, "a bundle is given back twice");
        let was_full = *places == 0;
        *places |= 1 << place;
        let is_empty = *places == all_places(granules);
        if was_full {
            self.partial[granules].push(page as u32);
        }
        // One stays for what comes next.
        if is_empty && self.partial[granules].len() > 1 {
            self.partial[granules].retain(|other| *other as usize != page);
            self.give_pages(page as u32, 1);
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
    let mut free = FREE.lock();
    let granules = granules(words);
    let offset = if granules <= SMALL {
        free.take_small(granules)?
    } else {
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
    let mut free = FREE.lock();
    if granules <= SMALL {
        free.give_small(offset, granules);
    } else {
        free.give_pages((offset / PAGE) as u32, pages(words));
    }
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
