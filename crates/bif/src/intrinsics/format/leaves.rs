//! What `io_lib` exports of its texts: atoms and strings written, what lists are characters, how long a text is.

use super::text::{self, Charset, code_point};
use crate::intrinsics::budget::PIECE;
use crate::iodata::Walk;
use crate::work::Budget;
use myriad_term::{Build, Term};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

/// An atom, quoted if it must be.
pub fn write_atom(ctx: &mut Ctx<'_>, args: &[Term], charset: Charset) -> BifResult {
    let atom = args[0].as_atom().ok_or(Escape::Decline)?;
    let mut chars = Vec::new();
    text::push_atom(&mut chars, atom, charset)?;
    Ok(text::list_of(ctx, &chars, Term::NIL))
}

/// A list of characters up to `most` between quotes that are given. What else it holds, the Erlang code tells.
pub fn write_string(ctx: &mut Ctx<'_>, args: &[Term], charset: Charset, most: u32) -> BifResult {
    let quote = code_point(args[1]).filter(|c| *c <= most).ok_or(Escape::Decline)?;
    let mut budget = Budget::of_intrinsic(ctx);
    let mut string = Vec::new();
    let rest = budget.each(ctx, args[0], |char| {
        let Some(char) = code_point(char).filter(|c| *c <= most) else { return false };
        string.push(char);
        true
    })?;
    if !rest.is_nil() {
        return Err(Escape::Decline);
    }
    let mut chars = Vec::with_capacity(string.len() + 2);
    text::push_quoted(&mut chars, string.into_iter(), quote, charset);
    ctx.make_room(2 * chars.len())?;
    budget.charge(ctx);
    Ok(text::list_of(ctx, &chars, Term::NIL))
}

/// Is the term a list of nothing but such characters?
pub fn flat(ctx: &mut Ctx<'_>, args: &[Term], is_it: impl Fn(u32) -> bool) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let rest = budget.each(ctx, args[0], |char| code_point(char).is_some_and(&is_it))?;
    budget.charge(ctx);
    Ok(Term::bool(rest.is_nil()))
}

/// Is the term a list of nothing but such characters and such lists?
pub fn deep(ctx: &mut Ctx<'_>, args: &[Term], is_it: impl Fn(u32) -> bool) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let all = budget.each_deep(ctx, args[0], |char| code_point(char).is_some_and(&is_it))?;
    budget.charge(ctx);
    Ok(Term::bool(all))
}

/// How many bytes iodata has (`erlang:iolist_size/1`); none if the term is no iodata.
fn bytes_of(ctx: &Ctx<'_>, term: Term, budget: &mut Budget) -> Result<Option<usize>, Escape> {
    let (mut walk, mut bytes) = (Walk::new(term), 0);
    loop {
        let mut cells = PIECE;
        let Ok(done) = walk.count::<false>(&mut bytes, &mut cells) else { return Ok(None) };
        budget.spend(ctx, PIECE - cells)?;
        if done {
            return Ok(Some(bytes));
        }
    }
}

/// `io_lib:chars_length/1`. Of what is no iodata, lists only, and where clusters are to be counted it is not done here.
pub fn chars_length(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut budget = Budget::of_intrinsic(ctx);
    let length = match bytes_of(ctx, args[0], &mut budget)? {
        Some(bytes) => bytes,
        None => {
            let mut width = text::Width::default();
            let known = budget.each_deep(ctx, args[0], |char| code_point(char).is_some_and(|c| width.add(c)))?;
            width.get().filter(|_| known).ok_or(Escape::Decline)?
        }
    };
    budget.charge(ctx);
    Ok(ctx.uint(length as u64))
}
