//! Mutations of external terms: parts are replaced by parts, so that most results are terms again.

use crate::mutate::{LONGEST, change, insert};
use flate2::{Compress, Compression, FlushCompress};
use myriad_term::etf::{VERSION, tag};
use myriad_testing::Random;
use std::ops::Range;

/// Terms that stand for their kind, at its edges. Without the version byte.
const LEAVES: [&[u8]; 30] = [
    &[tag::NIL],
    &[tag::SMALL_INTEGER, 0],
    &[tag::SMALL_INTEGER, 255],
    &[tag::INTEGER, 255, 255, 255, 255],
    &[tag::INTEGER, 0x80, 0, 0, 0],
    &[tag::INTEGER, 0x7f, 255, 255, 255],
    &[tag::SMALL_BIG, 8, 0, 255, 255, 255, 255, 255, 255, 255, 15],
    &[tag::SMALL_BIG, 8, 1, 0, 0, 0, 0, 0, 0, 0, 16],
    &[tag::SMALL_BIG, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    &[tag::SMALL_BIG, 4, 1, 0, 0, 0, 0],
    &[tag::LARGE_BIG, 0, 0, 0, 3, 0, 1, 2, 3],
    &[tag::NEW_FLOAT, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0],
    &[tag::NEW_FLOAT, 0x80, 0, 0, 0, 0, 0, 0, 0],
    &[tag::NEW_FLOAT, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0],
    &[tag::NEW_FLOAT, 0x7f, 0xef, 255, 255, 255, 255, 255, 255],
    &[tag::SMALL_ATOM_UTF8, 1, b'a'],
    &[tag::SMALL_ATOM_UTF8, 4, b't', b'r', b'u', b'e'],
    &[tag::ATOM, 0, 2, b'o', b'k'],
    &[tag::SMALL_ATOM_UTF8, 0],
    &[tag::SMALL_ATOM_UTF8, 1, b'_'],
    &[tag::SMALL_ATOM_UTF8, 2, b'$', b'1'],
    &[tag::SMALL_ATOM_UTF8, 2, b'$', b'_'],
    &[tag::SMALL_TUPLE, 0],
    &[tag::MAP, 0, 0, 0, 0],
    &[tag::BINARY, 0, 0, 0, 0],
    &[tag::BINARY, 0, 0, 0, 3, b'1', b'.', b'5'],
    &[tag::BIT_BINARY, 0, 0, 0, 2, 3, 0xaa, 0xe0],
    &[tag::STRING, 0, 3, b'1', b'2', b'3'],
    &[tag::LIST, 0, 0, 0, 1, tag::NIL, tag::SMALL_INTEGER, 1],
    &[tag::EXPORT, 119, 1, b'm', 119, 1, b'f', 97, 2],
];

/// One of the seeds with one to six changes, most of which put a term where a term was.
pub fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random.pick(seeds).cloned().unwrap_or_else(|| vec![VERSION, tag::NIL]);
    for _ in 0..1 + random.below(6) {
        if random.once_in(6) {
            change(random, &mut input, seeds);
        } else {
            replace(random, &mut input, seeds);
        }
    }
    if random.once_in(20) { compressed(random, &input) } else { input }
}

/// Puts another term in the place of one.
fn replace(random: &mut Random, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let places = spans(input);
    let Some(place) = random.pick(&places).cloned() else { return change(random, input, seeds) };
    let old = input[place.clone()].to_vec();
    let new = match random.below(8) {
        0..=2 => LEAVES[random.below(LEAVES.len())].to_vec(),
        3 => random.pick(&places).map(|other| input[other.clone()].to_vec()).unwrap_or_default(),
        4 | 5 => {
            let Some(other) = random.pick(seeds) else { return };
            random.pick(&spans(other)).map(|part| other[part.clone()].to_vec()).unwrap_or_default()
        }
        6 => nested(random, &old),
        _ => repeated(random, &old),
    };
    if new.len() <= LONGEST {
        drop(input.drain(place.clone()));
        insert(input, place.start, &new);
    }
}

/// The term within others, now and then very many of them.
fn nested(random: &mut Random, term: &[u8]) -> Vec<u8> {
    let depth = if random.once_in(50) { 1 + random.below(20_000) } else { 1 + random.below(3) };
    let kind = random.below(4);
    let (head, tail): (&[u8], &[u8]) = match kind {
        0 => (&[tag::SMALL_TUPLE, 1], &[]),
        1 => (&[tag::LIST, 0, 0, 0, 1], &[tag::NIL]),
        2 => (&[tag::MAP, 0, 0, 0, 1, tag::SMALL_INTEGER, 1], &[]),
        _ => (&[tag::LIST, 0, 0, 0, 1, tag::SMALL_INTEGER, 7], &[]),
    };
    let mut all = head.repeat(depth);
    all.extend(term);
    all.extend(tail.repeat(depth));
    all
}

