//! Tables as a whole: making, deleting, naming, giving away, fixing; what happens when a process ends.

use crate::access::{InUse, Need, bad, find, gone, identifier, known_as, table, user};
use crate::hash::Fixed;
use crate::registry::{Ended, Registry};
use crate::row::{copied_size, copy_out};
use crate::store::{Rows, on_store};
use crate::table::{Heir, Inheritor, Kind, Options, Protection, Table, Taken, WriteConcurrency};
use myriad_heap::Payload;
use myriad_process::Message;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{Arc, Progress};
use myriad_term::{Build, Pid, Term, TermRef, am};
use myriad_vm::bif::{Escape, Resumption, badarg};
use myriad_vm::{BifResult, Ctx, Signal, Vm};

myriad_vm::bifs! { pub ADMIN = "ets" {
    "new" / 2 Plain => new_2;
    "delete" / 1 Plain => delete_1;
    "rename" / 2 Plain => rename_2;
    "give_away" / 3 Plain => give_away_3;
    "setopts" / 2 Plain => setopts_2;
    "whereis" / 1 Plain => whereis_1;
    "safe_fixtable" / 2 Plain => safe_fixtable_2;
    "internal_request_all" / 0 Plain => internal_request_all_0;
    "internal_delete_all" / 2 Plain => internal_delete_all_2;
}}

myriad_vm::bifs! { pub INTERNAL = "erts_internal" {
    "ets_super_user" / 1 Plain => ets_super_user_1;
}}

/// Rows freed in one go, and what that costs.
const FREE_BATCH: usize = 4096;
const FREES_PER_REDUCTION: usize = 4;

struct NewOptions {
    options: Options,
    protection: Protection,
    heir: Heir,
}

/// `{heir, none}` and `{heir, Pid, Data}`; the latter's data is optional in releases that allow it.
fn heir_option(ctx: &Ctx<'_>, option: Term) -> Option<Heir> {
    let elements = option.as_tuple()?.elements();
    let (pid, data) = match elements {
        [_, none] if none.is_am(am::none) => return Some(Heir::None),
        [_, pid] if ctx.vm.release.silent_heirs => (*pid, Term::NONE),
        [_, pid, data] => (*pid, *data),
        _ => return None,
    };
    match pid.as_local_pid().and_then(|pid| Inheritor::of(ctx.vm, pid)) {
        Some(heir) => Some(Heir::Process(heir, Payload::whole(data))),
        None => pid.is_pid().then_some(Heir::None),
    }
}

fn new_options(ctx: &Ctx<'_>, list: Term) -> Option<NewOptions> {
    let mut new = NewOptions {
        options: Options {
            kind: Kind::Set,
            keypos: 0,
            named: false,
            read_concurrency: false,
            write_concurrency: WriteConcurrency::No,
            decentralized_counters: false,
            compressed: false,
        },
        protection: Protection::Protected,
        heir: Heir::None,
    };
    let mut counters = None;
    let mut items = list.list_iter();
    for item in items.by_ref() {
        if let Some(atom) = item.as_atom() {
            match atom {
                am::set => new.options.kind = Kind::Set,
                am::ordered_set => new.options.kind = Kind::OrderedSet,
                am::bag => new.options.kind = Kind::Bag,
                am::duplicate_bag => new.options.kind = Kind::DuplicateBag,
                am::private => new.protection = Protection::OwnerState,
                am::protected => new.protection = Protection::Protected,
                am::public => new.protection = Protection::Public,
                am::named_table => new.options.named = true,
                am::compressed => new.options.compressed = true,
                _ => return None,
            }
            continue;
        }
        let [tag, value, ..] = item.as_tuple()?.elements() else { return None };
        if tag.is_am(am::heir) {
            new.heir = heir_option(ctx, item)?;
            continue;
        }
        let [tag, value] = [*tag, *value];
        if item.as_tuple()?.len() != 2 {
            return None;
        }
        match tag.as_atom()? {
            am::keypos => new.options.keypos = value.as_usize()?.checked_sub(1)?,
            am::read_concurrency => new.options.read_concurrency = value.as_bool()?,
            am::decentralized_counters => counters = Some(value.as_bool()?),
            am::write_concurrency => {
                new.options.write_concurrency = match value.as_atom() {
                    Some(am::true_) => WriteConcurrency::Yes,
                    Some(am::false_) => WriteConcurrency::No,
                    Some(am::auto) => WriteConcurrency::Auto,
                    Some(_) => return None,
                    None => fixed_shards(value)?,
                }
            }
            _ => return None,
        }
    }
    if new.protection == Protection::OwnerState {
        // One process is never concurrent.
        new.options.write_concurrency = WriteConcurrency::No;
    }
    if new.options.write_concurrency != WriteConcurrency::No {
        // Only with concurrent writing do counters matter; `auto` (and an ordered set) implies them unless said otherwise.
        let implied = new.options.write_concurrency != WriteConcurrency::Yes || new.options.kind == Kind::OrderedSet;
        new.options.decentralized_counters = counters.unwrap_or(implied);
    }
    // Hash tables only.
    let shards = matches!(new.options.write_concurrency, WriteConcurrency::Shards(_));
    (items.tail().is_nil() && !(shards && new.options.kind == Kind::OrderedSet)).then_some(new)
}

