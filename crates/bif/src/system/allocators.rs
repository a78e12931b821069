//! What `system_info/1` says of allocators, in the shapes that OTP's own has: its Erlang code adds up `erlang:memory/0` from them, and
//! tools read them.
//!
//! An instance has one carrier as large as its blocks and what is free beside them (`observe::allocators` says what counts where). The highest
//! numbers of blocks are not noted: those of now stand for them.

use myriad_heap::account;
use myriad_observe::allocators::{self as held, Holdings, UTIL_ALLOCATORS, resident_bytes};
use myriad_observe::memory;
use myriad_sync::Highest;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

/// How much is told: `{allocator, _}` asks for all, `{allocator_sizes, _}` for the sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    Sizes,
    /// Sizes alone, as sums of memory are made of (`erlang:memory/0`).
    Memory,
}

fn pair(ctx: &mut Ctx<'_>, key: Atom, value: Term) -> Term {
    ctx.tuple(&[key.term(), value])
}

fn count(ctx: &mut Ctx<'_>, key: Atom, value: usize) -> Term {
    let value = ctx.uint(value as u64);
    pair(ctx, key, value)
}

/// `{Key, Now, Highest since someone last asked, Highest}`
fn triple(ctx: &mut Ctx<'_>, key: Atom, value: usize, highest: Highest) -> Term {
    let values = [value as u64, highest.recent, highest.ever].map(|value| ctx.uint(value));
    ctx.tuple(&[key.term(), values[0], values[1], values[2]])
}

/// The same of a value whose highest is not noted.
fn steady(ctx: &mut Ctx<'_>, key: Atom, value: usize) -> Term {
    triple(ctx, key, value, Highest { recent: value as u64, ever: value as u64 })
}

/// `{mbcs | sbcs, [{blocks, [{Allocator, [..]}]}, {carriers_size, ..}, ..]}`
fn carriers(ctx: &mut Ctx<'_>, kind: Atom, allocator: Atom, held: &Holdings, detail: Detail) -> Term {
    let all = detail == Detail::All;
    let (bytes, highest) = (held.bytes(), held.highest());
    let blocks = if highest.ever == 0 {
        Term::NIL
    } else {
        let mut figures = Vec::with_capacity(2);
        if all {
            figures.push(steady(ctx, am::count, held.blocks()));
        }
        figures.push(triple(ctx, am::size, bytes, highest));
        let figures = ctx.list(&figures);
        let of = pair(ctx, allocator, figures);
        ctx.list(&[of])
    };
    let blocks = pair(ctx, am::blocks, blocks);
    let spare = held.spare as u64;
    let highest = Highest { recent: highest.recent.saturating_add(spare), ever: highest.ever.saturating_add(spare) };
    let bytes = bytes.saturating_add(held.spare);
    let size = triple(ctx, am::carriers_size, bytes, highest);
    let number = usize::from(bytes > 0);
    let list = match detail {
        Detail::Sizes | Detail::Memory => ctx.list(&[blocks, size]),
        Detail::All => {
            let list = [
                blocks,
                steady(ctx, am::carriers, number),
                count(ctx, am::mseg_alloc_carriers, 0),
                count(ctx, am::sys_alloc_carriers, number),
                size,
                count(ctx, am::mseg_alloc_carriers_size, 0),
                count(ctx, am::sys_alloc_carriers_size, bytes),
            ];
            ctx.list(&list)
        }
    };
    pair(ctx, kind, list)
}

/// `{calls, [{Call, Times div 1000000000, Times rem 1000000000}, ..]}`
fn calls(ctx: &mut Ctx<'_>, calls: &[(Atom, u64)]) -> Term {
    const GIGA: u64 = 1_000_000_000;
    let entry = |(name, times): &(Atom, u64)| {
        ctx.tuple(&[name.term(), Term::small((times / GIGA) as i64), Term::small((times % GIGA) as i64)])
    };
    let entries: Vec<Term> = calls.iter().map(entry).collect();
    let entries = ctx.list(&entries);
    pair(ctx, am::calls, entries)
}

