//! `select_delete` and `select_replace`: specifications that change a table.
//!
//! As in `select.rs`, a batch at a time; each batch is atomic. Rows that a batch replaces or deletes are found first, then
//! changed, under one hold of the lock.

use crate::access::{InUse, Need, bad, gone, table, user};
use crate::hash::Writing;
use crate::row::{Form, NewRow, Row, copy_out};
use crate::select::{BATCH, VISITS_PER_REDUCTION};
use crate::spec::keys::{Reach, compare_with_pattern, keeps_key, reach};
use crate::spec::machine::{Machine, Subject};
use crate::spec::{Dialect, Spec};
use crate::table::{Gone, Kind, Store, Table};
use crate::tree::{Place, Tree};
use crate::walk::Bucket;
use myriad_sync::Arc;
use myriad_term::equal::eq_exact;
use myriad_term::hash::table_hash;
use myriad_term::{Arena, Term, am};
use myriad_vm::bif::{BADARG, badarg};
use myriad_vm::{BifResult, Ctx};
use std::cmp::Ordering;

myriad_vm::bifs! { pub ALTER = "ets" {
    "internal_select_delete" / 2 Plain => internal_select_delete_2;
    "select_replace" / 2 Plain => select_replace_2;
}}

/// What happens to the rows that match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Delete,
    Replace,
}

/// Where it goes on.
enum Position {
    Key(usize),
    Bucket(Bucket),
    After(Option<Term>),
    End,
}

struct Alteration {
    table: Arc<Table>,
    spec: Arc<Spec>,
    reach: Reach,
    position: Position,
    change: Change,
    count: usize,
    pinned: bool,
}

impl Drop for Alteration {
    fn drop(&mut self) {
        if self.pinned {
            self.table.unfix(None, 1);
        }
    }
}

fn internal_select_delete_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    start(ctx, &table, args[1], Change::Delete)
}

fn select_replace_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    if table.options.kind == Kind::Bag {
        return bad(ctx, am::table_type);
    }
    if !args[1].is_nil() && !keeps_key(args[1], table.options.keypos) {
        return badarg();
    }
    start(ctx, &table, args[1], Change::Replace)
}

fn start(ctx: &mut Ctx<'_>, table: &InUse, spec: Term, change: Change) -> BifResult {
    if spec.is_nil() {
        return Ok(Term::small(0));
    }
    let spec = Spec::compile(spec, Dialect::Table).map(Arc::new).map_err(|_| BADARG)?;
    let reach = reach(&spec, &table.options);
    let position = match (&reach, &table.store) {
        (Reach::Keys(_), _) => Position::Key(0),
        (_, Store::Hash(_)) => Position::Bucket(Bucket { shard: 0, index: 0 }),
        (_, Store::Tree(_)) => Position::After(None),
    };
    run(ctx, Alteration { table: table.shared(), spec, reach, position, change, count: 0, pinned: false })
}

fn run(ctx: &mut Ctx<'_>, mut a: Alteration) -> BifResult {
    let mut judge = Judge {
        machine: Machine::new(&a.spec, ctx.pid().term(), ctx.vm.node_name()),
        spec: a.spec.clone(),
        change: a.change,
        form: a.table.form(),
        count: 0,
        memory: Arena::new(),
    };
    loop {
        let visited = match a.batch(ctx, &mut judge) {
            Ok(visited) => visited,
            Err(g) => return gone(ctx, g),
        };
        a.count += std::mem::take(&mut judge.count);
        ctx.bump(visited / VISITS_PER_REDUCTION);
        if matches!(a.position, Position::End) {
            a.shrink(ctx);
            return Ok(Term::small(a.count as i64));
        }
        if ctx.exhausted() {
            let mut rest = Some(a);
            return ctx.yield_to(Box::new(move |ctx| match rest.take() {
                Some(rest) => run(ctx, rest),
                None => badarg(),
            }));
        }
    }
}

/// Decides about rows.
struct Judge {
    machine: Machine,
    spec: Arc<Spec>,
    change: Change,
    form: Form,
    count: usize,
    /// Of packed rows while they are looked at.
    memory: Arena,
}

impl Judge {
    fn is_doomed(&mut self, row: Row) -> bool {
        let doomed = self.machine.is_true(&self.spec, Subject::row(row, &mut self.memory));
        self.memory.clear();
        self.count += usize::from(doomed);
        doomed
    }

    /// The row that takes a row's place.
    fn successor(&mut self, row: Row) -> Option<NewRow> {
        let mut arena = Arena::new();
        let result = self.machine.run(&self.spec, Subject::row(row, &mut self.memory), &mut arena);
        self.memory.clear();
        let result = result?;
        let key = result.as_tuple()?.elements().get(self.form.keypos).copied()?;
        // `keeps_key` has seen to it that they are equal.
        if !eq_exact(key, row.key(self.form.keypos)) {
            return None;
        }
        self.count += 1;
        Some(NewRow::new(result, row.hash(), self.form))
    }

