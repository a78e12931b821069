//! Histories of small operations by several threads on one table, checked for linearizability (Herlihy and Wing, 1990): is there an order
//! of all operations, in which each that ended before another began comes first, and in which a plain map gives the same answers?
//!
//! The search is that of Wing and Gong (1993), with states that were tried before left out (Lowe, 2017). Between two operations threads split
//! and join the trees of an adapting table, and divide the shards of a hash table. It finds in less than 50 seeds that a writer does not ask whether the routes have changed
//! (ets/AD1), and that a step to the next key gives up one tree's lock before it has that of the next.

use crate::store::{Caller, Rows, Store, on_store};
use crate::table::{Kind, Table, WriteConcurrency};
use crate::test_support::{domain, table};
use crate::tree::{Place, Way};
use crate::trees::Trees;
use myriad_sync::{Arc, Progress, ThreadSlot};
use myriad_term::{Arena, Build, Pid, Term, TermRef};
use myriad_testing::Random;
use std::collections::{BTreeMap, HashSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

const KEYS: i64 = 6;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Call {
    Insert(i64, i64),
    InsertNew(i64, i64),
    InsertAll([(i64, i64); 3]),
    Lookup(i64),
    Delete(i64),
    Add(i64),
    Next(i64),
    Previous(i64),
    Clear,
}

/// What it got: a value, a key, a number of rows; nothing.
type Answer = Option<i64>;
type Model = BTreeMap<i64, i64>;

/// A call, its answer, and the moments at which it began and ended.
#[derive(Clone, Copy, Debug)]
struct Operation {
    call: Call,
    answer: Answer,
    begin: usize,
    end: usize,
}

impl Call {
    fn random(random: &mut Random, ordered: bool) -> Call {
        let (key, value) = (random.below(KEYS as u64) as i64, random.below(100u64) as i64);
        match random.below(if ordered { 12 } else { 9 }) {
            0 | 1 => Call::Insert(key, value),
            2 => Call::InsertNew(key, value),
            3 => Call::InsertAll([(key, value), ((key + 2) % KEYS, value), ((key + 4) % KEYS, value)]),
            4 => Call::Lookup(key),
            5 | 6 => Call::Delete(key),
            7 => Call::Add(key),
            8 if random.once_in(3) => Call::Clear,
            8 => Call::Lookup(key),
            9 | 10 => Call::Next(key),
            _ => Call::Previous(key),
        }
    }

    /// What it does to a map.
    fn apply(self, model: &mut Model) -> Answer {
        match self {
            Call::Insert(key, value) => {
                model.insert(key, value);
                None
            }
            Call::InsertNew(key, value) => {
                let new = !model.contains_key(&key);
                model.entry(key).or_insert(value);
                Some(new.into())
            }
            Call::InsertAll(rows) => {
                model.extend(rows);
                None
            }
            Call::Lookup(key) => model.get(&key).copied(),
            Call::Delete(key) => Some(model.remove(&key).is_some().into()),
            Call::Add(key) => model.get_mut(&key).map(|value| {
                *value += 1;
                *value
            }),
            Call::Next(key) => model.range(key + 1..).next().map(|(key, _)| *key),
            Call::Previous(key) => model.range(..key).next_back().map(|(key, _)| *key),
            Call::Clear => Some(std::mem::take(model).len() as i64),
        }
    }

    /// What it does to a table.
    fn run(self, table: &Table, by: Caller<'_>) -> Answer {
        let mut arena = &Arena::new();
        let mut tuple = |key, value| arena.tuple(&[Term::small(key), Term::small(value)]);
        let mut row = |(key, value)| table.new_row(tuple(key, value), table.hash(Term::small(key)));
        let value = |row: crate::row::Row<'_>| {
            let copy = &Arena::new();
            row.copy_to(&mut { copy }).as_tuple_of::<2>().and_then(|[_, value]| value.as_small())
        };
        on_store!(&table.store, rows => match self {
            Call::Insert(key, value) => rows.insert(table, by, row((key, value))).map(|()| None),
            Call::InsertNew(key, value) =>
                rows.insert_new(table, by, tuple(key, value), Term::small(key)).map(|new| Some(new.into())),
            Call::InsertAll(all) =>
                rows.insert_all(table, by, all.into_iter().map(row).collect(), false).map(|_| None),
            Call::Lookup(key) => rows.with_row(table, by.user, Term::small(key), |row| row.and_then(value)),
            Call::Delete(key) => rows.delete(table, by, Term::small(key), |_| true).map(|count| Some(count as i64)),
            Call::Add(key) => rows.change(table, by.user, Term::small(key), |row, hash| {
                let Some(sum) = row.and_then(value).map(|value| value + 1) else { return Err(()) };
                let memory = Arena::new();
                let new = { &memory }.tuple(&[Term::small(key), Term::small(sum)]);
                Ok((sum, Some(table.new_row(new, hash))))
            }).map(Result::ok),
            Call::Clear => rows.clear(table, by.user).map(|(taken, count)| {
                leave(taken, by);
                Some(count as i64)
            }),
            Call::Next(key) => Ok(step(table, by, key, true)),
            Call::Previous(key) => Ok(step(table, by, key, false)),
        })
        .unwrap_or_else(|_| panic!("the table is not deleted"))
    }
}

