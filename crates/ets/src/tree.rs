//! The rows of an ordered set, in a B-tree by the arithmetic order of their keys.
//!
//! The tree is the standard library's, from key to row: keys stand close together, so small ones compare without looking at
//! rows. [`Place`] are the points from which a traversal starts: at or beside a key, or at the edge of the keys that a partly
//! bound pattern can match.
//!
//! TR1. The key of an entry lies in the entry's row.
//! TR2. `version` changes whenever a row comes or goes or the word of a key changes; no two trees ever have the same one. What a
//!      thread has noted of a tree ([`crate::cursor`]) is true as long as the version is.

use crate::row::{Measured, NewRow, Row, RowAddress};
use myriad_sync::atomic::{AtomicU64, Ordering as Sync};
use myriad_term::compare::compare;
use myriad_term::{Term, TermRef};
use std::borrow::Borrow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound;

/// A key, ordered arithmetically.
#[repr(transparent)]
struct Key(Cell<Term>);

// SAFETY: the cell is only set through an exclusive borrow of the tree.
unsafe impl std::marker::Sync for Key {}

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
        compare(self.0.get(), other.0.get())
    }
}

fn key(term: TermRef<'_>) -> Key {
    Key(Cell::new(key_word(term)))
}

/// A term as the tree keeps keys: for as long as a search lasts, or as the row that it lies in is in the tree (TR1).
fn key_word(term: TermRef<'_>) -> Term {
    // SAFETY: what is searched for is held by the caller, and an entry's key by its row; no key leaves the tree but with the
    // lifetime of the tree's borrow, or as TR2 says.
    unsafe { term.assume_held() }
}

