//! Tuples.

use crate::work::dirty;
use myriad_term::{Build, Term, Tuple};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub TUPLES = "erlang" {
    "setelement" / 3 Plain => setelement_3;
    "append_element" / 2 Plain => append_element_2;
    "insert_element" / 3 Plain => insert_element_3;
    "delete_element" / 2 Plain => delete_element_2;
    "make_tuple" / 2 Plain => |ctx, a| make(ctx, a[0], a[1], Term::NIL);
    "make_tuple" / 3 Plain => |ctx, a| make(ctx, a[0], a[1], a[2]);
    "tuple_to_list" / 1 Plain => tuple_to_list_1;
    "list_to_tuple" / 1 Plain => list_to_tuple_1;
}}

/// The tuple's elements and a position in them (0-based, at most `last`).
fn at(position: Term, tuple: &Term, past_end: usize) -> Option<(&[Term], usize)> {
    let elements = tuple.as_tuple()?.elements();
    let i = position.as_usize()?.checked_sub(1)?;
    (i < elements.len() + past_end).then_some((elements, i))
}

fn setelement_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], &args[1], 0) else { return badarg() };
    let copy = ctx.tuple(elements);
    // SAFETY: the fresh tuple has the same arity, and nothing else refers to it yet.
    unsafe { *copy.boxed_ptr().add(1 + i) = args[2].raw() };
    Ok(copy)
}

/// Elements from which on tuples are made on a dirty scheduler: that takes milliseconds of clearing fresh pages.
const LONG: usize = 1 << 20;

/// A tuple of `len` elements, `rest` after those that there are; `badarg` if it would be too large.
fn tuple_of(ctx: &mut Ctx<'_>, len: usize, elements: impl Iterator<Item = Term>, rest: Term) -> BifResult {
    if len > Tuple::MAX_ARITY {
        return badarg();
    }
    if len > LONG {
        dirty(ctx)?;
    }
    ctx.bump(len / 16);
    Ok(Build::tuple_of(ctx, len, elements, rest))
}

fn append_element_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(tuple) = args[0].as_tuple() else { return badarg() };
    tuple_of(ctx, tuple.len() + 1, tuple.elements().iter().copied(), args[1])
}

fn insert_element_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], &args[1], 1) else { return badarg() };
    let (before, behind) = elements.split_at(i);
    let all = before.iter().chain([&args[2]]).chain(behind).copied();
    tuple_of(ctx, elements.len() + 1, all, Term::NIL)
}

fn delete_element_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], &args[1], 0) else { return badarg() };
    let left = elements[..i].iter().chain(&elements[i + 1..]).copied();
    tuple_of(ctx, elements.len() - 1, left, Term::NIL)
}

fn make(ctx: &mut Ctx<'_>, arity: Term, default: Term, initial: Term) -> BifResult {
    let Some(arity) = arity.as_usize().filter(|n| *n <= Tuple::MAX_ARITY) else { return badarg() };
    let mut list = initial.list_iter();
    let place = |pair: Term| {
        let [position, value] = pair.as_tuple_of::<2>()?;
        Some((position.as_usize()?.checked_sub(1).filter(|i| *i < arity)?, value))
    };
    if list.by_ref().any(|pair| place(pair).is_none()) || !list.tail().is_nil() {
        return badarg();
    }
    let tuple = tuple_of(ctx, arity, std::iter::empty(), default)?;
    for (i, value) in initial.list_iter().filter_map(place) {
        // SAFETY: the fresh tuple has more than `i` elements, and nothing else refers to it yet.
        unsafe { *tuple.boxed_ptr().add(1 + i) = value.raw() };
    }
    Ok(tuple)
}

fn tuple_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(tuple) = args[0].as_tuple() else { return badarg() };
    if tuple.len() > LONG {
        dirty(ctx)?;
    }
    ctx.bump(tuple.len() / 16);
    Ok(ctx.list(tuple.elements()))
}

fn list_to_tuple_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (mut list, mut len) = (args[0].list_iter(), 0);
    while len <= Tuple::MAX_ARITY && list.next().is_some() {
        len += 1;
        if len == LONG {
            dirty(ctx)?;
        }
    }
    if !list.tail().is_nil() {
        return badarg();
    }
    tuple_of(ctx, len, args[0].list_iter(), Term::NIL)
}
