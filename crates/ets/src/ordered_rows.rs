//! The store of ordered sets: one tree ([`crate::ordered`]). A scan keeps its place by the key that it has visited last.

use crate::access::user;
use crate::cursor;
use crate::ordered::Ordered;
use crate::row::{Measured, NewRow, Row, RowAddress, copy_out, list_reversed};
use crate::spec::keys::compare_with_pattern;
use crate::store::{BATCH, Caller, Flow, Judge, Position, Rows, Sweep, key_or_end};
use crate::table::{Gone, Table, Taken, User, WriteConcurrency};
use crate::tree::{Place, Tree};
use myriad_sync::RwLock;
use myriad_term::compare::compare;
use myriad_term::{Term, TermRef, am};
use myriad_vm::Ctx;
use std::cmp::Ordering;

/// The rows that a scan has still to visit.
fn rest<'t>(
    tree: &'t Tree,
    sweep: &Sweep,
    last: Option<Term>,
    edge: &dyn Fn(TermRef<'_>) -> Ordering,
) -> Box<dyn Iterator<Item = Row<'t>> + 't> {
    match (last, sweep.downwards, sweep.range) {
        (Some(key), false, _) => tree.upwards(Place::After(key)),
        (Some(key), true, _) => tree.downwards(Place::Before(key)),
        (None, false, None) => tree.upwards(Place::Start),
        (None, true, None) => tree.downwards(Place::End),
        (None, false, Some(_)) => tree.upwards(Place::BeforeAll(edge)),
        (None, true, Some(_)) => tree.downwards(Place::AfterAll(edge)),
    }
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

impl Rows for Ordered {
    const ORDERED: bool = true;
    const OPTIMISTIC: bool = false;

    fn locks(&self) -> impl Iterator<Item = &RwLock<()>> {
        std::iter::once(self.lock())
    }

    #[inline]
    fn with_rows<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut each: impl FnMut(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        Ok(each(&mut table.read_tree(user, self)?.row_of(key).into_iter()))
    }

    #[inline]
    fn with_rows_once<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        each: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        Ok(each(&mut table.read_tree(user, self)?.row_of(key).into_iter()))
    }

    #[inline(always)]
    fn with_row<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        mut f: impl FnMut(Option<Row<'_>>) -> R,
    ) -> Result<R, Gone> {
        Ok(f(table.read_tree(user, self)?.row_of(key)))
    }

    #[inline]
    fn insert(&self, table: &Table, by: Caller<'_>, row: NewRow) -> Result<(), Gone> {
        table.write_tree(by.user, self)?.insert(row);
        Ok(())
    }

    #[inline]
    fn insert_tuple(&self, table: &Table, by: Caller<'_>, tuple: Measured<'_>, key: TermRef<'_>) -> Result<(), Gone> {
        table.write_tree(by.user, self)?.insert_tuple(tuple, key);
        Ok(())
    }

    #[inline]
    fn insert_new(&self, table: &Table, by: Caller<'_>, tuple: TermRef<'_>, key: TermRef<'_>) -> Result<bool, Gone> {
        let mut tree = table.write_tree(by.user, self)?;
        if tree.row_of(key).is_some() {
            return Ok(false);
        }
        tree.insert(table.new_row(tuple, 0));
        Ok(true)
    }

    fn insert_all(&self, table: &Table, by: Caller<'_>, rows: Vec<NewRow>, new: bool) -> Result<bool, Gone> {
        let mut tree = table.write_tree(by.user, self)?;
        if new && rows.iter().any(|row| tree.row_of(row.row().key(table.options.keypos)).is_some()) {
            return Ok(false);
        }
        let most = tree.len() + rows.len();
        rows.into_iter().for_each(|row| tree.insert(row));
        debug_assert!(tree.len() <= most, "a row comes once");
        Ok(true)
    }

    #[inline]
    fn delete(
        &self,
        table: &Table,
        by: Caller<'_>,
        key: TermRef<'_>,
        mut wanted: impl FnMut(Row<'_>) -> bool,
    ) -> Result<usize, Gone> {
        Ok(table.write_tree(by.user, self)?.delete(key, &mut wanted).into())
    }

    fn take(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>) -> Result<Term, Gone> {
        let mut tree = table.write_tree(user(ctx), self)?;
        let list = list_reversed(tree.row_of(key).into_iter(), ctx);
        let taken = tree.delete(key, |_| true);
        debug_assert_eq!(taken, !list.is_nil(), "what is given has left, and nothing else");
        Ok(list)
    }

    #[inline(always)]
    fn change_in_place<T>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Row<'_>) -> Option<T>,
    ) -> Result<Option<T>, Gone> {
        Ok(table.write_tree(user, self)?.row_of(key).and_then(change))
    }

    #[inline]
    fn change<T, E>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Option<Row<'_>>, u32) -> Result<(T, Option<NewRow>), E>,
    ) -> Result<Result<T, E>, Gone> {
        let mut tree = table.write_tree(user, self)?;
        Ok(change(tree.row_of(key), 0).map(|(result, new)| {
            if let Some(new) = new {
                tree.insert(new);
            }
            result
        }))
    }

    fn first(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        let tree = table.read_tree(user(ctx), self)?;
        let key = tree.next(Place::Start).map(|row| row.key(tree.keypos()));
        cursor::begin(&tree, key, true);
        Ok(key_or_end(ctx, key))
    }

    fn last(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone> {
        let tree = table.read_tree(user(ctx), self)?;
        let key = tree.prev(Place::End).map(|row| row.key(tree.keypos()));
        cursor::begin(&tree, key, false);
        Ok(key_or_end(ctx, key))
    }

    #[inline(always)]
    fn next(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>, upwards: bool) -> Result<Option<Term>, Gone> {
        // What `next` and `prev` end with is no key to them.
        if key.is_am(am::end_of_table) {
            return Ok(None);
        }
        let tree = table.read_tree(user(ctx), self)?;
        Ok(Some(key_or_end(ctx, cursor::step(&tree, key, upwards))))
    }

    fn slot(&self, table: &Table, ctx: &mut Ctx<'_>, number: usize) -> Result<Option<Term>, Gone> {
        let tree = table.read_tree(user(ctx), self)?;
        if number > tree.len() {
            return Ok(None);
        }
        ctx.bump(number / 16);
        Ok(Some(match tree.nth(number) {
            Some(row) => list_reversed(std::iter::once(row), ctx),
            None => key_or_end(ctx, None),
        }))
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
        let tree = table.read_tree(user(ctx), self)?;
        let pattern = sweep.range;
        let edge = |key: TermRef<'_>| pattern.map_or(Ordering::Equal, |p| compare_with_pattern(key, p));
        let (mut visited, mut before): (usize, Option<TermRef<'_>>) = (0, last);
        for row in rest(&tree, sweep, last, &edge) {
            let key = row.key(tree.keypos());
            debug_assert!(comes_after(key, before, sweep.downwards), "keys are out of order");
            before = Some(key);
            if pattern.is_some() && edge(key).is_ne() {
                break;
            }
            visited += 1;
            if visit(ctx, row) == Flow::Enough || visited >= BATCH {
                sweep.position = Position::After(Some(copy_out(key, ctx)));
                return Ok(visited);
            }
        }
        sweep.position = Position::End;
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
        let mut tree = table.write_tree(user(ctx), self)?;
        let (keypos, pattern) = (tree.keypos(), sweep.range);
        let edge = |key: TermRef<'_>| pattern.map_or(Ordering::Equal, |p| compare_with_pattern(key, p));
        let rows: Vec<Row<'_>> = rest(&tree, sweep, last, &edge)
            .take_while(|row| pattern.is_none() || edge(row.key(keypos)).is_eq())
            .take(BATCH)
            .collect();
        sweep.position = match rows.last() {
            Some(row) if rows.len() == BATCH => Position::After(Some(copy_out(row.key(keypos), ctx))),
            _ => Position::End,
        };
        let rows: Vec<RowAddress> = rows.into_iter().map(Row::address).collect();
        alter_rows(&mut tree, &rows, judge);
        Ok(rows.len())
    }

    fn alter_key(&self, table: &Table, by: Caller<'_>, key: TermRef<'_>, judge: &mut impl Judge) -> Result<(), Gone> {
        let mut tree = table.write_tree(by.user, self)?;
        let rows: Vec<RowAddress> = tree.row_of(key).map(Row::address).into_iter().collect();
        alter_rows(&mut tree, &rows, judge);
        Ok(())
    }

    fn shrink(&self, _: &Table, _: Caller<'_>) {}

    fn each(&self, table: &Table, user: User, each: &mut dyn FnMut(Row<'_>)) {
        if let Ok(tree) = table.read_tree(user, self) {
            tree.upwards(Place::Start).for_each(each);
        }
    }

    fn chains(&self, _: &Table, _: User, _: &mut dyn FnMut(usize)) -> Option<usize> {
        None
    }

    fn count(&self) -> usize {
        self.len()
    }

    fn footprint(&self, table: &Table) -> usize {
        let one_lock = table.options.write_concurrency == WriteConcurrency::No;
        self.words() + if one_lock { 139 + table.words_for_readers() } else { 99 + table.words_for_counters() }
    }

    fn take_all(&self, table: &Table, user: User) -> Taken {
        Taken::new(Vec::new(), table.write_any_tree(user, self).take_all())
    }

    fn clear(&self, table: &Table, user: User) -> Result<(Taken, usize), Gone> {
        let taken = Taken::new(Vec::new(), table.write_tree(user, self)?.take_all());
        let count = taken.count();
        Ok((taken, count))
    }

    fn purge(&self, _: &Table, _: User) {}
}
