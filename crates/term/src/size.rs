//! The sizes that `erts_debug:flat_size/1` and `erts_debug:size/1` report: those of OTP 25's representation.
//!
//! Programs and OTP's own tests know these figures. What a term takes here is [`crate::copy::size`].

use crate::boxed::{Boxed, Kind};
use crate::stack::Stack;
use crate::visited::Visited;
use crate::word::{Tag, TermRef};

/// The small integers of OTP 25.
const OTP_SMALL: std::ops::Range<i64> = -(1 << 59)..1 << 59;
const SUB_BINARY: usize = 5;
const SHARED_BINARY: usize = 6;

/// Words of the term, a part that is reached twice counted twice.
pub fn flat_size<'h>(term: TermRef<'h>) -> usize {
    walk(term, |_| true)
}

/// Words of the term, each part counted once ([`Visited`]). (Floats and large integers of 61 bits have no identity here, so
/// they count wherever they stand.) Literals, told by the predicate, do not count.
pub fn size_shared<'h>(term: TermRef<'h>, is_literal: impl Fn(*const u64) -> bool) -> usize {
    let mut visited = Visited::new();
    walk(term, |object| !is_literal(object) && visited.is_first(object))
}

/// Adds up the parts that `first_time` says count.
fn walk<'h>(term: TermRef<'h>, mut first_time: impl FnMut(*const u64) -> bool) -> usize {
    let mut left: Stack<(*const TermRef<'h>, usize), 32> = Stack::new();
    let mut words = 0usize;
    let mut term = term;
    loop {
        // A list's tail, or the last slot of an object, is followed at once.
        let next = match term.tag() {
            Tag::Small => {
                words += if OTP_SMALL.contains(&term.small_value()) { 0 } else { 2 };
                None
            }
            Tag::Float => {
                words += 2;
                None
            }
            Tag::List if first_time(term.object_ptr()) => {
                words += 2;
                term.as_cons().map(|(head, tail)| {
                    if !head.is_immediate() || head.is_small() || head.is_float() {
                        left.push((term.cell().cast_const(), 1));
                    }
                    tail
                })
            }
            Tag::Boxed => match term.held_boxed().filter(|b| first_time(b.ptr())) {
                Some(object) => {
                    words += own_words(term, object);
                    match parts(object) {
                        [] => None,
                        [first, rest @ ..] => {
                            if !rest.is_empty() {
                                left.push((rest.as_ptr(), rest.len()));
                            }
                            Some(*first)
                        }
                    }
                }
                None => None,
            },
            _ => None,
        };
        term = match next {
            Some(next) => next,
            None => {
                let Some((at, count)) = left.pop() else { return words };
                if count > 1 {
                    left.push((at.wrapping_add(1), count - 1));
                }
                // SAFETY: one of the slots of an object of the term, which stays (term/T2); `count` counts them.
                unsafe { *at }
            }
        };
    }
}

/// The terms inside an object that are counted on their own.
fn parts<'h>(object: Boxed<'h, 'h>) -> &'h [TermRef<'h>] {
    match object.kind() {
        Kind::Tuple | Kind::Map | Kind::MapNode => object.slots(),
        Kind::MapRoot | Kind::Fun | Kind::Record => object.slots().get(1..).unwrap_or(&[]),
        _ => &[],
    }
}

/// Words of the object itself.
fn own_words<'h>(term: TermRef<'h>, object: Boxed<'h, 'h>) -> usize {
    let size = object.size();
    match object.kind() {
        // There is one empty tuple, outside all heaps.
        Kind::Tuple if size == 0 => 0,
        Kind::Map => size + 2,
        Kind::Fun => size + 3,
        Kind::ExportFun => 5,
        Kind::HeapBinary | Kind::SharedBinary | Kind::SubBinary => binary_words(term, object),
        Kind::MatchContext => 0,
        Kind::Ref | Kind::MagicRef => 3,
        Kind::AliasRef => 4,
        Kind::ExternalPid | Kind::ExternalPort => 4,
        Kind::ExternalRef => 4 + object.header().aux() as usize / 2,
        _ => size + 1,
    }
}

fn binary_words<'h>(term: TermRef<'h>, object: Boxed<'h, 'h>) -> usize {
    let Some((whole, offset, bits)) = term.binary_parts() else { return 0 };
    let odd = offset % 8 + bits % 8;
    let sub = if odd > 0 { SUB_BINARY } else { 0 };
    let shared = whole.boxed_kind() == Some(Kind::SharedBinary);
    // Here a short part of a shared binary may be a sub binary where OTP makes a heap binary.
    let small_part = odd == 0 && object.kind() == Kind::SubBinary && bits <= 8 * crate::binary::HEAP_BINARY_LIMIT;
    if shared && !small_part {
        return sub + SHARED_BINARY;
    }
    sub + 2 + (bits / 8 + odd.div_ceil(8)).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::Build;
    use crate::arena::Arena;
    use crate::etf::{DecodeOptions, decode};
    use crate::word::Term;

    fn check(text: &str, size_column: usize) {
        for row in text.lines().filter(|l| !l.starts_with('#')) {
            let columns: Vec<&str> = row.split(' ').collect();
            let bytes: Vec<u8> = (0..columns[0].len() / 2)
                .map(|i| u8::from_str_radix(&columns[0][2 * i..2 * i + 2], 16).expect("hex"))
                .collect();
            let mut heap = &Arena::new();
            let term = decode(&mut heap, &bytes, DecodeOptions::default()).expect("a term").term;
            assert_eq!(flat_size(term).to_string(), columns[size_column], "{term:?}");
        }
    }

    #[test]
    fn flat_sizes_are_those_of_otp() {
        check(include_str!("../testdata/terms.txt"), 5);
        check(include_str!("../testdata/foreign.txt"), 3);
    }

    /// Figures of OTP 25's erts_debug:flat_size/1 and size/1.
    #[test]
    fn sub_binaries_and_sharing() {
        let mut heap = &Arena::new();
        let whole = heap.binary(&[7; 100]);
        let bits = heap.sub_binary(whole, 3, 50);
        let part = heap.sub_binary(whole, 8, 80);
        assert_eq!([whole, bits, part].map(flat_size), [6, 11, 4]);
        let two = heap.tuple(&[part, part]);
        assert_eq!((flat_size(two), size_shared(two, |_| false)), (11, 7));
        let mut deep = Term::NIL;
        let depth = crate::test_terms::many(1_000_000);
        for _ in 0..depth {
            deep = heap.tuple(&[deep, Term::NIL]);
        }
        assert_eq!(flat_size(deep), 3 * depth);
    }
}
