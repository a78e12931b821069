//! Many threads on one table: rows stay whole, counts add up, traversals see what stands still.

use crate::hash::Fixed;
use crate::row::{Measured, NewRow, Row, copy_out};
use crate::shard_map::Rank;
use crate::store::{Caller, Rows, Store, on_store};
use crate::table::{Gone, Kind, Table, WriteConcurrency};
use crate::test_support::{domain, table};
use crate::tree::{Place, Way};
use crate::trees::Trees;
use myriad_sync::{Arc, Progress};
use myriad_term::{Arena, Build, Pid, SharedBinary, Term, TermRef};
use std::thread::scope;

/// `{Key, Value, Value, <<Value>>}`: all three say the same, or the row has been torn.
fn new_row(table: &Table, key: i64, value: i64, binary: &SharedBinary) -> NewRow {
    let mut arena = &Arena::new();
    let bytes = arena.shared_binary(binary.clone());
    let inner = arena.tuple(&[Term::small(value), bytes]);
    let tuple = arena.tuple(&[Term::small(key), Term::small(value), inner]);
    table.new_row(tuple, table.hash(Term::small(key)))
}

fn check(row: Row<'_>) {
    let mut arena = &Arena::new();
    let copy = row.copy_to(&mut arena);
    let [_, value, inner] = copy.as_tuple_of::<3>().expect("three elements");
    let [same, bytes] = inner.as_tuple_of::<2>().expect("two elements");
    assert!(value.is(same));
    assert_eq!(bytes.as_aligned_bytes().map(<[u8]>::len), Some(100));
}

/// A caller that is no process on a normal scheduler.
const NOBODY: Caller<'static> = Caller { user: None, slices: None };

fn insert(table: &Table, row: NewRow) -> Result<(), Gone> {
    on_store!(&table.store, rows => rows.insert(table, NOBODY, row))
}

fn delete(table: &Table, key: i64) -> Result<bool, Gone> {
    on_store!(&table.store, rows => rows.delete(table, NOBODY, Term::small(key), |_| true)).map(|count| count > 0)
}

/// The keys of a walk bucket by bucket, or key by key, without holding a lock between steps.
fn keys(table: &Table) -> Vec<i64> {
    let mut keys = Vec::new();
    match &table.store {
        Store::Hash(shards) => {
            let mut next = Some((Rank::FIRST, 0));
            while let Some((rank, index)) = next {
                let shard = table.read_any(None, shards, shards.hash_at(rank));
                keys.extend(shard.bucket(index).map(|row| row.key(0).small_value()));
                let more = index + 1 < shard.buckets();
                next = if more { Some((rank, index + 1)) } else { shards.after(&shard).map(|rank| (rank, 0)) };
            }
        }
        Store::Tree(trees) => keys_in_order(table, trees, &mut keys),
        Store::Adapting(trees) => keys_in_order(table, trees, &mut keys),
    }
    keys
}

fn keys_in_order(table: &Table, trees: &impl Trees, keys: &mut Vec<i64>) {
    loop {
        let from = keys.last().map_or(Place::Start, |key| Place::After(Term::small(*key)));
        let way = Way { from, upwards: true };
        let next = trees.nearest(
            table,
            None,
            way,
            |tree| tree.next(from).map(|row| row.key(0)),
            |key| key.map(TermRef::small_value),
        );
        let Some(key) = next.unwrap_or_else(|_| panic!("deleted")) else { break };
        keys.push(key);
    }
}

fn kinds(slices: &'static Progress) -> [Arc<Table>; 4] {
    [
        table(Kind::Set, WriteConcurrency::No, slices),
        table(Kind::Set, WriteConcurrency::Yes, slices),
        table(Kind::OrderedSet, WriteConcurrency::No, slices),
        table(Kind::OrderedSet, WriteConcurrency::Yes, slices),
    ]
}

