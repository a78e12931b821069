//! A large map from pairs that come one by one, made in steps, so that its maker may give way between them.
//!
//! - A pair waits in the bucket of the first levels of its key's hash. Buckets in their order are the subtrees of the trie
//!   from left to right, so each is sorted, cleared of doubles and built alone, and nodes above are closed as soon as
//!   their last subtree is there.
//! - No step does more than one bucket: some thousandth of the pairs.

use super::build::{Entry, node, remove_doubles, subtree};
use super::hash::{self, Children};
use super::object::{FLAT_LIMIT, Map};
use super::{MapIter, flat};
use crate::alloc::Build;
use crate::word::TermRef;

/// Levels of the trie above the buckets: of fewer pairs than [`MANY`], and of more.
const FEW_LEVELS: usize = 2;
const MANY_LEVELS: usize = 3;
/// Pairs from which on the buckets begin one level further down.
pub const MANY: usize = 64 * 1024;
/// What sorting and building cost a pair, in pairs that are only looked at.
const COST: usize = 3;

/// A map in the making.
pub struct Builder<'h> {
    buckets: Vec<Vec<Entry<'h>>>,
    levels: usize,
    pairs: u32,
    /// Buckets that are built.
    built: usize,
    size: usize,
    /// The nodes that the next subtree belongs to, root first.
    open: [(u32, Children<'h>); MANY_LEVELS],
}

impl<'h> Builder<'h> {
    /// For about so many pairs.
    pub fn new(expected: usize) -> Builder<'h> {
        let levels = if expected < MANY { FEW_LEVELS } else { MANY_LEVELS };
        Builder {
            buckets: (0..1 << (4 * levels)).map(|_| Vec::new()).collect(),
            levels,
            pairs: 0,
            built: 0,
            size: 0,
            open: std::array::from_fn(|_| (0, Children::of(&[]))),
        }
    }

    /// One more pair: of equal keys the last wins.
    pub fn push(&mut self, key: TermRef<'h>, value: TermRef<'h>) {
        let entry = Entry::new(self.pairs, key, value);
        self.pairs = self.pairs.wrapping_add(1);
        if let Some(bucket) = self.buckets.get_mut(entry.first_levels(self.levels)) {
            bucket.push(entry);
        }
    }

    /// Builds as far as the budget (of pairs) goes; the map once it is done.
    pub fn build<A: Build<'h> + ?Sized>(&mut self, heap: &mut A, budget: &mut usize) -> Option<TermRef<'h>> {
        while let Some(bucket) = self.buckets.get_mut(self.built) {
            if *budget == 0 {
                return None;
            }
            let mut entries = std::mem::take(bucket);
            *budget = budget.saturating_sub(1 + COST * entries.len());
            entries.sort_unstable_by_key(Entry::order);
            remove_doubles(&mut entries);
            self.size += entries.len();
            let child = match entries[..] {
                [] => None,
                [entry] => Some(entry.leaf(heap)),
                _ => Some(subtree(heap, &mut entries, self.levels as u32)),
            };
            self.add(heap, child);
            self.built += 1;
        }
        Some(self.root(heap))
    }

    /// Puts a bucket's subtree in its place, and closes the nodes that it completes.
    fn add<A: Build<'h> + ?Sized>(&mut self, heap: &mut A, child: Option<TermRef<'h>>) {
        let (mut child, mut place) = (child, self.built);
        for level in (0..self.levels).rev() {
            let (bitmap, children) = &mut self.open[level];
            let digit = place & 15;
            if let Some(child) = child {
                *bitmap |= 1 << digit;
                children.push(child);
            }
            if digit != 15 || level == 0 {
                return;
            }
            // A single leaf moves up (term/M3).
            child = match children.slice() {
                [] => None,
                [leaf] if leaf.is_cons() => Some(*leaf),
                many => Some(node(heap, *bitmap, many)),
            };
            (*bitmap, *children) = (0, Children::of(&[]));
            place >>= 4;
        }
    }

    fn root<A: Build<'h> + ?Sized>(&mut self, heap: &mut A) -> TermRef<'h> {
        let (bitmap, children) = &self.open[0];
        let root = hash::root(heap, self.size, *bitmap, children.slice());
        match root.held_map() {
            Some(few) if self.size <= FLAT_LIMIT => flat::from_hash(heap, MapIter::upwards(Map(few.0))),
            _ => root,
        }
    }
}
