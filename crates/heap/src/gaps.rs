//! The gaps of a large old generation, and its free end: where a collection puts what becomes old ([`crate::large`]).
//!
//! Objects of about the same size fill a gap one after another; a large one goes where it fits. A list of the longest gap that begins in each kilobyte leads to a gap
//! of some size without a look at all those that are smaller ([`LongestGaps`]).
//!
//! GA1. Free words of gaps are objects without terms whenever no collection runs, so that one can walk over them.
//! GA2. The map has no bits for words of a gap that nobody fills; who takes a gap to fill it sets them.

use crate::account::Class;
use crate::block;
use crate::live_map::{LongestGaps, fill};
use crate::marking::{GIVEN_BACK, Marking, OfGaps};
use crate::old_space::OldSpace;
use crate::reserved::pointer;
use myriad_sync::Arc;
use std::ops::Range;

/// For objects of up to so many words there is a gap that is being filled; and it has so many when that begins.
pub(crate) const WINDOWS: [(usize, usize); 4] = [(8, 4), (16, 9), (32, 17), (64, 33)];
/// The number of the end among what is being filled, behind these.
const END: usize = WINDOWS.len();
/// Words that are taken of the end for such a gap, where there are no others.
pub(crate) const PIECE: usize = if cfg!(test) { 64 } else { 512 };
/// For what this window is filled with gaps are kept while others are released, and of these and of rests not more than so many.
const KEEPER: usize = 2;
const MOST_KEPT: usize = 4096;
/// How long gaps are looked for in one collection, in steps of some nanoseconds ([`LongestGaps::find`]), and one more for each word that is found.
const SEARCHED: usize = if cfg!(test) { 1000 } else { 1 << 14 };
/// The rest of a gap that was lent is kept if it has so many words: enough for any window.
const LEAST_LENT: usize = 64;
/// Words that are taken of a gap at once, at most.
const LARGEST: usize = if cfg!(test) { 100 } else { 1 << 20 };

/// For objects of so many words there is a window of this number; there is none for large ones.
#[inline(always)]
pub(crate) fn window_for(words: usize) -> usize {
    WINDOWS[..END - 1].iter().map(|(most, _)| usize::from(words > *most)).sum()
}

/// What is being filled.
#[derive(Clone, Default)]
struct Window {
    /// Where what the collection under way has put there begins.
    start: usize,
    /// Its first word that is not scanned, unless that is being scanned.
    scanned: usize,
    /// Free.
    gap: Range<usize>,
    /// Where in the map the next gap is looked for.
    next: usize,
}

/// The gaps.
#[derive(Default)]
pub(crate) struct Gaps {
    /// The bits of what lives, and how long gaps are; `None`: none are known.
    map: Option<Arc<Marking>>,
    longest: LongestGaps,
    windows: [Window; END + 1],
    /// Where in the map a large object is looked a gap for, and a size for which there is none.
    next_apart: usize,
    too_large: usize,
    /// What was left of gaps when an object did not fit, for the windows of smaller objects, all of which do.
    rests: [Vec<Range<usize>>; END],
    /// Gaps that come first: those that nobody releases meanwhile.
    kept: Vec<Range<usize>>,
    /// How long gaps may be looked for until the collection ends.
    search_left: usize,
    /// Large gaps that were taken, and what follows them.
    fresh: Vec<Range<usize>>,
    /// From so many bytes on a gap is large, and words that were taken of large gaps.
    given_from: usize,
    refilled: usize,
    /// What was filled since [`Gaps::begin`], but for what is being filled.
    filled: Vec<Range<usize>>,
    /// Of that, what is not scanned.
    unscanned: Vec<Range<usize>>,
    /// What is being scanned: one of the windows, or what ends there.
    scanning: Option<usize>,
    scanning_to: usize,
}

fn words(range: &Range<usize>) -> usize {
    range.len() / 8
}

impl Gaps {
    /// Only the end, from an address up to a limit.
    pub(crate) fn at_end(end: *mut u64, limit: *mut u64) -> Gaps {
        let mut gaps = Gaps::default();
        gaps.windows[END].gap = end.expose_provenance()..limit.addr();
        gaps
    }

