//! Clocks: OTP's monotonic time, system time and the offset between them.
//!
//! Native time unit is one nanosecond. OTP starts monotonic time near the bottom of the small integers; programs
//! that print it see negative numbers there, and so here.

use crate::machine::Machine;
use myriad_sync::atomic::{AtomicI64, Ordering};

/// Monotonic time at the start of the VM, nanoseconds.
pub const START_NS: i64 = -576_460_752_000_000_000;

/// The clocks.
pub struct Clock {
    base_ns: u64,
    offset_ns: AtomicI64,
    /// The last time that [`Clock::unique_micros`] gave.
    last_unique: AtomicI64,
}

impl Clock {
    /// Starts now.
    pub fn new(machine: &dyn Machine) -> Clock {
        let base_ns = machine.now_ns();
        Clock { base_ns, offset_ns: AtomicI64::new(machine.system_ns() - START_NS), last_unique: AtomicI64::new(0) }
    }

    /// Erlang monotonic time, nanoseconds.
    pub fn monotonic_ns(&self, machine: &dyn Machine) -> i64 {
        START_NS + machine.now_ns().saturating_sub(self.base_ns) as i64
    }

    /// The machine's time at which Erlang monotonic time will be `monotonic_ns`.
    pub fn machine_ns(&self, monotonic_ns: i64) -> u64 {
        self.base_ns.saturating_add_signed(monotonic_ns.saturating_sub(START_NS))
    }

    /// Erlang monotonic time of a time of the machine.
    pub fn from_machine_ns(&self, ns: u64) -> i64 {
        START_NS + ns.saturating_sub(self.base_ns) as i64
    }

    /// Erlang system time in microseconds, later at each call than at any before: `erlang:now/0`, times of trace messages.
    pub fn unique_micros(&self, machine: &dyn Machine) -> i64 {
        let micros = self.monotonic_ns(machine).saturating_add(self.offset_ns()) / 1000;
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

    /// Sets the offset (time warp).
    pub fn set_offset_ns(&self, offset: i64) {
        self.offset_ns.store(offset, Ordering::Relaxed);
    }
}
