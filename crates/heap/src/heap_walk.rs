//! Calling with each object: of a heap, of a fragment, or of all that terms refer to.

use crate::fragment::Fragment;
use crate::heap::{Heap, words_between};
use myriad_term::boxed::Header;
use myriad_term::{Boxed, Term, TermRef};
use std::collections::HashSet;

/// Calls `visit` with each boxed object of an area, dead ones too.
///
/// # Safety
/// The area is all objects (heap/H1, heap/H2), and no thread changes it during the walk.
pub unsafe fn each_object(start: *mut u64, end: *mut u64, visit: &mut dyn FnMut(Boxed)) {
    let mut at = start;
    while at < end {
        // SAFETY: the caller's promise: initialised words, and a raw object's header tells how much to step over.
        unsafe {
            let word = *at;
            if Term::from_raw(word).is_header() {
                let words = words_between(at, end);
                debug_assert!(Header::from_raw(word).size() < words, "H2: the object at {at:?} does not fit its area");
                visit(Boxed::at(at));
            }
            at = at.add(if Header::is_raw(word) { 1 + Header::from_raw(word).size() } else { 1 });
        }
    }
    debug_assert!(at == end || start >= end, "H2: the last object before {end:?} ends at {at:?}");
}

/// Calls `visit` once with each boxed object that these terms refer to.
pub fn each_reachable(terms: &[TermRef<'_>], visit: &mut dyn FnMut(Boxed)) {
    let (mut left, mut seen) = (terms.to_vec(), HashSet::new());
    while let Some(term) = left.pop() {
        if term.is_immediate() || !seen.insert(term.object_ptr()) {
            continue;
        }
        if let Some((head, tail)) = term.as_cons() {
            left.extend([head, tail]);
        } else if let Some(object) = term.as_boxed() {
            visit(object);
            if object.header().holds_terms() {
                left.extend_from_slice(object.slots());
            }
        }
    }
}

impl Heap {
    /// Calls `visit` with each boxed object, dead ones too.
    pub fn each_object(&self, mut visit: impl FnMut(Boxed)) {
        // SAFETY: heap/H1 and heap/H2.
        self.each_area(|start, end| unsafe { each_object(start, end, &mut visit) });
    }
}

impl Fragment {
    /// Calls `visit` with each boxed object.
    pub fn each_object(&self, mut visit: impl FnMut(Boxed)) {
        // SAFETY: a fragment's words are objects (heap/H2).
        self.areas().into_iter().for_each(|(start, end)| unsafe { each_object(start, end, &mut visit) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use myriad_term::{Build, Kind};

    fn kinds(each: impl FnOnce(&mut dyn FnMut(Boxed))) -> Vec<Kind> {
        let mut kinds = Vec::new();
        each(&mut |object| kinds.push(object.kind()));
        kinds
    }

    #[test]
    fn each_object_is_met_once() {
        let mut heap = Heap::new(&Settings::default());
        let dead = heap.boxed_raw(Header::new(Kind::BigPositive, 2), &[0, 1]);
        assert!(dead.is_big());
        let inner = heap.tuple(&[Term::NIL]);
        let twice = heap.tuple(&[inner, inner]);
        let list = heap.cons(twice, Term::NIL);
        assert_eq!(kinds(|visit| heap.each_object(visit)), [Kind::BigPositive, Kind::Tuple, Kind::Tuple]);
        assert_eq!(kinds(|visit| each_reachable(&[list, inner], visit)).len(), 2);
        let (_, copy, _) = Fragment::copy_of(list);
        assert_eq!(kinds(|visit| copy.iter().for_each(|copy| copy.each_object(&mut *visit))).len(), 3);
    }
}
