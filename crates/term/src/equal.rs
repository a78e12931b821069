//! Equality of terms: `=:=` ([`eq_exact`]) and `==` ([`eq`]).
//!
//! Equal words are equal terms (no NaN is ever a term), and an immediate exactly equals only itself; so only boxed objects
//! and lists need a walk, which keeps what is left to compare on a stack.
//!
//! EQ1. A hash map's shape follows from its keys alone, so equal maps are node by node equal. Keys always compare exactly,
//!     values as the operator does.

use crate::arith::Number;
use crate::big;
use crate::binary::Bits;
use crate::boxed::{Boxed, Kind};
use crate::identity;
use crate::stack::Stack;
use crate::word::TermRef;
use myriad_sync::atomic::{AtomicBool, Ordering as Memory};
use std::cmp::Ordering;

/// Does `0.0 =:= -0.0` hold? Up to OTP 26 it does.
static ZEROS_EQUAL: AtomicBool = AtomicBool::new(true);

/// Does `0.0 =:= -0.0` hold in the release that runs?
#[inline]
pub fn zeros_equal() -> bool {
    // Relaxed: set once at start.
    ZEROS_EQUAL.load(Memory::Relaxed)
}

/// Says whether `0.0 =:= -0.0` holds in the release that runs (true up to 26, false from 27).
pub fn set_zeros_equal(equal: bool) {
    // Relaxed: set once at start.
    ZEROS_EQUAL.store(equal, Memory::Relaxed);
}

/// `A =:= B`
#[inline(always)]
pub fn eq_exact<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    a.is(b) || !a.is_immediate() && !b.is_immediate() && eq_exact_walk(a, b)
}

/// `A == B`
#[inline(always)]
pub fn eq<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    a.is(b) || !(a.is_small() && b.is_small()) && eq_walk(a, b, false)
}

/// [`eq_exact`] of two terms with memory: tuples of plain things, binaries and big integers without a walk.
#[inline(never)]
fn eq_exact_walk<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    if a.is_cons() || b.is_cons() {
        return a.is_cons() && b.is_cons() && eq_walk(a, b, true);
    }
    if let (Some(x), Some(y)) = (a.held_tuple(), b.held_tuple()) {
        if x.len() != y.len() {
            return false;
        }
        for (x, y) in x.elements().iter().zip(y.elements()) {
            if !x.is(*y) {
                if x.is_immediate() || y.is_immediate() {
                    return false;
                }
                return eq_walk(a, b, true);
            }
        }
        return true;
    }
    if let (Some(x), Some(y)) = (a.held_big(), b.held_big()) {
        return x == y;
    }
    if let (Some(x), Some(y)) = (a.as_aligned_bytes(), b.as_aligned_bytes()) {
        return x == y;
    }
    eq_walk(a, b, true)
}

/// What is left to compare, and whether exactly.
#[derive(Clone, Copy)]
enum Left<'h> {
    Terms(&'h [TermRef<'h>], &'h [TermRef<'h>], bool),
    Tails(TermRef<'h>, TermRef<'h>, bool),
}

#[inline(never)]
fn eq_walk<'h>(mut a: TermRef<'h>, mut b: TermRef<'h>, mut exact: bool) -> bool {
    let mut left: Stack<Left<'h>, 12> = Stack::new();
    loop {
        if !a.is(b) && !eq_one(&mut left, a, b, exact) {
            return false;
        }
        // The next pair that differs.
        loop {
            match left.pop() {
                None => return true,
                Some(Left::Terms(x, y, e)) => {
                    let Some(i) = x.iter().zip(y).position(|(x, y)| !x.is(*y)) else { continue };
                    if i + 1 < x.len() {
                        left.push(Left::Terms(&x[i + 1..], &y[i + 1..], e));
                    }
                    (a, b, exact) = (x[i], y[i], e);
                }
                Some(Left::Tails(x, y, e)) => (a, b, exact) = (x, y, e),
            }
            break;
        }
    }
}

