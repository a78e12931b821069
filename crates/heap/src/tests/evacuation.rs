//! Pieces of a large old generation of which little lives are emptied.

use super::Walker;
use super::in_place::{check, collect, large_heap};
use crate::candidates::{Met, PIECE, look_through};
use crate::{Awaited, Heap};
use myriad_term::boxed::Header;
use myriad_term::{Build, Kind, SharedBinary, Term};
use myriad_testing::Random;
use std::collections::BTreeSet;

/// Words of the pieces of the old generation in which an object begins that is no filler.
fn used(heap: &Heap) -> usize {
    let (start, end) = heap.old_area();
    let mut pieces = BTreeSet::new();
    // SAFETY: heap.large/LG1; zeros look like list cells.
    unsafe {
        look_through(start, end, |met| {
            if let Met::Object(at, _) = met
                && *at != 0
                && Header::from_raw(*at).kind() != Kind::Filler
            {
                pieces.insert(at.addr() / 8 / PIECE);
            }
        });
    }
    pieces.len() * PIECE
}

#[test]
fn a_state_that_has_shrunk_is_moved_together() {
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        let mut random = Random::new(seed);
        let mut roots = vec![Term::NIL; if cfg!(miri) { 90 } else { 400 }];
        let mut heap = large_heap(&mut roots, 10);
        let shared = SharedBinary::from_bytes(&[1; 100]);
        for i in 0..roots.len() / 10 {
            let binary = heap.shared_binary(shared.clone());
            roots[10 * i] = heap.tuple(&[binary, roots[10 * i + 1], Term::small(i as i64)]);
        }
        for _ in 0..3 {
            collect(&mut heap, &mut roots);
        }
        // What dies refers to what lives on, and moves.
        for i in (0..roots.len()).step_by(3) {
            let refers = [roots[i], roots[random.below(roots.len() as u64) as usize]];
            roots[i] = heap.tuple(&refers);
        }
        for _ in 0..3 {
            collect(&mut heap, &mut roots);
        }
        let gone: Vec<usize> = (0..roots.len()).filter(|_| random.below(5) > 0).collect();
        gone.into_iter().for_each(|i| roots[i] = Term::NIL);
        let models: Vec<u64> = roots.iter().map(|root| Walker::default().hash(*root)).collect();
        heap.set_fullsweep_after(1);
        let (mut moved, mut was_emptied) = (0, false);
        for _ in 0..if cfg!(miri) { 60 } else { 200 } {
            roots[0] = Term::NIL;
            collect(&mut heap, &mut roots);
            let emptying = heap.large().is_some_and(|large| large.cycle.is_none() && large.evacuation.is_some());
            was_emptied |= emptying;
            moved += usize::from(emptying);
            if emptying {
                check(&heap, &mut roots);
            }
        }
        for (root, model) in roots.iter().zip(&models).skip(1) {
            assert_eq!(Walker::default().hash(*root), *model);
        }
        let live = heap.old_words();
        assert!(used(&heap) <= live / 4 * 5 + 12 * PIECE, "{} words of pieces, of which {live} live", used(&heap));
        assert!(was_emptied && moved > 1, "seed {seed}: {moved} collections emptied some, {} words", used(&heap));
        check(&heap, &mut roots);
        drop(heap);
        assert_eq!(shared.references(), 1);
    }
}

/// Asks a sleeping process until there is nothing to ask for; how often that was.
fn ask(heap: &mut Heap, roots: &mut [Term]) -> usize {
    let asked = (0..).find(|_| {
        let _ = heap.note_held();
        let awaited = heap.note_asleep();
        assert_eq!(heap.note_asleep(), None, "it is noted once");
        if awaited.is_some() {
            assert!(heap.is_asked_asleep());
            collect(heap, roots);
        }
        awaited.is_none()
    });
    asked.unwrap()
}

#[test]
fn who_sleeps_is_asked_until_what_is_left_lies_together() {
    let mut random = Random::new(3);
    let mut roots = vec![Term::NIL; if cfg!(miri) { 90 } else { 400 }];
    let mut heap = large_heap(&mut roots, 10);
    let gone: Vec<usize> = (0..roots.len()).filter(|_| random.below(5) > 0).collect();
    gone.into_iter().for_each(|i| roots[i] = Term::NIL);
    let models: Vec<u64> = roots.iter().map(|root| Walker::default().hash(*root)).collect();
    collect(&mut heap, &mut roots);
    assert!(heap.is_to_be_noted());
    let before = used(&heap);
    let asked = ask(&mut heap, &mut roots);
    assert!((3..60).contains(&asked), "asked {asked} times");
    let live = heap.old_words();
    // Under miri the heap is not much larger than what may be lost.
    assert!(
        used(&heap) < before && (cfg!(miri) || 2 * used(&heap) < before && used(&heap) < 2 * live),
        "{before} words of pieces, {} of which {live} live",
        used(&heap)
    );
    assert!(roots.iter().zip(&models).all(|(root, model)| Walker::default().hash(*root) == *model));

    // It has slept since. What it does later may have left something, and each time that nothing came of it the next one waits longer.
    assert!(!heap.is_to_be_noted());
    for vain in if cfg!(miri) { 0..1 } else { 0..3 } {
        collect(&mut heap, &mut roots);
        let _ = heap.note_held();
        assert_eq!(heap.note_asleep(), Some(Awaited::Marking { vain }));
        assert!(heap.is_asked_asleep());
        collect(&mut heap, &mut roots);
        ask(&mut heap, &mut roots);
    }
}
