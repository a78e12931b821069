//! `select`, `match` and their kin: specifications run over a table.
//!
//! A scan holds a lock for one batch of rows, and gives way between batches when the slice is used up. While a scan of a hash
//! table rests it keeps rows in place (ets/TB3), so that each row is visited once.
//!
//! Order of results, which programs see: a hash table's are in reverse order of the visits; an ordered set is visited
//! downwards to give an ascending list, and upwards when there is a limit or for `select_reverse`.

use crate::access::{Need, find, gone, identifier, table, user};
use crate::row::{Row, copy_out};
use crate::shard_map::Rank;
use crate::spec::keys::{Reach, reach};
use crate::spec::machine::{Machine, Subject};
use crate::spec::{Compiled, Dialect, Spec};
use crate::store::{BATCH, Bucket, Flow, Position, Rows, Sweep, on_store};
use crate::table::{Gone, Table, User};
use myriad_sync::Arc;
use myriad_term::magic::magic_reference;
use myriad_term::{Arena, Atom, Build, Magic, Term, am};
use myriad_vm::bif::{BADARG, badarg};
use myriad_vm::{BifResult, Ctx, Escape};

myriad_vm::bifs! { pub SELECT = "ets" {
    "select" / 1 Plain => continue_1;
    "select" / 2 Plain => |ctx, a| select(ctx, a, Wanted::Spec, false);
    "select" / 3 Plain => |ctx, a| select(ctx, a, Wanted::Spec, false);
    "select_reverse" / 1 Plain => continue_1;
    "select_reverse" / 2 Plain => |ctx, a| select(ctx, a, Wanted::Spec, true);
    "select_reverse" / 3 Plain => |ctx, a| select(ctx, a, Wanted::Spec, true);
    "match" / 1 Plain => continue_1;
    "match" / 2 Plain => |ctx, a| select(ctx, a, Wanted::Pattern(am::dollar_dollar), false);
    "match" / 3 Plain => |ctx, a| select(ctx, a, Wanted::Pattern(am::dollar_dollar), false);
    "match_object" / 1 Plain => continue_1;
    "match_object" / 2 Plain => |ctx, a| select(ctx, a, Wanted::Pattern(am::dollar_underscore), false);
    "match_object" / 3 Plain => |ctx, a| select(ctx, a, Wanted::Pattern(am::dollar_underscore), false);
    "select_count" / 2 Plain => select_count_2;
}}

/// Rows that are visited for one reduction.
pub(crate) const VISITS_PER_REDUCTION: usize = 8;

/// What the second argument is.
#[derive(Clone, Copy)]
enum Wanted {
    /// A specification.
    Spec,
    /// A pattern, and what is to come of each match.
    Pattern(Atom),
}

/// A scan of a table.
pub(crate) struct Scan {
    pub(crate) table: Arc<Table>,
    pub(crate) spec: Arc<Spec>,
    reach: Reach,
    pub(crate) sweep: Sweep,
}

impl Drop for Scan {
    fn drop(&mut self) {
        self.sweep.unpin(&self.table, None);
    }
}

impl Scan {
    /// A scan of the whole table.
    pub(crate) fn new(table: Arc<Table>, spec: Arc<Spec>, downwards: bool) -> Scan {
        let reach = reach(&spec, &table.options);
        let position = match &reach {
            Reach::Keys(_) => Position::Listed(0),
            _ => on_store!(&table.store, rows => rows.start()),
        };
        let downwards = downwards && table.store.is_ordered();
        let range = reach.range();
        Scan { table, spec, reach, sweep: Sweep { position, downwards, range, pinned: false } }
    }

    /// A scan that continues at a place.
    pub(crate) fn at(table: Arc<Table>, spec: Arc<Spec>, downwards: bool, position: Position) -> Scan {
        let mut scan = Scan::new(table, spec, downwards);
        scan.sweep.position = match (position, &scan.reach) {
            // A list of ordered keys continues behind the last one.
            (Position::After(Some(last)), Reach::Keys(keys)) => {
                use myriad_term::compare::compare;
                let behind = |key: &&Term| {
                    let order = compare(**key, last);
                    if downwards { order.is_lt() } else { order.is_gt() }
                };
                Position::Listed(keys.len() - keys.iter().filter(behind).count())
            }
            (Position::Bucket(_), Reach::Keys(_)) => Position::End,
            (position, _) => position,
        };
        debug_assert!(
            matches!(
                (&scan.sweep.position, &scan.reach),
                (Position::Listed(_) | Position::End, _) | (_, Reach::All | Reach::Range(_))
            ),
            "a list of keys is gone through by number"
        );
        scan
    }

