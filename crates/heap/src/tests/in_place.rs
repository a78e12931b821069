//! Large old generations: they stay where they are, and what dies there leaves gaps that are filled again.

use super::bundles::{ALONE, bundles, sent};
use super::{SEEDS, STEPS, Walker, run_helped};
#[cfg(not(miri))]
use crate::account::Class;
use crate::live_map::LongestGaps;
#[cfg(not(miri))]
use crate::marking::{GIVEN_BACK, PAGE};
use crate::marking::{OfGaps, Stage};
use crate::{Heap, Help, Roots, Settings};
#[cfg(not(miri))]
use myriad_sync::Account;
use myriad_sync::Arc;
use myriad_term::{Build, SharedBinary, Term};
use myriad_testing::Random;

/// Cells of a list.
const CELLS: usize = if cfg!(miri) { 13 } else { 50 };

/// A minor collection, and what helpers have to do, at once.
pub(super) fn collect(heap: &mut Heap, roots: &mut [Term]) {
    check(heap, roots);
    let was_small = heap.large().is_none();
    // SAFETY: the roots are all that is used.
    let report = unsafe { heap.collect(0, &mut Roots::of(roots)) }.unwrap();
    assert!(!report.fullsweep || was_small, "{:?} {} {}", heap.info(), range_words(heap), heap.collections());
    while let Some(help) = heap.take_help() {
        check(heap, roots);
        help.run();
    }
    check(heap, roots);
}

/// The invariants; too slow under miri for each collection.
pub(super) fn check(heap: &Heap, roots: &mut [Term]) {
    if !cfg!(miri) {
        heap.check(&Roots::of(roots));
    }
}

/// A heap with a large old generation, to which the roots refer: lists of so many cells each.
pub(super) fn large_heap(roots: &mut [Term], cells: usize) -> Heap {
    let mut heap = Heap::new(&Settings::default());
    for i in 0..roots.len() {
        roots[i] = list(&mut heap, roots, i, cells);
    }
    while heap.large().is_none() {
        collect(&mut heap, roots);
        assert!(heap.collections() < 100, "{} words", heap.old_words());
    }
    heap
}

pub(super) fn list(heap: &mut Heap, roots: &mut [Term], i: usize, cells: usize) -> Term {
    if !heap.ensure(2 * cells) {
        // SAFETY: as above.
        unsafe { heap.collect(2 * cells, &mut Roots::of(roots)) }.unwrap();
    }
    (0..cells).fold(Term::NIL, |list, _| heap.cons(Term::small(i as i64), list))
}

fn range_words(heap: &Heap) -> usize {
    let (start, end) = heap.old_area();
    (end.addr() - start.addr()) / 8
}

#[test]
fn gaps_are_filled() {
    let mut roots = [Term::NIL; 40];
    let mut heap = large_heap(&mut roots, CELLS);
    let mut random = Random::new(5);
    let mut most = 0;
    for round in 0..if cfg!(miri) { 40 } else { 4_000 } {
        let i = random.below(roots.len());
        let cells = [3, CELLS, CELLS, 2 * CELLS - 3][random.below(4)];
        roots[i] = list(&mut heap, &mut roots, i, cells);
        if round % 3 == 0 {
            collect(&mut heap, &mut roots);
        }
        while let Some(help) = heap.take_help() {
            help.run();
        }
        most = most.max(range_words(&heap));
    }
    for (i, root) in roots.iter().enumerate() {
        assert!(root.list_length().is_some_and(|cells| [3, CELLS, 2 * CELLS - 3].contains(&cells)));
        assert_eq!(root.as_cons().unwrap().0, Term::small(i as i64));
    }
    let live = 2 * CELLS * roots.len();
    assert!(most < 3 * live, "{most} words were used for {live} that live");
}

#[test]
fn what_is_marked_is_what_is_reachable() {
    let mut roots = [Term::NIL; 30];
    let mut heap = large_heap(&mut roots, CELLS + 10);
    // Deep and wide: rests of objects are more than the marker keeps.
    let mut deep = Term::NIL;
    for i in 0..if cfg!(miri) { 20 } else { 200 } {
        let wide = heap.tuple(&[deep, Term::small(i as i64), deep, roots[i % 20]]);
        deep = heap.cons(wide, deep);
    }
    roots[29] = deep;
    for _ in 0..3 {
        collect(&mut heap, &mut roots);
    }
    roots[7..28].fill(Term::NIL);
    heap.set_fullsweep_after(1);
    for _ in 0..6 {
        collect(&mut heap, &mut roots);
    }
    let mut walker = Walker::default();
    roots.iter().for_each(|root| {
        walker.hash(*root);
    });
    assert_eq!(heap.old_words() + heap.young_words(), walker.words);
    assert!(range_words(&heap) > walker.words + 10 * CELLS, "nothing was moved");
}

#[test]
fn counts_come_back_piece_by_piece() {
    let shared = SharedBinary::from_bytes(&[1; 100]);
    let mut roots = [Term::NIL; 40];
    let mut heap = large_heap(&mut roots, CELLS);
    for root in &mut roots[..20] {
        let binary = heap.shared_binary(shared.clone());
        *root = heap.cons(binary, Term::NIL);
    }
    for _ in 0..3 {
        collect(&mut heap, &mut roots);
    }
    roots[..20].fill(Term::NIL);
    heap.set_fullsweep_after(1);
    let mut counts = vec![shared.references()];
    while shared.references() > 1 {
        collect(&mut heap, &mut roots);
        counts.push(shared.references());
        assert!(counts.len() < 40, "{counts:?}");
    }
    counts.dedup();
    assert!(counts.len() > 4, "some at a time: {counts:?}");
    assert!(roots[20..].iter().all(|root| root.list_length() == Some(CELLS)));
}

