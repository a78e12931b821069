//! [`Trail`]: where a receiver of many messages finds the next but some, before it comes to them.
//!
//! A receiver turns what was left for it round, message by message, and each is a line that it fetches from its sender's core: 35 to
//! 140 ns one after the other, for the address of the next is in the one before. So a message to a process that falls behind says where the
//! one is that the same scheduler left before it. That is farther down the same list, so its line can be on its way meanwhile (jump pointers:
//! Roth and Sohi, "Effective jump-pointer prefetching for linked data structures", ISCA 1999).

use myriad_heap::Message;

/// The last message that a scheduler has left for a process that falls behind. Addresses alone, which nobody follows.
#[derive(Debug, Default)]
pub struct Trail {
    receiver: usize,
    message: usize,
}

impl Trail {
    /// The message is about to be left for the receiver: has it say where the one before is.
    pub fn mark<T>(&mut self, receiver: &T, message: &mut Message) {
        if let Some(earlier) = self.follow(std::ptr::from_ref(receiver).addr(), message.address()) {
            message.set_earlier(earlier);
        }
    }

    /// Goes on to a message for a receiver. The one before, if it was for the same.
    fn follow(&mut self, receiver: usize, message: usize) -> Option<usize> {
        let last = std::mem::replace(self, Trail { receiver, message });
        (last.receiver == receiver).then_some(last.message)
    }
}

#[cfg(test)]
mod tests {
    use super::Trail;

    #[test]
    fn a_message_leads_to_the_one_before_for_the_same_receiver() {
        let mut trail = Trail::default();
        let left = [(1, 10), (1, 20), (1, 30), (2, 40), (1, 50), (1, 60)];
        let earlier = left.map(|(receiver, message)| trail.follow(receiver, message));
        assert_eq!(earlier, [None, Some(10), Some(20), None, None, Some(50)]);
    }
}
