//! What `system_info/1` says of allocators, in the shapes that OTP's own has: its Erlang code adds up `erlang:memory/0` from them.
//!
//! Myriad has one general allocator. What it counts itself (heaps, literals, tables) is told under the name that OTP has for
//! it, as one instance with blocks and no carriers; the other names hold nothing.

use myriad_heap::account;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx, Vm};

/// Allocators with statistics, in OTP's order.
pub const UTIL_ALLOCATORS: &[Atom] = &[
    am::temp_alloc,
    am::sl_alloc,
    am::std_alloc,
    am::ll_alloc,
    am::eheap_alloc,
    am::ets_alloc,
    am::fix_alloc,
    am::literal_alloc,
    am::binary_alloc,
    am::driver_alloc,
];

/// Allocators without.
const OTHER_ALLOCATORS: &[Atom] =
    &[am::mseg_alloc, am::sys_alloc, am::sys_aligned_alloc, am::literal_mmap, am::erts_mmap];

/// A message comes from each of so many threads, less one, to whom asks for figures: from one that knows all.
pub const AUX_WORK_THREADS: i64 = 2;

fn bytes(vm: &Vm, allocator: Atom) -> usize {
    match allocator {
        am::eheap_alloc => (account::process_words() + account::fragment_words()) * 8,
        am::literal_alloc => account::literal_words() * 8,
        am::ets_alloc => vm.gauges.ets_bytes.now(),
        am::binary_alloc => myriad_term::binary::shared_bytes(),
        am::fix_alloc => process_bytes(vm) + vm.timers.message_bytes(),
        _ => 0,
    }
}

fn process_bytes(vm: &Vm) -> usize {
    vm.processes.count() * size_of::<myriad_vm::Process>()
}

fn pair(ctx: &mut Ctx<'_>, key: Atom, value: Term) -> Term {
    ctx.tuple(&[key.term(), value])
}

/// `{Key, Now, Highest, Highest}`
fn triple(ctx: &mut Ctx<'_>, key: Atom, value: usize) -> Term {
    let value = ctx.uint(value as u64);
    ctx.tuple(&[key.term(), value, value, value])
}

/// `{mbcs | sbcs, [{blocks, [..]}, {carriers_size, ..}]}`
fn carriers(ctx: &mut Ctx<'_>, kind: Atom, allocator: Atom, bytes: usize) -> Term {
    let blocks = if bytes == 0 {
        Term::NIL
    } else {
        let size = triple(ctx, am::size, bytes);
        let sizes = ctx.list(&[size]);
        let of = pair(ctx, allocator, sizes);
        ctx.list(&[of])
    };
    let blocks = pair(ctx, am::blocks, blocks);
    let size = triple(ctx, am::carriers_size, bytes);
    let list = ctx.list(&[blocks, size]);
    pair(ctx, kind, list)
}

/// What OTP says of its cache of memory segments, which is not here: no segment, none cached.
fn segments(ctx: &mut Ctx<'_>) -> Term {
    let zero = Term::small(0);
    let status = [
        pair(ctx, am::cached_segments, zero),
        pair(ctx, am::cache_hits, zero),
        triple(ctx, am::segments, 0),
        pair(ctx, am::segments_watermark, zero),
        triple(ctx, am::segments_size, 0),
    ];
    let status = ctx.list(&status);
    let name = ctx.string("all memory");
    let kind = [pair(ctx, am::name, name), pair(ctx, am::status, status), pair(ctx, am::calls, Term::NIL)];
    let kind = ctx.list(&kind);
    let kind = pair(ctx, am::memkind, kind);
    ctx.list(&[kind])
}

/// The figures of one allocator; `false` if it does not exist.
fn figures(ctx: &mut Ctx<'_>, allocator: Atom) -> Option<Term> {
    if allocator == am::mseg_alloc {
        return Some(segments(ctx));
    }
    if OTHER_ALLOCATORS.contains(&allocator) {
        return Some(Term::NIL);
    }
    if !UTIL_ALLOCATORS.contains(&allocator) {
        return None;
    }
    let bytes = bytes(ctx.vm, allocator);
    let mut list = Vec::new();
    if allocator == am::fix_alloc {
        let kinds = [(am::proc, process_bytes(ctx.vm)), (am::bif_timer, ctx.vm.timers.message_bytes())];
        let kinds = kinds.map(|(kind, bytes)| {
            let bytes = ctx.uint(bytes as u64);
            ctx.tuple(&[kind.term(), bytes, bytes])
        });
        let kinds = ctx.list(&kinds);
        list.push(pair(ctx, am::fix_types, kinds));
    }
    list.push(carriers(ctx, am::mbcs, allocator, bytes));
    list.push(carriers(ctx, am::sbcs, allocator, 0));
    Some(ctx.list(&list))
}

/// `{memory_internal | allocator | allocator_sizes, Ref, Allocators}`: the figures come as a message.
pub fn gather(ctx: &mut Ctx<'_>, reference: Term, allocators: Term) -> BifResult {
    if !reference.is_reference() {
        return badarg();
    }
    let mut names = Vec::new();
    let mut items = allocators.list_iter();
    for item in items.by_ref() {
        match item.as_atom() {
            Some(name) if UTIL_ALLOCATORS.contains(&name) || OTHER_ALLOCATORS.contains(&name) => names.push(name),
            _ => return badarg(),
        }
    }
    if !items.tail().is_nil() {
        return badarg();
    }
    let mut told = Vec::new();
    for name in names {
        let entry = match figures(ctx, name) {
            Some(figures) => ctx.tuple(&[name.term(), Term::small(0), figures]),
            None => ctx.tuple(&[name.term(), Term::FALSE]),
        };
        told.push(entry);
    }
    let told = ctx.list(&told);
    let message = ctx.tuple(&[reference, Term::small(1), told]);
    ctx.send(ctx.pid().term(), message)?;
    Ok(Term::TRUE)
}

/// `{allocator | allocator_sizes, Name | Names}`: goes on in Erlang code, which asks with a reference; errors are its own.
pub fn ask(ctx: &mut Ctx<'_>, function: Atom, which: Term) -> BifResult {
    use myriad_term::{Export, Mfa};
    ctx.trap(Export::intern(Mfa { module: am::erlang, function, arity: 1 }), &[which])
}

/// `system_info(allocated_areas)`: memory that no allocator above counts.
pub fn allocated_areas(ctx: &mut Ctx<'_>) -> Term {
    let atoms = myriad_term::atom::count();
    let text = myriad_term::atom::text_bytes();
    // An entry is the text's address and length, and the index.
    let table = atoms * 32;
    let processes = ctx.vm.processes.limit() * 8;
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
        entry(ctx, am::external_alloc, text + table + processes + code),
    ];
    ctx.list(&list)
}
