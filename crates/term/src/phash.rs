//! The portable hashes: `erlang:phash2/1,2` and `erlang:phash/2`, the same values as OTP's in every release.
//!
//! Programs store these, so they never change. They do not see the forms of terms: a big integer hashes the same whatever
//! its tag, a map the same in whatever order its pairs lie; equal terms (`=:=`) hash equal, and so do the two zeros.

use crate::boxed::{Boxed, Kind};
use crate::hash::as_byte;
use crate::identity::{pid_numbers, port_number, ref_number};
use crate::mix::{self, mark, step, step2, step64};
use crate::stack::{Slots, Stack};
use crate::word::Term;

/// `erlang:phash2/1`: 27 bits.
pub fn phash2(term: Term) -> u32 {
    phash2_full(term) & ((1 << 27) - 1)
}

/// `erlang:phash2/2` for a range of 1 to 2^32.
pub fn phash2_range(term: Term, range: u64) -> u32 {
    (u64::from(phash2_full(term)) % range.max(1)) as u32
}

/// `erlang:phash/2` for a range of 1 to 2^32: 1 to `range`.
pub fn phash(term: Term, range: u64) -> u64 {
    u64::from(phash_full(term)) % range.max(1) + 1
}

/// What is left of a portable hash.
#[derive(Clone, Copy)]
enum Left {
    /// A tail, or a term alone.
    Term(Term),
    /// Slots in a row.
    Slots(Slots),
    /// A pair of a map ends: its hash joins the others'.
    PairEnd,
    /// A map ends: the hash before it, and the pairs' hash of the map around it.
    MapEnd(u32, u32),
}

/// All 32 bits of the hash of `phash2`.
pub fn phash2_full(term: Term) -> u32 {
    let mut hasher = Phash2::new(term);
    loop {
        if let Some(hash) = hasher.run(&mut { usize::MAX }) {
            return hash;
        }
    }
}

/// The same of a term that needs no memory beside its word.
#[inline]
pub fn phash2_immediate(term: Term) -> Option<u32> {
    term.is_immediate().then(|| immediate2(0, term))
}

/// A hash of `phash2` that can be made slice by slice.
pub struct Phash2 {
    left: Stack<Left, 16>,
    hash: u32,
    pairs: u32,
}

// SAFETY: the pointers in its stack lead into the term, which the caller keeps as long as this.
unsafe impl Send for Phash2 {}

/// [`Phash2`] of a tuple of plain things or a binary, the most common keys, without a walk.
#[inline]
pub fn phash2_flat(term: Term) -> Option<u32> {
    let Some(tuple) = term.as_tuple() else {
        return term.as_aligned_bytes().filter(|bytes| bytes.len() <= FLAT).map(|bytes| mix::binary(0, bytes));
    };
    let elements = tuple.elements();
    if elements.len() > FLAT {
        return None;
    }
    let mut hash = step(0, elements.len() as u32, mark(9));
    for element in elements {
        if !element.is_immediate() {
            return None;
        }
        hash = immediate2(hash, *element);
    }
    Some(hash)
}

/// Most elements or bytes of what [`phash2_flat`] takes.
const FLAT: usize = 128;

impl Phash2 {
    /// The beginning of a term's hash.
    pub fn new(term: Term) -> Phash2 {
        let mut left = Stack::new();
        left.push(Left::Term(term));
        Phash2 { left, hash: 0, pairs: 0 }
    }

    /// Goes on for about `budget` terms, counted down: all 32 bits of the hash when it is done.
    pub fn run(&mut self, budget: &mut usize) -> Option<u32> {
        while *budget > 0 {
            *budget -= 1;
            match self.left.pop() {
                Some(Left::Term(term)) => self.term(term, budget),
                Some(Left::Slots(slots)) if slots.first().is_some_and(Term::is_immediate) => self.row(slots, budget),
                Some(Left::Slots(slots)) => self.slots(slots, budget),
                Some(Left::PairEnd) => {
                    self.pairs ^= self.hash;
                    self.hash = 0;
                }
                Some(Left::MapEnd(before, outer)) => {
                    self.hash = step(before, self.pairs, mark(19));
                    self.pairs = outer;
                }
                None => return Some(self.hash),
            }
        }
        None
    }

