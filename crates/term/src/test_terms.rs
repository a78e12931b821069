//! Terms for tests: random shapes, a map builder, and a reader of the notation that the recorded tables use. They are here, and not in
//! crate `testing`, because unit tests cannot use terms of another build of this crate.

use crate::alloc::Build;
use crate::arena::Arena;
use crate::atom::Atom;
use crate::boxed::{Header, Kind};
use crate::compare::compare_exact;
use crate::etf::{DecodeOptions, decode};
use crate::hash::{map_hash, map_rehash};
use crate::word::{Term, TermRef};
use dashu_int::IBig;
use proptest::prelude::*;

/// `n`, or as few as miri, which is thousands of times slower, gets through in seconds.
pub(crate) const fn many(n: usize) -> usize {
    if cfg!(miri) && n > FEW { FEW } else { n }
}
const FEW: usize = 100;

/// The rows of a table recorded from OTP; under miri some of them.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = &str> {
    let rows: Vec<&str> = table.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    assert!(rows.len() > 10);
    rows.into_iter().step_by(if cfg!(miri) { 40 } else { 1 })
}

/// How many cases a property is tried with.
pub(crate) const fn cases(n: u32) -> u32 {
    if cfg!(miri) { 2 } else { n }
}

/// What to build.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Int(String),
    Float(f64),
    Atom(String),
    Tuple(Vec<Shape>),
    List(Vec<Shape>),
    Cons(Box<Shape>, Box<Shape>),
    Map(Vec<(Shape, Shape)>),
    Bits(Vec<u8>, usize),
    /// A pid, port, reference or fun, local or of another node, as the external format has it.
    Identity(Vec<u8>),
}

/// The external form of one of the terms that stand for something: its kind, its node, two numbers.
fn identity(kind: u8, node: &str, creation: u8, a: u8, b: u8) -> Vec<u8> {
    let atom = |text: &str| [&[119, text.len() as u8], text.as_bytes()].concat();
    let word = |n: u8| u32::from(n).to_be_bytes();
    // Ports of this node have 28 bits.
    let high = if node == "nonode@nohost" { 0 } else { b };
    let node = atom(node);
    match kind {
        0 => [&[131, 88][..], &node[..], &word(a), &word(b), &word(creation)].concat(),
        1 => [&[131, 120][..], &node[..], &word(high), &word(a), &word(creation)].concat(),
        2 => [&[131, 90, 0, 3][..], &node[..], &word(creation), &word(a), &word(b), &word(a)].concat(),
        3 => [&[131, 113][..], &atom("m")[..], &atom(["f", "g"][usize::from(a % 2)]), &[97, b]].concat(),
        _ => {
            let pid = [&[88][..], &node[..], &word(1), &word(0), &word(creation)].concat();
            let numbers = [&[a % 2, 0][..], &[7; 15], &word(b), &word(1)].concat();
            let rest = [&numbers[..], &atom("m"), &[97, b, 98, 0, 0, 0, 9], &pid, &[97, a]].concat();
            [&[131, 112][..], &(rest.len() as u32 + 4).to_be_bytes(), &rest[..]].concat()
        }
    }
}

