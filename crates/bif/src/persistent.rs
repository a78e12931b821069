//! Persistent terms: values that all processes read without copying.
//!
//! Each key and its value live in a literal area of their own, so reading gives a pointer, and sending it copies nothing. A
//! value that has been replaced or erased may still be referred to by any process: its area goes to the literal collector
//! (`vm::literals`), which has every process copy what it holds, as OTP's does. Reading takes no lock, and writes nothing that is
//! shared ([`RcuTable`]).
//!
//! PT1. An area leaves the table before it is handed to the collector, which waits for thread progress before it frees: so what a
//!      reader has got from the table is alive at least until its slice ends.

use myriad_heap::LiteralArea;
use myriad_heap::heap_walk::each_reachable;
use myriad_sync::{LockClass, RcuTable, Retirer, Unlinked};
use myriad_term::copy_shared::copy_shared;
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use myriad_term::size::size_shared;
use myriad_term::{Boxed, Build, Term, am, map};
use myriad_vm::bif::badarg;
use myriad_vm::heap_walk::{Holder, Place, Visit};
use myriad_vm::{BifResult, Ctx, Vm};

myriad_vm::bifs! { pub PERSISTENT_TERM = "persistent_term" {
    "get" / 1 Plain => |ctx, a| find(ctx.vm, a[0]).ok_or(myriad_vm::bif::BADARG);
    "get" / 2 Plain => |ctx, a| Ok(find(ctx.vm, a[0]).unwrap_or(a[1]));
    "get" / 0 Plain => get_0;
    "put" / 2 Plain => put_2;
    "put_new" / 2 Plain since 28 => put_new_2;
    "erase" / 1 Plain => |ctx, a| Ok(Term::bool(erase(ctx, a[0])));
    "info" / 0 Plain => info_0;
}}

myriad_vm::bifs! { pub INTERNAL_PERSISTENT_TERM = "erts_internal" {
    "erase_persistent_terms" / 0 Plain => erase_persistent_terms_0;
}}

/// What a key leads to.
struct Stored {
    key: Term,
    value: Term,
    words: usize,
    /// Where both live: a box's, which [`release`] takes.
    area: *mut LiteralArea,
}

// SAFETY: it is a borrow of a `LiteralArea`, which any thread may use and free.
unsafe impl Send for Stored {}
// SAFETY: as above.
unsafe impl Sync for Stored {}

static CLASS: LockClass = LockClass::new("persistent_term", 700);

/// The persistent terms of a VM.
pub struct PersistentTerms(RcuTable<Stored>);

impl Default for PersistentTerms {
    fn default() -> PersistentTerms {
        PersistentTerms(RcuTable::new(&CLASS))
    }
}

impl PersistentTerms {
    /// All keys and values (literals, see PT1) of one moment, which the writers' lock is for.
    pub fn all(&self) -> Vec<(Term, Term)> {
        self.0.write().iter().map(|stored| (stored.key, stored.value)).collect()
    }

    /// Calls `visit` with each object that they are made of.
    pub fn each_object(&self, visit: Visit<'_>) {
        for stored in self.0.write().iter() {
            let mut visit = |object: Boxed<'_, '_>| visit(Holder::PersistentTerms, Place::System, object);
            each_reachable(&[stored.key, stored.value], &mut visit);
        }
    }
}

#[inline]
fn table(vm: &Vm) -> &'static RcuTable<Stored> {
    &vm.part::<PersistentTerms>().0
}

fn hash(key: Term) -> u64 {
    internal_hash(key, 0).into()
}

#[inline]
fn find(vm: &Vm, key: Term) -> Option<Term> {
    // SAFETY: built-ins run on schedulers, which are inside thread progress; the value is copied, and good for longer (PT1).
    unsafe { table(vm).find(hash(key), |stored| eq_exact(stored.key, key)) }.map(|stored| stored.value)
}

/// Frees what the table no longer holds, once nobody refers to it.
fn release(ctx: &Ctx<'_>, stored: Unlinked<Stored>) {
    // SAFETY: from `Box::into_raw` in `keep`; what is unlinked is released once.
    let area = unsafe { Box::from_raw(stored.area) };
    stored.retire(Retirer::Thread(&ctx.sched.slot));
    ctx.vm.release_literals(*area);
}

/// A copy of key and value, with the sharing in them. Literals are copied, too: the module may go.
fn keep(key: Term, value: Term) -> Stored {
    let nothing = |_: *const u64| false;
    let words = size_shared(key, nothing) + size_shared(value, nothing);
    // Nearly what is needed, OTP's sizes being slightly others; the area grows where it must.
    let mut area = LiteralArea::with_capacity(words);
    // SAFETY: nothing stays.
    let (key, value) = unsafe { (copy_shared(key, &mut area, nothing), copy_shared(value, &mut area, nothing)) };
    Stored { key, value, words, area: Box::into_raw(Box::new(area)) }
}

fn put_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [key, value] = [args[0], args[1]];
    // The same value again costs nothing.
    if find(ctx.vm, key).is_some_and(|old| eq_exact(old, value)) {
        return Ok(Term::OK);
    }
    let new = keep(key, value);
    let by = Retirer::Thread(&ctx.sched.slot);
    let replaced = table(ctx.vm).write().put(hash(key), new, |stored| eq_exact(stored.key, key), by);
    if let Some(old) = replaced {
        release(ctx, old);
    }
    Ok(Term::OK)
}

fn put_new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match find(ctx.vm, args[0]) {
        Some(old) if eq_exact(old, args[1]) => Ok(Term::OK),
        Some(_) => badarg(),
        None => put_2(ctx, args),
    }
}

fn erase(ctx: &Ctx<'_>, key: Term) -> bool {
    let erased = table(ctx.vm).write().remove(hash(key), |stored| eq_exact(stored.key, key));
    erased.map(|old| release(ctx, old)).is_some()
}

fn erase_persistent_terms_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all = table(ctx.vm).write().clear();
    all.into_iter().for_each(|old| release(ctx, old));
    Ok(Term::TRUE)
}

fn get_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    // Readable after the lock is gone: PT1.
    let pairs: Vec<Term> =
        ctx.vm.part::<PersistentTerms>().all().into_iter().map(|(key, value)| ctx.tuple(&[key, value])).collect();
    Ok(ctx.list(&pairs))
}

/// How large the table is: how many terms it holds.
pub(crate) fn table_size(vm: &Vm) -> usize {
    table(vm).write().len()
}

fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let (count, words) = table(ctx.vm).write().iter().fold((0, 0), |(n, words), s| (n + 1, words + s.words + 3));
    let pairs = [(am::count.term(), Term::small(count)), (am::memory.term(), Term::small(words as i64 * 8))];
    Ok(map::from_pairs(ctx, &pairs))
}
