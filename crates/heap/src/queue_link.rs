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

/// The beginning of each block that stands in a queue.
#[repr(C)]
pub struct QueueLink {
    next: UnsafeCell<*mut QueueLink>,
    queued: Queued,
    /// The words of the message belong to a heap (`message.rs`, MB1).
    pub(crate) joined: bool,
    /// The block is in a heap's chain too (`message.rs`, MB2).
    pub(crate) shared: bool,
}

impl QueueLink {
    /// The link of a block that is in no queue.
    pub fn new(queued: Queued) -> QueueLink {
        QueueLink { next: UnsafeCell::new(ptr::null_mut()), queued, joined: false, shared: false }
    }

    /// The cell for whichever queue the block is in.
    pub fn next(&self) -> &UnsafeCell<*mut QueueLink> {
        &self.next
    }

    /// What the block is.
    pub fn queued(&self) -> Queued {
        self.queued
    }

    /// Is the block shared? It is not from now on.
    pub(crate) fn take_shared(&mut self) -> bool {
        std::mem::take(&mut self.shared)
    }
}
