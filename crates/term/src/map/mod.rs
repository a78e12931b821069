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
//!
//! [`Kind::Map`]: crate::boxed::Kind::Map
//! [`Kind::MapRoot`]: crate::boxed::Kind::MapRoot
//! [`Kind::MapNode`]: crate::boxed::Kind::MapNode

mod build;
mod builder;
mod flat;
mod hash;
mod iter;
mod merge;
mod object;
#[cfg(test)]
mod tests;

pub use build::{from_keys, from_list, from_pairs, from_unique_pairs};
pub use builder::{Builder, MANY};
pub(crate) use flat::{blank, sort_blank};
pub use iter::{BadPath, MapIter, next_batch, next_iterator, next_list};
pub use object::{COLLISION, FLAT_LIMIT, MAX_LEVEL, Map, Pair, View};

use crate::alloc::Build;
use crate::word::{Term, TermRef};

/// An empty map.
pub fn empty<'h, A: Build<'h> + ?Sized>(heap: &mut A) -> TermRef<'h> {
    flat::build(heap, &[], &[])
}

impl<'a, 'h> Map<'a, 'h> {
    /// The value of a key.
    #[inline]
    pub fn get(self, key: TermRef<'h>) -> Option<TermRef<'h>> {
        if self.is_flat() { flat::get(self.held(), key) } else { hash::get(self.0.held(), key) }
    }

    /// Is there such a key?
    #[inline]
    pub fn has_key(self, key: TermRef<'h>) -> bool {
        self.get(key).is_some()
    }

    /// With `key => value`, whether the key was there or not.
    pub fn put<A: Build<'h> + ?Sized>(self, heap: &mut A, key: TermRef<'h>, value: TermRef<'h>) -> TermRef<'h> {
        if self.is_flat() {
            flat::put(heap, self.held(), key, value)
        } else {
            hash::put(heap, self.0.held(), key, value)
        }
    }

    /// With `key := value`; nothing if there is no such key.
    pub fn update<A: Build<'h> + ?Sized>(
        self,
        heap: &mut A,
        key: TermRef<'h>,
        value: TermRef<'h>,
    ) -> Option<TermRef<'h>> {
        match self.view() {
            View::Flat { keys, .. } => {
                let at = flat::find(keys, key)?;
                Some(flat::with_value(heap, self.held(), at, value))
            }
            View::Hash { .. } => hash::update(heap, self.0.held(), key, value),
        }
    }

    /// With many `key => value`, in order: the last of equal keys wins (`put_map_assoc`).
    pub fn put_all<A: Build<'h> + ?Sized>(self, heap: &mut A, pairs: &[Pair<'h>]) -> TermRef<'h> {
        match pairs {
            [] => self.term(),
            [(key, value)] => self.put(heap, *key, *value),
            _ if self.is_flat() => flat::put_all(heap, self.held(), pairs),
            _ => pairs.iter().fold(self.term(), |map, (k, v)| match map.held_map() {
                Some(map) => hash::put(heap, map.0, *k, *v),
                None => map,
            }),
        }
    }

    /// The same where the keys are immediate, all different and in the order of [`compare_exact`](crate::compare::compare_exact).
    pub fn put_in_order<A: Build<'h> + ?Sized>(self, heap: &mut A, pairs: &[Pair<'h>]) -> TermRef<'h> {
        if self.is_flat() && pairs.len() > 1 {
            flat::put_in_order(heap, self.held(), pairs)
        } else {
            self.put_all(heap, pairs)
        }
    }

    /// With many `key := value`, in order; the first key that is not there as an error (`put_map_exact`).
    pub fn update_all<A: Build<'h> + ?Sized>(
        self,
        heap: &mut A,
        pairs: &[Pair<'h>],
    ) -> Result<TermRef<'h>, TermRef<'h>> {
        if self.is_flat() {
            return flat::replace_all(heap, self.held(), pairs);
        }
        if let Some((key, _)) = pairs.iter().find(|(key, _)| !self.has_key(*key)) {
            return Err(*key);
        }
        Ok(self.put_all(heap, pairs))
    }

    /// Without a key; the same map if it was not there.
    pub fn remove<A: Build<'h> + ?Sized>(self, heap: &mut A, key: TermRef<'h>) -> TermRef<'h> {
        self.take(heap, key).map_or(self.term(), |(_, map)| map)
    }

    /// The value of a key and the map without it.
    pub fn take<A: Build<'h> + ?Sized>(self, heap: &mut A, key: TermRef<'h>) -> Option<(TermRef<'h>, TermRef<'h>)> {
        if self.is_flat() { flat::take(heap, self.held(), key) } else { hash::take(heap, self.0.held(), key) }
    }

    /// The pairs of both maps; where both have a key, the value is `other`'s.
    pub fn merge<A: Build<'h> + ?Sized>(self, heap: &mut A, other: Map<'_, 'h>) -> TermRef<'h> {
        merge::merge(heap, self.held(), other.held())
    }

    /// The pairs, in the order of `maps:iterator/1`; reversed, and for flat maps unreversed, that of `maps:to_list/1`
    /// (see [`Map::pairs`]).
    #[inline]
    pub fn iter(self) -> MapIter<'h> {
        MapIter::upwards(self)
    }

    /// The pairs in the order of `maps:to_list/1` and the external term format.
    #[inline]
    pub fn pairs(self) -> MapIter<'h> {
        if self.is_flat() { MapIter::upwards(self) } else { MapIter::downwards(self) }
    }

    /// The pairs in the reverse order of [`Map::pairs`]: a list is built from its end.
    pub fn pairs_from_end(self) -> MapIter<'h> {
        if self.is_flat() { MapIter::downwards(self) } else { MapIter::upwards(self) }
    }

    /// `maps:keys/1`
    pub fn keys<A: Build<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        self.list_of(heap, |_, k, _| k)
    }

    /// `maps:values/1`
    pub fn values<A: Build<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        self.list_of(heap, |_, _, v| v)
    }

    /// `maps:to_list/1`
    pub fn to_list<A: Build<'h> + ?Sized>(self, heap: &mut A) -> TermRef<'h> {
        self.list_of(heap, |heap, k, v| heap.tuple(&[k, v]))
    }

    /// A list of what `item` makes of each pair, in the order of `maps:to_list/1`: built from its end.
    fn list_of<A: Build<'h> + ?Sized>(
        self,
        heap: &mut A,
        item: impl Fn(&mut A, TermRef<'h>, TermRef<'h>) -> TermRef<'h>,
    ) -> TermRef<'h> {
        let mut list = Term::NIL;
        for (key, value) in self.pairs_from_end() {
            let item = item(heap, key, value);
            list = heap.cons(item, list);
        }
        list
    }
}
