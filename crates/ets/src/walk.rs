//! Going through a table key by key: first, last, next, prev, slot.

use crate::access::{InUse, Need, gone, table, user};
use crate::cursor;
use crate::row::{Row, copy_out, list_reversed};
use crate::table::{Gone, Store, Table};
use crate::tree::Place;
use myriad_term::hash::table_hash;
use myriad_term::{Term, am};
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

/// Where a walk through the buckets of a hash table is: shard by shard, bucket by bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Which shard.
    pub shard: usize,
    /// Which of its buckets.
    pub index: usize,
}

impl Bucket {
    /// As one number, as `ets:slot/2` counts.
    pub fn to_number(self, shards: usize) -> usize {
        self.index * shards + self.shard
    }

    /// From its number.
    pub fn from_number(number: usize, shards: usize) -> Bucket {
        Bucket { shard: number & (shards - 1), index: number / shards }
    }
}

fn answer(ctx: &mut Ctx<'_>, key: Option<Term>) -> Term {
    key.map_or(am::end_of_table.term(), |key| copy_out(key, ctx))
}

/// The key of a row.
fn key_of(table: &Table, row: Option<Row>) -> Option<Term> {
    row.map(|row| row.key(table.options.keypos))
}

/// Buckets gone through without looking up.
const STRETCH: usize = 1024;

/// The key of the first visible row in or after a bucket.
fn first_from(ctx: &mut Ctx<'_>, table: &Table, mut at: Bucket) -> Result<Term, Gone> {
    let Store::Hash(shards) = &table.store else { return Ok(am::end_of_table.term()) };
    while at.shard < shards.len() {
        let to = at.index.saturating_add(STRETCH);
        // The key, or where to go on: at this bucket, or in the next shard.
        let found = table.look_at(user(ctx), shards, at.shard as u32, |shard| {
            let end = if shard.len() > 0 { shard.buckets() } else { 0 };
            match (at.index..end.min(to)).find_map(|i| shard.bucket(i).next()) {
                Some(row) => Ok(answer(ctx, key_of(table, Some(row)))),
                None => Err((to < end).then_some(to)),
            }
        })?;
        match found {
            Ok(key) => return Ok(key),
            Err(Some(index)) => {
                ctx.bump(STRETCH / 64);
                at.index = index;
            }
            Err(None) => at = Bucket { shard: at.shard + 1, index: 0 },
        }
    }
    Ok(am::end_of_table.term())
}

fn first_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    first_key(ctx, &table).or_else(|g| gone(ctx, g))
}

fn first_key(ctx: &mut Ctx<'_>, table: &InUse) -> Result<Term, Gone> {
    match &table.store {
        Store::Hash(_) => first_from(ctx, table, Bucket { shard: 0, index: 0 }),
        Store::Tree(tree) => {
            let tree = table.read_tree(user(ctx), tree)?;
            let key = key_of(table, tree.next(Place::Start));
            cursor::begin(&tree, key, true);
            Ok(answer(ctx, key))
        }
    }
}

fn last_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let found = match &table.store {
        Store::Hash(_) => first_key(ctx, &table),
        Store::Tree(tree) => table.read_tree(user(ctx), tree).map(|tree| {
            let key = key_of(&table, tree.prev(Place::End));
            cursor::begin(&tree, key, false);
            answer(ctx, key)
        }),
    };
    found.or_else(|g| gone(ctx, g))
}

/// The key after one in a hash table; nothing if there is no row of the key.
fn after(ctx: &mut Ctx<'_>, table: &Table, key: Term) -> Result<Option<Term>, Gone> {
    let Store::Hash(shards) = &table.store else { return Ok(None) };
    let hash = table_hash(key);
    let found = table.look_at(user(ctx), shards, hash, |shard| match shard.after(hash, key) {
        Some(Ok(row)) => Some(Ok(answer(ctx, key_of(table, Some(row))))),
        Some(Err(bucket)) => Some(Err(bucket)),
        None => None,
    })?;
    let bucket = match found {
        None => return Ok(None),
        Some(Ok(key)) => return Ok(Some(key)),
        Some(Err(bucket)) => bucket,
    };
    let at = Bucket { shard: hash as usize & (shards.len() - 1), index: bucket + 1 };
    first_from(ctx, table, at).map(Some)
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
    let tree = match &table.store {
        Store::Hash(_) => {
            return match after(ctx, &table, args[1]) {
                Ok(Some(key)) => Ok(key),
                Ok(None) => badarg(),
                Err(g) => gone(ctx, g),
            };
        }
        Store::Tree(tree) => tree,
    };
    // What `next` and `prev` end with is no key to them.
    if args[1].is_am(am::end_of_table) {
        return badarg();
    }
    match table.read_tree(user(ctx), tree) {
        Ok(tree) => Ok(answer(ctx, cursor::step(&tree, args[1], upwards))),
        Err(g) => gone(ctx, g),
    }
}

fn slot_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let Some(number) = args[1].as_usize() else { return badarg() };
    let end = am::end_of_table.term();
    let found = match &table.store {
        Store::Hash(shards) => {
            let total: usize = shards.iter().map(|s| s.buckets()).sum();
            if number >= total {
                return if number == total { Ok(end) } else { badarg() };
            }
            // The shards may have different numbers of buckets: counts through them one after another.
            let mut left = number;
            let mut list = Ok(Term::NIL);
            for i in 0..shards.len() {
                match table.read_shard(user(ctx), shards, i as u32) {
                    Ok(shard) if left < shard.buckets() => {
                        list = Ok(list_reversed(shard.bucket(left), ctx));
                        break;
                    }
                    Ok(shard) => left -= shard.buckets(),
                    Err(g) => {
                        list = Err(g);
                        break;
                    }
                }
            }
            list
        }
        Store::Tree(tree) => {
            let tree = match table.read_tree(user(ctx), tree) {
                Ok(tree) => tree,
                Err(g) => return gone(ctx, g),
            };
            if number > tree.len() {
                return badarg();
            }
            ctx.bump(number / 16);
            match tree.nth(number) {
                Some(row) => Ok(list_reversed(std::iter::once(row), ctx)),
                None => Ok(end),
            }
        }
    };
    found.or_else(|g| gone(ctx, g))
}
