//! The older functions of `string`, which know lists of characters only, each for itself.

use super::LONGEST;
use super::text::{List, Next, Text, each};
use crate::intrinsics::format::text::code_point;
use crate::work::Budget;
use myriad_term::{Build, Term, TermRef, alloc::cells, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// Tokens that there is room for at first.
const AT_FIRST: usize = 16;

/// A character that a term is.
fn char_of(term: Term) -> Result<u32, Escape> {
    code_point(term).ok_or(Escape::Decline)
}

/// Declines what is no end of a list of characters.
fn at_end(next: Next) -> Result<(), Escape> {
    if next == Next::End { Ok(()) } else { Err(Escape::Decline) }
}

/// `chr/2` and `rchr/2`: where the character is, or 0.
pub fn index(ctx: &mut Ctx<'_>, args: &[Term], last: bool) -> BifResult {
    let wanted = char_of(args[1])?;
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut text, mut at, mut found) = (List(args[0]), 0, 0);
    let next = each(ctx, &mut budget, &mut text, |char| {
        at += 1;
        if char == wanted {
            found = at;
        }
        last || char != wanted
    })?;
    if last || found == 0 {
        at_end(next)?;
    }
    budget.charge(ctx);
    Ok(ctx.uint(found))
}

/// `str/2`: where the pattern is, or 0.
pub fn index_of(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut pattern = Vec::new();
    let mut rest = List(args[1]);
    while pattern.len() < LONGEST
        && let Next::Char(char) = rest.next()
    {
        pattern.push(char);
    }
    let Some((first, others)) = pattern.split_first().filter(|_| rest.0.is_nil()) else { return Err(Escape::Decline) };
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut text, mut at) = (List(args[0]), 0);
    loop {
        let next = each(ctx, &mut budget, &mut text, |char| {
            at += 1;
            char != *first
        })?;
        if !matches!(next, Next::Char(_)) {
            at_end(next)?;
            at = 0;
            break;
        }
        budget.spend(ctx, pattern.len())?;
        text.next();
        let (mut rest, mut here) = (text, true);
        for char in others {
            match rest.next() {
                Next::Char(next) if next == *char => {}
                Next::Other => return Err(Escape::Decline),
                _ => {
                    here = false;
                    break;
                }
            }
        }
        if here && rest.0.is_list() {
            break;
        }
    }
    budget.charge(ctx);
    Ok(ctx.uint(at))
}

/// `substr/2,3`: from a place on, a number of characters or all.
pub fn part(ctx: &mut Ctx<'_>, list: Term, from: Term, most: Option<Term>) -> BifResult {
    let skipped = from.as_usize().and_then(|from| from.checked_sub(1)).ok_or(Escape::Decline)?;
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut text, mut left) = (List(list), skipped);
    each(ctx, &mut budget, &mut text, |_| {
        let goes_on = left > 0;
        left = left.saturating_sub(1);
        goes_on
    })?;
    if left > 0 || !text.0.is_list() {
        return Err(Escape::Decline);
    }
    let Some(most) = most else {
        budget.charge(ctx);
        return Ok(text.0);
    };
    let most = most.as_usize().ok_or(Escape::Decline)?;
    let (mut rest, mut taken) = (text, 0);
    let next = each(ctx, &mut budget, &mut rest, |_| {
        let goes_on = taken < most;
        taken += usize::from(goes_on);
        goes_on
    })?;
    if next == Next::Other {
        return Err(Escape::Decline);
    }
    ctx.make_room(2 * taken)?;
    budget.charge(ctx);
    Ok(ctx.list_prefix(text.0, taken, Term::NIL))
}

/// `strip/1,2,3`: the list without a character at its ends.
pub fn strip(ctx: &mut Ctx<'_>, list: Term, side: Option<Term>, char: Option<Term>) -> BifResult {
    let (left, right) = match side.map(TermRef::as_atom) {
        None | Some(Some(am::both)) => (true, true),
        Some(Some(am::left)) => (true, false),
        Some(Some(am::right)) => (false, true),
        Some(_) => return Err(Escape::Decline),
    };
    let stripped = char.map_or(Ok(u32::from(b' ')), char_of)?;
    let mut budget = Budget::of_intrinsic(ctx);
    let mut text = List(list);
    if left && each(ctx, &mut budget, &mut text, |char| char == stripped)? == Next::Other {
        return Err(Escape::Decline);
    }
    if right {
        let (mut rest, mut chars, mut kept) = (text, 0, 0);
        at_end(each(ctx, &mut budget, &mut rest, |char| {
            chars += 1;
            if char != stripped {
                kept = chars;
            }
            true
        })?)?;
        if kept < chars {
            ctx.make_room(2 * kept)?;
            text.0 = ctx.list_prefix(text.0, kept, Term::NIL);
        }
    }
    budget.charge(ctx);
    Ok(text.0)
}

/// `tokens/2`: the parts between separators.
pub fn tokens(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut separators, mut rest) = (Vec::new(), List(args[1]));
    while separators.len() < LONGEST
        && let Next::Char(char) = rest.next()
    {
        separators.push(char);
    }
    if !rest.0.is_nil() || separators.is_empty() {
        return Err(Escape::Decline);
    }
    let mut low = [false; 128];
    for char in &separators {
        if let Some(has) = low.get_mut(*char as usize) {
            *has = true;
        }
    }
    let separates = |char: u32| low.get(char as usize).copied().unwrap_or_else(|| separators.contains(&char));
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut text, mut tokens) = (List(args[0]), Vec::with_capacity(AT_FIRST));
    loop {
        let mut next = each(ctx, &mut budget, &mut text, separates)?;
        let (from, mut chars) = (text, 0);
        if let Next::Char(_) = next {
            next = each(ctx, &mut budget, &mut text, |char| {
                let goes_on = !separates(char);
                chars += usize::from(goes_on);
                goes_on
            })?;
            tokens.push(ctx.list_prefix(from.0, chars, Term::NIL));
        }
        if !matches!(next, Next::Char(_)) {
            at_end(next)?;
            break;
        }
    }
    budget.charge(ctx);
    Ok(ctx.list(&tokens))
}

/// `to_upper/1` and `to_lower/1`: letters of Latin-1 in the other case.
pub fn convert(ctx: &mut Ctx<'_>, args: &[Term], upper: bool) -> BifResult {
    let (small, capital) = (0x20, 0);
    let from = if upper { small } else { capital };
    let converted = move |char: u32| match char & !0x20 {
        0x41..=0x5a | 0xc0..=0xd6 | 0xd8..=0xde if char & 0x20 == from => char ^ 0x20,
        _ => char,
    };
    let mut budget = Budget::of_intrinsic(ctx);
    let (mut text, mut count) = (List(args[0]), 0);
    at_end(each(ctx, &mut budget, &mut text, |_| {
        count += 1;
        true
    })?)?;
    ctx.make_room(2 * count)?;
    budget.charge(ctx);
    let mut text = List(args[0]);
    Ok(cells(ctx, count, Term::NIL, |_| match text.next() {
        Next::Char(char) => Term::small(converted(char).into()),
        _ => Term::NIL,
    }))
}
