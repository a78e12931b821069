//! The driver that interrupts steps: each scheduler has a thread of its own, and one of them at a time has the baton. At every
//! [`point`] a seed decides who goes on. A point never lies under a lock, since the one who wants the lock could not give the
//! baton back.

use super::world::World;
use super::{check, config, parts, release};
use crate::scheduler::Scheduler;
use crate::vm::Vm;
use myriad_sched::Platform;
use myriad_testing::Random;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Most points that a scheduler passes while it looks for work: a look takes 20 us, a point at least 50 ns.
const LONGEST_LOOK: u64 = 2000;

/// Nobody's turn.
const NOBODY: usize = usize::MAX;

struct State {
    turn: usize,
    /// Until when each scheduler is parked.
    parked: Vec<Option<u64>>,
    woken: Vec<bool>,
    now: u64,
    random: Random,
    points: u64,
    /// Points that each scheduler has passed since it last parked or any process ran, and how many slices there had been then.
    awake: Vec<(u64, u64)>,
    /// All run freely, to the end.
    free: bool,
    failed: bool,
}

struct Baton {
    world: myriad_sync::Arc<World>,
    state: Mutex<State>,
    changed: Condvar,
    seed: u64,
    /// One point in so many is taken.
    pause: u64,
}

thread_local! {
    static SEAT: RefCell<Option<(Arc<Baton>, usize)>> = const { RefCell::new(None) };
}

/// Another scheduler may go on here.
pub(crate) fn point() {
    SEAT.with_borrow(|seat| {
        if let Some((baton, id)) = seat {
            let mut state = baton.state.lock().unwrap();
            state.points += 1;
            let slices = baton.world.slices();
            let (points, seen) = &mut state.awake[*id];
            *points = if *seen == slices { *points + 1 } else { 0 };
            *seen = slices;
            let too_long = *points > LONGEST_LOOK;
            if too_long && !state.free {
                drop(state);
                panic!("seed {}: scheduler {id} does not sleep, though there is nothing to do", baton.seed);
            }
            if state.random.below(baton.pause) == 0 && !state.free {
                drop(baton.pass(state, *id));
            } else {
                state.now += 50;
            }
        }
    });
}

impl State {
    fn pick(&mut self) -> usize {
        self.now += self.random.below(3000);
        loop {
            let may_run = |id: &usize| self.woken[*id] || self.parked[*id].is_none_or(|until| until <= self.now);
            let choice: Vec<usize> = (0..self.parked.len()).filter(may_run).collect();
            if !choice.is_empty() {
                return choice[self.random.below(choice.len() as u64) as usize];
            }
            match self.parked.iter().flatten().copied().min() {
                Some(u64::MAX) | None => return NOBODY,
                Some(next) => self.now = next,
            }
        }
    }
}

impl Baton {
    /// Gives the baton to whom chance says, and waits for it to come back.
    fn pass<'a>(&'a self, mut state: MutexGuard<'a, State>, id: usize) -> MutexGuard<'a, State> {
        state.turn = state.pick();
        if state.turn != id {
            self.changed.notify_all();
        }
        self.wait(state, id)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>, id: usize) -> MutexGuard<'a, State> {
        self.changed.wait_while(state, |s| s.turn != id && !s.free).unwrap()
    }
}

impl Platform for Baton {
    fn now_ns(&self) -> u64 {
        self.state.lock().unwrap().now
    }

    fn system_ns(&self) -> i64 {
        0
    }

    fn seed(&self, scheduler: usize) -> u64 {
        self.seed ^ scheduler as u64
    }

    fn park(&self, id: usize, timeout: Option<Duration>) {
        let mut state = self.state.lock().unwrap();
        state.awake[id].0 = 0;
        if !state.woken[id] && !state.free {
            let until = timeout.map_or(u64::MAX, |t| state.now + t.as_nanos() as u64);
            state.parked[id] = Some(until);
            state = self.pass(state, id);
            state.parked[id] = None;
        }
        state.woken[id] = false;
    }

    fn unpark(&self, id: usize) {
        self.state.lock().unwrap().woken[id] = true;
    }
}

/// Runs a world to its end; gives a digest of what ran where, how many points there were, and how many visits.
fn run(seed: u64, schedulers: usize) -> (u64, u64, u64) {
    let world = World::new(seed);
    let state = State {
        turn: NOBODY,
        parked: vec![None; schedulers],
        woken: vec![false; schedulers],
        now: 1,
        random: Random::new(seed ^ 0x5555),
        points: 0,
        awake: vec![(0, 0); schedulers],
        free: false,
        failed: false,
    };
    let baton = Arc::new(Baton {
        world: world.clone(),
        state: Mutex::new(state),
        changed: Condvar::new(),
        seed,
        pause: 1 + seed % 5,
    });
    let vm = Vm::on_platform(config(schedulers, 0), release(), parts(&world), baton.clone());
    world.begin(vm);
    let threads: Vec<_> = (0..schedulers).map(|id| scheduler(vm, &baton, id)).collect();
    let mut state = baton.state.lock().unwrap();
    state.turn = 0;
    baton.changed.notify_all();
    state = baton.changed.wait_while(state, |s| !s.failed && (s.turn != NOBODY || s.points == 0)).unwrap();
    let result = (world.digest(), state.points, world.visits());
    drop(state);
    vm.stop(0);
    baton.state.lock().unwrap().free = true;
    baton.changed.notify_all();
    let results: Vec<_> = threads.into_iter().map(|t| t.join().is_ok()).collect();
    assert!(results.iter().all(|ok| *ok), "baton, seed {seed}: failed");
    check::at_rest(vm, &world, &format!("baton, seed {seed}"));
    result
}

fn scheduler(vm: &'static Vm, baton: &Arc<Baton>, id: usize) -> std::thread::JoinHandle<()> {
    let baton = baton.clone();
    std::thread::spawn(move || {
        drop(baton.wait(baton.state.lock().unwrap(), id));
        SEAT.set(Some((baton.clone(), id)));
        myriad_sync::drive_by(super::point);
        let body = || {
            if let Some(mut scheduler) = Scheduler::new(vm, id) {
                scheduler.run_thread();
            }
        };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(body)) {
            let mut state = baton.state.lock().unwrap();
            (state.failed, state.free) = (true, true);
            baton.changed.notify_all();
            drop(state);
            std::panic::resume_unwind(panic);
        }
    })
}

#[test]
fn random_worlds_add_up_when_steps_are_interrupted() {
    let first: u64 = std::env::var("SIM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let count: u64 = std::env::var("SIM_COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let mut visits = 0;
    for seed in first..first + count {
        let schedulers = 2 + (seed % 2) as usize;
        let result = run(seed, schedulers);
        visits += result.2;
        if seed % 8 == 0 {
            assert_eq!(result, run(seed, schedulers), "seed {seed} is another run each time");
        }
    }
    assert!(visits >= count, "{visits} visits only");
}
