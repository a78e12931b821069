//! `maps:merge/2`: two maps into one, the second's values winning.

use super::build;
use super::flat::{self, Scratch};
use super::hash::{self, Children, parts, same_key};
use super::object::{COLLISION, Map, Pair, View};
use crate::alloc::Build;
use crate::compare::compare_exact;
use crate::word::{Term, TermRef};
use std::cmp::Ordering;

/// The pairs of both; where both have a key, the value is that of `b`.
pub(super) fn merge<'h, A: Build<'h> + ?Sized>(heap: &mut A, a: Map<'h, 'h>, b: Map<'h, 'h>) -> TermRef<'h> {
    if a.size() == 0 || a.term().is(b.term()) {
        return b.term();
    }
    if b.size() == 0 {
        return a.term();
    }
    match (a.view(), b.view()) {
        (View::Flat { .. }, View::Flat { .. }) => merge_flat(heap, a, b),
        (View::Hash { .. }, View::Flat { .. }) => {
            b.iter().fold(a, |map, (k, v)| map.put(heap, k, v).held_map().unwrap_or(map)).term()
        }
        (View::Flat { .. }, View::Hash { .. }) => {
            let missing = a.iter().filter(|(k, _)| !b.has_key(*k));
            missing.fold(b, |map, (k, v)| map.put(heap, k, v).held_map().unwrap_or(map)).term()
        }
        (View::Hash { .. }, View::Hash { .. }) => merge_hash(heap, a, b),
    }
}

fn merge_flat<'h, A: Build<'h> + ?Sized>(heap: &mut A, a: Map<'h, 'h>, b: Map<'h, 'h>) -> TermRef<'h> {
    if a.key_tuple().is(b.key_tuple()) {
        return b.term();
    }
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    let mut scratch = Scratch::new();
    // The keys that result are those of `b` where both have one. It shows in some releases, where 0.0 and -0.0 are equal.
    let mut keys_of_a = true;
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => left.next(),
            (None, Some(_)) => right.next(),
            (Some((x, _)), Some((y, _))) => {
                let (x, y) = (*x, *y);
                let order = if x.is(y) { Ordering::Equal } else { compare_exact(x, y) };
                if order != Ordering::Greater {
                    let kept = left.next();
                    if order == Ordering::Equal {
                        keys_of_a &= x.is(y) || x.is_integer() || x.held_bits().is_some();
                        right.next()
                    } else {
                        kept
                    }
                } else {
                    right.next()
                }
            }
        };
        if next.is_some_and(|(key, value)| !scratch.push(key, value)) {
            // More than a flat map holds.
            let all: Vec<Pair<'h>> = a.iter().chain(b.iter()).collect();
            return build::from_pairs(heap, &all);
        }
    }
    // As many keys as one of them has: then they are its keys.
    let keys = if scratch.keys().len() == b.size() {
        b.key_tuple()
    } else if keys_of_a && scratch.keys().len() == a.size() {
        a.key_tuple()
    } else {
        heap.tuple(scratch.keys())
    };
    flat::over_keys(heap, keys, scratch.values())
}

fn merge_hash<'h, A: Build<'h> + ?Sized>(heap: &mut A, a: Map<'h, 'h>, b: Map<'h, 'h>) -> TermRef<'h> {
    let mut doubles = 0;
    let mut children = Children::of(&[]);
    let bitmap = merge_children(heap, parts(a.0), parts(b.0), 0, &mut doubles, &mut children);
    hash::root(heap, a.size() + b.size() - doubles, bitmap, children.slice())
}

type Parts<'h> = (u32, &'h [TermRef<'h>]);

/// The children of two nodes of `level`, and their bitmap; counts the keys that both have.
fn merge_children<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    (map_a, children_a): Parts<'h>,
    (map_b, children_b): Parts<'h>,
    level: u32,
    doubles: &mut usize,
    children: &mut Children<'h>,
) -> u32 {
    let (mut from_a, mut from_b) = (children_a.iter(), children_b.iter());
    for bit in (0..16).map(|i| 1 << i).filter(|bit| (map_a | map_b) & bit != 0) {
        let x = if map_a & bit != 0 { from_a.next() } else { None };
        let y = if map_b & bit != 0 { from_b.next() } else { None };
        match (x, y) {
            (Some(x), Some(y)) => {
                let merged = merge_child(heap, *x, *y, level + 1, doubles);
                children.push(merged);
            }
            (Some(one), None) | (None, Some(one)) => children.push(*one),
            (None, None) => {}
        }
    }
    map_a | map_b
}

/// Two children of the same place, whose own nodes would be of `level`.
fn merge_child<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    a: TermRef<'h>,
    b: TermRef<'h>,
    level: u32,
    doubles: &mut usize,
) -> TermRef<'h> {
    if a.is(b) {
        *doubles += hash::count(a);
        return b;
    }
    match (a.as_cons(), b.as_cons()) {
        (Some((x, _)), Some((y, _))) => {
            if same_key(x, y) {
                *doubles += 1;
                return b;
            }
            hash::split(heap, a, b, level)
        }
        (Some((key, value)), None) => {
            if has_below(b, level, key) {
                *doubles += 1;
                return b;
            }
            hash::put_below(heap, b, level, key, value)
        }
        (None, Some((key, value))) => {
            *doubles += usize::from(has_below(a, level, key));
            hash::put_below(heap, a, level, key, value)
        }
        (None, None) => {
            let (Some(x), Some(y)) = (a.held_boxed(), b.held_boxed()) else { return b };
            let (x, y) = (parts(x), parts(y));
            if (x.0 | y.0) & COLLISION != 0 {
                return merge_collisions(heap, x.1, y.1, doubles);
            }
            let mut children = Children::of(&[]);
            let bitmap = merge_children(heap, x, y, level, doubles, &mut children);
            build::node(heap, bitmap, children.slice())
        }
    }
}

/// Does the node `child` of `level` hold the key?
fn has_below<'h>(child: TermRef<'h>, level: u32, key: TermRef<'h>) -> bool {
    child.held_boxed().is_some_and(|node| hash::get_below(node, level, hash::hash_at(key, level), key).is_some())
}

fn merge_collisions<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    a: &[TermRef<'h>],
    b: &[TermRef<'h>],
    doubles: &mut usize,
) -> TermRef<'h> {
    let key = |leaf: &TermRef<'h>| build::Sorted(leaf.as_cons().map_or(Term::NIL, |(k, _)| k));
    let mut leaves: Vec<TermRef<'h>> = b.iter().chain(a).copied().collect();
    // Stable: of equal keys that of `b` comes first and stays.
    leaves.sort_by_key(key);
    let before = leaves.len();
    leaves.dedup_by_key(|leaf| key(leaf));
    *doubles += before - leaves.len();
    build::node(heap, COLLISION, &leaves)
}
