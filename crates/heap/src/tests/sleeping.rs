//! Heaps whose processes sleep, and hold bundles.

use super::bundles::{ALONE, bundles, sent};
use crate::{Heap, Holder, Roots, Settings};
use myriad_term::{Build, Term};

fn list(heap: &mut Heap, n: i64) -> Term {
    let items: Vec<Term> = (0..n).map(Term::small).collect();
    heap.list(&items)
}

fn collect(heap: &mut Heap, roots: &mut [Term]) -> bool {
    // SAFETY: the roots are all that is used.
    unsafe { heap.collect(0, &mut Roots::of(roots)) }.unwrap().fullsweep
}

#[test]
fn who_sleeps_is_noted_once_and_asked_if_it_has_not_collected_since() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut heap) = (Heap::new(&settings), Heap::new(&settings));
    let (small, large) = (list(&mut sender, 20), list(&mut sender, 100));
    let _ = sent(small).receive(&mut heap);
    assert!(!heap.is_to_be_noted(), "that is not worth it");
    let got = sent(large).receive(&mut heap).0;
    let again = sent(got);
    assert!(heap.is_to_be_noted());
    // Two hold the large one, of which each counts for a half.
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(201 / 2 + 41)));
    assert!(!heap.is_to_be_noted());
    let _ = again.receive(&mut heap);
    assert!(!heap.is_to_be_noted(), "it is noted already");

    // It has collected itself.
    let mut roots = [heap.tuple(&[got])];
    collect(&mut heap, &mut roots);
    assert!(!heap.is_asked() && heap.is_to_be_noted());
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(201)));
    // It sleeps, and needs what it has: it is noted again when it has run for another reason.
    assert!(heap.is_asked());
    collect(&mut heap, &mut roots);
    assert_eq!(heap.note_held(), Some(Holder::Answers { had: 201, left: 201 }));
    assert!(heap.is_to_be_noted());
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(201)));
    // Its old generation, which is small, held what it needs no longer.
    roots[0] = Term::NIL;
    assert!(heap.is_asked());
    assert!(collect(&mut heap, &mut roots));
    assert_eq!(heap.note_held(), Some(Holder::Answers { had: 201, left: 0 }));
    assert_eq!((bundles(), heap.is_to_be_noted()), (0, false));
}