/// `{debug_hash_fixed_number_of_locks, N}`, an option of OTP's tests: 64 at least, and the power of two below.
fn fixed_shards(value: Term) -> Option<WriteConcurrency> {
    let [tag, count] = value.as_tuple_of::<2>()?;
    let count = count.as_usize().filter(|n| (1..=1 << 15).contains(n))?;
    let shift = count.max(64).ilog2();
    debug_assert!((6..=15).contains(&shift) && 1 << shift <= count.max(64));
    tag.is_am(am::debug_hash_fixed_number_of_locks).then_some(WriteConcurrency::Shards(shift))
}

fn new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    let Some(new) = new_options(ctx, args[1]) else { return badarg() };
    let numbers = ctx.sched.next_ref().magic();
    let threads = (ctx.vm.schedulers.len(), &*ctx.vm.slices);
    let table = Arc::new(Table::new(numbers, name, ctx.pid(), new.protection, new.options, threads));
    *table.heir.lock() = new.heir;
    if new.options.named && !Registry::of(ctx.vm).register(name, &table, &ctx.vm.progress) {
        return bad(ctx, am::already_exists);
    }
    Registry::of(ctx.vm).enter(&table);
    Ok(if new.options.named { name.term() } else { identifier(ctx, &table) })
}

/// Rows that have left their table, to be freed.
struct Doomed {
    taken: Taken,
    /// There may be readers until all normal schedulers have begun another slice (ets/TB4): then this becomes true.
    unwatched: Option<Arc<AtomicBool>>,
    slices: &'static Progress,
}

impl Doomed {
    /// So few that they are freed wherever thread progress comes to it.
    const FEW: usize = 128;

    /// Rows just taken out of `table`.
    fn new(ctx: &Ctx<'_>, table: &Table, taken: Taken) -> Doomed {
        let mut doomed = Doomed { taken, unwatched: None, slices: &ctx.vm.slices };
        if !table.store.is_read_optimistically() || !table.is_watched(user(ctx)) {
            return doomed;
        }
        let seen = Arc::new(AtomicBool::new(false));
        doomed.unwatched = Some(seen.clone());
        const { assert!(Doomed::FEW < FREE_BATCH) };
        if doomed.taken.count() <= Self::FEW {
            // Dropped, so left to progress.
            return doomed;
        }
        // Release: pairs with the Acquire in `is_watched`: the readers of that time have ended.
        let tell = move || seen.store(true, Ordering::Release);
        match &ctx.sched.slices {
            Some(slot) => slot.retire(tell),
            None => ctx.vm.slices.retire_unregistered(tell),
        }
        doomed
    }

    /// May there still be readers?
    fn is_watched(&self) -> bool {
        // Acquire: see `new`.
        self.unwatched.as_ref().is_some_and(|seen| !seen.load(Ordering::Acquire))
    }
}

impl Drop for Doomed {
    /// The rest goes even if the process does not live to see to it.
    fn drop(&mut self) {
        if self.is_watched() || self.taken.count() > FREE_BATCH {
            free_later(self.slices, std::mem::take(&mut self.taken));
        }
    }
}

