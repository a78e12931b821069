//! The rows of an ordered set with `write_concurrency`: a contention-adapting search tree (Sagonas and Winblad, 2015 and 2018).
//!
//! The keys are divided among *base nodes*, each a tree with a lock of its own ([`crate::ordered::Ordered`]) and a figure of how much it is fought over
//! ([`crate::routes::Strain`]). There is one at first. One whose lock is often found taken, or that threads read in turns, is split in the middle;
//! one whose lock is always free is joined with a neighbour. What leads from a key to its base node is an array of the keys between them ([`crate::routes::Routes`]), which is
//! replaced whole (sync/DI1 to sync/DI3): the papers' tree of route nodes, laid flat.
//!
//! AD1. A key is in the base node to which the current routes lead. Who has the lock of a base node and then finds the routes current has
//!      its keys for as long as it has the lock (sync/DI2).
//! AD2. Rows move between base nodes with the locks of both held for writing. A new base node's lock is free, but no thread can find the node
//!      before the routes lead to it, and whoever finds it then sees all of its rows (sync/DI1).
//! AD3. A thread blocks on the lock of a base node only while it has none of a greater key; against that order it tries (ets/TB2).
//! AD4. The table has a holder (ets/TB5) only while there is one base node: a user is made the holder with that node's lock while the routes
//!      are current, and they change only with that lock, taken so that there is no holder.
//!
//! A step from key to key that finds nothing in one base node goes on in the next one with the lock of the first still held; otherwise a
//! key could come behind its back, then another one in the next node, which it would find. Scans hold one lock at a time, as they hold none
//! between two batches; what happens once to each key that stays is all they promise.
//!
//! What was not done: splitting where the accesses are instead of in the middle (a random access is a sample of them), which cuts off
//! single rows where keys come in ascending order; joining large nodes, which takes as long as copying them (`BTreeMap` cannot
//! link two trees), and gains a binary search of one step less. A split goes through the keys, not the rows, of half a node.

use crate::ordered::{ReadTree, Right, WriteTree};
use crate::routes::{Adapting, Base, Routes, Separator, Verdict, tree_of};
use crate::table::{Gone, Table, User};
use crate::tree::{Place, Tree, Way};
use crate::trees::{Forest, Trees};
use myriad_sync::{Entered, slot};
use myriad_term::TermRef;
use std::cell::Cell;
use std::ops::{ControlFlow, RangeInclusive};

/// Rows of the smaller of two base nodes that are joined, at most.
const JOINED: usize = 1024;

/// Reads split base nodes until there are so many for each thread: of random ones two at a time seldom meet then. Threads that read all keys take turns at
/// each base node, however many there are.
const FOR_A_READER: usize = 8;

/// A base node to read or to write, with what led there.
struct At<'a, G> {
    routes: &'a Routes,
    index: usize,
    tree: G,
}

