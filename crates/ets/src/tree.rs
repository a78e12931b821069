//! The rows of an ordered set, in a B-tree by the arithmetic order of their keys.
//!
//! The tree is the standard library's; an entry keeps the key's word beside the row, so that small keys compare without
//! looking at the row. [`Place`] are the points from which a traversal starts: at or beside a key, or at the edge of the
//! keys that a partly bound pattern can match.

use crate::row::{NewRow, Row};
use myriad_term::Term;
use myriad_term::compare::compare;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Bound;

/// A key, ordered arithmetically.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Key(Term);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Key {}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Key) -> Ordering {
        compare(self.0, other.0)
    }
}

#[derive(Clone, Copy)]
struct Entry {
    key: Key,
    row: Row,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key == other.key
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key.cmp(&other.key)
    }
}
impl Borrow<Key> for Entry {
    fn borrow(&self) -> &Key {
        &self.key
    }
}

/// Where a key stands to a pattern: `Equal` if it may match as far as the pattern's leading parts tell.
pub type Edge<'a> = &'a dyn Fn(Term) -> Ordering;

/// A point between keys.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// Before all keys.
    Start,
    /// After all keys.
    End,
    /// Just before a key, there or not.
    Before(Term),
    /// Just after a key, there or not.
    After(Term),
    /// Before the first key that is `Equal` by this.
    BeforeAll(Edge<'a>),
    /// After the last key that is `Equal` by this.
    AfterAll(Edge<'a>),
}

/// A point as something that keys can be compared with: a key is itself, any other point is between keys.
trait Point {
    /// The order of this point to a key.
    fn to_key(&self, key: Term) -> Ordering;
    /// The key, if it is one.
    fn key(&self) -> Option<Term>;
}

impl Point for Entry {
    fn to_key(&self, key: Term) -> Ordering {
        compare(self.key.0, key)
    }
    fn key(&self) -> Option<Term> {
        Some(self.key.0)
    }
}

/// An edge of what a pattern can match: `then` is where keys that are `Equal` stand to it.
struct EdgePoint<'a>(Edge<'a>, Ordering);

impl Point for EdgePoint<'_> {
    fn to_key(&self, key: Term) -> Ordering {
        (self.0)(key).reverse().then(self.1)
    }
    fn key(&self) -> Option<Term> {
        None
    }
}

impl<'a> Borrow<dyn Point + 'a> for Entry {
    fn borrow(&self) -> &(dyn Point + 'a) {
        self
    }
}
impl PartialEq for dyn Point + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for dyn Point + '_ {}
impl PartialOrd for dyn Point + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for dyn Point + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.key(), other.key()) {
            (_, Some(key)) => self.to_key(key),
            (Some(key), None) => other.to_key(key).reverse(),
            (None, None) => Ordering::Equal,
        }
    }
}

/// The rows of an ordered set.
pub struct Tree {
    entries: BTreeSet<Entry>,
    keypos: usize,
    words: usize,
}

