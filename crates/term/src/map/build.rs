//! Maps from many pairs at once.
//!
//! The pairs are sorted by their hashes, lowest four bits first: that is the order of the trie's leaves, so each node is
//! built once, from its final children.

use super::flat;
use super::flat::Scratch;
use super::hash::{self, Children};
use super::object::{COLLISION, FLAT_LIMIT, MAX_LEVEL, Pair};
use crate::alloc::Build;
use crate::boxed::{Header, Kind};
use crate::compare::compare_exact;
use crate::word::TermRef;
use std::cmp::Ordering;

/// A term ordered as keys of flat maps are.
#[derive(Clone, Copy)]
pub(super) struct Sorted<'h>(pub(super) TermRef<'h>);

impl<'h> PartialEq for Sorted<'h> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Sorted<'_> {}

impl<'h> PartialOrd for Sorted<'h> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'h> Ord for Sorted<'h> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0.is(other.0) { Ordering::Equal } else { compare_exact(self.0, other.0) }
    }
}

/// One pair on its way into a trie.
#[derive(Clone, Copy)]
pub(super) struct Entry<'h> {
    /// The hash of eight levels, first level in the highest four bits; then the pair's place in the input.
    order: u64,
    key: TermRef<'h>,
    value: TermRef<'h>,
}

/// The hash of levels `level` and on, first level highest.
fn trie_order<'h>(key: TermRef<'h>, level: u32) -> u32 {
    let hash = hash::fresh(key, level);
    // Reversing bytes and the nibbles in each reverses the nibbles.
    let bytes = hash.swap_bytes();
    (bytes & 0x0f0f_0f0f) << 4 | bytes >> 4 & 0x0f0f_0f0f
}

impl<'h> Entry<'h> {
    pub(super) fn new(place: u32, key: TermRef<'h>, value: TermRef<'h>) -> Entry<'h> {
        Entry { order: u64::from(trie_order(key, 0)) << 32 | u64::from(place), key, value }
    }

    /// What pairs are sorted by.
    pub(super) fn order(&self) -> u64 {
        self.order
    }

    /// The hash's part for the first levels of a trie.
    pub(super) fn first_levels(self, levels: usize) -> usize {
        (self.order >> (64 - 4 * levels)) as usize
    }

    pub(super) fn leaf<A: Build<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        heap.cons(self.key, self.value)
    }

    fn hash(self) -> u32 {
        (self.order >> 32) as u32
    }

    fn place(self) -> u32 {
        self.order as u32
    }

    fn sorted(self) -> Sorted<'h> {
        Sorted(self.key)
    }
}

