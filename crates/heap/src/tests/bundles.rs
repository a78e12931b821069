//! Bundles as heaps hold and leave them.

use crate::bundle::{HEADER, LEAST_WORDS, Rule};
use crate::{Fragment, Heap, Message, Payload, Roots, Settings, account};
use myriad_term::{Build, SharedBinary, Term, TermRef};
use std::sync::Mutex;

/// Bundles are counted in the whole program: a test that makes some holds this.
pub(crate) static ALONE: Mutex<()> = Mutex::new(());

fn list(heap: &mut Heap, n: i64) -> Term {
    let items: Vec<Term> = (0..n).map(Term::small).collect();
    heap.list(&items)
}

fn collect(heap: &mut Heap, roots: &mut [Term], all: bool) {
    collect_unchecked(heap, roots, all);
    let mut places = Roots::new();
    places.push(roots);
    heap.check(&places);
}

fn collect_unchecked(heap: &mut Heap, roots: &mut [Term], all: bool) {
    let mut places = Roots::new();
    places.push(roots);
    // SAFETY: the roots are all that is used.
    unsafe {
        let report = if all { heap.collect_fullsweep(0, &mut places) } else { heap.collect(0, &mut places) };
        assert_eq!(report.unwrap().fullsweep, all);
    }
}

pub(crate) fn bundles() -> u64 {
    account::bundles().number()
}

fn held_by(heap: &Heap) -> Vec<usize> {
    let mut counts = Vec::new();
    heap.each_bundle(|_, _, holders| counts.push(holders));
    counts
}

pub(crate) fn sent(term: TermRef<'_>) -> Message {
    let (term, fragment, _) = Fragment::bundled_copy_of(term, Rule::ALWAYS, crate::is_literal);
    let payload = match fragment {
        // SAFETY: as `bundled_copy_of` says.
        Some(fragment) => unsafe { Payload::of(term, fragment) },
        None => Payload::immediate(term),
    };
    Message::new(payload, Term::NONE)
}

#[test]
fn large_messages_are_shared_and_small_ones_hold_what_they_refer_to() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut first, mut second) = (Heap::new(&settings), Heap::new(&settings), Heap::new(&settings));
    let shared = SharedBinary::from_bytes(&[1; 100]);
    let binary = sender.shared_binary(shared.clone());
    let tail = list(&mut sender, 100);
    let mut roots = [sender.cons(binary, tail)];
    assert_eq!(bundles(), 0);

    // Received, it stays where it is, whatever is collected.
    let got = sent(roots[0]).receive(&mut first).0;
    assert_eq!((bundles(), shared.references()), (1, 3));
    let mut first_roots = [first.tuple(&[got]), Term::NIL];
    for all in [false, false, false, true, false, true, false, false] {
        collect(&mut first, &mut first_roots, all);
    }
    assert_eq!((first_roots[0].as_tuple_of::<1>().unwrap()[0], held_by(&first)), (got, vec![1]));

    // Sent again, whole, in part, and within a new term, it is not copied.
    let again = sent(got).receive(&mut second).0;
    assert_eq!(again, got);
    let part = sent(got.as_cons().unwrap().1).receive(&mut second).0;
    first_roots[1] = first.tuple(&[got, Term::OK]);
    let mut second_roots = [again, part, sent(first_roots[1]).receive(&mut second).0];
    assert_eq!(second_roots[2].as_tuple_of::<2>().unwrap()[0], got);
    assert_eq!((bundles(), held_by(&second)), (1, vec![2]));
    collect(&mut second, &mut second_roots, false);
    assert_eq!(held_by(&second), vec![2], "a heap holds a bundle once");
    first_roots = [Term::NIL; 2];
    collect(&mut first, &mut first_roots, false);
    assert_eq!((held_by(&first), held_by(&second)), (vec![2], vec![2]), "of the old generation nothing is known");
    collect(&mut first, &mut first_roots, true);
    assert_eq!((held_by(&first), held_by(&second)), (vec![], vec![1]));

    // A message that nobody receives, and the sender's own term.
    drop(sent(second_roots[2]));
    collect(&mut sender, &mut roots, true);
    assert_eq!(held_by(&sender), vec![]);
    assert_eq!(second_roots[1].list_length(), Some(100));
    drop(sender);
    assert_eq!(shared.references(), 2);
    drop(second);
    assert_eq!((bundles(), shared.references()), (0, 1));

    // Each holds the one before: they go one after another, without recursion.
    let mut heap = Heap::new(&settings);
    let mut roots = [Term::NIL];
    for _ in 0..if cfg!(miri) { 20 } else { 20_000 } {
        let items: Vec<Term> = (0..LEAST_WORDS as i64).map(Term::small).collect();
        let mut list = roots[0];
        for item in items {
            list = heap.cons(item, list);
        }
        roots[0] = sent(list).receive(&mut heap).0;
        collect_unchecked(&mut heap, &mut roots, true);
        assert_eq!(held_by(&heap), vec![1], "the newest holds the others");
    }
    drop(heap);
    assert_eq!(bundles(), 0);
}

