//! The order of terms: arithmetic ([`compare`], what `<` asks) and exact ([`compare_exact`], what map keys are sorted by).
//!
//! number < atom < reference < fun < port < pid < tuple < record < map < nil < list < bit string. Numbers compare by
//! value; in the exact order every integer comes before every float instead. Maps compare by size, then their keys in the
//! exact order, then the values in the order of the keys.
//!
//! Two hash maps of one size are ordered by the smallest key that only one of them has; with the same keys, by the values
//! of the smallest key whose values differ. [`differences`] finds the candidates by walking both tries at once, and the
//! smallest of them is found by comparisons that run on the same stack ([`Left::Smallest`]), so that keys that are maps
//! with such keys need no recursion.

use crate::arith::Number;
use crate::boxed::{Boxed, Kind};
use crate::equal::{compare_bits, compare_numbers, eq, eq_exact, same_elements, zeros_equal};
use crate::identity;
use crate::stack::Stack;
use crate::word::{Tag, Term};
use std::cmp::Ordering;

/// The term order, integers and floats by value.
#[inline(always)]
pub fn compare(a: Term, b: Term) -> Ordering {
    if a.is_small() && b.is_small() {
        return a.small_value().cmp(&b.small_value());
    }
    if a.is(b) { Ordering::Equal } else { compare_walk(a, b, false) }
}

/// The order of map keys and of `erts_internal:cmp_term/2`: as [`compare`], but integers before floats.
#[inline(always)]
pub fn compare_exact(a: Term, b: Term) -> Ordering {
    if a.is_small() && b.is_small() {
        return a.small_value().cmp(&b.small_value());
    }
    if a.is(b) { Ordering::Equal } else { compare_walk(a, b, true) }
}

/// The place of a term's type in the order. Local funs come before `fun M:F/A`.
fn rank(term: Term) -> u8 {
    match term.tag() {
        Tag::Small | Tag::Float => 0,
        Tag::List => 11,
        Tag::Boxed => match term.boxed_kind() {
            Some(Kind::BigPositive | Kind::BigNegative | Kind::Float) => 0,
            Some(Kind::Ref | Kind::AliasRef | Kind::MagicRef | Kind::ExternalRef) => 2,
            Some(Kind::Fun) => 3,
            Some(Kind::ExportFun) => 4,
            Some(Kind::ExternalPort) => 5,
            Some(Kind::ExternalPid) => 6,
            Some(Kind::Tuple) => 7,
            Some(Kind::Record) => 8,
            Some(Kind::Map | Kind::MapRoot) => 9,
            Some(Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary) => 12,
            _ => 13,
        },
        _ if term.is_atom() => 1,
        _ if term.is_nil() => 10,
        _ if term.is_local_pid() => 6,
        _ if term.as_local_port().is_some() => 5,
        _ => 13,
    }
}

/// What is left to compare, and whether exactly.
#[derive(Clone, Copy)]
enum Left<'a> {
    Terms(&'a [Term], &'a [Term], bool),
    Pair(Term, Term, bool),
    /// The comparison above is one of the top [`Search`]'s.
    Smallest,
}

/// A key that two maps differ in, with its values.
type Candidate = (Term, Term, Term);

/// A search for the smallest key among candidates.
struct Search {
    candidates: Vec<Candidate>,
    best: usize,
    next: usize,
    then: Then,
}

/// What to do with the smallest candidate.
enum Then {
    /// It is the first map's; find the second map's among these.
    Other(Vec<Candidate>),
    /// It is the second map's; compare the first map's with it.
    Against(Term),
    /// Compare its values, exactly or not.
    Values(bool),
}

/// The state of one comparison.
struct Walk<'a> {
    left: Stack<Left<'a>, 12>,
    searches: Vec<Search>,
}

#[inline(never)]
fn compare_walk(a: Term, b: Term, exact: bool) -> Ordering {
    if let (Some(a), Some(b)) = (a.as_atom(), b.as_atom()) {
        return identity::compare_atoms(a, b);
    }
    match compare_flat(a, b) {
        Ok(order) => order,
        Err((a, b)) => compare_nested(a, b, exact),
    }
}