/// The term several times over, in a list, a tuple or a map.
fn repeated(random: &mut Random, term: &[u8]) -> Vec<u8> {
    let many = (1 + random.below(60)).min(1 + 100_000 / term.len().max(1)) as u32;
    let mut all = match random.below(3) {
        0 => vec![tag::LIST],
        1 => vec![tag::LARGE_TUPLE],
        _ => vec![tag::MAP],
    };
    all.extend(many.to_be_bytes());
    for i in 0..many {
        if all[0] == tag::MAP {
            // Mostly different keys: the same key twice is no map.
            all.extend([tag::SMALL_INTEGER, if random.once_in(200) { 0 } else { i as u8 }]);
        }
        all.extend(term);
    }
    if all[0] == tag::LIST {
        all.push(tag::NIL);
    }
    all
}

/// The same term compressed; now and then with a size that is wrong.
fn compressed(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let term = input.get(1..).unwrap_or_default();
    let mut stream = Compress::new(Compression::new(random.below(10) as u32), true);
    let mut packed = Vec::with_capacity(term.len() + 64 + term.len() / 8);
    let _ = stream.compress_vec(term, &mut packed, FlushCompress::Finish);
    let size = term.len() as u32;
    let size = if random.once_in(5) { size.wrapping_add(random.bits() as u32 % 5).wrapping_sub(2) } else { size };
    let mut all = vec![VERSION, tag::COMPRESSED];
    all.extend(size.to_be_bytes());
    all.extend(packed);
    all
}

/// Where the terms within an external term lie, as far as it is one.
pub fn spans(input: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Terms that are not complete: where each starts, and how many terms it still waits for.
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut at = 1;
    while let Some((size, parts)) = head(input.get(at..).unwrap_or_default()) {
        if size > input.len() - at {
            break;
        }
        open.push((at, parts));
        at += size;
        while let Some((start, 0)) = open.last().copied() {
            open.pop();
            found.push(start..at);
            match open.last_mut() {
                Some((_, parts)) => *parts -= 1,
                None => return found,
            }
        }
    }
    found
}

/// How many bytes the head of a term takes, and how many terms follow in it.
fn head(bytes: &[u8]) -> Option<(usize, u64)> {
    let number = |from: usize, len: usize| -> Option<u64> {
        Some(bytes.get(from..from + len)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    };
    let with = |head: usize, len: usize| Some((head + usize::try_from(number(1, len)?).ok()?, 0));
    match *bytes.first()? {
        tag::NIL => Some((1, 0)),
        tag::SMALL_INTEGER => Some((2, 0)),
        tag::INTEGER => Some((5, 0)),
        tag::NEW_FLOAT => Some((9, 0)),
        tag::FLOAT => Some((32, 0)),
        tag::SMALL_ATOM | tag::SMALL_ATOM_UTF8 => with(2, 1),
        tag::ATOM | tag::ATOM_UTF8 | tag::STRING => with(3, 2),
        tag::BINARY => with(5, 4),
        tag::BIT_BINARY => with(6, 4),
        tag::SMALL_BIG => with(3, 1),
        tag::LARGE_BIG => with(6, 4),
        tag::SMALL_TUPLE => Some((2, number(1, 1)?)),
        tag::LARGE_TUPLE => Some((5, number(1, 4)?)),
        tag::LIST => Some((5, number(1, 4)? + 1)),
        tag::MAP => Some((5, number(1, 4)? * 2)),
        tag::EXPORT => Some((1, 3)),
        // What else there is starts with terms and goes on with numbers: taken whole or not at all.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        // [{1, a} | 2]
        let term = [131, 108, 0, 0, 0, 1, 104, 2, 97, 1, 119, 1, 97, 97, 2];
        assert_eq!(spans(&term), [8..10, 10..13, 6..13, 13..15, 1..15]);
        assert_eq!(spans(&term[..12]).first(), Some(&(8..10)));
        assert_eq!(spans(&[131, 105, 255, 255, 255, 255, 106]).first(), Some(&(6..7)));
        assert!(spans(&[]).is_empty());
    }

    #[test]
    fn most_results_are_terms() {
        let seeds = vec![vec![131, 108, 0, 0, 0, 1, 104, 2, 97, 1, 119, 1, 97, 97, 2]];
        let mut random = Random::new(1);
        let good = (0..1000)
            .filter(|_| {
                let input = mutate(&mut random, &seeds);
                let heap = &mut &myriad_term::Arena::new();
                myriad_term::etf::decode(heap, &input, myriad_term::etf::DecodeOptions::default()).is_ok()
            })
            .count();
        assert!((300..990).contains(&good), "{good} of 1000 decode");
    }
}
