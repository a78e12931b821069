//! Standing still: schedulers that wait between two slices while one thread has the VM for itself.
//!
//! ST1. A scheduler that stands still is counted, and looks again whether it is to stand after it has ceased to be counted. All
//!      of this is in one order (SeqCst): so whoever wishes a standstill and then finds all schedulers counted knows that none
//!      of them begins a slice before the wish is taken back.
//! ST2. Who holds a [`Stopped`] may look at what only the owner of a process may otherwise (process/P2): all normal schedulers but its
//!      own stand, dirty ones collect no process, and a built-in that runs there changes no term that it has not made itself
//!      (`dirty_call.rs`, DC1).

use crate::vm::Vm;
use myriad_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Who wishes it, and who stands.
#[derive(Default)]
pub(crate) struct Standstill {
    /// How many wish that schedulers stand still.
    wishes: AtomicUsize,
    /// How many schedulers do.
    standing: AtomicUsize,
    /// Somebody holds a [`Stopped`], or tries to.
    led: AtomicBool,
}

/// All but the caller's own scheduler stand still until this is dropped (ST2).
pub(crate) struct Stopped(&'static Vm);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.unpause();
        // Release: whoever leads next comes after this.
        self.0.standstill.led.store(false, Ordering::Release);
    }
}

/// How long to wait before another look.
struct Looks(Duration);

impl Looks {
    const FIRST: Duration = Duration::from_micros(50);
    const LAST: Duration = Duration::from_millis(10);

    /// Waits, each time somewhat longer; gives how long.
    fn wait(&mut self) -> Duration {
        let now = self.0;
        myriad_sync::thread::sleep(now);
        self.0 = (now + now / 4).min(Self::LAST);
        now
    }
}

impl Vm {
    /// Are schedulers to stand still?
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        // Relaxed: looked at between slices, again and again.
        self.standstill.wishes.load(Ordering::Relaxed) > 0
    }

    fn pause(&self) {
        self.standstill.wishes.fetch_add(1, Ordering::SeqCst);
    }

    fn unpause(&'static self) {
        // SeqCst, and so Release: pairs with the load in `stand_still`: what was read meanwhile was read before it changes.
        self.standstill.wishes.fetch_sub(1, Ordering::SeqCst);
        self.dirty.wake_all();
    }

    /// Stands still, on a scheduler's thread, as long as somebody wishes it.
    pub(crate) fn stand_still(&self) {
        // SeqCst: ST1. The increment is a Release too, which pairs with the load in `wait_for`: what slices did is seen.
        let wished = || self.standstill.wishes.load(Ordering::SeqCst) > 0 && !self.is_stopping();
        while wished() {
            self.standstill.standing.fetch_add(1, Ordering::SeqCst);
            let mut looks = Looks(Looks::FIRST);
            while wished() {
                looks.wait();
            }
            self.standstill.standing.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Waits, at most so long, until all schedulers stand but for the caller's own, and `more` holds too.
    fn wait_for(&self, at_most: Duration, more: impl Fn() -> bool) -> bool {
        let others = self.schedulers.len() - usize::from(crate::scheduler::current().is_some());
        let (mut waited, mut looks) = (Duration::ZERO, Looks(Looks::FIRST));
        // SeqCst: ST1.
        while self.standstill.standing.load(Ordering::SeqCst) < others || !more() {
            if waited >= at_most {
                return false;
            }
            (0..self.schedulers.len()).for_each(|id| self.machine.unpark(id));
            waited += looks.wait();
        }
        true
    }

    /// Does `f` while no scheduler begins a slice, and no timer fires. It does not wait for slices that run, and may lock
    /// what they lock.
    pub fn while_paused(&'static self, f: impl FnOnce()) {
        self.pause();
        f();
        self.unpause();
    }

    /// Makes the schedulers stand still until the VM stops. Waits for slices that run, at most so long: do all stand now,
    /// but for the caller's own?
    pub(crate) fn pause_for_good(&'static self, at_most: Duration) -> bool {
        self.pause();
        self.wait_for(at_most, || true)
    }

    /// Makes all schedulers stand still but the caller's own (ST2). `None`: another thread does so, or they did not within
    /// `at_most`; the caller is to let its own slice end, and may try again.
    pub(crate) fn stop_world(&'static self, at_most: Duration) -> Option<Stopped> {
        // Acquire: after whoever led before.
        if self.standstill.led.swap(true, Ordering::Acquire) {
            return None;
        }
        self.pause();
        let stopped = Stopped(self);
        // Dropped if they do not.
        self.wait_for(at_most, || self.dirty.collects_none()).then_some(stopped)
    }
}
