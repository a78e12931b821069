//! What `system_info/1` says of allocators, in the shapes that OTP's own has: its Erlang code adds up `erlang:memory/0` from them, and
//! tools read them.
//!
//! Myriad has one general allocator. What it counts itself (heaps, literals, binaries, tables) is told under the name that OTP has
//! for it: one instance, whose blocks lie in one carrier as large as they are. What else the system has given (the VM's own, and
//! what the general allocator keeps free) is a carrier of `std_alloc`, whose blocks are not counted. The other names hold nothing.
//! The highest figures are not noted: those of now stand for them.

use myriad_heap::account;
use myriad_observe::memory;
use myriad_sync::Tally;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::subsystem::Statistic;
use myriad_vm::{BifResult, Ctx, Vm};

/// The names of an allocator, and of its three calls but for the first, which is called as it is.
pub struct Allocator {
    /// The name.
    pub name: Atom,
    free: Atom,
    realloc: Atom,
}

macro_rules! allocators {
    ($($name:ident $free:ident $realloc:ident;)*) => {
        /// Allocators with statistics, in OTP's order.
        pub const UTIL_ALLOCATORS: &[Allocator] =
            &[$(Allocator { name: am::$name, free: am::$free, realloc: am::$realloc }),*];
    };
}

allocators! {
    temp_alloc temp_free temp_realloc;
    sl_alloc sl_free sl_realloc;
    std_alloc std_free std_realloc;
    ll_alloc ll_free ll_realloc;
    eheap_alloc eheap_free eheap_realloc;
    ets_alloc ets_free ets_realloc;
    fix_alloc fix_free fix_realloc;
    literal_alloc literal_free literal_realloc;
    binary_alloc binary_free binary_realloc;
    driver_alloc driver_free driver_realloc;
}

/// A process that asks for figures expects messages from this number of threads, less one; they all come from one that knows all.
pub const AUX_WORK_THREADS: i64 = 2;

/// How much is told: `{allocator, _}` asks for all, `{allocator_sizes, _}` for the sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    All,
    Sizes,
}

/// What an allocator holds.
#[derive(Default)]
struct Holdings {
    blocks: usize,
    /// Bytes of the blocks.
    bytes: usize,
    /// Bytes of the carriers beside them.
    spare: usize,
    /// How often memory was taken and given back, if that is counted.
    calls: Option<[u64; 2]>,
}

impl Holdings {
    fn of(tally: Tally, unit: usize) -> Holdings {
        let blocks = usize::try_from(tally.number()).unwrap_or(usize::MAX);
        let bytes = tally.size.saturating_mul(unit);
        Holdings { blocks, bytes, spare: 0, calls: Some([tally.came, tally.went]) }
    }
}

fn holdings(vm: &Vm, allocator: Atom) -> Holdings {
    match allocator {
        am::eheap_alloc => Holdings::of(account::heaps(), 8),
        am::literal_alloc => Holdings::of(account::literals(), 8),
        am::binary_alloc => Holdings::of(myriad_term::binary::shared(), 1),
        am::ets_alloc => {
            let (blocks, bytes) = (vm.statistic(Statistic::TableBlocks), vm.statistic(Statistic::TableBytes));
            Holdings { blocks, bytes, ..Holdings::default() }
        }
        am::fix_alloc => {
            let blocks = vm.processes.count() + vm.timers.messages();
            Holdings { blocks, bytes: memory::processes(vm) + vm.timers.message_bytes(), ..Holdings::default() }
        }
        am::std_alloc => {
            let known = UTIL_ALLOCATORS.iter().filter(|a| a.name != am::std_alloc);
            let known: usize = known.map(|a| holdings(vm, a.name).bytes).sum();
            Holdings { spare: resident_bytes().saturating_sub(known), ..Holdings::default() }
        }
        _ => Holdings { calls: Some([0, 0]), ..Holdings::default() },
    }
}

/// Memory that the VM has from the system at the moment; 0 where the system does not tell.
fn resident_bytes() -> usize {
    let told = std::fs::read_to_string("/proc/self/status").ok();
    let line = told.as_deref().and_then(|told| told.lines().find_map(|line| line.strip_prefix("VmRSS:")));
    let kilobytes: Option<usize> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kilobytes.map_or(0, |n| n.saturating_mul(1024))
}

fn pair(ctx: &mut Ctx<'_>, key: Atom, value: Term) -> Term {
    ctx.tuple(&[key.term(), value])
}

fn count(ctx: &mut Ctx<'_>, key: Atom, value: usize) -> Term {
    let value = ctx.uint(value as u64);
    pair(ctx, key, value)
}

