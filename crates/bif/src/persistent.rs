//! Persistent terms: values that all processes read without copying.
//!
//! The values live in one literal area, so reading gives a pointer, and sending it copies nothing. A value that has been
//! replaced or erased may still be referred to by any process, so it is kept: memory grows by each replacement, which
//! OTP's documentation also tells users to avoid.
//!
//! PT1. The area is never freed.

use myriad_heap::LiteralArea;
use myriad_sync::{LazyLock, LockClass, RwLock};
use myriad_term::equal::eq_exact;
use myriad_term::hash::internal_hash;
use myriad_term::{Build, Term, am, copy, map};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};
use std::collections::HashMap;

myriad_vm::bifs! { pub PERSISTENT_TERM = "persistent_term" {
    "get" / 1 Plain => |_, a| find(a[0]).ok_or(myriad_vm::bif::BADARG);
    "get" / 2 Plain => |_, a| Ok(find(a[0]).unwrap_or(a[1]));
    "get" / 0 Plain => get_0;
    "put" / 2 Plain => put_2;
    "put_new" / 2 Plain since 28 => put_new_2;
    "erase" / 1 Plain => |_, a| Ok(Term::bool(erase(a[0])));
    "info" / 0 Plain => info_0;
}}

myriad_vm::bifs! { pub INTERNAL_PERSISTENT_TERM = "erts_internal" {
    "erase_persistent_terms" / 0 Plain => |_, _| { TABLE.write().chains.clear(); Ok(Term::TRUE) };
}}

#[derive(Clone, Copy)]
struct Value {
    key: Term,
    value: Term,
    words: usize,
}

static CLASS: LockClass = LockClass::new("persistent_term", 700);
static TABLE: LazyLock<RwLock<Table>> = LazyLock::new(|| RwLock::new(&CLASS, Table::default()));

#[derive(Default)]
struct Table {
    chains: HashMap<u32, Vec<Value>>,
    /// PT1: dropped never, because the table is static.
    area: LiteralArea,
}

fn find(key: Term) -> Option<Term> {
    let table = TABLE.read();
    table.chains.get(&internal_hash(key, 0))?.iter().find(|v| eq_exact(v.key, key)).map(|v| v.value)
}

impl Table {
    /// A copy of key and value that stays (PT1).
    ///
    /// Literals of modules are copied, too: the module may go. Only what lies in the area already stays where it is.
    fn keep(&mut self, key: Term, value: Term) -> Value {
        let kept = self.area.ranges();
        let is_kept = |at: *const u64| kept.contains(at);
        let mut words = 0;
        let mut copy = |term: Term| {
            let size = if term.is_immediate() { 0 } else { copy::size(term, is_kept) };
            words += size;
            copy::copy(term, size, &mut self.area, is_kept)
        };
        let (key, value) = (copy(key), copy(value));
        Value { key, value, words }
    }
}

fn put_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [key, value] = [args[0], args[1]];
    // The same value again costs nothing.
    if find(key).is_some_and(|old| eq_exact(old, value)) {
        return Ok(Term::OK);
    }
    let mut table = TABLE.write();
    let new = table.keep(key, value);
    let chain = table.chains.entry(internal_hash(key, 0)).or_default();
    match chain.iter_mut().find(|v| eq_exact(v.key, key)) {
        Some(old) => *old = new,
        None => chain.push(new),
    }
    Ok(Term::OK)
}

fn put_new_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match find(args[0]) {
        Some(old) if eq_exact(old, args[1]) => Ok(Term::OK),
        Some(_) => badarg(),
        None => put_2(ctx, args),
    }
}

fn erase(key: Term) -> bool {
    let mut table = TABLE.write();
    let hash = internal_hash(key, 0);
    let Some(chain) = table.chains.get_mut(&hash) else { return false };
    let before = chain.len();
    chain.retain(|v| !eq_exact(v.key, key));
    let erased = chain.len() < before;
    if chain.is_empty() {
        table.chains.remove(&hash);
    }
    erased
}

fn get_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let all: Vec<Value> = TABLE.read().chains.values().flatten().copied().collect();
    let pairs: Vec<Term> = all.iter().map(|v| ctx.tuple(&[v.key, v.value])).collect();
    Ok(ctx.list(&pairs))
}

fn info_0(ctx: &mut Ctx<'_>, _: &[Term]) -> BifResult {
    let (count, words) = {
        let table = TABLE.read();
        table.chains.values().flatten().fold((0, 0), |(n, words), v| (n + 1, words + v.words + 3))
    };
    let pairs = [(am::count.term(), Term::small(count)), (am::memory.term(), Term::small(words as i64 * 8))];
    Ok(map::from_pairs(ctx, &pairs))
}
