//! What a kind of store is to the operations on tables: the trait [`Rows`], and the one place where it is dispatched.
//!
//! `set`, `bag` and `duplicate_bag` are chains of rows behind the locks of their shards ([`crate::shards`]), an `ordered_set` is one tree
//! or several, each behind a lock ([`crate::ordered_rows`]). Operations (`ops`, `counter`, `walk`, `select`, `alter`, ...) do not know which: they
//! call [`Store`]'s arm through `on_store!`, statically, so that each operation is compiled once for each store. Another
//! store is a file that implements [`Rows`], a variant of [`Store`], an arm of the macro, and a line in `Table::new`.
//!
//! What every method keeps to:
//! - It takes the table's locks itself, by the methods of [`Table`] (ets/TB1 to TB5 there), and gives [`Gone`] if the table has been deleted.
//! - A method that writes holds the lock for the whole of it: what it does is atomic to all other users.
//! - A closure that is given a row is called with a lock held, or optimistically where the method says so; it keeps no row.
//!
//! ```compile_fail,E0521
//! use myriad_ets::{row::Row, store::Rows, table::Table};
//! fn keep<'k>(rows: &impl Rows, table: &Table, kept: &mut Vec<Row<'k>>) {
//!     rows.each(table, None, &mut |row| kept.push(row));
//! }
//! ```

use crate::hash::Fixed;
use crate::ordered::Ordered;
use crate::routes::Adapting;
use crate::row::copy_out;
use crate::row::{Measured, NewRow, Row};
use crate::shard_map::{Rank, Shards};
use crate::table::{Gone, Table, Taken, User};
use myriad_sync::{ReadGuard, ThreadSlot};
use myriad_term::{Term, TermRef, am};
use myriad_vm::Ctx;

/// Where the rows of a table are.
pub enum Store {
    /// Chains of rows.
    Hash(Shards),
    /// A tree, of an ordered set.
    Tree(Ordered),
    /// Several trees, of an ordered set that many write at a time.
    Adapting(Adapting),
}

/// Runs an expression with a store, whichever it is, by the name that is given: the one match over all of them.
macro_rules! on_store {
    ($store:expr, $rows:ident => $do:expr) => {
        match $store {
            $crate::store::Store::Hash($rows) => $do,
            $crate::store::Store::Tree($rows) => $do,
            $crate::store::Store::Adapting($rows) => $do,
        }
    };
}
pub(crate) use on_store;

/// Where a walk through the buckets of a hash table is: shard by shard, bucket by bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// Which shard.
    pub shard: Rank,
    /// Which of its buckets.
    pub index: usize,
}

impl Store {
    /// Are the rows in the order of their keys?
    pub fn is_ordered(&self) -> bool {
        const fn is_ordered<R: Rows>(_: &R) -> bool {
            R::ORDERED
        }
        on_store!(self, rows => is_ordered(rows))
    }

    /// May users read rows without a lock?
    pub fn is_read_optimistically(&self) -> bool {
        const fn is_optimistic<R: Rows>(_: &R) -> bool {
            R::OPTIMISTIC
        }
        on_store!(self, rows => is_optimistic(rows))
    }
}

impl Bucket {
    /// The first one.
    pub const FIRST: Bucket = Bucket { shard: Rank::FIRST, index: 0 };
}

/// Where a scan is.
pub enum Position {
    /// At this bucket of a hash table.
    Bucket(Bucket),
    /// Behind this key of an ordered set, or at the beginning.
    After(Option<Term>),
    /// At the key with this number, of a list of keys that the scan looks up.
    Listed(usize),
    /// At the end.
    End,
}

/// What a store must know of a scan of all its rows, or of a range of keys.
pub struct Sweep {
    /// Where it is.
    pub position: Position,
    /// Ordered sets: downwards?
    pub downwards: bool,
    /// Ordered sets: the pattern of the keys that it is about.
    pub range: Option<Term>,
    /// Are the rows kept in place for it ([`Table::fix`]) while it rests? The owner of the scan must unfix the table in the end.
    pub pinned: bool,
}

