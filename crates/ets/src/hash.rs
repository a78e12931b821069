//! One shard of a hash table: linear hashing (Litwin, 1980; Larson, 1988) with chains of rows.
//!
//! The number of buckets grows by one with each row beyond one per bucket, so no insertion is ever long. Order within a
//! chain, and so the order of traversals, is OTP's: a new key goes last, a new object of an old key before its like.
//!
//! S1. A row is in the bucket that its hash gives for the present number of buckets.
//! S2. Rows with equal keys stand together in their chain. At most one of them is visible in a set.
//! S3. While the table is fixed no bucket is split or joined and no row leaves: it is hidden instead, and its hash noted, so
//!     that [`Shard::purge`] finds it.

use crate::row::{HEAD_WORDS, NewRow, Row};
use myriad_term::Term;
use myriad_term::equal::eq_exact;

/// Buckets of the first segment, and of further ones, as OTP counts them.
const FIRST_SEGMENT: usize = 256;
const SEGMENT: usize = 2048;

/// A shard.
pub struct Shard {
    buckets: Vec<Option<Row>>,
    /// Buckets it never goes below.
    least: usize,
    /// Bits of the hash that chose the shard.
    shift: u32,
    keypos: usize,
    rows: usize,
    words: usize,
    hidden: Vec<u32>,
    hidden_rows: usize,
}

/// Whether rows may leave now (S3).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fixed {
    /// They are only hidden.
    Yes,
    /// They leave.
    No,
}

impl Shard {
    /// An empty shard of a table with `1 << shift` shards.
    pub fn new(shift: u32, keypos: usize) -> Shard {
        let least = (FIRST_SEGMENT >> shift).max(1);
        Shard {
            buckets: vec![None; least],
            least,
            shift,
            keypos,
            rows: 0,
            words: 0,
            hidden: Vec::new(),
            hidden_rows: 0,
        }
    }

    /// Visible rows.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Words of all rows.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Number of buckets.
    pub fn buckets(&self) -> usize {
        self.buckets.len()
    }

    /// Number of hidden rows.
    pub fn hidden(&self) -> usize {
        self.hidden_rows
    }

    #[inline]
    fn index(&self, hash: u32) -> usize {
        let hash = (hash >> self.shift) as usize;
        let active = self.buckets.len();
        let mask = active.next_power_of_two() - 1;
        let at = hash & mask;
        if at < active { at } else { at & mask >> 1 }
    }

    #[inline]
    fn is_key(&self, row: Row, hash: u32, key: Term) -> bool {
        row.hash() == hash && eq_exact(key, row.key(self.keypos))
    }

    /// The first row of a key, hidden or not.
    #[inline]
    fn first_of(&self, hash: u32, key: Term) -> Option<Row> {
        let mut row = self.buckets[self.index(hash)];
        while let Some(r) = row {
            if self.is_key(r, hash, key) {
                return row;
            }
            row = r.next();
        }
        None
    }

    /// The visible rows of a key, the newest first.
    #[inline]
    pub fn rows_of(&self, hash: u32, key: Term) -> impl Iterator<Item = Row> {
        let first = self.first_of(hash, key);
        std::iter::successors(first, |r| r.next())
            .take_while(move |r| self.is_key(*r, hash, key))
            .filter(|r| !r.is_hidden())
    }

    /// The visible row of a key, in a set.
    #[inline]
    pub fn row_of(&self, hash: u32, key: Term) -> Option<Row> {
        let mut row = self.first_of(hash, key)?;
        while row.is_hidden() {
            row = row.next().filter(|r| self.is_key(*r, hash, key))?;
        }
        Some(row)
    }

    /// The visible rows of a bucket.
    pub fn bucket(&self, index: usize) -> impl Iterator<Item = Row> {
        self.whole_bucket(index).filter(|r| !r.is_hidden())
    }

    /// The rows of a bucket, hidden ones too.
    pub fn whole_bucket(&self, index: usize) -> impl Iterator<Item = Row> {
        let first = self.buckets.get(index).copied().flatten();
        std::iter::successors(first, |r| r.next())
    }

    /// Length of a bucket's chain, hidden rows included.
    pub fn chain_length(&self, index: usize) -> usize {
        let first = self.buckets.get(index).copied().flatten();
        std::iter::successors(first, |r| r.next()).count()
    }

    /// The visible row that follows the rows of a key: within its bucket, or the bucket's number if there is none there.
    /// Nothing if there is no row of the key, not even a hidden one.
    pub fn after(&self, hash: u32, key: Term) -> Option<Result<Row, usize>> {
        let mut row = self.first_of(hash, key)?.next();
        while let Some(r) = row {
            if !r.is_hidden() && !self.is_key(r, hash, key) {
                return Some(Ok(r));
            }
            row = r.next();
        }
        Some(Err(self.index(hash)))
    }

