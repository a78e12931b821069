//! Inserting, looking up and deleting by key.

use crate::access::{Need, bad, caller, gone, table, user};
use crate::row::{Measured, NewRow, Row, list_reversed};
use crate::store::{Rows, on_store};
use crate::table::{Kind, Table};
use myriad_sync::Arc;
use myriad_term::equal::eq_exact;
use myriad_term::{Arena, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ROWS = "ets" {
    "insert" / 2 Plain => insert_2;
    "insert_new" / 2 Plain => insert_new_2;
    "lookup" / 2 Plain => lookup_2;
    "lookup_element" / 3 Plain => lookup_element_3;
    "member" / 2 Plain => member_2;
    "delete" / 2 Plain => delete_2;
    "delete_object" / 2 Plain => delete_object_2;
    "take" / 2 Plain => take_2;
}}

/// How many rows make a whole slice's work when they are copied.
const ROWS_PER_REDUCTION: usize = 8;

/// The key of an object, if it can be in the table.
fn key_of(table: &Table, object: Term) -> Option<Term> {
    object.as_tuple()?.elements().get(table.options.keypos).copied()
}

fn new_row(table: &Table, object: Term) -> Option<NewRow> {
    let hash = table.hash(key_of(table, object)?);
    Some(table.new_row(object, hash))
}

/// Objects copied before the process may give way.
const COPIES: usize = 64;

/// A list on its way into a table. Copying it takes the most time and gives way; then all goes in under one lock.
struct Listed {
    table: Arc<Table>,
    rows: Vec<NewRow>,
    left: Term,
    /// Only if there is no object of any of the keys.
    new: bool,
}

/// Inserts the objects of a list, all or none.
fn insert_list(ctx: &mut Ctx<'_>, mut l: Listed) -> BifResult {
    while !l.left.is_nil() {
        let before = l.rows.len();
        for _ in 0..COPIES {
            let Some((object, rest)) = l.left.as_cons() else { break };
            let Some(row) = new_row(&l.table, object) else { return badarg() };
            l.rows.push(row);
            l.left = rest;
        }
        if !l.left.is_list() {
            return badarg();
        }
        ctx.bump(l.rows.len() - before);
        if ctx.exhausted() {
            let mut rest = Some(l);
            return ctx.yield_to(Box::new(move |ctx| match rest.take() {
                Some(rest) => insert_list(ctx, rest),
                None => badarg(),
            }));
        }
    }
    // A bag takes them from the last, as OTP does.
    if l.table.options.kind == Kind::Bag {
        l.rows.reverse();
    }
    on_store!(&l.table.store, rows => rows.insert_all(&l.table, caller(ctx), l.rows, l.new))
        .map(Term::bool)
        .or_else(|g| gone(ctx, g))
}

/// Words of objects that are copied within a lock.
const SMALL: usize = 64;

fn insert_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    if !args[1].is_list() {
        let Some(key) = key_of(&table, args[1]) else { return badarg() };
        if !table.options.compressed && matches!(table.options.kind, Kind::Set | Kind::OrderedSet) {
            let tuple = Measured::of(args[1]);
            if tuple.words() <= SMALL {
                // Copied under the lock: most often the place of an older object is taken over as it is.
                ctx.bump(tuple.words() / 16);
                let done = on_store!(&table.store, rows => rows.insert_tuple(&table, caller(ctx), tuple, key));
                return done.map(|()| Term::TRUE).or_else(|g| gone(ctx, g));
            }
        }
        let row = table.new_row(args[1], table.hash(key));
        ctx.bump(row.row().words() / 16);
        let done = on_store!(&table.store, rows => rows.insert(&table, caller(ctx), row));
        return done.map(|()| Term::TRUE).or_else(|g| gone(ctx, g));
    }
    insert_list(ctx, Listed { table: table.shared(), rows: Vec::new(), left: args[1], new: false })
}

fn insert_new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    if !args[1].is_list() {
        let Some(key) = key_of(&table, args[1]) else { return badarg() };
        let done = on_store!(&table.store, rows => rows.insert_new(&table, caller(ctx), args[1], key));
        return done.map(Term::bool).or_else(|g| gone(ctx, g));
    }
    insert_list(ctx, Listed { table: table.shared(), rows: Vec::new(), left: args[1], new: true })
}

fn lookup_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let key = args[1];
    let found = if matches!(table.options.kind, Kind::Set | Kind::OrderedSet) {
        table.with_row(user(ctx), key, |row| match row {
            Some(row) => {
                let copy = row.copy_to(ctx);
                ctx.cons(copy, Term::NIL)
            }
            None => Term::NIL,
        })
    } else {
        let mut count = 0;
        let list = table.with_rows(user(ctx), key, |rows| {
            count = 0;
            list_reversed(rows.inspect(|_| count += 1), ctx)
        });
        ctx.bump(count / ROWS_PER_REDUCTION);
        list
    };
    found.or_else(|g| gone(ctx, g))
}

fn lookup_element_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let Some(at) = args[2].as_usize().and_then(|p| p.checked_sub(1)) else { return badarg() };
    // Without an element: is there a row of the key?
    let mut known = false;
    let found = if matches!(table.options.kind, Kind::Set | Kind::OrderedSet) {
        table.with_row(user(ctx), args[1], |row| {
            known = row.is_some();
            row?.copy_element(at, ctx)
        })
    } else {
        table.with_rows(user(ctx), args[1], |rows| {
            known = false;
            let mut list = None;
            for row in rows {
                known = true;
                let element = row.copy_element(at, ctx)?;
                list = Some(ctx.cons(element, list.unwrap_or(Term::NIL)));
            }
            list
        })
    };
    match found {
        Ok(Some(element)) => Ok(element),
        Ok(None) if known => badarg(),
        Ok(None) => bad(ctx, am::badkey),
        Err(g) => gone(ctx, g),
    }
}

fn member_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    table.with_row(user(ctx), args[1], |row| Term::bool(row.is_some())).or_else(|g| gone(ctx, g))
}

fn delete_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let key = args[1];
    let done = on_store!(&table.store, rows => rows.delete(&table, caller(ctx), key, |_| true));
    match done {
        Ok(count) => {
            ctx.bump(count / ROWS_PER_REDUCTION);
            Ok(Term::TRUE)
        }
        Err(g) => gone(ctx, g),
    }
}

fn delete_object_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let object = args[1];
    let Some(key) = key_of(&table, object) else { return badarg() };
    let is_it = |row: Row<'_>| eq_exact(row.term(&Arena::new()), object);
    let done = on_store!(&table.store, rows => rows.delete(&table, caller(ctx), key, is_it));
    done.map(|_| Term::TRUE).or_else(|g| gone(ctx, g))
}

fn take_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    on_store!(&table.store, rows => rows.take(&table, ctx, args[1])).or_else(|g| gone(ctx, g))
}
