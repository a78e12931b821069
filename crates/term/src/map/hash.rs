//! Hash maps: look up, insert and remove in the trie (term.map/M2, term/M3, term/M4).
//!
//! The trie has at most [`MAX_LEVEL`] + 1 levels of nodes, so recursion here is bounded.

use super::build::{self, node};
use super::object::{COLLISION, FLAT_LIMIT, MAX_LEVEL, Map};
use super::{MapIter, flat};
use crate::alloc::Build;
use crate::boxed::{Boxed, Header, Kind};
use crate::compare::compare_exact;
use crate::equal::eq_exact;
use crate::hash::{map_hash, map_rehash, small_hash};
use crate::word::{Term, TermRef};
use std::cmp::Ordering;

/// The hash that the eight levels around `level` share out.
#[inline]
pub(super) fn fresh<'h>(key: TermRef<'h>, level: u32) -> u32 {
    if level < 8 { map_hash(key) } else { map_rehash(key, level & !7) }
}

/// The hash of a key, from level `level` on (term/M3).
pub(super) fn hash_at<'h>(key: TermRef<'h>, level: u32) -> u32 {
    fresh(key, level) >> (4 * (level & 7))
}

/// The hash for the next level, `level`.
#[inline]
pub(super) fn shift<'h>(hash: u32, level: u32, key: TermRef<'h>) -> u32 {
    if level & 7 == 0 { fresh(key, level) } else { hash >> 4 }
}

/// Are the two keys the same key?
#[inline]
pub(super) fn same_key<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    a.is(b) || (!a.is_immediate() && !b.is_immediate() && eq_exact(a, b))
}

/// Bitmap and children of a root or node.
#[inline]
pub(super) fn parts<'h>(object: Boxed<'h, 'h>) -> (u32, &'h [TermRef<'h>]) {
    let header = object.header();
    let first = usize::from(header.kind() == Kind::MapRoot);
    let slots: &'h [TermRef<'h>] = object.slots();
    (header.aux(), &slots[first..])
}

/// Index of a hash's child among those of a bitmap, and whether it is there.
#[inline(always)]
fn child_index(bitmap: u32, hash: u32) -> (usize, bool) {
    let bit = 1u32 << (hash & 15);
    ((bitmap & (bit - 1)).count_ones() as usize, bitmap & bit != 0)
}

/// The value of a key.
#[inline]
pub(super) fn get<'h>(root: Boxed<'h, 'h>, key: TermRef<'h>) -> Option<TermRef<'h>> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the instruction.
        return unsafe { get_counting(root, key) };
    }
    get_any(root, key)
}

/// The same on a processor that counts bits: each level waits for a count. A small integer's hash is worked out here, too, and
/// nothing called: what is left of a look-up is this one function, without a frame.
///
/// # Safety
/// The processor has `popcnt`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
unsafe fn get_counting<'h>(root: Boxed<'h, 'h>, key: TermRef<'h>) -> Option<TermRef<'h>> {
    let Some(hash) = small_hash(key) else {
        // SAFETY: the caller promises that the processor has `popcnt`.
        return unsafe { get_any_counting(root, key) };
    };
    let mut hash = with_end(hash, 0);
    let (mut header, mut slots) = (root.header(), root.ptr().wrapping_add(1));
    loop {
        // SAFETY: the slots of a node below `root`.
        let child = unsafe { child_of(header, slots, hash) }?;
        let Some(inner) = child.held_boxed() else {
            let (k, value) = child.as_cons()?;
            return k.is(key).then_some(value);
        };
        (header, slots) = (inner.header(), inner.ptr());
        hash >>= 4;
        if hash == 1 {
            // SAFETY: the caller promises that the processor has `popcnt`.
            return unsafe { get_any_counting(root, key) };
        }
    }
}

/// [`get_any`], likewise.
///
/// # Safety
/// The processor has `popcnt`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
#[inline(never)]
unsafe fn get_any_counting<'h>(root: Boxed<'h, 'h>, key: TermRef<'h>) -> Option<TermRef<'h>> {
    get_step_by_step(root, 0, map_hash(key), key)
}

/// The value of any key.
#[inline(never)]
fn get_any<'h>(root: Boxed<'h, 'h>, key: TermRef<'h>) -> Option<TermRef<'h>> {
    get_step_by_step(root, 0, map_hash(key), key)
}