    /// Hashes a term, or what it is and pushes what it holds.
    fn term(&mut self, term: Term, budget: &mut usize) {
        if let Some(object) = term.as_boxed() {
            self.boxed(object, budget);
        } else if term.is_cons() {
            self.list(term, budget);
        } else {
            self.hash = immediate2(self.hash, term);
        }
    }

    /// Hashes the slots before the first that holds others, and pushes the rest.
    fn row(&mut self, mut slots: Slots, budget: &mut usize) {
        let mut hash = self.hash;
        while *budget > 0
            && let Some(term) = slots.first()
            && term.is_immediate()
        {
            *budget -= 1;
            hash = immediate2(hash, term);
            slots.next();
        }
        self.hash = hash;
        if !slots.is_over() {
            self.left.push(Left::Slots(slots));
        }
    }

    /// Hashes one of a row of slots; pushes the others.
    fn slots(&mut self, mut slots: Slots, budget: &mut usize) {
        if let Some(term) = slots.next() {
            if !slots.is_over() {
                self.left.push(Left::Slots(slots));
            }
            self.term(term, budget);
        }
    }

    /// Hashes a list and what begins it, up to a boxed element; four bytes in a row as one. Where it stops, as far as the budget
    /// goes, it pushes the rest.
    fn list(&mut self, mut term: Term, budget: &mut usize) {
        let mut hash = self.hash;
        let (mut bytes, mut count) = (0u32, 0);
        while let Some((head, tail)) = term.as_cons() {
            term = tail;
            if let Some(byte) = as_byte(head) {
                bytes = bytes << 8 | byte;
                count += 1;
                if count < 4 {
                    continue;
                }
            }
            if count > 0 {
                hash = step(hash, bytes, mark(4));
                (bytes, count) = (0, 0);
            }
            if as_byte(head).is_none() {
                if let Some(object) = head.as_boxed() {
                    self.left.push(Left::Term(tail));
                    self.hash = hash;
                    return self.boxed(object, budget);
                }
                if head.is_cons() {
                    self.left.push(Left::Term(tail));
                    term = head;
                } else {
                    hash = immediate2(hash, head);
                }
            }
            *budget = budget.saturating_sub(1);
            if *budget == 0 {
                break;
            }
        }
        if count > 0 {
            hash = step(hash, bytes, mark(4));
        }
        if term.is_immediate() {
            hash = immediate2(hash, term);
        } else {
            self.left.push(Left::Term(term));
        }
        self.hash = hash;
    }

    /// Hashes what a boxed object is; pushes what it holds.
    fn boxed(&mut self, object: Boxed, budget: &mut usize) {
        let header = object.header();
        match header.kind() {
            Kind::Tuple => {
                self.hash = step(self.hash, header.size() as u32, mark(9));
                self.row(Slots::of(object.slots()), budget);
            }
            Kind::Map => {
                let [keys, values @ ..] = object.slots() else { return };
                if self.begin_map(values.len()) {
                    let keys = keys.as_tuple().map_or(&[][..], |k| k.elements());
                    keys.iter().zip(values).for_each(|(k, v)| self.pair(*k, *v));
                }
            }
            Kind::MapRoot => {
                let [count, children @ ..] = object.slots() else { return };
                if self.begin_map(count.small_value() as usize) {
                    self.children(children);
                }
            }
            Kind::MapNode => self.children(object.slots()),
            Kind::ExportFun => {
                if let Some(export) = object.term().as_export_fun() {
                    self.hash = step2(self.hash, export.mfa.arity.into(), mix::atom(export.mfa.module), mark(1));
                    self.hash = step(self.hash, mix::atom(export.mfa.function), mark(14));
                }
            }
            Kind::Fun => {
                if let Some((entry, _, free)) = object.term().as_local_fun() {
                    self.hash = step2(self.hash, free.len() as u32, mix::atom(entry.id.module), mark(1));
                    self.hash = step2(self.hash, entry.id.index as u32, entry.id.old_uniq as u32, mark(1));
                    self.row(Slots::of(free), budget);
                }
            }
            Kind::Record => self.row(Slots::of(object.slots().get(1..).unwrap_or(&[])), budget),
            _ => self.hash = plain2(self.hash, object),
        }
    }

    /// Hashes the size of a map; if it has pairs, sets their hash up.
    fn begin_map(&mut self, size: usize) -> bool {
        self.hash = step(self.hash, size as u32, mark(16));
        if size > 0 {
            self.left.push(Left::MapEnd(self.hash, self.pairs));
            (self.hash, self.pairs) = (0, 0);
        }
        size > 0
    }

