//! The lock profile: which classes are taken how often, and what they cost the threads that waited.
//!
//! Off, a lock pays one relaxed load of a line that is not written. On, each acquisition adds to the counts of its
//! class, sharded by thread so that the profile does not become the contention it looks for. A class enters the
//! registry at its first counted acquisition.
//!
//! P1. The registry only grows, and holds nothing but statics; so a reader walks it without a lock.

use crate::{
    class::LockClass,
    slot,
    statics::{AtomicBool, AtomicPtr, AtomicU64},
};
use std::{
    ptr,
    sync::atomic::Ordering::{AcqRel, Acquire, Relaxed},
    time::Instant,
};

static ON: AtomicBool = AtomicBool::new(false);

/// The class registered last; each leads to the one before.
static NEWEST: AtomicPtr<LockClass> = AtomicPtr::new(ptr::null_mut());

const SHARDS: usize = 8;

/// Switches profiling on or off. Counts are kept when it goes off.
pub fn set_enabled(on: bool) {
    // Relaxed: a switch; an acquisition that races it may or may not be counted.
    ON.store(on, Relaxed);
}

/// Whether acquisitions are being counted.
#[inline(always)]
pub fn enabled() -> bool {
    // Relaxed: as above.
    ON.load(Relaxed)
}

/// What one class has cost since the start or the last [`reset`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Acquisitions.
    pub acquired: u64,
    /// Those that had to wait.
    pub contended: u64,
    /// How long they waited, altogether.
    pub wait_ns: u64,
}

#[derive(Debug)]
#[repr(align(64))]
struct Shard {
    acquired: AtomicU64,
    contended: AtomicU64,
    wait_ns: AtomicU64,
}

/// The counts of one class, inside it.
#[derive(Debug)]
pub(crate) struct ClassCounts {
    shards: [Shard; SHARDS],
    registered: AtomicBool,
    older: AtomicPtr<LockClass>,
}

impl ClassCounts {
    pub(crate) const fn new() -> Self {
        Self {
            shards: [const {
                Shard { acquired: AtomicU64::new(0), contended: AtomicU64::new(0), wait_ns: AtomicU64::new(0) }
            }; SHARDS],
            registered: AtomicBool::new(false),
            older: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

impl LockClass {
    /// Takes a lock of this class: `attempt` without waiting, or else `wait`.
    #[inline(always)]
    pub(crate) fn acquire<G>(&'static self, attempt: impl FnOnce() -> Option<G>, wait: impl FnOnce() -> G) -> G {
        match attempt() {
            Some(guard) => {
                if enabled() {
                    self.count(None);
                }
                guard
            }
            None => self.acquire_contended(wait),
        }
    }

    #[cold]
    fn acquire_contended<G>(&'static self, wait: impl FnOnce() -> G) -> G {
        if !enabled() {
            return wait();
        }
        let start = Instant::now();
        let guard = wait();
        self.count(Some(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)));
        guard
    }

    /// Counts an acquisition that did not wait, or waited so long.
    #[cold]
    pub(crate) fn count(&'static self, wait_ns: Option<u64>) {
        // Relaxed throughout: statistics; no other memory is read on the strength of them.
        let shard = &self.counts.shards[slot::index() % SHARDS];
        shard.acquired.fetch_add(1, Relaxed);
        if let Some(wait_ns) = wait_ns {
            shard.contended.fetch_add(1, Relaxed);
            shard.wait_ns.fetch_add(wait_ns, Relaxed);
        }
        if !self.counts.registered.load(Relaxed) {
            self.register();
        }
    }

    fn register(&'static self) {
        // Relaxed: the swap only chooses one of the threads that register at once; what it writes is published below.
        if self.counts.registered.swap(true, Relaxed) {
            return;
        }
        let this = ptr::from_ref(self).cast_mut();
        let mut newest = NEWEST.load(Relaxed);
        loop {
            self.counts.older.store(newest, Relaxed);
            // Release: pairs with the Acquire in `for_each_class`, which then sees `older`. AcqRel, because older
            // classes must stay visible to it through this exchange.
            match NEWEST.compare_exchange_weak(newest, this, AcqRel, Relaxed) {
                Ok(_) => return,
                Err(seen) => newest = seen,
            }
        }
    }

    /// The sums over all threads; not one instant's picture.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for shard in &self.counts.shards {
            sum.acquired = sum.acquired.wrapping_add(shard.acquired.load(Relaxed));
            sum.contended = sum.contended.wrapping_add(shard.contended.load(Relaxed));
            sum.wait_ns = sum.wait_ns.wrapping_add(shard.wait_ns.load(Relaxed));
        }
        sum
    }
}

/// Calls `f` with every class that was ever counted.
pub fn for_each_class(mut f: impl FnMut(&'static LockClass)) {
    // Acquire: pairs with the Release of `register`.
    let mut class = NEWEST.load(Acquire);
    // SAFETY: P1, only statics were pushed.
    while let Some(current) = unsafe { class.cast_const().as_ref() } {
        f(current);
        class = current.counts.older.load(Relaxed);
    }
}

/// Sets every count to zero. Acquisitions that race it may be lost or kept.
pub fn reset() {
    for_each_class(|class| {
        for shard in &class.counts.shards {
            shard.acquired.store(0, Relaxed);
            shard.contended.store(0, Relaxed);
            shard.wait_ns.store(0, Relaxed);
        }
    });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Counts, enabled, for_each_class, set_enabled};
    use crate::{LockClass, Mutex};

    static QUIET: LockClass = LockClass::new("quiet", 1);

    #[test]
    fn counts_only_while_enabled() {
        let lock = Mutex::new(&QUIET, 0);
        *lock.lock() += 1;
        assert_eq!(QUIET.counts(), Counts::default());
        set_enabled(true);
        assert!(enabled());
        for _ in 0..3 {
            *lock.lock() += 1;
        }
        set_enabled(false);
        *lock.lock() += 1;
        assert_eq!(QUIET.counts(), Counts { acquired: 3, contended: 0, wait_ns: 0 });
        let mut names = Vec::new();
        for_each_class(|class| names.push(class.name()));
        assert_eq!(names.iter().filter(|name| **name == "quiet").count(), 1);
    }
}