impl Sweep {
    /// Keeps the rows in place while the scan rests. To be called with the lock held.
    pub fn pin(&mut self, table: &Table) {
        if !self.pinned {
            table.fix();
            self.pinned = true;
        }
        debug_assert!(table.fixed() == Fixed::Yes, "TB3: rows stay in place while a scan rests");
    }

    /// The scan is over, or dropped: rows need not stay in place for it any more.
    pub fn unpin(&mut self, table: &Table, user: User) {
        if std::mem::replace(&mut self.pinned, false) {
            debug_assert!(table.fixed() == Fixed::Yes, "TB3: the scan's fixation has been taken back already");
            table.unfix(user, 1);
        }
    }
}

/// What to do after a row.
#[derive(PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    On,
    /// The next row (for hash tables: the next bucket) is for later.
    Enough,
}

/// Decides about the rows that a scan changes.
pub trait Judge {
    /// Does it delete rows? It replaces them otherwise.
    fn deletes(&self) -> bool;
    /// Is this row to be deleted?
    fn is_doomed(&mut self, row: Row<'_>) -> bool;
    /// The row that takes a row's place.
    fn successor(&mut self, row: Row<'_>) -> Option<NewRow>;
    /// How many rows it has decided to delete or replace.
    fn count(&self) -> usize;
}

/// Rows visited under one hold of a lock.
pub const BATCH: usize = 512;

/// The caller of an operation that writes: the user, and its thread's part in the grace periods of tables.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// See [`User`].
    pub user: User,
    /// Of a normal scheduler.
    pub slices: Option<&'a ThreadSlot>,
}

/// A store of rows.
pub trait Rows {
    /// Are the rows in the order of their keys?
    const ORDERED: bool;

    /// May users read rows without a lock (ets/TB4)? Rows that have been taken out must outlive their reads then.
    const OPTIMISTIC: bool;

    /// Takes the locks behind which a user comes who will read without them (ets/TB4), in order (ets/TB2); none in a store that nobody reads so.
    fn lock_all(&self) -> Vec<ReadGuard<'_, ()>>;

