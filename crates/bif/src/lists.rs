//! Lists.

use crate::guards::otp_small;
use myriad_term::compare::compare_exact;
use myriad_term::equal::{eq, eq_exact};
use myriad_term::{Build, Term, Tuple, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use std::cmp::Ordering;

myriad_vm::bifs! { pub LISTS = "lists" {
    "member" / 2 Plain => member_2;
    "reverse" / 2 Plain => reverse_2;
    "keyfind" / 3 Plain => |ctx, a| Ok(key_search(ctx, a)?.unwrap_or(Term::FALSE));
    "keymember" / 3 Plain => |ctx, a| Ok(Term::bool(key_search(ctx, a)?.is_some()));
    "keysearch" / 3 Plain => |ctx, a| Ok(match key_search(ctx, a)? {
        Some(tuple) => ctx.tuple(&[Term::atom(am::value), tuple]),
        None => Term::FALSE,
    });
}}

myriad_vm::bifs! { pub LIST_OPERATORS = "erlang" {
    "++" / 2 Plain => append_2;
    "append" / 2 Plain => append_2;
    "--" / 2 Plain => subtract_2;
    "subtract" / 2 Plain => subtract_2;
}}

/// Elements for one reduction: a step of these loops is a few nanoseconds.
const PER_REDUCTION: usize = 16;

fn member_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut list = args[1].list_iter();
    let mut seen = 0;
    let by_word = args[0].is_immediate();
    let found = list.by_ref().any(|item| {
        seen += 1;
        item.is(args[0]) || !by_word && eq_exact(item, args[0])
    });
    ctx.bump(seen / PER_REDUCTION);
    if !found && !list.tail().is_nil() {
        return badarg();
    }
    Ok(Term::bool(found))
}

fn reverse_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut list = args[0].list_iter();
    let mut reversed = args[1];
    let mut count = 0;
    for item in list.by_ref() {
        reversed = ctx.cons(item, reversed);
        count += 1;
    }
    ctx.bump(count / PER_REDUCTION);
    if list.tail().is_nil() { Ok(reversed) } else { badarg() }
}

fn key_search(ctx: &mut Ctx<'_>, args: &[Term]) -> Result<Option<Term>, myriad_vm::Escape> {
    let Some(i) = otp_small(args[1]).and_then(|n| usize::try_from(n).ok()?.checked_sub(1)) else { return badarg() };
    let key = args[0];
    let by_word = key.is_immediate() && !key.is_small() && !key.is_float();
    let mut list = args[2].list_iter();
    let mut seen = 0;
    let found = list.by_ref().find(|item| {
        seen += 1;
        let element = item.as_tuple().and_then(|t: Tuple| t.elements().get(i).copied());
        element.is_some_and(|e| e.is(key) || !by_word && eq(e, key))
    });
    ctx.bump(seen / PER_REDUCTION);
    if found.is_none() && !list.tail().is_nil() {
        return badarg();
    }
    Ok(found)
}

fn append_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut list = args[0].list_iter();
    let items: Vec<Term> = list.by_ref().collect();
    if !list.tail().is_nil() {
        return badarg();
    }
    ctx.bump(items.len() / PER_REDUCTION);
    Ok(ctx.list_onto(&items, args[1]))
}

/// Elements of the right list that are searched one by one.
const LINEAR: usize = 8;

fn subtract_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut left, mut right) = (args[0].list_iter(), args[1].list_iter());
    let mut items: Vec<Term> = left.by_ref().collect();
    let mut gone: Vec<Term> = right.by_ref().collect();
    if !left.tail().is_nil() || !right.tail().is_nil() {
        return badarg();
    }
    ctx.bump((items.len() + gone.len()) / 4);
    if items.is_empty() || gone.is_empty() {
        return Ok(args[0]);
    }
    if gone.len() <= LINEAR {
        items.retain(|item| match gone.iter().position(|g| eq_exact(*g, *item)) {
            Some(i) => {
                gone.swap_remove(i);
                false
            }
            None => true,
        });
    } else {
        subtract_sorted(&mut items, gone);
    }
    Ok(ctx.list(&items))
}

/// For each element to take out, how often: found by binary search, so that long lists cost n log n.
fn subtract_sorted(items: &mut Vec<Term>, mut gone: Vec<Term>) {
    // The exact order: integers and floats that are equal as numbers stay apart.
    let order = |a: &Term, b: &Term| compare_exact(*a, *b);
    gone.sort_unstable_by(order);
    let mut counted: Vec<(Term, usize)> = Vec::new();
    for term in gone {
        match counted.last_mut() {
            Some((last, n)) if order(last, &term) == Ordering::Equal => *n += 1,
            _ => counted.push((term, 1)),
        }
    }
    items.retain(|item| match counted.binary_search_by(|(term, _)| order(term, item)) {
        Ok(i) if counted[i].1 > 0 => {
            counted[i].1 -= 1;
            false
        }
        _ => true,
    });
}
