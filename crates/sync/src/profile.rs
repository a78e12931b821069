//! The lock profile: which locks are taken how often, who waits for them and for how long, by instance, thread and place in the source.
//!
//! It is part of each build and is switched on and off while the program runs. An acquisition is counted when the lock is *given back*, by one
//! relaxed load of a line that is seldom written: off, that load is all, and taking a lock that is free asks nothing. Each thread counts in a
//! table of its own (`profile/table.rs`), so that counting writes no line that another thread writes. A thread that must wait for a
//! lock reads the clock before and after; so wait times are exact, and hold times are those of acquisitions that had waited. What the holder
//! of a lock does to others is told by the holder: when it gives the lock back while somebody waits for it, it notes
//! since when ([`Counts::kept`], by the holder's place in the source).
//!
//! What is not seen: what a [`BiasedLock`](crate::BiasedLock)'s holder does without the lock, the time for which a writer waits for readers that count in groups, and the
//! times of acquisitions that met nobody.
//!
//! A lock is known by the address of its word for the class. Two locks of one class that had one address after each other are one.

mod report;
mod snapshot;
mod table;

pub use report::{Column, json, text};
pub use snapshot::{Counts, Row, Snapshot};

use crate::{
    LazyLock,
    class::LockClass,
    statics::{AtomicBool, AtomicU64, AtomicUsize},
};
use std::{panic::Location, sync::atomic::Ordering::Relaxed, time::Instant};
use table::Table;

/// Classes of durations in a histogram: the `k`-th counts those from 2^k nanoseconds on, the last all that are longer.
pub const BUCKETS: usize = if cfg!(loom) { 2 } else { 32 };

static ON: AtomicBool = AtomicBool::new(false);

/// How often the profile has been switched on.
static TIMES_ON: AtomicU64 = AtomicU64::new(0);

/// A lock that a thread waits for (0: none), and since when, or when it was last given back.
struct Awaited {
    lock: AtomicUsize,
    since_ns: AtomicU64,
}

/// Those that wait, in the place of their lock's address: one for each place, the first that comes. So a holder looks at one
/// place, however many threads there are; and a wait may go unseen.
///
/// Relaxed throughout: hints. Two that write a place at once, or a look in between, may mix up two waits, and one figure is wrong.
static AWAITED: [Awaited; 64] = [const { Awaited { lock: AtomicUsize::new(0), since_ns: AtomicU64::new(0) } }; 64];

impl Awaited {
    fn of(lock: usize) -> &'static Awaited {
        &AWAITED[(lock >> 4 ^ lock >> 10) % AWAITED.len()]
    }

    fn begin(&self, lock: usize, since_ns: u64) -> bool {
        let first = self.lock.load(Relaxed) == 0;
        if first {
            self.since_ns.store(since_ns, Relaxed);
            self.lock.store(lock, Relaxed);
        }
        first
    }

    fn end(&self) {
        self.lock.store(0, Relaxed);
    }

    fn is_for(&self, lock: usize) -> bool {
        self.lock.load(Relaxed) == lock
    }

    /// For how long the hold that ends now has kept somebody waiting: each part of a wait counts for one hold.
    fn end_hold(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.since_ns.swap(now_ns, Relaxed))
    }
}

/// Acquisitions by threads that have no table: those that are ending, and those beyond [`table::MOST_THREADS`].
static UNCOUNTED: AtomicU64 = AtomicU64::new(0);

/// Switches the profile on or off; says whether it was on. What was counted is kept.
pub fn set_enabled(on: bool) -> bool {
    if on {
        TIMES_ON.fetch_add(1, Relaxed);
    }
    // Relaxed: a switch; an acquisition that races it may or may not be counted.
    ON.swap(on, Relaxed)
}

/// Whether acquisitions are being counted.
#[inline(always)]
pub fn enabled() -> bool {
    // Relaxed: as above.
    ON.load(Relaxed)
}

