//! What the lock profile has counted up to a moment; two of them subtract.

use super::{BUCKETS, How, Site, UNCOUNTED, now_ns, table};
use crate::class::LockClass;
use std::{
    collections::BTreeMap,
    ops::{Add, Sub},
    sync::atomic::Ordering::Relaxed,
};

/// What acquisitions came to. Times are in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Acquisitions that have ended, and attempts that were refused.
    pub tries: u64,
    /// Those that had to wait, as they begin, and attempts that were refused.
    pub collisions: u64,
    /// How long they waited, altogether.
    pub wait_ns: u64,
    /// Holds that were timed: those after a wait.
    pub held: u64,
    /// How long they lasted, altogether.
    pub held_ns: u64,
    /// Holds at whose end somebody else was seen to wait for the lock.
    pub kept: u64,
    /// How long they kept it waiting, altogether: since its wait began, or the hold before ended.
    pub kept_ns: u64,
    /// The waits by duration ([`BUCKETS`]).
    pub waits: [u64; BUCKETS],
    /// The timed holds by duration.
    pub holds: [u64; BUCKETS],
}

impl Counts {
    fn with(self, other: Counts, f: fn(u64, u64) -> u64) -> Counts {
        let all = |one: [u64; BUCKETS], two: [u64; BUCKETS]| std::array::from_fn(|i| f(one[i], two[i]));
        Counts {
            tries: f(self.tries, other.tries),
            collisions: f(self.collisions, other.collisions),
            wait_ns: f(self.wait_ns, other.wait_ns),
            held: f(self.held, other.held),
            held_ns: f(self.held_ns, other.held_ns),
            kept: f(self.kept, other.kept),
            kept_ns: f(self.kept_ns, other.kept_ns),
            waits: all(self.waits, other.waits),
            holds: all(self.holds, other.holds),
        }
    }
}

impl Add for Counts {
    type Output = Counts;
    fn add(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_add)
    }
}

impl Sub for Counts {
    type Output = Counts;
    fn sub(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_sub)
    }
}

/// What one thread did to one lock at one place in the source.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The lock's class.
    pub class: &'static LockClass,
    /// The lock's identity; 0: several, for which the thread's table had no room.
    pub lock: usize,
    /// How it was taken.
    pub how: How,
    /// Where; `None`: at several places, likewise.
    pub site: Option<Site>,
    /// The number of the thread.
    pub thread: usize,
    /// What that came to.
    pub counts: Counts,
}

impl Row {
    /// What no two rows of a snapshot share.
    fn key(&self) -> (usize, usize, usize, How, usize) {
        let site = self.site.map_or(0, |site| std::ptr::from_ref(site).addr());
        (std::ptr::from_ref(self.class).addr(), self.lock, site, self.how, self.thread)
    }
}

/// What has been counted since the profile was first switched on, or between two such moments.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When, or how long: nanoseconds.
    pub ns: u64,
    /// In no order.
    pub rows: Vec<Row>,
    /// The names of the threads by number.
    pub threads: BTreeMap<usize, String>,
    /// Acquisitions for which there was no room at all.
    pub uncounted: u64,
}

impl Snapshot {
    /// What has been counted up to now. Threads that count meanwhile may or may not be seen to have.
    pub fn take() -> Snapshot {
        let mut all = Snapshot { ns: now_ns(), uncounted: UNCOUNTED.load(Relaxed), ..Snapshot::default() };
        for (thread, table) in table::each() {
            all.rows.extend(table.rows(thread));
            all.threads.insert(thread, table.name().to_owned());
            all.uncounted += table.left_out();
        }
        all
    }

    /// What has been counted since an earlier snapshot.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        let before: BTreeMap<_, Counts> = earlier.rows.iter().map(|row| (row.key(), row.counts)).collect();
        let rows = self.rows.iter().map(|row| {
            let counts = before.get(&row.key()).map_or(row.counts, |before| row.counts - *before);
            Row { counts, ..*row }
        });
        Snapshot {
            ns: self.ns.saturating_sub(earlier.ns),
            rows: rows.filter(|row| row.counts != Counts::default()).collect(),
            threads: self.threads.clone(),
            uncounted: self.uncounted.wrapping_sub(earlier.uncounted),
        }
    }

    /// The sums of rows that `key` does not tell apart.
    pub fn sums<K: Ord>(&self, key: impl Fn(&Row) -> K) -> BTreeMap<K, Counts> {
        let mut sums = BTreeMap::<K, Counts>::new();
        for row in &self.rows {
            let sum = sums.entry(key(row)).or_default();
            *sum = *sum + row.counts;
        }
        sums
    }
}
