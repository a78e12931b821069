//! The hash of hash maps: the same values as OTP 25's, so that large maps iterate in the same order.
//!
//! Equal terms (`=:=`) have equal hashes. The hash of a term that holds no atom, pid, port, reference or fun equals OTP
//! 25's; those hash by their words, which differ from OTP's and between runs.
//!
//! H1. A map's trie takes four bits a level from [`map_hash`], lowest first; after eight levels, from [`map_rehash`].
//!
//! Algorithm: lists fold their leading bytes four at a time; everything else adds marked words by [`mix`].

use crate::boxed::{Boxed, Kind};
use crate::equal::zeros_equal;
use crate::identity::ref_number;
use crate::mix::{self, mark, step, step2, step64};
use crate::stack::Stack;
use crate::word::{Tag, Term, TermRef};

/// OTP's word for nil.
const NIL_WORD: u64 = 0x3b;
/// Mixed into every salt, so that hash maps and `phash2` never agree.
const SALT: u32 = 3_432_918_353;
/// Small integers of OTP have 60 bits.
const OTP_SMALL: std::ops::Range<i64> = -(1 << 59)..1 << 59;

/// The hash of a map key at the trie's levels 0 to 7.
#[inline(always)]
pub fn map_hash<'h>(key: TermRef<'h>) -> u32 {
    small_hash(key).unwrap_or_else(|| hash_of_others(key))
}

/// [`map_hash`] of a small integer (as OTP has them).
#[inline(always)]
pub(crate) fn small_hash<'h>(key: TermRef<'h>) -> Option<u32> {
    key.as_small().filter(|v| OTP_SMALL.contains(v)).map(|v| small(SALT, v))
}

/// [`map_hash`] of what is no small integer.
#[inline(never)]
fn hash_of_others<'h>(key: TermRef<'h>) -> u32 {
    internal_hash(key, 0)
}

/// The hash of a map key at the eight levels from `level` on, a positive multiple of 8 (H1): that of a list cell of
/// `level / 8` and the key.
#[cold]
pub fn map_rehash<'h>(key: TermRef<'h>, level: u32) -> u32 {
    let cell = [Term::small(i64::from(level >> 3)), key];
    // SAFETY: the cell is aligned, initialised and outlives the walk.
    internal_hash(unsafe { TermRef::from_cell(cell.as_ptr()) }, 0)
}

/// The hash of any term, starting from `salt`. Good only while this VM runs.
#[inline]
pub fn internal_hash<'h>(term: TermRef<'h>, salt: u32) -> u32 {
    match term.as_small() {
        Some(v) if OTP_SMALL.contains(&v) => small(salt ^ SALT, v),
        _ => flat(term, salt ^ SALT).unwrap_or_else(|| walk(term, salt ^ SALT)),
    }
}

/// The hash of what is plain, of a bit string or a tuple of plain things, without a walk.
#[inline]
fn flat<'h>(term: TermRef<'h>, hash: u32) -> Option<u32> {
    if term.is_immediate() {
        return Some(immediate(hash, term));
    }
    let Some(tuple) = term.held_tuple() else {
        return mix::bit_string(hash, term);
    };
    let elements = tuple.elements();
    let mut hash = step(hash, elements.len() as u32, mark(9));
    for element in elements {
        if !element.is_immediate() {
            return None;
        }
        hash = immediate(hash, *element);
    }
    Some(hash)
}

/// The hash by which tables file a key: that of maps, except for atoms, whose hash follows from their text. So the order of
/// a table of atoms is the same in every run, as in OTP.
#[inline]
pub fn table_hash<'h>(key: TermRef<'h>) -> u32 {
    match key.as_atom() {
        Some(atom) => mix::atom(atom),
        None => internal_hash(key, 0) & 0x7fff_ffff,
    }
}

/// The hash after a small integer, as OTP's word.
#[inline(always)]
fn small(hash: u32, value: i64) -> u32 {
    step64(hash, (value as u64) << 4 | 15, mark(1))
}

/// Says whether the term is a byte, and which.
#[inline(always)]
pub(crate) fn as_byte<'h>(term: TermRef<'h>) -> Option<u32> {
    term.as_small().and_then(|v| u8::try_from(v).ok()).map(u32::from)
}

/// A light mixing of a mark.
fn mark_only(hash: u32, mark: u32) -> u32 {
    (hash ^ mark).rotate_left(17)
}

#[inline(never)]
fn walk<'h>(term: TermRef<'h>, initial: u32) -> u32 {
    // Terms still to hash; NONE stands before the tail of an improper list or its end.
    let mut left: Stack<TermRef<'h>, 24> = Stack::new();
    let mut hash = initial;
    let mut next = Some(term);
    while let Some(term) = next {
        next = match term.tag() {
            Tag::List => list(&mut left, &mut hash, term),
            Tag::Boxed => term.held_boxed().and_then(|b| boxed(&mut left, &mut hash, b)),
            _ => {
                hash = immediate(hash, term);
                None
            }
        };
        while next.is_none() {
            match left.pop() {
                None => return hash,
                Some(term) if term.is_none() => hash = mark_only(hash, mark(18)),
                Some(term) => next = Some(term),
            }
        }
    }
    hash
}

fn immediate<'h>(hash: u32, term: TermRef<'h>) -> u32 {
    if let Some(v) = term.as_small() {
        return if OTP_SMALL.contains(&v) { small(hash, v) } else { mix::limbs(hash, v < 0, &[v.unsigned_abs()]) };
    }
    if let Some(v) = term.as_float() {
        return float(hash, v);
    }
    let word = match (term.as_atom(), term.as_local_pid(), term.as_local_port()) {
        (Some(atom), ..) => u64::from(atom.index()) << 6 | 0xb,
        (_, Some(pid), _) => pid.data() << 4 | 3,
        (.., Some(port)) => port.number() << 4 | 7,
        _ => NIL_WORD,
    };
    step64(hash, word, mark(1))
}

