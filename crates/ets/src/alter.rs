//! `select_delete` and `select_replace`: specifications that change a table.
//!
//! As in `select.rs`, a batch at a time; each batch is atomic. Rows that a batch replaces or deletes are found first, then
//! changed, under one hold of the lock.

use crate::access::{InUse, Need, bad, caller, gone, table, user};
use crate::row::{Form, NewRow, Row};
use crate::select::VISITS_PER_REDUCTION;
use crate::spec::keys::{Reach, keeps_key, reach};
use crate::spec::machine::{Machine, Subject};
use crate::spec::{Dialect, Spec};
use crate::store::{BATCH, Judge, Position, Rows, Sweep, on_store};
use crate::table::{Gone, Kind, Table};
use myriad_sync::Arc;
use myriad_term::equal::eq_exact;
use myriad_term::{Arena, Term, am};
use myriad_vm::bif::{BADARG, badarg};
use myriad_vm::{BifResult, Ctx};

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

struct Alteration {
    table: Arc<Table>,
    spec: Arc<Spec>,
    reach: Reach,
    sweep: Sweep,
    change: Change,
    count: usize,
}

impl Drop for Alteration {
    fn drop(&mut self) {
        self.sweep.unpin(&self.table, None);
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
    let position = match &reach {
        Reach::Keys(_) => Position::Listed(0),
        _ => on_store!(&table.store, rows => rows.start()),
    };
    let sweep = Sweep { position, downwards: false, range: reach.range(), pinned: false };
    run(ctx, Alteration { table: table.shared(), spec, reach, sweep, change, count: 0 })
}

fn run(ctx: &mut Ctx<'_>, mut a: Alteration) -> BifResult {
    let mut judge = SpecJudge {
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
        if matches!(a.sweep.position, Position::End) {
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
struct SpecJudge {
    machine: Machine,
    spec: Arc<Spec>,
    change: Change,
    form: Form,
    count: usize,
    /// Of packed rows while they are looked at.
    memory: Arena,
}

impl Judge for SpecJudge {
    fn deletes(&self) -> bool {
        self.change == Change::Delete
    }

    fn count(&self) -> usize {
        self.count
    }

    fn is_doomed(&mut self, row: Row<'_>) -> bool {
        let doomed = self.machine.is_true(&self.spec, Subject::row(row, &self.memory));
        self.memory.clear();
        self.count += usize::from(doomed);
        doomed
    }

    fn successor(&mut self, row: Row<'_>) -> Option<NewRow> {
        let memory = Arena::new();
        let result = self.machine.run(&self.spec, Subject::row(row, &memory), &mut &memory);
        let result = result?;
        debug_assert!(!row.is_hidden(), "S3: a row that has been deleted has no successor");
        let key = result.as_tuple()?.elements().get(self.form.keypos).copied()?;
        // `keeps_key` has seen to it that they are equal.
        if !eq_exact(key, row.key(self.form.keypos)) {
            return None;
        }
        self.count += 1;
        Some(NewRow::new(result, row.hash(), self.form))
    }
}

impl Alteration {
    /// After the last row: a few buckets go, as after any deletion.
    fn shrink(&mut self, ctx: &Ctx<'_>) {
        debug_assert!(matches!(self.sweep.position, Position::End), "buckets go only after the last row");
        self.sweep.unpin(&self.table, user(ctx));
        if self.change == Change::Delete {
            on_store!(&self.table.store, rows => rows.shrink(&self.table, caller(ctx)));
        }
    }

    fn batch(&mut self, ctx: &mut Ctx<'_>, judge: &mut SpecJudge) -> Result<usize, Gone> {
        match self.sweep.position {
            Position::End => Ok(0),
            Position::Listed(at) => self.key_batch(ctx, at, judge),
            _ => on_store!(&self.table.store, rows => rows.alter(&self.table, ctx, &mut self.sweep, judge)),
        }
    }

    fn key_batch(&mut self, ctx: &Ctx<'_>, from: usize, judge: &mut SpecJudge) -> Result<usize, Gone> {
        let Reach::Keys(keys) = &self.reach else { return Ok(0) };
        debug_assert!(from < keys.len() || keys.is_empty());
        let to = keys.len().min(from + BATCH);
        for key in &keys[from..to] {
            on_store!(&self.table.store, rows => rows.alter_key(&self.table, caller(ctx), *key, judge))?;
        }
        self.sweep.position = if to < keys.len() { Position::Listed(to) } else { Position::End };
        Ok(to - from)
    }
}
