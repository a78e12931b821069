//! The rule by which heaps leave a bundle (heap.leave/LV1), for parts of all sizes, drawn by seeds.

use super::SEEDS;
use super::bundles::{ALONE, bundles, sent};
use crate::{Heap, Roots, Settings};
use myriad_term::{Build, Term};
use myriad_testing::Random;

/// Lists of the bundle, at most; none shares a word with another, so that a part is as large as its lists together.
const LISTS: usize = 12;

/// A heap that has some lists of a bundle.
struct Holder {
    heap: Heap,
    /// Which lists, and the lists themselves.
    which: Vec<usize>,
    roots: Vec<Term>,
}

impl Holder {
    fn collect(&mut self) {
        let mut places = Roots::new();
        places.push(&mut self.roots);
        // SAFETY: the roots are all that is used.
        unsafe { self.heap.collect_fullsweep(0, &mut places) }.unwrap();
        let mut places = Roots::new();
        places.push(&mut self.roots);
        self.heap.check(&places);
    }

    /// Words of its part.
    fn part(&self, lengths: &[usize]) -> usize {
        self.which.iter().map(|list| 2 * lengths[*list]).sum()
    }

    /// The words of the bundle and how many hold it, if it does.
    fn holds(&self) -> Option<(usize, usize)> {
        let mut held = None;
        self.heap.each_bundle(|_, words, holders| held = Some((words, holders)));
        held
    }

    /// Are the lists what they were?
    fn check(&self, lengths: &[usize]) {
        for (list, which) in self.roots.iter().zip(&self.which) {
            assert_eq!(list.list_length(), Some(lengths[*which]));
            assert!(list.list_iter().all(|item| item.is(Term::small(*which as i64))));
        }
    }
}

/// A bundle of lists, of which each of some heaps has a few; the lengths of the lists.
fn setting(random: &mut Random) -> (Vec<Holder>, Vec<usize>) {
    let settings = Settings::default();
    let mut sender = Heap::new(&settings);
    let most = [1, 3, 20, 100][random.below(4)];
    let lengths: Vec<usize> = (0..LISTS).map(|_| 1 + random.below(most)).collect();
    let lists: Vec<Term> = lengths
        .iter()
        .enumerate()
        .map(|(which, length)| sender.list(&vec![Term::small(which as i64); *length]))
        .collect();
    // Large, however short they are.
    let beside = sender.list(&[Term::NIL; 30]);
    let all = sender.tuple(&[lists, vec![beside]].concat());
    let (of_all, in_a_part) = (1 + random.below(6), 1 + random.below(LISTS));
    let mut first = Heap::new(&settings);
    let bundled = sent(all).receive(&mut first).0;
    let holders = (0..of_all).map(|_| {
        let mut heap = Heap::new(&settings);
        let tuple = sent(bundled).receive(&mut heap).0;
        let mut which: Vec<usize> = (0..LISTS).filter(|_| random.below(LISTS) < in_a_part).collect();
        which.dedup();
        let elements = tuple.as_tuple().unwrap();
        let roots = which.iter().map(|list| elements.elements()[*list]).collect();
        Holder { heap, which, roots }
    });
    (holders.collect(), lengths)
}

#[test]
fn what_is_kept_is_at_most_twice_what_lives() {
    let _alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (mut left, mut stayed) = (0, 0);
    for seed in 0..if cfg!(miri) { 3 } else { 50 * SEEDS } {
        let mut random = Random::new(seed);
        let (mut holders, lengths) = setting(&mut random);
        // Until nobody leaves; a collection that lacks room for what is copied asks for another one.
        loop {
            let before: Vec<_> = holders.iter().map(|holder| holder.holds().is_some()).collect();
            for holder in &mut holders {
                let Some((words, others)) = holder.holds() else { continue };
                holder.collect();
                if holder.heap.needs_collection() {
                    holder.collect();
                }
                holder.check(&lengths);
                let part = holder.part(&lengths);
                // It leaves if its part is less than size / (2 * holders), and only then.
                assert_eq!(holder.holds().is_none(), 2 * others * part < words, "seed {seed}: {part} of {words}");
                left += usize::from(holder.holds().is_none() && part > 0);
            }
            let after: Vec<_> = holders.iter().map(|holder| holder.holds().is_some()).collect();
            if before == after {
                break;
            }
        }
        let staying: Vec<&Holder> = holders.iter().filter(|holder| holder.holds().is_some()).collect();
        if let Some((words, others)) = staying.first().and_then(|holder| holder.holds()) {
            let lives: usize = staying.iter().map(|holder| holder.part(&lengths)).sum();
            assert_eq!((others, bundles()), (staying.len(), 1));
            assert!(words <= 2 * lives, "seed {seed}: {words} words are kept for {lives}");
            stayed += 1;
        }
        drop(holders);
        assert_eq!(bundles(), 0);
    }
    assert!(cfg!(miri) || left > 20 && stayed > 20, "{left} and {stayed} are too few to mean anything");
}
