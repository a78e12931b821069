//! All processes as they are at one moment, looked up in slices: a table may have millions of slots.
//!
//! LI1. A listing is opened under the table's lock: processes born before are in their slots by then, and those born later are left
//!      out.
//! LI2. A process that begins to end enters itself in each open listing, before it can be seen to end. So one that was there when
//!      a listing was opened is met in its slot, or has entered itself, or both.

use crate::process::Process;
use crate::runtime::Runtime;
use crate::table::ProcessTable;
use myriad_sync::atomic::{AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::Pid;
use std::collections::BTreeMap;

static CLASS: LockClass = LockClass::new("ptab_list", 505);

/// An open listing: the number of processes born before it, and those of them that have begun to end since (LI2).
struct Open {
    born_before: u64,
    departed: Vec<Pid>,
}

/// The open listings of a table.
pub struct Listings {
    /// How many there are: what a process that ends looks at.
    count: AtomicUsize,
    open: Mutex<BTreeMap<u64, Open>>,
}

impl Default for Listings {
    fn default() -> Self {
        Listings { count: AtomicUsize::new(0), open: Mutex::new(&CLASS, BTreeMap::new()) }
    }
}

impl Listings {
    /// A listing, opened under the table's lock (LI1); gives its key.
    pub(crate) fn open(&self, born_before: u64) -> u64 {
        let mut open = self.open.lock();
        let key = open.last_key_value().map_or(0, |(key, _)| key + 1);
        open.insert(key, Open { born_before, departed: Vec::new() });
        // Release: pairs with the Acquire in `departs`, so that a process that sees the count finds the entry.
        self.count.fetch_add(1, Ordering::Release);
        key
    }

    fn close(&self, key: u64) -> Vec<Pid> {
        let Some(closed) = self.open.lock().remove(&key) else { return Vec::new() };
        let before = self.count.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0);
        closed.departed
    }

    /// A process begins to end (LI2).
    #[inline]
    pub fn departs<R: Runtime>(&self, process: &Process<R>) {
        // Acquire: see `open`. A listing that is opened at the same moment may do without this process.
        if self.count.load(Ordering::Acquire) > 0 {
            self.note(process);
        }
    }

    #[cold]
    fn note<R: Runtime>(&self, process: &Process<R>) {
        debug_assert!(!process.is_exiting(), "LI2: it enters itself before it can be seen to end");
        let mut open = self.open.lock();
        for listing in open.values_mut().filter(|listing| process.born < listing.born_before) {
            listing.departed.push(process.pid);
        }
    }
}

/// A listing under way.
pub struct Listing<R: Runtime> {
    table: &'static ProcessTable<R>,
    /// Nothing once it is closed: another may have its key by then.
    key: Option<u64>,
    born_before: u64,
    next: usize,
    pids: Vec<Pid>,
}

impl<R: Runtime> Listing<R> {
    /// Slots that are looked at in one go.
    pub const CHUNK: usize = 1024;

    /// Of all processes of a table, as they are now.
    pub fn of(table: &'static ProcessTable<R>) -> Self {
        let (key, born_before) = table.open_listing();
        Listing { table, key: Some(key), born_before, next: 0, pids: Vec::new() }
    }

    /// Looks at [`Listing::CHUNK`] slots more; `false` if there are none left.
    pub fn go_on(&mut self) -> bool {
        debug_assert!(self.key.is_some(), "it is closed");
        let (born_before, pids) = (self.born_before, &mut self.pids);
        let end = self.next.saturating_add(Self::CHUNK);
        let more = self.table.each_in(self.next..end, |process| {
            if process.born < born_before && !process.is_exiting() {
                pids.push(process.pid);
            }
        });
        self.next = end;
        more
    }

    fn close(&mut self) -> Vec<Pid> {
        self.key.take().map_or_else(Vec::new, |key| self.table.listings.close(key))
    }

    /// All processes of the moment when it began, once all slots have been looked at.
    pub fn finish(mut self) -> Vec<Pid> {
        let mut pids = std::mem::take(&mut self.pids);
        pids.extend(self.close());
        pids.sort_unstable();
        pids.dedup();
        pids
    }
}

impl<R: Runtime> Drop for Listing<R> {
    fn drop(&mut self) {
        self.close();
    }
}
