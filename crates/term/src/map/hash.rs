//! Hash maps: look up, insert and remove in the trie (M2, M3, M4).
//!
//! The trie has at most [`MAX_LEVEL`] + 1 levels of nodes, so recursion here is bounded.

use super::build::{self, node};
use super::{COLLISION, FLAT_LIMIT, MAX_LEVEL, Map, MapIter, flat};
use crate::alloc::Build;
use crate::boxed::{Boxed, Header, Kind};
use crate::compare::compare_exact;
use crate::equal::eq_exact;
use crate::hash::{map_hash, map_rehash};
use crate::word::Term;
use std::cmp::Ordering;

/// The hash that the eight levels around `level` share out.
#[inline]
pub(super) fn fresh(key: Term, level: u32) -> u32 {
    if level < 8 { map_hash(key) } else { map_rehash(key, level & !7) }
}

/// The hash of a key, from level `level` on (M3).
pub(super) fn hash_at(key: Term, level: u32) -> u32 {
    fresh(key, level) >> (4 * (level & 7))
}

/// The hash for the next level; `level` is that one.
#[inline]
pub(super) fn shift(hash: u32, level: u32, key: Term) -> u32 {
    if level & 7 == 0 { fresh(key, level) } else { hash >> 4 }
}

/// Are the two keys the same key?
#[inline]
pub(super) fn same_key(a: Term, b: Term) -> bool {
    a.is(b) || (!a.is_immediate() && !b.is_immediate() && eq_exact(a, b))
}

/// Bitmap and children of a root or node.
#[inline]
pub(super) fn parts<'a>(object: Boxed) -> (u32, &'a [Term]) {
    let header = object.header();
    let first = usize::from(header.kind() == Kind::MapRoot);
    let slots: &'a [Term] = object.slots();
    (header.aux(), &slots[first..])
}

/// Index of a hash's child among those of a bitmap, and whether it is there.
#[inline(always)]
fn child_index(bitmap: u32, hash: u32) -> (usize, bool) {
    let bit = 1u32 << (hash & 15);
    ((bitmap & (bit - 1)).count_ones() as usize, bitmap & bit != 0)
}

/// The value of a key.
pub(super) fn get(root: Boxed, key: Term) -> Option<Term> {
    get_below(root, 0, map_hash(key), key)
}

/// The value of a key below a node of `level`; `hash` is the key's from that level on.
#[inline]
pub(super) fn get_below(object: Boxed, level: u32, hash: u32, key: Term) -> Option<Term> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the instruction.
        return unsafe { get_counting(object, level, hash, key) };
    }
    get_step_by_step(object, level, hash, key)
}

/// [`get_step_by_step`] on a processor that counts bits: each level waits for a count.
///
/// # Safety
/// The processor has `popcnt`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
unsafe fn get_counting(object: Boxed, level: u32, hash: u32, key: Term) -> Option<Term> {
    get_step_by_step(object, level, hash, key)
}

#[inline(always)]
fn get_step_by_step(object: Boxed, mut level: u32, mut hash: u32, key: Term) -> Option<Term> {
    let (mut bitmap, mut children) = parts(object);
    loop {
        if bitmap & COLLISION != 0 {
            return get_colliding(children, key);
        }
        let (index, there) = child_index(bitmap, hash);
        if !there {
            return None;
        }
        let child = *children.get(index)?;
        match child.as_boxed() {
            None => {
                let (k, value) = child.as_cons()?;
                return same_key(k, key).then_some(value);
            }
            Some(inner) => {
                // Not the root.
                (bitmap, children) = (inner.header().aux(), inner.slots());
                level += 1;
                hash = shift(hash, level, key);
            }
        }
    }
}

/// The value of a key among leaves of one hash.
#[cold]
fn get_colliding(leaves: &[Term], key: Term) -> Option<Term> {
    leaves.iter().filter_map(|c| c.as_cons()).find(|(k, _)| same_key(*k, key)).map(|(_, v)| v)
}

/// A new root.
pub(super) fn root<A: Build + ?Sized>(heap: &mut A, size: usize, bitmap: u32, children: &[Term]) -> Term {
    let at = heap.alloc(2 + children.len()).as_ptr();
    // SAFETY: 2 + len fresh words (A2).
    unsafe {
        *at = Header::new(Kind::MapRoot, 1 + children.len()).with_aux(bitmap).raw();
        *at.add(1) = Term::small(size as i64).raw();
        std::ptr::copy_nonoverlapping(children.as_ptr(), at.add(2).cast(), children.len());
        Term::from_boxed(at)
    }
}

