//! What processes send to ports: messages, links, monitors, exit signals.

use super::operations::SLICE;
use super::tell::Tell;
use super::{Command, Port, State, System, Task, Via};
use crate::bytes::Output;
use myriad_process::{Payload, Tracee};
use myriad_sched::microstate::{State as Microstate, within};
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Build, Pid, Port as PortId, RefNumbers, Term, TermRef, am};
use myriad_vm::tracer::flags;
use myriad_vm::vm::{Handed, PortOps};
use myriad_vm::{Ctx, Signal, Vm};

/// Bytes that are handed to a port for one reduction.
const BYTES_PER_REDUCTION: usize = 256;

/// The port system, as processes see it.
pub struct Ports;

impl PortOps for Ports {
    fn message(&self, ctx: &Ctx<'_>, port: PortId, message: Term, may_wait: bool) -> Handed {
        let (Some(system), sender) = (System::of(ctx.vm), ctx.pid()) else { return Handed::Taken(0) };
        let Some(port) = system.get(port) else { return Handed::Taken(0) };
        match asked(message, port.apart()) {
            Asked::Command { owner, data } => {
                let command = Command { sender, data: Some(data), via: Via::Message { owner } };
                return port.command(ctx, system, command, may_wait);
            }
            Asked::Other { owner, request } if port.begin_for(ctx, system, request.task()) => {
                port.request(system, owner, &request);
                port.end_for(ctx, system);
            }
            Asked::Other { owner, request } => {
                let operation = move |system, port: &Port| port.request(system, owner, &request);
                port.leave(system, Some(sender), operation);
            }
        }
        Handed::Taken(0)
    }

