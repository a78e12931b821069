//! Evacuation: what lives in pieces of a large old generation of which little does is moved elsewhere, and the pieces' memory goes back to the system.
//!
//! A helper chooses the pieces while it releases the gaps after a marking, and remembers the words that lead into them (`candidates.rs`). Minor collections that follow
//! empty them, some at a time (`emptying.rs`): objects are copied to gaps or the end, and the remembered words, those of the young generation, the stack and the roots then lead to the copies.
//! Objects never change, so a word that leads to an object is in an object that is as young or younger, or was copied: nobody else has it. (Remembered sets and evacuation of
//! the sparsest pieces: Detlefs, Flood, Heller, Printezis 2004.)
//!
//! EV1. When all that was promoted has been looked through, the remembered slots of a candidate are all words of the old generation that lead there
//!      (heap.candidates/CA2), but for those of copies, which are remembered when they are made.
//! EV2. Forwarding words stand only while some candidates are emptied. No helper works at the generation then, and nobody walks over it.
//! EV3. Between two steps the emptied pieces are filler, or zeros. Nobody puts anything there before the next marking (heap.candidates/CA1), so that a remembered slot
//!      there is known to have moved.

use crate::candidates::{Candidates, LARGEST_ACROSS, Met, REGION, State, leads_to, look_through};
use crate::gaps::Gaps;
use crate::live_map::fill;
use crate::old_space::OldSpace;
use crate::referrers::Referrers;
use crate::reserved::{self, pointer};
use myriad_term::Term;
use myriad_term::boxed::Header;
use std::ops::Range;

/// What a collection may take for it, in words that are copied one after another, unless it has to read more roots than that.
pub(crate) const EFFORT: usize = if cfg!(any(test, heap_check)) { 150 } else { 1 << 12 };
/// So many times as much for who sleeps.
pub(crate) const ASLEEP: usize = 32;
/// A remembered slot lies in no cache, and takes as long as so many words.
const SLOT: usize = 4;
/// Words that were promoted by earlier collections and are looked through in one.
pub(crate) const LOOKED_THROUGH: usize = if cfg!(any(test, heap_check)) { 50 } else { 1 << 12 };
/// A process that has not slept since the last step has so many collections for each.
const BUSY: usize = 4;
/// Words that lead to what has moved are asked for so far ahead.
pub(crate) const AHEAD: usize = 8;

/// Pieces that are being emptied.
#[derive(Default)]
pub(crate) struct Evacuation {
    /// `None`: a helper looks for them.
    pub(crate) candidates: Option<Box<Candidates>>,
    /// The first that was not looked at.
    next: usize,
    /// What has been promoted since the helper began and was not looked through, by its addresses: what comes last is in the caches, and is looked through first.
    promoted: Vec<Range<usize>>,
    /// Collections since the last step.
    waited: usize,
    /// The last pieces that were emptied, if they lie one after another.
    emptied: Range<usize>,
    /// Words of the pieces that were emptied, less those that moved.
    pub(crate) gained: usize,
    /// Who refers to candidates, where there is one heap of all processes.
    pub(crate) referrers: Referrers,
}

impl Evacuation {
    /// Something was promoted, to these addresses.
    pub(crate) fn note(&mut self, filled: impl IntoIterator<Item = Range<usize>>) {
        self.promoted.extend(filled);
    }

    /// The helper has found these.
    pub(crate) fn begin(&mut self, candidates: Box<Candidates>) {
        self.candidates = Some(candidates);
    }

    /// Looks through what was promoted; is all of it looked through?
    ///
    /// # Safety
    /// EV1: it still is where it was put.
    pub(crate) unsafe fn look_through_promoted(&mut self, most: usize) -> bool {
        let Some(candidates) = &mut self.candidates else { return false };
        let mut left = most;
        while let Some(area) = self.promoted.last() {
            if left == 0 {
                return false;
            }
            left = left.saturating_sub(area.len() / 8);
            // SAFETY: the caller's promise: whole objects of the old generation.
            unsafe {
                look_through(pointer(area.start), pointer(area.end), |met| {
                    if let Met::Slot(slot) = met {
                        candidates.remember(slot);
                    }
                });
            }
            self.promoted.pop();
        }
        true
    }

