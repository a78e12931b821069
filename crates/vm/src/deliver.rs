//! Handling of signals by their receiver, in the order they came (process/G1), a limited number at a time (process/G3).

use crate::bif::Escape;
use crate::ctx::Ctx;
pub use crate::runtime::Question;
use crate::tracer::flags;
use crate::{Signal, Signals};
use myriad_heap::meter::{self, Work};
use myriad_process::links::{AliasMode, Target};
use myriad_process::{Message, Packet, Payload};
use myriad_sync::atomic::Ordering;
use myriad_term::{Arena, Build, RefNumbers, Term, TermRef, am};

/// Signals of a queue that is taken which are put in order for a reduction.
const TURNED_PER_REDUCTION: usize = 8;
/// Messages that go to the inner queue for a reduction; any other signal costs one.
const MESSAGES_PER_REDUCTION: usize = 8;

/// What has become of the signals that had come.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Handled {
    /// They are handled.
    All,
    /// Some are left (process/G3).
    Some,
    /// The process has to end: [`crate::OwnerState::exit_reason`] says why.
    Fatal,
}

impl Ctx<'_> {
    /// Has it signals to handle?
    #[inline]
    pub fn has_signals(&self) -> bool {
        self.state.unhandled.is_some() || !self.process.has_no_signals()
    }

    /// Handles signals that have come, as far as `reductions` go (one at least).
    pub fn fetch_signals(&mut self, reductions: i32) -> Handled {
        let until = self.reductions_after(reductions);
        if self.state.unhandled.is_some() {
            let handled = self.handle_rest(until);
            if handled != Handled::All {
                return handled;
            }
        }
        if self.process.has_no_signals() {
            return Handled::All;
        }
        let signals = self.process.take_signals();
        self.handle_signals(signals, until)
    }

    /// The reductions left in the slice when so many (one at least) have been used.
    #[inline]
    fn reductions_after(&self, used: i32) -> i32 {
        self.state.reductions.left().saturating_sub(used.max(1))
    }

    /// Handles signals that were taken when the slice began, as far as `reductions` go (one at least).
    #[inline]
    pub(crate) fn handle_taken(&mut self, signals: Signals, reductions: i32) -> Handled {
        debug_assert!(self.state.unhandled.is_none(), "process/G1: what was taken first is handled first");
        let until = self.reductions_after(reductions);
        self.handle_signals(signals, until)
    }

    /// Handles those that are left of what was taken before.
    #[cold]
    #[inline(never)]
    fn handle_rest(&mut self, until: i32) -> Handled {
        let rest = self.state.unhandled.take().map_or(Signals::empty(), |rest| *rest);
        self.handle_signals(rest, until)
    }

    /// Handles these signals until no more than `until` reductions are left in the slice, and keeps the rest.
    #[inline(always)]
    fn handle_signals(&mut self, mut signals: Signals, until: i32) -> Handled {
        let mut messages = 0;
        let handled = loop {
            if self.state.reductions.left() <= until || !self.put_in_order(&mut signals, until) {
                break if signals.is_empty() { Handled::All } else { Handled::Some };
            }
            let Some(packet) = signals.next() else { break Handled::All };
            match packet {
                // Most are.
                Packet::Message(message) => {
                    messages += 1;
                    if messages % MESSAGES_PER_REDUCTION == 0 {
                        self.bump(1);
                    }
                    self.arrive(message);
                }
                other => {
                    meter::count(Work::Signal, 1);
                    self.bump(1);
                    if !self.handle(other.open()) {
                        break Handled::Fatal;
                    }
                }
            }
        };
        if signals.is_empty() {
            // Nothing is in it that would have to be dropped.
            std::mem::forget(signals);
        } else {
            self.keep_for_later(signals);
        }
        handled
    }

    #[cold]
    #[inline(never)]
    fn keep_for_later(&mut self, rest: Signals) {
        self.state.unhandled = Some(Box::new(rest));
    }

    /// Puts signals in the order in which they came, until so many reductions are left in the slice. Are all?
    #[inline]
    pub(crate) fn put_in_order(&mut self, signals: &mut Signals, until: i32) -> bool {
        if signals.is_turned() {
            return true;
        }
        let reductions = usize::try_from(self.state.reductions.left().saturating_sub(until)).unwrap_or(0);
        let turned = signals.turn(reductions * TURNED_PER_REDUCTION);
        self.bump(turned / TURNED_PER_REDUCTION);
        signals.is_turned()
    }

    /// For a built-in that relies on everything that has come until now: handles it. `Err`: there is so much that the process gives
    /// way, and the built-in must be run again, now with a [`crate::OwnerState::retry_state`]; or the process must end.
    pub fn settle_signals(&mut self) -> Result<(), Escape> {
        let handled = self.fetch_signals(self.state.reductions.left());
        let waits = self.state.retry_state.is_some();
        // What has come later need not be waited for: it may never end.
        let met = self.state.retry_state.is(Term::TRUE);
        match handled {
            Handled::Fatal => return Err(Escape::Dead),
            Handled::Some if !met => {
                if !waits {
                    self.state.retry_state = Term::FALSE;
                    let mark = Box::new(|ctx: &mut Ctx<'_>| ctx.state.retry_state = Term::TRUE);
                    self.signal_to(self.pid(), Signal::Call(mark));
                }
                return Err(Escape::Wait);
            }
            _ => {}
        }
        self.state.retry_state = Term::NONE;
        Ok(())
    }

    fn handle(&mut self, signal: Signal) -> bool {
        match signal {
            Signal::Message(message) => self.arrive(message),
            Signal::AliasMessage(reference, message) => self.alias_message(reference, message),
            Signal::Link(from) => {
                if self.state.relations.linked_by(from.term()) {
                    self.trace(flags::PROCS, am::getting_linked, &[from.term()]);
                }
            }
            Signal::Unlink { from, id } => {
                if self.state.relations.drop_link(from.term()) {
                    self.trace(flags::PROCS, am::getting_unlinked, &[from.term()]);
                }
                self.signal_to(from, Signal::UnlinkAck { from: self.pid(), id });
            }
            Signal::UnlinkAck { from, id } => self.state.relations.unlink_acknowledged(from.term(), id),
            Signal::Exit { from, reason, linked } => return self.exit_signal(from, reason, linked, None),
            Signal::ExitWithToken(exit, token) => {
                if let Signal::Exit { from, reason, linked } = *exit {
                    return self.exit_signal(from, reason, linked, Some(token));
                }
            }
            Signal::Monitor { from, reference, name } => {
                self.state.relations.tables().watchers.insert(reference, myriad_process::links::Watcher { from, name });
            }
            Signal::Demonitor(reference) => {
                self.state.relations.tables().watchers.remove(&reference);
            }
            Signal::Down { reference, reason } => self.down(reference, reason),
            Signal::TimeOffset { reference, offset_ns } => self.time_offset_changed(reference, offset_ns),
            Signal::ReceiveTimeout(timer) => {
                self.state.receive_timer.fire(timer);
            }
            Signal::Suspend { active, reply } => {
                self.suspend();
                // Relaxed: a figure.
                active.store(true, Ordering::Relaxed);
                self.state.interrupt();
                if let Some(reply) = reply {
                    self.reply_parcel(reply);
                }
            }
            Signal::Resume(_) => {
                self.state.suspensions.resume();
                self.process.set_suspended(self.state.suspensions.any());
            }
            Signal::GroupLeader { leader, from, reference } => {
                self.state.group_leader = leader.attach(&mut self.state.heap);
                self.reply(from, reference, Term::TRUE);
            }
            Signal::IsAlive { from, reference } => self.reply(from, reference, Term::TRUE),
            Signal::Ask { from, reference, question } => {
                let memory = Arena::new();
                let answer = question.answer(self, &memory);
                self.reply(from, reference, answer);
            }
            Signal::Task { from, request, priority } => crate::task::take_up(self, from, request, priority),
            Signal::Call(f) => f(self),
            Signal::Returned(returned) => self.call_returns(*returned),
        }
        true
    }

    /// Sends a signal to a local process; `false` if there is none.
    pub fn signal_to(&self, to: myriad_term::Pid, signal: Signal) -> bool {
        self.vm.processes.get_to_signal(to).is_some_and(|p| self.vm.send(p, signal))
    }

    /// As [`Ctx::signal_to`], of a signal whose answer this process waits for: nothing of a priority below its own delays that.
    pub fn ask(&self, to: myriad_term::Pid, signal: Signal) -> bool {
        self.vm.signal_urgently(to, signal, self.process.priority())
    }

    /// Sends `{Reference, Value}` to a local process.
    fn reply(&mut self, to: myriad_term::Pid, reference: RefNumbers, value: TermRef<'_>) {
        let payload = Payload::build(8 + myriad_heap::copied_size(value), |draft| {
            let value = myriad_heap::copy_term(value, draft);
            let reference = draft.reference(reference);
            draft.tuple(&[reference, value])
        });
        self.pay_for_copy(payload.words());
        self.signal_to(to, Signal::Message(Message::new(payload, Term::NONE)));
    }

    /// Sends the message `{To, Message}` that a signal brought along for its own answer.
    fn reply_parcel(&mut self, reply: Payload) {
        let Some([to, _]) = reply.term().as_tuple_of::<2>() else { return };
        if let Some(pid) = to.as_local_pid()
            && let Some(message) = reply.part(|pair| pair.as_tuple_of::<2>().map(|[_, message]| message))
        {
            self.signal_to(pid, Signal::Message(Message::new(message, Term::NONE)));
        }
    }

    /// A message goes into the queue.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, message: Message) {
        self.trace_arrival(Term::NONE, &message);
        self.state.messages.push(message);
    }

    fn arrive_from(&mut self, from: Term, message: Message) {
        self.trace_arrival(from, &message);
        self.state.messages.push(message);
    }

    fn alias_message(&mut self, reference: RefNumbers, message: Message) {
        match self.state.relations.alias(reference) {
            None => {}
            Some(AliasMode::Reply) => {
                // The first message through it ends the alias, and the monitor that it came with.
                self.state.relations.unalias(reference);
                if let Some(monitor) = self.state.relations.monitor_over(reference)
                    && let Target::Process(pid) = monitor.target
                {
                    self.signal_to(pid, Signal::Demonitor(reference));
                }
                self.arrive(message);
            }
            Some(_) => self.arrive(message),
        }
    }

    /// `false`: the process has to end.
    fn exit_signal(&mut self, from: Term, reason: Payload, linked: bool, token: Option<Payload>) -> bool {
        if linked && !self.state.relations.drop_link(from) {
            return true;
        }
        let fatal_kill = !linked && reason.term().is_am(am::kill);
        if fatal_kill {
            self.state.exit_reason = Term::atom(am::killed);
            return false;
        }
        let survives = self.state.flags.trap_exit || reason.term().is_am(am::normal) && from != self.pid().term();
        if linked && survives {
            self.trace(flags::PROCS, am::getting_unlinked, &[from]);
        }
        if self.state.flags.trap_exit {
            let exit = reason.and_then(|reason, draft| draft.tuple(&[Term::atom(am::EXIT), from, reason]));
            let token = token.as_ref().map_or(Term::NONE, Payload::term);
            self.arrive_from(from, Message::new(exit, token));
            return true;
        }
        if survives {
            return true;
        }
        self.state.exit_reason = reason.attach(&mut self.state.heap);
        false
    }

    fn down(&mut self, reference: RefNumbers, reason: Payload) {
        let Some(monitor) = self.state.relations.monitor_over(reference) else { return };
        let (kind, object) = match monitor.target {
            Target::Process(pid) => (am::process, pid.term()),
            Target::Port(port) => (am::port, port.term()),
            Target::TimeOffset => (am::clock_service, Term::atom(am::clock_service)),
            Target::Gone => (am::process, Term::UNDEFINED),
            Target::GonePort => (am::port, Term::UNDEFINED),
        };
        self.push_down(reference, monitor.name, monitor.tag, kind, object, reason);
    }

    /// Puts `{'CHANGE' | Tag, Reference, time_offset, clock_service, Offset}` in the own message queue; the monitor stays.
    fn time_offset_changed(&mut self, reference: RefNumbers, offset_ns: i64) {
        let Some(monitor) = self.state.relations.get().and_then(|t| t.monitors.get(&reference)) else { return };
        let tag = monitor.tag.as_ref().map_or(Term::atom(am::CHANGE), Payload::term);
        let payload = Payload::build(16 + myriad_heap::copied_size(tag), |draft| {
            let tag = myriad_heap::copy_term(tag, draft);
            let (reference, offset) = (draft.reference(reference), draft.int(offset_ns));
            let (kind, object) = (Term::atom(am::time_offset), Term::atom(am::clock_service));
            draft.tuple(&[tag, reference, kind, object, offset])
        });
        self.state.messages.push(Message::new(payload, Term::NONE));
    }

    /// Puts `{Tag, Reference, Kind, Object, Reason}` in the own message queue. `name` (an atom) makes the object `{Name, Node}`.
    pub fn push_down(
        &mut self,
        reference: RefNumbers,
        name: Term,
        tag: Option<Payload>,
        kind: myriad_term::Atom,
        object: Term,
        reason: Payload,
    ) {
        let tag = tag.as_ref().map_or(Term::atom(am::DOWN), Payload::term);
        self.pay_for_copy(myriad_heap::copied_size(tag));
        let node = self.vm.node_name().term();
        let from = if name.is_none() && object.is_immediate() { object } else { Term::NONE };
        let payload = reason.and_then(|reason, draft| {
            let tag = myriad_heap::copy_term(tag, draft);
            let object = if name.is_some() { draft.tuple(&[name, node]) } else { object };
            let reference = draft.reference(reference);
            draft.tuple(&[tag, reference, Term::atom(kind), object, reason])
        });
        self.arrive_from(from, Message::new(payload, Term::NONE));
    }
}