impl Tree {
    /// No rows.
    pub fn new(keypos: usize) -> Tree {
        Tree { entries: BTreeSet::new(), keypos, words: 0 }
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Words of all rows, one more for each as OTP counts.
    pub fn words(&self) -> usize {
        self.words + self.entries.len()
    }

    /// The row of a key.
    #[inline]
    pub fn row_of(&self, key: Term) -> Option<Row> {
        self.entries.get(&Key(key)).map(|e| e.row)
    }

    fn entry(&self, row: Row) -> Entry {
        Entry { key: Key(row.key(self.keypos)), row }
    }

    /// Inserts or replaces the row of its key.
    pub fn insert(&mut self, row: NewRow) {
        let row = row.into_row();
        self.words += row.words();
        if let Some(old) = self.entries.replace(self.entry(row)) {
            self.words -= old.row.words();
            // SAFETY: R1: it has just left the table.
            unsafe { old.row.free() };
        }
    }

    /// Deletes the row of a key if `wanted` accepts it.
    pub fn delete(&mut self, key: Term, wanted: impl FnOnce(Row) -> bool) -> bool {
        if !self.row_of(key).is_some_and(wanted) {
            return false;
        }
        if let Some(entry) = self.entries.take(&Key(key)) {
            self.words -= entry.row.words();
            // SAFETY: R1: it has just left the table.
            unsafe { entry.row.free() };
        }
        true
    }

    /// The rows after a point, ascending.
    pub fn upwards(&self, from: Place<'_>) -> Box<dyn Iterator<Item = Row> + '_> {
        let unbounded = Bound::<&Key>::Unbounded;
        match from {
            Place::Start => Box::new(self.entries.iter().map(|e| e.row)),
            Place::End => Box::new(std::iter::empty()),
            Place::Before(key) => {
                Box::new(self.entries.range::<Key, _>((Bound::Included(&Key(key)), unbounded)).map(|e| e.row))
            }
            Place::After(key) => {
                Box::new(self.entries.range::<Key, _>((Bound::Excluded(&Key(key)), unbounded)).map(|e| e.row))
            }
            Place::BeforeAll(edge) => self.behind_edge(&EdgePoint(edge, Ordering::Less)),
            Place::AfterAll(edge) => self.behind_edge(&EdgePoint(edge, Ordering::Greater)),
        }
    }

    fn behind_edge(&self, point: &EdgePoint<'_>) -> Box<dyn Iterator<Item = Row> + '_> {
        let from: Bound<&dyn Point> = Bound::Excluded(point);
        Box::new(self.entries.range::<dyn Point, _>((from, Bound::Unbounded)).map(|e| e.row))
    }

    /// The rows before a point, descending.
    pub fn downwards(&self, from: Place<'_>) -> Box<dyn Iterator<Item = Row> + '_> {
        let unbounded = Bound::<&Key>::Unbounded;
        match from {
            Place::End => Box::new(self.entries.iter().rev().map(|e| e.row)),
            Place::Start => Box::new(std::iter::empty()),
            Place::Before(key) => {
                Box::new(self.entries.range::<Key, _>((unbounded, Bound::Excluded(&Key(key)))).rev().map(|e| e.row))
            }
            Place::After(key) => {
                Box::new(self.entries.range::<Key, _>((unbounded, Bound::Included(&Key(key)))).rev().map(|e| e.row))
            }
            Place::BeforeAll(edge) => self.before_edge(&EdgePoint(edge, Ordering::Less)),
            Place::AfterAll(edge) => self.before_edge(&EdgePoint(edge, Ordering::Greater)),
        }
    }

    fn before_edge(&self, point: &EdgePoint<'_>) -> Box<dyn Iterator<Item = Row> + '_> {
        let to: Bound<&dyn Point> = Bound::Excluded(point);
        Box::new(self.entries.range::<dyn Point, _>((Bound::Unbounded, to)).rev().map(|e| e.row))
    }

    /// The row just after a point.
    pub fn next(&self, from: Place<'_>) -> Option<Row> {
        match from {
            Place::Start => self.entries.first().map(|e| e.row),
            Place::After(key) => {
                let range = (Bound::Excluded(&Key(key)), Bound::<&Key>::Unbounded);
                self.entries.range::<Key, _>(range).next().map(|e| e.row)
            }
            _ => self.upwards(from).next(),
        }
    }

    /// The row just before a point.
    pub fn prev(&self, from: Place<'_>) -> Option<Row> {
        match from {
            Place::End => self.entries.last().map(|e| e.row),
            Place::Before(key) => {
                let range = (Bound::<&Key>::Unbounded, Bound::Excluded(&Key(key)));
                self.entries.range::<Key, _>(range).next_back().map(|e| e.row)
            }
            _ => self.downwards(from).next(),
        }
    }

    /// The `index`-th row.
    pub fn nth(&self, index: usize) -> Option<Row> {
        self.entries.iter().nth(index).map(|e| e.row)
    }

    /// Takes all rows out.
    pub fn take_all(&mut self) -> Vec<Option<Row>> {
        self.words = 0;
        std::mem::take(&mut self.entries).into_iter().map(|e| Some(e.row)).collect()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let mut rows = self.take_all();
        for row in rows.drain(..).flatten() {
            // SAFETY: R1: it has left the table.
            unsafe { row.free() };
        }
    }
}
