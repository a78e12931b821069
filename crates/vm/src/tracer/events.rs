//! What the tracer is told of ([`Tracer`](crate::upcalls::Tracer)), as far as it takes more than a term.

use myriad_term::TermRef;

/// A garbage collection of which somebody is told.
pub struct Collection {
    /// Are both generations collected?
    pub major: bool,
    /// Words of the heap in use before.
    pub words_before: usize,
    /// When it began, by the machine's clock.
    pub since_ns: u64,
}

/// How a process that is profiled has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// It can run again after all.
    Runnable,
    /// It waits.
    Inactive,
    /// It has ended.
    Ended,
}

/// How the reply to a spawn comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyDelivery {
    /// The spawn waits for it.
    AtOnce,
    /// As a message.
    AsMessage,
    /// Not at all.
    Never,
}

/// A spawn by a process with a sequential trace token, seen as two messages.
#[derive(Clone, Copy)]
pub struct SpawnMessages<'m> {
    /// The request.
    pub request: TermRef<'m>,
    /// The reply.
    pub reply: TermRef<'m>,
    /// How the reply comes.
    pub delivery: ReplyDelivery,
}