/// Are both tuples, with the very same words?
#[inline]
pub(crate) fn same_elements<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    match (a.held_tuple(), b.held_tuple()) {
        (Some(x), Some(y)) => x.len() == y.len() && x.elements().iter().zip(y.elements()).all(|(x, y)| x.is(*y)),
        _ => false,
    }
}

/// Compares two different words; pushes what they hold.
#[inline]
fn eq_one<'h, const N: usize>(left: &mut Stack<Left<'h>, N>, a: TermRef<'h>, b: TermRef<'h>, exact: bool) -> bool {
    if let (Some((mut x, mut rest_a)), Some((mut y, mut rest_b))) = (a.as_cons(), b.as_cons()) {
        // Runs along equal heads without the stack.
        while x.is(y) || same_elements(x, y) {
            if rest_a.is(rest_b) {
                return true;
            }
            let (Some(next_a), Some(next_b)) = (rest_a.as_cons(), rest_b.as_cons()) else {
                left.push(Left::Tails(rest_a, rest_b, exact));
                return true;
            };
            (x, rest_a) = next_a;
            (y, rest_b) = next_b;
        }
        if exact && (x.is_immediate() || y.is_immediate()) {
            return false;
        }
        left.push(Left::Tails(rest_a, rest_b, exact));
        left.push(Left::Tails(x, y, exact));
        return true;
    }
    if let (Some(x), Some(y)) = (a.held_boxed(), b.held_boxed()) {
        return eq_boxed(left, x, y, exact);
    }
    !exact && eq_numbers(a, b)
}

fn eq_numbers<'h>(a: TermRef<'h>, b: TermRef<'h>) -> bool {
    match (Number::of(&a), Number::of(&b)) {
        (Some(x), Some(y)) => compare_numbers(x, y) == Ordering::Equal,
        _ => false,
    }
}

/// Compares two boxed objects; pushes the terms that they hold.
fn eq_boxed<'h, const N: usize>(
    left: &mut Stack<Left<'h>, N>,
    a: Boxed<'h, 'h>,
    b: Boxed<'h, 'h>,
    exact: bool,
) -> bool {
    let (head_a, head_b) = (a.header(), b.header());
    match (head_a.kind(), head_b.kind()) {
        (Kind::Tuple, Kind::Tuple) => {
            head_a.size() == head_b.size() && {
                left.push(Left::Terms(a.slots(), b.slots(), exact));
                true
            }
        }
        (Kind::BigPositive, Kind::BigPositive) | (Kind::BigNegative, Kind::BigNegative) => a.words() == b.words(),
        (Kind::Float, Kind::Float) => {
            a.word(0) == b.word(0)
                || (!exact || zeros_equal()) && f64::from_bits(a.word(0)) == f64::from_bits(b.word(0))
        }
        (
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary,
            Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary,
        ) => match (a.term().held_bits(), b.term().held_bits()) {
            (Some(x), Some(y)) => x.len() == y.len() && compare_bits(x, y).is_eq(),
            _ => false,
        },
        (Kind::Map, Kind::Map) => match (a.slots(), b.slots()) {
            ([keys_a, values_a @ ..], [keys_b, values_b @ ..]) if values_a.len() == values_b.len() => {
                left.push(Left::Terms(values_a, values_b, exact));
                left.push(Left::Tails(*keys_a, *keys_b, true));
                true
            }
            _ => false,
        },
        (Kind::MapRoot, Kind::MapRoot) => eq_hash_maps(left, a, b, exact),
        // The creator does not count.
        (Kind::Fun, Kind::Fun) => match (a.term().held_local_fun(), b.term().held_local_fun()) {
            (Some((entry_a, _, free_a)), Some((entry_b, _, free_b)))
                if free_a.len() == free_b.len()
                    && (std::ptr::eq(entry_a, entry_b) || entry_a.id.is_like(&entry_b.id)) =>
            {
                left.push(Left::Terms(free_a, free_b, exact));
                true
            }
            _ => false,
        },
        (Kind::ExportFun, Kind::ExportFun) => a.word(0) == b.word(0),
        (Kind::Record, Kind::Record) => match (a.slots(), b.slots()) {
            ([definition_a, values_a @ ..], [definition_b, values_b @ ..])
                if definition_a.is(*definition_b) && values_a.len() == values_b.len() =>
            {
                left.push(Left::Terms(values_a, values_b, exact));
                true
            }
            _ => false,
        },
        (
            Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef,
            Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef,
        ) => identity::compare_refs(a, b).is_eq(),
        (Kind::ExternalPid, Kind::ExternalPid) => identity::compare_pids(a.term(), b.term()).is_eq(),
        (Kind::ExternalPort, Kind::ExternalPort) => identity::compare_ports(a.term(), b.term()).is_eq(),
        _ => !exact && eq_numbers(a.term(), b.term()),
    }
}

