//! [`GroupRwLock`]: a readers-writer lock whose readers do not write one common line while there are many of them.
//!
//! Beneath is the back end's readers-writer lock, whose one word readers write. Beside it there may be groups of readers
//! ([`reader_groups`](crate::reader_groups)), chosen by the number of the thread ([`slot`]), each in a line of its own. As long as readers are *spread* they count in
//! their groups and leave the word alone; a writer has the word, and then stops each group.
//!
//! GL1. `mode` says whether readers count in groups (SPREAD), and changes to and from that with the word held for writing. As long as they do not,
//!      all groups are closed (sync.reader_groups/RG5); otherwise all are open.
//! GL2. A reader that has read an old `mode` does no harm. One that goes to the word is excluded by the writer's hold of it, which each
//!      writer has. One that goes to a group finds it closed, having seen by that what has been stored before, and looks again.
//! GL3. A writer waits for the readers who came before it, and lets those in that have waited for it (sync.reader_groups/RG2,
//!      sync.reader_groups/RG3). Writers take turns as the lock
//!      beneath lets them, before they stop the groups.
//! GL4. Groups are made once, when readers are first spread, and freed with the lock.
//!
//! Which of the two is right depends on the load ([`Spread`]). With groups a reader fetches no line that another core wrote, and a writer fetches one
//! for each group. All locks begin without groups. A reader that finds that another thread has read before it counts that as a *turn*, which was a
//! line fetched. Turns weigh for spreading readers, and the lines of writes against it; a lock that is to be read by many is spread at the
//! second thread's read.
//!
//! What was not done: a bias of the lock itself towards readers (Dice and Kogan, BRAVO, 2019), who leave their mark in a table that
//! all locks share; each read looks for a free place by a hash there, and each revocation goes through the table.

use crate::{
    CachePadded, OnceLock,
    atomic::{AtomicIsize, AtomicU8, AtomicU32, Ordering::Relaxed},
    backend::locks,
    cell::{ConstPtr, MutPtr, UnsafeCell},
    class::{Held, LockClass},
    cost::{self, Hold},
    profile::{self, Counted, How},
    reader_groups::{Arrival, GOES_ROUND, Group, Leaves},
    slot, thread,
};
use std::{
    fmt,
    ops::{Deref, DerefMut},
};

/// Groups, at most: 16 KiB of lines.
const MOST_GROUPS: usize = 128;

/// Turns of readers after which they are spread by load: some hundred fetched lines, about what making the groups costs.
const TURNS: u32 = 128;
/// The first reader is a turn, and the second.
const SECOND: u32 = 2;

/// Readers are gathered again when so many more lines were fetched by writers than readers saved, for each group.
const PATIENCE: isize = 16;

/// When readers count in groups. The numbers are of threads that may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// Never: all count in one word.
    Never,
    /// While many read and few write.
    ByLoad(usize),
    /// From the second thread's read on, however many write.
    AtSecondReader(usize),
}

/// Many readers or one writer, where readers may be many at a time. Never poisoned. `B` stands beside the lock's word ([`GroupRwLock::beside`]).
///
/// What every acquisition by the word writes is one line, and what others only read is in another.
#[repr(C)]
pub struct GroupRwLock<T, B = ()> {
    by_word: ByWord<B>,
    class: &'static LockClass,
    /// GL1.
    mode: AtomicU8,
    /// Are readers ever gathered again?
    gathers: bool,
    /// Turns after which readers are spread.
    limit: u32,
    /// How many groups there are to be, as a power of two.
    most: u32,
    /// GL4.
    groups: OnceLock<Box<[CachePadded<Group>]>>,
    value: UnsafeCell<T>,
}

/// The line of the lock's word.
#[repr(align(64))]
struct ByWord<B> {
    word: locks::RwLock<()>,
    /// The thread that read last while readers were not spread, and one.
    reader: AtomicU32,
    /// Readers' turns while they are not spread, less the lines that writers would have fetched.
    turns: AtomicU32,
    /// Lines that readers have saved since they were spread, less those that writers have fetched. Written with the word held.
    gain: AtomicIsize,
    /// The arrivals in all groups that the last writer found, likewise.
    arrived: AtomicU32,
    beside: B,
}

