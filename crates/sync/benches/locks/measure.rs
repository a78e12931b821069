//! One measurement: some threads enter sections of one lock for a while.

use std::{
    hint::black_box,
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// A lock, and how one enters it.
pub trait Lock: Sync {
    /// A free one.
    fn new() -> Self;
    /// Runs `body` under the lock; `turn` counts this thread's sections.
    fn section(&self, turn: u64, body: impl FnOnce());
}

/// One lock under one load.
#[derive(Debug, Clone)]
pub struct Point {
    pub lock: &'static str,
    /// Nanoseconds of a section, and of what a thread does between two.
    pub section: u32,
    pub threads: usize,
    /// Sections a second of all threads.
    pub rate: f64,
    /// The least share that a thread got of them, by the mean share: 1 is even, 0 is starvation.
    pub fairness: f64,
    /// Nanoseconds of an empty section, nobody else there. Known for one thread.
    pub alone: Option<f64>,
}

/// Work that takes a known time of a core that is not taken away: turns of a loop, not a clock that goes on meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Clocked {
    turns_per_ns: f64,
}

impl Clocked {
    /// Times the loop; the best of several tries, since a try may lose its core.
    pub fn calibrate() -> Self {
        const TURNS: u32 = 1_000_000;
        let best = (0..20).map(|_| timed(|| spin(TURNS))).min().expect("there are tries");
        Self { turns_per_ns: f64::from(TURNS) / best.as_nanos() as f64 }
    }

    fn turns(self, ns: u32) -> u32 {
        (f64::from(ns) * self.turns_per_ns) as u32
    }
}

fn spin(turns: u32) {
    for turn in 0..turns {
        black_box(turn);
    }
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Threads that run sections of `section` ns, as long again between two, for `time`.
pub fn run<L: Lock>(lock: &'static str, clocked: Clocked, section: u32, threads: usize, time: Duration) -> Point {
    let turns = clocked.turns(section);
    let shares = shares::<L>(turns, threads, time);
    let (sum, least) = (shares.iter().sum::<u64>() as f64, shares.iter().min().copied().unwrap_or(0) as f64);
    Point {
        lock,
        section,
        threads,
        rate: sum / time.as_secs_f64(),
        fairness: if sum > 0.0 { least * threads as f64 / sum } else { 0.0 },
        alone: (threads == 1).then(alone::<L>),
    }
}

/// How many sections each thread got within `time`.
fn shares<L: Lock>(turns: u32, threads: usize, time: Duration) -> Vec<u64> {
    let (lock, stop, start) = (L::new(), AtomicBool::new(false), Barrier::new(threads + 1));
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| share(&lock, &stop, &start, turns))).collect();
        start.wait();
        thread::sleep(time);
        // Relaxed: only ends the loops.
        stop.store(true, Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("sections do not panic")).collect()
    })
}

fn share<L: Lock>(lock: &L, stop: &AtomicBool, start: &Barrier, turns: u32) -> u64 {
    start.wait();
    let mut done = 0;
    // Relaxed: as in `shares`.
    while !stop.load(Relaxed) {
        lock.section(done, || spin(turns));
        spin(turns);
        done += 1;
    }
    done
}

/// Nanoseconds of an empty section; the best of several tries.
fn alone<L: Lock>() -> f64 {
    const SECTIONS: u32 = 100_000;
    let lock = L::new();
    let try_once = || timed(|| (0..u64::from(SECTIONS)).for_each(|turn| lock.section(turn, || ())));
    let best = (0..20).map(|_| try_once()).min().expect("there are tries");
    best.as_nanos() as f64 / f64::from(SECTIONS)
}
