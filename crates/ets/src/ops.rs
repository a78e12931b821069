//! Inserting, looking up and deleting by key.

use crate::access::{Need, bad, gone, table, user};
use crate::hash::{Fixed, Writing};
use crate::row::{NewRow, list_reversed, tuple_words};
use crate::table::{Gone, Kind, Store, Table};
use myriad_sync::Arc;
use myriad_term::equal::eq_exact;
use myriad_term::hash::table_hash;
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

/// Puts one row into its shard as the table's type wants it.
fn put(shard: &mut Writing<'_>, kind: Kind, row: NewRow, fixed: Fixed) {
    match kind {
        Kind::Set | Kind::OrderedSet => shard.insert_set(row, fixed),
        Kind::Bag => shard.insert_bag(row, fixed),
        Kind::DuplicateBag => shard.insert_duplicate(row, fixed),
    }
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
    insert_rows(ctx, &l.table, l.rows, l.new).map(Term::bool).or_else(|g| gone(ctx, g))
}

fn insert_rows(ctx: &Ctx<'_>, table: &Table, rows: Vec<NewRow>, new: bool) -> Result<bool, Gone> {
    let (kind, keypos) = (table.options.kind, table.options.keypos);
    match &table.store {
        Store::Hash(shards) => {
            let mut guards = table.write_all(user(ctx), shards)?;
            let mask = guards.len() - 1;
            let there = |row: &NewRow| {
                let (hash, key) = (row.row().hash(), row.row().key(keypos));
                guards[hash as usize & mask].row_of(hash, key).is_some()
            };
            if new && rows.iter().any(there) {
                return Ok(false);
            }
            for row in rows {
                put(&mut guards[row.row().hash() as usize & mask], kind, row, table.fixed());
            }
            guards.into_iter().for_each(|shard| shard.done(ctx.sched.slices.as_ref()));
        }
        Store::Tree(tree) => {
            let mut tree = table.write_tree(user(ctx), tree)?;
            if new && rows.iter().any(|row| tree.row_of(row.row().key(keypos)).is_some()) {
                return Ok(false);
            }
            rows.into_iter().for_each(|row| tree.insert(row));
        }
    }
    Ok(true)
}

/// Words of objects that are copied within a lock.
const SMALL: usize = 64;

/// Inserts one small object into a set that is not compressed.
fn insert_small(ctx: &Ctx<'_>, table: &Table, object: Term, words: usize, key: Term) -> Result<(), Gone> {
    match &table.store {
        Store::Hash(shards) => {
            let hash = table_hash(key);
            let mut shard = table.write_shard(user(ctx), shards, hash)?;
            shard.insert_tuple(object, words, key, hash, table.fixed());
            shard.done(ctx.sched.slices.as_ref());
        }
        Store::Tree(tree) => table.write_tree(user(ctx), tree)?.insert_tuple(object, words, key),
    }
    Ok(())
}

/// Inserts one object if there is none of its key.
fn insert_one_new(ctx: &Ctx<'_>, table: &Table, object: Term, key: Term) -> Result<bool, Gone> {
    match &table.store {
        Store::Hash(shards) => {
            let hash = table_hash(key);
            // Most often one looks like this to find that it is there.
            if table.look_at(user(ctx), shards, hash, |shard| shard.row_of(hash, key).is_some())? {
                return Ok(false);
            }
            let mut shard = table.write_shard(user(ctx), shards, hash)?;
            if shard.row_of(hash, key).is_some() {
                return Ok(false);
            }
            put(&mut shard, table.options.kind, table.new_row(object, hash), table.fixed());
            shard.done(ctx.sched.slices.as_ref());
        }
        Store::Tree(tree) => {
            let mut tree = table.write_tree(user(ctx), tree)?;
            if tree.row_of(key).is_some() {
                return Ok(false);
            }
            tree.insert(table.new_row(object, 0));
        }
    }
    Ok(true)
}

fn insert_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    if !args[1].is_list() {
        let Some(key) = key_of(&table, args[1]) else { return badarg() };
        if !table.options.compressed && matches!(table.options.kind, Kind::Set | Kind::OrderedSet) {
            let words = tuple_words(args[1]);
            if words <= SMALL {
                // Copied under the lock: most often the place of an older object is taken over as it is.
                ctx.bump(words / 16);
                return insert_small(ctx, &table, args[1], words, key).map(|()| Term::TRUE).or_else(|g| gone(ctx, g));
            }
        }
        let row = table.new_row(args[1], table.hash(key));
        ctx.bump(row.row().words() / 16);
        let done = match &table.store {
            Store::Hash(shards) => table.write_shard(user(ctx), shards, row.row().hash()).map(|mut shard| {
                put(&mut shard, table.options.kind, row, table.fixed());
                shard.done(ctx.sched.slices.as_ref());
            }),
            Store::Tree(tree) => table.write_tree(user(ctx), tree).map(|mut tree| tree.insert(row)),
        };
        return done.map(|()| Term::TRUE).or_else(|g| gone(ctx, g));
    }
    insert_list(ctx, Listed { table: table.shared(), rows: Vec::new(), left: args[1], new: false })
}

fn insert_new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    if !args[1].is_list() {
        let Some(key) = key_of(&table, args[1]) else { return badarg() };
        return insert_one_new(ctx, &table, args[1], key).map(Term::bool).or_else(|g| gone(ctx, g));
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
    let done = match &table.store {
        Store::Hash(shards) => {
            let hash = table_hash(key);
            table.write_shard(user(ctx), shards, hash).map(|mut shard| {
                let count = shard.delete(hash, key, table.fixed(), |_| true);
                shard.done(ctx.sched.slices.as_ref());
                count
            })
        }
        Store::Tree(tree) => table.write_tree(user(ctx), tree).map(|mut tree| tree.delete(key, |_| true).into()),
    };
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
    let done = match &table.store {
        Store::Hash(shards) => {
            let hash = table_hash(key);
            table.write_shard(user(ctx), shards, hash).map(|mut shard| {
                shard.delete(hash, key, table.fixed(), |row| eq_exact(row.term(&mut Arena::new()), object));
                shard.done(ctx.sched.slices.as_ref());
            })
        }
        Store::Tree(tree) => table.write_tree(user(ctx), tree).map(|mut tree| {
            tree.delete(key, |row| eq_exact(row.term(&mut Arena::new()), object));
        }),
    };
    done.map(|()| Term::TRUE).or_else(|g| gone(ctx, g))
}

fn take_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let key = args[1];
    let done = match &table.store {
        Store::Hash(shards) => {
            let hash = table_hash(key);
            table.write_shard(user(ctx), shards, hash).map(|mut shard| {
                let list = list_reversed(shard.rows_of(hash, key), ctx);
                if !list.is_nil() {
                    shard.delete(hash, key, table.fixed(), |_| true);
                }
                shard.done(ctx.sched.slices.as_ref());
                list
            })
        }
        Store::Tree(tree) => table.write_tree(user(ctx), tree).map(|mut tree| {
            let list = list_reversed(tree.row_of(key).into_iter(), ctx);
            tree.delete(key, |_| true);
            list
        }),
    };
    done.or_else(|g| gone(ctx, g))
}