/// All readers count in the word.
const GATHERED: u8 = 0;
/// As [`GATHERED`]; the next reader is to spread them.
const DUE: u8 = 1;
/// Readers count in groups.
const SPREAD: u8 = 2;

// SAFETY: the lock gives `&T` to several threads (T: Sync) or the value to one (T: Send), by GL1 and GL2.
unsafe impl<T: Send + Sync, B: Sync> Sync for GroupRwLock<T, B> {}
// SAFETY: owning the lock is owning the value and what is beside it.
unsafe impl<T: Send, B: Send> Send for GroupRwLock<T, B> {}

/// The right to read.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct GroupReadGuard<'a, T> {
    // Dropped in this order: the hold is counted, the access ends, then the lock is free, then the class is no longer held.
    _counted: Counted<'a>,
    value: ConstPtr<T>,
    _place: Place<'a>,
    _held: Held,
}

/// Where a reader counts.
enum Place<'a> {
    Word(#[allow(dead_code, reason = "held, and dropped at the end")] locks::ReadGuard<'a, ()>),
    Group(#[allow(dead_code, reason = "held, and dropped at the end")] InGroup<'a>),
}

/// A reader inside a group; departs when dropped.
struct InGroup<'a>(&'a Group);

/// The right to read and write.
#[must_use = "the lock is released at once if the guard is not kept"]
pub struct GroupWriteGuard<'a, T> {
    // Dropped in this order, as in the guard of a reader.
    _counted: Counted<'a>,
    value: MutPtr<T>,
    _stopped: Stopped<'a>,
    _word: locks::WriteGuard<'a, ()>,
    _held: Held,
}

/// Groups that a writer has stopped; it leaves them when this is dropped.
struct Stopped<'a> {
    groups: &'a [CachePadded<Group>],
    mode: &'a AtomicU8,
    gathers: bool,
}

impl<T, B: Default> GroupRwLock<T, B> {
    /// A free lock of this class.
    pub fn new(class: &'static LockClass, spread: Spread, value: T) -> Self {
        let (threads, limit, gathers) = match spread {
            Spread::Never => (1, u32::MAX, false),
            Spread::ByLoad(threads) => (threads, TURNS, true),
            Spread::AtSecondReader(threads) => (threads, SECOND, false),
        };
        // A group for each thread; one for all would be another word, and where there are no other threads nothing is to be spread.
        let most = if thread::CAN_SPAWN { threads.clamp(1, MOST_GROUPS).next_power_of_two() } else { 1 };
        Self {
            by_word: ByWord {
                word: locks::RwLock::new(()),
                reader: AtomicU32::new(0),
                turns: AtomicU32::new(0),
                gain: AtomicIsize::new(0),
                arrived: AtomicU32::new(0),
                beside: B::default(),
            },
            class,
            mode: AtomicU8::new(GATHERED),
            gathers: gathers && most > 1,
            limit: if most > 1 { limit } else { u32::MAX },
            most: most as u32,
            groups: OnceLock::new(),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T, B> GroupRwLock<T, B> {
    /// What its user has in the line of the lock's word, with the lock or without: something that is written when the lock is.
    #[inline]
    pub fn beside(&self) -> &B {
        &self.by_word.beside
    }

    /// The lock's class.
    pub const fn class(&self) -> &'static LockClass {
        self.class
    }

    /// What the lock profile knows the lock by, as long as it stays where it is.
    pub fn identity(&self) -> usize {
        profile::identity(&self.class)
    }

    /// Do readers count in groups at the moment?
    pub fn is_spread(&self) -> bool {
        // Relaxed: a figure.
        self.mode.load(Relaxed) == SPREAD
    }

    /// Waits until no writer has the lock or waits for it, and joins the readers.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> GroupReadGuard<'_, T> {
        self.read_as(slot::index)
    }

    /// Joins the readers as the thread of this number, which is asked for where it is needed.
    #[inline]
    #[track_caller]
    fn read_as(&self, thread: impl Fn() -> usize) -> GroupReadGuard<'_, T> {
        loop {
            let Some(group) = self.group_of(&thread) else {
                // Relaxed: a figure, in the line that `group_of` has looked at.
                if self.mode.load(Relaxed) == DUE {
                    self.spread();
                    continue;
                }
                return self.read_by_word(&thread);
            };
            let held = self.class.hold(Hold::in_group(&self.by_word.word, group));
            let arrival = group.arrive();
            let wait = || arrival.unwrap_or_else(|stopped| group.wait(stopped));
            let (arrival, counted) = profile::acquire(&self.class, How::Read, || arrival.ok(), wait);
            if arrival == Arrival::Inside {
                return self.reader(counted, Place::Group(InGroup(group)), held);
            }
        }
    }

