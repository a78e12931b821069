//! The rows of an ordered set without `write_concurrency`: one tree behind one lock ([`Ordered`]).

use crate::ordered::Ordered;
use crate::table::{Gone, Table, User};
use crate::tree::{Place, Tree, Way};
use crate::trees::{Forest, Trees};
use myriad_term::TermRef;
use std::ops::ControlFlow;

impl Trees for Ordered {
    #[inline(always)]
    fn read<R>(&self, table: &Table, user: User, _: TermRef<'_>, f: impl FnOnce(&Tree) -> R) -> Result<R, Gone> {
        Ok(f(&*table.read_tree(user, self)?))
    }

    #[inline(always)]
    fn write<R>(&self, table: &Table, user: User, _: TermRef<'_>, f: impl FnOnce(&mut Tree) -> R) -> Result<R, Gone> {
        Ok(f(&mut *table.write_tree(user, self)?))
    }

    #[inline(always)]
    fn nearest<R>(
        &self,
        table: &Table,
        user: User,
        _: Way<'_>,
        find: impl for<'t> Fn(&'t Tree) -> Option<TermRef<'t>>,
        give: impl FnOnce(Option<TermRef<'_>>) -> R,
    ) -> Result<R, Gone> {
        Ok(give(find(&*table.read_tree(user, self)?)))
    }

    #[inline]
    fn read_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        mut visit: impl FnMut(&Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone> {
        // Broken off or not: there is no other tree.
        let _ = visit(&*table.read_tree(user, self)?, way.from);
        Ok(())
    }

    #[inline]
    fn write_along(
        &self,
        table: &Table,
        user: User,
        way: Way<'_>,
        mut visit: impl FnMut(&mut Tree, Place<'_>) -> ControlFlow<()>,
    ) -> Result<(), Gone> {
        // As above.
        let _ = visit(&mut *table.write_tree(user, self)?, way.from);
        Ok(())
    }

    fn read_all<R>(
        &self,
        table: &Table,
        user: User,
        f: impl FnOnce(&mut dyn Iterator<Item = &Tree>) -> R,
    ) -> Result<R, Gone> {
        Ok(f(&mut std::iter::once(&*table.read_tree(user, self)?)))
    }

    fn write_all<R>(&self, table: &Table, user: User, f: impl FnOnce(&mut Forest<'_>) -> R) -> R {
        f(&mut Forest::new(vec![table.write_any_tree(user, self)], &[]))
    }

    fn rows(&self) -> usize {
        self.len()
    }

    fn words(&self) -> usize {
        debug_assert!(self.len() > 0 || Ordered::words(self) <= 0, "no rows, and they take room");
        Ordered::words(self).try_into().unwrap_or(0)
    }
}