/// By what kind of lock, and how, something is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum How {
    /// A [`Mutex`](crate::Mutex).
    Mutex = 0,
    /// A lock that spins: [`SpinLock`](crate::SpinLock), [`TicketLock`](crate::TicketLock), [`ReactiveLock`](crate::ReactiveLock).
    Spin = 1,
    /// A lock with a queue: [`McsLock`](crate::McsLock), [`TimePublishedLock`](crate::TimePublishedLock).
    Queue = 2,
    /// By one of the readers of a readers-writer lock.
    Read = 3,
    /// By the writer of one.
    Write = 4,
}

impl How {
    const ALL: [How; 5] = [How::Mutex, How::Spin, How::Queue, How::Read, How::Write];

    /// The name, as reports show it.
    pub const fn name(self) -> &'static str {
        match self {
            How::Mutex => "mutex",
            How::Spin => "spin",
            How::Queue => "queue",
            How::Read => "read",
            How::Write => "write",
        }
    }
}

/// A place in the source where locks are taken.
pub type Site = &'static Location<'static>;

/// What is counted together: acquisitions of a lock at one place.
#[derive(Clone, Copy, Debug)]
struct Key {
    class: &'static LockClass,
    /// The lock's identity.
    lock: usize,
    how: How,
    site: Site,
}

/// An acquisition that is counted when this is dropped.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    /// In the lock: its address is the lock's identity.
    class: &'a &'static LockClass,
    how: How,
    site: Site,
}

impl<'a> Counted<'a> {
    /// An acquisition that did not wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(class: &'a &'static LockClass, how: How) -> Self {
        Self { class, how, site: Location::caller() }
    }

    /// Counts the acquisition; its lock is about to be given back.
    #[inline(always)]
    pub(crate) fn count(&self) {
        if enabled() {
            released(self.class, self.how, self.site);
        }
    }
}

impl Drop for Counted<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.count();
    }
}

/// The identity of a lock, which has its class in this place.
pub(crate) fn identity(class: &&'static LockClass) -> usize {
    std::ptr::from_ref(class).addr()
}

/// Takes a lock: `attempt` without waiting, or else `wait`.
#[inline(always)]
#[track_caller]
pub(crate) fn acquire<'a, G>(
    class: &'a &'static LockClass,
    how: How,
    attempt: impl FnOnce() -> Option<G>,
    wait: impl FnOnce() -> G,
) -> (G, Counted<'a>) {
    let counted = Counted::new(class, how);
    let guard = match attempt() {
        Some(guard) => guard,
        None => contended(class, how, counted.site, wait),
    };
    (guard, counted)
}

#[cold]
fn contended<G>(class: &&'static LockClass, how: How, site: Site, wait: impl FnOnce() -> G) -> G {
    let Some(table) = enabled().then(Table::own).flatten() else { return wait() };
    let since = now_ns();
    let lock = identity(class);
    let awaited = Awaited::of(lock);
    let first = awaited.begin(lock, since);
    let guard = wait();
    if first {
        awaited.end();
    }
    let taken = now_ns();
    table.waited(&Key { class, lock, how, site }, taken - since, taken, TIMES_ON.load(Relaxed));
    guard
}

/// Counts an attempt that was refused.
#[inline(always)]
#[track_caller]
pub(crate) fn refused(class: &&'static LockClass, how: How) {
    if enabled() {
        count_refused(class, how, Location::caller());
    }
}

#[cold]
fn count_refused(class: &&'static LockClass, how: How, site: Site) {
    match Table::own() {
        Some(table) => table.refused(&Key { class, lock: identity(class), how, site }),
        // Relaxed: a figure.
        None => drop(UNCOUNTED.fetch_add(1, Relaxed)),
    }
}

#[cold]
fn released(class: &&'static LockClass, how: How, site: Site) {
    let Some(table) = Table::own() else {
        // Relaxed: a figure.
        UNCOUNTED.fetch_add(1, Relaxed);
        return;
    };
    let key = Key { class, lock: identity(class), how, site };
    let entry = table.entry(&key);
    entry.tried();
    if table.has_timed()
        && let Some(since) = table.take_timed(key.lock, TIMES_ON.load(Relaxed))
    {
        entry.held(now_ns().saturating_sub(since));
    }
    let awaited = Awaited::of(key.lock);
    if awaited.is_for(key.lock) {
        entry.kept(awaited.end_hold(now_ns()));
    }
}

