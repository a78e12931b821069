//! [`ShardedCounter`]: a number that many threads change and few read; [`ShardedTally`]: what comes and goes, by number and size.

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
/// them; when no thread changes the counter it is exact.
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

/// What came and went so far, and the size of what is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// How many came.
    pub came: u64,
    /// How many of them went.
    pub went: u64,
    /// The size of the others, in the unit that the user of the tally counts in.
    pub size: usize,
}

impl Tally {
    /// How many are there.
    pub fn number(self) -> u64 {
        self.came.saturating_sub(self.went)
    }
}

impl std::ops::Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally { came: self.came + other.came, went: self.went + other.went, size: self.size + other.size }
    }
}

/// One thread's part: what came, what went, the size.
#[derive(Debug)]
struct Part([AtomicI64; 3]);

/// A tally over shards, like a [`ShardedCounter`]: each change is to one cache line.
#[derive(Debug)]
pub struct ShardedTally {
    shards: [CachePadded<Part>; SHARDS],
}

impl ShardedTally {
    #[cfg(not(loom))]
    /// Nothing there.
    pub const fn new() -> Self {
        Self { shards: [const { CachePadded::new(Part([const { AtomicI64::new(0) }; 3])) }; SHARDS] }
    }

    #[cfg(loom)]
    /// Nothing there.
    pub fn new() -> Self {
        Self { shards: std::array::from_fn(|_| CachePadded::new(Part(std::array::from_fn(|_| AtomicI64::new(0))))) }
    }

    fn part(&self) -> &[AtomicI64; 3] {
        &self.shards[slot::index() % SHARDS].0
    }

    /// One comes.
    #[inline]
    pub fn come(&self, size: usize) {
        let [came, _, total] = self.part();
        came.fetch_add(1, Relaxed);
        total.fetch_add(size as i64, Relaxed);
    }

    /// One goes.
    #[inline]
    pub fn go(&self, size: usize) {
        let [_, went, total] = self.part();
        went.fetch_add(1, Relaxed);
        total.fetch_sub(size as i64, Relaxed);
    }

    /// One of them is larger or smaller by so much.
    #[inline]
    pub fn resize(&self, by: i64) {
        self.part()[2].fetch_add(by, Relaxed);
    }

    /// The sums over all threads. One that races changes may see a thing go and not come: it is never below nothing.
    pub fn now(&self) -> Tally {
        let sum = |i: usize| self.shards.iter().fold(0i64, |sum, shard| sum.wrapping_add(shard.0[i].load(Relaxed)));
        let positive = |n: i64| u64::try_from(n).unwrap_or(0);
        Tally { came: positive(sum(0)), went: positive(sum(1)), size: positive(sum(2)) as usize }
    }
}

impl Default for ShardedTally {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom), not(feature = "single")))]
mod tests {
    use super::{ShardedCounter, ShardedTally, Tally};

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

    #[test]
    fn what_one_thread_makes_another_may_give_back() {
        static TALLY: ShardedTally = ShardedTally::new();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| TALLY.come(3)));
            scope.spawn(|| (0..400).for_each(|_| TALLY.go(2)));
        });
        TALLY.resize(-200);
        let now = TALLY.now();
        assert_eq!((now, now.number()), (Tally { came: 1000, went: 400, size: 2000 }, 600));
    }
}
