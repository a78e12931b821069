//! Copying terms between heaps: `term::copy`, with literals left where they are, unless they are about to go.

use crate::Fragment;
use crate::literal::Lasting;
use myriad_term::{Alloc, Term, copy};

/// Words that [`copy_term`] needs for a term; more if literals begin to go in between, so the room is a guess, not a promise.
#[inline]
pub fn copied_size(term: Term) -> usize {
    if term.is_immediate() {
        return 0;
    }
    let lasting = Lasting::now();
    copy::size(term, |at| lasting.holds(at))
}

/// A copy of a term in another heap; literals are not copied.
#[inline]
pub fn copy_term<A: Alloc + ?Sized>(term: Term, heap: &mut A) -> Term {
    if term.is_immediate() {
        return term;
    }
    let lasting = Lasting::now();
    let words = copy::size(term, |at| lasting.holds(at));
    copy::copy(term, words, heap, |at| lasting.holds(at))
}

impl Fragment {
    /// A copy of a term, in a fragment of its own if it needs memory, and how many words that is.
    #[inline]
    pub fn copy_of(term: Term) -> (Term, Option<Fragment>, usize) {
        if term.is_immediate() {
            return (term, None, 0);
        }
        let lasting = Lasting::now();
        let words = copy::size(term, |at| lasting.holds(at));
        if words == 0 {
            return (term, None, 0);
        }
        let mut fragment = Fragment::with_capacity(words);
        let term = copy::copy(term, words, &mut fragment, |at| lasting.holds(at));
        (term, Some(fragment), words)
    }

    /// A copy of a term and of all literals that it refers to: for places that no purger asks.
    pub fn whole_copy_of(term: Term) -> (Term, Option<Fragment>) {
        if term.is_immediate() {
            return (term, None);
        }
        let words = copy::size(term, nothing);
        let mut fragment = Fragment::with_capacity(words);
        let term = copy::copy(term, words, &mut fragment, nothing);
        (term, Some(fragment))
    }
}

/// No literal is shared.
fn nothing(_: *const u64) -> bool {
    false
}
