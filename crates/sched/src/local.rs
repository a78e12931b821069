//! The scheduler's own state, which running code sees: registers, counters, its share in thread progress.

use crate::X_REGISTERS;
use crate::pace::Pace;
use crate::platform::Platform;
use myriad_process::{ProcessTable, Runtime, Trail};
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::{Arc, ThreadSlot};
use myriad_term::{Pid, RefNumbers, Term};

/// Where OTP's unique integers begin.
pub const LEAST_UNIQUE: i128 = -576_460_752_303_423_488;

/// The `count`-th unique integer of a scheduler by its number from 1 (0 stands for all other threads), where `threads` threads
/// make references: the scheduler's number is in the lowest bits.
pub fn unique_integer(threads: usize, scheduler: u64, count: u64) -> i128 {
    let bits = (threads as u64 - 1).checked_ilog2().map_or(0, |log| log + 1);
    LEAST_UNIQUE + (i128::from(count) << bits | i128::from(scheduler))
}

/// A scheduler's own state.
pub struct Local {
    /// Number from 0; dirty schedulers come after the normal ones.
    pub id: usize,
    /// Is this a dirty scheduler?
    pub dirty: bool,
    /// X registers of the process that runs. One cache-aligned block.
    pub x: Box<[Term; X_REGISTERS]>,
    /// Its part in the progress of all threads.
    pub slot: ThreadSlot,
    /// Its part in the progress of normal schedulers; a dirty one has none.
    pub slices: Option<ThreadSlot>,
    /// Threads that make references, each with numbers of its own.
    threads: usize,
    refs: u64,
    uniques: u64,
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
            x: Box::new([Term::NIL; X_REGISTERS]),
            slot,
            slices,
            threads,
            refs: 0,
            uniques: 0,
            rng: platform.seed(id) | 1,
            now_ns: platform.now_ns(),
            trail: Trail::default(),
            pace: Pace::default(),
        }
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
        debug_assert!(self.id < self.threads, "each thread has numbers of its own");
        self.refs += 1;
        self.refs * self.threads as u64 + self.id as u64
    }

    /// A new unique integer, from [`LEAST_UNIQUE`] up; of this scheduler's own.
    pub fn next_unique(&mut self) -> i128 {
        let count = self.uniques;
        self.uniques += 1;
        unique_integer(self.threads, self.id as u64 + 1, count)
    }

    /// A pseudo-random number (xorshift), for choices among equals.
    pub fn random(&mut self) -> u64 {
        self.rng ^= self.rng << 13;
        self.rng ^= self.rng >> 7;
        self.rng ^= self.rng << 17;
        self.rng
    }
}
