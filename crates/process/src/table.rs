//! The process table: from a pid to the process, without a lock.
//!
//! The low bits of a pid's number choose a slot ([`IdTable`]); a slot holds the process or nothing. Numbers are given out in rising order
//! (where many schedulers spawn at once: nearly, `sync::numbers`), so that a pid comes back only after all the others. A process is made while its slot is reserved, outside of any lock.
//!
//! TB1. A pointer read from a slot is good until the reading thread's next quiescent point: an ended process is freed by
//!      thread progress only (`sync`, Progress).

use crate::listing::{self, Listed};
use crate::process::Process;
use crate::runtime::Runtime;
use myriad_sync::witness::{Event, tell};
use myriad_sync::{IdTable, Snapshot, Snapshots, prefetch_to_write};
use myriad_term::{Pid, RefNumbers, RefUse, Term, memory};
use std::ops::Range;
use std::ptr::NonNull;

/// What OTP calls the memory of the table.
const PURPOSE: memory::Purpose = memory::Purpose("ll", "proc_tab");

/// The processes of a VM, each in the slot that its pid chooses.
pub struct ProcessTable<R: Runtime> {
    processes: IdTable<Process<R>>,
    /// Listings under way.
    listings: Snapshots<Pid>,
}

impl<R: Runtime> ProcessTable<R> {
    /// Room for `limit` processes, rounded up to a power of two as OTP does, made by so many schedulers.
    pub fn new(limit: usize, schedulers: usize) -> Self {
        let size = limit.next_power_of_two().clamp(1024, 1 << 27);
        let slots = memory::null_pointers::<Process<R>>(size, PURPOSE);
        ProcessTable { processes: IdTable::new(slots, schedulers), listings: Snapshots::new(&listing::CLASS) }
    }

    /// Most processes at a time.
    pub fn limit(&self) -> usize {
        self.processes.capacity()
    }

    /// Processes now, those that are being made or are ending, too.
    pub fn count(&self) -> usize {
        self.processes.count()
    }

    /// The pid that the next process will get, if its slot is free.
    pub fn next_pid(&self) -> Pid {
        Pid::from_data(self.processes.next_id())
    }

    /// The next process gets a pid with these bits, or the first free one after it: for tests of pids that come again. The bits
    /// that OTP's pids do not have stay.
    pub fn set_next(&self, bits: u32) -> Pid {
        const OTP_BITS: u32 = Pid::NUMBER_BITS + Pid::OTP_SERIAL_BITS;
        let next = self.processes.next_id() >> OTP_BITS << OTP_BITS | u64::from(bits) & ((1 << OTP_BITS) - 1);
        self.processes.set_next_id(next);
        Pid::from_data(next)
    }

    /// Takes a pid and puts what `make` makes of it in its slot; `None` if the table is full.
    pub fn insert(&self, make: impl FnOnce(Pid) -> Box<Process<R>>) -> Option<&Process<R>> {
        let reserved = self.processes.reserve()?;
        let pid = Pid::from_data(reserved.id);
        pid.note_made();
        let mut process = make(pid);
        debug_assert!(process.pid == pid, "it has the pid that chooses its slot");
        process.born = reserved.born;
        let process = NonNull::from(Box::leak(process));
        reserved.fill(process);
        tell(Event::Made(pid.data()));
        // SAFETY: just made; TB1 keeps it for the caller.
        Some(unsafe { process.as_ref() })
    }

    #[inline(always)]
    fn find(&self, pid: Pid) -> Option<NonNull<Process<R>>> {
        // SAFETY: TB1.
        self.processes.get(pid.data() as usize).filter(|process| unsafe { process.as_ref() }.pid == pid)
    }

    /// The process of a pid (TB1).
    pub fn get(&self, pid: Pid) -> Option<&Process<R>> {
        // SAFETY: TB1.
        self.find(pid).map(|process| unsafe { process.as_ref() })
    }

