//! `system_profile`: one process or port, the profiler, gets messages when processes and ports become runnable and cease to be, and
//! when schedulers go to sleep and wake.
//!
//! PR1. Messages about a process are sent by the thread that has it, before another thread may take it up.
//! PR2. There are no messages about the profiler itself, nor about a scheduler that wakes only to run it: there would be no end of them.

use crate::{Tracing, event};
use myriad_heap::Draft;
use myriad_process::Payload;
use myriad_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use myriad_term::{Build, Mfa, Term, TermRef, am};
use myriad_vm::Ctx;
use myriad_vm::Process;
use myriad_vm::Vm;
use myriad_vm::tracer::Activity;
use myriad_vm::tracer::switches::{EXCLUSIVE, RUNNABLE_PORTS, RUNNABLE_PROCESSES, SCHEDULERS};

/// The switches by which the VM knows what the profiler wants.
const ALL: u32 = RUNNABLE_PROCESSES | RUNNABLE_PORTS | SCHEDULERS | EXCLUSIVE;

/// The profiler, and what its messages bear.
#[derive(Default)]
pub struct Profile {
    /// Which time the messages bear: one of the trace flags for it.
    time: AtomicU32,
    by: AtomicU64,
}

impl Profile {
    /// Sets the profiler, what it wants ([`switches`](myriad_vm::tracer::switches)), and the time in its messages.
    pub fn set(&self, vm: &Vm, by: Option<Term>, what: u32, time: u32) {
        // Relaxed, all of them: a change counts from the next event on.
        self.by.store(by.map_or(0, Term::raw), Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        vm.switches.set(ALL, if by.is_some() { what } else { 0 });
    }

    fn by(&self) -> Option<Term> {
        // Relaxed: one immediate word.
        let word = self.by.load(Ordering::Relaxed);
        // SAFETY: only `set` stores here: an immediate term, or 0.
        (word != 0).then(|| unsafe { Term::from_raw(word) })
    }

    /// Is this the profiler?
    pub(crate) fn is_by(&self, term: Term) -> bool {
        self.by() == Some(term)
    }
}

/// `{profile, Part..., Time}` to who is told.
fn tell(vm: &'static Vm, parts: impl for<'b> FnOnce(&mut Draft<'b>) -> Vec<TermRef<'b>>) {
    let profile = &Tracing::of(vm).profile;
    let Some(by) = profile.by() else { return };
    if !event::is_alive(vm, by) {
        return profile.set(vm, None, 0, 0);
    }
    let message = Payload::build(32, |draft| {
        let mut elements = vec![Term::atom(am::profile)];
        elements.extend(parts(draft));
        // Relaxed: see `set`.
        elements.extend(event::timestamp(vm, profile.time.load(Ordering::Relaxed), draft));
        draft.tuple(&elements)
    });
    match (by.as_local_port(), vm.ports()) {
        // Who wakes a process may hold a port.
        (Some(port), Some(ports)) => ports.trace_output_soon(vm, port, message),
        _ => event::deliver(vm, by, message),
    }
}

fn state(active: bool) -> Term {
    Term::atom(if active { am::active } else { am::inactive })
}

fn tell_of_runnable(vm: &'static Vm, who: Term, active: bool, place: Option<Mfa>) {
    if Tracing::of(vm).profile.is_by(who) {
        return;
    }
    tell(vm, |memory| {
        let place = place.map_or(Term::small(0), |mfa| {
            memory.tuple(&[mfa.module.term(), mfa.function.term(), Term::small(i64::from(mfa.arity))])
        });
        vec![who, state(active), place]
    });
}

/// A process has become runnable; it is in no queue yet (PR1).
pub(crate) fn process_wakes(vm: &'static Vm, process: &Process) {
    // SAFETY: process/P2: the caller's thread has made it Runnable and has not put it in a queue, so no thread changes it.
    let state = unsafe { process.seen() };
    let place = vm.engine().backtrace(state, 1).first().map(|frame| frame.mfa);
    tell_of_runnable(vm, process.pid.term(), true, place);
}

/// A port begins to work, or has done what there was to do.
pub fn port(vm: &'static Vm, port: Term, active: bool) {
    tell_of_runnable(vm, port, active, None);
}

/// A scheduler goes to sleep or wakes; `awake` schedulers are awake then.
pub(crate) fn scheduler(vm: &'static Vm, id: usize, active: bool, awake: usize) {
    tell(vm, |_| vec![Term::atom(am::scheduler), Term::small(id as i64 + 1), state(active), Term::small(awake as i64)]);
}

/// The process ceases to be runnable, or is so again after all.
pub(crate) fn process_changes(ctx: &Ctx<'_>, activity: Activity) {
    let place = if activity == Activity::Ended { None } else { ctx.current_function() };
    tell_of_runnable(ctx.vm, ctx.pid().term(), activity == Activity::Runnable, place);
}

/// A process begins to open a port, or has done so ([`EXCLUSIVE`]).
pub fn port_call(ctx: &Ctx<'_>, begins: bool) {
    let switches = &ctx.vm.switches;
    if switches.any(EXCLUSIVE) && switches.any(RUNNABLE_PROCESSES) {
        process_changes(ctx, if begins { Activity::Inactive } else { Activity::Runnable });
    }
}
