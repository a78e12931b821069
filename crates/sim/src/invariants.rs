//! What must hold after each step of a simulated machine, however its cores are disturbed. Builds with assertions look after each step of
//! a run with faults; what is broken ends the run with the name of the invariant, the seed, the step, the core and the time.
//!
//! I1. A process that is runnable waits in one run queue, and only there; one that runs does so on one core, and waits in no queue; one that
//!     waits for a signal is in no queue. So none is lost, and none runs twice.
//! I2. No signal lies in the queue of a process that waits: no wake-up of a process is lost.
//! I3. A core that sleeps, and is not on its way back, has an empty queue, and no other has claimed it: no wake-up of a core is lost. (Only
//!     under Myriad's own policy, as I4.)
//! I4. Processes that any core may run wait beside a core that sleeps for no longer than [`BESIDE_NS`].
//! I5. Signals to a process are taken in the order in which they were left. That is more than their order by sender, for in one thread they
//!     have one order.
//! I6. A core passes over no process of priority `max` or `high` in its queue for one of a lower priority.
//! I7. A runnable process waits no longer than [`WAIT_NS`], and [`WAIT_EACH_NS`] for each process that there is; one of low priority, which
//!     lets normal ones go first, [`LOW_WAITS`] times that.
//! I8. What was retired runs when each core and each guest that was inside then has been quiescent since: nothing is freed under a reader.
//!     This is found out from the events alone, without the epochs of `sync::progress`.
//!
//! I5, I7 and I8 are watched through `sync::witness`, the others by looking at tables and queues. In the sequence of steps no thread is ever
//! between two moves, so there is no "about to" in I1: what is true at rest on threads is true here after each step. I1, I2 and I7 need a look
//! at all processes and queues. It is made after each eighth step ([`LOOK`]), since what breaks them stays broken: a process that is lost
//! stays so, and before one that is queued twice can run twice it is met in two places or `process/P1` is asserted.

use myriad_process::{Priority, Status};
use myriad_sched::RunQueue;
use myriad_sync::witness::{self, Event, Moment};
use myriad_term::Pid;
use myriad_vm::{Process, Vm};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// After so many steps all processes and queues are looked at.
const LOOK: u64 = 8;
/// I4, virtual nanoseconds: a slice, and as many absences, late wake-ups and quotas of the longest kind (1 ms) as come together.
const BESIDE_NS: u64 = 3_000_000;
/// I7, virtual nanoseconds: absences and quotas of the longest kind that come together.
const WAIT_NS: u64 = 8_000_000;
/// I7: what each other process may run before it, virtual nanoseconds: a slice of 1,000 pieces, with an absence of 0.2 ms after each 256th.
const WAIT_EACH_NS: u64 = 1_000_000;
/// I7: a low process has one turn in eight, and loses what it has waited for when it moves to another queue.
const LOW_WAITS: u64 = 16;

/// What one core does, as seen after a step.
pub struct Seen {
    /// The process whose slice has paused.
    pub running: Option<&'static Process>,
    /// It sleeps.
    pub parked: bool,
    /// It has been woken, and is not up yet.
    pub waking: bool,
}

/// Where the machine is, for whoever finds something broken.
#[derive(Default)]
struct Place {
    seed: u64,
    step: u64,
    core: usize,
    at_ns: u64,
}

/// What events have told.
#[derive(Default)]
struct Told {
    place: Place,
    /// The processes that stand in the table.
    processes: BTreeSet<u64>,
    /// Since when those are runnable that are.
    runnable: HashMap<u64, u64>,
    /// Signals that have been left, by receiver, the oldest first, and where each is.
    signals: HashMap<u64, VecDeque<usize>>,
    receivers: HashMap<usize, u64>,
    /// By domain and slot: when a thread that is inside was last quiescent.
    inside: HashMap<usize, Vec<Option<Moment>>>,
}

thread_local! {
    static TOLD: RefCell<Told> = RefCell::default();
}

