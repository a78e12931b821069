//! Stopping the world: schedulers wait at a safepoint, between two slices, while one thread has the VM for itself.
//!
//! SF1. A requester that finds all schedulers stopped after its request knows that none of them begins a slice before the request is
//!      released ([`Safepoint`] has the protocol).
//! SF2. The holder of a [`StoppedWorld`] may look at what only the owner of a process may otherwise (process/P2): all normal
//!      schedulers and private threads but its own are stopped, dirty ones collect no process, and a built-in that runs there changes no term that it
//!      has not made itself (vm/DC1).

use crate::Runtime;
use crate::current::stops_at_safepoints;
use crate::schedulers::Schedulers;
use myriad_sync::atomic::{AtomicBool, Ordering};
use myriad_sync::thread::Instant;
use myriad_sync::{Backoff, Crew, Safepoint};
use std::time::Duration;

/// The safepoint of all schedulers.
pub(crate) struct World {
    pub(crate) safepoint: Safepoint,
    /// A thread holds a [`StoppedWorld`], or tries to.
    taken: AtomicBool,
    /// Work of its for those who are stopped.
    crew: Crew,
}

impl Default for World {
    fn default() -> Self {
        World { safepoint: Safepoint::new(), taken: AtomicBool::new(false), crew: Crew::new() }
    }
}

/// All but the caller's own scheduler are stopped until this is dropped (SF2).
pub struct StoppedWorld<'a, R: Runtime>(&'a Schedulers<R>);

impl<R: Runtime> Drop for StoppedWorld<'_, R> {
    fn drop(&mut self) {
        debug_assert!(self.0.world.taken.load(Ordering::Relaxed), "SF2: another thread has let it go");
        debug_assert!(self.0.safepoint_requested());
        self.0.release_safepoint();
        // Release: pairs with the Acquire in `stop_world`: the next thread to stop the world comes after this.
        self.0.world.taken.store(false, Ordering::Release);
    }
}

impl<R: Runtime> StoppedWorld<'_, R> {
    /// Does `work` on this thread, and on those of the others that are stopped but awake, at once. Returns when all have returned.
    pub fn together(&self, work: &(dyn Fn() + Sync)) {
        let world = &self.0.world;
        world.crew.lead(work, || world.safepoint.call());
    }
}

/// How long to wait before another look, if nothing wakes one: at first, and at most.
const FIRST_LOOK: Duration = Duration::from_micros(100);
const LAST_LOOK: Duration = Duration::from_millis(10);
/// Looks of a requester before it sleeps: most slices that run end within some microseconds.
const LOOKS_AWAKE: u32 = if cfg!(interleaved) { 1 } else { 2_000 };

impl<R: Runtime> Schedulers<R> {
    /// Are schedulers to stop?
    #[inline]
    pub fn safepoint_requested(&self) -> bool {
        self.world.safepoint.is_requested()
    }

    fn release_safepoint(&self) {
        self.world.safepoint.release();
        self.dirty.wake_for_waiting();
    }

    /// Waits at the safepoint, on a scheduler's thread, until no stop is requested or the VM stops for good.
    pub fn block_at_safepoint(&self) {
        self.world.safepoint.block(|seen| self.wait_for_release(seen));
    }

    /// Does `rest` on a scheduler's thread, which runs no slice, meets no signal and fires no timer meanwhile: nobody waits for it who stops the world. Then waits at
    /// the safepoint if that is to be.
    pub fn stand_at_safepoint(&self, rest: impl FnOnce()) {
        self.world.safepoint.stand(rest, |seen| self.wait_for_release(seen));
    }

    /// Helps who has stopped the world, or sleeps until something changes.
    fn wait_for_release(&self, seen: u32) -> bool {
        if !self.world.crew.help() {
            self.world.safepoint.wait_for_release(seen, LAST_LOOK);
            return !self.is_stopping();
        }
        // There may soon be more to do, or nothing: for that it need not sleep.
        let mut backoff = Backoff::new();
        while !backoff.is_spent() && !self.world.crew.help() {
            backoff.pause();
        }
        !self.is_stopping()
    }

    /// Are all schedulers and private threads stopped but for the caller's own?
    fn all_are_stopped(&self) -> bool {
        let own = usize::from(stops_at_safepoints());
        let private = self.private.live();
        // A private thread that has begun since then, and is stopped, may be counted for one that runs: then more of them live now.
        self.world.safepoint.are_stopped(self.len() + private - own) && self.private.live() <= private
    }

    /// Waits, no longer than `at_most`, until all schedulers are stopped but for the caller's own, and `more` holds too. Who sleeps and does not stand is woken when others
    /// have had time to stop by themselves.
    fn wait_for_safepoint(&self, at_most: Duration, more: impl Fn() -> bool) -> bool {
        let is_over = || self.all_are_stopped() && more();
        if (0..LOOKS_AWAKE).any(|_| {
            std::hint::spin_loop();
            is_over()
        }) {
            return true;
        }
        let (began, mut look) = (Instant::now(), FIRST_LOOK);
        loop {
            let stopped = self.world.safepoint.stopped();
            if is_over() {
                return true;
            }
            if began.elapsed() >= at_most {
                return false;
            }
            self.world.safepoint.wait_for_another(stopped, look);
            if !is_over() {
                self.unpark_all();
            }
            look = (look + look / 4).min(LAST_LOOK);
        }
    }

    /// Does `f` while no scheduler begins a slice, and no timer fires. It does not wait for slices that run, and may lock
    /// what they lock.
    pub fn while_stopping(&self, f: impl FnOnce()) {
        self.world.safepoint.request();
        f();
        self.release_safepoint();
    }

    /// Stops the schedulers until the VM ends. Waits for slices that run, no longer than `at_most`: are all stopped then, but
    /// for the caller's own?
    pub fn stop_world_for_good(&self, at_most: Duration) -> bool {
        self.world.safepoint.request();
        self.wait_for_safepoint(at_most, || true)
    }

    /// Stops all schedulers but the caller's own (SF2). `None`: another thread does so, or they did not stop within `at_most`; the
    /// caller must let its own slice end, and may try again.
    pub fn stop_world(&self, at_most: Duration) -> Option<StoppedWorld<'_, R>> {
        // Acquire: pairs with the Release in `StoppedWorld::drop`.
        if self.world.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        self.world.safepoint.request();
        let stopped = StoppedWorld(self);
        // Dropped if they do not.
        self.wait_for_safepoint(at_most, || self.dirty.collects_none()).then_some(stopped)
    }
}
