//! The process dictionary.
//!
//! Minor collections move nothing that has grown old, so they need not see entries that hold nothing else. The dictionary knows those that
//! collections have found so, and what was put since:
//!
//! PD1. A minor collection leaves both terms of a settled entry as they are ([`Heap::keeps_at_minor`]). An entry is settled by the collection after
//!      which that is so, whatever its age; only putting a value unsettles it, and a collection of both generations, after which all are looked at anew.
//! PD2. Once entries have been looked at, each that is not settled stands in `young`, perhaps more than once, beside places that are no entry's any more.

use hashbrown::HashTable;
use myriad_heap::Heap;
use myriad_term::Term;
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use std::ops::Range;

/// The process dictionary: a small open map, in a plain vector while short.
#[derive(Default)]
pub struct Dictionary {
    /// Key and value.
    entries: Vec<[Term; 2]>,
    /// Positions in `entries` by the hashes of their keys, once there are many.
    index: HashTable<u32>,
    /// Which entries are settled, a bit for each; empty until they have been looked at.
    settled: Vec<u64>,
    /// The positions of the others (PD2).
    young: Vec<u32>,
}

/// How many entries a dictionary searches one by one.
const LINEAR_ENTRIES: usize = 12;
/// How many entries every collection reads: to know which are settled costs more than to read so few.
const ALWAYS_READ: usize = 64;

/// The hash of a key, in all bits of the word. What equals an immediate is that word.
#[inline]
fn key_hash(key: Term) -> u64 {
    let hash = if key.is_immediate() { key.raw() } else { u64::from(internal_hash(key, 0)) };
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26)
}

impl Dictionary {
    /// Keys with their values, in no order that a program may rely on.
    pub fn entries(&self) -> &[[Term; 2]] {
        &self.entries
    }

    fn position(&self, key: Term) -> Option<usize> {
        if self.entries.len() <= LINEAR_ENTRIES {
            let mut keys = self.entries.iter().map(|[k, _]| *k);
            return if key.is_immediate() { keys.position(|k| k.is(key)) } else { keys.position(|k| eq_exact(k, key)) };
        }
        self.index.find(key_hash(key), |i| eq_exact(self.entries[*i as usize][0], key)).map(|i| *i as usize)
    }

    /// The value of a key.
    pub fn get(&self, key: Term) -> Option<Term> {
        self.position(key).map(|i| self.entries[i][1])
    }

    /// Sets a value; gives the old one.
    pub fn put(&mut self, key: Term, value: Term) -> Option<Term> {
        if let Some(i) = self.position(key) {
            self.unsettle(i);
            return Some(std::mem::replace(&mut self.entries[i][1], value));
        }
        self.entries.push([key, value]);
        debug_assert!(self.index.is_empty() || self.index.len() + 1 == self.entries.len(), "each key has its place");
        match self.entries.len() {
            n if n <= LINEAR_ENTRIES => {}
            n if n == LINEAR_ENTRIES + 1 => (0..n).for_each(|i| self.enter(i)),
            n => self.enter(n - 1),
        }
        self.comes(self.entries.len() - 1);
        None
    }

    /// Takes a key out; gives its value.
    pub fn erase(&mut self, key: Term) -> Option<Term> {
        let i = self.position(key)?;
        let last = self.entries.len() - 1;
        if last > LINEAR_ENTRIES {
            if let Ok(entry) = self.index.find_entry(key_hash(key), |place| *place as usize == i) {
                entry.remove();
            }
            if let Some(place) = self.index.find_mut(key_hash(self.entries[last][0]), |place| *place as usize == last) {
                *place = i as u32;
            }
        } else {
            self.index.clear();
        }
        // The last entry takes its place, settled or not.
        self.unsettle(i);
        if let Some(word) = self.settled.get_mut(last / 64) {
            *word &= !(1 << (last % 64));
        }
        let [_, value] = self.entries.swap_remove(i);
        debug_assert!(self.index.is_empty() || self.index.len() == self.entries.len(), "each key has its place");
        debug_assert!(self.position(key).is_none());
        Some(value)
    }