    /// Where the link to the first row of the key stands, or the end of the chain.
    fn place(&mut self, hash: u32, key: Term) -> *mut Option<Row> {
        let index = self.index(hash);
        let mut at = &raw mut self.buckets[index];
        // SAFETY: R1: links of this shard's chains, which is borrowed for writing.
        unsafe {
            while let Some(row) = *at {
                if self.is_key(row, hash, key) {
                    break;
                }
                at = row.link();
            }
        }
        at
    }

    /// Puts a row where `at` points.
    fn link(&mut self, at: *mut Option<Row>, row: Row) {
        // SAFETY: `at` came from `place`; the new row is in no chain yet.
        unsafe {
            *row.link() = *at;
            *at = Some(row);
        }
        self.rows += 1;
        self.words += row.words();
    }

    /// Takes the row that `at` leads to out of the chain and frees it.
    fn unlink(&mut self, at: *mut Option<Row>) {
        // SAFETY: `at` is a link of this shard's chains.
        unsafe {
            if let Some(row) = *at {
                *at = row.next();
                self.words -= row.words();
                row.free();
            }
        }
    }

    /// A visible row goes: it is freed, or hidden if the table is fixed. Gives the next link to look at.
    fn remove(&mut self, at: *mut Option<Row>, fixed: Fixed) -> *mut Option<Row> {
        // SAFETY: `at` is a link of this shard's chains, which is borrowed for writing.
        unsafe {
            let Some(row) = *at else { return at };
            self.rows -= 1;
            if fixed == Fixed::No {
                self.unlink(at);
                return at;
            }
            row.set_hidden(true);
            self.hidden.push(row.hash());
            self.hidden_rows += 1;
            row.link()
        }
    }

    /// Takes the place of a row with the same key, visible or hidden.
    fn swap(&mut self, at: *mut Option<Row>, new: Row) {
        // SAFETY: as in `remove`.
        unsafe {
            let Some(old) = *at else { return };
            if old.is_hidden() {
                self.rows += 1;
                self.hidden_rows -= 1;
            }
            *new.link() = old.next();
            *at = Some(new);
            self.words = self.words + new.words() - old.words();
            old.free();
        }
    }

    /// Inserts or replaces the row of its key.
    pub fn insert_set(&mut self, row: NewRow, fixed: Fixed) {
        let row = row.into_row();
        let at = self.place(row.hash(), row.key(self.keypos));
        // SAFETY: a link of this shard's chains.
        if unsafe { (*at).is_some() } {
            self.swap(at, row);
        } else {
            self.link(at, row);
            self.grow(fixed);
        }
    }

    /// Inserts an object into a set, or puts it in the place of the one with its key.
    pub fn insert_tuple(&mut self, tuple: Term, key: Term, hash: u32, fixed: Fixed) {
        let elements = tuple.as_tuple().map_or(&[][..], |t| t.elements());
        let at = self.place(hash, key);
        // SAFETY: a link of this shard's chains, which is borrowed for writing. The key's word stays: keys are equal, and
        // equal immediate terms are the same word.
        unsafe {
            match *at {
                Some(old) if old.overwrite(elements) => {}
                Some(_) => self.swap(at, Row::new(tuple, hash)),
                None => {
                    self.link(at, Row::new(tuple, hash));
                    self.grow(fixed);
                }
            }
        }
    }

    /// Adds a row, unless there is an equal one already.
    pub fn insert_bag(&mut self, row: NewRow, fixed: Fixed) {
        let (hash, key) = (row.row().hash(), row.row().key(self.keypos));
        let place = self.place(hash, key);
        let mut at = place;
        // SAFETY: links of this shard's chains, which is borrowed for writing.
        unsafe {
            while let Some(old) = *at {
                if !self.is_key(old, hash, key) {
                    break;
                }
                if eq_exact(old.term(), row.row().term()) {
                    if old.is_hidden() {
                        old.set_hidden(false);
                        self.rows += 1;
                        self.hidden_rows -= 1;
                        if at != place {
                            // It is the newest of its key now.
                            *at = old.next();
                            *old.link() = *place;
                            *place = Some(old);
                        }
                    }
                    return;
                }
                at = old.link();
            }
        }
        self.link(place, row.into_row());
        self.grow(fixed);
    }

    /// Adds a row.
    pub fn insert_duplicate(&mut self, row: NewRow, fixed: Fixed) {
        let row = row.into_row();
        let at = self.place(row.hash(), row.key(self.keypos));
        self.link(at, row);
        self.grow(fixed);
    }

    /// Replaces a visible row of this shard by one with the same key.
    pub fn replace(&mut self, old: Row, new: NewRow) {
        let index = self.index(old.hash());
        let mut at = &raw mut self.buckets[index];
        // SAFETY: links of this shard's chains.
        unsafe {
            while let Some(row) = *at {
                if row == old {
                    return self.swap(at, new.into_row());
                }
                at = row.link();
            }
        }
    }

