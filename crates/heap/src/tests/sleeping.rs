//! Heaps whose processes sleep, and hold bundles.

use super::bundles::{ALONE, bundles, sent};
use crate::bundle::HEADER;
use crate::{Fragment, Heap, Holder, RESERVED, Roots, Settings, sizes};
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
    let long = 200 + HEADER;
    let _ = sent(small).receive(&mut heap);
    assert!(!heap.is_to_be_noted(), "that is not worth it");
    let got = sent(large).receive(&mut heap).0;
    let again = sent(got);
    assert!(heap.is_to_be_noted());
    // Two hold the large one, of which each counts for a half.
    let messages = heap.info().mbuf_size;
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(long / 2 + 40 + HEADER + messages)));
    assert!(!heap.is_to_be_noted());
    let _ = again.receive(&mut heap);
    assert!(!heap.is_to_be_noted(), "it is noted already");

    // It has collected itself.
    let mut roots = [heap.tuple(&[got])];
    collect(&mut heap, &mut roots);
    assert!(!heap.is_asked(false) && heap.is_to_be_noted());
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(long)));
    // It sleeps, and needs what it has: it is noted again when it has run for another reason.
    assert!(heap.is_asked(false));
    collect(&mut heap, &mut roots);
    assert_eq!(heap.note_held(), Some(Holder::Answers { had: long, left: long }));
    assert!(heap.is_to_be_noted());
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(long)));
    // Its old generation, which is small, held what it needs no longer.
    roots[0] = Term::NIL;
    assert!(heap.is_asked(false));
    assert!(collect(&mut heap, &mut roots));
    assert_eq!(heap.note_held(), Some(Holder::Answers { had: long, left: 0 }));
    assert_eq!((bundles(), heap.is_to_be_noted()), (0, false));
}

#[test]
fn messages_that_no_collection_has_emptied_are_many_words_too() {
    let settings = Settings::default();
    let (mut sender, mut heap) = (Heap::new(&settings), Heap::new(&settings));
    let term = list(&mut sender, 10);
    let receive = |heap: &mut Heap| {
        let (copy, fragment, _) = Fragment::copy_of(term);
        heap.attach(fragment.unwrap());
        copy
    };
    let mut roots = vec![Term::NIL; 3];
    for root in &mut roots {
        assert!(!heap.is_to_be_noted(), "that is not worth it");
        *root = receive(&mut heap);
    }
    assert_eq!(heap.note_held(), Some(Holder::Sleeps(60)));
    assert!(!heap.is_to_be_noted());
    assert!(heap.is_asked(false));
    collect(&mut heap, &mut roots);
    assert_eq!(heap.note_held(), Some(Holder::Answers { had: 60, left: 0 }));
    assert!(!heap.is_to_be_noted());

    // It has collected since: it may be busy, unless there is nothing else to do.
    for (at_rest, asks) in [(false, false), (true, true)] {
        roots.extend((0..3).map(|_| receive(&mut heap)));
        assert_eq!(heap.note_held(), Some(Holder::Sleeps(60)));
        collect(&mut heap, &mut roots);
        roots.extend((0..3).map(|_| receive(&mut heap)));
        assert_eq!(heap.is_asked(at_rest), asks);
        collect(&mut heap, &mut roots);
        let _ = heap.note_held();
    }
    // What was asked for is a heap with little more than what lives.
    let used = heap.young_words() + heap.stack_words() + RESERVED;
    assert_eq!(heap.block_words(), sizes::at_least(used + used / 4), "{:?}", heap.info());
    assert!(roots.iter().all(|list| list.list_length() == Some(10)));
}
