//! Does a heap still hold literals of an area that is to go? If so, they are copied out.
//!
//! Literals are shared with processes that run at the same time, so the collector may not leave forwarding words in them. They
//! are copied with the sharing in them, which may stand for far more words than there are, and a fullsweep follows.

use crate::collect::GcReport;
use crate::fragment::Fragment;
use crate::heap::Heap;
use crate::literal::{LiteralRanges, is_literal};
use crate::roots::Roots;
use crate::term_walk::each_term;
use crate::transfer::Growing;
use myriad_term::copy_shared::{Copied, copy_shared_with};
use myriad_term::{Alloc, Term};

/// Copies of literals that are to go, in memory that all may refer to that refers to these.
pub(crate) struct Copies<'a, A> {
    areas: &'a LiteralRanges,
    memory: A,
    made: Copied,
}

impl<'a, A> Copies<'a, A> {
    pub(crate) fn new(areas: &'a LiteralRanges, memory: A) -> Copies<'a, A> {
        Copies { areas, memory, made: Copied::default() }
    }

    /// # Safety
    /// `slot` holds a word that looks like a term.
    pub(crate) unsafe fn replace<'m>(&mut self, slot: *mut u64)
    where
        A: Alloc<'m>,
    {
        // SAFETY: the caller promises that the slot holds a word that looks like a term.
        let term = unsafe { Term::from_raw(*slot) };
        if term.is_immediate() || !self.areas.contains(term.object_ptr()) {
            return;
        }
        let areas = self.areas;
        let stays = |at: *const u64| is_literal(at) && !areas.contains(at);
        // SAFETY: other literals stay; all copies are in the same memory.
        let copied = unsafe { copy_shared_with(term, &mut self.memory, &mut self.made, stays) };
        debug_assert!(
            copied.is_immediate() || !areas.contains(copied.object_ptr()),
            "L2: the copy of a literal that goes is a literal that goes"
        );
        // SAFETY: the caller promises that the slot is a word that may be written.
        unsafe { *slot = copied.raw() };
    }
}

impl Heap {
    /// Does any word of the heap, its stack or the roots point into these areas? Dead objects count: a negative answer
    /// is sure, a positive one may be wrong until the next fullsweep.
    pub fn refers_to(&self, areas: &LiteralRanges, roots: &Roots<'_>) -> bool {
        let mut found = false;
        let mut look = |term: Term| found |= !term.is_immediate() && areas.contains(term.object_ptr());
        self.each_word(&mut look);
        for (at, len) in roots.spans() {
            for i in 0..len {
                // SAFETY: a listed root is an initialised term.
                look(unsafe { Term::from_raw(*at.add(i)) });
            }
        }
        found
    }

    /// Replaces all literals of these areas by copies, and collects both generations: [`Heap::refers_to`] is false
    /// afterwards.
    ///
    /// # Safety
    /// As [`Heap::collect`]; the areas are live.
    pub unsafe fn copy_out(&mut self, areas: &LiteralRanges, roots: &mut Roots<'_>) -> GcReport {
        self.stop_marking();
        let mut fragment = Fragment::new();
        let mut copies = Copies::new(areas, Growing(&mut fragment));
        // SAFETY: heap/H1 and heap/H2 for the heap and the stack, the caller's promise for the roots. Old objects may point to the
        // copies now, against heap/H4; the collection that follows moves all into one generation and does not rely on it.
        unsafe {
            self.each_area(|start, end| each_term(start, end, |slot| copies.replace(slot)));
            for i in 0..self.stack_words() {
                copies.replace(self.stop.add(i));
            }
            for (at, len) in roots.spans() {
                for i in 0..len {
                    copies.replace(at.add(i));
                }
            }
            self.attach(fragment);
            let report = self.collect_into_young(roots);
            #[cfg(heap_check)]
            assert!(!self.refers_to(areas, roots), "L2: a heap still refers to literals that it has copied out");
            report
        }
    }
}

impl Fragment {
    /// Replaces all literals of these areas, in the memory of a message and in its terms, by copies.
    ///
    /// # Safety
    /// The areas are live; the fragment holds all that `terms` refer to (but for literals), and nothing else refers to either.
    pub unsafe fn copy_out(this: &mut Option<Fragment>, terms: &mut [&mut Term], areas: &LiteralRanges) {
        let refers = |term: &Term| !term.is_immediate() && areas.contains(term.object_ptr());
        let known = this.as_ref().map_or_else(Vec::new, Fragment::areas);
        // SAFETY: a fragment's words are objects (heap/H2); the copies that are made during the walk lie behind or elsewhere.
        unsafe {
            let mut found = terms.iter().any(|term| refers(term));
            for (start, end) in known.iter().copied() {
                each_term(start, end, |slot| found |= refers(&Term::from_raw(*slot)));
            }
            if !found {
                return;
            }
            let mut fragment = this.take().unwrap_or_default();
            let mut copies = Copies::new(areas, Growing(&mut fragment));
            for (start, end) in known {
                each_term(start, end, |slot| copies.replace(slot));
            }
            for term in terms {
                copies.replace(std::ptr::from_mut::<Term>(term).cast());
            }
            *this = Some(fragment);
        }
    }
}
