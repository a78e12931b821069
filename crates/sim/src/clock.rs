//! The platform of a simulated machine: virtual time, and the wake-ups of its cores.

use myriad_sched::{IoTurns, Platform, Readiness};
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::machine::Place;
use myriad_sync::{LockClass, Mutex, OnceLock, cost};
use std::time::Duration;

static WOKEN: LockClass = LockClass::new("simulated_wake_ups", 955);
static IO_TURNS: LockClass = LockClass::new("simulated_io_thread", 956);

/// A turn of the I/O thread.
pub type IoTurn = Box<dyn FnMut() + Send>;

/// The clock that all cores read. The driver sets it to the time of the core whose turn it is.
pub struct VirtualClock {
    now_ns: AtomicU64,
    woken: Mutex<Vec<usize>>,
    seed: u64,
    /// Where the cores are, if they are told.
    places: Option<Vec<Place>>,
    /// What schedulers wait for besides, where the program has sockets.
    readiness: OnceLock<Box<dyn Readiness>>,
    /// The turns of the I/O thread, none of which waits: that would take real time.
    io_turns: Mutex<Option<IoTurn>>,
}

impl VirtualClock {
    /// At the beginning of time, for cores in these places.
    pub fn new(seed: u64, places: Option<Vec<Place>>) -> VirtualClock {
        let (woken, io_turns) = (Mutex::new(&WOKEN, Vec::new()), Mutex::new(&IO_TURNS, None));
        VirtualClock { now_ns: AtomicU64::new(1), woken, seed, places, readiness: OnceLock::new(), io_turns }
    }

    /// It is so late for who runs now.
    pub fn set(&self, now_ns: u64) {
        // Relaxed: one thread runs the whole machine.
        self.now_ns.store(now_ns, Ordering::Relaxed);
    }

    /// What schedulers wait for besides, where the program has sockets.
    pub fn readiness(&self) -> Option<&dyn Readiness> {
        self.readiness.get().map(|readiness| &**readiness)
    }

    /// The turns of the I/O thread, for the driver, where there is one.
    pub fn io_turns(&self) -> Option<IoTurn> {
        self.io_turns.lock().take()
    }

    /// The cores that were woken since it was last asked, in order.
    pub fn take_woken(&self) -> Vec<usize> {
        std::mem::take(&mut self.woken.lock())
    }
}

impl Platform for VirtualClock {
    fn now_ns(&self) -> u64 {
        // Relaxed: as above.
        self.now_ns.load(Ordering::Relaxed)
    }

    fn system_ns(&self) -> i64 {
        self.now_ns() as i64
    }

    fn places(&self) -> Option<Vec<Place>> {
        self.places.clone()
    }

    fn seed(&self, scheduler: usize) -> u64 {
        self.seed ^ (scheduler as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn park(&self, _: usize, _: Option<Duration>) {
        unreachable!("the driver parks cores");
    }

    fn unpark(&self, scheduler: usize) {
        // A wake-up has its own price.
        cost::aside(|| self.woken.lock().push(scheduler));
        if let Some(readiness) = self.readiness() {
            readiness.wake(scheduler);
        }
    }

    fn wait_for(&self, readiness: Box<dyn Readiness>) {
        let _ = self.readiness.set(readiness);
    }

    fn serve(&self) -> bool {
        self.readiness().is_some_and(|readiness| readiness.serve())
    }

    fn look_at_events(&self, scheduler: usize) {
        if let Some(readiness) = self.readiness() {
            readiness.look_at_events(scheduler);
        }
    }

    fn meet_events(&self, scheduler: usize) {
        if let Some(readiness) = self.readiness() {
            readiness.meet_events(scheduler);
        }
    }

    fn may_miss_events(&self, scheduler: usize) -> bool {
        self.readiness().is_some_and(|readiness| readiness.may_miss_events(scheduler))
    }

    fn take_io_turns(&self, mut turns: IoTurns) -> Option<IoTurns> {
        *self.io_turns.lock() = Some(Box::new(move || turns(false)));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_turn_of_the_io_thread_may_wait() {
        let clock = VirtualClock::new(1, None);
        assert!(clock.take_io_turns(Box::new(|may_wait| assert!(!may_wait))).is_none(), "no thread is started");
        clock.io_turns().unwrap()();
    }
}