/// Nanoseconds since the first question.
fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Counts, How, Row, Snapshot, enabled, set_enabled};
    use crate::{Condvar, GroupRwLock, LockClass, McsLock, Mutex, RwLock, SpinLock, Spread, TimePublishedLock};
    use std::time::Duration;

    /// The switch is one for the whole process: tests that turn it take turns.
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// What the work does to the locks of a class.
    fn profiled(class: &LockClass, work: impl FnOnce()) -> Vec<Row> {
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = Snapshot::take();
        set_enabled(true);
        assert!(enabled());
        work();
        assert!(set_enabled(false));
        let mut rows = Snapshot::take().since(&before).rows;
        rows.retain(|row| row.class.name() == class.name());
        rows
    }

    fn sum(rows: &[Row]) -> Counts {
        rows.iter().fold(Counts::default(), |sum, row| sum + row.counts)
    }

    #[test]
    fn counts_only_while_enabled() {
        static QUIET: LockClass = LockClass::new("quiet", 1);
        let lock = Mutex::new(&QUIET, 0);
        *lock.lock() += 1;
        let rows = profiled(&QUIET, || {
            for _ in 0..3 {
                *lock.lock() += 1;
            }
        });
        *lock.lock() += 1;
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(row.counts, Counts { tries: 3, ..Counts::default() });
        assert_eq!((row.how, row.lock), (How::Mutex, lock.identity()));
        assert!(row.site.is_some_and(|site| site.file().ends_with("profile.rs")));
    }

    #[test]
    fn each_kind_of_lock_is_counted_in_each_way() {
        static KINDS: LockClass = LockClass::nested("kinds", 1);
        let mut expected = Vec::new();
        let rows = profiled(&KINDS, || {
            let (mutex, condition) = (Mutex::new(&KINDS, ()), Condvar::new());
            // Given back twice: to wait, and at the end.
            let held = mutex.lock();
            drop(condition.wait_timeout(held, Duration::from_millis(1)));
            drop(mutex.try_lock());
            expected.push((mutex.identity(), How::Mutex, 3));
            let spin = SpinLock::new(&KINDS, ());
            drop(spin.lock());
            drop(spin.try_lock());
            expected.push((spin.identity(), How::Spin, 2));
            let lock = RwLock::new(&KINDS, ());
            drop((lock.read(), lock.try_read()));
            drop(lock.write());
            drop(lock.try_write());
            expected.push((lock.identity(), How::Read, 2));
            expected.push((lock.identity(), How::Write, 2));
            McsLock::new(&KINDS, ()).with(|()| {});
            TimePublishedLock::new(&KINDS, ()).with(|()| {});
            let groups = GroupRwLock::<()>::new(&KINDS, Spread::Never, ());
            drop((groups.read(), groups.try_read()));
            drop(groups.write());
            drop(groups.try_write());
            expected.push((groups.identity(), How::Read, 2));
            expected.push((groups.identity(), How::Write, 2));
        });
        for (lock, how, tries) in expected {
            let of: Vec<Row> = rows.iter().filter(|row| (row.lock, row.how) == (lock, how)).copied().collect();
            assert_eq!(sum(&of).tries, tries, "{how:?}");
        }
        let queues: Vec<Row> = rows.iter().filter(|row| row.how == How::Queue).copied().collect();
        assert_eq!(sum(&queues).tries, 2);
        assert_eq!(sum(&rows).collisions, 0);
    }

    #[test]
    fn what_is_refused_is_a_collision() {
        static REFUSED: LockClass = LockClass::nested("refused", 1);
        let (lock, spin, groups) = (
            RwLock::new(&REFUSED, ()),
            SpinLock::new(&REFUSED, ()),
            GroupRwLock::<()>::new(&REFUSED, Spread::Never, ()),
        );
        let rows = profiled(&REFUSED, || {
            let held = (lock.write(), spin.lock(), groups.write());
            assert!(lock.try_read().is_none() && lock.try_write().is_none() && spin.try_lock().is_none());
            assert!(groups.try_read().is_none() && groups.try_write().is_none());
            drop(held);
        });
        assert_eq!(sum(&rows), Counts { tries: 8, collisions: 5, ..Counts::default() });
    }

    /// The waiter tells how long it waited and then held the lock, the holder how long it kept the waiter.
    #[cfg(not(feature = "single"))]
    #[test]
    fn a_wait_is_told_by_both_sides() {
        static BUSY: LockClass = LockClass::new("busy", 1);
        const MS: Duration = Duration::from_millis(20);
        // A waiter of another test may have the lock's place: then with another lock.
        let locks: Vec<Mutex<()>> = (0..64).map(|_| Mutex::new(&BUSY, ())).collect();
        let attempt = |lock: &Mutex<()>| {
            let mut seen = false;
            let mut rows = profiled(&BUSY, || {
                std::thread::scope(|scope| {
                    let held = lock.lock();
                    let waiter = scope.spawn(|| {
                        let held = lock.lock();
                        std::thread::sleep(MS);
                        drop(held);
                    });
                    let begun = std::time::Instant::now();
                    while !seen && begun.elapsed() < Duration::from_secs(1) {
                        seen = super::Awaited::of(lock.identity()).is_for(lock.identity());
                        std::thread::yield_now();
                    }
                    std::thread::sleep(MS);
                    drop(held);
                    waiter.join().unwrap();
                });
            });
            rows.retain(|row| row.lock == lock.identity());
            seen.then_some(rows)
        };
        let rows = locks.iter().find_map(attempt).expect("a lock whose place is free");
        let least = MS.as_nanos() as u64;
        let [holder] = &rows.iter().filter(|row| row.counts.collisions == 0).collect::<Vec<_>>()[..] else {
            panic!("{rows:?}")
        };
        let [waiter] = &rows.iter().filter(|row| row.counts.collisions == 1).collect::<Vec<_>>()[..] else {
            panic!("{rows:?}")
        };
        assert_ne!((holder.thread, holder.site), (waiter.thread, waiter.site));
        assert_eq!((holder.counts.tries, holder.counts.kept, holder.counts.held), (1, 1, 0));
        assert!(holder.counts.kept_ns >= least);
        assert_eq!((waiter.counts.tries, waiter.counts.kept, waiter.counts.held), (1, 0, 1));
        assert!(waiter.counts.wait_ns >= least && waiter.counts.held_ns >= least);
        let bucket = waiter.counts.wait_ns.ilog2() as usize;
        assert_eq!((waiter.counts.waits[bucket], waiter.counts.waits.iter().sum::<u64>()), (1, 1));
    }

    /// Others count while the profile goes on and off and snapshots are taken: no snapshot goes back or runs ahead, and with the switch on
    /// throughout nothing is lost.
    #[cfg(not(feature = "single"))]
    #[test]
    fn switching_and_looking_lose_nothing() {
        static FLICKER: LockClass = LockClass::nested("flicker", 1);
        let each = if cfg!(miri) { 50 } else { 20_000 };
        let locks = [Mutex::new(&FLICKER, 0_u64), Mutex::new(&FLICKER, 0)];
        let work = || {
            for i in 0..each {
                *locks[i % 2].lock() += 1;
            }
        };
        let rows = profiled(&FLICKER, || {
            std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(work))));
        });
        assert_eq!(sum(&rows).tries, 3 * each as u64);
        let rows = profiled(&FLICKER, || {
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
                let mut last = Snapshot::take();
                while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                    set_enabled(false);
                    set_enabled(true);
                    let next = Snapshot::take();
                    for row in next.since(&last).rows {
                        assert!(row.counts.tries <= 3 * each as u64, "went back: {row:?}");
                    }
                    last = next;
                }
            });
        });
        assert!(sum(&rows).tries <= 3 * each as u64);
    }
}
