//! Maps: flat up to [`FLAT_LIMIT`] keys, hash array mapped tries beyond.
//!
//! M1. A flat map is [`Kind::Map`]: slot 0 is a boxed tuple of the keys, sorted by `compare_exact`; the values follow in the
//!     keys' order. Maps that differ in values only may share the key tuple.
//! M2. A hash map has more than [`FLAT_LIMIT`] keys: [`Kind::MapRoot`] with the count in slot 0, then the children of the
//!     set bits of its bitmap (`aux`); a child is a leaf (the cons `[Key|Value]`) or a [`Kind::MapNode`] of children.
//! M3. Level `l` of the trie takes four bits of the key's internal hash, lowest first; each eighth level starts a new hash,
//!     salted with its number. An inner node has at least two leaves below it, so equal key sets give equal tries.
//! M4. Below level [`MAX_LEVEL`] (128 bits of hash equal) is a node with [`COLLISION`] set and leaves only, in
//!     the order of `compare_exact`.
//! M5. Maps are persistent: every operation leaves its arguments as they were.
//!
//! Bagwell, Ideal Hash Trees (2001); persistent as Hickey's. The shape and the two iteration orders are BEAM's, because
//! programs and files see them: `maps:iterator/1` goes through the slots upwards, `maps:to_list/1`, `maps:keys/1` and
//! the external term format go downwards.

mod build;
mod builder;
mod flat;
mod hash;
mod iter;
mod merge;
#[cfg(test)]
mod tests;

pub use build::{from_keys, from_list, from_pairs, from_unique_pairs};
pub use builder::{Builder, MANY};
pub(crate) use flat::{blank, sort_blank};
pub use iter::{BadPath, MapIter, next_batch, next_iterator, next_list};

use crate::alloc::Build;
use crate::boxed::{Boxed, Kind};
use crate::word::Term;

/// Most keys of a flat map.
pub const FLAT_LIMIT: usize = 32;

/// Levels of a trie: two hashes of 32 bits.
pub const MAX_LEVEL: u32 = 16;

/// `aux` of a node whose leaves have equal hashes (M4).
pub const COLLISION: u32 = 1 << 16;

/// A key and its value.
pub type Pair = (Term, Term);

/// A map of either form.
#[derive(Clone, Copy)]
pub struct Map(Boxed);

/// The two forms of a map.
#[derive(Clone, Copy)]
pub enum View<'a> {
    /// Keys, and the values in their order.
    Flat {
        /// The keys, sorted.
        keys: &'a [Term],
        /// The values.
        values: &'a [Term],
    },
    /// The root of a trie.
    Hash {
        /// Number of keys.
        size: usize,
        /// Bitmap of the children.
        bitmap: u32,
        /// Leaves and nodes.
        children: &'a [Term],
    },
}

impl Term {
    /// The term as a map, if it is one.
    #[inline]
    pub fn as_map(self) -> Option<Map> {
        match self.as_boxed() {
            Some(b) if matches!(b.kind(), Kind::Map | Kind::MapRoot) => Some(Map(b)),
            _ => None,
        }
    }
}

/// An empty map.
pub fn empty<A: Build + ?Sized>(heap: &mut A) -> Term {
    flat::build(heap, &[], &[])
}

impl Map {
    /// The term.
    #[inline]
    pub fn term(self) -> Term {
        self.0.term()
    }

    /// The object.
    #[inline]
    pub fn boxed(self) -> Boxed {
        self.0
    }

    /// Is it a flat map?
    #[inline]
    pub fn is_flat(self) -> bool {
        self.0.kind() == Kind::Map
    }

    /// Its form and parts.
    #[inline]
    pub fn view<'a>(self) -> View<'a> {
        let slots: &'a [Term] = self.0.slots();
        if self.is_flat() {
            let keys = slots[0].as_tuple().map_or(&[][..], |t| t.elements());
            View::Flat { keys, values: &slots[1..] }
        } else {
            let size = slots[0].as_usize().unwrap_or(0);
            View::Hash { size, bitmap: self.0.header().aux(), children: &slots[1..] }
        }
    }

    /// The key tuple of a flat map.
    fn key_tuple(self) -> Term {
        self.0.slot(0)
    }

    /// The keys of a flat map as a tuple, which maps with the same keys may share.
    pub fn flat_keys(self) -> Option<Term> {
        self.is_flat().then(|| self.key_tuple())
    }

    /// Number of keys.
    #[inline]
    pub fn size(self) -> usize {
        if self.is_flat() { self.0.size() - 1 } else { self.0.slot(0).as_usize().unwrap_or(0) }
    }

    /// The value of a key.
    #[inline]
    pub fn get(self, key: Term) -> Option<Term> {
        if self.is_flat() { flat::get(self, key) } else { hash::get(self.0, key) }
    }