/// Shapes that often nearly equal each other.
pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let int = prop_oneof![
        (-3i128..4).prop_map(|i| i.to_string()),
        any::<i64>().prop_map(|i| i.to_string()),
        any::<i128>().prop_map(|i| i.to_string()),
        (50u32..80, -1i128..2).prop_map(|(s, d)| ((1i128 << s) + d).to_string()),
    ];
    let float = prop_oneof![
        (-3i32..4).prop_map(f64::from),
        (50u32..80).prop_map(|s| (1u128 << s) as f64),
        any::<f64>().prop_filter("finite", |f| f.is_finite()),
    ];
    let leaf = prop_oneof![
        3 => int.prop_map(Shape::Int),
        2 => float.prop_map(Shape::Float),
        2 => "[ab]{0,2}".prop_map(Shape::Atom),
        1 => (proptest::collection::vec(0u8..2, 0..4), 0usize..8)
            .prop_map(|(b, cut)| { let bits = (b.len() * 8).saturating_sub(cut); Shape::Bits(b, bits) }),
    ];
    let identity = (0u8..5, prop_oneof![Just("nonode@nohost"), Just("a@b"), Just("b@a")], 0u8..2, 0u8..3, 0u8..3)
        .prop_map(|(kind, node, creation, a, b)| Shape::Identity(identity(kind, node, creation, a, b)));
    let leaf = prop_oneof![8 => leaf, 1 => identity].boxed();
    let many = proptest::collection::vec((leaf.clone(), leaf.clone()), 30..40).prop_map(Shape::Map);
    let leaf = prop_oneof![12 => leaf, 1 => many];
    leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Shape::Tuple),
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Shape::List),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Shape::Cons(a.into(), b.into())),
            proptest::collection::vec((inner.clone(), inner), 0..4).prop_map(Shape::Map),
        ]
    })
}

/// Makes the term.
pub(crate) fn build<'h>(h: &mut &'h Arena, shape: &Shape) -> TermRef<'h> {
    match shape {
        Shape::Int(text) => {
            let value: IBig = text.parse().unwrap();
            let (sign, words) = value.as_sign_words();
            h.big(sign == dashu_int::Sign::Negative, words)
        }
        Shape::Float(f) => h.float(*f),
        Shape::Atom(text) => Atom::new(text).unwrap().term(),
        Shape::Tuple(elements) => {
            let elements: Vec<TermRef<'_>> = elements.iter().map(|e| build(h, e)).collect();
            h.tuple(&elements)
        }
        Shape::List(elements) => {
            let elements: Vec<TermRef<'_>> = elements.iter().map(|e| build(h, e)).collect();
            h.list(&elements)
        }
        Shape::Cons(head, tail) => {
            let (head, tail) = (build(h, head), build(h, tail));
            h.cons(head, tail)
        }
        Shape::Map(pairs) => {
            let pairs: Vec<(TermRef<'_>, TermRef<'_>)> =
                pairs.iter().map(|(k, v)| (build(h, k), build(h, v))).collect();
            map(h, &pairs)
        }
        Shape::Bits(bytes, bits) => bit_string(h, bytes, *bits),
        Shape::Identity(bytes) => decode(h, bytes, DecodeOptions::default()).expect("an identity").term,
    }
}

/// A bit string, part of a longer one at an offset that depends on its bytes.
pub(crate) fn bit_string<'h>(h: &mut &'h Arena, bytes: &[u8], bits: usize) -> TermRef<'h> {
    let offset = bytes.iter().map(|b| usize::from(*b)).sum::<usize>() % 9;
    if offset == 8 {
        return h.bitstring(bytes, bits);
    }
    let mut wide = vec![0x55u8; bytes.len() + 2];
    for i in 0..bits {
        let bit = bytes[i / 8] >> (7 - i % 8) & 1;
        let at = i + offset;
        wide[at / 8] = wide[at / 8] & !(0x80 >> (at % 8)) | bit << (7 - at % 8);
    }
    let whole = h.binary(&wide);
    h.sub_binary(whole, offset, bits)
}

/// A map of either form; of equal keys the last counts.
pub(crate) fn map<'h>(h: &mut &'h Arena, pairs: &[(TermRef<'h>, TermRef<'h>)]) -> TermRef<'h> {
    let mut sorted: Vec<(TermRef<'_>, TermRef<'_>)> = Vec::new();
    for (key, value) in pairs {
        match sorted.binary_search_by(|(k, _)| compare_exact(*k, *key)) {
            Ok(i) => sorted[i].1 = *value,
            Err(i) => sorted.insert(i, (*key, *value)),
        }
    }
    if sorted.len() > 32 {
        return hash_map(h, &sorted);
    }
    let keys: Vec<TermRef<'_>> = sorted.iter().map(|p| p.0).collect();
    let mut slots = vec![h.tuple(&keys)];
    slots.extend(sorted.iter().map(|p| p.1));
    h.boxed(Header::new(Kind::Map, slots.len()), &slots)
}

