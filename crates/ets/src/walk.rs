//! Going through a table key by key: first, last, next, prev, slot.

use crate::access::{Need, gone, table};
use crate::store::{Rows, on_store};
use crate::table::Gone;
use myriad_term::Term;
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub WALK = "ets" {
    "first" / 1 Plain => first_1;
    "last" / 1 Plain => last_1;
    "next" / 2 Plain => next_2;
    "prev" / 2 Plain => prev_2;
    "slot" / 2 Plain => slot_2;
}}

myriad_vm::bifs! { pub RAW = "erts_internal" {
    "ets_raw_first" / 1 Plain => first_1;
    "ets_raw_next" / 2 Plain => next_2;
}}

fn first_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    on_store!(&table.store, rows => rows.first(&table, ctx)).or_else(|g| gone(ctx, g))
}

fn last_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    on_store!(&table.store, rows => rows.last(&table, ctx)).or_else(|g| gone(ctx, g))
}

fn next_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    step(ctx, args, true)
}

fn prev_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    step(ctx, args, false)
}

/// The key after one, or in an ordered set before it.
#[inline(always)]
fn step(ctx: &mut Ctx<'_>, args: &[Term], upwards: bool) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let next = on_store!(&table.store, rows => rows.next(&table, ctx, args[1], upwards));
    found(ctx, next)
}

fn slot_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let Some(number) = args[1].as_usize() else { return badarg() };
    let slot = on_store!(&table.store, rows => rows.slot(&table, ctx, number));
    found(ctx, slot)
}

/// What was found; `badarg` if there is no such place in the table.
#[inline(always)]
fn found(ctx: &mut Ctx<'_>, found: Result<Option<Term>, Gone>) -> BifResult {
    match found {
        Ok(Some(term)) => Ok(term),
        Ok(None) => badarg(),
        Err(g) => gone(ctx, g),
    }
}