/// From now on this thread's events are watched, and a panic says under which seed and where it happened.
pub fn watch(seed: u64) {
    TOLD.with_borrow_mut(|told| told.place.seed = seed);
    witness::listen(|moment, event| {
        let broken = TOLD.with_borrow_mut(|told| told.hear(moment, event));
        if let Some(broken) = broken {
            panic!("{broken}");
        }
    });
    std::panic::set_hook(Box::new(|panic| {
        let place = TOLD.with(|told| {
            told.try_borrow().map_or_else(
                |_| String::new(),
                |told| {
                    let Place { seed, step, core, at_ns } = &told.place;
                    format!("in step {step} of core {core}, at {at_ns} ns, under the faults of seed {seed}: ")
                },
            )
        });
        eprintln!("myriad sim: {place}{panic}");
    }));
}

impl Told {
    /// An event; gives what it breaks.
    fn hear(&mut self, moment: Moment, event: Event) -> Option<String> {
        match event {
            Event::Made(pid) => {
                self.processes.insert(pid);
            }
            Event::Gone(pid) => {
                self.processes.remove(&pid);
                self.runnable.remove(&pid);
            }
            Event::Runs(pid) => {
                self.runnable.remove(&pid);
            }
            Event::Left { receiver, signal } => {
                self.receivers.insert(signal, receiver);
                self.signals.entry(receiver).or_default().push_back(signal);
            }
            Event::Taken(signal) => return self.taken(signal),
            Event::Quiescent { domain, slot } => *self.slot(domain, slot) = Some(moment),
            Event::Outside { domain, slot } => *self.slot(domain, slot) = None,
            Event::Freed { domain, retired } => {
                let slots = self.inside.get(&domain)?;
                let reads = |since: &Option<Moment>| since.is_some_and(|since| since < retired);
                let reader = slots.iter().position(reads)?;
                return Some(format!(
                    "I8: freed while the thread in slot {reader} has not been quiescent since it was retired"
                ));
            }
        }
        None
    }

    /// I5. A signal that was never left was sent to a process that has ended.
    fn taken(&mut self, signal: usize) -> Option<String> {
        let receiver = self.receivers.remove(&signal)?;
        let queue = self.signals.get_mut(&receiver)?;
        let place = queue.iter().position(|other| *other == signal);
        if place == Some(0) {
            queue.pop_front();
            if queue.is_empty() {
                self.signals.remove(&receiver);
            }
            return None;
        }
        Some(format!("I5: {:?} takes a signal before {place:?} that were left earlier", Pid::from_data(receiver)))
    }

    fn slot(&mut self, domain: usize, slot: usize) -> &mut Option<Moment> {
        let slots = self.inside.entry(domain).or_default();
        if slots.len() <= slot {
            slots.resize(slot + 1, None);
        }
        &mut slots[slot]
    }
}

/// The checker of a run.
pub struct Invariants {
    vm: &'static Vm,
    own_policy: bool,
    /// The queue of the core whose turn it is, before that, if the core begins a slice.
    before: Vec<(Priority, &'static Process)>,
    /// Since when work waits beside a core that sleeps.
    beside_since: Option<u64>,
}

impl Invariants {
    /// For a machine; `own_policy`: its schedulers share work as Myriad's do.
    pub fn new(vm: &'static Vm, own_policy: bool) -> Invariants {
        Invariants { vm, own_policy, before: Vec::new(), beside_since: None }
    }

    /// It is the turn of a core.
    pub fn before(&mut self, at_ns: u64, core: usize, in_slice: bool) {
        TOLD.with_borrow_mut(|told| {
            let Place { seed, step, .. } = told.place;
            told.place = Place { seed, step: step + 1, core, at_ns };
        });
        self.before.clear();
        let schedulers = &self.vm.schedulers;
        if !in_slice && core < schedulers.active() {
            let before = &mut self.before;
            // SAFETY: sched.run_queue/R3: one thread runs all schedulers.
            unsafe { schedulers[core].each(|priority, process| before.push((priority, process))) };
        }
    }

    /// The turn is over. Looks whether all holds.
    pub fn after(&mut self, at_ns: u64, core: usize, cores: impl Iterator<Item = Seen> + Clone) {
        if self.vm.schedulers.is_stopping() {
            return;
        }
        let broken = self
            .priorities(core)
            .or_else(|| self.wake_ups(cores.clone()))
            .or_else(|| self.beside(at_ns, cores.clone()));
        let looks = TOLD.with_borrow(|told| told.place.step.is_multiple_of(LOOK));
        let broken = broken.or_else(|| looks.then(|| self.places(at_ns, cores.clone())).flatten());
        if let Some(broken) = broken {
            panic!("{broken}{}", self.report(cores));
        }
    }

