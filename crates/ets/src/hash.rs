//! One shard of a hash table: linear hashing (Litwin, 1980; Larson, 1988) with chains of rows.
//!
//! The number of buckets grows by one with each row beyond one per bucket, so no insertion is ever long. Order within a
//! chain, and so the order of traversals, is OTP's: a new key goes last, a new object of an old key before its like.
//!
//! S1. A row is in the bucket that its hash gives for the present number of buckets.
//! S2. Rows with equal keys stand together in their chain. At most one of them is visible in a set.
//! S3. While the table is fixed no bucket is split or joined and no row leaves: it is hidden instead, and its hash noted, so
//!     that [`Writing::purge`] finds it.
//! S4. Buckets, links and what changes in rows are written only by the holder of the lock for writing, or by the table's holder
//!     while it is inside (ets.table/TB5), which needs no lock; within a write of [`SeqLock`]. "With the lock" means either. A
//!     reader without the lock ([`Shard::read_optimistically`]) follows links that are never wild, and believes what it has found
//!     if the sequence number lets it (the header of `table` has the whole read).
//! S6. A shard has the hashes whose last `depth` bits are its own. When it is divided ([`Writing::halve`], [`Writing::keep`]) `depth` grows by one, within a write of
//!     [`SeqLock`], and a new shard gets half of the buckets. While the table is fixed, or rows are hidden, none is divided.
//! S5. Arrays of buckets and rows that leave the shard are freed when the readers without the lock have moved on
//!     ([`DeferredFree`]).

use crate::buckets::{Buckets, MOST};
use crate::deferred_free::DeferredFree;
use crate::ordered::{Claim, Reader, Right, Writer};
use crate::row::{HEAD_WORDS, Link, Measured, NewRow, Row};
use crate::strain::Strain;
use myriad_sync::atomic::{AtomicIsize, AtomicPtr, AtomicU32, Ordering};
use myriad_sync::thread::CAN_SPAWN;
use myriad_sync::{LockClass, Mutex, RwLock, SeqLock, SeqWrite};
use myriad_term::equal::eq_exact;
use myriad_term::{Arena, TermRef};
use std::mem::offset_of;
use std::ops::Deref;

/// Buckets of the first segment, and of further ones, as OTP counts them.
const FIRST_SEGMENT: usize = 256;
const SEGMENT: usize = 2048;

/// Rows that are counted one by one when a shard is divided; of more it is assumed that half of them are in each half.
const COUNTED: usize = 1024;

/// Steps through a chain between two looks at how long it can be.
const STEPS: usize = 256;

static HIDDEN_CLASS: LockClass = LockClass::new("db_hash_hidden", 725);

/// A shard.
///
/// What every writer writes stands in one line of the cache: writers on several cores take a shard's line from one another,
/// and should do so once.
#[repr(C)]
pub struct Shard {
    lock: RwLock<()>,
    seqlock: SeqLock,
    rows: AtomicIsize,
    words: AtomicIsize,
    buckets: AtomicPtr<Buckets>,
    /// How many of them are in use.
    active: AtomicU32,
    /// Which user has used the lock lately.
    pub claim: Claim,
    keypos: u32,
    /// Its own last bits (S6).
    bits: u32,
    /// How many of the last bits of a hash choose the shard (S6).
    depth: AtomicU32,
    /// How much it is fought over.
    pub strain: Strain,
    /// By how much `rows` may be wrong, since the shard was divided without counting.
    uncounted: AtomicU32,
    hidden_rows: AtomicU32,
    /// Hashes of hidden rows.
    hidden: Mutex<Vec<u32>>,
}

// Where there is one thread a lock is a flag, and no line has to be shared.
#[cfg(not(loom))]
const _: () = assert!(!CAN_SPAWN || offset_of!(Shard, keypos) == 64 && size_of::<Shard>() <= 128);

/// Whether rows may leave now (S3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// They are only hidden.
    Yes,
    /// They leave.
    No,
}

/// A shard to read, with the lock.
pub struct Reading<'a> {
    shard: &'a Shard,
    _right: Reader<'a, RwLock<()>>,
}