/// `{Key, Now, Highest, Highest}`
fn triple(ctx: &mut Ctx<'_>, key: Atom, value: usize) -> Term {
    let value = ctx.uint(value as u64);
    ctx.tuple(&[key.term(), value, value, value])
}

/// `{mbcs | sbcs, [{blocks, [{Allocator, [..]}]}, {carriers_size, ..}, ..]}`
fn carriers(ctx: &mut Ctx<'_>, kind: Atom, allocator: Atom, held: &Holdings, detail: Detail) -> Term {
    let all = detail == Detail::All;
    let blocks = if held.bytes == 0 {
        Term::NIL
    } else {
        let mut figures = Vec::with_capacity(2);
        if all {
            figures.push(triple(ctx, am::count, held.blocks));
        }
        figures.push(triple(ctx, am::size, held.bytes));
        let figures = ctx.list(&figures);
        let of = pair(ctx, allocator, figures);
        ctx.list(&[of])
    };
    let blocks = pair(ctx, am::blocks, blocks);
    let bytes = held.bytes.saturating_add(held.spare);
    let size = triple(ctx, am::carriers_size, bytes);
    let number = usize::from(bytes > 0);
    let list = match detail {
        Detail::Sizes => ctx.list(&[blocks, size]),
        Detail::All => {
            let list = [
                blocks,
                triple(ctx, am::carriers, number),
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
    let size = triple(ctx, am::segments_size, 0);
    if detail == Detail::Sizes {
        return ctx.list(&[size]);
    }
    let status = [
        count(ctx, am::cached_segments, 0),
        count(ctx, am::cache_hits, 0),
        triple(ctx, am::segments, 0),
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

/// `{fix_types, [{Kind, Bytes, Bytes}, ..]}`
fn fixed(ctx: &mut Ctx<'_>) -> Term {
    let kinds = [(am::proc, memory::processes(ctx.vm)), (am::bif_timer, ctx.vm.timers.message_bytes())];
    let kinds = kinds.map(|(kind, bytes)| {
        let bytes = ctx.uint(bytes as u64);
        ctx.tuple(&[kind.term(), bytes, bytes])
    });
    let kinds = ctx.list(&kinds);
    pair(ctx, am::fix_types, kinds)
}

/// What the system has given, and of it the range of literals: the last one first, as the code that asks turns them round.
fn mappings(ctx: &mut Ctx<'_>, detail: Detail) -> [(Atom, Term); 2] {
    if detail == Detail::Sizes {
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

/// The figures of one allocator; nothing if it does not exist.
fn figures(ctx: &mut Ctx<'_>, name: Atom, detail: Detail) -> Option<Term> {
    if name == am::mseg_alloc {
        return Some(segments(ctx, detail));
    }
    if name == am::sys_alloc {
        return Some(Term::NIL);
    }
    let allocator = UTIL_ALLOCATORS.iter().find(|a| a.name == name)?;
    let held = holdings(ctx.vm, name);
    let mut list = Vec::new();
    if detail == Detail::All {
        let enabled = pair(ctx, am::e, Term::TRUE);
        let options = ctx.list(&[enabled]);
        list.push(pair(ctx, am::options, options));
    }
    if name == am::fix_alloc {
        list.push(fixed(ctx));
    }
    list.push(carriers(ctx, am::mbcs, name, &held, detail));
    list.push(carriers(ctx, am::sbcs, name, &Holdings::default(), detail));
    if detail == Detail::All {
        let counted = held.calls.map(|[taken, given]| [(name, taken), (allocator.free, given), (allocator.realloc, 0)]);
        list.push(calls(ctx, counted.as_ref().map_or(&[], |c| c)));
    }
    Some(ctx.list(&list))
}

/// `{memory_internal | allocator | allocator_sizes, Ref, Allocators}`: the figures come as a message.
pub fn gather(ctx: &mut Ctx<'_>, what: Atom, reference: Term, allocators: Term) -> BifResult {
    if !reference.is_reference() {
        return badarg();
    }
    let detail = if what == am::allocator { Detail::All } else { Detail::Sizes };
    let mut told = Vec::new();
    let mut items = allocators.list_iter();
    for item in items.by_ref() {
        let Some(name) = item.as_atom() else { return badarg() };
        if name == am::erts_mmap {
            for (range, figures) in mappings(ctx, detail) {
                told.push(ctx.tuple(&[name.term(), range.term(), figures]));
            }
            continue;
        }
        let Some(figures) = figures(ctx, name, detail) else { return badarg() };
        told.push(ctx.tuple(&[name.term(), Term::small(0), figures]));
    }
    if !items.tail().is_nil() {
        return badarg();
    }
    let told = ctx.list(&told);
    let message = ctx.tuple(&[reference, Term::small(1), told]);
    ctx.send(ctx.pid().term(), message)?;
    Ok(Term::TRUE)
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