/// The child of a root or node for a hash; the first one is at index 1 of `slots`.
///
/// # Safety
/// The slots are those of an object with this header, which is held for `'h`.
#[inline(always)]
unsafe fn child_of<'h>(header: Header, slots: *const u64, hash: u64) -> Option<TermRef<'h>> {
    // The bits up to the child's; the uppermost one says whether it is there.
    let bits = u64::from(header.aux()) << (!hash & 15 | 48);
    if bits >> 63 == 0 {
        return None;
    }
    // SAFETY: a node has as many children as bits in its bitmap (term.map/M2), from index 1 on.
    Some(unsafe { *slots.add(bits.count_ones() as usize).cast::<TermRef<'h>>() })
}

/// The value of a key below a node of `level`; `hash` is the key's from that level on.
pub(super) fn get_below<'h>(object: Boxed<'h, 'h>, level: u32, hash: u32, key: TermRef<'h>) -> Option<TermRef<'h>> {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the instruction.
        return unsafe { get_below_counting(object, level, hash, key) };
    }
    get_step_by_step(object, level, hash, key)
}

/// [`get_step_by_step`] on a processor that counts bits.
///
/// # Safety
/// The processor has `popcnt`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
unsafe fn get_below_counting<'h>(
    object: Boxed<'h, 'h>,
    level: u32,
    hash: u32,
    key: TermRef<'h>,
) -> Option<TermRef<'h>> {
    get_step_by_step(object, level, hash, key)
}

/// A bit above those of a hash: once it is all that is left, eight levels are through.
fn with_end(hash: u32, level: u32) -> u64 {
    u64::from(hash) | 1 << (32 - 4 * (level & 7))
}

#[inline(always)]
fn get_step_by_step<'h>(object: Boxed<'h, 'h>, mut level: u32, hash: u32, key: TermRef<'h>) -> Option<TermRef<'h>> {
    let mut hash = with_end(hash, level);
    // The first child is at index 1 of these.
    let mut header = object.header();
    let mut slots = object.ptr().wrapping_add(usize::from(header.kind() == Kind::MapRoot));
    loop {
        // SAFETY: the slots of `object` or of a node below it.
        let Some(child) = (unsafe { child_of(header, slots, hash) }) else { return get_colliding(header, slots, key) };
        let Some(inner) = child.held_boxed() else {
            let (k, value) = child.as_cons()?;
            return same_key(k, key).then_some(value);
        };
        // Not the root.
        (header, slots) = (inner.header(), inner.ptr());
        hash >>= 4;
        if hash == 1 {
            level = (level & !7) + 8;
            hash = with_end(map_rehash(key, level), level);
        }
    }
}

/// The value of a key in a node that lacks the bit of its hash: nothing, unless its leaves are of one hash.
#[inline]
fn get_colliding<'h>(header: Header, slots: *const u64, key: TermRef<'h>) -> Option<TermRef<'h>> {
    #[cold]
    fn search<'h>(leaves: &[TermRef<'h>], key: TermRef<'h>) -> Option<TermRef<'h>> {
        leaves.iter().filter_map(|c| c.as_cons()).find(|(k, _)| same_key(*k, key)).map(|(_, v)| v)
    }
    if header.aux() & COLLISION == 0 {
        return None;
    }
    // SAFETY: such a node is no root; its children are from index 1 on, as many as its header says (term/B1).
    search(unsafe { std::slice::from_raw_parts(slots.add(1).cast(), header.size()) }, key)
}

/// A new root.
pub(super) fn root<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    size: usize,
    bitmap: u32,
    children: &[TermRef<'h>],
) -> TermRef<'h> {
    let at = heap.alloc(2 + children.len()).as_ptr();
    // SAFETY: 2 + len fresh words (term/A2).
    unsafe {
        *at = Header::new(Kind::MapRoot, 1 + children.len()).with_aux(bitmap).raw();
        *at.add(1) = Term::small(size as i64).raw();
        std::ptr::copy_nonoverlapping(children.as_ptr(), at.add(2).cast(), children.len());
        Term::from_boxed(at)
    }
}

/// What an insertion did.
enum Put<'h> {
    /// The very same pair was there.
    Same,
    /// A key's value was replaced: the new child.
    Replaced(TermRef<'h>),
    /// A key was added: the new child.
    Added(TermRef<'h>),
}

/// With `key => value`.
pub(super) fn put<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Boxed<'h, 'h>,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> TermRef<'h> {
    let hash = map_hash(key);
    insert_at_root(heap, map, hash, key, value)
}

