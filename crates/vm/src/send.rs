//! Sending: `Pid ! Term` and `erlang:send/2,3` to each kind of address, and what is done with the [`Wake`] that leaving a signal
//! gives: the process itself knows no scheduler.

use crate::bif::{BADARG, DirtyKind, Escape};
use crate::ctx::Ctx;
use crate::tracer::flags;
use crate::vm::Handed;
use crate::{Process, Signal, Vm};
use myriad_heap::phases::{self, Phase};
use myriad_heap::shared;
use myriad_process::{Message, Named, Payload, Wake};
use myriad_term::{Kind, Pid, Port, Term};

/// What became of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// Delivered, or dropped because the receiver has ended: the sender cannot tell.
    Done,
    /// For another node, and there is no connection.
    NoConnection,
}

/// A message of more words is made on a dirty scheduler, if it can be: to copy so many takes a millisecond or two.
const LONG: usize = 256 * 1024;
/// Words that are copied for one reduction.
const COPIED_PER_REDUCTION: usize = 16;
/// By so many reductions a message to a process that falls behind shortens its sender's slice. Senders get so much less of the cores that it
/// catches up: of 64 that send as fast as they can, each sends some 60 messages between two slices of the receiver.
const TO_ONE_BEHIND: i32 = 64;

impl Vm {
    /// Leaves a signal for a process and has it run. `false`: it has ended, and the signal is dropped.
    #[inline]
    pub fn send(&'static self, process: &Process, signal: Signal) -> bool {
        self.try_send(process, signal).is_ok()
    }

    /// As [`Vm::send`]; the signal comes back if the process has ended.
    #[inline]
    pub fn try_send(&'static self, process: &Process, signal: Signal) -> Result<(), Signal> {
        let wake = process.push(signal)?;
        self.schedule(process, wake);
        Ok(())
    }

    /// Has a process run that has been made.
    pub fn wake(&'static self, process: &Process) {
        self.schedule(process, process.wake());
    }

    /// The same, on a scheduler that asks for work.
    pub(crate) fn wake_for_who_asks(&'static self, process: &Process) {
        match process.wake() {
            Wake::Enqueue => {
                self.profile_waking(process);
                self.schedulers.give_who_asks(process);
            }
            Wake::AlreadyAwake | Wake::Gone => {}
        }
    }

    /// Puts a process into a run queue if that is what its new state asks for.
    #[inline]
    fn schedule(&'static self, process: &Process, wake: Wake) {
        match wake {
            Wake::Enqueue => {
                self.profile_waking(process);
                self.schedulers.enqueue_woken(process);
            }
            Wake::AlreadyAwake | Wake::Gone => {}
        }
    }
}

