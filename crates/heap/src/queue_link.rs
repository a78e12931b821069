//! What a block begins with that may stand in a queue of signals.

use myriad_sync::Account;
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
/// The word says where an earlier message is, too.
const LEADS: u64 = 1 << 3;
/// The size is told in [`UNIT`]s.
const LARGE: u64 = 1 << 4;
/// A collection of the one heap has visited it (heap.shared/SH5).
const SEEN: u64 = 1 << 5;
/// Where the number of the account begins that the block is on, and the size of the block: all in one word with what it is, so that a message's
/// header fills one cache line.
const ACCOUNT: u32 = 6;
const SIZE: u32 = ACCOUNT + Account::BITS;
const SIZE_BITS: u32 = WAY - SIZE;
/// Where the way to an earlier message begins, if there is one.
const WAY: u32 = 40;
/// Words in which the size of a block is told that is too large for it to be told in words: 64 MB.
const UNIT: usize = 4096;
/// Ways are told in so many bytes: blocks lie at multiples of it.
const STEP: i64 = 16;

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

    /// Words of the largest block of those that may have any size.
    pub(crate) const LARGEST_EXACT: usize = (1 << SIZE_BITS) - 1;

    /// The words that a block must have for at least `words` words, as only so many sizes can be told; `None`: no block is so large.
    #[inline]
    pub(crate) fn block_size(words: usize) -> Option<usize> {
        if words <= Self::LARGEST_EXACT {
            return Some(words);
        }
        words.checked_next_multiple_of(UNIT).filter(|words| (words / UNIT) >> SIZE_BITS == 0)
    }

    /// The link of a block of `words` words (a [`block_size`](Self::block_size)) that may become a message, on an account.
    #[inline]
    pub(crate) fn of_block(words: usize, account: Account) -> QueueLink {
        debug_assert_eq!(Self::block_size(words), Some(words), "the size of a block cannot be told");
        let (size, large) = if words <= Self::LARGEST_EXACT { (words, 0) } else { (words / UNIT, LARGE) };
        let state = (size as u64) << SIZE | u64::from(account.number()) << ACCOUNT | large;
        QueueLink { next: UnsafeCell::new(ptr::null_mut()), state }
    }

    /// The account that the block is on.
    #[inline]
    pub(crate) fn account(&self) -> Account {
        Account::of_number((self.state >> ACCOUNT) as u16 & ((1 << Account::BITS) - 1))
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

    /// Has a collection of the one heap visited it since it came into a queue of signals?
    #[inline]
    pub fn is_seen(&self) -> bool {
        self.state & SEEN != 0
    }

    /// One has from now on.
    #[inline]
    pub fn set_seen(&mut self) {
        self.state |= SEEN;
    }

    /// Words of the block, this link included.
    #[inline]
    pub(crate) fn block_words(&self) -> usize {
        let size = (self.state >> SIZE) as usize & ((1 << SIZE_BITS) - 1);
        if self.state & LARGE == 0 { size } else { size * UNIT }
    }

    /// Notes where an earlier message was left for the same receiver, if it is near enough: some 100 MB.
    pub(crate) fn set_earlier(&mut self, earlier: usize) {
        debug_assert_eq!(self.state & LEADS, 0, "a message is left once");
        let way = (earlier.wrapping_sub(std::ptr::from_ref(self).addr()) as i64) / STEP;
        let is_near = way == way << WAY >> WAY;
        if is_near {
            self.state |= LEADS | (way as u64) << WAY;
        }
    }

    /// Where an earlier message for the same receiver may be: it may have been taken and freed.
    #[inline]
    pub fn earlier(&self) -> Option<*const u8> {
        let way = self.state as i64 >> WAY;
        (self.state & LEADS != 0).then(|| std::ptr::from_ref(self).cast::<u8>().wrapping_offset((way * STEP) as isize))
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

#[cfg(test)]
mod tests {
    use super::{QueueLink, STEP, UNIT};
    use myriad_sync::Account;

    #[test]
    fn a_way_is_noted_beside_the_size() {
        for (words, steps, is_noted) in [
            (8, 5, true),
            (8, -5, true),
            (0, 0, true),
            ((1 << 23) - 1, (1 << 23) - 1, true),
            (1 << 23, -(1 << 23), true),
            (((1 << 23) - 1) * UNIT, 7, true),
            (1, -(1 << 23), true),
            (1, 1 << 23, false),
            (1, -(1 << 23) - 1, false),
        ] {
            let account = Account::SHARED;
            let mut link = QueueLink::of_block(words, account);
            assert_eq!(link.earlier(), None);
            let earlier = (&raw const link).addr().wrapping_add_signed(steps * STEP as isize);
            link.set_earlier(earlier);
            assert_eq!(link.earlier().map(<*const u8>::addr), is_noted.then_some(earlier));
            assert_eq!((link.block_words(), link.account()), (words, account));
            link.set_shared();
            assert!(link.is_joined() && link.take_shared());
            assert_eq!((link.block_words(), link.account()), (words, account));
        }
    }

    #[test]
    fn a_large_block_has_a_size_that_can_be_told() {
        for (words, size) in [
            (0, Some(0)),
            ((1 << 23) - 1, Some((1 << 23) - 1)),
            ((1 << 23) + 1, Some((1 << 23) + UNIT)),
            (UNIT << 23, None),
            (usize::MAX, None),
        ] {
            assert_eq!(QueueLink::block_size(words), size);
        }
    }
}
