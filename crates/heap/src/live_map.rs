//! [`LiveMap`]: one bit for each word of an address range, and the gaps between the words whose bits are set.
//!
//! LM1. One thread at a time uses a map, and another one after it has got it by way of a lock; or parts of it, of which one may only be read (heap.marking/MA3). (The bits
//!      are atomics because both have a reference all the time, and words of bits may belong to both parts.)

use crate::reserved;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_term::Kind;
use myriad_term::boxed::Header;
use std::ops::Range;
use std::ptr::NonNull;

const BITS: usize = u64::BITS as usize;

/// One bit for each word from an address on.
pub(crate) struct LiveMap {
    base: usize,
    words: usize,
    bits: NonNull<AtomicU64>,
}

// SAFETY: the bits are atomics in memory of their own.
unsafe impl Send for LiveMap {}
// SAFETY: as above.
unsafe impl Sync for LiveMap {}

/// The bits from `from` to `to` of one word of them.
fn mask(from: usize, to: usize) -> u64 {
    debug_assert!(from < to && to <= BITS, "no bits");
    u64::MAX >> (BITS - (to - from)) << from
}

impl LiveMap {
    /// None is set. `None`: there are no addresses for the bits.
    pub(crate) fn new(base: *mut u64, words: usize) -> Option<LiveMap> {
        // Fresh pages are zero, and what of them is never touched takes no memory.
        let len = LiveMap::len(words);
        let usable = || reserved::reserve(len).filter(|at| reserved::commit(*at, len));
        let at = reserved::reserve_usable(len).or_else(usable)?;
        Some(LiveMap { base: base.addr(), words, bits: NonNull::new(std::ptr::with_exposed_provenance_mut(at))? })
    }

    /// Bytes of the bits of so many words.
    fn len(words: usize) -> usize {
        (words.div_ceil(BITS) * 8).max(1).next_multiple_of(4096)
    }

    #[inline(always)]
    fn bits(&self) -> &[AtomicU64] {
        // SAFETY: so many were made, and zero is a value of an atomic.
        unsafe { std::slice::from_raw_parts(self.bits.as_ptr(), self.words.div_ceil(BITS)) }
    }

    /// How many words it covers.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The number of a word, if it is covered.
    #[inline(always)]
    pub(crate) fn place(&self, at: usize) -> Option<usize> {
        let place = at.wrapping_sub(self.base) / 8;
        (place < self.words).then_some(place)
    }

    /// The word of this number.
    pub(crate) fn address(&self, place: usize) -> *mut u64 {
        std::ptr::with_exposed_provenance_mut(self.base + place * 8)
    }

    /// Is the bit set?
    #[inline(always)]
    pub(crate) fn is_set(&self, place: usize) -> bool {
        self.bits()[place / BITS].load(Ordering::Relaxed) >> (place % BITS) & 1 != 0
    }

    /// Sets the bits of `words` words; gives whether the first was not set.
    #[inline(always)]
    pub(crate) fn set(&self, place: usize, words: usize) -> bool {
        debug_assert!(words > 0 && place + words <= self.words, "bits beyond the range");
        let (word, bit) = (place / BITS, place % BITS);
        // Relaxed, as all that follows: LM1.
        let before = self.bits()[word].load(Ordering::Relaxed);
        if before >> bit & 1 != 0 {
            return false;
        }
        self.bits()[word].store(before | mask(bit, BITS.min(bit + words)), Ordering::Relaxed);
        if bit + words > BITS {
            self.set_rest(word + 1, bit + words - BITS);
        }
        true
    }

    #[cold]
    fn set_rest(&self, from: usize, bits: usize) {
        for (word, left) in (from..).zip((1..=bits).rev().step_by(BITS)) {
            let word = &self.bits()[word];
            word.store(word.load(Ordering::Relaxed) | mask(0, left.min(BITS)), Ordering::Relaxed);
        }
    }

    /// Sets the bits that another map of the same range has from one place up to another, multiples of [`PIECE`] or the end; gives how many are set there.
    pub(crate) fn take_over(&self, other: &LiveMap, from: usize, to: usize) -> usize {
        let words = from.div_ceil(BITS)..to.div_ceil(BITS);
        let taken = self.bits()[words.clone()].iter().zip(&other.bits()[words]).map(|(word, more)| {
            let (bits, more) = (word.load(Ordering::Relaxed), more.load(Ordering::Relaxed));
            if more != 0 {
                word.store(bits | more, Ordering::Relaxed);
            }
            (bits | more).count_ones() as usize
        });
        taken.sum()
    }

