//! Copying a term into another heap with its sharing: a part that is reached twice is copied once.
//!
//! What `erts_debug:copy_shared/1,2` does. Messages are copied by [`crate::copy`], which keeps no sharing and is faster.
//! Objects are copied as they are, then the words of the copies that still lead to the source are turned, from a list of
//! their places: no recursion.

use crate::alloc::Alloc;
use crate::boxed::Kind;
use crate::copy;
use crate::word::{Term, TermRef};
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// What was copied already, by its address: the sharing between terms that are copied one after the other.
#[derive(Default)]
pub struct Copied(HashMap<*const u64, Term, RandomState>);

/// A copy of a term in `heap`; literals, told by the predicate, are not copied.
///
/// # Safety
/// The predicate holds for literals only, which must be held for as long as the copy.
pub unsafe fn copy_shared<'h, A: Alloc<'h> + ?Sized>(
    term: TermRef<'_>,
    heap: &mut A,
    is_literal: impl Fn(*const u64) -> bool,
) -> TermRef<'h> {
    // SAFETY: the caller's promise about the predicate; nothing was copied before.
    unsafe { copy_shared_with(term, heap, &mut Copied::default(), is_literal) }
}

/// The same, of one of several terms: what they share is copied once. `heap` is the same for all of them.
///
/// # Safety
/// As for [`copy_shared`]; all terms with the same `copies` go to the same memory.
pub unsafe fn copy_shared_with<'h, A: Alloc<'h> + ?Sized>(
    term: TermRef<'_>,
    heap: &mut A,
    Copied(copies): &mut Copied,
    is_literal: impl Fn(*const u64) -> bool,
) -> TermRef<'h> {
    // SAFETY: its words are read here alone, while the caller holds them; what stays in the copy is literals (the caller's promise).
    let mut root: Term = unsafe { term.assume_held() };
    // Places of words that may lead to the source. All lie in copies, or are `root`.
    let mut places: Vec<*mut Term> = vec![&raw mut root];
    while let Some(place) = places.pop() {
        // SAFETY: a slot of a copy (term/A1: it stays where it is), initialised with the source's word; or `root`.
        let part = unsafe { *place };
        if part.is_immediate() || is_literal(part.object_ptr()) {
            continue;
        }
        let from = part.object_ptr().cast_const();
        let copied = match copies.get(&from) {
            Some(copied) => *copied,
            None => {
                let copied = one(part, heap, &mut places);
                copies.insert(from, copied);
                copied
            }
        };
        // SAFETY: the slot of a copy that was read above, or `root`.
        unsafe { *place = copied };
    }
    root
}

/// Copies one object or list cell, and notes the places of the terms in the copy.
fn one<'h, A: Alloc<'h> + ?Sized>(part: Term, heap: &mut A, places: &mut Vec<*mut Term>) -> Term {
    let (from, words) = match part.as_boxed() {
        // These are made anew, and hold no terms but bytes.
        Some(object)
            if matches!(object.kind(), Kind::SubBinary | Kind::MatchContext) || !object.header().holds_terms() =>
        {
            let all = |_: *const u64| false;
            // SAFETY: the size of the same part, nothing of which stays; the copy is in `heap`, as those that it is put into are.
            return unsafe { copy::copy(part, copy::size(part, all), heap, all).assume_held() };
        }
        Some(object) => (object.ptr().cast_const(), 1 + object.size()),
        None => (part.object_ptr().cast_const(), 2),
    };
    let to = heap.alloc(words).as_ptr();
    // SAFETY: term/T1 and term/B1 for the source; `words` fresh words for the copy (term/A2). All words but a header look like terms (term/B2).
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, words);
        let first = usize::from(part.is_boxed());
        for i in first..words {
            let place = to.add(i).cast::<Term>();
            if !(*place).is_immediate() {
                places.push(place);
            }
        }
        if part.is_boxed() { Term::from_boxed(to) } else { Term::from_cell(to.cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use crate::equal::eq_exact;
    use crate::size::{flat_size, size_shared};
    use crate::{Build, SharedBinary};

    fn shared_copy<'h>(term: TermRef<'_>, to: &mut &'h Arena) -> TermRef<'h> {
        // SAFETY: nothing stays.
        unsafe { copy_shared(term, to, |_| false) }
    }

    #[test]
    fn sharing_is_kept() {
        let mut from = &Arena::new();
        let mut to = &Arena::new();
        let whole = from.shared_binary(SharedBinary::from_bytes(&[9; 1000]));
        let mut term = from.sub_binary(whole, 8, 8 * 500);
        for _ in 0..60 {
            let list = from.list(&[term, term]);
            term = from.tuple(&[list, term, list]);
        }
        let copied = shared_copy(term, &mut to);
        assert_eq!(size_shared(copied, |_| false), size_shared(term, |_| false));
        assert!(!copied.is(term));
        let small = from.list(&[Term::NIL, whole]);
        assert!(eq_exact(small, shared_copy(small, &mut to)));
        assert_eq!(flat_size(small), flat_size(shared_copy(small, &mut to)));
        // SAFETY: what stays is held by the other arena.
        assert!(unsafe { copy_shared(small, &mut to, |_| true) }.is(small));
    }

    #[test]
    fn deep_terms_need_no_stack() {
        let mut from = &Arena::new();
        let mut to = &Arena::new();
        let mut deep = Term::NIL;
        for i in 0..crate::test_terms::many(1_000_000) {
            deep = if i % 2 == 0 { from.tuple(&[deep]) } else { from.cons(deep, Term::NIL) };
        }
        assert!(eq_exact(deep, shared_copy(deep, &mut to)));
    }
}
