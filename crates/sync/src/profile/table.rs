//! A thread's table of what it did to locks.
//!
//! PT1. The thread whose number a table has ([`slot`]) writes it alone, by loads and stores; all others only read. When the number passes
//!      to another thread, the table does.
//! PT2. An entry's key is written once, its class last; so who finds a class finds the rest of the key.
//! PT3. Tables and entries stay for good, in bounded number. What finds no entry of its own any more is counted for its class
//!      and manner together, in entries that have neither a lock nor a place.

use super::{BUCKETS, Counts, How, Key, Row, Site};
use crate::{
    atomic::{
        AtomicPtr, AtomicU32, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    class::LockClass,
    slot, statics,
};
use std::{panic::Location, ptr};

/// Threads that have tables.
pub(super) const MOST_THREADS: usize = 1024;
/// Entries by lock and place; a power of two. With what stands behind it a table takes 250 KiB.
const ENTRIES: usize = if cfg!(loom) { 2 } else { 512 };
/// Entries by class and manner: more than the VM has classes.
const FOLDED: usize = if cfg!(loom) { 1 } else { 128 };
/// So many entries are looked at for a key.
const PROBES: usize = if cfg!(loom) { 1 } else { 16 };
/// Locks whose hold is timed, at a time; of more the oldest is forgotten.
const TIMED: usize = if cfg!(loom) { 1 } else { 8 };

static TABLES: [statics::AtomicPtr<Table>; MOST_THREADS] =
    [const { statics::AtomicPtr::new(ptr::null_mut()) }; MOST_THREADS];

/// What a key's acquisitions came to.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Entry {
    class: AtomicPtr<LockClass>,
    lock: AtomicUsize,
    site: AtomicPtr<Location<'static>>,
    how: AtomicU32,
    tries: AtomicU64,
    collisions: AtomicU64,
    wait_ns: AtomicU64,
    held: AtomicU64,
    held_ns: AtomicU64,
    kept: AtomicU64,
    kept_ns: AtomicU64,
    waits: [AtomicU32; BUCKETS],
    holds: [AtomicU32; BUCKETS],
}

/// PT1: no locked instruction. Relaxed, here and in `Entry::row`: statistics; nothing is read on the strength of them.
fn add(number: &AtomicU64, amount: u64) {
    number.store(number.load(Relaxed).wrapping_add(amount), Relaxed);
}

fn add_to(histogram: &[AtomicU32; BUCKETS], ns: u64) {
    let bucket = &histogram[(ns.max(1).ilog2() as usize).min(BUCKETS - 1)];
    bucket.store(bucket.load(Relaxed).wrapping_add(1), Relaxed);
}

impl Entry {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            class: AtomicPtr::new(ptr::null_mut()),
            lock: AtomicUsize::new(0),
            site: AtomicPtr::new(ptr::null_mut()),
            how: AtomicU32::new(0),
            tries: zero(),
            collisions: zero(),
            wait_ns: zero(),
            held: zero(),
            held_ns: zero(),
            kept: zero(),
            kept_ns: zero(),
            waits: std::array::from_fn(|_| AtomicU32::new(0)),
            holds: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Is this the key's entry, or is it free and becomes that?
    fn is_for(&self, class: &'static LockClass, lock: usize, site: *mut Location<'static>, how: How) -> bool {
        let of = ptr::from_ref(class).cast_mut();
        // Relaxed: this thread wrote it (PT1).
        let known = self.class.load(Relaxed);
        if known.is_null() {
            self.lock.store(lock, Relaxed);
            self.site.store(site, Relaxed);
            self.how.store(how as u32, Relaxed);
            // Release: pairs with the Acquire in `row` (PT2).
            self.class.store(of, Release);
            return true;
        }
        known == of
            && self.lock.load(Relaxed) == lock
            && self.site.load(Relaxed) == site
            && self.how.load(Relaxed) == how as u32
    }

    /// Counts an acquisition.
    pub(super) fn tried(&self) {
        add(&self.tries, 1);
    }

    /// Counts a timed hold.
    pub(super) fn held(&self, ns: u64) {
        add(&self.held, 1);
        add(&self.held_ns, ns);
        add_to(&self.holds, ns);
    }

    /// Counts a hold that has kept others waiting for so long.
    pub(super) fn kept(&self, ns: u64) {
        add(&self.kept, 1);
        add(&self.kept_ns, ns);
    }

