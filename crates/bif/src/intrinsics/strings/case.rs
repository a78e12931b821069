//! `string:uppercase/1`, `lowercase/1`, `casefold/1` and `titlecase/1`, and the case of characters for comparing.
//!
//! Characters are those whose case is one character and the same in all versions of Unicode: Latin, Greek and Cyrillic letters,
//! and signs and letters of scripts without case; µ, ß and ς beside.

use super::BYTES_AT_ONCE;
use super::text::{Data, List, Next, Text, Utf8, each};
use crate::work::Budget;
use myriad_term::{BinaryBuffer, Build, Term, alloc::cells};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// What becomes of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Capital letters.
    Upper,
    /// Small letters.
    Lower,
    /// What those become that differ in case alone.
    Fold,
}

/// Those of which [`char::to_uppercase`] and [`char::to_lowercase`] give one character, in which folding is the latter.
fn has_plain_case(char: u32) -> bool {
    matches!(char,
        0..=0xb4 | 0xb6..=0xde | 0xe0..=0x12f | 0x131..=0x148 | 0x14a..=0x17e
        | 0x386..=0x38f | 0x391..=0x3af | 0x3b1..=0x3c1 | 0x3c3..=0x3cf | 0x400..=0x52f | 0x5d0..=0x5ea | 0x620..=0x64a
        | 0x2010..=0x205e | 0x20a0..=0x20bf | 0x3001..=0x3096 | 0x30a0..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7a3)
}

/// Marks a character that stands for two of it.
const TWICE: u32 = 1 << 31;

/// Other small letters: as capitals, themselves, and folded.
const SPECIAL: [[u32; 3]; 3] = [[0x39c, 0xb5, 0x3bc], [TWICE | 0x53, 0xdf, TWICE | 0x73], [0x3a3, 0x3c2, 0x3c3]];

impl Case {
    /// What becomes of one; none if that is not known here. With [`TWICE`] it is two of it.
    #[inline(always)]
    fn of(self, char: u32) -> Option<u32> {
        let bit = match (self, char) {
            (Case::Upper, 0x61..=0x7a) | (Case::Lower | Case::Fold, 0x41..=0x5a) => 0x20,
            (_, 0..=0x7f) => 0,
            _ => return self.of_other(char),
        };
        Some(char ^ bit)
    }

    #[cold]
    fn of_other(self, char: u32) -> Option<u32> {
        if !has_plain_case(char) {
            let [upper, lower, fold] = *SPECIAL.iter().find(|[_, lower, _]| *lower == char)?;
            return Some(match self {
                Case::Upper => upper,
                Case::Lower => lower,
                Case::Fold => fold,
            });
        }
        let char = char::from_u32(char)?;
        let cased = if self == Case::Upper { char.to_uppercase().next() } else { char.to_lowercase().next() };
        cased.map(u32::from)
    }

    /// [`Case::of`] of those which become one character.
    #[inline(always)]
    pub fn of_single(self, char: u32) -> Option<u32> {
        self.of(char).filter(|cased| cased & TWICE == 0)
    }
}

/// The text with all characters in that case; itself if that changes nothing.
pub fn convert(ctx: &mut Ctx<'_>, data: Term, case: Case) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let converted = match Data::of(&data)? {
        Data::List(text) => convert_list(ctx, &mut budget, text, case)?,
        Data::Utf8(text) => {
            budget.spend(ctx, text.0.len() / BYTES_AT_ONCE)?;
            if text.0.is_ascii() {
                convert_ascii(ctx, text.0, case)
            } else {
                convert_bytes(ctx, &mut budget, text, case)?
            }
        }
    };
    budget.charge(ctx);
    Ok(converted.unwrap_or(data))
}