/// A hash map of pairs with different keys.
pub(crate) fn hash_map<'h>(h: &mut &'h Arena, pairs: &[(TermRef<'h>, TermRef<'h>)]) -> TermRef<'h> {
    let (bitmap, children) = nodes(h, pairs, 0);
    let mut slots = vec![Term::small(pairs.len() as i64)];
    slots.extend(children);
    h.boxed(Header::new(Kind::MapRoot, slots.len()).with_aux(bitmap), &slots)
}

fn nodes<'h>(h: &mut &'h Arena, pairs: &[(TermRef<'h>, TermRef<'h>)], level: u32) -> (u32, Vec<TermRef<'h>>) {
    let place = |key| {
        let hash = if level < 8 { map_hash(key) } else { map_rehash(key, level & !7) };
        hash >> (4 * (level & 7)) & 15
    };
    let (mut bitmap, mut children) = (0, Vec::new());
    let places: Vec<u32> = pairs.iter().map(|p| place(p.0)).collect();
    for slot in 0..16 {
        let here: Vec<(TermRef<'_>, TermRef<'_>)> =
            pairs.iter().zip(&places).filter(|p| *p.1 == slot).map(|p| *p.0).collect();
        let child = match here[..] {
            [] => continue,
            [(key, value)] => h.cons(key, value),
            _ => {
                let (bitmap, slots) = nodes(h, &here, level + 1);
                h.boxed(Header::new(Kind::MapNode, slots.len()).with_aux(bitmap), &slots)
            }
        };
        bitmap |= 1 << slot;
        children.push(child);
    }
    (bitmap, children)
}

/// Reads a term: `i` decimal, `f` bits in hex, `a` text in hex, `n` nil, `c` head tail, `t` arity elements, `m` size pairs,
/// `b` bit size `:` bytes in hex; parts are separated by blanks.
pub(crate) fn read<'h, 'a>(h: &mut &'h Arena, tokens: &mut impl Iterator<Item = &'a str>) -> TermRef<'h> {
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
    };
    let token = tokens.next().unwrap();
    let (kind, rest) = token.split_at(1);
    match kind {
        "i" => build(h, &Shape::Int(rest.into())),
        "f" => h.float(f64::from_bits(u64::from_str_radix(rest, 16).unwrap())),
        "a" => Atom::new(&String::from_utf8(hex(rest)).unwrap()).unwrap().term(),
        "n" => Term::NIL,
        "c" => {
            let (head, tail) = (read(h, tokens), read(h, tokens));
            h.cons(head, tail)
        }
        "t" => {
            let elements: Vec<TermRef<'_>> = (0..rest.parse().unwrap()).map(|_| read(h, tokens)).collect();
            h.tuple(&elements)
        }
        "m" => {
            let pairs: Vec<(TermRef<'_>, TermRef<'_>)> =
                (0..rest.parse().unwrap()).map(|_| (read(h, tokens), read(h, tokens))).collect();
            map(h, &pairs)
        }
        "b" => {
            let (bits, bytes) = rest.split_once(':').unwrap();
            bit_string(h, &hex(bytes), bits.parse().unwrap())
        }
        _ => panic!("{token}"),
    }
}

/// Recorded lines: the values before ` | `, and the term after it.
pub(crate) fn recorded(table: &str, mut check: impl FnMut(&[&str], TermRef<'_>)) {
    for line in rows(table) {
        let (values, term) = line.split_once(" | ").unwrap();
        let h = &mut &Arena::new();
        let mut tokens = term.split(' ');
        let term = read(h, &mut tokens);
        assert_eq!(tokens.next(), None);
        check(&values.split(' ').collect::<Vec<_>>(), term);
    }
}