impl Ctx<'_> {
    /// A copy of a term for another process: it costs reductions by its size.
    #[inline]
    pub fn payload(&mut self, term: Term) -> Payload {
        if term.is_immediate() {
            return Payload::immediate(term);
        }
        let (payload, words) = self.state.heap.payload(term);
        self.pay_for_copy(words);
        payload
    }

    /// The same, unless that takes so long that it is for a dirty scheduler to do, and the built-in can be called again.
    #[inline]
    fn payload_in_time(&mut self, term: Term, may_stop: bool) -> Result<Payload, Escape> {
        match self.state.heap.payload_within(term, LONG) {
            Some((payload, words)) => {
                self.pay_for_copy(words);
                Ok(payload)
            }
            None => self.long_payload(term, may_stop),
        }
    }

    /// A traced send has been told of already, so it goes on.
    #[cold]
    #[inline(never)]
    fn long_payload(&mut self, term: Term, may_stop: bool) -> Result<Payload, Escape> {
        if may_stop && !self.sched.dirty && self.vm.config.dirty_cpu > 0 && !self.process.trace.wants(flags::SEND) {
            return Err(Escape::Dirty(DirtyKind::Cpu));
        }
        Ok(self.payload(term))
    }

    /// As [`Ctx::payload`], with all literals in it ([`Payload::whole`]).
    pub fn whole_payload(&mut self, term: Term) -> Payload {
        let payload = Payload::whole(term);
        self.pay_for_copy(payload.words());
        payload
    }

    /// Counts the work of copying `words` words.
    #[inline]
    pub fn pay_for_copy(&mut self, words: usize) {
        if words >= COPIED_PER_REDUCTION {
            self.bump(words / COPIED_PER_REDUCTION);
        }
    }

    /// Sends `message` to `to`: a pid, port, alias, name, or `{Name, Node}`. A busy port has it wait.
    pub fn send(&mut self, to: Term, message: Term) -> Result<Sent, Escape> {
        self.send_as(to, message, false)
    }

    /// The same, for a built-in that can be called again with the same arguments: so it is, when a busy port has become less so, and on a dirty scheduler
    /// to copy a long message.
    #[inline]
    pub fn send_or_wait(&mut self, to: Term, message: Term) -> Result<Sent, Escape> {
        self.send_as(to, message, true)
    }

    #[inline]
    fn send_as(&mut self, to: Term, message: Term, may_stop: bool) -> Result<Sent, Escape> {
        if let Some(pid) = to.as_local_pid() {
            if phases::is_on() {
                return self.send_measured(to, pid, message);
            }
            self.trace_send(to, message);
            return self.send_to_pid(pid, message, may_stop);
        }
        self.send_to_other(to, message, may_stop)
    }

    #[cold]
    #[inline(never)]
    fn send_measured(&mut self, to: Term, pid: Pid, message: Term) -> Result<Sent, Escape> {
        phases::measured(Phase::Send, || {
            self.trace_send(to, message);
            self.send_to_pid(pid, message, false)
        })
    }

    fn send_to_other(&mut self, to: Term, message: Term, may_stop: bool) -> Result<Sent, Escape> {
        let again = self.wait_at_busy_port(false);
        if !again {
            self.trace_send(to, message);
        }
        if let Some(name) = to.as_atom() {
            match self.vm.names.whereis(name) {
                Some(Named::Process(pid)) => return self.send_to_pid(pid, message, may_stop),
                Some(Named::Port(port)) => self.send_to_port(port, message, may_stop)?,
                None => return Err(BADARG),
            }
            return Ok(Sent::Done);
        }
        if let Some(port) = to.as_local_port() {
            self.send_to_port(port, message, may_stop)?;
            return Ok(Sent::Done);
        }
        match to.boxed_kind() {
            Some(Kind::AliasRef) => return self.send_to_alias(to, message, may_stop),
            // A reference that is no alias of anything: the message is dropped.
            Some(Kind::Ref | Kind::MagicRef) => {}
            Some(Kind::ExternalPid | Kind::ExternalRef) => return Ok(Sent::NoConnection),
            Some(Kind::ExternalPort) => return Ok(Sent::NoConnection),
            Some(Kind::Tuple) => return self.send_to_name_at_node(to, message, may_stop),
            _ => return Err(BADARG),
        }
        Ok(Sent::Done)
    }

    /// A message of this process to `to`.
    #[inline]
    fn outgoing(&mut self, to: Term, message: Term, may_stop: bool) -> Result<Message, Escape> {
        if self.state.token.is_some() {
            let payload = self.payload(message);
            return Ok(self.outgoing_with_token(to, message, payload));
        }
        if message.is_immediate() {
            return Ok(Message::new(Payload::immediate(message), self.pid().term()));
        }
        if shared::is_on() && !self.sched.dirty {
            return Ok(Message::of_shared(message, self.pid().term()));
        }
        Ok(Message::new(self.payload_in_time(message, may_stop)?, self.pid().term()))
    }

    /// An exit signal of this process to `to`, with its sequential trace token if it has one.
    pub fn exit_signal_to(&mut self, to: Term, reason: Term, linked: bool) -> Signal {
        let exit = Signal::Exit { from: self.pid().term(), reason: self.payload(reason), linked };
        if self.state.token.is_none() || to.as_local_pid().is_none() {
            return exit;
        }
        match self.vm.tracer().exits_with_token(self, to, reason) {
            Some(token) => Signal::ExitWithToken(Box::new(exit), token),
            None => exit,
        }
    }

    #[inline]
    fn send_to_pid(&mut self, pid: Pid, message: Term, may_stop: bool) -> Result<Sent, Escape> {
        if self.keeps(pid) {
            self.keep(message);
            return Ok(Sent::Done);
        }
        let vm = self.vm;
        if let Some(process) = vm.processes.get_to_signal(pid) {
            let message = self.outgoing(pid.term(), message, may_stop)?;
            self.leave_message(process, message);
        }
        Ok(Sent::Done)
    }

    /// Is this the process itself, and does what it sends go to its inner queue, without a copy? It goes the usual way behind signals that are not handled (process/G1), with a
    /// token, where its arrival is traced, and where the queue is long (process.message/M3) or kept outside the heap.
    #[inline]
    fn keeps(&self, to: Pid) -> bool {
        to == self.pid()
            && !self.sched.dirty
            && !shared::is_on()
            && self.state.token.is_none()
            && !self.process.trace.wants(flags::RECEIVE)
            && !self.state.flags.off_heap_messages
            && self.state.messages.is_short()
            && !self.has_signals()
    }

    /// The process gets a message of its own ([`Ctx::keeps`]).
    fn keep(&mut self, message: Term) {
        self.state.messages.push_own(Message::of_own(message, self.pid().term()));
    }

    /// Leaves a message for a process.
    #[inline]
    fn leave_message(&mut self, process: &Process, mut message: Message) {
        if process.is_behind() {
            self.state.reductions.forgo(TO_ONE_BEHIND);
            self.sched.trail.mark(process, &mut message);
        }
        self.vm.schedule(process, process.push_message(message));
    }

    /// Sends a message that lies on top of the heap, where its last words were built. `false`: nothing has been done, for that is no message to a process of this
    /// node, or not only that; [`Ctx::send`] does it.
    ///
    /// # Safety
    /// Of [`myriad_heap::Heap::payload_of_built`].
    #[inline]
    pub unsafe fn send_built(&mut self, to: Term, message: Term, words: usize) -> bool {
        let Some(pid) = to.as_local_pid().filter(|pid| !self.keeps(*pid)) else { return false };
        if self.process.trace.wants(flags::SEND) || self.state.token.is_some() || shared::is_on() {
            return false;
        }
        // SAFETY: the caller's promise.
        phases::measured(Phase::Send, || unsafe { self.send_built_to(pid, message, words) })
    }

    /// # Safety
    /// Of [`Ctx::send_built`].
    #[inline]
    unsafe fn send_built_to(&mut self, pid: Pid, message: Term, words: usize) -> bool {
        let vm = self.vm;
        let Some(process) = vm.processes.get_to_signal(pid) else { return true };
        // SAFETY: the caller's promise.
        let Some((payload, copied)) = (unsafe { self.state.heap.payload_of_built(message, words, LONG) }) else {
            return false;
        };
        self.pay_for_copy(copied);
        self.leave_message(process, Message::new(payload, self.pid().term()));
        true
    }

    fn send_to_alias(&mut self, to: Term, message: Term, may_stop: bool) -> Result<Sent, Escape> {
        let vm = self.vm;
        if let Some(numbers) = to.as_local_ref()
            && let Some(process) = vm.processes.of_alias(numbers)
        {
            let message = self.outgoing(to, message, may_stop)?;
            vm.send(process, Signal::AliasMessage(numbers, message));
        }
        Ok(Sent::Done)
    }

    fn send_to_port(&mut self, port: Port, message: Term, may_stop: bool) -> Result<(), Escape> {
        if let Some(ports) = self.vm.ports() {
            match ports.message(self, port, message, may_stop) {
                Handed::Taken(reductions) => self.bump(reductions),
                Handed::Busy => {
                    self.wait_at_busy_port(true);
                    return Err(Escape::Wait);
                }
            }
        }
        Ok(())
    }

    fn send_to_name_at_node(&mut self, to: Term, message: Term, may_stop: bool) -> Result<Sent, Escape> {
        let Some([name, node]) = to.as_tuple_of::<2>() else { return Err(BADARG) };
        let (Some(name), Some(node)) = (name.as_atom(), node.as_atom()) else { return Err(BADARG) };
        if node != self.vm.node_name() {
            return Ok(Sent::NoConnection);
        }
        match self.vm.names.whereis(name) {
            Some(Named::Process(pid)) => return self.send_to_pid(pid, message, may_stop),
            Some(Named::Port(port)) => self.send_to_port(port, message, may_stop)?,
            None => {}
        }
        Ok(Sent::Done)
    }
}