    /// As [`ProcessTable::get`], of a process that a signal is about to be left for: its line, which that changes, is on its way meanwhile.
    #[inline]
    pub fn get_to_signal(&self, pid: Pid) -> Option<&Process<R>> {
        let process = self.processes.get(pid.data() as usize)?;
        prefetch_to_write(process.as_ptr());
        // SAFETY: TB1.
        Some(unsafe { process.as_ref() }).filter(|process| process.pid == pid)
    }

    /// Numbers of the `value`-th reference, as an alias of a process: they tell its slot, so that no table from references to
    /// processes is needed. Whether the process there still has this alias, it knows itself (`Relations::alias`).
    pub fn alias(&self, value: u64, pid: Pid) -> RefNumbers {
        let (low_bits, bits) = (pid.data() as u32 & (self.limit() - 1) as u32, self.limit().ilog2());
        let [first, second, third] = RefNumbers::nth(value).0;
        let third = (third << bits | low_bits) & (RefUse::Alias.mark() - 1);
        debug_assert_eq!(third & ((1 << bits) - 1), low_bits, "`of_alias` finds the slot");
        RefNumbers([first, second, RefUse::Alias.mark() | third])
    }

    /// The process that an alias may be of (TB1).
    pub fn of_alias(&self, numbers: RefNumbers) -> Option<&Process<R>> {
        // SAFETY: TB1: what a slot holds is not freed before the next quiescent point of this thread.
        self.processes.get(numbers.0[2] as usize).map(|process| unsafe { process.as_ref() })
    }

    /// Takes a process out; the caller frees it by thread progress.
    pub fn remove(&self, pid: Pid) -> Option<*mut Process<R>> {
        let process = self.find(pid)?;
        // SAFETY: TB1.
        debug_assert!(unsafe { process.as_ref() }.is_exiting(), "one that lives is taken out");
        self.processes.vacate(pid.data() as usize);
        tell(Event::Gone(pid.data()));
        Some(process.as_ptr())
    }

    /// All processes, those that are ending too (TB1).
    pub fn all(&self) -> impl Iterator<Item = &Process<R>> {
        // SAFETY: TB1.
        self.processes.objects().map(|process| unsafe { process.as_ref() })
    }

    /// Up to so many of those whose slot has this number or a higher one, in the order of slots (TB1), and the number behind them, if there are more.
    pub fn from_place(&self, place: usize, most: usize) -> (Vec<&Process<R>>, Option<usize>) {
        let mut found = self.processes.objects_from(place);
        // SAFETY: TB1.
        let processes = found.by_ref().take(most).map(|(_, process)| unsafe { process.as_ref() }).collect();
        (processes, found.next().map(|(place, _)| place))
    }

    /// Calls `look` with each process, those that are ending too (TB1).
    pub fn each(&self, look: impl FnMut(&Process<R>)) {
        self.all().for_each(look);
    }

    /// A process begins to end: it must enter itself in the open listings before it can be seen to end (sync/LI2).
    #[inline]
    pub fn departs(&self, process: &Process<R>) {
        debug_assert!(!process.is_exiting(), "sync/LI2");
        self.listings.departs(process.born, process.pid);
    }

    /// The pids of all that are not ending, in rising order.
    pub fn pids(&self) -> Vec<Pid> {
        let mut pids = Vec::new();
        self.each(|process| {
            if !process.is_exiting() {
                pids.push(process.pid);
            }
        });
        pids.sort_unstable();
        pids
    }
}

impl<R: Runtime> Listed for ProcessTable<R> {
    type Id = Pid;

    fn term(pid: Pid) -> Term {
        pid.term()
    }

    fn open_listing(&self) -> Snapshot {
        self.listings.open(|| self.processes.cut())
    }

    fn close_listing(&self, listing: Snapshot) -> Vec<Pid> {
        self.listings.close(listing)
    }

    fn list_in(&self, places: Range<usize>, cut: u64, pids: &mut Vec<Pid>) -> bool {
        let end = places.end.min(self.limit());
        // SAFETY: TB1.
        let found = self.processes.settled(places.start..end).map(|process| unsafe { process.as_ref() });
        let listed = found.filter(|process| process.born < cut && !process.is_exiting());
        pids.extend(listed.map(|process| process.pid));
        end < self.limit()
    }
}