/// `string:titlecase/1`: the text with its first character a capital. ß and those that have a title case are declined.
pub fn title(ctx: &mut Ctx<'_>, data: Term) -> BifResult {
    let first = |next: Next| match next {
        Next::Char(char) => Case::Upper.of_single(char).ok_or(Escape::Decline),
        _ => Err(Escape::Decline),
    };
    match Data::of(&data)? {
        Data::List(mut text) => {
            let char = first(text.next())?;
            if !text.0.is_list() {
                return Err(Escape::Decline);
            }
            Ok(ctx.cons(Term::small(char.into()), text.0))
        }
        Data::Utf8(mut text) => {
            let char = first(text.next())?;
            if text.0.len() > SHORT {
                return Err(Escape::Decline);
            }
            let mut titled: Vec<u8> = Vec::with_capacity(SHORT + 4);
            let char = char::from_u32(char).ok_or(Escape::Decline)?;
            titled.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            titled.extend_from_slice(text.0);
            Ok(ctx.binary(&titled))
        }
    }
}

/// How many characters the text will have, if that changes any.
fn measure<T: Text>(ctx: &Ctx<'_>, budget: &mut Budget, mut text: T, case: Case) -> Result<Option<usize>, Escape> {
    let (mut len, mut changes) = (0, false);
    let end = each(ctx, budget, &mut text, |char| match case.of(char) {
        Some(cased) => {
            len += 1 + (cased >> 31) as usize;
            changes |= cased != char;
            true
        }
        None => false,
    })?;
    if end == Next::End { Ok(changes.then_some(len)) } else { Err(Escape::Decline) }
}

/// The characters of a text that has been [measured](measure), in that case.
fn cased<T: Text>(mut text: T, case: Case) -> impl FnMut() -> u32 {
    let mut again = None;
    move || {
        if let Some(char) = again.take() {
            return char;
        }
        let Next::Char(char) = text.next() else { return 0 };
        let cased = case.of(char).unwrap_or(char);
        if cased & TWICE != 0 {
            again = Some(cased & !TWICE);
        }
        cased & !TWICE
    }
}

fn convert_list(ctx: &mut Ctx<'_>, budget: &mut Budget, text: List, case: Case) -> Result<Option<Term>, Escape> {
    let Some(len) = measure(ctx, budget, text, case)? else { return Ok(None) };
    ctx.make_room(2 * len)?;
    let mut chars = cased(text, case);
    Ok(Some(cells(ctx, len, Term::NIL, |_| Term::small(chars().into()))))
}

fn convert_bytes(ctx: &mut Ctx<'_>, budget: &mut Budget, text: Utf8<'_>, case: Case) -> Result<Option<Term>, Escape> {
    let Some(len) = measure(ctx, budget, text, case)? else { return Ok(None) };
    let mut chars = cased(text, case);
    let mut converted = BinaryBuffer::with_capacity(len);
    for char in (0..len).filter_map(|_| char::from_u32(chars())) {
        converted.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(Some(converted.shrunk().into_term(ctx)))
}

/// A binary of which the first character changes is copied up to this size.
const SHORT: usize = 4096;

fn convert_ascii(ctx: &mut Ctx<'_>, bytes: &[u8], case: Case) -> Option<Term> {
    let changes = if case == Case::Upper { u8::is_ascii_lowercase } else { u8::is_ascii_uppercase };
    bytes.iter().any(changes).then(|| {
        let mut cased = BinaryBuffer::from(bytes);
        if case == Case::Upper {
            cased.make_ascii_uppercase()
        } else {
            cased.make_ascii_lowercase()
        };
        cased.shrunk().into_term(ctx)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_plain() {
        for char in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| has_plain_case(u32::from(*c))) {
            assert_eq!((char.to_uppercase().count(), char.to_lowercase().count()), (1, 1), "{char:?}");
        }
        assert_eq!(Case::Upper.of(0xff), Some(0x178));
        assert_eq!(Case::Fold.of(0x3c2), Some(0x3c3));
        assert_eq!(Case::Fold.of(0x130), None);
    }
}
