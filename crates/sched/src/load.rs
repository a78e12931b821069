//! [`Load`]: what a scheduler has done, for others to look at.
//!
//! LD1. These figures are written by their scheduler alone, so a load and a store count. They have lines of their own: what others poll
//!      while they look for work shall not share one with what is written in each slice.

use crate::{SLICE_OVERHEAD, SLICE_REDUCTIONS};
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a scheduler has done (LD1).
#[derive(Default)]
pub struct Load {
    /// Reductions run here.
    pub reductions: AtomicU64,
    /// Context switches here.
    switches: AtomicU64,
    /// What a slice costs here of late, in reductions; 0 = that is not known.
    slice_cost: AtomicU64,
    /// A process runs here.
    running: AtomicBool,
    /// Nanoseconds without work, up to `idle_since`.
    idle_ns: AtomicU64,
    /// Since when there is no work; 0 = there is.
    idle_since: AtomicU64,
}

impl Load {
    /// Does a process run here?
    pub fn is_running(&self) -> bool {
        // Relaxed: a figure.
        self.running.load(Ordering::Relaxed)
    }

    /// A process begins, or ceases, to run here.
    #[inline]
    pub fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Relaxed);
    }

    /// How many slices there have been.
    pub fn switches(&self) -> u64 {
        // Relaxed: a figure.
        self.switches.load(Ordering::Relaxed)
    }

    /// What a slice costs here of late, its overhead with it, in reductions. That of a whole one, as long as nothing is known.
    pub fn slice_cost(&self) -> u64 {
        // Relaxed: a figure.
        match self.slice_cost.load(Ordering::Relaxed) {
            0 => u64::from(SLICE_OVERHEAD) + SLICE_REDUCTIONS as u64,
            cost => cost,
        }
    }

    /// So many slices have taken so many reductions.
    pub(crate) fn have_taken(&self, slices: u64, reductions: u64) {
        if let Some(each) = reductions.checked_div(slices) {
            // Relaxed: LD1.
            self.slice_cost.store(each + u64::from(SLICE_OVERHEAD), Ordering::Relaxed);
        }
    }

    /// Counts one slice.
    #[inline]
    pub fn count_slice(&self, reductions: u64) {
        // Relaxed: LD1.
        self.reductions.store(self.reductions.load(Ordering::Relaxed) + reductions, Ordering::Relaxed);
        self.switches.store(self.switches.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// There is no work from now on.
    pub fn idle_from(&self, now_ns: u64) {
        // Relaxed: LD1: only the scheduler itself writes; readers get a figure.
        if self.idle_since.load(Ordering::Relaxed) == 0 {
            self.idle_since.store(now_ns.max(1), Ordering::Relaxed);
        }
    }

    /// There is work again.
    pub fn busy_from(&self, now_ns: u64) {
        // Relaxed: LD1: what it has written itself.
        let since = self.idle_since.load(Ordering::Relaxed);
        if since != 0 {
            let idle = self.idle_ns.load(Ordering::Relaxed) + now_ns.saturating_sub(since);
            // Release: pairs with the Acquire in `idle_ns`: a reader that sees the period over sees it counted.
            self.idle_ns.store(idle, Ordering::Release);
            self.idle_since.store(0, Ordering::Release);
        }
    }

    /// Nanoseconds without work until now.
    pub fn idle_ns(&self, now_ns: u64) -> u64 {
        // Acquire: pairs with the Release in `busy_from`.
        let since = self.idle_since.load(Ordering::Acquire);
        let before = self.idle_ns.load(Ordering::Acquire);
        if since == 0 { before } else { before + now_ns.saturating_sub(since) }
    }
}