    /// Goes on with a specification made of the same term.
    fn set_spec(&mut self, spec: Arc<Spec>) {
        debug_assert_eq!(spec.heads().count(), self.spec.heads().count(), "it is made of the same term");
        self.reach = reach(&spec, &self.table.options);
        self.sweep.range = self.reach.range();
        self.spec = spec;
    }

    /// Rows need not stay in place any more. (A scan that is dropped without it ends the time of the table's holder.)
    fn unpin(&mut self, user: User) {
        self.sweep.unpin(&self.table, user);
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.sweep.position, Position::End)
    }

    /// Visits up to a batch of rows; gives how many it has visited.
    pub(crate) fn batch(
        &mut self,
        ctx: &mut Ctx<'_>,
        visit: &mut dyn FnMut(&mut Ctx<'_>, Row<'_>) -> Flow,
    ) -> Result<usize, Gone> {
        match self.sweep.position {
            Position::End => Ok(0),
            Position::Listed(at) => self.key_batch(ctx, at, visit),
            _ => on_store!(&self.table.store, rows => rows.visit(&self.table, ctx, &mut self.sweep, visit)),
        }
    }

    fn key_batch(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut at: usize,
        visit: &mut dyn FnMut(&mut Ctx<'_>, Row<'_>) -> Flow,
    ) -> Result<usize, Gone> {
        let Reach::Keys(keys) = &self.reach else { return Ok(0) };
        let (mut visited, from) = (0, at);
        let mut enough = false;
        while at < keys.len() && visited < BATCH && !enough {
            let key = if self.sweep.downwards { keys[keys.len() - 1 - at] } else { keys[at] };
            at += 1;
            // A visit is for good.
            self.table.with_rows_once(user(ctx), key, |rows| {
                for row in rows {
                    visited += 1;
                    enough |= visit(ctx, row) == Flow::Enough;
                }
            })?;
            visited += 1;
        }
        debug_assert!(at >= from, "a scan gets on");
        self.sweep.position = if at < keys.len() { Position::Listed(at) } else { Position::End };
        Ok(visited)
    }
}

/// What a selection has found.
struct Selection {
    scan: Scan,
    /// Without a limit: the results, last first.
    list: Term,
    /// With a limit: the results in the order of the visits.
    found: Vec<Term>,
    limit: Option<usize>,
    /// The table and the compiled specification as terms, for the continuation.
    table: Term,
    compiled: Term,
}

/// The specification of an argument that stays where it is as long as the specification is used: during one call.
fn specification_in_place(term: Term, wanted: Wanted) -> Result<Arc<Spec>, Escape> {
    // SAFETY: the term is an argument of the call, and the specification of a call that goes on is compiled anew (`run`).
    let spec = unsafe {
        match wanted {
            Wanted::Spec => Spec::compile_in_place(term, Dialect::Table),
            Wanted::Pattern(result) => Spec::of_pattern_in_place(term, result),
        }
    };
    spec.map(Arc::new).map_err(|_| BADARG)
}

/// The specification of an argument.
fn specification(term: Term, wanted: Wanted) -> Result<Arc<Spec>, Escape> {
    let spec = match wanted {
        Wanted::Spec => Spec::compile(term, Dialect::Table),
        Wanted::Pattern(result) => Spec::of_pattern(term, result),
    };
    spec.map(Arc::new).map_err(|_| BADARG)
}

fn select(ctx: &mut Ctx<'_>, args: &[Term], wanted: Wanted, reverse: bool) -> BifResult {
    let found = table(ctx, args[0], Need::Read)?;
    let limit = match args.get(2) {
        Some(limit) => match limit.as_usize() {
            Some(n) if n > 0 => Some(n),
            _ => return badarg(),
        },
        None => None,
    };
    if let (Wanted::Spec, true) = (wanted, args[1].is_nil()) {
        return Ok(if limit.is_some() { am::end_of_table.term() } else { Term::NIL });
    }
    // Most selections end within this call, so that the argument need not be copied.
    let in_place = limit.is_none().then_some((args[1], wanted));
    let spec =
        if in_place.is_some() { specification_in_place(args[1], wanted)? } else { specification(args[1], wanted)? };
    // Results are put before those found earlier, so without a limit an ordered set is visited the other way.
    let downwards = reverse == limit.is_some();
    let scan = Scan::new(found.shared(), spec, downwards);
    // A continuation of a hash table is of this very table, whatever has its name later; one of an ordered set goes by name.
    let hash = !found.store.is_ordered();
    let known_as = if limit.is_some() && hash && args[0].is_atom() { identifier(ctx, found.arc()) } else { args[0] };
    let selection =
        Selection { scan, list: Term::NIL, found: Vec::new(), limit, table: known_as, compiled: Term::NONE };
    run(ctx, selection, in_place)
}