/// What can be told without a stack, as most comparisons can: strings of bytes and of characters, tuples that differ first in
/// a small integer or an atom. Else the pair from which to continue.
fn compare_flat(mut a: Term, mut b: Term) -> Result<Ordering, (Term, Term)> {
    while let (Some((head_a, tail_a)), Some((head_b, tail_b))) = (a.as_cons(), b.as_cons()) {
        if !head_a.is(head_b) && !same_elements(head_a, head_b) {
            return compare_leaves(head_a, head_b).ok_or((a, b));
        }
        if tail_a.is(tail_b) {
            return Ok(Ordering::Equal);
        }
        (a, b) = (tail_a, tail_b);
    }
    let (Some(x), Some(y)) = (a.as_boxed(), b.as_boxed()) else { return Err((a, b)) };
    if x.kind() == Kind::Tuple && y.kind() == Kind::Tuple {
        let (x, y): (&[Term], &[Term]) = (x.slots(), y.slots());
        if x.len() != y.len() {
            return Ok(x.len().cmp(&y.len()));
        }
        return match x.iter().zip(y).find(|(x, y)| !x.is(**y)) {
            Some((x, y)) => compare_leaves(*x, *y).ok_or((a, b)),
            None => Ok(Ordering::Equal),
        };
    }
    match (a.as_bits(), b.as_bits()) {
        (Some(x), Some(y)) => Ok(compare_bits(x, y)),
        _ => Err((a, b)),
    }
}

/// The order of two small integers or two atoms.
#[inline]
fn compare_leaves(a: Term, b: Term) -> Option<Ordering> {
    if a.is_small() && b.is_small() {
        return Some(a.small_value().cmp(&b.small_value()));
    }
    Some(identity::compare_atoms(a.as_atom()?, b.as_atom()?))
}

fn compare_nested(a: Term, b: Term, exact: bool) -> Ordering {
    let mut walk = Walk { left: Stack::new(), searches: Vec::new() };
    let mut pair = (a, b, exact);
    loop {
        let (a, b, exact) = pair;
        let order = if a.is(b) { Ordering::Equal } else { walk.one(a, b, exact) };
        match walk.next(order) {
            Ok(next) => pair = next,
            Err(order) => return order,
        }
    }
}

impl<'a> Walk<'a> {
    /// The next pair to compare after a comparison gave `order`, or the end.
    fn next(&mut self, order: Ordering) -> Result<(Term, Term, bool), Ordering> {
        loop {
            match self.left.pop() {
                None => return Err(order),
                Some(Left::Smallest) => return Ok(self.search(order)),
                // A difference decides up to the innermost search.
                Some(_) if order.is_ne() => {}
                Some(Left::Pair(a, b, exact)) => return Ok((a, b, exact)),
                Some(Left::Terms(a, b, exact)) => {
                    if let Some(i) = a.iter().zip(b).position(|(x, y)| !x.is(*y)) {
                        if i + 1 < a.len() {
                            self.left.push(Left::Terms(&a[i + 1..], &b[i + 1..], exact));
                        }
                        return Ok((a[i], b[i], exact));
                    }
                }
            }
        }
    }

    /// The top search's next comparison, after one gave `order`.
    fn search(&mut self, order: Ordering) -> (Term, Term, bool) {
        match self.searches.pop() {
            Some(mut search) => {
                if order.is_lt() {
                    search.best = search.next;
                }
                search.next += 1;
                self.go_on(search)
            }
            // Each mark on the stack has its search.
            None => (Term::NIL, Term::NIL, true),
        }
    }

    /// A search's next comparison, or what follows its end.
    fn go_on(&mut self, mut search: Search) -> (Term, Term, bool) {
        loop {
            let (key, a, b) = search.candidates[search.best];
            if let Some(next) = search.candidates.get(search.next) {
                let pair = (next.0, key, true);
                self.left.push(Left::Smallest);
                self.searches.push(search);
                return pair;
            }
            match search.then {
                Then::Other(candidates) => search = Search { candidates, best: 0, next: 1, then: Then::Against(key) },
                Then::Against(first) => return (first, key, true),
                Then::Values(exact) => return (a, b, exact),
            }
        }
    }