    /// A pair of a map, whose hash begins at 0.
    fn pair(&mut self, key: Term, value: Term) {
        if key.is_immediate() && value.is_immediate() {
            self.pairs ^= immediate2(immediate2(0, key), value);
            return;
        }
        self.left.push(Left::PairEnd);
        self.left.push(Left::Term(value));
        self.left.push(Left::Term(key));
    }

    fn children(&mut self, children: &[Term]) {
        for child in children {
            match child.as_cons() {
                Some((key, value)) => self.pair(key, value),
                None => self.left.push(Left::Term(*child)),
            }
        }
    }
}

fn immediate2(hash: u32, term: Term) -> u32 {
    let (x, y, mark) = if let Some(v) = term.as_small() {
        match i32::try_from(v) {
            Ok(v) if (0..1 << 27).contains(&v) => (v as u32, 0, mark(1)),
            Ok(v) if (-(1 << 27)..0).contains(&v) => {
                return step(step(hash, v.unsigned_abs(), mark(1)), v as u32, mark(1));
            }
            _ => return mix::limbs(hash, v < 0, &[v.unsigned_abs()]),
        }
    } else if let Some(atom) = term.as_atom() {
        let text = mix::atom(atom);
        if hash == 0 {
            return text;
        }
        (text, 0, mark(3))
    } else if let Some(v) = term.as_float() {
        return float2(hash, v);
    } else if term.is_local_pid() {
        return pid2(hash, term);
    } else if term.as_local_port().is_some() {
        return port2(hash, term);
    } else if hash == 0 {
        return 3_468_870_702;
    } else {
        (2, 0, mark(2))
    };
    step2(hash, x, y, mark)
}

/// A boxed object that holds no others.
fn plain2(hash: u32, object: Boxed) -> u32 {
    let header = object.header();
    match header.kind() {
        Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => mix::bit_string(hash, object.term()).unwrap_or(hash),
        Kind::BigPositive | Kind::BigNegative => mix::limbs(hash, header.kind() == Kind::BigNegative, object.words()),
        Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef => step(hash, ref_number(object, 0), mark(7)),
        Kind::ExternalPid => pid2(hash, object.term()),
        Kind::ExternalPort => port2(hash, object.term()),
        Kind::Float => float2(hash, f64::from_bits(object.word(0))),
        _ => hash,
    }
}

fn float2(hash: u32, value: f64) -> u32 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() };
    step2(hash, (bits >> 32) as u32, bits as u32, mark(12))
}

/// Only the low half of a pid counts.
fn pid2(hash: u32, pid: Term) -> u32 {
    step(hash, pid_numbers(pid) as u32, mark(5))
}

fn port2(hash: u32, port: Term) -> u32 {
    step64(hash, port_number(port), mark(6))
}

// ---- phash

/// The primes just above 2^28 that the old hash multiplies by, in its numbering (from 1).
const PRIMES: [u32; 14] = [
    268_440_163,
    268_439_161,
    268_435_459,
    268_436_141,
    268_438_633,
    268_437_017,
    268_438_039,
    268_437_511,
    268_439_627,
    268_440_479,
    268_440_577,
    268_440_581,
    268_440_593,
    268_440_611,
];

/// `hash * prime n + x`
#[inline(always)]
fn times(hash: u32, n: usize, x: u32) -> u32 {
    hash.wrapping_mul(PRIMES[n - 1]).wrapping_add(x)
}

/// What is left of the old hash.
#[derive(Clone, Copy)]
enum Old {
    Term(Term),
    /// The tail of a list whose head was no byte.
    Tail(Term),
    ListEnd,
    TupleEnd(u32),
}

/// All 32 bits of the hash of `phash`.
pub fn phash_full(term: Term) -> u32 {
    let mut left: Stack<Old, 16> = Stack::new();
    let mut hash = 0u32;
    left.push(Old::Term(term));
    while let Some(item) = left.pop() {
        match item {
            Old::Term(term) if term.is_cons() => list1(&mut left, &mut hash, term),
            Old::Term(term) => one1(&mut left, &mut hash, term),
            Old::Tail(term) if term.is_cons() => list1(&mut left, &mut hash, term),
            Old::Tail(term) => {
                left.push(Old::ListEnd);
                left.push(Old::Term(term));
            }
            Old::ListEnd => hash = times(hash, 8, 0),
            Old::TupleEnd(arity) => hash = times(hash, 9, arity),
        }
    }
    hash
}

