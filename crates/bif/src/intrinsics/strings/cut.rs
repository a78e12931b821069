//! `string:length/1`, `reverse/1`, `slice/2,3`, `pad/2,3,4` and `trim/1,2,3`.

use super::BYTES_AT_ONCE;
use super::separators::Separators;
use super::text::{CR, Data, LF, List, Next, Text, Utf8, each, ends_before, is_alone, joins, with_text};
use crate::intrinsics::budget::PIECE;
use crate::work::Budget;
use myriad_term::{Build, Term, TermRef, alloc::cells, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// How many clusters there are.
pub fn length(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_text!(args[0], text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let count = clusters(ctx, &mut budget, text)?;
        budget.charge(ctx);
        Ok(ctx.uint(count as u64))
    })
}

fn clusters<T: Text>(ctx: &Ctx<'_>, budget: &mut Budget, mut text: T) -> Result<usize, Escape> {
    let (mut count, mut last) = (0, 0);
    let end = each(ctx, budget, &mut text, |char| {
        count += usize::from(!joins(last, char));
        last = char;
        is_alone(char)
    })?;
    if end == Next::End { Ok(count) } else { Err(Escape::Decline) }
}

/// The clusters, last first. CR LF is declined.
pub fn reverse(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    with_text!(args[0], text => reversed(ctx, text))
}

fn reversed<T: Text>(ctx: &mut Ctx<'_>, text: T) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut count, mut last, mut rest) = (0, 0, text);
    let end = each(ctx, &mut budget, &mut rest, |char| {
        count += 1;
        let whole = is_alone(char) && !joins(last, char);
        last = char;
        whole
    })?;
    if end != Next::End {
        return Err(Escape::Decline);
    }
    ctx.make_room(2 * count)?;
    let (mut list, mut rest) = (Term::NIL, text);
    while let Next::Char(char) = rest.next() {
        list = ctx.cons(Term::small(char.into()), list);
    }
    budget.charge(ctx);
    Ok(list)
}

/// Where a text is filled up, or cut.
#[derive(Clone, Copy)]
pub enum Side {
    /// Before it.
    Leading,
    /// Behind it.
    Trailing,
    /// On both sides.
    Both,
}

impl Side {
    /// The one that is named.
    pub fn of(name: Term) -> Result<Side, Escape> {
        match name.as_atom() {
            Some(am::leading) => Ok(Side::Leading),
            Some(am::trailing) => Ok(Side::Trailing),
            Some(am::both) => Ok(Side::Both),
            _ => Err(Escape::Decline),
        }
    }
}

/// The widest field that a text is filled up to.
const WIDEST: i64 = 4096;

/// The text with as many `char` around it as it needs to have `width` clusters.
pub fn pad(ctx: &mut Ctx<'_>, data: Term, width: Term, side: Side, char: Term) -> BifResult {
    let width = width.as_small().filter(|width| *width <= WIDEST).ok_or(Escape::Decline)?;
    let mut budget = Budget::of_intrinsic(ctx);
    let count = with_text!(data, text => clusters(ctx, &mut budget, text)?);
    let size = usize::try_from(width).map_or(0, |width| width.saturating_sub(count));
    budget.charge(ctx);
    let filled = |ctx: &mut Ctx<'_>, size, tail| cells(ctx, size, tail, |_| char);
    Ok(match side {
        Side::Leading => {
            let before = filled(ctx, size, Term::NIL);
            ctx.list(&[before, data])
        }
        Side::Trailing => {
            let behind = filled(ctx, size, Term::NIL);
            ctx.cons(data, behind)
        }
        Side::Both => {
            let half = filled(ctx, size / 2, Term::NIL);
            let odd = filled(ctx, size % 2, Term::NIL);
            ctx.list_onto(&[half, data, half], odd)
        }
    })
}

/// How far a text was stepped over.
struct Skipped<T> {
    rest: T,
    /// Characters, each a cluster.
    chars: usize,
}

/// Steps over `count` clusters, or to the end. CR is declined where it is the last of them, as what is behind it in a binary
/// becomes a list then, and as one of CR LF.
fn skip<T: Text>(ctx: &Ctx<'_>, budget: &mut Budget, text: T, count: usize) -> Result<Skipped<T>, Escape> {
    let (mut rest, mut chars, mut last) = (text, 0, 0);
    if count == 0 {
        return Ok(Skipped { rest, chars });
    }
    let next = each(ctx, budget, &mut rest, |char| {
        let takes = chars < count && is_alone(char) && !joins(last, char);
        if takes {
            chars += 1;
            last = char;
        }
        takes
    })?;
    if (next == Next::End || chars == count) && last != CR && ends_before(last, next)? {
        return Ok(Skipped { rest, chars });
    }
    Err(Escape::Decline)
}

