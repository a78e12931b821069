//! [`ShardedCounter`]: a number that many threads change and few read; [`ShardedTally`]: what comes and goes, by number and size.
//!
//! C1. A shard of a thread's own is written by that thread alone ([`slot::own`]): a load and a store do, without a locked
//!     instruction. Threads without one share a shard, which they change by read-modify-writes.

use crate::{
    atomic::{
        AtomicI64,
        Ordering::{Acquire, Relaxed},
        fence,
    },
    pad::CachePadded,
    slot,
};
use std::iter::once;

/// So many threads have shards of their own: the most schedulers that there can be (`+S`), and some beside. More than that share one, and the counters
/// stay correct. What no thread has come to takes no memory in a static.
/// (Miri visits all of a static each time that it is referred to.)
pub(crate) const OWNED: usize = if cfg!(any(loom, feature = "single")) {
    0
} else if cfg!(miri) {
    16
} else {
    1024 + 64
};

/// Changes one of a shard's numbers by an amount.
pub(crate) type Add = fn(&AtomicI64, i64);

/// C1, of the calling thread's own shard.
#[inline(always)]
pub(crate) fn add_alone(number: &AtomicI64, amount: i64) {
    number.store(number.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// C1, of the shard that threads share.
#[inline(always)]
pub(crate) fn add_shared(number: &AtomicI64, amount: i64) {
    number.fetch_add(amount, Relaxed);
}

/// A thread's part of a counter: so many numbers, alone on their cache lines.
type Shard<const N: usize> = CachePadded<[AtomicI64; N]>;

/// The shards of a counter of so many numbers.
///
/// Relaxed everywhere: a counter orders nothing. A sum that races changes may have seen any of them; when nobody changes the
/// counter it is exact.
#[derive(Debug)]
struct Shards<const N: usize> {
    own: [Shard<N>; OWNED],
    shared: Shard<N>,
}

impl<const N: usize> Shards<N> {
    const_unless_loom! {
        fn new() -> Self {
            #[cfg(not(loom))]
            return Self {
                own: [const { CachePadded::new([const { AtomicI64::new(0) }; N]) }; OWNED],
                shared: CachePadded::new([const { AtomicI64::new(0) }; N]),
            };
            #[cfg(loom)]
            Self { own: [], shared: CachePadded::new(std::array::from_fn(|_| AtomicI64::new(0))) }
        }
    }

    /// Has `change` change the numbers of the calling thread's shard.
    #[inline]
    fn change(&self, change: impl Fn(&[AtomicI64; N], Add)) {
        match slot::own(OWNED) {
            Some(index) => change(&self.own[index], add_alone),
            None => change(&self.shared, add_shared),
        }
    }

    /// The sum of one of the numbers over all threads.
    fn sum(&self, number: usize) -> i64 {
        let own = self.own.iter().take(slot::given());
        own.chain(once(&self.shared)).fold(0, |sum, shard| sum.wrapping_add(shard[number].load(Relaxed)))
    }
}

/// A sum over shards, each on its own cache line and written by few threads.
#[derive(Debug)]
pub struct ShardedCounter(Shards<1>);

impl ShardedCounter {
    const_unless_loom! {
        /// Zero.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(Shards::new())
        }
    }

    /// Adds; a negative number subtracts. Wraps around on overflow.
    #[inline]
    pub fn add(&self, amount: i64) {
        self.0.change(|[number], add| add(number, amount));
    }

    /// The sum over all threads.
    pub fn sum(&self) -> i64 {
        self.0.sum(0)
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

/// A tally over shards, like a [`ShardedCounter`]: each change is to one cache line. The numbers are what came, what went, the size.
#[derive(Debug)]
pub struct ShardedTally(Shards<3>);

impl ShardedTally {
    const_unless_loom! {
        /// Nothing there.
        #[allow(clippy::new_without_default, reason = "`Default` could not be const")]
        pub fn new() -> Self {
            Self(Shards::new())
        }
    }

    /// One comes.
    #[inline]
    pub fn come(&self, size: usize) {
        self.0.change(|[came, _, total], add| {
            add(came, 1);
            add(total, size as i64);
        });
    }

    /// One goes.
    #[inline]
    pub fn go(&self, size: usize) {
        self.0.change(|[_, went, total], add| {
            add(went, 1);
            add(total, (size as i64).wrapping_neg());
        });
    }

    /// One of them is larger or smaller by so much.
    #[inline]
    pub fn resize(&self, by: i64) {
        self.0.change(|[_, _, total], add| add(total, by));
    }

    /// The sums over all threads. One that races changes may see a thing go and not come: it is never below nothing. It sees what went
    /// before a thing came that it sees, if a Release fence stands before the [`come`](Self::come) of that thing.
    pub fn now(&self) -> Tally {
        let positive = |number: usize| u64::try_from(self.0.sum(number)).unwrap_or(0);
        let came = positive(0);
        // Acquire: pairs with the Release fence before a `come` that `came` counts.
        fence(Acquire);
        Tally { came, went: positive(1), size: positive(2) as usize }
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
