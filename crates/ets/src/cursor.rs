//! Where a thread's last step through an ordered set led, so that `ets:next/2` after `ets:next/2` is one step and not a search.
//!
//! The first step only notes the row it found. A second one that starts from there shows that somebody walks: then the
//! rows that follow are noted, too.
//!
//! CU1. The noted rows are looked at only while the tree's version is the noted one (TR2) and its lock is held.

use crate::row::Row;
use crate::tree::{Place, Tree};
use myriad_term::Term;
use myriad_term::compare::compare;
use std::cell::RefCell;

/// Rows noted at once.
const AHEAD: usize = 32;

struct Cursor {
    version: u64,
    upwards: bool,
    rows: Vec<Row>,
    at: usize,
}

thread_local! {
    static CURSOR: RefCell<Cursor> = const { RefCell::new(Cursor { version: 0, upwards: true, rows: Vec::new(), at: 0 }) };
}

/// A walk begins at this row.
pub fn begin(tree: &Tree, row: Option<Row>, upwards: bool) {
    CURSOR.with_borrow_mut(|c| c.note(tree, row, upwards));
}

/// The row after a key, or before it.
pub fn step(tree: &Tree, key: Term, upwards: bool) -> Option<Row> {
    CURSOR.with_borrow_mut(|c| {
        if !c.is_at(tree, key, upwards) {
            let row = if upwards { tree.next(Place::After(key)) } else { tree.prev(Place::Before(key)) };
            c.note(tree, row, upwards);
            return row;
        }
        if c.at + 1 >= c.rows.len() {
            c.rows.clear();
            c.at = 0;
            if upwards {
                c.rows.extend(tree.upwards(Place::After(key)).take(AHEAD));
            } else {
                c.rows.extend(tree.downwards(Place::Before(key)).take(AHEAD));
            }
        } else {
            c.at += 1;
        }
        c.rows.get(c.at).copied()
    })
}

impl Cursor {
    fn note(&mut self, tree: &Tree, row: Option<Row>, upwards: bool) {
        self.version = tree.version();
        self.upwards = upwards;
        self.at = 0;
        self.rows.clear();
        self.rows.extend(row);
    }

    /// Did the last step lead to this key?
    fn is_at(&self, tree: &Tree, key: Term, upwards: bool) -> bool {
        self.version == tree.version()
            && self.upwards == upwards
            // CU1.
            && self.rows.get(self.at).is_some_and(|row| compare(row.key(tree.keypos()), key).is_eq())
    }
}

#[cfg(test)]
mod tests {
    use super::{begin, step};
    use crate::row::{Form, NewRow};
    use crate::tree::{Place, Tree};
    use myriad_term::{Arena, Build, Term};

    const FORM: Form = Form { keypos: 0, packed: false };

    fn put(tree: &mut Tree, key: i64) {
        let mut arena = Arena::new();
        let tuple = arena.tuple(&[Term::small(key), Term::small(-key)]);
        tree.insert(NewRow::new(tuple, 0, FORM));
    }

    fn key(row: Option<crate::row::Row>) -> Option<i64> {
        row.and_then(|r| r.key(0).as_small())
    }

    #[test]
    fn walks_see_what_comes_and_goes() {
        let mut tree = Tree::new(0);
        (0..200).for_each(|i| put(&mut tree, i * 10));
        let mut arena = Arena::new();
        let mut at = key(tree.next(Place::Start)).expect("rows");
        begin(&tree, tree.next(Place::Start), true);
        let mut seen = vec![at];
        while let Some(next) = key(step(&tree, Term::small(at), true)) {
            // One more behind the place now and then, and one that is next goes.
            if next % 100 == 0 && next > 0 {
                put(&mut tree, next + 5);
                assert!(tree.delete(Term::small(next + 10), |_| true) || next > 1980);
            }
            seen.push(next);
            at = next;
        }
        let mut expected: Vec<i64> = (0..200).map(|i| i * 10).filter(|k| k % 100 != 10 || *k == 10).collect();
        expected.extend((1..20).map(|i| i * 100 + 5));
        expected.sort_unstable();
        assert_eq!(seen, expected);
        // Another tree with the same keys, and the other direction.
        let mut other = Tree::new(0);
        put(&mut other, 1900);
        assert_eq!(key(step(&other, Term::small(1900), true)), None);
        assert_eq!(key(step(&tree, Term::small(1905), false)), Some(1900));
        assert_eq!(key(step(&tree, Term::small(1900), false)), Some(1890));
        assert_eq!(key(step(&tree, Term::small(1890), true)), Some(1900));
        // An equal key that is written otherwise.
        let float = arena.float(1900.0);
        assert_eq!(key(step(&tree, float, true)), Some(1905));
    }
}