/// Frees rows when all normal schedulers have begun another slice: a batch between two slices, so that nothing waits long.
fn free_later(slices: &'static Progress, mut taken: Taken) {
    slices.retire_unregistered(move || {
        // SAFETY: ets/TB4: the readers of that time have begun another slice.
        if unsafe { taken.free(FREE_BATCH) } == FREE_BATCH {
            free_later(slices, taken);
        }
    });
}

/// Deletes a table; gives its rows, for [`free_rows`].
fn delete_table(ctx: &Ctx<'_>, table: &Table) -> Doomed {
    if !table.set_deleted() {
        return Doomed { taken: Taken::default(), unwatched: None, slices: &ctx.vm.slices };
    }
    Registry::of(ctx.vm).leave(table, &ctx.vm.progress);
    Registry::of(ctx.vm).disown(table.owner(), table);
    let by = std::mem::take(&mut table.fixations.lock().by);
    debug_assert!(by.values().all(|times| *times > 0), "TB3: a process fixes it no times");
    for pid in by.into_keys() {
        Registry::of(ctx.vm).unfixes(pid, table);
    }
    *table.heir.lock() = Heir::None;
    Doomed::new(ctx, table, table.take_all(user(ctx)))
}

/// Frees rows that have left their table, giving way when there are many; then gives `result`.
fn free_rows(ctx: &mut Ctx<'_>, mut doomed: Doomed, result: Term) -> BifResult {
    if free_some(ctx, &mut doomed) {
        return Ok(result);
    }
    let mut rest = Some(doomed);
    ctx.yield_to(Box::new(move |ctx| match rest.take() {
        Some(rest) => free_rows(ctx, rest, result),
        None => badarg(),
    }))
}

/// Frees rows that have left their table, as many as the slice allows; `true`: none is left, but for a few that go when it is
/// dropped.
fn free_some(ctx: &mut Ctx<'_>, doomed: &mut Doomed) -> bool {
    if doomed.taken.count() <= Doomed::FEW {
        ctx.bump(doomed.taken.count() / FREES_PER_REDUCTION);
        return true;
    }
    while !doomed.is_watched() {
        // SAFETY: ets/TB4: there are no readers any more.
        let freed = unsafe { doomed.taken.free(FREE_BATCH) };
        ctx.bump(freed / FREES_PER_REDUCTION);
        if freed < FREE_BATCH {
            return true;
        }
        if ctx.exhausted() {
            break;
        }
    }
    false
}

fn delete_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let rows = delete_table(ctx, &table);
    free_rows(ctx, rows, Term::TRUE)
}

fn rename_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let Some(name) = args[1].as_atom() else { return badarg() };
    if !table.options.named {
        table.set_name(name);
        return Ok(args[0]);
    }
    if !Registry::of(ctx.vm).register(name, table.arc(), &ctx.vm.progress) {
        return badarg();
    }
    let old = table.name();
    debug_assert!(old != name, "a name that is taken is not registered again");
    table.set_name(name);
    Registry::of(ctx.vm).unregister(old, &table, &ctx.vm.progress);
    Ok(args[1])
}

/// Makes `to` the owner, and tells it unless `data` is [`Term::NONE`]; `false` if it has ended.
fn transfer(vm: &'static Vm, table: &Arc<Table>, to: Inheritor, data: TermRef<'_>) -> bool {
    let from = table.owner();
    if to.process(vm).is_none() {
        return false;
    }
    let to = to.pid;
    table.set_owner(to);
    Registry::of(vm).own(to, table);
    // One that is not ending yet has its exit hook before it, which finds the table.
    let lives = vm.processes.get(to).is_some_and(|p| !p.must_take_back());
    let sent = if data.is_none() || !lives {
        lives
    } else {
        let transfer = Payload::build(copied_size(data) + 16, |draft| {
            let id = known_as(draft, table);
            let data = copy_out(data, draft);
            draft.tuple(&[am::ets_transfer.term(), id, from.term(), data])
        });
        vm.signal_pid(to, Signal::Message(Message::new(transfer, Term::NONE)))
    };
    if !sent && Registry::of(vm).disown(to, table) {
        table.set_owner(from);
        return false;
    }
    true
}