impl Adapting {
    #[inline(always)]
    fn enter(&self, user: User) -> Entered<'_, Routes> {
        match user {
            // SAFETY: ets/TB4: a user is on a normal scheduler, which is quiescent between two slices only.
            Some(_) => unsafe { self.routes.enter() },
            None => self.routes.pin(),
        }
    }

    /// Finds a base node, locks it for reading, and sees to it that it is the one (AD1).
    #[inline(always)]
    fn read_base<'a>(
        table: &'a Table,
        user: User,
        inside: &'a Entered<'_, Routes>,
        which: impl Fn(&Routes) -> usize,
    ) -> At<'a, ReadTree<'a>> {
        loop {
            let routes = inside.current();
            let index = which(routes);
            let base = &*routes.bases[index];
            let lock = || base.lock_to_read();
            let right = Self::right(table, user, inside, routes, base, lock);
            if inside.is_current(routes) {
                // SAFETY: ets.ordered/OR1: it is the right to this tree.
                return At { routes, index, tree: unsafe { base.ordered.read(right) } };
            }
        }
    }

    /// As [`Adapting::read_base`], for writing. `was_taken` tells whether the lock was.
    #[inline(always)]
    fn write_base<'a>(
        table: &'a Table,
        user: User,
        inside: &'a Entered<'_, Routes>,
        which: impl Fn(&Routes) -> usize,
        was_taken: &Cell<bool>,
    ) -> At<'a, WriteTree<'a>> {
        loop {
            let routes = inside.current();
            let index = which(routes);
            let base = &*routes.bases[index];
            let right = Self::right(table, user, inside, routes, base, || base.lock_to_write(was_taken));
            if inside.is_current(routes) {
                // SAFETY: ets.ordered/OR1: it is the right to this tree.
                return At { routes, index, tree: unsafe { base.ordered.write(right) } };
            }
        }
    }

    /// The right to a base node: as the holder, where there can be one (AD4), or with the lock.
    #[inline(always)]
    fn right<'a, G>(
        table: &'a Table,
        user: User,
        inside: &'a Entered<'_, Routes>,
        routes: &'a Routes,
        base: &'a Base,
        lock: impl Fn() -> G,
    ) -> Right<'a, G> {
        if !routes.is_single() {
            return Right::Lock(lock());
        }
        let has_all_keys = || inside.is_current(routes);
        match table.enter(user, base.ordered.lock(), base.ordered.lock().beside(), has_all_keys) {
            Some(holder) => Right::Holder(holder),
            None => Right::Lock(table.without_holder(lock)),
        }
    }

    /// Locks a window of base nodes in the order of their keys for reading; nothing if the routes have changed meanwhile.
    fn read_window<'a>(
        table: &'a Table,
        user: User,
        inside: &'a Entered<'_, Routes>,
        routes: &'a Routes,
        window: RangeInclusive<usize>,
    ) -> Option<Vec<ReadTree<'a>>> {
        let trees = routes.bases[window].iter().map(|base| {
            let right = Self::right(table, user, inside, routes, base, || base.lock_to_read());
            // SAFETY: ets.ordered/OR1: it is the right to this tree.
            unsafe { base.ordered.read(right) }
        });
        let trees = trees.collect();
        inside.is_current(routes).then_some(trees)
    }

    /// After a write with the lock: splits or joins the base node if that is due.
    #[inline]
    fn adapt(&self, inside: &Entered<'_, Routes>, at: &mut At<'_, WriteTree<'_>>, was_taken: bool) {
        if at.tree.is_holders() {
            return;
        }
        match at.routes.bases[at.index].strain.count(was_taken) {
            Verdict::Fine => {}
            Verdict::Split => self.split(at),
            Verdict::Join => self.join(inside, at),
        }
    }

    /// After a read with the lock: is the base node to be split?
    #[inline]
    fn is_read_in_turns(at: &At<'_, ReadTree<'_>>) -> bool {
        !at.tree.is_holders()
            && at.routes.bases[at.index].strain.count_read(slot::index()) == Verdict::Split
            && at.routes.bases.len() < FOR_A_READER * slot::given()
    }

    /// Splits the base node of a key for its readers.
    #[cold]
    fn split_for_readers(&self, table: &Table, user: User, inside: &Entered<'_, Routes>, key: TermRef<'_>) {
        let which = |routes: &Routes| tree_of(&routes.separators, key);
        let mut at = Self::write_base(table, user, inside, which, &Cell::new(false));
        if !at.tree.is_holders() && !table.is_deleted() {
            self.split(&mut at);
        }
    }

    /// Splits a base node in the middle.
    #[cold]
    fn split(&self, at: &mut At<'_, WriteTree<'_>>) {
        if at.tree.len() < 2 {
            return;
        }
        let base = &at.routes.bases[at.index];
        // sync/DI1: a part of the routes whose lock is held.
        self.routes.replace(|now| {
            let upper = at.tree.split();
            let least = upper.next(Place::Start).map(|row| Separator::new(row.key(upper.keypos())));
            match (least, now.position(base)) {
                (Some(least), Some(index)) => now.with(index, least, Base::new(self.class, upper)),
                _ => unreachable!(
                    "AD1: the routes lead to a base node that is locked, and the upper half of two rows is one"
                ),
            }
        });
    }

    /// Takes the rows of a neighbour in, if nobody is there now.
    #[cold]
    fn join(&self, inside: &Entered<'_, Routes>, at: &mut At<'_, WriteTree<'_>>) {
        let Some(index) = (at.index + 1..=at.routes.last()).next().or(at.index.checked_sub(1)) else { return };
        let (base, other) = (&at.routes.bases[at.index], &at.routes.bases[index]);
        let Some(guard) = other.ordered.lock().try_write() else { return };
        // The two are neighbours still, if nothing has changed; and as long as both are locked.
        if !inside.is_current(at.routes) {
            return;
        }
        // SAFETY: ets.ordered/OR1: it is the right to this tree; of several base nodes there is no holder (AD4).
        let mut other_tree = unsafe { other.ordered.write(Right::Lock(guard)) };
        if other_tree.len().min(at.tree.len()) > JOINED {
            return;
        }
        self.routes.replace(|now| {
            at.tree.absorb(&mut other_tree);
            match (now.position(other), now.position(base)) {
                (Some(gone), Some(heir)) => now.without(gone, heir),
                _ => unreachable!("AD1: the routes lead to base nodes that are locked"),
            }
        });
    }
}

