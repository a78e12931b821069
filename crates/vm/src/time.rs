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
}

impl Clock {
    /// Starts now.
    pub fn new(machine: &dyn Machine) -> Clock {
        let base_ns = machine.now_ns();
        Clock { base_ns, offset_ns: AtomicI64::new(machine.system_ns() - START_NS) }
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
