//! The driver: cores in the order of their virtual time, each a scheduler that is stepped.
//!
//! Core time is what the machine says that a piece of a slice takes: reductions, messages, their words, words that collections
//! moved (Zhang 2011, section 5.2 has time in memory as the main part beside computing). The core that is furthest behind
//! runs next, for one piece; what it does to others they see from then on. A core without work searches for some, one look in each of its
//! turns, and parks; it takes part again when a timer is due, or a wake-up has reached it.
//!
//! The core whose turn it is has the least time of all that are awake or have been woken; time never goes back.
//!
//! What dirty schedulers do is done at once by the core that asked for it, in its own time.

mod outside;

use self::outside::Outside;
use crate::clock::VirtualClock;
use crate::contention::{Contention, PAUSE_NS, Places, Shared};
use crate::costs::Worked;
use crate::faults::Faults;
use crate::invariants::{Invariants, Seen};
use crate::locks::Waits;
use crate::machine::Machine;
use crate::memory::{HeapSeen, Memory, Touched};
use crate::past::{Deeds, PastLocks};
use crate::placement::Placement;
use crate::stolen::Stolen;
use myriad_heap::meter::{self, Counts, Work};
use myriad_sched::dispatcher::SEARCH_PAUSES;
use myriad_sched::{DirtyKind, Local, Look, Readiness, Search};
use myriad_sync::cost;
use myriad_vm::Vm;
use myriad_vm::scheduler::{Scheduler, Step};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Where the time of a core, or of all cores, went: nanoseconds, and how often.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Spent {
    /// Running Erlang code and built-ins.
    pub running: u64,
    /// Sending and receiving messages, apart from the reductions for it.
    pub messages: u64,
    /// Collecting garbage.
    pub collecting: u64,
    /// By how much longer that took because a mate was busy ([`Placement`]).
    pub sharing: u64,
    /// Waiting for what the process touches, from shared caches and from memory ([`Memory`]).
    pub memory: u64,
    /// Fetching cache lines that other cores had, and waiting for them meanwhile.
    pub lines: u64,
    /// Waiting for locks.
    pub locks: u64,
    /// Looking for work in vain.
    pub looking: u64,
    /// Between a wake-up and the work.
    pub waking: u64,
    /// Parked while processes waited in the queues of others.
    pub idle_beside_work: u64,
    /// Searching for work before it parks.
    pub searching: u64,
    /// Parked, and there was nothing to run.
    pub idle: u64,
    /// Reductions.
    pub reductions: u64,
    /// Wake-ups.
    pub wakes: u64,
}

/// A core, and the scheduler on it.
struct Core {
    scheduler: Scheduler,
    now_ns: u64,
    state: State,
    /// The heap of the process whose slice has paused.
    heap: Option<HeapSeen>,
    /// An entry of the agenda from before this number is void.
    entry: u64,
    spent: Spent,
    /// Work of less than a nanosecond that is still to be charged (picoseconds).
    rest: Worked,
    /// It is parked, and events of its descriptors wake it too.
    waits_outside: bool,
    /// What calls of the system have taken in this step (nanoseconds).
    calls_ns: u64,
}

enum State {
    Awake,
    /// Its next turn is a look.
    Searching(Searching),
    /// It will be woken, or wake at a time that the agenda has.
    Parked,
    /// On its way back since this time.
    Waking(u64),
}

/// A core that searches for work.
struct Searching {
    search: Search<Vm>,
    /// When its next timer is due.
    timer_at: Option<u64>,
    /// It was woken, so it will not sleep.
    woken: bool,
}

/// What a core did in its turn, for the log.
#[derive(Clone, Copy)]
enum Did {
    /// So many reductions.
    Ran(u32),
    FoundNothing,
    Looked,
}

