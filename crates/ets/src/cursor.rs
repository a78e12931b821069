//! Where a thread's last step through an ordered set led, so that `ets:next/2` after `ets:next/2` is one step and not a search.
//!
//! The first step only notes the key it found. A second one that starts from there shows that a process walks: then the
//! keys that follow are noted, too. They are the tree's own words, so that a step from one small key to the next looks at no row.
//!
//! CU1. The noted keys are looked at only while the tree's version is the noted one (ets/TR2) and it may be read.

use crate::tree::{Place, Tree};
use myriad_term::compare::compare;
use myriad_term::{Term, TermRef};
use std::cell::Cell;

/// Keys noted at once.
const AHEAD: usize = 64;

/// In cells, each looked at by itself: a step is a handful of machine instructions.
struct Cursor {
    version: Cell<u64>,
    upwards: Cell<bool>,
    /// Which of the noted ones the last step led to, and how many there are.
    at: Cell<usize>,
    count: Cell<usize>,
    keys: [Cell<Term>; AHEAD],
}

thread_local! {
    static CURSOR: Cursor = const {
        Cursor {
            version: Cell::new(0),
            upwards: Cell::new(true),
            at: Cell::new(0),
            count: Cell::new(0),
            keys: [const { Cell::new(Term::NIL) }; AHEAD],
        }
    };
}

/// A walk begins at this key.
pub fn begin(tree: &Tree, key: Option<TermRef<'_>>, upwards: bool) {
    CURSOR.with(|c| c.note(tree, key, upwards));
}

/// The key after one, or before it. It lies in the tree.
#[inline]
pub fn step<'t>(tree: &'t Tree, key: TermRef<'_>, upwards: bool) -> Option<TermRef<'t>> {
    CURSOR.with(|c| {
        let next = c.at.get() + 1;
        if next < c.count.get() && c.is_at(tree, key, upwards) {
            c.at.set(next);
            debug_assert!(c.keys.get(next).is_some_and(|k| is_behind(k.get(), key, upwards)), "keys are out of order");
            return c.keys.get(next).map(Cell::get);
        }
        c.search(tree, key, upwards)
    })
}

/// Does a step lead from a key to this one? For assertions.
fn is_behind(next: TermRef<'_>, key: TermRef<'_>, upwards: bool) -> bool {
    let order = compare(next, key);
    if upwards { order.is_gt() } else { order.is_lt() }
}

impl Cursor {
    fn note(&self, tree: &Tree, key: Option<TermRef<'_>>, upwards: bool) {
        self.version.set(tree.version());
        self.upwards.set(upwards);
        self.at.set(0);
        self.count.set(usize::from(key.is_some()));
        // SAFETY: CU1: the note is looked at only while the tree's version is the same, and so the key's row in it.
        self.keys[0].set(key.map_or(Term::NIL, |key| unsafe { key.assume_held() }));
    }

    /// Did the last step lead to this key?
    #[inline]
    fn is_at(&self, tree: &Tree, key: TermRef<'_>, upwards: bool) -> bool {
        self.version.get() == tree.version()
            && self.upwards.get() == upwards
            && self.at.get() < self.count.get()
            // CU1.
            && self.keys.get(self.at.get()).is_some_and(|at| compare(at.get(), key).is_eq())
    }

    #[inline(never)]
    fn search<'t>(&self, tree: &'t Tree, key: TermRef<'_>, upwards: bool) -> Option<TermRef<'t>> {
        if !self.is_at(tree, key, upwards) {
            let place = if upwards { Place::After(key) } else { Place::Before(key) };
            let found = if upwards { tree.next(place) } else { tree.prev(place) }.map(|row| row.key(tree.keypos()));
            debug_assert!(found.is_none_or(|found| is_behind(found, key, upwards)), "keys are out of order");
            self.note(tree, found, upwards);
            return found;
        }
        let count = if upwards { tree.keys_after(key, &self.keys) } else { tree.keys_before(key, &self.keys) };
        debug_assert!(count <= AHEAD);
        self.at.set(0);
        self.count.set(count);
        self.keys[..count].first().map(Cell::get)
    }
}

#[cfg(test)]
mod tests {
    use super::{begin, step};
    use crate::row::{Form, NewRow};
    use crate::tree::{Place, Tree};
    use myriad_term::{Arena, Build, Term, TermRef};

    const FORM: Form = Form { keypos: 0, packed: false };

    fn put(tree: &mut Tree, key: i64) {
        let mut arena = &Arena::new();
        let tuple = arena.tuple(&[Term::small(key), Term::small(-key)]);
        tree.insert(NewRow::new(tuple, 0, FORM));
    }

    fn key(key: Option<TermRef<'_>>) -> Option<i64> {
        key.and_then(|key| key.as_small())
    }

    fn first(tree: &Tree) -> Option<TermRef<'_>> {
        tree.next(Place::Start).map(|row| row.key(0))
    }

    #[test]
    fn walks_see_what_comes_and_goes() {
        let mut tree = Tree::new(0);
        (0..200).for_each(|i| put(&mut tree, i * 10));
        let mut arena = &Arena::new();
        let mut at = key(first(&tree)).expect("rows");
        begin(&tree, first(&tree), true);
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

    /// A row is filled anew, and its key lies elsewhere in it then: the walk finds it there.
    #[test]
    fn walks_see_keys_that_move() {
        let mut tree = Tree::new(1);
        let row = |tree: &mut Tree, number: i64, before: usize| {
            let arena = Arena::new();
            let mut arena = &arena;
            let parts = [before, 6 - before].map(|n| arena.list(&vec![Term::small(7); n]));
            let key = arena.tuple(&[Term::small(number)]);
            let tuple = arena.tuple(&[parts[0], key, parts[1]]);
            tree.insert_tuple(crate::row::Measured::of(tuple), key);
        };
        (0..10).for_each(|number| row(&mut tree, number, 1));
        let number = |key: Option<TermRef<'_>>| key.and_then(|k| k.as_tuple_of::<1>()).and_then(|[n]| n.as_small());
        let mut arena = &Arena::new();
        let keys: Vec<TermRef<'_>> = (0..10).map(|number| arena.tuple(&[Term::small(number)])).collect();
        begin(&tree, tree.next(Place::Start).map(|row| row.key(1)), true);
        assert_eq!(number(step(&tree, keys[0], true)), Some(1));
        // The third is noted by now, and moves.
        row(&mut tree, 2, 5);
        assert_eq!(number(step(&tree, keys[1], true)), Some(2));
        row(&mut tree, 1, 4);
        assert_eq!(number(step(&tree, keys[2], true)), Some(3));
    }
}
