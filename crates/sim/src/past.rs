//! OTP R13B04 on the simulated machine: by which policy schedulers share work, and the locks that its programs waited for.
//!
//! How work was shared is crate `sched`'s (`sched::r13b04`). What the VM guarded by locks of its own stands here, for the VM that is simulated
//! has none of them: after each piece its core takes each lock as often as R13B04 would have.
//!
//! | lock | one for | taken | source (Zhang 2011) |
//! | --- | --- | --- | --- |
//! | `gc_info` | all | by each collection | 4.2.1, figure 4.7 |
//! | `proc_tab` | all | when a process is made, and when it ends | 4.2.3 |
//! | `alcu_allocator` | each scheduler | twice for a message that is made, twice when it is freed, there where it was made | 4.2.2, figures 4.11 and 4.12 |

use crate::contention::Contention;
use myriad_sync::LockClass;
use myriad_sync::cost::{Hold, Meter};

static GC_INFO: LockClass = LockClass::new("gc_info", 1);
static PROC_TAB: LockClass = LockClass::new("proc_tab", 1);
static ALLOCATOR: LockClass = LockClass::new("alcu_allocator", 1);

/// Blocks of a message: what it says, and what manages it.
const BLOCKS: u64 = 2;

/// By which rules schedulers share work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// Those that ship.
    Myriad,
    /// Those of OTP R13B04, with its locks.
    R13b04,
}

impl Policy {
    /// The one of this name.
    ///
    /// # Errors
    /// One line: there is none.
    pub fn named(name: &str) -> Result<Policy, String> {
        let known = [Policy::Myriad, Policy::R13b04].into_iter().find(|policy| policy.name() == name);
        known.ok_or_else(|| format!("--policy {name}: myriad or r13b04 is wanted"))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Myriad => "myriad",
            Policy::R13b04 => "r13b04",
        }
    }
}

/// What a piece did that R13B04 took locks for.
#[derive(Clone, Copy, Debug)]
pub struct Deeds {
    /// It has collected garbage.
    pub collected: bool,
    /// Messages made.
    pub messages: u64,
    /// The number of the next process: as many have been made, and as many end in the long run.
    pub next: u64,
}

/// Those locks.
pub struct PastLocks {
    cores: usize,
    /// The core whose message is freed next: each message is some other core's.
    freed: usize,
    /// The number of the next process, before.
    next: Option<u64>,
}

impl PastLocks {
    /// Of a machine of so many cores.
    pub fn new(cores: usize) -> PastLocks {
        PastLocks { cores, freed: 0, next: None }
    }

    /// A core takes the locks for what it did.
    pub fn take(&mut self, machine: &Contention, core: usize, did: Deeds) {
        if did.collected {
            once(machine, &GC_INFO, 0);
        }
        // Pids come in the order of their numbers, of which none is passed over but those in use.
        let spawned = did.next.saturating_sub(self.next.replace(did.next).unwrap_or(did.next));
        for _ in 0..2 * spawned {
            once(machine, &PROC_TAB, 1);
        }
        for _ in 0..did.messages {
            self.freed = (self.freed + 1) % self.cores;
            for _ in 0..BLOCKS {
                once(machine, &ALLOCATOR, 2 + core);
                once(machine, &ALLOCATOR, 2 + self.freed);
            }
        }
    }
}

/// Takes the lock of this number and gives it back. Each is on a line of its own, of the first page, where nothing else can be.
fn once(machine: &Contention, class: &'static LockClass, number: usize) {
    let at = 64 * (1 + number);
    let hold = Hold { lock: at, line: at, shared: false };
    machine.acquire(class, hold);
    machine.release(hold);
}

#[cfg(test)]
mod tests {
    use super::{Deeds, PastLocks, Policy};
    use crate::contention::Contention;
    use crate::machine::Machine;

    #[test]
    fn a_policy_has_a_name() {
        assert_eq!(Policy::named("r13b04"), Ok(Policy::R13b04));
        assert!(Policy::named("").is_err());
    }

    #[test]
    fn cores_meet_where_all_take_one_lock() {
        let tiles = Machine::named("tilepro64").unwrap();
        let machine = Contention::new(&tiles.topology, 2);
        let mut locks = PastLocks::new(2);
        for core in [0, 1] {
            machine.begin(core, 0);
            locks.take(&machine, core, Deeds { collected: true, messages: 1, next: 7 + core as u64 });
        }
        let waits = machine.waits();
        let taken = ["gc_info", "proc_tab", "alcu_allocator"].map(|class| waits[class].taken);
        assert_eq!(taken, [2, 2, 8]);
        assert_eq!(waits["gc_info"].waited, 1);
    }
}
