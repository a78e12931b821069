//! Does a heap still hold literals of an area that is to go?

use crate::heap::Heap;
use crate::literal::LiteralRanges;
use crate::roots::Roots;
use myriad_term::Term;

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
}