    /// Compares two different words; pushes what they hold, giving Equal so far.
    fn one(&mut self, a: Term, b: Term, exact: bool) -> Ordering {
        if let (Some((mut x, mut rest_a)), Some((mut y, mut rest_b))) = (a.as_cons(), b.as_cons()) {
            // Runs along equal heads without the stack.
            while x.is(y) || same_elements(x, y) {
                if rest_a.is(rest_b) {
                    return Ordering::Equal;
                }
                let (Some(next_a), Some(next_b)) = (rest_a.as_cons(), rest_b.as_cons()) else {
                    self.left.push(Left::Pair(rest_a, rest_b, exact));
                    return Ordering::Equal;
                };
                (x, rest_a) = next_a;
                (y, rest_b) = next_b;
            }
            if x.is_small() && y.is_small() {
                return x.small_value().cmp(&y.small_value());
            }
            self.left.push(Left::Pair(rest_a, rest_b, exact));
            self.left.push(Left::Pair(x, y, exact));
            return Ordering::Equal;
        }
        let (rank_a, rank_b) = (rank(a), rank(b));
        if rank_a != rank_b {
            return rank_a.cmp(&rank_b);
        }
        match rank_a {
            0 => match (Number::of(a), Number::of(b)) {
                (Some(x), Some(y)) if exact => compare_numbers_exact(x, y),
                (Some(x), Some(y)) => compare_numbers(x, y),
                _ => Ordering::Equal,
            },
            1 => match (a.as_atom(), b.as_atom()) {
                (Some(x), Some(y)) => identity::compare_atoms(x, y),
                _ => Ordering::Equal,
            },
            5 => identity::compare_ports(a, b),
            6 => identity::compare_pids(a, b),
            12 => match (a.as_bits(), b.as_bits()) {
                (Some(x), Some(y)) => compare_bits(x, y),
                _ => Ordering::Equal,
            },
            rank => match (a.as_boxed(), b.as_boxed()) {
                (Some(x), Some(y)) => self.boxed(rank, x, y, exact),
                // Markers, which no program sees.
                _ => a.raw().cmp(&b.raw()),
            },
        }
    }

    /// Compares two boxed objects of one rank.
    fn boxed(&mut self, rank: u8, a: Boxed, b: Boxed, exact: bool) -> Ordering {
        match rank {
            2 => identity::compare_refs(a, b),
            3 => self.funs(a, b, exact),
            4 => match (a.term().as_export_fun(), b.term().as_export_fun()) {
                (Some(x), Some(y)) => identity::compare_atoms(x.mfa.module, y.mfa.module)
                    .then_with(|| identity::compare_atoms(x.mfa.function, y.mfa.function))
                    .then(x.mfa.arity.cmp(&y.mfa.arity)),
                _ => Ordering::Equal,
            },
            7 => self.slices(a.slots(), b.slots(), exact),
            // Definitions are canonical; which of two different ones comes first is for the crate that makes them.
            8 => match (a.slots(), b.slots()) {
                ([x, values_a @ ..], [y, values_b @ ..]) if x.is(*y) => self.slices(values_a, values_b, exact),
                _ => a.word(0).cmp(&b.word(0)),
            },
            9 => self.maps(a, b, exact),
            _ => a.ptr().cmp(&b.ptr()),
        }
    }

    /// By length, then element by element.
    fn slices(&mut self, a: &'a [Term], b: &'a [Term], exact: bool) -> Ordering {
        if a.len() == b.len() {
            self.left.push(Left::Terms(a, b, exact));
        }
        a.len().cmp(&b.len())
    }

    /// By module, index, unique value, number of free variables, free variables.
    fn funs(&mut self, a: Boxed, b: Boxed, exact: bool) -> Ordering {
        let (Some((x, _, free_a)), Some((y, _, free_b))) = (a.term().as_local_fun(), b.term().as_local_fun()) else {
            return Ordering::Equal;
        };
        let entries = if std::ptr::eq(x, y) { Ordering::Equal } else { x.id.compare(&y.id) };
        if entries.is_ne() { entries } else { self.slices(free_a, free_b, exact) }
    }

    fn maps(&mut self, a: Boxed, b: Boxed, exact: bool) -> Ordering {
        let sizes = map_size(a).cmp(&map_size(b));
        if sizes.is_ne() {
            return sizes;
        }
        match (a.kind(), b.kind()) {
            (Kind::Map, Kind::Map) => {
                if let ([keys_a, values_a @ ..], [keys_b, values_b @ ..]) = (a.slots(), b.slots()) {
                    self.left.push(Left::Terms(values_a, values_b, exact));
                    self.left.push(Left::Pair(*keys_a, *keys_b, true));
                }
                Ordering::Equal
            }
            (Kind::MapRoot, Kind::MapRoot) => {
                let found = differences(a, b, exact);
                let (candidates, then) = match (found.only_a.is_empty(), found.values.is_empty()) {
                    (false, _) => (found.only_a, Then::Other(found.only_b)),
                    (true, false) => (found.values, Then::Values(exact)),
                    (true, true) => return Ordering::Equal,
                };
                let (a, b, exact) = self.go_on(Search { candidates, best: 0, next: 1, then });
                self.left.push(Left::Pair(a, b, exact));
                Ordering::Equal
            }
            // A size has one form.
            (kind_a, kind_b) => kind_a.bits().cmp(&kind_b.bits()),
        }
    }
}

/// Number of pairs of a map of either form.
fn map_size(map: Boxed) -> usize {
    match map.kind() {
        Kind::Map => map.size() - 1,
        _ => map.slot(0).as_usize().unwrap_or(0),
    }
}

