//! What the operations on ordered sets ask of the trees that hold the rows: the trait [`Trees`].
//!
//! A table without `write_concurrency` is one tree behind one lock ([`crate::ordered`]); with it, several, which divide the keys among them
//! ([`crate::adapting`]). [`crate::ordered_rows`] makes a store of either.
//!
//! Each method takes the locks that it needs and calls the closure with them; what the closure does to one tree is atomic. Where several trees
//! are needed at once they are locked in the order of their keys (ets/TB2).

use crate::ordered::WriteTree;
use crate::routes::{Separator, tree_of};
use crate::table::{Gone, Table, User};
use crate::tree::{Place, Tree, Way};
use myriad_term::TermRef;
use std::ops::{ControlFlow, DerefMut};

/// All trees of a table, to write.
pub struct Forest<'f> {
    trees: Vec<WriteTree<'f>>,
    separators: &'f [Separator],
}

impl<'f> Forest<'f> {
    /// These trees, which the separators part.
    pub fn new(trees: Vec<WriteTree<'f>>, separators: &'f [Separator]) -> Forest<'f> {
        debug_assert_eq!(trees.len(), separators.len() + 1, "a separator stands between two trees");
        Forest { trees, separators }
    }

    /// The tree that has a key, if any has.
    pub fn of(&mut self, key: TermRef<'_>) -> &mut Tree {
        self.trees[tree_of(self.separators, key)].deref_mut()
    }

    /// Each of them, in the order of their keys.
    pub fn each(&mut self) -> impl Iterator<Item = &mut Tree> {
        self.trees.iter_mut().map(DerefMut::deref_mut)
    }
}

/// The trees of an ordered set.
pub trait Trees {
    /// Calls `f` with the tree that has a key, if any has.
    fn read<R>(&self, table: &Table, user: User, key: TermRef<'_>, f: impl FnOnce(&Tree) -> R) -> Result<R, Gone>;

    /// As [`Trees::read`], to write.
    fn write<R>(&self, table: &Table, user: User, key: TermRef<'_>, f: impl FnOnce(&mut Tree) -> R) -> Result<R, Gone>;

    /// Calls `find` with one tree after the other along a way until it finds a key, and `give` with that. No row comes or goes in between: the
    /// trees in which nothing was found stay locked.
    fn nearest<R>(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        find: impl for<'t> Fn(&'t Tree) -> Option<TermRef<'t>>,
        give: impl FnOnce(Option<TermRef<'_>>) -> R,
    ) -> Result<R, Gone>;

    /// Calls `visit` with one tree after the other along a way, and with the place in it where its part of the way begins, until it breaks off.
    /// Only one tree is locked at a time.
    fn read_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        visit: impl FnMut(&Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone>;

    /// As [`Trees::read_along`], to write.
    fn write_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        visit: impl FnMut(&mut Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone>;

    /// Calls `f` with all trees at once, in the order of their keys.
    fn read_all<R>(
        &self,
        table: &Table,
        user: User,
        f: impl FnOnce(&mut dyn Iterator<Item = &Tree>) -> R,
    ) -> Result<R, Gone>;

    /// Calls `f` with all trees at once, to write, whether the table has been deleted or not.
    fn write_all<R>(&self, table: &Table, user: User, f: impl FnOnce(&mut Forest<'_>) -> R) -> R;

    /// Number of rows.
    fn rows(&self) -> usize;

    /// Words of all rows, as [`Tree::words`] counts them.
    fn words(&self) -> usize;
}
