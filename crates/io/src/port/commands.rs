//! Commands: bytes that processes send out through ports, by messages and by `port_command/3`, and ports that are too busy to take them.
//!
//! A sender that finds the port busy, or its queue full (`backlog.rs`), waits before anything is sent, and tries again. A command that was left, and whose
//! port is busy in its turn, is parked, until the port is so no longer; and so is what its sender asks of the port after that.

use super::backlog::Waiter;
use super::operations::reply;
use super::{Command, Common, Operation, Port, State, System, Via, Work};
use myriad_sync::ToSchedule;
use myriad_sync::atomic::Ordering;
use myriad_term::{Atom, Pid, am};
use myriad_trace::monitor::busy_port;
use myriad_vm::Signal;

impl Command {
    /// Its bytes, as they count for the queue: an empty one takes room as well.
    pub(super) fn bytes(&self) -> usize {
        self.data.as_ref().map_or(1, |data| data.len().max(1))
    }

    /// Is it to wait until the port is less busy?
    pub(super) fn waits(&self, common: &Common) -> bool {
        common.is_open()
            && common.busy
            && match self.via {
                Via::Message { owner } => owner == common.owner,
                Via::Call { force, nosuspend, .. } => !force && !nosuspend,
            }
    }

    /// Sends the bytes out; what `port_command/3` says.
    pub(super) fn send(self, port: &Port, system: &'static System, state: &mut State) -> Atom {
        let Command { sender, data, via } = self;
        let is_open = state.common.is_open();
        match (via, data) {
            (Via::Message { owner }, _) if is_open && owner != state.common.owner => {
                port.bad_message(system, state.common.owner);
                am::badarg
            }
            _ if !is_open => am::badarg,
            (Via::Call { force: true, .. }, _) if !port.driver.soft_busy => am::notsup,
            (Via::Call { nosuspend: true, force: false, .. }, _) if state.common.busy => am::false_,
            (_, None) => am::badarg,
            (_, Some(data)) => {
                port.output(system, state, sender, data);
                am::true_
            }
        }
    }

    /// In the port's turn: sends them out and answers, or is parked.
    pub(super) fn send_in_turn(self, port: &Port, system: &'static System) {
        let _work = port.works(system);
        let mut state = port.lock();
        if self.waits(&state.common) {
            return port.park(&mut state.common, self.into());
        }
        let bytes = self.bytes();
        let reference = if let Via::Call { reference, .. } = self.via { reference } else { None };
        let caller = self.sender;
        let answer = self.send(port, system, &mut state);
        drop(state);
        if let Some(reference) = reference {
            reply(system, caller, reference, 0, |_| answer.term());
        }
        system.wake(port.backlog.done(bytes));
    }
}

impl Port {
    /// Has a sender wait for the port, which is busy, and try again then.
    pub(super) fn retry_when_free(&self, system: &System, common: &mut Common, sender: Pid) {
        let waiter = Waiter::Retry(sender);
        let waiters = &mut common.rare.get_mut().waiters;
        if !waiters.contains(&waiter) {
            waiters.push(waiter);
            busy_port(system.vm, sender.term(), self.id.term());
        }
    }

    /// Has a sender wait for the port's queue, if that is full, and try again then.
    pub(super) fn retry_if_full(&self, system: &System, sender: Pid) -> bool {
        self.backlog.wait(Waiter::Retry(sender), || busy_port(system.vm, sender.term(), self.id.term()))
    }

    /// Suspends a sender that has filled the port's queue.
    pub(super) fn suspend_if_full(&self, system: &System, sender: Pid) {
        self.backlog.wait(Waiter::Suspended(sender), || {
            system.signal(sender, Signal::Suspend { active: Default::default(), reply: None });
            busy_port(system.vm, sender.term(), self.id.term());
        });
    }

    /// In the port's turn: puts an operation off until the port is less busy.
    pub(super) fn park(&self, common: &mut Common, operation: Operation) {
        let rare = common.rare.get_mut();
        rare.parked_by.extend(operation.by);
        rare.parked.push(operation);
        // Relaxed: read in the port's turn.
        self.parked.store(rare.parked.len(), Ordering::Relaxed);
    }

    /// In the port's turn: parks an operation whose process waits with something before it; others come back.
    pub(super) fn park_if_behind(&self, operation: Operation) -> Option<Operation> {
        // Relaxed: written in the port's turn.
        if self.parked.load(Ordering::Relaxed) > 0 && operation.by.is_some() {
            let mut state = self.lock();
            let parked_by = state.common.rare.get().map(|rare| &rare.parked_by);
            if operation.by.is_some_and(|by| parked_by.is_some_and(|parked_by| parked_by.contains(&by))) {
                self.park(&mut state.common, operation);
                return None;
            }
        }
        Some(operation)
    }

    /// The port is less busy: resumes the processes that wait for it, and has what is parked done.
    pub(super) fn wake_waiters(&self, system: &'static System, common: &mut Common) {
        let Some(rare) = common.rare.present() else { return };
        system.wake(std::mem::take(&mut rare.waiters));
        let parked = std::mem::take(&mut rare.parked);
        if parked.is_empty() {
            return;
        }
        rare.parked_by.clear();
        // Relaxed: as in `park`.
        self.parked.store(0, Ordering::Relaxed);
        if self.turn.leave_first(parked.into_iter()) == ToSchedule(true) {
            self.enqueue(system);
        }
    }
}

impl System {
    /// Has processes go on.
    pub(super) fn wake(&self, waiters: Vec<Waiter>) {
        for waiter in waiters {
            match waiter {
                Waiter::Retry(pid) => self.signal(pid, Signal::Call(Box::new(|_| {}))),
                Waiter::Suspended(pid) => self.signal(pid, Signal::Resume(pid)),
            };
        }
    }
}

impl From<Command> for Operation {
    fn from(command: Command) -> Operation {
        Operation { by: Some(command.sender), work: Work::Command(Box::new(command)) }
    }
}
