//! All processes as they are at one moment (`sync::snapshots`), looked up in slices: a table may have millions of slots.

use crate::process::Process;
use crate::runtime::Runtime;
use crate::table::ProcessTable;
use myriad_sync::{LockClass, Snapshot};
use myriad_term::Pid;

/// Of the lock on the open listings.
pub(crate) static CLASS: LockClass = LockClass::new("ptab_list", 505);

/// A listing under way.
pub struct Listing<R: Runtime> {
    table: &'static ProcessTable<R>,
    /// Nothing once it is closed: another may have its key by then.
    open: Option<Snapshot>,
    /// Processes born in this era or later are left out (sync/LI1).
    cut: u64,
    next: usize,
    pids: Vec<Pid>,
}

impl<R: Runtime> Listing<R> {
    /// Slots that are looked at in one go.
    pub const CHUNK: usize = 1024;

    /// Of all processes of a table, as they are now.
    pub fn of(table: &'static ProcessTable<R>) -> Self {
        let open = table.open_listing();
        Listing { table, open: Some(open), cut: open.cut, next: 0, pids: Vec::new() }
    }

    /// Looks at [`Listing::CHUNK`] slots more; `false` if there are none left.
    pub fn go_on(&mut self) -> bool {
        debug_assert!(self.open.is_some(), "it is closed");
        let (cut, pids) = (self.cut, &mut self.pids);
        let belongs = |process: &Process<R>| process.born < cut && !process.is_exiting();
        let end = self.next.saturating_add(Self::CHUNK);
        let more = self.table.each_in(self.next..end, |process| {
            if belongs(process) {
                pids.push(process.pid);
            }
        });
        self.next = end;
        more
    }

    fn close(&mut self) -> Vec<Pid> {
        self.open.take().map_or_else(Vec::new, |open| self.table.close_listing(open))
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