/// An inner node.
pub(super) fn node<'h, A: Build<'h> + ?Sized>(heap: &mut A, bitmap: u32, children: &[TermRef<'h>]) -> TermRef<'h> {
    heap.boxed(Header::new(Kind::MapNode, children.len()).with_aux(bitmap), children)
}

/// The map of these pairs; of equal keys the last wins.
pub fn from_pairs<'h, A: Build<'h> + ?Sized>(heap: &mut A, pairs: &[Pair<'h>]) -> TermRef<'h> {
    if pairs.len() <= FLAT_LIMIT {
        let mut scratch = Scratch::new();
        for (key, value) in pairs {
            scratch.replace(*key, *value);
        }
        return flat::build(heap, scratch.keys(), scratch.values());
    }
    let mut entries = sorted_entries(pairs);
    remove_doubles(&mut entries);
    finish(heap, entries)
}

/// The map of these pairs, if no two have equal keys.
pub fn from_unique_pairs<'h, A: Build<'h> + ?Sized>(heap: &mut A, pairs: &[Pair<'h>]) -> Option<TermRef<'h>> {
    if pairs.len() <= FLAT_LIMIT {
        let map = from_pairs(heap, pairs);
        return map.held_map().filter(|m| m.size() == pairs.len()).map(|m| m.term());
    }
    let mut entries = sorted_entries(pairs);
    remove_doubles(&mut entries);
    (entries.len() == pairs.len()).then(|| finish(heap, entries))
}

/// `maps:from_list/1`: nothing if the term is no proper list of pairs.
pub fn from_list<'h, A: Build<'h> + ?Sized>(heap: &mut A, list: TermRef<'h>) -> Option<TermRef<'h>> {
    let mut pairs = Vec::new();
    let mut items = list.list_iter();
    for item in items.by_ref() {
        let [key, value] = item.as_tuple_of()?;
        pairs.push((key, value));
    }
    items.tail().is_nil().then(|| from_pairs(heap, &pairs))
}

/// `maps:from_keys/2`: nothing if the term is no proper list.
pub fn from_keys<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    keys: TermRef<'h>,
    value: TermRef<'h>,
) -> Option<TermRef<'h>> {
    let mut items = keys.list_iter();
    let pairs: Vec<Pair<'h>> = items.by_ref().map(|key| (key, value)).collect();
    items.tail().is_nil().then(|| from_pairs(heap, &pairs))
}

fn finish<'h, A: Build<'h> + ?Sized>(heap: &mut A, mut entries: Vec<Entry<'h>>) -> TermRef<'h> {
    if entries.len() <= FLAT_LIMIT {
        return flat::from_hash(heap, entries.iter().map(|e| (e.key, e.value)));
    }
    hash::from_leaves(heap, &mut entries)
}

fn sorted_entries<'h>(pairs: &[Pair<'h>]) -> Vec<Entry<'h>> {
    let entry = |(place, (key, value)): (usize, &Pair<'h>)| Entry::new(place as u32, *key, *value);
    let mut entries: Vec<Entry<'h>> = pairs.iter().enumerate().map(entry).collect();
    entries.sort_unstable_by_key(Entry::order);
    entries
}

/// Keeps the last of each set of entries with equal keys. Entries of one hash then stand in the order of their keys.
pub(super) fn remove_doubles(entries: &mut Vec<Entry<'_>>) {
    let equal_hash = |run: &[Entry<'_>]| run[0].hash() == run[1].hash();
    if !entries.windows(2).any(equal_hash) {
        return;
    }
    for run in entries.chunk_by_mut(|a, b| a.hash() == b.hash()) {
        if run.len() > 1 {
            // The last of equal keys first: that is the one `dedup_by` keeps.
            run.sort_unstable_by(|a, b| a.sorted().cmp(&b.sorted()).then(b.place().cmp(&a.place())));
        }
    }
    entries.dedup_by(|b, a| a.hash() == b.hash() && a.sorted() == b.sorted());
}

/// The children that the entries (sorted, of different keys) make in a node of `level`; their bitmap.
pub(super) fn groups<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    entries: &mut [Entry<'h>],
    level: u32,
    children: &mut Children<'h>,
) -> u32 {
    let shift = 28 - 4 * (level & 7);
    let mut bitmap = 0;
    for group in entries.chunk_by_mut(|a, b| (a.hash() ^ b.hash()) >> shift & 15 == 0) {
        bitmap |= 1 << (group[0].hash() >> shift & 15);
        let child = match group {
            [entry] => entry.leaf(heap),
            _ => subtree(heap, group, level + 1),
        };
        children.push(child);
    }
    bitmap
}

/// The node of `level` for at least two entries whose hashes are equal up to there.
pub(super) fn subtree<'h, A: Build<'h> + ?Sized>(heap: &mut A, entries: &mut [Entry<'h>], level: u32) -> TermRef<'h> {
    if level >= MAX_LEVEL {
        entries.sort_unstable_by_key(|e| e.sorted());
        let leaves: Vec<TermRef<'h>> = entries.iter().map(|e| e.leaf(heap)).collect();
        return node(heap, COLLISION, &leaves);
    }
    if level & 7 == 0 {
        for e in entries.iter_mut() {
            e.order = u64::from(trie_order(e.key, level)) << 32;
        }
        entries.sort_unstable_by_key(|e| e.order);
    }
    let mut children = Children::of(&[]);
    let bitmap = groups(heap, entries, level, &mut children);
    node(heap, bitmap, children.slice())
}
