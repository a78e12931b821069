//! Maps and records.

use crate::errors;
use crate::machine::{Machine, high, short, target, wide};
use myriad_term::boxed::Header;
use myriad_term::map::{self, Map, Pair};
use myriad_term::{Alloc, Boxed, Kind, Term, am};

/// Pairs handled without allocating.
const INLINE: usize = 8;

/// The pairs at `at`, `n` words in all, given to `f`.
unsafe fn with_pairs<R>(
    m: &mut Machine<'_, '_>,
    at: *const u32,
    n: usize,
    f: impl FnOnce(&mut Machine<'_, '_>, &[Pair<'static>]) -> R,
) -> R {
    // SAFETY: operands of the instruction.
    let pair = |m: &Machine<'_, '_>, i: usize| unsafe { (m.source(at.add(2 * i)), m.source(at.add(2 * i + 1))) };
    match n / 2 {
        1 => f(m, &[pair(m, 0)]),
        2 => f(m, &[pair(m, 0), pair(m, 1)]),
        count @ 3..=INLINE => {
            let mut pairs = [(Term::NIL, Term::NIL); INLINE];
            for (i, place) in pairs[..count].iter_mut().enumerate() {
                *place = pair(m, i);
            }
            f(m, &pairs[..count])
        }
        count => {
            let pairs: Vec<Pair> = (0..count).map(|i| pair(m, i)).collect();
            f(m, &pairs)
        }
    }
}

/// A flat map with other values for keys that are immediate and all there, if it is one and there is room: the commonest
/// update, without a step that is not needed. The pairs are `n` words at `pairs`.
///
/// # Safety
/// Operands of the instruction at hand.
#[inline(always)]
unsafe fn with_values(m: &mut Machine<'_, '_>, map: Boxed<'_, 'static>, pairs: *const u32, n: usize) -> Option<Term> {
    let header = map.header();
    let size = header.size() - 1;
    let heap = m.heap();
    if header.kind() != Kind::Map || n > 2 * INLINE || !heap.ensure(2 + size) {
        return None;
    }
    // SAFETY: the caller's promise; a flat map has as many keys, in a tuple in slot 0, as values, which follow it (term.map/M1). There is
    // room for a copy.
    unsafe {
        let (from, to) = (map.ptr(), heap.htop);
        let keys = map.slot(0).boxed_ptr().add(1).cast::<Term>();
        let mut places = [0; INLINE];
        let mut changes = false;
        for (i, place) in places.iter_mut().enumerate().take(n / 2) {
            let key = m.source(pairs.add(2 * i));
            if !key.is_immediate() {
                return None;
            }
            let mut at = 0;
            loop {
                if at == size {
                    return None;
                }
                if (*keys.add(at)).is(key) {
                    break;
                }
                at += 1;
            }
            changes |= !(*from.add(2 + at).cast::<Term>()).is(m.source(pairs.add(2 * i + 1)));
            *place = at;
        }
        if !changes {
            return Some(map.term());
        }
        for i in 0..2 + size {
            *to.add(i) = *from.add(i);
        }
        for (i, place) in places.iter().enumerate().take(n / 2) {
            *to.add(2 + place).cast::<Term>() = m.source(pairs.add(2 * i + 1));
        }
        m.heap().htop = to.add(2 + size);
        Some(Term::from_boxed(to))
    }
}

/// `put_map_assoc`
pub unsafe fn put_assoc(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe {
        put(
            m,
            pc,
            |m, map, pairs| {
                if map.size() == 0 { map::from_pairs(m.ctx, pairs) } else { map.put_all(m.ctx, pairs) }
            },
        )
    }
}

/// The same with plain keys, all different and in their order.
pub unsafe fn put_plain(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: the instruction at hand.
    unsafe { put(m, pc, |m, map, pairs| map.put_in_order(m.ctx, pairs)) }
}

#[inline(always)]
unsafe fn put(
    m: &mut Machine<'_, '_>,
    pc: *const u32,
    f: impl FnOnce(&mut Machine<'_, '_>, Map<'_, 'static>, &[Pair<'static>]) -> Term,
) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (source, live, n) = (m.source(pc.add(1)), *pc.add(2) as usize, *pc.add(3) as usize);
        let Some(map) = source.as_map() else { return errors::tagged_error_at(m, pc, am::badmap, source) };
        if let Some(map) = with_values(m, map.boxed(), pc.add(4), n) {
            m.set(high(pc), map);
            return pc.add(4 + n);
        }
        let result = with_pairs(m, pc.add(4), n, |m, pairs| f(m, map, pairs));
        m.reds -= n as i32 / 8;
        m.give(high(pc), result, live, pc.add(4 + n))
    }
}

/// A map of named keys, where the loop found no room: size and key tuple, then the values in the order of the keys.
pub unsafe fn new_map(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the words are fresh (term/A2).
    unsafe {
        let (live, n) = (*pc.add(1) as usize, *pc.add(2) as usize);
        let at = m.heap().alloc(2 + n).as_ptr();
        *at = Header::new(Kind::Map, 1 + n).raw();
        *at.add(1) = wide(pc.add(3));
        for i in 0..n {
            *at.add(2 + i) = m.source(pc.add(5 + i)).raw();
        }
        m.give(high(pc), Term::from_boxed(at), live, pc.add(5 + n))
    }
}

/// `put_map_exact`
pub unsafe fn put_exact(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (source, live, n) = (m.source(pc.add(1)), *pc.add(3) as usize, *pc.add(4) as usize);
        let fail = pc.add(2);
        let Some(map) = source.as_map() else {
            if *fail != 0 {
                return target(fail);
            }
            return errors::tagged_error_at(m, pc, am::badmap, source);
        };
        if let Some(map) = with_values(m, map.boxed(), pc.add(5), n) {
            m.set(high(pc), map);
            return pc.add(5 + n);
        }
        match with_pairs(m, pc.add(5), n, |m, pairs| map.update_all(m.ctx, pairs)) {
            Ok(result) => m.give(high(pc), result, live, pc.add(5 + n)),
            Err(_) if *fail != 0 => target(fail),
            Err(key) => errors::tagged_error_at(m, pc, am::badkey, key),
        }
    }
}

/// `has_map_fields`
pub unsafe fn has_fields(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (source, n) = (m.source(pc.add(1)), *pc.add(3) as usize);
        let Some(map) = source.as_map() else { return target(pc.add(2)) };
        for i in 0..n {
            if !map.has_key(m.source(pc.add(4 + i))) {
                return target(pc.add(2));
            }
        }
        pc.add(4 + n)
    }
}

