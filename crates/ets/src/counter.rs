//! `update_counter` and `update_element`: changing single elements of the row of a key, atomically.
//!
//! All new values are worked out first; then the row is changed in place if old and new values are immediate, or replaced.

use crate::access::{InUse, Need, bad, gone, table, user};
use crate::row::{NewRow, Row, copy_out};
use crate::store::{Rows, on_store};
use crate::table::{Gone, Kind, Table, User};
use myriad_term::compare::compare;
use myriad_term::{Arena, Build, Term, TermRef, am, arith};
use myriad_vm::bif::{BADARG, SYSTEM_LIMIT, badarg};
use myriad_vm::{BifResult, Ctx, Escape};

myriad_vm::bifs! { pub COUNTERS = "ets" {
    "update_counter" / 3 Plain => |ctx, a| update_counter(ctx, a, Term::NONE);
    "update_counter" / 4 Plain => |ctx, a| update_counter(ctx, a, a[3]);
    "update_element" / 3 Plain => update_element_3;
}}

/// New values of elements, by index.
type Changes = Vec<(usize, Term)>;

/// The elements of a tuple, or none.
fn tuple_elements<'a, 'h>(tuple: &'a TermRef<'h>) -> Option<&'a [TermRef<'h>]> {
    tuple.as_tuple().map(|t| t.elements())
}

