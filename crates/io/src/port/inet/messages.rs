//! What sockets send to processes.

use super::super::driver::Context;
use myriad_heap::Draft;
use myriad_process::Payload;
use myriad_term::{Atom, Build, Pid, Term, TermRef, am};

/// Sends a process a message, with room for so many words at first.
pub(super) fn send(
    port: &Context<'_>,
    to: Pid,
    words: usize,
    build: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
) {
    let message = Payload::build(words + 16, build);
    port.send(to, message);
}

/// `ok` or `{error, Reason}`.
pub(super) fn result<'b>(f: &mut Draft<'b>, result: Result<(), Atom>) -> TermRef<'b> {
    match result {
        Ok(()) => Term::OK,
        Err(reason) => f.tuple(&[am::error.term(), reason.term()]),
    }
}

/// `{inet_async, Socket, Number, Result}`, where the result is built in place.
pub(super) fn answer_with(
    port: &Context<'_>,
    to: Pid,
    number: u16,
    words: usize,
    build: impl for<'b> FnOnce(&mut Draft<'b>) -> TermRef<'b>,
) {
    send(port, to, words, |f| {
        let result = build(f);
        f.tuple(&[am::inet_async.term(), port.port.id.term(), Term::small(i64::from(number)), result])
    });
}

/// `{inet_async, Socket, Number, ok | {error, Reason}}`
pub(super) fn answer(port: &Context<'_>, to: Pid, number: u16, outcome: Result<(), Atom>) {
    answer_with(port, to, number, 0, |f| result(f, outcome));
}

/// `{inet_reply, Socket, ok | {error, Reason}}`, unless the sender is answered by its call.
pub(super) fn reply(port: &mut Context<'_>, to: Pid, outcome: Result<(), Atom>) {
    if port.common.direct.as_mut().is_some_and(|direct| direct.take(to, outcome)) {
        return;
    }
    send(port, to, 0, |f| {
        let result = result(f, outcome);
        f.tuple(&[am::inet_reply.term(), port.port.id.term(), result])
    });
}

/// `{Tag, Socket}`, to the owner.
pub(super) fn tell(port: &Context<'_>, tag: Atom) {
    send(port, port.owner(), 0, |f| f.tuple(&[tag.term(), port.port.id.term()]));
}

/// `{Tag, Socket, Reason}`, to the owner.
pub(super) fn tell_reason(port: &Context<'_>, tag: Atom, reason: Atom) {
    send(port, port.owner(), 0, |f| f.tuple(&[tag.term(), port.port.id.term(), reason.term()]));
}