    /// Deletes the visible rows of a key that `wanted` accepts; gives how many.
    pub fn delete(&mut self, hash: u32, key: Term, fixed: Fixed, mut wanted: impl FnMut(Row) -> bool) -> usize {
        let mut at = self.place(hash, key);
        let mut gone = 0;
        // SAFETY: links of this shard's chains, which is borrowed for writing.
        unsafe {
            while let Some(row) = *at {
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
        }
        if gone > 0 {
            self.shrink(fixed);
        }
        gone
    }

    /// Goes through a bucket: `wanted` says which visible rows are deleted. Gives how many were. Does not shrink, so that
    /// a traversal keeps its place; see [`Shard::shrink`].
    pub fn retain_bucket(&mut self, index: usize, fixed: Fixed, mut doomed: impl FnMut(Row) -> bool) -> usize {
        let Some(first) = self.buckets.get_mut(index) else { return 0 };
        let mut at = &raw mut *first;
        let mut gone = 0;
        // SAFETY: links of this shard's chains, which is borrowed for writing.
        unsafe {
            while let Some(row) = *at {
                if !row.is_hidden() && doomed(row) {
                    at = self.remove(at, fixed);
                    gone += 1;
                } else {
                    at = row.link();
                }
            }
        }
        gone
    }

    /// Frees the hidden rows (the table is no longer fixed).
    pub fn purge(&mut self) {
        for hash in std::mem::take(&mut self.hidden) {
            let index = self.index(hash);
            let mut at = &raw mut self.buckets[index];
            // SAFETY: links of this shard's chains, which is borrowed for writing.
            unsafe {
                while let Some(row) = *at {
                    if row.is_hidden() {
                        self.unlink(at);
                    } else {
                        at = row.link();
                    }
                }
            }
        }
        self.hidden_rows = 0;
    }

    /// Splits buckets while there are more rows than buckets (S3).
    fn grow(&mut self, fixed: Fixed) {
        if fixed == Fixed::Yes {
            return;
        }
        for _ in 0..5 {
            let to = self.buckets.len();
            if self.rows <= to {
                return;
            }
            // The new bucket takes rows from the one that differs in the highest bit only.
            let mask = if to.is_power_of_two() { to << 1 } else { to.next_power_of_two() } - 1;
            let from = to & mask >> 1;
            let mut moved = None;
            let mut end = &raw mut moved;
            let mut at = &raw mut self.buckets[from];
            // SAFETY: links of this shard's chains, or of the new one, which is borrowed for writing.
            unsafe {
                while let Some(row) = *at {
                    if (row.hash() >> self.shift) as usize & mask == to {
                        *at = row.next();
                        *end = Some(row);
                        end = row.link();
                        *end = None;
                    } else {
                        at = row.link();
                    }
                }
            }
            self.buckets.push(moved);
        }
    }

    /// Joins buckets while there are far more buckets than rows (S3); as sparingly as OTP does.
    pub fn shrink(&mut self, fixed: Fixed) {
        if fixed == Fixed::Yes || self.buckets.len() <= self.least {
            return;
        }
        let slots = self.buckets.len().saturating_sub(FIRST_SEGMENT).next_multiple_of(SEGMENT) + FIRST_SEGMENT;
        if slots < FIRST_SEGMENT + 2 * SEGMENT || self.rows >= (slots - SEGMENT) / 2 {
            return;
        }
        for _ in 0..5 {
            if self.buckets.len() <= self.least {
                return;
            }
            let Some(moved) = self.buckets.pop() else { return };
            let from = self.buckets.len();
            let mask = if from.is_power_of_two() { from } else { from.next_power_of_two() >> 1 } - 1;
            let to = &mut self.buckets[from & mask];
            let Some(first) = moved else { continue };
            let mut last = first;
            while let Some(next) = last.next() {
                last = next;
            }
            // SAFETY: the last link of a chain of this shard.
            unsafe { *last.link() = to.take() };
            *to = moved;
        }
    }

    /// Takes all rows out; gives how many visible ones there were.
    pub fn take_all(&mut self) -> (Vec<Option<Row>>, usize) {
        let buckets = std::mem::replace(&mut self.buckets, vec![None; self.least]);
        let rows = std::mem::take(&mut self.rows);
        self.words = 0;
        self.hidden.clear();
        self.hidden_rows = 0;
        (buckets, rows)
    }

    /// Words of the shard itself, as OTP would count them.
    pub fn own_words(&self) -> usize {
        self.buckets.len()
    }
}

/// Frees chains, `limit` rows at most; gives how many rows were freed, and is done when that is less than the limit.
pub fn free_chains(buckets: &mut Vec<Option<Row>>, limit: usize) -> usize {
    let mut freed = 0;
    while let Some(bucket) = buckets.last_mut() {
        while let Some(row) = *bucket {
            if freed == limit {
                return freed;
            }
            *bucket = row.next();
            // SAFETY: R1: the chain was taken out of its table.
            unsafe { row.free() };
            freed += 1;
        }
        buckets.pop();
    }
    freed
}

impl Drop for Shard {
    fn drop(&mut self) {
        let (mut buckets, _) = self.take_all();
        free_chains(&mut buckets, usize::MAX);
    }
}

const _: () = assert!(HEAD_WORDS == 4);