    /// Enters the key at the position in the index.
    fn enter(&mut self, position: usize) {
        let entries = &self.entries;
        let hash = |place: &u32| key_hash(entries[*place as usize][0]);
        self.index.insert_unique(hash(&(position as u32)), position as u32, hash);
    }

    fn is_settled(&self, position: usize) -> bool {
        self.settled.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }

    /// The entry at the position gets another value, or another entry comes there.
    fn unsettle(&mut self, position: usize) {
        if self.is_settled(position) {
            self.settled[position / 64] &= !(1 << (position % 64));
            self.comes(position);
        }
    }

    /// The entry at the position is one that minor collections have to see.
    fn comes(&mut self, position: usize) {
        if self.settled.is_empty() {
            return;
        }
        self.young.push(position as u32);
        if self.young.len() > self.entries.len() {
            // More has come and gone than is there: the next collection looks at all.
            self.forget();
        }
    }

    /// No entry is known to be settled.
    fn forget(&mut self) {
        self.settled = Vec::new();
        self.young = Vec::new();
    }

    /// All terms, and those parts of them that minor collections have to see.
    pub(crate) fn roots(&mut self) -> (&mut [Term], Vec<Range<usize>>) {
        let len = self.entries.len();
        if self.settled.is_empty() {
            return (self.entries.as_flattened_mut(), std::iter::once(0..2 * len).collect());
        }
        self.young.sort_unstable();
        self.young.dedup();
        self.young.truncate(self.young.partition_point(|position| (*position as usize) < len));
        let runs = self.young.chunk_by(|one, next| one + 1 == *next);
        let parts = runs.map(|run| 2 * run[0] as usize..2 * (run[0] as usize + run.len())).collect();
        (self.entries.as_flattened_mut(), parts)
    }

    /// A collection is over: which entries need the next minor ones not see (PD1)? `all`: it was one of both generations.
    pub(crate) fn settle(&mut self, heap: &Heap, all: bool) {
        let len = self.entries.len();
        if len <= ALWAYS_READ {
            return self.forget();
        }
        let entries = &self.entries;
        let settles = |position: u32| entries[position as usize].iter().all(|term| heap.keeps_at_minor(*term));
        if all || self.settled.is_empty() {
            self.settled.clear();
            self.young = (0..len as u32).collect();
        }
        self.settled.resize(len.div_ceil(64), 0);
        let settled = &mut self.settled;
        self.young.retain(|position| {
            let settles = settles(*position);
            settled[*position as usize / 64] |= u64::from(settles) << (position % 64);
            !settles
        });
        self.young.shrink_to(2 * self.young.len());
    }