    /// Is it time for a step? Not often while the process is busy, for the work that waits for it would become more.
    pub(crate) fn is_time(&mut self, is_busy: bool) -> bool {
        self.waited += 1;
        let is_time = !is_busy || self.waited >= BUSY;
        self.waited *= usize::from(!is_time);
        is_time
    }

    /// The next candidates that are to be emptied together, which count as emptied from now on, and what comes to them at most.
    pub(crate) fn next_batch(&mut self, effort: usize) -> Option<(Range<usize>, usize)> {
        let candidates = self.candidates.as_mut()?;
        let (first, mut left, mut words) = (self.next, effort, 0);
        while left > 0
            && let Some(candidate) = candidates.list.get_mut(self.next)
        {
            self.next += 1;
            if candidate.state == State::Full {
                candidate.state = State::Emptied;
                let asked = self.referrers.effort(self.next - 1);
                left = left.saturating_sub(candidate.live + SLOT * candidate.slots.len() + asked + 1);
                words += candidate.live + LARGEST_ACROSS;
            }
        }
        (first < self.next).then_some((first..self.next, words))
    }

    /// An area is empty: it becomes filler together with those before it in its region. The memory of a whole region is the system's.
    ///
    /// # Safety
    /// Nothing leads there, and its objects have moved.
    pub(crate) unsafe fn give_back(&mut self, area: &Range<usize>) {
        let region = |at: usize| at / (8 * REGION) * (8 * REGION);
        if area.start != self.emptied.end || area.start == region(area.start) {
            self.emptied.start = area.start;
        }
        self.emptied.end = area.end;
        let whole = region(self.emptied.start)..region(self.emptied.start) + 8 * REGION;
        if self.emptied.start == whole.start && self.emptied.end >= whole.end {
            // Zeros look like list cells.
            reserved::decommit(whole.start, whole.len());
            self.emptied.start = whole.end;
        }
        if !self.emptied.is_empty() {
            // SAFETY: the caller's promise.
            unsafe { fill(pointer(self.emptied.start), self.emptied.len() / 8) };
        }
    }
}

impl Candidates {
    /// Lets a word lead to where its object has moved; `false`: it has not.
    ///
    /// # Safety
    /// The slot's word is a boxed or list word of the heap or a link of its chain of old objects; EV2.
    #[inline(always)]
    pub(crate) unsafe fn mend(&self, slot: *mut u64) -> bool {
        // SAFETY: the caller's promise; in an area that is being emptied there are forwarding words as those of `copy.rs`.
        unsafe {
            let word = *slot;
            let at = leads_to(word);
            if self.emptied_at(at).is_none() {
                return false;
            }
            let (term, moved) = (Term::from_raw(word), *pointer(at));
            *slot = if term.is_cons() {
                debug_assert!(moved == Term::NONE.raw(), "EV1: the list cell at {at:#x} has not moved");
                *pointer(at).add(1)
            } else {
                let object = Term::from_raw(moved);
                debug_assert!(object.is_boxed(), "EV1: the object at {at:#x} has not moved");
                if term.is_boxed() { moved } else { object.boxed_ptr().addr() as u64 }
            };
            true
        }
    }

    /// The same of a word that may be anything.
    ///
    /// # Safety
    /// It looks like a term; EV2.
    #[inline(always)]
    pub(crate) unsafe fn mend_term(&self, slot: *mut u64) {
        // SAFETY: the caller's promise.
        unsafe {
            if !Term::from_raw(*slot).is_immediate() {
                self.mend(slot);
            }
        }
    }
}

/// Copies an object, and leaves a forwarding word.
///
/// # Safety
/// An object begins there that has not moved; there is room (heap.old_space/OS1).
pub(crate) unsafe fn move_object(at: *mut u64, gaps: &mut Gaps) {
    // SAFETY: the caller's promise.
    unsafe {
        if Term::from_raw(*at).is_header() {
            let words = 1 + Header::from_raw(*at).size();
            let new = gaps.take(words);
            at.copy_to_nonoverlapping(new, words);
            *at = Term::from_boxed(new).raw();
        } else {
            let new = gaps.take(2);
            at.copy_to_nonoverlapping(new, 2);
            *at = Term::NONE.raw();
            *at.add(1) = Term::from_cell(new.cast()).raw();
        }
    }
}
