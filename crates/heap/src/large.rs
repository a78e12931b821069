//! The old generation of a large heap: it stays in place, and what dies in it leaves gaps that are filled again.
//!
//! To empty a gigabyte into another one takes half a second, and a second gigabyte. So an old generation of [`LARGE`] words and more has a range of addresses of its
//! own, which it never leaves but for who asks for a collection of all. When it has grown by a part of what lived at last, a minor collection takes
//! the words that lead into it; a helper thread marks what lives (`marking.rs`) while the process runs; the minor collections that follow sweep the chain of counted
//! objects piece by piece; then a helper makes the gaps objects without terms, gives the memory of large ones back to the system, and tells the owner how far it is: what is
//! promoted goes into the gaps before that (`gaps.rs`). Where much is lost in gaps, pieces of which little lives are emptied (`evacuation.rs`). So no stop of the process is longer than a minor collection and one such piece.
//!
//! LG1. All objects lie below `gaps.end()`; what lies between them is filler. Every object, dead or not, refers to objects, but for dead ones while a helper replaces
//!      these by filler: what they refer to may be overwritten then, and nobody looks at them (heap.marking/MA3).
//! LG2. What was promoted since a marking began stands in its map of what was, or lies behind what is marked.

use crate::asleep::Asleep;
use crate::evacuation::Evacuation;
use crate::gaps::Gaps;
use crate::marking::{Help, Marking, Released, Reservation, Walk};
use crate::reserved::HUGE_PAGE;
use myriad_sync::{Arc, memory};
use std::collections::BTreeSet;
use std::ops::Range;

/// Are bounds so small that small heaps meet every way of collecting?
const TRIED: bool = cfg!(any(test, heap_check));
/// Words of an old generation from which on it has addresses of its own: 4 MB.
pub(crate) const LARGE: usize = if TRIED { 1000 } else { 512 * 1024 };
/// Bytes of addresses to reserve, at most and at least.
const MOST: usize = if cfg!(miri) {
    256 << 10
} else if TRIED {
    4 << 20
} else {
    64 << 30
};
const LEAST: usize = if cfg!(miri) {
    64 << 10
} else if TRIED {
    1 << 20
} else {
    1 << 30
};
const WIDEST: usize = if cfg!(miri) { 4 << 20 } else { 1 << 40 };
/// Counted objects that one collection looks at.
pub(crate) const SWEPT_AT_ONCE: usize = if TRIED { 3 } else { 4096 };
/// A heap may double by so many words before it is marked, whatever [`SHARE`] says: 32 MB.
pub(crate) const UNHURRIED: usize = if TRIED { 100 } else { 4 << 20 };
/// A heap is marked when it has grown by this part of what lived, less what it grew by while it was marked the last time; at least by half of that.
const SHARE: usize = 10;
/// Words for which memory is taken ahead, at most: 8 MB.
const MOST_AHEAD: usize = 4 * HUGE_PAGE / 8;

/// A marking that is not over.
pub(crate) struct Cycle {
    pub(crate) marking: Arc<Marking>,
    /// The last object of the chain that is known to live; null before the first.
    pub(crate) swept: *mut u64,
    /// The bundles to which the old generation refers, when that is known.
    pub(crate) bundles: Option<BTreeSet<usize>>,
    /// The chain is swept, and what can be filled until the gaps are released has its bits.
    pub(crate) is_swept: bool,
    /// Words below the end when gaps began to be released.
    pub(crate) used: usize,
    /// What is to be added to the words with bits then, for those of objects now: what lay behind the map, less what was free in gaps that had bits, and less
    /// [`Large::grown`] of then, for [`Large::grown`] of now is to be added as well.
    pub(crate) not_counted: i64,
    /// Collections since it began.
    pub(crate) collections: u32,
    /// What [`Large::grown`] and [`Large::words`] were then.
    pub(crate) grown: usize,
    pub(crate) words: usize,
}

/// The old generation of a large heap.
pub(crate) struct Large {
    pub(crate) memory: Arc<Reservation>,
    /// What lies before it may be used. (The heap's `old_end` lies before it, behind what is used.)
    pub(crate) usable: *mut u64,
    pub(crate) gaps: Gaps,
    /// Words of objects, dead ones too, but not of known gaps.
    pub(crate) words: usize,
    /// Words of large gaps, which do not count as memory until they are filled.
    pub(crate) free: usize,
    /// Words that lived when the last marking was over.
    pub(crate) live: usize,
    /// Words promoted since then.
    pub(crate) grown: usize,
    /// Of what was promoted before, words that were while it was marked.
    pub(crate) meanwhile: usize,
    /// Words promoted by the last collection.
    pub(crate) promoted: usize,
    pub(crate) cycle: Option<Cycle>,
    /// Pieces that are being emptied, from the moment when a helper begins to look for them.
    pub(crate) evacuation: Option<Box<Evacuation>>,
    /// The next marking is due, for more is to be emptied.
    pub(crate) is_sparse: bool,
    pub(crate) asleep: Asleep,
    /// What helpers are to do.
    pub(crate) help: Vec<Help>,
    /// Memory has been taken for what lies before it, or is asked for.
    populated: *mut u64,
}

impl Large {
    /// Without addresses it is none.
    pub(crate) fn new(words: usize) -> Option<Large> {
        let needed = words * 8 + HUGE_PAGE;
        let addresses = memory::address_space();
        let memory = if addresses == usize::MAX {
            Reservation::new(MOST.max(2 * needed), LEAST.max(2 * needed))?
        } else {
            // What the process may have at all is also for others.
            Reservation::new((addresses / 32).min(8 * needed), 2 * needed)?
        };
        Some(Large::in_range(memory))
    }

