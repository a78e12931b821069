//! The steps of an evacuation ([`crate::evacuation`]): what a heap's owner does at the end of a collection.

use crate::candidates::{Candidates, Met, State, look_through};
use crate::evacuation::{AHEAD, EFFORT, Evacuation, LOOKED_THROUGH, move_object};
use crate::gaps::Gaps;
use crate::heap::{Heap, UNRESTED};
use crate::in_place::Destination;
use crate::large::LARGE;
use crate::old_space::OldSpace;
use crate::reserved::pointer;
use crate::roots::Roots;
use crate::term_walk::each_term;
use myriad_sync::prefetch_to_write;
use std::ops::Range;

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
        let most = LOOKED_THROUGH + large.promoted;
        let Some(mut evacuation) = large.evacuation.take() else { return 0 };
        let mut moved = 0;
        // SAFETY: no gaps are released before the next marking.
        if unsafe { evacuation.look_through_promoted(most) } && evacuation.is_time(is_busy) {
            let read = self.young_words() + self.stack_words() + roots.spans().map(|(_, len)| len).sum::<usize>();
            let batch = evacuation.next_batch(EFFORT.max(read / 2));
            let Some((batch, words)) = batch.filter(|(_, words)| *words <= self.old_room()) else {
                self.end_evacuation(&evacuation);
                return 0;
            };
            // SAFETY: the caller's promise; all that was promoted has been looked through (heap.evacuation/EV1).
            moved = unsafe { self.empty(&mut evacuation, batch, words, roots) };
            self.flags |= UNRESTED;
        }
        if let Some(large) = self.large_mut() {
            large.evacuation = Some(evacuation);
        }
        moved
    }

    /// Empties some candidates, to which so many words come at most. Gives the words that have moved.
    ///
    /// # Safety
    /// heap.evacuation/EV1, heap.evacuation/EV2; the roots are as for [`Heap::collect`].
    unsafe fn empty(
        &mut self,
        evacuation: &mut Evacuation,
        batch: Range<usize>,
        words: usize,
        roots: &Roots<'_>,
    ) -> usize {
        let Some(mut candidates) = evacuation.candidates.take() else { return 0 };
        let (mut gaps, mut at) = Gaps::open(self, words);
        let emptied = |place: &usize, candidates: &Candidates| candidates.list[*place].state == State::Emptied;
        let batch: Vec<usize> = batch.filter(|place| emptied(place, &candidates)).collect();
        // SAFETY: a candidate's objects live where they were found (heap.candidates/CA1), and it was full till now; the remembered slots are words of objects if they have not
        // moved (heap.evacuation/EV3); heap/H1 and heap/H2 for the young generation and the stack, the caller's promise for the roots.
        unsafe {
            for place in &batch {
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
            for place in &batch {
                let slots = std::mem::take(&mut candidates.list[*place].slots);
                for (i, slot) in slots.iter().enumerate() {
                    slots.get(i + AHEAD).into_iter().for_each(|ahead| prefetch_to_write(pointer(*ahead)));
                    if !candidates.has_moved(*slot) {
                        candidates.mend(pointer(*slot));
                    }
                }
            }
            each_term(self.start, self.htop, |slot| candidates.mend_term(slot));
            (0..self.stack_words()).for_each(|i| candidates.mend_term(self.stop.add(i)));
            for (at, len) in roots.spans() {
                (0..len).for_each(|i| candidates.mend_term(at.add(i)));
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
        for place in &batch {
            let area = &candidates.list[*place].area;
            evacuation.gained += area.len() / 8;
            // SAFETY: all words that led there lead to the copies (heap.evacuation/EV1).
            unsafe { evacuation.give_back(area) };
        }
        evacuation.gained -= moved;
        evacuation.candidates = Some(candidates);
        moved
    }

    /// All are emptied, or there is no room for what lives there.
    fn end_evacuation(&mut self, evacuation: &Evacuation) {
        let Some(large) = self.large_mut() else { return };
        let Some(candidates) = &evacuation.candidates else { return };
        // If little was gained because large objects stay where they are, the next marking can wait.
        large.is_sparse = candidates.is_partial && evacuation.gained > large.live / 8;
        if !candidates.is_partial && candidates.lost() > large.live + 8 * LARGE {
            self.request_fullsweep();
        }
    }
}
