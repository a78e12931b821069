//! Making and sending trace messages.
//!
//! `{trace, Tracee, Tag, Part...}`, with the scheduler's number and then the time behind them if the flags ask for them (then
//! the first element is `trace_ts`). A tracer module is called instead ([`crate::module`]).

use crate::Tracing;
use crate::module::{Answer, Event, Kind, ModuleTracer};
use myriad_process::{Message, Payload, Tracee};
use myriad_sync::Arc;
use myriad_term::{Atom, Build, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::Vm;
use myriad_vm::tracer::flags;
use myriad_vm::{Process, Signal};

/// Who is told of an event.
#[derive(Clone)]
pub enum Receiver {
    /// A process or port, by a message.
    One(Term),
    /// A module, by its function for events of this kind.
    Module(Arc<ModuleTracer>, Kind),
}

impl Receiver {
    /// Tells it.
    pub fn tell(&self, vm: &'static Vm, event: &Event<'_, '_>) {
        match self {
            Receiver::One(tracer) => deliver(vm, *tracer, message(vm, event)),
            Receiver::Module(module, kind) => module.tell(*kind, Tracing::of(vm).cpu_timestamps(), event),
        }
    }
}

/// What becomes of an event.
pub enum Fate {
    /// It is told.
    Told(Receiver),
    /// It is not.
    Untold,
    /// The tracer has ended, or wants to hear no more of this tracee.
    Ended,
}

/// Is there such a process, port or tracer module?
pub fn is_alive(vm: &'static Vm, tracer: Term) -> bool {
    match (tracer.as_local_pid(), tracer.as_local_port()) {
        (Some(pid), _) => vm.processes.get(pid).is_some_and(|p| !p.is_exiting()),
        (_, Some(port)) => vm.ports().is_some_and(|ports| ports.is_open(vm, port)),
        _ => Tracing::of(vm).tracers.get(tracer).is_some(),
    }
}

/// Does it still trace this process or port, or what new ones get (`undefined`)?
pub fn goes_on(vm: &'static Vm, tracer: Term, tracee: Term) -> bool {
    match Tracing::of(vm).tracers.get(tracer) {
        Some(module) => module.goes_on(tracee),
        None => is_alive(vm, tracer),
    }
}

/// What becomes of an event of these flags that a tracer may be told of. A module is not asked about returns: it has been about the call.
pub fn fate(vm: &'static Vm, tracer: Term, mask: u32, tag: Atom, tracee: Term) -> Fate {
    if let Some(module) = Tracing::of(vm).tracers.get(tracer) {
        let (kind, is_return) = (Kind::of(mask), matches!(tag, am::return_from | am::exception_from | am::return_to));
        return match if is_return { Answer::Trace } else { module.asks(kind, tag, tracee) } {
            Answer::Trace => Fate::Told(Receiver::Module(module, kind)),
            Answer::Discard => Fate::Untold,
            Answer::Remove => Fate::Ended,
        };
    }
    if !is_alive(vm, tracer) {
        Fate::Ended
    } else if tracer == tracee {
        Fate::Untold
    } else {
        Fate::Told(Receiver::One(tracer))
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

/// Makes a trace message.
pub fn message(vm: &'static Vm, event: &Event<'_, '_>) -> Payload {
    let Event { flags, scheduler, tracee, tag, parts, result } = *event;
    let words: usize = parts.iter().chain(&result).map(|t| myriad_heap::copied_size(*t)).sum();
    Payload::build(words + parts.len() + 24, |draft| {
        let name = if flags & flags::TIMES != 0 { am::trace_ts } else { am::trace };
        let mut elements = Vec::with_capacity(parts.len() + 6);
        elements.extend([name.term(), myriad_heap::copy_term(tracee, draft), tag.term()]);
        for part in parts.iter().chain(&result) {
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

/// Takes all flags and the tracer from a process or port, if it is still this one: the tracer has ended, or wants no more.
#[cold]
fn clear(vm: &'static Vm, tracee: &Tracee, tracer: Term) {
    let guard = Tracing::of(vm).lock();
    if tracee.tracer() == Some(tracer) {
        tracee.set(0, None);
    }
    drop(guard);
}

/// Who is told of a process's event of these flags: nobody if the process does not want it, is its own tracer, or the tracer has
/// ended or does not want it.
#[cold]
#[inline(never)]
pub fn tracer_for(vm: &'static Vm, process: &Process, mask: u32, tag: Atom) -> Option<Receiver> {
    if !process.trace.wants(mask) {
        return None;
    }
    let tracer = process.trace.tracer()?;
    match fate(vm, tracer, mask, tag, process.pid.term()) {
        Fate::Told(receiver) => Some(receiver),
        Fate::Untold => None,
        Fate::Ended => {
            clear(vm, &process.trace, tracer);
            None
        }
    }
}

/// Tells of a process, for one of these flags; `scheduler` is that of [`Event`].
pub fn about_process(
    vm: &'static Vm,
    process: &Process,
    scheduler: usize,
    mask: u32,
    tag: Atom,
    parts: &[TermRef<'_>],
) {
    if let Some(tracer) = tracer_for(vm, process, mask, tag) {
        let (flags, tracee) = (process.trace.flags(), process.pid.term());
        tracer.tell(vm, &Event { flags, scheduler, tracee, tag, parts, result: None });
    }
}

/// Tells of the process that runs, for one of these flags.
pub fn about(ctx: &Ctx<'_>, mask: u32, tag: Atom, parts: &[TermRef<'_>]) {
    about_process(ctx.vm, ctx.process, ctx.scheduler_number(), mask, tag, parts);
}