    /// Calls `each` with the visible rows of a key, the newest first: perhaps several times, where it looks optimistically, and only what it
    /// gave last counts.
    fn with_rows<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        each: impl FnMut(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone>;

    /// As [`Rows::with_rows`], but calls `each` once only.
    fn with_rows_once<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        each: impl FnOnce(&mut dyn Iterator<Item = Row<'_>>) -> R,
    ) -> Result<R, Gone>;

    /// Calls `f` with the visible row of a key (of a bag, the newest): perhaps several times, as [`Rows::with_rows`].
    fn with_row<R>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        f: impl FnMut(Option<Row<'_>>) -> R,
    ) -> Result<R, Gone>;

    /// Inserts a row as the table's type has it.
    fn insert(&self, table: &Table, by: Caller<'_>, row: NewRow) -> Result<(), Gone>;

    /// Inserts a tuple into a set that is not compressed, over the row of the key if it fits there.
    fn insert_tuple(&self, table: &Table, by: Caller<'_>, tuple: Measured<'_>, key: TermRef<'_>) -> Result<(), Gone>;

    /// Inserts a tuple if there is no row of its key; `false` if there is one.
    fn insert_new(&self, table: &Table, by: Caller<'_>, tuple: TermRef<'_>, key: TermRef<'_>) -> Result<bool, Gone>;

    /// Inserts all of the rows; with `new`, none of them if there is a row of any of the keys, and `false` then.
    fn insert_all(&self, table: &Table, by: Caller<'_>, rows: Vec<NewRow>, new: bool) -> Result<bool, Gone>;

    /// Deletes the rows of a key that are wanted; gives how many.
    fn delete(
        &self,
        table: &Table,
        by: Caller<'_>,
        key: TermRef<'_>,
        wanted: impl FnMut(Row<'_>) -> bool,
    ) -> Result<usize, Gone>;

    /// Deletes the rows of a key and gives them as a list.
    fn take(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>) -> Result<Term, Gone>;

    /// Calls `change` with the row of a key in a set, if there is one, to be changed in place: what [`Rows::change`] does, for less.
    fn change_in_place<T>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Row<'_>) -> Option<T>,
    ) -> Result<Option<T>, Gone>;

    /// Calls `change` with the row of a key in a set, to be changed in place; a row that it gives takes its place, or is inserted.
    fn change<T, E>(
        &self,
        table: &Table,
        user: User,
        key: TermRef<'_>,
        change: impl FnOnce(Option<Row<'_>>, u32) -> Result<(T, Option<NewRow>), E>,
    ) -> Result<Result<T, E>, Gone>;

    /// The first key, on the caller's heap, or `'$end_of_table'`.
    fn first(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone>;

    /// The last key; the first one where there is no order.
    fn last(&self, table: &Table, ctx: &mut Ctx<'_>) -> Result<Term, Gone>;

    /// The key after one, or before it, or `'$end_of_table'`; nothing if there is no such key to begin from.
    fn next(&self, table: &Table, ctx: &mut Ctx<'_>, key: TermRef<'_>, upwards: bool) -> Result<Option<Term>, Gone>;

    /// The rows of a slot as a list, or `'$end_of_table'` behind the last one; nothing if there is no such slot.
    fn slot(&self, table: &Table, ctx: &mut Ctx<'_>, number: usize) -> Result<Option<Term>, Gone>;

    /// Where a scan begins.
    fn start(&self) -> Position;

    /// Continues a scan by up to a batch of rows; gives how many it has visited.
    fn visit(
        &self,
        table: &Table,
        ctx: &mut Ctx<'_>,
        sweep: &mut Sweep,
        visit: &mut dyn FnMut(&mut Ctx<'_>, Row<'_>) -> Flow,
    ) -> Result<usize, Gone>;

    /// Continues a scan that changes rows by up to a batch.
    fn alter(&self, table: &Table, ctx: &mut Ctx<'_>, sweep: &mut Sweep, judge: &mut impl Judge)
    -> Result<usize, Gone>;

    /// Changes the rows of a key.
    fn alter_key(&self, table: &Table, by: Caller<'_>, key: TermRef<'_>, judge: &mut impl Judge) -> Result<(), Gone>;

    /// After a scan that has deleted rows: gives back some of the room that they took.
    fn shrink(&self, table: &Table, by: Caller<'_>);

    /// Calls `each` with all rows, hidden ones too, as far as the table has not been deleted.
    fn each(&self, table: &Table, user: User, each: &mut dyn FnMut(Row<'_>));

    /// Calls `each` with the length of each chain of rows, hidden ones counted; gives how many rows are hidden, or nothing if the
    /// store has no chains.
    fn chains(&self, table: &Table, user: User, each: &mut dyn FnMut(usize)) -> Option<usize>;

    /// Number of visible rows.
    fn count(&self) -> usize;

    /// Words that the rows and the store take, as OTP counts them, without what all tables have.
    fn footprint(&self, table: &Table) -> usize;

    /// Takes all rows out, whether the table has been deleted or not, to be freed by the caller without a lock.
    fn take_all(&self, table: &Table, user: User) -> Taken;

    /// Takes all rows out of a live table, or hides them if it is fixed; gives them and how many there were.
    fn clear(&self, table: &Table, user: User) -> Result<(Taken, usize), Gone>;

    /// The table is no longer fixed: lets go of the hidden rows.
    fn purge(&self, table: &Table, user: User);
}

/// A key on the caller's heap, or `'$end_of_table'`.
pub fn key_or_end(ctx: &mut Ctx<'_>, key: Option<TermRef<'_>>) -> Term {
    key.map_or(am::end_of_table.term(), |key| copy_out(key, ctx))
}