    fn row(&self, thread: usize) -> Option<Row> {
        // Acquire: pairs with the Release in `is_for`: the rest of the key is there (PT2).
        let class = self.class.load(Acquire);
        // SAFETY: only references to statics were stored.
        let class: &'static LockClass = unsafe { class.cast_const().as_ref() }?;
        // SAFETY: null, or a reference to a static place (`entry`).
        let site: Option<Site> = unsafe { self.site.load(Relaxed).cast_const().as_ref() };
        let all =
            |histogram: &[AtomicU32; BUCKETS]| std::array::from_fn(|bucket| u64::from(histogram[bucket].load(Relaxed)));
        let counts = Counts {
            tries: self.tries.load(Relaxed),
            collisions: self.collisions.load(Relaxed),
            wait_ns: self.wait_ns.load(Relaxed),
            held: self.held.load(Relaxed),
            held_ns: self.held_ns.load(Relaxed),
            kept: self.kept.load(Relaxed),
            kept_ns: self.kept_ns.load(Relaxed),
            waits: all(&self.waits),
            holds: all(&self.holds),
        };
        let how = How::ALL[self.how.load(Relaxed) as usize];
        Some(Row { class, lock: self.lock.load(Relaxed), how, site, thread, counts })
    }
}

/// A lock that is held after a wait, and since when.
#[derive(Debug)]
struct Timed {
    lock: AtomicUsize,
    since_ns: AtomicU64,
    /// Which time the profile was on: while it is off nobody hears that the lock is given back.
    time_on: AtomicU64,
}

/// PT1.
#[derive(Debug)]
pub(super) struct Table {
    entries: Box<[Entry]>,
    folded: Box<[Entry]>,
    timed: [Timed; TIMED],
    /// How many of them are in use.
    timed_now: AtomicUsize,
    /// Which of them is used next.
    timed_next: AtomicUsize,
    /// What neither an entry nor a folded one was left for.
    left_out: AtomicU64,
    /// Of the thread that made the table.
    name: String,
}

impl Table {
    pub(super) fn new(name: &str) -> Self {
        let timed = |_| Timed { lock: AtomicUsize::new(0), since_ns: AtomicU64::new(0), time_on: AtomicU64::new(0) };
        Self {
            entries: (0..ENTRIES).map(|_| Entry::new()).collect(),
            // One more, for what is left out; it has no class, and so is no row.
            folded: (0..=FOLDED).map(|_| Entry::new()).collect(),
            timed: std::array::from_fn(timed),
            timed_now: AtomicUsize::new(0),
            timed_next: AtomicUsize::new(0),
            left_out: AtomicU64::new(0),
            name: name.to_owned(),
        }
    }

    /// The calling thread's table.
    #[inline]
    pub(super) fn own() -> Option<&'static Table> {
        // The only thread of the sequential VM has no number. A model has no statics.
        let index = if cfg!(feature = "single") { 0 } else { slot::own(MOST_THREADS)? };
        // Relaxed: this thread stored it, or one that had its number before (PT1).
        let table = TABLES[index].load(Relaxed);
        // SAFETY: made by `make`, and never freed (PT3).
        unsafe { table.cast_const().as_ref() }.or_else(|| Some(Table::make(index)))
    }

    #[cold]
    fn make(index: usize) -> &'static Table {
        let name = std::thread::current().name().unwrap_or("unnamed").to_owned();
        let table: &'static Table = Box::leak(Box::new(Table::new(&name)));
        // Release: pairs with the Acquire in `each`.
        TABLES[index].store(ptr::from_ref(table).cast_mut(), Release);
        table
    }

    /// The entry of a key.
    pub(super) fn entry(&self, key: &Key) -> &Entry {
        let site = ptr::from_ref(key.site).cast_mut();
        // Fibonacci hashing, of two addresses.
        let hash = (key.lock ^ site.addr().rotate_left(20)).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize) >> 40;
        (0..PROBES)
            .map(|probe| &self.entries[(hash + probe) % ENTRIES])
            .find(|entry| entry.is_for(key.class, key.lock, site, key.how))
            .unwrap_or_else(|| self.fold(key))
    }

    /// PT3.
    #[cold]
    fn fold(&self, key: &Key) -> &Entry {
        let (rest, folded) = self.folded.split_last().expect("one more than FOLDED");
        folded.iter().find(|entry| entry.is_for(key.class, 0, ptr::null_mut(), key.how)).unwrap_or_else(|| {
            add(&self.left_out, 1);
            rest
        })
    }

    /// Counts a wait, after which the thread has had the lock since `taken_ns`.
    pub(super) fn waited(&self, key: &Key, wait_ns: u64, taken_ns: u64, time_on: u64) {
        let entry = self.entry(key);
        add(&entry.collisions, 1);
        add(&entry.wait_ns, wait_ns);
        add_to(&entry.waits, wait_ns);
        // Relaxed, all: PT1.
        let next = self.timed_next.load(Relaxed);
        self.timed_next.store((next + 1) % TIMED, Relaxed);
        let timed = &self.timed[next];
        if timed.lock.load(Relaxed) == 0 {
            self.timed_now.store(self.timed_now.load(Relaxed) + 1, Relaxed);
        }
        timed.lock.store(key.lock, Relaxed);
        timed.since_ns.store(taken_ns, Relaxed);
        timed.time_on.store(time_on, Relaxed);
    }

    /// Counts an attempt that was refused.
    pub(super) fn refused(&self, key: &Key) {
        let entry = self.entry(key);
        entry.tried();
        add(&entry.collisions, 1);
    }

    /// Is any lock's hold timed?
    #[inline]
    pub(super) fn has_timed(&self) -> bool {
        self.timed_now.load(Relaxed) != 0
    }

    /// Since when the lock has been held, if its hold is timed and the profile has not been off meanwhile.
    pub(super) fn take_timed(&self, lock: usize, time_on: u64) -> Option<u64> {
        // Relaxed, all: PT1.
        let timed = self.timed.iter().find(|timed| timed.lock.load(Relaxed) == lock)?;
        timed.lock.store(0, Relaxed);
        self.timed_now.store(self.timed_now.load(Relaxed) - 1, Relaxed);
        (timed.time_on.load(Relaxed) == time_on).then(|| timed.since_ns.load(Relaxed))
    }

    /// The thread's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What has been left out.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }

    /// The rows of a thread of this number.
    pub(super) fn rows(&self, thread: usize) -> impl Iterator<Item = Row> {
        self.entries.iter().chain(&self.folded).filter_map(move |entry| entry.row(thread))
    }
}