/// What an insertion did.
enum Put {
    /// The very same pair was there.
    Same,
    /// A key's value was replaced: the new child.
    Replaced(Term),
    /// A key was added: the new child.
    Added(Term),
}

/// With `key => value`.
pub(super) fn put<A: Build + ?Sized>(heap: &mut A, map: Boxed, key: Term, value: Term) -> Term {
    let hash = map_hash(key);
    insert_at_root(heap, map, hash, key, value)
}

/// With `key := value`, if the key is there.
pub(super) fn update<A: Build + ?Sized>(heap: &mut A, map: Boxed, key: Term, value: Term) -> Option<Term> {
    get(map, key)?;
    Some(put(heap, map, key, value))
}

fn insert_at_root<A: Build + ?Sized>(heap: &mut A, map: Boxed, hash: u32, key: Term, value: Term) -> Term {
    let (bitmap, children) = parts(map);
    let size = map.slot(0).as_usize().unwrap_or(0);
    let (index, there) = child_index(bitmap, hash);
    let mut copy = Children::of(children);
    if !there {
        copy.insert(index, heap.cons(key, value));
        return root(heap, size + 1, bitmap | 1 << (hash & 15), copy.slice());
    }
    let (child, added) = match insert(heap, children[index], 1, hash, key, value) {
        Put::Same => return map.term(),
        Put::Replaced(child) => (child, 0),
        Put::Added(child) => (child, 1),
    };
    copy.set(index, child);
    root(heap, size + added, bitmap, copy.slice())
}

/// The child with `key => value`; its own node is, or would be, of `level`.
pub(super) fn put_below<A: Build + ?Sized>(heap: &mut A, child: Term, level: u32, key: Term, value: Term) -> Term {
    match insert(heap, child, level, hash_at(key, level.saturating_sub(1)), key, value) {
        Put::Same => child,
        Put::Replaced(child) | Put::Added(child) => child,
    }
}

/// Inserts below `child`, which stands in a node of level `level - 1`; `hash` is the key's at that level.
fn insert<A: Build + ?Sized>(heap: &mut A, child: Term, level: u32, hash: u32, key: Term, value: Term) -> Put {
    if let Some((old, old_value)) = child.as_cons() {
        if same_key(old, key) {
            return if old_value.is(value) { Put::Same } else { Put::Replaced(heap.cons(key, value)) };
        }
        let leaf = heap.cons(key, value);
        return Put::Added(split(heap, child, leaf, level));
    }
    let Some(object) = child.as_boxed() else { return Put::Same };
    let (bitmap, children) = parts(object);
    if bitmap & COLLISION != 0 {
        return insert_collision(heap, children, key, value);
    }
    let hash = shift(hash, level, key);
    let (index, there) = child_index(bitmap, hash);
    let mut copy = Children::of(children);
    if !there {
        copy.insert(index, heap.cons(key, value));
        return Put::Added(node(heap, bitmap | 1 << (hash & 15), copy.slice()));
    }
    match insert(heap, children[index], level + 1, hash, key, value) {
        Put::Same => Put::Same,
        Put::Replaced(child) => {
            copy.set(index, child);
            Put::Replaced(node(heap, bitmap, copy.slice()))
        }
        Put::Added(child) => {
            copy.set(index, child);
            Put::Added(node(heap, bitmap, copy.slice()))
        }
    }
}

fn insert_collision<A: Build + ?Sized>(heap: &mut A, leaves: &[Term], key: Term, value: Term) -> Put {
    let found = leaves.binary_search_by(|leaf| leaf.as_cons().map_or(Ordering::Equal, |(k, _)| compare_exact(k, key)));
    let mut copy = leaves.to_vec();
    match found {
        Ok(at) => {
            if leaves[at].as_cons().is_some_and(|(_, v)| v.is(value)) {
                return Put::Same;
            }
            copy[at] = heap.cons(key, value);
            Put::Replaced(node(heap, COLLISION, &copy))
        }
        Err(at) => {
            copy.insert(at, heap.cons(key, value));
            Put::Added(node(heap, COLLISION, &copy))
        }
    }
}

/// The node of level `level` for two leaves of different keys whose hashes were equal so far.
pub(super) fn split<A: Build + ?Sized>(heap: &mut A, a: Term, b: Term, level: u32) -> Term {
    let key = |leaf: Term| leaf.as_cons().map_or(Term::NIL, |(k, _)| k);
    if level >= MAX_LEVEL {
        let pair = if compare_exact(key(a), key(b)) == Ordering::Less { [a, b] } else { [b, a] };
        return node(heap, COLLISION, &pair);
    }
    let (x, y) = (hash_at(key(a), level) & 15, hash_at(key(b), level) & 15);
    match x.cmp(&y) {
        Ordering::Less => node(heap, 1 << x | 1 << y, &[a, b]),
        Ordering::Greater => node(heap, 1 << x | 1 << y, &[b, a]),
        Ordering::Equal => {
            let inner = split(heap, a, b, level + 1);
            node(heap, 1 << x, &[inner])
        }
    }
}