#[test]
fn a_heap_leaves_a_bundle_of_which_it_has_little() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut one, mut other) = (Heap::new(&settings), Heap::new(&settings), Heap::new(&settings));
    let term = list(&mut sender, 100);
    let whole = [sent(term).receive(&mut one).0];
    let tail = |n: usize| (0..n).fold(whole[0], |list, _| list.as_cons().unwrap().1);
    let (most_of_it, half, quarter) = (tail(10), tail(50), tail(75));

    // Two hold it, so a quarter is the border, of its own words too.
    let border = 100 - (200 + HEADER).div_ceil(4).div_ceil(2);
    for (part, stays) in [(whole[0], true), (most_of_it, true), (tail(border), true), (quarter, false)] {
        for all in [false, true] {
            let mut roots = [sent(part).receive(&mut other).0];
            assert_eq!(roots[0], part);
            collect(&mut other, &mut roots, all);
            assert_eq!((roots[0] == part, held_by(&other)), (stays, if stays { vec![2] } else { vec![] }));
            assert_eq!(other.young_words() + other.old_words(), if stays { 0 } else { 50 });
            assert_eq!(roots[0].list_length(), part.list_length());
            collect(&mut other, &mut [], true);
        }
    }

    // One does, so half is; but a minor collection does not look at so many words.
    let mut roots = [sent(half).receive(&mut other).0, other.tuple(&[half, half])];
    collect(&mut one, &mut [], true);
    collect(&mut other, &mut roots, false);
    assert_eq!((bundles(), held_by(&other)), (1, vec![1]));
    collect(&mut other, &mut roots, true);
    assert_eq!((bundles(), held_by(&other)), (0, vec![]));
    let pair = roots[1].as_tuple_of::<2>().unwrap();
    assert_eq!((pair, roots[0].list_length()), ([roots[0]; 2], Some(50)), "what is one term stays one");

    // Without room the next collection makes some.
    let long = list(&mut sender, 4000);
    let mut roots = [sent(long).receive(&mut other).0];
    for _ in 0..2200 {
        roots[0] = roots[0].as_cons().unwrap().1;
    }
    collect(&mut other, &mut roots, true);
    assert_eq!((bundles(), other.needs_collection()), (1, true));
    collect(&mut other, &mut roots, true);
    assert_eq!((bundles(), roots[0].list_length(), other.needs_collection()), (0, Some(1800), false));
}

/// What is copied out of a bundle that a heap leaves may refer to another one, which stays then, though little of it was seen elsewhere.
#[test]
fn a_bundle_stays_if_what_is_copied_out_of_another_one_refers_to_it() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut heap) = (Heap::new(&settings), Heap::new(&settings));
    // A place that is free again when the inner bundle has been made, for the outer one to come before that.
    let first = list(&mut sender, 105);
    let before = sent(first);
    let inner = {
        let term = list(&mut sender, 100);
        sent(term).receive(&mut heap).0
    };
    drop(before);
    let wrapped = heap.tuple(&[Term::OK, inner]);
    let mut items: Vec<Term> = (0..100).map(Term::small).collect();
    items.insert(0, wrapped);
    let items = heap.list(&items);
    let outer = sent(items).receive(&mut heap).0;
    assert!(outer.object_ptr() < inner.object_ptr() && bundles() == 2);
    let end = (0..95).fold(inner, |list, _| list.as_cons().unwrap().1);
    let mut roots = [end, outer.as_cons().unwrap().0];
    for _ in 0..3 {
        collect(&mut heap, &mut roots, true);
        assert_eq!((roots[0], bundles()), (end, 1), "the inner one stays as it is");
        assert_eq!(roots[1].as_tuple_of::<2>(), Some([Term::OK, inner]));
    }
    drop(heap);
    assert_eq!(bundles(), 0);
}

/// A part to which the old generation refers wants room there: the collection that lacks it asks for another fullsweep, which has it.
#[test]
fn what_is_old_leaves_at_the_fullsweep_after_the_one_without_room() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let settings = Settings::default();
    let (mut sender, mut heap) = (Heap::new(&settings), Heap::new(&settings));
    let long = list(&mut sender, 4000);
    let got = sent(long).receive(&mut heap).0;
    let part = (0..2200).fold(got, |list, _| list.as_cons().unwrap().1);
    // Enough beside it that the generations stay apart.
    let beside = list(&mut heap, 200);
    let mut roots = [heap.tuple(&[part, beside])];
    for _ in 0..3 {
        collect(&mut heap, &mut roots, false);
    }
    collect(&mut heap, &mut roots, true);
    assert_eq!((bundles(), heap.needs_collection(), heap.old_words()), (1, true, 403));
    let mut places = Roots::new();
    places.push(&mut roots);
    // SAFETY: the roots are all that is used.
    assert!(unsafe { heap.collect(0, &mut places) }.unwrap().fullsweep);
    assert_eq!((bundles(), heap.needs_collection(), heap.old_words()), (0, false, 403 + 3600));
    assert_eq!(roots[0].as_tuple_of::<2>().unwrap()[0].list_length(), Some(1800));
}
