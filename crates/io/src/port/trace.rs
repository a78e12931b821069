//! Trace messages about ports. They are sent under the port's lock, so they tell things in the order in which they happen.

use super::{Port, System};
use crate::bytes::{Output, Piece};
use myriad_process::Payload;
use myriad_sched::microstate::{State as Microstate, Within, within};
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
        port.perform(self, None, move |system, port| {
            let mut state = port.lock();
            if state.common.is_open() {
                let owner = state.common.owner;
                port.output(system, &mut state, owner, Output::One(Piece::Own(bytes, 0)));
            }
        });
    }
}

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
            let event = Event { flags, scheduler: 0, tracee, tag, parts, result: None };
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

    /// The port has been opened by a process: it gets what new ports get, and that is told.
    pub(super) fn trace_open(&self, system: &System, by: Pid) {
        let new = &Tracing::of(system.vm).new_ports;
        if new.flags() == 0 {
            return;
        }
        self.trace.set(new.flags(), new.tracer());
        let name = Atom::new(&String::from_utf8_lossy(&self.name)).map_or(Term::UNDEFINED, Atom::term);
        self.trace(system, flags::PORTS, am::open, &[by.term(), name]);
        self.trace(system, flags::PORTS, am::getting_linked, &[by.term()]);
    }

    /// A process has sent something to be written, or `close`.
    pub(super) fn trace_command(
        &self,
        system: &System,
        from: Pid,
        command: impl for<'m> FnOnce(&mut &'m Arena) -> TermRef<'m>,
    ) {
        if self.trace.wants(flags::RECEIVE) {
            let mut memory = &Arena::new();
            let command = command(&mut memory);
            let message = memory.tuple(&[from.term(), command]);
            self.trace(system, flags::RECEIVE, am::receive, &[message]);
        }
    }
}
