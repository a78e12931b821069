//! The scheduler's own state, which running code sees: registers, counters, its share in thread progress.

use crate::pace::Pace;
use crate::platform::Platform;
use crate::registers::RegisterBlock;
use myriad_process::{ProcessTable, Runtime, Trail};
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_sync::{Arc, ThreadSlot};
use myriad_term::{Pid, RefNumbers};

/// Where OTP's unique integers begin.
pub const LEAST_UNIQUE: i128 = -576_460_752_303_423_488;

/// The `count`-th unique integer of a scheduler by its number from 1 (0 stands for all other threads), where `threads` threads
/// make references: the scheduler's number is in the lowest bits.
pub fn unique_integer(threads: usize, scheduler: u64, count: u64) -> i128 {
    let bits = (threads as u64 - 1).checked_ilog2().map_or(0, |log| log + 1);
    LEAST_UNIQUE + (i128::from(count) << bits | i128::from(scheduler))
}

/// How many numbers of references, or unique integers, a private thread takes at a time.
const BLOCK: u64 = 1024;

/// Counts up: a thread's own numbers, or blocks of those that threads share.
struct Count {
    last: u64,
    /// The last one of the block.
    end: u64,
    shared: Option<&'static AtomicU64>,
}

impl Count {
    const OWN: Count = Count { last: 0, end: u64::MAX, shared: None };

    const fn of(shared: &'static AtomicU64) -> Count {
        Count { last: 0, end: 0, shared: Some(shared) }
    }

    /// The next one, from 1.
    #[inline]
    fn next(&mut self) -> u64 {
        if self.last == self.end {
            self.take_block();
        }
        self.last += 1;
        self.last
    }

    #[cold]
    fn take_block(&mut self) {
        let Some(shared) = self.shared else { return };
        // Relaxed: only uniqueness counts.
        self.last = shared.fetch_add(BLOCK, Ordering::Relaxed);
        self.end = self.last + BLOCK;
    }
}

/// What threads count that have no numbers of their own: how many references and unique integers they have made.
#[derive(Default)]
pub struct SharedCounts {
    /// References.
    pub refs: AtomicU64,
    /// Unique integers.
    pub uniques: AtomicU64,
}

/// A scheduler's own state.
pub struct Local {
    /// Number from 0; dirty schedulers come after the normal ones, and private threads after these.
    pub id: usize,
    /// Is this a dirty scheduler?
    pub dirty: bool,
    /// Is this a private thread?
    pub private: bool,
    /// What the engine keeps from slice to slice: the registers of the process that runs.
    pub registers: RegisterBlock,
    /// Its part in the progress of all threads.
    pub slot: ThreadSlot,
    /// Its part in the progress of normal schedulers; a dirty one has none.
    pub slices: Option<ThreadSlot>,
    /// Threads that make references, each with numbers of its own; the last stands for all that have none.
    threads: usize,
    refs: Count,
    uniques: Count,
    rng: u64,
    /// Monotonic time as last read, nanoseconds.
    pub now_ns: u64,
    /// What it has left for a process that falls behind.
    pub trail: Trail,
    /// How often slices look up here.
    pub pace: Pace,
}

impl Local {
    /// For scheduler `id` of `threads` that make references, with its parts in thread progress. One without a part in that of normal
    /// schedulers is a dirty one.
    pub fn new(
        threads: usize,
        id: usize,
        slot: ThreadSlot,
        slices: Option<ThreadSlot>,
        platform: &dyn Platform,
    ) -> Local {
        debug_assert!(id < threads);
        Local {
            id,
            dirty: slices.is_none(),
            private: false,
            registers: RegisterBlock::new(),
            slot,
            slices,
            threads,
            refs: Count::OWN,
            uniques: Count::OWN,
            rng: platform.seed(id) | 1,
            now_ns: platform.now_ns(),
            trail: Trail::default(),
            pace: Pace::default(),
        }
    }

    /// For the private thread `id`, which makes references and unique integers as threads do that are no schedulers.
    pub fn of_private_thread(
        threads: usize,
        id: usize,
        [slot, slices]: [ThreadSlot; 2],
        counts: &'static SharedCounts,
        platform: &dyn Platform,
    ) -> Local {
        let (refs, uniques) = (Count::of(&counts.refs), Count::of(&counts.uniques));
        Local { id, private: true, refs, uniques, ..Local::new(threads, threads - 1, slot, Some(slices), platform) }
    }

    /// The normal scheduler that stands for this one where a number of those is wanted.
    pub fn scheduler(&self, schedulers: usize) -> usize {
        if self.private { self.id % schedulers } else { self.id }
    }

    /// Announces a quiescent state: this scheduler holds no reference into shared structures.
    #[inline]
    pub fn quiescent(&self) {
        self.slot.quiescent();
        if let Some(slot) = &self.slices {
            slot.quiescent();
        }
    }

    /// Takes no part in thread progress until [`Local::go_online`]: the thread must hold no reference into shared structures until
    /// then. `false`: work that waited for progress has left more, which only this thread may do (rows of a large table go in many
    /// parts, each between two steps).
    pub fn go_offline(&self) -> bool {
        self.slot.park();
        self.slices.as_ref().is_none_or(ThreadSlot::try_park)
    }

    /// Takes part in thread progress again.
    pub fn go_online(&self) {
        self.slot.unpark();
        if let Some(slot) = &self.slices {
            slot.unpark();
        }
    }

    /// Begins a grace period: the answer becomes true once every normal scheduler has begun a new step.
    pub fn grace_period(&self) -> Arc<AtomicBool> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        // Of the normal schedulers alone: a dirty one may block for long.
        let slot = self.slices.as_ref().unwrap_or(&self.slot);
        // Release: pairs with the Acquire in `Schedulers::have_settled`.
        slot.retire(move || seen.store(true, Ordering::Release));
        over
    }

    /// Numbers of a new reference: a counter of this scheduler's own, interleaved with the others' by its number.
    pub fn next_ref(&mut self) -> RefNumbers {
        RefNumbers::nth(self.next_ref_value())
    }

    /// Numbers of a new reference that is an alias of a process.
    pub fn next_alias<R: Runtime>(&mut self, processes: &ProcessTable<R>, pid: Pid) -> RefNumbers {
        processes.alias(self.next_ref_value(), pid)
    }

    fn next_ref_value(&mut self) -> u64 {
        self.refs.next() * self.threads as u64 + self.id.min(self.threads - 1) as u64
    }

    /// A new unique integer, from [`LEAST_UNIQUE`] up; of this scheduler's own.
    pub fn next_unique(&mut self) -> i128 {
        let count = self.uniques.next() - 1;
        unique_integer(self.threads, if self.private { 0 } else { self.id as u64 + 1 }, count)
    }

    /// A pseudo-random number (xorshift), for choices among equals.
    pub fn random(&mut self) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng
    }
}