#[test]
fn writers_readers_and_walkers() {
    let rounds = if cfg!(miri) { 20 } else { 4000 };
    let slices = domain(8);
    for table in kinds(slices) {
        let binary = SharedBinary::from_bytes(&[7; 100]);
        // Odd keys stay, even keys come and go.
        for key in (1..200).step_by(2) {
            assert!(insert(&table, new_row(&table, key, 0, &binary)).is_ok());
        }
        scope(|s| {
            for thread in 0..2i64 {
                let (table, binary) = (&table, &binary);
                s.spawn(move || {
                    for i in 0..rounds {
                        let key = (i * 7 + thread * 31) % 100 * 2;
                        let _ = insert(table, new_row(table, key, i, binary));
                        let _ = delete(table, (key + 14) % 200);
                        // Replaces one that stays.
                        let _ = insert(table, new_row(table, key + 1, i, binary));
                    }
                });
            }
            for reader in 0..2 {
                let table = &table;
                s.spawn(move || {
                    let slot = slices.register().expect("room");
                    for i in 0..rounds {
                        // Without a lock, as a process on a scheduler; each step of the loop is a slice.
                        slot.quiescent();
                        let user = Some(Pid::new(7 + reader, 0));
                        let key = i % 200;
                        let found = table.with_row(user, Term::small(key), |row| row.map(check).is_some());
                        assert!(found.is_ok_and(|found| found || key % 2 == 0), "a key that stays is always there");
                        if i % 100 == 0 {
                            table.fix();
                            let mut seen = keys(table);
                            table.unfix(None, 1);
                            seen.retain(|key| key % 2 == 1);
                            seen.sort_unstable();
                            assert!(seen.into_iter().eq((1..200).step_by(2)), "each key that stays, once");
                        }
                    }
                });
            }
        });
        assert_eq!(keys(&table).len(), table.len());
        assert!(table.fixed() == Fixed::No);
        let rows = table.len();
        let slot = slices.register().expect("room");
        (0..4).for_each(|_| slot.quiescent());
        assert_eq!(binary.references(), 1 + rows, "each row holds one count");
        let taken = table.take_all(None);
        assert_eq!(taken.count(), rows);
        drop(taken);
        assert_eq!(binary.references(), 1);
    }
}

#[test]
fn a_deleted_table_stays_empty() {
    for table in kinds(domain(8)) {
        let binary = SharedBinary::from_bytes(&[7; 100]);
        scope(|s| {
            for thread in 0..3 {
                let (table, binary) = (&table, &binary);
                s.spawn(move || {
                    let mut key = thread;
                    while insert(table, new_row(table, key, 0, binary)).is_ok() {
                        key += 3;
                    }
                });
            }
            let table = &table;
            s.spawn(move || {
                while table.len() < 100 {
                    std::thread::yield_now();
                }
                assert!(table.set_deleted() && !table.set_deleted());
                drop(table.take_all(None));
            });
        });
        assert_eq!((table.len(), binary.references()), (0, 1));
    }
}

#[test]
fn shards_grow_and_shrink_by_themselves() {
    let table = table(Kind::Set, WriteConcurrency::No, domain(8));
    let binary = SharedBinary::from_bytes(&[7; 100]);
    let Store::Hash(shards) = &table.store else { panic!("a set is a hash table") };
    for key in 0..20_000 {
        assert!(insert(&table, new_row(&table, key, key, &binary)).is_ok());
    }
    assert_eq!(table.read_any(None, shards, 0).buckets(), 20_000);
    for key in 10..20_000 {
        assert!(delete(&table, key).is_ok_and(|found| found));
    }
    assert!(table.read_any(None, shards, 0).buckets() < 5000);
    let mut left = keys(&table);
    left.sort_unstable();
    assert!(left.into_iter().eq(0..10));
}

/// Flat rows are written over in place, others replaced: readers without the lock see neither torn nor missing rows, whether
/// it is the only user at first or not.
#[test]
fn rows_written_over_are_never_torn() {
    let rounds = if cfg!(miri) { 20 } else { 30_000 };
    let slices = domain(8);
    let table = table(Kind::Set, WriteConcurrency::No, slices);
    let put = |user, slot: &myriad_sync::ThreadSlot, key: i64, value: i64, flat: bool| {
        let mut arena = &Arena::new();
        let value = Term::small(value);
        let last = if flat { value } else { arena.tuple(&[value]) };
        let tuple = arena.tuple(&[Term::small(key), value, value, value, last]);
        let hash = table.hash(Term::small(key));
        let Store::Hash(shards) = &table.store else { panic!("a set is a hash table") };
        let Ok(mut shard) = table.write_shard(user, shards, hash) else { panic!("deleted") };
        shard.insert_tuple(Measured::of(tuple), Term::small(key), hash, table.fixed());
        shard.done(Some(slot));
    };
    {
        let slot = slices.register().expect("room");
        (0..8).for_each(|key| put(Some(Pid::new(1, 0)), &slot, key, 0, true));
    }
    scope(|s| {
        for writer in 1..3 {
            let (put, slices) = (&put, &slices);
            s.spawn(move || {
                let slot = slices.register().expect("room");
                for i in 0..rounds {
                    slot.quiescent();
                    put(Some(Pid::new(writer, 0)), &slot, i % 8, i, i % 3 != 0);
                    // New keys come, so that buckets are split and their array is replaced.
                    put(Some(Pid::new(writer, 0)), &slot, 8 + i, i, false);
                }
            });
        }
        for reader in 3..5 {
            let (table, slices) = (&table, &slices);
            s.spawn(move || {
                let slot = slices.register().expect("room");
                for i in 0..rounds {
                    slot.quiescent();
                    let mut arena = &Arena::new();
                    let key = Term::small(i % 8);
                    let found =
                        table.with_row(Some(Pid::new(reader, 0)), key, |row| row.map(|r| r.copy_to(&mut arena)));
                    let Ok(Some(copy)) = found else { panic!("a row is missing") };
                    let [same, a, b, c, last] = copy.as_tuple_of::<5>().expect("five elements");
                    let last = last.as_tuple_of::<1>().map_or(last, |[value]| value);
                    assert!(same.is(key) && a.is(b) && b.is(c) && c.is(last), "torn");
                }
            });
        }
    });
    assert_eq!(table.len(), 8 + rounds as usize);
}

