//! Going through maps: an iterator in Rust, and batches that a path resumes (`erts_internal:map_next/3`).
//!
//! A path has four bits a level, lowest first: the index among the children that are there (not the hash's bits). It names
//! the next leaf or node to visit; levels that are left out are 0.

use super::hash;
use super::object::{COLLISION, MAX_LEVEL, Map, Pair, View};
use crate::alloc::Build;
use crate::boxed::{Header, Kind};
use crate::word::{Term, TermRef};

const DEPTH: usize = MAX_LEVEL as usize + 1;

/// The rest of one node's children.
#[derive(Clone, Copy)]
struct Rest<'h> {
    at: *const TermRef<'h>,
    left: usize,
}

/// Iterator over the pairs of a map; flat maps in key order, hash maps by slots, upwards or downwards.
#[derive(Clone)]
pub struct MapIter<'h> {
    /// Values of a flat map, whose keys are in `stack[0]`; null for a hash map.
    values: *const TermRef<'h>,
    down: bool,
    depth: usize,
    pairs_left: usize,
    stack: [Rest<'h>; DEPTH],
}

// SAFETY: it only reads terms of the map, which whoever has it keeps (term/T2), as a `Term`, which may be sent, does.
unsafe impl Send for MapIter<'_> {}

impl<'h> MapIter<'h> {
    fn new(map: Map<'_, 'h>, down: bool) -> MapIter<'h> {
        let none = Rest { at: std::ptr::null(), left: 0 };
        let mut iter =
            MapIter { values: std::ptr::null(), down, depth: 1, pairs_left: map.size(), stack: [none; DEPTH] };
        match map.view() {
            View::Flat { keys, values } => {
                iter.values = values.as_ptr();
                iter.stack[0] = Rest { at: keys.as_ptr(), left: keys.len() };
            }
            View::Hash { children, .. } => iter.stack[0] = Rest { at: children.as_ptr(), left: children.len() },
        }
        iter
    }

    /// By rising slots: the order of `maps:iterator/1`.
    pub fn upwards(map: Map<'_, 'h>) -> MapIter<'h> {
        Self::new(map, false)
    }

    /// By falling slots: the order of `maps:to_list/1` if the map is a hash map.
    pub fn downwards(map: Map<'_, 'h>) -> MapIter<'h> {
        Self::new(map, true)
    }

    /// Takes the next child of the innermost node: its distance from `at`.
    #[inline]
    fn step(rest: &mut Rest<'h>, down: bool) -> *const TermRef<'h> {
        rest.left -= 1;
        if down {
            rest.at.wrapping_add(rest.left)
        } else {
            let at = rest.at;
            rest.at = at.wrapping_add(1);
            at
        }
    }

    fn next_flat(&mut self) -> Option<Pair<'h>> {
        let rest = &mut self.stack[0];
        if rest.left == 0 {
            return None;
        }
        let key = Self::step(rest, self.down);
        let value = if self.down {
            self.values.wrapping_add(rest.left)
        } else {
            let at = self.values;
            self.values = at.wrapping_add(1);
            at
        };
        // SAFETY: both are within the key tuple and the map (term.map/M1: as many values as keys), which stay (term/T2).
        unsafe { Some((*key, *value)) }
    }
}

impl<'h> Iterator for MapIter<'h> {
    type Item = Pair<'h>;

    #[inline]
    fn next(&mut self) -> Option<Pair<'h>> {
        self.pairs_left = self.pairs_left.saturating_sub(1);
        if !self.values.is_null() {
            return self.next_flat();
        }
        loop {
            let rest = self.stack.get_mut(self.depth.checked_sub(1)?)?;
            if rest.left == 0 {
                self.depth -= 1;
                continue;
            }
            // SAFETY: within the children of a node that stays (term/T2); `left` counts them.
            let child = unsafe { *Self::step(rest, self.down) };
            if let Some(pair) = child.as_cons() {
                return Some(pair);
            }
            let (_, children) = hash::parts(child.held_boxed()?);
            *self.stack.get_mut(self.depth)? = Rest { at: children.as_ptr(), left: children.len() };
            self.depth += 1;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.pairs_left, Some(self.pairs_left))
    }
}

impl ExactSizeIterator for MapIter<'_> {}

/// Why a batch could not be taken: the path leads nowhere in this map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPath;