    fn rows(&mut self, shard: &mut Writing<'_>, rows: Vec<Row>) {
        for row in rows {
            if let Some(new) = self.successor(row) {
                shard.replace(row, new);
            }
        }
    }

    fn tree_rows(&mut self, tree: &mut Tree, rows: &[Row]) {
        for row in rows {
            if self.change == Change::Replace {
                if let Some(new) = self.successor(*row) {
                    tree.insert(new);
                }
            } else if self.is_doomed(*row) {
                tree.delete(row.key(self.form.keypos), |_| true);
            }
        }
    }
}

impl Alteration {
    /// After the last row: a few buckets go, as after any deletion.
    fn shrink(&mut self, ctx: &Ctx<'_>) {
        if std::mem::replace(&mut self.pinned, false) {
            self.table.unfix(user(ctx), 1);
        }
        if let (Store::Hash(shards), Change::Delete) = (&self.table.store, self.change) {
            for shard in shards {
                let mut shard = self.table.write_to(shard, user(ctx));
                shard.shrink(self.table.fixed());
                shard.done(ctx.sched.slices.as_ref());
            }
        }
    }

    fn batch(&mut self, ctx: &mut Ctx<'_>, judge: &mut Judge) -> Result<usize, Gone> {
        match self.position {
            Position::End => Ok(0),
            Position::Key(at) => self.key_batch(ctx, at, judge),
            Position::Bucket(at) => self.bucket_batch(ctx, at, judge),
            Position::After(last) => self.tree_batch(ctx, last, judge),
        }
    }

    fn key_batch(&mut self, ctx: &Ctx<'_>, mut at: usize, judge: &mut Judge) -> Result<usize, Gone> {
        let Reach::Keys(keys) = &self.reach else { return Ok(0) };
        let from = at;
        while at < keys.len() && at - from < BATCH {
            let key = keys[at];
            at += 1;
            match &self.table.store {
                Store::Hash(shards) => {
                    let hash = table_hash(key);
                    let mut shard = self.table.write_shard(user(ctx), shards, hash)?;
                    if self.change == Change::Delete {
                        shard.delete(hash, key, self.table.fixed(), |row| judge.is_doomed(row));
                    } else {
                        let rows = shard.rows_of(hash, key).collect();
                        judge.rows(&mut shard, rows);
                    }
                    shard.done(ctx.sched.slices.as_ref());
                }
                Store::Tree(tree) => {
                    let mut tree = self.table.write_tree(user(ctx), tree)?;
                    let rows: Vec<Row> = tree.row_of(key).into_iter().collect();
                    judge.tree_rows(&mut tree, &rows);
                }
            }
        }
        self.position = if at < keys.len() { Position::Key(at) } else { Position::End };
        Ok(at - from)
    }

    fn bucket_batch(&mut self, ctx: &Ctx<'_>, mut at: Bucket, judge: &mut Judge) -> Result<usize, Gone> {
        let Store::Hash(shards) = &self.table.store else { return Ok(0) };
        let mut shard = self.table.write_shard(user(ctx), shards, at.shard as u32)?;
        let (before, from) = (judge.count, at.index);
        while at.index < shard.buckets() && at.index - from < BATCH {
            if self.change == Change::Delete {
                shard.retain_bucket(at.index, self.table.fixed(), |row| judge.is_doomed(row));
            } else {
                let rows = shard.bucket(at.index).collect();
                judge.rows(&mut shard, rows);
            }
            at.index += 1;
        }
        let visited = at.index - from + judge.count - before;
        if at.index >= shard.buckets() {
            at = Bucket { shard: at.shard + 1, index: 0 };
        } else if !self.pinned {
            // Still under the lock: nothing moves from here on.
            self.table.fix();
            self.pinned = true;
        }
        shard.done(ctx.sched.slices.as_ref());
        self.position = if at.shard < shards.len() { Position::Bucket(at) } else { Position::End };
        Ok(visited)
    }

    fn tree_batch(&mut self, ctx: &mut Ctx<'_>, last: Option<Term>, judge: &mut Judge) -> Result<usize, Gone> {
        let Store::Tree(tree) = &self.table.store else { return Ok(0) };
        let mut tree = self.table.write_tree(user(ctx), tree)?;
        let keypos = self.table.options.keypos;
        let pattern = if let Reach::Range(pattern) = self.reach { Some(pattern) } else { None };
        let edge = |key: Term| pattern.map_or(Ordering::Equal, |p| compare_with_pattern(key, p));
        let rows: Vec<Row> = match (last, pattern) {
            (Some(key), _) => tree.upwards(Place::After(key)),
            (None, None) => tree.upwards(Place::Start),
            (None, Some(_)) => tree.upwards(Place::BeforeAll(&edge)),
        }
        .take_while(|row| pattern.is_none() || edge(row.key(keypos)).is_eq())
        .take(BATCH)
        .collect();
        self.position = match rows.last() {
            Some(row) if rows.len() == BATCH => Position::After(Some(copy_out(row.key(keypos), ctx))),
            _ => Position::End,
        };
        judge.tree_rows(&mut tree, &rows);
        Ok(rows.len())
    }
}
