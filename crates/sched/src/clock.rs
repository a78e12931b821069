//! Clocks: OTP's monotonic time, system time and the offset between them.
//!
//! Native time unit is one nanosecond. OTP starts monotonic time near the bottom of the small integers; programs
//! that print it see negative numbers there, and so here.
//!
//! Monotonic time goes as the platform's does. What follows the operating system's clock, if it is set while the VM runs, is the
//! offset, by the mode of the command line ([`WarpMode`]). Processes that monitor the clock service get a message at each change.
//!
//! The lock of their list is a leaf: nothing is locked, and no signal sent, while it is held.

use crate::platform::Platform;
use myriad_sync::atomic::{AtomicBool, AtomicI64, Ordering};
use myriad_sync::{LockClass, Mutex};
use myriad_term::{Atom, Pid, RefNumbers, am};

/// Monotonic time at the start of the VM, nanoseconds.
pub const START_NS: i64 = -576_460_752_000_000_000;

/// The last monotonic time, nanoseconds: whole seconds, so that system time can be told until then.
pub const END_NS: i64 = ((i64::MAX + START_NS) / 1_000_000_000 - 1) * 1_000_000_000;

/// How often the offset is compared with the operating system's clock, if it may change at any time.
pub const CHECK_NS: u64 = 60_000_000_000;
/// Smaller differences are those between two readings of the clocks.
pub const LEAST_CHANGE_NS: i64 = 10_000_000;

static CLASS: LockClass = LockClass::new("clock_watchers", 665);

/// When the offset may change: `+C`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarpMode {
    /// Never.
    No,
    /// Once, when `erlang:system_flag(time_offset, finalize)` is called.
    Single,
    /// At any time.
    Multi,
}

impl WarpMode {
    /// By OTP's name for it.
    pub fn named(name: &str) -> Option<WarpMode> {
        Some(match name {
            "no_time_warp" => WarpMode::No,
            "single_time_warp" => WarpMode::Single,
            "multi_time_warp" => WarpMode::Multi,
            _ => return None,
        })
    }

    /// OTP's name for it.
    pub const fn atom(self) -> Atom {
        match self {
            WarpMode::No => am::no_time_warp,
            WarpMode::Single => am::single_time_warp,
            WarpMode::Multi => am::multi_time_warp,
        }
    }
}

/// The clocks of a VM, and the processes that monitor the offset between them.
pub struct Clock {
    base_ns: u64,
    offset_ns: AtomicI64,
    /// The last time that [`Clock::unique_micros`] gave.
    last_unique: AtomicI64,
    mode: WarpMode,
    finalized: AtomicBool,
    watchers: Mutex<Vec<(RefNumbers, Pid)>>,
}

impl Clock {
    /// Starts now.
    pub fn new(platform: &dyn Platform, mode: WarpMode) -> Clock {
        let base_ns = platform.now_ns();
        Clock {
            base_ns,
            offset_ns: AtomicI64::new(platform.system_ns().saturating_sub(START_NS)),
            mode,
            finalized: AtomicBool::new(mode == WarpMode::No),
            last_unique: AtomicI64::new(0),
            watchers: Mutex::new(&CLASS, Vec::new()),
        }
    }

    /// When the offset may change.
    pub const fn mode(&self) -> WarpMode {
        self.mode
    }

    /// Erlang monotonic time, nanoseconds.
    pub fn monotonic_ns(&self, platform: &dyn Platform) -> i64 {
        START_NS + platform.now_ns().saturating_sub(self.base_ns) as i64
    }

    /// The platform's time at which Erlang monotonic time will be `monotonic_ns`.
    pub fn platform_ns(&self, monotonic_ns: i64) -> u64 {
        self.base_ns.saturating_add_signed(monotonic_ns.saturating_sub(START_NS))
    }

    /// Erlang monotonic time of a time of the platform.
    pub fn from_platform_ns(&self, ns: u64) -> i64 {
        START_NS + ns.saturating_sub(self.base_ns) as i64
    }

    /// Erlang system time in microseconds, later at each call than at any before: `erlang:now/0`, times of trace messages.
    pub fn unique_micros(&self, platform: &dyn Platform) -> i64 {
        let micros = self.monotonic_ns(platform).saturating_add(self.offset_ns()) / 1000;
        // Relaxed, all of them: the value alone is what counts.
        let mut last = self.last_unique.load(Ordering::Relaxed);
        loop {
            let now = micros.max(last + 1);
            match self.last_unique.compare_exchange_weak(last, now, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return now,
                Err(other) => last = other,
            }
        }
    }

    /// System time minus monotonic time, nanoseconds.
    pub fn offset_ns(&self) -> i64 {
        // Relaxed: one number, changed rarely.
        self.offset_ns.load(Ordering::Relaxed)
    }

