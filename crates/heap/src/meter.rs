//! Messages that this thread has made, and words that it has moved: what a simulator charges virtual time for (Zhang 2011, 5.2).
//!
//! Plain counters of the thread, two additions for a message and one for a collection.

use std::cell::Cell;

thread_local! {
    static MESSAGES: Cell<u64> = const { Cell::new(0) };
    static COPIED: Cell<u64> = const { Cell::new(0) };
    static COLLECTED: Cell<u64> = const { Cell::new(0) };
}

/// What a thread has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Messages made.
    pub messages: u64,
    /// Words copied into messages and out of them.
    pub copied: u64,
    /// Words moved by collections.
    pub collected: u64,
}

/// What this thread has done since it last asked.
pub fn take() -> Moved {
    Moved { messages: MESSAGES.take(), copied: COPIED.take(), collected: COLLECTED.take() }
}

#[inline]
pub(crate) fn message() {
    MESSAGES.set(MESSAGES.get() + 1);
}

#[inline]
pub(crate) fn copied(words: usize) {
    COPIED.set(COPIED.get() + words as u64);
}

#[inline]
pub(crate) fn collected(words: usize) {
    COLLECTED.set(COLLECTED.get() + words as u64);
}
