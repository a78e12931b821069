//! What a run does next: which thread goes on, how much time passes, which stores arrive. All of it follows from the seed.

use super::stores::Stores;
use std::collections::VecDeque;
use std::fmt::{self, Display, Formatter, Write};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Steps of a run that does not end.
const MOST_STEPS: u64 = 400_000;
/// Steps that a failure shows.
const SHOWN: usize = 60;
/// What a step takes, and one that only waits.
pub(super) const STEP_NS: u64 = 20;
pub(super) const PAUSE_NS: u64 = 200;
/// One step in so many takes up to [`LONG_NS`]: the system has taken the core.
const LONG_STEPS: u64 = 128;
const LONG_NS: u64 = 20_000;

/// Pseudo-random numbers (SplitMix64: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ x >> 31) % most.max(1)
    }
}

/// How the thread is chosen that goes on.
#[derive(Clone, Copy)]
enum Strategy {
    /// By chance, after one step in so many.
    Random { switch: u64 },
    /// The one of the highest priority, and after one step in so many that one gets the lowest. These are the priorities of PCT
    /// (Burckhardt et al.: A randomized scheduler with probabilistic guarantees of finding bugs, 2010), but for the points of change,
    /// which are drawn on the way: the length of a run is not known before.
    Priorities { change: u64 },
}

/// What the seed decides of a whole run.
#[derive(Clone, Copy)]
struct Plan {
    seed: u64,
    strategy: Strategy,
    /// After one step in so many a store arrives; `None`: stores arrive at once.
    arrival: Option<u64>,
}

impl Plan {
    fn of(seed: u64, random: &mut Random) -> Plan {
        let strategy = match seed % 2 {
            0 => Strategy::Random { switch: [1, 2, 3, 8][random.below(4) as usize] },
            _ => Strategy::Priorities { change: [5, 20, 80, 400][random.below(4) as usize] },
        };
        let arrival = [None, Some(2), Some(8), Some(40)][random.below(4) as usize];
        Plan { seed, strategy, arrival }
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.strategy {
            Strategy::Random { switch } => write!(f, "seed {} (random, 1 in {switch}", self.seed)?,
            Strategy::Priorities { change } => write!(f, "seed {} (priorities, 1 in {change}", self.seed)?,
        }
        match self.arrival {
            Some(arrival) => write!(f, ", stores delayed, 1 in {arrival})"),
            None => f.write_str(")"),
        }
    }
}

/// What a thread sleeps for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    /// A wake-up by this word.
    Word(usize),
    /// The end of this thread.
    End(usize),
    /// Only time.
    Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Runs,
    Sleeps { event: Event, until: Option<u64> },
    Ended,
}

struct Thread {
    name: String,
    doing: Doing,
    /// Higher ones first.
    priority: i64,
    at: &'static Location<'static>,
}

/// Who goes on.
pub(super) enum Next {
    Thread(usize),
    /// All sleep, and the first wakes at this time.
    Standstill(u64),
    /// All have ended.
    Over,
    Deadlock,
}

/// What is looked at when all threads sleep.
pub(super) type Check = Arc<dyn Fn(Duration) -> Result<(), String> + Send + Sync>;

/// The state of a run, in the hands of the thread whose turn it is.
pub(super) struct Schedule {
    plan: Plan,
    pub(super) random: Random,
    threads: Vec<Thread>,
    pub(super) stores: Stores,
    pub(super) now_ns: u64,
    steps: u64,
    /// The priority that is below all.
    lowest: i64,
    /// Steps of late.
    last: VecDeque<(usize, &'static Location<'static>)>,
    /// Who made which step, in one number.
    digest: u64,
    pub(super) check: Option<Check>,
}

impl Schedule {
    pub(super) fn new(seed: u64) -> Schedule {
        let mut random = Random(seed);
        Schedule {
            plan: Plan::of(seed, &mut random),
            random,
            threads: Vec::new(),
            stores: Stores::default(),
            now_ns: 1,
            steps: 0,
            lowest: 0,
            last: VecDeque::new(),
            digest: 0,
            check: None,
        }
    }

    /// Another thread; its number.
    pub(super) fn add(&mut self, name: &str, at: &'static Location<'static>) -> usize {
        let priority = self.random.below(1 << 20) as i64;
        let name = name.to_owned();
        self.threads.push(Thread { name, doing: Doing::Runs, priority, at });
        self.threads.len() - 1
    }

