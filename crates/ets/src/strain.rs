//! How much a shard of a hash table is fought over ([`Strain`]), and so when it is divided ([`crate::shards`]).
//!
//! The figure goes up when the lock is found taken, and when another thread writes than the last time: the shard's lines come from another
//! core then. It goes down when neither is the case. Only the holder of the lock counts; where one thread alone writes, nothing is stored.

use myriad_sync::atomic::{AtomicU32, Ordering};

/// How much a shard is fought over: the figure, below the number of the thread that wrote last (as far as it has 16 bits).
#[derive(Default)]
pub struct Strain(AtomicU32);

impl Strain {
    /// A lock that is found taken costs the time of the other one's write, and of its line.
    const FOUGHT_OVER: u32 = 250;
    /// A line comes from another core. Ten times that is about what it takes to divide a shard.
    const TURN: u32 = 100;
    const DIVIDE: u32 = 1000;

    /// Counts a write, with the lock. `thread` is the number of the writer, where turns are counted. True if the shard is to be divided; it
    /// begins anew then.
    #[inline(always)]
    pub fn count(&self, was_taken: bool, thread: Option<usize>) -> bool {
        // Relaxed, here and below: the lock orders those who count.
        let seen = self.0.load(Ordering::Relaxed);
        let quiet = thread.map_or(seen & 0xFFFF_0000, |thread| (thread as u32) << 16);
        if !was_taken && seen == quiet {
            return false;
        }
        self.add(seen, was_taken, quiet)
    }

    #[inline(never)]
    fn add(&self, seen: u32, was_taken: bool, quiet: u32) -> bool {
        let strain = match (was_taken, seen & 0xFFFF_0000 != quiet) {
            (true, _) => (seen & 0xFFFF) + Self::FOUGHT_OVER,
            (_, true) => (seen & 0xFFFF) + Self::TURN,
            _ => (seen & 0xFFFF) - 1,
        };
        let divide = strain >= Self::DIVIDE;
        self.0.store(if divide { quiet } else { quiet | strain }, Ordering::Relaxed);
        divide
    }
}

#[cfg(test)]
mod tests {
    use super::Strain;

    #[test]
    fn what_is_fought_over_is_divided_and_what_one_thread_writes_is_not() {
        let strain = Strain::default();
        assert_eq!([true; 4].map(|taken| strain.count(taken, None)), [false, false, false, true]);
        assert!((0..10_000).all(|_| !strain.count(false, None)), "the lock is free");
        assert!((0..10_000).all(|_| !strain.count(false, Some(3))), "one thread");
        // One of 300 finds the lock taken: that is less than it takes.
        assert!((0..10_000).all(|i| !strain.count(i % 300 == 0, None)));
    }

    #[test]
    fn what_threads_write_in_turns_is_divided_unless_the_turns_are_long() {
        let strain = Strain::default();
        assert!((0..100).all(|i| (0..200).all(|_| !strain.count(false, Some(i % 2)))), "long turns");
        let turns: Vec<usize> = (0..100).filter(|i| strain.count(false, Some(i % 2))).collect();
        assert!((9..=10).contains(&turns.len()), "each ten turns: {turns:?}");
    }
}
