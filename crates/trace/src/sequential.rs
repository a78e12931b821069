//! Sequential tracing: a token that goes along with messages, spawns and exits, and the messages to the system tracer about it.
//!
//! A token is `{Flags, Label, Serial, Sender, Previous}`. Each process counts: a message that it sends has the next number, and
//! tells the number of the message it had last, so that the messages of one token can be put in order.
//!
//! A message without a token that a process has sent takes the token from its receiver; messages of timers and of the
//! VM itself change nothing (`Message::token` tells them apart).

use crate::Tracing;
use crate::event;
use crate::module::{Answer, Event, Kind};
use myriad_process::{Message, Payload};
use myriad_term::{Arena, Atom, Build, Pid, Term, TermRef, am};
use myriad_vm::tracer::watched::Counts;
use myriad_vm::tracer::{ReplyDelivery, SpawnMessages, flags};
use myriad_vm::{Ctx, OwnerState, Signal, Vm};

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

/// The parts of a token.
#[derive(Clone, Copy)]
pub struct Token<'h> {
    /// What is traced.
    pub flags: i64,
    /// Any term.
    pub label: TermRef<'h>,
    /// The number of its message.
    pub serial: i64,
    /// Who sent it.
    pub sender: TermRef<'h>,
    /// The number that the sender had received last.
    pub previous: i64,
}

impl<'h> Token<'h> {
    /// The parts; nothing if the term is no token.
    pub fn of(term: TermRef<'h>) -> Option<Token<'h>> {
        let [flags, label, serial, sender, previous] = term.as_tuple_of::<5>()?;
        Some(Token {
            flags: flags.as_small()?,
            label,
            serial: serial.as_small()?,
            sender,
            previous: previous.as_small()?,
        })
    }

    fn term<A: Build<'h> + ?Sized>(&self, heap: &mut A) -> TermRef<'h> {
        heap.tuple(&[
            Term::small(self.flags),
            self.label,
            Term::small(self.serial),
            self.sender,
            Term::small(self.previous),
        ])
    }
}

/// Tells the tracer `{seq_trace, Label, {Kind, {Previous, Serial}, From, To, Message}}`, with the time if the token asks for it.
fn output(vm: &'static Vm, kind: Atom, token: Token<'_>, from: Term, to: Term, message: TermRef<'_>) {
    let Some(tracer) = Tracing::of(vm).sequential_tracer() else { return };
    let whose = if kind == am::receive { to } else { from };
    if tracer == whose {
        return;
    }
    if let Some(module) = Tracing::of(vm).tracers.get(tracer) {
        if module.asks(Kind::Other, am::seq_trace, whose) == Answer::Trace {
            let mut memory = &Arena::new();
            let parts = [info(kind, token, from, to, message, &mut memory)];
            let event = Event {
                flags: times(token),
                scheduler: 0,
                tracee: token.label,
                tag: am::seq_trace,
                parts: &parts,
                result: None,
            };
            module.tell(Kind::Other, Tracing::of(vm).cpu_timestamps(), &event);
        }
        return;
    }
    if !event::is_alive(vm, tracer) {
        Tracing::of(vm).end_sequential_tracer(tracer);
        return;
    }
    let words = myriad_heap::copied_size(message) + myriad_heap::copied_size(token.label);
    let told = Payload::build(words + 32, |draft| {
        let label = myriad_heap::copy_term(token.label, draft);
        let message = myriad_heap::copy_term(message, draft);
        let (from, to) = (myriad_heap::copy_term(from, draft), myriad_heap::copy_term(to, draft));
        let info = info(kind, token, from, to, message, draft);
        let mut elements = vec![Term::atom(am::seq_trace), label, info];
        elements.extend(event::timestamp(vm, times(token), draft));
        draft.tuple(&elements)
    });
    event::deliver(vm, tracer, told);
}

/// `{Kind, {Previous, Serial}, From, To, Message}`
fn info<'h, A: Build<'h>>(
    kind: Atom,
    token: Token<'_>,
    from: TermRef<'h>,
    to: TermRef<'h>,
    message: TermRef<'h>,
    heap: &mut A,
) -> TermRef<'h> {
    let serial = heap.tuple(&[Term::small(token.previous), Term::small(token.serial)]);
    heap.tuple(&[kind.term(), serial, from, to, message])
}