/// With `key := value`, if the key is there.
pub(super) fn update<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Boxed<'h, 'h>,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> Option<TermRef<'h>> {
    get(map, key)?;
    Some(put(heap, map, key, value))
}

fn insert_at_root<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Boxed<'h, 'h>,
    hash: u32,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> TermRef<'h> {
    let (bitmap, children) = parts(map);
    let size = map.slot(0).as_usize().unwrap_or(0);
    let (index, there) = child_index(bitmap, hash);
    if !there {
        let leaf = heap.cons(key, value);
        return with_size(inserted(heap, map, 1 + index, 1 << (hash & 15), leaf), size + 1);
    }
    match insert(heap, children[index], 1, hash, key, value) {
        Put::Same => map.term(),
        Put::Replaced(child) => replaced(heap, map, 1 + index, child).term(),
        Put::Added(child) => with_size(replaced(heap, map, 1 + index, child), size + 1),
    }
}

/// A copy of a root or node with another child in a slot.
fn replaced<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    object: Boxed<'h, 'h>,
    slot: usize,
    child: TermRef<'h>,
) -> Boxed<'h, 'h> {
    let slots: &[TermRef<'h>] = object.slots();
    debug_assert!(slot < slots.len());
    let at = heap.alloc(1 + slots.len()).as_ptr();
    // SAFETY: 1 + len fresh words (term/A2), and a slot of theirs.
    unsafe {
        std::ptr::copy_nonoverlapping(object.ptr(), at, 1 + slots.len());
        *at.add(1 + slot) = child.raw();
        Boxed::at(at)
    }
}

/// A copy of a root or node with one child more, whose bit is `bit`, before that of a slot.
fn inserted<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    object: Boxed<'h, 'h>,
    slot: usize,
    bit: u32,
    child: TermRef<'h>,
) -> Boxed<'h, 'h> {
    let (header, slots): (Header, &[TermRef<'h>]) = (object.header(), object.slots());
    let (before, after) = slots.split_at(slot);
    let at = heap.alloc(2 + slots.len()).as_ptr();
    // SAFETY: 2 + len fresh words (term/A2), all of which are written.
    unsafe {
        *at = Header::new(header.kind(), 1 + slots.len()).with_aux(header.aux() | bit).raw();
        let to = at.add(1).cast::<TermRef<'h>>();
        std::ptr::copy_nonoverlapping(before.as_ptr(), to, before.len());
        *to.add(slot) = child;
        std::ptr::copy_nonoverlapping(after.as_ptr(), to.add(slot + 1), after.len());
        Boxed::at(at)
    }
}

/// A copy of a root or node without the child in a slot, whose bit is `bit`.
fn removed<'h, A: Build<'h> + ?Sized>(heap: &mut A, object: Boxed<'h, 'h>, slot: usize, bit: u32) -> Boxed<'h, 'h> {
    let (header, slots): (Header, &[TermRef<'h>]) = (object.header(), object.slots());
    let (before, after) = (&slots[..slot], &slots[slot + 1..]);
    let at = heap.alloc(slots.len()).as_ptr();
    // SAFETY: a header and one slot less than before, len fresh words (term/A2), all of which are written.
    unsafe {
        *at = Header::new(header.kind(), slots.len() - 1).with_aux(header.aux() & !bit).raw();
        let to = at.add(1).cast::<TermRef<'h>>();
        std::ptr::copy_nonoverlapping(before.as_ptr(), to, before.len());
        std::ptr::copy_nonoverlapping(after.as_ptr(), to.add(slot), after.len());
        Boxed::at(at)
    }
}

/// A root that nobody has seen yet, with another number of keys.
fn with_size<'h>(root: Boxed<'h, 'h>, size: usize) -> TermRef<'h> {
    // SAFETY: the first slot of a root (term.map/M2), which was just made.
    unsafe { *root.ptr().add(1) = Term::small(size as i64).raw() };
    root.term()
}

/// The child with `key => value`; its own node is, or would be, of `level`.
pub(super) fn put_below<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    child: TermRef<'h>,
    level: u32,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> TermRef<'h> {
    match insert(heap, child, level, hash_at(key, level.saturating_sub(1)), key, value) {
        Put::Same => child,
        Put::Replaced(child) | Put::Added(child) => child,
    }
}

/// Inserts below `child`, which stands in a node of level `level - 1`; `hash` is the key's at that level.
fn insert<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    child: TermRef<'h>,
    level: u32,
    hash: u32,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> Put<'h> {
    if let Some((old, old_value)) = child.as_cons() {
        if same_key(old, key) {
            return if old_value.is(value) { Put::Same } else { Put::Replaced(heap.cons(key, value)) };
        }
        let leaf = heap.cons(key, value);
        return Put::Added(split(heap, child, leaf, level));
    }
    let Some(object) = child.held_boxed() else { return Put::Same };
    let (bitmap, children) = parts(object);
    if bitmap & COLLISION != 0 {
        return insert_collision(heap, children, key, value);
    }
    let hash = shift(hash, level, key);
    let (index, there) = child_index(bitmap, hash);
    if !there {
        let leaf = heap.cons(key, value);
        return Put::Added(inserted(heap, object, index, 1 << (hash & 15), leaf).term());
    }
    match insert(heap, children[index], level + 1, hash, key, value) {
        Put::Same => Put::Same,
        Put::Replaced(child) => Put::Replaced(replaced(heap, object, index, child).term()),
        Put::Added(child) => Put::Added(replaced(heap, object, index, child).term()),
    }
}

fn insert_collision<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    leaves: &[TermRef<'h>],
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> Put<'h> {
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
pub(super) fn split<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    a: TermRef<'h>,
    b: TermRef<'h>,
    level: u32,
) -> TermRef<'h> {
    let key = |leaf: TermRef<'h>| leaf.as_cons().map_or(Term::NIL, |(k, _)| k);
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
pub(super) fn take<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Boxed<'h, 'h>,
    key: TermRef<'h>,
) -> Option<(TermRef<'h>, TermRef<'h>)> {
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
    let root = match left {
        Some(child) => replaced(heap, map, 1 + index, child),
        None => removed(heap, map, 1 + index, 1 << (hash & 15)),
    };
    Some((value, with_size(root, size - 1)))
}

/// Removes a key below `child` of a node of level `level - 1`: its value and what is left of the child.
fn delete<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    child: TermRef<'h>,
    level: u32,
    hash: u32,
    key: TermRef<'h>,
) -> Option<(TermRef<'h>, Option<TermRef<'h>>)> {
    if let Some((k, value)) = child.as_cons() {
        return same_key(k, key).then_some((value, None));
    }
    let object = child.held_boxed()?;
    let (bitmap, children) = parts(object);
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
    // A single leaf moves up into its parent (term/M3).
    let left = match (left, children) {
        (Some(leaf), [_]) if leaf.is_cons() => Some(leaf),
        (Some(child), _) => Some(replaced(heap, object, index, child).term()),
        (None, [_]) => None,
        (None, [a, b]) if [b, a][index].is_cons() => Some(*[b, a][index]),
        (None, _) => Some(removed(heap, object, index, 1 << (hash & 15)).term()),
    };
    Some((value, left))
}

