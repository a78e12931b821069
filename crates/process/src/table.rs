//! The process table: from a pid to the process, without a lock.
//!
//! The low bits of a pid's number choose a slot; a slot holds the process or nothing. Numbers are given out in rising order,
//! so that a pid comes back only after all the others.
//!
//! TB1. A pointer read from a slot is good until the reading thread's next quiescent point: an ended process is freed by
//!      thread progress only (`sync`, Progress).

use crate::listing::Listings;
use crate::process::Process;
use crate::runtime::Runtime;
use myriad_sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Pid, RefNumbers, RefUse, memory};
use std::ops::Range;

static CLASS: LockClass = LockClass::new("proc_tab", 500);
/// What OTP calls the memory of the table.
const PURPOSE: memory::Purpose = memory::Purpose("ll", "proc_tab");

/// The processes of a VM, each in the slot that its pid chooses.
pub struct ProcessTable<R: Runtime> {
    slots: Box<[AtomicPtr<Process<R>>]>,
    next: Mutex<u64>,
    count: AtomicUsize,
    /// Listings under way.
    pub listings: Listings,
    /// Processes made since start (a statistic).
    pub spawned: AtomicU64,
    limit: usize,
}

impl<R: Runtime> ProcessTable<R> {
    /// Room for `limit` processes, rounded up to a power of two as OTP does.
    pub fn new(limit: usize) -> Self {
        let size = limit.next_power_of_two().clamp(1024, 1 << 27);
        debug_assert!(size.is_power_of_two(), "the low bits of a pid choose the slot");
        // Zeroed pages, so that an unused part of a large table costs nothing.
        let layout = memory::layout::<AtomicPtr<Process<R>>>(size, PURPOSE);
        // SAFETY: null pointers are all-zero words; the layout is that of the boxed slice.
        let slots = unsafe {
            let p = memory::named(PURPOSE, || std::alloc::alloc_zeroed(layout)).cast::<AtomicPtr<Process<R>>>();
            if p.is_null() {
                memory::exhausted(PURPOSE, layout.size());
            }
            Box::from_raw(std::ptr::slice_from_raw_parts_mut(p, size))
        };
        ProcessTable {
            slots,
            next: Mutex::new(&CLASS, 0),
            count: AtomicUsize::new(0),
            listings: Listings::default(),
            spawned: AtomicU64::new(0),
            limit: size,
        }
    }

    /// Most processes at a time.
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// Processes now.
    pub fn count(&self) -> usize {
        // Relaxed: a figure.
        self.count.load(Ordering::Relaxed)
    }

    fn slot(&self, pid: Pid) -> &AtomicPtr<Process<R>> {
        &self.slots[pid.data() as usize & (self.slots.len() - 1)]
    }

    /// The pid that the next process will get.
    pub fn next_pid(&self) -> Pid {
        Pid::from_data(*self.next.lock())
    }

    /// The next process gets a pid with these bits, or the first free one after it: for tests of pids that come again. The bits
    /// that OTP's pids do not have stay.
    pub fn set_next(&self, bits: u32) -> Pid {
        const OTP_BITS: u32 = Pid::NUMBER_BITS + Pid::OTP_SERIAL_BITS;
        let mut next = self.next.lock();
        *next = *next >> OTP_BITS << OTP_BITS | u64::from(bits) & ((1 << OTP_BITS) - 1);
        Pid::from_data(*next)
    }

    /// Takes a pid and puts what `make` makes of it in its slot; `None` if the table is full.
    pub fn insert(&self, make: impl FnOnce(Pid) -> Box<Process<R>>) -> Option<&Process<R>> {
        let mut next = self.next.lock();
        if self.count() >= self.limit {
            return None;
        }
        // Some slot is free, since slots are as many as the limit.
        let pid = loop {
            let pid = Pid::from_data(*next);
            *next += 1;
            // Relaxed: slots are filled under this lock alone; one that is emptied just now is found at the next turn.
            if self.slot(pid).load(Ordering::Relaxed).is_null() {
                break pid;
            }
        };
        // Relaxed: figures; a listing, which relies on `born`, reads it under the lock (process/LI1).
        self.count.fetch_add(1, Ordering::Relaxed);
        let born = self.spawned.fetch_add(1, Ordering::Relaxed);
        pid.note_made();
        let mut process = make(pid);
        debug_assert!(process.pid == pid, "it has the pid that chooses its slot");
        process.born = born;
        let process = Box::into_raw(process);
        debug_assert!(self.slot(pid).load(Ordering::Relaxed).is_null(), "pids are given out under the lock");
        debug_assert!(self.count() <= self.limit);
        // Release: pairs with the Acquire in `get`.
        self.slot(pid).store(process, Ordering::Release);
        drop(next);
        // SAFETY: just made; TB1 keeps it for the caller.
        Some(unsafe { &*process })
    }

