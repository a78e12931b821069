//! Making and sending trace messages.
//!
//! `{trace, Tracee, Tag, Part...}`, with the scheduler's number and then the time behind them if the flags ask for them (then
//! the first element is `trace_ts`).

use crate::Tracing;
use myriad_process::{Message, Payload};
use myriad_term::{Atom, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::Vm;
use myriad_vm::tracer::flags;
use myriad_vm::{Process, Signal};

/// Is this a process or port that can get trace messages?
pub fn is_alive(vm: &'static Vm, tracer: Term) -> bool {
    match tracer.as_local_pid() {
        Some(pid) => vm.processes.get(pid).is_some_and(|p| !p.is_exiting()),
        None => tracer.as_local_port().is_some_and(|port| vm.ports().is_some_and(|ports| ports.is_open(vm, port))),
    }
}

/// `{MegaSeconds, Seconds, MicroSeconds}` of the system's time, or of the time the processor has worked for this VM.
pub fn now_triple<'h>(vm: &'static Vm, heap: &mut impl Build<'h>) -> TermRef<'h> {
    let micros = if Tracing::of(vm).cpu_timestamps() {
        vm.platform.cpu_ns() as i64 / 1000
    } else {
        vm.clock.unique_micros(&*vm.platform)
    };
    let seconds = micros.div_euclid(1_000_000);
    let parts = [seconds.div_euclid(1_000_000), seconds.rem_euclid(1_000_000), micros.rem_euclid(1_000_000)];
    heap.tuple(&parts.map(Term::small))
}

/// The time that the flags ask for.
pub fn timestamp<'h>(vm: &'static Vm, flags: u32, heap: &mut impl Build<'h>) -> Option<TermRef<'h>> {
    let monotonic = || vm.clock.monotonic_ns(&*vm.platform);
    if flags & flags::TIMESTAMP != 0 {
        Some(now_triple(vm, heap))
    } else if flags & flags::STRICT_MONOTONIC_TIMESTAMP != 0 {
        let time = heap.int(monotonic());
        let unique = heap.int128(vm.next_monotonic_unique());
        Some(heap.tuple(&[time, unique]))
    } else if flags & flags::MONOTONIC_TIMESTAMP != 0 {
        Some(heap.int(monotonic()))
    } else {
        None
    }
}

/// Sends a trace message. `scheduler` is the number of the scheduler from 1, 0 for a thread that is none.
pub fn send(
    vm: &'static Vm,
    tracer: Term,
    flags: u32,
    scheduler: usize,
    tracee: Term,
    tag: Atom,
    parts: &[TermRef<'_>],
) {
    deliver(vm, tracer, message(vm, flags, scheduler, tracee, tag, parts));
}

/// Makes a trace message.
pub fn message(
    vm: &'static Vm,
    flags: u32,
    scheduler: usize,
    tracee: Term,
    tag: Atom,
    parts: &[TermRef<'_>],
) -> Payload {
    let words: usize = parts.iter().map(|t| myriad_heap::copied_size(*t)).sum();
    Payload::build(words + parts.len() + 24, |draft| {
        let name = if flags & flags::TIMES != 0 { am::trace_ts } else { am::trace };
        let mut elements = Vec::with_capacity(parts.len() + 5);
        elements.extend([name.term(), tracee, tag.term()]);
        for part in parts {
            elements.push(myriad_heap::copy_term(*part, draft));
        }
        if flags & flags::SCHEDULER_ID != 0 {
            elements.push(Term::small(scheduler as i64));
        }
        elements.extend(timestamp(vm, flags, draft));
        draft.tuple(&elements)
    })
}

/// Hands a message to a tracer.
pub fn deliver(vm: &'static Vm, tracer: Term, message: Payload) {
    if let Some(pid) = tracer.as_local_pid() {
        vm.signal_pid(pid, Signal::Message(Message::new(message, Term::NONE)));
    } else if let (Some(port), Some(ports)) = (tracer.as_local_port(), vm.ports()) {
        ports.trace_output(vm, port, message);
    }
}

/// Takes all flags and the tracer from a process: its tracer has ended.
#[cold]
pub fn clear(vm: &'static Vm, process: &Process) {
    let guard = Tracing::of(vm).lock();
    if process.trace.tracer().is_some_and(|tracer| !is_alive(vm, tracer)) {
        process.trace.set(0, None);
    }
    drop(guard);
}

/// The tracer of a process for events of these flags: nothing if it does not want them, is its own tracer, or the tracer has
/// ended.
#[cold]
#[inline(never)]
pub fn tracer_for(vm: &'static Vm, process: &Process, mask: u32) -> Option<Term> {
    if !process.trace.wants(mask) {
        return None;
    }
    let tracer = process.trace.tracer()?;
    if !is_alive(vm, tracer) {
        clear(vm, process);
        return None;
    }
    (tracer != process.pid.term()).then_some(tracer)
}

/// Sends a trace message about the process that runs, for one of these flags.
pub fn about(ctx: &Ctx<'_>, mask: u32, tag: Atom, parts: &[TermRef<'_>]) {
    if let Some(tracer) = tracer_for(ctx.vm, ctx.process, mask) {
        let flags = ctx.process.trace.flags();
        send(ctx.vm, tracer, flags, ctx.scheduler_number(), ctx.process.pid.term(), tag, parts);
    }
}