/// Rows are freed when nobody looks at them any more.
fn leave(taken: crate::table::Taken, by: Caller<'_>) {
    let slot = by.slices.expect("a user");
    let taken = std::sync::Mutex::new(Some(taken));
    slot.retire(move || drop(taken.lock().expect("not poisoned").take()));
}

fn step(table: &Table, by: Caller<'_>, key: i64, upwards: bool) -> Answer {
    match &table.store {
        Store::Tree(trees) => step_in(trees, table, by, key, upwards),
        Store::Adapting(trees) => step_in(trees, table, by, key, upwards),
        Store::Hash(_) => panic!("a hash table has no order"),
    }
}

fn step_in(trees: &impl Trees, table: &Table, by: Caller<'_>, key: i64, upwards: bool) -> Answer {
    let from = if upwards { Place::After(Term::small(key)) } else { Place::Before(Term::small(key)) };
    let found = trees.nearest(
        table,
        by.user,
        Way { from, upwards },
        |tree| if upwards { tree.next(from) } else { tree.prev(from) }.map(|row| row.key(0)),
        |key| key.and_then(TermRef::as_small),
    );
    found.unwrap_or_else(|_| panic!("the table is not deleted"))
}

/// Is there an order that explains a history? `done` has a bit for each operation that is in it already.
fn explains(history: &[Operation], done: u64, model: &Model, seen: &mut HashSet<(u64, Model)>) -> bool {
    if done.count_ones() as usize == history.len() {
        return true;
    }
    if !seen.insert((done, model.clone())) {
        return false;
    }
    let open = || history.iter().enumerate().filter(|(i, _)| done >> i & 1 == 0);
    // The next one began before any other ended.
    let first_end = open().map(|(_, operation)| operation.end).min().unwrap_or(usize::MAX);
    open().filter(|(_, operation)| operation.begin < first_end).any(|(i, operation)| {
        let mut after = model.clone();
        operation.call.apply(&mut after) == operation.answer && explains(history, done | 1 << i, &after, seen)
    })
}

fn is_linearizable(history: &[Operation], first: &Model) -> bool {
    explains(history, 0, first, &mut HashSet::new())
}

