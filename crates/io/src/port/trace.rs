//! Trace messages about ports. They are sent in the port's turn or under its lock, so they tell things in the order in which they happen.

use super::{Phase, Port, System, Task};
use crate::bytes::{Output, Piece};
use myriad_process::Payload;
use myriad_sched::microstate::{State as Microstate, Within, within};
use myriad_sync::atomic::Ordering;
use myriad_term::binary::HEAP_BINARY_LIMIT;
use myriad_term::etf::{self, EncodeOptions};
use myriad_term::{Arena, Atom, Build, Pid, Port as PortId, Term, TermRef, am};
use myriad_trace::event::{self, Fate};
use myriad_trace::module::Event;
use myriad_trace::{Tracing, profile};
use myriad_vm::Vm;
use myriad_vm::tracer::flags;
use myriad_vm::tracer::switches::RUNNABLE_PORTS;

impl System {
    /// Writes a trace message to a port that is a tracer. The caller holds no port's lock.
    pub(super) fn trace_output(&'static self, tracer: PortId, message: Payload) {
        let Some(port) = self.get(tracer) else { return };
        let _port = within(Microstate::Port);
        let bytes = etf::encode(message.term(), EncodeOptions::default());
        port.perform(self, None, Task::Other, move |system, port| {
            let mut state = port.lock();
            if state.common.is_open() {
                let owner = state.common.owner;
                port.output(system, &mut state, owner, Output::One(Piece::Own(bytes.to_vec(), 0)));
            }
        });
    }
}

/// [`Task::Other`] in [`Port::task`], where 0 is none, and all others are the words of atoms.
const OTHER: u64 = u64::MAX;

/// A port does something: the thread is at work in a port, and `system_profile` tells when it begins and when it has done.
pub(super) struct Work<'p> {
    /// The VM and the port, if `system_profile` watches ports.
    told: Option<(&'static Vm, &'p Port)>,
    _state: Within,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if let Some((vm, port)) = self.told {
            let mut workers = port.workers.lock();
            *workers -= 1;
            if *workers == 0 {
                profile::port(vm, port.id.term(), false);
            }
        }
    }
}

