//! The test driver: all schedulers' steps in one thread, in an order that a seed decides, on a machine with virtual time.
//!
//! [`world`] has the engine: processes that do random things to each other from a script of their own seed. After each step
//! the driver looks for processes that starve (low ones among normal ones that always run, normal ones among such high ones) and for work beside
//! schedulers that sleep; when nothing moves any more, [`check`] looks whether everything adds up. The
//! same seed gives the same run, so a failure is repeated by its number. A second driver ([`baton`]) also changes from one
//! scheduler to another within a step, at the places where threads could meet; a third runs the same world on real threads.
//! Processes also go through loops of which others do parts ([`loops`]), and these must come to what they would without parts.
//! [`scenes`] are not random: a few steps, and at one of those places the very thing happens that the step must bear ([`ends`] are such, too).

mod baton;
mod check;
mod ends;
mod loops;
mod scenes;
mod world;

use crate::bif::DirtyKind;
use crate::observer::NoObserver;
use crate::release::Release;
use crate::scheduler::{Scheduler, Step};
use crate::subsystem::Functions;
use crate::tracer::NoTracer;
use crate::vm::{Config, Parts, Vm};
use myriad_process::Status;
use myriad_sched::{Local, Look, Platform};
use myriad_sync::Arc;
use myriad_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use myriad_sync::machine::Capacity;
use myriad_testing::Random;
use std::time::Duration;
use world::World;

/// What happens at a point of a thread that has been set up by [`myriad_sync::drive_by`].
pub(crate) fn point() {
    baton::point();
    scenes::point();
}

impl Scheduler {
    fn search(&mut self, next_timer_ns: Option<u64>) -> bool {
        self.dispatcher.search(self.local.now_ns, next_timer_ns)
    }
}

/// Virtual time and recorded wake-ups.
struct Virtual {
    now: AtomicU64,
    woken: Box<[AtomicBool]>,
    /// How often schedulers have looked at the capacity.
    looks: AtomicU64,
    /// How often they have looked at events of descriptors themselves, and had others meet them.
    own_looks: AtomicU64,
    handed_over: AtomicU64,
    /// What they see; `None`: another one each time.
    steady: Option<usize>,
    seed: u64,
}

impl Virtual {
    fn new(schedulers: usize, steady: Option<usize>, seed: u64) -> Virtual {
        let woken = (0..schedulers).map(|_| AtomicBool::new(false)).collect();
        let [looks, own_looks, handed_over] = Default::default();
        Virtual { now: AtomicU64::new(1), woken, looks, own_looks, handed_over, steady, seed }
    }

    fn capacity(&self) -> Capacity {
        let usable = self.steady.unwrap_or(1 + (self.looks.load(Ordering::Relaxed) % 3) as usize);
        Capacity { usable, quota_millis: None, stolen_millis: 0 }
    }
}