    /// Do stores arrive late?
    pub(super) fn delays(&self) -> bool {
        self.plan.arrival.is_some()
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// `me` makes a step that takes so long: time passes, a store may arrive. `false`: there were too many steps.
    pub(super) fn count_step(&mut self, me: usize, at: &'static Location<'static>, ns: u64) -> bool {
        self.steps += 1;
        self.threads[me].at = at;
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back((me, at));
        self.digest = (self.digest ^ me as u64 ^ u64::from(at.line()) << 8).wrapping_mul(0x0100_0000_01b3);
        self.now_ns += ns;
        if self.random.below(LONG_STEPS) == 0 {
            self.now_ns += self.random.below(LONG_NS);
        }
        if let Some(arrival) = self.plan.arrival
            && self.random.below(arrival) == 0
        {
            let nth = self.random.below(1 << 16) as usize;
            self.stores.arrive(nth);
        }
        self.steps < MOST_STEPS
    }

    /// Who goes on after a step of `me`, which could.
    pub(super) fn after_step(&mut self, me: usize) -> usize {
        match self.plan.strategy {
            Strategy::Random { switch } => {
                if self.random.below(switch) == 0 {
                    self.by_chance(None).unwrap_or(me)
                } else {
                    me
                }
            }
            Strategy::Priorities { change } => {
                if self.random.below(change) == 0 {
                    self.lower(me);
                }
                self.by_priority().unwrap_or(me)
            }
        }
    }

    /// Who goes on where `me` can do nothing but wait for another.
    pub(super) fn after_pause(&mut self, me: usize) -> usize {
        self.lower(me);
        match self.plan.strategy {
            Strategy::Random { .. } => self.by_chance(Some(me)),
            Strategy::Priorities { .. } => self.by_priority(),
        }
        .unwrap_or(me)
    }

    fn lower(&mut self, thread: usize) {
        self.lowest -= 1;
        self.threads[thread].priority = self.lowest;
    }

    fn can_go_on(&self, thread: usize) -> bool {
        match self.threads[thread].doing {
            Doing::Runs => true,
            Doing::Sleeps { until, .. } => until.is_some_and(|until| until <= self.now_ns),
            Doing::Ended => false,
        }
    }

    fn by_chance(&mut self, but: Option<usize>) -> Option<usize> {
        let who = |schedule: &Self| {
            (0..schedule.threads.len()).filter(|t| schedule.can_go_on(*t) && Some(*t) != but).collect::<Vec<_>>()
        };
        let who = who(self);
        let nth = self.random.below(who.len() as u64) as usize;
        who.get(nth).copied()
    }

    fn by_priority(&self) -> Option<usize> {
        (0..self.threads.len()).filter(|t| self.can_go_on(*t)).max_by_key(|t| self.threads[*t].priority)
    }

    /// Who goes on, where the thread whose turn it was cannot.
    pub(super) fn next(&mut self) -> Next {
        let next = match self.plan.strategy {
            Strategy::Random { .. } => self.by_chance(None),
            Strategy::Priorities { .. } => self.by_priority(),
        };
        if let Some(next) = next {
            return Next::Thread(next);
        }
        let sleeps = |thread: &Thread| match thread.doing {
            Doing::Sleeps { until, .. } => until,
            _ => None,
        };
        match self.threads.iter().filter_map(sleeps).min() {
            Some(until) => Next::Standstill(until),
            None if self.threads.iter().all(|thread| thread.doing == Doing::Ended) => Next::Over,
            None => Next::Deadlock,
        }
    }

    pub(super) fn sleep(&mut self, me: usize, event: Event, ns: Option<u64>) {
        self.stores.drain(me);
        let until = ns.map(|ns| self.now_ns.saturating_add(ns));
        self.threads[me].doing = Doing::Sleeps { event, until };
    }

    /// `me` goes on. Was it asleep until its time was over?
    pub(super) fn awake(&mut self, me: usize) -> bool {
        let thread = &mut self.threads[me];
        std::mem::replace(&mut thread.doing, Doing::Runs) != Doing::Runs
    }

    /// Wakes some that sleep for this, at most so many.
    pub(super) fn wake(&mut self, event: Event, most: usize) {
        for _ in 0..most {
            let sleeps = |t: &usize| matches!(self.threads[*t].doing, Doing::Sleeps { event: e, .. } if e == event);
            let all: Vec<usize> = (0..self.threads.len()).filter(sleeps).collect();
            if all.is_empty() {
                return;
            }
            let nth = self.random.below(all.len() as u64) as usize;
            self.threads[all[nth]].doing = Doing::Runs;
        }
    }

    pub(super) fn end(&mut self, me: usize) {
        self.stores.drain(me);
        self.threads[me].doing = Doing::Ended;
        self.wake(Event::End(me), usize::MAX);
    }

    pub(super) fn has_ended(&self, thread: usize) -> bool {
        self.threads[thread].doing == Doing::Ended
    }

    /// What has gone wrong, and where all threads are.
    pub(super) fn report(&self, what: &str) -> String {
        let mut text = format!("{}, step {}: {what}\n", self.plan, self.steps);
        for (number, thread) in self.threads.iter().enumerate() {
            let doing = match thread.doing {
                Doing::Runs => "runs",
                Doing::Sleeps { .. } => "sleeps",
                Doing::Ended => "has ended",
            };
            let _ = writeln!(text, "  thread {number} ({}) {doing}, at {}", thread.name, thread.at);
        }
        text.push_str("  the last steps:");
        for (thread, at) in &self.last {
            let file = at.file().rsplit('/').next().unwrap_or_default();
            let _ = write!(text, " {thread}:{file}:{}", at.line());
        }
        text
    }
}