    /// How many bits this map or another one of the same range has from one place up to another, multiples of [`PIECE`].
    pub(crate) fn count(&self, other: &LiveMap, from: usize, to: usize) -> usize {
        let words = from / BITS..to / BITS;
        let bits = self.bits()[words.clone()].iter().zip(&other.bits()[words]);
        bits.map(|(one, other)| (one.load(Ordering::Relaxed) | other.load(Ordering::Relaxed)).count_ones() as usize)
            .sum()
    }

    /// Gives the memory of the bits back: none is set.
    pub(crate) fn empty(&self) {
        reserved::decommit(self.bits.as_ptr().addr(), LiveMap::len(self.words));
    }

    /// The first word at or after `place`, before `end`, whose bit is `set`; `end` if there is none.
    fn find(&self, place: usize, end: usize, set: bool) -> usize {
        let end = end.min(self.words);
        let mut place = place;
        while place < end {
            let bits = self.bits()[place / BITS].load(Ordering::Relaxed);
            let bits = if set { bits } else { !bits } >> (place % BITS);
            if bits != 0 {
                return end.min(place + bits.trailing_zeros() as usize);
            }
            place = (place / BITS + 1) * BITS;
        }
        end
    }

    /// The next run of words at or after `place`, begun before `end`, whose bits are not set.
    pub(crate) fn next_free(&self, place: usize, end: usize) -> Option<Range<usize>> {
        let start = self.find(place, end, false);
        (start < end.min(self.words)).then(|| start..self.find(start, self.words, true))
    }

    /// The next run of words at or after `place` whose bits are set.
    pub(crate) fn next_set(&self, place: usize) -> Option<Range<usize>> {
        let start = self.find(place, self.words, true);
        (start < self.words).then(|| start..self.find(start, self.words, false))
    }
}

impl Drop for LiveMap {
    fn drop(&mut self) {
        // SAFETY: reserved with this length; nobody has a reference to it.
        unsafe { reserved::unreserve(self.bits.as_ptr().addr(), LiveMap::len(self.words)) };
    }
}

/// How long the longest gap is, the longest run of words without bits, that begins in each piece of a range: up to what a number holds, and no longer than that, for
/// gaps may have been filled since. Of the pieces behind those that are known, nothing is.
#[derive(Default)]
pub(crate) struct LongestGaps(Vec<u16>);

/// Words of a piece.
pub(crate) const PIECE: usize = if cfg!(any(test, heap_check)) { 64 } else { 1024 };

/// What it takes to look through the bits of a piece, in steps of [`LongestGaps::find`].
const PASSED: usize = 4;

impl LongestGaps {
    /// Of all pieces of a map, before one gap is noted.
    pub(crate) fn new(map: &LiveMap) -> LongestGaps {
        LongestGaps(vec![0; map.words().div_ceil(PIECE)])
    }

    /// There is a gap; it counts if it begins in a piece that is known.
    pub(crate) fn note(&mut self, gap: &Range<usize>) {
        if let Some(known) = self.0.get_mut(gap.start / PIECE) {
            *known = (*known).max(u16::try_from(gap.len()).unwrap_or(u16::MAX));
        }
    }

    /// Takes over what another one knows of so many of the pieces that come next.
    pub(crate) fn learn(&mut self, other: &LongestGaps, pieces: Range<usize>) {
        self.0.extend_from_slice(&other.0[pieces]);
    }

    /// What is known of the pieces of a map that come next.
    pub(crate) fn append(&mut self, map: &LiveMap, next: &LongestGaps) {
        if self.0.capacity() < self.0.len() + next.0.len() {
            // For maps of the next time too, which may be larger: fresh memory is the system's work.
            let pieces = map.words().div_ceil(PIECE);
            self.0.reserve_exact(pieces + pieces / 4 - self.0.len());
        }
        self.0.extend_from_slice(&next.0);
    }

    /// Nothing is known any more.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The pieces that end at or before a place; all, if it is the end of the map.
    pub(crate) fn pieces(&self, map: &LiveMap, place: usize) -> usize {
        if place < map.words() { place / PIECE } else { self.0.len() }
    }

