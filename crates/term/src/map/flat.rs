//! Flat maps: a sorted key tuple and the values (term.map/M1).

use super::build;
use super::object::{FLAT_LIMIT, Map, Pair, View};
use crate::alloc::Build;
use crate::boxed::{Header, Kind};
use crate::compare::compare_exact;
use crate::equal::eq_exact;
use crate::word::{Term, TermRef};
use std::cmp::Ordering;
use std::mem::MaybeUninit;

/// Index of a key.
#[inline]
pub(super) fn find<'h>(keys: &[TermRef<'h>], key: TermRef<'h>) -> Option<usize> {
    if key.is_immediate() {
        return keys.iter().position(|k| k.is(key));
    }
    keys.iter().position(|k| k.is(key) || (!k.is_immediate() && eq_exact(*k, key)))
}

/// The value of a key.
pub(super) fn get<'h>(map: Map<'h, 'h>, key: TermRef<'h>) -> Option<TermRef<'h>> {
    let View::Flat { keys, values } = map.view() else { return None };
    find(keys, key).and_then(|i| values.get(i).copied())
}

/// Where a key is, or where it belongs.
fn search<'h>(keys: &[TermRef<'h>], key: TermRef<'h>) -> Result<usize, usize> {
    keys.binary_search_by(|k| if k.is(key) { Ordering::Equal } else { compare_exact(*k, key) })
}

/// A map over a key tuple that exists.
pub(super) fn over_keys<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    keys: TermRef<'h>,
    values: &[TermRef<'h>],
) -> TermRef<'h> {
    let at = heap.alloc(2 + values.len()).as_ptr();
    // SAFETY: 2 + len fresh words (term/A2).
    unsafe {
        *at = Header::new(Kind::Map, 1 + values.len()).raw();
        *at.add(1) = keys.raw();
        std::ptr::copy_nonoverlapping(values.as_ptr(), at.add(2).cast(), values.len());
        Term::from_boxed(at)
    }
}

/// A map of sorted keys and their values.
pub(super) fn build<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    keys: &[TermRef<'h>],
    values: &[TermRef<'h>],
) -> TermRef<'h> {
    let keys = heap.tuple(keys);
    over_keys(heap, keys, values)
}

/// A flat map of `size` keys that are all nil, as are the values; the place of the first key. A key's value stands `size + 2`
/// words behind it. Once all have been filled in, [`sort_blank`] makes it a map.
pub(crate) fn blank<'h, A: Build<'h> + ?Sized>(heap: &mut A, size: usize) -> (TermRef<'h>, *mut TermRef<'h>) {
    debug_assert!(size <= FLAT_LIMIT);
    let at = heap.alloc(3 + 2 * size).as_ptr();
    // SAFETY: 3 + 2 * size fresh words (term/A2): the tuple of keys, then the map.
    unsafe {
        let (keys, map) = (at.add(1).cast::<TermRef<'h>>(), at.add(1 + size));
        *at = Header::new(Kind::Tuple, size).raw();
        *map = Header::new(Kind::Map, 1 + size).raw();
        *map.add(1) = Term::from_boxed(at).raw();
        for i in 0..size {
            *keys.add(i) = Term::NIL;
            *keys.add(i + size + 2) = Term::NIL;
        }
        (Term::from_boxed(map), keys)
    }
}

/// Puts the keys of a map that [`blank`] made into their order, and the values with them; false if two are equal. `end` is
/// behind the last key.
///
/// # Safety
/// The map is of `size` keys and nobody has looked at it yet.
pub(crate) unsafe fn sort_blank<'h>(end: *mut TermRef<'h>, size: usize) -> bool {
    // SAFETY: the caller's promise; both parts are of one allocation and do not overlap.
    let (keys, values) = unsafe {
        let first = end.sub(size);
        (std::slice::from_raw_parts_mut(first, size), std::slice::from_raw_parts_mut(end.add(2), size))
    };
    // By insertion: keys mostly come in order.
    for i in 1..size {
        let key = keys[i];
        let order = |k: &TermRef<'h>| if k.is(key) { Ordering::Equal } else { compare_exact(*k, key) };
        let place = match order(&keys[i - 1]) {
            Ordering::Less => continue,
            Ordering::Equal => return false,
            Ordering::Greater => keys[..i].binary_search_by(order),
        };
        let Err(place) = place else { return false };
        keys[place..=i].rotate_right(1);
        values[place..=i].rotate_right(1);
    }
    true
}