    /// Is there such a key?
    #[inline]
    pub fn has_key(self, key: Term) -> bool {
        self.get(key).is_some()
    }

    /// With `key => value`, whether the key was there or not.
    pub fn put<A: Build + ?Sized>(self, heap: &mut A, key: Term, value: Term) -> Term {
        if self.is_flat() { flat::put(heap, self, key, value) } else { hash::put(heap, self.0, key, value) }
    }

    /// With `key := value`; nothing if there is no such key.
    pub fn update<A: Build + ?Sized>(self, heap: &mut A, key: Term, value: Term) -> Option<Term> {
        match self.view() {
            View::Flat { keys, .. } => {
                let at = flat::find(keys, key)?;
                Some(flat::with_value(heap, self, at, value))
            }
            View::Hash { .. } => hash::update(heap, self.0, key, value),
        }
    }

    /// With many `key => value`, in order: the last of equal keys wins (`put_map_assoc`).
    pub fn put_all<A: Build + ?Sized>(self, heap: &mut A, pairs: &[Pair]) -> Term {
        match pairs {
            [] => self.term(),
            [(key, value)] => self.put(heap, *key, *value),
            _ if self.is_flat() => flat::put_all(heap, self, pairs),
            _ => pairs.iter().fold(self, |map, (k, v)| Map::of(hash::put(heap, map.0, *k, *v), map)).term(),
        }
    }

    /// The same where the keys are immediate, all different and in the order of [`compare_exact`](crate::compare::compare_exact).
    pub fn put_in_order<A: Build + ?Sized>(self, heap: &mut A, pairs: &[Pair]) -> Term {
        if self.is_flat() && pairs.len() > 1 {
            flat::put_in_order(heap, self, pairs)
        } else {
            self.put_all(heap, pairs)
        }
    }

    /// With many `key := value`, in order; the first key that is not there as an error (`put_map_exact`).
    pub fn update_all<A: Build + ?Sized>(self, heap: &mut A, pairs: &[Pair]) -> Result<Term, Term> {
        if self.is_flat() {
            return flat::replace_all(heap, self, pairs);
        }
        if let Some((key, _)) = pairs.iter().find(|(key, _)| !self.has_key(*key)) {
            return Err(*key);
        }
        Ok(self.put_all(heap, pairs))
    }

    /// Without a key; the same map if it was not there.
    pub fn remove<A: Build + ?Sized>(self, heap: &mut A, key: Term) -> Term {
        self.take(heap, key).map_or(self.term(), |(_, map)| map)
    }

    /// The value of a key and the map without it.
    pub fn take<A: Build + ?Sized>(self, heap: &mut A, key: Term) -> Option<(Term, Term)> {
        if self.is_flat() { flat::take(heap, self, key) } else { hash::take(heap, self.0, key) }
    }

    /// The pairs of both maps; where both have a key, the value is `other`'s.
    pub fn merge<A: Build + ?Sized>(self, heap: &mut A, other: Map) -> Term {
        merge::merge(heap, self, other)
    }

    /// The pairs, in the order of `maps:iterator/1`; reversed, and for flat maps unreversed, that of `maps:to_list/1`
    /// (see [`Map::pairs`]).
    #[inline]
    pub fn iter(self) -> MapIter {
        MapIter::upwards(self)
    }

    /// The pairs in the order of `maps:to_list/1` and the external term format.
    #[inline]
    pub fn pairs(self) -> MapIter {
        if self.is_flat() { MapIter::upwards(self) } else { MapIter::downwards(self) }
    }

    /// The pairs in the reverse order of [`Map::pairs`]: a list is built from its end.
    pub fn pairs_from_end(self) -> MapIter {
        if self.is_flat() { MapIter::downwards(self) } else { MapIter::upwards(self) }
    }

    /// `maps:keys/1`
    pub fn keys<A: Build + ?Sized>(self, heap: &mut A) -> Term {
        self.list_of(heap, |_, k, _| k)
    }

    /// `maps:values/1`
    pub fn values<A: Build + ?Sized>(self, heap: &mut A) -> Term {
        self.list_of(heap, |_, _, v| v)
    }

    /// `maps:to_list/1`
    pub fn to_list<A: Build + ?Sized>(self, heap: &mut A) -> Term {
        self.list_of(heap, |heap, k, v| heap.tuple(&[k, v]))
    }

    /// A list of what `item` makes of each pair, in the order of `maps:to_list/1`: built from its end.
    fn list_of<A: Build + ?Sized>(self, heap: &mut A, item: impl Fn(&mut A, Term, Term) -> Term) -> Term {
        let mut list = Term::NIL;
        for (key, value) in self.pairs_from_end() {
            let item = item(heap, key, value);
            list = heap.cons(item, list);
        }
        list
    }

    /// The map of a term that is one.
    fn of(term: Term, default: Map) -> Map {
        term.as_map().unwrap_or(default)
    }
}
