//! Tables as a whole: making, deleting, naming, giving away, fixing; what happens when a process ends.

use crate::access::{InUse, Need, bad, gone, identifier, known_as, table};
use crate::hash::{Fixed, free_chains};
use crate::registry::{self, Ended};
use crate::row::{Row, copy_out};
use crate::table::{Heir, Kind, Options, Protection, Store, Table, WriteConcurrency};
use myriad_heap::Fragment;
use myriad_sync::Arc;
use myriad_term::{Build, Pid, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::message::Message;
use myriad_vm::signal::Signal;
use myriad_vm::{BifResult, Ctx, Vm};

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
    match pid.as_local_pid() {
        Some(pid) if data.is_immediate() => Some(Heir::Process(pid, data, None)),
        Some(pid) => {
            let mut fragment = Fragment::new();
            let data = copy_out(data, &mut fragment);
            Some(Heir::Process(pid, data, Some(fragment)))
        }
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
                am::private => new.protection = Protection::Private,
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
    if new.protection == Protection::Private {
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
    tag.is_am(am::debug_hash_fixed_number_of_locks).then_some(WriteConcurrency::Shards(shift))
}

fn new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(name) = args[0].as_atom() else { return badarg() };
    let Some(new) = new_options(ctx, args[1]) else { return badarg() };
    let numbers = ctx.sched.next_ref(ctx.vm);
    let table = Arc::new(Table::new(numbers, name, ctx.pid(), new.protection, new.options));
    *table.heir.lock() = new.heir;
    if new.options.named && !registry::register(name, &table) {
        return bad(ctx, am::already_exists);
    }
    registry::enter(&table);
    Ok(if new.options.named { name.term() } else { identifier(ctx, &table) })
}

/// Deletes a table; gives its rows, for [`free_rows`].
fn delete_table(table: &Table) -> Vec<Option<Row>> {
    if !table.set_deleted() {
        return Vec::new();
    }
    registry::leave(table);
    registry::disown(table.owner(), table);
    let by = std::mem::take(&mut table.fixations.lock().by);
    for pid in by.into_keys() {
        registry::unfixes(pid, table);
    }
    *table.heir.lock() = Heir::None;
    table.take_all().0
}

/// Frees rows that have left their table, giving way when there are many; then gives `result`.
fn free_rows(ctx: &mut Ctx<'_>, mut rows: Vec<Option<Row>>, result: Term) -> BifResult {
    loop {
        let freed = free_chains(&mut rows, FREE_BATCH);
        ctx.bump(freed / FREES_PER_REDUCTION);
        if freed < FREE_BATCH {
            return Ok(result);
        }
        if ctx.exhausted() {
            let mut rest = Doomed(rows);
            return ctx.yield_to(Box::new(move |ctx| free_rows(ctx, std::mem::take(&mut rest.0), result)));
        }
    }
}

/// Rows to free even if the process does not live to do so.
struct Doomed(Vec<Option<Row>>);

impl Drop for Doomed {
    fn drop(&mut self) {
        free_chains(&mut self.0, usize::MAX);
    }
}

fn delete_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let rows = delete_table(&table);
    free_rows(ctx, rows, Term::TRUE)
}

fn rename_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let Some(name) = args[1].as_atom() else { return badarg() };
    if !table.options.named {
        table.set_name(name);
        return Ok(args[0]);
    }
    if !registry::register(name, table.arc()) {
        return badarg();
    }
    let old = table.name();
    table.set_name(name);
    registry::unregister(old, &table);
    Ok(args[1])
}

/// Makes `to` the owner, and tells it unless `data` is [`Term::NONE`]; `false` if it has ended.
fn transfer(vm: &'static Vm, table: &Arc<Table>, to: Pid, data: Term) -> bool {
    let from = table.owner();
    if vm.processes.get(to).is_none() {
        return false;
    }
    table.set_owner(to);
    registry::own(to, table);
    // One that is not ending yet has its exit hook before it, which finds the table.
    let lives = vm.processes.get(to).is_some_and(|p| !p.is_exiting());
    let sent = if data.is_none() || !lives {
        lives
    } else {
        let mut fragment = Fragment::new();
        let id = known_as(&mut fragment, table);
        let data = copy_out(data, &mut fragment);
        let term = fragment.tuple(&[am::ets_transfer.term(), id, from.term(), data]);
        vm.signal_pid(to, Signal::Message(Message { term, fragment: Some(fragment), token: Term::NONE }))
    };
    if !sent && registry::disown(to, table) {
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
    registry::disown(me, &table);
    if transfer(ctx.vm, table.arc(), to, args[2]) {
        return Ok(Term::TRUE);
    }
    registry::own(me, table.arc());
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
                    Some(am::private) => Some(Protection::Private),
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
    let Some(name) = args[0].as_atom() else { return badarg() };
    match registry::named(name) {
        Some(table) => Ok(identifier(ctx, &table)),
        None => Ok(Term::UNDEFINED),
    }
}

fn safe_fixtable_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Read)?;
    let pid = ctx.pid();
    match args[1].as_bool() {
        Some(true) => fixate(ctx, &table, pid),
        Some(false) => release(&table, pid),
        None => return badarg(),
    }
    Ok(Term::TRUE)
}