/// The operations of one thread, one slice each.
fn thread(
    table: &Table,
    number: u32,
    seed: u64,
    length: usize,
    time: &AtomicUsize,
    slot: &ThreadSlot,
) -> Vec<Operation> {
    let mut random = Random::new(seed);
    let by = Caller { user: Some(Pid::new(number, 0)), slices: Some(slot) };
    let one = |_| {
        slot.quiescent();
        if let Store::Adapting(trees) = &table.store
            && random.once_in(2)
        {
            let key = Term::small(random.below(KEYS as u64) as i64);
            trees.adapt_at(table, by.user, key, !random.once_in(3));
        }
        if let Store::Hash(shards) = &table.store
            && random.once_in(2)
        {
            let hash = table.hash(Term::small(random.below(KEYS as u64) as i64));
            let mut shard = table.write_any(by.user, shards, hash);
            table.divide(shards, &mut shard);
            shard.done(by.slices);
        }
        let call = Call::random(&mut random, table.store.is_ordered());
        // SeqCst: one order of all beginnings and ends.
        let begin = time.fetch_add(1, Ordering::SeqCst);
        let answer = call.run(table, by);
        let end = time.fetch_add(1, Ordering::SeqCst);
        Operation { call, answer, begin, end }
    };
    (0..length).map(one).collect()
}

/// A history of four threads on a new table, and what was in it.
fn record(
    seed: u64,
    kind: Kind,
    write_concurrency: WriteConcurrency,
    slices: &'static Arc<Progress>,
) -> (Vec<Operation>, Model) {
    let table = table(kind, write_concurrency, slices);
    let first: Model = (0..KEYS).step_by(2).map(|key| (key, key)).collect();
    {
        let slot = slices.register().expect("room");
        let by = Caller { user: Some(Pid::new(1, 0)), slices: Some(&slot) };
        first.iter().for_each(|(key, value)| assert_eq!(Call::Insert(*key, *value).run(&table, by), None));
    }
    let (time, start) = (AtomicUsize::new(0), Barrier::new(4));
    let history = scope(|s| {
        let threads: Vec<_> = (1..5u32)
            .map(|number| {
                let (table, time, start) = (&table, &time, &start);
                s.spawn(move || {
                    let slot = slices.register().expect("room");
                    start.wait();
                    thread(table, number, seed * 4 + u64::from(number), 6, time, &slot)
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    (history, first)
}

#[test]
fn histories_are_linearizable() {
    let slices = domain(8);
    let kinds = [
        (Kind::Set, WriteConcurrency::No),
        (Kind::Set, WriteConcurrency::Yes),
        (Kind::OrderedSet, WriteConcurrency::No),
        (Kind::OrderedSet, WriteConcurrency::Yes),
    ];
    let mut overlapping = 0;
    for seed in 0..if cfg!(miri) { 2 } else { 400 } {
        for (kind, write_concurrency) in kinds {
            let (history, first) = record(seed, kind, write_concurrency, slices);
            overlapping += history.iter().filter(|operation| operation.end > operation.begin + 1).count();
            assert!(is_linearizable(&history, &first), "{kind:?} {write_concurrency:?}, seed {seed}: {history:#?}");
        }
    }
    assert!(cfg!(miri) || overlapping > 50, "operations overlapped {overlapping} times");
}

/// The checker refuses what cannot be: a value that was written over before the look began, and a step over a key that stood there.
#[test]
fn the_checker_finds_what_is_no_order() {
    let operation = |call, answer, begin, end| Operation { call, answer, begin, end };
    let first = Model::from([(0, 0), (4, 4)]);
    let stale = |begin| [operation(Call::Insert(0, 1), None, 0, 1), operation(Call::Lookup(0), Some(0), begin, 3)];
    assert!(!is_linearizable(&stale(2), &first));
    assert!(is_linearizable(&[operation(Call::Insert(0, 1), None, 0, 2), stale(1)[1]], &first));
    let behind_its_back = [
        operation(Call::Next(0), Some(3), 0, 5),
        operation(Call::Insert(1, 1), None, 1, 2),
        operation(Call::Insert(3, 3), None, 3, 4),
    ];
    assert!(!is_linearizable(&behind_its_back, &first));
}
