//! Sequential tracing: a token that goes along with messages, spawns and exits, and the messages to the system tracer about it.
//!
//! A token is `{Flags, Label, Serial, Sender, Previous}`. Each process counts: a message that it sends has the next number, and
//! tells the number of the message it had last, so that the messages of one token can be put in order.
//!
//! A message without a token that a process has sent takes the token from whoever receives it; messages of timers and of the
//! VM itself change nothing (`Message::token` tells them apart).

use super::{event, flags};
use crate::Signal;
use crate::ctx::Ctx;
use crate::vm::Vm;
use myriad_heap::Fragment;
use myriad_process::{Message, Parcel};
use myriad_term::{Atom, Build, Term, am};

/// `send`
pub const SEND: i64 = 1;
/// `'receive'`
pub const RECEIVE: i64 = 2;
/// `print`
pub const PRINT: i64 = 4;
/// `timestamp`
pub const TIMESTAMP: i64 = 8;
/// `strict_monotonic_timestamp`
pub const STRICT_MONOTONIC_TIMESTAMP: i64 = 16;
/// `monotonic_timestamp`
pub const MONOTONIC_TIMESTAMP: i64 = 32;

/// The bit of a flag of a token.
pub fn flag(name: Atom) -> Option<i64> {
    Some(match name {
        am::send => SEND,
        am::receive => RECEIVE,
        am::print => PRINT,
        am::timestamp => TIMESTAMP,
        am::strict_monotonic_timestamp => STRICT_MONOTONIC_TIMESTAMP,
        am::monotonic_timestamp => MONOTONIC_TIMESTAMP,
        _ => return None,
    })
}

/// How the reply to a spawn comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyDelivery {
    /// The spawn waits for it.
    AtOnce,
    /// As a message.
    AsMessage,
    /// Not at all.
    Never,
}

/// What a process counts.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// The number of the last message sent or received.
    clock: i64,
    /// The number of the last message received.
    last: i64,
}

impl Counts {
    /// Nothing yet.
    pub const NONE: Counts = Counts { clock: 0, last: 0 };
}

/// The parts of a token.
#[derive(Clone, Copy)]
pub struct Token {
    /// What is traced.
    pub flags: i64,
    /// Any term.
    pub label: Term,
    /// The number of its message.
    pub serial: i64,
    /// Who sent it.
    pub sender: Term,
    /// The number that the sender had received last.
    pub previous: i64,
}

impl Token {
    /// The parts; nothing if the term is no token.
    pub fn of(term: Term) -> Option<Token> {
        let [flags, label, serial, sender, previous] = term.as_tuple_of::<5>()?;
        Some(Token {
            flags: flags.as_small()?,
            label,
            serial: serial.as_small()?,
            sender,
            previous: previous.as_small()?,
        })
    }

    pub(crate) fn term<A: Build + ?Sized>(&self, heap: &mut A) -> Term {
        heap.tuple(&[
            Term::small(self.flags),
            self.label,
            Term::small(self.serial),
            self.sender,
            Term::small(self.previous),
        ])
    }
}

/// Sends `{seq_trace, Label, {Kind, {Previous, Serial}, From, To, Message}}`, with the time if the token asks for it.
fn output(vm: &'static Vm, kind: Atom, token: Token, from: Term, to: Term, message: Term) {
    let Some(tracer) = vm.trace.sequential_tracer() else { return };
    if tracer == from && kind != am::receive || tracer == to && kind == am::receive {
        return;
    }
    if !event::is_alive(vm, tracer) {
        vm.trace.set_sequential_tracer(None);
        return;
    }
    let words = myriad_heap::copied_size(message) + myriad_heap::copied_size(token.label);
    let mut fragment = Fragment::with_capacity(words + 32);
    let label = myriad_heap::copy_term(token.label, &mut fragment);
    let message = myriad_heap::copy_term(message, &mut fragment);
    let (from, to) = (myriad_heap::copy_term(from, &mut fragment), myriad_heap::copy_term(to, &mut fragment));
    let serial = fragment.tuple(&[Term::small(token.previous), Term::small(token.serial)]);
    let info = fragment.tuple(&[kind.term(), serial, from, to, message]);
    let mut times = 0;
    for (bit, flag) in [
        (TIMESTAMP, flags::TIMESTAMP),
        (STRICT_MONOTONIC_TIMESTAMP, flags::STRICT_MONOTONIC_TIMESTAMP),
        (MONOTONIC_TIMESTAMP, flags::MONOTONIC_TIMESTAMP),
    ] {
        if token.flags & bit != 0 {
            times |= flag;
        }
    }
    let mut elements = vec![Term::atom(am::seq_trace), label, info];
    elements.extend(event::timestamp(vm, times, &mut fragment));
    let term = fragment.tuple(&elements);
    event::deliver(vm, tracer, term, fragment);
}

