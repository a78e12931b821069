//! Persistent terms: values that all processes read without copying.
//!
//! Each key and its value live in a literal area of their own, so reading gives a pointer, and sending it copies nothing. A
//! value that has been replaced or erased may still be referred to by any process: its area goes to the literal collector
//! (`vm::literals`), which has every process copy what it holds, as OTP's does.
//!
//! PT1. An area leaves the table before it is handed to the collector, which waits for thread progress before it frees: so what a
//!      reader has got from the table is alive at least until its slice ends.

use myriad_heap::LiteralArea;
use myriad_heap::heap_walk::each_reachable;
use myriad_sync::{LockClass, RwLock};
use myriad_term::copy_shared::copy_shared;
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use myriad_term::size::size_shared;
use myriad_term::{Boxed, Build, Term, am, map};
use myriad_vm::bif::badarg;
use myriad_vm::heap_walk::{Holder, Place, Visit};
use myriad_vm::{BifResult, Ctx, Vm};
use std::collections::HashMap;

myriad_vm::bifs! { pub PERSISTENT_TERM = "persistent_term" {
    "get" / 1 Plain => |ctx, a| find(ctx.vm, a[0]).ok_or(myriad_vm::bif::BADARG);
    "get" / 2 Plain => |ctx, a| Ok(find(ctx.vm, a[0]).unwrap_or(a[1]));
    "get" / 0 Plain => get_0;
    "put" / 2 Plain => put_2;
    "put_new" / 2 Plain since 28 => put_new_2;
    "erase" / 1 Plain => |ctx, a| Ok(Term::bool(erase(ctx.vm, a[0])));
    "info" / 0 Plain => info_0;
}}

myriad_vm::bifs! { pub INTERNAL_PERSISTENT_TERM = "erts_internal" {
    "erase_persistent_terms" / 0 Plain => erase_persistent_terms_0;
}}

struct Value {
    key: Term,
    value: Term,
    words: usize,
    /// Where both live.
    area: LiteralArea,
}

static CLASS: LockClass = LockClass::new("persistent_term", 700);

#[derive(Default)]
struct Chains {
    chains: HashMap<u32, Vec<Value>>,
}

/// The persistent terms of a VM.
pub struct PersistentTerms(RwLock<Chains>);

impl Default for PersistentTerms {
    fn default() -> PersistentTerms {
        PersistentTerms(RwLock::new(&CLASS, Chains::default()))
    }
}

impl PersistentTerms {
    /// All keys and values (literals, see PT1).
    pub fn all(&self) -> Vec<(Term, Term)> {
        self.0.read().chains.values().flatten().map(|v| (v.key, v.value)).collect()
    }

    /// Calls `visit` with each object that they are made of.
    pub fn each_object(&self, visit: Visit<'_>) {
        for value in self.0.read().chains.values().flatten() {
            let mut visit = |object: Boxed<'_, '_>| visit(Holder::PersistentTerms, Place::System, object);
            each_reachable(&[value.key, value.value], &mut visit);
        }
    }
}

#[inline]
fn table(vm: &Vm) -> &'static RwLock<Chains> {
    &vm.part::<PersistentTerms>().0
}

fn find(vm: &Vm, key: Term) -> Option<Term> {
    let table = table(vm).read();
    table.chains.get(&internal_hash(key, 0))?.iter().find(|v| eq_exact(v.key, key)).map(|v| v.value)
}

/// A copy of key and value, with the sharing in them. Literals are copied, too: the module may go.
fn keep(key: Term, value: Term) -> Value {
    let nothing = |_: *const u64| false;
    let words = size_shared(key, nothing) + size_shared(value, nothing);
    // Nearly what is needed, OTP's sizes being slightly others; the area grows where it must.
    let mut area = LiteralArea::with_capacity(words);
    // SAFETY: nothing stays.
    let (key, value) = unsafe { (copy_shared(key, &mut area, nothing), copy_shared(value, &mut area, nothing)) };
    Value { key, value, words, area }
}

fn put_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [key, value] = [args[0], args[1]];
    // The same value again costs nothing.
    if find(ctx.vm, key).is_some_and(|old| eq_exact(old, value)) {
        return Ok(Term::OK);
    }
    let new = keep(key, value);
    let replaced = {
        let mut table = table(ctx.vm).write();
        let chain = table.chains.entry(internal_hash(key, 0)).or_default();
        match chain.iter_mut().find(|v| eq_exact(v.key, key)) {
            Some(old) => Some(std::mem::replace(old, new)),
            None => {
                chain.push(new);
                None
            }
        }
    };
    if let Some(old) = replaced {
        ctx.vm.release_literals(old.area);
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

fn erase(vm: &'static Vm, key: Term) -> bool {
    let erased = {
        let mut table = table(vm).write();
        let hash = internal_hash(key, 0);
        let Some(chain) = table.chains.get_mut(&hash) else { return false };
        let erased = chain.iter().position(|v| eq_exact(v.key, key)).map(|i| chain.swap_remove(i));
        if chain.is_empty() {
            table.chains.remove(&hash);
        }
        erased
    };
    let Some(erased) = erased else { return false };
    vm.release_literals(erased.area);
    true
}

fn erase_persistent_terms_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all = std::mem::take(&mut table(ctx.vm).write().chains);
    for value in all.into_values().flatten() {
        ctx.vm.release_literals(value.area);
    }
    Ok(Term::TRUE)
}

fn get_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    // Readable after the lock is gone: PT1.
    let pairs: Vec<Term> =
        ctx.vm.part::<PersistentTerms>().all().into_iter().map(|(key, value)| ctx.tuple(&[key, value])).collect();
    Ok(ctx.list(&pairs))
}

/// How large the table is: how many hash values it has chains for.
pub(crate) fn table_size(vm: &Vm) -> usize {
    table(vm).read().chains.len()
}

fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let (count, words) = {
        let table = table(ctx.vm).read();
        table.chains.values().flatten().fold((0, 0), |(n, words), v| (n + 1, words + v.words + 3))
    };
    let pairs = [(am::count.term(), Term::small(count)), (am::memory.term(), Term::small(words as i64 * 8))];
    Ok(map::from_pairs(ctx, &pairs))
}
