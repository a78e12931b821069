//! Literals in bundles, and the areas that these count.

use super::Walker;
use super::bundles::{ALONE, bundles, sent};
use crate::{Heap, LiteralArea, Roots, Settings};
use myriad_term::{Build, SharedBinary, Term};

fn list_of(heap: &mut Heap, part: Term, n: usize) -> Term {
    let items: Vec<Term> = (0..n).map(|_| heap.tuple(&[part, Term::OK])).collect();
    heap.list(&items)
}

#[test]
fn a_literal_in_a_bundle_is_a_pointer_and_its_area_is_counted() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut one, mut other) = (Heap::new(&settings), Heap::new(&settings), Heap::new(&settings));
    let shared = SharedBinary::from_bytes(&[5; 100]);
    let (mut area, mut permanent) = (LiteralArea::new(), LiteralArea::permanent());
    let text = area.string("a text that takes more words than all that refers to it, and would have made no bundle");
    let binary = area.shared_binary(shared.clone());
    let literal = area.tuple(&[text, binary]);
    let keys = permanent.tuple(&[Term::OK, Term::NIL]);
    assert!(!area.is_counted());

    let both = sender.tuple(&[literal, keys]);
    let term = list_of(&mut sender, both, 30);
    let got = sent(term).receive(&mut one).0;
    let part = got.as_cons().unwrap().0.as_tuple_of::<2>().unwrap()[0].as_tuple_of::<2>().unwrap();
    assert_eq!((bundles(), part), (1, [literal, keys]), "neither is copied");
    assert!(area.is_counted() && !permanent.is_counted());

    // Whoever else gets the bundle changes nothing about that, nor does one that holds it.
    let around = list_of(&mut one, got, 30);
    let outer = sent(around).receive(&mut other).0;
    drop(sent(got));
    drop(one);
    assert_eq!(bundles(), 2);
    assert!(area.is_counted());

    // What is taken out of it is the heap's own, and what would be asked about.
    let mut roots = [literal_of(outer), Term::NIL];
    let model = Walker::default().hash(literal);
    let mut places = Roots::of(&mut roots);
    // SAFETY: the roots are all that is used.
    unsafe { other.collect_fullsweep(0, &mut places) }.unwrap();
    assert_eq!(bundles(), 0, "the last has gone");
    assert!(!area.is_counted() && other.refers_to(&area.ranges(), &Roots::of(&mut roots)));
    // SAFETY: as above; the area is live.
    unsafe { other.copy_out(&area.ranges(), &mut Roots::of(&mut roots)) };
    drop(area);
    assert_eq!((Walker::default().hash(roots[0]), shared.references()), (model, 2));
    drop(other);
    assert_eq!(shared.references(), 1);
}

/// The literal in the first element of a list of bundles.
fn literal_of(outer: Term) -> Term {
    let inner = outer.as_cons().unwrap().0.as_tuple_of::<2>().unwrap()[0];
    let both = inner.as_cons().unwrap().0.as_tuple_of::<2>().unwrap()[0];
    both.as_tuple_of::<2>().unwrap()[0]
}