fn float(hash: u32, value: f64) -> u32 {
    let value = if value == 0.0 && zeros_equal() { 0.0 } else { value };
    step64(hash, value.to_bits(), mark(12))
}

/// Hashes the leading bytes of a list; gives what comes next.
fn list<'h, const N: usize>(
    left: &mut Stack<TermRef<'h>, N>,
    hash: &mut u32,
    list: TermRef<'h>,
) -> Option<TermRef<'h>> {
    let (mut bytes, mut count) = (0u32, 0);
    let mut term = list;
    let head = loop {
        let Some((head, tail)) = term.as_cons() else { break None };
        let Some(byte) = as_byte(head) else { break Some((head, tail)) };
        bytes = bytes << 8 | byte;
        count += 1;
        if count == 4 {
            *hash = step(*hash, bytes, mark(4));
            (bytes, count) = (0, 0);
        }
        term = tail;
    };
    if count > 0 {
        *hash = step2(*hash, bytes, count, mark(22));
    }
    let Some((head, tail)) = head else { return Some(term) };
    *hash = mark_only(*hash, mark(17));
    left.push(tail);
    if !tail.is_cons() {
        left.push(Term::NONE);
    }
    Some(head)
}

/// Hashes what a boxed object is, pushes what it holds; gives what comes next.
fn boxed<'h, const N: usize>(
    left: &mut Stack<TermRef<'h>, N>,
    hash: &mut u32,
    object: Boxed<'h, 'h>,
) -> Option<TermRef<'h>> {
    let header = object.header();
    match header.kind() {
        Kind::Tuple => {
            *hash = step(*hash, header.size() as u32, mark(9));
            push_reversed(left, object.slots());
        }
        Kind::Map => {
            let [keys, values @ ..] = object.slots() else { return None };
            *hash = step(*hash, values.len() as u32, mark(16));
            let keys = keys.held_tuple().map_or(&[][..], |k| k.elements());
            for (key, value) in keys.iter().zip(values).rev() {
                left.push(*value);
                left.push(*key);
            }
        }
        Kind::MapRoot => {
            let [count, children @ ..] = object.slots() else { return None };
            *hash = step(*hash, count.small_value() as u32, mark(16));
            push_children(left, children);
        }
        Kind::MapNode => push_children(left, object.slots()),
        Kind::BigPositive | Kind::BigNegative => {
            *hash = mix::limbs(*hash, header.kind() == Kind::BigNegative, object.words());
        }
        Kind::Float => *hash = float(*hash, f64::from_bits(object.word(0))),
        Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => {
            *hash = mix::bit_string(*hash, object.term()).unwrap_or(*hash);
        }
        Kind::Fun => {
            if let Some((entry, _, free)) = object.term().held_local_fun() {
                *hash = step2(*hash, free.len() as u32, entry.id.module.index(), mark(20));
                *hash = step2(*hash, entry.id.index as u32, entry.id.old_uniq as u32, mark(21));
                push_reversed(left, free);
            }
        }
        Kind::ExportFun => {
            if let Some(export) = object.term().as_export_fun() {
                *hash = step2(*hash, export.mfa.module.index(), export.mfa.function.index(), mark(14));
                *hash = step(*hash, export.mfa.arity.into(), mark(14));
            }
        }
        Kind::Record => {
            let [definition, values @ ..] = object.slots() else { return None };
            *hash = step64(*hash, definition.raw(), mark(3));
            push_reversed(left, values);
        }
        Kind::Ref | Kind::AliasRef | Kind::MagicRef => reference(hash, object),
        Kind::ExternalRef => {
            *hash = step64(*hash, object.word(0), mark(7));
            reference(hash, object);
            // Numbers beyond the third; high zeros do not count.
            for i in (3..header.aux() as usize).filter(|i| ref_number(object, *i) != 0) {
                *hash = step2(*hash, ref_number(object, i), i as u32, mark(8));
            }
        }
        Kind::ExternalPid => {
            *hash = step64(*hash, object.word(0), mark(5));
            *hash = step64(*hash, object.word(1), mark(5));
        }
        Kind::ExternalPort => {
            *hash = step64(*hash, object.word(0), mark(6));
            *hash = step64(*hash, object.word(1), mark(6));
        }
        _ => {}
    }
    None
}

fn reference<'h>(hash: &mut u32, object: Boxed<'h, 'h>) {
    *hash = step(*hash, ref_number(object, 0), mark(7));
    *hash = step2(*hash, ref_number(object, 1), ref_number(object, 2), mark(8));
}

/// Pushes terms so that the first is taken first.
pub(crate) fn push_reversed<'h, const N: usize>(left: &mut Stack<TermRef<'h>, N>, terms: &[TermRef<'h>]) {
    for term in terms.iter().rev() {
        left.push(*term);
    }
}

/// Pushes the pairs and nodes below a node of a hash map; the last is taken first, as in OTP.
fn push_children<'h, const N: usize>(left: &mut Stack<TermRef<'h>, N>, children: &[TermRef<'h>]) {
    for child in children {
        match child.as_cons() {
            Some((key, value)) => {
                left.push(value);
                left.push(key);
            }
            None => left.push(*child),
        }
    }
}

#[cfg(test)]
#[path = "hash_tests.rs"]
mod tests;
