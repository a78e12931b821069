//! When the old generation is collected too.
//!
//! Where it has no room for what is promoted next; where the process asks for it, by its option `fullsweep_after` too; where it refers to many shared
//! binaries. And where its block is not worth keeping: a process that began with a burst (a login, a configuration that was read) and then answers
//! small messages has an old generation that is mostly garbage, and which nothing is promoted to any more. So a heap is also due when so many words were
//! allocated that a look at its old generation hardly counts beside them: 2 to the power of its patience for each old word. Its patience
//! grows by a look that finds little, and falls by a fullsweep that finds much: a state that lives costs next to nothing in the long run.
//!
//! What frames of a stack refer to is likely dead when they are gone. A word by which the stack has become shorter since something was promoted
//! counts as [`SHRUNK`] words: the collection after a deep recursion is one of both generations, unless that proved to be in vain.

use crate::heap::{Heap, words_between};
use crate::large::Large;
use crate::sizes;

/// The least patience: at first one copied word for each eight that were allocated, at most.
pub(crate) const LEAST: u8 = 3;
/// The greatest.
const MOST: u8 = 10;
/// As many allocated words as a word by which the stack has become shorter.
const SHRUNK: usize = 32;
/// Old words that are worth a look. (Small in tests, as other bounds are, so that small heaps meet this one too.)
const WORTH: usize = if cfg!(test) { 100 } else { 2_586 };

/// What tells whether a look at the old generation pays: rough figures, for every process has them.
#[derive(Clone, Copy)]
pub(crate) struct Thrift {
    /// Units allocated up to the last collection, since the last fullsweep. It ends at eight million words: a generation for which these
    /// are too few is not looked at for their sake.
    allocated: u16,
    /// Words of the stack when something was promoted, at most, since the last fullsweep: the place in the table of sizes.
    stack: u8,
    patience: u8,
}

/// Words that [`Thrift`] counts as one.
const UNIT: usize = if cfg!(test) { 1 } else { 128 };
/// Marks, in the patience, that more than half of what the last fullsweep looked at was alive.
const GROWING: u8 = 0x80;

impl Default for Thrift {
    fn default() -> Thrift {
        Thrift { allocated: 0, stack: 0, patience: LEAST | GROWING }
    }
}

impl Thrift {
    /// A minor collection is over, of so many words that were allocated before it.
    pub(crate) fn minor(&mut self, fresh: usize, stack: usize, has_promoted: bool) {
        let units = u16::try_from(fresh / UNIT).unwrap_or(u16::MAX);
        self.allocated = self.allocated.saturating_add(units);
        if has_promoted {
            self.stack = self.stack.max(sizes::place(stack));
        }
    }

    /// A fullsweep is over that has found `live` words of those that were old or about to be; was it done because it seemed to pay?
    pub(crate) fn fullsweep(&mut self, live: usize, looked_at: usize, stack: usize, seemed_to_pay: bool) {
        let grows = if live > looked_at / 2 { GROWING } else { 0 };
        let patience = match self.patience() {
            patience if grows == 0 => (patience - 1).max(LEAST),
            patience if seemed_to_pay => (patience + 1).min(MOST),
            patience => patience,
        };
        *self = Thrift { allocated: 0, stack: sizes::place(stack), patience: patience | grows };
    }

    fn patience(self) -> u8 {
        self.patience & !GROWING
    }

    /// Was more than half of what the last fullsweep looked at alive, or was there none?
    pub(crate) fn is_growing(self) -> bool {
        self.patience & GROWING != 0
    }

    /// Does a look at so many old words pay, when so many were allocated since the last collection? The stack is read once more for it, too.
    fn pays(self, old: usize, fresh: usize, stack: usize) -> bool {
        // The least that the stack had, if it was of this size.
        let had = if self.stack == 0 { 0 } else { sizes::at_place(self.stack - 1) };
        let shrunk = had.saturating_sub(stack).saturating_mul(SHRUNK);
        let spent = (usize::from(self.allocated) * UNIT).saturating_add(fresh).saturating_add(shrunk);
        spent >> self.patience() >= old.max(WORTH) + stack
    }
}

impl Heap {
    /// Will the next collection be one of both generations?
    pub fn fullsweep_due(&self) -> bool {
        self.fullsweep_next
            || !self.old_start.is_null() && self.mature_words() > self.old_room()
            // What dies in a large old generation is found where it is.
            || self.large().is_none()
                && (self.minor_gcs >= self.fullsweep_after
                    || self.old_off_heap.binary_words > self.old_bin_vheap_limit
                    || self.is_stale())
    }