    /// I6.
    fn priorities(&self, core: usize) -> Option<String> {
        if !self.before.iter().any(|(priority, _)| *priority <= Priority::HIGH) {
            return None;
        }
        let mut waits = HashSet::new();
        // SAFETY: sched.run_queue/R3: one thread runs all schedulers.
        unsafe { self.vm.schedulers[core].each(|_, process| _ = waits.insert(process.pid)) };
        let (stayed, left): (Vec<_>, Vec<_>) =
            self.before.iter().partition(|(_, process)| waits.contains(&process.pid));
        let (lowest, lower) = left.iter().max_by_key(|(priority, _)| *priority)?;
        let passed_over = stayed.iter().find(|(priority, _)| *priority <= Priority::HIGH && priority < lowest);
        let (priority, higher) = passed_over?;
        let (higher, lower) = (higher.pid, lower.pid);
        Some(format!("I6: {higher:?} of priority {priority:?} is passed over for {lower:?} of priority {lowest:?}"))
    }

    /// I3.
    fn wake_ups(&self, cores: impl Iterator<Item = Seen>) -> Option<String> {
        let mut queues = self.vm.schedulers.iter().zip(cores).enumerate().filter(|(_, (_, core))| core.parked);
        let lost = |queue: &RunQueue<Vm>| !queue.is_empty() || queue.worker.is_claimed();
        let (id, (queue, _)) = queues.find(|(_, (queue, _))| lost(queue)).filter(|_| self.own_policy)?;
        let (waiting, claimed) = (queue.len(), queue.worker.is_claimed());
        Some(format!("I3: core {id} sleeps, its queue has {waiting} processes, and another has claimed it: {claimed}"))
    }

    /// I1, I2 and I7.
    fn places(&self, at_ns: u64, cores: impl Iterator<Item = Seen>) -> Option<String> {
        let (mut queued, mut running, mut twice) = (HashSet::new(), HashSet::new(), None);
        for (id, queue) in self.vm.schedulers.iter().enumerate().filter(|(_, queue)| !queue.is_empty()) {
            let look = |_, process: &'static Process| {
                if !queued.insert(process.pid.data()) {
                    twice = Some(format!("I1: {:?} waits in two places, in the queue of core {id} too", process.pid));
                }
            };
            // SAFETY: sched.run_queue/R3: one thread runs all schedulers.
            unsafe { queue.each(look) };
        }
        for process in cores.filter_map(|core| core.running) {
            if !running.insert(process.pid.data()) {
                twice = Some(format!("I1: {:?} runs on two cores", process.pid));
            }
        }
        twice.or_else(|| {
            TOLD.with_borrow_mut(|told| {
                let Told { processes, runnable, .. } = told;
                let longest = WAIT_NS + WAIT_EACH_NS * processes.len() as u64;
                processes.iter().find_map(|pid| {
                    let places = (queued.contains(pid), running.contains(pid));
                    let pid = Pid::from_data(*pid);
                    let process = self.vm.processes.get(pid)?;
                    let status = process.status();
                    let place = match status {
                        Status::Runnable => places == (true, false),
                        Status::Running => places == (false, true),
                        Status::Waiting | Status::Free => places == (false, false),
                    };
                    if !place {
                        return Some(format!("I1: {pid:?} is {status:?}; in a queue, running on a core: {places:?}"));
                    }
                    if status == Status::Waiting && !process.has_no_signals() {
                        return Some(format!("I2: {pid:?} waits, and signals wait for it"));
                    }
                    if status != Status::Runnable {
                        runnable.remove(&pid.data());
                        return None;
                    }
                    let longest = if process.queue_priority() == Priority::LOW { LOW_WAITS * longest } else { longest };
                    let waited = at_ns.saturating_sub(*runnable.entry(pid.data()).or_insert(at_ns));
                    (waited > longest).then(|| format!("I7: {pid:?} has been runnable for {waited} ns"))
                })
            })
        })
    }