/// A machine that runs.
pub struct Cores<'a> {
    vm: &'static Vm,
    clock: &'a VirtualClock,
    machine: &'a Machine,
    contention: &'static Contention,
    placement: Placement,
    memory: Memory,
    /// How long each processor was busy (nanoseconds).
    used: Vec<u64>,
    cores: Vec<Core>,
    dirty: Local,
    /// When each core is next up: time, core, and the number of the entry.
    agenda: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Of all that happened (FNV-1a): the same seed gives the same digest.
    digest: u64,
    /// The work of all cores.
    done: Counts,
    seen_ns: u64,
    faults: Option<Faults>,
    /// What must hold after each step, if somebody looks.
    invariants: Option<Invariants>,
    /// The locks of OTP R13B04, if they are taken.
    past: Option<PastLocks>,
    stolen: Option<Stolen>,
    /// Where the program has ports.
    outside: Option<Outside>,
    /// No core does anything before.
    halted_until: u64,
    /// A line for each step goes here.
    log: Option<Box<dyn std::io::Write>>,
}

/// How a run ended.
pub struct Outcome {
    /// Virtual time.
    pub ns: u64,
    /// What each core did.
    pub cores: Vec<Spent>,
    /// How long each processor was busy.
    pub used: Vec<u64>,
    /// Of all that happened.
    pub digest: u64,
    /// What work was done.
    pub done: Counts,
    /// Waits for locks by class name.
    pub waits: BTreeMap<&'static str, Waits>,
    /// What lines have cost by place in the source: nanoseconds, and how often one was fetched.
    pub places: Places,
    /// Nothing can happen any more, and the program has not ended.
    pub stuck: bool,
}

