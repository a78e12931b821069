//! What `io_lib` exports of its texts: atoms and strings written, what lists are characters, how long a text is.

use super::Budget;
use super::text::{self, Charset, MOST, code_point, is_char};
use myriad_term::Term;
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

/// `io_lib:chars_length/1`, of lists only; where clusters are to be counted, or there is something else, it is not done here.
fn chars_length_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut budget = Budget::new(ctx);
    let mut length = 0;
    let latin1 = budget.each_deep(ctx, args[0], |char| {
        if code_point(char).is_none_or(|c| c > 255) {
            return false;
        }
        length += 1;
        true
    })?;
    if !latin1 {
        let mut width = text::Width::default();
        let known = budget.each_deep(ctx, args[0], |char| code_point(char).is_some_and(|c| width.add(c)))?;
        length = width.get().filter(|_| known).ok_or(Escape::Decline)?;
    }
    budget.charge(ctx);
    Ok(Term::small(length as i64))
}
