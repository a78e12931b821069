//! What `system_flag/2`, `system_monitor/2` and `system_profile/2` set and nothing but their readers looks at.

use super::locks::LockProfile;
use myriad_sync::{LockClass, Mutex, MutexGuard};
use myriad_term::{Atom, Term};
use myriad_vm::Vm;

/// A process or port that watches the system (both are immediate terms), and what it asked for, in OTP's order.
#[derive(Clone)]
pub struct Watch {
    /// The process or port that gets the messages.
    pub by: Term,
    /// The options, with their limits.
    pub options: Vec<(Atom, Option<u64>)>,
}

/// Since when `scheduler_wall_time` counts.
pub struct WallTimeBase {
    /// The machine's time.
    pub since_ns: u64,
    /// Nanoseconds that each scheduler had been idle by then: normal, dirty CPU, dirty I/O.
    pub idle_ns: Vec<u64>,
}

/// The state.
pub struct State {
    /// How many requests to all processes the purger has under way.
    pub outstanding_requests: usize,
    /// `scheduler_wall_time`: when it was set, and how long each scheduler had been idle by then.
    pub wall_time: Option<WallTimeBase>,
    /// `statistics(runtime)` when it was last asked for, milliseconds.
    pub last_runtime: u64,
    /// `statistics(wall_clock)` likewise.
    pub last_wall_clock: u64,
    /// `statistics(reductions)` likewise.
    pub last_reductions: u64,
    /// `statistics(exact_reductions)` likewise.
    pub last_exact_reductions: u64,
    /// `system_monitor/2`
    pub monitor: Option<Watch>,
    /// `system_profile/2`
    pub profile: Option<Watch>,
    /// What `lcnt` has set.
    pub locks: LockProfile,
}

static CLASS: LockClass = LockClass::new("system_state", 280);

/// It, of one VM.
pub struct SystemState(Mutex<State>);

impl Default for SystemState {
    fn default() -> SystemState {
        let state = State {
            outstanding_requests: 4,
            wall_time: None,
            last_runtime: 0,
            last_wall_clock: 0,
            last_reductions: 0,
            last_exact_reductions: 0,
            monitor: None,
            profile: None,
            locks: LockProfile::default(),
        };
        SystemState(Mutex::new(&CLASS, state))
    }
}

/// The state of a VM, locked.
pub fn state(vm: &Vm) -> MutexGuard<'static, State> {
    vm.part::<SystemState>().0.lock()
}