    #[track_caller]
    fn read_by_word(&self, thread: impl Fn() -> usize) -> GroupReadGuard<'_, T> {
        let held = self.class.hold(Hold::shared(&self.by_word.word));
        let (word, counted) =
            profile::acquire(&self.class, How::Read, || self.by_word.word.try_read(), || self.by_word.word.read());
        self.count_turn(thread);
        self.reader(counted, Place::Word(word), held)
    }

    /// Joins the readers if no writer has the lock or waits for it.
    #[track_caller]
    pub fn try_read(&self) -> Option<GroupReadGuard<'_, T>> {
        loop {
            let group = self.group_of(slot::index);
            let hold = group
                .map_or_else(|| Hold::shared(&self.by_word.word), |group| Hold::in_group(&self.by_word.word, group));
            if !cost::is_free(hold) {
                return None;
            }
            let place = match group {
                None => self.by_word.word.try_read().map(Place::Word),
                Some(group) => match group.try_arrive() {
                    Some(Arrival::Inside) => Some(Place::Group(InGroup(group))),
                    Some(Arrival::Closed) => continue,
                    None => None,
                },
            };
            let Some(place) = place else {
                profile::refused(&self.class, How::Read);
                return None;
            };
            let counted = Counted::new(&self.class, How::Read);
            return Some(self.reader(counted, place, self.class.hold_unordered(hold)));
        }
    }

    fn reader<'a>(&'a self, counted: Counted<'a>, place: Place<'a>, held: Held) -> GroupReadGuard<'a, T> {
        GroupReadGuard { _counted: counted, value: self.value.read_ptr(), _place: place, _held: held }
    }

    /// The group in which a thread counts, if readers are spread.
    #[inline]
    fn group_of(&self, thread: impl Fn() -> usize) -> Option<&Group> {
        // Relaxed: GL2.
        let groups = if self.mode.load(Relaxed) == SPREAD { self.groups.get() } else { None }?;
        Some(&groups[thread() & (groups.len() - 1)])
    }

    /// Waits until no thread has the lock, and takes it for writing. Readers that come later wait.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> GroupWriteGuard<'_, T> {
        let held = self.class.hold(Hold::exclusive(&self.by_word.word));
        let (word, counted) =
            profile::acquire(&self.class, How::Write, || self.by_word.word.try_write(), || self.by_word.word.write());
        let groups = self.open_groups();
        if !groups.is_empty() {
            stop(groups);
        }
        self.writer(counted, groups, word, held)
    }

    /// Takes the lock for writing if no thread has it.
    #[track_caller]
    pub fn try_write(&self) -> Option<GroupWriteGuard<'_, T>> {
        if !cost::is_free(Hold::exclusive(&self.by_word.word)) {
            return None;
        }
        let Some(word) = self.by_word.word.try_write() else {
            profile::refused(&self.class, How::Write);
            return None;
        };
        let groups = self.open_groups();
        if let Some(taken) = groups.iter().position(|group| !group.try_stop()) {
            groups[..taken].iter().for_each(|group| group.leave(Leaves::Same));
            profile::refused(&self.class, How::Write);
            return None;
        }
        let counted = Counted::new(&self.class, How::Write);
        Some(self.writer(counted, groups, word, self.class.hold_unordered(Hold::exclusive(&self.by_word.word))))
    }

    /// The groups in which readers may be. To be asked with the word held for writing.
    #[inline]
    fn open_groups(&self) -> &[CachePadded<Group>] {
        // Relaxed: GL1.
        if self.mode.load(Relaxed) == SPREAD { self.groups.get().map_or(&[], |groups| groups) } else { &[] }
    }

    #[inline]
    fn writer<'a>(
        &'a self,
        counted: Counted<'a>,
        groups: &'a [CachePadded<Group>],
        word: locks::WriteGuard<'a, ()>,
        held: Held,
    ) -> GroupWriteGuard<'a, T> {
        let gathers = self.gathers && self.weigh_write(groups);
        let stopped = Stopped { groups, mode: &self.mode, gathers };
        GroupWriteGuard {
            _counted: counted,
            value: self.value.write_ptr(),
            _stopped: stopped,
            _word: word,
            _held: held,
        }
    }

    /// Readers are spread from now on, if they are not already.
    #[cold]
    fn spread(&self) {
        let _held = self.class.hold(Hold::exclusive(&self.by_word.word));
        let (_word, _counted) =
            profile::acquire(&self.class, How::Write, || self.by_word.word.try_write(), || self.by_word.word.write());
        // Relaxed, all: GL1.
        self.by_word.turns.store(0, Relaxed);
        if self.mode.load(Relaxed) == SPREAD {
            return;
        }
        let groups = self.groups.get_or_init(|| (0..self.most).map(|_| CachePadded::new(Group::new(false))).collect());
        // There may be readers that have yet to find out that the groups were closed (GL2).
        stop(groups);
        self.by_word.gain.store(0, Relaxed);
        self.by_word.arrived.store(arrived(groups), Relaxed);
        self.mode.store(SPREAD, Relaxed);
        groups.iter().for_each(|group| group.leave(Leaves::Changed));
    }

    /// Writes, and gathers readers after it, whatever the load is.
    #[cfg(all(test, loom))]
    fn gather(&self, write: impl FnOnce(&mut T)) {
        let mut guard = self.write();
        write(&mut guard);
        guard._stopped.gathers = true;
    }

    /// Counts a read by the lock's word.
    #[inline]
    fn count_turn(&self, thread: impl Fn() -> usize) {
        if self.limit == u32::MAX {
            return;
        }
        // Relaxed, all: figures; of what threads add at the same time some may get lost.
        let reader = thread() as u32 + 1;
        if self.by_word.reader.load(Relaxed) != reader {
            self.by_word.reader.store(reader, Relaxed);
            let turns = self.by_word.turns.load(Relaxed).saturating_add(1);
            self.by_word.turns.store(turns, Relaxed);
            // An exchange: by now readers may be spread. One that fails costs a line that is seldom written.
            if turns >= self.limit {
                let _ = self.mode.compare_exchange(GATHERED, DUE, Relaxed, Relaxed);
            }
        }
    }

    /// Counts a write; says whether readers are to be gathered again after it. To be asked when the groups have been stopped.
    #[inline]
    fn weigh_write(&self, groups: &[CachePadded<Group>]) -> bool {
        // Relaxed, all: figures.
        if groups.is_empty() {
            let turns = self.by_word.turns.load(Relaxed);
            if turns != 0 {
                self.by_word.turns.store(turns.saturating_sub(self.most), Relaxed);
            }
            return false;
        }
        let (arrived, most) = (arrived(groups), self.most as isize);
        let saved = arrived.wrapping_sub(self.by_word.arrived.load(Relaxed)) % GOES_ROUND;
        let gain = self.by_word.gain.load(Relaxed) + saved as isize - most;
        self.by_word.arrived.store(arrived, Relaxed);
        self.by_word.gain.store(gain.min(PATIENCE * most), Relaxed);
        gain < -PATIENCE * most
    }
}