    /// The first gap at or behind a place with so many words, of those that are known. It is not looked for any longer than `left` says, in steps of some nanoseconds,
    /// of which those that were made are taken off. The place becomes that of the gap, or the one where the search can go on later.
    pub(crate) fn find(
        &mut self,
        map: &LiveMap,
        place: &mut usize,
        size: usize,
        left: &mut usize,
    ) -> Option<Range<usize>> {
        let least = u16::try_from(size).unwrap_or(u16::MAX);
        while *place < map.words() && *left > 0 {
            let piece = *place / PIECE;
            let end = (piece + 1) * PIECE;
            let known = self.0.get_mut(piece)?;
            *left -= 1;
            if *known >= least {
                let mut from = *place;
                while let Some(gap) = map.next_free(from, end) {
                    *left = left.saturating_sub(1);
                    if gap.len() >= size {
                        *place = gap.start;
                        return Some(gap);
                    }
                    from = gap.end;
                }
                *left = left.saturating_sub(PASSED);
                if place.is_multiple_of(PIECE) && size == usize::from(least) {
                    *known = least - 1;
                }
            }
            *place = end;
        }
        None
    }
}

/// Makes so many words that nobody refers to objects without terms.
///
/// # Safety
/// They are the caller's.
pub(crate) unsafe fn fill(at: *mut u64, words: usize) {
    let (mut at, mut left) = (at, words);
    while left > 0 {
        let words = left.min(Header::MAX_SIZE);
        // SAFETY: the caller's promise.
        unsafe {
            *at = Header::new(Kind::Filler, words - 1).raw();
            at = at.add(words);
        }
        left -= words;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_testing::Random;

    #[test]
    fn runs_are_those_of_a_plain_list() {
        let mut random = Random::new(7);
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let words = 1 + random.below(700);
            let mut block = vec![0u64; words];
            let map = LiveMap::new(block.as_mut_ptr(), words).unwrap();
            let mut plain = vec![false; words];
            for _ in 0..random.below(20) {
                let place = random.below(words);
                let len = (1 + random.below(200)).min(words - place);
                // Objects do not overlap.
                if !plain[place..place + len].contains(&true) {
                    assert!(map.set(place, len));
                    plain[place..place + len].fill(true);
                }
                assert!(!plain[place] || !map.set(place, 1));
            }
            let other = LiveMap::new(block.as_mut_ptr(), words).unwrap();
            let taken = |from: usize| other.take_over(&map, from, words.min(from + PIECE));
            let count: usize = (0..words).step_by(PIECE).map(taken).sum();
            assert_eq!(count, plain.iter().filter(|set| **set).count());
            assert!((0..words).all(|place| other.is_set(place) == plain[place]));
            let (mut free, mut at) = (vec![false; words], 0);
            while let Some(run) = map.next_free(at, words) {
                free[run.clone()].fill(true);
                at = run.end;
            }
            let (mut set, mut at) = (vec![false; words], 0);
            while let Some(run) = map.next_set(at) {
                set[run.clone()].fill(true);
                at = run.end;
            }
            assert_eq!(set, plain);
            assert!(free.iter().zip(&plain).all(|(free, set)| free != set));
            let mut longest = LongestGaps::new(&map);
            let mut at = 0;
            while let Some(run) = map.next_free(at, words) {
                longest.note(&run);
                at = run.end;
            }
            for size in [1, 2, 30, 100, 1] {
                let first = (0..words).find(|at| {
                    let begins = !plain[*at] && (*at == 0 || plain[at - 1]);
                    begins && plain[*at..].iter().take(size).filter(|set| !**set).count() == size
                });
                let found = longest.find(&map, &mut 0, size, &mut { usize::MAX });
                assert_eq!(found.map(|gap| gap.start), first);
                // A few steps at a time, of the pieces that are known by then.
                let (mut known, mut place, mut pieces) = (LongestGaps::default(), 0, 0);
                let found = loop {
                    let mut left = 1 + random.below(3);
                    let found = known.find(&map, &mut place, size, &mut left);
                    if found.is_some() || place >= words {
                        break found;
                    }
                    let next = longest.pieces(&map, pieces * PIECE + random.below(2 * PIECE + words));
                    known.learn(&longest, pieces..next.max(pieces));
                    pieces = next.max(pieces);
                };
                assert_eq!(found.map(|gap| gap.start), first);
            }
            assert_eq!(map.place(map.address(words - 1).addr()), Some(words - 1));
            assert_eq!(map.place(map.address(words).addr()), None);
            assert!((0..words).all(|place| map.is_set(place) == plain[place]));
        }
    }
}