/// The flags of trace messages for the time that a token asks for.
fn times(token: Token<'_>) -> u32 {
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
    times
}

/// The token, if there is one.
pub fn token(ctx: &Ctx<'_>) -> Option<Token<'static>> {
    if ctx.state.token.is_none() { None } else { Token::of(ctx.state.token) }
}

/// Sets the token.
fn set_token(ctx: &mut Ctx<'_>, token: Option<Token<'static>>) {
    ctx.state.token = match token {
        Some(token) => token.term(ctx),
        None => Term::NONE,
    };
}

/// The token, or a new one.
fn token_or_new(ctx: &Ctx<'_>) -> Token<'static> {
    // What was received last counts on while there is no token.
    let previous = ctx.state.watched.sequence.last;
    let new = || Token { flags: 0, label: Term::small(0), serial: 0, sender: ctx.pid().term(), previous };
    token(ctx).unwrap_or_else(new)
}

/// Is this kind of event of this process told? Nothing of a sensitive process is.
fn tells(ctx: &Ctx<'_>, token: Token<'_>, kind: i64) -> bool {
    token.flags & kind != 0 && ctx.process.trace.flags() & flags::SENSITIVE == 0
}

fn counts<'c>(ctx: &'c mut Ctx<'_>) -> &'c mut Counts {
    &mut ctx.state.watched.sequence
}

/// Sets a part of the token; gives what it was. Nothing: there is no such part, or the value does not fit.
pub fn set_part(ctx: &mut Ctx<'_>, key: Atom, value: TermRef<'_>) -> Option<Term> {
    if let Some(bit) = flag(key) {
        let on = value.as_bool()?;
        let mut token = token_or_new(ctx);
        let old = token.flags & bit != 0;
        token.flags = if on { token.flags | bit } else { token.flags & !bit };
        set_token(ctx, Some(token));
        return Some(Term::bool(old));
    }
    match key {
        am::label => {
            let mut token = token_or_new(ctx);
            let own = myriad_heap::copy_term(value, ctx);
            let old = std::mem::replace(&mut token.label, own);
            set_token(ctx, Some(token));
            Some(old)
        }
        am::serial => {
            let [previous, serial] = value.as_tuple_of::<2>()?;
            let (previous, serial) = set_serial(ctx, previous.as_small()?, serial.as_small()?);
            Some(ctx.tuple(&[Term::small(previous), Term::small(serial)]))
        }
        am::sequential_trace_token if value.is_nil() => {
            let old = ctx.state.token;
            set_token(ctx, None);
            Some(if old.is_none() { Term::NIL } else { old })
        }
        _ => None,
    }
}

/// Sets what the process counts, and its token's numbers; gives those that the token had.
fn set_serial(ctx: &mut Ctx<'_>, previous: i64, serial: i64) -> (i64, i64) {
    let mut token = token_or_new(ctx);
    let old = (token.previous, token.serial);
    (token.previous, token.serial) = (previous, serial);
    set_token(ctx, Some(token));
    *counts(ctx) = Counts { clock: serial, last: previous };
    old
}

/// The token with the next number. The tracer itself counts nothing.
fn next_token(ctx: &mut Ctx<'_>) -> Option<Token<'static>> {
    let mut token = token(ctx)?;
    let tracer = Tracing::of(ctx.vm).sequential_tracer();
    if tracer != Some(ctx.pid().term()) {
        let own = ctx.pid().term();
        let counts = counts(ctx);
        counts.clock += 1;
        (token.serial, token.previous, token.sender) = (counts.clock, counts.last, own);
        set_token(ctx, Some(token));
    }
    Some(token)
}

/// A message of the process to `to`, with its token, which counts it.
pub(crate) fn sent(ctx: &mut Ctx<'_>, to: Term, message: Term, payload: Payload) -> Message {
    let Some(token) = next_token(ctx) else { return Message::new(payload, ctx.pid().term()) };
    if tells(ctx, token, SEND) {
        output(ctx.vm, am::send, token, ctx.pid().term(), to, message);
    }
    Message::new(payload, ctx.state.token)
}

/// A message has been accepted: its token is the process's now.
#[cold]
pub fn accept(ctx: &mut Ctx<'_>, token: Term, message: Term) {
    match Token::of(token) {
        Some(parts) => {
            ctx.state.token = token;
            let counts = counts(ctx);
            counts.last = parts.serial;
            counts.clock = counts.clock.max(parts.serial);
            if tells(ctx, parts, RECEIVE) {
                output(ctx.vm, am::receive, parts, parts.sender, ctx.pid().term(), message);
            }
        }
        None => ctx.state.token = Term::NONE,
    }
}

/// Takes the tokens of all processes, and of their messages.
pub fn reset(ctx: &mut Ctx<'_>) {
    forget_tokens(ctx);
    // Messages that it has not fetched yet.
    let own = Signal::Call(Box::new(|ctx| ctx.state.messages.forget_tokens()));
    ctx.vm.signal_pid(ctx.pid(), own);
    for pid in ctx.vm.processes.pids() {
        if pid != ctx.pid() {
            ctx.vm.signal_pid(pid, Signal::Call(Box::new(forget_tokens)));
        }
    }
}

fn forget_tokens(ctx: &mut Ctx<'_>) {
    ctx.state.token = Term::NONE;
    if let Some(watched) = ctx.state.watched.get_mut() {
        watched.sequence = Counts::NONE;
    }
    ctx.state.messages.forget_tokens();
}

/// `seq_trace:print/1,2`
pub fn print(ctx: &mut Ctx<'_>, label: Option<Term>, message: Term) -> bool {
    let Some(token) = token(ctx) else { return false };
    let other = label.is_some_and(|label| !myriad_term::equal::eq_exact(label, token.label));
    if token.flags & PRINT == 0 || other || Tracing::of(ctx.vm).sequential_tracer().is_none() {
        return false;
    }
    if let Some(token) = next_token(ctx)
        && tells(ctx, token, PRINT)
    {
        output(ctx.vm, am::print, token, ctx.pid().term(), Term::NIL, message);
    }
    true
}

/// A process is made by one with a token: the request, as if it were a message, and the reply. Gives the token of a reply that
/// comes as a message.
pub(crate) fn spawned(
    ctx: &mut Ctx<'_>,
    new: &mut OwnerState,
    child: Pid,
    messages: SpawnMessages<'_>,
) -> Option<Payload> {
    let SpawnMessages { request, reply, delivery } = messages;
    let (own, child) = (ctx.pid().term(), child.term());
    let mut token = next_token(ctx)?;
    if tells(ctx, token, SEND) {
        output(ctx.vm, am::send, token, own, child, request);
    }
    if token.flags & RECEIVE != 0 {
        output(ctx.vm, am::receive, token, own, child, request);
    }
    let of_child = Counts { clock: token.serial + 1, last: token.serial };
    (token.previous, token.serial, token.sender) = (of_child.last, of_child.clock, child);
    if token.flags & SEND != 0 && delivery != ReplyDelivery::Never {
        output(ctx.vm, am::send, token, child, own, reply);
    }
    if delivery == ReplyDelivery::AtOnce {
        if tells(ctx, token, RECEIVE) {
            output(ctx.vm, am::receive, token, child, own, reply);
        }
        *counts(ctx) = Counts { clock: token.serial, last: token.serial };
    }
    // The new process begins with the token of the reply.
    let label = myriad_heap::copy_term(token.label, &mut new.heap);
    new.token = Token { label, ..token }.term(&mut new.heap);
    new.watched.sequence = of_child;
    (delivery == ReplyDelivery::AsMessage).then(|| Payload::copy(new.token))
}

/// The process, which has a token, sends an exit signal to `to`; gives the token that goes along. Told of is the message that a
/// process which traps exits gets.
pub(crate) fn exited(ctx: &mut Ctx<'_>, to: Term, reason: Term) -> Option<Payload> {
    let token = next_token(ctx)?;
    if tells(ctx, token, SEND) {
        let from = ctx.pid().term();
        let mut memory = &Arena::new();
        let message = memory.tuple(&[Term::atom(am::EXIT), from, reason]);
        output(ctx.vm, am::send, token, from, to, message);
    }
    Some(Payload::copy(ctx.state.token))
}
