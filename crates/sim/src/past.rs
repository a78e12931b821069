//! OTP R13B04 on the simulated machine: by which policy schedulers share work, and the locks that its programs waited for.
//!
//! How work was shared is crate `sched`'s (`sched::r13b04`). What the VM guarded by locks of its own stands here, for the VM that is simulated
//! has none of them: after each piece its core takes each lock as often as R13B04 would have.
//!
//! | lock | one for | taken | source (Zhang 2011) |
//! | --- | --- | --- | --- |
//! | `gc_info` | all | by each collection | 4.2.1, figure 4.7 |
//! | `proc_tab` | all | when a process is made, and when it ends | 4.2.3 |
//! | `alcu_allocator` | each scheduler | twice for a message that is made, twice when it is freed, there where it was made; twice by a collection, for the heap that is made and the one that is freed | 4.2.2, figures 4.11 and 4.12 |
//! | `mseg_alloc` | all | by a collection that makes a heap of more than 512 KiB, to have it mapped and the old one unmapped | 3.5.3, 3.5.4, figure 4.16 |
//!
//! `gc_info` was a spin lock, of one instruction of the machine; the others were mutexes of Pthreads, whose atomic operations are emulated in the kernel of that
//! machine. What they take without contention follows from table 4.4: on one scheduler a message of Hackbench took 10.9 µs, in the
//! sequential VM 4.6 µs, and six tenths of the difference were locks and atomics (4.2.3), here of the four mutexes of a message
//! ([`MUTEX`]). The other four tenths were code that the sequential VM has not ([`MESSAGE`]).
//!
//! A heap of its own segment comes from the kernel with all its pages cleared, line by line. How much of that was done under a lock of the kernel's is
//! not known: here none of it. `mseg_alloc` is held for one of the two system calls, each as long as a wake-up (an assumption).
//!
//! Heaps grow by what survives alone (`heap::collect`). Floats are immediate terms here and were boxes of three words there; who simulates a program
//! that computes with them says how many words a reduction boxed (`--boxed-words`), and each [`LEAST_HEAP`] words are one collection more.

use crate::contention::Contention;
use crate::machine::Machine;
use myriad_heap::meter::Work;
use myriad_sync::LockClass;
use myriad_sync::cost::{Hold, Meter};

static GC_INFO: LockClass = LockClass::new("gc_info", 1);
static PROC_TAB: LockClass = LockClass::new("proc_tab", 1);
static SEGMENTS: LockClass = LockClass::new("mseg_alloc", 1);
static ALLOCATOR: LockClass = LockClass::new("alcu_allocator", 1);

/// A block larger than this is a segment of its own (the default of `sbct`, in `erts_alloc`).
const SEGMENT: u64 = 512 * 1024;
/// Words of the smallest heap, nearly all of them dead when only floats are made (3.5.6: the default).
const LEAST_HEAP: u64 = 233;
/// Blocks of a message: what it says, and what manages it.
const BLOCKS: u64 = 2;

/// A mutex that is taken and given back, in parts of what a message takes; for half of it it is held.
const MUTEX: f64 = 0.21;
/// What a message takes more than in the sequential VM, apart from locks, in the same parts.
const MESSAGE: f64 = 0.58;

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
    /// Bytes of the heap's blocks after that.
    pub heap_bytes: u64,
    /// Reductions that it ran.
    pub reductions: u32,
    /// Messages made.
    pub messages: u64,
    /// The number of the next process: as many have been made, and as many end in the long run.
    pub next: u64,
}

/// Those locks.
pub struct PastLocks {
    cores: usize,
    /// How long who finds a mutex held sleeps at least (nanoseconds).
    sleep_ns: u64,
    mutex_ns: u64,
    message_ns: u64,
    /// What a line from memory takes.
    line_ns: f64,
    /// The core whose message is freed next: each message is some other core's.
    freed: usize,
    /// The number of the next process, before.
    next: Option<u64>,
    /// Words of floats that a reduction boxes.
    boxed_words: u64,
    /// Words that each core has boxed since the last collection for them.
    boxed: Vec<u64>,
}

