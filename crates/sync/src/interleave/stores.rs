//! Stores on their way: the store buffers of the threads of a run, as the cores of x86 have them.
//!
//! A store that is not SeqCst is seen by its own thread at once, and by the others some time later; a thread's stores arrive in their
//! order. A read-modify-write, a SeqCst store or fence, a wake-up and a sleep wait until all of the thread's own have arrived. (Sewell
//! et al., x86-TSO: a rigorous and usable programmer's model for x86 multiprocessors, 2010.)
//!
//! SB1. Memory holds the newest value of each word, also one that has not arrived: so an owner who frees or moves an object has all of
//!      it. What is kept here is the value that the other threads still see.
//! SB2. Stores of one thread only are on their way to a word. Another thread that stores there has them arrive first.

use std::collections::VecDeque;

/// Stores of one thread that may be on their way.
const MOST: usize = 8;

/// A store that has not arrived.
struct Store {
    thread: usize,
    word: usize,
    /// What the others see until then.
    old: usize,
}

/// All of a run, in the order in which they were made.
#[derive(Default)]
pub(super) struct Stores(VecDeque<Store>);

impl Stores {
    /// What `thread` sees in this word, if that is not what memory holds.
    pub(super) fn seen_by(&self, thread: usize, word: usize) -> Option<usize> {
        self.0.iter().find(|store| store.word == word && store.thread != thread).map(|store| store.old)
    }

    /// `thread` is about to store in this word, where `old` was.
    pub(super) fn delay(&mut self, thread: usize, word: usize, old: usize) {
        self.settle(word, thread);
        if self.0.iter().filter(|store| store.thread == thread).count() >= MOST {
            self.arrive(thread);
        }
        self.0.push_back(Store { thread, word, old });
    }

    /// The oldest store of `thread` arrives.
    pub(super) fn arrive(&mut self, thread: usize) {
        if let Some(oldest) = self.0.iter().position(|store| store.thread == thread) {
            self.0.remove(oldest);
        }
    }

    /// All stores of `thread` arrive.
    pub(super) fn drain(&mut self, thread: usize) {
        self.0.retain(|store| store.thread != thread);
    }

    /// What others than `thread` have stored in this word arrives, and what they stored before it (SB2).
    pub(super) fn settle(&mut self, word: usize, thread: usize) {
        while let Some(other) = self.0.iter().find(|store| store.word == word && store.thread != thread) {
            self.arrive(other.thread);
        }
    }

    /// The word is no more.
    pub(super) fn forget(&mut self, word: usize) {
        self.0.retain(|store| store.word != word);
    }

    /// The thread of the `nth` of those that are on their way (counted round and round), if there is any.
    pub(super) fn nth_thread(&self, nth: usize) -> Option<usize> {
        (!self.0.is_empty()).then(|| self.0[nth % self.0.len()].thread)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Stores};

    #[test]
    fn interleave_stores_arrive_in_their_order() {
        let mut stores = Stores::default();
        stores.delay(0, 10, 5);
        stores.delay(0, 20, 6);
        stores.delay(0, 10, 7);
        assert_eq!((stores.seen_by(1, 10), stores.seen_by(1, 20), stores.seen_by(0, 10)), (Some(5), Some(6), None));
        stores.arrive(0);
        assert_eq!((stores.seen_by(1, 10), stores.seen_by(1, 20)), (Some(7), Some(6)));
        stores.delay(1, 20, 8);
        assert_eq!((stores.seen_by(0, 20), stores.seen_by(1, 20), stores.seen_by(1, 10)), (Some(8), None, Some(7)));
        stores.drain(0);
        assert_eq!((stores.seen_by(1, 10), stores.nth_thread(3)), (None, Some(1)));
        stores.forget(20);
        assert_eq!(stores.nth_thread(0), None);
    }

    #[test]
    fn interleave_a_full_buffer_lets_one_go() {
        let mut stores = Stores::default();
        (0..=MOST).for_each(|word| stores.delay(0, word, 1));
        assert_eq!((stores.seen_by(1, 0), stores.seen_by(1, 1)), (None, Some(1)));
    }
}
