//! `unicode:characters_to_list/1`, `unicode_util:cp/1` and `gc/1`: the characters of a text, all of them, the first or its cluster.

use super::text::{CR, Data, Next, Text, Utf8, each, ends_before, is_alone};
use crate::guards::sub_binary;
use crate::work::Budget;
use myriad_term::{Build, Term, alloc::cells};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// A flat list of characters is what it is converted to.
pub fn to_list(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let list = match Data::of(&args[0])? {
        Data::List(text) => {
            let mut rest = text;
            if each(ctx, &mut budget, &mut rest, |char| char::from_u32(char).is_some())? != Next::End {
                return Err(Escape::Decline);
            }
            text.0
        }
        Data::Utf8(Utf8(bytes)) => {
            budget.spend(ctx, bytes.len())?;
            let text = std::str::from_utf8(bytes).map_err(|_| Escape::Decline)?;
            let count = text.chars().count();
            ctx.make_room(2 * count)?;
            if count == bytes.len() {
                ctx.byte_list(bytes, Term::NIL)
            } else {
                let mut chars = text.chars();
                cells(ctx, count, Term::NIL, |_| Term::small(chars.next().map_or(0, u32::from).into()))
            }
        }
    };
    budget.charge(ctx);
    Ok(list)
}

/// The first character of a binary and what is behind it.
pub fn first_char(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Data::Utf8(text) = Data::of(&args[0])? else { return Err(Escape::Decline) };
    let mut rest = text;
    match rest.next() {
        Next::Char(char) => Ok(char_and_rest(ctx, args[0], text, char, rest)),
        Next::End => Ok(Term::NIL),
        Next::Other => Err(Escape::Decline),
    }
}

/// `[Char | Rest]` of a binary.
fn char_and_rest(ctx: &mut Ctx<'_>, whole: Term, text: Utf8<'_>, char: u32, rest: Utf8<'_>) -> Term {
    let skipped = text.0.len() - rest.0.len();
    let rest = sub_binary(ctx, whole, 8 * skipped, 8 * rest.0.len());
    ctx.cons(Term::small(char.into()), rest)
}

/// The first cluster and what is behind it, where that is one character. In a list it stands there already.
pub fn first_cluster(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match Data::of(&args[0])? {
        Data::List(text) => first_of(text)?.map_or(Err(Escape::Decline), |_| Ok(args[0])),
        Data::Utf8(text) => {
            let Some((char, rest)) = first_of(text)? else { return Ok(Term::NIL) };
            Ok(char_and_rest(ctx, args[0], text, char, rest))
        }
    }
}

/// The first character, if it is a cluster, and what is behind it; nothing of an empty text.
fn first_of<T: Text>(text: T) -> Result<Option<(u32, T)>, Escape> {
    let mut rest = text;
    match rest.next() {
        Next::Char(char) if char != CR && is_alone(char) => {
            let mut behind = rest;
            if ends_before(char, behind.next())? { Ok(Some((char, rest))) } else { Err(Escape::Decline) }
        }
        Next::End => Ok(None),
        _ => Err(Escape::Decline),
    }
}