    /// Behind all that was ever used.
    pub(crate) fn end(&self) -> *mut u64 {
        pointer(self.windows[END].gap.start)
    }

    /// The memory ends there from now on.
    pub(crate) fn set_limit(&mut self, limit: *mut u64) {
        self.windows[END].gap.end = limit.addr();
    }

    /// The gaps are about to be released, and these bits say which they are, but for those that are being filled, and some more of up to so many words in all: these stay.
    /// None of the others is known until [`Gaps::are_released`] says so. Gives what said before where gaps are, to be freed.
    pub(crate) fn renew(&mut self, found: Arc<Marking>, most: usize) -> Option<Arc<Marking>> {
        self.keep(most);
        for gap in self.owned() {
            if let Some(place) = found.map.place(gap.start) {
                let is_first = found.map.set(place, words(&gap));
                debug_assert!(is_first, "GA2: an object lies in a gap");
            }
        }
        self.windows.iter_mut().for_each(|window| window.next = 0);
        self.rests.iter_mut().for_each(Vec::clear);
        (self.next_apart, self.too_large) = (0, usize::MAX);
        self.longest.clear();
        self.map.replace(found)
    }

    /// The gaps of the pieces that come next in the map are so long, and can be filled from now on.
    pub(crate) fn are_released(&mut self, next: &LongestGaps) {
        if let Some(map) = self.map.as_deref() {
            self.longest.append(&map.map, next);
        }
    }

    /// Of the gaps that come first keeps so many words; the others, if these bits cover them, are gaps as all others that are about to be released.
    pub(crate) fn keep_no_more(&mut self, found: &Marking, most: usize) {
        let mut left = most;
        self.kept.retain_mut(|gap| {
            if found.map.place(gap.start).is_none() {
                return true;
            }
            let kept = words(gap).min(left);
            left -= kept;
            let rest = gap.start + 8 * kept..gap.end;
            // SAFETY: nobody refers to the words of a gap. (GA1: each part is filler by itself, for a helper makes one of the rest.)
            unsafe {
                fill(pointer(gap.start), kept);
                fill(pointer(rest.start), words(&rest));
            }
            gap.end = rest.start;
            kept > 0
        });
    }

    /// Keeps gaps for the windows of larger objects, which fit smaller ones too.
    fn keep(&mut self, most: usize) {
        let (mut left, mut next) = (most, self.windows[KEEPER].next);
        self.search_left = SEARCHED;
        while left > 0
            && self.kept.len() < MOST_KEPT
            && let Some(gap) = self.find(&mut next, WINDOWS[KEEPER].1)
        {
            left = left.saturating_sub(gap.len());
            next = gap.end;
            let gap = self.claim(&gap);
            self.kept.push(gap);
        }
    }

    /// The gaps that are being filled and those that are kept, the end left out; in the order of their addresses.
    pub(crate) fn owned(&self) -> Vec<Range<usize>> {
        let windows = self.windows[..END].iter().map(|window| &window.gap);
        let mut owned: Vec<Range<usize>> = windows.chain(&self.kept).filter(|gap| !gap.is_empty()).cloned().collect();
        owned.sort_unstable_by_key(|gap| gap.start);
        owned
    }

    /// Free words of these.
    pub(crate) fn free(&self) -> usize {
        self.owned().iter().map(words).sum()
    }

    /// A collection begins: where what it puts here is scanned from.
    pub(crate) fn begin(&mut self) -> *mut u64 {
        debug_assert!(
            self.filled.is_empty() && self.unscanned.is_empty(),
            "what was filled before is not accounted for"
        );
        for window in &mut self.windows {
            (window.start, window.scanned) = (window.gap.start, window.gap.start);
        }
        (self.scanning, self.search_left) = (Some(END), SEARCHED);
        self.end()
    }

    /// It ends: what was filled.
    pub(crate) fn finish(&mut self) -> Vec<Range<usize>> {
        for i in 0..=END {
            self.filled.push(self.windows[i].start..self.windows[i].gap.start);
            self.windows[i].start = self.windows[i].gap.start;
            if i != END {
                self.close(i);
            }
        }
        let mut filled = std::mem::take(&mut self.filled);
        filled.retain(|range| !range.is_empty());
        filled
    }

