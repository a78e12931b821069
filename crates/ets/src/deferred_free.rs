//! What becomes of rows and bucket arrays that leave a hash table.
//!
//! Processes on normal schedulers may be reading them without a lock, during one call of a built-in. So what leaves is freed once
//! each of these schedulers has begun a new slice ([`myriad_vm::Vm::slices`]). While only one process has used a table, which
//! cannot read while it writes, what leaves is freed at once (ets.table/TB4).

use crate::buckets::Buckets;
use crate::row::{Row, free_at};
use myriad_sync::{Progress, ThreadSlot};
use std::mem::take;

/// Something to free, and how.
struct Retired(*mut (), unsafe fn(*mut ()));

// SAFETY: what has left a table has no owner; any thread may free it.
unsafe impl Send for Retired {}

/// What has left a shard in one write: mostly nothing, or one row.
#[derive(Default)]
enum Left {
    #[default]
    Nothing,
    One(Retired),
    Several(Vec<Retired>),
}

impl Left {
    /// Frees each in this way.
    fn each(self, free: impl FnMut(Retired)) {
        match self {
            Left::Nothing => {}
            Left::One(one) => [one].into_iter().for_each(free),
            Left::Several(all) => all.into_iter().for_each(free),
        }
    }
}

/// Takes what leaves a shard.
pub struct DeferredFree<'a> {
    slices: &'a Progress,
    at_once: bool,
    left: Left,
}

impl<'a> DeferredFree<'a> {
    /// `at_once`: there are no readers without the lock.
    #[inline]
    pub fn new(slices: &'a Progress, at_once: bool) -> DeferredFree<'a> {
        DeferredFree { slices, at_once, left: Left::Nothing }
    }

    /// Are there no readers without the lock?
    #[inline]
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    #[inline]
    fn retire(&mut self, retired: Retired) {
        debug_assert!(!self.at_once && !retired.0.is_null());
        self.left = match take(&mut self.left) {
            Left::Nothing => Left::One(retired),
            Left::One(first) => Left::Several(vec![first, retired]),
            Left::Several(mut all) => {
                all.push(retired);
                Left::Several(all)
            }
        };
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
        if !matches!(self.left, Left::Nothing)
            && let Some(slot) = slices
        {
            debug_assert!(
                std::ptr::eq(&raw const **slot.progress(), self.slices),
                "S5: the grace period of other readers"
            );
            take(&mut self.left).each(|late| {
                // SAFETY: it was unlinked before, and is freed once.
                unsafe { slot.retire_object(late.0, late.1) };
            });
        }
    }
}

impl Drop for DeferredFree<'_> {
    #[inline]
    fn drop(&mut self) {
        if !matches!(self.left, Left::Nothing) {
            debug_assert!(!self.at_once);
            leave_to_others(self.slices, take(&mut self.left));
        }
    }
}

#[cold]
fn leave_to_others(slices: &Progress, left: Left) {
    slices.retire_unregistered(move || {
        left.each(|late| {
            // SAFETY: it was unlinked, everybody has moved on since, and it is freed once.
            unsafe { late.1(late.0) };
        });
    });
}