    fn command(&self, vm: &'static Vm, port: PortId, from: Option<Pid>, data: Term, soon: bool) -> bool {
        let Some(system) = System::of(vm) else { return false };
        let (id, Some(port)) = (port, system.get(port)) else { return false };
        let Some(data) = Output::of(data, port.apart()) else { return false };
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
                    port.perform(system, from, Task::Other, operation);
                }
            });
        } else {
            port.perform(system, from, Task::Named(am::command), operation);
        }
        true
    }

    fn signal(&self, vm: &'static Vm, port: PortId, signal: Signal) {
        let Some(system) = System::of(vm) else { return };
        match system.get(port) {
            Some(port) => {
                let _port = within(Microstate::Port);
                let (by, task) = (sender_of(&signal), task_of(&signal));
                port.perform(system, by, task, |system, port| port.signal(system, signal));
            }
            None => answer_for_the_gone(system, port, signal),
        }
    }

    fn demonitor(&self, vm: &'static Vm, port: PortId, reference: RefNumbers) {
        if let Some(system) = System::of(vm)
            && let Some(port) = system.get(port)
        {
            port.perform(system, None, Task::Named(am::demonitor), move |_, port| {
                if let Some(rare) = port.lock().common.rare.present() {
                    rare.watchers.remove(&reference);
                }
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
        System::of(vm).and_then(|s| s.get(port)).is_some_and(|p| p.backlog.is_full() || p.lock().common.busy)
    }
}

/// A request in a message.
enum Request {
    Close,
    Connect(Pid),
    /// None that a port understands; it looks like this one.
    Bad(Atom),
}

impl Request {
    /// As traces name it.
    fn task(&self) -> Task {
        Task::Named(match self {
            Request::Close => am::close,
            Request::Connect(_) => am::connect,
            Request::Bad(like) => *like,
        })
    }
}

/// What a message asks for: a command, or something else.
enum Asked {
    Command { owner: Pid, data: Output },
    Other { owner: Option<Pid>, request: Request },
}

/// `apart`: [`Port::apart`].
fn asked(message: TermRef<'_>, apart: usize) -> Asked {
    let bad = Asked::Other { owner: None, request: Request::Bad(am::command) };
    let Some([owner, body]) = message.as_tuple_of::<2>() else { return bad };
    let Some(owner) = owner.as_local_pid() else { return bad };
    if body.is_am(am::close) {
        return Asked::Other { owner: Some(owner), request: Request::Close };
    }
    let Some([name, value]) = body.as_tuple_of::<2>() else { return bad };
    let asked = match name.as_atom() {
        Some(am::command) => Output::of(value, apart).map(|data| Asked::Command { owner, data }),
        Some(am::connect) => {
            let request = value.as_local_pid().map_or(Request::Bad(am::connect), Request::Connect);
            Some(Asked::Other { owner: Some(owner), request })
        }
        _ => None,
    };
    asked.unwrap_or(bad)
}

/// The process whose signal it is.
fn sender_of(signal: &Signal) -> Option<Pid> {
    match signal {
        Signal::Link(from) | Signal::Unlink { from, .. } | Signal::Monitor { from, .. } => Some(*from),
        Signal::Exit { from, .. } => from.as_local_pid(),
        _ => None,
    }
}

/// As traces name it.
fn task_of(signal: &Signal) -> Task {
    match signal {
        Signal::Link(_) => Task::Named(am::link),
        Signal::Unlink { .. } => Task::Named(am::unlink),
        Signal::Monitor { .. } => Task::Named(am::monitor),
        Signal::Demonitor(_) => Task::Named(am::demonitor),
        Signal::Exit { linked: false, .. } => Task::Named(am::close),
        _ => Task::Other,
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
    let done = move |ctx: &mut Ctx<'_>| ctx.state.relations.unlink_acknowledged(port.term(), id);
    system.signal(to, Signal::Call(Box::new(done)));
}

/// Carries the link of a port to a process, and tells the port if the process never takes it.
struct Linking {
    vm: &'static Vm,
    port: PortId,
    to: Pid,
    taken: bool,
}

impl Linking {
    fn take(mut self, ctx: &mut Ctx<'_>) {
        self.taken = true;
        ctx.state.relations.link(self.port.term());
        ctx.trace(flags::PROCS, am::getting_linked, &[self.port.term()]);
    }
}

/// Links the owner of a port that was made without its doing.
pub(super) fn link_owner(system: &System, port: PortId, owner: Pid) {
    let linking = Linking { vm: system.vm, port, to: owner, taken: false };
    system.signal(owner, Signal::Call(Box::new(move |ctx| linking.take(ctx))));
}

impl Drop for Linking {
    fn drop(&mut self) {
        if !self.taken
            && let Some(system) = System::of(self.vm)
            && let Some(port) = system.get(self.port)
        {
            // This runs where the process ends, or where it was found ended: there another port may be locked.
            let (id, to) = (port.id, self.to);
            system.poll.later(move |system| {
                let Some(port) = system.get(id) else { return };
                port.perform(system, None, Task::Other, move |system, port| {
                    let mut state = port.lock();
                    if state.common.is_open() {
                        port.trace_received(system, to, |_| am::close.term());
                    }
                    port.exit(system, &mut state, Term::atom(am::noproc), true);
                });
            });
        }
    }
}

impl Port {
    /// Makes `to` the owner, as `by` asks for; `false` if it has ended. With `links` it is linked. The caller holds no lock.
    pub(super) fn connect(&self, system: &'static System, by: Pid, to: Pid, links: bool) -> bool {
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
            if links && state.common.links.insert(to) {
                linking = Some(Linking { vm: system.vm, port: self.id, to, taken: false });
                self.trace(system, flags::PORTS, am::getting_linked, &[to.term()]);
            }
            self.trace_received(system, by, |memory| memory.tuple(&[am::connect.term(), to.term()]));
        }
        if let Some(linking) = linking {
            system.signal(to, Signal::Call(Box::new(move |ctx| linking.take(ctx))));
        }
        true
    }

    /// In the port's turn: does what somebody has asked for by a message that names the owner.
    fn request(&self, system: &'static System, owner: Option<Pid>, request: &Request) {
        let _work = self.works(system);
        let mut state = self.lock();
        if !state.common.is_open() {
            return;
        }
        if owner != Some(state.common.owner) {
            return self.bad_message(system, state.common.owner);
        }
        match *request {
            Request::Close if self.driver.of_system => {}
            Request::Close => {
                let owner = state.common.owner;
                self.trace_received(system, owner, |_| am::close.term());
                state.common.rare.get_mut().told_closed = Some(owner);
                self.exit(system, &mut state, Term::atom(am::normal), true);
            }
            Request::Connect(to) => {
                let old = state.common.owner;
                drop(state);
                // By a message no link is made.
                if self.connect(system, old, to, false) {
                    self.tell(system, old, Tell::Atom(am::connected));
                } else {
                    self.bad_message(system, old);
                }
            }
            Request::Bad(_) => self.bad_message(system, state.common.owner),
        }
    }

    /// Takes a command that was sent by a message. `may_wait`: the sender can try again, if the port is too busy.
    fn command(&self, ctx: &Ctx<'_>, system: &'static System, command: Command, may_wait: bool) -> Handed {
        let sender = command.sender;
        if !self.begin_for(ctx, system, Task::Named(am::command)) {
            if may_wait && self.retry_if_full(system, sender) {
                return Handed::Busy;
            }
            self.leave_command(system, command);
            if may_wait {
                self.suspend_if_full(system, sender);
            }
            return Handed::Taken(0);
        }
        let reductions = command.data.as_ref().map_or(0, Output::len) / BYTES_PER_REDUCTION;
        let work = self.works(system);
        let mut state = self.lock();
        let handed = if !command.waits(&state.common) {
            command.send(self, system, &mut state);
            Handed::Taken(reductions)
        } else if may_wait {
            self.retry_when_free(system, &mut state.common, sender);
            Handed::Busy
        } else {
            self.backlog.add(command.bytes());
            self.park(&mut state.common, command.into());
            Handed::Taken(reductions)
        };
        drop((state, work));
        let handed = match handed {
            Handed::Taken(reductions) => Handed::Taken(reductions + self.take_slice(SLICE) as usize),
            Handed::Busy => Handed::Busy,
        };
        self.end_for(ctx, system);
        handed
    }

    /// The owner answers for what a port does not understand, whoever has sent it.
    pub(super) fn bad_message(&self, system: &'static System, owner: Pid) {
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
                if state.common.links.remove(from) {
                    self.trace(system, flags::PORTS, am::getting_unlinked, &[from.term()]);
                }
                acknowledge(system, self.id, from, id);
            }
            Signal::Monitor { from, reference, .. } => {
                state.common.rare.get_mut().watchers.insert(reference, from);
            }
            Signal::Demonitor(reference) => {
                if let Some(rare) = state.common.rare.present() {
                    rare.watchers.remove(&reference);
                }
            }
            Signal::Exit { from, reason, linked } => self.exit_signal(system, &mut state, from, &reason, linked),
            _ => {}
        }
    }

    fn exit_signal(&self, system: &'static System, state: &mut State, from: Term, reason: &Payload, linked: bool) {
        let sender = from.as_local_pid();
        if linked && !sender.is_some_and(|pid| state.common.links.remove(pid)) {
            return;
        }
        if let Some(sender) = sender {
            self.trace_received(system, sender, |_| am::close.term());
        }
        let normal = reason.term().is_am(am::normal);
        let from_owner = sender == Some(state.common.owner);
        if self.driver.of_system || linked && normal && !from_owner {
            return;
        }
        // What is queued is not waited for then.
        let killed = reason.term().is_am(am::kill);
        self.exit(system, state, reason.term(), !killed);
    }
}
