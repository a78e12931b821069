//! The store of ordered sets, over one tree or several ([`Trees`]). A scan keeps its place by the key that it has visited last.

use crate::access::user;
use crate::cursor;
use crate::row::{Measured, NewRow, Row, RowAddress, copy_out, list_reversed};
use crate::spec::keys::compare_with_pattern;
use crate::store::{BATCH, Caller, Flow, Judge, Position, Rows, Sweep, key_or_end};
use crate::table::{Gone, Table, Taken, User, WriteConcurrency};
use crate::tree::{Edge, Place, Tree, Way};
use crate::trees::{Forest, Trees};
use myriad_sync::ReadGuard;
use myriad_term::compare::compare;
use myriad_term::{Term, TermRef, am};
use myriad_vm::Ctx;
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// The way of a scan over the rows that it has still to visit.
fn rest<'a>(sweep: &Sweep, last: Option<Term>, edge: Edge<'a>) -> Way<'a> {
    let from = match (last, sweep.downwards, sweep.range) {
        (Some(key), false, _) => Place::After(key),
        (Some(key), true, _) => Place::Before(key),
        (None, false, None) => Place::Start,
        (None, true, None) => Place::End,
        (None, false, Some(_)) => Place::BeforeAll(edge),
        (None, true, Some(_)) => Place::AfterAll(edge),
    };
    Way { from, upwards: !sweep.downwards }
}

/// The rows of a tree from a place on.
fn rows_from<'t>(tree: &'t Tree, from: Place<'_>, downwards: bool) -> Box<dyn Iterator<Item = Row<'t>> + 't> {
    if downwards { tree.downwards(from) } else { tree.upwards(from) }
}

/// Does a scan come to this key behind the one before? For assertions.
fn comes_after(key: TermRef<'_>, before: Option<TermRef<'_>>, downwards: bool) -> bool {
    let wanted = if downwards { Ordering::Less } else { Ordering::Greater };
    before.is_none_or(|before| compare(key, before) == wanted)
}

/// Deletes or replaces rows as a judge wants it. They are the tree's, each of another key.
fn alter_rows(tree: &mut Tree, rows: &[RowAddress], judge: &mut impl Judge) {
    let (before, count) = (tree.len(), judge.count());
    for row in rows {
        // SAFETY: ets.row/R1: the tree is borrowed for writing, and the row leaves it at the end of this turn at the earliest.
        let row = unsafe { row.row() };
        if !judge.deletes() {
            if let Some(new) = judge.successor(row) {
                tree.insert(new);
            }
        } else if judge.is_doomed(row) {
            tree.delete(row.key(tree.keypos()), |_| true);
        }
    }
    let gone = if judge.deletes() { judge.count() - count } else { 0 };
    debug_assert_eq!(tree.len() + gone, before, "a successor has its row's key, and what is doomed goes");
}

/// The next rows of a tree that a scan changes, `room` at most, and whether a key beyond its range follows.
fn stretch(tree: &Tree, from: Place<'_>, room: usize, edge: Edge<'_>) -> (Vec<RowAddress>, bool) {
    let mut is_over = false;
    let rows = tree.upwards(from).take(room);
    let rows = rows.take_while(|row| {
        is_over = edge(row.key(tree.keypos())).is_ne();
        !is_over
    });
    let rows = rows.map(Row::address).collect();
    (rows, is_over)
}

/// The first key of a tree, at which a walk may begin.
fn first_of(tree: &Tree) -> Option<TermRef<'_>> {
    let key = tree.next(Place::Start).map(|row| row.key(tree.keypos()));
    cursor::begin(tree, key, true);
    key
}

/// The last one.
fn last_of(tree: &Tree) -> Option<TermRef<'_>> {
    let key = tree.prev(Place::End).map(|row| row.key(tree.keypos()));
    cursor::begin(tree, key, false);
    key
}

/// Takes the rows out of all trees.
fn rows_of(trees: &mut Forest<'_>) -> Taken {
    Taken::new(Vec::new(), trees.each().flat_map(Tree::take_all).collect())
}

/// Where keys stand to a scan's range; without one all are in it.
fn edge_of(pattern: Option<Term>) -> impl Fn(TermRef<'_>) -> Ordering {
    move |key| pattern.map_or(Ordering::Equal, |pattern| compare_with_pattern(key, pattern))
}

impl<T: Trees> Rows for T {
    const ORDERED: bool = true;
    const OPTIMISTIC: bool = false;

