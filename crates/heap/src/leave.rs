//! Which bundles a heap leaves: it copies what it has of one, and holds that no longer.
//!
//! LV1. A heap leaves a bundle of which it has less than the bundle's words divided by twice the number of its holders. When nobody leaves, the parts
//!      come to half the bundle at least: what is kept is at most twice what lives, however many hold it. Who leaves copies less than that.
//!
//! It is judged when a collection has seen every word of the heap that leads to the bundle: in a minor one if the old generation refers to none of it. Where
//! the terms of a part share some of their words, these count more than once, and the bundle may stay.

use crate::bundle_area;
use crate::heap::{Heap, RESERVED};
use crate::held::{Held, Part, Seen};
use myriad_term::{Alloc, OffHeap, Term, copy};
use std::ptr::NonNull;

/// Words of a part that a minor collection looks at, at most: a message that is passed on costs no more, however large it is.
const LOOKED_AT: usize = if cfg!(test) { 50 } else { 4096 };

/// Room in the old generation of a heap that has just been collected, for one part of a bundle.
struct OldPart<'h> {
    top: *mut u64,
    chain: &'h mut OffHeap,
}

impl Alloc<'static> for OldPart<'_> {
    fn alloc(&mut self, words: usize) -> NonNull<u64> {
        let at = self.top;
        self.top = at.wrapping_add(words);
        NonNull::new(at).unwrap_or(NonNull::dangling())
    }

    unsafe fn link(&mut self, header: *mut u64, words: usize) {
        // SAFETY: the caller's promise about the object, which lies in the old generation (heap/H5).
        unsafe { self.chain.link(header, words) };
    }
}

/// A term that is copied out of a bundle.
struct Leaver<'s> {
    /// The words that are this term, those of the old generation last.
    seen: &'s [Seen],
    words: usize,
}

impl Leaver<'_> {
    fn term(&self) -> Term {
        // SAFETY: a word of the heap that leads to a bundle.
        unsafe { Term::from_raw(self.seen[0].word) }
    }

    /// Does the old generation refer to it?
    fn is_old(&self) -> bool {
        self.seen.last().is_some_and(|seen| seen.in_old)
    }
}

/// The terms of a part, if it is to be copied (LV1).
fn leavers<'s>(part: &Part<'s>, minor: bool) -> Option<Vec<Leaver<'s>>> {
    let size = part.addresses.len() / 8;
    let mut left = size.div_ceil(2 * part.holders) - 1;
    if minor {
        left = left.min(LOOKED_AT);
    }
    let mut leavers = Vec::new();
    for seen in part.seen.chunk_by(|one, other| one.word == other.word) {
        let mut leaver = Leaver { seen, words: 0 };
        leaver.words = copy::size_within(leaver.term(), left, |at| !part.addresses.contains(&at.addr()))?;
        left -= leaver.words;
        leavers.push(leaver);
    }
    Some(leavers)
}

impl Heap {
    /// Leaves the bundles of which a collection that is about to end has found that they are to be left; counts the words of the others.
    ///
    /// # Safety
    /// All survivors have been moved, and every word that leads to a bundle has been shown to `held`, or will be seen by a later collection that looks at
    /// the old generation.
    pub(crate) unsafe fn leave_bundles(&mut self, minor: bool) {
        let Some(rare) = &mut self.rare else { return };
        let mut held = std::mem::take(&mut rare.held);
        held.judge(|held, part| {
            // SAFETY: the caller's promise.
            leavers(part, minor).is_some_and(|leavers| unsafe { self.leave(held, part, &leavers) })
        });
        // What was copied counts as survivor, for what has survived may refer to it (heap/H4).
        self.high_water = self.htop;
        let [young, old] = held.end();
        self.off_heap.binary_words += young;
        self.old_off_heap.binary_words += old;
        *self.held_mut() = held;
    }

    /// `false`: there is no room, and nothing has changed.
    ///
    /// # Safety
    /// As for [`Heap::leave_bundles`].
    unsafe fn leave(&mut self, held: &mut Held, part: &Part<'_>, leavers: &[Leaver<'_>]) -> bool {
        let words =
            |old| leavers.iter().filter(|leaver| leaver.is_old() == old).map(|leaver| leaver.words).sum::<usize>();
        let (young, old) = (words(false), words(true));
        if young + RESERVED > self.room() || old > self.old_room() {
            held.leaving += young + old;
            self.fullsweep_next |= old > 0;
            return false;
        }
        let bundles = bundle_area::range();
        for leaver in leavers {
            let is_old = leaver.is_old();
            // The copy lies in one piece.
            let start = if is_old { self.take_old(leaver.words) } else { self.htop };
            let stays = |at: *const u64| !part.addresses.contains(&at.addr());
            // SAFETY: the term is the heap's; the size is that of the same term with the same predicate. What stays lies in other bundles, which
            // are held from here on (heap/BU2). The copy is whole objects.
            unsafe {
                let copied = if is_old {
                    let part = &mut OldPart { top: start, chain: &mut self.old_off_heap };
                    copy::copy(leaver.term(), leaver.words, part, stays)
                } else {
                    copy::copy(leaver.term(), leaver.words, self, stays)
                };
                crate::term_walk::each_term(start, start.wrapping_add(leaver.words), |place| {
                    let term = Term::from_raw(*place);
                    if !term.is_immediate() && bundles.holds(term.object_ptr()) {
                        held.see_copied(*place, is_old);
                    }
                });
                leaver.seen.iter().for_each(|seen| *seen.place = copied.raw());
            }
        }
        true
    }
}