impl PastLocks {
    /// Of a machine of so many cores, where a reduction boxes so many words of floats.
    pub fn new(cores: usize, boxed_words: u64, machine: &Machine) -> PastLocks {
        PastLocks {
            cores,
            sleep_ns: machine.wake_ns,
            mutex_ns: (machine.costs.ns(Work::Message) * MUTEX) as u64,
            message_ns: (machine.costs.ns(Work::Message) * MESSAGE) as u64,
            line_ns: machine.memory.memory_ns,
            freed: 0,
            next: None,
            boxed_words,
            boxed: vec![0; cores],
        }
    }

    /// A core takes the locks for what it did.
    pub fn take(&mut self, machine: &Contention, core: usize, did: Deeds) {
        let boxed = &mut self.boxed[core];
        *boxed += u64::from(did.reductions) * self.boxed_words;
        let collections = u64::from(did.collected) + *boxed / LEAST_HEAP;
        *boxed %= LEAST_HEAP;
        for _ in 0..collections {
            once(machine, &GC_INFO, 0, 0);
            (0..BLOCKS).for_each(|_| mutex(machine, &ALLOCATOR, 2 + core, self.sleep_ns, self.mutex_ns));
        }
        if did.collected && did.heap_bytes > SEGMENT {
            let clearing = (did.heap_bytes as f64 / 64.0 * self.line_ns) as u64;
            mutex(machine, &SEGMENTS, 2 + self.cores, self.sleep_ns, 2 * self.sleep_ns);
            machine.work(clearing);
        }
        // Pids come in the order of their numbers, of which none is passed over but those in use.
        let spawned = did.next.saturating_sub(self.next.replace(did.next).unwrap_or(did.next));
        for _ in 0..2 * spawned {
            mutex(machine, &PROC_TAB, 1, self.sleep_ns, self.mutex_ns);
        }
        for _ in 0..did.messages {
            machine.work(self.message_ns);
            self.freed = (self.freed + 1) % self.cores;
            for _ in 0..BLOCKS {
                mutex(machine, &ALLOCATOR, 2 + core, self.sleep_ns, self.mutex_ns);
                mutex(machine, &ALLOCATOR, 2 + self.freed, self.sleep_ns, self.mutex_ns);
            }
        }
    }
}

/// Takes a mutex as glibc's are: who finds it held sleeps, for as long as a wake-up takes, and then tries again. Others may come first. Half of
/// the time that it takes it is held.
fn mutex(machine: &Contention, class: &'static LockClass, number: usize, sleep_ns: u64, takes_ns: u64) {
    while !machine.is_free(hold_of(number)) {
        machine.work(sleep_ns.max(1));
    }
    once(machine, class, number, takes_ns);
}

/// Takes the lock of this number and gives it back, which takes so long, half of it while the lock is held. Each is on a line of its own, of the first page, where nothing else can be.
fn once(machine: &Contention, class: &'static LockClass, number: usize, takes_ns: u64) {
    let hold = hold_of(number);
    machine.acquire(class, hold);
    machine.work(takes_ns / 2);
    machine.release(hold);
    machine.work(takes_ns / 2);
}

fn hold_of(number: usize) -> Hold {
    let at = 64 * (1 + number);
    Hold { lock: at, line: at, shared: false }
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
        let mut locks = PastLocks::new(2, 15, &tiles);
        for core in [0, 1] {
            machine.begin(core, 0);
            locks.take(
                &machine,
                core,
                Deeds {
                    collected: true,
                    heap_bytes: 1 << (19 + core),
                    reductions: 4,
                    messages: 1,
                    next: 7 + core as u64,
                },
            );
        }
        let waits = machine.waits();
        let taken = ["gc_info", "proc_tab", "alcu_allocator"].map(|class| waits[class].taken);
        assert_eq!(taken, [2, 2, 12]);
        assert_eq!(waits["gc_info"].waited, 1);
        assert_eq!(waits["mseg_alloc"].taken, 1);
        // 60 words are boxed already: 180 more fill a heap.
        machine.begin(0, 0);
        locks.take(&machine, 0, Deeds { collected: false, heap_bytes: 1 << 20, reductions: 12, messages: 0, next: 8 });
        assert_eq!(machine.waits()["gc_info"].taken, 3);
    }
}
