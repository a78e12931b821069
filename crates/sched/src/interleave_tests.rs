//! The schedulers as a whole, in interleavings that a seed draws (`make interleave`, `sync::interleave`).
//!
//! Dispatchers, run queues, idle set, parking, dirty pools, timers, multi-scheduling and safepoint are the real ones, on real (but
//! drawn) threads. The processes are real as well, but run no code: in a slice each does what the seed draws (`task`), on
//! schedulers whose loop is that of `vm`'s cut short (`scheduler`). What must hold is in `world`.
//!
//! Caught when tried. Idle set: no fence in `after_push`; no look after `enter` (either of the two before parking is enough); a claimed
//! one not woken; nobody woken after a search; one that was to look, and is active no more, that does not hand it on. Queues: the idle home not woken, or looked for before the push; a process not counted,
//! bound ones given away, what was shared not taken back; own work alone looked for; the lock's Release Relaxed. Numbers: nobody woken
//! when they change, nothing passed on, no grace period, dirty schedulers not waited for; no scheduler of either kind woken to stop.
//! Dirty pools: a job, the end of a block or of a safepoint not told; a `Summons` not kept; a safepoint not obeyed. Safepoint: no second look in `block`,
//! collections not waited for. Timers: nobody woken for an earlier one, `next_in` not written down. `Parker` and mutex without their
//! wake-ups; a `Parker` that forgets an early notice; a process that waits although it is signalled. Private threads: not unparked for their process, which is
//! not handed over during a block, or not counted among those that must stop.
//!
//! Not caught, or too seldom: no second look at how many private threads live; the other fences of idle set and safepoint, a `Summons` cleared late, a mutex with three at once, a claimed one that
//! takes other work and does not look again (once in some 5,500 runs), wake-ups that another makes good soon. The models of `sync` have those that are its own.

mod scheduler;
mod task;
mod world;

use myriad_sync::interleave::explore;
use world::{Menu, drive};

/// What becomes runnable by signals, spawning and ends of slices, on its scheduler, another or outside.
const PLAIN: Menu =
    Menu { actions: 30, dirty: false, timers: false, urgency: false, stops: false, blocks: false, moves: false };

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
fn interleave_private_threads() {
    explore(500, || drive(Menu { moves: true, ..PLAIN }));
}

#[test]
fn interleave_private_threads_and_all_that_stops_them() {
    explore(600, || drive(Menu { moves: true, stops: true, blocks: true, dirty: true, ..PLAIN }));
}

#[test]
fn interleave_everything() {
    let all = Menu { actions: 40, dirty: true, timers: true, urgency: true, stops: true, blocks: true, moves: false };
    explore(800, move || drive(all));
    explore(400, move || drive(Menu { moves: true, ..all }));
}