/// Scans on. `in_place`: where the specification comes from, if it has no memory of its own yet.
fn run(ctx: &mut Ctx<'_>, mut s: Selection, in_place: Option<(Term, Wanted)>) -> BifResult {
    let spec = s.scan.spec.clone();
    let mut machine = Machine::new(&spec, ctx.pid().term(), ctx.vm.node_name());
    // Of packed rows while they are looked at.
    let mut memory = Arena::new();
    loop {
        let (list, found, limit) = (&mut s.list, &mut s.found, s.limit);
        let visited = s.scan.batch(ctx, &mut |ctx, row| {
            memory.clear();
            let Some(result) = machine.run(&spec, Subject::row(row, &memory), ctx) else { return Flow::On };
            match limit {
                None => *list = ctx.cons(result, *list),
                Some(limit) => {
                    found.push(result);
                    if found.len() >= limit {
                        return Flow::Enough;
                    }
                }
            }
            Flow::On
        });
        match visited {
            Ok(visited) => ctx.bump(visited / VISITS_PER_REDUCTION),
            Err(g) => return gone(ctx, g),
        }
        if s.scan.is_done() || s.limit.is_some_and(|limit| s.found.len() >= limit) {
            s.scan.unpin(user(ctx));
            debug_assert!(!s.scan.sweep.pinned, "TB3: a continuation keeps no rows in place");
            return Ok(finish(ctx, s));
        }
        if ctx.exhausted() {
            if let Some((term, wanted)) = in_place {
                s.scan.set_spec(specification(term, wanted)?);
            }
            let mut rest = Some(s);
            return ctx.yield_to(Box::new(move |ctx| match rest.take() {
                Some(rest) => run(ctx, rest, None),
                None => badarg(),
            }));
        }
    }
}

/// The list, or with a limit the list and the continuation.
fn finish(ctx: &mut Ctx<'_>, mut s: Selection) -> Term {
    let Some(limit) = s.limit else { return s.list };
    let end = am::end_of_table.term();
    if s.found.is_empty() {
        return end;
    }
    let hash = !s.scan.table.store.is_ordered();
    let mut rest = s.found.split_off(limit.min(s.found.len()));
    debug_assert!(hash || rest.is_empty(), "a scan of an ordered set ends at any row");
    if hash {
        s.found.reverse();
        // What is left over is listed last visited first, and once more the other way round in a continuation, as in OTP.
        if s.compiled.is_none() {
            rest.reverse();
        }
    }
    end_of_chunk(ctx, s, rest)
}

/// The results (in `found`, in their final order) and the continuation, in which `rest` comes first.
fn end_of_chunk(ctx: &mut Ctx<'_>, mut s: Selection, rest: Vec<Term>) -> Term {
    let hash = !s.scan.table.store.is_ordered();
    debug_assert!(s.limit.is_some_and(|limit| s.found.len() <= limit), "a chunk is no longer than the limit");
    let end = am::end_of_table.term();
    let list = ctx.list(&s.found);
    if s.scan.is_done() && rest.is_empty() {
        return ctx.tuple(&[list, end]);
    }
    if s.compiled.is_none() {
        let numbers = ctx.sched.next_ref();
        s.compiled = magic_reference(ctx, Magic::new(numbers, Compiled(s.scan.spec.clone())));
    }
    let limit = Term::small(s.limit.unwrap_or(1) as i64);
    let continuation = if hash {
        let place = match &s.scan.sweep.position {
            Position::Bucket(at) => Term::small(at.shard.to_number(at.index) as i64),
            Position::Listed(at) => Term::small(-2 - *at as i64),
            _ => Term::small(-1),
        };
        let count = Term::small(rest.len() as i64);
        let rest = ctx.list(&rest);
        ctx.tuple(&[s.table, place, limit, s.compiled, rest, count])
    } else {
        let last = match &s.scan.sweep.position {
            Position::After(Some(key)) => *key,
            // Between two listed keys: behind the one before.
            Position::Listed(at) => listed(&s.scan, *at).map_or(Term::NIL, |key| copy_out(key, ctx)),
            _ => Term::NIL,
        };
        let reverse = Term::small(s.scan.sweep.downwards.into());
        ctx.tuple(&[s.table, last, Term::NIL, limit, s.compiled, Term::NIL, reverse, Term::small(0)])
    };
    ctx.tuple(&[list, continuation])
}

