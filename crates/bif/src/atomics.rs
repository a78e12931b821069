//! Arrays of atomics; counters without `write_concurrency` are such, too.

use myriad_sync::atomic::{AtomicI64, Ordering};
use myriad_term::magic::{Magic, magic_reference};
use myriad_term::{Build, Term, am, map, memory};
use myriad_vm::bif::{Escape, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ATOMICS = "atomics" {
    "put" / 3 Plain => |_, a| put(a);
    "get" / 2 Plain => get_2;
    "add" / 3 Plain => |_, a| with(a, |cell, v| { cell.fetch_add(v, Ordering::SeqCst); Term::OK });
    "add_get" / 3 Plain => add_get_3;
    "exchange" / 3 Plain => exchange_3;
    "compare_exchange" / 4 Plain => compare_exchange_4;
    "info" / 1 Plain => info_1;
}}

myriad_vm::bifs! { pub INTERNAL_ATOMICS = "erts_internal" {
    "atomics_new" / 2 Plain => atomics_new_2;
}}

// SeqCst throughout: the documentation promises that operations are seen in one order by all.

struct Array {
    cells: Box<[AtomicI64]>,
    signed: bool,
}

/// What OTP calls the memory of arrays of atomics and counters.
pub const PURPOSE: memory::Purpose = memory::Purpose("std", "erl_bif_atomics");

/// Most cells: what `(Size + header) * 8` can address in OTP's small integers.
const MAX_CELLS: usize = (1 << 57) - 1;

fn make(ctx: &mut Ctx<'_>, size: Term, signed: bool) -> BifResult {
    if size.as_big().is_some_and(|(negative, _)| !negative) {
        return Err(SYSTEM_LIMIT);
    }
    let Some(size) = size.as_usize().filter(|n| *n > 0) else { return badarg() };
    if size > MAX_CELLS {
        return Err(SYSTEM_LIMIT);
    }
    let mut cells = memory::named(PURPOSE, || Vec::with_capacity(size));
    cells.resize_with(size, || AtomicI64::new(0));
    let array = Array { cells: cells.into_boxed_slice(), signed };
    let numbers = ctx.sched.next_ref();
    Ok(magic_reference(ctx, Magic::new(numbers, array)))
}

fn atomics_new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let options = args[1].as_small();
    let array = make(ctx, args[0], options.is_some_and(|o| o & 1 == 1))?;
    if options.is_some() { Ok(array) } else { badarg() }
}

/// Runs `f` on the cell of an index counted from 1.
fn cell<R>(array: Term, index: Term, f: impl FnOnce(&Array, &AtomicI64) -> R) -> Result<R, Escape> {
    let Some(magic) = array.as_magic() else { return badarg() };
    let Some(array) = magic.get::<Array>() else { return badarg() };
    let index = index.as_usize().and_then(|i| i.checked_sub(1));
    match index.and_then(|i| array.cells.get(i)) {
        Some(cell) => Ok(f(array, cell)),
        None => badarg(),
    }
}

/// The 64 bits of an integer, signed or not.
pub(crate) fn bits(value: Term) -> Result<i64, Escape> {
    if let Some(v) = value.as_small() {
        return Ok(v);
    }
    match value.as_big() {
        Some((false, [v])) => Ok(*v as i64),
        Some((true, [v])) if *v <= 1 << 63 => Ok((*v as i64).wrapping_neg()),
        _ => badarg(),
    }
}

/// Is the integer one that the array can hold?
fn fits(array: &Array, value: Term) -> bool {
    match value.as_big() {
        Some((negative, _)) if array.signed => negative || bits(value).is_ok_and(|v| v >= 0),
        Some((negative, _)) => !negative,
        None => array.signed || value.as_small().is_some_and(|v| v >= 0),
    }
}

fn with(args: &[Term], f: impl FnOnce(&AtomicI64, i64) -> Term) -> BifResult {
    let value = bits(args[2])?;
    cell(args[0], args[1], |_, cell| f(cell, value))
}

/// Stores a value that the array can hold; what is added may be any 64 bits.
fn put(args: &[Term]) -> BifResult {
    let value = bits(args[2])?;
    let stored =
        cell(args[0], args[1], |array, cell| fits(array, args[2]).then(|| cell.store(value, Ordering::SeqCst)))?;
    if stored.is_some() { Ok(Term::OK) } else { badarg() }
}

fn number(ctx: &mut Ctx<'_>, value: i64, signed: bool) -> Term {
    if signed { ctx.int(value) } else { ctx.uint(value as u64) }
}

fn get_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (value, signed) = cell(args[0], args[1], |array, cell| (cell.load(Ordering::SeqCst), array.signed))?;
    Ok(number(ctx, value, signed))
}

fn add_get_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let by = bits(args[2])?;
    let add = |array: &Array, cell: &AtomicI64| (cell.fetch_add(by, Ordering::SeqCst).wrapping_add(by), array.signed);
    let (value, signed) = cell(args[0], args[1], add)?;
    Ok(number(ctx, value, signed))
}

fn exchange_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let new = bits(args[2])?;
    let swap = |array: &Array, cell: &AtomicI64| {
        fits(array, args[2]).then(|| (cell.swap(new, Ordering::SeqCst), array.signed))
    };
    match cell(args[0], args[1], swap)? {
        Some((old, signed)) => Ok(number(ctx, old, signed)),
        None => badarg(),
    }
}

fn compare_exchange_4(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let (expected, desired) = (bits(args[2])?, bits(args[3])?);
    let exchange = |array: &Array, cell: &AtomicI64| {
        (cell.compare_exchange(expected, desired, Ordering::SeqCst, Ordering::SeqCst), array.signed)
    };
    match cell(args[0], args[1], exchange)? {
        (Ok(_), _) => Ok(Term::OK),
        (Err(actual), signed) => Ok(number(ctx, actual, signed)),
    }
}

fn info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(magic) = args[0].as_magic() else { return badarg() };
    let Some(array) = magic.get::<Array>() else { return badarg() };
    let size = array.cells.len() as u64;
    let (min, max) =
        if array.signed { (i128::from(i64::MIN), i128::from(i64::MAX)) } else { (0, i128::from(u64::MAX)) };
    let pairs = [
        (am::size.term(), ctx.uint(size)),
        (am::memory.term(), ctx.uint(size * 8 + size_of::<Array>() as u64 + 16)),
        (am::min.term(), ctx.int128(min)),
        (am::max.term(), ctx.int128(max)),
    ];
    Ok(map::from_pairs(ctx, &pairs))
}
