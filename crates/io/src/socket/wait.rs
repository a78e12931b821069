//! Processes that wait for a socket. One of each direction is served, the others stand in a queue behind it.
//!
//! Who asks for what is not there yet is answered `select`, and gets `{'$socket', Socket, select, Reference}` when it may ask again; when it
//! cannot be any more, `{'$socket', Socket, abort, {Reference, Reason}}`: one of the two.
//!
//! WA1. Only the first of a queue tries the system, and who does not want to wait. It stays the first until it has had what it wanted, has failed, has taken its wish back or
//!      has ended; then the next one is told, if the descriptor is ready.
//! WA2. The descriptor tells of edges. So each look that finds it not ready is followed by a wait under the same lock (io/SO1): an edge comes after
//!      the look, and so after the wait is noted. Who stops before that ([`State::wait_told`]) needs no edge: it is told at once.
//! WA3. Who waits for a socket of another's is noted with its pid (`owners.rs`): its end ends the wait. The owner's end closes the socket.

use super::state::{Handle, State, flag};
use crate::port::System;
use myriad_heap::{Draft, Message};
use myriad_process::Payload;
use myriad_term::magic::magic_reference;
use myriad_term::{Atom, Build, Magic, Pid, RefNumbers, Term, TermRef, am};
use myriad_vm::{BifResult, Ctx, Signal};
use rustix::event::{PollFd, PollFlags};
use std::collections::VecDeque;

/// A process that waits.
pub(super) struct Waiter {
    pub(super) pid: Pid,
    pub(super) reference: RefNumbers,
    socket: Magic,
    /// It knows that it may try.
    told: bool,
}

/// Those that wait for one direction.
#[derive(Default)]
pub(super) struct Queue {
    first: Option<Waiter>,
    others: VecDeque<Waiter>,
}

/// A direction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Accept,
    Write,
}

/// How long somebody waits.
#[derive(Clone, Copy)]
pub(super) enum Patience {
    /// Not at all.
    Zero,
    /// Until a message with this reference.
    Message(RefNumbers),
}

impl Patience {
    /// `zero`, or a reference.
    pub(super) fn of(term: Term) -> Option<Patience> {
        if term.is_am(am::zero) { Some(Patience::Zero) } else { term.as_local_ref().map(Patience::Message) }
    }
}

/// What becomes of a call at first.
pub(super) enum Turn {
    /// It tries the system.
    Tries,
    /// It stands in the queue.
    Queued,
    /// It stood there already.
    Again,
}

/// `{'$socket', {'$socket', Socket}, What, …}`
fn message(
    system: &System,
    to: Pid,
    socket: &Magic,
    what: Atom,
    rest: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
) {
    let payload = Payload::build(24, |draft| {
        let reference = magic_reference(draft, socket.clone());
        let socket = draft.tuple(&[am::dollar_socket.term(), reference]);
        let rest = rest(draft);
        draft.tuple(&[am::dollar_socket.term(), socket, what.term(), rest])
    });
    system.signal(to, Signal::Message(Message::new(payload, Term::NONE)));
}

impl Waiter {
    fn new(ctx: &Ctx<'_>, handle: &Handle, reference: RefNumbers) -> Waiter {
        Waiter { pid: ctx.pid(), reference, socket: handle.magic.clone(), told: false }
    }

    /// Tells it that it may try.
    fn tell(&mut self, system: &System) {
        if !std::mem::replace(&mut self.told, true) {
            let reference = self.reference;
            message(system, self.pid, &self.socket, am::select, |draft| draft.reference(reference));
        }
    }

    /// Tells it that it waits in vain, unless it has been told to try, where it meets the reason.
    fn abort(&self, system: &System, reason: Atom) {
        if self.told {
            return;
        }
        let reference = self.reference;
        message(system, self.pid, &self.socket, am::abort, |draft| {
            let reference = draft.reference(reference);
            draft.tuple(&[reference, reason.term()])
        });
    }
}

impl Queue {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// Does the first one wait, and is it this process?
    pub(super) fn is_first(&self, pid: Pid) -> bool {
        self.first.as_ref().is_some_and(|first| first.pid == pid)
    }

    fn abort_all(&mut self, system: &System, reason: Atom) {
        self.first.take().into_iter().chain(self.others.drain(..)).for_each(|waiter| waiter.abort(system, reason));
    }
}