    /// Panics if PD1 does not hold.
    #[cfg(any(test, heap_check))]
    pub(crate) fn check(&self, heap: &Heap) {
        let young: std::collections::HashSet<usize> = self.young.iter().map(|position| *position as usize).collect();
        for (position, entry) in self.entries.iter().enumerate() {
            let holds = !self.is_settled(position) || entry.iter().all(|term| heap.keeps_at_minor(*term));
            assert!(holds, "PD1: a minor collection would have to see the entry at {position}");
            let known = self.settled.is_empty() || self.is_settled(position) || young.contains(&position);
            assert!(known, "PD2: nothing tells that the entry at {position} is to be seen");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_heap::{Roots, Settings};
    use myriad_term::Build;
    use myriad_testing::Random;
    use std::collections::BTreeMap;

    const KEYS: u64 = 300;

    /// A key for each number: an immediate, or a tuple.
    fn key(heap: &mut Heap, n: u64) -> Term {
        let n_term = Term::small(n as i64);
        if n.is_multiple_of(3) { heap.tuple(&[n_term, n_term]) } else { n_term }
    }

    /// A value that tells its number.
    fn value(heap: &mut Heap, n: u64) -> Term {
        match n % 4 {
            0 => Term::small(n as i64),
            _ => heap.list(&[Term::small(n as i64), Term::NIL]),
        }
    }

    fn number(value: Term) -> u64 {
        value.as_small().or_else(|| value.as_cons().and_then(|(head, _)| head.as_small())).unwrap() as u64
    }

    fn collect(heap: &mut Heap, dictionary: &mut Dictionary, full: bool) -> usize {
        dictionary.check(heap);
        let mut roots = Roots::new();
        let (terms, young) = dictionary.roots();
        let seen = young.iter().map(Range::len).sum();
        roots.push_aged(terms, young);
        // SAFETY: nothing but the dictionary holds terms of this heap.
        let done = unsafe { if full { heap.collect_fullsweep(0, &mut roots) } else { heap.collect(0, &mut roots) } };
        assert_eq!(done.unwrap().fullsweep, heap.minor_gcs() == 0);
        drop(roots);
        dictionary.settle(heap, heap.minor_gcs() == 0);
        dictionary.check(heap);
        seen
    }

    #[test]
    fn entries_survive_collections_that_do_not_see_them() {
        for seed in 0..if cfg!(miri) { 1 } else { 40 } {
            let mut random = Random::new(seed);
            let (mut heap, mut dictionary) = (Heap::new(&Settings::default()), Dictionary::default());
            let mut model = BTreeMap::new();
            for step in 0..if cfg!(miri) { 600 } else { 6000 } {
                let n = random.below(KEYS);
                let k = key(&mut heap, n);
                match random.below(40) {
                    0 => _ = collect(&mut heap, &mut dictionary, false),
                    1 if random.below(8) == 0 => _ = collect(&mut heap, &mut dictionary, true),
                    2..=8 => assert_eq!(dictionary.erase(k).map(number), model.remove(&n)),
                    9..=14 => assert_eq!(dictionary.get(k).map(number), model.get(&n).copied()),
                    15 => {
                        // What is old already comes to another key.
                        if let Some(old) = dictionary.get(k) {
                            let to = random.below(KEYS);
                            let to_key = key(&mut heap, to);
                            dictionary.put(to_key, old);
                            model.insert(to, number(old));
                        }
                    }
                    _ => {
                        let v = value(&mut heap, step);
                        assert_eq!(dictionary.put(k, v).map(number), model.insert(n, step));
                    }
                }
            }
            collect(&mut heap, &mut dictionary, false);
            assert_eq!(dictionary.entries().len(), model.len());
            for (n, expected) in model {
                let k = key(&mut heap, n);
                assert_eq!(dictionary.get(k).map(number), Some(expected), "seed {seed}");
            }
        }
    }

    #[test]
    fn minor_collections_see_what_was_put_since() {
        const COUNT: u64 = if cfg!(miri) { 100 } else { 1000 };
        let (mut heap, mut dictionary) = (Heap::new(&Settings::default()), Dictionary::default());
        for n in 0..COUNT {
            let (k, v) = (key(&mut heap, n), value(&mut heap, n));
            dictionary.put(k, v);
        }
        let seen: Vec<usize> = (0..4).map(|_| collect(&mut heap, &mut dictionary, false)).collect();
        assert_eq!((seen[0], seen[3]), (2 * COUNT as usize, 0));
        for n in [5, 6, 7, COUNT / 2] {
            let (k, v) = (key(&mut heap, n), value(&mut heap, n + 1));
            dictionary.put(k, v);
        }
        let seen: Vec<usize> = (0..4).map(|_| collect(&mut heap, &mut dictionary, false)).collect();
        assert_eq!((seen[0], seen[3]), (8, 0));
        collect(&mut heap, &mut dictionary, true);
        for _ in 0..4 {
            let _ = collect(&mut heap, &mut dictionary, false);
        }
        assert_eq!(collect(&mut heap, &mut dictionary, false), 0);
    }

    #[test]
    fn what_comes_and_goes_is_not_kept() {
        let (mut heap, mut dictionary) = (Heap::new(&Settings::default()), Dictionary::default());
        for n in 0..200 {
            dictionary.put(Term::small(n), Term::NIL);
        }
        collect(&mut heap, &mut dictionary, false);
        for n in 0..if cfg!(miri) { 1500 } else { 10_000 } {
            dictionary.put(Term::small(1000 + n), Term::NIL);
            dictionary.erase(Term::small(1000 + n));
        }
        assert!(dictionary.young.capacity() <= 1000);
        dictionary.check(&heap);
    }
}
