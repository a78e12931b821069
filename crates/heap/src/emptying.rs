//! The steps of an evacuation ([`crate::evacuation`]): what a heap's owner does at the end of a collection.

use crate::candidates::{Candidates, Met, State, look_through};
use crate::evacuation::{AHEAD, ASLEEP, EFFORT, Evacuation, LOOKED_THROUGH, move_object};
use crate::gaps::Gaps;
use crate::heap::{Heap, UNRESTED};
use crate::in_place::Destination;
use crate::large::LARGE;
use crate::old_space::OldSpace;
use crate::one_heap;
use crate::reserved::pointer;
use crate::roots::Roots;
use crate::term_walk::each_term;
use myriad_sync::prefetch_to_write;
use std::ops::Range;

/// Candidates that are being emptied.
pub(crate) struct Batch {
    candidates: Box<Candidates>,
    /// Their places.
    places: Vec<usize>,
    /// Words that have moved.
    moved: usize,
}

impl Batch {
    /// Lets a word lead to where its object has moved, if it has.
    ///
    /// # Safety
    /// It looks like a term.
    #[inline(always)]
    pub(crate) unsafe fn mend(&self, slot: *mut u64) {
        // SAFETY: the caller's promise; heap.evacuation/EV2.
        unsafe { self.candidates.mend_term(slot) };
    }

    /// The same for the stack of a heap and these roots.
    ///
    /// # Safety
    /// They are as for [`Heap::collect`].
    pub(crate) unsafe fn mend_roots(&self, heap: &Heap, roots: &Roots<'_>) {
        // SAFETY: the caller's promise.
        unsafe {
            (0..heap.stack_words()).for_each(|i| self.mend(heap.stop.add(i)));
            for (at, len) in roots.spans() {
                (0..len).for_each(|i| self.mend(at.add(i)));
            }
        }
    }
}

impl Heap {
    /// A minor collection is over: empties some pieces of a large old generation. Gives the words that it has moved.
    ///
    /// # Safety
    /// As for [`Heap::collect`]; no helper works at the old generation, and there are no fragments.
    pub(crate) unsafe fn evacuate_some(&mut self, roots: &Roots<'_>) -> usize {
        debug_assert!(
            self.fragments.is_null() && !self.is_marked(),
            "others look at the generation (heap.evacuation/EV2)"
        );
        let is_busy = self.flags & UNRESTED != 0;
        let Some(large) = self.large_mut() else { return 0 };
        let times = if large.asleep.is_asked { ASLEEP } else { 1 };
        let most = times * LOOKED_THROUGH + large.promoted;
        let Some(mut evacuation) = large.evacuation.take() else { return 0 };
        let mut moved = 0;
        // SAFETY: no gaps are released before the next marking.
        if unsafe { evacuation.look_through_promoted(most) } && evacuation.is_time(is_busy) {
            let read = self.young_words() + self.stack_words() + roots.spans().map(|(_, len)| len).sum::<usize>();
            let batch = evacuation.next_batch((times * EFFORT).max(read / 2));
            let Some((batch, words)) = batch.filter(|(_, words)| *words <= self.old_room()) else {
                self.end_evacuation(&evacuation);
                return 0;
            };
            // SAFETY: the caller's promise; all that was promoted has been looked through (heap.evacuation/EV1); heap/H1 and heap/H2 for the young generation.
            unsafe {
                if let Some(batch) = self.begin_batch(&mut evacuation, batch, words) {
                    each_term(self.start, self.htop, |slot| batch.mend(slot));
                    batch.mend_roots(self, roots);
                    moved = self.end_batch(&mut evacuation, batch);
                }
            }
            self.flags |= UNRESTED;
        }
        if let Some(large) = self.large_mut() {
            large.evacuation = Some(evacuation);
        }
        moved
    }

    /// Moves what lives in some candidates, to which so many words come at most. The words of the old generation that led there lead to the copies then; those outside it are to be
    /// mended before the batch ends.
    ///
    /// # Safety
    /// heap.evacuation/EV1, heap.evacuation/EV2.
    pub(crate) unsafe fn begin_batch(
        &mut self,
        evacuation: &mut Evacuation,
        batch: Range<usize>,
        words: usize,
    ) -> Option<Batch> {
        let mut candidates = evacuation.candidates.take()?;
        let (mut gaps, mut at) = Gaps::open(self, words);
        let places: Vec<usize> = batch.filter(|place| candidates.list[*place].state == State::Emptied).collect();
        // SAFETY: a candidate's objects live where they were found (heap.candidates/CA1), and it was full till now; the remembered slots are words of objects if they have not
        // moved (heap.evacuation/EV3).
        unsafe {
            for place in &places {
                candidates.list[*place].objects().for_each(|object| move_object(object, &mut gaps));
            }
            while let Some((start, end)) = gaps.unscanned(at) {
                look_through(start, end, |met| {
                    if let Met::Slot(slot) = met
                        && !candidates.mend(slot)
                    {
                        candidates.remember(slot);
                    }
                });
                at = end;
            }
            for place in &places {
                let slots = std::mem::take(&mut candidates.list[*place].slots);
                for (i, slot) in slots.iter().enumerate() {
                    slots.get(i + AHEAD).into_iter().for_each(|ahead| prefetch_to_write(pointer(*ahead)));
                    if !candidates.has_moved(*slot) {
                        candidates.mend(pointer(*slot));
                    }
                }
            }
            let mut first = self.old_off_heap.first.expose_provenance() as u64;
            if candidates.mend(&raw mut first) {
                self.old_off_heap.first = pointer(first as usize);
            }
        }
        let moved = gaps.finish().iter().map(|filled| filled.len() / 8).sum();
        if let Some(large) = self.large_mut() {
            large.gaps = gaps;
        }
        self.prepare_end();
        Some(Batch { candidates, places, moved })
    }

    /// All words that led into a batch lead to the copies: its memory is free. Gives the words that have moved.
    ///
    /// # Safety
    /// They do (heap.evacuation/EV1).
    pub(crate) unsafe fn end_batch(&mut self, evacuation: &mut Evacuation, batch: Batch) -> usize {
        let Batch { candidates, places, moved } = batch;
        for place in &places {
            let area = &candidates.list[*place].area;
            evacuation.gained += area.len() / 8;
            // SAFETY: the caller's promise.
            unsafe { evacuation.give_back(area) };
        }
        evacuation.gained -= moved;
        evacuation.candidates = Some(candidates);
        moved
    }

    /// All are emptied, or there is no room for what lives there.
    pub(crate) fn end_evacuation(&mut self, evacuation: &Evacuation) {
        let Some(large) = self.large_mut() else { return };
        let Some(candidates) = &evacuation.candidates else { return };
        // If little was gained because large objects stay where they are, the next marking can wait.
        large.is_sparse = candidates.is_partial && evacuation.gained > large.live / 8;
        // The one heap is emptied into another range only for who asks.
        if !one_heap::is_on() && !candidates.is_partial && candidates.lost() > large.live + 8 * LARGE {
            self.request_fullsweep();
        }
    }
}