fn give_away_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let Some(to) = args[1].as_local_pid() else { return badarg() };
    let me = ctx.pid();
    if table.owner() != me {
        return bad(ctx, am::not_owner);
    }
    if to == me {
        return bad(ctx, am::owner);
    }
    let Some(to) = Inheritor::of(ctx.vm, to) else { return badarg() };
    if !Registry::of(ctx.vm).disown(me, &table) {
        // Another process is just giving it to this one, which is its owner once the registry says so as well.
        return bad(ctx, am::not_owner);
    }
    if transfer(ctx.vm, table.arc(), to, args[2]) {
        return Ok(Term::TRUE);
    }
    Registry::of(ctx.vm).own(me, table.arc());
    badarg()
}

fn setopts_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let one = [args[1]];
    let options: Vec<Term> = if args[1].as_tuple().is_some() {
        one.to_vec()
    } else {
        let mut items = args[1].list_iter();
        let options = items.by_ref().collect();
        if !items.tail().is_nil() {
            return badarg();
        }
        options
    };
    let (mut heir, mut protection) = (None, None);
    for option in options {
        match option.as_tuple().map(|t| t.elements()) {
            Some([tag, ..]) if tag.is_am(am::heir) && heir.is_none() => match heir_option(ctx, option) {
                Some(new) => heir = Some(new),
                None => return badarg(),
            },
            Some([tag, value]) if tag.is_am(am::protection) && protection.is_none() => {
                protection = match value.as_atom() {
                    Some(am::private) => Some(Protection::OwnerState),
                    Some(am::protected) => Some(Protection::Protected),
                    Some(am::public) => Some(Protection::Public),
                    _ => return badarg(),
                }
            }
            _ => return badarg(),
        }
    }
    if table.owner() != ctx.pid() {
        return bad(ctx, am::not_owner);
    }
    if let Some(heir) = heir {
        *table.heir.lock() = heir;
    }
    if let Some(protection) = protection {
        table.set_protection(protection);
    }
    Ok(Term::TRUE)
}

fn whereis_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if !args[0].is_atom() {
        return badarg();
    }
    match find(ctx.vm, args[0]) {
        Ok(table) => Ok(identifier(ctx, table.arc())),
        Err(_) => Ok(Term::UNDEFINED),
    }
}

fn safe_fixtable_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let pid = ctx.pid();
    match args[1].as_bool() {
        Some(true) => fixate(ctx, &table, pid),
        Some(false) => release(ctx, &table, pid),
        None => return badarg(),
    }
    Ok(Term::TRUE)
}

fn fixate(ctx: &Ctx<'_>, table: &InUse, pid: Pid) {
    let first = {
        let mut fixations = table.fixations.lock();
        if fixations.by.is_empty() {
            fixations.since = ctx.vm.clock.monotonic_ns(ctx.vm.platform.as_ref());
        }
        let count = fixations.by.entry(pid).or_insert(0);
        *count += 1;
        *count == 1
    };
    table.fix();
    debug_assert!(table.fixed() == Fixed::Yes, "TB3: its own fixation is in force");
    if first {
        Registry::of(ctx.vm).fixes(pid, table.arc());
    }
}

fn release(ctx: &Ctx<'_>, table: &Table, pid: Pid) {
    let left = {
        let mut fixations = table.fixations.lock();
        let Some(count) = fixations.by.get_mut(&pid) else { return };
        debug_assert!(*count > 0, "TB3: more fixations are taken back than there were");
        *count -= 1;
        let left = *count;
        if left == 0 {
            fixations.by.remove(&pid);
        }
        left
    };
    if left == 0 {
        Registry::of(ctx.vm).unfixes(pid, table);
    }
    table.unfix(user(ctx), 1);
}