/// The map with another value at index `at`; the key tuple is shared.
pub(super) fn with_value<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    at: usize,
    value: TermRef<'h>,
) -> TermRef<'h> {
    let View::Flat { values, .. } = map.view() else { return map.term() };
    if values[at].is(value) {
        return map.term();
    }
    let (copy, slots) = copied(heap, map, values);
    slots[at] = value;
    copy
}

/// A copy of a map, and its values, which nobody has looked at yet.
fn copied<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    values: &[TermRef<'h>],
) -> (TermRef<'h>, &'h mut [TermRef<'h>]) {
    let copy = over_keys(heap, map.key_tuple(), values);
    // SAFETY: the values stand behind the header and the keys, and nothing else refers to them.
    let slots = unsafe { std::slice::from_raw_parts_mut(copy.boxed_ptr().add(2).cast::<TermRef<'h>>(), values.len()) };
    (copy, slots)
}

/// With other values for keys that are all there; the first that is not as an error.
pub(super) fn replace_all<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    pairs: &[Pair<'h>],
) -> Result<TermRef<'h>, TermRef<'h>> {
    let View::Flat { keys, values } = map.view() else { return Ok(map.term()) };
    let mut places = [0; FLAT_LIMIT];
    let Some(places) = places.get_mut(..pairs.len()) else {
        // More pairs than there can be keys.
        if let Some((key, _)) = pairs.iter().find(|(key, _)| find(keys, *key).is_none()) {
            return Err(*key);
        }
        let mut scratch = Scratch::of(keys, values);
        pairs.iter().for_each(|(key, value)| _ = scratch.put(*key, *value));
        return Ok(scratch.build(heap, map));
    };
    let mut changes = false;
    for (place, (key, value)) in places.iter_mut().zip(pairs) {
        let at = find(keys, *key).ok_or(*key)?;
        changes |= !values[at].is(*value);
        *place = at as u8;
    }
    if !changes {
        return Ok(map.term());
    }
    let (copy, slots) = copied(heap, map, values);
    for (place, (_, value)) in places.iter().zip(pairs) {
        slots[usize::from(*place)] = *value;
    }
    Ok(copy)
}

/// With `key => value`.
pub(super) fn put<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> TermRef<'h> {
    let View::Flat { keys, values } = map.view() else { return map.term() };
    if let Some(at) = find(keys, key) {
        return with_value(heap, map, at, value);
    }
    if keys.len() >= FLAT_LIMIT {
        let mut pairs: Vec<Pair<'h>> = keys.iter().copied().zip(values.iter().copied()).collect();
        pairs.push((key, value));
        return build::from_pairs(heap, &pairs);
    }
    // The key is not there: the place is before the first greater one.
    let at = match keys.last() {
        Some(last) if compare_exact(*last, key) == Ordering::Less => keys.len(),
        _ => match search(keys, key) {
            Ok(at) => return with_value(heap, map, at, value),
            Err(at) => at,
        },
    };
    with_pair(heap, keys, values, at, key, value)
}

/// The map with one key more, which belongs at index `at`.
fn with_pair<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    keys: &[TermRef<'h>],
    values: &[TermRef<'h>],
    at: usize,
    key: TermRef<'h>,
    value: TermRef<'h>,
) -> TermRef<'h> {
    let (map, first) = blank(heap, keys.len() + 1);
    // SAFETY: `blank` has made room for that many keys, and as many values two words behind them.
    let (all_keys, all_values) = unsafe {
        let size = keys.len() + 1;
        (std::slice::from_raw_parts_mut(first, size), std::slice::from_raw_parts_mut(first.add(size + 2), size))
    };
    let at = at.min(keys.len());
    all_keys[..at].copy_from_slice(&keys[..at]);
    all_keys[at] = key;
    all_keys[at + 1..].copy_from_slice(&keys[at..]);
    let at = at.min(values.len());
    all_values[..at].copy_from_slice(&values[..at]);
    all_values[at] = value;
    all_values[at + 1..].copy_from_slice(&values[at..]);
    map
}

/// With many `key => value`; at least one.
pub(super) fn put_all<'h, A: Build<'h> + ?Sized>(heap: &mut A, map: Map<'h, 'h>, pairs: &[Pair<'h>]) -> TermRef<'h> {
    if let Ok(replaced) = replace_all(heap, map, pairs) {
        return replaced;
    }
    let View::Flat { keys, values } = map.view() else { return map.term() };
    let mut scratch = Scratch::of(keys, values);
    for (i, (key, value)) in pairs.iter().enumerate() {
        if !scratch.put(*key, *value) {
            let mut all: Vec<Pair<'h>> = scratch.pairs().collect();
            all.extend_from_slice(&pairs[i..]);
            return build::from_pairs(heap, &all);
        }
    }
    scratch.build(heap, map)
}

/// With many `key => value`, whose keys are immediate, all different and in their order.
pub(super) fn put_in_order<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    pairs: &[Pair<'h>],
) -> TermRef<'h> {
    let View::Flat { keys, values } = map.view() else { return map.term() };
    let new = pairs.iter().filter(|(key, _)| find(keys, *key).is_none()).count();
    let size = keys.len() + new;
    if new == 0 || size > FLAT_LIMIT {
        return put_all(heap, map, pairs);
    }
    let (result, first) = blank(heap, size);
    // SAFETY: `blank` has made room for that many keys, and as many values two words behind them.
    let (all_keys, all_values) = unsafe {
        (std::slice::from_raw_parts_mut(first, size), std::slice::from_raw_parts_mut(first.add(size + 2), size))
    };
    let mut places = all_keys.iter_mut().zip(all_values);
    let mut set = |key: &TermRef<'h>, value: &TermRef<'h>| {
        if let Some(place) = places.next() {
            (*place.0, *place.1) = (*key, *value);
        }
    };
    let mut old = keys.iter().zip(values);
    let mut first_old = old.next();
    for (key, value) in pairs {
        while let Some((k, v)) = first_old
            && !k.is(*key)
            && order(*k, *key) == Ordering::Less
        {
            set(k, v);
            first_old = old.next();
        }
        if first_old.is_some_and(|(k, _)| k.is(*key)) {
            first_old = old.next();
        }
        set(key, value);
    }
    while let Some((k, v)) = first_old {
        set(k, v);
        first_old = old.next();
    }
    result
}

/// The order of two keys, quickly of atoms.
#[inline(always)]
fn order<'h>(a: TermRef<'h>, b: TermRef<'h>) -> Ordering {
    match (a.as_atom(), b.as_atom()) {
        (Some(a), Some(b)) => a.order(b),
        _ => compare_exact(a, b),
    }
}

/// The value of a key and the map without it.
pub(super) fn take<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    map: Map<'h, 'h>,
    key: TermRef<'h>,
) -> Option<(TermRef<'h>, TermRef<'h>)> {
    let View::Flat { keys, values } = map.view() else { return None };
    let at = find(keys, key)?;
    let mut scratch = Scratch::new();
    for i in (0..keys.len()).filter(|i| *i != at) {
        scratch.push(keys[i], values[i]);
    }
    Some((values[at], build(heap, scratch.keys(), scratch.values())))
}

/// A flat map under construction, outside all heaps: the first `len` keys and values are initialised.
pub(super) struct Scratch<'h> {
    keys: [MaybeUninit<TermRef<'h>>; FLAT_LIMIT],
    values: [MaybeUninit<TermRef<'h>>; FLAT_LIMIT],
    len: usize,
}

impl<'h> Scratch<'h> {
    pub(super) fn new() -> Scratch<'h> {
        let none = [const { MaybeUninit::uninit() }; FLAT_LIMIT];
        Scratch { keys: none, values: none, len: 0 }
    }

    fn of(keys: &[TermRef<'h>], values: &[TermRef<'h>]) -> Scratch<'h> {
        let mut scratch = Scratch::new();
        for (key, value) in keys.iter().zip(values) {
            scratch.push(*key, *value);
        }
        scratch
    }

    pub(super) fn keys(&self) -> &[TermRef<'h>] {
        // SAFETY: so many are initialised.
        unsafe { self.keys[..self.len].assume_init_ref() }
    }

    pub(super) fn values(&self) -> &[TermRef<'h>] {
        // SAFETY: so many are initialised.
        unsafe { self.values[..self.len].assume_init_ref() }
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = Pair<'h>> + '_ {
        self.keys().iter().copied().zip(self.values().iter().copied())
    }

    /// Adds a key that is greater than all there are; false if there is no room.
    pub(super) fn push(&mut self, key: TermRef<'h>, value: TermRef<'h>) -> bool {
        if self.len == FLAT_LIMIT {
            return false;
        }
        self.keys[self.len].write(key);
        self.values[self.len].write(value);
        self.len += 1;
        true
    }

    /// Sets the value of a key; false if there is no room for a new one. An equal key that there was stays (it may be told
    /// apart: 0.0 and -0.0 are equal in some releases).
    pub(super) fn put(&mut self, key: TermRef<'h>, value: TermRef<'h>) -> bool {
        self.set(key, value, false)
    }

    /// As [`Scratch::put`], but the new key replaces an equal one.
    pub(super) fn replace(&mut self, key: TermRef<'h>, value: TermRef<'h>) -> bool {
        self.set(key, value, true)
    }

    fn set(&mut self, key: TermRef<'h>, value: TermRef<'h>, replace: bool) -> bool {
        // Keys mostly come in order.
        let last = self.keys().last().copied();
        if last.is_none_or(|last| compare_exact(last, key) == Ordering::Less) {
            return self.push(key, value);
        }
        match search(self.keys(), key) {
            Ok(at) => {
                self.values[at].write(value);
                if replace {
                    self.keys[at].write(key);
                }
            }
            Err(_) if self.len == FLAT_LIMIT => return false,
            Err(at) => {
                self.keys.copy_within(at..self.len, at + 1);
                self.values.copy_within(at..self.len, at + 1);
                self.keys[at].write(key);
                self.values[at].write(value);
                self.len += 1;
            }
        }
        true
    }

    /// The map; shares the key tuple of `old` if that has the same number of keys (it then has the same keys, as keys are
    /// only added).
    pub(super) fn build<A: Build<'h> + ?Sized>(&self, heap: &mut A, old: Map<'h, 'h>) -> TermRef<'h> {
        if old.is_flat() && old.size() == self.len {
            over_keys(heap, old.key_tuple(), self.values())
        } else {
            build(heap, self.keys(), self.values())
        }
    }
}

/// A flat map of the pairs of a hash map that has become small.
pub(super) fn from_hash<'h, A: Build<'h> + ?Sized>(heap: &mut A, pairs: impl Iterator<Item = Pair<'h>>) -> TermRef<'h> {
    let mut pairs: Vec<(build::Sorted<'h>, TermRef<'h>)> = pairs.map(|(k, v)| (build::Sorted(k), v)).collect();
    pairs.sort_unstable_by_key(|p| p.0);
    let keys: Vec<TermRef<'h>> = pairs.iter().map(|(k, _)| k.0).collect();
    let values: Vec<TermRef<'h>> = pairs.iter().map(|(_, v)| *v).collect();
    build(heap, &keys, &values)
}