/// Compares two hash maps node by node (EQ1); pushes the keys and values that are not the same words.
fn eq_hash_maps<'h, const N: usize>(
    left: &mut Stack<Left<'h>, N>,
    a: Boxed<'h, 'h>,
    b: Boxed<'h, 'h>,
    exact: bool,
) -> bool {
    let mut nodes: Stack<(&[TermRef<'h>], &[TermRef<'h>]), 8> = Stack::new();
    if a.header() != b.header() {
        return false;
    }
    // The count is the first slot: a small integer, compared like any word below.
    nodes.push((a.slots(), b.slots()));
    while let Some((x, y)) = nodes.pop() {
        for (i, (child_a, child_b)) in x.iter().zip(y).enumerate() {
            if child_a.is(*child_b) {
                continue;
            }
            match (child_a.as_cons(), child_b.as_cons()) {
                (Some((key_a, value_a)), Some((key_b, value_b))) => {
                    if !key_a.is(key_b) {
                        if key_a.is_immediate() || key_b.is_immediate() {
                            return false;
                        }
                        left.push(Left::Tails(key_a, key_b, true));
                    }
                    if !value_a.is(value_b) {
                        left.push(Left::Tails(value_a, value_b, exact));
                    }
                }
                _ => match (child_a.held_boxed(), child_b.held_boxed()) {
                    (Some(node_a), Some(node_b)) if node_a.header() == node_b.header() => {
                        if i + 1 < x.len() {
                            nodes.push((&x[i + 1..], &y[i + 1..]));
                        }
                        nodes.push((node_a.slots(), node_b.slots()));
                        break;
                    }
                    _ => return false,
                },
            }
        }
    }
    true
}

/// Compares numbers by value, exactly.
pub(crate) fn compare_numbers(a: Number<'_>, b: Number<'_>) -> Ordering {
    use Number::{Big, Float, Small};
    match (a, b) {
        (Small(x), Small(y)) => x.cmp(&y),
        (Small(_), Big(negative, _)) => {
            if negative {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (Big(negative, _), Small(_)) => {
            if negative {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (Big(false, x), Big(false, y)) => big::compare(x, y),
        (Big(true, x), Big(true, y)) => big::compare(y, x),
        (Big(negative, _), Big(..)) => {
            if negative {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        // No term is NaN.
        (Float(x), Float(y)) => x.partial_cmp(&y).unwrap_or(Ordering::Equal),
        (Small(x), Float(y)) => big::compare_i64_f64(x, y),
        (Float(x), Small(y)) => big::compare_i64_f64(y, x).reverse(),
        (Big(negative, x), Float(y)) => big::compare_big_f64(negative, x, y),
        (Float(x), Big(negative, y)) => big::compare_big_f64(negative, y, x).reverse(),
    }
}

/// Compares bit strings bit by bit, the shorter first.
pub(crate) fn compare_bits(a: Bits<'_>, b: Bits<'_>) -> Ordering {
    let common = a.len().min(b.len());
    let whole = common / 8;
    let order = if a.offset() == 0 && b.offset() == 0 {
        a.covering_bytes()[..whole].cmp(&b.covering_bytes()[..whole])
    } else {
        (0..whole).map(|i| a.byte(i).cmp(&b.byte(i))).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    order
        .then_with(|| match common % 8 {
            0 => Ordering::Equal,
            bits => {
                let mask = !(0xff >> bits);
                (a.byte(whole) & mask).cmp(&(b.byte(whole) & mask))
            }
        })
        .then(a.len().cmp(&b.len()))
}
