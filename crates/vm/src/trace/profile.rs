//! `system_profile`: one process or port is told when processes and ports become runnable and cease to be, and when schedulers go
//! to sleep and wake.
//!
//! PR1. What is told of a process is told by the thread that has it: before it may be taken up by others.
//! PR2. Nothing is told of the profiler itself, nor of a scheduler that wakes only to run it: there would be no end of it.

use super::event;
use crate::Process;
use crate::ctx::Ctx;
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_process::Parcel;
use myriad_sync::atomic::{AtomicU32, AtomicU64, Ordering};
use myriad_term::{Build, Mfa, Term, am};

/// `runnable_procs`
pub const PROCESSES: u32 = 1;
/// `runnable_ports`
pub const PORTS: u32 = 2;
/// `scheduler`
pub const SCHEDULERS: u32 = 4;
/// `exclusive`: a process that opens a port is not runnable meanwhile.
pub const EXCLUSIVE: u32 = 8;

/// Who is told, and of what.
#[derive(Default)]
pub struct Profile {
    what: AtomicU32,
    /// Which time the messages bear: one of the trace flags for it.
    time: AtomicU32,
    by: AtomicU64,
}

impl Profile {
    /// Sets who is told of what, with which time.
    pub fn set(&self, by: Option<Term>, what: u32, time: u32) {
        // Relaxed, all of them: what changes meanwhile counts from the next event on.
        self.by.store(by.map_or(0, Term::raw), Ordering::Relaxed);
        self.time.store(time, Ordering::Relaxed);
        self.what.store(if by.is_some() { what } else { 0 }, Ordering::Relaxed);
    }

    /// Is somebody told of one of these?
    #[inline(always)]
    pub fn wants(&self, mask: u32) -> bool {
        // Relaxed: see `set`.
        self.what.load(Ordering::Relaxed) & mask != 0
    }

    fn by(&self) -> Option<Term> {
        // Relaxed: one immediate word.
        let word = self.by.load(Ordering::Relaxed);
        // SAFETY: only `set` stores here: an immediate term, or 0.
        (word != 0).then(|| unsafe { Term::from_raw(word) })
    }

    /// Is this the one who is told?
    pub fn is_by(&self, term: Term) -> bool {
        self.by() == Some(term)
    }
}

/// `{profile, Part..., Time}` to who is told.
fn tell(vm: &'static Vm, parts: impl FnOnce(&mut Fragment) -> Vec<Term>) {
    let profile = &vm.trace.profile;
    let Some(by) = profile.by() else { return };
    if !event::is_alive(vm, by) {
        return profile.set(None, 0, 0);
    }
    let mut memory = Fragment::with_capacity(32);
    let mut elements = vec![Term::atom(am::profile)];
    elements.extend(parts(&mut memory));
    // Relaxed: see `set`.
    elements.extend(event::timestamp(vm, profile.time.load(Ordering::Relaxed), &mut memory));
    let term = memory.tuple(&elements);
    match (by.as_local_port(), vm.ports()) {
        // Who wakes a process may hold a port.
        (Some(port), Some(ports)) => ports.trace_output_soon(vm, port, Parcel { term, fragment: Some(memory) }),
        _ => event::deliver(vm, by, term, memory),
    }
}

fn state(active: bool) -> Term {
    Term::atom(if active { am::active } else { am::inactive })
}

#[cold]
fn tell_of_runnable(vm: &'static Vm, who: Term, active: bool, place: Option<Mfa>) {
    if vm.trace.profile.is_by(who) {
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
#[inline]
pub(crate) fn awoken(vm: &'static Vm, process: &Process) {
    // One that is away has not ceased to be runnable.
    if vm.trace.profile.wants(PROCESSES) && !process.is_away() {
        tell_of_awoken(vm, process);
    }
}

#[cold]
fn tell_of_awoken(vm: &'static Vm, process: &Process) {
    // SAFETY: process/P2: the caller's thread has made it Runnable and has not put it in a queue, so nobody changes it.
    let private = unsafe { process.seen() };
    let place = vm.engine().backtrace(private, 1).first().map(|frame| frame.mfa);
    tell_of_runnable(vm, process.pid.term(), true, place);
}

/// A port begins to work, or has done what there was to do.
pub fn port(vm: &'static Vm, port: Term, active: bool) {
    tell_of_runnable(vm, port, active, None);
}

/// A scheduler goes to sleep or wakes; so many are awake then.
#[cold]
pub(crate) fn scheduler(vm: &'static Vm, id: usize, active: bool, awake: usize) {
    tell(vm, |_| vec![Term::atom(am::scheduler), Term::small(id as i64 + 1), state(active), Term::small(awake as i64)]);
}

impl Ctx<'_> {
    /// The process ceases to be runnable (`ends`: for ever), or is so again after all.
    #[cold]
    pub(crate) fn profile_process(&mut self, active: bool, ends: bool) {
        let place = if ends { None } else { self.current_function() };
        tell_of_runnable(self.vm, self.pid().term(), active, place);
    }

    /// Around the opening of a port.
    pub fn profile_port_call(&mut self, begins: bool) {
        let profile = &self.vm.trace.profile;
        if profile.wants(EXCLUSIVE) && profile.wants(PROCESSES) {
            self.profile_process(!begins, false);
        }
    }
}
