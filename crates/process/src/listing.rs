//! All objects of a table as they are at one moment (`sync::snapshots`), looked up in slices: a table may have millions of slots.

use myriad_sync::{LockClass, Snapshot};
use myriad_term::Term;
use std::ops::Range;

/// Of the lock on the open listings.
pub(crate) static CLASS: LockClass = LockClass::new("ptab_list", 505);

/// A table whose objects come and go while it is listed.
pub trait Listed: 'static {
    /// What tells its objects apart, in the order in which they are listed.
    type Id: Copy + Ord;

    /// An identifier as Erlang sees it.
    fn term(id: Self::Id) -> Term;

    /// A snapshot begins.
    fn open_listing(&self) -> Snapshot;

    /// It is over; gives the objects that have entered themselves (sync/LI2).
    fn close_listing(&self, listing: Snapshot) -> Vec<Self::Id>;

    /// Adds those in the slots at these places that were born before this era and have not begun to go; are there more slots behind them?
    fn list_in(&self, places: Range<usize>, cut: u64, ids: &mut Vec<Self::Id>) -> bool;
}

/// A listing under way.
pub struct Listing<T: Listed> {
    table: &'static T,
    /// Nothing once it is closed: another may have its key by then.
    open: Option<Snapshot>,
    /// Objects born in this era or later are left out (sync/LI1).
    cut: u64,
    next: usize,
    ids: Vec<T::Id>,
}

impl<T: Listed> Listing<T> {
    /// Slots that are looked at in one go.
    pub const CHUNK: usize = 1024;

    /// Of all objects of a table, as they are now.
    pub fn of(table: &'static T) -> Self {
        let open = table.open_listing();
        Listing { table, open: Some(open), cut: open.cut, next: 0, ids: Vec::new() }
    }

    /// Looks at [`Listing::CHUNK`] slots more; `false` if there are none left.
    pub fn go_on(&mut self) -> bool {
        debug_assert!(self.open.is_some(), "it is closed");
        let end = self.next.saturating_add(Self::CHUNK);
        let more = self.table.list_in(self.next..end, self.cut, &mut self.ids);
        self.next = end;
        more
    }

    fn close(&mut self) -> Vec<T::Id> {
        self.open.take().map_or_else(Vec::new, |open| self.table.close_listing(open))
    }

    /// All objects of the moment when it began, once all slots have been looked at.
    pub fn finish(mut self) -> Vec<T::Id> {
        let mut ids = std::mem::take(&mut self.ids);
        ids.extend(self.close());
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

impl<T: Listed> Drop for Listing<T> {
    fn drop(&mut self) {
        self.close();
    }
}