    /// I4.
    fn beside(&mut self, at_ns: u64, mut cores: impl Iterator<Item = Seen> + Clone) -> Option<String> {
        let schedulers = &self.vm.schedulers;
        let sleeps = cores.clone().take(schedulers.active()).any(|core| core.parked);
        if !self.own_policy
            || !sleeps
            || cores.any(|core| core.waking)
            || !schedulers.iter().any(|queue| queue.offers())
        {
            self.beside_since = None;
            return None;
        }
        let waits = at_ns - *self.beside_since.get_or_insert(at_ns);
        (waits > BESIDE_NS).then(|| format!("I4: for {waits} ns processes have waited beside a core that sleeps"))
    }

    /// The cores, and the processes that do not wait.
    fn report(&self, cores: impl Iterator<Item = Seen>) -> String {
        use std::fmt::Write;
        let mut report = String::new();
        for (id, core) in cores.enumerate() {
            let queue = &self.vm.schedulers[id];
            let running = core.running.map(|process| process.pid);
            // A text takes all that is written to it.
            let _ = write!(
                report,
                "\ncore {id}: runs {running:?}, parked: {}, waking: {}, by priority in its queue: {:?}",
                core.parked,
                core.waking,
                queue.lengths()
            );
        }
        TOLD.with_borrow(|told| {
            for pid in told.processes.iter().map(|pid| Pid::from_data(*pid)) {
                if let Some(process) = self.vm.processes.get(pid).filter(|process| process.status() != Status::Waiting)
                {
                    let since = told.runnable.get(&pid.data());
                    let _ = write!(report, "\n{pid:?}: {:?}, runnable since {since:?} ns", process.status());
                }
            }
        });
        report
    }
}

#[cfg(test)]
mod tests {
    use super::Told;
    use myriad_sync::witness::{Event, Moment};

    /// What the last of some events breaks; the others must break nothing.
    fn broken(events: &[Event]) -> Option<String> {
        let mut told = Told::default();
        let (last, before) = events.split_last()?;
        before.iter().for_each(|event| assert_eq!(told.hear(Moment::now(), *event), None));
        told.hear(Moment::now(), *last)
    }

    #[test]
    fn signals_are_taken_in_order() {
        let left = [1, 2, 3].map(|signal| Event::Left { receiver: 7 - signal as u64 / 3, signal });
        let and = |taken: &[usize]| {
            let taken = taken.iter().map(|signal| Event::Taken(*signal));
            broken(&left.iter().copied().chain(taken).collect::<Vec<_>>())
        };
        assert_eq!(and(&[3, 1, 2]), None, "the third was for another");
        assert_eq!(and(&[1, 2, 4]), None, "the last was never left");
        assert!(and(&[2]).is_some_and(|broken| broken.starts_with("I5")), "the first is left out");
    }

    #[test]
    fn nothing_is_freed_under_a_reader() {
        let quiescent = |slot| Event::Quiescent { domain: 1, slot };
        let early = [quiescent(0), quiescent(3)];
        let (_first, retired) = (Moment::now(), Moment::now());
        let freed = Event::Freed { domain: 1, retired };
        let and = |events: &[Event]| {
            let mut told = Told::default();
            // In the order of moments: these were quiescent before it was retired.
            let before = [Moment::default(); 2];
            early.iter().zip(before).for_each(|(event, moment)| assert_eq!(told.hear(moment, *event), None));
            events.iter().find_map(|event| told.hear(Moment::now(), *event))
        };
        let outside = Event::Outside { domain: 1, slot: 3 };
        assert_eq!(and(&[quiescent(0), quiescent(3), freed]), None);
        assert_eq!(and(&[quiescent(0), outside, freed]), None);
        assert_eq!(and(&[quiescent(0), outside, quiescent(3), freed]), None, "it came in later");
        assert_eq!(and(&[Event::Freed { domain: 2, retired }]), None, "it reads nothing of another domain");
        // In builds without assertions moments have no size, and nothing is told.
        let early = cfg!(debug_assertions);
        assert_eq!(and(&[quiescent(0), freed]).is_some_and(|broken| broken.starts_with("I8")), early);
    }
}