/// Stops the groups, and waits for the readers inside. Out of line: a writer of a lock without groups need not carry the loops.
#[inline(never)]
fn stop(groups: &[CachePadded<Group>]) {
    groups.iter().for_each(|group| group.stop());
    groups.iter().for_each(|group| group.drain());
}

/// How many readers have come to all groups together: a figure that goes round.
fn arrived(groups: &[CachePadded<Group>]) -> u32 {
    groups.iter().fold(0, |sum: u32, group| sum.wrapping_add(group.before()))
}

impl Drop for InGroup<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.depart();
    }
}

impl Drop for Stopped<'_> {
    #[inline]
    fn drop(&mut self) {
        let leaves = if self.gathers {
            // Relaxed: a reader that finds its group closed sees it (GL2).
            self.mode.store(GATHERED, Relaxed);
            Leaves::Changed
        } else {
            Leaves::Same
        };
        self.groups.iter().for_each(|group| group.leave(leaves));
    }
}

impl<T> Deref for GroupReadGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this reader counts in the word or in an open group, so no writer has a guard (GL2, GL3).
        unsafe { self.value.deref() }
    }
}

impl<T> Deref for GroupWriteGuard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the word is held for writing and the groups are stopped, so this is the only guard; `&self` excludes `deref_mut`.
        unsafe { self.value.deref() }
    }
}

