//! What processes send to ports: messages, links, monitors, exit signals.

use super::tell::Tell;
use super::{Common, Port, State, System, Waiter};
use crate::bytes::Output;
use myriad_process::{Payload, Tracee};
use myriad_sched::microstate::{State as Microstate, within};
use myriad_sync::atomic::Ordering;
use myriad_term::{Build, Pid, Port as PortId, RefNumbers, Term, TermRef, am};
use myriad_trace::monitor::busy_port;
use myriad_vm::tracer::flags;
use myriad_vm::vm::PortOps;
use myriad_vm::{Signal, Vm};

/// The port system, as processes see it.
pub struct Ports;

impl PortOps for Ports {
    fn message(&self, vm: &'static Vm, port: PortId, from: Term, message: Term) -> usize {
        let Some(system) = System::of(vm) else { return 0 };
        match (system.get(port), from.as_local_pid()) {
            (Some(port), Some(sender)) if port.begin(system) => {
                let bytes = port.message(system, sender, message);
                port.end(system);
                bytes
            }
            (Some(port), Some(sender)) => {
                let copy = Payload::copy(message);
                let operation = move |system, port: &Port| {
                    port.message(system, sender, copy.term());
                };
                port.leave(system, Box::new(operation));
                0
            }
            _ => 0,
        }
    }

    fn command(&self, vm: &'static Vm, port: PortId, from: Option<Pid>, data: Term, soon: bool) -> bool {
        let Some(system) = System::of(vm) else { return false };
        let (id, Some(port), Some(data)) = (port, system.get(port), Output::of(data)) else { return false };
        let operation = move |system: &'static System, port: &Port| {
            let _work = port.works(system);
            let mut state = port.lock();
            if state.common.is_open() {
                let sender = from.unwrap_or(state.common.owner);
                port.output(system, &mut state, sender, data);
            }
        };
        if soon {
            system.poll.later(move |system| {
                if let Some(port) = system.get(id) {
                    port.perform(system, operation);
                }
            });
        } else {
            port.perform(system, operation);
        }
        true
    }

    fn signal(&self, vm: &'static Vm, port: PortId, signal: Signal) {
        let Some(system) = System::of(vm) else { return };
        match system.get(port) {
            Some(port) => {
                let _port = within(Microstate::Port);
                port.perform(system, |system, port| port.signal(system, signal));
            }
            None => answer_for_the_gone(system, port, signal),
        }
    }

    fn demonitor(&self, vm: &'static Vm, port: PortId, reference: RefNumbers) {
        if let Some(system) = System::of(vm)
            && let Some(port) = system.get(port)
        {
            port.perform(system, move |_, port| {
                port.lock().common.watchers.remove(&reference);
            });
        }
    }

    fn is_open(&self, vm: &'static Vm, port: PortId) -> bool {
        System::of(vm).is_some_and(|s| s.get(port).is_some())
    }

    fn trace_output(&self, vm: &'static Vm, port: PortId, message: Payload) {
        if let Some(system) = System::of(vm) {
            system.trace_output(port, message);
        }
    }

    fn trace_output_soon(&self, vm: &'static Vm, port: PortId, message: Payload) {
        if let Some(system) = System::of(vm) {
            system.poll.later(move |system| system.trace_output(port, message));
        }
    }

    fn with_tracee(&self, vm: &'static Vm, port: PortId, f: &mut dyn FnMut(&Tracee)) {
        if let Some(port) = System::of(vm).and_then(|s| s.get(port)) {
            f(&port.trace);
        }
    }

    fn all(&self, vm: &'static Vm) -> Vec<PortId> {
        System::of(vm).map_or(Vec::new(), |s| s.all().iter().map(|port| port.id).collect())
    }

    fn next(&self, vm: &'static Vm, set: Option<u64>) -> u64 {
        System::of(vm).map_or(0, |system| system.table.next(set))
    }

    fn is_busy(&self, vm: &'static Vm, port: PortId) -> bool {
        System::of(vm).and_then(|s| s.get(port)).is_some_and(|p| p.lock().common.busy)
    }
}

/// A request in a message.
enum Request {
    Command(Output),
    Close,
    Connect(Pid),
}

fn request(body: TermRef<'_>) -> Option<Request> {
    if body.is_am(am::close) {
        return Some(Request::Close);
    }
    let [name, value] = body.as_tuple_of::<2>()?;
    match name.as_atom()? {
        am::command => Output::of(value).map(Request::Command),
        am::connect => value.as_local_pid().map(Request::Connect),
        _ => None,
    }
}

/// Answers a signal to a port that there is no more.
fn answer_for_the_gone(system: &System, port: PortId, signal: Signal) {
    let noproc = || Payload::immediate(Term::atom(am::noproc));
    match signal {
        Signal::Link(from) => {
            system.signal(from, Signal::Exit { from: port.term(), reason: noproc(), linked: true });
        }
        Signal::Unlink { from, id } => acknowledge(system, port, from, id),
        Signal::Monitor { from, reference, .. } => {
            system.signal(from, Signal::Down { reference, reason: noproc() });
        }
        _ => {}
    }
}

fn acknowledge(system: &System, port: PortId, to: Pid, id: u64) {
    let done = move |ctx: &mut myriad_vm::Ctx<'_>| ctx.state.relations.unlink_acknowledged(port.term(), id);
    system.signal(to, Signal::Call(Box::new(done)));
}

/// Carries the link of a port to a process, and tells the port if the process never takes it.
struct Linking {
    vm: &'static Vm,
    port: PortId,
    taken: bool,
}

impl Linking {
    fn take(mut self, ctx: &mut myriad_vm::Ctx<'_>) {
        self.taken = true;
        ctx.state.relations.link(self.port.term());
    }
}

