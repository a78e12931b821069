//! What tables tell about themselves.

use crate::access::{InUse, Need, bad, find, gone, identifier, table, user};
use crate::hash::Fixed;
use crate::row::Row;
use crate::store::{Rows, on_store};
use crate::table::{Heir, Kind, Protection, Table, WriteConcurrency};
use myriad_term::{Atom, Build, Kind as Boxed, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Escape};

myriad_vm::bifs! { pub INFO = "ets" {
    "info" / 1 Plain => info_1;
    "info" / 2 Plain => info_2;
}}

myriad_vm::bifs! { pub BINARIES = "erts_internal" {
    "ets_lookup_binary_info" / 2 Plain => ets_lookup_binary_info_2;
}}

/// The items of `ets:info/1`, in its order.
const ITEMS: [Atom; 15] = [
    am::id,
    am::decentralized_counters,
    am::read_concurrency,
    am::write_concurrency,
    am::compressed,
    am::memory,
    am::owner,
    am::heir,
    am::name,
    am::size,
    am::node,
    am::named_table,
    am::type_,
    am::keypos,
    am::protection,
];

/// The table of an argument, if it is one that exists.
fn existing(ctx: &mut Ctx<'_>, term: Term) -> Result<Option<InUse>, Escape> {
    match find(ctx.vm, term) {
        Ok(table) if table.is_deleted() => Ok(None),
        Ok(table) => Ok(Some(table)),
        Err(am::id) => Ok(None),
        Err(cause) => bad(ctx, cause),
    }
}

fn info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(table) = existing(ctx, args[0])? else { return Ok(Term::UNDEFINED) };
    let mut pairs = Vec::with_capacity(ITEMS.len());
    for item in ITEMS {
        let Some(value) = value(ctx, &table, item) else { continue };
        pairs.push(ctx.tuple(&[item.term(), value]));
    }
    Ok(ctx.list(&pairs))
}

fn info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(table) = existing(ctx, args[0])? else { return Ok(Term::UNDEFINED) };
    let Some(item) = args[1].as_atom() else { return badarg() };
    match value(ctx, &table, item).or_else(|| rarer_value(ctx, &table, item)) {
        Some(value) => Ok(value),
        None => badarg(),
    }
}

fn value(ctx: &mut Ctx<'_>, table: &InUse, item: Atom) -> Option<Term> {
    let options = &table.options;
    Some(match item {
        am::id => identifier(ctx, table.arc()),
        am::decentralized_counters => Term::bool(options.decentralized_counters),
        am::read_concurrency => Term::bool(options.read_concurrency),
        am::write_concurrency => match options.write_concurrency {
            WriteConcurrency::No => Term::FALSE,
            WriteConcurrency::Yes => Term::TRUE,
            WriteConcurrency::Auto => am::auto.term(),
            WriteConcurrency::Shards(shift) => {
                ctx.tuple(&[am::debug_hash_fixed_number_of_locks.term(), Term::small(1 << shift)])
            }
        },
        am::compressed => Term::bool(options.compressed),
        am::memory => Term::small(table.words() as i64),
        am::owner => table.owner().term(),
        am::heir => match &*table.heir.lock() {
            Heir::None => am::none.term(),
            Heir::Process(heir, ..) if heir.process(ctx.vm).is_some_and(|p| !p.is_exiting()) => heir.pid.term(),
            Heir::Process(..) => am::none.term(),
        },
        am::name => table.name().term(),
        am::size => Term::small(table.len() as i64),
        am::node => ctx.vm.node_name().term(),
        am::named_table => Term::bool(options.named),
        am::type_ => match options.kind {
            Kind::Set => am::set,
            Kind::OrderedSet => am::ordered_set,
            Kind::Bag => am::bag,
            Kind::DuplicateBag => am::duplicate_bag,
        }
        .term(),
        am::keypos => Term::small(options.keypos as i64 + 1),
        am::protection => match table.protection() {
            Protection::OwnerState => am::private,
            Protection::Protected => am::protected,
            Protection::Public => am::public,
        }
        .term(),
        _ => return None,
    })
}

