//! What `io_lib` exports of its texts: atoms and strings written, what lists are characters, how long a text is.

use super::text::{self, Charset, MOST, code_point, is_char};
use super::{Budget, PIECE};
use crate::iodata::Walk;
use myriad_term::{Build, Term};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub LEAVES = "io_lib" {
    "write_atom" / 1 Body until 25 => |ctx, a| write_atom(ctx, a, Charset::Unicode);
    "write_atom_as_latin1" / 1 Body until 25 => |ctx, a| write_atom(ctx, a, Charset::Latin1);
    "write_string" / 2 Body => |ctx, a| write_string(ctx, a, Charset::Unicode, MOST);
    "write_latin1_string" / 2 Body => |ctx, a| write_string(ctx, a, Charset::Latin1, 255);
    "write_string_as_latin1" / 2 Body => |ctx, a| write_string(ctx, a, Charset::Latin1, MOST);
    "printable_list" / 1 Body => |ctx, a| {
        let shown = Charset::printable(ctx.vm);
        flat(ctx, a, |c| shown.shows(c))
    };
    "printable_unicode_list" / 1 Body => |ctx, a| flat(ctx, a, |c| Charset::Unicode.shows(c));
    "printable_latin1_list" / 1 Body => |ctx, a| flat(ctx, a, |c| Charset::Latin1.shows(c));
    "char_list" / 1 Body => |ctx, a| flat(ctx, a, is_char);
    "latin1_char_list" / 1 Body => |ctx, a| flat(ctx, a, |c| c < 256);
    "deep_char_list" / 1 Body => |ctx, a| deep(ctx, a, is_char);
    "deep_latin1_char_list" / 1 Body => |ctx, a| deep(ctx, a, |c| c < 256);
    "chars_length" / 1 Body => chars_length_1;
}}

fn write_atom(ctx: &mut Ctx<'_>, args: &[Term], charset: Charset) -> BifResult {
    let atom = args[0].as_atom().ok_or(Escape::Decline)?;
    let mut chars = Vec::new();
    text::push_atom(&mut chars, atom, charset)?;
    Ok(text::list_of(ctx, &chars, Term::NIL))
}

/// A list of characters up to `most` between quotes that are given. What else it holds, the Erlang code tells.
fn write_string(ctx: &mut Ctx<'_>, args: &[Term], charset: Charset, most: u32) -> BifResult {
    let quote = code_point(args[1]).filter(|c| *c <= most).ok_or(Escape::Decline)?;
    let mut budget = Budget::new(ctx);
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
fn flat(ctx: &mut Ctx<'_>, args: &[Term], is_it: impl Fn(u32) -> bool) -> BifResult {
    let mut budget = Budget::new(ctx);
    let rest = budget.each(ctx, args[0], |char| code_point(char).is_some_and(&is_it))?;
    budget.charge(ctx);
    Ok(Term::bool(rest.is_nil()))
}

/// Is the term a list of nothing but such characters and such lists?
fn deep(ctx: &mut Ctx<'_>, args: &[Term], is_it: impl Fn(u32) -> bool) -> BifResult {
    let mut budget = Budget::new(ctx);
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
fn chars_length_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut budget = Budget::new(ctx);
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