/// The ports' system, which has the poller.
pub(super) fn system(ctx: &Ctx<'_>) -> &'static System {
    System::of(ctx.vm).unwrap_or_else(|| unreachable!("it is there before Erlang code runs"))
}

impl State {
    pub(super) fn queue(&mut self, side: Side) -> &mut Queue {
        match side {
            Side::Read => &mut self.readers,
            Side::Accept => &mut self.acceptors,
            Side::Write => &mut self.writers,
        }
    }

    /// Whether the caller may try (WA1).
    pub(super) fn turn(&mut self, ctx: &Ctx<'_>, handle: &Handle, side: Side, patience: Patience) -> Turn {
        let (pid, owner) = (ctx.pid(), self.owner);
        let queue = self.queue(side);
        let Patience::Message(reference) = patience else { return Turn::Tries };
        if queue.first.is_none() || queue.is_first(pid) {
            return Turn::Tries;
        }
        if queue.others.iter().any(|waiter| waiter.pid == pid) {
            return Turn::Again;
        }
        queue.others.push_back(Waiter::new(ctx, handle, reference));
        note_foreign(ctx, handle, owner);
        Turn::Queued
    }

    /// The caller waits, as the first (WA2).
    pub(super) fn wait(
        &mut self,
        ctx: &Ctx<'_>,
        handle: &Handle,
        side: Side,
        reference: RefNumbers,
    ) -> Result<(), Atom> {
        self.arm_for(ctx, handle)?;
        self.stands_first(ctx, handle, side, reference);
        Ok(())
    }

    /// The caller stays the first and may try again at once: it only gives way to others that want the socket's lock.
    pub(super) fn wait_told(&mut self, ctx: &Ctx<'_>, handle: &Handle, side: Side, reference: RefNumbers) {
        self.stands_first(ctx, handle, side, reference);
        self.queue(side).first.iter_mut().for_each(|first| first.tell(system(ctx)));
    }

    fn stands_first(&mut self, ctx: &Ctx<'_>, handle: &Handle, side: Side, reference: RefNumbers) {
        let owner = self.owner;
        match side {
            Side::Read => self.reading |= flag::SELECTED,
            Side::Accept => self.reading |= flag::SELECTED | flag::ACCEPTING,
            Side::Write => self.writing |= flag::SELECTED,
        }
        let queue = self.queue(side);
        let is_new = queue.first.is_none();
        queue.first = Some(Waiter::new(ctx, handle, reference));
        if is_new {
            note_foreign(ctx, handle, owner);
        }
    }

    /// The caller waits for its connection.
    pub(super) fn wait_connected(&mut self, ctx: &Ctx<'_>, handle: &Handle, reference: RefNumbers) -> Result<(), Atom> {
        self.arm_for(ctx, handle)?;
        self.writing |= flag::CONNECTING | flag::SELECTED;
        self.connector = Some(Waiter::new(ctx, handle, reference));
        note_foreign(ctx, handle, self.owner);
        Ok(())
    }

    /// As [`State::wait`], with the answer to the caller.
    pub(super) fn wait_answer(
        &mut self,
        ctx: &mut Ctx<'_>,
        handle: &Handle,
        side: Side,
        reference: RefNumbers,
    ) -> BifResult {
        match self.wait(ctx, handle, side, reference) {
            Ok(()) => Ok(am::select.term()),
            Err(reason) => super::terms::error(ctx, reason),
        }
    }

    fn arm_for(&mut self, ctx: &Ctx<'_>, handle: &Handle) -> Result<(), Atom> {
        self.arm(system(ctx), &handle.socket).map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            Some(errno) => crate::posix::atom(errno),
            None => am::einval,
        })
    }

    /// This process has had what it wanted: if it is the first one, the next one's turn (WA1).
    pub(super) fn next(&mut self, system: &System, side: Side, pid: Pid) {
        let queue = self.queue(side);
        if queue.first.is_some() && !queue.is_first(pid) {
            return;
        }
        queue.first = None;
        if let Some(next) = queue.others.pop_front() {
            queue.first = Some(next);
            if self.is_ready(side) {
                self.queue(side).first.iter_mut().for_each(|first| first.tell(system));
            }
            return;
        }
        if side == Side::Accept {
            self.reading &= !flag::ACCEPTING;
        }
    }

    /// The first one is answered that it has failed: the others wait in vain.
    pub(super) fn fail(&mut self, system: &System, side: Side, reason: Atom) {
        let queue = self.queue(side);
        queue.first = None;
        queue.abort_all(system, reason);
    }

    fn is_ready(&self, side: Side) -> bool {
        let Some(fd) = self.fd() else { return true };
        let wanted = if side == Side::Write { PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::new(&fd, wanted)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        !matches!(rustix::event::poll(&mut fds, Some(&now)), Ok(0))
    }

    /// The descriptor is ready.
    pub(super) fn ready(&mut self, system: &System, input: bool, output: bool) {
        let inputs = [&mut self.readers, &mut self.acceptors].into_iter().filter(|_| input);
        let outputs = [&mut self.writers].into_iter().filter(|_| output);
        inputs.chain(outputs).filter_map(|queue| queue.first.as_mut()).for_each(|first| first.tell(system));
        if output {
            self.connector.iter_mut().for_each(|waiter| waiter.tell(system));
        }
    }

    /// All wait in vain.
    pub(super) fn abort_all(&mut self, system: &System, reason: Atom) {
        if let Some(waiter) = self.connector.take() {
            waiter.abort(system, reason);
        }
        for side in [Side::Read, Side::Accept, Side::Write] {
            self.queue(side).abort_all(system, reason);
        }
    }

    /// A process takes its wish back: `ok`, `select_sent` if it has been told, or `not_found`.
    pub(super) fn cancel(&mut self, system: &System, side: Side, pid: Pid, reference: RefNumbers) -> Atom {
        let is_it = |waiter: &Waiter| waiter.pid == pid && waiter.reference == reference;
        let queue = self.queue(side);
        match &queue.first {
            Some(first) if is_it(first) => {
                let told = first.told;
                self.next(system, side, pid);
                if told { am::select_sent } else { am::ok }
            }
            _ => match queue.others.iter().position(is_it) {
                Some(at) => {
                    queue.others.remove(at);
                    am::ok
                }
                None => am::not_found,
            },
        }
    }

    /// As [`State::cancel`], of a connection.
    pub(super) fn cancel_connect(&mut self, pid: Pid, reference: RefNumbers) -> Atom {
        match self.connector.take() {
            Some(waiter) if waiter.pid == pid && waiter.reference == reference => {
                self.writing &= !flag::CONNECTING;
                if waiter.told { am::select_sent } else { am::ok }
            }
            other => {
                self.connector = other;
                am::not_found
            }
        }
    }

    /// Does this process wait?
    pub(super) fn has_waiter(&self, pid: Pid) -> bool {
        let queues = [&self.readers, &self.acceptors, &self.writers];
        let mut waiters = queues.into_iter().flat_map(|queue| queue.first.iter().chain(&queue.others));
        waiters.any(|waiter| waiter.pid == pid) || self.connector.as_ref().is_some_and(|waiter| waiter.pid == pid)
    }

    /// A process that is not the owner has ended: it waits no more (WA3).
    pub(super) fn waiter_ends(&mut self, system: &System, pid: Pid) {
        for side in [Side::Read, Side::Accept, Side::Write] {
            let queue = self.queue(side);
            queue.others.retain(|waiter| waiter.pid != pid);
            if queue.is_first(pid) {
                self.next(system, side, pid);
            }
        }
        if self.connector.as_ref().is_some_and(|waiter| waiter.pid == pid) {
            self.connector = None;
            self.writing &= !flag::CONNECTING;
        }
    }
}

/// Notes a process that waits for a socket of another's (WA3).
fn note_foreign(ctx: &Ctx<'_>, handle: &Handle, owner: Option<Pid>) {
    if owner != Some(ctx.pid()) {
        handle.socket.sockets.owners.waits(ctx.pid(), &handle.socket);
    }
}

/// Tells the registry of a socket that comes or goes.
pub(super) fn tell_registry(system: &System, what: Atom, socket: &Magic) {
    let Some(to) = Atom::existing("socket_registry").and_then(|name| system.whereis(name)) else { return };
    let payload = Payload::build(16, |draft| {
        let reference = magic_reference(draft, socket.clone());
        let socket = draft.tuple(&[am::dollar_socket.term(), reference]);
        draft.tuple(&[am::dollar_socket.term(), what.term(), socket])
    });
    system.signal(to, Signal::Message(Message::new(payload, Term::NONE)));
}