    /// `erlang:system_info(time_offset)`
    pub fn offset_state(&self) -> Atom {
        match self.mode {
            WarpMode::Multi => am::volatile,
            // Relaxed: as above.
            _ if self.finalized.load(Ordering::Relaxed) => am::final_,
            _ => am::preliminary,
        }
    }

    /// Finalizes the offset if it still can be. Gives the state that it had before, and whether this call has finalized it: then the
    /// caller must tell the watchers.
    pub fn finalize(&self, platform: &dyn Platform) -> (Atom, bool) {
        debug_assert!(self.mode == WarpMode::Single || self.offset_state() != am::preliminary);
        let before = self.offset_state();
        // Relaxed: the exchange lets one only set the offset, which is one number.
        let finalizes = before == am::preliminary && !self.finalized.swap(true, Ordering::Relaxed);
        if finalizes {
            self.follow(platform, 0);
        }
        (before, finalizes)
    }

    /// Sets the offset so that system time is the operating system's, if it is at least `least_ns` off; `true` if it was.
    pub fn follow(&self, platform: &dyn Platform, least_ns: i64) -> bool {
        let offset = platform.system_ns().saturating_sub(self.monotonic_ns(platform));
        let off = offset.saturating_sub(self.offset_ns()).saturating_abs() >= least_ns;
        if off {
            // Relaxed: as in `offset_ns`.
            self.offset_ns.store(offset, Ordering::Relaxed);
        }
        off
    }

    /// The processes that monitor the clock service, with their references.
    pub fn watchers(&self) -> Vec<(RefNumbers, Pid)> {
        self.watchers.lock().clone()
    }

    /// A process monitors the clock service.
    pub fn watch(&self, reference: RefNumbers, pid: Pid) {
        self.watchers.lock().push((reference, pid));
    }

    /// It does so no more.
    pub fn unwatch(&self, reference: RefNumbers) {
        self.watchers.lock().retain(|(r, _)| *r != reference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A platform whose clocks stand where they are set.
    #[derive(Default)]
    struct Hands {
        now: AtomicI64,
        system: AtomicI64,
    }

    impl Hands {
        fn set(&self, now: i64, system: i64) {
            self.now.store(now, Ordering::Relaxed);
            self.system.store(system, Ordering::Relaxed);
        }
    }

    impl Platform for Hands {
        fn now_ns(&self) -> u64 {
            self.now.load(Ordering::Relaxed) as u64
        }
        fn system_ns(&self) -> i64 {
            self.system.load(Ordering::Relaxed)
        }
        fn seed(&self, _: usize) -> u64 {
            0
        }
        fn park(&self, _: usize, _: Option<Duration>) {}
        fn unpark(&self, _: usize) {}
    }

    #[test]
    fn monotonic_time_begins_where_otp_begins_it() {
        let hands = Hands::default();
        hands.set(700, 5_000);
        let clock = Clock::new(&hands, WarpMode::No);
        assert_eq!(clock.monotonic_ns(&hands), START_NS);
        hands.set(750, 9_000);
        assert_eq!(clock.monotonic_ns(&hands), START_NS + 50);
        assert_eq!(clock.monotonic_ns(&hands) + clock.offset_ns(), 5_050, "the clock that was set is not followed");
        assert_eq!((clock.platform_ns(START_NS + 50), clock.from_platform_ns(750)), (750, START_NS + 50));
        assert_eq!(clock.offset_state(), am::final_);
    }

    #[test]
    fn the_offset_follows_the_clock_when_it_may() {
        let hands = Hands::default();
        let clock = Clock::new(&hands, WarpMode::Multi);
        assert_eq!(clock.offset_state(), am::volatile);
        hands.set(1_000, 1_000 + LEAST_CHANGE_NS - 1);
        assert!(!clock.follow(&hands, LEAST_CHANGE_NS), "too little to be a step");
        hands.set(1_000, 1_000 - LEAST_CHANGE_NS);
        assert!(clock.follow(&hands, LEAST_CHANGE_NS));
        assert_eq!(clock.monotonic_ns(&hands) + clock.offset_ns(), 1_000 - LEAST_CHANGE_NS);
        assert!(!clock.follow(&hands, LEAST_CHANGE_NS));
    }

    #[test]
    fn times_at_the_ends_do_not_overflow() {
        let hands = Hands::default();
        hands.set(10, i64::MAX);
        let clock = Clock::new(&hands, WarpMode::Single);
        assert_eq!(clock.offset_state(), am::preliminary);
        assert_eq!(clock.offset_ns(), i64::MAX);
        assert_eq!((clock.platform_ns(i64::MAX), clock.platform_ns(i64::MIN)), (10 + i64::MAX as u64, 0));
        hands.set(10, i64::MIN);
        assert!(clock.follow(&hands, 0));
    }
}