/// A row is filled anew where it has no other reader, and replaced where it may have one: what it counts is right in both cases.
#[test]
fn rows_filled_anew_count_what_they_hold() {
    let slices = domain(8);
    let slot = slices.register().expect("room");
    let binaries: Vec<SharedBinary> = (1..4).map(|i| SharedBinary::from_bytes(&[i; 100])).collect();
    for kind in [Kind::Set, Kind::OrderedSet] {
        let table = table(kind, WriteConcurrency::No, slices);
        let put = |user, value: &[usize], key: TermRef<'_>| {
            let memory = Arena::new();
            let mut arena = &memory;
            let held: Vec<TermRef<'_>> = value.iter().map(|i| arena.shared_binary(binaries[*i].clone())).collect();
            let held = arena.list(&held);
            let tuple = arena.tuple(&[key, held]);
            let by = Caller { user, slices: Some(&slot) };
            let done = on_store!(&table.store, rows => rows.insert_tuple(&table, by, Measured::of(tuple), key));
            assert!(done.is_ok());
            drop(memory);
            (0..4).for_each(|_| slot.quiescent());
            let found = table.with_row(user, key, |row| {
                let mut copy = &Arena::new();
                row.map(|row| copy_out(row.copy_to(&mut copy).as_tuple().map_or(Term::NIL, |t| t.get(1)), &mut copy))
                    .and_then(|list| list.list_length())
            });
            assert!(found.is_ok_and(|length| length == Some(value.len())));
            binaries.iter().map(|b| b.references() - 1).collect::<Vec<_>>()
        };
        let mut keys = &Arena::new();
        let key = keys.tuple(&[Term::small(1), Term::small(2)]);
        for user in [1, 1, 2] {
            let user = Some(Pid::new(user, 0));
            assert_eq!(put(user, &[0, 1], key), [1, 1, 0]);
            assert_eq!(put(user, &[1, 1], key), [0, 2, 0]);
            assert_eq!(put(user, &[2], key), [0, 0, 1]);
            assert_eq!(put(user, &[0, 1, 2], key), [1, 1, 1]);
            assert_eq!(put(user, &[2, 2, 2], key), [0, 0, 3]);
        }
        drop(table.take_all(None));
    }
}

/// A user that comes while the holder goes without locks waits for it: no row and no count is lost, and what both see is whole.
#[test]
fn others_come_while_the_holder_is_at_work() {
    let (tables, rounds) = if cfg!(miri) { (1, 600) } else { (15, 1500) };
    let slices = domain(8);
    let binary = SharedBinary::from_bytes(&[7; 100]);
    for round in 0..tables {
        for table in kinds(slices) {
            scope(|s| {
                for thread in 0..3i64 {
                    let (table, binary) = (&table, &binary);
                    s.spawn(move || {
                        let slot = slices.register().expect("room");
                        let user = Some(Pid::new(1 + thread as u32, 0));
                        // The second and the third come when the first is the holder, or is just about to be.
                        while thread > 0 && table.len() < 150 * thread as usize + 7 * round {
                            slot.quiescent();
                            std::thread::yield_now();
                        }
                        for i in 0..rounds {
                            slot.quiescent();
                            let row = new_row(table, i * 3 + thread, i, binary);
                            let by = Caller { user, slices: Some(&slot) };
                            if on_store!(&table.store, rows => rows.insert(table, by, row)).is_err() {
                                return;
                            }
                            let found =
                                table.with_rows_once(user, Term::small(i * 3 + thread), |rows| rows.map(check).count());
                            assert!(found.is_ok_and(|n| n == 1));
                        }
                    });
                }
            });
            assert_eq!((table.len(), keys(&table).len()), (3 * rounds as usize, 3 * rounds as usize));
            drop(table.take_all(None));
        }
    }
    assert_eq!(binary.references(), 1);
}
