//! Tuples.

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
fn at<'a>(position: Term, tuple: Term, past_end: usize) -> Option<(&'a [Term], usize)> {
    let elements = tuple.as_tuple()?.elements();
    let i = position.as_usize()?.checked_sub(1)?;
    (i < elements.len() + past_end).then_some((elements, i))
}

fn setelement_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], args[1], 0) else { return badarg() };
    let copy = ctx.tuple(elements);
    // SAFETY: the fresh tuple has the same arity, and nobody else has seen it yet.
    unsafe { *copy.boxed_ptr().add(1 + i) = args[2].raw() };
    Ok(copy)
}

fn tuple_of(ctx: &mut Ctx<'_>, elements: &[Term]) -> BifResult {
    if elements.len() > Tuple::MAX_ARITY { badarg() } else { Ok(ctx.tuple(elements)) }
}

fn append_element_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(tuple) = args[0].as_tuple() else { return badarg() };
    let all: Vec<Term> = tuple.elements().iter().copied().chain([args[1]]).collect();
    tuple_of(ctx, &all)
}

fn insert_element_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], args[1], 1) else { return badarg() };
    let mut all = elements.to_vec();
    all.insert(i, args[2]);
    tuple_of(ctx, &all)
}

fn delete_element_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some((elements, i)) = at(args[0], args[1], 0) else { return badarg() };
    let mut all = elements.to_vec();
    all.remove(i);
    tuple_of(ctx, &all)
}

fn make(ctx: &mut Ctx<'_>, arity: Term, default: Term, initial: Term) -> BifResult {
    let Some(arity) = arity.as_usize().filter(|n| *n <= Tuple::MAX_ARITY) else { return badarg() };
    let mut elements = vec![default; arity];
    let mut list = initial.list_iter();
    for pair in list.by_ref() {
        let Some([position, value]) = pair.as_tuple_of::<2>() else { return badarg() };
        let place = position.as_usize().and_then(|p| p.checked_sub(1)).and_then(|i| elements.get_mut(i));
        let Some(place) = place else { return badarg() };
        *place = value;
    }
    if !list.tail().is_nil() {
        return badarg();
    }
    ctx.bump(arity / 16);
    Ok(ctx.tuple(&elements))
}

fn tuple_to_list_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(tuple) = args[0].as_tuple() else { return badarg() };
    ctx.bump(tuple.len() / 16);
    Ok(ctx.list(tuple.elements()))
}

fn list_to_tuple_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut list = args[0].list_iter();
    let elements: Vec<Term> = list.by_ref().take(Tuple::MAX_ARITY + 1).collect();
    if !list.tail().is_nil() || elements.len() > Tuple::MAX_ARITY {
        return badarg();
    }
    ctx.bump(elements.len() / 16);
    Ok(ctx.tuple(&elements))
}