/// What OTP says of its cache of memory segments, which is not here: no segment, none cached.
fn segments(ctx: &mut Ctx<'_>, detail: Detail) -> Term {
    let size = steady(ctx, am::segments_size, 0);
    if detail != Detail::All {
        return ctx.list(&[size]);
    }
    let status = [
        count(ctx, am::cached_segments, 0),
        count(ctx, am::cache_hits, 0),
        steady(ctx, am::segments, 0),
        count(ctx, am::segments_watermark, 0),
        size,
    ];
    let status = ctx.list(&status);
    let name = ctx.string("all memory");
    let calls = calls(ctx, &[(am::mseg_alloc, 0), (am::mseg_dealloc, 0), (am::mseg_realloc, 0)]);
    let kind = [pair(ctx, am::name, name), pair(ctx, am::status, status), calls];
    let kind = ctx.list(&kind);
    let kind = pair(ctx, am::memkind, kind);
    ctx.list(&[kind])
}

/// `{fix_types, [{Kind, Bytes, Bytes}, ..]}`: all belong to the first instance. Others have a mask before the kinds, as for sums of what may be below zero.
fn fixed(ctx: &mut Ctx<'_>, instance: usize) -> Term {
    let kinds = [(am::proc, memory::processes(ctx.vm)), (am::bif_timer, ctx.vm.timers.message_bytes())];
    let kinds = kinds.map(|(kind, bytes)| {
        let bytes = ctx.uint(if instance == 0 { bytes as u64 } else { 0 });
        ctx.tuple(&[kind.term(), bytes, bytes])
    });
    let kinds = ctx.list(&kinds);
    if instance == 0 {
        return pair(ctx, am::fix_types, kinds);
    }
    let mask = ctx.uint(u64::MAX);
    ctx.tuple(&[am::fix_types.term(), mask, kinds])
}

/// What the system has given, and of it the range of literals: the last one first, as the code that asks turns them round.
fn mappings(ctx: &mut Ctx<'_>, detail: Detail) -> [(Atom, Term); 2] {
    if detail != Detail::All {
        return [(am::literal_mmap, Term::NIL), (am::default_mmap, Term::NIL)];
    }
    let mut used = |kind: Atom, bytes: usize| {
        let used = count(ctx, am::used, bytes);
        let used = ctx.list(&[used]);
        let sizes = pair(ctx, am::sizes, used);
        let sizes = ctx.list(&[sizes]);
        let of = pair(ctx, kind, sizes);
        ctx.list(&[of])
    };
    let literals = account::literals().size * 8;
    [(am::literal_mmap, used(am::supercarrier, literals)), (am::default_mmap, used(am::os, resident_bytes()))]
}

/// The figures of one instance of an allocator; nothing if it does not exist.
fn figures(ctx: &mut Ctx<'_>, name: Atom, instance: usize, detail: Detail) -> Option<Term> {
    if name == am::mseg_alloc {
        return Some(segments(ctx, detail));
    }
    if name == am::sys_alloc {
        return Some(Term::NIL);
    }
    let allocator = UTIL_ALLOCATORS.iter().find(|a| a.name == name)?;
    let held = held::holdings(ctx.vm, name, instance);
    let mut list = Vec::new();
    if detail == Detail::All {
        let enabled = pair(ctx, am::e, Term::TRUE);
        let options = ctx.list(&[enabled]);
        list.push(pair(ctx, am::options, options));
    }
    if name == am::fix_alloc && (instance == 0 || detail == Detail::Memory) {
        list.push(fixed(ctx, instance));
    }
    list.push(carriers(ctx, am::mbcs, name, &held, detail));
    list.push(carriers(ctx, am::sbcs, name, &Holdings::default(), detail));
    if detail == Detail::All {
        let counted =
            held.calls().map(|[taken, given]| [(name, taken), (allocator.free, given), (allocator.realloc, 0)]);
        list.push(calls(ctx, counted.as_ref().map_or(&[], |c| c)));
    }
    Some(ctx.list(&list))
}

