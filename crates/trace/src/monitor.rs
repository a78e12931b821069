//! `system_monitor`: long collections, large heaps, long slices, busy ports are told to one process.

use crate::{Tracing, event};
use myriad_heap::{Draft, GcInfo, Payload};
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_term::{Atom, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::Vm;
use myriad_vm::tracer::switches;

/// No limit is set.
const NEVER: u64 = u64::MAX;

/// The process or port that gets the messages, and the limits.
pub struct SystemMonitor {
    by: AtomicU64,
    long_gc_ms: AtomicU64,
    long_schedule_ms: AtomicU64,
    large_heap_words: AtomicU64,
    busy_port: AtomicBool,
}

impl Default for SystemMonitor {
    fn default() -> Self {
        SystemMonitor {
            by: AtomicU64::new(0),
            long_gc_ms: AtomicU64::new(NEVER),
            long_schedule_ms: AtomicU64::new(NEVER),
            large_heap_words: AtomicU64::new(NEVER),
            busy_port: AtomicBool::new(false),
        }
    }
}

/// What is watched.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Limits {
    /// `long_gc`, milliseconds.
    pub long_gc_ms: Option<u64>,
    /// `long_schedule`, milliseconds.
    pub long_schedule_ms: Option<u64>,
    /// `large_heap`, words.
    pub large_heap_words: Option<u64>,
    /// `busy_port`
    pub busy_port: bool,
}

impl Limits {
    /// What the VM is to test of them.
    fn switches(&self) -> u32 {
        let mut on = 0;
        if self.long_gc_ms.is_some() || self.large_heap_words.is_some() {
            on |= switches::COLLECTIONS;
        }
        if self.long_schedule_ms.is_some() {
            on |= switches::SLICES;
        }
        on
    }
}

impl SystemMonitor {
    /// Sets the receiver of the messages, and the limits; without a receiver there are none.
    pub fn set(&self, vm: &Vm, by: Option<Term>, limits: Limits) {
        // Relaxed, all of them: a change counts from the next event on.
        self.by.store(by.map_or(0, Term::raw), Ordering::Relaxed);
        self.long_gc_ms.store(limits.long_gc_ms.unwrap_or(NEVER), Ordering::Relaxed);
        self.long_schedule_ms.store(limits.long_schedule_ms.unwrap_or(NEVER), Ordering::Relaxed);
        self.large_heap_words.store(limits.large_heap_words.unwrap_or(NEVER), Ordering::Relaxed);
        self.busy_port.store(limits.busy_port, Ordering::Relaxed);
        vm.switches.set(switches::COLLECTIONS | switches::SLICES, limits.switches());
    }

    fn is_long_slice(&self, ms: u64) -> bool {
        // Relaxed: see `set`.
        ms >= self.long_schedule_ms.load(Ordering::Relaxed)
    }

    fn told(&self, vm: &'static Vm) -> Option<Term> {
        // Relaxed: one immediate word.
        let word = self.by.load(Ordering::Relaxed);
        if word == 0 {
            return None;
        }
        // SAFETY: only `set` stores here: an immediate term, or 0.
        let by = unsafe { Term::from_raw(word) };
        if event::is_alive(vm, by) {
            return Some(by);
        }
        self.set(vm, None, Limits::default());
        None
    }

    /// The receiver of messages about busy ports.
    fn told_of_busy_ports(&self, vm: &'static Vm) -> Option<Term> {
        // Relaxed: see `set`.
        if self.busy_port.load(Ordering::Relaxed) { self.told(vm) } else { None }
    }
}

/// Tells that `subject` was suspended at a port.
pub fn busy_port(vm: &'static Vm, subject: Term, port: Term) {
    if let Some(by) = Tracing::of(vm).monitor.told_of_busy_ports(vm) {
        tell(vm, by, subject, am::busy_port, |_| port);
    }
}

fn tell(
    vm: &'static Vm,
    by: Term,
    subject: Term,
    what: Atom,
    info: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
) {
    if by == subject {
        return;
    }
    let message = Payload::build(64, |draft| {
        let info = info(draft);
        draft.tuple(&[Term::atom(am::monitor), subject, what.term(), info])
    });
    event::deliver(vm, by, message);
}

fn sizes<'b>(memory: &mut Draft<'b>, info: GcInfo, time: Option<u64>) -> TermRef<'b> {
    let figures = [
        (am::old_heap_block_size, info.old_heap_block_size),
        (am::heap_block_size, info.heap_block_size),
        (am::mbuf_size, info.mbuf_size),
        (am::stack_size, info.stack_size),
        (am::old_heap_size, info.old_heap_size),
        (am::heap_size, info.heap_size),
    ];
    let mut list = Term::NIL;
    for (name, words) in figures.into_iter().rev() {
        let pair = memory.tuple(&[name.term(), Term::small(words as i64)]);
        list = memory.cons(pair, list);
    }
    if let Some(ms) = time {
        let pair = memory.tuple(&[Term::atom(am::timeout), Term::small(ms as i64)]);
        list = memory.cons(pair, list);
    }
    list
}

/// A collection that began at `since_ns` is over.
pub(crate) fn collection_took(ctx: &mut Ctx<'_>, since_ns: u64) {
    let vm = ctx.vm;
    let monitor = &Tracing::of(vm).monitor;
    let Some(by) = monitor.told(vm) else { return };
    let ms = vm.platform.now_ns().saturating_sub(since_ns) / 1_000_000;
    let (info, own) = (ctx.state.heap.info(), ctx.pid().term());
    // Relaxed: see `SystemMonitor::set`.
    if ms >= monitor.long_gc_ms.load(Ordering::Relaxed) {
        tell(vm, by, own, am::long_gc, |memory| sizes(memory, info, Some(ms)));
    }
    let words = (info.heap_block_size + info.old_heap_block_size) as u64;
    if words >= monitor.large_heap_words.load(Ordering::Relaxed) {
        tell(vm, by, own, am::large_heap, |memory| sizes(memory, info, None));
    }
}

/// A slice that began at `since_ns` in `from` is over.
pub(crate) fn slice_took(ctx: &mut Ctx<'_>, since_ns: u64, from: Option<myriad_term::Mfa>) {
    let vm = ctx.vm;
    let ms = vm.platform.now_ns().saturating_sub(since_ns) / 1_000_000;
    let monitor = &Tracing::of(vm).monitor;
    if !monitor.is_long_slice(ms) {
        return;
    }
    let Some(by) = monitor.told(vm) else { return };
    let to = ctx.current_function();
    tell(vm, by, ctx.pid().term(), am::long_schedule, |memory| {
        let mut list = Term::NIL;
        for (name, mfa) in [(am::out, to), (am::in_, from)] {
            let place = match mfa {
                Some(mfa) => {
                    let arity = Term::small(i64::from(mfa.arity));
                    memory.tuple(&[mfa.module.term(), mfa.function.term(), arity])
                }
                None => Term::UNDEFINED,
            };
            let pair = memory.tuple(&[name.term(), place]);
            list = memory.cons(pair, list);
        }
        let time = memory.tuple(&[Term::atom(am::timeout), Term::small(ms as i64)]);
        memory.cons(time, list)
    });
}