/// Links the owner of a port that was made without its doing.
pub(super) fn link_owner(system: &System, port: PortId, owner: Pid) {
    let linking = Linking { vm: system.vm, port, taken: false };
    system.signal(owner, Signal::Call(Box::new(move |ctx| linking.take(ctx))));
}

impl Drop for Linking {
    fn drop(&mut self) {
        if !self.taken
            && let Some(system) = System::of(self.vm)
            && let Some(port) = system.get(self.port)
        {
            // This runs where the process ends, or where it was found ended: there another port may be locked.
            let id = port.id;
            system.poll.later(move |system| {
                let Some(port) = system.get(id) else { return };
                port.perform(system, |system, port| {
                    let mut state = port.lock();
                    port.exit(system, &mut state, Term::atom(am::noproc), true);
                });
            });
        }
    }
}

impl Port {
    /// Makes `to` the owner and links it; `false` if it has ended. The caller holds no lock.
    pub(super) fn connect(&self, system: &'static System, to: Pid) -> bool {
        if system.vm.processes.get(to).is_none() {
            return false;
        }
        let mut linking = None;
        {
            let mut state = self.lock();
            if !state.common.is_open() {
                return false;
            }
            state.common.owner = to;
            // Relaxed: who reads it without the lock gets the one or the other.
            self.owner.store(to.data(), Ordering::Relaxed);
            if state.common.links.insert(to) {
                linking = Some(Linking { vm: system.vm, port: self.id, taken: false });
            }
        }
        if let Some(linking) = linking {
            system.signal(to, Signal::Call(Box::new(move |ctx| linking.take(ctx))));
        }
        true
    }

    /// Gives how many bytes it has taken.
    fn message(&self, system: &'static System, sender: Pid, message: TermRef<'_>) -> usize {
        let parts = message.as_tuple_of::<2>();
        let wanted = parts.and_then(|[owner, body]| Some((owner.as_local_pid()?, request(body)?)));
        let _work = self.works(system);
        let mut state = self.lock();
        if !state.common.is_open() {
            return 0;
        }
        let Some((_, request)) = wanted.filter(|(owner, _)| *owner == state.common.owner) else {
            self.bad_message(system, state.common.owner);
            return 0;
        };
        let mut bytes = 0;
        match request {
            Request::Command(data) => {
                bytes = data.len();
                // A process that makes it busy runs on; one that finds it busy is suspended.
                suspend_if_busy(system, self.id, &mut state.common, sender);
                self.output(system, &mut state, sender, data);
            }
            Request::Close if self.driver.of_system => {}
            Request::Close => {
                let owner = state.common.owner;
                self.trace_command(system, sender, |_| am::close.term());
                state.common.told_closed = Some(owner);
                self.exit(system, &mut state, Term::atom(am::normal), true);
            }
            Request::Connect(to) => {
                let old = state.common.owner;
                self.trace_command(system, sender, |memory| memory.tuple(&[am::connect.term(), to.term()]));
                drop(state);
                if self.connect(system, to) {
                    self.tell(system, old, Tell::Atom(am::connected));
                } else {
                    self.bad_message(system, old);
                }
            }
        }
        bytes
    }

    /// The owner answers for what a port does not understand, whoever has sent it.
    fn bad_message(&self, system: &'static System, owner: Pid) {
        let reason = Payload::immediate(Term::atom(am::badsig));
        system.signal(owner, Signal::Exit { from: self.id.term(), reason, linked: false });
    }

    #[allow(clippy::collapsible_match, reason = "a guard that changes something would hide what the arm does")]
    fn signal(&self, system: &'static System, signal: Signal) {
        let mut state = self.lock();
        if !state.common.is_open() {
            drop(state);
            return answer_for_the_gone(system, self.id, signal);
        }
        match signal {
            Signal::Link(from) => {
                if state.common.links.insert(from) {
                    self.trace(system, flags::PORTS, am::getting_linked, &[from.term()]);
                }
            }
            Signal::Unlink { from, id } => {
                if state.common.links.remove(&from) {
                    self.trace(system, flags::PORTS, am::getting_unlinked, &[from.term()]);
                }
                acknowledge(system, self.id, from, id);
            }
            Signal::Monitor { from, reference, .. } => {
                state.common.watchers.insert(reference, from);
            }
            Signal::Demonitor(reference) => {
                state.common.watchers.remove(&reference);
            }
            Signal::Exit { from, reason, linked } => self.exit_signal(system, &mut state, from, &reason, linked),
            _ => {}
        }
    }

    fn exit_signal(&self, system: &'static System, state: &mut State, from: Term, reason: &Payload, linked: bool) {
        let sender = from.as_local_pid();
        if linked && !sender.is_some_and(|pid| state.common.links.remove(&pid)) {
            return;
        }
        let normal = reason.term().is_am(am::normal);
        let from_owner = sender == Some(state.common.owner);
        if self.driver.of_system || linked && normal && !from_owner {
            return;
        }
        // What is queued is not waited for then.
        let killed = reason.term().is_am(am::kill);
        self.exit(system, state, if killed { Term::atom(am::killed) } else { reason.term() }, !killed);
    }
}

/// Keeps a process that sends messages faster than they can be written from running on.
fn suspend_if_busy(system: &System, port: PortId, common: &mut Common, sender: Pid) {
    let waiter = Waiter::Suspended(sender);
    if common.busy && common.is_open() && !common.waiters.contains(&waiter) {
        common.waiters.push(waiter);
        system.signal(sender, Signal::Suspend { active: Default::default(), reply: None });
        busy_port(system.vm, sender.term(), port.term());
    }
}