/// Up to 16 children, of a node in the making.
pub(super) struct Children<'h> {
    terms: [TermRef<'h>; 16],
    len: usize,
}

impl<'h> Children<'h> {
    pub(super) fn of(children: &[TermRef<'h>]) -> Children<'h> {
        let mut terms = [Term::NIL; 16];
        let len = children.len().min(16);
        terms[..len].copy_from_slice(&children[..len]);
        Children { terms, len }
    }

    pub(super) fn slice(&self) -> &[TermRef<'h>] {
        &self.terms[..self.len]
    }

    pub(super) fn push(&mut self, child: TermRef<'h>) {
        self.terms[self.len] = child;
        self.len += 1;
    }
}

/// Number of leaves at or below a child.
pub(super) fn count<'h>(child: TermRef<'h>) -> usize {
    match child.held_boxed() {
        None => 1,
        Some(object) => parts(object).1.iter().map(|c| count(*c)).sum(),
    }
}

/// A hash map of at least [`FLAT_LIMIT`] + 1 sorted leaves, or a flat one of fewer.
pub(super) fn from_leaves<'h, A: Build<'h> + ?Sized>(heap: &mut A, entries: &mut [build::Entry<'h>]) -> TermRef<'h> {
    let mut children = Children::of(&[]);
    let bitmap = build::groups(heap, entries, 0, &mut children);
    root(heap, entries.len(), bitmap, children.slice())
}
