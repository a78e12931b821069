//! The mixing function under OTP's hashes: Bob Jenkins's of 1996 ("Hash functions", Dr. Dobb's Journal, 1997).

use crate::atom::Atom;
use crate::binary::Bits;
use crate::word::TermRef;

/// The golden ratio's fraction, 32 bits; OTP marks each type with a multiple of it.
const GOLDEN: u32 = 0x9e37_79b9;

/// The mark of number `n`: `n` times the golden ratio.
pub(crate) const fn mark(n: u32) -> u32 {
    GOLDEN.wrapping_mul(n)
}

/// Mixes three words, of which the last is the hash.
#[inline(always)]
fn mix(mut a: u32, mut b: u32, mut c: u32) -> [u32; 3] {
    macro_rules! round {
        ($x:ident, $y:ident, $z:ident, $shift:expr) => {
            $x = $x.wrapping_sub($y).wrapping_sub($z) ^ $shift;
        };
    }
    round!(a, b, c, c >> 13);
    round!(b, c, a, a << 8);
    round!(c, a, b, b >> 13);
    round!(a, b, c, c >> 12);
    round!(b, c, a, a << 16);
    round!(c, a, b, b >> 5);
    round!(a, b, c, c >> 3);
    round!(b, c, a, a << 10);
    round!(c, a, b, b >> 15);
    [a, b, c]
}

/// The hash after two words of a type's mark.
#[inline(always)]
pub(crate) fn step2(hash: u32, x: u32, y: u32, mark: u32) -> u32 {
    mix(mark.wrapping_add(x), mark.wrapping_add(y), hash)[2]
}

/// The hash after one word of a type's mark.
#[inline(always)]
pub(crate) fn step(hash: u32, x: u32, mark: u32) -> u32 {
    step2(hash, x, 0, mark)
}

/// The hash after both halves of a word.
#[inline(always)]
pub(crate) fn step64(hash: u32, x: u64, mark: u32) -> u32 {
    step2(hash, x as u32, (x >> 32) as u32, mark)
}

/// The hash after the limbs of a big integer.
pub(crate) fn limbs(hash: u32, negative: bool, limbs: &[u64]) -> u32 {
    let mark = if negative { mark(10) } else { mark(11) };
    limbs.iter().fold(hash, |hash, limb| step64(hash, *limb, mark))
}

/// The hash of bytes, from an initial value.
fn bytes(mut next: impl FnMut(usize) -> u8, len: usize, initial: u32) -> u32 {
    let (mut a, mut b, mut c) = (GOLDEN, GOLDEN, initial);
    let mut word = |at: usize, have: usize| {
        (0..4).fold(0, |w, i| if i < have { w | u32::from(next(at + i)) << (8 * i) } else { w })
    };
    let mut at = 0;
    while len - at >= 12 {
        a = a.wrapping_add(word(at, 4));
        b = b.wrapping_add(word(at + 4, 4));
        c = c.wrapping_add(word(at + 8, 4));
        [a, b, c] = mix(a, b, c);
        at += 12;
    }
    let rest = len - at;
    a = a.wrapping_add(word(at, rest.min(4)));
    b = b.wrapping_add(word(at + 4, rest.saturating_sub(4).min(4)));
    // The lowest byte of the last word is the length's.
    c = c.wrapping_add(word(at + 8, rest.saturating_sub(8)) << 8).wrapping_add(len as u32);
    mix(a, b, c)[2]
}

/// As [`bytes`], of bytes that lie in a row.
#[inline]
fn aligned(slice: &[u8], initial: u32) -> u32 {
    let (mut a, mut b, mut c) = (GOLDEN, GOLDEN, initial);
    let (blocks, rest) = slice.as_chunks::<12>();
    let word = |b: &[u8; 12], at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
    for block in blocks {
        [a, b, c] = mix(a.wrapping_add(word(block, 0)), b.wrapping_add(word(block, 4)), c.wrapping_add(word(block, 8)));
    }
    let (first, rest) = rest.split_at(rest.len().min(4));
    let (second, third) = rest.split_at(rest.len().min(4));
    // The lowest byte of the last word is the length's.
    let length = (slice.len() as u32).wrapping_add(few(third) << 8);
    mix(a.wrapping_add(few(first)), b.wrapping_add(few(second)), c.wrapping_add(length))[2]
}

/// Up to four bytes as a word, the first one lowest.
#[inline(always)]
fn few(bytes: &[u8]) -> u32 {
    if let Some(word) = bytes.first_chunk::<4>() {
        return u32::from_le_bytes(*word);
    }
    // Of one, two or three bytes, the first, the middle and the last one are all.
    let (middle, last) = (bytes.len() / 2, bytes.len().wrapping_sub(1));
    match bytes.first() {
        Some(first) => {
            u32::from(*first) | u32::from(bytes[middle]) << (8 * middle) | u32::from(bytes[last]) << (8 * last)
        }
        None => 0,
    }
}

/// The hash after a bit string, if the term is one.
#[inline]
pub(crate) fn bit_string<'h>(hash: u32, term: TermRef<'h>) -> Option<u32> {
    match term.as_aligned_bytes() {
        Some(bytes) => Some(binary(hash, bytes)),
        None => term.held_bits().map(|run| bits(hash, run)),
    }
}

/// The hash after a binary at a byte border.
#[inline]
pub(crate) fn binary(hash: u32, bytes: &[u8]) -> u32 {
    let initial = mark(13).wrapping_add(hash);
    if bytes.is_empty() { initial } else { aligned(bytes, initial) }
}

/// [`binary`], of any run of bits.
#[inline(never)]
fn bits(hash: u32, bits: Bits<'_>) -> u32 {
    let initial = mark(13).wrapping_add(hash);
    if bits.is_empty() {
        return initial;
    }
    let whole = bits.len() / 8;
    let hash = if bits.offset() == 0 {
        aligned(&bits.covering_bytes()[..whole], initial)
    } else {
        bytes(|i| bits.byte(i), whole, initial)
    };
    match (bits.len() % 8) as u32 {
        0 => hash,
        rest => step2(hash, rest, u32::from(bits.byte(whole) >> (8 - rest)), mark(15)),
    }
}

/// The hash of an atom's text.
#[inline]
pub(crate) fn atom(atom: Atom) -> u32 {
    atom.text_hash()
}