/// Where a key stands to a pattern: `Equal` if it may match as far as the pattern's leading parts tell.
pub type Edge<'a> = &'a dyn Fn(TermRef<'_>) -> Ordering;

/// A point between keys.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// Before all keys.
    Start,
    /// After all keys.
    End,
    /// Just before a key, there or not.
    Before(TermRef<'a>),
    /// Just after a key, there or not.
    After(TermRef<'a>),
    /// Before the first key that is `Equal` by this.
    BeforeAll(Edge<'a>),
    /// After the last key that is `Equal` by this.
    AfterAll(Edge<'a>),
}

/// From where a walk goes, and which way.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// Where it begins.
    pub from: Place<'a>,
    /// Towards greater keys?
    pub upwards: bool,
}

/// A point as something that keys can be compared with: a key is itself, any other point is between keys.
trait Point {
    /// The order of this point to a key.
    fn to_key(&self, key: TermRef<'_>) -> Ordering;
    /// The key, if it is one.
    fn key(&self) -> Option<Term>;
}

impl Point for Key {
    fn to_key(&self, key: TermRef<'_>) -> Ordering {
        compare(self.0.get(), key)
    }
    fn key(&self) -> Option<Term> {
        Some(self.0.get())
    }
}

/// An edge of what a pattern can match: `then` is where keys that are `Equal` stand to it.
struct EdgePoint<'a>(Edge<'a>, Ordering);

impl Point for EdgePoint<'_> {
    fn to_key(&self, key: TermRef<'_>) -> Ordering {
        (self.0)(key).reverse().then(self.1)
    }
    fn key(&self) -> Option<Term> {
        None
    }
}

impl<'a> Borrow<dyn Point + 'a> for Key {
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
    entries: BTreeMap<Key, RowAddress>,
    keypos: usize,
    /// Less what rows took that left for another tree ([`Tree::split`]): only the sum over all trees of a table means something.
    words: isize,
    version: u64,
}

/// How many versions a tree takes at once.
const VERSIONS: u64 = 1 << 20;
static NEXT_VERSION: AtomicU64 = AtomicU64::new(VERSIONS);

/// The first of so many versions that no other tree has (TR2).
fn new_versions() -> u64 {
    // Relaxed: only different numbers are wanted.
    NEXT_VERSION.fetch_add(VERSIONS, Sync::Relaxed)
}

impl Tree {
    /// No rows.
    pub fn new(keypos: usize) -> Tree {
        Tree { entries: BTreeMap::new(), keypos, words: 0, version: new_versions() }
    }

    /// What changes whenever the keys do (TR2).
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    fn changed(&mut self) {
        self.version += 1;
        if self.version.is_multiple_of(VERSIONS) {
            // The next tree's numbers begin here.
            self.version = new_versions();
        }
    }

    /// Position of the key, counted from 0.
    #[inline]
    pub fn keypos(&self) -> usize {
        self.keypos
    }

    /// Number of rows.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Words of all rows, one more for each as OTP counts. Of a tree that has been split or joined, its part of the sum over all
    /// trees of the table.
    pub fn words(&self) -> isize {
        self.words + self.entries.len() as isize
    }

    /// One of its rows.
    #[inline]
    fn held(&self, row: &RowAddress) -> Row<'_> {
        // SAFETY: ets.row/R1: rows leave the tree only while it is borrowed for writing.
        unsafe { row.row() }
    }

    /// The row of a key. Not inlined: here, as the search's one caller, the compiler takes the search in, and keeps the key in a register.
    #[inline(never)]
    pub fn row_of(&self, of: TermRef<'_>) -> Option<Row<'_>> {
        self.entries.get(&key(of)).map(|row| self.held(row))
    }

    /// Inserts or replaces the row of its key.
    pub fn insert(&mut self, row: NewRow) {
        let address = row.into_row();
        // SAFETY: ets.row/R1: the tree is borrowed for writing.
        let row = unsafe { address.row() };
        let of = row.key(self.keypos);
        debug_assert_eq!(row.hash(), 0, "an ordered set has no hashes");
        self.words += row.words() as isize;
        if let Some(old) = self.entries.insert(key(of), address) {
            // SAFETY: ets.row/R1: it has just left the table.
            let old = unsafe { old.row() };
            self.replaced(of, old);
        }
        self.changed();
    }

    /// The row of a key has taken an old one's place.
    fn replaced(&mut self, of: TermRef<'_>, old: Row<'_>) {
        if let Some((at, _)) = self.entries.get_key_value(&key(of)) {
            // TR1; the keys are equal, so the order stays.
            at.0.set(key_word(of));
        }
        self.words -= old.words() as isize;
        // SAFETY: ets/R1: it has just left the table.
        unsafe { old.free() };
    }

    /// Inserts an object, or puts it in the place of the one with its key.
    pub fn insert_tuple(&mut self, tuple: Measured<'_>, of: TermRef<'_>) {
        let elements = tuple.elements();
        debug_assert!(elements.get(self.keypos).is_some_and(|key| compare(*key, of).is_eq()), "TR1");
        match self.entries.entry(key(of)) {
            Entry::Occupied(place)
                // SAFETY: the tree is borrowed for writing; the key's word stays.
                if place.key().0.get().is(of) && unsafe { place.get().row().overwrite(elements) } => {}
            // SAFETY: the tree is borrowed for writing; nobody looks at a tree's rows without its lock.
            Entry::Occupied(place) if unsafe { place.get().row().rewrite(tuple) } => {
                // SAFETY: the tree is borrowed for writing. TR1, as in `replaced`.
                let now = key_word(unsafe { place.get().row() }.key(self.keypos));
                if !place.key().0.replace(now).is(now) {
                    self.changed();
                }
            }
            Entry::Occupied(mut place) => {
                let row = Row::sized(tuple, 0);
                // SAFETY: ets.row/R1: it leaves the table now.
                let old = unsafe { place.insert(row.address()).row() };
                // TR1, as in `replaced`.
                place.key().0.set(key_word(row.key(self.keypos)));
                self.words += row.words() as isize - old.words() as isize;
                // SAFETY: ets/R1: it has just left the table.
                unsafe { old.free() };
                self.changed();
            }
            Entry::Vacant(place) => {
                let row = Row::sized(tuple, 0);
                place.key().0.set(key_word(row.key(self.keypos)));
                place.insert(row.address());
                self.words += row.words() as isize;
                self.changed();
            }
        }
    }

    /// Deletes the row of a key if `wanted` accepts it.
    pub fn delete(&mut self, of: TermRef<'_>, wanted: impl FnOnce(Row<'_>) -> bool) -> bool {
        let Entry::Occupied(place) = self.entries.entry(key(of)) else { return false };
        // SAFETY: ets.row/R1: the tree is borrowed for writing.
        if !wanted(unsafe { place.get().row() }) {
            return false;
        }
        // SAFETY: ets.row/R1: it has just left the table.
        unsafe {
            let row = place.remove().row();
            self.words -= row.words() as isize;
            row.free();
        }
        self.changed();
        true
    }

    /// The rows after a point, ascending.
    pub fn upwards(&self, from: Place<'_>) -> Box<dyn Iterator<Item = Row<'_>> + '_> {
        let unbounded = Bound::<&Key>::Unbounded;
        match from {
            Place::Start => Box::new(self.entries.values().map(|row| self.held(row))),
            Place::End => Box::new(std::iter::empty()),
            Place::Before(of) => Box::new(
                self.entries.range::<Key, _>((Bound::Included(&key(of)), unbounded)).map(|(_, row)| self.held(row)),
            ),
            Place::After(of) => Box::new(
                self.entries.range::<Key, _>((Bound::Excluded(&key(of)), unbounded)).map(|(_, row)| self.held(row)),
            ),
            Place::BeforeAll(edge) => self.behind_edge(&EdgePoint(edge, Ordering::Less)),
            Place::AfterAll(edge) => self.behind_edge(&EdgePoint(edge, Ordering::Greater)),
        }
    }

    fn behind_edge(&self, point: &EdgePoint<'_>) -> Box<dyn Iterator<Item = Row<'_>> + '_> {
        let from: Bound<&dyn Point> = Bound::Excluded(point);
        Box::new(self.entries.range::<dyn Point, _>((from, Bound::Unbounded)).map(|(_, row)| self.held(row)))
    }

    /// The rows before a point, descending.
    pub fn downwards(&self, from: Place<'_>) -> Box<dyn Iterator<Item = Row<'_>> + '_> {
        let unbounded = Bound::<&Key>::Unbounded;
        match from {
            Place::End => Box::new(self.entries.values().rev().map(|row| self.held(row))),
            Place::Start => Box::new(std::iter::empty()),
            Place::Before(of) => Box::new(
                self.entries
                    .range::<Key, _>((unbounded, Bound::Excluded(&key(of))))
                    .rev()
                    .map(|(_, row)| self.held(row)),
            ),
            Place::After(of) => Box::new(
                self.entries
                    .range::<Key, _>((unbounded, Bound::Included(&key(of))))
                    .rev()
                    .map(|(_, row)| self.held(row)),
            ),
            Place::BeforeAll(edge) => self.before_edge(&EdgePoint(edge, Ordering::Less)),
            Place::AfterAll(edge) => self.before_edge(&EdgePoint(edge, Ordering::Greater)),
        }
    }

    fn before_edge(&self, point: &EdgePoint<'_>) -> Box<dyn Iterator<Item = Row<'_>> + '_> {
        let to: Bound<&dyn Point> = Bound::Excluded(point);
        Box::new(self.entries.range::<dyn Point, _>((Bound::Unbounded, to)).rev().map(|(_, row)| self.held(row)))
    }

    /// The row just after a point.
    pub fn next(&self, from: Place<'_>) -> Option<Row<'_>> {
        match from {
            Place::Start => self.entries.first_key_value().map(|(_, row)| self.held(row)),
            Place::After(of) => {
                let range = (Bound::Excluded(&key(of)), Bound::<&Key>::Unbounded);
                self.entries.range::<Key, _>(range).next().map(|(_, row)| self.held(row))
            }
            _ => self.upwards(from).next(),
        }
    }

    /// The row just before a point.
    pub fn prev(&self, from: Place<'_>) -> Option<Row<'_>> {
        match from {
            Place::End => self.entries.last_key_value().map(|(_, row)| self.held(row)),
            Place::Before(of) => {
                let range = (Bound::<&Key>::Unbounded, Bound::Excluded(&key(of)));
                self.entries.range::<Key, _>(range).next_back().map(|(_, row)| self.held(row))
            }
            _ => self.downwards(from).next(),
        }
    }

    /// Fills `keys` with the keys after one, ascending; gives how many there were.
    pub fn keys_after(&self, of: TermRef<'_>, keys: &[Cell<Term>]) -> usize {
        let range = self.entries.range::<Key, _>((Bound::Excluded(&key(of)), Bound::Unbounded));
        let count = keys.iter().zip(range).map(|(to, (from, _))| to.set(from.0.get())).count();
        debug_assert!(is_between(of, &keys[..count], Ordering::Greater), "keys are out of order");
        count
    }

    /// Fills `keys` with the keys before one, descending; gives how many there were.
    pub fn keys_before(&self, of: TermRef<'_>, keys: &[Cell<Term>]) -> usize {
        let range = self.entries.range::<Key, _>((Bound::Unbounded, Bound::Excluded(&key(of)))).rev();
        let count = keys.iter().zip(range).map(|(to, (from, _))| to.set(from.0.get())).count();
        debug_assert!(is_between(of, &keys[..count], Ordering::Less), "keys are out of order");
        count
    }

    /// The `index`-th row.
    pub fn nth(&self, index: usize) -> Option<Row<'_>> {
        self.entries.values().nth(index).map(|row| self.held(row))
    }

    /// Takes the upper half of the rows out, as a tree of its own. What their words are stays counted here: to count anew would be to
    /// look at all of them.
    pub fn split(&mut self) -> Tree {
        debug_assert!(self.len() > 1, "each half has a row");
        let middle = self.entries.keys().nth(self.len() / 2).map_or(Term::NIL, |key| key.0.get());
        self.changed();
        Tree { entries: self.entries.split_off(&key(middle)), keypos: self.keypos, words: 0, version: new_versions() }
    }

    /// Takes the rows of another tree in, whose keys are all greater or all less. The smaller of the two is what it costs.
    pub fn absorb(&mut self, other: &mut Tree) {
        if self.len() < other.len() {
            std::mem::swap(&mut self.entries, &mut other.entries);
        }
        let total = self.len() + other.len();
        self.entries.extend(std::mem::take(&mut other.entries));
        debug_assert_eq!(self.len(), total, "two trees of a table have no key in common");
        self.words += std::mem::take(&mut other.words);
        self.changed();
        other.changed();
    }

    /// Takes all rows out.
    pub fn take_all(&mut self) -> Vec<RowAddress> {
        self.words = 0;
        self.changed();
        std::mem::take(&mut self.entries).into_values().collect()
    }
}

/// Are the first and the last of these keys on this side of a key, and is the last one no nearer? For assertions.
fn is_between(of: TermRef<'_>, keys: &[Cell<Term>], side: Ordering) -> bool {
    let [Some(first), Some(last)] = [keys.first(), keys.last()].map(|key| key.map(Cell::get)) else { return true };
    compare(first, of) == side && (keys.len() == 1 || compare(last, first) == side)
}

impl Drop for Tree {
    fn drop(&mut self) {
        for row in self.take_all() {
            // SAFETY: ets.row/R1: it has left the table.
            unsafe { row.row().free() };
        }
    }
}