    /// With as many addresses as there are for the heap of all processes: a terabyte, or half of what the process may have.
    pub(crate) fn widest() -> Option<Large> {
        Reservation::new(WIDEST.min(memory::address_space() / 2), LEAST).map(Large::in_range)
    }

    fn in_range(memory: Reservation) -> Large {
        let start = memory.start();
        let gaps = Gaps::at_end(start, start);
        Large {
            memory: Arc::new(memory),
            usable: start,
            populated: start,
            gaps,
            words: 0,
            free: 0,
            live: 0,
            grown: 0,
            meanwhile: 0,
            promoted: 0,
            cycle: None,
            evacuation: None,
            is_sparse: false,
            asleep: Asleep::default(),
            help: Vec::new(),
        }
    }

    pub(crate) fn range(&self) -> (*mut u64, usize) {
        (self.memory.start(), self.memory.words())
    }

    /// Words of objects, as far as is known.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Words that can still come, if there are no gaps.
    pub(crate) fn room(&self) -> usize {
        let (start, words) = self.range();
        Gaps::fit_in(words - (self.gaps.end().addr() - start.addr()) / 8)
    }

    /// Where objects lie, and filler (LG1).
    pub(crate) fn area(&self) -> (*mut u64, *mut u64) {
        (self.range().0, self.gaps.end())
    }

    /// Keeps the area as it is.
    pub(crate) fn walk(&self) -> Option<Walk<'_>> {
        self.cycle.as_ref().map(|cycle| cycle.marking.walk())
    }

    /// A collection has put something into these places.
    pub(crate) fn note(&mut self, filled: &[Range<usize>]) -> usize {
        let words = filled.iter().map(|range| range.len() / 8).sum();
        self.words += words;
        self.grown += words;
        self.promoted = words;
        if let Some(evacuation) = &mut self.evacuation {
            evacuation.note(filled.iter().cloned());
        }
        if let Some(cycle) = self.cycle.as_ref().filter(|cycle| !cycle.is_swept) {
            let map = &cycle.marking.promoted;
            for range in filled {
                // LG2; what lies behind what is marked has no bits.
                if let Some(place) = map.place(range.start) {
                    let is_first = map.set(place, (range.len() / 8).min(map.words() - place));
                    debug_assert!(is_first, "LG2: a gap that is filled is marked already");
                }
            }
        }
        words
    }

    /// How much may be promoted before the next marking: a part of what lives, but `least`. (If more is promoted from then until there are new gaps than the others hold,
    /// the end grows, and there is room enough the next time.)
    pub(crate) fn patience(&self, least: usize) -> usize {
        let share = self.live / SHARE;
        share.saturating_sub(self.meanwhile).max(share / 2).max(UNHURRIED.min(self.live)).max(least)
    }

    /// Behind the end there should be so many words for which there is memory already: to take it is the system's work, and may take longer than a collection.
    pub(crate) fn ahead(&self) -> usize {
        (self.words / 16).clamp(HUGE_PAGE / 8, MOST_AHEAD)
    }

    /// Has a helper take memory behind the end, if little of it is left, and for a large gap whose memory was the system's.
    pub(crate) fn populate(&mut self) {
        for gap in self.gaps.take_fresh() {
            self.populate_range(gap);
        }
        let end = self.gaps.end();
        if end.wrapping_add(self.ahead() / 2) <= self.populated {
            return;
        }
        let from = end.max(self.populated);
        let to = end.wrapping_add(self.ahead()).min(self.usable);
        if from < to {
            self.populate_range(from.addr()..to.addr());
            self.populated = to;
        }
    }

    /// Has the helper that marks take memory, or another one, if none does.
    fn populate_range(&mut self, addresses: Range<usize>) {
        if !self.cycle.as_ref().is_some_and(|cycle| cycle.marking.ask(&addresses)) {
            self.help.push(Help::populate(&self.memory, addresses));
        }
    }

    /// Gaps that a helper has released can be filled from now on.
    pub(crate) fn use_released(&mut self) {
        if let Some(cycle) = self.cycle.as_ref().filter(|cycle| cycle.is_swept) {
            self.gaps.are_released(&cycle.marking.take_longest());
        }
    }

    /// The same; gives what was found if all are released.
    pub(crate) fn take_released(&mut self) -> Option<Released> {
        let cycle = self.cycle.as_ref().filter(|cycle| cycle.is_swept)?;
        let (released, longest) = cycle.marking.take_released()?;
        self.gaps.are_released(&longest);
        Some(released)
    }

    /// Is it marked or emptied, or to be marked at the next collection?
    pub(crate) fn is_under_way(&self) -> bool {
        self.cycle.is_some() || self.evacuation.is_some() || self.is_sparse
    }

    pub(crate) fn stop(&mut self) {
        self.help.clear();
        self.evacuation = None;
        if let Some(cycle) = self.cycle.take() {
            cycle.marking.stop();
        }
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        if let Some(cycle) = self.cycle.take() {
            // The bundles that it looks at are given back, too.
            cycle.marking.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_while_it_is_marked_has_it_marked_sooner() {
        let mut large = Large::new(LARGE).unwrap();
        large.live = 10_000 * SHARE;
        let patience = [0, 3_000, 9_000, 20_000].map(|meanwhile| {
            large.meanwhile = meanwhile;
            large.patience(LARGE / 4)
        });
        assert_eq!(patience, [10_000, 7_000, 5_000, 5_000]);
    }
}
