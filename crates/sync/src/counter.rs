//! [`ShardedCounter`]: a number that many threads change and few read.

use crate::{
    atomic::{AtomicI64, Ordering::Relaxed},
    pad::CachePadded,
    slot,
};

/// A power of two; threads beyond it share a shard and stay correct.
const SHARDS: usize = if cfg!(any(loom, feature = "single")) { 1 } else { 16 };

/// A sum over shards, each on its own cache line and written by few threads.
///
/// Relaxed everywhere: the counter orders nothing. A [`sum`](Self::sum) that races changes may have seen any of
/// them; when nobody changes the counter it is exact.
#[derive(Debug)]
pub struct ShardedCounter {
    shards: [CachePadded<AtomicI64>; SHARDS],
}

impl ShardedCounter {
    #[cfg(not(loom))]
    /// Zero.
    pub const fn new() -> Self {
        Self { shards: [const { CachePadded::new(AtomicI64::new(0)) }; SHARDS] }
    }

    #[cfg(loom)]
    /// Zero.
    pub fn new() -> Self {
        Self { shards: std::array::from_fn(|_| CachePadded::new(AtomicI64::new(0))) }
    }

    /// Adds; a negative number subtracts. Wraps around on overflow.
    #[inline]
    pub fn add(&self, amount: i64) {
        self.shards[slot::index() % SHARDS].fetch_add(amount, Relaxed);
    }

    /// The sum over all threads.
    pub fn sum(&self) -> i64 {
        self.shards.iter().fold(0, |sum, shard| sum.wrapping_add(shard.load(Relaxed)))
    }
}

impl Default for ShardedCounter {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::ShardedCounter;

    #[test]
    fn nothing_is_lost() {
        static COUNTER: ShardedCounter = ShardedCounter::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || (0..1000).for_each(|_| COUNTER.add(if thread == 0 { -1 } else { 1 })));
            }
        });
        assert_eq!(COUNTER.sum(), 2000);
    }
}