fn rarer_value(ctx: &mut Ctx<'_>, table: &Table, item: Atom) -> Option<Term> {
    Some(match item {
        am::data => Term::TRUE,
        am::fixed => Term::bool(table.fixed() == Fixed::Yes),
        am::safe_fixed | am::safe_fixed_monotonic_time => {
            let (since, by) = {
                let fixations = table.fixations.lock();
                (fixations.since, fixations.by.clone())
            };
            if by.is_empty() {
                return Some(Term::FALSE);
            }
            let mut list = Term::NIL;
            for (pid, count) in by {
                let pair = ctx.tuple(&[pid.term(), Term::small(count as i64)]);
                list = ctx.cons(pair, list);
            }
            let time = if item == am::safe_fixed_monotonic_time {
                ctx.int(since)
            } else {
                let micros = (since + ctx.vm.clock.offset_ns()) / 1000;
                let parts = [micros / 1_000_000_000_000, micros / 1_000_000 % 1_000_000, micros % 1_000_000];
                ctx.tuple(&parts.map(Term::small))
            };
            ctx.tuple(&[time, list])
        }
        am::stats => stats(ctx, table),
        am::binary => {
            let mut found = Binaries::default();
            on_store!(&table.store, rows => rows.each(table, user(ctx), &mut |row| found.add(row)));
            found.list(ctx)
        }
        _ => return None,
    })
}

/// `{Buckets, Average, Deviation, ExpectedDeviation, Shortest, Longest, Hidden, Locks}` of a hash table's chains.
fn stats(ctx: &mut Ctx<'_>, table: &Table) -> Term {
    let (mut buckets, mut rows, mut squares, mut shortest, mut longest) = (0, 0, 0, usize::MAX, 0);
    let mut each = |length: usize| {
        buckets += 1;
        rows += length;
        squares += length * length;
        shortest = shortest.min(length);
        longest = longest.max(length);
    };
    let hidden = on_store!(&table.store, rows => rows.chains(table, user(ctx), &mut each));
    let Some(hidden) = hidden else { return Term::FALSE };
    ctx.bump(buckets / 8);
    let n = buckets as f64;
    let average = rows as f64 / n;
    let deviation = ((squares as f64 - average * rows as f64) / n).sqrt();
    let expected = (average * (1.0 - 1.0 / n)).sqrt();
    let small = |v: usize| Term::small(v as i64);
    // OTP has these figures in single precision.
    let [average, deviation, expected] = [average, deviation, expected].map(|v| ctx.float(f64::from(v as f32)));
    ctx.tuple(&[
        small(buckets),
        average,
        deviation,
        expected,
        small(shortest),
        small(longest),
        small(hidden),
        small(table.shard_count()),
    ])
}

/// Shared binaries that rows hold: address, size, references.
#[derive(Default)]
struct Binaries(Vec<(u64, usize, usize)>);

impl Binaries {
    fn add(&mut self, row: Row<'_>) {
        row.for_each_off_heap(|object| {
            if object.kind() == Boxed::SharedBinary {
                let shared = object.shared();
                self.0.push((shared.data() as u64, shared.len(), shared.references()));
            }
        });
    }

    /// A list of tuples of them.
    fn list(self, ctx: &mut Ctx<'_>) -> Term {
        ctx.bump(self.0.len() / 8);
        let mut list = Term::NIL;
        for (address, size, references) in self.0.into_iter().rev() {
            let address = ctx.uint(address);
            let item = ctx.tuple(&[address, Term::small(size as i64), Term::small(references as i64)]);
            list = ctx.cons(item, list);
        }
        list
    }
}

/// `{Address, Size, References}` of each shared binary in the rows of a key.
fn ets_lookup_binary_info_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let done = table.with_rows(user(ctx), args[1], |rows| {
        let mut found = Binaries::default();
        rows.for_each(|row| found.add(row));
        found
    });
    match done {
        Ok(found) => Ok(found.list(ctx)),
        Err(g) => gone(ctx, g),
    }
}