    /// Room behind all that was ever used, between two collections.
    pub(crate) fn take_at_end(&mut self, size: usize) -> *mut u64 {
        let gap = &mut self.windows[END].gap;
        debug_assert!(words(gap) >= size, "OS1: the end has no room for {size} words");
        let at = gap.start;
        gap.start += size * 8;
        pointer(at)
    }

    /// What is left of the gap becomes one object (GA1).
    fn close(&self, window: usize) {
        let gap = &self.windows[window].gap;
        // SAFETY: nobody refers to the words of a gap.
        unsafe { fill(pointer(gap.start), words(gap)) };
    }

    /// The first gap at or behind a place of the map with so many words. The place becomes that of the gap, or where the next search goes on.
    fn find(&mut self, place: &mut usize, size: usize) -> Option<Range<usize>> {
        self.longest.find(&self.map.as_deref()?.map, place, size, &mut self.search_left)
    }

    /// Takes a gap (GA2); gives its addresses.
    fn claim(&mut self, gap: &Range<usize>) -> Range<usize> {
        let Some(map) = self.map.as_deref() else { return 0..0 };
        self.search_left += gap.len();
        let is_first = map.map.set(gap.start, gap.len());
        debug_assert!(is_first, "GA2: a gap is taken twice");
        let at = map.map.address(gap.start).addr();
        at..at + gap.len() * 8
    }

    /// Room for an object that does not fit the gap of its window.
    #[cold]
    #[inline(never)]
    fn take_elsewhere(&mut self, window: usize, size: usize) -> usize {
        let (most, least) = WINDOWS[window];
        if size > most {
            return self.take_apart(size);
        }
        let gap = self.rests[window].pop().or_else(|| self.next_gap(window, size.max(least)));
        let gap = gap.unwrap_or_else(|| self.piece_of_end());
        self.close(window);
        self.keep_rest(window);
        self.go_on_in(window, gap);
        self.take_from(window, size)
    }

    /// What is left of a window's gap, which is about to be left, is for smaller objects.
    fn keep_rest(&mut self, window: usize) {
        let rest = &self.windows[window].gap;
        if let Some(smaller) = WINDOWS[..window].iter().rposition(|(most, _)| words(rest) >= *most)
            && self.rests[smaller].len() < MOST_KEPT
        {
            self.rests[smaller].push(rest.clone());
        }
    }

    /// What was put into a window ends there, and goes on in another gap.
    fn go_on_in(&mut self, window: usize, gap: Range<usize>) {
        let Window { start, scanned, gap: Range { start: top, .. }, .. } = self.windows[window];
        self.filled.push(start..top);
        if self.scanning == Some(window) {
            (self.scanning, self.scanning_to) = (None, top);
        } else {
            self.unscanned.push(scanned..top);
        }
        let window = &mut self.windows[window];
        (window.start, window.scanned, window.gap) = (gap.start, gap.start, gap);
    }

    /// A gap at the end, when there are no others.
    fn piece_of_end(&mut self) -> Range<usize> {
        let end = self.windows[END].gap.clone();
        let behind = end.start + PIECE * 8;
        debug_assert!(behind <= end.end, "OS1: the end has no room for {PIECE} words");
        self.go_on_in(END, behind..end.end);
        end.start..behind
    }

    fn take_from(&mut self, window: usize, size: usize) -> usize {
        let gap = &mut self.windows[window].gap;
        debug_assert!(words(gap) >= size, "OS1: there is no room for {size} words");
        let at = gap.start;
        gap.start += size * 8;
        at
    }

    /// A gap that others fill with objects of a window, the first of which has so many words; of the end it has about `most`. They tell what they have filled
    /// ([`Gaps::take_back`]), and see to it that all is scanned.
    pub(crate) fn lend(&mut self, window: usize, size: usize, most: usize) -> Range<usize> {
        let gap = self.rests[window].pop().or_else(|| self.next_gap(window, size.max(WINDOWS[window].1)));
        match gap {
            Some(gap) => gap,
            None => self.cut_end(size, most.max(size)),
        }
    }