/// Integers before floats, each by value; the zeros differ if the release tells them apart.
fn compare_numbers_exact(a: Number<'_>, b: Number<'_>) -> Ordering {
    match (a, b) {
        (Number::Float(x), Number::Float(y)) if !zeros_equal() => x.total_cmp(&y),
        (Number::Float(_), Number::Small(_) | Number::Big(..)) => Ordering::Greater,
        (Number::Small(_) | Number::Big(..), Number::Float(_)) => Ordering::Less,
        _ => compare_numbers(a, b),
    }
}

/// In what two hash maps of one size differ.
#[derive(Default)]
struct Differences {
    /// Keys that only the first has.
    only_a: Vec<Candidate>,
    /// Keys that only the second has.
    only_b: Vec<Candidate>,
    /// Keys whose values differ.
    values: Vec<Candidate>,
}

/// Walks two hash maps at once: equal keys have equal hashes and so lie on the same path.
fn differences(a: Boxed, b: Boxed, exact: bool) -> Differences {
    let mut found = Differences::default();
    let mut paths: Vec<(Term, Term)> = Vec::new();
    push_children(&mut paths, (a.header().aux(), a.slots().get(1..)), (b.header().aux(), b.slots().get(1..)));
    while let Some((x, y)) = paths.pop() {
        if x.is(y) {
            continue;
        }
        match (x.as_cons(), y.as_cons(), x.as_boxed(), y.as_boxed()) {
            (_, _, Some(x), Some(y)) => {
                push_children(&mut paths, (x.header().aux(), Some(x.slots())), (y.header().aux(), Some(y.slots())));
            }
            (Some((key_a, value_a)), Some((key_b, value_b)), ..) => {
                if !eq_exact(key_a, key_b) {
                    found.only_a.push((key_a, value_a, Term::NONE));
                    found.only_b.push((key_b, Term::NONE, value_b));
                } else if !(if exact { eq_exact(value_a, value_b) } else { eq(value_a, value_b) }) {
                    found.values.push((key_a, value_a, value_b));
                }
            }
            (Some((key, value)), ..) => {
                let mut met = None;
                leaves(y, |k, v| {
                    if met.is_none() && eq_exact(k, key) {
                        met = Some(v);
                    } else {
                        found.only_b.push((k, Term::NONE, v));
                    }
                });
                match met {
                    None => found.only_a.push((key, value, Term::NONE)),
                    Some(other) => found.meet(key, value, other, exact),
                }
            }
            (_, Some((key, value)), ..) => {
                let mut met = None;
                leaves(x, |k, v| {
                    if met.is_none() && eq_exact(k, key) {
                        met = Some(v);
                    } else {
                        found.only_a.push((k, v, Term::NONE));
                    }
                });
                match met {
                    None => found.only_b.push((key, Term::NONE, value)),
                    Some(other) => found.meet(key, other, value, exact),
                }
            }
            _ if y.is_none() => leaves(x, |k, v| found.only_a.push((k, v, Term::NONE))),
            _ => leaves(y, |k, v| found.only_b.push((k, Term::NONE, v))),
        }
    }
    found
}

impl Differences {
    /// Notes a key that both have.
    fn meet(&mut self, key: Term, value_a: Term, value_b: Term, exact: bool) {
        if !(if exact { eq_exact(value_a, value_b) } else { eq(value_a, value_b) }) {
            self.values.push((key, value_a, value_b));
        }
    }
}

/// Pushes the children of two nodes, place by place; NONE where one has nothing.
fn push_children(paths: &mut Vec<(Term, Term)>, a: (u32, Option<&[Term]>), b: (u32, Option<&[Term]>)) {
    let mut children_a = a.1.unwrap_or(&[]).iter();
    let mut children_b = b.1.unwrap_or(&[]).iter();
    for place in 0..16 {
        let x = (a.0 >> place & 1 == 1).then(|| children_a.next()).flatten().copied();
        let y = (b.0 >> place & 1 == 1).then(|| children_b.next()).flatten().copied();
        if x.is_some() || y.is_some() {
            paths.push((x.unwrap_or(Term::NONE), y.unwrap_or(Term::NONE)));
        }
    }
}

/// Calls `each` with every pair below a child.
fn leaves(child: Term, mut each: impl FnMut(Term, Term)) {
    let mut rest = vec![child];
    while let Some(child) = rest.pop() {
        if let Some((key, value)) = child.as_cons() {
            each(key, value);
        } else if let Some(node) = child.as_boxed() {
            rest.extend_from_slice(node.slots());
        }
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