/// What only contention does otherwise.
#[cfg(test)]
impl Adapting {
    /// How many base nodes there are.
    pub fn base_nodes(&self) -> usize {
        self.routes.pin().current().bases.len()
    }

    /// Splits the base node of a key, or joins it with a neighbour.
    pub fn adapt_at(&self, table: &Table, user: User, key: TermRef<'_>, split: bool) {
        let inside = self.enter(user);
        let which = |routes: &Routes| tree_of(&routes.separators, key);
        let mut at = Self::write_base(table, user, &inside, which, &Cell::new(false));
        match (at.tree.is_holders(), split) {
            (true, _) => {}
            (_, true) => self.split(&mut at),
            (_, false) => self.join(&inside, &mut at),
        }
    }
}

impl Trees for Adapting {
    #[inline]
    fn read<R>(&self, table: &Table, user: User, key: TermRef<'_>, f: impl FnOnce(&Tree) -> R) -> Result<R, Gone> {
        let inside = self.enter(user);
        let at = Self::read_base(table, user, &inside, |routes| tree_of(&routes.separators, key));
        table.alive(())?;
        let result = f(&at.tree);
        if Self::is_read_in_turns(&at) {
            drop(at);
            self.split_for_readers(table, user, &inside, key);
        }
        Ok(result)
    }

    #[inline]
    fn write<R>(&self, table: &Table, user: User, key: TermRef<'_>, f: impl FnOnce(&mut Tree) -> R) -> Result<R, Gone> {
        let (inside, was_taken) = (self.enter(user), Cell::new(false));
        let mut at = Self::write_base(table, user, &inside, |routes| tree_of(&routes.separators, key), &was_taken);
        table.alive(())?;
        let result = f(&mut at.tree);
        self.adapt(&inside, &mut at, was_taken.get());
        Ok(result)
    }

    #[inline]
    fn nearest<R>(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        find: impl for<'t> Fn(&'t Tree) -> Option<TermRef<'t>>,
        give: impl FnOnce(Option<TermRef<'_>>) -> R,
    ) -> Result<R, Gone> {
        let inside = self.enter(user);
        let at = Self::read_base(table, user, &inside, |routes| routes.start(way));
        table.alive(())?;
        let found = find(&at.tree);
        if found.is_some() || at.routes.border(at.index, way.upwards).is_none() {
            return Ok(give(found));
        }
        drop(at);
        // Beginning with two: one had nothing.
        let mut count = 2;
        loop {
            let routes = inside.current();
            let start = routes.start(way);
            let window = routes.window(start, count, way.upwards);
            let is_all = window.end() - window.start() + 1 < count;
            let Some(trees) = Self::read_window(table, user, &inside, routes, window) else { continue };
            table.alive(())?;
            let found = if way.upwards {
                trees.iter().find_map(|tree| find(tree))
            } else {
                trees.iter().rev().find_map(|tree| find(tree))
            };
            if found.is_some() || is_all {
                return Ok(give(found));
            }
            count *= 2;
        }
    }