/// The tables, in as many messages as there are schedulers (which is what the caller waits for).
fn internal_request_all_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let reference = ctx.make_ref();
    for scheduler in 0..ctx.vm.config.schedulers {
        let tables = if scheduler == 0 { Registry::of(ctx.vm).all() } else { Vec::new() };
        let message = Payload::build(16, |draft| {
            let mut list = Term::NIL;
            for table in tables {
                let id = known_as(draft, &table);
                list = draft.cons(id, list);
            }
            let reference = copy_out(reference, draft);
            draft.tuple(&[reference, list])
        });
        ctx.vm.signal_pid(ctx.pid(), Signal::Message(Message::new(message, Term::NONE)));
    }
    Ok(reference)
}

fn internal_delete_all_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let (doomed, count) = match delete_all(ctx, &table) {
        Ok(taken) => taken,
        Err(g) => return gone(ctx, g),
    };
    let result = if args[1].is_am(am::undefined) { Term::small(count as i64) } else { args[1] };
    if doomed.taken.count() == 0 {
        // Rows were only hidden: the time for it is paid afterwards.
        ctx.bump(count / FREES_PER_REDUCTION);
        return if ctx.exhausted() { ctx.yield_to(Box::new(move |_| Ok(result))) } else { Ok(result) };
    }
    free_rows(ctx, doomed, result)
}

/// Takes all rows out at once, or hides them if the table is fixed; gives how many there were.
fn delete_all(ctx: &Ctx<'_>, table: &Table) -> Result<(Doomed, usize), crate::table::Gone> {
    let (taken, count) = on_store!(&table.store, rows => rows.clear(table, user(ctx)))?;
    Ok((Doomed::new(ctx, table, taken), count))
}

fn ets_super_user_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(on) = args[0].as_bool() else { return badarg() };
    Registry::of(ctx.vm).set_super_user(ctx.pid(), on);
    Ok(Term::OK)
}

/// Releases what an ended process fixes, and deletes or passes on what it owns; what is left when the slice is used up is given
/// back.
pub fn process_exits(ctx: &mut Ctx<'_>) -> Option<Resumption> {
    let Ended { fixed, owned } = Registry::of(ctx.vm).ended(ctx.pid())?;
    let mut left = Left { fixed: fixed.into_iter(), owned: owned.into_iter(), rows: None };
    if left.give_up(ctx) {
        return None;
    }
    Some(Box::new(move |ctx| if left.give_up(ctx) { Ok(Term::OK) } else { Err(Escape::Yield) }))
}

/// What an ending process has not given up yet.
struct Left {
    fixed: std::vec::IntoIter<Arc<Table>>,
    owned: std::vec::IntoIter<Arc<Table>>,
    /// Rows of a deleted table.
    rows: Option<Doomed>,
}

/// Reductions for giving up a table, apart from its rows.
const TABLE_GIVEN_UP: usize = 100;

impl Left {
    /// `false`: the slice is used up, and something is left.
    fn give_up(&mut self, ctx: &mut Ctx<'_>) -> bool {
        loop {
            if let Some(rows) = &mut self.rows {
                if !free_some(ctx, rows) {
                    return false;
                }
                self.rows = None;
            }
            if ctx.exhausted() {
                return self.fixed.as_slice().is_empty() && self.owned.as_slice().is_empty();
            }
            ctx.bump(TABLE_GIVEN_UP);
            if let Some(table) = self.fixed.next() {
                let times = table.fixations.lock().by.remove(&ctx.pid()).unwrap_or(0);
                if times > 0 {
                    table.unfix(user(ctx), times);
                }
            } else if let Some(table) = self.owned.next() {
                self.rows = pass_on_or_delete(ctx, &table);
            } else {
                return true;
            }
        }
    }
}

/// Gives a table of an ending process to its heir, or deletes it; gives the rows of a deleted one.
fn pass_on_or_delete(ctx: &Ctx<'_>, table: &Arc<Table>) -> Option<Doomed> {
    // The heir stays the heir of what it owns from now on.
    let heir = match &*table.heir.lock() {
        Heir::Process(heir, data) => Some((*heir, Payload::whole(data.term()))),
        Heir::None => None,
    };
    if let Some((heir, data)) = heir
        && heir.pid != ctx.pid()
        && transfer(ctx.vm, table, heir, data.term())
    {
        return None;
    }
    Some(delete_table(ctx, table))
}
