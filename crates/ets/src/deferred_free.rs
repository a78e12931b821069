//! What becomes of rows and bucket arrays that leave a hash table.
//!
//! Processes on normal schedulers may be reading them without a lock, during one call of a built-in. So what leaves is freed once
//! each of these schedulers has begun a new slice ([`myriad_vm::Vm::slices`]). While only one process has used a table, which
//! cannot read while it writes, what leaves is freed at once (ets.table/TB4).

use crate::hash::Buckets;
use crate::row::{Row, free_at};
use myriad_sync::{Progress, ThreadSlot};
use std::mem::take;

/// Something to free, and how.
struct Retired(*mut (), unsafe fn(*mut ()));

// SAFETY: what has left a table has no owner; any thread may free it.
unsafe impl Send for Retired {}

/// Takes what leaves a shard.
pub struct DeferredFree<'a> {
    slices: &'a Progress,
    at_once: bool,
    first: Option<Retired>,
    more: Vec<Retired>,
}

impl<'a> DeferredFree<'a> {
    /// `at_once`: there are no readers without the lock.
    #[inline]
    pub fn new(slices: &'a Progress, at_once: bool) -> DeferredFree<'a> {
        DeferredFree { slices, at_once, first: None, more: Vec::new() }
    }

    /// Are there no readers without the lock?
    #[inline]
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    #[inline]
    fn retire(&mut self, retired: Retired) {
        debug_assert!(!self.at_once && !retired.0.is_null());
        if self.first.is_none() {
            self.first = Some(retired);
        } else {
            self.more.push(retired);
        }
    }

    /// A row has been unlinked.
    #[inline]
    pub fn row(&mut self, row: Row<'_>) {
        if self.at_once {
            // SAFETY: ets/R1: it has left its table, which has no readers without the lock.
            unsafe { row.free() };
        } else {
            self.retire(Retired(row.address().as_raw(), free_at));
        }
    }

    /// An array has been replaced.
    pub fn buckets(&mut self, buckets: *mut Buckets) {
        if self.at_once {
            // SAFETY: it has been replaced, and the table has no readers without the lock.
            unsafe { Buckets::free(buckets) };
        } else {
            self.retire(Retired(buckets.cast(), Buckets::free_at));
        }
    }

    /// Leaves all to the progress of the scheduler that calls.
    #[inline]
    pub fn hand_over(&mut self, slices: Option<&ThreadSlot>) {
        debug_assert!(self.first.is_some() || self.more.is_empty());
        let (Some(slot), true) = (slices, self.first.is_some()) else { return };
        debug_assert!(std::ptr::eq(&raw const **slot.progress(), self.slices), "S5: the grace period of other readers");
        for late in self.first.take().into_iter().chain(take(&mut self.more)) {
            // SAFETY: it was unlinked before, and is freed once.
            unsafe { slot.retire_object(late.0, late.1) };
        }
    }
}

impl Drop for DeferredFree<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.first.is_some() {
            self.leave_to_others();
        }
    }
}

impl DeferredFree<'_> {
    #[cold]
    fn leave_to_others(&mut self) {
        let (first, more) = (self.first.take(), take(&mut self.more));
        debug_assert!(first.is_some() && !self.at_once);
        self.slices.retire_unregistered(move || {
            for late in first.into_iter().chain(more) {
                // SAFETY: it was unlinked, everybody has moved on since, and it is freed once.
                unsafe { late.1(late.0) };
            }
        });
    }
}