    /// Room that others fill with one large object.
    pub(crate) fn lend_apart(&mut self, size: usize) -> Range<usize> {
        self.find_apart(size).unwrap_or_else(|| self.cut_end(size, size))
    }

    /// Takes so many words of the end, or what there is, but `least`.
    fn cut_end(&mut self, least: usize, most: usize) -> Range<usize> {
        let end = &mut self.windows[END];
        let Range { start, end: limit } = end.gap;
        debug_assert!(end.start == start, "the end is filled and lent at once");
        let behind = limit.min(start + most * 8);
        if behind - start < least * 8 {
            // Far more objects than one in some were copied twice (heap.promotion/PR2).
            block::out_of_memory(least, Class::Process);
        }
        (end.start, end.scanned, end.gap) = (behind, behind, behind..limit);
        start..behind
    }

    /// Of a gap that was lent the rest is free again, and others fill it next, unless it is small (GA1).
    pub(crate) fn take_back(&mut self, filled: Range<usize>, rest: Range<usize>) {
        if !filled.is_empty() {
            self.filled.push(filled);
        }
        // SAFETY: nobody refers to the words of a gap.
        unsafe { fill(pointer(rest.start), words(&rest)) };
        if words(&rest) >= LEAST_LENT {
            self.kept.push(rest);
        }
    }

    /// Words that are to be free at the end when up to `words` words are about to come (heap.old_space/OS1): pieces of it may not be filled wholly.
    pub(crate) fn room_for(words: usize) -> usize {
        words.saturating_add(words / 4).saturating_add((END + 1) * PIECE)
    }

    /// How many words may come when so many are free at the end.
    pub(crate) fn fit_in(room: usize) -> usize {
        room.saturating_sub((END + 1) * PIECE) / 5 * 4
    }

    /// The next gap for a window, with so many words.
    fn next_gap(&mut self, window: usize, size: usize) -> Option<Range<usize>> {
        while let Some(gap) = self.kept.pop() {
            if words(&gap) >= size {
                return Some(gap);
            }
        }
        let mut next = self.windows[window].next;
        let found = self.find(&mut next, size).map(|gap| self.claim_part(gap));
        self.windows[window].next = found.as_ref().map_or(next, |(_, behind)| *behind);
        found.map(|(gap, _)| gap)
    }

    /// Takes a gap, of a very long one the first part; gives its addresses, and the place behind it.
    fn claim_part(&mut self, gap: Range<usize>) -> (Range<usize>, usize) {
        let end = gap.end.min(gap.start + LARGEST);
        let taken = self.claim(&(gap.start..end));
        self.note_refilled(&gap, end - gap.start);
        if end < gap.end {
            // SAFETY: nobody refers to the words of a gap (GA1).
            unsafe { fill(pointer(taken.end), gap.end - end) };
            self.longest.note(&(end..gap.end));
        }
        if taken.len() >= GIVEN_BACK {
            let following = (gap.end - end).min(LARGEST) * 8;
            self.fresh.push(taken.start..taken.end + following);
        }
        (taken, end)
    }

