//! The schedulers as a whole, in interleavings that a seed draws (`make interleave`, `sync::interleave`).
//!
//! Dispatchers, run queues, idle set, parking, dirty pools, timers, multi-scheduling and safepoint are the real ones, on real (but
//! drawn) threads. The processes are real as well, but run no code: in a slice each does what the seed draws (`task`), on
//! schedulers whose loop is that of `vm`'s cut short (`scheduler`). What must hold is in `world`.

mod scheduler;
mod task;
mod world;

use myriad_sync::interleave::explore;
use world::{Menu, drive};

/// What becomes runnable by signals, spawning and ends of slices, on its scheduler, another or outside.
const PLAIN: Menu = Menu { actions: 30, dirty: false, timers: false, urgency: false, stops: false, blocks: false };

#[test]
fn interleave_all_that_is_runnable_runs() {
    explore(1200, || drive(PLAIN));
}

#[test]
fn interleave_urgent_and_bound_ones() {
    explore(500, || drive(Menu { urgency: true, ..PLAIN }));
}

#[test]
fn interleave_timers_are_fired() {
    explore(500, || drive(Menu { timers: true, ..PLAIN }));
}

#[test]
fn interleave_dirty_jobs() {
    explore(500, || drive(Menu { dirty: true, ..PLAIN }));
}

#[test]
fn interleave_blocked_schedulers() {
    explore(500, || drive(Menu { blocks: true, dirty: true, ..PLAIN }));
}

#[test]
fn interleave_stopped_world() {
    explore(500, || drive(Menu { stops: true, dirty: true, ..PLAIN }));
}

#[test]
fn interleave_everything() {
    let all = Menu { actions: 40, dirty: true, timers: true, urgency: true, stops: true, blocks: true };
    explore(800, move || drive(all));
}