impl Deref for Reading<'_> {
    type Target = Shard;
    #[inline]
    fn deref(&self) -> &Shard {
        self.shard
    }
}

/// A shard whose rows may be changed in place, with the lock.
pub struct Changing<'a> {
    shard: &'a Shard,
    /// Ends before the lock is given up (S4).
    write: SeqWrite<'a>,
    right: Writer<'a, RwLock<()>>,
}

impl Deref for Changing<'_> {
    type Target = Shard;
    #[inline]
    fn deref(&self) -> &Shard {
        self.shard
    }
}

/// A shard to write, with the lock: rows may come and leave.
pub struct Writing<'a> {
    changing: Changing<'a>,
    deferred_free: DeferredFree<'a>,
}

impl Deref for Writing<'_> {
    type Target = Shard;
    #[inline]
    fn deref(&self) -> &Shard {
        self.changing.shard
    }
}

/// A figure that only the holder of the lock changes: the sum is a load and a store.
fn add(figure: &AtomicIsize, by: isize) {
    // Relaxed: the lock orders the threads that count with it; to others it is a figure.
    figure.store(figure.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}

/// Buckets that a shard of this depth never goes below.
fn least(depth: u32) -> usize {
    (FIRST_SEGMENT >> depth).max(1)
}

impl Shard {
    /// An empty shard, of the hashes that end in `depth` bits.
    pub fn new(class: &'static LockClass, bits: u32, depth: u32, keypos: usize) -> Shard {
        debug_assert!(depth < u32::BITS && bits >> depth == 0);
        Shard {
            lock: RwLock::new(class, ()),
            seqlock: SeqLock::new(),
            rows: AtomicIsize::new(0),
            words: AtomicIsize::new(0),
            buckets: AtomicPtr::new(Buckets::new(least(depth))),
            active: AtomicU32::new(least(depth) as u32),
            claim: Claim::default(),
            keypos: keypos as u32,
            bits,
            depth: AtomicU32::new(depth),
            strain: Strain::default(),
            uncounted: AtomicU32::new(0),
            hidden_rows: AtomicU32::new(0),
            hidden: Mutex::new(&HIDDEN_CLASS, Vec::new()),
        }
    }

    #[inline(always)]
    fn keypos(&self) -> usize {
        self.keypos as usize
    }

    /// How many of the last bits of a hash choose the shard.
    #[inline]
    pub fn depth(&self) -> u32 {
        // Relaxed: changed under the lock; S4.
        self.depth.load(Ordering::Relaxed)
    }

    /// The last bits of its hashes, [`Shard::depth`] of them.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Has it the rows of a hash (S6)?
    #[inline(always)]
    pub fn has(&self, hash: u32) -> bool {
        (hash ^ self.bits) & !(u32::MAX << self.depth()) == 0
    }

    /// The lock of the rows; the holder of the table needs none (ets.table/TB5).
    #[inline]
    pub fn lock(&self) -> &RwLock<()> {
        &self.lock
    }

    /// The shard, to read, by a right to it.
    #[inline]
    pub fn read<'a>(&'a self, right: Reader<'a, RwLock<()>>) -> Reading<'a> {
        Reading { _right: right, shard: self }
    }

    /// The shard, to write.
    ///
    /// # Safety
    /// S4: the right is one to this shard.
    #[inline(always)]
    pub unsafe fn write<'a>(&'a self, right: Writer<'a, RwLock<()>>) -> Changing<'a> {
        Changing { write: self.seqlock.write(), shard: self, right }
    }

    /// Reads without the lock (S4). Nothing if a write falls into the time of reading: what `read` gave is worthless then.
    ///
    /// The caller must see to it that what leaves the shard is not freed while it reads (S5).
    #[inline]
    pub fn read_optimistically<R>(&self, read: impl FnOnce(&Shard) -> R) -> Option<R> {
        self.seqlock.read_optimistically(|| read(self))
    }

    /// Visible rows; of a shard that was divided without counting, with those of others it makes the right sum.
    pub fn count(&self) -> isize {
        // Relaxed: a figure.
        self.rows.load(Ordering::Relaxed)
    }

    /// Words of all rows, likewise.
    pub fn words(&self) -> isize {
        // Relaxed: a figure.
        self.words.load(Ordering::Relaxed)
    }

    /// About how many visible rows there are.
    #[allow(clippy::len_without_is_empty, reason = "see `may_be_empty`")]
    pub fn len(&self) -> usize {
        self.count().max(0) as usize
    }

    /// Is it certain that no visible row is there?
    pub fn is_surely_empty(&self) -> bool {
        // Relaxed: changed under the lock; S4.
        self.count() == 0 && self.uncounted.load(Ordering::Relaxed) == 0
    }

    /// Number of buckets.
    #[inline]
    pub fn buckets(&self) -> usize {
        // Relaxed: changed under the lock; S4.
        self.active.load(Ordering::Relaxed) as usize
    }

    /// Number of hidden rows.
    pub fn hidden(&self) -> usize {
        // Relaxed: a figure.
        self.hidden_rows.load(Ordering::Relaxed) as usize
    }

    #[inline]
    fn index(&self, hash: u32) -> usize {
        let hash = (hash >> self.depth()) as usize;
        let active = self.buckets();
        let mask = active.next_power_of_two() - 1;
        let at = hash & mask;
        let at = if at < active { at } else { at & mask >> 1 };
        debug_assert!(at < active, "S1: each hash has a bucket");
        at
    }

    /// Are there as many buckets as there may be? For assertions, with the lock.
    fn has_its_buckets(&self) -> bool {
        (least(self.depth())..=self.room().len()).contains(&self.buckets())
    }

    /// The room for buckets.
    #[inline]
    fn room(&self) -> &[Link] {
        // Acquire: pairs with the Release in `make_room`.
        // SAFETY: S5: it is not freed as long as there may be readers.
        unsafe { (*self.buckets.load(Ordering::Acquire)).links() }
    }

    /// The link at the head of a bucket; without the lock, there may be none.
    #[inline]
    fn bucket_link(&self, index: usize) -> Option<&Link> {
        self.room().get(index)
    }

    #[inline]
    fn is_key(&self, row: Row<'_>, hash: u32, key: TermRef<'_>) -> bool {
        row.hash() == hash && eq_exact(key, row.key(self.keypos()))
    }

    /// The first row of a key, hidden or not.
    #[inline(always)]
    fn first_of(&self, hash: u32, key: TermRef<'_>) -> Option<Row<'_>> {
        let mut row = self.bucket_link(self.index(hash))?.get();
        let mut steps = 0;
        while let Some(r) = row {
            if self.is_key(r, hash, key) {
                return row;
            }
            steps += 1;
            if steps % STEPS == 0 && !self.may_go_on(steps) {
                return None;
            }
            row = r.next();
        }
        None
    }

    /// To be asked every [`STEPS`] steps through a chain: can it be any longer? Without the lock, a chain that is changed all the
    /// time might have no end; with it, a chain may be as long as there are rows.
    #[cold]
    fn may_go_on(&self, steps: usize) -> bool {
        debug_assert!(steps > 0 && steps.is_multiple_of(STEPS));
        // Relaxed: changed under the lock; S4.
        steps <= self.len() + self.hidden() + self.uncounted.load(Ordering::Relaxed) as usize
    }

    /// The visible rows of a key, the newest first.
    #[inline]
    pub fn rows_of(&self, hash: u32, key: TermRef<'_>) -> impl Iterator<Item = Row<'_>> {
        let first = self.first_of(hash, key);
        std::iter::successors(first, |r| r.next())
            .take_while(move |r| self.is_key(*r, hash, key))
            .filter(|r| !r.is_hidden())
    }

    /// The visible row of a key, in a set.
    #[inline(always)]
    pub fn row_of(&self, hash: u32, key: TermRef<'_>) -> Option<Row<'_>> {
        let mut row = self.first_of(hash, key)?;
        while row.is_hidden() {
            row = row.next().filter(|r| self.is_key(*r, hash, key))?;
        }
        Some(row)
    }

    /// The visible rows of a bucket.
    pub fn bucket(&self, index: usize) -> impl Iterator<Item = Row<'_>> {
        self.whole_bucket(index).filter(|r| !r.is_hidden())
    }

    /// The rows of a bucket, hidden ones too.
    pub fn whole_bucket(&self, index: usize) -> impl Iterator<Item = Row<'_>> {
        let first = if index < self.buckets() { self.bucket_link(index).and_then(Link::get) } else { None };
        std::iter::successors(first, |r| r.next())
    }

    /// Length of a bucket's chain, hidden rows included.
    pub fn chain_length(&self, index: usize) -> usize {
        self.whole_bucket(index).count()
    }

    /// The visible row that follows the rows of a key: within its bucket, or the bucket's number if there is none there.
    /// Nothing if there is no row of the key, not even a hidden one.
    pub fn after(&self, hash: u32, key: TermRef<'_>) -> Option<Result<Row<'_>, usize>> {
        let mut row = self.first_of(hash, key)?.next();
        let mut steps = 0;
        while let Some(r) = row {
            if !r.is_hidden() && !self.is_key(r, hash, key) {
                return Some(Ok(r));
            }
            steps += 1;
            if steps % STEPS == 0 && !self.may_go_on(steps) {
                return None;
            }
            row = r.next();
        }
        Some(Err(self.index(hash)))
    }

    /// The link to the first row of the key, or the end of the chain. With the lock.
    fn place(&self, hash: u32, key: TermRef<'_>) -> &Link {
        let mut at = &self.room()[self.index(hash)];
        while let Some(row) = at.get() {
            if self.is_key(row, hash, key) {
                break;
            }
            at = row.link();
        }
        at
    }
}

/// S1 to S4; all links are of this shard's chains, and its lock is held for writing.
impl<'a> Writing<'a> {
    /// What leaves the shard is freed so.
    #[inline(always)]
    pub fn new(changing: Changing<'a>, deferred_free: DeferredFree<'a>) -> Writing<'a> {
        Writing { changing, deferred_free }
    }

    /// Hands over what has left the shard to a scheduler's thread progress: cheaper than dropping.
    #[inline(always)]
    pub fn done(self, slices: Option<&myriad_sync::ThreadSlot>) {
        let Writing { changing: Changing { shard, write, right }, mut deferred_free } = self;
        debug_assert!(shard.seqlock.is_being_written(), "S4: a write ends once");
        debug_assert!(shard.has_its_buckets());
        drop(write);
        drop(right);
        deferred_free.hand_over(slices);
    }

    /// Is it written by the table's holder, and not with the lock?
    #[inline]
    pub fn is_holders(&self) -> bool {
        matches!(self.changing.right, Right::Holder(_))
    }

    /// Sets a link.
    #[inline]
    fn set(link: &Link, row: Option<Row<'_>>) {
        // SAFETY: ets.row/R1: see the impl.
        unsafe { link.set(row.map(Row::address)) };
    }

    /// Puts a row where `at` stands; the row is in no chain yet.
    fn link(&self, at: &Link, row: Row<'_>) {
        Self::set(row.link(), at.get());
        Self::set(at, Some(row));
        add(&self.rows, 1);
        add(&self.words, row.words() as isize);
    }

    /// Takes the row that `at` leads to out of the chain and frees it.
    fn unlink(shard: &Shard, deferred_free: &mut DeferredFree<'_>, at: &Link) {
        debug_assert!(shard.seqlock.is_being_written(), "S4: a link is written");
        if let Some(row) = at.get() {
            Self::set(at, row.next());
            add(&shard.words, -(row.words() as isize));
            deferred_free.row(row);
        }
    }

    /// A visible row goes: it is freed, or hidden if the table is fixed. Gives the next link to look at.
    fn remove<'l>(&mut self, at: &'l Link, fixed: Fixed) -> &'l Link {
        let Some(row) = at.get() else { return at };
        debug_assert!(!row.is_hidden(), "S3: a row goes once");
        add(&self.rows, -1);
        if fixed == Fixed::No {
            Self::unlink(self.changing.shard, &mut self.deferred_free, at);
            return at;
        }
        // SAFETY: ets/R1: see the impl.
        unsafe { row.set_hidden(true) };
        let mut hidden = self.hidden.lock();
        hidden.push(row.hash());
        self.count_hidden(1);
        debug_assert!(self.hidden() <= hidden.len(), "S3: a hidden row is noted");
        row.link()
    }

    /// A hidden row counts as visible again.
    fn shown(&self) {
        debug_assert!(self.hidden() > 0, "S3: it was not counted as hidden");
        add(&self.rows, 1);
        self.count_hidden(-1);
    }

    /// One row more, or less, is hidden.
    fn count_hidden(&self, by: i32) {
        // Relaxed: as in `add`.
        self.hidden_rows.store(self.hidden_rows.load(Ordering::Relaxed).wrapping_add_signed(by), Ordering::Relaxed);
    }

    /// Takes the place of a row with the same key, visible or hidden.
    fn swap(&mut self, at: &Link, new: Row<'_>) {
        let Some(old) = at.get() else { return };
        debug_assert!(old.hash() == new.hash() && !new.is_hidden(), "S2: a row takes the place of one with its key");
        debug_assert!(new.next().is_none() && old != new, "R1: a row is in one chain");
        if old.is_hidden() {
            self.shown();
        }
        Self::set(new.link(), old.next());
        Self::set(at, Some(new));
        add(&self.words, new.words() as isize - old.words() as isize);
        self.deferred_free.row(old);
    }

    /// Inserts or replaces the row of its key.
    pub fn insert_set(&mut self, row: NewRow, fixed: Fixed) {
        // SAFETY: ets.row/R1: the lock is held for writing.
        let row = unsafe { row.into_row().row() };
        let at = self.changing.shard.place(row.hash(), row.key(self.keypos()));
        if at.get().is_some() {
            self.swap(at, row);
        } else {
            self.link(at, row);
            self.grow(fixed);
        }
    }

    /// Inserts an object into a set, or puts it in the place of the one with its key.
    pub fn insert_tuple(&mut self, tuple: Measured<'_>, key: TermRef<'_>, hash: u32, fixed: Fixed) {
        let elements = tuple.elements();
        debug_assert!(elements.len() > self.keypos(), "a row has a key");
        let at = self.changing.shard.place(hash, key);
        debug_assert!(at.get().is_none_or(|row| row.hash() == hash), "S2");
        match at.get() {
            // SAFETY: ets/R1: see the impl. The key's word stays: keys are equal, and equal immediate terms are the same word.
            Some(old) if unsafe { old.overwrite(elements) } => {}
            // SAFETY: ets/R1: see the impl; there are no readers without the lock if what leaves is freed at once.
            Some(old) if self.deferred_free.is_at_once() && unsafe { old.rewrite(tuple) } => {}
            Some(_) => self.swap(at, Row::sized(tuple, hash)),
            None => {
                self.link(at, Row::sized(tuple, hash));
                self.grow(fixed);
            }
        }
    }

    /// Adds a row, unless there is an equal one already.
    pub fn insert_bag(&mut self, row: NewRow, fixed: Fixed) {
        let (hash, key) = (row.row().hash(), row.row().key(self.keypos()));
        let place = self.changing.shard.place(hash, key);
        let mut at = place;
        let memory = Arena::new();
        let new = row.row().term(&memory);
        while let Some(old) = at.get() {
            if !self.is_key(old, hash, key) {
                break;
            }
            if eq_exact(old.term(&Arena::new()), new) {
                if old.is_hidden() {
                    // SAFETY: ets/R1: see the impl.
                    unsafe { old.set_hidden(false) };
                    self.shown();
                    if !std::ptr::eq(at, place) {
                        // It is the newest of its key now.
                        Self::set(at, old.next());
                        Self::set(old.link(), place.get());
                        Self::set(place, Some(old));
                    }
                }
                return;
            }
            at = old.link();
        }
        // SAFETY: ets.row/R1: the lock is held for writing.
        self.link(place, unsafe { row.into_row().row() });
        self.grow(fixed);
    }

    /// Adds a row.
    pub fn insert_duplicate(&mut self, row: NewRow, fixed: Fixed) {
        // SAFETY: ets.row/R1: the lock is held for writing.
        let row = unsafe { row.into_row().row() };
        let at = self.changing.shard.place(row.hash(), row.key(self.keypos()));
        self.link(at, row);
        self.grow(fixed);
    }

    /// Replaces a visible row of this shard by one with the same key.
    pub fn replace(&mut self, old: Row<'_>, new: NewRow) {
        let mut at = &self.changing.shard.room()[self.index(old.hash())];
        while let Some(row) = at.get() {
            if row == old {
                // SAFETY: ets.row/R1: the lock is held for writing.
                return self.swap(at, unsafe { new.into_row().row() });
            }
            at = row.link();
        }
        debug_assert!(false, "S1: the row is not in the bucket of its hash");
    }

    /// Deletes the visible rows of a key that `wanted` accepts; gives how many.
    pub fn delete(
        &mut self,
        hash: u32,
        key: TermRef<'_>,
        fixed: Fixed,
        mut wanted: impl FnMut(Row<'_>) -> bool,
    ) -> usize {
        let mut at = self.changing.shard.place(hash, key);
        let (mut gone, before) = (0, self.count());
        while let Some(row) = at.get() {
            if !self.is_key(row, hash, key) {
                break;
            }
            if !row.is_hidden() && wanted(row) {
                at = self.remove(at, fixed);
                gone += 1;
            } else {
                at = row.link();
            }
        }
        debug_assert_eq!(before - gone as isize, self.count());
        if gone > 0 {
            self.shrink(fixed);
        }
        gone
    }

    /// Goes through a bucket: `wanted` says which visible rows are deleted. Gives how many were. Does not shrink, so that
    /// a traversal keeps its place; see [`Writing::shrink`].
    pub fn retain_bucket(&mut self, index: usize, fixed: Fixed, mut doomed: impl FnMut(Row<'_>) -> bool) -> usize {
        let Some(mut at) = self.changing.shard.bucket_link(index).filter(|_| index < self.buckets()) else { return 0 };
        let (mut gone, before) = (0, self.count());
        while let Some(row) = at.get() {
            if !row.is_hidden() && doomed(row) {
                at = self.remove(at, fixed);
                gone += 1;
            } else {
                at = row.link();
            }
        }
        debug_assert_eq!(before - gone as isize, self.count());
        gone
    }

    /// Frees the hidden rows (the table is no longer fixed).
    pub fn purge(&mut self) {
        let hidden = std::mem::take(&mut *self.hidden.lock());
        let mut purged = 0;
        for hash in hidden {
            let mut at = &self.changing.shard.room()[self.index(hash)];
            while let Some(row) = at.get() {
                if row.is_hidden() {
                    purged += 1;
                    Self::unlink(self.changing.shard, &mut self.deferred_free, at);
                } else {
                    at = row.link();
                }
            }
        }
        debug_assert_eq!(purged, self.hidden(), "S3: what is noted leads to all hidden rows");
        // Relaxed: a figure.
        self.hidden_rows.store(0, Ordering::Relaxed);
    }

    /// Makes the first `count` buckets of a larger array.
    fn make_room(&mut self) {
        let old = self.changing.shard.room();
        debug_assert_eq!(old.len(), self.buckets(), "there is room left");
        let new = Buckets::new(old.len() * 2);
        for (i, link) in old.iter().enumerate() {
            // SAFETY: the new array is ours alone yet.
            Self::set(unsafe { &(*new).links()[i] }, link.get());
        }
        // Release: pairs with the Acquire in `room`: the links come before the array.
        let old = self.changing.shard.buckets.swap(new, Ordering::Release);
        self.deferred_free.buckets(old);
    }

    /// Splits buckets while there are more rows than buckets (S3).
    #[inline]
    fn grow(&mut self, fixed: Fixed) {
        if fixed == Fixed::No && self.len() > self.buckets() {
            self.split();
        }
    }

    fn split(&mut self) {
        for _ in 0..5 {
            if self.len() <= self.buckets() || self.buckets() == MOST {
                return;
            }
            self.split_one();
        }
    }

    /// Adds a bucket (S3).
    fn split_one(&mut self) {
        let (to, depth) = (self.buckets(), self.depth());
        if to == self.room().len() {
            self.make_room();
        }
        // The new bucket takes rows from the one that differs in the highest bit only.
        let mask = if to.is_power_of_two() { to << 1 } else { to.next_power_of_two() } - 1;
        let room = self.changing.shard.room();
        let mut end = &room[to];
        debug_assert!(end.get().is_none(), "S1: a bucket that is not in use has no rows");
        Self::set(end, None);
        let mut at = &room[to & mask >> 1];
        while let Some(row) = at.get() {
            if (row.hash() >> depth) as usize & mask == to {
                Self::set(at, row.next());
                Self::set(row.link(), None);
                Self::set(end, Some(row));
                end = row.link();
            } else {
                at = row.link();
            }
        }
        // Relaxed: S4.
        self.active.store(to as u32 + 1, Ordering::Relaxed);
        debug_assert!(self.has_its_buckets());
    }

    /// Makes a new shard with the rows of half of its hashes, those with the next bit set (S6), which is to be entered where the shards of the
    /// table are found while this one gives them up ([`Writing::keep`]). `class`: of the new one's lock.
    ///
    /// The bucket of a hash is chosen by the bits above the last `depth`, and the buckets of linear hashing are numbered by the last ones of these: so the buckets with
    /// even numbers stay, those with odd ones go, and no row is touched.
    pub fn halve(&mut self, class: &'static LockClass) -> (Shard, Kept) {
        debug_assert!(self.hidden() == 0, "S6: hidden rows are noted in the shard that they were in");
        if self.buckets() == 1 {
            self.split_one();
        }
        let (depth, active, rows) = (self.depth(), self.buckets(), self.count());
        let new = Shard::new(class, self.bits | 1 << depth, depth + 1, self.keypos());
        let links = self.changing.shard.room();
        let half = |odd: usize| {
            let half = Buckets::new(links.len() / 2);
            for (i, link) in links[..active].iter().skip(odd).step_by(2).enumerate() {
                // SAFETY: the array is ours alone yet.
                Self::set(unsafe { &(*half).links()[i] }, link.get());
            }
            half
        };
        let (stay, go) = (half(0), half(1));
        // Relaxed, six times: the new shard is not shared yet.
        let empty = new.buckets.swap(go, Ordering::Relaxed);
        // SAFETY: nobody has had it.
        unsafe { Buckets::free(empty) };
        new.active.store((active / 2) as u32, Ordering::Relaxed);
        let (gone, words, uncounted) = if rows.unsigned_abs() <= COUNTED && self.uncounted.load(Ordering::Relaxed) == 0
        {
            let gone = || (0..active / 2).flat_map(|i| new.whole_bucket(i));
            (gone().count() as isize, gone().map(|row| row.words() as isize).sum(), 0)
        } else {
            let most = self.uncounted.load(Ordering::Relaxed).saturating_add(rows.unsigned_abs() as u32);
            new.uncounted.store(most, Ordering::Relaxed);
            (rows / 2, self.words() / 2, most)
        };
        new.rows.store(gone, Ordering::Relaxed);
        new.words.store(words, Ordering::Relaxed);
        (new, Kept { buckets: stay, active: active.div_ceil(2) as u32, gone, words, uncounted })
    }

    /// Gives up what [`Writing::halve`] has given to a new shard.
    pub fn keep(&mut self, kept: Kept) {
        add(&self.rows, -kept.gone);
        add(&self.words, -kept.words);
        // Release: as in `make_room`. Relaxed: S4.
        let old = self.changing.shard.buckets.swap(kept.buckets, Ordering::Release);
        self.active.store(kept.active, Ordering::Relaxed);
        self.uncounted.store(kept.uncounted, Ordering::Relaxed);
        self.depth.store(self.depth() + 1, Ordering::Relaxed);
        self.deferred_free.buckets(old);
        debug_assert!(self.has_its_buckets());
    }

    /// Joins buckets while there are far more buckets than rows (S3); as sparingly as OTP does.
    pub fn shrink(&mut self, fixed: Fixed) {
        let active = self.buckets();
        let least = least(self.depth());
        if fixed == Fixed::Yes || active <= least {
            return;
        }
        let slots = active.saturating_sub(FIRST_SEGMENT).next_multiple_of(SEGMENT) + FIRST_SEGMENT;
        if slots < FIRST_SEGMENT + 2 * SEGMENT || self.len() >= (slots - SEGMENT) / 2 {
            return;
        }
        for _ in 0..5 {
            let active = self.buckets();
            if active <= least {
                return;
            }
            let from = active - 1;
            let mask = if from.is_power_of_two() { from } else { from.next_power_of_two() >> 1 } - 1;
            let room = self.changing.shard.room();
            if let Some(first) = room[from].get() {
                let mut last = first;
                while let Some(next) = last.next() {
                    last = next;
                }
                let to = &room[from & mask];
                Self::set(last.link(), to.get());
                Self::set(to, Some(first));
                Self::set(&room[from], None);
            }
            // Relaxed: S4.
            self.active.store(from as u32, Ordering::Relaxed);
            debug_assert!(self.has_its_buckets());
        }
    }

    /// Takes all rows out.
    pub fn take_all(&mut self) -> Chains {
        let rows = self.count() + self.hidden() as isize;
        let least = least(self.depth());
        // Release: as in `make_room`. Relaxed: S4.
        let buckets = self.changing.shard.buckets.swap(Buckets::new(least), Ordering::Release);
        let active = self.active.swap(least as u32, Ordering::Relaxed) as usize;
        self.rows.store(0, Ordering::Relaxed);
        self.words.store(0, Ordering::Relaxed);
        self.hidden_rows.store(0, Ordering::Relaxed);
        self.uncounted.store(0, Ordering::Relaxed);
        self.hidden.lock().clear();
        Chains { buckets, active, rows }
    }
}

/// What is left of a shard when the half of its hashes is given to a new one.
pub struct Kept {
    buckets: *mut Buckets,
    active: u32,
    gone: isize,
    words: isize,
    uncounted: u32,
}

/// Chains that have left their shard.
pub struct Chains {
    buckets: *mut Buckets,
    active: usize,
    rows: isize,
}

// SAFETY: its rows have left their table, and have no other owner.
unsafe impl Send for Chains {}

impl Chains {
    /// How many rows there were, hidden ones too; as [`Shard::count`].
    pub fn rows(&self) -> isize {
        self.rows
    }

    /// Frees rows, `limit` at most; gives how many, and is done when that is less than the limit.
    ///
    /// # Safety
    /// No reader can have the rows any more (S5).
    pub unsafe fn free(&mut self, limit: usize) -> usize {
        let mut freed = 0;
        // SAFETY: the array is this value's own.
        let room = unsafe { (*self.buckets).links() };
        debug_assert!(self.active <= room.len());
        while let Some(last) = self.active.checked_sub(1) {
            let link = &room[last];
            while let Some(row) = link.get() {
                if freed == limit {
                    return freed;
                }
                // SAFETY: ets/R1: the chain was taken out of its table.
                unsafe {
                    link.set(row.next().map(Row::address));
                    row.free();
                }
                freed += 1;
            }
            self.active = last;
        }
        debug_assert!(freed <= limit && self.active == 0);
        freed
    }
}

impl Drop for Chains {
    /// Frees the array, and the rows that are left: it may be dropped only if no reader can have either (S5).
    fn drop(&mut self) {
        // SAFETY: the array is this value's own; no reader can have it or its rows (see the comment of `drop`).
        unsafe {
            self.free(usize::MAX);
            Buckets::free(self.buckets);
        }
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // Relaxed: no other thread has the shard.
        let buckets = self.buckets.load(Ordering::Relaxed);
        drop(Chains { buckets, active: self.buckets(), rows: 0 });
    }
}

const _: () = assert!(HEAD_WORDS == 4);