    fn lock_all(&self) -> Vec<ReadGuard<'_, ()>> {
        Vec::new()
    }

    #[inline]
    fn with_rows<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut each: impl FnMut(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        self.read(table, user, key, |tree| each(&mut tree.row_of(key).into_iter()))
    }

    #[inline]
    fn with_rows_once<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        each: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        self.read(table, user, key, |tree| each(&mut tree.row_of(key).into_iter()))
    }

    #[inline(always)]
    fn with_row<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut f: impl FnMut(Option<Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        self.read(table, user, key, |tree| f(tree.row_of(key)))
    }

    #[inline]
    fn insert(&self, table: &Table, by: Caller<'_>, row: NewRow) -> Result<(), Gone> {
        // The key lies in the row, which is the tree's afterwards.
        let address = row.row().address();
        // SAFETY: ets.row/R1: no other thread knows the row until it is in the tree, which is when the key is no longer asked for.
        let key = unsafe { address.row() }.key(table.options.keypos);
        self.write(table, by.user, key, |tree| tree.insert(row))
    }

    #[inline]
    fn insert_tuple(&self, table: &Table, by: Caller<'_>, tuple: Measured<'_>, key: TermRef<'_>) -> Result<(), Gone> {
        self.write(table, by.user, key, |tree| tree.insert_tuple(tuple, key))
    }

    #[inline]
    fn insert_new(&self, table: &Table, by: Caller<'_>, tuple: TermRef<'_>, key: TermRef<'_>) -> Result<bool, Gone> {
        self.write(table, by.user, key, |tree| {
            let new = tree.row_of(key).is_none();
            if new {
                tree.insert(table.new_row(tuple, 0));
            }
            new
        })
    }

    fn insert_all(&self, table: &Table, by: Caller<'_>, rows: Vec<NewRow>, new: bool) -> Result<bool, Gone> {
        self.write_all(table, by.user, |trees| {
            table.alive(())?;
            let keypos = table.options.keypos;
            let mut is_there = |row: &NewRow| trees.of(row.row().key(keypos)).row_of(row.row().key(keypos)).is_some();
            if new && rows.iter().any(&mut is_there) {
                return Ok(false);
            }
            for row in rows {
                trees.of(row.row().key(keypos)).insert(row);
            }
            Ok(true)
        })
    }

    #[inline]
    fn delete(
        &self,
        table: &Table,
        by: Caller<'_>,
        key: TermRef<'_>,
        mut wanted: impl FnMut(Row<'_>) -> bool,
    ) -> Result<usize, Gone> {
        self.write(table, by.user, key, |tree| tree.delete(key, &mut wanted).into())
    }

    fn take(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>) -> Result<Term, Gone> {
        self.write(table, user(ctx), key, |tree| {
            let list = list_reversed(tree.row_of(key).into_iter(), ctx);
            let taken = tree.delete(key, |_| true);
            debug_assert_eq!(taken, !list.is_nil(), "what is given has left, and nothing else");
            list
        })
    }

    #[inline(always)]
    fn change_in_place<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Row<'_>) -> Option<R>,
    ) -> Result<Option<R>, Gone> {
        self.write(table, user, key, |tree| tree.row_of(key).and_then(change))
    }

    #[inline]
    fn change<R, E>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Option<Row<'_>>, u32) -> Result<(R, Option<NewRow>), E>,
    ) -> Result<Result<R, E>, Gone> {
        self.write(table, user, key, |tree| {
            change(tree.row_of(key), 0).map(|(result, new)| {
                if let Some(new) = new {
                    tree.insert(new);
                }
                result
            })
        })
    }

    fn first(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        let way = Way { from: Place::Start, upwards: true };
        self.nearest(table, user(ctx), way, first_of, |key| key_or_end(ctx, key))
    }

    fn last(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        let way = Way { from: Place::End, upwards: false };
        self.nearest(table, user(ctx), way, last_of, |key| key_or_end(ctx, key))
    }

    #[inline(always)]
    fn next(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>, upwards: bool) -> Result<Option<Term>, Gone> {
        // What `next` and `prev` end with is no key to them.
        if key.is_am(am::end_of_table) {
            return Ok(None);
        }
        let way = Way { from: if upwards { Place::After(key) } else { Place::Before(key) }, upwards };
        let found =
            self.nearest(table, user(ctx), way, |tree| cursor::step(tree, key, upwards), |next| key_or_end(ctx, next));
        found.map(Some)
    }

    fn slot(&self, table: &Table, ctx: &mut Ctx<'_>, number: usize) -> Result<Option<Term>, Gone> {
        self.read_all(table, user(ctx), |trees| {
            let mut left = number;
            for tree in trees {
                if let Some(row) = tree.nth(left) {
                    ctx.bump(number / 16);
                    return Some(list_reversed(std::iter::once(row), ctx));
                }
                left -= tree.len();
            }
            (left == 0).then(|| key_or_end(ctx, None))
        })
    }

    fn start(&self) -> Position {
        Position::After(None)
    }

    fn visit(
        &self,
        table: &Table,
        ctx: &mut Ctx<'_>,
        sweep: &mut Sweep,
        visit: &mut dyn FnMut(&mut Ctx<'_>, Row<'_>) -> Flow,
    ) -> Result<usize, Gone> {
        let Position::After(last) = sweep.position else { return Ok(0) };
        let (downwards, ranged, edge) = (sweep.downwards, sweep.range.is_some(), edge_of(sweep.range));
        let (mut visited, mut position) = (0, Position::End);
        self.read_along(table, user(ctx), rest(sweep, last, &edge), |tree, from| {
            let mut before: Option<TermRef<'_>> = last;
            for row in rows_from(tree, from, downwards) {
                let key = row.key(tree.keypos());
                debug_assert!(comes_after(key, before, downwards), "keys are out of order");
                before = Some(key);
                if ranged && edge(key).is_ne() {
                    return ControlFlow::Break(());
                }
                visited += 1;
                if visit(ctx, row) == Flow::Enough || visited >= BATCH {
                    position = Position::After(Some(copy_out(key, ctx)));
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        sweep.position = position;
        Ok(visited)
    }

    fn alter(
        &self,
        table: &Table,
        ctx: &mut Ctx<'_>,
        sweep: &mut Sweep,
        judge: &mut impl Judge,
    ) -> Result<usize, Gone> {
        let Position::After(last) = sweep.position else { return Ok(0) };
        let edge = edge_of(sweep.range);
        let (mut visited, mut position) = (0, Position::End);
        self.write_along(table, user(ctx), rest(sweep, last, &edge), |tree, from| {
            let (rows, is_over) = stretch(tree, from, BATCH - visited, &edge);
            visited += rows.len();
            if visited == BATCH {
                // SAFETY: ets.row/R1: the tree is borrowed for writing.
                let last = rows.last().map(|row| unsafe { row.row() }.key(tree.keypos()));
                position = Position::After(last.map(|key| copy_out(key, ctx)));
            }
            alter_rows(tree, &rows, judge);
            if is_over || visited == BATCH { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        sweep.position = position;
        Ok(visited)
    }

    fn alter_key(&self, table: &Table, by: Caller<'_>, key: TermRef<'_>, judge: &mut impl Judge) -> Result<(), Gone> {
        self.write(table, by.user, key, |tree| {
            let rows: Vec<RowAddress> = tree.row_of(key).map(Row::address).into_iter().collect();
            alter_rows(tree, &rows, judge);
        })
    }

    fn shrink(&self, _: &Table, _: Caller<'_>) {}

    fn each(&self, table: &Table, user: User, each: &mut dyn FnMut(Row<'_>)) {
        let way = Way { from: Place::Start, upwards: true };
        // A deleted table has no rows.
        let _ = self.read_along(table, user, way, |tree, from| {
            tree.upwards(from).for_each(&mut *each);
            ControlFlow::Continue(())
        });
    }

    fn chains(&self, _: &Table, _: User, _: &mut dyn FnMut(usize)) -> Option<usize> {
        None
    }

    fn count(&self) -> usize {
        self.rows()
    }

    fn footprint(&self, table: &Table) -> usize {
        let one_lock = table.options.write_concurrency == WriteConcurrency::No;
        self.words() + if one_lock { 139 + table.words_for_readers() } else { 99 + table.words_for_counters() }
    }

    fn take_all(&self, table: &Table, user: User) -> Taken {
        self.write_all(table, user, rows_of)
    }

    fn clear(&self, table: &Table, user: User) -> Result<(Taken, usize), Gone> {
        self.write_all(table, user, |trees| {
            table.alive(())?;
            let taken = rows_of(trees);
            let count = taken.count();
            Ok((taken, count))
        })
    }

    fn purge(&self, _: &Table, _: User) {}
}