    /// Large gaps that are being filled, or will be next: their memory is the system's, and may be asked for.
    pub(crate) fn take_fresh(&mut self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.fresh)
    }

    /// This becomes of the memory of the gaps that are about to be released.
    pub(crate) fn are_given_back(&mut self, memory: OfGaps) {
        self.given_from = memory.given_from;
    }

    /// So many words were taken of a gap, which may be large.
    fn note_refilled(&mut self, gap: &Range<usize>, taken: usize) {
        if gap.len() * 8 >= self.given_from {
            self.refilled += taken;
        }
    }

    /// Words taken of large gaps since this was last asked.
    pub(crate) fn take_refilled(&mut self) -> usize {
        std::mem::take(&mut self.refilled)
    }

    /// Room for a large object, in a gap of which it leaves the rest to others, or at the end.
    fn take_apart(&mut self, size: usize) -> usize {
        let Some(taken) = self.find_apart(size) else { return self.take_from(END, size) };
        self.filled.push(taken.clone());
        self.unscanned.push(taken.clone());
        taken.start
    }

    /// The same, if there is a gap.
    fn find_apart(&mut self, size: usize) -> Option<Range<usize>> {
        let mut next = self.next_apart;
        let found = if size < self.too_large { self.find(&mut next, size) } else { None };
        let Some(gap) = found else {
            let is_all = self.map.as_ref().is_some_and(|map| next >= map.map.words());
            if is_all {
                (self.too_large, next) = (self.too_large.min(size), 0);
            }
            self.next_apart = next;
            return None;
        };
        self.next_apart = gap.start + size;
        let taken = self.claim(&(gap.start..gap.start + size));
        self.note_refilled(&gap, size);
        // SAFETY: nobody refers to the words of a gap (GA1).
        unsafe { fill(pointer(taken.end), gap.len() - size) };
        if gap.len() > size {
            self.longest.note(&(gap.start + size..gap.end));
        }
        Some(taken)
    }

    /// Where scanning goes on, if what was being scanned is.
    #[cold]
    fn next_unscanned(&mut self, at: usize) -> Option<(*mut u64, *mut u64)> {
        if let Some(window) = self.scanning {
            self.windows[window].scanned = at;
        }
        while let Some(range) = self.unscanned.pop() {
            if !range.is_empty() {
                (self.scanning, self.scanning_to) = (None, range.end);
                return Some((pointer(range.start), pointer(range.end)));
            }
        }
        let i = self.windows.iter().position(|window| window.scanned < window.gap.start)?;
        self.scanning = Some(i);
        let window = &self.windows[i];
        Some((pointer(window.scanned), pointer(window.gap.start)))
    }
}

impl OldSpace for Gaps {
    #[inline(always)]
    fn take(&mut self, words: usize) -> *mut u64 {
        let window = window_for(words);
        let gap = &mut self.windows[window].gap;
        let at = gap.start;
        if words * 8 <= gap.end - at {
            gap.start = at + words * 8;
            return pointer(at);
        }
        pointer(self.take_elsewhere(window, words))
    }

    #[inline(always)]
    fn unscanned(&mut self, at: *mut u64) -> Option<(*mut u64, *mut u64)> {
        let end = self.scanning.map_or(self.scanning_to, |window| self.windows[window].gap.start);
        if at.addr() < end { Some((at, pointer(end))) } else { self.next_unscanned(at.addr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::marking::Reservation;

    /// All pieces seem to have gaps that are long enough, but only the last one has one.
    #[test]
    fn a_long_search_goes_on_in_the_next_collection() {
        const WORDS: usize = 60_000;
        const SIZE: usize = 20;
        let memory = Arc::new(Reservation::new(2 << 20, 2 << 20).unwrap());
        assert!(memory.commit(memory.start().addr(), 1 << 20));
        let marking = Arc::new(Marking::new(&memory, WORDS).unwrap());
        let mut longest = LongestGaps::new(&marking.map);
        for place in (0..WORDS).step_by(PIECE) {
            longest.note(&(place..place + PIECE));
        }
        marking.map.set(0, WORDS - SIZE);
        let end = memory.start().wrapping_add(WORDS);
        let mut gaps = Gaps::at_end(end, end.wrapping_add(10_000));
        assert!(gaps.renew(Arc::clone(&marking), 0).is_none());
        let collect = |gaps: &mut Gaps| {
            let mut at = gaps.begin();
            let placed: Vec<*mut u64> = (0..4).map(|_| gaps.take(SIZE)).collect();
            while let Some((_, to)) = gaps.unscanned(at) {
                at = to;
            }
            gaps.finish();
            placed
        };
        assert_eq!(collect(&mut gaps)[0], end, "no gap is released");
        gaps.are_released(&longest);
        let found = (1..100).find(|_| collect(&mut gaps).iter().any(|at| *at < end));
        assert!((4..9).contains(&found.unwrap()), "found by collection {found:?}");
        assert!(gaps.windows[2].next >= WORDS);
    }
}