    /// Is the old generation likely to hold so much that is dead that a look at it pays?
    pub(crate) fn is_stale(&self) -> bool {
        let fresh = self.young_words() - self.mature_words() + self.fragment_words;
        !self.old_start.is_null() && self.thrift.pays(self.old_words(), fresh, self.stack_words())
    }

    /// Words that may still be promoted.
    pub(crate) fn old_room(&self) -> usize {
        self.large().map_or_else(|| words_between(self.old_top, self.old_limit), Large::room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Roots, Settings};
    use myriad_term::{Build, Term};

    #[test]
    fn a_look_pays_after_some_allocation() {
        let mut thrift = Thrift::default();
        thrift.minor(8 * WORTH - 1, 10, true);
        assert!(!thrift.pays(1, 0, 0) && thrift.pays(1, 1, 0));
        assert!(!thrift.pays(1, 79, 10) && thrift.pays(1, 81, 10), "a deep stack wants more");
        assert!(!thrift.pays(2 * WORTH, WORTH, 10), "a larger generation wants more");
    }

    #[test]
    fn a_stack_that_has_gone_makes_a_look_pay() {
        let mut thrift = Thrift::default();
        thrift.minor(0, 7 * WORTH, true);
        assert!(thrift.pays(15 * WORTH, 0, 0) && !thrift.pays(15 * WORTH, 0, 7 * WORTH));
        thrift.minor(0, 0, true);
        thrift.minor(0, 100 * WORTH, false);
        assert!(!thrift.pays(30 * WORTH, 0, 0), "it counts as it was when something was promoted");
    }

    #[test]
    fn looks_in_vain_become_rare() {
        let mut thrift = Thrift::default();
        (0..20).for_each(|_| thrift.fullsweep(90, 100, 0, false));
        assert_eq!((thrift.patience(), thrift.is_growing()), (LEAST, true), "a heap that grows is not in vain");
        (0..20).for_each(|_| thrift.fullsweep(90, 100, 0, true));
        assert_eq!((thrift.patience(), thrift.is_growing()), (MOST, true));
        thrift.fullsweep(10, 100, 0, false);
        assert_eq!((thrift.patience(), thrift.is_growing()), (MOST - 1, false));
        (0..20).for_each(|_| thrift.fullsweep(10, 100, 0, true));
        assert_eq!((thrift.patience(), thrift.is_growing()), (LEAST, false));
    }

    /// Pushes words on the stack, each with a cell of its own.
    fn descend(heap: &mut Heap, frames: usize) {
        for _ in 0..frames {
            // SAFETY: all terms are on the stack.
            unsafe { heap.ensure_stack(3, &mut Roots::new()) }.unwrap();
            let cell = heap.cons(Term::NIL, Term::NIL);
            // SAFETY: there is room.
            unsafe {
                heap.stop = heap.stop.sub(1);
                *heap.stop = cell.raw();
            }
        }
    }

    /// Makes words that nobody keeps, and collects when there is no room.
    fn allocate(heap: &mut Heap, words: usize) {
        for _ in 0..words / 2 {
            if !heap.ensure(2) {
                // SAFETY: all terms are on the stack.
                unsafe { heap.collect(2, &mut Roots::new()) }.unwrap();
            }
            heap.cons(Term::NIL, Term::NIL);
        }
    }

    #[test]
    fn after_a_deep_recursion_the_old_block_goes() {
        let mut heap = Heap::new(&Settings::default());
        descend(&mut heap, 170);
        assert!(heap.old_words() > WORTH);
        heap.stop = heap.hend;
        // SAFETY: there are no terms left.
        let report = unsafe { heap.collect(0, &mut Roots::new()) }.unwrap();
        assert!(report.fullsweep && heap.old_block_words() == 0, "{:?}", heap.info());
    }

    #[test]
    fn what_lives_is_looked_at_ever_more_rarely() {
        let mut heap = Heap::new(&Settings::default());
        descend(&mut heap, 200);
        let mut looks = 0;
        for _ in 0..100 {
            let before = heap.minor_gcs();
            allocate(&mut heap, 400);
            looks += usize::from(heap.minor_gcs() < before);
        }
        assert!((2..5).contains(&looks), "{looks} looks, {:?}", heap.info());
    }
}