impl<T> DerefMut for GroupWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `&mut self` excludes other borrows.
        unsafe { self.value.deref() }
    }
}

impl<T, B> fmt::Debug for GroupRwLock<T, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupRwLock").field("class", &self.class.name()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{GroupRwLock, PATIENCE, Spread, TURNS};
    use crate::{LockClass, thread::CAN_SPAWN};

    static CLASS: LockClass = LockClass::nested("groups", 1);
    const READERS: usize = 4;

    fn excludes(spread: Spread) {
        let lock = GroupRwLock::<_>::new(&CLASS, spread, 1);
        (0..2).for_each(|thread| drop(lock.read_as(|| thread)));
        drop(lock.read());
        let more = matches!(spread, Spread::AtSecondReader(threads) if threads > 1 && CAN_SPAWN);
        assert_eq!(lock.is_spread(), more);
        let mut held = Vec::new();
        for thread in 0..READERS {
            held.push(lock.read_as(|| thread));
        }
        assert!(lock.try_write().is_none());
        held.extend(lock.try_read());
        assert!(held.len() == READERS + 1 && held.iter().all(|value| **value == 1));
        drop(held);
        *lock.try_write().expect("free") += 1;
        {
            let mut writer = lock.write();
            *writer += 1;
            assert!(lock.try_read().is_none() && lock.try_write().is_none());
        }
        assert_eq!(*lock.read(), 3);
    }

    #[test]
    fn readers_share_and_a_writer_excludes() {
        for spread in
            [Spread::Never, Spread::ByLoad(READERS), Spread::AtSecondReader(READERS), Spread::AtSecondReader(1)]
        {
            excludes(spread);
        }
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn readers_that_take_turns_are_spread_and_gathered_when_writes_cost_more() {
        let lock = GroupRwLock::<_>::new(&CLASS, Spread::ByLoad(READERS), ());
        let read = |thread| drop(lock.read_as(|| thread));
        (0..10 * TURNS).for_each(|_| read(3));
        drop(lock.read());
        assert!(!lock.is_spread(), "one thread reads");
        // A write is a turn of each group.
        (0..10 * TURNS as usize).for_each(|i| {
            read(i);
            if i % READERS == 0 {
                drop(lock.write());
            }
        });
        drop(lock.read());
        assert!(!lock.is_spread(), "as many lines either way");
        (0..TURNS as usize).for_each(read);
        drop(lock.read());
        assert!(lock.is_spread());
        let writes = |count| (0..count).for_each(|_| drop(lock.write()));
        for _ in 0..100 {
            (0..4 * READERS).for_each(read);
            writes(4);
        }
        assert!(lock.is_spread(), "as many lines either way");
        // From the most that reads can have gained to the most that may be lost.
        writes(2 * PATIENCE as usize + 1);
        assert!(!lock.is_spread());
        // And again, over the same groups.
        (0..2 * TURNS as usize).for_each(read);
        drop(lock.read());
        assert!(lock.is_spread());
        assert!(lock.try_write().is_some());
    }

    #[cfg(not(feature = "single"))]
    #[test]
    fn sums_stay_whole_while_readers_are_spread_and_gathered() {
        const ROUNDS: usize = if cfg!(miri) { 60 } else { 20_000 };
        for spread in [Spread::Never, Spread::ByLoad(2), Spread::AtSecondReader(READERS)] {
            let lock = GroupRwLock::<_>::new(&CLASS, spread, (0, 0));
            std::thread::scope(|scope| {
                for _ in 0..READERS {
                    scope.spawn(|| {
                        for i in 0..ROUNDS {
                            // Mostly reads, then mostly writes.
                            if i % 16 == 0 || i > ROUNDS * 3 / 4 {
                                let mut both = lock.write();
                                *both = (both.0 + 1, both.1 + 1);
                            } else {
                                let both = lock.read();
                                assert_eq!(both.0, both.1);
                            }
                        }
                    });
                }
            });
            let writes = (0..ROUNDS).filter(|i| i % 16 == 0 || *i > ROUNDS * 3 / 4).count();
            assert_eq!(lock.read().0, READERS * writes);
        }
    }

    /// A reader that is inside for long, a writer that sleeps for it, readers that sleep for the writer.
    #[cfg(not(feature = "single"))]
    #[test]
    fn a_writer_that_waits_keeps_readers_out_and_all_are_woken() {
        let lock = GroupRwLock::<_>::new(&CLASS, Spread::AtSecondReader(READERS), 0);
        lock.spread();
        std::thread::scope(|scope| {
            let first = lock.read_as(|| 0);
            scope.spawn(|| *lock.write() += 1);
            while lock.try_read().is_some() {
                std::thread::yield_now();
            }
            for thread in 0..READERS {
                let lock = &lock;
                scope.spawn(move || assert_eq!(*lock.read_as(|| thread), 1));
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(*first, 0);
        });
    }
}

/// Caught when tried, one at a time (as a value that is read while it is written): Relaxed for the Acquire of a group's `arrive`, `try_arrive`,
/// `wait`, `try_stop` or `drain`, or for the Release of its `depart` or `leave`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::{GroupRwLock, Spread};
    use crate::LockClass;
    use loom::thread;
    use std::sync::Arc;

    static CLASS: LockClass = LockClass::new("groups", 1);

    fn check(model: fn(Arc<GroupRwLock<u32>>)) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let lock = GroupRwLock::<_>::new(&CLASS, Spread::AtSecondReader(2), 0);
            lock.spread();
            model(Arc::new(lock));
        });
    }

    fn spawn(lock: &Arc<GroupRwLock<u32>>, act: fn(&GroupRwLock<u32>)) -> thread::JoinHandle<()> {
        let lock = lock.clone();
        thread::spawn(move || act(&lock))
    }

    /// Two writes beside a reader of each group; each may have to sleep for the other.
    #[test]
    fn loom_group_readers_and_writers_exclude_each_other() {
        check(|lock| {
            let reader = spawn(&lock, |lock| assert!(*lock.read_as(|| 1) <= 2));
            let writer = spawn(&lock, |lock| (0..2).for_each(|_| *lock.write() += 1));
            let found = *lock.read_as(|| 0);
            assert!(found <= 2);
            [reader, writer].into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*lock.read_as(|| 0), 2);
        });
    }

    /// A writer that tries, beside one that waits and a reader.
    #[test]
    fn loom_group_a_writer_that_tries_excludes_too() {
        check(|lock| {
            let reader = spawn(&lock, |lock| assert!(lock.try_read().is_none_or(|value| *value <= 2)));
            let writer = spawn(&lock, |lock| *lock.write() += 1);
            let tried = lock.try_write().map(|mut value| *value += 1).is_some();
            [reader, writer].into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*lock.read_as(|| 0), 1 + u32::from(tried));
        });
    }

    /// Readers are gathered while one of them comes: it reads by the word then, beside no writer.
    #[test]
    fn loom_group_a_reader_comes_while_readers_are_gathered() {
        check(|lock| {
            let reader = spawn(&lock, |lock| assert!(*lock.read_as(|| 1) <= 2));
            lock.gather(|value| *value += 1);
            *lock.write() += 1;
            reader.join().unwrap();
            assert!(!lock.is_spread() && *lock.read_as(|| 1) == 2);
        });
    }

    /// Readers are gathered and spread again while one of them comes.
    #[test]
    fn loom_group_a_reader_comes_while_readers_are_spread() {
        check(|lock| {
            lock.gather(|_| ());
            let reader = spawn(&lock, |lock| assert!(*lock.read_as(|| 1) <= 1));
            lock.spread();
            *lock.write() += 1;
            reader.join().unwrap();
            assert!(lock.is_spread());
        });
    }
}
