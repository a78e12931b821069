//! Stores on their way: a store is seen by its own thread at once, and by the others some time later, as far as the language allows it.
//!
//! A Release store arrives after all earlier ones of its thread, a Relaxed one in any order but that of its own word. A read-modify-write
//! arrives at once, so it sees the newest value; if it is a Release one, all earlier stores of its thread arrive before. So they do at a
//! Release or SeqCst fence, a SeqCst store, a wake-up and a sleep.
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
    /// It arrives after the thread's earlier ones.
    releases: bool,
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
    pub(super) fn delay(&mut self, thread: usize, word: usize, old: usize, releases: bool) {
        self.settle(word, Some(thread));
        if self.0.iter().filter(|store| store.thread == thread).count() >= MOST
            && let Some(oldest) = self.0.iter().position(|store| store.thread == thread)
        {
            self.0.remove(oldest);
        }
        self.0.push_back(Store { thread, word, releases, old });
    }

    /// The `nth` store arrives (counted round and round), if it may before the earlier ones of its thread.
    pub(super) fn arrive(&mut self, nth: usize) {
        let Some(at) = nth.checked_rem(self.0.len()) else { return };
        let store = &self.0[at];
        let before = |earlier: &Store| earlier.thread == store.thread && (store.releases || earlier.word == store.word);
        if !self.0.iter().take(at).any(before) {
            self.0.remove(at);
        }
    }

    /// All stores of `thread` arrive.
    pub(super) fn drain(&mut self, thread: usize) {
        self.0.retain(|store| store.thread != thread);
    }

    /// What threads (but this one) have stored in this word arrives, and what must arrive before it.
    pub(super) fn settle(&mut self, word: usize, but: Option<usize>) {
        let last = |store: &Store| store.word == word && Some(store.thread) != but;
        while let Some(at) = self.0.iter().rposition(last) {
            let Some(Store { thread, releases, .. }) = self.0.remove(at) else { return };
            if releases {
                let mut earlier = at;
                self.0.retain(|store| {
                    let arrives = earlier > 0 && store.thread == thread;
                    earlier = earlier.saturating_sub(1);
                    !arrives
                });
            }
        }
    }

    /// The word is no more.
    pub(super) fn forget(&mut self, word: usize) {
        self.0.retain(|store| store.word != word);
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Stores};

    const RELAXED: bool = false;
    const RELEASE: bool = true;

    #[test]
    fn interleave_a_release_store_arrives_after_the_earlier_ones() {
        let mut stores = Stores::default();
        stores.delay(0, 10, 5, RELAXED);
        stores.delay(0, 20, 6, RELEASE);
        stores.delay(0, 30, 7, RELAXED);
        let seen = |stores: &Stores| [10, 20, 30].map(|word| stores.seen_by(1, word));
        stores.arrive(1);
        assert_eq!(seen(&stores), [Some(5), Some(6), Some(7)], "not before the first");
        stores.arrive(5);
        assert_eq!(seen(&stores), [Some(5), Some(6), None], "what is Relaxed overtakes");
        stores.arrive(2);
        stores.arrive(1);
        assert_eq!((seen(&stores), stores.seen_by(0, 10)), ([None; 3], None));
        stores.arrive(0);
    }

    #[test]
    fn interleave_stores_in_a_word_keep_their_order() {
        let mut stores = Stores::default();
        stores.delay(0, 10, 5, RELAXED);
        stores.delay(0, 10, 6, RELAXED);
        stores.arrive(1);
        assert_eq!(stores.seen_by(1, 10), Some(5));
        stores.delay(0, 20, 7, RELEASE);
        stores.delay(0, 30, 8, RELAXED);
        stores.settle(20, None);
        assert_eq!([10, 20, 30].map(|word| stores.seen_by(1, word)), [None, None, Some(8)]);
        stores.delay(1, 30, 9, RELAXED);
        assert_eq!([0, 1].map(|thread| stores.seen_by(thread, 30)), [Some(9), None]);
        stores.drain(1);
        stores.delay(0, 30, 1, RELAXED);
        stores.forget(30);
        assert_eq!(stores.seen_by(1, 30), None);
    }

    #[test]
    fn interleave_a_full_buffer_lets_one_go() {
        let mut stores = Stores::default();
        (0..=MOST).for_each(|word| stores.delay(0, word, 1, RELEASE));
        assert_eq!((stores.seen_by(1, 0), stores.seen_by(1, 1)), (None, Some(1)));
    }
}