/// Gives up to `limit` pairs from `path` on, by rising slots, to `each`. The path of the next one, if there is any.
/// (A node of colliding keys is given as a whole, so a batch may be a few longer.)
pub fn next_batch<'h>(
    map: Map<'_, 'h>,
    path: u64,
    limit: usize,
    mut each: impl FnMut(TermRef<'h>, TermRef<'h>),
) -> Result<Option<u64>, BadPath> {
    let View::Hash { children, .. } = map.view() else {
        if path != 0 {
            return Err(BadPath);
        }
        map.iter().for_each(|(k, v)| each(k, v));
        return Ok(None);
    };
    // The node of each level on the way and the next index in it.
    let mut stack: [(&[TermRef<'h>], usize); DEPTH] = [(&[], 0); DEPTH];
    let mut depth = 0;
    let mut node = children;
    let mut digits = path;
    loop {
        let index = (digits & 15) as usize;
        digits >>= 4;
        let child = *node.get(index).ok_or(BadPath)?;
        stack[depth] = (node, index);
        depth += 1;
        if digits == 0 {
            break;
        }
        let (bitmap, inner) = hash::parts(child.held_boxed().ok_or(BadPath)?);
        if bitmap & COLLISION != 0 || depth >= DEPTH {
            return Err(BadPath);
        }
        // The child is being visited: its parent continues with the one after it.
        stack[depth - 1].1 += 1;
        node = inner;
    }
    let mut given = 0;
    while let Some(above) = depth.checked_sub(1) {
        let (node, mut index) = stack[above];
        // Leaves in a row, then a node or the end of this one.
        let inner = loop {
            let Some(child) = node.get(index) else { break None };
            if given >= limit {
                stack[above].1 = index;
                return Ok(Some(path_of(&stack[..depth])));
            }
            index += 1;
            match child.as_cons() {
                Some((key, value)) => {
                    each(key, value);
                    given += 1;
                }
                None => break Some(*child),
            }
        };
        let Some(inner) = inner else {
            depth = above;
            continue;
        };
        stack[above].1 = index;
        let (bitmap, inner) = hash::parts(inner.held_boxed().ok_or(BadPath)?);
        if bitmap & COLLISION != 0 {
            for (key, value) in inner.iter().filter_map(|leaf| leaf.as_cons()) {
                each(key, value);
                given += 1;
            }
        } else {
            *stack.get_mut(depth).ok_or(BadPath)? = (inner, 0);
            depth += 1;
        }
    }
    Ok(None)
}

/// The path of a stack whose outer levels already point behind the child that is being visited.
fn path_of<'h>(stack: &[(&[TermRef<'h>], usize)]) -> u64 {
    let (inner, outer) = stack.split_last().map_or((0, &[][..]), |(last, outer)| (last.1, outer));
    let top = (inner as u64) << (4 * outer.len() as u32).min(60);
    outer.iter().enumerate().fold(top, |path, (level, (_, index))| path | (*index as u64 - 1) << (4 * level))
}

/// `erts_internal:map_next(Path, Map, iterator)`: `{K, V, {K, V, … Rest}}`, where the rest is `[NextPath|Map]` or `none`.
pub fn next_iterator<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    path: u64,
    map: Map<'_, 'h>,
    limit: usize,
) -> Result<TermRef<'h>, BadPath> {
    let mut chain = Term::atom(crate::am::none);
    let mut end: *mut TermRef<'h> = &raw mut chain;
    let next = next_batch(map, path, limit, |key, value| {
        let at = heap.alloc(4).as_ptr();
        // SAFETY: four fresh words (term/A2), the last of which the next step writes, or what follows after them all; `end` is
        // `chain` or such a word.
        unsafe {
            *at = Header::new(Kind::Tuple, 3).raw();
            *at.add(1).cast::<TermRef<'h>>() = key;
            *at.add(2).cast::<TermRef<'h>>() = value;
            *at.add(3).cast::<TermRef<'h>>() = Term::atom(crate::am::none);
            *end = Term::from_boxed(at);
            end = at.add(3).cast();
        }
    })?;
    if let Some(path) = next {
        let path = heap.uint(path);
        // SAFETY: `end` is `chain` or the last word of a tuple made above (term/A2).
        unsafe { *end = heap.cons(path, map.term()) };
    }
    Ok(chain)
}

/// `erts_internal:map_next(Path, Map, Tail)`: a list of pairs before `tail`; with `[NextPath, Map|…]` in front while more
/// are to come.
pub fn next_list<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    path: u64,
    map: Map<'_, 'h>,
    limit: usize,
    tail: TermRef<'h>,
) -> Result<TermRef<'h>, BadPath> {
    let mut list = tail;
    let next = if map.is_flat() {
        let mut pairs = Vec::with_capacity(map.size());
        let next = next_batch(map, path, limit, |k, v| pairs.push((k, v)))?;
        for (key, value) in pairs.into_iter().rev() {
            list = pair_onto(heap, key, value, list);
        }
        next
    } else {
        next_batch(map, path, limit, |k, v| list = pair_onto(heap, k, v, list))?
    };
    if let Some(path) = next {
        list = heap.cons(map.term(), list);
        let path = heap.uint(path);
        list = heap.cons(path, list);
    }
    Ok(list)
}

/// `[{Key, Value} | List]`, in one block.
#[inline]
fn pair_onto<'h, A: Build<'h> + ?Sized>(
    heap: &mut A,
    key: TermRef<'h>,
    value: TermRef<'h>,
    list: TermRef<'h>,
) -> TermRef<'h> {
    let at = heap.alloc(5).as_ptr();
    // SAFETY: five fresh words (term/A2): a cell, and the tuple that is its head.
    unsafe {
        let pair = at.add(2);
        *pair = Header::new(Kind::Tuple, 2).raw();
        *pair.add(1).cast::<TermRef<'h>>() = key;
        *pair.add(2).cast::<TermRef<'h>>() = value;
        *at.cast::<TermRef<'h>>() = Term::from_boxed(pair);
        *at.add(1).cast::<TermRef<'h>>() = list;
        TermRef::from_cell(at.cast::<TermRef<'h>>())
    }
}