    /// The process of a pid (TB1).
    pub fn get(&self, pid: Pid) -> Option<&Process<R>> {
        // Acquire: pairs with the Release in `insert`.
        let process = self.slot(pid).load(Ordering::Acquire);
        // SAFETY: TB1.
        unsafe { process.as_ref() }.filter(|p| p.pid == pid)
    }

    /// Numbers of the `value`-th reference, as an alias of a process: they tell its slot, so that no table from references to
    /// processes is needed. Whether the process there still has this alias, it knows itself (`Relations::alias`).
    pub fn alias(&self, value: u64, pid: Pid) -> RefNumbers {
        let slot = pid.data() as u32 & (self.slots.len() - 1) as u32;
        let [first, second, third] = RefNumbers::nth(value).0;
        let third = (third << self.slots.len().ilog2() | slot) & (RefUse::Alias.mark() - 1);
        debug_assert_eq!(third as usize & (self.slots.len() - 1), slot as usize, "`of_alias` finds the slot");
        RefNumbers([first, second, RefUse::Alias.mark() | third])
    }

    /// The process that an alias may be of (TB1).
    pub fn of_alias(&self, numbers: RefNumbers) -> Option<&Process<R>> {
        let slot = numbers.0[2] as usize & (self.slots.len() - 1);
        // Acquire: pairs with the Release that filled the slot. SAFETY: TB1: what a slot holds is not freed before the next quiescent
        // point of this thread.
        unsafe { self.slots.get(slot)?.load(Ordering::Acquire).as_ref() }
    }

    /// Takes a process out; the caller frees it by thread progress.
    pub fn remove(&self, pid: Pid) -> Option<*mut Process<R>> {
        let slot = self.slot(pid);
        let process = slot.load(Ordering::Acquire);
        // SAFETY: TB1.
        if unsafe { process.as_ref() }.is_none_or(|p| p.pid != pid) {
            return None;
        }
        // SAFETY: TB1.
        debug_assert!(unsafe { &*process }.is_exiting(), "one that lives is taken out");
        debug_assert!(self.count() > 0);
        // Release: a thread that puts another process here has seen this one gone.
        slot.store(std::ptr::null_mut(), Ordering::Release);
        self.count.fetch_sub(1, Ordering::Relaxed);
        Some(process)
    }

    /// Calls `look` with each process, those that are ending too (TB1).
    pub fn each(&self, look: impl FnMut(&Process<R>)) {
        // Acquire, SAFETY: as in `get`.
        self.slots.iter().filter_map(|slot| unsafe { slot.load(Ordering::Acquire).as_ref() }).for_each(look);
    }

    /// Opens a listing; gives its key, and how many processes were born before it (process/LI1).
    pub(crate) fn open_listing(&self) -> (u64, u64) {
        let _next = self.next.lock();
        // Relaxed: written under the lock.
        let born = self.spawned.load(Ordering::Relaxed);
        (self.listings.open(born), born)
    }

    /// Calls `look` with each process in these slots; are there more behind them?
    pub(crate) fn each_in(&self, slots: Range<usize>, look: impl FnMut(&Process<R>)) -> bool {
        let end = slots.end.min(self.slots.len());
        let slots = self.slots.get(slots.start..end).unwrap_or_default();
        // Acquire, SAFETY: as in `get`.
        slots.iter().filter_map(|slot| unsafe { slot.load(Ordering::Acquire).as_ref() }).for_each(look);
        end < self.slots.len()
    }

    /// The pids of all that are not ending, in rising order of slots.
    pub fn pids(&self) -> Vec<Pid> {
        let all = self.slots.iter().filter_map(|slot| {
            // Acquire, SAFETY: as in `get`.
            unsafe { slot.load(Ordering::Acquire).as_ref() }.filter(|p| !p.is_exiting()).map(|p| p.pid)
        });
        let mut pids: Vec<Pid> = all.collect();
        pids.sort_unstable();
        pids
    }
}