/// The text from cluster number `start` on, `most` clusters of it or all.
pub fn slice(ctx: &mut Ctx<'_>, data: Term, start: Term, most: Option<Term>) -> BifResult {
    let start = start.as_usize().ok_or(Escape::Decline)?;
    let most = match most.map(TermRef::as_usize) {
        Some(None | Some(0)) => return Err(Escape::Decline),
        Some(most) => most,
        None => None,
    };
    with_text!(data, text => {
        let mut budget = Budget::of_intrinsic(ctx);
        let from = skip(ctx, &mut budget, text, start)?.rest;
        let Some(most) = most else {
            budget.charge(ctx);
            return Ok(from.rest(ctx, data));
        };
        let Skipped { rest, chars } = skip(ctx, &mut budget, from, most)?;
        ctx.make_room(2 * chars)?;
        budget.charge(ctx);
        Ok(from.up_to(ctx, data, rest, chars))
    })
}

/// The text without separators at its ends, or at one of them.
pub fn trim(ctx: &mut Ctx<'_>, data: Term, side: Option<Term>, separators: Option<Term>) -> BifResult {
    let (leading, trailing) = match side.map_or(Ok(Side::Both), Side::of)? {
        Side::Leading => (true, false),
        Side::Trailing => (false, true),
        Side::Both => (true, true),
    };
    let separators = match separators {
        None => Separators::WHITESPACE,
        Some(list) => Separators::of(list)?,
    };
    let mut budget = Budget::of_intrinsic(ctx);
    let trimmed = match Data::of(&data)? {
        Data::List(text) => {
            let text = if leading { separators.skip(ctx, &mut budget, text)?.0 } else { text };
            if trailing { trim_list(ctx, &mut budget, text, &separators)? } else { text.0 }
        }
        Data::Utf8(text) => {
            let from = if leading { separators.skip(ctx, &mut budget, text)?.0 } else { text };
            let end = if trailing { trim_bytes(ctx, &mut budget, from, &separators)? } else { Utf8(&[]) };
            from.up_to(ctx, data, end, 0)
        }
    };
    budget.charge(ctx);
    Ok(trimmed)
}

/// A list up to its last cluster that is no separator.
fn trim_list(ctx: &mut Ctx<'_>, budget: &mut Budget, list: List, separators: &Separators) -> Result<Term, Escape> {
    let (mut from, mut chars, mut kept) = (list, 0, 0);
    loop {
        let mark = separators.search(ctx, budget, from)?;
        if mark.chars > 0 {
            chars += mark.chars;
            kept = chars;
        }
        let Some(behind) = mark.behind else { break };
        (from, chars) = (behind, chars + mark.separator);
    }
    if kept == chars {
        return Ok(list.0);
    }
    ctx.make_room(2 * kept)?;
    Ok(ctx.list_prefix(list.0, kept, Term::NIL))
}

/// Where the last cluster of bytes ends that is no separator. All of them have to be right, as the Erlang code looks at what
/// is behind each separator. It goes backwards: a separator is the same from behind, as it is joined by none before it but CR,
/// and those that follow it up to the end are separators.
fn trim_bytes<'a>(
    ctx: &Ctx<'_>,
    budget: &mut Budget,
    Utf8(bytes): Utf8<'a>,
    separators: &Separators,
) -> Result<Utf8<'a>, Escape> {
    budget.spend(ctx, bytes.len() / BYTES_AT_ONCE)?;
    let text = std::str::from_utf8(bytes).map_err(|_| Escape::Decline)?;
    let mut kept = text;
    let mut clusters = 0;
    while let Some(last) = kept.chars().next_back() {
        let before = &kept[..kept.len() - last.len_utf8()];
        let char = u32::from(last);
        let follows_cr = char == LF && before.ends_with('\r') && separators.begins(CR);
        kept = match follows_cr {
            true if separators.has_both() => &before[..before.len() - 1],
            false if separators.has(char) => before,
            _ => break,
        };
        clusters += 1;
        if clusters == PIECE {
            clusters = 0;
            budget.spend(ctx, PIECE)?;
        }
    }
    Ok(Utf8(&bytes[kept.len()..]))
}