/// All tables, by thread number.
pub(super) fn each() -> impl Iterator<Item = (usize, &'static Table)> {
    let given = if cfg!(feature = "single") { 1 } else { slot::given() };
    TABLES.iter().take(given).enumerate().filter_map(|(thread, table)| {
        // Acquire: pairs with the Release in `make`.
        // SAFETY: as in `own`.
        unsafe { table.load(Acquire).cast_const().as_ref() }.map(|table| (thread, table))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{ENTRIES, FOLDED, Table};
    use crate::{
        LockClass,
        profile::{How, Key},
    };
    use std::panic::Location;

    static CLASS: LockClass = LockClass::new("many", 1);

    #[test]
    fn what_finds_no_entry_is_counted_for_its_class() {
        let table = Table::new("here");
        let site = Location::caller();
        let many = 4 * ENTRIES;
        for lock in 1..=many {
            table.entry(&Key { class: &CLASS, lock: lock * 64, how: How::Mutex, site }).tried();
        }
        let rows: Vec<_> = table.rows(0).collect();
        assert!(rows.len() <= ENTRIES + 1);
        assert_eq!(rows.iter().map(|row| row.counts.tries).sum::<u64>(), many as u64);
        let folded: Vec<_> = rows.iter().filter(|row| row.lock == 0).collect();
        assert!(folded.len() == 1 && folded[0].site.is_none() && folded[0].counts.tries > ENTRIES as u64);
        assert_eq!(table.left_out(), 0);
        for _ in 0..FOLDED {
            let class = Box::leak(Box::new(LockClass::new("one more", 1)));
            table.fold(&Key { class, lock: 64, how: How::Mutex, site }).tried();
        }
        assert_eq!(table.left_out(), 1);
    }

    #[test]
    fn a_hold_is_timed_while_the_profile_stays_on() {
        let (table, site) = (Table::new("here"), Location::caller());
        let key = |lock| Key { class: &CLASS, lock, how: How::Spin, site };
        table.waited(&key(64), 5, 100, 1);
        table.waited(&key(128), 5, 200, 1);
        assert!(table.has_timed());
        assert_eq!((table.take_timed(192, 1), table.take_timed(128, 1)), (None, Some(200)));
        assert_eq!((table.take_timed(64, 2), table.take_timed(64, 1)), (None, None));
        assert!(!table.has_timed());
        (0..100).for_each(|lock| table.waited(&key(64 * (lock + 1)), 5, 100, 1));
        assert_eq!(table.take_timed(64 * 100, 1), Some(100));
        assert_eq!(table.take_timed(64, 1), None);
    }
}

/// Caught when tried: the Release in `is_for` and the Acquire in `row` made Relaxed, one at a time; the class stored first.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::Table;
    use crate::{
        LockClass,
        profile::{How, Key},
    };
    use std::{panic::Location, sync::Arc};

    static CLASS: LockClass = LockClass::new("counted", 1);

    /// Who looks while the thread counts sees no entry, or the whole key; and never more than was counted.
    #[test]
    fn a_row_has_its_whole_key() {
        loom::model(|| {
            let table = Arc::new(Table::new("other"));
            let other = {
                let table = table.clone();
                loom::thread::spawn(move || {
                    let key = Key { class: &CLASS, lock: 64, how: How::Write, site: Location::caller() };
                    (0..2).for_each(|_| table.entry(&key).tried());
                })
            };
            for row in table.rows(0) {
                assert_eq!((row.lock, row.how), (64, How::Write));
                assert!(row.site.is_some() && row.counts.tries <= 2);
            }
            other.join().unwrap();
            assert_eq!(table.rows(0).map(|row| row.counts.tries).sum::<u64>(), 2);
        });
    }
}