/// `get_map_elements`: (key, register) pairs.
pub unsafe fn get_elements(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (source, n) = (m.source(pc.add(1)), *pc.add(3) as usize);
        let Some(map) = source.as_map() else { return target(pc.add(2)) };
        for i in 0..n / 2 {
            let at = pc.add(4 + 2 * i);
            let Some(value) = map.get(m.source(at)) else { return target(pc.add(2)) };
            m.set(*at.add(1), value);
        }
        pc.add(4 + n)
    }
}

/// `get_map_elements` of one key.
pub unsafe fn get_element(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        match m.source(pc.add(1)).as_map().and_then(|map| map.get(m.source(pc.add(2)))) {
            Some(value) => {
                m.set(high(pc), value);
                pc.add(4)
            }
            None => target(pc.add(3)),
        }
    }
}

/// `get_map_elements` of one plain key, from what is not a flat map.
pub unsafe fn get_plain_element(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        match m.source(pc.add(1)).as_map().and_then(|map| map.get(short(pc.add(3)))) {
            Some(value) => {
                m.set(high(pc), value);
                pc.add(4)
            }
            None => target(pc.add(2)),
        }
    }
}

/// `get_map_elements` of plain keys, from what is not a flat map.
pub unsafe fn get_plain_elements(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction.
    unsafe {
        let (source, n) = (m.source(pc.add(1)), *pc.add(3) as usize);
        let Some(map) = source.as_map() else { return target(pc.add(2)) };
        for i in 0..n / 2 {
            let at = pc.add(4 + 2 * i);
            let Some(value) = map.get(short(at)) else { return target(pc.add(2)) };
            m.set(*at.add(1), value);
        }
        pc.add(4 + n)
    }
}

/// `update_record`: size, then (element number, value) pairs.
pub unsafe fn update_record(m: &mut Machine<'_, '_>, pc: *const u32) -> *const u32 {
    // SAFETY: operands of the instruction; the words are fresh (term/A2).
    unsafe {
        let (source, n) = (m.source(pc.add(1)), *pc.add(3) as usize);
        let size = *pc.add(2) as usize;
        let Some(tuple) = source.as_tuple().filter(|tuple| tuple.len() == size) else {
            return errors::tagged_error_at(m, pc, am::badrecord, source);
        };
        let at = m.heap().alloc(1 + size).as_ptr();
        *at = Header::new(Kind::Tuple, size).raw();
        std::ptr::copy_nonoverlapping(tuple.elements().as_ptr(), at.add(1).cast(), size);
        for i in 0..n / 2 {
            let index = *pc.add(4 + 2 * i) as usize;
            if (1..=size).contains(&index) {
                *at.add(index) = m.source(pc.add(5 + 2 * i)).raw();
            }
        }
        m.set(high(pc), Term::from_boxed(at));
        pc.add(4 + n)
    }
}
