//! What is counted and measured of one process, for tracing's sake: plain data, which the tracer fills. A process of which
//! nothing is, as of most, has one word for it.

use myriad_process::StaticDefault;
use myriad_term::{Atom, Mfa};
use std::collections::VecDeque;

/// `call_time`: the function whose time runs, by the tracer's number of it (0: none), and since when.
#[derive(Default)]
pub struct Stopwatch {
    /// The function.
    pub current: u64,
    /// By the machine's clock.
    pub since_ns: u64,
}

/// Sequential tracing: the numbers of messages.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// That of the last message sent or received.
    pub clock: i64,
    /// That of the last message received.
    pub last: i64,
}

impl Counts {
    /// Nothing yet.
    pub const NONE: Counts = Counts { clock: 0, last: 0 };
}

/// A call or event that is noted (`save_calls`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// A call through an export.
    Call(Mfa),
    /// `send`, `'receive'` or `timeout`
    Event(Atom),
}

/// All of it.
#[derive(Default)]
pub struct Watched {
    /// The time of calls that is being taken.
    pub stopwatch: Option<Stopwatch>,
    /// What sequential tracing counts.
    pub sequence: Counts,
    /// The last calls, the oldest first, while they are saved.
    pub saved: Option<VecDeque<Saved>>,
}

impl StaticDefault for Watched {
    fn static_default() -> &'static Watched {
        const { &Watched { stopwatch: None, sequence: Counts::NONE, saved: None } }
    }
}