/// The last listed key that has been visited.
fn listed(scan: &Scan, at: usize) -> Option<Term> {
    let Reach::Keys(keys) = &scan.reach else { return None };
    let at = at.checked_sub(1)?;
    if scan.sweep.downwards { keys.get(keys.len().checked_sub(1 + at)?).copied() } else { keys.get(at).copied() }
}

/// The specification behind a reference.
pub(crate) fn compiled(term: Term) -> Option<Arc<Spec>> {
    term.as_magic()?.get::<Compiled>().map(|c| c.0.clone())
}

fn continue_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if args[0].is_am(am::end_of_table) {
        return Ok(args[0]);
    }
    let Some(tuple) = args[0].as_tuple() else { return badarg() };
    let (id, compiled_as, limit) = match tuple.elements() {
        [table, place, limit, compiled, _, _] if place.is_small() => (*table, *compiled, *limit),
        [table, _, _, limit, compiled, _, _, _] => (*table, *compiled, *limit),
        _ => return badarg(),
    };
    let (Some(spec), Some(limit)) = (compiled(compiled_as), limit.as_usize().filter(|n| *n > 0)) else {
        return badarg();
    };
    if find(ctx.vm, id).is_err_and(|cause| cause == am::type_) {
        return badarg();
    }
    let table = table(ctx, id, Need::Read)?;
    let (scan, found) = match (tuple.elements(), table.store.is_ordered()) {
        ([_, place, _, _, rest, _], false) => {
            let position = match place.small_value() {
                -1 => Position::End,
                n if n < 0 => Position::Listed((-2 - n) as usize),
                n => {
                    let (shard, index) = Rank::from_number(n as u64);
                    Position::Bucket(Bucket { shard, index })
                }
            };
            let mut items = rest.list_iter();
            let found: Vec<Term> = items.by_ref().collect();
            if !items.tail().is_nil() {
                return badarg();
            }
            (Scan::at(table.shared(), spec, false, position), found)
        }
        ([_, last, _, _, _, _, reverse, _], true) => {
            let position = Position::After(Some(*last));
            (Scan::at(table.shared(), spec, reverse.is(Term::small(1)), position), Vec::new())
        }
        _ => return badarg(),
    };
    let mut selection =
        Selection { scan, list: Term::NIL, found, limit: Some(limit), table: id, compiled: compiled_as };
    if selection.found.len() >= limit {
        // What was left over is enough: its last part, and the rest of it turned round for the next time, as in OTP.
        let last = selection.found.split_off(selection.found.len() - limit);
        let mut rest = std::mem::replace(&mut selection.found, last);
        rest.reverse();
        return Ok(end_of_chunk(ctx, selection, rest));
    }
    // Last visited first.
    selection.found.reverse();
    run(ctx, selection, None)
}

/// A count over a scan.
struct Counting {
    scan: Scan,
    count: usize,
}

fn select_count_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let found = table(ctx, args[0], Need::Read)?;
    if args[1].is_nil() {
        return Ok(Term::small(0));
    }
    let spec = specification(args[1], Wanted::Spec)?;
    count(ctx, Counting { scan: Scan::new(found.shared(), spec, false), count: 0 })
}

fn count(ctx: &mut Ctx<'_>, mut c: Counting) -> BifResult {
    let spec = c.scan.spec.clone();
    let mut machine = Machine::new(&spec, ctx.pid().term(), ctx.vm.node_name());
    // Of packed rows while they are looked at.
    let mut memory = Arena::new();
    loop {
        let total = &mut c.count;
        let visited = c.scan.batch(ctx, &mut |_, row| {
            memory.clear();
            *total += usize::from(machine.is_true(&spec, Subject::row(row, &memory)));
            Flow::On
        });
        match visited {
            Ok(visited) => ctx.bump(visited / VISITS_PER_REDUCTION),
            Err(g) => return gone(ctx, g),
        }
        if c.scan.is_done() {
            c.scan.unpin(user(ctx));
            return Ok(Term::small(c.count as i64));
        }
        if ctx.exhausted() {
            let mut rest = Some(c);
            return ctx.yield_to(Box::new(move |ctx| match rest.take() {
                Some(rest) => count(ctx, rest),
                None => badarg(),
            }));
        }
    }
}