    fn read_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        mut visit: impl FnMut(&Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone> {
        let inside = self.enter(user);
        let mut rest = way;
        loop {
            let at = Self::read_base(table, user, &inside, |routes| routes.start(rest));
            table.alive(())?;
            let flow = visit(&at.tree, rest.from);
            match at.routes.border(at.index, way.upwards) {
                Some(border) if flow.is_continue() => rest.from = border,
                _ => return Ok(()),
            }
        }
    }

    fn write_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        mut visit: impl FnMut(&mut Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone> {
        let inside = self.enter(user);
        let mut rest = way;
        loop {
            let was_taken = Cell::new(false);
            let mut at = Self::write_base(table, user, &inside, |routes| routes.start(rest), &was_taken);
            table.alive(())?;
            let flow = visit(&mut at.tree, rest.from);
            // As it is before the base node is split or joined: what follows was not this one's.
            let border = at.routes.border(at.index, way.upwards);
            self.adapt(&inside, &mut at, was_taken.get());
            match border {
                Some(border) if flow.is_continue() => rest.from = border,
                _ => return Ok(()),
            }
        }
    }

    fn read_all<R>(
        &self,
        table: &Table,
        user: User,
        f: impl FnOnce(&mut dyn Iterator<Item = &Tree>) -> R,
    ) -> Result<R, Gone> {
        let inside = self.enter(user);
        loop {
            let routes = inside.current();
            let Some(trees) = Self::read_window(table, user, &inside, routes, 0..=routes.last()) else { continue };
            table.alive(())?;
            return Ok(f(&mut trees.iter().map(|tree| &**tree)));
        }
    }

    fn write_all<R>(&self, table: &Table, user: User, f: impl FnOnce(&mut Forest<'_>) -> R) -> R {
        let inside = self.enter(user);
        loop {
            let routes = inside.current();
            let trees = routes.bases.iter().map(|base| {
                let right = Self::right(table, user, &inside, routes, base, || base.ordered.lock().write());
                // SAFETY: ets.ordered/OR1: it is the right to this tree, if it still has its keys; its keys are not touched otherwise.
                unsafe { base.ordered.write(right) }
            });
            let trees: Vec<_> = trees.collect();
            if inside.is_current(routes) {
                return f(&mut Forest::new(trees, &routes.separators));
            }
        }
    }

    fn rows(&self) -> usize {
        self.row_count()
    }

    fn words(&self) -> usize {
        self.row_words()
    }
}

#[cfg(test)]
mod tests {
    use crate::routes::Adapting;
    use crate::store::{Caller, Rows, Store};
    use crate::table::{Kind, Table, WriteConcurrency};
    use crate::test_support::{domain, table};
    use crate::tree::{Place, Way};
    use crate::trees::Trees;
    use myriad_term::{Arena, Build, Pid, Term, TermRef};
    use myriad_testing::Random;
    use std::collections::BTreeSet;
    use std::ops::ControlFlow;

    const USER: Option<Pid> = Some(Pid::new(1, 0));

    fn put(table: &Table, trees: &Adapting, by: Caller<'_>, key: i64) {
        let mut arena = &Arena::new();
        let row = table.new_row(arena.tuple(&[Term::small(key), Term::small(-key)]), 0);
        assert!(trees.insert(table, by, row).is_ok());
    }

    /// The keys of a walk, and of steps from each to the next.
    fn keys(table: &Table, trees: &Adapting, upwards: bool) -> Vec<i64> {
        let mut keys = Vec::new();
        let from = if upwards { Place::Start } else { Place::End };
        let walked = trees.read_along(table, USER, Way { from, upwards }, |tree, from| {
            let rows = if upwards { tree.upwards(from) } else { tree.downwards(from) };
            keys.extend(rows.map(|row| row.key(0).small_value()));
            ControlFlow::Continue(())
        });
        assert!(walked.is_ok());
        for pair in keys.windows(2) {
            let key = Term::small(pair[0]);
            let from = if upwards { Place::After(key) } else { Place::Before(key) };
            let next = trees.nearest(
                table,
                USER,
                Way { from, upwards },
                |tree| if upwards { tree.next(from) } else { tree.prev(from) }.map(|row| row.key(0)),
                |key| key.and_then(TermRef::as_small),
            );
            assert!(next.is_ok_and(|next| next == Some(pair[1])));
        }
        keys
    }

    /// However the keys are divided, the rows are those of one tree.
    #[test]
    fn base_nodes_together_are_one_tree() {
        let slices = domain(1);
        let slot = slices.register().expect("room");
        let by = Caller { user: USER, slices: Some(&slot) };
        let mut random = Random::new(17);
        let mut most = 0;
        for _ in 0..if cfg!(miri) { 2 } else { 60 } {
            let table = table(Kind::OrderedSet, WriteConcurrency::Yes, slices);
            let Store::Adapting(trees) = &table.store else { panic!("it adapts") };
            let mut model = BTreeSet::new();
            for _ in 0..150 {
                slot.quiescent();
                let key = random.below(100) as i64;
                match random.below(8) {
                    0..4 => {
                        put(&table, trees, by, key);
                        model.insert(key);
                    }
                    4 => {
                        let deleted = trees.delete(&table, by, Term::small(key), |_| true);
                        assert!(deleted.is_ok_and(|n| (n == 1) == model.remove(&key)));
                    }
                    5 | 6 => trees.adapt_at(&table, USER, Term::small(key), true),
                    _ => trees.adapt_at(&table, USER, Term::small(key), false),
                }
                assert_eq!(table.len(), model.len());
                most = most.max(trees.base_nodes());
            }
            assert!(keys(&table, trees, true).into_iter().eq(model.iter().copied()));
            assert!(keys(&table, trees, false).into_iter().eq(model.iter().rev().copied()));
            let words = Trees::words(trees);
            while trees.base_nodes() > 1 {
                trees.adapt_at(&table, USER, Term::small(random.below(100) as i64), false);
            }
            assert_eq!((Trees::words(trees), table.len()), (words, model.len()));
            assert!(keys(&table, trees, true).into_iter().eq(model));
            drop(table.take_all(USER));
            assert_eq!((table.len(), Trees::words(trees)), (0, 0));
        }
        assert!(most > 10, "the test is about several base nodes");
    }
}
