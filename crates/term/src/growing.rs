//! A list that is made from its front, piece by piece.
//!
//! G1. Its cells are fresh: nothing else refers to them, and nothing is collected before it is finished, so the last of them may
//!     still be given its tail.

use crate::alloc::{Alloc, cells};
use crate::word::{Term, TermRef};

/// A list in the making.
pub struct GrowingList<'h> {
    first: TermRef<'h>,
    last: TermRef<'h>,
}

impl<'h> Default for GrowingList<'h> {
    fn default() -> Self {
        GrowingList { first: Term::NIL, last: Term::NIL }
    }
}

impl<'h> GrowingList<'h> {
    /// So many more items.
    pub fn add<A: Alloc<'h> + ?Sized>(&mut self, heap: &mut A, len: usize, item: impl FnMut(usize) -> TermRef<'h>) {
        let piece = cells(heap, len, Term::NIL, item);
        if len == 0 {
            return;
        }
        if self.first.is_nil() {
            self.first = piece;
        }
        self.end_in(piece);
        // SAFETY: `cells` lays them out in a row: the last of `len`.
        self.last = unsafe { TermRef::from_cell(piece.cell().add(2 * (len - 1))) };
    }

    /// The list, which then goes on with `tail`.
    pub fn finish(&mut self, tail: TermRef<'h>) -> TermRef<'h> {
        if self.first.is_nil() {
            return tail;
        }
        self.end_in(tail);
        self.first
    }

    fn end_in(&mut self, tail: TermRef<'h>) {
        if self.last.is_cons() {
            // SAFETY: G1.
            unsafe { *self.last.cell().add(1) = tail };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GrowingList;
    use crate::arena::Arena;
    use crate::word::Term;

    #[test]
    fn pieces_become_one_list() {
        let heap = &mut &Arena::new();
        let mut list = GrowingList::default();
        assert!(list.finish(Term::TRUE).is(Term::TRUE));
        for from in [0, 3, 6] {
            list.add(heap, if from == 3 { 0 } else { 3 }, |i| Term::small((from + i) as i64));
        }
        let list = list.finish(Term::small(9));
        let mut items = list.list_iter();
        let numbers: Vec<i64> = items.by_ref().filter_map(|t| t.as_small()).collect();
        assert_eq!(numbers, [0, 1, 2, 6, 7, 8]);
        assert!(items.tail().is(Term::small(9)));
    }
}