impl Port {
    /// Tells that the port does something, until what this gives is dropped. The caller does not hold the port. Of threads that
    /// work at once the first and the last one tell.
    #[inline]
    pub(super) fn works(&self, system: &System) -> Work<'_> {
        let told = system.vm.switches.any(RUNNABLE_PORTS).then(|| {
            let mut workers = self.workers.lock();
            *workers += 1;
            if *workers == 1 {
                profile::port(system.vm, self.id.term(), true);
            }
            (system.vm, self)
        });
        Work { told, _state: within(Microstate::Port) }
    }

    /// Sends a trace message about this port if it is traced for this.
    pub(super) fn trace(&self, system: &System, mask: u32, tag: Atom, parts: &[TermRef<'_>]) {
        if self.trace.wants(mask)
            && let Some(tracer) = self.trace.tracer()
            && let Fate::Told(receiver) = event::fate(system.vm, tracer, mask, tag, self.id.term())
        {
            let (flags, tracee) = (self.trace.flags(), self.id.term());
            let scheduler = myriad_sched::current().map_or(0, |scheduler| scheduler + 1);
            let event = Event { flags, scheduler, tracee, tag, parts, result: None };
            match tracer.as_local_port() {
                Some(tracer) => {
                    // Two ports' locks are never held at once.
                    let message = event::message(system.vm, &event);
                    system.poll.later(move |system| system.trace_output(tracer, message));
                }
                None => receiver.tell(system.vm, &event),
            }
        }
    }

    /// In the port's turn: it begins to do something.
    #[inline]
    pub(super) fn trace_in(&self, system: &System, task: Task) {
        if self.trace.wants(flags::RUNNING_PORTS) {
            self.tell_in(system, task);
        }
    }

    #[cold]
    fn tell_in(&self, system: &System, task: Task) {
        let (word, name, is_asked) = match task {
            Task::Named(name) => (name.term().raw(), name.term(), true),
            Task::Other => (OTHER, Term::small(0), false),
            Task::Untold => return,
        };
        let phase = self.lock().common.phase;
        if phase == Phase::Open || !is_asked && phase == Phase::Closing {
            // Relaxed: read in the port's turn.
            self.task.store(word, Ordering::Relaxed);
            self.trace(system, flags::RUNNING_PORTS, am::in_, &[name]);
        }
    }

    /// Has it been told that the port has begun to do what it does?
    #[inline]
    pub(super) fn is_told_in(&self) -> bool {
        // Relaxed: written in the port's turn.
        self.task.load(Ordering::Relaxed) != 0
    }

    /// In the port's turn: it has done that. Of a port that is gone this is not told.
    #[inline]
    pub(super) fn trace_out(&self, system: &System) {
        if self.is_told_in() {
            self.tell_out(system);
        }
    }

    #[cold]
    fn tell_out(&self, system: &System) {
        // Relaxed: as above.
        let name: Term = match self.task.swap(0, Ordering::Relaxed) {
            OTHER => Term::small(0),
            // SAFETY: only `tell_in` stores here: else it is an atom's word.
            word => unsafe { Term::from_raw(word) },
        };
        if !self.lock().common.is_gone() {
            self.trace(system, flags::RUNNING_PORTS, am::out, &[name]);
        }
    }

    /// The port has been made: it gets what new ports get.
    pub(super) fn inherit_tracing(&self, system: &System) {
        let new = &Tracing::of(system.vm).new_ports;
        if new.flags() != 0 {
            self.trace.set(new.flags(), new.tracer());
        }
    }

    /// A process opens the port, whose driver is about to begin.
    pub(super) fn trace_opening(&self, system: &System, by: Pid) {
        if self.trace.flags() != 0 {
            let name = Atom::new(&String::from_utf8_lossy(&self.name)).map_or(Term::UNDEFINED, Atom::term);
            self.trace(system, flags::PORTS, am::open, &[by.term(), name]);
            self.trace(system, flags::RUNNING_PORTS, am::in_, &[am::open.term()]);
        }
    }

    /// The driver has begun, or not.
    pub(super) fn trace_opened(&self, system: &System, by: Pid, begun: bool) {
        self.trace(system, flags::RUNNING_PORTS, am::out, &[am::open.term()]);
        if begun {
            self.trace(system, flags::PORTS, am::getting_linked, &[by.term()]);
        }
    }

    /// A process has something of the port.
    pub(super) fn trace_received(
        &self,
        system: &System,
        from: Pid,
        what: impl for<'m> FnOnce(&mut &'m Arena) -> TermRef<'m>,
    ) {
        if self.trace.wants(flags::RECEIVE) {
            let mut memory = &Arena::new();
            let what = what(&mut memory);
            let message = memory.tuple(&[from.term(), what]);
            self.trace(system, flags::RECEIVE, am::receive, &[message]);
        }
    }

    /// Something is sent to a process, or told as if it were.
    pub(super) fn trace_sent(
        &self,
        system: &System,
        to: Pid,
        what: impl for<'m> FnOnce(&mut &'m Arena) -> TermRef<'m>,
    ) {
        if self.trace.wants(flags::SEND) {
            let mut memory = &Arena::new();
            let what = what(&mut memory);
            self.trace_message(system, to, what);
        }
    }

    /// The same, of what is there already. Is the process there?
    pub(super) fn trace_message(&self, system: &System, to: Pid, message: TermRef<'_>) -> bool {
        let lives = system.lives(to);
        let tag = if lives { am::send } else { am::send_to_non_existing_process };
        self.trace(system, flags::SEND, tag, &[message, to.term()]);
        lives
    }

    /// A process has sent bytes to be sent out. They are told as the driver gets them: a list of binaries, or one.
    pub(super) fn trace_output(&self, system: &System, from: Pid, data: &Output) {
        self.trace_received(system, from, |memory| {
            let bytes = match self.driver.apart {
                None => memory.binary(&data.to_vec()),
                Some(_) => {
                    let pieces = data.pieces().iter().map(Piece::bytes).filter(|bytes| !bytes.is_empty());
                    let pieces: Vec<TermRef<'_>> = pieces.map(|bytes| memory.binary(bytes)).collect();
                    memory.list(&pieces)
                }
            };
            memory.tuple(&[am::command.term(), bytes])
        });
    }

    /// Of how many bytes a shared binary stands for itself in what is sent out (`Output::of`).
    pub(super) fn apart(&self) -> usize {
        match self.driver.apart {
            None => usize::MAX,
            // As OTP tells it.
            Some(apart) if self.trace.wants(flags::RECEIVE) => apart.min(HEAP_BINARY_LIMIT + 1),
            Some(apart) => apart,
        }
    }
}