impl Platform for Virtual {
    fn now_ns(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn system_ns(&self) -> i64 {
        self.now_ns() as i64
    }

    fn look_at_capacity(&self, _: u64) -> Option<Capacity> {
        self.looks.fetch_add(1, Ordering::Relaxed);
        Some(self.capacity())
    }

    fn seed(&self, scheduler: usize) -> u64 {
        self.seed ^ scheduler as u64
    }

    fn park(&self, _: usize, _: Option<Duration>) {
        panic!("the driver parks");
    }

    fn unpark(&self, scheduler: usize) {
        self.woken[scheduler].store(true, Ordering::Relaxed);
    }

    fn look_at_events(&self, _: usize) {
        self.own_looks.fetch_add(1, Ordering::Relaxed);
    }

    fn meet_events(&self, _: usize) {
        self.handed_over.fetch_add(1, Ordering::Relaxed);
    }
}

fn config(schedulers: usize, dirty_cpu: usize) -> Config {
    Config { schedulers, schedulers_online: schedulers, dirty_cpu, dirty_cpu_online: dirty_cpu, ..Config::default() }
}

fn parts(world: &Arc<World>) -> Parts {
    let exits = Functions { tables: &[], process_exits: world::process_exits };
    Parts {
        engine: Box::new(world.clone()),
        subsystems: vec![Box::new(exits)],
        tracer: Box::new(NoTracer),
        observer: Box::new(NoObserver),
    }
}

fn release() -> Release {
    Release::without_root(25).unwrap()
}

/// Steps that a runnable process may have to wait.
const PATIENCE: u64 = 3000;
/// The same beside urgent ones on all schedulers but one: whoever stands behind such a one is seen by the balance in its second period from then, and a
/// period is 1,000 slices. As much again for periods that the order of steps draws out.
const URGENT_PATIENCE: u64 = 4000;

/// Steps for which work that any scheduler may run waits beside one that sleeps, and none is on its way.
const BESIDE: u64 = 32;

/// Steps that a scheduler may take in vain, one after the other, because it saw work while it searched or before it would have parked:
/// another one may have taken it meanwhile.
const IN_VAIN: u32 = 12;

/// Runs a world to its end; gives a digest of what ran where and when, and how often a scheduler looked at the capacity.
fn simulate(seed: u64, schedulers: usize) -> (u64, u64) {
    simulate_world(&World::new(seed), seed, schedulers)
}

fn simulate_world(world: &Arc<World>, seed: u64, schedulers: usize) -> (u64, u64) {
    let steady = world.is_urgent().then_some(schedulers);
    let platform = Arc::new(Virtual::new(schedulers, steady, seed));
    let vm = Vm::on_platform(config(schedulers, 2), release(), parts(world), platform.clone());
    world.begin(vm);
    let mut all: Vec<Scheduler> = (0..schedulers).map(|id| Scheduler::new(vm, id).unwrap()).collect();
    // Until when each is parked; 0 = it is awake, `u64::MAX` = until it is woken.
    let mut parked = vec![0; schedulers];
    let mut dirty: Vec<Local> = (0..2).map(|i| vm.scheduler_local(schedulers + i, true).unwrap()).collect();
    dirty.iter().for_each(|local| local.slot.park());
    let mut in_vain = vec![0; schedulers];
    let mut idle = vec![false; schedulers];
    // The searches that are under way (one at most), each with the time until the scheduler's next timer.
    let mut searches: Vec<_> = (0..schedulers).map(|_| None).collect();
    let mut random = Random::new(seed);
    let mut steps = 0;
    // Since when work waits beside a scheduler that sleeps.
    let mut beside = None;
    loop {
        steps += 1;
        assert!(steps < 2_000_000, "seed {seed}: no end");
        let now = platform.now.fetch_add(random.below(2000), Ordering::Relaxed);
        let may_run = |id: &usize| parked[*id] <= now || platform.woken[*id].load(Ordering::Relaxed);
        if random.below(4) == 0 || !(0..schedulers).any(|id| may_run(&id)) {
            let local = &mut dirty[random.below(2) as usize];
            if vm.run_dirty_job(DirtyKind::Cpu, local) {
                continue;
            }
        }
        let choice: Vec<usize> = (0..schedulers).filter(may_run).collect();
        if choice.is_empty() {
            let next = parked.iter().copied().min().unwrap_or(u64::MAX);
            if next == u64::MAX {
                break;
            }
            platform.now.store(next, Ordering::Relaxed);
            continue;
        }
        let id = choice[random.below(choice.len() as u64) as usize];
        if parked[id] != 0 {
            platform.woken[id].store(false, Ordering::Relaxed);
            parked[id] = 0;
            all[id].after_park(true);
        }
        world.at(id, steps);
        let looks = platform.looks.load(Ordering::Relaxed);
        let parks = match searches[id].take() {
            Some((search, timer_at)) => match all[id].look(search) {
                Look::Again(search) => {
                    searches[id] = Some((search, timer_at));
                    None
                }
                Look::Found => {
                    in_vain[id] += 1;
                    None
                }
                Look::Vain => Some(timer_at),
            },
            None => match all[id].step() {
                Step::Ran(_) => {
                    in_vain[id] = 0;
                    idle[id] = false;
                    None
                }
                Step::Idle(next) => {
                    let looked = platform.looks.load(Ordering::Relaxed) != looks;
                    assert!(!(idle[id] && looked), "seed {seed}: scheduler {id} wakes for nothing, and reads files");
                    idle[id] = true;
                    assert_ne!(next, Some(0), "seed {seed}: it would look again and again until a timer fires");
                    let timer_at = next.map_or(u64::MAX, |ns| now + ns);
                    searches[id] = all[id].begin_search(next).map(|search| (search, timer_at));
                    searches[id].is_none().then_some(timer_at)
                }
                Step::Stop => panic!("seed {seed}: stopped"),
            },
        };
        if let Some(timer_at) = parks {
            // A wake-up that came while it searched wakes it at once.
            if all[id].before_park() {
                parked[id] = timer_at.max(1);
                in_vain[id] = 0;
            } else {
                in_vain[id] += 1;
                all[id].after_park(false);
            }
        }
        assert!(in_vain[id] <= IN_VAIN, "seed {seed}: scheduler {id} does not sleep, though there is nothing to do");
        if steps % 16 == 0 {
            starvation(vm, world, steps, seed);
        }
        // One that was woken, or searches, comes to look for work.
        let comes = |id: usize| searches[id].is_some() || platform.woken[id].load(Ordering::Relaxed);
        let sleeps = (0..vm.schedulers.active()).any(|id| parked[id] > now) && !(0..schedulers).any(comes);
        beside = (sleeps && vm.schedulers.iter().any(|queue| queue.offers())).then(|| beside.unwrap_or(steps));
        let waits = beside.map_or(0, |since| steps - since);
        assert!(waits < BESIDE, "seed {seed}: work waits beside a scheduler that sleeps, for {waits} steps");
    }
    check::at_rest(vm, world, &format!("seed {seed}"));
    let looks = platform.looks.load(Ordering::Relaxed);
    let told = if looks == 0 { usize::MAX } else { platform.capacity().rounded_up() };
    assert_eq!(vm.schedulers.capacity(), told.min(vm.schedulers.online()), "seed {seed}");
    (world.digest(), looks)
}

fn starvation(vm: &'static Vm, world: &World, step: u64, seed: u64) {
    let mut runnable_since = world.runnable_since.lock();
    for pid in vm.processes.pids() {
        let Some(process) = vm.processes.get(pid) else { continue };
        if process.status() == Status::Runnable {
            let since = *runnable_since.entry(pid).or_insert(step);
            let patience = if world.is_urgent() { URGENT_PATIENCE } else { PATIENCE };
            assert!(step - since < patience, "seed {seed}: {pid:?} has waited since step {since}");
        } else {
            runnable_since.remove(&pid);
        }
    }
}

#[test]
fn random_worlds_add_up_and_can_be_repeated() {
    let first: u64 = std::env::var("SIM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SIM_COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let mut looks = 0;
    for seed in first..first + count {
        let schedulers = 1 + (seed % 4) as usize;
        let run = simulate(seed, schedulers);
        looks += run.1;
        if seed % 8 == 0 {
            assert_eq!(run, simulate(seed, schedulers), "seed {seed} is another run each time");
        }
    }
    assert!(looks > 0, "nobody looks at the capacity");
}

/// In these worlds loops are most of what happens.
#[test]
fn loops_come_to_what_they_would_without_parts() {
    let first: u64 = std::env::var("SIM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SIM_LOOPS").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let mut all = [0; 6];
    for seed in first..first + count {
        let world = World::of_loops(seed);
        simulate_world(&world, seed, 1 + (seed % 4) as usize);
        let tally = &world.loops;
        let counts = [&tally.ended, &tally.raised, &tally.parts, &tally.aborted, &tally.cleaned, &tally.killed];
        all.iter_mut().zip(counts).for_each(|(all, one)| *all += one.load(Ordering::Relaxed));
    }
    assert!(all.iter().all(|count| *count > 0), "ended, raised, parts, aborted, cleaned, killed: {all:?}");
}

/// Runs a world on threads, until nothing has moved for a while; its processes move to so many private threads and back. Gives how many
/// slices have run on those.
fn on_threads(seed: u64, schedulers: usize, private_threads: usize) -> u64 {
    let world = World::new(seed);
    let migrates = (private_threads > 0).then_some(seed);
    let config = Config { private_threads, migrates, ..config(schedulers, 2) };
    let vm = Vm::new(config, release(), parts(&world));
    world.begin(vm);
    let thread = std::thread::spawn(move || vm.run());
    // A loaded machine may let them stand still for long; nobody may wait for ever.
    let mut seen = 0;
    let mut quiet = 0;
    while quiet < 5 || (quiet < 200 && !check::nothing_moves(vm)) {
        std::thread::sleep(Duration::from_millis(20));
        let slices = world.slices();
        quiet = if slices == seen { quiet + 1 } else { 0 };
        seen = slices;
    }
    vm.stop(0);
    assert_eq!(thread.join().unwrap(), 0);
    check::at_rest(vm, &world, &format!("threads, seed {seed}"));
    world.private_slices()
}

#[test]
fn random_worlds_add_up_on_threads() {
    let count: u64 = std::env::var("SIM_THREADS").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    for seed in 0..count {
        assert_eq!(on_threads(seed, 2 + (seed % 3) as usize, 0), 0);
    }
}

/// Few private threads, so that many want one, and each serves many.
#[test]
fn random_worlds_add_up_on_private_threads() {
    let count: u64 = std::env::var("SIM_THREADS").ok().and_then(|s| s.parse().ok()).unwrap_or(8);
    let on = |seed| on_threads(seed, 1 + (seed % 3) as usize, 1 + (seed % 5) as usize);
    // In some worlds multi-scheduling is blocked soon, and for good.
    let worlds = (0..count).filter(|seed| on(*seed) > 0).count() as u64;
    assert!(worlds > 0, "no world has used private threads");
}