/// How many instances an allocator has.
fn instances(ctx: &Ctx<'_>, name: Atom) -> usize {
    UTIL_ALLOCATORS.iter().find(|a| a.name == name).map_or(1, |a| a.instances(ctx.vm))
}

/// `{memory_internal | allocator | allocator_sizes, Ref, Allocators}`: the figures come as messages, one for each scheduler, with its instances.
/// The first has those of all other threads, too.
pub fn gather(ctx: &mut Ctx<'_>, what: Atom, reference: Term, allocators: Term) -> BifResult {
    if !reference.is_reference() {
        return badarg();
    }
    let detail = match what {
        am::allocator => Detail::All,
        am::memory_internal => Detail::Memory,
        _ => Detail::Sizes,
    };
    let mut names = Vec::new();
    let mut items = allocators.list_iter();
    for item in items.by_ref() {
        let Some(name) = item.as_atom() else { return badarg() };
        if name != am::erts_mmap && figures(ctx, name, 0, detail).is_none() {
            return badarg();
        }
        names.push(name);
    }
    if !items.tail().is_nil() {
        return badarg();
    }
    for scheduler in 1..held::instances(ctx.vm) {
        let mut told = Vec::new();
        for name in &names {
            told_by(ctx, scheduler, *name, detail, &mut told);
        }
        let told = ctx.list(&told);
        let message = ctx.tuple(&[reference, Term::small(scheduler as i64), told]);
        ctx.send(ctx.pid().term(), message)?;
    }
    if what != am::memory_internal {
        names.into_iter().for_each(held::ask_anew);
    }
    Ok(Term::TRUE)
}

/// What one scheduler tells of an allocator.
fn told_by(ctx: &mut Ctx<'_>, scheduler: usize, name: Atom, detail: Detail, told: &mut Vec<Term>) {
    let is_first = scheduler == 1;
    if name == am::erts_mmap {
        if is_first {
            for (range, figures) in mappings(ctx, detail) {
                told.push(ctx.tuple(&[name.term(), range.term(), figures]));
            }
        }
        return;
    }
    for instance in if is_first { 0..2 } else { scheduler..scheduler + 1 } {
        if instance < instances(ctx, name)
            && let Some(figures) = figures(ctx, name, instance, detail)
        {
            told.push(ctx.tuple(&[name.term(), Term::small(instance as i64), figures]));
        }
    }
}

/// `{allocator | allocator_sizes, Name | Names}`: continues in Erlang code, which asks with a reference; errors are its own.
pub fn ask(ctx: &mut Ctx<'_>, function: Atom, which: Term) -> BifResult {
    use myriad_term::{Export, Mfa};
    ctx.trap(Export::intern(Mfa { module: am::erlang, function, arity: 1 }), &[which])
}

/// `system_info(allocated_areas)`: memory that no allocator above counts.
pub fn allocated_areas(ctx: &mut Ctx<'_>) -> Term {
    let text = myriad_term::atom::text_bytes();
    let (table, processes) = (memory::atom_table(), memory::process_table(ctx.vm));
    let elsewhere = memory::elsewhere(ctx.vm);
    let entry = |ctx: &mut Ctx<'_>, key: Atom, size: usize| {
        let size = ctx.uint(size as u64);
        ctx.tuple(&[key.term(), size])
    };
    let space = [Term::atom(am::atom_space), Term::small(text as i64), Term::small(text as i64)];
    let code = myriad_vm::code::bytes();
    let list = [
        ctx.tuple(&space),
        entry(ctx, am::atom_table, table),
        entry(ctx, am::loaded_code, code),
        entry(ctx, am::process_table, processes),
        entry(ctx, am::external_alloc, elsewhere),
    ];
    ctx.list(&list)
}