impl Ctx<'_> {
    /// The token, if there is one.
    pub fn token(&self) -> Option<Token> {
        if self.proc.token.is_none() { None } else { Token::of(self.proc.token) }
    }

    /// Sets the token.
    pub fn set_token(&mut self, token: Option<Token>) {
        self.proc.token = match token {
            Some(token) => token.term(self),
            None => Term::NONE,
        };
    }

    /// The token, or a new one.
    pub fn token_or_new(&self) -> Token {
        // What was received last counts on while there is no token.
        let previous = self.proc.watched.sequence.last;
        let new = || Token { flags: 0, label: Term::small(0), serial: 0, sender: self.pid().term(), previous };
        self.token().unwrap_or_else(new)
    }

    /// Is this kind of event of this process told? Nothing of a sensitive process is.
    fn tells(&self, token: Token, kind: i64) -> bool {
        token.flags & kind != 0 && self.this.trace.flags() & flags::SENSITIVE == 0
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.proc.watched.sequence
    }

    /// Sets a part of the token; gives what it was. Nothing: there is no such part, or the value does not fit.
    pub fn set_token_part(&mut self, key: Atom, value: Term) -> Option<Term> {
        if let Some(bit) = flag(key) {
            let on = value.as_bool()?;
            let mut token = self.token_or_new();
            let old = token.flags & bit != 0;
            token.flags = if on { token.flags | bit } else { token.flags & !bit };
            self.set_token(Some(token));
            return Some(Term::bool(old));
        }
        match key {
            am::label => {
                let mut token = self.token_or_new();
                let own = myriad_heap::copy_term(value, self);
                let old = std::mem::replace(&mut token.label, own);
                self.set_token(Some(token));
                Some(old)
            }
            am::serial => {
                let [previous, serial] = value.as_tuple_of::<2>()?;
                let (previous, serial) = self.set_serial(previous.as_small()?, serial.as_small()?);
                Some(self.tuple(&[Term::small(previous), Term::small(serial)]))
            }
            am::sequential_trace_token if value.is_nil() => {
                let old = self.proc.token;
                self.set_token(None);
                Some(if old.is_none() { Term::NIL } else { old })
            }
            _ => None,
        }
    }

    /// Sets what the process counts, and its token's numbers; gives those that the token had.
    pub fn set_serial(&mut self, previous: i64, serial: i64) -> (i64, i64) {
        let mut token = self.token_or_new();
        let old = (token.previous, token.serial);
        (token.previous, token.serial) = (previous, serial);
        self.set_token(Some(token));
        *self.counts() = Counts { clock: serial, last: previous };
        old
    }

    /// The token with the next number. The tracer itself counts nothing.
    fn next_token(&mut self) -> Option<Token> {
        let mut token = self.token()?;
        let tracer = self.vm.trace.sequential_tracer();
        if tracer != Some(self.pid().term()) {
            let own = self.pid().term();
            let counts = self.counts();
            counts.clock += 1;
            (token.serial, token.previous, token.sender) = (counts.clock, counts.last, own);
            self.set_token(Some(token));
        }
        Some(token)
    }

    /// A message of this process to `to`, with its token, which counts it.
    #[cold]
    pub(crate) fn outgoing_with_token(&mut self, to: Term, message: Term, parcel: Parcel) -> Message {
        let Some(token) = self.next_token() else { return parcel.message_from(self.pid()) };
        if self.tells(token, SEND) {
            output(self.vm, am::send, token, self.pid().term(), to, message);
        }
        let mut fragment = parcel.fragment.unwrap_or_default();
        let token = myriad_heap::copy_term(self.proc.token, &mut fragment);
        Message::new(parcel.term, Some(fragment), token)
    }

    /// A message has been accepted: its token is the process's now.
    #[cold]
    pub fn accept_token(&mut self, token: Term, message: Term) {
        match Token::of(token) {
            Some(parts) => {
                self.proc.token = token;
                let counts = self.counts();
                counts.last = parts.serial;
                counts.clock = counts.clock.max(parts.serial);
                if self.tells(parts, RECEIVE) {
                    output(self.vm, am::receive, parts, parts.sender, self.pid().term(), message);
                }
            }
            None => self.proc.token = Term::NONE,
        }
    }

    /// Takes the tokens of all processes, and of their messages.
    pub fn reset_tokens(&mut self) {
        self.forget_tokens();
        // Messages that it has not fetched yet.
        let own = Signal::Call(Box::new(|ctx| ctx.proc.messages.forget_tokens()));
        self.vm.signal_pid(self.pid(), own);
        for pid in self.vm.processes.pids() {
            if pid != self.pid() {
                self.vm.signal_pid(pid, Signal::Call(Box::new(|ctx| ctx.forget_tokens())));
            }
        }
    }

    fn forget_tokens(&mut self) {
        self.proc.token = Term::NONE;
        if let Some(watched) = self.proc.watched.get_mut() {
            watched.sequence = Counts::NONE;
        }
        self.proc.messages.forget_tokens();
    }

    /// `seq_trace:print/1,2`
    pub fn print_sequential(&mut self, label: Option<Term>, message: Term) -> bool {
        let Some(token) = self.token() else { return false };
        let other = label.is_some_and(|label| !myriad_term::equal::eq_exact(label, token.label));
        if token.flags & PRINT == 0 || other || self.vm.trace.sequential_tracer().is_none() {
            return false;
        }
        if let Some(token) = self.next_token()
            && self.tells(token, PRINT)
        {
            output(self.vm, am::print, token, self.pid().term(), Term::NIL, message);
        }
        true
    }

    /// A process is made by one with a token: the request, as if it were a message, and the reply. `request` is what the
    /// request says. Gives the token of a reply that comes later.
    #[cold]
    pub(crate) fn spawn_with_token(
        &mut self,
        new: &mut crate::Private,
        child: Term,
        request: Term,
        reply: Term,
        replies: ReplyDelivery,
    ) -> Option<Token> {
        let own = self.pid().term();
        let mut token = self.next_token()?;
        if self.tells(token, SEND) {
            output(self.vm, am::send, token, own, child, request);
        }
        if token.flags & RECEIVE != 0 {
            output(self.vm, am::receive, token, own, child, request);
        }
        let counts = Counts { clock: token.serial + 1, last: token.serial };
        (token.previous, token.serial, token.sender) = (counts.last, counts.clock, child);
        if token.flags & SEND != 0 && replies != ReplyDelivery::Never {
            output(self.vm, am::send, token, child, own, reply);
        }
        if replies == ReplyDelivery::AtOnce {
            if self.tells(token, RECEIVE) {
                output(self.vm, am::receive, token, child, own, reply);
            }
            *self.counts() = Counts { clock: token.serial, last: token.serial };
        }
        // The new process begins with the token of the reply.
        let label = myriad_heap::copy_term(token.label, &mut new.heap);
        new.token = Token { label, ..token }.term(&mut new.heap);
        new.watched.sequence = counts;
        (replies == ReplyDelivery::AsMessage).then_some(token)
    }

    /// An exit signal of this process to `to`, with its token if it has one. `message` is what a process that traps exits gets.
    pub fn exit_signal_to(&mut self, to: Term, reason: Term, linked: bool) -> Signal {
        let from = self.pid().term();
        let exit = Signal::Exit { from, reason: self.parcel(reason), linked };
        if self.proc.token.is_none() || to.as_local_pid().is_none() {
            return exit;
        }
        let Some(token) = self.next_token() else { return exit };
        if self.tells(token, SEND) {
            let mut memory = Fragment::with_capacity(4);
            let message = memory.tuple(&[Term::atom(am::EXIT), from, reason]);
            output(self.vm, am::send, token, from, to, message);
        }
        Signal::ExitWithToken(Box::new(exit), Parcel::copy(self.proc.token))
    }
}