/// A bundle that another one held alone, and to which something old refers by the time when that one goes.
#[test]
fn what_only_a_bundle_held_is_held_when_something_old_refers_to_it() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut roots = [Term::NIL; 40];
    let mut heap = large_heap(&mut roots, CELLS);
    let mut sender = Heap::new(&Settings::default());
    let items: Vec<Term> = (0..100).map(Term::small).collect();
    let term = sender.list(&items);
    let inner = sent(term).receive(&mut heap).0;
    let wrapped = heap.tuple(&[Term::OK, inner]);
    let items: Vec<Term> = std::iter::once(wrapped).chain(items).collect();
    let items = heap.list(&items);
    let outer = sent(items).receive(&mut heap).0;
    roots[0] = heap.tuple(&[outer]);
    roots[1] = Term::NIL;
    for _ in 0..3 {
        collect(&mut heap, &mut roots);
    }
    assert_eq!((bundles(), heap.is_marked()), (2, false));
    let [outer] = roots[0].as_tuple_of::<1>().unwrap();
    let [_, inner] = outer.as_cons().unwrap().0.as_tuple_of::<2>().unwrap();
    roots[1] = heap.tuple(&[inner]);
    for _ in 0..3 {
        collect(&mut heap, &mut roots);
    }
    assert!(!heap.is_marked());
    roots[0] = Term::NIL;
    heap.set_fullsweep_after(1);
    for _ in 0..10 {
        collect(&mut heap, &mut roots);
    }
    assert_eq!((bundles(), roots[1].as_tuple_of::<1>().unwrap()[0].list_length()), (1, Some(100)));
    drop(heap);
    assert_eq!(bundles(), 0);
}

#[test]
fn a_heap_ends_before_its_helper_begins() {
    let mut roots = [Term::NIL; 40];
    let mut heap = large_heap(&mut roots, CELLS);
    heap.set_fullsweep_after(1);
    let mut helps = Vec::new();
    while !heap.is_marked() {
        // SAFETY: as above.
        unsafe { heap.collect(0, &mut Roots::of(&mut roots)) }.unwrap();
        helps.extend(std::iter::from_fn(|| heap.take_help()));
    }
    drop(heap);
    helps.into_iter().for_each(Help::run);
}

/// The model test, with helpers on threads of their own: heaps are collected, purged and dropped while these work.
#[test]
fn helpers_work_meanwhile() {
    for seed in 300..300 + SEEDS {
        run_helped(seed, STEPS, 15);
    }
}

/// A helper has told its gaps, but is not done.
#[test]
fn gaps_are_filled_while_others_are_released() {
    let mut roots = [Term::NIL; 40];
    let mut heap = large_heap(&mut roots, CELLS);
    for _ in 0..3 {
        collect(&mut heap, &mut roots);
    }
    roots[..30].fill(Term::NIL);
    heap.set_fullsweep_after(1);
    let mut helps = Vec::new();
    let releases =
        |heap: &Heap| heap.large().and_then(|large| large.cycle.as_ref()).is_some_and(|cycle| cycle.is_swept);
    while !releases(&heap) {
        helps.drain(..).for_each(Help::run);
        // SAFETY: as above.
        unsafe { heap.collect(0, &mut Roots::of(&mut roots)) }.unwrap();
        helps.extend(std::iter::from_fn(|| heap.take_help()));
    }
    let marking = Arc::clone(&heap.large().unwrap().cycle.as_ref().unwrap().marking);
    marking.stage(|stage| *stage = Stage::Releasing(LongestGaps::default()));
    // SAFETY: the owner has been told of no gaps.
    let released = unsafe { marking.release(None, OfGaps::filled(0)) };
    let before = range_words(&heap);
    for i in 0..20 {
        roots[i] = list(&mut heap, &mut roots, i, CELLS);
        // SAFETY: as above.
        unsafe { heap.collect(0, &mut Roots::of(&mut roots)) }.unwrap();
    }
    assert_eq!(range_words(&heap), before);
    marking.stage(|stage| *stage = Stage::Ready(released, LongestGaps::default()));
    collect(&mut heap, &mut roots);
    assert!(!releases(&heap));
    let mut walker = Walker::default();
    roots.iter().for_each(|root| {
        walker.hash(*root);
    });
    assert_eq!(heap.old_words() + heap.young_words(), walker.words);
}

/// Large gaps do not count as memory until they are filled.
#[test]
#[cfg(not(miri))]
fn large_gaps_do_not_count_as_memory() {
    const MANY: usize = 4 * GIVEN_BACK / 16;
    let counted = || Class::Process.ledger().of(Account::own()).size as usize;
    let mut roots = [Term::NIL; 40];
    // So that too little can be counted.
    let other = large_heap(&mut roots, CELLS);
    roots = [Term::NIL; 40];
    let before = counted();
    assert_eq!(before, other.total_size_words());
    let mut heap = large_heap(&mut roots, CELLS);
    let mut memory = Vec::new();
    for is_there in [true, false, true, false] {
        roots[0] = if is_there { list(&mut heap, &mut roots, 0, MANY) } else { Term::NIL };
        heap.set_fullsweep_after(1);
        for _ in 0..8 {
            collect(&mut heap, &mut roots);
        }
        memory.push(heap.total_size_words() - heap.block_words());
    }
    // But for some pages.
    let gone = 2 * MANY - 2 * PAGE / 8..=2 * MANY;
    assert!(gone.contains(&(memory[0] - memory[1])) && gone.contains(&(memory[2] - memory[3])), "{memory:?}");
    assert_eq!(memory[0], memory[2]);
    assert_eq!(counted() - before, heap.total_size_words());
    drop(heap);
    assert_eq!(counted(), before, "a heap that ends takes back what it counted for");
}
