//! The platform of a simulated machine: virtual time, and the wake-ups of its cores.

use myriad_sched::Platform;
use myriad_sync::atomic::{AtomicU64, Ordering};
use myriad_sync::machine::Place;
use myriad_sync::{LockClass, Mutex, cost};
use std::time::Duration;

static WOKEN: LockClass = LockClass::new("simulated_wake_ups", 955);

/// The clock that all cores read. The driver sets it to the time of the core whose turn it is.
pub struct VirtualClock {
    now_ns: AtomicU64,
    woken: Mutex<Vec<usize>>,
    seed: u64,
    /// Where the cores are, if they are told.
    places: Option<Vec<Place>>,
}

impl VirtualClock {
    /// At the beginning of time, for cores in these places.
    pub fn new(seed: u64, places: Option<Vec<Place>>) -> VirtualClock {
        VirtualClock { now_ns: AtomicU64::new(1), woken: Mutex::new(&WOKEN, Vec::new()), seed, places }
    }

    /// It is so late for who runs now.
    pub fn set(&self, now_ns: u64) {
        // Relaxed: one thread runs the whole machine.
        self.now_ns.store(now_ns, Ordering::Relaxed);
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
    }
}