impl<'a> Cores<'a> {
    /// All schedulers of the VM on cores of a machine, in pieces of so many reductions. `None`: there is no room for so many.
    pub fn new(
        vm: &'static Vm,
        clock: &'a VirtualClock,
        machine: &'a Machine,
        placement: Placement,
        piece: u16,
    ) -> Option<Cores<'a>> {
        let mut cores = Vec::new();
        let mut agenda = BinaryHeap::new();
        for id in 0..vm.config.schedulers {
            let mut scheduler = Scheduler::new(vm, id)?;
            scheduler.run_in_pieces(piece);
            cores.push(Core {
                scheduler,
                now_ns: 1,
                state: State::Awake,
                heap: None,
                entry: 0,
                spent: Spent::default(),
                rest: Worked::default(),
                waits_outside: false,
                calls_ns: 0,
            });
            agenda.push(Reverse((1, id, 0)));
        }
        let dirty = vm.scheduler_local(vm.config.schedulers, true)?;
        dirty.slot.park();
        // What the cores run reports to it, and lives as long as the process.
        let outside = clock.io_turns().map(|turn| Outside::new(turn, cores.len(), machine.topology.cores));
        let places = (placement.processors() + usize::from(outside.is_some())).min(machine.topology.cores);
        let contention = Box::leak(Box::new(Contention::new(&machine.topology, places)));
        let memory = Memory::new(&machine.memory, machine.topology.cores);
        let used = vec![0; placement.processors()];
        let digest = 0xcbf2_9ce4_8422_2325;
        Some(Cores {
            vm,
            clock,
            machine,
            contention,
            placement,
            memory,
            used,
            cores,
            dirty,
            agenda,
            digest,
            done: meter::NOTHING,
            seen_ns: 1,
            faults: None,
            invariants: None,
            past: None,
            stolen: None,
            outside,
            halted_until: 0,
            log: None,
        })
    }

    /// Lets go wrong what this seed says ([`Faults`]).
    pub fn suffer(&mut self, seed: u64) {
        self.faults = Some(Faults::new(seed));
        // Another draw than that of the cores, by the same seed.
        self.contention.suffer(!seed);
    }

    /// Takes cores away, one after the other.
    pub fn steal(&mut self, stolen: Stolen) {
        self.stolen = Some(stolen);
    }

    /// Has [`Invariants`] checked after each step; `own_policy`: schedulers share work as Myriad's do.
    pub fn check(&mut self, own_policy: bool) {
        self.invariants = Some(Invariants::new(self.vm, own_policy));
    }

    /// Cores take the locks that OTP R13B04 took ([`PastLocks`]), where a reduction boxes so many words of floats.
    pub fn contend_as_r13b04(&mut self, boxed_words: u64) {
        self.past = Some(PastLocks::new(self.cores.len(), boxed_words, self.machine));
    }

    /// Has a line written for each step: time, core, what it did.
    pub fn log_to(&mut self, log: Box<dyn std::io::Write>) {
        self.log = Some(log);
    }

    /// Runs until the VM stops, nothing can happen any more, or virtual time has come to its limit.
    pub fn run(mut self, limit_ns: u64) -> Outcome {
        let _ = meter::take();
        let mut stuck = false;
        loop {
            if let Some(at) = self.next_request().filter(|at| *at <= limit_ns) {
                self.ask(at);
                continue;
            }
            let Some(Reverse((at, id, entry))) = self.agenda.pop() else {
                stuck = true;
                break;
            };
            if id == self.cores.len() {
                self.pass_time(at);
                self.io_turn(at);
                continue;
            }
            if self.cores[id].entry != entry {
                continue;
            }
            if at < self.halted_until {
                self.enter(self.halted_until, id);
                continue;
            }
            if let Some(back) = self.stolen.map(|stolen| stolen.back(id, at)).filter(|back| *back > at) {
                self.enter(back, id);
                continue;
            }
            if at > limit_ns {
                stuck = true;
                break;
            }
            self.pass_time(at);
            if !self.turn(at, id) {
                break;
            }
        }
        // What the last core did counts.
        let ns = self.cores.iter().map(|core| core.now_ns).max().unwrap_or(0).min(limit_ns).max(self.seen_ns);
        let (digest, done, waits, places) = (self.digest, self.done, self.contention.waits(), self.contention.places());
        let cores = self.cores.into_iter().map(|core| core.spent).collect();
        Outcome { ns, cores, used: self.used, digest, done, waits, places, stuck }
    }

    /// It is `at` for all cores that do nothing.
    fn pass_time(&mut self, at: u64) {
        debug_assert!(at >= self.seen_ns, "time goes back");
        let passed = at - self.seen_ns;
        self.seen_ns = at;
        if passed == 0 {
            return;
        }
        let parked = |core: &&mut Core| matches!(core.state, State::Parked);
        let beside_work = self.vm.schedulers.iter().any(|queue| queue.offers());
        for core in self.cores.iter_mut().filter(parked) {
            let spent = if beside_work { &mut core.spent.idle_beside_work } else { &mut core.spent.idle };
            *spent += passed;
        }
    }

    /// The turn of a core; `false`: the VM stops.
    fn turn(&mut self, at: u64, id: usize) -> bool {
        self.clock.set(at);
        let core = &mut self.cores[id];
        let state = std::mem::replace(&mut core.state, State::Awake);
        if let State::Waking(since) = state {
            core.spent.waking += at - since;
            core.spent.wakes += 1;
        }
        core.now_ns = at;
        if let Some(invariants) = &mut self.invariants {
            invariants.before(at, id, core.scheduler.is_in_slice());
        }
        let parked = matches!(state, State::Parked | State::Waking(_));
        self.placement.works(id, at, parked);
        self.contention.begin(self.machine.topology.place(self.placement.processor(id)), at);
        if let State::Searching(searching) = state {
            self.look(at, id, searching);
        } else {
            match self.step(id, parked) {
                Step::Ran(reductions) => {
                    let took = self.charge(id, reductions);
                    self.note(at, id, Did::Ran(reductions));
                    self.go_on(at + took, id);
                }
                Step::Idle(next_timer) => self.found_nothing(at, id, next_timer),
                Step::Stop => return false,
            }
        }
        self.deliver_wake_ups(at);
        self.tell_of_events(at);
        if let Some(mut invariants) = self.invariants.take() {
            let seen = |core: &Core| Seen {
                running: core.scheduler.running(),
                parked: matches!(core.state, State::Parked),
                waking: matches!(core.state, State::Waking(_)),
            };
            invariants.after(at, id, self.cores.iter().map(seen));
            self.invariants = Some(invariants);
        }
        self.disturb(at);
        true
    }

    /// What goes wrong beside the core whose turn it was.
    fn disturb(&mut self, at: u64) {
        let Some(faults) = &mut self.faults else { return };
        let (woken, quota) = (faults.wakes_for_nothing(self.cores.len()), faults.by_quota());
        if quota > 0 {
            self.halted_until = at + quota;
        }
        if let Some(id) = woken {
            self.wake(at, id);
        }
    }

    /// A step of a core, and at once the jobs of dirty schedulers that it left. What it spends on other cores is kept for the charge.
    fn step(&mut self, id: usize, parked: bool) -> Step {
        let core = &mut self.cores[id];
        let (readiness, waited) = (self.clock.readiness(), core.waits_outside);
        let step = cost::run_on(id, self.contention, || {
            if parked {
                outside::end_wait(readiness, core, id);
            }
            core.scheduler.step()
        });
        for kind in [DirtyKind::Cpu, DirtyKind::Io] {
            while self.vm.schedulers.dirty.waiting(kind) > 0 {
                cost::run_on(id, self.contention, || self.vm.run_dirty_job(kind, &mut self.dirty));
            }
        }
        self.cores[id].calls_ns += self.calls_ns(waited);
        step
    }

    /// Charges what the core spent on others in its step; gives the nanoseconds.
    fn charge_shared(&mut self, id: usize) -> u64 {
        let Shared { lines, locks } = self.contention.end();
        let core = &mut self.cores[id];
        let calls = std::mem::take(&mut core.calls_ns);
        core.spent.lines += lines;
        core.spent.locks += locks;
        core.spent.running += calls;
        lines + locks + calls
    }

    /// Charges what the core's step did to it; gives the nanoseconds, one at least.
    fn charge(&mut self, id: usize, reductions: u32) -> u64 {
        let done = meter::take();
        if let Some(past) = &mut self.past {
            let (messages, next) = (done[Work::Message as usize], self.vm.processes.next_pid().data());
            let heap = self.cores[id].scheduler.heap_in_slice().map_or(0, |(_, _, size)| size as u64);
            let heap_bytes = heap * self.machine.memory.word;
            past.take(
                self.contention,
                id,
                Deeds { collected: done[Work::CollectedWord as usize] > 0, heap_bytes, reductions, messages, next },
            );
        }
        for (sum, units) in self.done.iter_mut().zip(done) {
            *sum += units;
        }
        let core = &mut self.cores[id];
        let Worked { running, messages, collecting } = self.machine.costs.of(&done, reductions, &mut core.rest);
        let spent = &mut core.spent;
        let work = running + messages + collecting;
        let sharing = (work as f64 * (self.placement.slowdown(id) - 1.0)) as u64;
        spent.running += running;
        spent.messages += messages;
        spent.collecting += collecting;
        spent.sharing += sharing;
        spent.reductions += u64::from(reductions);
        let at = core.now_ns + work + sharing;
        let waiting =
            self.charge_memory(id, at, done[Work::CollectedWord as usize], reductions) + self.charge_shared(id);
        let took = (work + sharing + waiting).max(1);
        self.used[self.placement.processor(id)] += took;
        took
    }

    /// Charges the memory that the core's step touched up to a time; gives the nanoseconds.
    fn charge_memory(&mut self, id: usize, at: u64, collected: u64, reductions: u32) -> u64 {
        let core = &mut self.cores[id];
        let seen = core.scheduler.heap_in_slice().map(|(heap, used, size)| HeapSeen {
            heap,
            used: used as u64,
            size: size as u64,
        });
        let before = std::mem::replace(&mut core.heap, seen);
        let Some(touched) = Touched::between(before, seen, collected, reductions) else { return 0 };
        let place = self.machine.topology.place(self.placement.processor(id));
        let waited = self.memory.touch(place, at, touched);
        core.spent.memory += waited;
        waited
    }

    /// The core has nothing to run: it searches for work, or parks.
    fn found_nothing(&mut self, at: u64, id: usize, next_timer: Option<u64>) {
        self.note(at, id, Did::FoundNothing);
        let core = &mut self.cores[id];
        let search = cost::run_on(id, self.contention, || core.scheduler.begin_search(next_timer));
        let looking = self.machine.step_ns as u64;
        core.spent.looking += looking;
        let now = at + looking + self.charge_shared(id);
        let timer_at = next_timer.map(|in_ns| at + in_ns);
        match search {
            Some(search) => self.search_on(now, id, Searching { search, timer_at, woken: false }),
            None => self.park(now, id, timer_at, false),
        }
    }

    /// A look of a core that searches.
    fn look(&mut self, at: u64, id: usize, Searching { search, timer_at, woken }: Searching) {
        self.note(at, id, Did::Looked);
        let core = &mut self.cores[id];
        let look = cost::run_on(id, self.contention, || core.scheduler.look(search));
        let Shared { lines, locks } = self.contention.end();
        let took = self.machine.step_ns as u64 + lines + locks;
        core.spent.searching += took;
        match look {
            Look::Again(search) => self.search_on(at + took, id, Searching { search, timer_at, woken }),
            Look::Found => self.go_on(at + took, id),
            Look::Vain => self.park(at + took, id, timer_at, woken),
        }
    }

    /// The core looks for work after a pause.
    fn search_on(&mut self, at: u64, id: usize, searching: Searching) {
        let pause = u64::from(SEARCH_PAUSES) * PAUSE_NS;
        let core = &mut self.cores[id];
        core.state = State::Searching(searching);
        core.spent.searching += pause;
        self.go_on(at + pause, id);
    }

    /// The core parks, if there really is nothing; `woken`: it was, and does not sleep.
    fn park(&mut self, at: u64, id: usize, timer_at: Option<u64>, woken: bool) {
        let core = &mut self.cores[id];
        let readiness = self.clock.readiness();
        let parks = cost::run_on(id, self.contention, || {
            let parks = core.scheduler.before_park();
            if woken || !parks {
                core.scheduler.after_park(parks);
                return false;
            }
            outside::begin_wait(readiness, core, id);
            let is_ready = |readiness: &dyn Readiness| cost::aside(|| readiness.ready()).contains(&id);
            if core.waits_outside && readiness.is_some_and(is_ready) {
                outside::end_wait(readiness, core, id);
                return false;
            }
            true
        });
        let at = at + self.charge_shared(id);
        if !parks {
            return self.go_on(at, id);
        }
        let core = &mut self.cores[id];
        core.now_ns = at;
        core.state = State::Parked;
        core.entry += 1;
        self.placement.rests(id);
        if let Some(timer_at) = timer_at {
            self.enter(timer_at.max(at), id);
        }
    }

    /// The next turn of the core is at this time, unless it is away.
    fn go_on(&mut self, at: u64, id: usize) {
        self.cores[id].now_ns = at;
        let away = self.faults.as_mut().map_or(0, Faults::after_step);
        self.enter(at + away, id);
    }

    /// The cores that were told to wake are up when the wake-up has reached them.
    fn deliver_wake_ups(&mut self, at: u64) {
        for id in self.clock.take_woken() {
            self.wake(at, id);
        }
    }

    /// A core that is parked is up when the wake-up has reached it; one that searches will not park.
    fn wake(&mut self, at: u64, id: usize) {
        let late = self.faults.as_mut().map_or(0, Faults::before_waking);
        let core = &mut self.cores[id];
        match &mut core.state {
            State::Searching(searching) => searching.woken = true,
            State::Parked => {
                core.state = State::Waking(at);
                core.entry += 1;
                let up = (at + self.machine.wake_ns).max(core.now_ns);
                self.enter(up + late, id);
            }
            State::Awake | State::Waking(_) => {}
        }
    }

    fn enter(&mut self, at: u64, id: usize) {
        self.agenda.push(Reverse((at, id, self.cores[id].entry)));
    }

    /// Notes what a core did in its turn.
    fn note(&mut self, at: u64, id: usize, did: Did) {
        let number = match did {
            Did::Ran(reductions) => u64::from(reductions),
            Did::FoundNothing => u64::MAX,
            Did::Looked => u64::MAX - 1,
        };
        for part in [at, id as u64, number] {
            self.digest = (self.digest ^ part).wrapping_mul(0x0100_0000_01b3);
        }
        if let Some(log) = &mut self.log {
            let written = match did {
                Did::Ran(reductions) => writeln!(log, "{at} {id} {reductions}"),
                Did::FoundNothing => writeln!(log, "{at} {id} idle"),
                Did::Looked => writeln!(log, "{at} {id} searches"),
            };
            // A log that cannot be written is a log that ends there.
            if written.is_err() {
                self.log = None;
            }
        }
    }
}