/// Runs `f` on the row of a key under the write lock; it gives what to change. `None` as a row: there is none.
fn with_row_to_change<R>(
    user: User,
    table: &Table,
    key: Term,
    default: Term,
    f: impl FnOnce(Option<&[TermRef<'_>]>) -> Result<(R, Changes), Escape>,
) -> Result<Result<R, Escape>, Gone> {
    on_store!(&table.store, rows => rows.change(table, user, key, |row, hash| {
        let memory = Arena::new();
        let tuple = row.map(|row| row.term(&memory));
        let elements = tuple.as_ref().and_then(tuple_elements);
        let (result, changes) = f(elements)?;
        let new = match row {
            Some(row) if in_place(row, &changes) => None,
            Some(_) => Some(changed(table, elements, None, &changes, hash)),
            None if default.is_some() => Some(changed(table, tuple_elements(&default), Some(key), &changes, hash)),
            None => None,
        };
        Ok((result, new))
    }))
}

/// Changes one element without memory of the row of a key to another, in place, if `f` wants to. `None`: there is
/// no such row or element, nothing is done, and the caller must take the long way.
fn change_one(
    user: User,
    table: &Table,
    key: Term,
    at: usize,
    f: impl FnOnce(Term) -> Option<Term>,
) -> Result<Option<Term>, Gone> {
    let change = |row: Row<'_>| {
        let old = row.immediate(at)?;
        let new = f(old).filter(|e| e.is_immediate())?;
        // SAFETY: the lock is held for writing, and the key's index is no caller's.
        unsafe { row.set_immediate(at, new) };
        Some(new)
    };
    if at == table.options.keypos {
        return Ok(None);
    }
    on_store!(&table.store, rows => rows.change_in_place(table, user, key, change))
}

/// The position and the amount of a single operation without limit.
fn single_operation(keypos: usize, term: Term) -> Option<(usize, i64)> {
    if let Some(by) = term.as_small() {
        return Some((keypos + 1, by));
    }
    let [at, by] = term.as_tuple_of::<2>()?;
    Some((at.as_usize()?.checked_sub(1)?, by.as_small()?))
}

/// Changes a row in place, if that is all immediate.
fn in_place(row: Row<'_>, changes: &Changes) -> bool {
    if !changes.iter().all(|(at, value)| value.is_immediate() && row.immediate(*at).is_some()) {
        return false;
    }
    debug_assert!(!row.is_hidden(), "S3: a row that has been deleted is not changed");
    for (at, value) in changes {
        // SAFETY: the caller holds the lock for writing; the key's index is never among the changes.
        unsafe { row.set_immediate(*at, *value) };
    }
    true
}

/// A row of these elements with the changes made.
fn changed(table: &Table, elements: Option<&[TermRef<'_>]>, key: Option<Term>, changes: &Changes, hash: u32) -> NewRow {
    let mut elements = elements.map_or_else(Vec::new, |elements| elements.to_vec());
    if let Some(key) = key {
        elements[table.options.keypos] = key;
    }
    for (at, value) in changes {
        elements[*at] = *value;
    }
    let arena = Arena::new();
    table.new_row((&mut &arena).tuple(&elements), hash)
}

/// One operation of `update_counter`.
struct Operation {
    at: usize,
    by: Term,
    limit: Option<(Term, Term)>,
}

/// Positions are checked against the row later: anything beyond every tuple stands for a bad one.
fn position(term: Term) -> Option<usize> {
    if !term.is_integer() {
        return None;
    }
    Some(term.as_usize().and_then(|p| p.checked_sub(1)).unwrap_or(usize::MAX))
}

fn operation(keypos: usize, term: Term) -> Option<Operation> {
    if term.is_integer() {
        return Some(Operation { at: keypos + 1, by: term, limit: None });
    }
    let op = match term.as_tuple()?.elements() {
        [at, by] => Operation { at: position(*at)?, by: *by, limit: None },
        [at, by, limit, reset] if limit.is_integer() && reset.is_integer() => {
            Operation { at: position(*at)?, by: *by, limit: Some((*limit, *reset)) }
        }
        _ => return None,
    };
    op.by.is_integer().then_some(op)
}

fn operations(keypos: usize, term: Term) -> Option<Vec<Operation>> {
    if !term.is_list() {
        return Some(vec![operation(keypos, term)?]);
    }
    let mut items = term.list_iter();
    let ops = items.by_ref().map(|item| operation(keypos, item)).collect::<Option<Vec<_>>>()?;
    items.tail().is_nil().then_some(ops)
}

fn set_table(ctx: &mut Ctx<'_>, term: Term, cause: Term) -> Result<InUse, Escape> {
    let table = table(ctx, term, Need::Write)?;
    if matches!(table.options.kind, Kind::Bag | Kind::DuplicateBag) {
        ctx.state.error_cause = cause;
        return badarg();
    }
    Ok(table)
}

fn update_counter(ctx: &mut Ctx<'_>, args: &[Term], default: Term) -> BifResult {
    let table = set_table(ctx, args[0], am::table_type.term())?;
    let keypos = table.options.keypos;
    if default.is_some() && default.as_tuple().is_none_or(|t| t.len() <= keypos) {
        return badarg();
    }
    if let Some((at, by)) = single_operation(keypos, args[2]) {
        let add = |old: Term| Term::try_small(old.as_small()?.checked_add(by)?);
        match change_one(user(ctx), &table, args[1], at, add) {
            Ok(Some(new)) => return Ok(new),
            Ok(None) => {}
            Err(g) => return gone(ctx, g),
        }
    }
    let ops = operations(keypos, args[2]);
    ctx.bump(ops.as_ref().map_or(0, Vec::len));
    let key = args[1];
    let done = with_row_to_change(user(ctx), &table, key, default, |row| {
        let default = default.as_tuple().map(|t| t.elements());
        let Some(elements) = row.or(default) else { return bad(ctx, am::badkey) };
        let Some(ops) = &ops else { return badarg() };
        let mut changes: Changes = Vec::with_capacity(ops.len());
        let mut results = Vec::with_capacity(ops.len());
        for op in ops {
            if op.at == keypos {
                return bad(ctx, am::keypos);
            }
            let Some(element) = elements.get(op.at) else { return bad(ctx, am::position) };
            let known = changes.iter().position(|(at, _)| *at == op.at);
            let old = known.map_or(*element, |i| changes[i].1);
            let value = count(ctx, op, old)?;
            match known {
                Some(i) => changes[i].1 = value,
                None => changes.push((op.at, value)),
            }
            results.push(value);
        }
        debug_assert!(results.len() == ops.len() && changes.len() <= ops.len());
        Ok((results, changes))
    });
    match done {
        Ok(Ok(results)) if args[2].is_list() => Ok(ctx.list(&results)),
        Ok(Ok(results)) => results.first().copied().ok_or(BADARG),
        Ok(Err(escape)) => Err(escape),
        Err(g) => gone(ctx, g),
    }
}

/// The new value, on the caller's heap.
fn count(ctx: &mut Ctx<'_>, op: &Operation, old: TermRef<'_>) -> BifResult {
    if !old.is_integer() {
        return badarg();
    }
    let new = arith::add(ctx, old, op.by).map_err(|_| SYSTEM_LIMIT)?;
    let Some((limit, reset)) = op.limit else { return Ok(own(ctx, new)) };
    let falls = op.by.as_small().is_some_and(|v| v < 0) || op.by.as_big().is_some_and(|(negative, _)| negative);
    let beyond = if falls { compare(new, limit).is_lt() } else { compare(new, limit).is_gt() };
    Ok(if beyond { reset } else { own(ctx, new) })
}

/// A sum may be one of its operands, which lies in the row.
fn own(ctx: &mut Ctx<'_>, value: Term) -> Term {
    copy_out(value, ctx)
}

fn update_element_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = set_table(ctx, args[0], Term::NONE)?;
    let keypos = table.options.keypos;
    let spec = args[2];
    if let Some([at, value]) = spec.as_tuple_of::<2>()
        && value.is_immediate()
        && let Some(at) = at.as_usize().and_then(|p| p.checked_sub(1))
    {
        match change_one(user(ctx), &table, args[1], at, |_| Some(value)) {
            Ok(Some(_)) => return Ok(Term::TRUE),
            Ok(None) => {}
            Err(g) => return gone(ctx, g),
        }
    }
    let done = with_row_to_change(user(ctx), &table, args[1], Term::NONE, |row| {
        let Some(elements) = row else { return Ok((Term::FALSE, Vec::new())) };
        let mut changes: Changes = Vec::new();
        let mut change = |ctx: &mut Ctx<'_>, item: Term| {
            let Some([at, value]) = item.as_tuple_of::<2>() else { return badarg() };
            let Some(at) = at.as_usize().and_then(|p| p.checked_sub(1)) else { return badarg() };
            if at == keypos {
                return bad(ctx, am::keypos);
            }
            if at >= elements.len() {
                return badarg();
            }
            changes.retain(|(other, _)| *other != at);
            changes.push((at, value));
            Ok(())
        };
        if spec.is_list() {
            let mut items = spec.list_iter();
            for item in items.by_ref() {
                change(ctx, item)?;
            }
            if !items.tail().is_nil() {
                return badarg();
            }
        } else {
            change(ctx, spec)?;
        }
        Ok((Term::TRUE, changes))
    });
    match done {
        Ok(result) => result,
        Err(g) => gone(ctx, g),
    }
}
