//! What a block begins with that may stand in a queue of signals.

use myriad_sync::cell::UnsafeCell;
use std::ptr;

/// What a block in a queue of signals is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queued {
    /// A [`Message`](crate::Message).
    Message,
    /// Another signal: whatever begins with this link.
    Other,
}

/// The block is no message.
const OTHER: u64 = 1;
/// The words of the message belong to a heap (`message.rs`, heap/MB1).
const JOINED: u64 = 1 << 1;
/// The block is in a heap's chain too (`message.rs`, heap/MB2).
const SHARED: u64 = 1 << 2;
/// Where the size of the block begins, above what it is: both in one word, so that a message's header fills one cache line.
const SIZE: u32 = 8;

/// The beginning of each block that stands in a queue.
#[repr(C)]
pub struct QueueLink {
    next: UnsafeCell<*mut QueueLink>,
    state: u64,
}

impl QueueLink {
    /// The link of a block that is in no queue, and is no message.
    pub fn of_other() -> QueueLink {
        QueueLink { next: UnsafeCell::new(ptr::null_mut()), state: OTHER }
    }

    /// The link of a block of `words` words that may become a message.
    #[inline]
    pub(crate) fn of_block(words: usize) -> QueueLink {
        QueueLink { next: UnsafeCell::new(ptr::null_mut()), state: (words as u64) << SIZE }
    }

    /// The cell for whichever queue the block is in.
    #[inline]
    pub fn next(&self) -> &UnsafeCell<*mut QueueLink> {
        &self.next
    }

    /// What the block is.
    #[inline]
    pub fn queued(&self) -> Queued {
        if self.state & OTHER == 0 { Queued::Message } else { Queued::Other }
    }

    /// Words of the block, this link included.
    #[inline]
    pub(crate) fn block_words(&self) -> usize {
        (self.state >> SIZE) as usize
    }

    /// Do the words of the message belong to a heap?
    #[inline]
    pub(crate) fn is_joined(&self) -> bool {
        self.state & JOINED != 0
    }

    /// They do from now on.
    #[inline]
    pub(crate) fn set_joined(&mut self) {
        debug_assert_eq!(self.queued(), Queued::Message, "only a message joins a heap");
        debug_assert!(!self.is_joined(), "MB1: the words of a message join a heap twice");
        self.state |= JOINED;
    }

    /// They do from now on, and the block is in the heap's chain.
    pub(crate) fn set_shared(&mut self) {
        self.set_joined();
        self.state |= SHARED;
    }

    /// Is the block in a heap's chain too?
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.state & SHARED != 0
    }

    /// Is the block shared? It is not from now on.
    #[inline]
    pub(crate) fn take_shared(&mut self) -> bool {
        let was = self.is_shared();
        debug_assert!(!was || self.is_joined(), "MB2: a block is shared with a heap that has not got its words");
        self.state &= !SHARED;
        was
    }
}