fn fixate(ctx: &Ctx<'_>, table: &InUse, pid: Pid) {
    let first = {
        let mut fixations = table.fixations.lock();
        if fixations.by.is_empty() {
            fixations.since = ctx.vm.clock.monotonic_ns(ctx.vm.machine.as_ref());
        }
        let count = fixations.by.entry(pid).or_insert(0);
        *count += 1;
        *count == 1
    };
    table.fix();
    if first {
        registry::fixes(pid, table.arc());
    }
}

fn release(table: &Table, pid: Pid) {
    let left = {
        let mut fixations = table.fixations.lock();
        let Some(count) = fixations.by.get_mut(&pid) else { return };
        *count -= 1;
        let left = *count;
        if left == 0 {
            fixations.by.remove(&pid);
        }
        left
    };
    if left == 0 {
        registry::unfixes(pid, table);
    }
    table.unfix(1);
}

/// The tables, in as many messages as there are schedulers (which is what the caller waits for).
fn internal_request_all_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let reference = ctx.make_ref();
    for scheduler in 0..ctx.vm.config.schedulers {
        let mut fragment = Fragment::new();
        let mut list = Term::NIL;
        if scheduler == 0 {
            for table in registry::all() {
                let id = known_as(&mut fragment, &table);
                list = fragment.cons(id, list);
            }
        }
        let reference = copy_out(reference, &mut fragment);
        let term = fragment.tuple(&[reference, list]);
        let message = Message { term, fragment: Some(fragment), token: Term::NONE };
        ctx.vm.signal_pid(ctx.pid(), Signal::Message(message));
    }
    Ok(reference)
}

fn internal_delete_all_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let table = table(ctx, args[0], Need::Write)?;
    let (rows, count) = match delete_all(&table) {
        Ok(taken) => taken,
        Err(g) => return gone(ctx, g),
    };
    let result = if args[1].is_am(am::undefined) { Term::small(count as i64) } else { args[1] };
    free_rows(ctx, rows, result)
}

/// Takes all rows out at once, or hides them if the table is fixed.
fn delete_all(table: &Table) -> Result<(Vec<Option<Row>>, usize), crate::table::Gone> {
    match &table.store {
        Store::Hash(shards) => {
            let mut guards = table.write_all(shards)?;
            let (mut chains, mut count) = (Vec::new(), 0);
            for shard in &mut guards {
                if table.fixed() == Fixed::Yes {
                    count += (0..shard.buckets()).map(|i| shard.retain_bucket(i, Fixed::Yes, |_| true)).sum::<usize>();
                    continue;
                }
                let (buckets, rows) = shard.take_all();
                count += rows;
                if chains.is_empty() { chains = buckets } else { chains.extend(buckets) }
            }
            Ok((chains, count))
        }
        Store::Tree(tree) => {
            let rows = table.write_tree(tree)?.take_all();
            let count = rows.len();
            Ok((rows, count))
        }
    }
}

fn ets_super_user_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(on) = args[0].as_bool() else { return badarg() };
    registry::set_super_user(ctx.pid(), on);
    Ok(Term::OK)
}

/// Releases what an ended process fixes, and deletes or passes on what it owns.
pub fn process_exits(ctx: &mut Ctx<'_>) {
    let pid = ctx.pid();
    let Some(Ended { fixed, owned }) = registry::ended(pid) else { return };
    for table in fixed {
        let times = table.fixations.lock().by.remove(&pid).unwrap_or(0);
        if times > 0 {
            table.unfix(times);
        }
    }
    for table in owned {
        // The heir stays the heir of what it owns from now on.
        let mut memory = Fragment::new();
        let heir = match &*table.heir.lock() {
            Heir::Process(heir, data, _) => {
                Some((*heir, if data.is_none() { *data } else { copy_out(*data, &mut memory) }))
            }
            Heir::None => None,
        };
        if let Some((heir, data)) = heir
            && heir != pid
            && transfer(ctx.vm, &table, heir, data)
        {
            continue;
        }
        drop(Doomed(delete_table(&table)));
    }
}