/// The value of a key and the map without it, flat if it becomes small.
pub(super) fn take<A: Build + ?Sized>(heap: &mut A, map: Boxed, key: Term) -> Option<(Term, Term)> {
    let size = map.slot(0).as_usize().unwrap_or(0);
    if size <= FLAT_LIMIT + 1 {
        let value = get(map, key)?;
        let rest = MapIter::upwards(Map(map)).filter(|(k, _)| !same_key(*k, key));
        return Some((value, flat::from_hash(heap, rest)));
    }
    let hash = map_hash(key);
    let (bitmap, children) = parts(map);
    let (index, there) = child_index(bitmap, hash);
    if !there {
        return None;
    }
    let (value, left) = delete(heap, children[index], 1, hash, key)?;
    let mut copy = Children::of(children);
    let bitmap = copy.replace(index, left, bitmap, hash);
    Some((value, root(heap, size - 1, bitmap, copy.slice())))
}

/// Removes a key below `child` of a node of level `level - 1`: its value and what is left of the child.
fn delete<A: Build + ?Sized>(
    heap: &mut A,
    child: Term,
    level: u32,
    hash: u32,
    key: Term,
) -> Option<(Term, Option<Term>)> {
    if let Some((k, value)) = child.as_cons() {
        return same_key(k, key).then_some((value, None));
    }
    let (bitmap, children) = parts(child.as_boxed()?);
    if bitmap & COLLISION != 0 {
        let at = children.iter().position(|c| c.as_cons().is_some_and(|(k, _)| same_key(k, key)))?;
        let value = children[at].as_cons()?.1;
        let mut copy = children.to_vec();
        copy.remove(at);
        let left = if let [leaf] = copy[..] { leaf } else { node(heap, COLLISION, &copy) };
        return Some((value, Some(left)));
    }
    let hash = shift(hash, level, key);
    let (index, there) = child_index(bitmap, hash);
    if !there {
        return None;
    }
    let (value, left) = delete(heap, children[index], level + 1, hash, key)?;
    let mut copy = Children::of(children);
    let bitmap = copy.replace(index, left, bitmap, hash);
    // A single leaf moves up into its parent (M3).
    let left = match copy.slice() {
        [] => None,
        [leaf] if leaf.is_cons() => Some(*leaf),
        many => Some(node(heap, bitmap, many)),
    };
    Some((value, left))
}

/// A copy of up to 16 children, to be changed.
pub(super) struct Children {
    terms: [Term; 16],
    len: usize,
}

impl Children {
    pub(super) fn of(children: &[Term]) -> Children {
        let mut terms = [Term::NIL; 16];
        let len = children.len().min(16);
        terms[..len].copy_from_slice(&children[..len]);
        Children { terms, len }
    }

    pub(super) fn slice(&self) -> &[Term] {
        &self.terms[..self.len]
    }

    fn set(&mut self, index: usize, child: Term) {
        self.terms[index] = child;
    }

    fn insert(&mut self, index: usize, child: Term) {
        self.terms.copy_within(index..self.len, index + 1);
        self.terms[index] = child;
        self.len += 1;
    }

    pub(super) fn push(&mut self, child: Term) {
        self.insert(self.len, child);
    }

    /// Puts what is left of a child in its place; the bitmap then.
    fn replace(&mut self, index: usize, left: Option<Term>, bitmap: u32, hash: u32) -> u32 {
        match left {
            Some(child) => {
                self.terms[index] = child;
                bitmap
            }
            None => {
                self.terms.copy_within(index + 1..self.len, index);
                self.len -= 1;
                bitmap & !(1 << (hash & 15))
            }
        }
    }
}

/// Number of leaves at or below a child.
pub(super) fn count(child: Term) -> usize {
    match child.as_boxed() {
        None => 1,
        Some(object) => parts(object).1.iter().map(|c| count(*c)).sum(),
    }
}

/// A hash map of at least [`FLAT_LIMIT`] + 1 sorted leaves, or a flat one of fewer.
pub(super) fn from_leaves<A: Build + ?Sized>(heap: &mut A, entries: &mut [build::Entry]) -> Term {
    let mut children = Children::of(&[]);
    let bitmap = build::groups(heap, entries, 0, &mut children);
    root(heap, entries.len(), bitmap, children.slice())
}