fn list1<const N: usize>(left: &mut Stack<Old, N>, hash: &mut u32, mut term: Term) {
    while let Some((head, tail)) = term.as_cons() {
        let Some(byte) = as_byte(head) else {
            left.push(Old::Tail(tail));
            left.push(Old::Term(head));
            return;
        };
        *hash = times(*hash, 2, byte);
        term = tail;
    }
    left.push(Old::ListEnd);
    left.push(Old::Term(term));
}

/// The hash after four bytes, lowest first.
fn word1(hash: u32, prime: usize, word: u32) -> u32 {
    word.to_le_bytes().iter().fold(hash, |hash, byte| times(hash, prime, (*byte).into()))
}

/// Whole 32-bit words of the magnitude, lowest first.
fn integer1(mut hash: u32, negative: bool, limbs: &[u64]) -> u32 {
    for (i, limb) in limbs.iter().enumerate() {
        hash = word1(hash, 2, *limb as u32);
        if i + 1 < limbs.len() || *limb >> 32 != 0 {
            hash = word1(hash, 2, (*limb >> 32) as u32);
        }
    }
    times(hash, if negative { 4 } else { 3 }, 0)
}

fn bits1(mut hash: u32, bits: crate::binary::Bits<'_>) -> u32 {
    let whole = bits.len() / 8;
    for i in 0..whole {
        hash = times(hash, 1, bits.byte(i).into());
    }
    let rest = (bits.len() % 8) as u32;
    if rest > 0 {
        hash = times(hash, 1, u32::from(bits.byte(whole) >> (8 - rest)));
        hash = times(hash, 12, rest);
    }
    times(hash, 4, whole as u32)
}

/// Hashes anything but a list cell; pushes what it holds.
fn one1<const N: usize>(left: &mut Stack<Old, N>, hash: &mut u32, term: Term) {
    *hash = if let Some(v) = term.as_small() {
        integer1(*hash, v < 0, &[v.unsigned_abs()])
    } else if let Some((negative, limbs)) = term.as_big() {
        integer1(*hash, negative, limbs)
    } else if let Some(v) = term.as_float() {
        let bits = if v == 0.0 { 0 } else { v.to_bits() };
        times(*hash, 6, bits as u32 ^ (bits >> 32) as u32)
    } else if let Some(atom) = term.as_atom() {
        times(*hash, 1, mix::atom(atom))
    } else if term.is_nil() {
        times(*hash, 3, 1)
    } else if let Some(bits) = term.as_bits() {
        bits1(*hash, bits)
    } else if let Some(tuple) = term.as_tuple() {
        left.push(Old::TupleEnd(tuple.len() as u32));
        for element in tuple.elements().iter().rev() {
            left.push(Old::Term(*element));
        }
        *hash
    } else if term.is_map() {
        times(*hash, 13, PRIMES[13].wrapping_add(phash2_full(term)))
    } else if term.is_pid() {
        times(word1(*hash, 5, pid_numbers(term) as u32), 6, 0)
    } else if term.is_port() {
        let number = port_number(term);
        let high = (number >> 32) as u32;
        let hash = if high == 0 { *hash } else { word1(*hash, 11, high) };
        times(word1(hash, 9, number as u32), 10, 0)
    } else if let Some(export) = term.as_export_fun() {
        let arity = times(*hash, 11, export.mfa.arity.into());
        times(times(arity, 1, mix::atom(export.mfa.module)), 1, mix::atom(export.mfa.function))
    } else if let Some((entry, _, free)) = term.as_local_fun() {
        for variable in free.iter().rev() {
            left.push(Old::Term(*variable));
        }
        let module = times(times(*hash, 10, free.len() as u32), 1, mix::atom(entry.id.module));
        times(times(module, 2, entry.id.index as u32), 2, entry.id.old_uniq as u32)
    } else if let Some(object) = term.as_boxed().filter(|_| term.is_reference()) {
        times(word1(*hash, 9, ref_number(object, 0)), 10, 0)
    } else if let Some(object) = term.as_boxed().filter(|b| b.kind() == Kind::Record) {
        for value in object.slots().iter().skip(1).rev() {
            left.push(Old::Term(*value));
        }
        *hash
    } else {
        *hash
    };
}

#[cfg(test)]
#[path = "phash_tests.rs"]
mod tests;
